"""Read the columns of predictions, and check them."""
