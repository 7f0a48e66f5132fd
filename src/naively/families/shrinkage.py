"""How far a covariance is drawn towards a simpler one."""

from __future__ import annotations

from numbers import Real
from typing import Any, Literal

import numpy as np

from naively.exact import Float64

Shrinkage = Literal["auto", "oas"] | float | None


def check_shrinkage(shrinkage: Any) -> None:
    """Raise ValueError unless it is one of the amounts that are on offer."""
    if isinstance(shrinkage, str):
        known = shrinkage in ("auto", "oas")
    else:
        number = isinstance(shrinkage, Real) and not isinstance(shrinkage, bool)
        known = shrinkage is None or (number and 0 <= float(shrinkage) <= 1)
    if not known:
        raise ValueError(
            f'shrinkage must be None, a number from 0 to 1, "auto" or "oas", not {shrinkage!r}'
        )


@np.errstate(over="ignore", invalid="ignore")  # `whiten` refuses what is not finite
def shrink(covariance: Float64, shrinkage: Shrinkage, n: float, spread: Float64) -> float:
    """Draw a covariance towards a simpler one, in place; returns how far, from 0 to 1.

    A number draws towards (tr Σ / d) I, as `sklearn.covariance.shrunk_covariance`. "auto" and
    "oas" find the amount for the correlations, so that no unit matters, from the covariance and
    the degrees of freedom `n` alone, as normal data allow: "auto" is the estimator of Ledoit and
    Wolf 2004 given the sufficient statistics (its Rao-Blackwell version), "oas" the oracle
    approximation, both of Chen, Wiesel, Eldar and Hero 2010. The unit of a feature that is constant
    here is its variance over all classes, `spread`.
    """
    if shrinkage is None:
        return 0.0
    d = len(covariance)
    own = np.diag_indices(d)
    amount = 0.0 if isinstance(shrinkage, str) else float(shrinkage)
    target = covariance[own].mean()
    if isinstance(shrinkage, str):
        variance = covariance[own]
        scale = np.sqrt(np.where(variance > 0, variance, np.where(spread > 0, spread, 1.0)))
        correlation = covariance / scale / scale[:, np.newaxis]
        trace, squares = correlation.trace(), (correlation**2).sum()
        if shrinkage == "auto":
            above, below = max(n - 2.0, 0.0) / max(n, 1.0) * squares + trace**2, n + 2.0
        else:
            above, below = (1.0 - 2.0 / d) * squares + trace**2, n + 1.0 - 2.0 / d
        below *= squares - trace**2 / d
        amount = min(max(above / below, 0.0), 1.0) if below > 0 else 1.0
        target = trace / d * scale**2
    covariance *= 1.0 - amount
    covariance[own] += amount * target
    return amount
