"""Check the input of estimators: arrays, sparse matrices, documents, labels and weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from numbers import Number
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.sparse import csr_matrix, issparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d, validate_data

from naively.core.exact import Float64
from naively.core.issues import MOST_WEIGHT
from naively.core.labels import LabelSets, check_ends, check_kinds, check_whole, mixes_text
from naively.core.workers import Workers
from naively.io.frames import is_stream, refuse_dask, refuse_path
from naively.kernels import sums
from naively.model.model import Model
from naively.model.posterior import Posterior
from naively.statistics.base import Data
from naively.tables.values import is_nothing, joined
from naively.text.documents import Documents


def label_sets(y: Any, n_rows: int) -> tuple[LabelSets, bool]:
    """Check multilabel targets. Returns (the labels of each row, whether y is a matrix).

    Raises ValueError if y is neither lists of labels nor a matrix of 0 and 1 with `n_rows` rows.
    """
    if y is None:
        raise ValueError("MultilabelNB requires y to be passed, but the target y is None")
    refuse_masked("y", y)
    if issparse(y) or len(getattr(y, "shape", ())) == 2:
        sets = _of_matrix(y)
        if hasattr(y, "columns"):
            sets = _named(sets, [*y.columns])
    else:
        sets = LabelSets.of_lists(_cells(y))
    if len(sets) != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} "
            f"documents, y has {len(sets)}"
        )
    return sets, issparse(y) or len(getattr(y, "shape", ())) == 2


def _of_matrix(y: Any) -> LabelSets:
    """Convert an indicator matrix to label sets; labels are the column numbers."""
    sparse = issparse(y)
    matrix: Any = csr_matrix(y) if sparse else np.asarray(y)
    values: Any = matrix.data if sparse else matrix
    try:
        invalid = ~np.isin(values.astype(np.float64), (0.0, 1.0))
    except (TypeError, ValueError):
        invalid = np.ones(values.shape, np.bool_)
    if invalid.any():
        place = ""
        if not sparse:
            row, column = np.argwhere(invalid)[0].tolist()
            place = f" in row {row}, column {column}"
        value = values[invalid].ravel()[0]
        raise ValueError(f"y holds {value!r}{place}, where an indicator matrix is of 0 and 1")
    labels = np.arange(matrix.shape[1], dtype=np.int64)
    if not sparse:
        return LabelSets.of_indicator(labels, values.astype(np.float64) == 1.0)
    matrix = matrix.astype(np.float64)  # a copy
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return LabelSets(labels, matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64))


def _named(sets: LabelSets, columns: list[Any]) -> LabelSets:
    """Name the labels of a matrix by its columns; ValueError unless names are distinct."""
    if len({*columns}) < len(columns) or len({isinstance(name, str) for name in columns}) > 1:
        raise ValueError(f"the columns of y are labels, and must be different: {columns}")
    labels = LabelSets.of_lists([columns], "the frame y").labels
    place = {name: k for k, name in enumerate(columns)}
    order = [place[label] for label in labels.tolist()]
    return LabelSets.of_indicator(labels, sets.indicator()[:, order])


def _cells(y: Any) -> list[Any]:
    """Convert y to a list of labels for each row."""
    if isinstance(y, pa.Array | pa.ChunkedArray):
        y = y.to_pylist()
    elif hasattr(y, "to_list"):
        y = y.to_list()
    elif isinstance(y, str | bytes | Mapping) or not hasattr(y, "__iter__"):
        raise ValueError(f"y must hold a list of labels for each document, not {y!r}")
    rows = list(y)
    for row, labels in enumerate(rows):
        is_array = isinstance(labels, np.ndarray) and labels.ndim == 1
        if is_array or isinstance(labels, list | tuple | set | frozenset):
            continue
        if labels is None or (isinstance(labels, float) and labels != labels):
            raise ValueError(
                f"the labels of row {row} are missing: write [] for a document that has none"
            )
        raise ValueError(
            f"row {row} of y is {labels!r}, where each document has a list of labels, as "
            '["grain", "trade"]; text is to be split before'
        )
    return rows


# ---- validation ----------------------------------------------------------------------------------


MOST_COLUMNS = 2**24  # a table with an int64 for each takes 128 MiB
KERNEL_TYPES = {np.dtype(code) for code in ("f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4")}


def is_ready(estimator: BaseEstimator, X: Any) -> bool:
    """Whether X needs no conversion or further checks: a fast path for small batches."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype in KERNEL_TYPES
        and X.shape[0] > 0
        and X.shape[1] == getattr(estimator, "n_features_in_", -1)
        and not hasattr(estimator, "feature_names_in_")
    )


