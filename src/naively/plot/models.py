"""Extract from fitted estimators what displays need: densities, labels, names of features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from naively.core.exact import Float64, Int64
from naively.explain.importance import bits
from naively.io.frames import to_arrow
from naively.model.model import Model
from naively.predictor import Predictor
from naively.tables.names import few

# ---- Gaussians -----------------------------------------------------------------------------------


def gaussians(estimator: Any, names: Sequence[str] | None = None) -> tuple[Float64, Float64] | None:
    """(means, covariances) of a model's classes, (C, d) and (C, d, d); None unless all are normal.

    `names`: of the features, in the desired order; for models of tables.
    """
    densities = normals(estimator, names)
    if densities is None:
        return None
    means, spread = densities
    if spread.ndim < 3:
        spread = spread[:, :, np.newaxis] * np.eye(means.shape[1])
    return means, spread


def normals(estimator: Any, names: Sequence[str] | None = None) -> tuple[Float64, Float64] | None:
    """(means, variances (C, d) or covariances (C, d, d)); None unless all features are normal."""
    model = getattr(estimator, "model_", None)
    if not isinstance(model, Model) or len(model.classes) == 0:
        return None
    blocks = model.posterior().blocks
    selected = None if model.schema.reasons is None else names
    moments = {}
    for block, part in blocks:
        normal = part.normal()
        if normal is None:
            return None
        mean, variance = normal
        if variance.ndim == 3:
            return normal if len(blocks) == 1 and selected is None else None
        for k, name in enumerate(block.names):
            moments[name] = mean[:, k], variance[:, k]
    selected = model.schema.ordered if selected is None else selected
    if not set(selected) <= set(moments):
        return None
    means, spread = zip(*(moments[name] for name in selected), strict=True)
    return np.array(means).T, np.array(spread).T


# ---- rows ----------------------------------------------------------------------------------------


def rows(X: Any, y: Any) -> tuple[pa.Table, npt.NDArray[Any] | None]:
    """The features of a table of any type, and the labels of its rows or None.

    `y` may be the name of the column of X with the labels.

    Raises ValueError if the numbers of labels and rows differ.
    """
    table = to_arrow(X)
    if isinstance(y, str) and y in table.column_names:
        table, y = table.drop_columns([y]), table.column(y)
    if y is None:
        return table, None
    labels = np.asarray(y)
    if labels.shape != (table.num_rows,):
        raise ValueError(f"X has {table.num_rows} rows, but y is of shape {labels.shape}")
    return table, labels


def codes(labels: npt.NDArray[Any], classes: npt.NDArray[Any]) -> Int64:
    """The position of each label among the classes.

    Raises ValueError for a label that is not one of the classes.
    """
    positions = {name: k for k, name in enumerate(classes.tolist())}
    for name in labels.tolist():
        if name not in positions:
            raise ValueError(f"y has the label {name!r}, which is not one of the classes")
    return np.array([positions[name] for name in labels.tolist()], np.int64)


# ---- models of naively ---------------------------------------------------------------------------


def model_of(estimator: Any, feature_names: Sequence[str] | None = None) -> Model:
    """The model of a fitted estimator of naively, with names of its columns.

    `feature_names`: for a model that was fitted to an array; x0, x1, ... by default. Raises
    TypeError if it is no such estimator; ValueError if it is not fitted, or all rows were
    forgotten; if the names do not fit.
    """
    model = getattr(estimator, "model_", None)
    if not isinstance(model, Model):
        fitted = getattr(estimator, "__sklearn_is_fitted__", lambda: True)
        if type(estimator).__module__.startswith("naively.") and not fitted():
            raise ValueError(f"this {type(estimator).__name__} is not fitted yet: call fit first")
        raise TypeError(f"{type(estimator).__name__} is not a generative model of naively")
    if model.schema.reasons is None:
        model = _named(model, feature_names)
    elif feature_names is not None:
        raise ValueError(
            "feature_names are for models of arrays; this one has the names of its columns"
        )
    check_classes(model.classes)
    return model


def check_classes(classes: Any) -> None:
    """Raise ValueError if there are none."""
    if len(classes) == 0:
        raise ValueError("every row was forgotten: the model has no class")


def _named(model: Model, feature_names: Sequence[str] | None) -> Model:
    """A model of an array as one of a table."""
    given = model.schema.names if feature_names is None else feature_names
    names = [str(name) for name in given]
    if len(names) != model.n_features or len(set(names)) < len(names):
        raise ValueError(
            f"the {model.n_features} features need as many different names, not {few(names)}"
        )
    return model.read_as(model.schema.named(names, ()))


def part_of(model: Model, name: str) -> tuple[Any, int]:
    """The parameters of the block of a feature, and the feature's position in it."""
    return next(
        (parameters, block.names.index(name))
        for block, parameters in model.posterior().blocks
        if name in block.names
    )


