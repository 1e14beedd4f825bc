"""Areas under curves."""
