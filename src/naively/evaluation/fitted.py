"""Cross-validate a fitted model: all that is needed is in it.

`AutoBayes` stores its training rows, so small tables are cross-validated by training again without
each fold; for larger ones, and for text, the out-of-fold predictions that chose the weights are
scored. The result is a function of the model alone: `naively fit`, ``inspect``, ``report`` and
`summary()` show the same figures, and after an update or `forget` those of the changed model.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from naively.core.exact import Int64
from naively.core.hashing import UInt64, mixed
from naively.core.markup import counted
from naively.core.workers import workers
from naively.evaluation.calibration import Reliability
from naively.evaluation.folds import Learnable, k_fold
from naively.evaluation.metrics import Scores
from naively.evaluation.out_of_fold import scores
from naively.model.model import Model
from naively.model.multilabel import LabelsPosterior
from naively.model.prior import Prior
from naively.pooling.entries import OutOfFoldPredictions
from naively.statistics.levels import Encoded, Levels
from naively.statistics.rows import hashed
from naively.statistics.sample import SampleStatistics
from naively.tables.encoding import encode

FOLDS = 10  # number of folds; fewer if there are fewer rows
SMALL = 20_000  # up to so many values of a table, and
SHORT = 100_000  # so many characters of text, a model with weights is trained again for each fold
BEYOND = 3.0
"""Standard deviations above the expected number of equal rows, by which rows are recognised."""
RARE = 0.5
"""Share of new rows that are equal to a training row, below which training rows are recognised."""
HONEST = "--holdout, or out_of_fold(X, y) in Python, avoids this"
"""What avoids optimistic scores: the selection is repeated without the test rows."""


def cross_validation(model: Model, ranked: Sequence[int] = ()) -> Scores | None:
    """Return the cross-validation scores of a fitted model; None if it cannot compute them.

    Rows are ranked by the classes `ranked` if models are trained again.

    Raises ValueError if the model of a fold cannot be estimated.
    """
    if (rows := stored_rows(model)) is not None:
        return refitted(rows, ranked=ranked)
    return _out_of_fold(model)


def stored_rows(model: Model) -> Learnable | None:
    """Return the training rows of a small model that stores all of them; None for other models.

    A distinct row of weight w is repeated as w rows would be, the last one with the fraction,
    because rows that recur by nature may be in different folds; see
    `naively.evaluation.folds.assign_folds`. Rows that would become too many are not repeated.
    """
    statistics = model.statistics
    if not isinstance(statistics, SampleStatistics) or not statistics.is_complete:
        return None
    if model.rows * model.n_features > SMALL or _characters(statistics) > SHORT:
        return None
    counts = statistics.tables["count"].rounded()
    codes, positions = np.nonzero(counts)
    weights = counts[codes, positions]
    times = np.maximum(np.floor(weights), 1.0)
    if times.sum() * model.n_features <= SMALL:
        last = np.cumsum(times).astype(np.int64) - 1
        codes, positions = (array.repeat(times.astype(np.int64)) for array in (codes, positions))
        fractions, weights = weights - times, np.ones(len(codes))
        weights[last] += fractions
    X = Encoded(statistics.codes[positions], statistics.levels)
    row_weights = None if (weights == 1.0).all() else weights
    return Learnable(model.blank(model.schema), X, model.classes[codes], row_weights)


class TrainingRows:
    """Look up rows among the training rows of a model that stores them.

    `has_rows`: whether the model stores all its rows. `rows, equal`: how many rows were looked up,
    and how many are equal to training rows.
    """

    def __init__(self, model: Model) -> None:
        self.schema, self.classes = model.schema, model.classes
        statistics: Any = model.statistics
        self.has_rows = isinstance(statistics, SampleStatistics) and statistics.is_complete
        self.has_rows = self.has_rows and len(statistics.codes) > 0
        self.rows = self.equal = 0
        if self.has_rows:
            keys = _keys(statistics.codes, statistics.levels)
            order = np.argsort(keys, kind="stable")
            self._keys, self._counts = keys[order], statistics.tables["count"].rounded()[:, order]

    def count(self, table: pa.Table, codes: Int64) -> int:
        """Return how many rows, of these classes (-1 if unknown), are equal to training rows."""
        rows, _ = encode(self.schema, table)
        keys = _keys(rows.codes, rows.levels)
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        is_training = (codes >= 0) & (self._keys[at] == keys) & (self._counts[codes, at] > 0)
        return int(is_training.sum())

    @property
    def recognised(self) -> bool:
        """Whether more rows are equal to training rows than new rows would be by chance.

        A new row is equal to one with a probability of about 1 - n₁ / n, with variance
        (n₁ + 2 n₂) / n², where n₁ of n training rows have no duplicate, and 2 n₂ have one
        (Good 1953).
        """
        share, variance = self._share_by_chance
        deviation = math.sqrt(self.rows * share * (1.0 - share) + self.rows**2 * variance)
        return self.equal > self.rows * share + BEYOND * deviation

    @property
    def recognisable(self) -> bool:
        """Whether new rows are rarely equal to training rows, which the model stores."""
        return self.has_rows and self._share_by_chance[0] < RARE

    @cached_property
    def _share_by_chance(self) -> tuple[float, float]:
        """The share of new rows that are equal to a training row, and its variance."""
        if not self.has_rows:
            return 1.0, 0.0
        counts = self._counts[self._counts > 0]
        times = np.rint(counts / counts.min())  # all rows may have the same weight
        once, twice, n = (times == 1).sum(), (times == 2).sum(), times.sum()
        return 1.0 - float(once / n), float((once + 2 * twice) / n**2)


def _keys(codes: npt.NDArray[Any], levels: Sequence[Levels]) -> UInt64:
    """Return a hash of each row, (n,), by its values in the order of the columns."""
    keys = np.zeros(len(codes), np.uint64)
    for column, categories in zip(codes.T, levels, strict=True):
        keys = mixed(keys + np.append(hashed(categories), np.uint64(0))[column])
    return keys


def refitted(
    rows: Learnable, whole: Model | None = None, ranked: Sequence[int] = ()
) -> Scores | None:
    """Return the scores of models that are trained without each fold; None for a single class.

    Rows are split by `rows.split`, if there is one, and ranked by the classes `ranked`.

    A fold is a tenth of the training rows. So there are fewer folds if `rows` are a sample of the
    training rows of `whole`, and one for a tenth of them or less.
    """
    n = len(rows.labels)
    if len(np.unique(rows.labels)) < 2:
        return None
    share = 1.0 if whole is None else n / max(1, whole.rows)
    folds, tests = k_fold(rows, min(math.ceil(FOLDS * min(share, 1.0)), n), workers(None), whole)
    result = scores(folds, tests, [rows.reading], ranked)[0]
    if rows.split is None:
        return replace(result, folds=min(FOLDS, n))
    caveat = ""
    if unused := rows.split.unused:
        caveat = f"{counted(unused, 'row')} without a value of {rows.split.name} left out"
    return replace(result, folds=len(tests), method=rows.split.method, caveat=caveat)


def _characters(statistics: SampleStatistics) -> int:
    """Return the total length of all categories, in characters."""
    texts = (levels for levels in statistics.levels if levels.dtype.kind == "T")
    return sum(int(np.strings.str_len(levels).sum()) for levels in texts)


# ---- without training again ----------------------------------------------------------------------


def _out_of_fold(model: Model) -> Scores | None:
    """Return the scores of the predictions that chose the weights; None if there are none."""
    posterior: Any = model.posterior()
    out_of_fold = posterior.parameters.out_of_fold
    # rows were predicted with the empirical prior
    if out_of_fold is None or model.prior != Prior():
        return None
    text = model.schema.family.summary.of_texts
    if isinstance(posterior, LabelsPosterior):
        prior = posterior.class_prior
        shares = np.concatenate([prior, 1.0 - prior])
        return Scores(
            rows=model.weight, unknown=0, accuracy=math.nan, log_loss=out_of_fold.log_loss,
            baseline_log_loss=_entropy(shares), brier=math.nan, baseline_accuracy=math.nan,
            calibration=None,
        )  # fmt: skip
    if not out_of_fold.rows:
        return None
    weight = model.class_weight.rounded()
    share = weight / weight.sum()
    return Scores(
        rows=out_of_fold.rows, unknown=0, accuracy=out_of_fold.accuracy,
        log_loss=out_of_fold.log_loss, baseline_log_loss=_entropy(share), brier=math.nan,
        baseline_accuracy=float(share.max()),
        calibration=_calibration(out_of_fold), folds=None if text else FOLDS,
        caveat=_caveat(model),
        method="leave-one-out cross-validation" if text else "cross-validation",
    )  # fmt: skip


def _calibration(predictions: OutOfFoldPredictions) -> Reliability:
    """Return the reliability of the most probable class."""
    confidence = np.minimum(predictions.confidence.astype(np.float64), 1.0)
    return Reliability.of(confidence, predictions.correct, predictions.weight.astype(np.float64))


def _caveat(model: Model) -> str:
    """Return what was selected on all rows although evidence and weights are out of fold."""
    if model.schema.family.summary.of_texts:
        return f"these scores are slightly optimistic: smoothing was selected on all rows; {HONEST}"
    if model.rows < model.n_features:
        why = "there are fewer rows than features to select from"
        return f"these scores are optimistic: {why}; {HONEST}"
    return f"these scores are slightly optimistic: interactions were selected on all rows; {HONEST}"


def _entropy(share: npt.NDArray[Any]) -> float:
    """Return the entropy of a distribution, in nats."""
    positive = share[share > 0]
    return float(-(positive * np.log(positive)).sum()) + 0.0
