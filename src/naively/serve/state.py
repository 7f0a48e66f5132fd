"""Immutable states of a served model, and the changes from one to the next."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import pyarrow as pa

from naively.core.workers import workers
from naively.explain.explanation import Explanation
from naively.io.inputs import task_of
from naively.model.decisions import DecisionRule, first_classes
from naively.model.model import Model, NeverLearnedError
from naively.model.posterior import Posterior
from naively.predictor import Predictor
from naively.statistics.base import InvalidValueError
from naively.tables import values
from naively.tables.answers import Answer
from naively.tables.learning import TrainingSpec, updated
from naively.tables.names import new_classes
from naively.tables.one_pass import learn
from naively.tables.targets import coded, with_typed_labels

What = Literal["learn", "forget"]

SOURCE = "the request"  # name of the rows in messages


class RefusedError(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


class Changed(NamedTuple):
    """The result of a change."""

    model: Model  # the new Model, which shares no mutable data with the old one
    # rows, unlabelled: number of rows trained on or forgotten, and of rows without a label
    rows: int
    unlabelled: int
    warnings: list[str]


@dataclass(frozen=True)
class Changer:
    """Apply changes to a model, as `naively update` and `naively forget` do."""

    spec: TrainingSpec  # how rows are read for training

    def change(self, model: Model, what: What, table: pa.Table) -> Changed:
        """Train on rows or forget them; returns a new model, and leaves the old one unchanged.

        Raises RefusedError if rows to forget are no training rows; it names the first of them;
        ValueError if the rows cannot be trained on.
        """
        if what == "forget":
            try:
                return self.forget(model, table)
            except NeverLearnedError as error:
                raise RefusedError(409, f"row {error.row}: {error}") from None
        part = self._counted(model, table)
        if model.family.keeps and len(model.classes) and model.structure is None:
            model.posterior(SPARE)  # its structure must not depend on the grouping of changes
        changed, issues = updated(model, part)
        issues = changed.schema.invalid_values(part.unread, "used") + issues
        messages = [str(issue) for issue in issues]
        if part.unlabelled:
            messages.append(self._unlabelled(table, part.unlabelled))
        if remark := new_classes(model.classes.tolist(), part.classes.tolist()):
            messages.append(f"{remark}; if this is a mistake, POST these rows to /forget")
        return Changed(changed, part.rows, part.unlabelled, messages)

    def _unlabelled(self, table: pa.Table, count: int) -> str:
        """The warning of rows without a label."""
        column = values.flat(table.column(self.spec.target))
        classes, codes = coded(column, self.spec.columns.missing)
        row = 1 + int((codes == len(classes)).argmax())
        if count == 1:
            return f"row {row} has no label: skipped"
        return f"{count:,} rows have no label: skipped; the first is row {row}"

    def _counted(self, model: Model, table: pa.Table) -> Model:
        """A model of these rows alone."""
        tasks = [*map(task_of, table.combine_chunks().to_batches())]
        return with_typed_labels(learn(tasks, self.spec, 1, model)[0])

    def forget(self, model: Model, table: pa.Table) -> Changed:
        """Forget rows; returns a new model.

        Raises NeverLearnedError, with the number of the first such row, if they are no training
        rows; ValueError if they cannot be read as training rows.
        """
        try:
            return self._forgotten(model, table)
        except NeverLearnedError as error:
            raise self._first(model, table, error) from None

    def _forgotten(self, model: Model, table: pa.Table) -> Changed:
        part, changed = self._counted(model, table), model.copy()
        changed.forget(part)
        return Changed(changed, part.rows, part.unlabelled, [])

    def _first(self, model: Model, table: pa.Table, error: NeverLearnedError) -> NeverLearnedError:
        """The error that names the first row that cannot be forgotten, found by bisection."""
        errors = {table.num_rows: error}

        def is_refused(rows: int) -> bool:
            try:
                self._forgotten(model, table.slice(0, rows))
            except NeverLearnedError as error:
                errors[rows] = error
            except ValueError:
                pass  # another problem of these rows: the search goes on
            return rows in errors

        row = 1 + bisect_left(range(1, table.num_rows), True, key=is_refused)
        errors[row].row = row
        return errors[row]


SPARE = workers(-2)  # all processors but one, which is left for requests


@dataclass(frozen=True)
class State:
    """An immutable model, after a number of changes."""

    number: int  # changes since the model was first served
    model: Model

    @classmethod
    def of(cls, number: int, model: Model) -> State:
        """The state of a model, whose parameters are estimated now.

        Raises ValueError if they cannot be, for example because a covariance is singular.
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
        """The text column, if it is the model's only column; else None."""
        return self.model.schema.text_column

    @property
    def posterior(self) -> Posterior:
        """The posterior; RefusedError if the model has no class."""
        if len(self.model.classes) == 0:
            problem = "the model has no class, as all its training rows were forgotten"
            raise RefusedError(409, f"{problem}: POST rows with labels to /learn")
        return self.model.posterior()

    def answer(
        self, table: pa.Table, proba: bool = True, top: int | None = None,
        unsure: float | None = None,
    ) -> tuple[Answer, list[str]]:  # fmt: skip
        """(the predictions of each row, warnings)."""
        predictor = Predictor(self.posterior, source=SOURCE, few=1)
        rule = DecisionRule(unsure=unsure)
        classes = predictor.posterior.classes
        with _refusing(predictor):
            codes, probabilities = predictor.posterior.codes_and_proba(predictor.encode(table))
        top_classes = None if top is None else first_classes(codes, probabilities, top)
        best = None if top_classes is None else (classes[top_classes[0]], top_classes[1])
        labels = rule.labelled(classes, rule.codes(probabilities, codes))
        warnings = [str(issue) for issue in predictor.issues]
        return Answer(labels, probabilities if proba else None, best), warnings

    def explained(self, table: pa.Table, by_block: bool = False) -> tuple[Explanation, list[str]]:
        """(the explanation of each row, warnings)."""
        predictor = Predictor(self.posterior, source=SOURCE)
        classes = predictor.posterior.classes
        if len(classes) < 2:
            raise RefusedError(
                409, f"the model has only the class {classes[0]}: an explanation compares two"
            )
        with _refusing(predictor):
            explanation = predictor.explain(table, by_block)
        return explanation, [str(issue) for issue in predictor.issues if issue.kind != "rows"]


@contextmanager
def _refusing(predictor: Predictor) -> Iterator[None]:
    """Refuse rows with a value that cannot be scored."""
    try:
        with predictor.counting_rows():
            yield
    except InvalidValueError as error:
        raise RefusedError(422, str(error)) from None
