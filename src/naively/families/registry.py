"""Every family, by its class and by its name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from naively.families.base import AnyFamily

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
    "Pooled": "naively.pooling.pooled",
    "PooledText": "naively.families.pooled_text",
    "Student": "naively.families.student",
    "Text": "naively.families.text",
    "WeighedText": "naively.families.weighed_text",
}
"""The module of each class: all that a new family needs besides its file."""


class _Families(Mapping[str, "type[AnyFamily]"]):
    """A family's name is that of its module, which is loaded when the family is first asked for."""

    def __getitem__(self, name: str) -> type[AnyFamily]:
        kind, home = self._homes()[name]
        family: type[AnyFamily] = getattr(import_module(home), kind)
        return family

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes())

    def __len__(self) -> int:
        return len(HOMES)

    @staticmethod
    def _homes() -> dict[str, tuple[str, str]]:
        return {home.rpartition(".")[2]: (kind, home) for kind, home in HOMES.items()}


FAMILIES: Mapping[str, type[AnyFamily]] = _Families()
"""The classes by the names that people write."""
