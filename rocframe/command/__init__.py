"""The work of the command line: logs → tables, a page, and what is said meanwhile."""
