"""Altair charts of tables.

The modules pass channels as objects, such as `alt.X2("high:Q")` or `alt.ColorValue("red")`. Altair
would need about 3 ms to convert each string, `alt.value` or `alt.datum` to a channel.
"""
