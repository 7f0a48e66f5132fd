"""Define a block: the evidence of some columns for each class.

The evidence of a row is e_c(x) = log p(c | x) - log π_c, in nats, up to a constant that is the same
for all classes. A kind of block is a subclass of `Block` in its own file, and a line in
`naively.pooling.blocks.registry`. It implements

- fitting without each fold (`of_values`, `of_column`, `of_columns`), which yields `OutOfFold`;
- scoring (`add` or `by_level`) and contributions of its columns (`contributions`);
- descriptions and plots (`what`, `drawn`, `cells`);
- files (`tag`, `stored`, `read`) and formulas for exports (`term` or, for text, `text_evidence`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from naively.core.exact import Float64, Int64
from naively.core.workers import Workers
from naively.formula import Term, TextEvidence
from naively.kernels import scores
from naively.pooling.bins import FINE, Coded, Column, Lookup
from naively.pooling.blocks.shapes import Bins
from naively.pooling.dates import seconds
from naively.pooling.entries import Entries
from naively.pooling.texts.words import Words
from naively.pooling.weights import Float32
from naively.statistics.base import Arrays
from naively.statistics.levels import Encoded, Levels
from naively.statistics.rows import texts

CellsOf = npt.NDArray[np.uint32]
Bools = npt.NDArray[np.bool_]

LARGEST = 1e50  # largest absolute value of an estimate: sums of products of such numbers are finite


# ---- rows ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FoldedRows:
    """Training rows with folds and bins, to which blocks are fitted."""

    entries: Entries
    columns: list[Column]  # the bins of each column
    coded: list[Coded]  # the bins of each entry, for each way to cut
    priors: Float64  # (folds, repeats, C) the class prior without each fold
    prior: Float64  # (C,) the class prior of all rows
    varied: list[int]  # the columns that vary
    # of columns with a monotone constraint, the class whose probability must not fall
    rising: Mapping[int, int]
    workers: Workers


class Values:
    """The distinct values of rows, and the evidence of each, cached for all chunks of the rows.

    `levels`: the distinct values of each column. `columns`: the bins of each column.
    """

    def __init__(self, levels: list[Levels], columns: list[Column]) -> None:
        self.levels, self.columns = levels, columns
        self._lookups = dict[int, Lookup]()
        self._seconds = dict[int, Float64]()
        self._evidence = dict[int, Float64]()
        self._text_evidence = dict[int, tuple[Float64, Bools]]()

    @cached_property
    def bins(self) -> list[Int64]:
        """The fine bin of each value of each column, that of missing values last."""
        return [*map(Column.bins, self.columns, self.levels)]

    @cached_property
    def missing(self) -> Int64:
        """The code of a missing cell in each column, (d,)."""
        return np.array([len(bins) - 1 for bins in self.bins], np.int64)

    @cached_property
    def invalid(self) -> dict[int, Bools]:
        """Whether each value counts as missing, in columns with values that do, as text may."""
        invalid = {}
        for j, (bins, column) in enumerate(zip(self.bins, self.columns, strict=True)):
            is_missing = bins == column.size(FINE) - 1
            if is_missing[:-1].any():
                invalid[j] = is_missing
        return invalid

    def lookup(self, way: int) -> Lookup:
        """The bin of each value of each column, for one way to cut."""
        if way not in self._lookups:
            self._lookups[way] = Lookup.of(self.columns, self.bins, way)
        return self._lookups[way]

    def seconds(self, column: int) -> Float64:
        """The values of a column as seconds."""
        if column not in self._seconds:
            self._seconds[column] = seconds(self.levels[column])
        return self._seconds[column]

    def evidence(self, block: Block) -> Float64:
        """The evidence of each value of the column of a block, (levels + 1, C)."""
        if id(block) not in self._evidence:
            self._evidence[id(block)] = block.by_level(self)
        return self._evidence[id(block)]

    def text_evidence(self, words: Words) -> tuple[Float64, Bools]:
        """The evidence of each text of the column of `words`, and which have no known terms."""
        if id(words) not in self._text_evidence:
            self._text_evidence[id(words)] = words.evidence(texts(self.levels[words.column]))
        return self._text_evidence[id(words)]


class Rows:
    """Rows to score.

    `codes`: (n, d) int32, indices into the distinct values of each column.
    """

    def __init__(self, X: Encoded, values: Values) -> None:
        self.codes, self.values = X.codes, values
        self._coded = dict[int, Coded]()

    def __len__(self) -> int:
        return len(self.codes)

    def coded(self, way: int) -> Coded:
        """The bins of the rows, for one way to cut."""
        if way not in self._coded:
            self._coded[way] = self.values.lookup(way).coded(self.codes)
        return self._coded[way]


# ---- blocks --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Block(ABC):
    """The evidence of some columns."""

    columns: tuple[int, ...]  # their numbers, sorted

    tag: ClassVar[str]  # the name of this kind in files
    way: ClassVar[int | None] = None
    """How the columns are cut, if it is a table over their bins: see `naively.pooling.bins`. Such
    blocks can be counted for other rows, and wider interactions extend them."""
    table = np.empty((0, 0))  # without annotation: a field of subclasses, where they put it
    """The evidence of each cell, (cells, C), of blocks with a table."""
    part_of_date: ClassVar[str] = ""  # the part of a date that it uses, such as ``hours``
    reads_text: ClassVar[bool] = False
    """Whether it counts words: the sum of such blocks is mixed with the class prior."""
    weeded: ClassVar[bool] = False
    """Whether it is dropped from tables with many columns if it alone predicts no better than the
    class prior."""

    optional: ClassVar[bool] = False
    """Whether it is used only if it lowers the out-of-fold log-loss. Its weight is not shrunk
    towards those of other blocks."""

    def __post_init__(self) -> None:
        # the memory order of files: matrix products may round differently in another one
        for name, value in [*vars(self).items()]:
            if isinstance(value, np.ndarray):
                object.__setattr__(self, name, np.ascontiguousarray(value))

    # ---- fitting ---------------------------------------------------------------------------------

    @classmethod
    def of_values(
        cls, entries: Entries, named: Collection[int | str], workers: Workers
    ) -> list[OutOfFold]:
        """Fit blocks before columns are cut: all values of their columns will share a bin.

        `named` are the columns declared as text.
        """
        return []

    @classmethod
    def of_column(cls, rows: FoldedRows, column: int) -> Iterator[OutOfFold]:
        """Fit the blocks of one column that varies."""
        yield from ()

    @classmethod
    def of_columns(cls, rows: FoldedRows) -> Iterator[OutOfFold]:
        """Fit blocks of several columns together."""
        yield from ()

    def recounted(self, counts: Float64, prior: Float64, columns: Sequence[Column]) -> Self:
        """Estimate the block again from counts (cells, C) of its table; see `way`."""
        return self

    @abstractmethod
    def among(self, at: Int64, order: Int64, classes: Int64, columns: Sequence[Column]) -> Self:
        """The same block in another table.

        `at`: (k,) positions of its columns in that table. `order`: (k,) that sorts them. `classes`:
        (C,) the classes to keep, in their new order. `columns`: the bins of the columns of this
        table.
        """

    @property
    def positive(self) -> bool:
        """Whether its weight must be positive, or else it is dropped.

        A word is no evidence against the class whose documents contain it.
        """
        return self.reads_text

    @property
    @abstractmethod
    def n_free(self) -> int:
        """Number of free parameters."""

    # ---- scores ----------------------------------------------------------------------------------

    def by_level(self, values: Values) -> Float64:
        """The evidence of each value of its only column and of a missing one, (levels + 1, C).

        Only for blocks that do not override `add`.
        """
        raise NotImplementedError

    def add(self, rows: Rows, weight: float, out: Float64) -> None:
        """Add weight times the evidence of rows to their scores, (C, n)."""
        (column,) = self.columns
        out += weight * rows.values.evidence(self)[rows.codes[:, column]].T

    def biases(self, rows: Rows) -> Float64 | float:
        """The constant in the evidence of rows, which no column contributes: (C, n), or 0."""
        return 0.0

    def present(self, missing_cells: Bools) -> Bools:
        """Whether it is evidence of rows, (n,), with these missing cells (n, d)."""
        return np.logical_not(missing_cells[:, list(self.columns)].any(axis=1))

    @property
    def fits_incomplete(self) -> bool:
        """Whether it may be evidence of rows with unfamiliar missing cells."""
        return True

    def contributions(self, rows: Rows, weight: Float64, evidence: Float64) -> Float64:
        """Contributions of its columns, (n, C, k), by weights (n,) and evidence (C, n).

        They are equal, unless a kind overrides this.
        """
        share: Float64 = weight[:, np.newaxis] * evidence.T / len(self.columns)
        return np.repeat(share[:, :, np.newaxis], len(self.columns), axis=2)

    # ---- for people ------------------------------------------------------------------------------

    @abstractmethod
    def what(self, columns: Sequence[Column], texts: Collection[int]) -> str:
        """A short description; `texts` are the columns whose words are evidence."""

    def drawn(
        self, names: Sequence[str], columns: Sequence[Column], levels: Sequence[Levels]
    ) -> tuple[list[Bins], Float64]:
        """The bins of each column, and the table of evidence, (B1, ..., C), if it has a table.

        `levels` are the distinct values of each column in training.
        """
        return [], np.empty(0)

    def cells(self, rows: Rows) -> npt.NDArray[np.integer] | None:
        """The cell of its table in which each row is, (n,), if it has a table."""
        return None

    # ---- files and exports -----------------------------------------------------------------------

    @classmethod
    @abstractmethod
    def stored(cls, blocks: Sequence[Any]) -> Arrays:
        """Blocks of this kind as arrays, without their columns; names start with the tag."""

    @classmethod
    @abstractmethod
    def read(
        cls, arrays: Arrays, places: Sequence[tuple[int, ...]], columns: Sequence[Column],
        n_classes: int,
    ) -> list[Self]:  # fmt: skip
        """Read and check the blocks of these columns from the arrays of `stored`.

        Raises ValueError if the arrays are invalid.
        """

    def term(self, names: Sequence[str], columns: Sequence[Column], weight: float) -> Term:
        """Its contribution to scores as a formula, unless it counts words."""
        raise NotImplementedError

    def present_term(self, names: Sequence[str], columns: Sequence[Column], weight: float) -> Term:
        """The same if missing cells are no evidence."""
        return self.term(names, columns, weight)

    def text_evidence(self, names: Sequence[str]) -> TextEvidence:
        """Its unweighted contribution to scores as a formula, if it counts words."""
        raise NotImplementedError


# ---- out of fold ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """A block, and the evidence of each training entry from a block without the entry's fold."""

    block: Block  # of all entries
    entries: Entries
    evidence: Float32  # (n, C - 1) relative to the first class

    def add(self, weight: float, rows: npt.NDArray[np.intp], out: Float32) -> None:
        """Add weight times the evidence of some entries to their scores, (C - 1, rows)."""
        out += np.float32(weight) * self.evidence[rows].T

    def add_present(self, rows: npt.NDArray[np.intp], missing_cells: Bools, out: Float32) -> None:
        """Add the evidence of entries with missing cells (rows, d), where it is present."""
        self.add(1.0, rows, out)
        out[:, missing_cells[:, self.block.columns[0]]] = 0.0

    def add_all(self, weight: float, rows: npt.NDArray[np.intp], out: Float32) -> None:
        """Add the evidence without each fold, and of all, (rows, folds + 1, C - 1), if any."""

    def within(self, folds: Bools) -> Self:
        """The same with evidence in these folds alone, (repeats, folds)."""
        has_evidence = folds[self.entries.repeat, self.entries.part]
        return replace(self, evidence=self.evidence * has_evidence[:, np.newaxis])


