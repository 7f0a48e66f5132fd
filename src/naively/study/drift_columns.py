"""How a column of new rows differs: what there is to say, and in which words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from naively.exact import Float64
from naively.statistics.row_encoding import number_text
from naively.study import two_samples as test

Kind = Literal["levels", "numbers", "words"]


@dataclass(frozen=True)
class WordDrift:
    """A word that more or fewer documents have.

    Attributes
    ----------
    word : str
    learned, new : part of the learned and of the new documents that have it.
    at_most : whether ``learned`` is a bound: how often the word was met is known, but not where.
    p_value : by Holm's method, for all words of the column.
    """

    word: str
    learned: float
    new: float
    at_most: bool
    p_value: float


@dataclass(frozen=True)
class ColumnDrift:
    """How a column differs.

    Attributes
    ----------
    name : str
    kind : "levels", "numbers" or "words": what it was compared as.
    change : what changed most, in words.
    moved : part of the rows that would have to have another value for both to look alike (total
        variation), from 0 to 1; of numbers of which only means and variances are known that of
        normal distributions; of texts the largest difference of the parts that have a word.
    by_chance : about what it is if nothing changed; NaN of texts.
    p_value : of all that was tested of the column, each times the number of tests; NaN if nothing
        could be.
    adjusted : by Holm's method, for all columns.
    tests : dict of p-values: "cells", "ranks", "mean", "spread", "far", "words",
        "missing"; see `naively.study.two_samples`.
    missing : part of the learned and of the new rows that have no value.
    unseen : dict of the most frequent new levels that were never learned, and their rows.
    words : list of WordDrift, those first that changed most.
    """

    name: str
    kind: Kind
    change: str
    moved: float
    by_chance: float
    p_value: float
    adjusted: float
    tests: dict[str, float]
    missing: tuple[float, float]
    unseen: dict[str, int]
    words: list[WordDrift]


@dataclass(frozen=True)
class Compared:
    """A column that was compared, and what its new values are like, row by row.

    Attributes
    ----------
    drift : ColumnDrift
    surprise : (m,) by how many nats the value of each new row is less probable than those of
        learned rows on average, 0 if missing; None if that is not known.
    excess : what it is on average if nothing changed, as the probabilities are estimated.
    told : (m, C) what each new value tells for each class, in nats; None if that is not known.
    means : (C, C) the same of each learned class (first), on average.
    by_class, new : (C, k) and (k,), shares of cells, or a mean in standard deviations, of each
        learned class and of the new rows: what other shares of the classes may explain.
    odd : (m,) how rare the value of each new row is, in nats beyond the mean of learned ones, 0 if
        missing: finer than `surprise`, which is known of all learned rows; None if not known.
    """

    drift: ColumnDrift
    surprise: Float64 | None = None
    excess: float = 0.0
    told: Float64 | None = None
    means: Float64 | None = None
    by_class: Float64 | None = None
    new: Float64 | None = None
    odd: Float64 | None = None


def percent(share: float) -> str:
    """A share as people read it."""
    if 0 < share < 0.0005 or 0.9995 < share < 1:
        return "<0.1%" if share < 0.5 else ">99.9%"
    return f"{share:.1%}" if share < 0.0995 or 0.9 < share < 1 else f"{share:.0%}"


def change(before: float, after: float) -> str:
    """Two shares, with one more digit if they are alike without it."""
    said = percent(before), percent(after)
    if said[0] == said[1] and before != after and not said[0].startswith(("<", ">")):
        digits = len(said[0].partition(".")[2]) or 1
        said = f"{before:.{digits}%}", f"{after:.{digits}%}"
    return f"{said[0]} → {said[1]}"


def made(
    name: str, kind: Kind, said: dict[str, str], tests: dict[str, float], moved: float,
    by_chance: float, missing: Float64, rows: Float64, unseen: dict[str, int] | None = None,
    words: list[WordDrift] | None = None,
) -> ColumnDrift:  # fmt: skip
    """What changed, given what can be said for each test.

    Parameters
    ----------
    missing, rows : (2,) learned and new rows, without a value and with one.
    """
    gone = np.divide(missing, missing + rows, where=missing + rows > 0, out=np.zeros(2))
    tests = tests | {"missing": test.of_cells(*np.array([rows, missing]).T)}  # NaN if none is
    said = said | {"missing": f"missing {change(*gone.tolist())}"}
    if not rows.all():
        moved, by_chance = abs(gone[1] - gone[0]), math.nan
    least = min(said, key=lambda one: (math.isnan(tests[one]), tests[one]))
    if not rows.all():
        least = "missing"
        if not missing[rows == 0].all():
            said["missing"] = "no row to compare"
    elif math.isnan(tests[least]) or tests[least] == 1.0:
        least = next(iter(said))
    return ColumnDrift(
        name, kind, said[least], float(np.fmax(moved, abs(gone[1] - gone[0]))), by_chance,
        test.bonferroni([*tests.values()]), math.nan, tests, (float(gone[0]), float(gone[1])),
        unseen or {}, words or [],
    )  # fmt: skip


def level_text(level: object) -> str:
    """A level, or a number with four digits that matter."""
    if isinstance(level, float | np.floating):
        return number(float(level))
    return str(level)


def number(value: float) -> str:
    """Four digits that matter; whole numbers below a million with all of theirs."""
    if value.is_integer() and abs(value) < 1e6:
        return number_text(value)
    return f"{value:.4g}"
