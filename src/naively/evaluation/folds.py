"""Assign rows to stratified folds by a hash of their content; train models without some folds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from naively.core.exact import Float64, Int64
from naively.core.hashing import GOLDEN, UInt64, hashed, mixed
from naively.core.labels import Labels, encode_labels
from naively.core.workers import SERIAL, Workers
from naively.evaluation.splits import SplitBy
from naively.model.model import Model
from naively.model.prior import Prior
from naively.model.schema import Counted, Schema
from naively.pooling.duplicates import duplicated
from naively.pooling.texts.repeated import recur_among
from naively.statistics.base import Data, InvalidValueError, Statistics, dense, is_sparse
from naively.statistics.blocks import columns_among
from naively.statistics.levels import Encoded, Levels
from naively.statistics.logs import blocks
from naively.statistics.rows import TEXT, encoded
from naively.statistics.terms import keys_by_terms
from naively.tables.encoding import silenced
from naively.tables.left_out import unvaried_in
from naively.tables.names import few

COMPARED = 200  # columns compared to tell duplicates from rows that recur by nature, at most
DECISIONS = 3
"""Folds to scale a classifier's decisions to probabilities; more changed no measured result."""
CELLS = 1 << 20  # of dense rows that are hashed at a time


def assign_folds(
    schema: Schema, X: Data, codes: Int64, weights: Float64 | None, parts: int
) -> Int64:
    """Assign rows to stratified folds by a hash of their content: (n,), from 0 to `parts` - 1.

    The rows of a class are sorted by the hash and assigned to the folds in rotation. So folds do
    not depend on the order of the rows or on chance, and each has its share of every class (of
    two equal rows, the order decides which is in which fold). Duplicates
    (`naively.pooling.duplicates`), and documents with the same terms, are in one fold, unless they
    recur (`naively.pooling.texts.repeated`). `weights`, (n,) or None, order equal rows.
    """
    if weights is not None and not weights.all():  # rows of weight 0 must not shift others
        part = np.empty(len(codes), np.int64)
        weighted, unweighted = np.flatnonzero(weights > 0), np.flatnonzero(weights == 0)
        part[weighted] = assign_folds(
            schema, X[weighted], codes[weighted], weights[weighted], parts
        )
        part[unweighted] = assign_folds(schema, X[unweighted], codes[unweighted], None, parts)
        return part
    order, distinct = _grouped(schema, X, codes, weights)
    part = np.empty(len(order), np.int64)
    part[order] = (np.cumsum(distinct) - 1) % parts
    return part


def alike(schema: Schema, X: Data, codes: Int64) -> Int64:
    """Number rows, (n,), so that exactly the duplicates within a class share a number.

    It is the position of the first of them.
    """
    order, distinct = _grouped(schema, X, codes, None)
    numbers = np.empty(len(order), np.int64)
    numbers[order] = order[distinct][np.cumsum(distinct) - 1]
    return numbers


def _grouped(
    schema: Schema, X: Data, codes: Int64, weights: Float64 | None
) -> tuple[Int64, npt.NDArray[np.bool_]]:
    """(rows, sorted by class and hash; whether each is no duplicate of the row before it)."""
    weights = np.zeros(len(codes)) if weights is None else weights
    keys = row_keys(schema, X)
    order = np.lexsort([weights, keys, codes])
    first = np.ones(len(order), bool)  # of rows with equal keys
    first[1:] = (np.diff(codes[order]) != 0) | (np.diff(keys[order]) != 0)
    counts = np.diff(np.append(np.flatnonzero(first), len(codes))).astype(np.float64)
    if not (counts > 1).any():
        return order, first
    kind, classes = np.cumsum(first) - 1, codes[order[first]]
    if schema.is_single and schema.family.summary.of_texts:
        duplicates = _copied_texts(keys[order[first]], classes, counts)[kind]
    else:
        duplicates = _copied(schema, X, keys, order[first], classes, counts)[kind]
    return order, first | ~duplicates


