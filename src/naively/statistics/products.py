"""Sum products of features exactly by class, by matrix products or one by one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from naively.core.exact import ExactArray, Float64, Index, Int64
from naively.core.workers import SERIAL, Workers
from naively.kernels import sums as kernel
from naively.kernels import tables as table_kernel
from naively.statistics.base import FORGOTTEN, NOT_LEARNED, Batch, Data, Statistics, Summary, shown
from naively.statistics.powers import (
    MOST,
    Limbs,
    Moments,
    Window,
    product,
    slabs,
    sum_powers,
    window,
)

FEW = 1 << 16  # products, up to which adding one by one is faster than the set-up of the pieces
TILES = 2048  # tiles of a matrix that one worker sums at a time: 4 MiB a plane
SPARE = 1 / 128  # share of values with a rest, from which another piece is cheaper
MOST_PIECES = 4
SAFE = 400  # largest exponent, up or down, of the values that are cut into pieces


def cell_count(n_features: int) -> int:
    """Return the number of pairs of features, including each with itself."""
    return n_features * (n_features + 1) // 2


def sum_products(
    X: npt.NDArray[Any], batch: Batch, workers: Workers, *, pooled: bool, missing: bool
) -> dict[str, ExactArray]:
    """Return exact tables of products of finite values and NaN: see `ProductStatistics`.

    pooled : whether to sum over the classes.
    missing : whether any value is NaN.
    """
    X, (n, d) = shown(X), X.shape
    if n > MOST:
        total, tail = (
            sum_products(X[rows], batch.part(rows), workers, pooled=pooled, missing=missing)
            for rows in (slice(MOST), slice(MOST, n))
        )
        return {name: table.accumulate(tail[name]) for name, table in total.items()}
    sizes = _sizes(X, workers)
    small = n * cell_count(d) <= FEW or len(batch.weights) > 0 or not sizes.safe
    complete, incomplete = _by_completeness(X, missing, workers, all_rest=small)
    tables = _by_deposits(X, batch, incomplete, sizes, workers, pooled=pooled, missing=missing)
    if len(complete):
        products = _by_pieces(X, batch, complete, sizes, workers, pooled)
        tables["product"] = products.accumulate(tables["product"])
    return tables


@dataclass(frozen=True)
class Sizes:
    """The magnitudes of a batch's values: the largest of each feature, the smallest of all."""

    largest: Float64
    smallest: float

    @property
    def window(self) -> Window | None:
        """The bits of all values."""
        return window(self.smallest, float(self.largest.max(initial=0.0)))

    @property
    def safe(self) -> bool:
        """Whether pieces and their products are far from the limits of float64."""
        top = float(self.largest.max(initial=0.0))
        return top == 0.0 or (top < 2.0**SAFE and self.smallest > 2.0**-SAFE)


def _sizes(X: npt.NDArray[Any], workers: Workers) -> Sizes:
    row_slices = slabs(len(X), workers.count if X.size > 1 << 17 else 1)
    largest = np.zeros((len(row_slices), X.shape[1]))
    smallest = workers.map(
        lambda k: kernel.column_sizes(X, row_slices[k].start, row_slices[k].stop, largest[k]),
        range(len(row_slices)),
    )
    return Sizes(largest.max(axis=0, initial=0.0), min(smallest))


