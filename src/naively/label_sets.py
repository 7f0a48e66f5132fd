"""Labels of rows that have any number of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from naively.exact import Int64
from naively.labels import Labels

LEAST, MOST = -(2**63) + 1, 2**63 - 1
"""Numbers that can be labels: the one below means all rows."""


class LabelSets(NamedTuple):
    """The labels of rows, of which each has any number.

    Attributes
    ----------
    labels : (L,) distinct labels, sorted.
    codes : (m,) positions of the labels of row after row: of each row sorted and distinct.
    starts : (n + 1,) where the codes of each row begin, and those of the last end.
    """

    labels: Labels
    codes: Int64
    starts: Int64

    def __len__(self) -> int:
        return len(self.starts) - 1

    def some(self, rows: Int64) -> LabelSets:
        """Those of some of the rows; all labels stay."""
        sizes = np.diff(self.starts)[rows]
        starts = np.append(0, np.cumsum(sizes))
        chosen = np.arange(starts[-1]) + np.repeat(self.starts[rows] - starts[:-1], sizes)
        return LabelSets(self.labels, self.codes[chosen], starts)

    def indicator(self) -> npt.NDArray[np.bool_]:
        """(n, L), whether each row has each label."""
        found = np.zeros((len(self.starts) - 1, len(self.labels)), bool)
        found[np.repeat(np.arange(len(found)), np.diff(self.starts)), self.codes] = True
        return found

    def lists(self) -> list[list[Any]]:
        """The labels of each row."""
        named, ends = self.labels[self.codes].tolist(), self.starts.tolist()
        return [named[a:b] for a, b in pairwise(ends)]

    @classmethod
    def of_indicator(cls, labels: Labels, indicator: npt.NDArray[np.bool_]) -> LabelSets:
        """What a matrix says, (n, L)."""
        starts = np.append(0, np.cumsum(indicator.sum(axis=1)))
        return cls(labels, np.nonzero(indicator)[1], starts)

    @classmethod
    def of_lists(cls, rows: Iterable[Collection[Any]], called: str = "row") -> Self:
        """What lists of labels say. A label that is there twice counts once; empty text is none.

        Parameters
        ----------
        rows : the labels of each row, text or whole numbers.
        called : what a row is called in messages.

        Raises
        ------
        ValueError : naming the row whose labels can be none.
        """
        kinds: dict[type, int] = {}
        found: list[set[Any]] = []
        for row, own in enumerate(rows):
            found.append(set())
            for one in own:
                label = _label(one, f"{called} {row}")
                if label != "":
                    kinds.setdefault(type(label), row)
                    found[-1].add(label)
        if len(kinds) > 1:
            raise ValueError(
                f"{called} {kinds[str]} has labels that are text, {called} {kinds[int]} numbers: "
                "let all be the same"
            )
        met = set[Any]().union(*found)
        labels = np.array(sorted(met), np.int64 if int in kinds else str)
        place = {label: k for k, label in enumerate(labels.tolist())}
        codes = [sorted(place[one] for one in own) for own in found]
        starts = np.cumsum([0, *map(len, codes)], dtype=np.int64)
        return cls(labels, np.array([c for own in codes for c in own], np.int64), starts)


def _label(one: Any, where: str) -> str | int:
    """A label as text or a number. Raises ValueError if it is none."""
    if isinstance(one, str):
        if "\0" in one:
            raise ValueError(f"{where} has the label {one!r}: text with NUL can be no label")
        return str(one)
    if isinstance(one, bool | np.bool_):
        raise ValueError(
            f"{where} has the truth value {one} among its labels, which are text or whole numbers; "
            "an indicator matrix has a column for each label"
        )
    number = one
    if isinstance(one, float | np.floating) and float(one).is_integer():
        number = int(one)
    if not isinstance(number, int | np.integer):
        missing = one is None or (isinstance(one, float | np.floating) and np.isnan(one))
        said = "a missing label" if missing else f"the label {one!r}"
        raise ValueError(f"{where} has {said}: labels are text or whole numbers")
    if not LEAST <= int(number) <= MOST:
        raise ValueError(f"{where} has the label {one!r}, a number beyond 64 bits")
    return int(number)
