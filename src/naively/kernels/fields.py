"""Rows of delimited text to fields, and fields to columns: text without quotes alone."""

from naively.kernels.native import copy_fields, number_fields, split_fields

__all__ = ["copy_fields", "number_fields", "split_fields"]
