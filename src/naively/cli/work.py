"""What the commands do, without the printing."""

from __future__ import annotations

import glob
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from naively.cli import progress
from naively.cli.errors import UsageError, UserError
from naively.cli.metrics import Scores, Tally
from naively.engines.stream import in_order
from naively.engines.threads import workers
from naively.exact import Float64, Int64
from naively.families.product import Product, ProductStatistics
from naively.files import safetensors
from naively.files.safetensors import Saved
from naively.labels import Labels
from naively.model import Model
from naively.tables import values
from naively.tables.inputs import MISSING
from naively.tables.learning import Held, LearningError, Question, labelled, learn, summarise
from naively.tables.model import TableModel
from naively.tables.names import no_column
from naively.tables.readers import FORMATS, Source, open_source
from naively.tables.schema import Block, Schema


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


@dataclass
class Explained:
    """What `explain` found of a row.

    Attributes
    ----------
    table : TableModel
    row : table of one row.
    told : Explanation
    proba : (C,) P(class | row).
    predicted : position of the class that is predicted.
    label, against : positions of the classes that are compared.
    prior, moved : log-odds of these, in nats: of the prior, and of each feature.
    total : all of it.
    """

    table: TableModel
    row: pa.Table
    told: Any
    proba: Float64
    predicted: int
    label: int
    against: int
    prior: float
    moved: Float64
    total: float


def fit(data: Sequence[str], question: Question, known: TableModel | None = None) -> Fitted:
    """Learn the rows of files; those held out are learned after they were a test."""
    start = time.perf_counter()
    source = opened(data, question.wishes.missing)
    _check_columns(data, source, question)
    if known is not None:
        _check_known(data, source, known, question)
    with progress.bar("learning", source):
        table, held = _learned(data, source, question, known)
    if len(table.model.classes) == 0 and not held.rows:
        raise UserError(
            f"{_named(data)}: every cell of the target column {question.target!r} is empty"
            if table.unlabelled
            else f"{_named(data)}: there are no rows"
        )
    scores = None
    if question.holdout > 0:
        if len(table.model.classes) == 0:
            raise UserError(f"{_named(data)}: no row is left to learn from; hold out less")
        tally = Tally(table.model.class_prior, table.model.class_weight.rounded())
        for part in held.tables:
            labels, codes = labelled(part, question.target)
            truth, kept = _truth(labels, codes, table.model.classes)
            tally.add(truth, table.model.log_proba(table.encode(part)[kept], workers(None)))
        scores = tally.scores() if held.rows else None
        if scores is None or scores.rows == 0:
            scores = None
            progress.note(f"{_named(data)}: too few rows to hold any out")
        blank = TableModel.blank(table.schema, question.prior)
        for part in held.tables:
            table.absorb(summarise(blank, part, question))
    if len(table.model.classes) < 2 and known is None:
        raise UserError(
            f"{_named(data)}: the target column {question.target!r} has one class only "
            f"({table.model.classes[0]}); a classifier needs two or more"
        )
    table.model.prior.check_room(len(table.model.classes))
    return Fitted(table, time.perf_counter() - start, scores)


def evaluate(saved: Saved, data: Sequence[str], target: str | None) -> Evaluated:
    """Compare predictions with the target column of files."""
    start = time.perf_counter()
    source = opened(data, spellings(saved))
    target = target or target_of(saved)
    if target is None:
        raise UsageError("the model file does not name its target: give it with --target COLUMN")
    if target not in source.names:
        raise UserError(
            f"{_named(data)}: {no_column(target, source.names)}; without the true labels there is "
            "nothing to compare"
        )
    if target in features_of(saved):
        raise UserError(f"{target!r} is a feature of the model, and cannot be its target")
    table = as_table(saved, [name for name in source.names if name != target], data)
    tally = Tally(table.model.class_prior, table.model.class_weight.rounded())
    unlabelled, met = 0, np.empty(0, object)

    def one(task: Any) -> tuple[Int64, Float64, int, Labels]:
        batch = pa.Table.from_batches([task()])
        labels, codes = labelled(batch, target)
        truth, kept = _truth(labels, codes, table.model.classes)
        log_proba = table.model.log_proba(table.encode(batch)[kept])
        return truth, log_proba, batch.num_rows - len(kept), labels

    with progress.bar("evaluating", source):
        for truth, log_proba, skipped, labels in in_order(one, source.tasks(), workers(None).count):
            tally.add(truth, log_proba)
            unlabelled += skipped
            met = labels if len(met) == 0 else met
    scores = tally.scores()
    if scores.rows == 0:
        raise UserError(
            f"{_named(data)}: every cell of the target column {target!r} is empty"
            if unlabelled
            else f"{_named(data)}: there are no rows"
        )
    if scores.strangers == scores.rows:
        raise UserError(
            f"{_named(data)}: no label in column {target!r} ({_some(met)}) is a class of the model "
            f"({_some(table.model.classes)})"
        )
    return Evaluated(table, target, scores, unlabelled, time.perf_counter() - start)


