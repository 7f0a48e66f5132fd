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
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from naively.core.exact import Int64
from naively.core.markup import counted
from naively.core.workers import workers
from naively.evaluation.folds import Learnable, k_fold
from naively.evaluation.metrics import Scores
from naively.evaluation.out_of_fold import scores
from naively.model.model import Model
from naively.model.multilabel import LabelsPosterior
from naively.model.prior import Prior
from naively.statistics.levels import Encoded
from naively.statistics.sample import SampleStatistics, keys_of
from naively.tables.encoding import encode

FOLDS = 10
"""Number of folds; fewer if there are fewer rows."""
SMALL = 20_000
"""Up to so many values of a table, and"""
SHORT = 100_000
"""so many characters of text, a model with weights is trained again for each fold."""
HONEST = "--holdout, or out_of_fold(X, y) in Python, avoids this"
"""What repeats the selection without the test rows."""


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
    """Recognise the training rows of a model that stores them.

    Parameters
    ----------
    model : a model of a table.

    Attributes
    ----------
    recognisable : whether training rows can be recognised: the model stores all its rows, and
        most are distinct, so that other rows are rarely equal to them.
    """

    def __init__(self, model: Model) -> None:
        self.schema, self.classes = model.schema, model.classes
        statistics = model.statistics
        self.recognisable = (
            isinstance(statistics, SampleStatistics)
            and statistics.is_complete
            and 2 * len(statistics.rows.keys) > model.rows
        )
        if self.recognisable:
            self._statistics: Any = statistics
            self._counts = statistics.tables["count"].rounded()

    def includes(self, table: pa.Table, codes: Int64) -> bool:
        """Return whether all rows, of these classes (-1 if unknown), are training rows."""
        rows, _ = encode(self.schema, table)
        keys, stored = keys_of(rows.codes, rows.levels), self._statistics.rows.keys
        positions = np.minimum(np.searchsorted(stored, keys), max(len(stored) - 1, 0))
        is_training = (
            (codes >= 0) & (stored[positions] == keys) & (self._counts[codes, positions] > 0)
        )
        return bool(is_training.all())


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
        calibration=out_of_fold.calibration, folds=None if text else FOLDS, caveat=_caveat(model),
        method="leave-one-out cross-validation" if text else "cross-validation",
    )  # fmt: skip


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
