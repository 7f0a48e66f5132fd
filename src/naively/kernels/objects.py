"""JSON lines whose values are all strings, to columns of text."""

from naively.kernels.native import copy_strings, split_objects

__all__ = ["copy_strings", "split_objects"]
