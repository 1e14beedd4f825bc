"""Calibration and losses of probabilities."""
