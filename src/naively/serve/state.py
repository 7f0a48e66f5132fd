"""What a served model answers at one moment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from naively.decisions import DecisionRule, first_classes
from naively.engines.threads import workers
from naively.explanation import Explanation
from naively.model import Model
from naively.posterior import Posterior
from naively.predictor import Issue, NoColumnsError, Predictor
from naively.serve.refused import RefusedError
from naively.statistics.base import InvalidValueError
from naively.tables.answers import Answer

SPARE = workers(-2)
"""All processors but one, which is for those who ask."""


@dataclass(frozen=True)
class State:
    """A model that changes no more, after so many changes.

    Attributes
    ----------
    number : int, changes since the model was first served.
    model : Model
    """

    number: int
    model: Model

    @classmethod
    def of(cls, number: int, model: Model) -> State:
        """The state of a model, which is estimated now.

        Raises
        ------
        ValueError : if it has no estimate, as a covariance has no density.
        """
        if len(model.classes):
            model.posterior(SPARE)
        return cls(number, model)

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

    def predictor(self, table: pa.Table) -> Predictor:
        """What answers for the rows of a request, whose columns are checked."""
        found = Predictor(self.posterior, self.model.target, "the table")
        try:
            found.check_columns(table.column_names)
        except NoColumnsError as error:
            raise RefusedError(422, str(error)) from None
        return found

    def answer(
        self, table: pa.Table, proba: bool = True, top: int | None = None,
        unsure: float | None = None,
    ) -> tuple[Answer, list[str]]:  # fmt: skip
        """(what is predicted of each row, what is to be said about them)."""
        predictor, rule = self.predictor(table), DecisionRule(unsure=unsure)
        classes = predictor.posterior.classes
        with _refusing(predictor):
            codes, found = predictor.posterior.codes_and_proba(predictor.encode(table))
        first = None if top is None else first_classes(codes, found, top)
        best = None if first is None else (classes[first[0]], first[1])
        labels = rule.labelled(classes, rule.codes(found, codes))
        return Answer(labels, found if proba else None, best), said(predictor.issues)

    def explained(self, table: pa.Table, by_block: bool = False) -> tuple[Explanation, list[str]]:
        """(why each row has its scores, what is to be said about them)."""
        predictor = self.predictor(table)
        classes = predictor.posterior.classes
        if len(classes) < 2:
            raise RefusedError(409, f"the model knows one class only ({classes[0]})")
        with _refusing(predictor):
            explanation = predictor.explain(table, by_block)
        return explanation, said(issue for issue in predictor.issues if issue.kind != "rows")


@contextmanager
def _refusing(predictor: Predictor) -> Iterator[None]:
    """Refuse rows with a value that cannot be scored."""
    try:
        with predictor.counting_rows():
            yield
    except InvalidValueError as error:
        raise RefusedError(422, str(error)) from None


def said(issues: Iterable[Issue]) -> list[str]:
    """Issues as the service says them: unknown columns are never read."""
    return [str(issue) for issue in issues if issue.kind != "unknown"]
