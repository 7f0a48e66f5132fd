"""What is known of a column of learned rows and of new ones, whatever counted it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from naively.exact import ExactArray, Float64, Int64
from naively.schema import Counted
from naively.statistics.base import Batch
from naively.statistics.levels import Levels
from naively.text.vocabulary import Vocabulary
from naively.workers import Workers


@dataclass(frozen=True)
class Cells:
    """A column of which it is known how many rows have each value.

    Attributes
    ----------
    name : of the column.
    levels : (k,) the values, or the lower ends of their cells.
    order : (k,) them as numbers, NaN of what is none; None if they are levels.
    counts : (C + 1, k) rows of each class, and of the new ones.
    missing : (C + 1,) rows without a value.
    codes : (m,) the value of each new row, -1 if it is missing.
    others : (2,) learned and new rows with a level that was too rare to be counted by itself: those
        that were, at most; None if there are none.
    """

    name: str
    levels: Levels
    order: Float64 | None
    counts: Float64
    missing: Float64
    codes: Int64
    others: Float64 | None = None


@dataclass(frozen=True)
class Sums:
    """A column of which the means are known.

    Attributes
    ----------
    name : of the column.
    weight, means : (C,) learned rows of each class that have a value, and the mean of these.
    present : (C,) which part of the rows of each class these are.
    mean, variance : of all learned rows; the variance is NaN if it is not known.
    missing : (2,) learned and new rows without a value.
    values : (m,) of the new rows, NaN if missing.
    of_logs : whether all this is of the logarithms of values.
    """

    name: str
    weight: Float64
    means: Float64
    present: Float64
    mean: float
    variance: float
    missing: Float64
    values: Float64
    of_logs: bool


@dataclass(frozen=True)
class Terms:
    """A column of texts.

    Attributes
    ----------
    name : of the column.
    vocabulary : the terms that were learned, then those that are new; None if they are hashed.
    learned : (V,) learned documents that have each, or a bound that may be too high.
    new : (V,) new documents that have each.
    exact : whether ``learned`` is no bound.
    documents : (2,) learned and new documents.
    missing : (2,) rows without a text.
    told : (m, C) what each new text tells for each class, in nats; None if that is not known.
    means : (C, C) the same of each learned class (first), on average.
    """

    name: str
    vocabulary: Vocabulary | None
    learned: Float64
    new: Float64
    exact: bool
    documents: Float64
    missing: Float64
    told: Float64 | None = None
    means: Float64 | None = None

    def term(self, k: int) -> str:
        """A term as people know it."""
        return f"bucket {k}" if self.vocabulary is None else self.vocabulary.term(k)


def corrected(means: Float64, free: Float64, rows: Float64) -> Float64:
    """Means of what a column tells for each class, (C, C), as they are of rows not learned.

    They are of rows that also say what a value tells: so those of the class itself are too large by
    about one for each parameter and row, and those of all classes together are right.

    Parameters
    ----------
    free : (C,) parameters of each class.
    rows : (C,) of each class.
    """
    inverse = np.divide(1.0, rows, where=rows > 0, out=np.zeros_like(rows))
    return means - free * (np.diag(inverse) - 1.0 / rows.sum())


Marginal = Cells | Sums | Terms


@dataclass(frozen=True)
class Both:
    """Some columns of learned and of new rows.

    Attributes
    ----------
    part : Counted, the columns.
    learned : Statistics
    class_weight : ExactArray (C,), rows of each class.
    rows : the new rows, as the summary takes them.
    workers : Workers
    text : names of columns that were named as text.
    """

    part: Counted
    learned: Any
    class_weight: ExactArray
    rows: Any
    workers: Workers
    text: tuple[str | int, ...] = ()

    @cached_property
    def sums(self) -> Any:
        """The statistics of both, the new rows being the last class."""
        size, n = self.class_weight.shape[0], self.rows.shape[0]
        found = self.learned.copy().scatter_classes(np.arange(size), size + 1)
        batch = Batch(np.zeros(n, np.int64), 1)
        new = self.part.summary.summarise(self.rows, batch, self.workers)
        found.accumulate(new, np.array([size]))
        return found

    @property
    def missing(self) -> Float64:
        """(C + 1, d) rows without a value, of these statistics."""
        return np.asarray(self.sums.tables["missing"].rounded())
