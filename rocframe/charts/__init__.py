"""Altair charts of tables.

Altair converts strings to channels in about 3 ms, so modules pass objects: `alt.X2("high:Q")`.
"""
