"""Sort, group, count and resample the rows of predictions."""
