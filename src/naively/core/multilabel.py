"""One model of rows that have any number of labels, and what it answers.

For each label it needs the sums of the rows that have it; those of the others are the sums of all
rows less these, exactly. So class 0 of what is counted is all rows, and a row is counted once in
it, and once in each of its labels.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy

from naively.core.exact import ExactArray, Float64, Int64
from naively.core.labels import Labels, LabelSets
from naively.core.model import Model
from naively.core.posterior import Posterior
from naively.core.prior import Prior
from naively.core.schema import Schema
from naively.core.workers import SERIAL, Workers
from naively.families.text.labelled import LabelledParameters
from naively.rendering import Count
from naively.statistics.base import FORGOTTEN, Arrays, Batch, Data, Statistics, two_classes
from naively.statistics.powers import class_weights

ALL_TEXT = ""
"""The class of all rows where labels are text, which are not empty: it sorts before them,"""
ALL_NUMBERS = np.iinfo(np.int64).min
"""and where they are whole numbers."""


def all_rows(labels: Labels) -> Labels:
    """The class of all rows, for such labels, alone."""
    return np.array([ALL_NUMBERS]) if labels.dtype.kind in "iu" else np.array([ALL_TEXT])


def check_labels(classes: Labels) -> None:
    """Raise ValueError unless these are the class of all rows, and labels."""
    text = all(isinstance(one, str) for one in classes.tolist())
    if not (text or classes.dtype == np.int64):
        raise ValueError("its labels are neither text nor whole numbers")
    if len(classes) and classes.tolist()[0] != all_rows(classes).tolist()[0]:
        raise ValueError("there is no count of all rows")


class Multilabel(Model):
    """A model of rows that have any number of labels: see `Model`.

    Its classes are that of all rows and the labels, sorted. Labels are text, or whole numbers above
    the least that there is. A row without labels is one that has none of them.
    """

    # ---- the algebra -------------------------------------------------------------------------

    @property
    def labels(self) -> Labels:
        """(L,) the labels met so far, sorted."""
        return self.classes[1:]

    def summarise(
        self, X: Data, y: LabelSets, weights: Float64 | None = None,  # type: ignore[override]
        workers: Workers | None = None,
    ) -> Multilabel:  # fmt: skip
        """A model of the same kind that learned these rows alone. Rows of weight 0 are absent."""
        if weights is not None and not weights.all():
            kept = np.flatnonzero(weights)
            X, y, weights = X[kept], y.some(kept), weights[kept]
        met, codes = np.unique(y.codes, return_inverse=True)
        sizes = np.diff(y.starts) + 1
        starts = np.append(0, np.cumsum(sizes))
        own = np.zeros(starts[-1], np.int64)
        labelled = np.ones(len(own), bool)
        labelled[starts[:-1]] = False
        own[labelled] = 1 + codes
        classes = np.concatenate([all_rows(y.labels), y.labels[met]])
        each = np.empty(0) if weights is None else np.repeat(weights, sizes)
        batch = Batch(own, len(classes), each, starts)
        statistics = self.schema.summary.summarise(X, batch, workers or SERIAL)
        return Multilabel(
            self.schema, self.prior, classes, class_weights(batch), statistics, rows=len(y),
            target=self.target, untyped=self.untyped,
        )  # fmt: skip

    def absorb(
        self, other: Model, schema: Schema | None = None, prior: Prior | None = None
    ) -> None:
        """As `Model`; where one knows no labels, they are those of the other."""
        with self.lock:
            other = _named_as(other, self.classes)
            if len(self.classes) == 1 and len(other.classes) > 1:
                self.classes, self.declared = (
                    all_rows(other.classes) if len(one) else one
                    for one in (self.classes, self.declared)
                )
            super().absorb(other, schema, prior)

    def forget(self, other: Model) -> None:
        """As `Model`."""
        with self.lock:
            super().forget(_named_as(other, self.classes))
            if len(self.classes) == 1 and not len(self.declared):
                self.classes = np.array([ALL_TEXT])  # nothing says what labels are

    def declare_classes(self, labels: Labels) -> None:
        """Make room for labels before any row has them; they outlive forgetting."""
        if not len(labels):
            return
        with self.lock:
            if len(self.classes) == 1:
                self.classes = all_rows(labels)
            super().declare_classes(np.concatenate([all_rows(labels), labels]))

    def impossible(self) -> str | None:
        """Why no rows can have what was counted: of each label, and without it."""
        weight = self.class_weight
        if len(self.classes) == 0:
            return None
        if problem := super().impossible():
            return problem
        for code in range(1, len(self.classes)):
            both = two_classes(weight, code)
            if both.any_negative():
                return FORGOTTEN
            if problem := self.statistics.against(code).impossible(both):
                return problem
        return None

    # ---- the posterior -----------------------------------------------------------------------

    def of_label(self, label: Any) -> Model:
        """The model of two classes: rows without a label, and rows that have it.

        It answers as this one does of the label; what it learned later it would weigh anew.
        """
        posterior: Any = self.posterior()
        two: Posterior = posterior.of(label)
        code = 1 + self.labels.tolist().index(label)
        weight, statistics = two_classes(self.class_weight, code), self.statistics.against(code)
        model = Model(self.schema, self.prior, two.classes, weight, statistics, rows=self.rows)
        model._estimate = two
        return model

    def _estimated(self, workers: Workers, parameters: Any = None) -> LabelsPosterior:
        if parameters is None:
            parameters = self._parameters(workers)
        prior = self._shares()
        with np.errstate(divide="ignore"):
            log_prior = np.log(prior) - np.log1p(-prior)
        return LabelsPosterior(self.schema, self.labels, parameters, prior, log_prior)

    def _parameters(self, workers: Workers) -> Any:
        """As `Model`."""
        if self._structure is not None:
            with suppress(ValueError):
                return self._restored(self._structure.chosen)
            self._structure = None
        return self.family.estimate_labels(self.statistics, self.class_weight, workers)

    def _shares(self) -> Float64:
        """π_l of each label, (L,): (n_l + s) / (n + 2 s) with s virtual rows of each kind."""
        given, virtual = self.prior.given, self.prior.smoothing
        if not isinstance(given, str) or not np.isscalar(virtual):
            raise ValueError(
                "the prior of many labels is empirical or uniform, and its smoothing one number"
            )
        if given == "uniform":
            return np.full(len(self.labels), 0.5)
        weight = self.class_weight.rounded()
        whole = weight[0] + 2 * float(virtual)  # type: ignore[arg-type]
        having = weight[1:] + float(virtual)  # type: ignore[arg-type]
        return np.minimum(having / whole, 1.0) if whole > 0 else np.zeros(len(having))

    def _restored(self, kept: Arrays) -> Any:
        """As `Model`."""
        return self.family.restored_labels(self.statistics, self.class_weight, kept)

    def check(self, workers: Workers | None = None, classes: Labels | None = None) -> None:
        """As `Model`; ValueError if the family cannot tell labels."""
        self.family.check_labels()
        self._shares()
        super().check(workers, classes)

    @property
    def weight(self) -> float:
        """The weight of all rows, which is that of the first class."""
        return float(self.class_weight.rounded()[:1].sum())

    @property
    def whole(self) -> tuple[Statistics, ExactArray]:
        """(sums, weights) over all rows, as of one class."""
        first = np.zeros(min(1, len(self.classes)), np.int64)
        return self.statistics.gather_classes(first), self.class_weight.gather(0, first)


def _named_as(other: Model, classes: Labels) -> Model:
    """A model that met no label, with the class of all rows named as for these."""
    if len(other.classes) != 1 or len(classes) < 2:
        return other
    declared = all_rows(classes) if len(other.declared) else other.declared
    return replace(other, classes=all_rows(classes), declared=declared)


@dataclass(frozen=True, eq=False)
class LabelsPosterior(Posterior):
    """P(l | x) of each label, as it follows from what a model has learned so far.

    Attributes
    ----------
    classes : (L,) labels, sorted.
    class_prior : (L,) π_l, which do not sum to 1.
    log_prior : (L,) log π_l / (1 - π_l).
    """

    parameters: LabelledParameters

    @property
    def n_parameters(self) -> int:
        """One for the prior of each label, plus those of its terms."""
        return Count(len(self.classes) + self.parameters.n_free)

    def log_odds(self, X: Data, workers: Workers | None = None) -> Float64:
        """log P(l | x) / (1 - P(l | x)), (n, L), in nats."""
        return self.joint_log_proba(X, workers)

    def proba(self, X: Data, workers: Workers | None = None) -> Float64:
        """P(l | x), (n, L), each by itself."""
        return np.asarray(scipy.special.expit(self.log_odds(X, workers)))

    def codes_and_proba(self, X: Data, workers: Workers | None = None) -> tuple[Int64, Float64]:
        """(the most probable label of each row, `proba`)."""
        proba = self.proba(X, workers)
        return likeliest_codes(proba, 1)[:, 0], proba

    def label_sets(self, proba: Float64, threshold: float) -> LabelSets:
        """The labels of probability `threshold` or more of each row."""
        return LabelSets.of_indicator(self.classes, proba >= threshold)

    def of(self, label: Any) -> Posterior:
        """The same of one label: of two classes, rows without it and rows that have it."""
        code = self._code(label)
        with np.errstate(divide="ignore"):
            prior = np.array([1 - self.class_prior[code], self.class_prior[code]])
            log_prior = np.log(prior)
        names = np.array([f"not {label}", f"{label}"], object)
        return Posterior(self.schema, names, self.parameters.of_label(code), prior, log_prior)


def likeliest_codes(proba: Float64, most: int) -> Int64:
    """The positions of the `most` most probable labels of each row, (n, k)."""
    return np.argsort(-proba, axis=1, kind="stable")[:, :most]


def likeliest_labels(proba: Float64, labels: Labels, most: int) -> tuple[Any, Float64]:
    """(the `most` most probable labels of each row, their probabilities), (n, k) both."""
    order = likeliest_codes(proba, most)
    return labels[order], np.take_along_axis(proba, order, axis=1)
