"""A block of evidence: what some columns add to the score of each class, and all that needs it.

The evidence of a row is e_c(x) = log p(c | x) - log π_c, or that of any other class but for a
constant, in nats. A kind of block is a subclass of `Block` in a file of its own, and a line in
`naively.pooling.blocks.registry`. It says how it is

- fitted without each fold (`of_values`, `of_column`, `of_columns`), which yields `OutOfFold`;
- scored (`add`, or `by_level`), and shared among its columns (`contributions`);
- described and drawn (`what`, `drawn`, `rows_met`);
- stored and read (`tag`, `stored`, `read`), and said as a formula for exports (`term`, or, of
  text, `text_evidence`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from naively.core.exact import Float64, Int64
from naively.core.workers import Workers
from naively.families.formula import Term, TextEvidence
from naively.kernels import scores
from naively.pooling.bins import Coded, Column, Lookup
from naively.pooling.blocks.shapes import Bins
from naively.pooling.dates import seconds
from naively.pooling.folds import Entries, Training
from naively.pooling.weights import Float32
from naively.statistics.base import Arrays
from naively.statistics.levels import Encoded, Levels

CellsOf = npt.NDArray[np.uint32]
Bools = npt.NDArray[np.bool_]

LARGEST = 1e50
"""No number that is estimated is larger; sums of products of such numbers are finite."""


# ---- rows ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FoldedRows:
    """Training rows with folds, cut into bins: what blocks are fitted to.

    Attributes
    ----------
    entries : Entries
    columns : the bins of each column.
    coded : the bins of each entry, for each way to cut.
    priors : (folds, C) the class prior without each fold.
    prior : (C,) that of all.
    varied : the columns that vary.
    """

    entries: Entries
    columns: list[Column]
    coded: list[Coded]
    priors: Float64
    prior: Float64
    varied: list[int]


class Values:
    """The distinct values of rows, and what blocks read in them: once for all chunks of the rows.

    Parameters
    ----------
    levels : those of each column of the rows.
    columns : the bins of each column.
    """

    def __init__(self, levels: list[Levels], columns: list[Column]) -> None:
        self.levels, self.columns = levels, columns
        self._lookups = dict[int, Lookup]()
        self._seconds = dict[int, Float64]()
        self._evidence = dict[int, Float64]()
        self._told = dict[int, tuple[Float64, Bools]]()

    @cached_property
    def bins(self) -> list[Int64]:
        """The fine bin of each level of each column; the missing value's last."""
        return [*map(Column.bins, self.columns, self.levels)]

    def lookup(self, way: int) -> Lookup:
        """The bin of each level of each column, cut in one way."""
        if way not in self._lookups:
            self._lookups[way] = Lookup.of(self.columns, self.bins, way)
        return self._lookups[way]

    def seconds(self, column: int) -> Float64:
        """The levels of a column as dates."""
        if column not in self._seconds:
            self._seconds[column] = seconds(self.levels[column])
        return self._seconds[column]

    def evidence(self, block: Block) -> Float64:
        """The evidence of each level of the column of a block, (levels + 1, C)."""
        if id(block) not in self._evidence:
            self._evidence[id(block)] = block.by_level(self)
        return self._evidence[id(block)]

    def told(self, block: Block) -> tuple[Float64, Bools]:
        """The evidence of each text of the column of a block, and which have no known terms."""
        if id(block) not in self._told:
            self._told[id(block)] = block.told(self)
        return self._told[id(block)]


class Rows:
    """Some rows to be scored.

    Attributes
    ----------
    codes : (n, d) int32, places in the levels of each column.
    values : Values
    """

    def __init__(self, X: Encoded, values: Values) -> None:
        self.codes, self.values = X.codes, values
        self._coded = dict[int, Coded]()

    def __len__(self) -> int:
        return len(self.codes)

    def coded(self, way: int) -> Coded:
        """The bins of the rows, cut in one way."""
        if way not in self._coded:
            self._coded[way] = self.values.lookup(way).coded(self.codes)
        return self._coded[way]