def check_data(estimator: BaseEstimator, X: Any, *, reset: bool, sparse: bool = True) -> Data:
    """Convert X to a 2-d array of real numbers, or a CSR matrix without duplicate entries.

    NaN is a missing value. Raises ValueError if X is not numeric or does not fit the estimator.
    """
    if not reset and is_ready(estimator, X):
        return X
    refuse_stream(X)
    refuse_path(X)
    refuse_dask(X)
    _refuse_fields(X)
    X = _with_nan(X)
    try:
        checked = validate_data(
            estimator, X, reset=reset, accept_sparse="csr" if sparse else False,
            dtype="numeric", ensure_all_finite=False,
        )  # fmt: skip
        if isinstance(checked, np.ndarray):
            return _native(checked)
    except ValueError as error:
        if (dimensions := getattr(X, "ndim", 2)) > 2:  # images, for instance
            raise ValueError(
                f"{error} Reshape your data: X has {dimensions} dimensions, a table has 2; pass "
                "X.reshape(len(X), -1)"
            ) from None
        place = _first_text(X)
        if place is None:
            raise
        raise ValueError(f"X must hold numbers, but {place}: {error}") from None
    return _checked_csr(checked)


def _refuse_fields(X: Any) -> None:
    """Raise ValueError for a structured array, whose columns have names and types."""
    if names := getattr(getattr(X, "dtype", None), "names", None):
        raise ValueError(
            f"X is a structured array with the fields {', '.join(names[:5])}: pass a frame, as "
            "pandas.DataFrame(X)"
        )


def _checked_csr(X: Any) -> Any:
    """Check a CSR matrix for the kernels: indices in range, no duplicates, native values."""
    invalid = X.indptr[0] != 0 or X.indptr[-1] > len(X.indices) or (np.diff(X.indptr) < 0).any()
    unsigned = X.indices.view(f"u{X.indices.itemsize}")  # negative indices are huge
    if invalid or unsigned.max(initial=0) >= max(X.shape[1], 1):
        problem = f"its indices do not fit its shape, {X.shape}"
        raise ValueError(f"X is not a valid CSR matrix: {problem}")
    values = _native(X.data)
    # searching duplicates is much faster than sorting all rows, which is needed only to sum them
    if not X.has_canonical_format and (
        X.shape[1] > MOST_COLUMNS
        or sums.has_duplicates(X.indices, X.indptr, np.zeros(X.shape[1], np.int64))
    ):
        dtype = np.float64 if values.dtype.kind == "f" else np.int64  # sums must not overflow
        X = type(X)((values.astype(dtype), X.indices.copy(), X.indptr.copy()), shape=X.shape)
        X.sum_duplicates()
    elif values is not X.data:
        X = type(X)((values, X.indices, X.indptr), shape=X.shape)
    return X


def documents_of(X: Any) -> Documents:
    """Convert X to `Documents`, with its errors; ValueError for a stream."""
    if isinstance(X, Documents):
        return X
    refuse_stream(X)
    refuse_dask(X)
    return Documents.of(X)


def refuse_stream(X: Any) -> None:
    """Raise ValueError if X is a stream, where rows in memory are needed."""
    if is_stream(X):
        raise ValueError(
            f"X is a stream ({type(X).__name__}), where rows in memory are needed: "
            "naively.scan(X).batches() gives them in parts, from which partial_fit trains the same "
            "model, and naively.scan(X).to_table() all of them"
        )


def require_labels(estimator: BaseEstimator, y: Any) -> None:
    """Raise ValueError if y is None, with scikit-learn's message."""
    if y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y "
            "is None"
        )


