"""The class prior."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from naively.exact import LARGEST, ExactArray, Float64

ROUNDS = 10_000  # of expectation maximisation, at most
ENOUGH = 1e-12  # nats a row by which rows may be less probable than under the best prior
_MISMATCH = "Number of priors must match number of classes: {} priors, {} classes"


@dataclass(frozen=True)
class Prior:
    """The class prior π_c.

    Parameters
    ----------
    given : "empirical", "uniform" or a sequence of probabilities in the order of the classes.
    smoothing : float
        Virtual examples of each class, (n_c + l) / (n + l C); for the empirical prior only.
    """

    given: Literal["empirical", "uniform"] | Sequence[float] = "empirical"
    smoothing: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.smoothing < math.inf:
            raise ValueError(f"prior_smoothing must be finite and >= 0, not {self.smoothing!r}")
        if isinstance(self.given, str):
            if self.given not in ("empirical", "uniform"):
                raise ValueError(
                    f'the prior must be "empirical", "uniform" or probabilities, not {self.given!r}'
                )
            return
        values = np.asarray(self.given, np.float64)
        if values.ndim != 1:
            raise ValueError(f"the priors must be a flat list, not of shape {values.shape}")
        if not (np.isfinite(values).all() and (values >= 0).all()):
            raise ValueError(f"Priors must be non-negative, not {values.tolist()}")
        if not math.isclose(math.fsum(values), 1.0, rel_tol=1e-6):
            raise ValueError(
                f"The sum of the priors should be 1, not {math.fsum(values):g}; "
                "divide them by their sum"
            )

    def estimate(self, class_weight: ExactArray) -> Float64:
        """π_c, (C,), summing to 1."""
        (classes,) = class_weight.shape
        if isinstance(self.given, str):
            if self.given == "uniform":
                return np.full(classes, 1.0 / max(classes, 1))
            weight = np.minimum(class_weight.rounded(), LARGEST) + self.smoothing
            if weight.max(initial=0.0) > 2.0**1000:  # their sum may overflow
                weight = weight * 2.0**-64
            total = math.fsum(weight)
            return weight / total if total > 0 else np.full(classes, 1.0 / max(classes, 1))
        values = np.asarray(self.given, np.float64)
        if len(values) != classes:
            raise ValueError(_MISMATCH.format(len(values), classes))
        return values / math.fsum(values)

    def check_room(self, classes: int) -> None:
        """Raise ValueError if there are more classes than given probabilities."""
        if not isinstance(self.given, str) and classes > len(self.given):
            raise ValueError(_MISMATCH.format(len(self.given), classes))


def adapted(log_odds: Float64, prior: Float64) -> Float64:
    """The class prior under which rows are most probable, (C,).

    By expectation maximisation: Saerens, Latinne & Decaestecker (2002), "Adjusting the outputs of a
    classifier to new a priori probabilities". A round multiplies π_c by the mean over the rows of
    P(c | x) / π_c. As log is concave, Σ_i log p(x_i) / n can rise by no more than the largest of
    these means less 1: this tells when to stop.

    Parameters
    ----------
    log_odds : (n, C) log (P(c | x) / π_c).
    prior : (C,) π_c to begin with; a class of probability 0 keeps it.

    Raises
    ------
    ValueError : if there are no rows.
    """
    if not len(log_odds):
        raise ValueError("there are no rows to adapt the prior to")
    known = np.flatnonzero(prior)
    density = log_odds.T[known]  # of the rows, up to a factor each
    density = np.exp(density - density.max(axis=0))
    found = prior[known]
    for _ in range(ROUNDS):
        total = np.zeros(len(log_odds))
        for p, own in zip(found, density, strict=True):
            total += p * own
        gain = np.array([(own / total).mean() for own in density])
        found = found * gain
        if gain.max() <= 1.0 + ENOUGH:
            break
    new = np.zeros(len(prior))
    new[known] = found / math.fsum(found)
    return new
