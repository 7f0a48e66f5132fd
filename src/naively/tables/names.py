"""Format column names for messages, suggest similar names, and look up families by name."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

from naively.core.issues import brief
from naively.families.base import AnyFamily, Family
from naively.families.numeric.gaussian import Gaussian
from naively.families.registry import FAMILIES

LONGEST = 60  # characters of a column name, at most: longer ones are probably values
SHOWN, PAIRS = 5, 500
"""Missing columns to show, and pairs of names to compare for misspelt ones, at most, because
comparing takes time."""


def no_column(name: str, names: Sequence[str], listed: str = "the columns are") -> str:
    """Return the message about a column that does not exist, with a suggestion.

    `listed` introduces the names.
    """
    if (close := _closest(name, names)) is not None:
        return f"there is no column {name!r}; did you mean {close!r}?"
    columns = ", ".join(names[:20]) + (f" and {len(names) - 20:,} more" if len(names) > 20 else "")
    return f"there is no column {name!r}; {listed} {columns}{headless(names)}"


def headless(names: Sequence[str]) -> str:
    """Return a hint if the names look like a row of values, or hold tabs; else ""."""
    if any("\t" in name for name in names):
        return "; the first line has tabs: give --format tsv"
    is_row = any(len(n) > LONGEST or n.strip().replace(".", "", 1).isdigit() for n in names)
    return "; the first line must hold the column names" if is_row else ""


def names_of(key: Any) -> tuple[str, ...]:
    """Return the column names of a key of `columns`: a name, or a tuple of names.

    Raises ValueError if it is neither.
    """
    block = (key,) if isinstance(key, str) else key
    if isinstance(block, tuple) and all(isinstance(name, str) for name in block):
        return block
    raise ValueError(
        f"`columns` has the key {key!r}, which is neither a name nor a tuple of names: the columns "
        "of an array are 'x0', 'x1' and so on"
    )


def hinted(lacking: Sequence[str], unknown: Sequence[str]) -> str:
    """Format the first missing columns; first those that unknown columns may misspell, with these.

    Each unknown column counts for the missing one that is most similar to it.
    """
    unknown = unknown[: PAIRS // SHOWN]
    searched = lacking[: PAIRS // max(1, len(unknown))]
    misspelt = {_closest(name, searched) for name in unknown}
    first = sorted(searched, key=lambda name: name not in misspelt)[:SHOWN]
    similar = [(name, _closest(name, unknown) if name in misspelt else None) for name in first]
    shown = ", ".join(
        repr(name) if close is None else f"{name!r} (it has {close!r})" for name, close in similar
    )
    return shown if len(lacking) <= SHOWN else f"{shown} and {len(lacking) - SHOWN:,} more"


def columns_named(shown: str, names: Sequence[str]) -> str:
    """Return "column ..." or "columns ...", with the names as shown."""
    return f"column{'s' * (len(names) > 1)} {shown}"


def absent_columns(lacking: Sequence[str], unknown: Sequence[str]) -> str:
    """Return the end of the message about features that a table does not have.

    `unknown` are its columns that the model does not have: they may be misspelt.
    """
    owner = "their" if len(lacking) > 1 else "its"
    return f"no {columns_named(hinted(lacking, unknown), lacking)}: {owner} values count as missing"


def _closest(name: str, names: Sequence[str]) -> str | None:
    """Return the most similar of these names; None if none is similar.

    A name that is equal but for case and surrounding blanks is the most similar one.
    """
    folded = {column.strip().casefold(): column for column in reversed(names)}
    if (equal := folded.get(name.strip().casefold())) is not None:
        return equal
    return next(iter(difflib.get_close_matches(name, names, 1)), None)


def several(name: str, names: Sequence[str]) -> list[str]:
    """Split a comma-separated list of column names; [] if it is a column or names none."""
    pieces = [piece.strip() for piece in name.split(",")]
    return pieces if len(pieces) > 1 and name not in names and {*pieces} & {*names} else []


def few(names: Sequence[str]) -> str:
    """Format the first five names, and how many more there are."""
    shown = ", ".join(map(brief, names[:5]))
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5:,} more"


def new_classes(model_classes: Sequence[Any], learned: Sequence[Any]) -> str | None:
    """Return a remark on labels that are new to a model with some classes; None if there are none.

    They may be typing errors.
    """
    classes = list(model_classes)
    new = [str(label)[:40] for label in learned if label not in classes]
    if not new or not classes:
        return None
    noun, verb = ("class", "is") if len(new) == 1 else ("classes", "are")
    return f"{noun} {few(new)} {verb} new to the model, which has {three([*map(str, classes)])}"


def first_names(names: Sequence[str]) -> str:
    """Format the first eight names, and dots if there are more."""
    return ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")


def three(names: Sequence[str]) -> str:
    """Format the first three names, unquoted, and how many more there are."""
    n_others = len(names) - 3
    return ", ".join(names[:3]) + (f" and {n_others:,} more" if n_others > 0 else "")


def named(choice: AnyFamily | str) -> AnyFamily | None:
    """Return the family for a family or its name; None for "skip".

    Raises ValueError if there is no such family.
    """
    if isinstance(choice, Family):
        return choice
    if choice == "skip":
        return None
    if choice == "gaussian":
        return Gaussian(floor="feature")  # variance floor from the column's own scale
    if isinstance(choice, str) and choice in FAMILIES:
        return FAMILIES[choice]()
    names = ", ".join(sorted(FAMILIES))
    raise ValueError(f'{choice!r} is not a family: use one of {names}, or "skip"')
