"""Loading: from a file to a fitted estimator."""

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
    """The fitted estimator that `save` or ``naively fit`` wrote to a file.

    It predicts the same bits, and can go on learning, forgetting and adding up, if it could before.

    Raises
    ------
    ModelFileError : a ValueError: if it is no model file, or a damaged one.
    OSError : if it cannot be read.
    """
    return fitted(model_files.load(path), str(path))


def fitted(saved: Saved, path: str) -> Any:
    """The fitted estimator of what was saved; messages call it `path`.

    Raises
    ------
    ModelFileError : if it is none.
    """
    model = saved.model
    if saved.estimator not in ESTIMATORS:
        raise ModelFileError(
            f"{path} holds a model of the class {saved.estimator!r}, which naively does not know"
        )
    kind = getattr(naively, saved.estimator)
    if unknown := saved.params.keys() - kind._get_param_names():
        raise ModelFileError(f"{path}: {saved.estimator} has no parameter {min(unknown)!r}")
    loaded = kind(**saved.params)
    estimator = loaded._bayes() if saved.estimator == "NBSVM" else loaded
    of_table = saved.estimator in ("AutoBayes", "JointBayes", "NaiveBayes")
    try:
        if (model.schema.reasons is not None) != of_table and not saved.multilabel:
            raise ValueError(f"its model is no {saved.estimator}")
        if saved.multilabel != (saved.estimator == "MultilabelNB"):
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
        raise ModelFileError(f"{path} is a damaged model file: {error}") from None
    return loaded


def _check_parameters(estimator: Any) -> None:
    """Refuse parameters that the constructor takes, as scikit-learn has it, but learning does not.

    Raises
    ------
    ValueError, TypeError, ArithmeticError : as the parameters provoke them.
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
        raise ValueError(f"there are things other than text among {texts[:5]}")
