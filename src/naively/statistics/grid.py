"""Count numeric features on a grid of dyadic cells, which represents any distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from naively.core.exact import LARGEST, ExactArray, Float64, Index, Int64
from naively.core.workers import Workers
from naively.kernels import tables as kernel
from naively.kernels.sums import DIGIT
from naively.statistics.base import Arrays, Batch, Data, InvalidValueError, Summary, dense
from naively.statistics.levels import LevelStatistics, joined, read_levels
from naively.statistics.powers import Limbs, Window, window

MOST = 4096  # occupied cells of a feature, at least 2: zero is always an edge
FINEST = -1074  # exponent at which every float64 is a cell of its own
COARSEST = 1024  # exponent at which only the sign is left
SAMPLE = 1 << 15  # rows for a first guess of the grid
SPAN = 1 << 18  # cells of a lookup table, beyond which values are sorted


@dataclass(eq=False, repr=False)
class GridStatistics(LevelStatistics):
    """The weight of each occupied cell of each feature, by class.

    A cell is an interval [k 2^e, (k + 1) 2^e) with one exponent e per feature: the smallest one at
    which at most `MOST` cells are occupied, over all classes. Cells of e are unions of cells of
    e - 1, so e depends only on the set of all values. Merging takes the larger exponent, unites the
    cells, and coarsens them while they are too many. Statistics of any split, in any order,
    therefore have the same bits. At e = -1074 the cells are the values themselves.

    Forgetting subtracts weights and leaves the exponent unchanged, unless the feature has no value
    left. So ``(a + b) - b == a`` holds as long as `a + b` needed no coarser grid than `a`: always,
    if a feature has at most `MOST` distinct values. Otherwise the difference is `a` on the grid of
    ``a + b``, bit for bit.

    tables : ``count`` (C, total number of cells), feature after feature, and ``missing`` (C, d).
    levels : list of d sorted float64 arrays, the lower edges of the cells (-1.8e308 for -2^1024).
    exponents : (d,) int64, e of each feature.
    """

    levels: list[Float64]
    exponents: Int64

    none = np.empty(0)

    def accumulate(self, other: Self, classes: Int64, sign: int = 1) -> None:
        """Add (or subtract) statistics, on the coarser of the two grids or one coarser still."""
        exponents = np.maximum(self.exponents, other.exponents)
        self._replace(self.coarsened(exponents))
        super().accumulate(other.coarsened(exponents), classes, sign)
        if sign > 0 and max(map(len, self.levels), default=0) > MOST:
            self._replace(self.canonical())  # drop forgotten cells, which do not count
            pairs = zip(self.levels, self.exponents.tolist(), strict=True)
            self._replace(self.coarsened(np.array([grid_exponent(*pair) for pair in pairs])))

    def coarsened(self, exponents: Int64) -> Self:
        """Return the same weights on a grid of the given exponents, none smaller than before."""
        changed = np.flatnonzero((exponents > self.exponents) & [len(a) > 0 for a in self.levels])
        if len(changed) == 0:
            return self._with(self.tables, exponents=exponents)
        levels, starts = list(self.levels), [np.arange(len(a)) for a in self.levels]
        for j in changed:
            edges = cell_edges(self.levels[j], int(exponents[j]))
            levels[j], starts[j] = np.unique(edges, return_index=True)
        firsts = [at + start for at, start in zip(self.offsets, starts, strict=False)]
        tables = {**self.tables, "count": _sum_groups(self.tables["count"], np.concatenate(firsts))}
        return self._with(tables, levels=levels, exponents=exponents)

    def centres(self, feature: int) -> Float64:
        """Return the representative of each cell: the value itself, or the cell's midpoint."""
        return self.levels[feature] + 0.5 * self.width(feature)

    def width(self, feature: int) -> float:
        """Return the width of the cells of a feature; 0 if they are values."""
        e = int(self.exponents[feature])
        return 0.0 if e == FINEST else float(np.ldexp(1.0, min(e, COARSEST - 1)))

    def canonical(self) -> Self:
        """Return the statistics without empty cells; features without cells get the finest grid."""
        statistics = super().canonical()
        occupied = [len(a) > 0 for a in statistics.levels]
        statistics.exponents = np.where(occupied, self.exponents, FINEST)
        return statistics

    def gather_columns(self, columns: Index) -> Self:
        """Restrict to some features."""
        statistics = super().gather_columns(columns)
        statistics.exponents = self.exponents[columns]
        return statistics

    def reindex_columns(self, sources: Int64, positions: Int64, n_features: int) -> Self:
        """Move feature own[k] to positions[k] of `n_features`; the others have no values."""
        statistics = super().reindex_columns(sources, positions, n_features)
        statistics.exponents = np.full(n_features, FINEST, np.int64)
        statistics.exponents[positions] = self.exponents[sources]
        return statistics

    def arrays(self) -> Arrays:
        """Return the cells, and the exponents of their widths."""
        return {**super().arrays(), "exponents": np.array(self.exponents, "<i8")}

    @property
    def reversible(self) -> bool:
        """Whether all cells are single values, so that subtraction restores what was before."""
        return bool((self.exponents == FINEST).all())

    def _replace(self, other: GridStatistics) -> None:
        self.tables, self.levels, self.exponents = other.tables, other.levels, other.exponents

    def _agrees(self, other: Self) -> bool:
        return np.array_equal(self.exponents, other.exponents) and super()._agrees(other)


