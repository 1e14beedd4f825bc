"""Decisions from curves: thresholds, costs, and combinations of classifiers."""
