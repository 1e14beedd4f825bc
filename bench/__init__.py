"""Benchmarks of run time and memory, and a study of the coverage of intervals."""