@dataclass(frozen=True, eq=False)
class OutOfFoldTable(OutOfFold):
    """A table of cells, with its evidence without each fold.

    `evidence`: (repeats * cells, folds + 1, C - 1) without each fold, and of all.
    """

    # a function that returns the cells of some entries
    cells: Callable[[npt.NDArray[np.intp]], CellsOf]

    def add(self, weight: float, rows: npt.NDArray[np.intp], out: Float32) -> None:
        """As the base class."""
        cells, fold = self._cells(rows), self.entries.part
        scores.add_evidence(cells, self.evidence, np.float32(weight), fold, rows, out)

    def add_all(self, weight: float, rows: npt.NDArray[np.intp], out: Float32) -> None:
        """As the base class."""
        scores.add_all(self._cells(rows), self.evidence, np.float32(weight), out)

    def within(self, folds: Bools) -> Self:
        """As the base class."""
        tables = self.evidence.reshape(len(folds), -1, *self.evidence.shape[1:]).copy()
        tables[:, :, :-1] *= folds[:, np.newaxis, :, np.newaxis]
        return replace(self, evidence=tables.reshape(self.evidence.shape))

    def _cells(self, rows: npt.NDArray[np.intp]) -> CellsOf:
        """The cells of some entries in the tables of their repeats."""
        entries = self.entries
        return entries.apart(self.cells(rows), len(self.evidence) // entries.n_repeats, rows)


def relative(evidence: npt.NDArray[np.floating[Any]]) -> Float32:
    """Evidence (..., C) relative to the first class, (..., C - 1)."""
    return (evidence[..., 1:] - evidence[..., :1]).astype(np.float32)


# ---- arrays of files -----------------------------------------------------------------------------


def checked(
    arrays: Arrays, name: str, kind: Any, shape: tuple[int | None, ...]
) -> npt.NDArray[Any]:
    """Return an array after checking type and shape (None: any size). Raises ValueError."""
    array = arrays.get(name)
    if array is None:
        raise ValueError(f"it has no {name!r}")
    sizes = zip(array.shape, shape, strict=False)
    fits = array.ndim == len(shape) and all(expected in (None, size) for size, expected in sizes)
    if array.dtype != kind or not fits:
        raise ValueError(f"{name!r} cannot be {array.dtype} of shape {array.shape}")
    return np.array(array, order="C")  # kernels need contiguous arrays


def checked_numbers(arrays: Arrays, name: str, shape: tuple[int | None, ...]) -> Float64:
    """Such an array, of numbers up to `LARGEST`."""
    array = checked(arrays, name, np.float64, shape)
    if not (np.abs(array) <= LARGEST).all():
        raise ValueError(f"a number of {name!r} is not a number, or too large")
    return array


def within(arrays: Arrays, head: str) -> Arrays:
    """The arrays whose names start with `head`, by the rest of their names."""
    names = [name for name in arrays if name.startswith(head)]
    return {name.removeprefix(head): arrays[name] for name in names}