def predict(saved: Saved, data: Sequence[str], proba: bool, quiet: bool = False) -> Iterator[Any]:
    """(the columns as they were read, predicted labels, probabilities) of each batch."""
    source = opened(data, spellings(saved))
    names = [name for name in source.names if name != target_of(saved)]
    table = as_table(saved, names, data)
    model = table.model

    def one(task: Any) -> tuple[pa.RecordBatch, Labels, Float64 | None]:
        batch = task()
        rows = table.encode(pa.Table.from_batches([batch]))
        probabilities = model.proba(rows) if proba else None
        return batch, model.classes[model.predict_codes(rows)], probabilities

    empty, told, known = True, quiet, set(source.names)
    with nullcontext() if quiet else progress.bar("predicting", source):
        for batch, labels, probabilities in in_order(one, source.tasks(), workers(None).count):
            empty = False
            new = [name for name in batch.schema.names if name not in known]
            if new and not told:
                progress.note(
                    f"{_named(data)}: {_some(new)} came after the first rows: not written"
                )
            told = told or bool(new)
            yield _as_first(batch, source.names), labels, probabilities
    if empty:
        none = pa.RecordBatch.from_arrays([pa.nulls(0)] * len(source.names), source.names)
        yield none, model.classes[:0], np.empty((0, len(model.classes))) if proba else None


def _as_first(batch: pa.RecordBatch, names: list[str]) -> pa.RecordBatch:
    """A batch with the columns of the first one: JSON lines may have others further down."""
    if batch.schema.names == names:
        return batch
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    arrays = [columns.get(name, pa.nulls(batch.num_rows)) for name in names]
    return pa.RecordBatch.from_arrays(arrays, names)


def explain(
    saved: Saved, data: Sequence[str], row: int, label: str | None, against: str | None
) -> Explained:
    """What moves one row of files, counted from 0, to one class rather than another."""
    source = opened(data, spellings(saved))
    table = as_table(saved, [n for n in source.names if n != target_of(saved)], data)
    if len(table.model.classes) < 2:
        raise UserError(f"the model knows one class only ({table.model.classes[0]})")
    chosen, other = (None if text is None else label_of(table, text) for text in (label, against))
    if chosen is not None and chosen == other:
        raise UsageError(f"--label and --against are both {label!r}; compare two classes")
    one = _row(data, source, row)
    encoded = table.encode(one)
    told = table.model.explain(encoded)
    proba = table.model.proba(encoded)[0]
    likeliest = int(table.model.predict_codes(encoded)[0])
    order = [likeliest, *(c for c in np.argsort(-proba, kind="stable").tolist() if c != likeliest)]
    first = next(c for c in order if c != other) if chosen is None else chosen
    second = next(c for c in order if c != first) if other is None else other
    with np.errstate(invalid="ignore"):  # what both rule out speaks for neither
        moved = told.contributions[0, first] - told.contributions[0, second]
        prior = told.prior[first] - told.prior[second]
        moved, prior = (np.where(np.isnan(odds), 0.0, odds) for odds in (moved, prior))
        total = float(prior + moved.sum())
    return Explained(table, one, told, proba, likeliest, first, second, float(prior), moved, total)


def _row(data: Sequence[str], source: Source, row: int) -> pa.Table:
    before = 0
    for batch in source.batches():
        if row < before + batch.num_rows:
            return pa.Table.from_batches([batch]).slice(row - before, 1)
        before += batch.num_rows
    rows = f"{before:,} row" + ("" if before == 1 else "s")
    raise UserError(f"{_named(data)}: there is no row {row + 1:,}; it has {rows}")


