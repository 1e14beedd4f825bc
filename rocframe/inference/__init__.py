"""Confidence intervals, bootstrap and p-values."""
