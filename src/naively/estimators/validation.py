"""From what people pass to what the models take, with errors that say what and where."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, column_or_1d, validate_data

from naively.exact import Float64
from naively.families.base import Data

KERNEL_TYPES = {np.dtype(code) for code in ("f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4")}


def is_ready(estimator: BaseEstimator, X: Any) -> bool:
    """Whether X needs no conversion nor further checks: the fast way for small batches."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype in KERNEL_TYPES
        and X.shape[0] > 0
        and X.shape[1] == getattr(estimator, "n_features_in_", -1)
        and not hasattr(estimator, "feature_names_in_")
    )


def check_data(estimator: BaseEstimator, X: Any, *, reset: bool, sparse: bool = True) -> Data:
    """A 2-d array of real numbers, or a CSR matrix without duplicate entries; NaN is missing.

    Raises
    ------
    ValueError : saying what is wrong with X and where.
    """
    if not reset and is_ready(estimator, X):
        return X
    try:
        checked = validate_data(
            estimator, X, reset=reset, accept_sparse="csr" if sparse else False,
            dtype="numeric", ensure_all_finite=False,
        )  # fmt: skip
        if isinstance(checked, np.ndarray):
            return _native(checked)
    except ValueError as error:
        place = _first_text(X)
        if place is None:
            raise
        raise ValueError(f"X must hold numbers, but {place}: {error}") from None
    X = checked
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    native = _native(X.data)
    if native is not X.data:
        X = type(X)((native, X.indices, X.indptr), shape=X.shape)
    return X


def check_labels(y: Any, n_rows: int) -> npt.NDArray[Any]:
    """A 1-d array of labels.

    Raises
    ------
    ValueError : saying what is wrong with y and where.
    """
    if type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "iub" and len(y) == n_rows:
        return y
    y = column_or_1d(y, warn=True)
    if len(y) != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows, "
            f"y has {len(y)}"
        )
    for row, label in enumerate(y.tolist() if y.dtype.kind in "Of" else ()):
        if _is_missing(label):
            raise ValueError(f"Input y contains NaN: the label of row {row} is missing")
        if label in (np.inf, -np.inf):
            raise ValueError(f"Input y contains infinity: the label of row {row} is {label}")
    check_classification_targets(y)
    return y


def check_weights(sample_weight: Any, X: Data) -> Float64 | None:
    """Non-negative float64 weights, (n,), or None.

    Raises
    ------
    ValueError : naming the row of a weight that is negative or not finite.
    """
    if sample_weight is None:
        return None
    weights = np.ascontiguousarray(_check_sample_weight(sample_weight, X, dtype=np.float64))
    if (weights < 0).any():
        row = int((weights < 0).argmax())
        raise ValueError(f"Negative values in sample_weight: row {row} weighs {weights[row]:g}")
    if not weights.any():
        raise ValueError("All values of sample_weight are zero: no class has any rows")
    return weights


def _is_missing(label: Any) -> bool:
    """Whether a label is None, NaN, NaT or pandas' NA."""
    try:
        return label is None or bool(label != label)
    except TypeError:  # NA has no truth
        return True


def _native(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Values of a type that the kernels are compiled for; the same array where it is one."""
    if values.dtype in KERNEL_TYPES:
        return values
    if values.dtype.kind == "b":
        return values.view(np.uint8)
    if values.dtype == np.float16:
        return values.astype(np.float32)
    if values.dtype.kind in "iuf":
        return values.astype(np.float64 if values.dtype.kind != "i" else np.int64)
    raise ValueError(f"X must hold real numbers, not {values.dtype}")


def _first_text(X: Any) -> str | None:
    """Where the first value is that is no number, or None."""
    names = getattr(X, "columns", None)
    table = np.asarray(X, dtype=object)
    if table.ndim != 2:
        return None
    for column in range(table.shape[1]):
        for row, value in enumerate(table[:, column].tolist()):
            if isinstance(value, str | bytes):
                name = column if names is None else repr(names[column])
                return f"row {row}, column {name} is {value!r}"
    return None
