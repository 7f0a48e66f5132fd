"""Names of columns that a database may not have."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase, ascii_uppercase

from naively.export.formulas import NotExportableError

FOLDING = ("bigquery", "duckdb", "sqlite")
"""Dialects in which names of columns that differ in capitals alone, of A to Z, are one name."""
CAPITALS = str.maketrans(ascii_uppercase, ascii_lowercase)


def check_names(names: Sequence[str], dialect: str) -> None:
    """Raise NotExportableError if no table of the database has columns of these names."""
    met: dict[str, str] = {}
    for name in names:
        if not name or "\0" in name:
            raise NotExportableError(f"no column of a database is called {name!r}: rename it")
        other = met.setdefault(name.translate(CAPITALS) if dialect in FOLDING else name, name)
        if other != name:
            raise NotExportableError(
                f"columns {other!r} and {name!r} are one column in {dialect}, where capitals make "
                "no difference: rename one of them"
            )