# ---- blocks --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Block(ABC):
    """Evidence of some columns.

    Attributes
    ----------
    columns : which, in order.
    """

    columns: tuple[int, ...]

    tag: ClassVar[str]
    """What files call this kind."""
    way: ClassVar[int | None] = None
    """How the columns are cut, of a table over their bins: see `naively.pooling.bins`. Such blocks
    are counted for other rows, too, and say what pairs and triples of columns are compared with."""
    table = np.empty((0, 0))  # without annotation: a field of subclasses, where they put it
    """The evidence of each cell, (cells, C), of blocks that have a table."""
    part_of_date: ClassVar[str] = ""
    """What of the dates of its column it reads, such as ``hours``."""
    reads_text: ClassVar[bool] = False
    """Whether it reads words: then what all such blocks add is mixed with the class prior."""
    weeded: ClassVar[bool] = False
    """Whether it is dropped from tables of many columns where it predicts no better than the class
    prior by itself."""

    optional: ClassVar[bool] = False
    """Whether it is left out where rows that were left out are predicted as well without it. Its
    weight is not drawn to those of other blocks."""

    # ---- fitting ---------------------------------------------------------------------------------

    @classmethod
    def of_values(
        cls, entries: Entries, named: Collection[int | str], workers: Workers
    ) -> list[OutOfFold]:
        """Blocks that are fitted before columns are cut: all values of their columns share a bin.

        `named` are columns that were named as text.
        """
        return []

    @classmethod
    def of_column(cls, rows: FoldedRows, column: int) -> Iterator[OutOfFold]:
        """Blocks of one column that varies."""
        yield from ()

    @classmethod
    def of_columns(cls, rows: FoldedRows) -> Iterator[OutOfFold]:
        """Blocks of several columns together, whichever there are."""
        yield from ()

    def recounted(self, counts: Float64, prior: Float64, columns: Sequence[Column]) -> Self:
        """The same block by counts (cells, C) of a table over bins of columns; see `way`."""
        return self

    @abstractmethod
    def among(self, at: Int64, order: Int64, classes: Int64, columns: Sequence[Column]) -> Self:
        """The same in another table.

        Parameters
        ----------
        at : (k,) which columns of that table these are.
        order : (k,) that sorts them.
        classes : (C,) its classes in their new order; some may be gone.
        columns : the bins of the columns of this table.
        """

    @property
    @abstractmethod
    def n_free(self) -> int:
        """Number of free parameters."""

    # ---- scores ----------------------------------------------------------------------------------

    def by_level(self, values: Values) -> Float64:
        """The evidence of each level of its only column, and of a missing value: (levels + 1, C).

        Of blocks of which `add` does not say it otherwise.
        """
        raise NotImplementedError

    def told(self, values: Values) -> tuple[Float64, Bools]:
        """The same, and whether a text has no known terms, (levels + 1,), if it reads text."""
        raise NotImplementedError

    def add(self, rows: Rows, weight: float, out: Float64) -> None:
        """Add weight times the evidence of rows to their scores, (C, n)."""
        (column,) = self.columns
        out += weight * rows.values.evidence(self)[rows.codes[:, column]].T

    def present(self, gone: Bools) -> Bools:
        """Whether it is evidence of rows, (n,), of which these cells (n, d) are missing."""
        return np.logical_not(gone[:, list(self.columns)].any(axis=1))

    @property
    def fits_incomplete(self) -> bool:
        """Whether it may be evidence of rows with unfamiliar missing cells."""
        return True

    def contributions(self, rows: Rows, weight: Float64, evidence: Float64) -> Float64:
        """What each of its columns adds, (n, C, k), by weights (n,) and evidence (C, n).

        Shared equally, unless a kind knows better.
        """
        share: Float64 = weight[:, np.newaxis] * evidence.T / len(self.columns)
        return np.repeat(share[:, :, np.newaxis], len(self.columns), axis=2)

    # ---- for people ------------------------------------------------------------------------------

    @abstractmethod
    def what(self, columns: Sequence[Column], texts: Collection[int]) -> str:
        """What it is, in a few words; words of the columns `texts` are evidence."""

    def drawn(
        self, names: Sequence[str], columns: Sequence[Column], levels: Sequence[Levels]
    ) -> tuple[list[Bins], Float64]:
        """(the bins of each column; the table of evidence, (B1, ..., C)), if it has a table.

        `levels` are those that were met in each column.
        """
        return [], np.empty(0)

    def rows_met(self, training: Training, columns: Sequence[Column]) -> Float64 | None:
        """The weight of training rows in each cell of its table by class, (cells, C), if any."""
        return None

    # ---- files and exports -----------------------------------------------------------------------

    @classmethod
    @abstractmethod
    def stored(cls, blocks: Sequence[Any]) -> Arrays:
        """Blocks of this kind as arrays, but for their columns: names begin with the tag."""

    @classmethod
    @abstractmethod
    def read(
        cls, arrays: Arrays, places: Sequence[tuple[int, ...]], columns: Sequence[Column],
        n_classes: int,
    ) -> list[Self]:  # fmt: skip
        """The blocks of these columns that `stored` made arrays of: checked.

        Raises ValueError if these can be no such blocks.
        """

    def term(self, names: Sequence[str], columns: Sequence[Column], weight: float) -> Term:
        """What it adds to scores, as data, unless it reads text."""
        raise NotImplementedError

    def present_term(self, names: Sequence[str], columns: Sequence[Column], weight: float) -> Term:
        """The same where missing cells are no evidence."""
        return self.term(names, columns, weight)

    def text_evidence(self, names: Sequence[str]) -> TextEvidence:
        """What it adds to scores, unweighted, as data, if it reads text."""
        raise NotImplementedError


