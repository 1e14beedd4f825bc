"""Calibration of probabilities."""
