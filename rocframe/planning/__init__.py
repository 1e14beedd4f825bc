"""Areas that are hoped for → how many rows it takes to find them, and what so many rows find."""
