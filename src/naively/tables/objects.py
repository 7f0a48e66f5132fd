"""Columns of Python objects, whose addresses are no values."""

from __future__ import annotations

from typing import Any


def refuse_objects(X: Any) -> None:
    """Raise ValueError, naming the column, if polars holds Python objects in X.

    It gives Arrow their addresses in their place, which are others in each process.
    """
    if type(X).__module__.split(".")[0] != "polars":
        return
    series = {getattr(X, "name", ""): X.dtype} if hasattr(X, "dtype") else {}
    schema = X.collect_schema() if hasattr(X, "collect_schema") else series
    for name, kind in schema.items():
        if str(kind) == "Object":
            raise ValueError(
                f"column {name!r} is of polars' type Object, which holds Python objects: make text "
                f"of it, as pl.Series({name!r}, [str(value) for value in frame[{name!r}]])"
            )
