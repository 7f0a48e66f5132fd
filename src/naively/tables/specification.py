"""Translate the parameters of an estimator into column options, text family and class prior."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from numbers import Real
from typing import Any

from naively.families.auto_bayes.pooled import Pooled
from naively.families.discrete.joint import Joint
from naively.families.text.text import Text
from naively.families.text.weighed_text import WeighedText
from naively.io.inputs import MISSING
from naively.model.prior import Prior
from naively.tables.declared import declared_by_user
from naively.tables.inference import ColumnOptions
from naively.tables.names import named

Parameters = Mapping[str, Any]
LABEL_OPTIONS = [field.name for field in fields(Text) if field.name not in ("reference", "norm")]
"""Parameters of the text family that `MultilabelNB` takes."""


@dataclass(frozen=True)
class EstimatorSpec:
    """The name and the parameters of an estimator, as stored in a model file.

    Estimators, the command line and clusters all train from it, so that equal parameters give
    equal models, bit for bit.

    name : AutoBayes, NaiveBayes, JointBayes (tables) or MultilabelNB (texts).
    params : the parameters; defaults apply to those that are absent.
    """

    name: str
    params: Parameters

    def columns(self, chosen: Any = 1.0) -> ColumnOptions:
        """Return the options of the columns of a table.

        Raises ValueError if parameters are invalid or contradict each other.

        chosen : the smoothing to use for alpha="auto".
        """
        return READERS[self.name](self.params, chosen)

    @property
    def label_family(self) -> Text:
        """The text family of `MultilabelNB`. Raises ValueError for invalid parameters."""
        weights, alpha = self.params.get("weights", "auto"), self.params.get("alpha")
        if weights not in (None, "auto"):
            raise ValueError(f'weights must be "auto" or None, not {weights!r}')
        if alpha is None or _is_auto(alpha):
            alpha = 1.0 if weights is None else None
        kind = Text if weights is None else WeighedText
        family = kind(**_present(self.params, *LABEL_OPTIONS) | {"alpha": alpha})
        family.check_labels()
        return family

    @property
    def prior(self) -> Prior:
        """The class prior. Raises ValueError if it is invalid."""
        return Prior(
            self.params.get("prior", "empirical"), self.params.get("prior_smoothing", 0.0),
            self.params.get("class_weight"),
        )  # fmt: skip


def _auto_bayes(params: Parameters, chosen: Any) -> ColumnOptions:
    text = params.get("text")
    text = () if text is None else text
    is_list = isinstance(text, Iterable) and not isinstance(text, str)
    if not is_list or not all(isinstance(name, str) for name in text):
        raise ValueError(f"text is a list of names of columns, as ['title'], not {text!r}")
    monotone, types = _monotone(params), _types(params)
    for name, _ in monotone:
        if types.setdefault(name, "numeric") == "categorical":
            raise ValueError(f"column {name!r} cannot be monotone, as it is categorical")
    options = _present(params, "interactions", "limit")
    pooled = Pooled(text=tuple(text), monotone=monotone, **options)
    return ColumnOptions({}, whole=pooled, missing=_missing(params), types=types)


def _naive_bayes(params: Parameters, chosen: Any) -> ColumnOptions:
    columns, family = dict(params.get("columns") or {}), params.get("family")
    alpha, weights = params.get("alpha", 1.0), params.get("weights")
    if weights not in (None, "auto"):
        raise ValueError(f'weights must be None or "auto", not {weights!r}')
    if weights is not None:
        smooths = _is_auto(alpha) or isinstance(alpha, Mapping)
        if family is not None or smooths or {*map(str, columns.values())} - {"skip"}:
            raise ValueError(
                'weights="auto" takes all columns together, as bins and categories: leave out '
                '`family`, alpha="auto" and alpha by column; `columns` may name "skip" alone'
            )
        pooled = Pooled(interactions=0)
        return ColumnOptions(columns, whole=pooled, missing=_missing(params), types=_types(params))
    return ColumnOptions(
        columns, None if family in (None, "auto") else named(family), family == "auto",
        chosen if _is_auto(alpha) else alpha, missing=_missing(params), types=_types(params),
        **_present(params, "unseen"),
    )  # fmt: skip


def _joint_bayes(params: Parameters, chosen: Any) -> ColumnOptions:
    alpha = params.get("alpha", 1.0)
    joint = Joint(chosen if _is_auto(alpha) else alpha, params.get("min_categories"))
    return ColumnOptions({}, whole=joint, missing=_missing(params))


READERS: dict[str, Callable[[Parameters, Any], ColumnOptions]] = {
    "AutoBayes": _auto_bayes, "NaiveBayes": _naive_bayes, "JointBayes": _joint_bayes
}  # fmt: skip


def _present(params: Parameters, *names: str) -> dict[str, Any]:
    """Return those of the named parameters that are present."""
    return {name: params[name] for name in names if name in params}


def _monotone(params: Parameters) -> tuple[tuple[str, int], ...]:
    """Return (column, 1 or -1) of the columns with a monotone constraint."""
    monotone = params.get("monotone")
    signs = {} if monotone is None else monotone
    if not isinstance(signs, Mapping) or not all(isinstance(name, str) for name in signs):
        raise ValueError(
            "monotone is a dict of 1 (increasing), -1 (decreasing) or 0 by column, as {'age': 1}, "
            f"not {monotone!r}; the columns of an array are 'x0', 'x1' and so on"
        )
    for name, sign in signs.items():
        if not isinstance(sign, Real) or sign not in (-1, 0, 1):
            raise ValueError(
                f"monotone: column {name!r} has {sign!r}, which must be 1 (increasing), -1 "
                "(decreasing) or 0"
            )
    return tuple((name, int(signs[name])) for name in sorted(signs) if signs[name])


def _is_auto(alpha: Any) -> bool:
    return isinstance(alpha, str) and alpha == "auto"


def _missing(params: Parameters) -> tuple[str, ...]:
    return tuple(params.get("missing", MISSING))


def _types(params: Parameters) -> Any:
    return declared_by_user(params.get("categorical", ()), params.get("numeric", ()))
