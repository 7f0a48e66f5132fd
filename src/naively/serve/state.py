"""What a served model answers at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa

from naively.decisions import DecisionRule, first_classes
from naively.engines.threads import workers
from naively.explanation import Explanation
from naively.invalid import Invalid
from naively.model import Model
from naively.posterior import Posterior
from naively.serve.refused import RefusedError
from naively.statistics.base import InvalidValueError
from naively.tables.answers import Answer
from naively.tables.encoding import encode_for
from naively.tables.explaining import explain
from naively.tables.left_out import unvaried_in
from naively.tables.names import few
from naively.tables.summarising import other_columns

SPARE = workers(-2)
"""All processors but one, which is for those who ask."""


@dataclass(frozen=True)
class State:
    """A model that changes no more, after so many changes.

    Attributes
    ----------
    number : int, changes since the model was first served.
    model : Model
    without : columns that are left out as they tell nothing yet.
    """

    number: int
    model: Model
    without: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, number: int, model: Model) -> State:
        """The state of a model, which is estimated now.

        Raises
        ------
        ValueError : if it has no estimate, as a covariance has no density.
        """
        if len(model.classes) == 0:
            return cls(number, model)
        return cls(number, model, unvaried_in(model.posterior(SPARE)))

    @cached_property
    def columns(self) -> list[str]:
        """The columns that rows may have."""
        return self.model.schema.ordered

    @property
    def text(self) -> str | None:
        """The only column, if it is of documents."""
        schema = self.model.schema
        one = len(schema.names) == 1 and schema.parts[0].summary.takes == "documents"
        return schema.names[0] if one else None

    @property
    def posterior(self) -> Posterior:
        """What is asked."""
        if len(self.model.classes) == 0:
            raise RefusedError(409, "the model knows no class: it forgot everything")
        return self.model.posterior()

    def encoded(self, table: pa.Table, posterior: Posterior | None = None) -> tuple[Any, list[str]]:
        """(rows as the model takes them, what is to be said about them)."""
        schema = self.model.schema
        lacking, _ = other_columns(schema, self.model.target, table.column_names)
        if len(lacking) == len(schema.names):
            raise RefusedError(
                422, f"the rows have none of the columns that were learned: {few(lacking)}"
            )
        rows, invalid = encode_for(posterior or self.posterior, table, self.without)
        said = [f"the rows lack {few(lacking)}: counted as missing"] if lacking else []
        return rows, said + unread(self.model, invalid, "read")

    def answer(
        self, table: pa.Table, proba: bool = True, top: int | None = None,
        unsure: float | None = None,
    ) -> tuple[Answer, list[str]]:  # fmt: skip
        """(what is predicted of each row, what is to be said about them)."""
        posterior = self.posterior.remarking()
        classes, rule = posterior.classes, DecisionRule(unsure=unsure)
        rows, said = self.encoded(table, posterior)
        try:
            codes, found = posterior.codes_and_proba(rows)
        except InvalidValueError as error:
            raise RefusedError(422, str(error.named(posterior.feature_names))) from None
        first = None if top is None else first_classes(codes, found, top)
        best = None if first is None else (classes[first[0]], first[1])
        labels = rule.labelled(classes, rule.codes(found, codes))
        return Answer(labels, found if proba else None, best), [*said, *posterior.said]

    def explained(self, table: pa.Table, by_block: bool = False) -> tuple[Explanation, list[str]]:
        """(why each row has its scores, what is to be said about them)."""
        posterior = self.posterior
        if len(posterior.classes) < 2:
            raise RefusedError(409, f"the model knows one class only ({posterior.classes[0]})")
        rows, said = self.encoded(table)
        try:
            return explain(posterior, table, rows, by_block), said
        except InvalidValueError as error:
            raise RefusedError(422, str(error.named(posterior.feature_names))) from None


def unread(model: Model, invalid: Mapping[str, Invalid], what: str) -> list[str]:
    """What is to be said of values that columns could not take."""
    return [
        f"column {name!r} ({one.kind or model.schema.known[name].name}): {one.count:,} value"
        f"{'s' * (one.count != 1)} such as {str(one.example)[:40]!r} cannot be {what} and count as "
        "missing"
        for name, one in invalid.items()
    ]
