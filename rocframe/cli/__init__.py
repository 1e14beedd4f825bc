"""The command `rocframe`."""
