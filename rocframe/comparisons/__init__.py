"""Predictions of several models → how their areas differ, group by group."""
