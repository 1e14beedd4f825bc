"""Metrics of groups, with intervals."""
