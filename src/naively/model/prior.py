"""Estimate the class prior, and adapt it to unlabelled rows (label shift)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from naively.core.exact import LARGEST, ExactArray, Float64, Int64
from naively.core.labels import Labels, by_label

ROUNDS = 10_000  # of expectation maximisation, at most
ENOUGH = 1e-12  # nats per row: stop once the log-likelihood can rise by no more than this
_MISMATCH = "Number of {0} must match number of classes: {1} {0}, {2} classes"
_CLOSE = 1e-6  # tolerance for the sum of given probabilities

PriorLike = Literal["empirical", "uniform"] | Sequence[float] | Mapping[Any, float]
"""Types that a class prior may be given as."""
Virtual = float | Sequence[float] | Mapping[Any, float]
"""Types that virtual examples may be given as."""
ClassWeight = Literal["balanced"] | Mapping[Any, float] | None
"""Types that class weights may be given as."""


@dataclass(frozen=True)
class Prior:
    """The class prior π_c.

    given : "empirical", "uniform", or probabilities in the order of the classes or by class. A dict
        may omit one class, which gets the remaining probability.
    smoothing : virtual examples of each class, (n_c + l_c) / (n + Σ l_c): one number for all
        classes, or one each, in the order of the classes or by class; 0 for classes that a dict
        omits. The m Q(Y) of lecture 2; for the empirical prior only.
    class_weight : weights v_c of the rows of each class in the empirical prior,
        (v_c n_c + l_c) / Σ, by class; 1 for classes that a dict omits. "balanced" is n / (C n_c),
        as in scikit-learn. Class weights change nothing else in a generative model: P(x | c) is
        estimated from the rows of class c alone.
    """

    given: PriorLike = "empirical"
    smoothing: Virtual = 0.0
    class_weight: ClassWeight = None

    def __post_init__(self) -> None:
        _valid("prior_smoothing", self.smoothing, scalar=True)
        if self.class_weight is not None:
            self._check_class_weight()
        if isinstance(self.given, str):
            if self.given not in ("empirical", "uniform"):
                raise ValueError(
                    f'the prior must be "empirical", "uniform", probabilities or a dict of them, '
                    f"not {self.given!r}"
                )
            return
        values = _valid("priors", self.given)
        if len(values) == 0:
            raise ValueError("the prior names no class: give the probability of each")
        total, partial = math.fsum(values), isinstance(self.given, Mapping)
        if total > 1.0 + _CLOSE or (total < 1.0 - _CLOSE and not partial):
            raise ValueError(_sum_problem(total))

    def _check_class_weight(self) -> None:
        """Raise ValueError for invalid class weights, or if the prior is not empirical."""
        class_weight = self.class_weight
        if isinstance(class_weight, Mapping):
            _valid("class_weight", class_weight)
        elif not isinstance(class_weight, str) or class_weight != "balanced":
            raise ValueError(
                f'class_weight must be "balanced", a dict or None, not {class_weight!r}'
            )
        if not isinstance(self.given, str) or self.given != "empirical":
            raise ValueError(
                "class_weight changes the empirical prior, and another prior is given: leave out "
                "one of them"
            )

    def estimate(self, class_weight: ExactArray, classes: Labels) -> Float64:
        """Return π_c, (C,), summing to 1.

        Raises ValueError if the given numbers do not match these classes.
        """
        size = len(classes)
        if not isinstance(self.given, str):
            values = _ordered("priors", self.given, classes)
            self._refuse_unnamed(classes)
            unnamed = np.isnan(values)
            values[unnamed] = max(0.0, 1.0 - math.fsum(values[~unnamed]))
            total = math.fsum(values)
            if abs(total - 1.0) > _CLOSE:
                raise ValueError(_sum_problem(total))
            return values / total
        if self.given == "uniform":
            return np.full(size, 1.0 / max(size, 1))
        counts = np.minimum(class_weight.rounded(), LARGEST)
        virtual = np.asarray(self.smoothing if np.isscalar(self.smoothing) else np.nan_to_num(
            _ordered("prior_smoothing", self.smoothing, classes)), np.float64)  # fmt: skip
        weight = np.minimum(self._weighted(counts, classes), LARGEST) + virtual
        if weight.max(initial=0.0) > 2.0**1000:  # keep their sum within float64
            weight = weight * 2.0**-64
        total = math.fsum(weight)
        return weight / total if total > 0 else np.full(size, 1.0 / max(size, 1))

    def _weighted(self, counts: Float64, classes: Labels) -> Float64:
        """Return the row weights of each class, (C,), times the class weights.

        Raises ValueError for class weights of unknown classes.
        """
        if self.class_weight is None:
            return counts
        if isinstance(self.class_weight, Mapping):
            class_weights = _ordered("the class weights", self.class_weight, classes)
            with np.errstate(over="ignore"):
                return counts * np.where(np.isnan(class_weights), 1.0, class_weights)
        present = counts > 0
        return np.where(present, (counts / max(int(present.sum()), 1)).sum(), 0.0)

    def restricted(self, classes: Labels, positions: Int64) -> Prior:
        """Return the prior restricted to some classes, renormalised.

        Raises ValueError if all of these have probability 0.

        classes : (C,) the labels that the given numbers refer to.
        """
        if not isinstance(self.given, str):
            values = self.estimate(ExactArray.zeros((len(classes),)), classes)[positions]
            if not values.any():
                raise ValueError("the prior of each remaining class is 0")
            return Prior((values / math.fsum(values)).tolist())
        smoothing: Any = self.smoothing
        weight = self.class_weight
        if not np.isscalar(smoothing):
            virtual = np.nan_to_num(_ordered("prior_smoothing", smoothing, classes))
            smoothing = virtual[positions].tolist()
        if isinstance(weight, Mapping):
            remaining = classes[positions].tolist()
            weight = {c: value for c, value in by_label(weight, classes).items() if c in remaining}
        return Prior(self.given, smoothing, weight)

    def check_room(self, classes: Labels) -> None:
        """Raise ValueError if there are more classes than given numbers."""
        for name, values in (("priors", self.given), ("prior_smoothing", self.smoothing)):
            if isinstance(values, str | Mapping) or np.isscalar(values):
                continue
            if len(classes) > len(values):  # type: ignore[arg-type]
                raise ValueError(_MISMATCH.format(name, len(values), len(classes)))  # type: ignore[arg-type]
        self._refuse_unnamed(classes)

    def _refuse_unnamed(self, classes: Labels) -> None:
        """Raise ValueError for unnamed classes, except for one that gets the rest."""
        if not isinstance(self.given, Mapping):
            return
        given = by_label(self.given, classes)
        unnamed = [label for label in classes.tolist() if label not in given]
        remaining = 1.0 - math.fsum(self.given.values())
        if len(unnamed) > 1 or (unnamed and remaining <= _CLOSE):
            missing = ", ".join(map(repr, unnamed))
            problem = "nothing is left for it" if len(unnamed) == 1 else "only one may be left out"
            named = ", ".join(map(repr, self.given))
            raise ValueError(f"the prior names {named}, but not the class {missing}: {problem}")


def _valid(name: str, option: Any, scalar: bool = False) -> Float64:
    """Return the given numbers, flat; ValueError unless each is finite and non-negative."""
    values = list(option.values()) if isinstance(option, Mapping) else option
    try:
        numbers = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers, not {option!r}") from None
    if numbers.ndim != 1 and not (scalar and numbers.ndim == 0 and np.isscalar(option)):
        raise ValueError(f"{name} must be a flat list, not of shape {numbers.shape}")
    flat = np.atleast_1d(numbers)
    bad = ~(np.isfinite(flat) & (flat >= 0))
    if bad.any():
        problem = repr(option)
        if isinstance(option, Mapping):
            k = int(bad.argmax())
            problem = f"{flat[k]:g} of class {list(option)[k]!r}"
        raise ValueError(f"{name} must be finite and non-negative, not {problem}")
    return flat


def _ordered(name: str, option: Any, classes: Labels) -> Float64:
    """Return given numbers in the order of the classes; NaN for classes that a dict omits.

    Raises ValueError for too many or too few numbers, or for unknown classes in a dict.
    """
    if not isinstance(option, Mapping):
        if len(option) != len(classes):
            raise ValueError(_MISMATCH.format(name, len(option), len(classes)))
        return np.array(option, np.float64)
    labels, option = classes.tolist(), by_label(option, classes)
    if unknown := [label for label in option if label not in labels]:
        raise ValueError(
            f"{name}: no training row has the class {', '.join(map(repr, unknown))}; the classes "
            f"are {', '.join(map(repr, labels)) or 'none'}"
        )
    return np.array([option.get(label, math.nan) for label in labels], np.float64)


def _sum_problem(total: float) -> str:
    return f"The sum of the priors should be 1, not {total:g}; divide them by their sum"


def adapted(log_odds: Float64, prior: Float64) -> Float64:
    """Return the class prior that maximises the likelihood of the rows, (C,).

    Expectation maximisation after Saerens, Latinne & Decaestecker (2002), "Adjusting the outputs of
    a classifier to new a priori probabilities". A round multiplies π_c by the mean over the rows of
    P(c | x) / π_c. As log is concave, Σ_i log p(x_i) / n can rise by at most the largest of these
    means minus 1, which is the stopping criterion. Raises ValueError if there are no rows.

    log_odds : (n, C) log (P(c | x) / π_c).
    prior : (C,) initial π_c; a class of probability 0 keeps it.
    """
    if not len(log_odds):
        raise ValueError("there are no rows to adapt the prior to")
    positive = np.flatnonzero(prior)
    density = log_odds.T[positive]  # log density of the rows, up to a constant per row
    density = np.exp(density - density.max(axis=0))
    estimate = prior[positive]
    for _ in range(ROUNDS):
        total = np.zeros(len(log_odds))
        for p, class_density in zip(estimate, density, strict=True):
            total += p * class_density
        gain = np.array([(class_density / total).mean() for class_density in density])
        estimate = estimate * gain
        if gain.max() <= 1.0 + ENOUGH:
            break
    adapted_prior = np.zeros(len(prior))
    adapted_prior[positive] = estimate / math.fsum(estimate)
    return adapted_prior
