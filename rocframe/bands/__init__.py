"""Confidence bands of ROC curves."""
