"""Altair charts of tables.

Altair needs about 3 ms to convert a string, or a result of `alt.value` or `alt.datum`, to a
channel. The modules therefore pass channel objects, such as `alt.X2("high:Q")`.
"""
