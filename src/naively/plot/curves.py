"""The densities of features on a grid, as the model has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from naively.exact import Float64, Int64
from naively.families.base import CurveKind
from naively.model import Model
from naively.plot.models import codes, log_density, part_of, rows
from naively.tables.frames import is_named
from naively.tables.values import flat, numbers

POINTS = 400  # of a curve
SIDE = 120  # points of the grid of two features, along each
DRAWN = 4000  # rows from which the range of a feature is estimated where no data are given
TAIL = 0.001  # of them, beyond the range on either side
BINS = 20
DENSITY: CurveKind = "density"
COUNT: CurveKind = "P(count | class)"


@dataclass(frozen=True)
class Curves:
    """The densities of one feature.

    Attributes
    ----------
    name : of the feature.
    x : (m,) values; whole numbers of counts.
    density : (C, m) p(x | c): one over the feature's unit, or a probability.
    quantity : what it is.
    rows : (n,) values that were given, to be drawn behind.
    """

    name: str
    x: Float64
    density: Float64
    quantity: CurveKind
    rows: Float64 | None = None

    @property
    def bins(self) -> list[float] | None:
        """The edges of a histogram on the scale of the curve; None of ranges, which have none."""
        low, high = float(self.x[0]), float(self.x[-1])
        if self.quantity == DENSITY:
            return np.linspace(low, high, BINS + 1).tolist()
        if self.quantity == COUNT:
            return np.arange(low - 0.5, high + 1.0, max(1.0, (high - low) // BINS)).tolist()
        return None


def given_rows(
    model: Model, X: Any, y: Any, names: list[str]
) -> tuple[dict[str, Float64], Int64 | None]:
    """(the values of these features in rows that were given, the positions of their classes)."""
    if X is None:
        return {}, None
    if y is None:
        raise ValueError("rows are drawn by class: pass their labels y, or no X")
    arrow, labels = rows(X, y)
    assert labels is not None
    learned = list(model.schema.why)
    if not is_named(X) or not set(names) <= set(arrow.column_names):
        if len(arrow.column_names) != len(learned):
            raise ValueError(
                f"X has {len(arrow.column_names)} columns, the model learned {len(learned)}"
            )
        arrow = arrow.rename_columns(learned)
    missing = model.schema.missing
    values = {name: numbers(flat(arrow.column(name)), missing).values for name in names}
    return values, codes(labels, model.classes)


def curves_of(model: Model, name: str, given: Float64 | None) -> Curves:
    """The densities of a feature where it has values."""
    quantity = model.schema.known[name].curve
    assert quantity is not None
    low, high = _range(model, name, given)
    if quantity == COUNT:
        low, high = np.floor(low), np.ceil(high)
        x = np.unique(np.round(np.linspace(low, high, int(min(high - low, POINTS)) + 1)))
    else:
        x = np.linspace(low, high, POINTS)
    with np.errstate(over="ignore"):
        density = np.exp(log_density(model, {name: x}))
    return Curves(name, x, density, quantity, given)


def _range(model: Model, name: str, given: Float64 | None) -> tuple[float, float]:
    """Between which values a feature lies, by the model and by the rows that were given."""
    part, place = part_of(model, name)
    generator = np.random.default_rng(0)
    seen = model.posterior().class_prior > 0
    positions = np.repeat(np.flatnonzero(seen), DRAWN // max(1, int(seen.sum())))
    values = np.asarray(part.sample(positions, generator)[:, place], np.float64)
    low, high = np.quantile(values, [TAIL, 1.0 - TAIL]).tolist()
    if given is not None:
        given = given[np.isfinite(given)]
        low, high = float(given.min(initial=low)), float(given.max(initial=high))
    margin = 0.05 * (high - low) or 0.5
    support = model.schema.known[name].summary.bounds
    return max(low - margin, support[0]), min(high + margin, support[1])


def joint_of(model: Model, curves: list[Curves]) -> tuple[Float64, tuple[Float64, Float64], bool]:
    """(log p(x | c) over a grid of two features, the grid, whether it is the product)."""
    axes = [
        each.x if each.quantity == COUNT and len(each.x) <= SIDE
        else np.linspace(each.x[0], each.x[-1], SIDE)
        for each in curves
    ]  # fmt: skip
    x, y = np.meshgrid(*axes)
    names = [each.name for each in curves]
    log_p = log_density(model, {names[0]: x.ravel(), names[1]: y.ravel()})
    alone = [log_density(model, {name: axis}) for name, axis in zip(names, axes, strict=True)]
    product = alone[0][:, np.newaxis, :] + alone[1][:, :, np.newaxis]
    log_p = log_p.reshape(product.shape)
    return log_p, (axes[0], axes[1]), bool(np.allclose(log_p, product, rtol=1e-6, atol=1e-6))
