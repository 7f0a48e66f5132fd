"""Assign rows to folds by a hash of their content, each class evenly, duplicates together."""

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
from naively.core.model import Model
from naively.core.prior import Prior
from naively.core.schema import Counted, Schema
from naively.core.workers import SERIAL, Workers
from naively.pooling.canonical import duplicated
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

COMPARED = 200  # columns by which duplicates are told from rows that recur, at most
DECISIONS = 3
"""Folds for classifiers that only decide; more changed no probability that was measured."""
CELLS = 1 << 20  # of dense rows whose keys are made at a time


def assign_folds(
    schema: Schema, X: Data, codes: Int64, weights: Float64 | None, parts: int
) -> Int64:
    """The part of each row, (n,), from 0 to below `parts`.

    The rows of a class are sorted by a hash of what is in them, and dealt to the parts in turn. So
    the order in which rows come does not matter, nor does chance, and each part has its share of
    every class. Which of two equal rows is in which part does depend on their order. But duplicates
    (`naively.pooling.canonical`) are in one part, and so are documents with the same terms,
    unless they recur (`naively.pooling.texts.repeated`).

    Parameters
    ----------
    schema : of the rows.
    X : (n, ...) rows, as a model of this schema takes them.
    codes : (n,) the class of each row.
    weights : (n,) or None, by which rows that are alike are sorted.
    parts : how many.
    """
    if weights is not None and not weights.all():  # absent rows move no others
        part = np.empty(len(codes), np.int64)
        there, absent = np.flatnonzero(weights > 0), np.flatnonzero(weights == 0)
        part[there] = assign_folds(schema, X[there], codes[there], weights[there], parts)
        part[absent] = assign_folds(schema, X[absent], codes[absent], None, parts)
        return part
    order, single = _grouped(schema, X, codes, weights)
    part = np.empty(len(order), np.int64)
    part[order] = (np.cumsum(single) - 1) % parts
    return part


def alike(schema: Schema, X: Data, codes: Int64) -> Int64:
    """A number for each row, (n,): copies of a row in one class have the same, others have not.

    It is the position of the first of them.

    Parameters
    ----------
    schema, X, codes : as of `dealt`.
    """
    order, single = _grouped(schema, X, codes, None)
    found = np.empty(len(order), np.int64)
    found[order] = order[single][np.cumsum(single) - 1]
    return found


def _grouped(
    schema: Schema, X: Data, codes: Int64, weights: Float64 | None
) -> tuple[Int64, npt.NDArray[np.bool_]]:
    """(the rows, class after class; which of these are no copies of the one before)."""
    weights = np.zeros(len(codes)) if weights is None else weights
    keys = row_keys(schema, X)
    order = np.lexsort([weights, keys, codes])
    first = np.ones(len(order), bool)  # of equal rows
    first[1:] = (np.diff(codes[order]) != 0) | (np.diff(keys[order]) != 0)
    counts = np.diff(np.append(np.flatnonzero(first), len(codes))).astype(np.float64)
    if not (counts > 1).any():
        return order, first
    kind, classes = np.cumsum(first) - 1, codes[order[first]]
    if schema.is_single and schema.family.summary.of_texts:
        copied = _copied_texts(keys[order[first]], classes, counts)[kind]
    else:
        copied = _copied(schema, X, keys, order[first], classes, counts)[kind]
    return order, first | ~copied


def _copied_texts(keys: UInt64, y: Int64, counts: Float64) -> npt.NDArray[np.bool_]:
    """Which documents of one class each, that are there so often, are copies: they do not recur."""
    texts, place = np.unique(keys, return_inverse=True)
    whole = np.bincount(place, counts, len(texts)).astype(np.float64)
    return ~recur_among(place, y, counts, whole)[place]


def _copied(
    schema: Schema, X: Data, keys: UInt64, rows: Int64, y: Int64, counts: Float64
) -> npt.NDArray[np.bool_]:
    """Which of some rows of one class each, that are there so often, are duplicates."""
    _, at, place = np.unique(keys[rows], return_index=True, return_inverse=True)
    columns, levels = [], list[Levels]()
    for codes, known in _columns(schema, X, rows[at]):
        columns.append(codes)
        levels.append(known)
    return duplicated(np.column_stack(columns), levels, y, place, counts, int(y.max()) + 1)


