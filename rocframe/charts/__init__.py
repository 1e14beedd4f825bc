"""Altair charts of tables.

Altair converts strings to channels in about 3 ms, so the modules pass objects as `alt.X2("high:Q")`.
"""
