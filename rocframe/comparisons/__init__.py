"""Compare models or time windows, and combine the decisions of models."""
