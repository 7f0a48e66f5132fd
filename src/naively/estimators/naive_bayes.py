"""`NaiveBayes`: any table, each column with the family that fits it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import Any, Literal, Self, cast

from naively.core.prior import ClassWeight, Given, Virtual
from naively.estimators.shared.table import TableClassifier
from naively.families.base import AnyFamily, Family
from naively.families.discrete.categorical import Unseen
from naively.io.inputs import MISSING


@dataclass(eq=False, repr=False)
class NaiveBayes(TableClassifier):
    """Naive Bayes for any table: mixed columns, missing values, unseen levels.

    The independence assumption lets each column have a family of its own. Which one follows from
    all rows that were learned, in any order and batches, by `naively.core.column_types`;
    ``model_.schema.why`` says why, and `columns` overrules it. Values that a column's family cannot
    take count as missing, with a warning.

    Parameters
    ----------
    columns : dict, optional
        A `Family`, the name of one, or "skip" for columns whose family is not to be inferred. A
        tuple of columns is one block for a family such as ``Multinomial()`` or ``Joint()``.
    family : None, "auto", str or Family
        Of the columns of numbers that `columns` does not name: None for the rule; "auto" for the
        one that predicts held-out rows best, column by column; or the family itself. One of levels,
        such as ``Categorical(alpha=0)``, is also that of the columns of categories.
    weights : None or "auto"
        None: each column counts as it is, which is what naive means. "auto": columns are weighed by
        how left-out rows are predicted. It is the model of ``AutoBayes(interactions=0)``, steps 1
        and 2 of docs/evidence.md, which keeps the rows: so it takes no `family`, and `columns` can
        only skip some.
    categorical, numeric : sequence of str
        Names of columns that are categorical although their values are numbers, such as codes; or
        numeric, whatever they look like: what is no number in them is missing. Types that a frame
        or file declares (pandas' category, Arrow's dictionary, the Enum and Categorical of polars,
        nominal columns of ARFF) hold without that.
    alpha : float, dict or "auto"
        Virtual counts of each category, for inferred families; "auto" as in `MultinomialNB`. A dict
        is by column, as ``{"size": 2, "job": {"clerk": 3}}``: a number, or a dict by category of
        numbers or of numbers by class, which are the virtual examples mQ of lecture 2. Columns,
        categories and classes that it does not name have 1.
    prior : "empirical", "uniform", probabilities in the order of the classes, or a dict by class
        Of a dict one class may be left out: it gets the rest.
    prior_smoothing : float, sequence or dict
        Virtual examples of each class: of all, in the order of the classes, or by class.
    class_weight : None, "balanced" or dict
        Weights of the rows of each class, 1 of those that a dict does not name; "balanced" gives
        all classes the same total. They change the class prior alone: P(c | x) is multiplied by
        the weight of c and divided by the sum.
    unseen : "smooth", "ignore" or "error"
        What a level does at prediction that was never learned; see `Categorical`.
    missing : sequence of str
        Text that means a missing value, besides NaN and null.
    n_jobs : int, optional
        Threads; the result is the same for any number. None for all processors.

    Notes
    -----
    The parameters of families have nested names, for searches such as `GridSearchCV`:
    ``family__alpha``, and ``columns__body__alpha`` with ``columns={"body": Text()}``, where
    ``columns__body`` is the family itself. The columns of a tuple are joined by commas:
    ``columns__a,b__alpha``. Names may hold ``__``: what follows the last one is the parameter,
    unless all of it is the name of a column.

    Attributes
    ----------
    classes_ : (C,) the labels met so far, sorted.
    feature_names_in_ : names of the columns that were given, if they had names.
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
    prior: Given = "empirical"
    prior_smoothing: Virtual = 0.0
    class_weight: ClassWeight = None
    unseen: Unseen = "smooth"
    missing: Sequence[str] = MISSING
    n_jobs: int | None = None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters; if `deep`, those of the families in them too: see the class."""
        params = super().get_params(deep)
        if deep:
            for name in ("columns", "family", "alpha"):  # others are by class
                params = _inside(name, getattr(self, name)) | params
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by their names, nested ones too: see the class."""
        known = self._get_param_names()
        nested: dict[str, dict[str, Any]] = {}
        for path in [path for path in params if "__" in path]:
            name, _, within = path.partition("__")
            if name in known:
                nested.setdefault(name, {})[within] = params.pop(path)
        super().set_params(**params)
        for name, changes in nested.items():
            setattr(self, name, _replaced(name, getattr(self, name), changes))
        return self


# ---- parameters inside parameters, by scikit-learn's nested names --------------------------------


def _inside(name: str, value: Any) -> dict[str, Any]:
    """All that a parameter holds, by nested name: families by column, parameters of families."""
    if isinstance(value, Family):
        return {f"{name}__{own}": getattr(value, own) for own in _own(value)}
    if not isinstance(value, Mapping):
        return {}
    columns = {f"{name}__{_called(key)}": family for key, family in value.items()}
    found: dict[str, Any] = {}
    for column, family in columns.items():
        found |= _inside(column, family)
    return found | columns


def _replaced(name: str, value: Any, changes: Mapping[str, Any]) -> Any:
    """A parameter of this name with other things inside: families and dicts stay as they were.

    Parameters
    ----------
    changes : what to replace, by its name inside.

    Raises
    ------
    ValueError : if there is no such thing inside, or a family refuses its parameters.
    """
    if isinstance(value, Mapping):
        keys = {_called(key): key for key in value}
        new, deeper = dict(value), defaultdict[str, dict[str, Any]](dict)
        for path, one in changes.items():
            if path in keys:
                new[keys[path]] = one
            else:
                column, _, own = path.rpartition("__")
                deeper[column][own] = one
        for column, those in deeper.items():
            if column not in keys:
                known = ", ".join(map(repr, keys))
                raise ValueError(f"Invalid parameter: `{name}` has no {column!r}, only {known}")
            key = keys[column]
            new[key] = _replaced(f"{name}__{column}", new[key], those)
        return new
    if not isinstance(value, Family):
        raise ValueError(
            f"Invalid parameter: `{name}` is {value!r}, which has no parameters; "
            "a family has, such as Text() or Gaussian()"
        )
    if unknown := changes.keys() - {*_own(value)}:
        known = ", ".join(map(repr, _own(value)))
        raise ValueError(f"Invalid parameter: `{name}` has no {min(unknown)!r}, only {known}")
    return replace(cast(Any, value), **changes)


def _own(family: AnyFamily) -> list[str]:
    """The names of a family's parameters."""
    return [one.name for one in fields(cast(Any, family))]


def _called(key: Any) -> str:
    """What a column, or a tuple of them, is called in nested names."""
    return key if isinstance(key, str) else ",".join(map(str, key))
