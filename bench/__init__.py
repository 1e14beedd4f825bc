"""Benchmarks: run times in seconds and as multiples of `np.sort` of the scores in the same run."""
