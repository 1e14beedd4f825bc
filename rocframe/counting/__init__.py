"""Predictions → counts at each distinct score: the one pass over the data."""
