"""Compute the results of commands, and print them."""
