"""`NaiveBayes`: naive Bayes for tables, with a distribution family for each column."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import Any, Literal, Self, cast

from naively.estimators.shared.table import TableClassifier
from naively.families.base import AnyFamily, Family
from naively.families.discrete.categorical import Unseen
from naively.io.inputs import MISSING
from naively.model.prior import ClassWeight, PriorLike, Virtual


@dataclass(eq=False, repr=False)
class NaiveBayes(TableClassifier):
    """Naive Bayes for any table: mixed column types, missing values, unseen categories.

    Each column has its own distribution family. By default the family is inferred from all
    training rows, in any order and batches, by `naively.model.column_types`;
    ``model_.schema.why`` gives the reason, and `columns` overrides it. Values that are invalid for
    the family of their column count as missing, with a warning.

    Parameters
    ----------
    columns : dict, optional
        The family of a column: a `Family`, its name, or "skip" to leave the column out. A tuple of
        columns is one block for a family such as ``Multinomial()`` or ``Joint()``. The families of
        other columns are inferred.
    family : None, "auto", str or Family
        Family of the numeric columns that `columns` does not name: None to infer it; "auto" for
        the one that predicts held-out rows best, column by column; or a family. A family for
        categories, such as ``Categorical(alpha=0)``, is also used for the categorical columns.
    weights : None or "auto"
        None: all columns have weight 1, as in naive Bayes. "auto": learn the weights by
        cross-validation. This is the model of ``AutoBayes(interactions=0)``, sections 1 and 2 of
        docs/evidence.md, which stores the rows: `family` must be None, and `columns` can only skip
        columns.
    categorical, numeric : sequence of str
        Names of columns to treat as categorical although their values are numbers, such as codes;
        or as numeric, where other values count as missing. Not needed for types that a data frame
        or file declares (pandas' category, Arrow's dictionary, Enum and Categorical of polars,
        nominal columns of ARFF).
    alpha : float, dict or "auto"
        Virtual counts of each category, for inferred families; "auto" as in `MultinomialNB`. A dict
        by column, as ``{"size": 2, "job": {"clerk": 3}}``, has numbers, or dicts by category, of
        numbers or of dicts by class: the virtual examples mQ of lecture 2. Columns, categories and
        classes that it does not name have 1.
    prior : "empirical", "uniform", probabilities in the order of the classes, or a dict by class
        A dict may omit one class, which gets the remaining probability.
    prior_smoothing : float, sequence or dict
        Virtual examples of each class: one number for all, a sequence in the order of the classes,
        or a dict by class.
    class_weight : None, "balanced" or dict
        Weights of the classes, 1 for those that a dict does not name; "balanced" gives all classes
        the same total. They change the class prior alone: P(c | x) is multiplied by the weight of
        c and normalised.
    unseen : "smooth", "ignore" or "error"
        Unseen categories are scored by the smoothed probability of count 0, or ignored like missing
        values, or raise ValueError.
    missing : sequence of str
        Strings that mean a missing value, besides NaN and null.
    n_jobs : int, optional
        Number of threads, None for all processors. The result does not depend on it.

    Notes
    -----
    The parameters of families have nested names, for searches such as `GridSearchCV`:
    ``family__alpha``, and ``columns__body__alpha`` with ``columns={"body": Text()}``, where
    ``columns__body`` is the family itself. The columns of a tuple are joined by commas:
    ``columns__a,b__alpha``. Column names may contain ``__``: the text after the last one is the
    parameter, unless the whole is the name of a column.

    Attributes
    ----------
    classes_ : (C,) class labels, sorted.
    feature_names_in_ : names of the columns of X, if X had column names.
    model_ : Model, with the schema.
    alpha_ : the smoothing of inferred families.

    Examples
    --------
    >>> from naively import NaiveBayes
    >>> table = {"outlook": ["sunny", "rain", "rain", None], "wind": [3.1, 7.2, 6.8, 5.5]}
    >>> NaiveBayes().fit(table, ["no", "yes", "yes", "yes"]).predict(table).tolist()
    ['no', 'yes', 'yes', 'yes']
    """

    _name = "NaiveBayes"

    columns: Mapping[str | tuple[str, ...], AnyFamily | str] | None = None
    _: KW_ONLY
    family: AnyFamily | str | None = None
    weights: Literal["auto"] | None = None
    categorical: Sequence[str] = ()
    numeric: Sequence[str] = ()
    alpha: float | Mapping[str, Any] | Literal["auto"] = 1.0
    prior: PriorLike = "empirical"
    prior_smoothing: Virtual = 0.0
    class_weight: ClassWeight = None
    unseen: Unseen = "smooth"
    missing: Sequence[str] = MISSING
    n_jobs: int | None = None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; if `deep`, also the nested ones of families: see the class."""
        params = super().get_params(deep)
        if deep:
            for name in ("columns", "family", "alpha"):  # others are by class
                params = _inside(name, getattr(self, name)) | params
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, including nested ones: see the class."""
        parameters = self._get_param_names()
        nested: dict[str, dict[str, Any]] = {}
        for path in [path for path in params if "__" in path]:
            name, _, parameter = path.partition("__")
            if name in parameters:
                nested.setdefault(name, {})[parameter] = params.pop(path)
        super().set_params(**params)
        for name, changes in nested.items():
            setattr(self, name, _replaced(name, getattr(self, name), changes))
        return self


# ---- nested parameters, by scikit-learn's names --------------------------------------------------


def _inside(name: str, value: Any) -> dict[str, Any]:
    """Return the nested parameters by name: families by column, parameters of families."""
    if isinstance(value, Family):
        return {f"{name}__{option}": getattr(value, option) for option in _parameters(value)}
    if not isinstance(value, Mapping):
        return {}
    columns = {f"{name}__{_called(key)}": family for key, family in value.items()}
    nested: dict[str, Any] = {}
    for column, family in columns.items():
        nested |= _inside(column, family)
    return nested | columns


def _replaced(name: str, value: Any, changes: Mapping[str, Any]) -> Any:
    """Return a copy of the parameter `name` with nested values replaced.

    Raises ValueError if a nested name does not exist, or a family refuses a value.
    """
    if isinstance(value, Mapping):
        keys = {_called(key): key for key in value}
        replaced, nested = dict(value), defaultdict[str, dict[str, Any]](dict)
        for path, change in changes.items():
            if path in keys:
                replaced[keys[path]] = change
            else:
                column, _, parameter = path.rpartition("__")
                nested[column][parameter] = change
        for column, column_changes in nested.items():
            if column not in keys:
                valid = ", ".join(map(repr, keys))
                raise ValueError(f"Invalid parameter: `{name}` has no {column!r}, only {valid}")
            key = keys[column]
            replaced[key] = _replaced(f"{name}__{column}", replaced[key], column_changes)
        return replaced
    if not isinstance(value, Family):
        raise ValueError(
            f"Invalid parameter: `{name}` is {value!r}, which has no parameters; "
            "a family has, such as Text() or Gaussian()"
        )
    if unknown := changes.keys() - {*_parameters(value)}:
        valid = ", ".join(map(repr, _parameters(value)))
        raise ValueError(f"Invalid parameter: `{name}` has no {min(unknown)!r}, only {valid}")
    return replace(cast(Any, value), **changes)


def _parameters(family: AnyFamily) -> list[str]:
    """Return the names of the family's parameters."""
    return [field.name for field in fields(cast(Any, family))]


def _called(key: Any) -> str:
    """Return the nested name of a column, or of a tuple of columns."""
    return key if isinstance(key, str) else ",".join(map(str, key))
