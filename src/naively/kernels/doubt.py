"""Scores of documents: they fall with the length, and are mixed with the prior."""

from naively.kernels.native import doubt_odds, doubt_scores, let_fall

__all__ = ["doubt_odds", "doubt_scores", "let_fall"]
