"""Benchmarks: seconds, and multiples of one `np.sort` of the score column in the same run."""
