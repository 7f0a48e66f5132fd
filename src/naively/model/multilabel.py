"""Model rows with any number of labels, and predict the probability of each label.

Each label needs the sums of the rows that have it; the sums of the other rows are the total minus
these, exactly. Class 0 of the statistics is therefore all rows, and a row is counted once in it and
once in each of its labels.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy

from naively.core.exact import ExactArray, Float64, Int64
from naively.core.labels import Label, Labels, LabelSets
from naively.core.workers import SERIAL, Workers
from naively.families.base import Parameters
from naively.families.text.labelled import LabelledParameters
from naively.model.model import Model
from naively.model.posterior import Posterior
from naively.model.prior import Prior
from naively.model.schema import Schema
from naively.rendering import Count
from naively.statistics.base import FORGOTTEN, Arrays, Batch, Data, Statistics, two_classes
from naively.statistics.powers import class_weights

ALL_TEXT = ""  # the class of all rows if labels are text: empty text is no label, and sorts first
ALL_NUMBERS = np.iinfo(np.int64).min  # the class of all rows if labels are whole numbers


def all_rows(labels: Labels) -> Labels:
    """Return the class of all rows for labels of this type, as an array."""
    return np.array([ALL_NUMBERS]) if labels.dtype.kind in "iu" else np.array([ALL_TEXT])


def check_labels(classes: Labels) -> None:
    """Raise ValueError unless these are the class of all rows, followed by labels."""
    text = all(isinstance(label, str) for label in classes.tolist())
    if not (text or classes.dtype == np.int64):
        raise ValueError("its labels are neither text nor whole numbers")
    if len(classes) and classes.tolist()[0] != all_rows(classes).tolist()[0]:
        raise ValueError("there is no count of all rows")


class Multilabel(Model):
    """A model of rows with any number of labels: see `Model`.

    Its classes are that of all rows and the labels, sorted. Labels are text, or int64 numbers above
    the smallest. A row may have no labels.
    """

    # ---- the algebra -------------------------------------------------------------------------

    @property
    def labels(self) -> Labels:
        """(L,) the labels, sorted."""
        return self.classes[1:]

    def summarise(
        self, X: Data, y: LabelSets, weights: Float64 | None = None,  # type: ignore[override]
        workers: Workers | None = None,
    ) -> Multilabel:  # fmt: skip
        """Return a model of the same kind, trained on these rows alone, without weight 0."""
        if weights is not None and not weights.all():
            rows = np.flatnonzero(weights)
            X, y, weights = X[rows], y.some(rows), weights[rows]
        present, codes = np.unique(y.codes, return_inverse=True)
        sizes = np.diff(y.starts) + 1
        starts = np.append(0, np.cumsum(sizes))
        row_codes = np.zeros(starts[-1], np.int64)
        labelled = np.ones(len(row_codes), bool)
        labelled[starts[:-1]] = False
        row_codes[labelled] = 1 + codes
        classes = np.concatenate([all_rows(y.labels), y.labels[present]])
        row_weights = np.empty(0) if weights is None else np.repeat(weights, sizes)
        batch = Batch(row_codes, len(classes), row_weights, starts)
        statistics = self.schema.summary.summarise(X, batch, workers or SERIAL)
        return Multilabel(
            self.schema, self.prior, classes, class_weights(batch), statistics, rows=len(y),
            target=self.target, untyped=self.untyped,
        )  # fmt: skip

    def absorb(
        self, other: Model, schema: Schema | None = None, prior: Prior | None = None
    ) -> None:
        """Extend `Model.absorb`: a model without labels takes the label type of the other."""
        with self.lock:
            other = _named_as(other, self.classes)
            if len(self.classes) == 1 and len(other.classes) > 1:
                self.classes, self.declared = (
                    all_rows(other.classes) if len(labels) else labels
                    for labels in (self.classes, self.declared)
                )
            super().absorb(other, schema, prior)

    def forget(self, other: Model) -> None:
        """Extend `Model.forget`: without labels, their type is open again."""
        with self.lock:
            super().forget(_named_as(other, self.classes))
            if len(self.classes) == 1 and not len(self.declared):
                self.classes = np.array([ALL_TEXT])  # without labels, their type is unknown

    def declare_classes(self, labels: Labels) -> None:
        """Add labels that no row has yet; `forget` does not remove them."""
        if not len(labels):
            return
        with self.lock:
            if len(self.classes) == 1:
                self.classes = all_rows(labels)
            super().declare_classes(np.concatenate([all_rows(labels), labels]))

    def impossible(self) -> str | None:
        """Return why no rows can have these statistics, overall or with and without a label."""
        weight = self.class_weight
        if len(self.classes) == 0:
            return None
        if problem := super().impossible():
            return problem
        for code in range(1, len(self.classes)):
            label_weight = two_classes(weight, code)
            if label_weight.any_negative():
                return FORGOTTEN
            if problem := self.statistics.against(code).impossible(label_weight):
                return problem
        return None

    # ---- the posterior -----------------------------------------------------------------------

    def of_label(self, label: Label) -> Model:
        """Return the model of two classes: rows without a label, and rows that have it.

        It predicts as this model does for the label, but is estimated again when trained further.
        """
        posterior: Any = self.posterior()
        label_posterior: Posterior = posterior.of(label)
        code = 1 + self.labels.tolist().index(label)
        weight, statistics = two_classes(self.class_weight, code), self.statistics.against(code)
        names = label_posterior.classes
        model = Model(self.schema, self.prior, names, weight, statistics, rows=self.rows)
        model._estimate = label_posterior
        return model

    def estimated(self, workers: Workers, parameters: Any = None) -> LabelsPosterior:
        """As the base class."""
        if parameters is None:
            parameters = self._parameters(workers)
        prior = self._shares()
        with np.errstate(divide="ignore"):
            log_prior = np.log(prior) - np.log1p(-prior)
        return LabelsPosterior(self.schema, self.labels, parameters, prior, log_prior)

    def _parameters(self, workers: Workers) -> Parameters:
        """See `Model._parameters`."""
        if self._structure is not None:
            with suppress(ValueError):
                return self._restored(self._structure.chosen)
            self._structure = None
        return self.family.estimate_labels(self.statistics, self.class_weight, workers)

    def _shares(self) -> Float64:
        """Return π_l of each label, (L,): (n_l + s) / (n + 2 s), with prior smoothing s."""
        kind, virtual = self.prior.given, self.prior.smoothing
        if not isinstance(kind, str) or not np.isscalar(virtual):
            raise ValueError(
                "the prior of many labels is empirical or uniform, and its smoothing one number"
            )
        if kind == "uniform":
            return np.full(len(self.labels), 0.5)
        weight = self.class_weight.rounded()
        total = weight[0] + 2 * float(virtual)  # type: ignore[arg-type]
        label_weight = weight[1:] + float(virtual)  # type: ignore[arg-type]
        return np.minimum(label_weight / total, 1.0) if total > 0 else np.zeros(len(label_weight))

    def _restored(self, kept: Arrays) -> Parameters:
        """See `Model._restored`."""
        return self.family.restored_labels(self.statistics, self.class_weight, kept)

    def check(self, workers: Workers | None = None, classes: Labels | None = None) -> None:
        """Extend `Model.check`: ValueError also if the family does not support multiple labels."""
        self.family.check_labels()
        self._shares()
        super().check(workers, classes)

    @property
    def weight(self) -> float:
        """The total weight of all rows, which is that of class 0."""
        return float(self.class_weight.rounded()[:1].sum())

    @property
    def whole(self) -> tuple[Statistics, ExactArray]:
        """(statistics, weights) over all rows, as of a single class."""
        all_class = np.zeros(min(1, len(self.classes)), np.int64)
        return self.statistics.gather_classes(all_class), self.class_weight.gather(0, all_class)


def _named_as(other: Model, classes: Labels) -> Model:
    """Rename the class of all rows of a model without labels to match other classes."""
    if len(other.classes) != 1 or len(classes) < 2:
        return other
    declared = all_rows(classes) if len(other.declared) else other.declared
    return replace(other, classes=all_rows(classes), declared=declared)


@dataclass(frozen=True, eq=False)
class LabelsPosterior(Posterior):
    """P(l | x) of each label, estimated from the training rows at one moment.

    class_prior : (L,) π_l, which do not sum to 1.
    log_prior : (L,) log π_l / (1 - π_l).
    """

    parameters: LabelledParameters

    @property
    def n_parameters(self) -> int:
        """The number of free parameters: one prior per label, plus those of its terms."""
        return Count(len(self.classes) + self.parameters.n_free)

    def log_odds(self, X: Data, workers: Workers | None = None) -> Float64:
        """Return log P(l | x) / (1 - P(l | x)), (n, L), in nats."""
        return self.joint_log_proba(X, workers)

    def proba(self, X: Data, workers: Workers | None = None) -> Float64:
        """Return P(l | x), (n, L), independently for each label."""
        return np.asarray(scipy.special.expit(self.log_odds(X, workers)))

    def codes_and_proba(self, X: Data, workers: Workers | None = None) -> tuple[Int64, Float64]:
        """Return (the most probable label of each row, `proba`)."""
        proba = self.proba(X, workers)
        return likeliest_codes(proba, 1)[:, 0], proba

    def label_sets(self, proba: Float64, threshold: float) -> LabelSets:
        """Return the labels of probability `threshold` or more, of each row."""
        return LabelSets.of_indicator(self.classes, proba >= threshold)

    def of(self, label: Label) -> Posterior:
        """Return the posterior of one label: of two classes, without it and with it."""
        code = self._code(label)
        with np.errstate(divide="ignore"):
            prior = np.array([1 - self.class_prior[code], self.class_prior[code]])
            log_prior = np.log(prior)
        names = np.array([f"not {label}", f"{label}"], object)
        return Posterior(self.schema, names, self.parameters.of_label(code), prior, log_prior)


def likeliest_codes(proba: Float64, most: int) -> Int64:
    """Return the positions of the `most` most probable labels of each row, (n, k)."""
    return np.argsort(-proba, axis=1, kind="stable")[:, :most]


def likeliest_labels(proba: Float64, labels: Labels, most: int) -> tuple[Any, Float64]:
    """Return (the `most` most probable labels of each row, their probabilities), (n, k) both."""
    order = likeliest_codes(proba, most)
    return labels[order], np.take_along_axis(proba, order, axis=1)
