"""Predictions → tests of whether a model is better than chance, or than any given area."""
