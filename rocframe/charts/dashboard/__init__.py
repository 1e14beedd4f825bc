"""Dashboards: linked charts of curves at one threshold."""
