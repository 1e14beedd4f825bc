"""Curve tables: one confusion matrix per group and threshold."""
