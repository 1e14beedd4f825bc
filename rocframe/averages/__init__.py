"""Averages of curves over folds and classes."""
