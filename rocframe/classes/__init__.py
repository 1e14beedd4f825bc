"""Predictions of more than two classes."""
