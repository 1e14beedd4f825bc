"""Compressed predictions: rows with equal label and score become one row with a count."""
