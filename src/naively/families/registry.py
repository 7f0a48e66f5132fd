"""Every family by its name."""

from __future__ import annotations

from naively.families.base import Family
from naively.families.bernoulli import Bernoulli
from naively.families.categorical import Categorical
from naively.families.complement import Complement
from naively.families.discretized import Discretized
from naively.families.exponential import Exponential
from naively.families.gamma import Gamma
from naively.families.gaussian import Gaussian
from naively.families.joint import Joint
from naively.families.kernel_density import KernelDensity
from naively.families.lognormal import LogNormal
from naively.families.multinomial import Multinomial
from naively.families.multivariate import MultivariateGaussian
from naively.families.poisson import Poisson
from naively.families.text import Text

FAMILIES: dict[str, type[Family]] = {
    family.name: family
    for family in (
        Bernoulli, Categorical, Complement, Discretized, Exponential, Gamma, Gaussian,
        Joint, KernelDensity, LogNormal, Multinomial, MultivariateGaussian,
        Poisson, Text,
    )
}  # fmt: skip
