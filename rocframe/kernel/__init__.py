"""Sorting, grouping, counting and resampling."""
