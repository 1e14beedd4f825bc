"""Compute metrics of groups with confidence intervals."""
