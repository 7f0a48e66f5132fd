"""One model: a class prior times a family, and the algebra of what it learned."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import RLock
from typing import Any
from weakref import ref

import numpy as np
import numpy.typing as npt

from naively.exact import ExactArray, Float64, Int64
from naively.explanation import Explanation
from naively.families.base import (
    Batch,
    Data,
    Family,
    FeatureError,
    InvalidValueError,
    Parameters,
    SingularCovarianceError,
    Statistics,
    difference,
)
from naively.families.sums import class_weights
from naively.labels import Coded, Labels, encode_labels, merge_labels
from naively.posterior import Posterior
from naively.prior import Prior
from naively.workers import Serial, Workers


class SingularModelError(ValueError):
    """A covariance matrix has no density, until other rows are learned; which one, and why."""


@dataclass(eq=False)
class Model:
    """A class prior times a family, with everything that it learned.

    One thread may learn while others predict: each answer is that of one state of the model. What
    it learns, or reads to estimate its parameters, is under a lock; a `Posterior` needs none, for
    what it refers to does not change any more.

    Attributes
    ----------
    family, prior : the event model and the class prior; parameters follow from both.
    n_features : int
    feature_names : list of str or None
    classes : (C,) the labels met so far, sorted.
    class_weight : ExactArray (C,), total weight of the rows of each class.
    statistics : Statistics of the family.
    announced : labels that were named before any of their rows was met, sorted.
    lock : held while what was learned changes, or is read where it must not change meanwhile.
    """

    family: Family
    prior: Prior
    n_features: int
    feature_names: list[str] | None = None
    classes: Labels = field(default_factory=lambda: np.empty(0, np.int64))
    class_weight: ExactArray = field(default_factory=lambda: ExactArray.zeros((0,)))
    statistics: Statistics = field(default=None)  # type: ignore[assignment]
    announced: Labels = field(default_factory=lambda: np.empty(0, np.int64))
    lock: Any = field(default_factory=RLock, init=False, repr=False)
    _estimate: Posterior | None = field(default=None, init=False, repr=False)
    _lent: bool = field(default=False, init=False, repr=False)
    """Whether a copy that is being pickled may refer to the sums, so that these stay."""

    def __post_init__(self) -> None:
        if self.statistics is None:
            self.statistics = self.family.empty(0, self.n_features)

    # ---- the algebra -------------------------------------------------------------------------

    def summarise(
        self, X: Data, y: Labels | Coded, weights: Float64 | None = None,
        workers: Workers | None = None,
    ) -> Model:  # fmt: skip
        """A model of the same kind that learned these rows alone. Rows of weight 0 are absent.

        `y` holds a label a row, or is what `encode_labels` returns.

        Raises
        ------
        ValueError : naming the row and the column of a value that the family cannot take.
        """
        kept = None
        if weights is not None and not weights.all() and not isinstance(y, tuple):
            kept = np.flatnonzero(weights)
            X, y, weights = X[kept], y[kept], weights[kept]
        classes, codes = y if isinstance(y, tuple) else encode_labels(y)
        batch = Batch(codes, len(classes), np.empty(0) if weights is None else weights)
        try:
            statistics = self.family.summarise(X, batch, workers or Serial())
        except InvalidValueError as error:
            if kept is not None:
                error.row = int(kept[error.row])
            raise error.named(self.feature_names) from None
        return Model(
            self.family, self.prior, self.n_features, self.feature_names,
            classes, class_weights(batch), statistics,
        )  # fmt: skip

    def absorb(
        self, other: Model, family: Family | None = None, prior: Prior | None = None
    ) -> None:
        """Add what another model learned, in place; classes merge by union.

        Parameters
        ----------
        other : Model
        family, prior : those to go on with, if they are others than before.

        Raises
        ------
        ValueError : if the models cannot be added; then self is unchanged.
        """
        with self.lock:
            family, prior = family or self.family, prior or self.prior
            self._check_compatible(other, family)
            classes = merge_labels(self.classes, other.classes)
            prior.check_room(len(classes))
            self._own()
            self.family, self.prior = family, prior
            self._spread(classes)
            self.announced = merge_labels(self.announced, other.announced)
            positions = np.searchsorted(self.classes, other.classes)
            self.class_weight = self.class_weight.add(other.class_weight, rows=positions)
            self.statistics.add(other.statistics, positions)

    def forget(self, other: Model) -> None:
        """Subtract what another model learned, in place; classes without weight are forgotten.

        Raises
        ------
        ValueError : if self did not learn that, as far as the sums can tell; self is unchanged.
        """
        with self.lock:
            left = self._less(other)
            kept = np.flatnonzero(
                left.class_weight.nonzero() | np.isin(self.classes, self.announced)
            )
            weight = left.class_weight.taken(0, kept).trimmed()
            statistics = left.statistics.taken_classes(kept).canonical()
            classes = self.classes[kept]
            if classes.dtype.kind == "U":  # only as wide as the longest label, as before the others
                classes = np.array(classes.tolist(), str)
            self.classes, self.class_weight, self.statistics = classes, weight, statistics
            self._estimate, self._lent = None, False

    def _less(self, other: Model) -> Model:
        """A copy that learned less, with all of the classes; ValueError if that cannot be."""
        self._check_compatible(other, self.family)
        known = self.classes.tolist()
        for label in other.classes.tolist():
            if label not in known:
                raise ValueError(f"cannot forget what was never learned: no class {label!r}")
        positions = np.searchsorted(self.classes, other.classes)
        left = self.copy()
        left.class_weight = left.class_weight.add(other.class_weight, rows=positions, sign=-1)
        left.statistics.add(other.statistics, positions, sign=-1)
        problem = (
            "more was forgotten than was learned"
            if left.class_weight.any_negative()
            else left.statistics.impossible(left.class_weight)
        )
        if problem:
            raise ValueError(f"cannot forget what was never learned: {problem}")
        return left

    def decay(self, gamma: float) -> None:
        """Multiply all that was learned by gamma, in place.

        Raises
        ------
        ValueError : unless 0 < gamma <= 1.
        """
        gamma = float(gamma)
        if not 0 < gamma <= 1:
            raise ValueError(f"gamma must be above 0 and at most 1, not {gamma!r}")
        with self.lock:
            self.class_weight = self.class_weight.scaled(gamma)
            self.statistics = self.statistics.scaled(gamma)
            self._estimate, self._lent = None, False

    def copy(self) -> Model:
        """A copy that shares nothing that changes."""
        with self.lock:
            return Model(
                self.family, self.prior, self.n_features, self.feature_names,
                self.classes, self.class_weight.copy(), self.statistics.copy(), self.announced,
            )  # fmt: skip

    def canonical(self) -> Model:
        """A copy with statistics in their one smallest form: equal models have equal bits."""
        model = self.copy()
        model.class_weight = model.class_weight.trimmed()
        model.statistics = model.statistics.canonical()
        return model

    def __eq__(self, other: object) -> bool:
        """Whether both learned the same, bit for bit."""
        if not isinstance(other, Model):
            return NotImplemented
        return (
            self.family.adds_to(other.family)
            and self.n_features == other.n_features
            and self.classes.tolist() == other.classes.tolist()
            and self.class_weight == other.class_weight
            and self.statistics.canonical() == other.statistics.canonical()
        )

    __hash__ = None  # type: ignore[assignment]

    def know_classes(self, labels: Labels) -> None:
        """Make room for classes before any of their rows is met; they outlive forgetting."""
        announced = encode_labels(labels)[0]
        with self.lock:
            self._own()
            self._spread(merge_labels(self.classes, announced))
            self.announced = merge_labels(self.announced, announced)

    def _own(self) -> None:
        """Drop the estimate; copy the sums, which are about to change, if others refer to them.

        Some parameters are computed from the sums when they are first needed. Most often nobody
        asks for them any more, and a row is learned without a copy.
        """
        asked = None if self._estimate is None else ref(self._estimate.parameters)
        self._estimate = None
        if self._lent or (asked is not None and asked() is not None):
            self.class_weight = self.class_weight.copy()
            self.statistics = self.statistics.copy()
            self._lent = False

    def _spread(self, classes: Labels) -> None:
        """Make room for a superset of the classes."""
        if len(classes) == len(self.classes):
            self.classes = classes
            return
        positions = np.searchsorted(classes, self.classes)
        self.class_weight = self.class_weight.placed(0, positions, len(classes))
        self.statistics = self.statistics.with_classes(positions, len(classes))
        self.classes = classes

    def _check_compatible(self, other: Model, family: Family) -> None:
        if not family.adds_to(other.family):
            raise ValueError(
                f"cannot combine models whose statistics differ: {difference(family, other.family)}"
            )
        if self.n_features != other.n_features:
            raise ValueError(
                f"cannot combine a model of {self.n_features} features with one of "
                f"{other.n_features}"
            )
        names = self.feature_names, other.feature_names
        if None not in names and names[0] != names[1]:
            raise ValueError(f"cannot combine models of different features: {names[0]}, {names[1]}")

    def __getstate__(self) -> dict[str, Any]:
        """Without the parameters, which follow from the rest."""
        with self.lock:
            self._lent = True  # what is pickled, or copied, afterwards must not change
            return {**vars(self), "_estimate": None, "lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, lock=RLock())

    # ---- the posterior -----------------------------------------------------------------------

    def posterior(self, workers: Workers | None = None) -> Posterior:
        """What the model answers as it is now, estimated when first asked for.

        Raises
        ------
        SingularModelError : if a covariance matrix has no density.
        """
        found = self._estimate  # read once: it may be gone the next moment
        if found is None:
            with self.lock:
                found = self._estimate
                if found is None:
                    found = self._estimate = self._estimated(workers or Serial())
        return found

    def _estimated(self, workers: Workers) -> Posterior:
        prior = self.prior.estimate(self.class_weight)
        with np.errstate(divide="ignore"):
            log_prior = np.log(prior)
        try:
            parameters = self.family.estimate_on(self.statistics, self.class_weight, workers)
        except SingularCovarianceError as error:
            raise SingularModelError(self._singular(error)) from None
        return Posterior(
            self.family, self.feature_names, self.classes, parameters, prior, log_prior
        )

    @property
    def parameters(self) -> Parameters:
        """The family's parameters."""
        return self.posterior().parameters

    @property
    def class_prior(self) -> Float64:
        """π_c, (C,)."""
        return self.posterior().class_prior

    @property
    def log_prior(self) -> Float64:
        """log π_c, (C,); -inf of a class that has no rows."""
        return self.posterior().log_prior

    def _singular(self, error: SingularCovarianceError) -> str:
        """What is wrong with a covariance matrix, and what to do."""
        names, code = self.feature_names, error.code
        feature = error.feature if names is None else repr(names[error.feature])
        if code is None:
            place, weight = "shared by the classes", self.class_weight.summed(0)
        else:
            place = f"of class {self.classes.tolist()[code]!r}"
            weight = self.class_weight.taken(0, code)
        rows = float(weight.rounded())
        return (
            f"the covariance {place}, from {rows:g} row{'s' if rows != 1 else ''}, has no density: "
            f"feature {feature} {error.problem}. {error.advice}"
        )

    def check(self, workers: Workers | None = None) -> None:
        """Raise ValueError if the hyperparameters do not fit what was learned."""
        self.prior.estimate(self.class_weight)
        try:
            self.family.check(self.statistics, self.class_weight)
        except FeatureError as error:
            if self.feature_names is None:
                raise
            raise ValueError(f"column {self.feature_names[error.feature]!r}: {error}") from None
        if self.family.may_be_singular:
            self.posterior(workers)

    @property
    def n_parameters(self) -> int:
        """C - 1 for the prior, plus the family's."""
        posterior = self.posterior()
        return len(posterior.classes) - 1 + posterior.parameters.n_free

    def predict_codes(self, X: Data, workers: Workers | None = None) -> Int64:
        """As `Posterior.predict_codes`."""
        return self.posterior(workers).predict_codes(X, workers)

    def joint_log_proba(self, X: Data, workers: Workers | None = None) -> Float64:
        """As `Posterior.joint_log_proba`."""
        return self.posterior(workers).joint_log_proba(X, workers)

    def log_proba(self, X: Data, workers: Workers | None = None) -> Float64:
        """As `Posterior.log_proba`."""
        return self.posterior(workers).log_proba(X, workers)

    def proba(self, X: Data, workers: Workers | None = None) -> Float64:
        """As `Posterior.proba`."""
        return self.posterior(workers).proba(X, workers)

    def score_samples(self, X: Data, workers: Workers | None = None) -> Float64:
        """As `Posterior.score_samples`."""
        return self.posterior(workers).score_samples(X, workers)

    def explain(self, X: Data) -> Explanation:
        """As `Posterior.explain`."""
        return self.posterior().explain(X)

    def linear(self) -> tuple[Float64, Float64]:
        """As `Posterior.linear`."""
        return self.posterior().linear()

    def sample(self, n: int, generator: np.random.Generator) -> tuple[npt.NDArray[Any], Labels]:
        """As `Posterior.sample`."""
        return self.posterior().sample(n, generator)
