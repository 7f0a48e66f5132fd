"""Evidence that is looked up in tables of cells, and added."""

from naively.kernels.native import add_all, add_evidence, add_scores

__all__ = ["add_all", "add_evidence", "add_scores"]
