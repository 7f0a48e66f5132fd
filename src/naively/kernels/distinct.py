"""The different numbers of a column, counted by class: all of them while they are few."""

from naively.kernels.native import tabulate

__all__ = ["FRACTIONAL", "FREE", "KNOWN", "NEGATIVE", "PRESENT", "SHIFT", "tabulate"]

FREE = -1
"""A slot of the table that no number has."""
PRESENT, FRACTIONAL, NEGATIVE, KNOWN, SHIFT = range(5)
"""What is reported: values that are there, no whole ones, below 0; different ones; the sample."""
