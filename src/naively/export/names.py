"""Names of columns that a database may not have, and those of what a query gives."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from string import ascii_lowercase, ascii_uppercase

from naively.export.formulas import NotExportableError

FOLDING = ("bigquery", "duckdb", "sqlite")
"""Dialects in which names of columns that differ in capitals alone, of A to Z, are one name."""
LONGEST = {"postgres": 63}
"""Bytes of a name that a database reads; it drops what follows."""
CAPITALS = str.maketrans(ascii_uppercase, ascii_lowercase)


def check_names(names: Sequence[str], dialect: str) -> None:
    """Raise NotExportableError if no table of the database has columns of these names."""
    met: dict[str, str] = {}
    for name in names:
        if not name or "\0" in name:
            raise NotExportableError(f"no column of a database is called {name!r}: rename it")
        other = met.setdefault(_read(name, dialect), name)
        if other != name:
            why = "where capitals make no difference"
            if dialect in LONGEST:
                why = f"which reads the first {LONGEST[dialect]} bytes of a name"
            raise NotExportableError(
                f"columns {other!r} and {name!r} are one column in {dialect}, {why}: rename one of "
                "them"
            )


def free_name(name: str, taken: Collection[str], dialect: str) -> str:
    """A name for a column of the result, cut to what the database reads, with _ if it is taken."""
    met, end = {_read(one, dialect) for one in taken}, ""
    while True:
        longest = LONGEST.get(dialect)
        own = (name if longest is None else _cut(name, longest - len(end))) + end
        if _read(own, dialect) not in met:
            return own
        end += "_"


def _read(name: str, dialect: str) -> str:
    """What a database tells a name apart by."""
    if dialect in LONGEST:
        return _cut(name, LONGEST[dialect])
    return name.translate(CAPITALS) if dialect in FOLDING else name


def _cut(name: str, longest: int) -> str:
    """The characters of a name that are whole within so many bytes."""
    return name.encode("utf-8", "surrogatepass")[:longest].decode("utf-8", "ignore")
