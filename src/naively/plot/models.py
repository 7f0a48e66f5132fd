"""What displays ask of a fitted estimator, whatever its kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from naively.exact import Float64, Int64
from naively.families.base import Parameters
from naively.families.gaussian import Gaussian
from naively.model import Model
from naively.tables.frames import array_names, to_arrow
from naively.tables.model import TableModel
from naively.tables.names import few
from naively.tables.schema import Block
from naively.tables.telling import bits

# ---- Gaussians -----------------------------------------------------------------------------------


def gaussians(estimator: Any, names: Sequence[str] | None = None) -> tuple[Float64, Float64] | None:
    """(means, covariances) of a Gaussian estimator's classes, (C, d) and (C, d, d).

    None if it is no `GaussianNB`, `GaussianBayes` or `NaiveBayes` of Gaussian columns alone.

    Parameters
    ----------
    estimator : fitted.
    names : of the features, in the order wanted; for `NaiveBayes`.
    """
    found = _gaussians(estimator, names)
    if found is None:
        return None
    means, spread = found
    if spread.ndim < 3:
        spread = spread[:, :, np.newaxis] * np.eye(means.shape[1])
    return means, np.broadcast_to(spread, (*means.shape, means.shape[1]))


def variances(estimator: Any) -> tuple[Float64, Float64] | None:
    """(means, variances) of a Gaussian estimator's classes, (C, d) each; None if it is none."""
    found = _gaussians(estimator, None)
    if found is None:
        return None
    means, spread = found
    if spread.ndim == 3:
        spread = np.diagonal(spread, axis1=1, axis2=2)
    return means, np.broadcast_to(spread, means.shape)


def _gaussians(estimator: Any, names: Sequence[str] | None) -> tuple[Float64, Float64] | None:
    """(means, what says how they spread): (C, d), and (C or 1, d, d) or (C or 1, d or 1)."""
    if hasattr(estimator, "theta_") and hasattr(estimator, "var_"):
        return np.asarray(estimator.theta_), np.asarray(estimator.var_)
    if hasattr(estimator, "table_"):
        return _of_columns(estimator.table_, names)
    kind = getattr(estimator, "covariance", None)
    if not isinstance(kind, str) or not hasattr(estimator, "covariance_"):
        return None
    spread = np.asarray(estimator.covariance_, np.float64)
    if kind.startswith("tied"):
        spread = spread[np.newaxis]
    if kind.endswith("spherical"):
        spread = spread[..., np.newaxis]
    return np.asarray(estimator.means_), spread


def _of_columns(table: TableModel, names: Sequence[str] | None) -> tuple[Float64, Float64] | None:
    """Those of a table all of whose columns are Gaussian."""
    if any(type(family) is not Gaussian for family in table.schema.known.values()):
        return None
    found = {
        name: (part.mean[:, k], part.variance[:, k])
        for block, part in parts(table)
        for k, name in enumerate(block.names)
    }
    chosen = table.schema.ordered if names is None else names
    if not set(chosen) <= set(found):
        return None
    means, spread = zip(*(found[name] for name in chosen), strict=True)
    return np.array(means).T, np.array(spread).T


# ---- rows ----------------------------------------------------------------------------------------


def rows(X: Any, y: Any) -> tuple[pa.Table, npt.NDArray[Any] | None]:
    """(the features of a table of any kind, the labels of its rows or None).

    `y` may name the column of X that has them.

    Raises
    ------
    ValueError : if there are not as many labels as rows.
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
    """The position among the classes of each label.

    Raises
    ------
    ValueError : naming a label that is none of the classes.
    """
    known = {name: k for k, name in enumerate(classes.tolist())}
    for name in labels.tolist():
        if name not in known:
            raise ValueError(f"y has the label {name!r}, which is none of the classes")
    return np.array([known[name] for name in labels.tolist()], np.int64)


# ---- any model of naively ------------------------------------------------------------------------


def table_of(estimator: Any, feature_names: Sequence[str] | None = None) -> TableModel:
    """What a fitted estimator of naively learned, as a model of a table.

    Parameters
    ----------
    estimator : fitted.
    feature_names : of a model that learned from an array; x0, x1, ... by default.

    Raises
    ------
    TypeError : if it is no such estimator.
    ValueError : if it is not fitted, or all was forgotten; if the names do not fit.
    """
    table = getattr(estimator, "table_", None)
    model = getattr(estimator, "model_", None)
    if table is None and not isinstance(model, Model):
        fitted = getattr(estimator, "__sklearn_is_fitted__", lambda: True)
        if type(estimator).__module__.startswith("naively.") and not fitted():
            raise ValueError(f"this {type(estimator).__name__} is not fitted yet: call fit first")
        raise TypeError(f"{type(estimator).__name__} is no generative model of naively")
    if not isinstance(table, TableModel):
        table = _of_array(model, feature_names)
    elif feature_names is not None:
        raise ValueError("feature_names are for models of arrays; this one knows its columns")
    check_classes(table.model.classes)
    return table


def check_classes(classes: Any) -> None:
    """Raise ValueError if there are none."""
    if len(classes) == 0:
        raise ValueError("every row was forgotten: the model knows no class")


def _of_array(model: Any, given: Sequence[str] | None) -> TableModel:
    """A model of an array as one of a table."""
    names = model.feature_names or array_names(model.n_features)
    if given is not None:
        names = [str(name) for name in given]
    if len(names) != model.n_features or len(set(names)) < len(names):
        raise ValueError(
            f"the {model.n_features} features need as many different names, not {few(names)}"
        )
    return TableModel.of_array(model, names)


def parts(table: TableModel) -> Iterator[tuple[Block, Any]]:
    """(block of columns, its parameters)."""
    parameters: Any = table.model.parameters
    return zip(table.schema.blocks, parameters.parts, strict=True)


def part_of(table: TableModel, name: str) -> tuple[Parameters, int]:
    """(the parameters of the block that a feature is in, the feature's position there)."""
    return next(
        (own, block.names.index(name)) for block, own in parts(table) if name in block.names
    )


def log_density(table: TableModel, columns: dict[str, Any]) -> Float64:
    """log p(x | c) of rows in which all other features are missing, (C, n), in nats."""
    X, _ = table.encode(pa.table(columns))
    parameters = table.model.parameters
    out = np.empty((len(table.model.classes), X.shape[0]))
    parameters.log_prob(X, 0, X.shape[0], out)
    return out + parameters.log_base(X)


def feature(table: TableModel, given: Any, among: Sequence[str]) -> str:
    """The name of a feature that is given by its name or its position in the table.

    Raises
    ------
    ValueError : if it is none of `among`, saying which these are.
    """
    names = table.schema.ordered
    if isinstance(given, int | np.integer) and 0 <= given < len(names):
        given = names[given]
    if given in among:
        return str(given)
    raise ValueError(f"{given!r} is none of the features to be shown here: {few(list(among))}")


def displayed(
    table: TableModel, given: Sequence[Any] | Any | None, among: Sequence[str], most: int
) -> list[str]:
    """The features asked for, or all of `among`; the most telling ones, if there are more."""
    if given is not None:
        listed = [given] if isinstance(given, str | int | np.integer) else list(given)
        return [feature(table, one, among) for one in listed]
    if len(among) <= most:
        return list(among)
    told = bits(table)
    chosen = sorted(among, key=lambda name: -told[name])[:most]
    return [name for name in among if name in chosen]
