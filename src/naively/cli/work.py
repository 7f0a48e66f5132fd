"""Run the commands: train, evaluate and predict on files; printing is in cli/results."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from naively.cli import models, progress
from naively.cli.errors import UserError, some
from naively.cli.sources import Opened, check_columns, compared_target, note_other_columns
from naively.cli.terminal import clean
from naively.core.exact import Float64
from naively.core.labels import Labels
from naively.core.markup import counted
from naively.core.numerals import NUMBER
from naively.core.workers import in_order, workers
from naively.evaluation.fitted import TrainingRows, cross_validation, refitted
from naively.evaluation.metrics import RuleTally, Scores, Tally
from naively.evaluation.samples import LabelledRows, RowSample, kept_of, of_stream
from naively.evaluation.splits import split_by
from naively.io.formats.documents import LABEL
from naively.io.inputs import Task
from naively.model.column_types import MANY
from naively.model.decisions import DecisionRule, likeliest
from naively.model.model import Model, NeverLearnedError
from naively.model.posterior import Posterior
from naively.predictor import Compared, Predictor
from naively.storage.model_files import Saved
from naively.tables.learning import (
    ALL_OTHERS,
    HEAD,
    LearningError,
    Plan,
    TrainingSpec,
    check_repeated,
    merge,
    summarise,
    trained,
)
from naively.tables.names import few
from naively.tables.one_pass import Held, learn
from naively.tables.targets import with_typed_labels

MOST = 0.9  # share of labels that are numbers, above which they may be amounts
SEPARATORS = "|;,"


def odd_labels(model: Model) -> Iterator[str]:
    """Messages on labels that may be amounts, typing errors, or lists of labels."""
    labels: list[Any] = model.classes.tolist()
    names = [str(label) for label in labels]
    numbers = sum(NUMBER.fullmatch(name) is not None for name in names)
    if numbers > MANY and numbers >= MOST * len(names):
        yield (
            f"{numbers:,} of the labels of {clean(model.target)!r} are numbers, and each is a "
            "class of its own: if they measure something, cut them into ranges"
        )
    weights = model.class_weight.rounded()
    once = [names[k] for k in np.flatnonzero(weights == 1.0).tolist()]
    if weights.sum() == model.rows and 0 < len(once) < len(names):
        have = "classes {} have a single row each" if once[1:] else "class {} has a single row"
        yield f"{have.format(few(once))}: if this is a typing error, correct the label"
    texts = (block.family.summary.of_texts or p.has_texts for block, p in model.posterior().blocks)
    if (label_list := _several(names)) and any(texts):
        yield (
            f"labels such as {clean(label_list)!r} name several that are labels themselves: with "
            "--multilabel a text has any number of them"
        )


def _several(names: list[str]) -> str | None:
    """The first label that is a list of other labels; None if there is none."""
    labels = set(names)
    for name in names:
        for separator in SEPARATORS:
            parts = [part.strip() for part in name.split(separator)]
            if len(parts) > 1 and labels.issuperset(parts):
                return name
    return None


# ---- training scores -----------------------------------------------------------------------------


LOOKED_AT = 10_000  # rows of a batch that are looked up among the training rows, at most
HEAVY = 1 << 28  # bytes of a model, above which no models of folds are trained beside it


def training_scores(
    model: Model, sample: RowSample, spec: TrainingSpec, ranked: Sequence[int] = ()
) -> Scores | None:
    """Cross-validation scores of a model; None for one class.

    A model that cannot compute them (`naively.evaluation.fitted`), and one whose rows are split by
    group or time, is trained again on a sample of its training rows. Rows are ranked by the
    classes `ranked`, unless the model has its own out-of-fold predictions.

    Raises ValueError if the model of a fold cannot be estimated, or models would take too much
    memory.
    """
    by_row = spec.groups is None and spec.time is None
    if by_row and (own_scores := cross_validation(model, ranked)) is not None:
        return own_scores
    if model.statistics.nbytes > HEAVY:
        raise ValueError(f"the model takes more than {HEAVY >> 20:,} MB")
    rows = sample.learnable(model, spec)
    texts = model.schema.family.summary.of_texts
    # a sample holds only some rows of a group: the model of all rows has learned the others
    full_model = model if by_row and texts and model.statistics.refused() is None else None
    return refitted(rows, full_model, ranked)


@dataclass
class Fitted:
    """The result of `fit` or `update`."""

    model: Model
    seconds: float  # time of reading, training and cross-validation
    # Scores of held-out rows, or with `--evaluate` of new rows before training on them
    held: Scores | None
    cross_validation: Scores | None = None  # Scores of cross-validation on training rows
    # a sample of these; None if some rows were held out, or a model was updated
    sample: RowSample | None = None


@dataclass
class Evaluated:
    """The result of `evaluate`."""

    model: Model
    target: str
    scores: Scores
    unlabelled: int
    seconds: float
    decided: RuleTally | None = None


def fit(
    source: Opened, spec: TrainingSpec, existing: Model | None = None, evaluate: bool = False
) -> Fitted:
    """Train on the rows of files; held-out rows are tested first, then trained on, too.

    With `evaluate`, the model `existing` predicts each row before training on it (A. P. Dawid
    1984, Statistical theory: the prequential approach).
    """
    start = time.perf_counter()
    tally = None
    if evaluate and existing is not None and len(existing.classes):
        existing.posterior(workers(None))
        tally = Tally.of_model(existing)
    kept = kept_of(spec) if spec.holdout == 0 and existing is None else None
    model, held_out = _learned("learning", source, spec, existing, kept, tally)
    if len(model.classes) == 0 and not held_out.rows:
        raise unlearnable(source, spec.target, model.unlabelled)
    scores = None if tally is None else tally.scores()
    if spec.holdout > 0:
        if len(model.classes) == 0:
            raise UserError(f"{source.name}: no row is left to train on: use a smaller --holdout")
        scores = _held_out_scores(model, held_out, spec)
        if scores is None:
            progress.note(f"{source.name}: too few rows to hold any out")
        plan = Plan(model.blank(), spec, None if existing is None else existing.classes)
        for part in held_out.tables:
            model = merge(model, summarise(plan, part))
    if existing is None:
        model = checked(source.name, model, spec)
    else:
        model = with_typed_labels(model)
    model.prior.check_room(model.classes)
    validation = cross_validated(source.name, model, kept, spec)
    return Fitted(model, time.perf_counter() - start, scores, validation, kept)


def checked(name: str, model: Model, spec: TrainingSpec) -> Model:
    """Finish a new model, see `trained`, and print notes on its issues."""
    with progress.doing() as show:
        show("estimating")
        try:
            model, issues = trained(model, spec.columns, workers(None))
        except ValueError as error:
            raise UserError(f"{name}: {error}") from None
    for issue in issues:
        progress.note(f"{name}: {issue}")
    return model


def cross_validated(
    name: str,
    model: Model,
    sample: RowSample | None,
    spec: TrainingSpec,
    ranked: Sequence[int] = (),
) -> Scores | None:
    """Cross-validation scores of a new model on its training rows; None if not computed."""
    if sample is None or spec.cells is not None or len(model.classes) < 2:
        return None
    try:
        with progress.doing() as show:
            show("cross-validation")
            return training_scores(model, sample, spec, ranked)
    except ValueError as error:
        if spec.groups is not None or spec.time is not None:
            raise UserError(f"{name}: {error}") from None
        progress.note(f"{name}: no cross-validation: {error}")
        return None


def _held_out_scores(model: Model, held: Held, spec: TrainingSpec) -> Scores | None:
    """Scores of held-out rows; None if there are none."""
    model = with_typed_labels(model.copy())
    threads = workers(None)
    predictor = Predictor(model.posterior(threads), spec.target)
    tally = Tally.of_model(model)
    for part in held.tables:
        compared = predictor.compare(part, spec.columns.missing, threads)
        tally.add(compared.truth, compared.log_proba)
    scores = tally.scores()
    return scores if scores.rows else None


def evaluate(
    saved: Saved, source: Opened, target: str | None, positive: str | None = None,
    rule: DecisionRule | None = None,
) -> Evaluated:  # fmt: skip
    """Score predictions, and a decision rule's, against the target column of files.

    `positive` names the positive class.
    """
    start = time.perf_counter()
    target = target or saved.model.target
    if target is None and source.files.texts and LABEL in source.names:
        target = LABEL
    target = compared_target(saved, source, target)
    predictor, model = models.predictor(saved, source.names, source.name, target), saved.model
    classes, missing = predictor.posterior.classes, models.spellings(saved)
    positive_code = None if positive is None else models.label_of(model, positive, "--positive")
    tally = Tally.of_model(model, positive_code)
    rule_tally = None if rule is None else RuleTally(rule, len(classes))
    unlabelled, labels = 0, np.empty(0, object)
    training = TrainingRows(model)

    def score_task(task: Task) -> tuple[Compared, int, int]:
        table = pa.Table.from_batches([task()])
        compared = predictor.compare(table, missing)
        if not training.has_rows or compared.unlabelled:
            return compared, 0, 0
        codes = compared.truth[:LOOKED_AT]
        return compared, len(codes), training.count(table[:LOOKED_AT], codes)

    with progress.bar("evaluating", source.files), predictor.counting_rows(1) as rows:
        for compared, n_looked_up, n_equal in in_order(
            score_task, source.tasks(), workers(None).count
        ):
            training.rows += n_looked_up
            training.equal += n_equal
            tally.add(compared.truth, compared.log_proba)
            if rule_tally is not None:
                rule_tally.add(compared.truth, compared.log_proba)
            unlabelled += compared.unlabelled
            rows.before += len(compared.truth) + compared.unlabelled
            labels = compared.labels if len(labels) == 0 else labels
    scores = tally.scores()
    if scores.rows == 0:
        raise unlearnable(source, target, unlabelled)
    if scores.unknown == scores.rows:
        raise UserError(
            f"{source.name}: the labels in column {target!r} ({some(labels)}) are not classes of "
            f"the model ({some(classes)})"
        )
    models.notes(issue for issue in predictor.issues if issue.kind != "absent")
    if training.recognised:
        progress.note(
            f"{source.name}: {training.equal:,} of {counted(training.rows, 'row')} that were "
            "looked up are equal to training rows, on which scores are too good; `naively inspect` "
            "shows those of cross-validation"
        )
    elif not training.recognisable and _counted_alike(scores, model):
        progress.note(
            f"{source.name}: each class has as many rows as in training; if these are the training "
            "rows, the scores are too good"
        )
    return Evaluated(model, target, scores, unlabelled, time.perf_counter() - start, rule_tally)


def _counted_alike(scores: Scores, model: Model) -> bool:
    """Whether the numbers of rows of each class are those of the training rows."""
    rows = scores.confusion.sum(axis=1)
    return not scores.unknown and np.array_equal(rows, model.class_weight.rounded())


def unlearnable(source: Opened, target: str, unlabelled: int) -> UserError:
    """The error if no row has a label."""
    if unlabelled:
        return UserError(f"{source.name}: every cell of the target column {target!r} is empty")
    return UserError(f"{source.name}: there are no rows")


class Predicted(NamedTuple):
    """Predictions for a batch."""

    batch: pa.RecordBatch  # the columns as they were read
    labels: Labels  # (n,) predicted labels
    proba: Float64 | None  # (n, C) P(c | x); None unless requested
    # (labels, their P(c | x)), (n, k) each, of the most probable classes; None unless requested
    top: tuple[Labels, Float64] | None


def predict(
    saved: Saved, source: Opened, proba: bool, rule: DecisionRule | None = None,
    top: int | None = None,
) -> Iterator[Predicted]:  # fmt: skip
    """Predict each batch of files, with the `top` most probable classes."""
    label = Posterior.predict if rule is None else rule.labels
    predictor = models.predictor(saved, source.names, source.name)
    posterior = predictor.posterior
    without_remarks = replace(posterior, remarks=None)  # one remark per row is enough

    def predict_task(task: Task) -> tuple[list[str], Predicted]:
        batch = task()
        rows = predictor.encode(pa.Table.from_batches([batch]))
        top_classes = None if top is None else likeliest(without_remarks, rows, top)
        return batch.schema.names, Predicted(
            _as_first(batch, source.names), label(posterior, rows),
            without_remarks.proba(rows) if proba else None,
            None if top_classes is None else (posterior.classes[top_classes[0]], top_classes[1]),
        )  # fmt: skip

    is_empty, is_noted, first_names = True, False, set(source.names)
    with progress.bar("predicting", source.files), predictor.counting_rows(1) as row_counter:
        for names, predicted in in_order(predict_task, source.live_tasks(), workers(None).count):
            is_empty = False
            row_counter.before += predicted.batch.num_rows
            new = [name for name in names if name not in first_names]
            if new and not is_noted:
                is_noted = True
                progress.note(f"{source.name}: {some(new)} came after the first rows: not written")
            yield predicted
    if is_empty:
        empty_batch = pa.RecordBatch.from_arrays([pa.nulls(0)] * len(source.names), source.names)
        no_rows = np.empty((0, len(posterior.classes)))
        no_top = no_rows[:, :top]
        yield Predicted(
            empty_batch, posterior.classes[:0], no_rows if proba else None,
            None if top is None else (posterior.classes[no_top.astype(np.int64)], no_top),
        )  # fmt: skip
    models.notes(issue for issue in predictor.issues if issue.kind != "absent")


def _as_first(batch: pa.RecordBatch, names: list[str]) -> pa.RecordBatch:
    """Select the columns of the first batch: later JSON lines may have others."""
    if batch.schema.names == names:
        return batch
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    arrays = [columns.get(name, pa.nulls(batch.num_rows)) for name in names]
    return pa.RecordBatch.from_arrays(arrays, names)


def learned_alone(saved: Saved, source: Opened, spec: TrainingSpec) -> Model:
    """Train a model on the rows that another one is to forget, with the same schema."""
    return _learned("forgetting", source, spec, saved.model)[0]


def first_never_learned(model: Model, source: Opened, spec: TrainingSpec) -> str | None:
    """The message that names the first row of files that a model cannot forget.

    None if the rows cannot be read again, as those of a pipe.
    """
    from naively.serve.state import Changer

    changer, n_earlier = Changer(spec), 0
    try:
        for task in source.tasks():
            table = pa.Table.from_batches([task()])
            model = changer.forget(model, table).model
            n_earlier += table.num_rows
    except NeverLearnedError as error:
        return f"{source.name}, row {n_earlier + error.row:,}: {error}"
    except (OSError, ValueError):
        pass
    return None


def _learned(
    what: str, source: Opened, spec: TrainingSpec, existing: Model | None,
    sample: RowSample | None = None,
    tally: Tally | None = None,
) -> tuple[Model, Held]:  # fmt: skip
    """(a model trained on the rows of files, the held-out rows); `sample` samples the rows.

    With `tally`, the model `existing` predicts the rows first.
    """
    check_columns(source, spec)
    if existing is not None:
        note_other_columns(source, existing, spec)
    with progress.bar(what, source.files):
        try:
            tasks = source.tasks() if sample is None else sample.passing(source.tasks())
            if tally is not None and existing is not None:
                tasks = _predicted_first(tasks, existing, spec, tally)
            return learn(tasks, spec, workers(None).count, existing)
        except LearningError as error:
            raise UserError(f"{source.name}: {error}") from None


def _predicted_first(
    tasks: Iterator[Task], model: Model, spec: TrainingSpec, tally: Tally
) -> Iterator[Task]:
    """Wrap tasks, so that a model predicts the rows of each, and the tally scores them."""
    lock, predictor = Lock(), Predictor(model.posterior(), spec.target)

    def score_task(task: Task) -> pa.RecordBatch:
        batch = task()
        compared = predictor.compare(pa.Table.from_batches([batch]), spec.columns.missing)
        with lock:
            tally.add(compared.truth, compared.log_proba)
        return batch

    return (partial(score_task, task) for task in tasks)


def sampled(source: Opened, spec: TrainingSpec) -> LabelledRows:
    """Read labelled rows to compare models on; many rows are sampled."""
    check_columns(source, spec)
    with progress.bar("reading", source.files):
        try:
            rows = of_stream(
                source.tasks(), spec.target, spec.columns.missing, spec.seed,
                workers(None).count,
            )  # fmt: skip
            all_rows = rows.total == len(rows.codes)
            limits = () if all_rows else (ALL_OTHERS, HEAD)
            check_repeated(spec.target, len(rows.classes), len(rows.codes), *limits)
            rows.split = split_by(rows.table, spec.groups, spec.time, spec.columns.missing)
            return rows
        except ValueError as error:
            raise UserError(f"{source.name}: {error}") from None