def check_labels(y: Any, n_rows: int) -> npt.NDArray[Any]:
    """Convert y to a 1-d array of labels.

    Raises ValueError if y has another length, missing or infinite labels, or mixed types.
    """
    if (
        type(y) is np.ndarray
        and y.shape == (n_rows,)
        and y.dtype.kind in "iub"
        and y.dtype.isnative
    ):
        return y
    refuse_masked("y", y)
    if isinstance(y, pa.ChunkedArray):
        y = np.asarray(joined(y))
    if getattr(getattr(y, "dtype", None), "kind", "") == "T":  # unknown to scikit-learn
        y = y.tolist()
    if not isinstance(y, np.ndarray) or y.dtype.kind == "O":  # before NumPy converts all to text
        cells = np.asarray(y, object)
        check_ends(cells.ravel())
        if mixes_text(cells.ravel()):
            y = cells  # NaN would be "nan", and 1 the class "1"
    y = column_or_1d(y, warn=True)
    if len(y) != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows, "
            f"y has {len(y)}"
        )
    if y.dtype.kind == "f":
        missing, infinite = np.isnan(y), np.isinf(y)
        if infinite.any():
            raise ValueError(f"Input y contains infinity: in row {int(infinite.argmax())}")
    elif y.dtype.kind == "O":
        missing = np.fromiter(map(is_nothing, y.tolist()), bool, len(y))
    elif y.dtype.kind in "mM":
        missing = np.isnat(y)
    else:
        missing = np.zeros(1, bool)
    if missing.any():
        row = int(missing.argmax())
        raise ValueError(f"Input y contains NaN: the label of row {row} is missing")
    check_whole(y)
    check_kinds(y)
    check_classification_targets(y)
    return y.astype(y.dtype.newbyteorder("="), copy=False)


@contextmanager
def naming(estimator: BaseEstimator) -> Iterator[None]:
    """Name the estimator in errors about negative values, as scikit-learn does."""
    try:
        yield
    except ValueError as error:
        if "Negative values in data" not in str(error):
            raise
        place = f"in data passed to {type(estimator).__name__}"
        raise ValueError(str(error).replace("in data", place, 1)) from None


def check_classes(classes: npt.NDArray[Any], least: int) -> None:
    """Raise ValueError if there are fewer than `least` classes, 1 or 2."""
    if len(classes) == 0:
        raise ValueError("y has no labels: all of them are missing")
    if len(classes) < least:
        only = classes.tolist()[0]
        raise ValueError(f"y has only one class ({only!r}), where two or more are needed")


def check_total(weights: Float64 | None, what: str) -> None:
    """Raise ValueError if all weights are zero."""
    if weights is not None and not weights.any():
        raise ValueError(f"All values of sample_weight are zero: no class has any {what}")


def refuse_masked(name: str, values: Any) -> None:
    """Raise ValueError if values are masked, where none may be missing."""
    if np.ma.is_masked(values):
        row = int(np.ma.getmaskarray(values).argmax())
        raise ValueError(f"Input {name} contains NaN: row {row} is masked, that is, missing")


def check_weights(sample_weight: Any, n: int) -> Float64 | None:
    """Convert to float64 weights from 0 to `MOST_WEIGHT` of n rows, (n,), or None.

    Raises ValueError for another shape, or an invalid weight, with its row.
    """
    if sample_weight is None:
        return None
    refuse_masked("sample_weight", sample_weight)
    if isinstance(sample_weight, Number):
        sample_weight = np.full(n, sample_weight, np.float64)
    weights: Float64 = check_array(
        sample_weight, dtype=np.float64, order="C", ensure_2d=False, ensure_min_samples=0,
        input_name="sample_weight",
    )  # fmt: skip
    if weights.shape != (n,):
        problem = f"must be a 1D array of {n} weights: its shape is {weights.shape}"
        raise ValueError(f"sample_weight {problem}")
    if (weights < 0).any():
        row = int((weights < 0).argmax())
        raise ValueError(f"Negative values in sample_weight: row {row} weighs {weights[row]:g}")
    if (weights > MOST_WEIGHT).any():
        row = int(weights.argmax())
        problem = f"must be from 0 to {MOST_WEIGHT:g}: row {row} weighs {weights[row]:g}"
        raise ValueError(f"sample_weight {problem}")
    return weights


def settled(model: Model, jobs: Workers) -> Posterior:
    """Return the posterior of the current model.

    Raises NotFittedError if all classes were forgotten. It is a ValueError, and an AttributeError:
    `dir` and notebooks skip attributes that are not available.
    """
    if len(model.classes):
        posterior = model.posterior(jobs)
        if len(posterior.classes):  # another thread may have forgotten all rows meanwhile
            return posterior
    raise NotFittedError("every row was forgotten: the model has no class")


def _with_nan(X: Any) -> Any:
    """Replace masked values by NaN."""
    if not np.ma.is_masked(X) or X.dtype.kind not in "biufO":
        return X
    kind = np.float64 if X.dtype.kind in "biu" else X.dtype
    return X.astype(kind).filled(np.nan)


def _native(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Convert values to a type that the kernels are compiled for, without a copy if possible."""
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
    """Return the place and value of the first string in X, for messages; None if there is none."""
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
