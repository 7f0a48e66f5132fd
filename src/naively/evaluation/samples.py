"""Collect labelled rows to evaluate models on: all rows of a table, or a sample of a large one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Group

from naively.core.exact import Float64, Int64
from naively.core.labels import Labels, check_whole
from naively.core.workers import in_order, workers
from naively.evaluation.folds import Learnable
from naively.evaluation.splits import SplitBy, kind_of_split, split_by
from naively.io.arrow import together
from naively.io.formats.documents import TEXTS
from naively.io.frames import to_array, to_arrow
from naively.io.inputs import LONG, Task, is_untyped
from naively.io.sources import open_source, streamed
from naively.model.model import Model
from naively.model.schema import CONSTANT, NO_VALUES, SPECIFIED
from naively.rendering import (
    Part,
    as_text,
    classes_listed,
    clean,
    facts,
    html_of,
    left_out,
    on_page,
    plain_json,
    rows_in_words,
)
from naively.statistics.sample import ALL
from naively.tables import values
from naively.tables.encoding import encode
from naively.tables.identifiers import IDENTIFIER
from naively.tables.learning import TrainingSpec, labelled, weights_of
from naively.tables.names import no_column
from naively.tables.one_pass import Held
from naively.tables.targets import coded, label_column, typed
from naively.tables.values import bytes_of

ROWS = 100_000
"""Rows of a sample, at most; fewer of wide tables and long texts, which are limited to"""
CELLS, BYTES = 1 << 24, 1 << 29
KEPT_CELLS, KEPT_BYTES = 1 << 22, 1 << 26
"""Cells and bytes, at most, of a sample of training rows for cross-validation,"""
PROSE = 1 << 24  # and bytes of long texts, which are slow to count and to predict
POSITION = "\0position"  # a name that no column of a table has


@dataclass
class LabelledRows:
    """Rows with their labels."""

    table: pa.Table  # pa.Table, without the target
    classes: Labels  # (C,) the labels, sorted
    codes: Int64  # (n,) int64, the class of each row
    total: int  # number of labelled rows in the data, of which these are n
    unlabelled: int  # number of rows without a label, which were left out
    target: str | None = None  # name of the label column, if there is one
    # the groups or times of the rows, to split them by; None for random folds
    split: SplitBy | None = None

    @property
    def facts(self) -> dict[str, Any]:
        """The attributes of a `Report` on these rows."""
        counts = np.bincount(self.codes, minlength=len(self.classes))
        return {
            "target": self.target,
            "classes": dict(zip(self.classes.tolist(), counts.tolist(), strict=True)),
            "rows": self.total,
            "sampled": len(self.codes),
            "unlabelled": self.unlabelled,
            "method": "cross-validation" if self.split is None else self.split.method,
        }


@dataclass(frozen=True, repr=False, eq=False)
class Report:
    """A result for the rows of a table.

    Attributes
    ----------
    target : name of the label column, if there is one.
    classes : dict, number of rows of each label.
    rows : number of labelled rows.
    sampled : number of rows used: fewer than `rows` if they were sampled.
    unlabelled : number of rows without a label, which were left out.
    """

    target: str | None
    classes: dict[Any, int]
    rows: int
    sampled: int
    unlabelled: int

    @property
    @abstractmethod
    def verdict(self) -> dict[str, str]:
        """The recommendation, by topic."""

    @abstractmethod
    def parts(self) -> list[Part]:
        """The tables and sentences to show."""

    def __str__(self) -> str:
        return as_text(Group(facts(**self.examined), on_page(*self.parts(), self.verdict)))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_of(type(self).__name__, self.examined, *self.parts(), self.verdict)

    @property
    def examined(self) -> dict[str, str]:
        """Target, rows and classes, in words."""
        return {
            **({} if self.target is None else {"target": clean(self.target)}),
            "rows": rows_in_words(self.rows, self.sampled, self.unlabelled),
            "classes": classes_listed(self.classes),
        }

    def _as_json(self, **nested: Any) -> dict[str, Any]:
        """The attributes as JSON values; `nested` replaces some and adds others, at the end."""
        attributes = {name: value for name, value in vars(self).items() if name not in nested}
        attributes["classes"] = [{"class": c, "rows": n} for c, n in self.classes.items()]
        return plain_json({**attributes, **nested})


def failures(reasons: Iterable[tuple[str, str]]) -> list[str]:
    """Lines "names: reason", one for each distinct reason.

    `reasons`: pairs (name, why it was not estimated, or "").
    """
    names: dict[str, list[str]] = {}
    for name, reason in reasons:
        if reason:
            names.setdefault(reason, []).append(name)
    return [f"{', '.join(failed)}: {reason}" for reason, failed in names.items()]


@dataclass
class Reservoir:
    """The rows of a stream with the smallest random numbers: a sample in constant memory."""

    held: Held = field(default_factory=Held)  # rows and their numbers
    limit: int = ROWS  # rows of the sample, at most
    threshold: float = ALL  # the numbers of sampled rows are below it

    def add(self, table: pa.Table, draws: Float64) -> None:
        """Add the rows whose numbers are below the threshold."""
        selected = draws < self.threshold
        rows = table if selected.all() else table.filter(pa.array(selected))
        self.held.add(rows, draws[selected])
        if self.held.rows > 2 * self.limit:
            self.cut()

    def cut(self) -> None:
        """Drop the rows beyond the limit."""
        if self.held.rows > self.limit:
            self.threshold = self.held.smallest(self.limit)
            self.held.cut(self.threshold)


def of_stream(
    tasks: Iterable[Task], target: str, missing: Collection[str], seed: int, threads: int
) -> LabelledRows:
    """Collect the labelled rows of a stream of batches, in constant memory: a sample of many.

    Every row gets a random number; the rows with the smallest numbers are the sample.

    Raises TableError if the table cannot be read; ValueError if fewer than two classes have rows.
    """
    sample, untyped = Reservoir(), False
    total = unlabelled = 0
    for batch_index, batch in enumerate(in_order(lambda task: task(), tasks, threads)):
        table = pa.Table.from_batches([batch])
        if batch_index == 0:
            sample.limit = _limit(table)
        classes, codes = labelled(table, target, missing)
        position = table.schema.get_field_index(target)
        untyped = untyped or (position >= 0 and is_untyped(table.schema.field(position)))
        has_label = codes < len(classes)
        total, unlabelled = total + int(has_label.sum()), unlabelled + int((~has_label).sum())
        # not the stream of `seed` itself, which may have generated the table
        generator = np.random.default_rng([seed, batch_index, 1])
        draws = generator.random(len(codes))
        sample.add(table.filter(pa.array(has_label)), draws[has_label])
    sample.cut()
    if not sample.held.tables:
        empty = f"every cell of the target column {target!r} is empty"
        raise ValueError(empty if unlabelled else "there are no rows")
    table = together(sample.held.tables)
    classes, codes = labelled(table, target, missing)
    if untyped:
        classes, inverse = np.unique(typed(classes), return_inverse=True)
        codes = inverse[codes]  # all rows here are labelled
    return _checked(table.drop_columns([target]), (classes, codes), total, unlabelled, target)


def without_labels(tasks: Iterable[Task], threads: int) -> tuple[pa.Table, Int64, int]:
    """(rows of a stream of batches, their positions (n,), number of rows): no labels needed.

    Many rows are sampled, as in `of_stream`.
    """
    sample, total = Reservoir(), 0
    for batch_index, batch in enumerate(in_order(lambda task: task(), tasks, threads)):
        table = pa.Table.from_batches([batch])
        if batch_index == 0:
            sample.limit = _limit(table)
        draws = np.random.default_rng([0, batch_index, 1]).random(table.num_rows)
        positions = pa.array(np.arange(total, total + table.num_rows))
        total += table.num_rows
        sample.add(table.append_column(POSITION, positions), draws)
    sample.cut()
    if not sample.held.tables:
        return pa.table({}), np.empty(0, np.int64), total
    table = together(sample.held.tables)
    return table.drop_columns([POSITION]), table.column(POSITION).to_numpy(), total


def of_any(
    X: Any, y: Any, seed: int, missing: Sequence[str], groups: Any = None, time: Any = None,
    features: Collection[Any] = (),
) -> tuple[LabelledRows, tuple[str, ...]]:  # fmt: skip
    """(the labelled rows of a user's data; the columns that the source declares as documents).

    `X`: a path, a list of paths, a stream as from `naively.scan`, a list of documents, or a table
    as in `of_table`. `y`: name of the label column; or (n,) labels, for a table. `groups, time`:
    name of the column to split the rows by, which is then dropped; or (n,) values, for a table in
    memory. `features`: names of columns that are not dropped.
    """
    if (chosen := kind_of_split(groups, time)) is None:
        return _of_any(X, y, seed, missing)
    kind, column = chosen
    name = title = column
    if not isinstance(column, str):
        if is_path(X) or streamed(X) is not None:
            raise ValueError("name the column of a file that has the groups or times")
        name, title = POSITION, getattr(column, "name", None)
        table = pa.table({TEXTS[0]: to_array(X)}) if _is_text(X) else to_arrow(X)
        X = table.append_column(POSITION, to_array(column, "groups"))
    rows, texts = _of_any(X, y, seed, missing)
    if name not in rows.table.column_names:
        raise ValueError(no_column(name, rows.table.column_names))
    title = title if isinstance(title, str) else ""
    rows.split = kind.of(rows.table.column(name), missing, title)
    if name not in features:
        rows.table = rows.table.drop_columns([name])
    return rows, texts


def _of_any(
    X: Any, y: Any, seed: int, missing: Sequence[str]
) -> tuple[LabelledRows, tuple[str, ...]]:
    """As `of_any`, for rows that are not split by a column."""
    if (stream := streamed(X)) is not None and not isinstance(y, str):
        raise ValueError("name the column of a stream that has the labels")
    is_list_of_paths = isinstance(X, list) and bool(X) and all(map(is_path, X))
    if stream is None and not (is_path(X) or (is_list_of_paths and isinstance(y, str))):
        if isinstance(y, str) or not _is_text(X):
            return of_table(X, y, seed, missing), ()
        return of_table(pa.table({TEXTS[0]: to_array(X)}), y, seed, missing), TEXTS
    if not isinstance(y, str):
        raise ValueError("name the column of a file that has the labels")
    places = [str(path) for path in X] if is_list_of_paths else X
    source = stream or open_source(places, missing=missing)
    if y not in source.names:
        raise ValueError(no_column(y, source.names))
    return of_stream(source.tasks(), y, missing, seed, workers(None).count), source.texts


def is_path(X: Any) -> bool:
    """Whether X names a file."""
    return isinstance(X, str | Path)


def _is_text(X: Any) -> bool:
    """Whether X holds documents rather than rows."""
    table = hasattr(X, "columns") or hasattr(X, "column_names") or isinstance(X, Mapping)
    if table or getattr(X, "ndim", 1) != 1:
        return False
    values = (value.as_py() if isinstance(value, pa.Scalar) else value for value in X)
    return isinstance(next((value for value in values if value is not None), None), str | bytes)


def of_table(X: Any, y: Any, seed: int, missing: Collection[str]) -> LabelledRows:
    """Collect the labelled rows of a data frame, Arrow table, dict of columns or array.

    More rows than `_limit` are sampled. Raises ValueError if the data or the names are invalid.

    `y`: (n,) labels, or the name of the label column of X.
    """
    if hasattr(X, "tocsr"):
        raise ValueError("models are compared on a table of columns, not on a sparse matrix")
    if y is None:
        raise ValueError("pass the labels y, or the name of the column of X that has them")
    table = to_arrow(X)
    target = y if isinstance(y, str) else None
    if target is not None:
        if target not in table.column_names:
            raise ValueError(no_column(target, table.column_names))
        column = table.column(target)
        table = table.drop_columns([target])
    else:
        column = label_column(y)
    if len(column) != table.num_rows:
        raise ValueError(f"X has {table.num_rows} rows, y has {len(column)}")
    classes, codes = coded(values.flat(column), missing)
    labelled_rows = np.flatnonzero(codes < len(classes))
    total, limit = len(labelled_rows), _limit(table)
    if total > limit:
        generator = np.random.default_rng(seed)
        labelled_rows = np.sort(generator.choice(labelled_rows, limit, replace=False))
    if len(labelled_rows) < table.num_rows:
        table = table.take(pa.array(labelled_rows))
    return _checked(table, (classes, codes[labelled_rows]), total, len(codes) - total, target)


def _limit(table: pa.Table) -> int:
    """Rows of such a table to sample, at most."""
    size = values.bytes_of(table) // max(1, table.num_rows)
    return max(1000, min(ROWS, CELLS // max(1, table.num_columns), BYTES // max(1, size)))


def _checked(
    table: pa.Table, labels: tuple[Labels, Int64], total: int, unlabelled: int, target: str | None
) -> LabelledRows:
    classes, codes = labels
    present = np.unique(codes)
    classes, codes = classes[present], np.searchsorted(present, codes).astype(np.int64)
    name = "" if target is None else f" {target!r}"
    if len(classes) < 2:
        content = f"one class only ({classes[0]})" if len(classes) else "no label"
        raise ValueError(f"the target{name} has {content}; two classes or more are needed")
    check_whole(classes, f"the target{name}")
    if np.bincount(codes).max() < 2:
        raise ValueError(f"the target{name} has one row of each class: no row can be held out")
    return LabelledRows(table, classes, codes, total, unlabelled, target)


# ---- a sample of the training rows, taken while they are read ------------------------------------


@dataclass
class RowSample:
    """A sample of the rows of a stream, taken while another reader consumes it.

    Every row gets a random number, from its position in the stream, divided by its weight; the
    rows with the smallest numbers are the sample (`naively.statistics.sample`). The sample and
    its order do not depend on the timing of threads.

    `weight, missing`: the weight column, or None, and the spellings of a missing value. `pieces`:
    number of pieces of the stream that were added, without gaps.
    """

    seed: int
    weight: str | None = None
    missing: Collection[str] = ()
    pieces: int = 0
    sample: Reservoir = field(default_factory=Reservoir)
    _early: dict[int, tuple[pa.Table, Float64, int]] = field(default_factory=dict)
    """Rows of pieces that wait for an earlier piece to arrive."""
    _lock: Lock = field(default_factory=Lock)

    def passing(self, tasks: Iterable[Task]) -> Iterator[Task]:
        """Wrap tasks, so that their batches are sampled as they are made."""
        for number, task in enumerate(tasks, self.pieces):
            yield lambda number=number, task=task: self._seen(number, task())  # type: ignore[misc]

    def _seen(self, number: int, batch: pa.RecordBatch) -> pa.RecordBatch:
        draws = np.random.default_rng([self.seed, number, 2]).random(batch.num_rows)
        table = pa.Table.from_batches([batch])
        if self.weight is not None:
            weights = weights_of(table, self.weight, self.missing)
            draws = np.divide(draws, weights, out=np.full(len(draws), ALL), where=weights > 0)
        selected = draws < self.sample.threshold
        if not selected.all():
            table = table.filter(pa.array(selected))
        with self._lock:
            self._early[number] = table, draws[selected], most_rows(batch)
            while self.pieces in self._early:
                table, draws, limit = self._early.pop(self.pieces)
                if self.pieces == 0:
                    self.sample.limit = limit
                self.pieces += 1
                self.sample.add(table, draws)
        return batch

    def learnable(self, model: Model, spec: TrainingSpec) -> Learnable:
        """The sample, encoded for a model that was trained on the stream."""
        self.sample.cut()
        rows, labels, weights, splits = [], [], [], []
        for table in self.sample.held.tables:
            classes, codes = labelled(table, spec.target, spec.columns.missing, model.classes)
            labelled_rows = np.flatnonzero(codes < len(classes))
            labelled_table = table.take(pa.array(labelled_rows))
            names = [name for name in labelled_table.column_names if name in model.schema.family_of]
            rows.append(labelled_table.select(names))
            labels.append(classes[codes[labelled_rows]])
            columns = {spec.groups, spec.time}.intersection(labelled_table.column_names)
            splits.append(labelled_table.select([*columns]))
            if spec.weight is not None:
                weights.append(weights_of(labelled_table, spec.weight, spec.columns.missing))
        X, _ = encode(model.schema, together(rows))
        row_weights = np.concatenate(weights) if weights else None
        sampled = self.sample.threshold != ALL
        if row_weights is not None and sampled:  # so that the lightest rows weigh 1
            row_weights = np.maximum(row_weights * self.sample.threshold, 1.0)
        split = split_by(together(splits), spec.groups, spec.time, spec.columns.missing)
        blank = model.blank(model.schema)
        return Learnable(blank, X, np.concatenate(labels), row_weights, split=split)


def kept_of(spec: TrainingSpec) -> RowSample:
    """An empty sample of the training rows."""
    return RowSample(spec.seed, spec.weight, spec.columns.missing)


def most_rows(batch: pa.RecordBatch | pa.Table) -> int:
    """Rows of such a table in a sample of training rows, at most."""
    rows = max(1, batch.num_rows)
    long_bytes = sum(column.nbytes for column in batch.columns if column.nbytes > LONG * rows)
    limit = min(KEPT_BYTES // max(1, bytes_of(batch) // rows), PROSE // max(1, long_bytes // rows))
    return max(1000, min(ROWS, KEPT_CELLS // max(1, batch.num_columns), limit))


def unused(columns: dict[str, str], users: Sequence[str]) -> list[str]:
    """Return lines about columns that models leave out, by reason.

    `users` are models that use them nevertheless, but for constants, texts that differ in each row,
    and columns that were skipped.
    """
    useless = SPECIFIED.text, CONSTANT.text, NO_VALUES.text, IDENTIFIER.text
    skipped = {name: reason for name, reason in columns.items() if reason in useless}
    others = {name: reason for name, reason in columns.items() if name not in skipped}
    what = f"used by {' and '.join(users)} alone" if users else "left out"
    return [*left_out(others, what), *left_out(skipped)]
