"""Map the name of each family to its class, which is imported when it is first used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from naively.families.base import AnyFamily

HOMES = {
    "Bernoulli": "naively.families.discrete.bernoulli",
    "Categorical": "naively.families.discrete.categorical",
    "Complement": "naively.families.discrete.complement",
    "Discretized": "naively.families.numeric.discretized",
    "Exponential": "naively.families.numeric.exponential",
    "Gamma": "naively.families.numeric.gamma",
    "Gaussian": "naively.families.numeric.gaussian",
    "Joint": "naively.families.discrete.joint",
    "KernelDensity": "naively.families.numeric.kernel_density",
    "LogNormal": "naively.families.numeric.lognormal",
    "Multinomial": "naively.families.discrete.multinomial",
    "MultivariateGaussian": "naively.families.multivariate.multivariate",
    "Poisson": "naively.families.numeric.poisson",
    "Pooled": "naively.families.auto_bayes.pooled",
    "PooledText": "naively.families.text.pooled_text",
    "Student": "naively.families.numeric.student",
    "Text": "naively.families.text.text",
    "WeighedText": "naively.families.text.weighed_text",
}
"""The module of each class. A new family needs only its file and a line here."""


class _Families(Mapping[str, "type[AnyFamily]"]):
    """Map the last part of a family's module name to its class; import the module on first use."""

    def __getitem__(self, name: str) -> type[AnyFamily]:
        class_name, module = self._homes()[name]
        family: type[AnyFamily] = getattr(import_module(module), class_name)
        return family

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes())

    def __len__(self) -> int:
        return len(HOMES)

    @staticmethod
    def _homes() -> dict[str, tuple[str, str]]:
        return {
            module.rpartition(".")[2]: (class_name, module) for class_name, module in HOMES.items()
        }


FAMILIES: Mapping[str, type[AnyFamily]] = _Families()
"""The family classes by name, such as "gaussian"."""