@dataclass(frozen=True)
class GridCells(Summary[GridStatistics]):
    """Count the values of numeric features in the cells of a dyadic grid."""

    def summarise(self, X: Data, batch: Batch, workers: Workers) -> GridStatistics:
        """Return the exact weight of each cell by class and feature, column by column."""
        X = dense(X)
        (n, d), classes, weights = X.shape, batch.n_classes, batch.weights
        span = window(weights.min(), weights.max()) if len(weights) else None

        def count_column(j: int) -> tuple[Float64, int, ExactArray, ExactArray]:
            x = numbers(X, j)
            present = ~np.isnan(x)
            if present.all():
                rows: Any = slice(None)
                missing = ExactArray.zeros((classes, 1))
            else:
                rows = np.flatnonzero(present)
                missing = _weigh(np.zeros(n - len(rows), np.int64), batch, ~present, 1, span)
            levels, exponent, positions = _cells_of(x[rows])
            return levels, exponent, _weigh(positions, batch, rows, len(levels), span), missing

        columns = workers.map(count_column, range(d))
        levels = [column[0] for column in columns]
        tables = {
            "count": joined([column[2] for column in columns], classes),
            "missing": joined([column[3] for column in columns], classes),
        }
        exponents = np.array([column[1] for column in columns], np.int64)
        return GridStatistics(tables, levels, exponents).canonical()

    def empty(self, n_classes: int, n_features: int) -> GridStatistics:
        """Return the statistics of no rows."""
        count, missing = (ExactArray.zeros((n_classes, size)) for size in (0, n_features))
        tables, exponents = {"count": count, "missing": missing}, np.full(n_features, FINEST)
        return GridStatistics(tables, [np.empty(0)] * n_features, exponents)

    def read(
        self, tables: dict[str, ExactArray], arrays: Arrays, n_features: int
    ) -> GridStatistics:
        """See `Summary.read`."""
        levels = read_levels(arrays, n_features, "f")
        if max(map(len, levels), default=0) > MOST:
            raise ValueError("a feature has more cells than a grid can have")
        exponents = arrays.get("exponents")
        if exponents is None or exponents.dtype != np.int64 or exponents.shape != (n_features,):
            raise ValueError("its grid has no exponents for its features")
        if len(exponents) and (exponents.min() < FINEST or exponents.max() > COARSEST):
            raise ValueError("an exponent of its grid is out of range")
        return GridStatistics(tables, levels, np.array(exponents, np.int64))


def cell_edges(x: Float64, exponent: int) -> Float64:
    """Return ⌊x / 2^e⌋ 2^e of finite values, exactly; the lowest float64 for -2^1024."""
    if exponent == FINEST:
        return x + 0.0  # without negative zeros
    with np.errstate(over="ignore", under="ignore"):
        scaled = np.ldexp(x, -exponent)  # exact unless it overflows or is far below 1
        number = np.where(np.abs(scaled) < 1.0, np.where(x < 0.0, -1.0, 0.0), np.floor(scaled))
        edges = np.maximum(np.ldexp(number, exponent), -LARGEST)
    return np.where(np.abs(scaled) >= 2.0**53, x, edges)  # a multiple of 2^e already


