"""Curves of folds or classes → one curve and its spread."""
