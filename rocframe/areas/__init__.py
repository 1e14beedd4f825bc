"""Areas under curves: of predictions, of curve tables, and as expressions."""
