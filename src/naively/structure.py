"""The structure of a model, and how long it is kept while rows are learned.

Bins, interactions and weights are no sums: they are chosen by how well held-out rows are predicted,
which takes long. An update keeps them, and counts: class weights and the counts of terms and of
bins are those of all rows. The structure is chosen anew as soon as

- rows have grown by more than a tenth since it was chosen, or columns or classes are new;
- rows were forgotten or decayed, models were merged, or parameters were set;
- `reestimate` asks for it.

So after `fit`, a merge, `forget` and `reestimate` the whole model is a function of the multiset of
rows; between two choices it follows from the rows at the last one, and from the counts of all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from naively.labels import Labels

GROWTH = 0.1
"""Part by which the weight of all rows may grow before the structure is chosen anew."""


@dataclass(frozen=True)
class Structure:
    """What was chosen by some rows.

    Attributes
    ----------
    chosen : as `Parameters.structure` has it.
    weight : of the rows by which it was chosen.
    classes, names : the classes and columns of these.
    """

    chosen: Any
    weight: float
    classes: list[Any]
    names: list[str]

    @classmethod
    def of(
        cls, chosen: Any, weight: float, classes: Labels, names: Sequence[str]
    ) -> Structure | None:
        """The structure, if there is one: a family may choose nothing."""
        return cls(chosen, weight, classes.tolist(), list(names)) if chosen else None

    def fits(self, weight: float, classes: Labels, names: Sequence[str]) -> bool:
        """Whether it is kept for rows of this weight, with these classes and columns."""
        return (
            self.weight <= weight <= self.weight * (1 + GROWTH)
            and self.classes == classes.tolist()
            and self.names == list(names)
        )