def _copied_texts(keys: UInt64, y: Int64, counts: Float64) -> npt.NDArray[np.bool_]:
    """Find documents that are duplicates, given their class and count, rather than recurring."""
    texts, inverse = np.unique(keys, return_inverse=True)
    totals = np.bincount(inverse, counts, len(texts)).astype(np.float64)
    return ~recur_among(inverse, y, counts, totals)[inverse]


def _copied(
    schema: Schema, X: Data, keys: UInt64, rows: Int64, y: Int64, counts: Float64
) -> npt.NDArray[np.bool_]:
    """Find rows that are duplicates, given their class and count, rather than recurring."""
    _, first, inverse = np.unique(keys[rows], return_index=True, return_inverse=True)
    columns, levels = [], list[Levels]()
    for codes, column_levels in _columns(schema, X, rows[first]):
        columns.append(codes)
        levels.append(column_levels)
    return duplicated(np.column_stack(columns), levels, y, inverse, counts, int(y.max()) + 1)


def _columns(schema: Schema, X: Data, rows: Int64) -> Iterator[tuple[Int64, Levels]]:
    """Yield (codes, levels) of each column; at most `COMPARED` columns of a wide part."""
    for part, block in zip(schema.parts, [X] if schema.is_single else X.parts, strict=True):
        block_rows = block[rows]
        if part.summary.of_texts:
            keys = _document_keys(part.summary, block_rows)
            distinct, codes = np.unique(keys, return_inverse=True)
            yield codes, np.arange(len(distinct)).astype(TEXT)
            continue
        columns = np.arange(block_rows.shape[1])
        if len(columns) > COMPARED:
            columns = columns[:: -(-len(columns) // COMPARED)]
            if is_sparse(block_rows):  # those with the most stored values
                counts = np.bincount(block_rows.indices, minlength=block_rows.shape[1])
                columns = np.sort(np.argsort(-counts, kind="stable")[:COMPARED])
        cells = block_rows[:, columns]
        cells = cells if isinstance(cells, Encoded) else encoded(cells)
        yield from zip(cells.codes.T.astype(np.int64), cells.levels, strict=True)


def assign_equal_rows(keys: UInt64, codes: Int64) -> Int64:
    """Assign rows to `DECISIONS` folds, (n,); -1 for rows that are in every training set.

    Equal rows of a class are in one fold, so that no row is predicted by a model that was trained
    on its duplicate. The others are assigned in rotation, in the order of their hashes. A class
    with one distinct row is never held out, so that each model is trained on all classes.

    `keys`: (n,) a hash of each row's content.
    """
    distinct, inverse = np.unique(np.stack([codes.astype(np.uint64), keys]), axis=1,
                                 return_inverse=True)  # fmt: skip
    classes = distinct[0].astype(np.int64)
    part = np.arange(len(classes)) % DECISIONS
    part[np.bincount(classes)[classes] < 2] = -1  # the only one of its class
    return part[inverse.reshape(-1)]


def row_keys(schema: Schema, X: Data) -> UInt64:
    """Hash the content of each row to 64 bits, (n,).

    A number has the same hash in every numeric type, dense or sparse; -0 counts as 0.
    """
    rows = [X] if schema.is_single else X.parts
    keys = np.zeros(X.shape[0], np.uint64)
    for index, (part, block) in enumerate(zip(schema.parts, rows, strict=True)):
        if part.summary.of_texts:
            part_keys = _document_keys(part.summary, block)
        elif isinstance(block, Encoded):
            part_keys = _level_keys(block)
        else:
            part_keys = _sparse_keys(block) if is_sparse(block) else _dense_keys(block)
        keys = mixed(keys + part_keys + np.uint64(index))
    return keys


def _dense_keys(X: npt.NDArray[Any]) -> UInt64:
    keys = np.empty(len(X), np.uint64)
    columns = np.arange(X.shape[1])
    for rows in blocks(0, len(X), CELLS // max(1, X.shape[1])):
        cells = dense(X[rows])
        cell_keys = _cell_keys(cells.ravel(), np.tile(columns, len(cells)))
        keys[rows] = cell_keys.reshape(cells.shape).sum(axis=1, dtype=np.uint64)
    return keys


def _sparse_keys(X: Any) -> UInt64:
    totals = np.append(np.uint64(0), np.cumsum(_cell_keys(X.data, X.indices), dtype=np.uint64))
    return totals[X.indptr[1:]] - totals[X.indptr[:-1]]  # modulo 2^64


def _cell_keys(values: npt.NDArray[Any], columns: npt.NDArray[Any]) -> UInt64:
    """Hash each number with its column; 0 for zeros, so that sparse and dense rows agree."""
    numbers = values.astype(np.float64)
    numbers[np.isnan(numbers)] = np.nan  # one bit pattern for all NaN
    keys = mixed(numbers.view(np.uint64) + _steps(columns))
    keys[numbers == 0.0] = 0
    return keys


def _level_keys(X: Encoded) -> UInt64:
    keys = np.zeros(X.shape[0], np.uint64)
    for column, levels in enumerate(X.levels):
        hashes = [hashed(str(level).encode("utf-8", "surrogatepass")) for level in levels.tolist()]
        level_keys = np.array([*hashes, 0], np.uint64)  # the last one is for missing values
        keys += mixed(level_keys[X.codes[:, column]] + _steps(np.array([column])))
    return keys


def _document_keys(summary: Any, X: Any) -> UInt64:
    """Hash documents by their terms, as they are counted."""
    keys = keys_by_terms(getattr(summary, "parts", (summary,)), X, SERIAL)
    return keys if X.valid is None else np.where(X.valid, keys, np.uint64(0))


def _steps(numbers: npt.NDArray[Any]) -> UInt64:
    """A multiplier of each of these columns."""
    return (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(GOLDEN)


T = TypeVar("T")

FEW = 20_000  # values of a table, up to which one worker is faster than several

Reading = tuple[Schema, Prior]
"""How to estimate from sums: families with their hyperparameters, and the class prior."""


@dataclass(frozen=True, eq=False)
class Unlearned:
    """Predictions of a model for held-out rows."""

    rows: Int64  # (m,) positions of the rows
    log_proba: Float64  # (m, C) log P(c | x), in nats; -inf for classes without training rows
    unknown: npt.NDArray[np.bool_]  # (m,) whether the model had no training row of that class
    losses: Float64  # (m,) -log P(label | x), in nats


Answer = Callable[[Unlearned], T]


@dataclass(frozen=True, eq=False)
class Learnable:
    """Training rows, encoded."""

    blank: Model  # untrained Model, with the columns and families of these rows
    X: Data  # (n, ...) encoded rows
    labels: Labels  # (n,)
    weights: Float64 | None = None  # (n,) not negative; None if every row weighs 1
    # (n,) positions of these rows among the rows that the caller passed; None if they are all of
    # them
    kept: Int64 | None = None
    source: Any = None  # the data that families were inferred from; None if they were not inferred
    # the groups or times of the rows, to split them by; None for stratified folds
    split: SplitBy | None = None

    @property
    def reading(self) -> Reading:
        """The schema and the prior of the blank model."""
        return self.blank.schema, self.blank.prior

    def summarise(self, workers: Workers) -> Model:
        """Train a model on all rows."""
        return self.blank.summarise(self.X, self.labels, self.weights, workers)


class Folds:
    """Models trained on subsets of the rows, each row counted once.

    Rows that the same models are trained on form a group. Each group is counted once; a model is
    the sum of its groups, or the total less the other groups, whichever are fewer. Sums are exact,
    so the model equals one trained on these rows alone, bit for bit. Sums of `GridStatistics` are
    only added, never subtracted. For sparse counts, a group is counted over the columns of the
    test rows only.

    `learned`: (S, n) bool, whether each of S models is trained on each row. `whole`: a model
    trained on these rows and others; each model is then this one less the rows that it is not
    trained on. Its sums must be reversible. `classes`: (C,) the labels of all rows, sorted.
    `frequencies`: (C,) the share of each class among all training rows. Raises ValueError for rows
    that cannot be trained on; and if rare terms were dropped (`max_terms`), because counts then
    depend on the order of the rows.
    """

    def __init__(
        self, rows: Learnable, learned: npt.NDArray[np.bool_], workers: Workers = SERIAL,
        whole: Model | None = None,
    ) -> None:  # fmt: skip
        self.rows = rows
        texts = any(part.summary.of_texts for part in rows.blank.schema.parts)
        large = texts or len(rows.labels) * rows.blank.n_features > FEW
        self.workers = workers if large else SERIAL
        self.classes, self.codes = encode_labels(rows.labels)
        class_weight: Float64 = np.bincount(  # type: ignore[assignment]
            self.codes, rows.weights, len(self.classes)
        )
        self._adds = whole is None
        if whole is not None:
            self.classes = whole.classes
            self.codes = np.searchsorted(whole.classes, rows.labels)
            class_weight = whole.class_weight.rounded()
            # sums for column types are no part of the rows' sums: subtract those of families only
            self.total = replace(whole, counted=whole.schema, sums=whole.statistics)
        self.frequencies: Float64 = class_weight / class_weight.sum()
        self.learned, self._rows_of = distinct_columns(learned)
        if reason := self.total.statistics.refused():
            raise ValueError(f"no cross-validation by subtraction: {reason}")

    def _counted(
        self, part: Int64, columns: Int64 | None = None, workers: Workers = SERIAL
    ) -> Model:
        """Train a model on some rows.

        For sparse counts, `columns` selects columns, as in `CountStatistics.columns_and_total`.
        """
        rows = self.rows
        weights = None if rows.weights is None else rows.weights[part]
        if weights is not None and not weights.all():
            part, weights = part[weights > 0], weights[weights > 0]
        all_rows = len(part) == len(self.codes) and (np.diff(part) > 0).all()
        X = rows.X if all_rows else rows.X[part]  # indexing copies
        if columns is not None:  # one more column sums up all others
            positions = np.full(X.shape[1], len(columns), X.indices.dtype)
            positions[columns] = np.arange(len(columns))
            shape = len(part), len(columns) + 1
            X = type(X)((X.data, positions[X.indices], X.indptr), shape=shape)
        present, codes = encode_labels(self.codes[part])
        try:
            model = rows.blank.summarise(X, (self.classes[present], codes), weights, workers)
        except InvalidValueError as error:
            raise self._placed(error, part) from None
        return model if columns is None else _of_columns(model, np.arange(len(columns)))

    def _placed(self, error: InvalidValueError, rows: Int64) -> InvalidValueError:
        """Number the row of an error as in the data that the caller passed."""
        row = rows[error.row]
        error.row = int(row if self.rows.kept is None else self.rows.kept[row])
        return error.named(self.rows.blank.feature_names)

    @cached_property
    def _parts(self) -> list[Model]:
        """A model of each group of rows."""
        return self.workers.map(self._counted, self._rows_of)

    @cached_property
    def total(self) -> Model:
        """The model of all rows, before labels are dropped."""
        if is_sparse(self.rows.X) and _met_only(self.rows.blank.schema):
            return self._counted(np.arange(len(self.codes)), workers=self.workers)
        return self._sum(np.arange(len(self._rows_of)))

    def _sum(self, parts: Int64) -> Model:
        total = self.rows.blank.copy()
        for part in parts:
            total.absorb(self._parts[part])
        return total

    def whole(self) -> Model:
        """The model trained on all rows."""
        model = self._named(self.total.copy())
        return replace(model, rows=len(self.codes))

    def model(self, split: int) -> Model:
        """The model trained on the rows of a split, with their classes only."""
        return self._named(self._without(split))

    def _without(self, split: int) -> Model:
        """The model of a split, with all classes."""
        parts, adds = self._needed(split)
        if adds:
            return self._sum(parts)
        left_out = self._parts[parts[0]] if len(parts) == 1 else self._sum(parts)
        return self.total.less(left_out)

    def _needed(self, split: int) -> tuple[Int64, bool]:
        """(groups to add up, True; or groups to subtract from the total, False)."""
        in_training = self.learned[split]
        inside_groups, outside_groups = np.flatnonzero(in_training), np.flatnonzero(~in_training)
        smaller = len(inside_groups) <= len(outside_groups) or not self.total.statistics.reversible
        adds = self._adds and smaller
        return (inside_groups, True) if adds else (outside_groups, False)

    @cached_property
    def _total_with_events(self) -> Model:
        """The total, with the sum over all columns."""
        return replace(self.total, sums=self.total.statistics.with_events())  # type: ignore[attr-defined]

    def _scoring_model(self, split: int, columns: Int64) -> Model:
        """The model of a split for some columns, and the sum over all columns; to score only."""
        parts, adds = self._needed(split)
        rows = [np.empty(0, np.int64), *(self._rows_of[k] for k in parts)]
        model = self._counted(np.concatenate(rows), columns)
        if not adds:
            return self._readable(_of_columns(self._total_with_events, columns).less(model))
        total = _of_columns(self.rows.blank.copy(), columns)
        total.absorb(model)
        return self._readable(total)

    def _model_and_test(self, split: int, test: Int64, met_only: bool) -> tuple[Model, Data]:
        """(the model of a split, its test rows); limited to the columns of these if `met_only`.

        Columns with equal sums have equal weights, so they are merged into one.
        """
        X = self.rows.X[test]
        if not met_only:
            return self._readable(self._without(split)), X
        counts = np.bincount(X.indices, minlength=X.shape[1])
        columns = np.flatnonzero(counts)
        model = self._scoring_model(split, columns)
        statistics, inverse = model.statistics.distinct(counts[columns])  # type: ignore[attr-defined]
        positions = np.empty(X.shape[1], X.indices.dtype)
        positions[columns] = inverse
        shape = len(test), statistics.tables["sum"].shape[1]
        X = type(X)((X.data, positions[X.indices], X.indptr), shape=shape)
        return replace(model, sums=statistics), X

    def _named(self, model: Model) -> Model:
        """Make a model canonical, and drop classes without rows."""
        model = self._readable(model)
        return replace(model, sums=model.statistics.canonical())

    def _readable(self, model: Model) -> Model:
        """Drop classes without rows, and prepare the sums, which no other model may share."""
        present = np.flatnonzero(model.class_weight.nonzero())
        sums = model.statistics
        if len(present) < len(model.classes):
            sums = sums.gather_classes(present)
        return replace(
            model, classes=model.classes[present],
            class_weight=model.class_weight.gather(0, present), sums=sums.readable(),
        )  # fmt: skip

    def ask(
        self, tests: Sequence[Int64], readings: Sequence[Reading], answer: Answer[T]
    ) -> list[list[T]]:
        """Predict the test rows of each split: a list of answers for each split, one per reading.

        Raises ValueError if a reading does not suit the sums, or a test row cannot be scored.
        """
        met_only = all(_met_only(schema) for schema, _ in readings) and is_sparse(self.rows.X)
        inner = SERIAL if len(tests) > 1 else self.workers
        if met_only:
            self._total_with_events  # noqa: B018 before several workers need it
        else:
            self._parts  # noqa: B018 by all workers

        def ask_split(split: int) -> list[T]:
            test = tests[split]
            try:
                model, X = self._model_and_test(split, test, met_only)
                if not len(model.classes):
                    raise ValueError("there are no training rows")
                return [answer(self._scored(model, how, test, X, inner)) for how in readings]
            except InvalidValueError as error:
                raise self._placed(error, test) from None
            except ValueError as error:
                raise ValueError(f"split {split}: {error}") from None

        return self.workers.map(ask_split, range(len(tests)))

    def _scored(
        self, model: Model, reading: Reading, test: Int64, X: Data, workers: Workers
    ) -> Unlearned:
        """Predict test rows, over all classes."""
        schema, prior = reading
        counted_schema = model.schema
        if len(model.classes) < len(self.classes):
            present = np.searchsorted(self.classes, model.classes)
            prior = prior.restricted(self.classes, present)
            schema = schema.of_classes(present, len(self.classes))
        parts = _read(counted_schema, schema, [X] if counted_schema.is_single else X.parts)
        sums = schema.statistics(_read(counted_schema, schema, model.parts))
        model = replace(model, counted=schema, prior=prior, sums=sums)
        model.check(workers, self.classes)
        posterior = model.estimated(workers)
        parts = silenced(schema, parts, unvaried_in(posterior))
        rows = schema.rows(parts, len(test))
        present = np.searchsorted(self.classes, model.classes)
        log_proba = posterior.log_proba(rows, workers)
        if len(present) < len(self.classes):
            all_log_proba = np.full((len(test), len(self.classes)), -np.inf)
            all_log_proba[:, present] = log_proba
            log_proba = all_log_proba
        codes, untrained = self.codes[test], np.ones(len(self.classes), bool)
        untrained[present] = False
        return Unlearned(
            test, log_proba, untrained[codes], -log_proba[np.arange(len(test)), codes],
        )  # fmt: skip


def _met_only(schema: Schema) -> bool:
    """Whether sparse rows can be scored with the sums of their own columns only."""
    return schema.is_single and schema.family.needs_present_columns_only


def _of_columns(model: Model, columns: Int64) -> Model:
    """Select columns of a model, and the sum over all columns; to score only."""
    return replace(model, sums=model.statistics.columns_and_total(columns))  # type: ignore[attr-defined]


def _read(available: Schema, other: Schema, wholes: list[Any]) -> list[Any]:
    """Select what each part of `other` needs of the parts of `available`: rows, or sums.

    Raises ValueError if `other` counts something else.
    """
    if available is other:
        return wholes
    selected = []
    for part in other.parts:
        k = next((k for k, known in enumerate(available.parts) if serves(known, part)), None)
        if k is None:
            raise ValueError(
                "settings must not change what is counted of the columns, as these do of "
                f"{few(part.names)}"
            )
        selected.append(select_columns(available.parts[k], part, wholes[k]))
    return selected


# ---- sums that can be used for other parts: the same columns, or some of them --------------------


def serves(available: Counted, part: Counted) -> bool:
    """Whether the sums of `available` include those of `part`."""
    if available.summary != part.summary:
        return False
    return available.names == part.names or (
        available.summary.by_column and {*part.names} <= {*available.names}
    )


def select_columns(available: Counted, part: Counted, data: Any) -> Any:
    """Select the columns of `part` from the rows of `available`, or from their sums."""
    columns = columns_among(available.names, part.names)
    if columns is None:
        return data
    return data.gather_columns(columns) if isinstance(data, Statistics) else data[:, columns]


def k_fold(
    rows: Learnable, count: int, workers: Workers, whole: Model | None = None
) -> tuple[Folds, list[Int64]]:
    """(a model for each fold, the rows of each fold); see `assign_folds`, or `rows.split`."""
    codes = np.unique(rows.labels, return_inverse=True)[1]
    if rows.split is not None:
        learned, tests = rows.split.splits(codes, rows.weights, count)
        return Folds(rows, learned, workers, whole), tests
    fold = assign_folds(rows.blank.schema, rows.X, codes, rows.weights, count)
    learned = np.arange(fold.max(initial=-1) + 1)[:, np.newaxis] != fold
    tests = [np.flatnonzero(~in_training) for in_training in learned]
    return Folds(rows, learned, workers, whole), tests


def distinct_columns(table: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], tuple[Int64, ...]]:
    """(the distinct columns of a table, the positions of each)."""
    order = np.lexsort(table[::-1])
    table = table[:, order]
    first = np.ones(len(order), bool)
    first[1:] = (table[:, 1:] != table[:, :-1]).any(axis=0)
    return table[:, first], tuple(np.split(order, np.flatnonzero(first)[1:]))
