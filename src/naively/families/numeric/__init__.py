"""Families of one numeric column."""
