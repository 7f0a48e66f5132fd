"""Generative classification: the Bayes classifier and every naive Bayes, in one exact pass."""

from importlib import import_module
from typing import Any

from naively.families.registry import HOMES

_HOMES = {
    **HOMES,
    "AutoBayes": "naively.estimators.auto_bayes",
    "BernoulliNB": "naively.estimators.discrete",
    "CategoricalNB": "naively.estimators.discrete",
    "ComplementNB": "naively.estimators.discrete",
    "GaussianBayes": "naively.estimators.gaussian",
    "GaussianNB": "naively.estimators.gaussian",
    "JointBayes": "naively.estimators.joint",
    "MultinomialNB": "naively.estimators.discrete",
    "MultilabelNB": "naively.estimators.multilabel",
    "NBSVM": "naively.estimators.nbsvm",
    "NaiveBayes": "naively.estimators.naive_bayes",
    "PoissonNB": "naively.estimators.discrete",
    "TextNB": "naively.estimators.text",
    "bag_of_words": "naively.text.analysis",
    "compare": "naively.evaluation.compare",
    "cross_validate": "naively.estimators.shared.cross_validation",
    "diagnose": "naively.evaluation.diagnose",
    "digest": "naively.storage.digest",
    "drift": "naively.estimators.drift",
    "load": "naively.estimators.files",
    "parameter_counts": "naively.evaluation.model_ladder",
    "scan": "naively.io.sources",
}

__all__ = sorted(_HOMES)
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name in ("dask", "plot", "spark"):  # need other packages, and are therefore not in __all__
        return import_module(f"naively.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'naively' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
