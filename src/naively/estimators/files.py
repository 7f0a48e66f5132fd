"""Load fitted estimators from model files."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

import naively
from naively.core.workers import workers
from naively.families.discrete.categorical import Categorical
from naively.storage import model_files
from naively.storage.model_files import ModelFileError, Saved

ESTIMATORS = (
    "AutoBayes", "BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianBayes", "GaussianNB",
    "JointBayes", "MultilabelNB", "MultinomialNB", "NBSVM", "NaiveBayes", "PoissonNB", "TextNB",
)  # fmt: skip


def load(path: str | PathLike[str]) -> Any:
    """Load the fitted estimator that `save` or ``naively fit`` wrote to a file.

    Its predictions are the same, bit for bit. `partial_fit`, `forget` and ``+`` work if they did
    before saving.

    Raises
    ------
    ModelFileError : (a ValueError) if the file is not a model file, or is damaged.
    OSError : if the file cannot be read.
    """
    return fitted(model_files.load(path), str(path))


def fitted(saved: Saved, path: str) -> Any:
    """Make the fitted estimator of the contents of a file; `path` is its name in errors.

    Raises ModelFileError if the contents are not those of an estimator.
    """
    model = saved.model
    if saved.estimator not in ESTIMATORS:
        raise ModelFileError(
            f"{path} holds a model of the class {saved.estimator!r}, unknown to naively"
        )
    kind = getattr(naively, saved.estimator)
    if unknown := saved.params.keys() - kind._get_param_names():
        raise ModelFileError(f"{path}: {saved.estimator} has no parameter {min(unknown)!r}")
    loaded = kind(**saved.params)
    estimator = loaded._bayes() if saved.estimator == "NBSVM" else loaded
    of_table = saved.estimator in ("AutoBayes", "JointBayes", "NaiveBayes")
    try:
        is_other = (model.schema.reasons is not None) != of_table and not saved.multilabel
        if is_other or saved.multilabel != (saved.estimator == "MultilabelNB"):
            raise ValueError(f"its model is no {saved.estimator}")
        _check_parameters(estimator)
        family = model.family if of_table else estimator._family()
        estimator._keep(model, estimator._noted_in(saved.extra))
        estimator._parts = saved.parts
        if type(family) is not type(model.family):
            raise ValueError(f"{saved.estimator} is no {model.family.name} model")
        if loaded is not estimator:
            loaded._take(estimator, **saved.learned)
    except (ValueError, TypeError, ArithmeticError) as error:
        raise model_files.damaged(path, error) from None
    return loaded


def _check_parameters(estimator: Any) -> None:
    """Check parameters: constructors accept anything, by scikit-learn's convention.

    Raises ValueError, TypeError or ArithmeticError for invalid ones.
    """
    workers(estimator.n_jobs)
    estimator._prior()
    parameters = estimator.get_params(deep=False)
    texts = list(parameters.get("missing", ()))
    if "columns" in parameters:
        options = estimator._columns()
        texts += options.settled(())
        by_column = isinstance(options.alpha, Mapping)
        for alpha in options.alpha.values() if by_column else [options.alpha]:
            Categorical(alpha, unseen=options.unseen)
    if not all(isinstance(text, str) for text in texts):
        raise ValueError(f"there are values other than text among {texts[:5]}")
