"""The parameters of families inside an estimator's parameters, by scikit-learn's nested names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from naively.families.base import Family


def inside(name: str, value: Any) -> dict[str, Any]:
    """All that a parameter holds, by nested name: families by column, parameters of families."""
    if isinstance(value, Family):
        return {f"{name}__{own}": getattr(value, own) for own in _own(value)}
    if not isinstance(value, Mapping):
        return {}
    columns = {f"{name}__{_called(key)}": family for key, family in value.items()}
    found: dict[str, Any] = {}
    for column, family in columns.items():
        found |= inside(column, family)
    return found | columns


def replaced(name: str, value: Any, changes: Mapping[str, Any]) -> Any:
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
            new[key] = replaced(f"{name}__{column}", new[key], those)
        return new
    if not isinstance(value, Family):
        raise ValueError(
            f"Invalid parameter: `{name}` is {value!r}, which has no parameters; "
            "a family has, such as Text() or Gaussian()"
        )
    if strangers := changes.keys() - {*_own(value)}:
        known = ", ".join(map(repr, _own(value)))
        raise ValueError(f"Invalid parameter: `{name}` has no {min(strangers)!r}, only {known}")
    return replace(value, **changes)  # type: ignore[type-var]


def _own(family: Family) -> list[str]:
    """The names of a family's parameters."""
    return [one.name for one in fields(family)] if is_dataclass(family) else []


def _called(key: Any) -> str:
    """What a column, or a tuple of them, is called in nested names."""
    return key if isinstance(key, str) else ",".join(map(str, key))
