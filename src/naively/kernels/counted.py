"""Terms of documents, as numbers: sorted, and equal ones counted."""

from naively.kernels.native import distinct

__all__ = ["distinct"]
