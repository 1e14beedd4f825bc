"""Altair charts of tables."""