def merged(paths: Sequence[Path]) -> Saved:
    """One model that learned what all of several files did."""
    saved = [load(path) for path in paths]
    total = saved[0].model.copy()
    for path, other in zip(paths[1:], saved[1:], strict=True):
        if saved[0].estimator != other.estimator:
            raise UserError(f"{path}: a model of {other.estimator} cannot be added to one of "
                            f"{saved[0].estimator}")  # fmt: skip
        if target_of(saved[0]) != target_of(other):
            raise UserError(f"{path}: its target is {target_of(other)!r}, where that of {paths[0]} "
                            f"is {target_of(saved[0])!r}")  # fmt: skip
        try:
            total.absorb(other.model)
        except ValueError as error:
            said = str(error).replace("in `columns`", "with --columns in `naively fit`")
            raise UserError(f"{path}: {said}") from None
    return Saved(total, saved[0].estimator, saved[0].params, saved[0].extra)


def forget(saved: Saved, data: Sequence[str], question: Question) -> int:
    """Unlearn the rows of files; returns how many. The model is unchanged if that fails."""
    source = opened(data, question.wishes.missing)
    _check_columns(data, source, question)
    _check_known(data, source, saved.model, question)
    with progress.bar("forgetting", source):
        gone, _ = _learned(data, source, question, saved.model)
    saved.model.forget(gone)
    return gone.rows


def write(
    model: Any, path: Path, params: dict[str, Any], extra: dict[str, str] | None = None,
    estimator: str = "NaiveBayes",
) -> None:  # fmt: skip
    """Write the model file, which `naively.load` reads too."""
    safetensors.save(model, path, estimator, params, extra)


def load(path: Path) -> Saved:
    """Read a model file."""
    try:
        return safetensors.load(path)
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such model file; `naively fit` writes one") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
    except safetensors.ModelFileError as error:
        raise UserError(str(error)) from None


def load_table(path: Path) -> Saved:
    """Read the file of a model of a table, which can go on learning from tables."""
    saved = load(path)
    if not isinstance(saved.model, TableModel):
        raise UserError(
            f"{path}: a model of {saved.estimator} learns from arrays in Python; "
            "`naively fit` makes models that learn from tables"
        )
    return saved


def shown(saved: Saved) -> TableModel | None:
    """The model as one of a table, to look into; None if it knows no class."""
    model = saved.model
    if isinstance(model, Model):
        names = [f"feature {k}" for k in range(model.n_features)]
        model = of_array(model, names, [])
    return model if len(model.model.classes) else None


def label_of(table: TableModel, text: str) -> int:
    """The position of the class that a text on the command line names."""
    place = int(positions(np.array([text], object), table.model.classes)[0])
    if place < 0:
        raise UsageError(f"{text!r} is none of the classes {_some(table.model.classes)}")
    return place


def features_of(saved: Saved) -> list[str]:
    """The names of the columns that a model learned, if it says."""
    names = (
        saved.model.feature_names if isinstance(saved.model, Model) else saved.model.schema.names
    )
    return names or []


def spellings(saved: Saved) -> Sequence[str]:
    """What a missing value is spelled as in the tables that a model learned."""
    return saved.model.schema.missing if isinstance(saved.model, TableModel) else MISSING


def target_of(saved: Saved) -> str | None:
    """The column of labels that a model was fitted to, if it says."""
    target = getattr(saved.model, "target", None)
    return target if target is not None else saved.extra.get("target")


def as_table(saved: Saved, names: list[str], data: Sequence[str]) -> TableModel:
    """The model as one of a table; that of an array takes its columns by order if it has no names.

    Warns of columns that are absent or unknown.
    """
    model = saved.model
    if isinstance(model, Model):
        table = of_array(model, names, data)
    else:
        table = model
    if len(table.model.classes) == 0:
        raise UserError("the model knows no class: everything that it learned was forgotten")
    lacking, _ = table.strangers(names)
    if len(lacking) == len(table.schema.names):
        raise UserError(
            f"{_named(data)}: it has none of the columns that the model learned "
            f"({_some(lacking)}); its own are {_some(names)}"
        )
    if lacking:
        progress.note(f"{_named(data)} lacks {_some(lacking)}: counted as missing")
    return table


