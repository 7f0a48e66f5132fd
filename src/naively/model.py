"""One model: a class prior times a family. The algebra, the posterior, the explanation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

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
from naively.kernels import scores
from naively.labels import Coded, Labels, encode_labels, merge_labels
from naively.prior import Prior
from naively.workers import Serial, Workers

VANISHING = 746.0  # nats below the best class at which a probability is 0 in float64
CHUNK = 1 << 12  # rows of which the terms in x alone are computed at a time


class SingularModelError(ValueError):
    """A covariance matrix has no density, until other rows are learned; which one, and why."""


@dataclass(eq=False)
class Model:
    """A class prior times a family, with everything that it learned.

    Attributes
    ----------
    family, prior : the event model and the class prior; parameters follow from both.
    n_features : int
    feature_names : list of str or None
    classes : (C,) the labels met so far, sorted.
    class_weight : ExactArray (C,), total weight of the rows of each class.
    statistics : Statistics of the family.
    announced : labels that were named before any of their rows was met, sorted.
    """

    family: Family
    prior: Prior
    n_features: int
    feature_names: list[str] | None = None
    classes: Labels = field(default_factory=lambda: np.empty(0, np.int64))
    class_weight: ExactArray = field(default_factory=lambda: ExactArray.zeros((0,)))
    statistics: Statistics = field(default=None)  # type: ignore[assignment]
    announced: Labels = field(default_factory=lambda: np.empty(0, np.int64))
    _estimate: tuple[Parameters, Float64, Float64] | None = field(
        default=None, repr=False, compare=False
    )

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
            raise self.located(error) from None
        return Model(
            self.family, self.prior, self.n_features, self.feature_names,
            classes, class_weights(batch), statistics,
        )  # fmt: skip

    def absorb(self, other: Model) -> None:
        """Add what another model learned, in place; classes merge by union.

        Raises
        ------
        ValueError : if the models cannot be added; then self is unchanged.
        """
        self._check_compatible(other)
        classes = merge_labels(self.classes, other.classes)
        self.prior.check_room(len(classes))
        self._spread(classes)
        self.announced = merge_labels(self.announced, other.announced)
        positions = np.searchsorted(self.classes, other.classes)
        self.class_weight = self.class_weight.add(other.class_weight, rows=positions)
        self.statistics.add(other.statistics, positions)
        self._estimate = None

    def forget(self, other: Model) -> None:
        """Subtract what another model learned, in place; classes without weight are forgotten.

        Raises
        ------
        ValueError : if self did not learn that, as far as the sums can tell; self is unchanged.
        """
        self._check_compatible(other)
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
        kept = np.flatnonzero(left.class_weight.nonzero() | np.isin(self.classes, self.announced))
        weight = left.class_weight.taken(0, kept).trimmed()
        statistics = left.statistics.taken_classes(kept).canonical()
        classes = self.classes[kept]
        if classes.dtype.kind == "U":  # only as wide as the longest label, as before the others
            classes = np.array(classes.tolist(), str)
        self.classes, self.class_weight, self.statistics = classes, weight, statistics
        self._estimate = None

    def decay(self, gamma: float) -> None:
        """Multiply all that was learned by gamma, in place.

        Raises
        ------
        ValueError : unless 0 < gamma <= 1.
        """
        gamma = float(gamma)
        if not 0 < gamma <= 1:
            raise ValueError(f"gamma must be above 0 and at most 1, not {gamma!r}")
        self.class_weight = self.class_weight.scaled(gamma)
        self.statistics = self.statistics.scaled(gamma)
        self._estimate = None

    def copy(self) -> Model:
        """A copy that shares nothing that changes."""
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
        self._spread(merge_labels(self.classes, announced))
        self.announced = merge_labels(self.announced, announced)
        self._estimate = None

    def _spread(self, classes: Labels) -> None:
        """Make room for a superset of the classes."""
        if len(classes) == len(self.classes):
            self.classes = classes
            return
        positions = np.searchsorted(classes, self.classes)
        self.class_weight = self.class_weight.placed(0, positions, len(classes))
        self.statistics = self.statistics.with_classes(positions, len(classes))
        self.classes = classes

    def _check_compatible(self, other: Model) -> None:
        if not self.family.adds_to(other.family):
            raise ValueError(
                "cannot combine models whose statistics differ: "
                f"{difference(self.family, other.family)}"
            )
        if self.n_features != other.n_features:
            raise ValueError(
                f"cannot combine a model of {self.n_features} features with one of "
                f"{other.n_features}"
            )
        names = self.feature_names, other.feature_names
        if None not in names and names[0] != names[1]:
            raise ValueError(f"cannot combine models of different features: {names[0]}, {names[1]}")

    def located(self, error: InvalidValueError) -> InvalidValueError:
        """The error with the column's name, if it has one."""
        names = self.feature_names
        column = error.column if names is None else repr(names[error.column])
        error.args = (error.problem.format(where=f"row {error.row}, column {column}"),)
        return error

    def __getstate__(self) -> dict[str, Any]:
        """Without the parameters, which follow from the rest."""
        return {**vars(self), "_estimate": None}

    # ---- the posterior -----------------------------------------------------------------------

    @property
    def parameters(self) -> Parameters:
        """The family's parameters, estimated when first asked for."""
        return self._estimated()[0]

    @property
    def class_prior(self) -> Float64:
        """π_c, (C,)."""
        return self._estimated()[1]

    @property
    def log_prior(self) -> Float64:
        """log π_c, (C,); -inf of a class that has no rows."""
        return self._estimated()[2]

    def _estimated(self, workers: Workers | None = None) -> tuple[Parameters, Float64, Float64]:
        if self._estimate is None:
            prior = self.prior.estimate(self.class_weight)
            with np.errstate(divide="ignore"):
                log_prior = np.log(prior)
            try:
                parameters = self.family.estimate_on(
                    self.statistics, self.class_weight, workers or Serial()
                )
            except SingularCovarianceError as error:
                raise SingularModelError(self._singular(error)) from None
            self._estimate = parameters, prior, log_prior
        return self._estimate

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
            self._estimated(workers)

    @property
    def n_parameters(self) -> int:
        """C - 1 for the prior, plus the family's."""
        return len(self.classes) - 1 + self.parameters.n_free

    def joint(self, X: Data, start: int, stop: int, margin: float = np.inf) -> Float64:
        """log π_c + log p(x_i | c) for rows start:stop, (C, stop - start), in nats.

        Up to the term of log p(x | c) that depends on x alone (see `score_samples`); classes more
        than `margin` nats below the best may have -inf.
        """
        parameters, _, log_prior = self._estimated()
        out = np.empty((len(log_prior), stop - start))
        try:
            parameters.leading(X, start, stop, log_prior, margin, out)
        except InvalidValueError as error:
            raise self.located(error) from None
        return out

    def _in_chunks(
        self, X: Data, out: Any, finish: Any, workers: Workers | None, margin: float = np.inf
    ) -> Any:
        """finish(joint, out[rows]) for chunks of rows, on the workers."""
        workers = workers or Serial()
        self._estimated(workers)[0].prepare(X, workers)
        n = X.shape[0]
        rows = self.parameters.chunk(X, len(self.classes))

        def one(start: int) -> None:
            stop = min(start + rows, n)
            finish(self.joint(X, start, stop, margin), out[start:stop])

        workers.map(one, range(0, n, rows))
        return out

    def predict_codes(self, X: Data, workers: Workers | None = None) -> Int64:
        """The position of the most probable class of each row; the first of equals."""
        out = np.empty(X.shape[0], np.int64)
        likeliest = np.int64(self.class_prior.argmax())

        def finish(joint: Float64, out: Int64) -> None:
            scores.best_class(joint, likeliest, out)

        return self._in_chunks(X, out, finish, workers, margin=0.0)

    def joint_log_proba(self, X: Data, workers: Workers | None = None) -> Float64:
        """The joint log-likelihoods, (n, C)."""
        out = np.empty((X.shape[0], len(self.classes)))
        return self._in_chunks(X, out, lambda joint, out: np.copyto(out, joint.T), workers)

    def log_proba(self, X: Data, workers: Workers | None = None) -> Float64:
        """log P(c | x_i), (n, C)."""
        out = np.empty((X.shape[0], len(self.classes)))

        def finish(joint: Float64, out: Float64) -> None:
            joint = self._below_best(joint)
            np.subtract(joint, np.log(np.exp(joint).sum(axis=0)), out=out.T)

        return self._in_chunks(X, out, finish, workers)

    def proba(self, X: Data, workers: Workers | None = None) -> Float64:
        """P(c | x_i), (n, C)."""
        out = np.empty((X.shape[0], len(self.classes)))

        def finish(joint: Float64, out: Float64) -> None:
            joint = self._below_best(joint)
            np.exp(joint, out=joint)
            np.divide(joint, joint.sum(axis=0), out=out.T)

        return self._in_chunks(X, out, finish, workers, VANISHING)

    def _below_best(self, joint: Float64) -> Float64:
        """The (C, n) table minus the best of each row; -inf where the distance has no number."""
        joint = self._possible(joint)
        with np.errstate(over="ignore"):
            joint -= joint.max(axis=0)
        return joint

    def _possible(self, joint: Float64) -> Float64:
        """The (C, n) table with the prior in the place of rows that every class rules out."""
        nowhere = np.isneginf(joint.max(axis=0))
        if nowhere.any():
            joint[:, nowhere] = self.log_prior[:, np.newaxis]
        return joint

    def score_samples(self, X: Data, workers: Workers | None = None) -> Float64:
        """log p(x_i), (n,), in nats: the density or probability of the row itself.

        Raises
        ------
        ValueError : if the family's scores are no density.
        """
        if not self.family.is_density:
            raise ValueError(f"the scores of {self.family.name} naive Bayes are no density of x")
        out = np.empty(X.shape[0])

        def finish(joint: Float64, out: Float64) -> None:
            top = joint.max(axis=0)
            with np.errstate(invalid="ignore", over="ignore"):
                total = top + np.log(np.exp(joint - top).sum(axis=0))
            out[:] = np.where(np.isneginf(top), top, total)

        self._in_chunks(X, out, finish, workers)
        for start in range(0, len(out), CHUNK):
            with np.errstate(over="ignore"):
                out[start : start + CHUNK] += self.parameters.log_base(X[start : start + CHUNK])
        return out

    # ---- looking inside ----------------------------------------------------------------------

    def explain(self, X: Data) -> Explanation:
        """What the prior and each feature contribute to the score of each class."""
        self.joint(X, 0, X.shape[0])  # refuses what cannot be scored
        contributions = self.parameters.contributions(X)
        return Explanation(self.classes, self.feature_names, self.log_prior, contributions)

    def linear(self) -> tuple[Float64, Float64]:
        """(w, b), (C, d) and (C,): log P(c | x) = w_c . x + b_c up to a term in x alone.

        Raises
        ------
        ValueError : where the model is not linear in x, saying why.
        """
        weight, bias = self.parameters.linear()
        return weight, bias + self.log_prior

    def sample(self, n: int, generator: np.random.Generator) -> tuple[npt.NDArray[Any], Labels]:
        """N rows and their labels, drawn from the model: a class from the prior, then its row."""
        codes = generator.choice(len(self.classes), size=n, p=self.class_prior)
        return self.parameters.sample(codes, generator), self.classes[codes]
