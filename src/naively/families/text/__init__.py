"""Families of text documents."""
