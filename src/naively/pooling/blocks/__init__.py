"""Blocks of evidence: one file a kind."""
