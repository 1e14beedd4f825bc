"""Counts → curve tables, and what can be asked of one."""
