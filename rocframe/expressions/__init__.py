"""Polars expressions over a score and a label."""
