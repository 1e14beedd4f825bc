"""Metrics of whole curves and of operating points, and their intervals."""
