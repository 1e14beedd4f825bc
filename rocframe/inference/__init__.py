"""How sure a number is: limits, replicates, p-values."""
