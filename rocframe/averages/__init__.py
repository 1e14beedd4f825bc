"""Averages over folds and classes."""
