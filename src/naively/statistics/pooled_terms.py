"""What a text pool is estimated from: terms counted in one or several ways, and some documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from naively.exact import ExactArray, Int64
from naively.statistics.base import Arrays, Batch, Summary
from naively.statistics.blocks import BlockStatistics
from naively.statistics.documents import DocumentSample
from naively.statistics.terms import TermCounts, TermStatistics
from naively.text.documents import Documents
from naively.workers import Workers

SHARED = ("missing", "kept")
"""Tables that are the same for all: which documents are missing, and which are kept."""


class PooledTerms(BlockStatistics):
    """Counts of terms, in one or several ways, and a sample of the documents that they are of.

    Attributes
    ----------
    parts : list of TermStatistics, and last the DocumentSample.
    """

    sized_by = "missing"

    def __init__(self, parts: Any) -> None:
        self.parts = parts

    @property
    def terms(self) -> list[TermStatistics]:
        """What was counted in each way."""
        return self.parts[:-1]  # type: ignore[return-value]

    @property
    def sample(self) -> DocumentSample:
        """Some of the documents."""
        return self.parts[-1]  # type: ignore[return-value]

    @property
    def tables(self) -> dict[str, ExactArray]:  # type: ignore[override]
        """The tables of all counts, those of count k as ``k.sum`` if there are several; and
        ``missing``, which is one.
        """
        return _named([own.tables for own in self.terms])

    @property
    def wordless(self) -> bool:
        """Whether no document had a term so far."""
        return all(own.wordless for own in self.terms)

    @property
    def undercount(self) -> float:
        """How much too low the count of a term may be, as terms were dropped."""
        return max(own.undercount for own in self.terms)

    def readable(self) -> Self:
        """As the base class; estimates read the sample in its smallest form themselves."""
        return type(self)([*(own.readable() for own in self.terms), self.sample])

    def gather_columns(self, columns: Any) -> Self:
        """Itself: documents are one feature."""
        return self

    def reindex_columns(self, own: Int64, positions: Int64, n_features: int) -> Self:
        """Itself: documents are one feature, in a block of its own."""
        return self

    def add_missing(self, columns: Int64, class_weight: ExactArray) -> None:
        """Count documents of these weights as missing, in place."""
        for own in self.terms:
            own.add_missing(columns, class_weight)

    def impossible(self, class_weight: ExactArray) -> str | None:
        """Why no documents can have these counts, or None if some might."""
        first, *others = (own.tables["missing"].trimmed() for own in self.terms)
        if any(other != first for other in others):
            return "its parts are not of the same documents"
        return super().impossible(class_weight)

    def shapes(self, n_classes: int, n_features: int) -> dict[str, tuple[int, ...]]:
        """The shape of each table, for so many classes and features."""
        shapes = _named([own.shapes(n_classes, n_features) for own in self.terms])
        return shapes | self.sample.shapes(n_classes, n_features)

    def stored(self) -> dict[str, ExactArray]:
        """The tables that a file has to hold."""
        return self.tables | self.sample.tables

    def arrays(self) -> Arrays:
        """The terms of each count, and the documents."""
        first, *others = (own.arrays() for own in self.terms)
        return _named([first | self.sample.arrays(), *others])


@dataclass(frozen=True)
class PooledCounts(Summary[PooledTerms]):
    """Terms of the same documents, counted in one or several ways, and some of the documents.

    Parameters
    ----------
    parts : tuple of TermCounts
    """

    parts: tuple[TermCounts, ...]

    takes = "documents"
    by_column = False

    def summarise(self, X: Documents, batch: Batch, workers: Workers) -> PooledTerms:
        """All counts, one after the other."""
        terms = [part.summarise(X, batch, workers) for part in self.parts]
        return PooledTerms([*terms, DocumentSample.of(X, batch, workers)])

    def empty(self, n_classes: int, n_features: int) -> PooledTerms:
        """The statistics of no documents."""
        terms = [part.empty(n_classes, n_features) for part in self.parts]
        return PooledTerms([*terms, DocumentSample.empty(n_classes)])

    def read(self, tables: dict[str, ExactArray], arrays: Arrays, n_features: int) -> PooledTerms:
        """As the base class."""
        blank, terms, several = self.empty(0, 0), list[Any](), len(self.parts) > 1
        for k, (part, own) in enumerate(zip(self.parts, blank.terms, strict=True)):
            head = f"{k}." if several else ""
            mine = {name: tables[name if name in SHARED else head + name] for name in own.tables}
            known = {name.removeprefix(head): one for name, one in arrays.items()
                     if name.startswith(head)}  # fmt: skip
            terms.append(part.read(mine, known, n_features))
            if k == 0:
                sample = DocumentSample.read(tables["kept"], known)
        return PooledTerms([*terms, sample])


def _named(each: list[dict[str, Any]]) -> dict[str, Any]:
    """What the counts have, in one dict: those of several by number."""
    if len(each) == 1:
        return each[0]
    found = {name: each[0][name] for name in SHARED if name in each[0]}
    for k, own in enumerate(each):
        found |= {f"{k}.{name}": one for name, one in own.items() if name not in SHARED}
    return found
