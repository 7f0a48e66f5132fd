"""What the commands do, without the printing."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from naively.cli import models, progress
from naively.cli.errors import UsageError, UserError, some
from naively.cli.metrics import Scores, Tally
from naively.cli.sources import Opened, check_columns, check_known
from naively.engines.stream import in_order
from naively.engines.threads import workers
from naively.exact import Float64, Int64
from naively.files.safetensors import Saved
from naively.labels import Labels
from naively.study.rows import LabelledRows, of_stream
from naively.tables.documents import LABEL
from naively.tables.inference import reconsidered
from naively.tables.learning import Held, LearningError, Question, labelled, learn, summarise
from naively.tables.model import TableModel, add_unfit
from naively.tables.names import no_column
from naively.tables.schema import Unfit
from naively.workers import Workers

Tested = tuple[Int64, Float64, int, Labels, dict[str, Unfit]]
"""(position of each label among the classes of a model, -1 if none; log P(c | x) of these rows, a
row each; how many more rows have no label; the labels met; what the model cannot take)."""


@dataclass
class Fitted:
    """What `fit` or `update` did: the model, the time, and how good it is on what was held out."""

    table: TableModel
    seconds: float
    held: Scores | None


@dataclass
class Evaluated:
    """What `evaluate` found."""

    table: TableModel
    target: str
    scores: Scores
    unlabelled: int
    seconds: float


def fit(
    source: Opened, question: Question, known: TableModel | None = None, alone: bool = False
) -> Fitted:
    """Learn the rows of files; those held out are learned after they were a test.

    There have to be two classes, unless the model is known or one `alone` is meant.
    """
    start = time.perf_counter()
    table, held = _learned("learning", source, question, known)
    if len(table.model.classes) == 0 and not held.rows:
        raise _unlearnable(source, question.target, table.unlabelled)
    scores = None
    if question.holdout > 0:
        if len(table.model.classes) == 0:
            raise UserError(f"{source.name}: no row is left to learn from; hold out less")
        scores = _held_out_scores(table, held, question)
        if scores is None:
            progress.note(f"{source.name}: too few rows to hold any out")
        blank = TableModel.blank(table.schema, question.prior)
        for part in held.tables:
            table.absorb(summarise(blank, part, question, known).like_labels(table))
        if known is None:
            table = reconsidered(question.wishes, table)
    table.type_labels()
    if known is None:
        if len(table.model.classes) < 2 and not alone:
            raise UserError(
                f"{source.name}: the target column {question.target!r} has one class only "
                f"({table.model.classes[0]}); a classifier needs two or more"
            )
        table.model.check()
        if said := table.nothing_told:
            progress.note(f"{source.name}: {said}")
    table.model.prior.check_room(len(table.model.classes))
    return Fitted(table, time.perf_counter() - start, scores)


def _held_out_scores(table: TableModel, held: Held, question: Question) -> Scores | None:
    """How the model does on the rows held out; None if there are none."""
    model = table.copy()
    model.type_labels()
    tally = Tally(model.model.class_prior, model.model.class_weight.rounded())
    for part in held.tables:
        tested = _tested(model, part, question.target, question.wishes.missing, workers(None))
        tally.add(*tested[:2])
    scores = tally.scores()
    return scores if scores.rows else None


def evaluate(
    saved: Saved, source: Opened, target: str | None, positive: str | None = None
) -> Evaluated:
    """Compare predictions with the target column of files; `positive` is the class looked for."""
    start = time.perf_counter()
    target = target or models.target_of(saved)
    if target is None and source.files.texts and LABEL in source.names:
        target = LABEL
    if target is None:
        raise UsageError("the model file does not name its target: give it with --target COLUMN")
    if target not in source.names:
        raise UserError(
            f"{source.name}: {no_column(target, source.names)}; without the true labels there is "
            "nothing to compare"
        )
    if target in models.features_of(saved):
        raise UserError(f"{target!r} is a feature of the model, and cannot be its target")
    table = models.as_table(saved, [name for name in source.names if name != target], source.name)
    wanted = None if positive is None else models.label_of(table, positive)
    tally = Tally(table.model.class_prior, table.model.class_weight.rounded(), wanted)
    unlabelled, met = 0, np.empty(0, object)
    unfit: dict[str, Unfit] = {}

    def one(task: Any) -> Tested:
        return _tested(table, pa.Table.from_batches([task()]), target, models.spellings(saved))

    with progress.bar("evaluating", source.files):
        for truth, log_proba, skipped, labels, invalid in in_order(
            one, source.tasks(), workers(None).count
        ):
            tally.add(truth, log_proba)
            add_unfit(unfit, invalid)
            unlabelled += skipped
            met = labels if len(met) == 0 else met
    scores = tally.scores()
    if scores.rows == 0:
        raise _unlearnable(source, target, unlabelled)
    if scores.strangers == scores.rows:
        raise UserError(
            f"{source.name}: no label in column {target!r} ({some(met)}) is a class of the model "
            f"({some(table.model.classes)})"
        )
    models.unread(table, unfit)
    return Evaluated(table, target, scores, unlabelled, time.perf_counter() - start)


def _tested(
    table: TableModel, batch: pa.Table, target: str, missing: Sequence[str],
    threads: Workers | None = None,
) -> Tested:  # fmt: skip
    """What a model says of the rows of a batch that have a label."""
    labels, codes = labelled(batch, target, missing)
    kept = np.flatnonzero(codes < len(labels))
    truth = np.append(models.positions(labels, table.model.classes), -1)[codes[kept]]
    rows, unfit = table.encode(batch)
    log_proba = table.model.log_proba(rows[kept], threads)
    return truth, log_proba, batch.num_rows - len(kept), labels, unfit


def _unlearnable(source: Opened, target: str, unlabelled: int) -> UserError:
    """The error where no row has a label."""
    if unlabelled:
        return UserError(f"{source.name}: every cell of the target column {target!r} is empty")
    return UserError(f"{source.name}: there are no rows")


def predict(saved: Saved, source: Opened, proba: bool) -> Iterator[Any]:
    """(the columns as they were read, predicted labels, probabilities) of each batch."""
    target = models.target_of(saved)
    table = models.as_table(saved, [name for name in source.names if name != target], source.name)
    model = table.model

    def one(task: Any) -> tuple[pa.RecordBatch, Labels, Float64 | None, dict[str, Unfit]]:
        batch = task()
        rows, invalid = table.encode(pa.Table.from_batches([batch]))
        probabilities = model.proba(rows) if proba else None
        return batch, model.classes[model.predict_codes(rows)], probabilities, invalid

    empty, told, known = True, False, set(source.names)
    unfit: dict[str, Unfit] = {}
    with progress.bar("predicting", source.files):
        tasks = source.live_tasks()
        for batch, labels, probabilities, invalid in in_order(one, tasks, workers(None).count):
            empty = False
            add_unfit(unfit, invalid)
            new = [name for name in batch.schema.names if name not in known]
            if new and not told:
                told = True
                progress.note(f"{source.name}: {some(new)} came after the first rows: not written")
            yield _as_first(batch, source.names), labels, probabilities
    if empty:
        none = pa.RecordBatch.from_arrays([pa.nulls(0)] * len(source.names), source.names)
        yield none, model.classes[:0], np.empty((0, len(model.classes))) if proba else None
    models.unread(table, unfit)


def _as_first(batch: pa.RecordBatch, names: list[str]) -> pa.RecordBatch:
    """A batch with the columns of the first one: JSON lines may have others further down."""
    if batch.schema.names == names:
        return batch
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    arrays = [columns.get(name, pa.nulls(batch.num_rows)) for name in names]
    return pa.RecordBatch.from_arrays(arrays, names)


def learned_alone(saved: Saved, source: Opened, question: Question) -> TableModel:
    """A model like another that learned the rows of files alone, which it is to forget."""
    return _learned("forgetting", source, question, saved.model)[0]


def _learned(
    what: str, source: Opened, question: Question, known: TableModel | None
) -> tuple[TableModel, Held]:
    """(a model that learned the rows of files, those held out)."""
    check_columns(source, question)
    if known is not None:
        check_known(source, known, question)
    with progress.bar(what, source.files):
        try:
            return learn(source.tasks(), question, workers(None).count, known)
        except LearningError as error:
            raise UserError(f"{source.name}: {error}") from None


def sampled(source: Opened, question: Question) -> LabelledRows:
    """The rows on which models are compared: a sample, if they are many."""
    check_columns(source, question)
    with progress.bar("reading", source.files):
        try:
            return of_stream(
                source.tasks(), question.target, question.wishes.missing, question.seed,
                workers(None).count,
            )  # fmt: skip
        except ValueError as error:
            raise UserError(f"{source.name}: {error}") from None
