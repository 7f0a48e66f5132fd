"""Families of numeric columns."""
