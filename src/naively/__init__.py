"""Generative classification: the Bayes classifier and every naive Bayes, in one exact pass."""

from importlib import import_module
from typing import Any

_HOMES = {
    "Bernoulli": "naively.families.bernoulli",
    "BernoulliNB": "naively.estimators.discrete",
    "Categorical": "naively.families.categorical",
    "CategoricalNB": "naively.estimators.discrete",
    "ComplementNB": "naively.estimators.discrete",
    "Discretized": "naively.families.discretized",
    "Exponential": "naively.families.exponential",
    "Gamma": "naively.families.gamma",
    "Gaussian": "naively.families.gaussian",
    "GaussianBayes": "naively.estimators.gaussian_bayes",
    "GaussianNB": "naively.estimators.gaussian",
    "Joint": "naively.families.joint",
    "JointBayes": "naively.estimators.joint",
    "KernelDensity": "naively.families.kernel_density",
    "LogNormal": "naively.families.lognormal",
    "MultivariateGaussian": "naively.families.multivariate",
    "Multinomial": "naively.families.multinomial",
    "MultinomialNB": "naively.estimators.discrete",
    "NBSVM": "naively.estimators.nbsvm",
    "NaiveBayes": "naively.estimators.table",
    "Poisson": "naively.families.poisson",
    "PoissonNB": "naively.estimators.discrete",
    "Text": "naively.families.text",
    "TextNB": "naively.estimators.text",
    "compare": "naively.study.comparison",
    "diagnose": "naively.study.diagnosis",
    "load": "naively.estimators.files",
}

__all__ = sorted(_HOMES)
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name == "plot":  # needs matplotlib, so it is not among the public names
        return import_module("naively.plot")
    if name not in _HOMES:
        raise AttributeError(f"module 'naively' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
