"""What went wrong, for a person to read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from naively.explain.markup import printable as printable


def some(names: Iterable[Any]) -> str:
    """The first of many names."""
    names = list(names)
    shown = ", ".join(str(name) for name in names[:5])
    return shown if len(names) <= 5 else f"{shown}, ..."


class UserError(Exception):
    """A mistake that the user can mend: one line that says what, where and what to do."""

    code = 1  # of the exit


class UsageError(UserError):
    """Options that make no sense."""

    code = 2
