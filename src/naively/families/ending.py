"""What happens to the scores of documents after their terms were added up."""

from __future__ import annotations

from dataclasses import dataclass

from naively.evidence.doubt import Doubt
from naively.evidence.repeated import Repeated
from naively.exact import Float64, Int64


@dataclass(frozen=True)
class Ending:
    """What happens to the scores of documents after their terms were added up.

    Attributes
    ----------
    doubt : how far documents are doubted to be like those that were learned.
    repeated : documents that recur, whose scores are what recurred.
    """

    doubt: Doubt
    repeated: Repeated

    def scores(self, scores: Float64, keys: Int64 | None) -> None:
        """Change the scores of documents, (C, n), in place; `keys` are theirs, if some recur."""
        if keys is not None:
            self.repeated.replace(keys, scores)
        self.doubt.scores(scores)
