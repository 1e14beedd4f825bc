"""How sure an area is."""
