"""Several counts of the same documents side by side, such as of words and of characters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from naively.exact import ExactArray, Int64
from naively.statistics.base import Arrays, Batch, Summary
from naively.statistics.blocks import BlockStatistics
from naively.statistics.documents import DocumentSample
from naively.statistics.term_counts import TermCounts
from naively.statistics.terms import TermStatistics
from naively.text.documents import Documents
from naively.workers import Workers

SHARED = ("missing", "kept")
"""Tables that are the same for all: which documents are missing, and which are kept."""


class PooledTerms(BlockStatistics):
    """Several counts of terms of the same documents.

    Attributes
    ----------
    parts : list of TermStatistics; the first has the sample of documents.
    """

    parts: list[TermStatistics]  # type: ignore[assignment]
    sized_by = "missing"

    def __init__(self, parts: Any) -> None:
        self.parts = parts

    @property
    def tables(self) -> dict[str, ExactArray]:  # type: ignore[override]
        """The tables of all parts, those of part k as ``k.sum``; and ``missing``, which is one."""
        return self._named([part.tables for part in self.parts])

    @property
    def sample(self) -> DocumentSample:
        """Some of the documents."""
        first: Any = self.parts[0]
        sample: DocumentSample = first.sample
        return sample

    @property
    def wordless(self) -> bool:
        """Whether no document had a term so far."""
        return all(part.wordless for part in self.parts)

    @property
    def undercount(self) -> float:
        """How much too low the count of a term may be, as terms were dropped."""
        return max(part.undercount for part in self.parts)

    def readable(self) -> Self:
        """As the base class."""
        return type(self)([part.readable() for part in self.parts])

    def gather_columns(self, columns: Any) -> Self:
        """Itself: documents are one feature."""
        return self

    def reindex_columns(self, own: Int64, positions: Int64, n_features: int) -> Self:
        """Itself: documents are one feature, in a block of its own."""
        return self

    def add_missing(self, columns: Int64, class_weight: ExactArray) -> None:
        """Count documents of these weights as missing, in place."""
        for part in self.parts:
            part.add_missing(columns, class_weight)

    def impossible(self, class_weight: ExactArray) -> str | None:
        """Why no documents can have these counts, or None if some might."""
        first, *others = (part.tables["missing"].trimmed() for part in self.parts)
        if any(other != first for other in others):
            return "its parts are not of the same documents"
        return super().impossible(class_weight)

    def shapes(self, n_classes: int, n_features: int) -> dict[str, tuple[int, ...]]:
        """The shape of each table, for so many classes and features."""
        return self._named([part.shapes(n_classes, n_features) for part in self.parts])

    def stored(self) -> dict[str, ExactArray]:
        """The tables that a file has to hold."""
        return self._named([part.stored() for part in self.parts])

    def arrays(self) -> Arrays:
        """The terms of each part, and the documents."""
        return self._named([part.arrays() for part in self.parts])

    @staticmethod
    def _named(each: list[dict[str, Any]]) -> dict[str, Any]:
        """What the parts have, in one dict."""
        found = {name: each[0][name] for name in SHARED if name in each[0]}
        for k, own in enumerate(each):
            found |= {_name(k, name): one for name, one in own.items() if name not in SHARED}
        return found


@dataclass(frozen=True)
class PooledCounts(Summary[PooledTerms]):
    """Several counts of the same documents.

    Parameters
    ----------
    parts : tuple of TermCounts; the first keeps some documents.
    """

    parts: tuple[TermCounts, ...]

    takes = "documents"
    by_column = False

    def summarise(self, X: Documents, batch: Batch, workers: Workers) -> PooledTerms:
        """The counts of all parts, one after the other."""
        return PooledTerms([part.summarise(X, batch, workers) for part in self.parts])

    def empty(self, n_classes: int, n_features: int) -> PooledTerms:
        """The statistics of no documents."""
        return PooledTerms([part.empty(n_classes, n_features) for part in self.parts])

    def read(self, tables: dict[str, ExactArray], arrays: Arrays, n_features: int) -> PooledTerms:
        """As the base class."""
        blank, parts = self.empty(0, 0), []
        for k, (part, own) in enumerate(zip(self.parts, blank.parts, strict=True)):
            mine = {
                name: tables[name if name in SHARED else _name(k, name)] for name in own.stored()
            }
            known = {name.removeprefix(_name(k, "")): one for name, one in arrays.items()
                     if name.startswith(_name(k, ""))}  # fmt: skip
            parts.append(part.read(mine, known, n_features))
        return PooledTerms(parts)


def _name(k: int, name: str) -> str:
    return f"{k}.{name}"
