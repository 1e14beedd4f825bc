"""Reads the columns of predictions and checks them."""
