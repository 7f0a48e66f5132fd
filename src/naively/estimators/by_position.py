"""Arrays for models of named columns, and the reverse: by position and warned, as scikit-learn."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Collection
from typing import Any

from naively.schema import Schema
from naively.statistics.base import dense
from naively.tables.frames import SparseTable, array_width, is_named, to_arrow

PASSED = ("naively", "sklearn")
"""Packages whose lines a warning does not name, but the line that called them."""


def placed(
    kind: str, X: Any, table: Any, known: Schema, target: str | None = None, y: Any = None
) -> Any:
    """The table of X; its columns get the names that were learned if they are taken by position.

    An array without names is taken by position. So is a table with names of its own, if names were
    never given: if it has none of x0, x1, ... and as many columns.

    Parameters
    ----------
    kind : what the model is called in messages.
    table : X as an Arrow table or `SparseTable`.
    target, y : the target of the model, and what names the labels in X if anything does: columns
        that are no features.

    Raises
    ------
    ValueError : if X has no names, and another number of columns than those learned.
    """
    learned, own = list(known.why), table.column_names
    invented = array_width(learned) > 0
    if is_named(X):
        if not invented:
            return table
        features = _without(own, [target, y])
        if len(features) != len(learned) or not {*features}.isdisjoint(learned):
            return table
        said = f"X has feature names, but {kind} was fitted without feature names"
    else:
        features = _without(own, [y])
        if len(features) != len(learned):
            raise ValueError(
                f"X has {len(features)} features, but {kind} is expecting {len(learned)} features "
                "as input"
            )
        if features == learned:
            return table
        said = f"X does not have valid feature names, but {kind} was fitted with feature names"
    warn(f"{said}: its columns are taken in their order")
    if isinstance(table, SparseTable):
        table = to_arrow(dense(table.matrix))
    names = dict(zip(features, learned, strict=True))
    return table.rename_columns([names.get(name, name) for name in own])


def _without(names: list[str], others: Collection[Any]) -> list[str]:
    others = [one for one in others if isinstance(one, str)]
    return [name for name in names if name not in others]


def warn(said: str) -> None:
    """Warn at the line that called the package, however deep this is called."""
    frame, depth = sys._getframe(1), 1
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in PASSED:
        frame, depth = frame.f_back, depth + 1
    warnings.warn(said, UserWarning, stacklevel=depth + 1)
