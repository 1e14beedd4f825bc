"""Altair charts of tables.

Channels are objects, such as `alt.X2("high:Q")` or `alt.ColorValue("red")`, because Altair needs
about 3 ms to convert a string, `alt.value` or `alt.datum`.
"""
