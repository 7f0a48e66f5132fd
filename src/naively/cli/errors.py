"""Errors of commands, which print as one line."""

from __future__ import annotations

from collections.abc import Iterable

from naively.core.markup import printable as printable


def some(names: Iterable[object]) -> str:
    """List the first of many names."""
    names = list(names)
    text = ", ".join(str(name) for name in names[:5])
    return text if len(names) <= 5 else f"{text}, ..."


class UserError(Exception):
    """An error that the user can correct: one line that says what, where and what to do."""

    code = 1  # exit code


class UsageError(UserError):
    """Options that are invalid, or do not fit together."""

    code = 2