def grid_exponent(edges: Float64, exponent: int = FINEST) -> int:
    """Return the smallest e >= `exponent` that leaves at most `MOST` cells of sorted values."""
    if len(edges) <= MOST:
        return exponent
    low, high = exponent, COARSEST  # too many cells at low; few enough at high
    while high - low > 1:
        middle = (low + high) // 2
        cells = cell_edges(edges, middle)
        if np.count_nonzero(cells[1:] != cells[:-1]) < MOST:
            high = middle
        else:
            low = middle
    return high


def _sum_groups(count: ExactArray, starts: Int64) -> ExactArray:
    """Return the exact sums of the columns from each start up to the next one."""
    size = count.limbs.shape[-1]
    lazy = np.zeros((count.shape[0], len(starts), size + 1), np.int64)
    if size == 0:
        return ExactArray.zeros(lazy.shape[:2])
    lazy[..., :size] = np.add.reduceat(count.limbs & DIGIT, starts, axis=1)
    lazy[..., size] = np.add.reduceat(count.limbs[..., -1] >> 32, starts, axis=1)
    return ExactArray.from_lazy(lazy, count.low)


def numbers(X: npt.NDArray[Any], column: int, first: int = 0) -> Float64:
    """Return a column of the rows as float64, NaN where missing.

    Raises InvalidValueError for an infinite value, counting rows from `first`.
    """
    x = X[:, column].astype(np.float64)
    infinite = np.isinf(x)
    if infinite.any():
        row = int(infinite.argmax())
        problem = f"Input X contains infinity: {{where}} is {x[row]}"
        raise InvalidValueError(first + row, column, problem)
    return x


def _weigh(
    positions: Int64, batch: Batch, rows: Any, width: int, held: Window | None
) -> ExactArray:
    """Return the weight of the rows of each class at each position, (C, width)."""
    codes, shape = batch.codes[rows], (batch.n_classes, width)
    if held is None:
        counts = np.bincount(codes * width + positions, minlength=batch.n_classes * width)
        return ExactArray.from_integers(counts.astype(np.int64).reshape(shape))
    limbs = Limbs(batch.n_classes * width, held)
    kernel.weigh_columns(positions, codes, batch.weights[rows], width, *limbs.arguments)
    return limbs.exact(shape)


def _cells_of(x: Float64) -> tuple[Float64, int, Int64]:
    """Return (edges of the occupied cells, exponent, position of the cell of each value)."""
    exponent = grid_exponent(np.unique(x[:SAMPLE]))  # more values can only make it larger
    if exponent > FINEST:
        x = cell_edges(x, exponent)
        with np.errstate(over="ignore"):
            numbers = np.floor(np.ldexp(x, -exponent))
        lowest = numbers.min()
        if numbers.max() - lowest < SPAN and abs(lowest) < 2.0**52:
            return _look_up(x, (numbers - lowest).astype(np.int64), exponent)
    edges = np.unique(x + 0.0)
    exponent = grid_exponent(edges, exponent)
    edges = np.unique(cell_edges(edges, exponent))
    return edges, exponent, np.searchsorted(edges, cell_edges(x, exponent))


def _look_up(edges: Float64, number: Int64, exponent: int) -> tuple[Float64, int, Int64]:
    """Compute `_cells_of` for cells close to each other, without sorting the values."""
    examples = np.full(int(number.max()) + 1, -1)
    examples[number] = np.arange(len(number))  # the index of some value in each cell
    occupied = np.flatnonzero(examples >= 0)
    cell_values = edges[examples[occupied]]
    exponent = grid_exponent(cell_values, exponent)
    cells, group = np.unique(cell_edges(cell_values, exponent), return_inverse=True)
    position = np.zeros(len(examples), np.int64)
    position[occupied] = group
    return cells, exponent, position[number]
