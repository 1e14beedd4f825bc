"""Predictions as checked arrays."""