# ---- out of fold ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """A block, and the evidence of each training entry by a block without the entry's fold.

    Attributes
    ----------
    block : Block, of all entries.
    entries : Entries
    evidence : (n, C - 1) relative to the first class.
    """

    block: Block
    entries: Entries
    evidence: Float32

    def add(self, weight: float, rows: npt.NDArray[np.intp], out: Float32) -> None:
        """Add weight times the evidence of some entries to their scores, (C - 1, rows)."""
        out += np.float32(weight) * self.evidence[rows].T

    def add_present(self, rows: npt.NDArray[np.intp], gone: Bools, out: Float32) -> None:
        """Add the evidence of entries whose cells (rows, d) are missing, where it is present."""
        self.add(1.0, rows, out)
        out[:, gone[:, self.block.columns[0]]] = 0.0

    def add_all(self, weight: float, rows: npt.NDArray[np.intp], out: Float32) -> None:
        """Add the evidence without each fold, and by all, (rows, folds + 1, C - 1), if known."""


@dataclass(frozen=True, eq=False)
class OutOfFoldTable(OutOfFold):
    """The same of a table of cells, which has the evidence without each fold.

    Attributes
    ----------
    evidence : (cells, folds + 1, C - 1) without each fold, and by all.
    cells : the cells of some entries.
    """

    cells: Callable[[npt.NDArray[np.intp]], CellsOf]

    def add(self, weight: float, rows: npt.NDArray[np.intp], out: Float32) -> None:
        """As the base class."""
        cells, fold = self.cells(rows), self.entries.part
        scores.add_evidence(cells, self.evidence, np.float32(weight), fold, rows, out)

    def add_all(self, weight: float, rows: npt.NDArray[np.intp], out: Float32) -> None:
        """As the base class."""
        scores.add_all(self.cells(rows), self.evidence, np.float32(weight), out)


def relative(evidence: npt.NDArray[np.floating[Any]]) -> Float32:
    """Evidence of classes (..., C), relative to the first: (..., C - 1)."""
    return (evidence[..., 1:] - evidence[..., :1]).astype(np.float32)


# ---- arrays of files -----------------------------------------------------------------------------


def checked(
    arrays: Arrays, name: str, kind: Any, shape: tuple[int | None, ...]
) -> npt.NDArray[Any]:
    """An array of this type and shape, None being any size. Raises ValueError if it is not so."""
    array = arrays.get(name)
    if array is None:
        raise ValueError(f"it has no {name!r}")
    fits = array.ndim == len(shape) and all(
        wanted in (None, size) for size, wanted in zip(array.shape, shape, strict=True)
    )
    if array.dtype != kind or not fits:
        raise ValueError(f"{name!r} cannot be {array.dtype} of shape {array.shape}")
    return np.array(array, order="C")  # kernels take no others


def checked_numbers(arrays: Arrays, name: str, shape: tuple[int | None, ...]) -> Float64:
    """Such an array, of numbers that can be estimated."""
    array = checked(arrays, name, np.float64, shape)
    if not (np.abs(array) <= LARGEST).all():
        raise ValueError(f"a number of {name!r} is no number, or too large")
    return array


def within(arrays: Arrays, head: str) -> Arrays:
    """Those whose names begin so, by the rest of their names."""
    return {name.removeprefix(head): one for name, one in arrays.items() if name.startswith(head)}
