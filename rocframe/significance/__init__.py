"""Tests of an AUC against a given value."""
