"""Implementations of the larger commands, and the printing of their results."""
