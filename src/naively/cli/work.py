"""What the commands do, without the printing."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from naively.cli import models, progress
from naively.cli.decided import Decided
from naively.cli.errors import UserError, some
from naively.cli.judged import judged
from naively.cli.metrics import Scores, Tally
from naively.cli.sources import Opened, check_columns, check_known, compared_target
from naively.decisions import DecisionRule, likeliest
from naively.engines.stream import in_order
from naively.engines.threads import workers
from naively.exact import Float64, Int64
from naively.files.safetensors import Saved
from naively.invalid import Invalid, add_invalid
from naively.labels import Labels
from naively.model import Model
from naively.model_summary import CrossValidation
from naively.posterior import Posterior
from naively.study.kept import Kept
from naively.study.rows import LabelledRows, of_stream
from naively.tables.documents import LABEL
from naively.tables.encoding import encode_for
from naively.tables.held import Held
from naively.tables.identifiers import without_identifiers
from naively.tables.inputs import Task
from naively.tables.learning import (
    ALL_OTHERS,
    HEAD,
    LearningError,
    Plan,
    Question,
    check_repeated,
    labelled,
    merge,
    summarise,
)
from naively.tables.left_out import odd, unvaried_in
from naively.tables.one_pass import learn
from naively.tables.relabelling import with_typed_labels
from naively.tables.targets import positions
from naively.workers import Workers

Tested = tuple[Int64, Float64, int, Labels, dict[str, Invalid]]
"""(position of each label among the classes of a model, -1 if none; log P(c | x) of these rows, a
row each; how many more rows have no label; the labels met; what the model cannot take)."""


@dataclass
class Fitted:
    """What `fit` or `update` did.

    Attributes
    ----------
    model : Model
    seconds : float, that learning took.
    held : Scores of the rows that were held out, or of new rows before they were learned.
    left_out : CrossValidation of the rows that were learned.
    kept : a sample of them; None if some were held out, or another model said what to learn.
    """

    model: Model
    seconds: float
    held: Scores | None
    left_out: CrossValidation | None = None
    kept: Kept | None = None


@dataclass
class Evaluated:
    """What `evaluate` found."""

    model: Model
    target: str
    scores: Scores
    unlabelled: int
    seconds: float
    decided: Decided | None = None


def fit(
    source: Opened, question: Question, known: Model | None = None, evaluate: bool = False
) -> Fitted:
    """Learn the rows of files; those held out are learned after they were a test.

    With `evaluate` the model `known` predicts each row before it is learned (A. P. Dawid, Present
    position and potential developments: some personal views: statistical theory: the prequential
    approach, 1984).
    """
    start = time.perf_counter()
    tally = None
    if evaluate and known is not None and len(known.classes):
        known.posterior(workers(None))
        tally = Tally(known.posterior().class_prior, known.class_weight.rounded())
    kept = Kept(question.seed) if question.holdout == 0 and known is None else None
    model, held = _learned("learning", source, question, known, kept, tally)
    if len(model.classes) == 0 and not held.rows:
        raise unlearnable(source, question.target, model.unlabelled)
    scores = None if tally is None else tally.scores()
    if question.holdout > 0:
        if len(model.classes) == 0:
            raise UserError(f"{source.name}: no row is left to learn from; hold out less")
        scores = _held_out_scores(model, held, question)
        if scores is None:
            progress.note(f"{source.name}: too few rows to hold any out")
        made = Plan(model.blank(), question, None if known is None else known.classes)
        for part in held.tables:
            model = merge(model, summarise(made, part))
    model = with_typed_labels(model)
    if known is None:
        model = without_identifiers(model)
        check_learned(source.name, model, question)
    model.prior.check_room(model.classes)
    seconds = time.perf_counter() - start
    return Fitted(model, seconds, scores, left_out(source.name, model, kept, question), kept)


def check_learned(name: str, model: Model, question: Question) -> None:
    """Refuse what was learned for parameters that do not fit it, and tell what is odd about it."""
    question.wishes.check_smoothed(model.schema.known)
    model.check()
    model.posterior(workers(None))
    if said := odd(model):
        progress.note(f"{name}: {said}")


def left_out(
    name: str, model: Model, kept: Kept | None, question: Question
) -> CrossValidation | None:
    """How the model does on the rows that it learned, each judged without itself."""
    if kept is None or question.cells is not None or len(model.classes) < 2:
        return None
    try:
        with progress.doing() as tell:
            tell("leaving rows out in turn")
            return judged(model, kept, question)
    except ValueError as error:
        progress.note(f"{name}: no rows can be left out in turn: {error}")
        return None


def _held_out_scores(model: Model, held: Held, question: Question) -> Scores | None:
    """How the model does on the rows held out; None if there are none."""
    model = with_typed_labels(model.copy())
    model.posterior(workers(None))
    tally = Tally(model.posterior().class_prior, model.class_weight.rounded())
    for part in held.tables:
        tested = compared(model, part, question.target, question.wishes.missing, workers(None))
        tally.add(*tested[:2])
    scores = tally.scores()
    return scores if scores.rows else None


def evaluate(
    saved: Saved, source: Opened, target: str | None, positive: str | None = None,
    rule: DecisionRule | None = None,
) -> Evaluated:  # fmt: skip
    """Compare predictions, and a rule's, with the target column of files.

    `positive` is the class looked for.
    """
    start = time.perf_counter()
    target = target or models.target_of(saved)
    if target is None and source.files.texts and LABEL in source.names:
        target = LABEL
    target = compared_target(saved, source, target)
    names = [name for name in source.names if name != target]
    model = models.with_columns(saved, names, source.name)
    wanted = None if positive is None else models.label_of(model, positive)
    tally = Tally(model.posterior().class_prior, model.class_weight.rounded(), wanted)
    decided = None if rule is None else Decided(rule)
    unlabelled, met = 0, np.empty(0, object)
    invalid: dict[str, Invalid] = {}
    posterior = model.posterior().remarking()

    def one(task: Any) -> Tested:
        table = pa.Table.from_batches([task()])
        return compared(model, table, target, models.spellings(saved), posterior=posterior)

    with progress.bar("evaluating", source.files):
        for truth, log_proba, skipped, labels, unread in in_order(
            one, source.tasks(), workers(None).count
        ):
            tally.add(truth, log_proba)
            if decided is not None:
                decided.add(truth, log_proba)
            add_invalid(invalid, unread)
            unlabelled += skipped
            met = labels if len(met) == 0 else met
    scores = tally.scores()
    if scores.rows == 0:
        raise unlearnable(source, target, unlabelled)
    if scores.unknown == scores.rows:
        raise UserError(
            f"{source.name}: no label in column {target!r} ({some(met)}) is a class of the model "
            f"({some(model.classes)})"
        )
    models.unread(model, invalid)
    models.remarks(posterior)
    return Evaluated(model, target, scores, unlabelled, time.perf_counter() - start, decided)


def compared(
    model: Model, batch: pa.Table, target: str, missing: Sequence[str],
    threads: Workers | None = None, posterior: Posterior | None = None,
) -> Tested:  # fmt: skip
    """What a model, or its posterior, says of the rows of a batch that have a label."""
    labels, codes = labelled(batch, target, missing)
    kept = np.flatnonzero(codes < len(labels))
    truth = np.append(positions(labels, model.classes), -1)[codes[kept]]
    posterior = posterior or model.posterior()
    rows, invalid = encode_for(posterior, batch, unvaried_in(posterior))
    log_proba = posterior.log_proba(rows[kept], threads)
    return truth, log_proba, batch.num_rows - len(kept), labels, invalid


def unlearnable(source: Opened, target: str, unlabelled: int) -> UserError:
    """The error where no row has a label."""
    if unlabelled:
        return UserError(f"{source.name}: every cell of the target column {target!r} is empty")
    return UserError(f"{source.name}: there are no rows")


class Predicted(NamedTuple):
    """What is said of a batch.

    Attributes
    ----------
    batch : the columns as they were read.
    labels : (n,) that are predicted.
    proba : (n, C) P(c | x); None unless asked for.
    top : (labels, their P(c | x)), (n, k) both, of the most probable classes; None unless asked.
    """

    batch: pa.RecordBatch
    labels: Labels
    proba: Float64 | None
    top: tuple[Labels, Float64] | None


def predict(
    saved: Saved, source: Opened, proba: bool, rule: DecisionRule | None = None,
    top: int | None = None,
) -> Iterator[Predicted]:  # fmt: skip
    """What is said of each batch, with the `top` most probable classes."""
    label = Posterior.predict if rule is None else rule.labels
    target = models.target_of(saved)
    names = [name for name in source.names if name != target]
    model = models.with_columns(saved, names, source.name)
    posterior = model.posterior()
    without = unvaried_in(posterior)
    asked = posterior.remarking()

    def said(batch: pa.RecordBatch, rows: Any) -> Predicted:
        first = None if top is None else likeliest(posterior, rows, top)
        return Predicted(
            _as_first(batch, source.names), label(asked, rows),
            posterior.proba(rows) if proba else None,
            None if first is None else (posterior.classes[first[0]], first[1]),
        )  # fmt: skip

    def one(task: Any) -> tuple[list[str], Predicted, dict[str, Invalid]]:
        batch = task()
        rows, unread = encode_for(asked, pa.Table.from_batches([batch]), without)
        return batch.schema.names, said(batch, rows), unread

    empty, warned, known = True, False, set(source.names)
    invalid: dict[str, Invalid] = {}
    with progress.bar("predicting", source.files):
        tasks = source.live_tasks()
        for names, found, unread in in_order(one, tasks, workers(None).count):
            empty = False
            add_invalid(invalid, unread)
            new = [name for name in names if name not in known]
            if new and not warned:
                warned = True
                progress.note(f"{source.name}: {some(new)} came after the first rows: not written")
            yield found
    if empty:
        none = pa.RecordBatch.from_arrays([pa.nulls(0)] * len(source.names), source.names)
        no_rows = np.empty((0, len(posterior.classes)))
        few = no_rows[:, :top]
        yield Predicted(
            none, posterior.classes[:0], no_rows if proba else None,
            None if top is None else (posterior.classes[few.astype(np.int64)], few),
        )  # fmt: skip
    models.unread(model, invalid)
    models.remarks(asked)


def _as_first(batch: pa.RecordBatch, names: list[str]) -> pa.RecordBatch:
    """A batch with the columns of the first one: JSON lines may have others further down."""
    if batch.schema.names == names:
        return batch
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    arrays = [columns.get(name, pa.nulls(batch.num_rows)) for name in names]
    return pa.RecordBatch.from_arrays(arrays, names)


def learned_alone(saved: Saved, source: Opened, question: Question) -> Model:
    """A model like another that learned the rows of files alone, which it is to forget."""
    return _learned("forgetting", source, question, saved.model)[0]


def _learned(
    what: str, source: Opened, question: Question, known: Model | None, kept: Kept | None = None,
    tally: Tally | None = None,
) -> tuple[Model, Held]:  # fmt: skip
    """(a model that learned the rows of files, those held out); some rows are kept besides.

    With a tally the model `known` predicts the rows first.
    """
    check_columns(source, question)
    if known is not None:
        check_known(source, known, question)
    with progress.bar(what, source.files):
        try:
            tasks = source.tasks() if kept is None else kept.passing(source.tasks())
            if tally is not None and known is not None:
                tasks = _predicted_first(tasks, known, question, tally)
            return learn(tasks, question, workers(None).count, known)
        except LearningError as error:
            raise UserError(f"{source.name}: {error}") from None


def _predicted_first(
    tasks: Iterator[Task], model: Model, question: Question, tally: Tally
) -> Iterator[Task]:
    """The same tasks; the rows of each are compared with the predictions of a model first."""
    lock = Lock()

    def one(task: Task) -> pa.RecordBatch:
        batch = task()
        table = pa.Table.from_batches([batch])
        tested = compared(model, table, question.target, question.wishes.missing)
        with lock:
            tally.add(*tested[:2])
        return batch

    return (partial(one, task) for task in tasks)


def sampled(source: Opened, question: Question) -> LabelledRows:
    """The rows on which models are compared: a sample, if they are many."""
    check_columns(source, question)
    with progress.bar("reading", source.files):
        try:
            found = of_stream(
                source.tasks(), question.target, question.wishes.missing, question.seed,
                workers(None).count,
            )  # fmt: skip
            whole = found.total == len(found.codes)
            limits = () if whole else (ALL_OTHERS, HEAD)
            check_repeated(question.target, len(found.classes), len(found.codes), *limits)
            return found
        except ValueError as error:
            raise UserError(f"{source.name}: {error}") from None
