"""What went wrong, for a person to read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def printable(text: str) -> str:
    """Text as a terminal may show it: control characters as they are written in Python."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


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
