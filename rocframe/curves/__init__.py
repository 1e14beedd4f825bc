"""Curve tables."""
