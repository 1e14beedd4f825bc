"""Areas under curves, their variances, and their ranges over all orders of tied rows."""