def log_density(model: Model, columns: dict[str, Any]) -> Float64:
    """log p(x | c) of rows with all other features missing, (C, n), in nats."""
    posterior = model.posterior()
    X = Predictor(posterior).encode(pa.table(columns))
    parameters = posterior.parameters
    out = np.empty((len(model.classes), X.shape[0]))
    parameters.log_prob(X, 0, X.shape[0], out)
    return out + parameters.log_base(X)


def feature(model: Model, selector: Any, among: Sequence[str]) -> str:
    """The name of a feature that is given by its name or its position in the table.

    Raises ValueError if it is none of `among`.
    """
    names = model.schema.ordered
    if isinstance(selector, int | np.integer) and 0 <= selector < len(names):
        selector = names[selector]
    if selector in among:
        return str(selector)
    raise ValueError(
        f"{selector!r} is not one of the features that can be shown: {few(list(among))}"
    )


def displayed(
    model: Model, features: Sequence[Any] | Any | None, among: Sequence[str], most: int
) -> list[str]:
    """The given features, or all of `among`; if those are too many, the most informative ones."""
    if features is not None:
        selectors = [features] if isinstance(features, str | int | np.integer) else list(features)
        return [feature(model, selector, among) for selector in selectors]
    if len(among) <= most:
        return list(among)
    information = bits(model.posterior())
    top = sorted(among, key=lambda name: -information[name])[:most]
    return [name for name in among if name in top]


# ---- predictions ---------------------------------------------------------------------------------


def check_predicts(estimator: Any) -> None:
    """Raise TypeError without `predict_proba`; ValueError if not fitted, or without classes."""
    kind = type(estimator).__name__
    if not hasattr(estimator, "predict_proba"):
        raise TypeError(f"{kind} has no predict_proba, which the display needs")
    if not getattr(estimator, "__sklearn_is_fitted__", lambda: True)():
        raise ValueError(f"this {kind} is not fitted: call `fit` first")
    check_classes(estimator.classes_)


def predicted_probabilities(estimator: Any, X: Any, y: Any) -> tuple[Any, Float64]:
    """(the labels of test data, P(c | x) by a fitted classifier).

    Raises TypeError if it has no `predict_proba`; ValueError if it is not fitted.
    """
    check_predicts(estimator)
    labels = to_arrow(X).column(y) if isinstance(y, str) else y
    return labels, estimator.predict_proba(X)


def checked_probabilities(
    y_true: Any, y_prob: Any, classes: Any = None
) -> tuple[Int64, Float64, npt.NDArray[Any]]:
    """(the class of each row, P(c | x), the labels of the classes).

    Raises ValueError if shapes do not fit, there are no rows, labels are none of the classes, or
    `y_prob` has numbers that are not probabilities.
    """
    labels, proba = np.asarray(y_true), np.asarray(y_prob, np.float64)
    class_labels = np.unique(labels) if classes is None else np.asarray(classes)
    if labels.ndim != 1 or len(labels) == 0 or proba.shape != (len(labels), len(class_labels)):
        raise ValueError(
            f"y_prob must be of shape (n, {len(class_labels)}), a probability for each row and "
            f"class, with n > 0; it is {proba.shape}, and y_true {labels.shape}"
        )
    if not ((proba >= 0).all() and np.allclose(proba.sum(axis=1), 1.0)):
        raise ValueError("y_prob must hold probabilities >= 0 that sum to 1 in each row")
    return codes(labels, class_labels), proba, class_labels