def of_array(model: Model, names: list[str], data: Sequence[str]) -> TableModel:
    """A model of an array as one of a table with these columns."""
    known = model.feature_names
    if known is None:
        if len(names) != model.n_features:
            raise UserError(
                f"{_named(data)}: there are {len(names)} columns, where the model, which knows no "
                f"names, learned from {model.n_features}"
            )
        known = names
    family = Product((model.family,), (model.n_features,))
    inner = Model(
        family, model.prior, model.n_features, known, model.classes, model.class_weight,
        ProductStatistics([model.statistics]), model.announced,
    )  # fmt: skip
    schema = Schema((Block(model.family, tuple(known)),), dict.fromkeys(known, "array"))
    return TableModel(schema, inner)


def opened(data: Sequence[str], missing: Sequence[str] | None = None) -> Source:
    """The tables to read."""
    try:
        return open_source(list(data), missing=MISSING if missing is None else missing)
    except FileNotFoundError as error:
        raise UserError(f"{error.filename}: there is no such file") from None


def _learned(
    data: Sequence[str], source: Source, question: Question, known: TableModel | None
) -> tuple[TableModel, Held]:
    try:
        return learn(source.tasks(), question, workers(None).count, known)
    except LearningError as error:
        raise UserError(f"{_named(data)}: {error}") from None


def _check_columns(data: Sequence[str], source: Source, question: Question) -> None:
    """Refuse names of columns that are not there."""
    for name in filter(None, (question.target, question.weight, *question.wishes.columns)):
        if name not in source.names:
            raise UserError(f"{_named(data)}: {no_column(str(name), source.names)}")


def _check_known(
    data: Sequence[str], source: Source, known: TableModel, question: Question
) -> None:
    """Tell of columns that are absent from more rows of a model, or new in them."""
    asked = (question.target, question.weight)
    lacking, new = known.strangers(name for name in source.names if name not in asked)
    if len(lacking) == len(known.schema.names):
        raise UserError(
            f"{_named(data)}: it has none of the columns that the model learned ({_some(lacking)})"
        )
    if lacking:
        progress.note(f"{_named(data)} lacks {_some(lacking)}: counted as missing")
    if new:
        progress.note(
            f"{_named(data)}: the model does not know {_some(new)}, left out; "
            "`naively fit` takes new columns"
        )


def check_output(output: Path, data: Sequence[str]) -> None:
    """Refuse to write over what is read, or where nothing can be written, before the work."""
    if not output.parent.is_dir():
        raise UserError(f"{output}: there is no folder {str(output.parent)!r}; make it first")
    if output.is_dir():
        raise UserError(f"{output} is a folder; name a file in it")
    if not os.access(output.parent, os.W_OK):
        raise UserError(f"{output}: you may not write in {str(output.parent)!r}; choose another")
    if not output.exists():
        return
    for one in data:
        inside = Path(one).is_dir() and output.parent.samefile(one) and _is_table(output)
        paths = [one] if Path(one).exists() else glob.glob(one, recursive=True)  # noqa: PTH207
        if inside or any(output.samefile(path) for path in paths):
            raise UsageError(f"{output} is among the files that are read; write to another one")


def _is_table(path: Path) -> bool:
    """Whether a folder's file of this name is read."""
    return any(part in FORMATS for part in path.name.lower().split(".")[1:])


def _truth(labels: Labels, codes: Any, classes: Labels) -> tuple[Int64, npt.NDArray[np.intp]]:
    """(position of the label of each labelled row among the classes, -1 if none; these rows)."""
    kept = np.flatnonzero(codes < len(labels))
    places = np.append(positions(labels, classes), -1)
    return places[codes[kept]], kept


def positions(labels: Labels, classes: Labels) -> Int64:
    """The position among `classes` of each label, -1 if it is not there.

    Labels that a file has as text may be numbers in the model, and the other way round.
    """
    if (labels.dtype.kind in "OUT") == (classes.dtype.kind in "OUT"):
        known = {label: place for place, label in enumerate(classes.tolist())}
        return np.array([known.get(label, -1) for label in labels.tolist()], np.int64)
    known = {values.level_text(label, ()): place for place, label in enumerate(classes.tolist())}
    texts = [values.level_text(label, ()) for label in labels.tolist()]
    return np.array([known.get(text, -1) for text in texts], np.int64)


def _some(names: Any) -> str:
    shown = ", ".join(str(name) for name in list(names)[:5])
    return shown if len(names) <= 5 else f"{shown}, ..."


def _named(data: Sequence[str]) -> str:
    return "standard input" if list(data) == ["-"] else ", ".join(data[:3])