def row_edges(d: int, parts: int) -> list[int]:
    """Return where to split the features into parts of equal work.

    A part multiplies its features with all later ones.
    """
    work = np.cumsum(np.arange(d, 0, -1))
    cuts = np.searchsorted(work, [cell_count(d) * k // parts for k in range(1, parts)])
    return [0, *cuts.tolist(), d]


def _by_completeness(
    X: npt.NDArray[Any], missing: bool, workers: Workers, *, all_rest: bool
) -> tuple[Int64, Int64]:
    """Return (rows to cut into pieces, rows to add product by product)."""
    all_rows, no_rows = np.arange(len(X)), np.empty(0, np.int64)
    if all_rest:
        return no_rows, all_rows
    if not missing:
        return all_rows, no_rows
    incomplete = np.empty(len(X), bool)
    workers.map(
        lambda some: kernel.incomplete(X, some.start, some.stop, incomplete),
        slabs(len(X), workers.count),
    )
    return np.flatnonzero(~incomplete), np.flatnonzero(incomplete)


def _by_deposits(
    X: npt.NDArray[Any], batch: Batch, rows: Int64, sizes: Sizes, workers: Workers, *,
    pooled: bool, missing: bool,
) -> dict[str, ExactArray]:  # fmt: skip
    """Add product by product; each worker multiplies some features with all later ones."""
    classes, d, weights = batch.n_classes, X.shape[1], shown(batch.weights)
    cells, groups = cell_count(d), 1 if pooled else classes
    any_missing = missing and len(rows) > 0
    of_weights = window(batch.weights.min(), batch.weights.max()) if len(batch.weights) else (0, 1)
    of_x = sizes.window if len(rows) else None
    products = Limbs(groups * cells, product(of_x, of_x, of_weights))
    only_first = Limbs(classes * d * d, product(of_x, of_weights) if any_missing else None)
    neither = Limbs(classes * cells, of_weights if any_missing else None)
    if len(rows):
        n_parts = workers.count if len(rows) * cells > FEW else 1
        edges = row_edges(d, n_parts)
        workers.map(
            lambda k: kernel.deposit_rows(
                X, batch.codes, weights, rows, edges[k], edges[k + 1], pooled,
                *products.arguments, *only_first.arguments, *neither.arguments,
            ),
            range(n_parts),
        )  # fmt: skip
    return {
        "product": products.exact((groups, cells)),
        "gone": only_first.exact((classes, d, d)),
        "both_gone": neither.exact((classes, cells)),
    }


def _by_pieces(
    X: npt.NDArray[Any], batch: Batch, rows: Int64, sizes: Sizes, workers: Workers, pooled: bool
) -> ExactArray:
    """Sum complete rows of weight 1 by matrix products of pieces."""
    d = X.shape[1]
    span = sizes.window
    cells = cell_count(d)
    groups = [rows] if pooled else _rows_of_classes(batch, rows)
    if span is None:
        return ExactArray.zeros((len(groups), cells))
    unit = np.frexp(sizes.largest)[1].astype(np.int64) - (kernel.BITS - 1)
    bits = product(span, span)
    assert bits is not None
    low = bits[0] // 32
    top = bits[1] + max(map(len, groups)).bit_length() - 32 * low
    limbs = np.zeros((len(groups), cells, max(1, -(-(top - 61) // 32) + 1)), np.int64)
    panels = -(-d // kernel.WIDTH)
    tiles = panels * (panels + 1) // 2
    cutter = _Cutter(X, unit, min(tiles, TILES), bits)
    jobs = [(g, tile) for g in range(len(groups)) for tile in range(0, tiles, TILES)]
    # many matrices: one per worker; few: all workers on each
    outer, inner = (workers, SERIAL) if len(jobs) >= 2 * workers.count else (SERIAL, workers)

    def sum_tiles(job: tuple[int, int]) -> None:
        group, start = job
        stop = min(start + TILES, tiles)
        group_rows = groups[group]
        count = max(1, min(inner.count, len(group_rows) // (8 * kernel.ROWS)))
        row_slices = slabs(len(group_rows), count)
        rooms = inner.map(lambda some: cutter.region(group_rows[some], start, stop), row_slices)
        table = rooms[0].limbs
        for room in rooms[1:]:
            table += room.limbs
        kernel.normalise(table)
        kernel.settle_tiles(table, d, start, stop, limbs[group])
        cutter.rooms += rooms

    outer.map(sum_tiles, jobs)
    return ExactArray(limbs, low)


def _rows_of_classes(batch: Batch, rows: Int64) -> list[Int64]:
    order, ends = table_kernel.rows_by_class(batch.codes[rows], batch.n_classes)
    return [rows[order[ends[c] : ends[c + 1]]] for c in range(batch.n_classes)]


class _Room:
    """Buffers of one worker, reused for the next matrix.

    planes : the pieces of some rows, combined; norms : the squares of their columns.
    places, rests : positions and rests of values that the pieces do not hold exactly.
    sums, totals : of the products in each plane.
    limbs : (cells, L) lazy limbs.
    """

    def __init__(self, pieces: int, d: int, tiles: int, bits: Window) -> None:
        panels = -(-d // kernel.WIDTH)
        planes = 5 if pieces == 3 else cell_count(pieces)
        self.planes = np.zeros((planes, panels * kernel.ROWS * kernel.WIDTH))
        self.norms = np.zeros((planes, panels * kernel.WIDTH))
        self.places = np.empty(kernel.ROWS * d, np.int64)
        self.rests = np.empty(kernel.ROWS * d)
        self.sums = np.zeros((len(self.planes), tiles * kernel.PRODUCT_CELLS))
        self.totals = np.zeros(self.sums.shape, np.int64)
        lazy = Limbs(tiles * kernel.PRODUCT_CELLS, bits)
        self.low = lazy.low
        self.limbs = lazy.flat.reshape(-1, lazy.size)
        self.scratch = np.zeros(d)


class _Cutter:
    """Cut rows into as many pieces as are worthwhile, and sum the products of these."""

    def __init__(self, X: npt.NDArray[Any], unit: Int64, tiles: int, bits: Window) -> None:
        self.X = X
        self.unit = unit
        self.scale = np.ldexp(1.0, -unit)
        self.rooms: list[_Room] = []  # unused buffers
        probe = np.arange(0, len(X), max(1, len(X) // 64))[: kernel.ROWS]
        probe = probe[~np.isnan(X[probe]).any(axis=1)]
        for pieces in range(1, MOST_PIECES + 1):
            self.new_room = partial(_Room, pieces, X.shape[1], tiles, bits)
            self.pieces = pieces
            if self._cut(probe, _Room(pieces, X.shape[1], 0, bits)) <= SPARE * X[probe].size:
                break

    def _cut(self, rows: Int64, room: _Room) -> int:
        """Cut rows into pieces, and return how many values have a rest."""
        return kernel.cut(
            self.X, rows, self.scale, self.pieces, room.planes, room.norms, room.places,
            room.rests,
        )  # fmt: skip

    def region(self, rows: Int64, first: int, last: int) -> _Room:
        """Return buffers with the lazy limbs of tiles first:last, summed over some rows."""
        try:
            room = self.rooms.pop()
            room.limbs[:] = 0
        except IndexError:
            room = self.new_room()
        panels = -(-self.X.shape[1] // kernel.WIDTH)
        limbs = room.limbs.reshape(-1), room.limbs.shape[1], room.low
        norms = np.zeros(room.norms.shape)  # bounds the squares in the current sums
        n_sums = at = 0
        while at < len(rows):
            n_rows = kernel.ROWS
            while True:
                block = rows[at : at + n_rows]
                n_rests = self._cut(block, room)
                if room.norms.max() < kernel.EXACT:
                    break
                n_rows //= 2
            norms += room.norms
            if norms.max() >= kernel.EXACT:  # may be rounded down to that
                kernel.add_whole(room.sums.reshape(-1), room.totals.reshape(-1))
                norms[:] = room.norms
                n_sums += 1
                if n_sums == kernel.SUMS:
                    kernel.add_squares(room.totals, self.pieces, self.unit, first, last, *limbs)
                    n_sums = 0
            for plane, sums in zip(room.planes, room.sums, strict=True):
                kernel.square(plane, panels, first, last, sums)
            if n_rests:
                order = np.argsort(room.places[:n_rests])
                kernel.add_rests(
                    self.X, block, room.places[order], room.rests[order], room.scratch,
                    first, last, *limbs,
                )  # fmt: skip
            at += len(block)
        kernel.add_whole(room.sums.reshape(-1), room.totals.reshape(-1))
        kernel.add_squares(room.totals, self.pieces, self.unit, first, last, *limbs)
        return room


# ---- products ------------------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class ProductStatistics(Statistics):
    """Sums of features and of products of two features.

    tables : ``sum`` (C, d), Σ w x_i; ``product`` (C, d (d + 1) / 2), Σ w x_i x_j for i <= j;
        ``missing`` (C, d), the weight of the rows without i; ``gone`` (C, d, d), Σ w x_i over the
        rows that have i but not j; ``both_gone`` (C, d (d + 1) / 2), the weight of the rows that
        have neither. Without missing values the last three take no memory.
    pooled : whether ``product`` is the sum over all classes, (1, d (d + 1) / 2).
    """

    pooled: bool

    signed = ("sum", "product", "gone")
    sized_by = "product"  # as many cells as the covariance matrix

    @property
    def pooled_tables(self) -> tuple[str, ...]:  # type: ignore[override]
        """Tables that are sums over all classes, with a first axis of length 1."""
        return ("product",) if self.pooled else ()

    def shapes(self, classes: int, d: int) -> dict[str, tuple[int, ...]]:
        """Return the shape of each table."""
        pairs = cell_count(d)
        return {
            "sum": (classes, d), "product": (1 if self.pooled else classes, pairs),
            "missing": (classes, d), "gone": (classes, d, d), "both_gone": (classes, pairs),
        }  # fmt: skip

    def gather_columns(self, columns: Index) -> Self:
        """Select some of the features, in any order."""
        d = self.tables["sum"].shape[1]
        order = np.arange(d)[columns]
        i, j = np.triu_indices(len(order))
        cells = pair_cells(order[i], order[j], d)
        where = {"sum": order, "product": cells, "missing": order, "gone": order}
        where["both_gone"] = cells
        tables = {name: self.tables[name].gather(1, places) for name, places in where.items()}
        return self._with(tables | {"gone": tables["gone"].gather(2, order)})

    def reindex_columns(self, sources: Int64, positions: Int64, n_features: int) -> Self:
        """Reorder all features: own[k] becomes positions[k]."""
        assert n_features == len(sources) == self.tables["sum"].shape[1]
        return self.gather_columns(sources[np.argsort(positions)])

    def add_missing(self, columns: Int64, class_weight: ExactArray) -> None:
        """Count all features, or none, as missing in rows of these weights."""
        super().add_missing(columns, class_weight)
        if len(columns):
            missing = self.tables["both_gone"]
            weight = class_weight.repeated(missing.shape[1])
            self.tables["both_gone"] = missing.accumulate(weight)

    def pair_weight(self, class_weight: ExactArray) -> ExactArray:
        """Return the weight of the rows that have both features, (C, d (d + 1) / 2)."""
        d = self.tables["sum"].shape[1]
        weight = class_weight.repeated(cell_count(d))
        missing = self.tables["missing"]
        if missing.limbs.shape[-1]:
            for feature in np.triu_indices(d):
                weight = weight.accumulate(missing.gather(1, feature), sign=-1)
        return weight.accumulate(self.tables["both_gone"])

    def impossible(self, class_weight: ExactArray) -> str | None:
        """Return why no data can have these statistics, or None if some can."""
        d = self.tables["sum"].shape[1]
        weight = self.pair_weight(class_weight)
        is_negative = any(self.tables[name].any_negative() for name in ("missing", "both_gone"))
        if weight.below_zero(class_weight.repeated(1)) or is_negative:
            return FORGOTTEN
        present = weight.nonzero()
        stray = (self.tables["sum"].nonzero() & ~present[:, diagonal(d)]).any()
        if self.pooled:
            present = summed_classes(weight).nonzero()
        if stray or (self.tables["product"].nonzero() & ~present).any():
            return NOT_LEARNED
        return NOT_LEARNED if self.moments(class_weight).contradictory() else None

    def moments(self, class_weight: ExactArray) -> Moments:
        """Return Σ x and Σ x² of each class, or over all classes if the products are pooled."""
        d = self.tables["sum"].shape[1]
        tables = {name: self.tables[name] for name in ("sum", "missing")}
        tables["square"] = self.tables["product"].gather(1, diagonal(d))
        if not self.pooled:
            return Moments(tables, class_weight)
        tables = {name: summed_classes(table) for name, table in tables.items()}
        return Moments(tables, summed_classes(class_weight))

    def _agrees(self, other: Self) -> bool:
        return self.pooled == other.pooled


@dataclass(frozen=True)
class Products(Summary[ProductStatistics]):
    """Σw x and Σw x xᵀ of real numbers; if `pooled`, the products are summed over all classes."""

    pooled: bool

    by_column = False
    takes_sparse = False

    def summarise(self, X: Data, batch: Batch, workers: Workers) -> ProductStatistics:
        """Return Σw, Σw x and Σw x xᵀ, exactly."""
        tables = sum_powers(X, batch, workers)
        missing = bool(tables["missing"].nonzero().any())
        tables |= sum_products(X, batch, workers, pooled=self.pooled, missing=missing)
        return ProductStatistics(tables, self.pooled)

    def empty(self, n_classes: int, n_features: int) -> ProductStatistics:
        """Return the statistics of no rows."""
        statistics = ProductStatistics({}, self.pooled)
        shapes = statistics.shapes(n_classes, n_features)
        statistics.tables = {name: ExactArray.zeros(shape) for name, shape in shapes.items()}
        return statistics


def diagonal(d: int) -> Int64:
    """Return the cells of the squares of features."""
    i = np.arange(d)
    return i * d - i * (i - 1) // 2


def pair_cells(i: Int64, j: Int64, d: int) -> Int64:
    """Return the cells of pairs of features, in either order."""
    low, high = np.minimum(i, j), np.maximum(i, j)
    return low * d - low * (low - 1) // 2 + high - low


def summed_classes(table: ExactArray) -> ExactArray:
    """Return the sum over the classes, as of one class."""
    return table.summed(0).repeated(1, axis=0)
