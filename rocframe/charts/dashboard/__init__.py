"""The linked chart of curves at one threshold."""
