"""Values that nobody can take, and what else there is to say about rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from naively.explain.markup import NO_ESTIMATE, counted

MOST_WEIGHT = 1e200
"""What a row weighs at most: sums over any number of rows stay in float64."""


@dataclass
class Invalid:
    """Values that a column's family cannot take, and that count as missing.

    Attributes
    ----------
    count : int
    example : one of them.
    kind : what the column holds, where its family does not say.
    """

    count: int
    example: Any
    kind: str = field(default="", compare=False)


HIDDEN = "(forgotten)"
"""In the place of an example that may have been of rows that were forgotten."""


def add_invalid(total: dict[str, Invalid], more: Mapping[str, Invalid]) -> None:
    """Add values that columns could not take to the others, in whatever order they come."""
    for name, invalid in more.items():
        before = total.get(name, Invalid(0, invalid.example))
        example = min(before.example, invalid.example, key=lambda one: (one == HIDDEN, str(one)))
        kind = before.kind or invalid.kind
        total[name] = Invalid(before.count + invalid.count, example, kind)


def less_invalid(total: Mapping[str, Invalid], gone: Mapping[str, Invalid]) -> dict[str, Invalid]:
    """Notes without those of rows that were forgotten, of which no example stays."""
    left = dict(total)
    for name, one in gone.items():
        mine = left.pop(name, one)
        if mine.count > one.count:  # the least example of all is theirs, or is none of theirs
            example = HIDDEN if str(mine.example) == str(one.example) else mine.example
            left[name] = Invalid(mine.count - one.count, example)
    return left


@dataclass(frozen=True)
class Issue:
    """Something that a user should know about the rows that were read.

    Attributes
    ----------
    kind : absent (features that the rows lack), unknown (columns that are no features), invalid
        (values that count as missing), retyped (columns that new rows turned into categorical
        ones), model (that is odd as a whole), or rows (that get no estimate, or have unseen
        categories).
    text : a sentence that says what, where, and what becomes of it.
    """

    kind: Literal["absent", "unknown", "invalid", "retyped", "model", "rows"]
    text: str

    def __str__(self) -> str:
        return self.text


def brief(example: Any) -> str:
    """A value as Python writes it; of long text the beginning."""
    return repr(example[:60] if isinstance(example, str) else example)


# ---- remarks -------------------------------------------------------------------------------------


FEW = 10
"""Values of a column of which it means little that none is a known category."""


@dataclass(frozen=True)
class Categories:
    """The values of a column in some rows, beside the categories that a model knows.

    Attributes
    ----------
    values : how many there are.
    recognised : whether any is of a category that is known.
    example : one of them.
    known : some categories that are known.
    """

    values: int
    recognised: bool
    example: str
    known: Sequence[str]


@dataclass(eq=False)
class Remarks:
    """What there is to say about rows: several threads may add to it.

    Attributes
    ----------
    impossible : numbers of rows that have probability 0 in every class.
    recognised : features of which a category is known.
    strange : (feature, values of it none of which is of a known category).
    """

    impossible: list[int] = field(default_factory=list)
    recognised: set[int] = field(default_factory=set)
    strange: list[tuple[int, Categories]] = field(default_factory=list)

    def look(self, parameters: Any, X: Any) -> None:
        """Note in which features of some rows no category is known."""
        if X.shape[0] < FEW:
            return
        for j, one in parameters.categories(X, self.recognised).items():
            if one.recognised:
                self.recognised.add(j)
            else:
                self.strange.append((j, one))

    def said(self, names: Sequence[str]) -> list[str]:
        """All of it, in sentences; `names` are those of the features."""
        rows, found = sum(self.impossible), []
        if rows:
            found.append(f"{counted(rows, 'row')}: {NO_ESTIMATE}; alpha above 0 gives one")
        values: dict[int, int] = {}
        first: dict[int, Categories] = {}
        for j, one in self.strange:
            values[j] = values.get(j, 0) + one.values
            first.setdefault(j, one)
        for j, one in first.items():
            if j not in self.recognised:
                found.append(
                    f"column {names[j]!r}: none of its {counted(values[j], 'value')}, such as "
                    f"{one.example!r}, is a category that the model knows, such as "
                    f"{one.known[0]!r}: each counts as unseen"
                )
        return found
