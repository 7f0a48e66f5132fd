"""Evaluate models: scores, cross-validation, comparison, diagnosis, drift."""
