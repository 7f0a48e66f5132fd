"""The class prior."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from naively.exact import LARGEST, ExactArray, Float64

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
