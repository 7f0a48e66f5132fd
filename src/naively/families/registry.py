"""Every family, by its class and by its name."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from naively.families.base import AnyFamily

    FAMILIES: dict[str, type[AnyFamily]]
    """The classes by the names that people write; made when first asked for."""

HOMES = {
    "Bernoulli": "naively.families.bernoulli",
    "Categorical": "naively.families.categorical",
    "Complement": "naively.families.complement",
    "Discretized": "naively.families.discretized",
    "Exponential": "naively.families.exponential",
    "Gamma": "naively.families.gamma",
    "Gaussian": "naively.families.gaussian",
    "Joint": "naively.families.joint",
    "KernelDensity": "naively.families.kernel_density",
    "LogNormal": "naively.families.lognormal",
    "Multinomial": "naively.families.multinomial",
    "MultivariateGaussian": "naively.families.multivariate",
    "Poisson": "naively.families.poisson",
    "Pooled": "naively.families.pooled",
    "PooledText": "naively.families.pooled_text",
    "Student": "naively.families.student",
    "Text": "naively.families.text",
    "WeighedText": "naively.families.weighed_text",
}
"""The module of each class: all that a new family needs besides its file."""


def __getattr__(name: str) -> Any:
    if name != "FAMILIES":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    classes = [getattr(import_module(home), kind) for kind, home in HOMES.items()]
    globals()[name] = {one.name: one for one in classes}
    return globals()[name]
