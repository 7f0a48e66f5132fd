"""A plan as arrays that files keep, and back: checked, for a file may say anything."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import count, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from naively.evidence.bins import PAIRS, TRIPLES, Column, fine_bins
from naively.evidence.calendars import PARTS, Calendar
from naively.evidence.incomplete import EDGES, Incomplete
from naively.evidence.judged import Judged
from naively.evidence.normal import Normal, Scale
from naively.evidence.plan import Block, Cells, Plan
from naively.evidence.words import Words, read_words, stored_words
from naively.exact import Float64
from naively.statistics.base import Arrays
from naively.statistics.levels import mixed_arrays, read_mixed

NORMAL = 255
"""In place of a way to cut: a block of normal densities."""
CALENDAR = 200
"""In place of a way to cut: of the first part of dates; the others follow."""
TEXT = 254
"""In place of a way to cut: words of a text."""
LARGEST = 1e50
"""No number that is estimated is larger; sums of products of such numbers are finite."""
BINS = 1 << 16
"""Bins of a column, at most."""

Shape = tuple[int | None, ...]


def arrays_of(plan: Plan) -> Arrays:
    """A plan as arrays.

    ``is_text``, ``level_counts``, ``numbers``, ``text``, ``text_lengths`` : the levels of each
    column, as `naively.statistics.levels.mixed_arrays` has them.
    ``coarser`` : (3, bins of all columns) the bin of each fine bin, for the other ways to cut.
    ``ways``, ``widths`` : (K,) how the columns of each block are cut, and how many these are.
    ``columns`` : those of all blocks.
    ``tables`` : (cells of all tables, C).
    ``normal.0.centre`` and so on : of each block of normal densities.
    ``words.0.terms`` and so on : of each block of words, as `stored_words` has them.
    ``weights``, ``bias`` : (K,) and (C,).
    ``dated`` : (d,) whether the numbers of each column are dates.
    ``log_loss``, ``sure``, ``right``, ``weight`` : (1,) and (n,), what `Judged` has.
    ``incomplete.weights``, ``incomplete.factors``, ``incomplete.usual``, ``incomplete.most``,
    ``incomplete.together``, ``incomplete.columns`` : (K,), (L,), (d,), (1,), (P, 2) and (k,), what
    `Incomplete` has, if there is one.
    """
    tables = [block.table for block in plan.blocks if isinstance(block, Cells | Calendar)]
    coarser = [np.array(column.coarser[1:]) for column in plan.columns]
    found = {
        **mixed_arrays([column.levels for column in plan.columns]),
        "coarser": np.concatenate(coarser, axis=1).astype(np.uint16),
        "ways": np.array([*map(_way, plan.blocks)], np.uint8),
        "widths": np.array([len(block.columns) for block in plan.blocks], np.int64),
        "columns": np.array([j for block in plan.blocks for j in block.columns], np.int64),
        "tables": np.concatenate([np.empty((0, len(plan.bias))), *tables]),
        "weights": plan.weights,
        "bias": plan.bias,
        "dated": np.array([column.dated for column in plan.columns], np.uint8),
        "log_loss": np.array([plan.judged.log_loss]),
        "sure": plan.judged.sure.astype(np.float32),
        "right": plan.judged.right.astype(np.uint8),
        "weight": plan.judged.weight.astype(np.float32),
    }
    densities = (block for block in plan.blocks if isinstance(block, Normal))
    for k, block in enumerate(densities):
        found |= {
            f"normal.{k}.centre": block.scale.centre,
            f"normal.{k}.spread": block.scale.spread,
            f"normal.{k}.means": block.means,
            f"normal.{k}.factors": block.factors,
        }
    texts = (block for block in plan.blocks if isinstance(block, Words))
    for k, words in enumerate(texts):
        found |= {f"words.{k}.{name}": one for name, one in stored_words(words).items()}
    if (incomplete := plan.incomplete) is not None:
        found |= {
            "incomplete.weights": incomplete.weights,
            "incomplete.factors": incomplete.factors,
            "incomplete.usual": incomplete.usual.astype(np.uint8),
            "incomplete.most": np.array([incomplete.most], np.int64),
            "incomplete.together": incomplete.together,
            "incomplete.columns": incomplete.columns,
        }
    return found


def plan_of(kept: Arrays, n_columns: int, n_classes: int) -> Plan:
    """The plan that `arrays_of` made arrays of.

    Raises
    ------
    ValueError : if it can be no plan of so many columns and classes, saying why.
    """
    columns = list(_columns(kept, n_columns))
    blocks: list[Block] = [*_blocks(kept, columns, n_classes)]
    weights = _numbers(kept, "weights", (len(blocks),))
    bias = _numbers(kept, "bias", (n_classes,))
    return Plan(columns, blocks, weights, bias, _judged(kept), _incomplete(kept, blocks, n_columns))


def _incomplete(kept: Arrays, blocks: list[Block], n_columns: int) -> Incomplete | None:
    """How incomplete rows are scored."""
    if "incomplete.weights" not in kept:
        return None
    weights = _numbers(kept, "incomplete.weights", (len(blocks),))
    factors = _numbers(kept, "incomplete.factors", (len(EDGES) + 1,))
    usual = _array(kept, "incomplete.usual", np.uint8, (n_columns,))
    most = int(_array(kept, "incomplete.most", np.int64, (1,))[0])
    columns = _array(kept, "incomplete.columns", np.int64, (None,))
    together = _array(kept, "incomplete.together", np.int64, (None, 2))
    known = np.append(columns, together)
    known = (known >= 0) & (known < n_columns)
    if not known.all() or (np.diff(columns) <= 0).any() or not 0 <= most <= n_columns:
        raise ValueError("incomplete rows are scored by columns that are not there")
    if (weights < 0).any() or (factors < 0).any() or (usual > 1).any():
        raise ValueError("weights of incomplete rows are negative")
    several = [
        isinstance(block, Cells) and len(block.columns) > 1 and weight > 0
        for block, weight in zip(blocks, weights, strict=True)
    ]
    if any(several):
        raise ValueError("several columns together are no evidence of incomplete rows")
    return Incomplete(weights, factors, usual.astype(bool), most, together, columns)


def _judged(kept: Arrays) -> Judged:
    """How left-out rows were predicted."""
    log_loss = float(_numbers(kept, "log_loss", (1,))[0])
    sure = _array(kept, "sure", np.float32, (None,))
    right = _array(kept, "right", np.uint8, sure.shape)
    weight = _array(kept, "weight", np.float32, sure.shape)
    if not ((sure >= 0) & (sure <= 1.001)).all():  # float32 may round sums of exponentials up
        raise ValueError("a probability in 'sure' is none")
    if (right > 1).any() or not ((weight > 0) & np.isfinite(weight)).all():
        raise ValueError("what rows weigh, or whether they were predicted right, cannot be true")
    return Judged(log_loss, sure, right.astype(bool), weight)


def _columns(kept: Arrays, n_columns: int) -> Iterator[Column]:
    """The bins of each column."""
    levels = read_mixed(kept, n_columns)
    sizes = [fine_bins(own) for own in levels]
    if max(sizes) > BINS:
        raise ValueError(f"a column has {max(sizes):,} bins, where {BINS:,} are the most")
    coarser = _array(kept, "coarser", np.uint16, (len(PAIRS + TRIPLES), sum(sizes))).astype(
        np.int64
    )
    dated = _array(kept, "dated", np.uint8, (n_columns,))
    if (dated > 1).any() or any(
        own.dtype.kind == "T" for own, at in zip(levels, dated, strict=True) if at
    ):
        raise ValueError("dates in it are no numbers")
    pieces = np.split(coarser, np.cumsum(sizes)[:-1], axis=1)
    for k, (own, ways) in enumerate(zip(levels, pieces, strict=True)):
        if (ways[:, :-1] >= ways[:, -1:]).any():  # the last is the missing value's own
            raise ValueError(f"a bin of column {k} is none that it has")
        yield Column(own, (np.arange(ways.shape[1]), *ways), bool(dated[k]))


def _way(block: Block) -> int:
    """How columns are cut, or what is said in its place."""
    if isinstance(block, Calendar):
        return CALENDAR + block.part
    if isinstance(block, Words):
        return TEXT
    return block.way if isinstance(block, Cells) else NORMAL


def _blocks(kept: Arrays, columns: list[Column], n_classes: int) -> Iterator[Block]:
    """The blocks of evidence."""
    ways = _array(kept, "ways", np.uint8, (None,))
    widths = _array(kept, "widths", np.int64, ways.shape)
    flat = _array(kept, "columns", np.int64, (None,))
    tables = _numbers(kept, "tables", (None, n_classes))
    if (widths < 1).any() or (widths > len(flat)).any() or widths.sum() != len(flat):
        raise ValueError("the columns do not belong to the blocks")
    if (flat < 0).any() or (flat >= len(columns)).any():
        raise ValueError("a block is of a column that is not there")
    at, number, text = 0, count(), count()
    for way, width, end in zip(ways.tolist(), widths, np.cumsum(widths), strict=True):
        block = tuple(flat[end - width : end].tolist())
        if any(a >= b for a, b in pairwise(block)):
            raise ValueError("the columns of a block are out of order")
        if way == NORMAL:
            yield _normal(kept, f"normal.{next(number)}.", block, columns, n_classes)
            continue
        if way == TEXT:
            if width > 1 or columns[block[0]].is_number:
                raise ValueError("words are of a column that holds no text")
            head = f"words.{next(text)}."
            own = {key.removeprefix(head): kept[key] for key in kept if key.startswith(head)}
            yield read_words(own, block[0], n_classes)
            continue
        part = way - CALENDAR
        is_dates = 0 <= part < len(PARTS)
        if way > max(TRIPLES) and not is_dates:
            raise ValueError(f"columns are cut in an unknown way, {way}")
        if is_dates and (width > 1 or not columns[block[0]].dated):
            raise ValueError(f"{PARTS[part][0]} are of a column that holds no dates")
        if is_dates:
            cells = len(PARTS[part][1]) + 1
        else:
            cells = math.prod(columns[j].size(way) for j in block)
        if at + cells > len(tables):
            raise ValueError("'tables' has fewer cells than the columns of the blocks")
        table = tables[at : at + cells]
        yield Calendar(block[0], part, table) if is_dates else Cells(block, way, table)
        at += cells
    if at < len(tables):
        raise ValueError("'tables' has more cells than the columns of the blocks")


def _normal(
    kept: Arrays, name: str, block: tuple[int, ...], columns: list[Column], n_classes: int
) -> Normal:
    """Normal densities of some columns."""
    k = len(block)
    centre = _array(kept, name + "centre", np.float64, (k,))
    spread = _array(kept, name + "spread", np.float64, (k,))
    means = _numbers(kept, name + "means", (n_classes, k))
    factors = _numbers(kept, name + "factors", (None, k, k))
    if not all(columns[j].is_number for j in block):
        raise ValueError("normal densities are of a column that holds no numbers")
    if np.isnan(centre).any() or (spread < 0).any():
        raise ValueError("numbers cannot be standardised by a mean or deviation in it")
    if len(factors) not in (1, n_classes):
        raise ValueError(f"it has {len(factors)} covariances of {n_classes} classes")
    if np.triu(factors, 1).any() or (np.diagonal(factors, axis1=1, axis2=2) <= 0).any():
        raise ValueError("a covariance has no such Cholesky factor")
    found = Normal(Scale(np.array(block), centre, spread), means, factors)
    with np.errstate(all="ignore"):
        if not (np.abs(found.whitening) <= LARGEST).all():
            raise ValueError("a covariance is singular")
    return found


# ---- arrays --------------------------------------------------------------------------------------


def _array(kept: Arrays, name: str, kind: Any, shape: Shape) -> npt.NDArray[Any]:
    """An array of this type and shape, None being any size."""
    found = kept.get(name)
    if found is None:
        raise ValueError(f"it has no {name!r}")
    fits = found.ndim == len(shape) and all(map(_fits, found.shape, shape))
    if found.dtype != kind or not fits:
        raise ValueError(f"{name!r} cannot be {found.dtype} of shape {found.shape}")
    return np.array(found, order="C")  # kernels take no others


def _fits(size: int, wanted: int | None) -> bool:
    return wanted is None or size == wanted


def _numbers(kept: Arrays, name: str, shape: Shape) -> Float64:
    """Such an array, of numbers that can be estimated."""
    found = _array(kept, name, np.float64, shape)
    if not (np.abs(found) <= LARGEST).all():
        raise ValueError(f"a number of {name!r} is no number, or too large")
    return found
