"""Confidence bands of ROC curves, and smooth curves."""