def _columns(schema: Schema, X: Data, rows: Int64) -> Iterator[tuple[Int64, Levels]]:
    """(codes, levels) of the columns of some rows; of very many columns some."""
    for part, own in zip(schema.parts, [X] if schema.is_single else X.parts, strict=True):
        few = own[rows]
        if part.summary.of_texts:
            keys = _document_keys(part.summary, few)
            known, codes = np.unique(keys, return_inverse=True)
            yield codes, np.arange(len(known)).astype(TEXT)
            continue
        columns = np.arange(few.shape[1])
        if len(columns) > COMPARED:
            step = -(-len(columns) // COMPARED)
            columns = _fullest(few) if is_sparse(few) else columns[::step]
        some = encoded(few[:, columns]) if not isinstance(few, Encoded) else few[:, columns]
        yield from zip(some.codes.T.astype(np.int64), some.levels, strict=True)


def _fullest(X: Any) -> Int64:
    """The columns of a CSR matrix in which most rows have something."""
    often = np.bincount(X.indices, minlength=X.shape[1])
    return np.sort(np.argsort(-often, kind="stable")[:COMPARED])


def assign_equal_rows(keys: Any, codes: Int64) -> Int64:
    """The part of each row, (n,), from 0 to below `DECISIONS`; -1 of rows that all models learn.

    Rows of a class that are alike are in one part, so that none is judged by its copy; the others
    are dealt in turn, in the order of their hashes. Whatever is left out, each class is learned.

    Parameters
    ----------
    keys : (n,) a hash of what is in each row.
    codes : (n,) its class.
    """
    different, place = np.unique(np.stack([codes.astype(np.uint64), keys]), axis=1,
                                 return_inverse=True)  # fmt: skip
    of = different[0].astype(np.int64)
    part = np.arange(len(of)) % DECISIONS
    part[np.bincount(of)[of] < 2] = -1  # the only one of its class
    return part[place.reshape(-1)]


def row_keys(schema: Schema, X: Data) -> UInt64:
    """64 bits that stand for what is in each row, (n,): equal rows have equal ones.

    The same numbers have the same keys as any type of number, dense or sparse; -0 is 0.
    """
    rows = [X] if schema.is_single else X.parts
    keys = np.zeros(X.shape[0], np.uint64)
    for number, (part, own) in enumerate(zip(schema.parts, rows, strict=True)):
        if part.summary.of_texts:
            found = _document_keys(part.summary, own)
        elif isinstance(own, Encoded):
            found = _level_keys(own)
        else:
            found = _sparse_keys(own) if is_sparse(own) else _dense_keys(own)
        keys = mixed(keys + found + np.uint64(number))
    return keys


def _dense_keys(X: npt.NDArray[Any]) -> UInt64:
    keys = np.empty(len(X), np.uint64)
    columns = np.arange(X.shape[1])
    for rows in blocks(0, len(X), CELLS // max(1, X.shape[1])):
        cells = dense(X[rows])
        keys[rows] = (
            _cell_keys(cells.ravel(), np.tile(columns, len(cells)))
            .reshape(cells.shape)
            .sum(axis=1, dtype=np.uint64)
        )
    return keys


def _sparse_keys(X: Any) -> UInt64:
    sums = np.append(np.uint64(0), np.cumsum(_cell_keys(X.data, X.indices), dtype=np.uint64))
    return sums[X.indptr[1:]] - sums[X.indptr[:-1]]  # modulo 2^64


def _cell_keys(values: npt.NDArray[Any], columns: npt.NDArray[Any]) -> UInt64:
    """A key of each number and its column; 0 of zeros, so that they add nothing."""
    numbers = values.astype(np.float64)
    numbers[np.isnan(numbers)] = np.nan  # of which there are many
    keys = mixed(numbers.view(np.uint64) + _steps(columns))
    keys[numbers == 0.0] = 0
    return keys


def _level_keys(X: Encoded) -> UInt64:
    keys = np.zeros(X.shape[0], np.uint64)
    for column, levels in enumerate(X.levels):
        own = [hashed(str(level).encode("utf-8", "surrogatepass")) for level in levels.tolist()]
        known = np.array([*own, 0], np.uint64)  # the last one of a missing value
        keys += mixed(known[X.codes[:, column]] + _steps(np.array([column])))
    return keys


def _document_keys(summary: Any, X: Any) -> UInt64:
    """By the terms of documents, as they are counted: whatever else their bytes are."""
    keys = keys_by_terms(getattr(summary, "parts", (summary,)), X, SERIAL)
    return keys if X.valid is None else np.where(X.valid, keys, np.uint64(0))


def _steps(numbers: npt.NDArray[Any]) -> UInt64:
    """What tells the columns of these numbers apart."""
    return (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(GOLDEN)


# ---- folds ---------------------------------------------------------------------------------------


T = TypeVar("T")

FEW = 20_000
"""Values of a table up to which one worker is faster than several."""

Reading = tuple[Schema, Prior]
"""How sums are read: families with their hyperparameters, and the class prior."""


@dataclass(frozen=True, eq=False)
class Unlearned:
    """What a model says of rows that it did not learn.

    Attributes
    ----------
    rows : (m,) which ones.
    log_proba : (m, C) log P(c | x), in nats; -inf of classes that it does not know.
    log_prior : (m,) log π of each row's own class.
    unknown : (m,) whether it does not know that class.
    losses : (m,) -log P(label | x).
    """

    rows: Int64
    log_proba: Float64
    log_prior: Float64
    unknown: npt.NDArray[np.bool_]
    losses: Float64


Answer = Callable[[Unlearned], T]


@dataclass(frozen=True, eq=False)
class Learnable:
    """Rows that a model can learn.

    Attributes
    ----------
    blank : Model that has learned nothing, with the columns and families of these rows.
    X : (n, ...) rows as the model takes them.
    labels : (n,)
    weights : (n,) not negative; None if every row weighs 1.
    kept : (n,) which of the rows that were given these are; None if they are all of them.
    source : what the families were inferred from; None if they were not.
    """

    blank: Model
    X: Data
    labels: Labels
    weights: Float64 | None = None
    kept: Int64 | None = None
    source: Any = None

    @property
    def reading(self) -> Reading:
        """How the blank model would read its sums."""
        return self.blank.schema, self.blank.prior

    def summarise(self, workers: Workers) -> Model:
        """A model that learned all of them."""
        return self.blank.summarise(self.X, self.labels, self.weights, workers)


class Folds:
    """Models that learned some of the rows each, from counts of the parts that these tell apart.

    Each part is counted once, and a model is the sum of its parts, or the sum of all of them less
    the others, whichever are fewer. Sums are exact, so that it is the model that learned these
    rows alone, bit for bit. Grids of values are only ever summed: see `GridStatistics`. Of sparse
    rows of counts a model needs the columns of the rows that it scores: of a part only these are
    counted.

    Parameters
    ----------
    rows : Learnable
    learned : (S, n) truth values, whether each of S models learns each row.
    workers : who count and score.
    whole : a model that learned these rows, and others: what each model learned is that, less the
        rows of these that it is not to learn. Its sums can be subtracted.

    Attributes
    ----------
    classes : (C,) the labels of all rows, sorted.
    codes : (n,) the class of each row.

    Raises
    ------
    ValueError : for rows that cannot be learned; and if rare terms were dropped (`max_terms`),
        for then counts depend on the order of the rows.
    """

    def __init__(
        self, rows: Learnable, learned: npt.NDArray[np.bool_], workers: Workers = SERIAL,
        whole: Model | None = None,
    ) -> None:  # fmt: skip
        self.rows = rows
        texts = any(one.summary.of_texts for one in rows.blank.schema.parts)
        many = texts or len(rows.labels) * rows.blank.n_features > FEW
        self.workers = workers if many else SERIAL
        self.classes, self.codes = encode_labels(rows.labels)
        self._adds = whole is None
        if whole is not None:
            self.classes = whole.classes
            self.codes = np.searchsorted(whole.classes, rows.labels)
            # what tells column types was counted besides: rows to subtract have the families' sums
            self.total = replace(whole, counted=whole.schema, sums=whole.statistics)
        self.learned, self._rows_of = distinct_columns(learned)
        if refused := self.total.statistics.refused():
            raise ValueError(f"no rows can be left out: {refused}")

    def _counted(
        self, part: Int64, columns: Int64 | None = None, workers: Workers = SERIAL
    ) -> Model:
        """A model of some rows alone.

        Of sparse rows of counts it may have some columns only, as `met` gives them.
        """
        rows = self.rows
        weights = None if rows.weights is None else rows.weights[part]
        if weights is not None and not weights.all():
            part, weights = part[weights > 0], weights[weights > 0]
        whole = len(part) == len(self.codes) and (np.diff(part) > 0).all()
        X = rows.X if whole else rows.X[part]  # which copies
        if columns is not None:  # all others share one more
            places = np.full(X.shape[1], len(columns), X.indices.dtype)
            places[columns] = np.arange(len(columns))
            shape = len(part), len(columns) + 1
            X = type(X)((X.data, places[X.indices], X.indptr), shape=shape)
        own, codes = encode_labels(self.codes[part])
        try:
            model = rows.blank.summarise(X, (self.classes[own], codes), weights, workers)
        except InvalidValueError as error:
            raise self._placed(error, part) from None
        return model if columns is None else _met(model, np.arange(len(columns)))

    def _placed(self, error: InvalidValueError, rows: Int64) -> InvalidValueError:
        """An error about some rows, with the number of the row among all that were given."""
        row = rows[error.row]
        error.row = int(row if self.rows.kept is None else self.rows.kept[row])
        return error.named(self.rows.blank.feature_names)

    @cached_property
    def _parts(self) -> list[Model]:
        """The parts of the rows."""
        return self.workers.map(self._counted, self._rows_of)

    @cached_property
    def total(self) -> Model:
        """The model of all rows."""
        if is_sparse(self.rows.X) and _met_only(self.rows.blank.schema):
            return self._counted(np.arange(len(self.codes)), workers=self.workers)
        return self._sum(np.arange(len(self._rows_of)))

    def _sum(self, parts: Int64) -> Model:
        total = self.rows.blank.copy()
        for part in parts:
            total.absorb(self._parts[part])
        return total

    def whole(self) -> Model:
        """The model that learned all rows."""
        model = self._named(self.total.copy())
        return replace(model, rows=len(self.codes))

    def model(self, split: int) -> Model:
        """The model that learned the rows of a split, and knows their classes only."""
        return self._named(self._without(split))

    def _without(self, split: int) -> Model:
        """The sums of the rows of a split."""
        parts, more = self._needed(split)
        if more:
            return self._sum(parts)
        gone = self._parts[parts[0]] if len(parts) == 1 else self._sum(parts)
        return self.total.less(gone)

    def _needed(self, split: int) -> tuple[Int64, bool]:
        """(parts of which the rows of a split are the sum, True; or that the total has besides)."""
        inside = self.learned[split]
        own, others = np.flatnonzero(inside), np.flatnonzero(~inside)
        fewer = len(own) <= len(others) or not self.total.statistics.reversible
        adds = self._adds and fewer
        return (own, True) if adds else (others, False)

    @cached_property
    def _known(self) -> Model:
        """All rows, with what their columns add up to."""
        return replace(self.total, sums=self.total.statistics.with_events())  # type: ignore[attr-defined]

    def _met(self, split: int, columns: Int64) -> Model:
        """As `model`, of some columns, and of all columns together: for its sums alone."""
        parts, more = self._needed(split)
        rows = [np.empty(0, np.int64), *(self._rows_of[k] for k in parts)]
        some = self._counted(np.concatenate(rows), columns)
        if not more:
            return self._readable(_met(self._known, columns).less(some))
        total = _met(self.rows.blank.copy(), columns)
        total.absorb(some)
        return self._readable(total)

    def _asked(self, split: int, test: Int64, met_only: bool) -> tuple[Model, Data]:
        """(the model of a split, its test rows); by the columns that these have, if these do.

        Columns with the same sums have the same weights: one does for all of them.
        """
        X = self.rows.X[test]
        if not met_only:
            return self._readable(self._without(split)), X
        often = np.bincount(X.indices, minlength=X.shape[1])
        columns = np.flatnonzero(often)
        model = self._met(split, columns)
        sums, which = model.statistics.distinct(often[columns])  # type: ignore[attr-defined]
        places = np.empty(X.shape[1], X.indices.dtype)
        places[columns] = which
        shape = len(test), sums.tables["sum"].shape[1]
        X = type(X)((X.data, places[X.indices], X.indptr), shape=shape)
        return replace(model, sums=sums), X

    def _named(self, model: Model) -> Model:
        """A model with its labels, and without classes that it has not met."""
        model = self._readable(model)
        return replace(model, sums=model.statistics.canonical())

    def _readable(self, model: Model) -> Model:
        """The same, to be asked and let go of: nobody else has these sums."""
        kept = np.flatnonzero(model.class_weight.nonzero())
        sums = model.statistics
        if len(kept) < len(model.classes):
            sums = sums.gather_classes(kept)
        return replace(
            model, classes=model.classes[kept],
            class_weight=model.class_weight.gather(0, kept), sums=sums.readable(),
        )  # fmt: skip

    def ask(
        self, tests: Sequence[Int64], readings: Sequence[Reading], answer: Answer[T]
    ) -> list[list[T]]:
        """For each split the answers about its test rows, one a reading of what was counted.

        Raises
        ------
        ValueError : if the rows of a split cannot be read so, or one of its test rows not scored.
        """
        met_only = all(_met_only(schema) for schema, _ in readings) and is_sparse(self.rows.X)
        inner = SERIAL if len(tests) > 1 else self.workers
        if met_only:
            self._known  # noqa: B018 before several workers need it
        else:
            self._parts  # noqa: B018 by all workers

        def one(split: int) -> list[T]:
            test = tests[split]
            try:
                model, X = self._asked(split, test, met_only)
                if not len(model.classes):
                    raise ValueError("there are no rows to learn")
                return [answer(self._scored(model, own, test, X, inner)) for own in readings]
            except InvalidValueError as error:
                raise self._placed(error, test) from None
            except ValueError as error:
                raise ValueError(f"split {split}: {error}") from None

        return self.workers.map(one, range(len(tests)))

    def _scored(
        self, model: Model, reading: Reading, test: Int64, X: Data, workers: Workers
    ) -> Unlearned:
        """What a model says, over all classes."""
        schema, prior = reading
        own = model.schema
        if len(model.classes) < len(self.classes):
            known = np.searchsorted(self.classes, model.classes)
            prior = prior.among(self.classes, known)
            schema = schema.of_classes(known, len(self.classes))
        parts = _read(own, schema, [X] if own.is_single else X.parts)
        sums = schema.statistics(_read(own, schema, model.parts))
        model = replace(model, counted=schema, prior=prior, sums=sums)
        model.check(workers, self.classes)
        posterior = model.posterior(workers)
        parts = silenced(schema, parts, unvaried_in(posterior))
        rows = schema.rows(parts, len(test))
        known = np.searchsorted(self.classes, model.classes)
        log_proba = posterior.log_proba(rows, workers)
        if len(known) < len(self.classes):
            spread = np.full((len(test), len(self.classes)), -np.inf)
            spread[:, known] = log_proba
            log_proba = spread
        log_prior = np.full(len(self.classes), -np.inf)
        log_prior[known] = posterior.log_prior
        codes, lacking = self.codes[test], np.ones(len(self.classes), bool)
        lacking[known] = False
        return Unlearned(
            test, log_proba, log_prior[codes], lacking[codes],
            -log_proba[np.arange(len(test)), codes],
        )  # fmt: skip


def _met_only(schema: Schema) -> bool:
    """Whether sparse rows need the sums of their own columns only."""
    return schema.is_single and schema.family.met_only


def _met(model: Model, columns: Int64) -> Model:
    """Some columns of a model, and all columns together: for its sums alone."""
    return replace(model, sums=model.statistics.met(columns))  # type: ignore[attr-defined]


def _read(own: Schema, other: Schema, wholes: list[Any]) -> list[Any]:
    """What each part of another schema takes of the rows, or the sums, of each part of its own.

    Raises ValueError if it counts something else.
    """
    if own is other:
        return wholes
    found = []
    for part in other.parts:
        k = next((k for k, one in enumerate(own.parts) if serves(one, part)), None)
        if k is None:
            raise ValueError(
                "settings must not change what is counted of the columns, as these do of "
                f"{few(part.names)}"
            )
        found.append(taken(own.parts[k], part, wholes[k]))
    return found


# ---- Sums that serve for others: of the same columns, or of some of them.


def serves(own: Counted, part: Counted) -> bool:
    """Whether what is counted of some columns has the sums of others in it."""
    if own.summary != part.summary:
        return False
    return own.names == part.names or (own.summary.by_column and {*part.names} <= {*own.names})


def taken(own: Counted, part: Counted, whole: Any) -> Any:
    """What belongs to the columns of `part`: of the rows of `own`, or of their sums."""
    columns = columns_among(own.names, part.names)
    if columns is None:
        return whole
    return whole.gather_columns(columns) if isinstance(whole, Statistics) else whole[:, columns]


def k_fold(
    rows: Learnable, count: int, workers: Workers, whole: Model | None = None
) -> tuple[Folds, list[Int64]]:
    """(models without one fold of the rows each, the rows of the folds); see `assign_folds`."""
    codes = np.unique(rows.labels, return_inverse=True)[1]
    fold = assign_folds(rows.blank.schema, rows.X, codes, rows.weights, count)
    learned = np.arange(fold.max(initial=-1) + 1)[:, np.newaxis] != fold
    return Folds(rows, learned, workers, whole), [np.flatnonzero(~own) for own in learned]


def distinct_columns(table: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], tuple[Int64, ...]]:
    """(the different columns of a table, where each is met): rows that are alike make a part."""
    order = np.lexsort(table[::-1])
    table = table[:, order]
    first = np.ones(len(order), bool)
    first[1:] = (table[:, 1:] != table[:, :-1]).any(axis=0)
    return table[:, first], tuple(np.split(order, np.flatnonzero(first)[1:]))
