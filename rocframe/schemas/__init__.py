"""The tables that functions return: their columns, how they are recognized, and their charts.

A table has its group columns first, then the columns of its type.
"""
