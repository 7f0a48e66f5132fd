"""Kinds of evidence of `AutoBayes`, one file for each kind."""
