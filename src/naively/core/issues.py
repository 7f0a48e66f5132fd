"""Report invalid values, unseen categories and other issues of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from naively.core.markup import NO_ESTIMATE, counted

MOST_WEIGHT = 1e200  # largest weight of a row, so that sums over any number of rows stay in float64


@dataclass
class Invalid:
    """Values that are invalid for a column's family, and count as missing.

    kind : type of the column; empty for that of its family.
    """

    count: int
    example: Any
    kind: str = field(default="", compare=False)


HIDDEN = "(forgotten)"  # replaces an example that may come from a forgotten row


def add_invalid(total: dict[str, Invalid], more: Mapping[str, Invalid]) -> None:
    """Add counts of invalid values, by column; the order of additions does not matter."""
    for name, invalid in more.items():
        before = total.get(name, Invalid(0, invalid.example))
        example = min(before.example, invalid.example, key=lambda text: (text == HIDDEN, str(text)))
        kind = before.kind or invalid.kind
        total[name] = Invalid(before.count + invalid.count, example, kind)


def less_invalid(
    total: Mapping[str, Invalid], removed: Mapping[str, Invalid]
) -> dict[str, Invalid]:
    """Subtract the invalid values of forgotten rows, and remove examples that come from them."""
    remaining = dict(total)
    for name, forgotten in removed.items():
        current = remaining.pop(name, forgotten)
        if current.count > forgotten.count:  # an equal example may come from a forgotten row
            example = HIDDEN if str(current.example) == str(forgotten.example) else current.example
            remaining[name] = Invalid(current.count - forgotten.count, example)
    return remaining


@dataclass(frozen=True)
class Issue:
    """An issue of the rows to report to the user.

    kind : absent (features missing from the rows), unknown (columns that are no features), invalid
        (values that count as missing), retyped (columns that new rows turned into categorical
        ones), model (the model as a whole), or rows (without an estimate, or with unseen
        categories).
    text : a sentence that says what is wrong, where, and what is done about it.
    """

    kind: Literal["absent", "unknown", "invalid", "retyped", "model", "rows"]
    text: str

    def __str__(self) -> str:
        return self.text


def brief(example: object) -> str:
    """Return a value as Python writes it; of a long text, the first 60 characters."""
    text = repr(example[:60] if isinstance(example, str) else example)
    is_infinite = str(example).lower() in ("inf", "-inf")  # such as 1e999 in JSON
    return f"{text} (infinite, or too large)" if is_infinite else text


# ---- remarks -------------------------------------------------------------------------------------


FEW = 10  # least number of rows to report that no category of a column is known


@dataclass(frozen=True)
class Categories:
    """The values of a column in some rows, compared with the categories of a model.

    recognised : whether any of them is a category of the model.
    """

    values: int
    recognised: bool
    example: str
    model_categories: Sequence[str]


@dataclass(eq=False)
class Remarks:
    """Remarks about rows; several threads may add to them.

    few : least number of rows to report that no category of a column is known.
    impossible : numbers of rows that have probability 0 in every class.
    recognised : features with at least one category of the model.
    strange : (feature, its values, none of which is a known category).
    """

    few: int = FEW
    impossible: list[int] = field(default_factory=list)
    recognised: set[int] = field(default_factory=set)
    strange: list[tuple[int, Categories]] = field(default_factory=list)

    def look(self, parameters: Any, X: Any) -> None:
        """Record the features of some rows none of whose categories is known."""
        if X.shape[0] < self.few:
            return
        for j, categories in parameters.categories(X, self.recognised).items():
            if categories.recognised:
                self.recognised.add(j)
            else:
                self.strange.append((j, categories))

    def sentences(self, names: Sequence[str]) -> list[str]:
        """Return all remarks, in sentences; `names` are those of the features."""
        rows, remarks = sum(self.impossible), []
        if rows:
            remarks.append(f"{counted(rows, 'row')}: {NO_ESTIMATE}; alpha above 0 gives one")
        values: dict[int, int] = {}
        first_batch: dict[int, Categories] = {}
        for j, categories in self.strange:
            values[j] = values.get(j, 0) + categories.values
            first_batch.setdefault(j, categories)
        for j, categories in first_batch.items():
            if j not in self.recognised:
                example = brief(categories.example)
                model_category = brief(categories.model_categories[0])
                some = f"none of its {values[j]:,} values, such as {example}, is a category"
                remarks.append(
                    f"column {names[j]!r}: {some if values[j] > 1 else f'{example} is no category'}"
                    f" of the model, such as {model_category}: counted as unseen"
                )
        return remarks
