"""Hashes of documents."""

from naively.kernels.native import hash_documents

__all__ = ["hash_documents"]
