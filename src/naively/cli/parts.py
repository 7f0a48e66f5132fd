"""Named parts of a model on the command line: list, replace, expire and forget them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

from rich.console import Console
from rich.text import Text

from naively.cli import progress
from naively.cli.errors import UsageError, UserError
from naively.cli.terminal import clean, new_table, with_notes
from naively.core.markup import counted
from naively.model.model import Model, NeverLearnedError
from naively.rendering import size_in_words
from naively.storage import named_parts
from naively.storage.model_files import ModelFileError, Saved
from naively.storage.parts import REST, Part

SHOWN = 30  # parts in a table, at most
SOME = 5  # parts that a line names, at most


def check(part: str | None, replace: bool = False, keep: int | None = None) -> None:
    """Refuse options that do not fit together."""
    if part is None:
        if replace or keep is not None:
            raise UsageError("--replace and --keep need --part")
        return
    if not part.strip():
        raise UsageError("--part needs a name, as customer=17")
    try:
        named_parts.check_name(part)
    except ValueError as error:
        raise UsageError(f"--part: {error}") from None
    if keep is None:
        return
    if keep < 1:
        raise UsageError(f"--keep is a number of days, 1 or more, not {keep}")
    if dated(part) is None:
        raise UsageError(f"--keep needs a part with a date, as day=2026-11-22, not {part!r}")


def dated(name: str) -> tuple[str, date] | None:
    """Split a part's name into (key, date); None if it has no date."""
    key, _, text = name.rpartition("=")
    try:
        return key, date.fromisoformat(text)
    except ValueError:
        return None


def expired(saved: Saved, part: str, days: int) -> list[str]:
    """The parts older than `days`, counted back from the latest part with the same key.

    Raises UserError if that date is in the future, because all other parts would expire.
    """
    kind, _ = dated(part) or ("", None)
    dates: dict[str, date] = {}
    for name in saved.parts:
        parsed = dated(name)
        if parsed is not None and parsed[0] == kind:
            dates[name] = parsed[1]
        elif name.startswith(f"{kind}=") and name != REST:
            progress.note(f"the part {clean(name)!r} has no date: it stays in the model")
    last = max(dates, key=lambda name: dates[name])
    if dates[last] > datetime.now(UTC).date() + timedelta(days=1):
        raise UserError(
            f"the day of the part {last!r} is in the future, and --keep counts back from it: "
            "correct the day, or leave out --keep"
        )
    first = dates[last] - timedelta(days=days - 1)
    return sorted(name for name, day in dates.items() if day < first)


def named(parts: list[str]) -> str | None:
    """The names of the first few parts, in a line; None if there are none."""
    names = [clean(name) for name in parts[:SOME]]
    suffix = f" and {len(parts) - SOME:,} more" if len(parts) > SOME else ""
    return ", ".join(names) + suffix if names else None


# ---- forget --------------------------------------------------------------------------------------


def to_forget(saved: Saved, parts: list[str] | None, rows: bool) -> list[str]:
    """The parts to forget, or to forget rows of; by default the rows without a part.

    `rows`: whether to forget only some rows.
    """
    if parts is None:
        return [REST]
    if rows and len(parts) > 1:
        raise UsageError("name one part, which has these rows")
    for name in parts:
        if name not in saved.parts or name == REST:
            available = named([name for name in saved.parts if name])
            raise UserError(
                f"the model has no part {name!r}; "
                f"{f'it has {available}' if available else 'it has none'}"
            )
    return parts


def forget(
    saved: Saved, parts: list[str], rows: Model | None,
    located: Callable[[Model], str | None] | None = None,
) -> Model:  # fmt: skip
    """Forget parts, or only `rows` of them; returns a model of what was forgotten.

    If that is refused, `located` of the model of the part may return a message with the row.
    """
    try:
        return named_parts.forget(saved, dict.fromkeys(parts, rows))
    except ModelFileError:
        raise
    except ValueError as error:
        message = str(error)
        if located is not None and isinstance(error, NeverLearnedError):
            (name,) = parts
            part = saved.parts.get(name)
            model = saved.model if part is None else named_parts.model_of(name, part)
            message = located(model) or message
        if parts == [REST] and saved.parts:
            message += "; if they are in a named part, name it with --part"
        raise UserError(message) from None


def forgotten(saved: Saved, parts: list[str]) -> int:
    """Forget whole parts; returns the number of their rows."""
    return named_parts.forget(saved, dict.fromkeys(parts)).rows if parts else 0


def replaced(saved: Saved, part: str) -> str:
    """Forget a part to replace it, if there is one; returns the number of its rows in words."""
    if part not in saved.parts:
        progress.note(f"there was no part {clean(part)!r} to replace")
        return "no rows"
    return counted(forgotten(saved, [part]), "earlier row")


# ---- list ----------------------------------------------------------------------------------------


def printed(out: Console, saved: Saved) -> None:
    """Print a table of a model's parts."""
    if not saved.parts:
        return
    table = new_table("part")
    for head in ("rows", "size", "changed"):
        table.add_column(head, justify="right")
    parts = list(_described(saved))
    for name, part in parts[:SHOWN]:
        size = size_in_words(len(part.content))
        table.add_row(clean(name) or "(without a part)", f"{part.rows:,}", size, part.changed)
    n_more = len(parts) - SHOWN
    out.print()
    out.print(Text(f"The sum of {counted(len(parts), 'part')}", style="bold"))
    out.print(with_notes(table, f"and {counted(n_more, 'part')} more" if n_more > 0 else None))


def as_json(saved: Saved) -> list[dict[str, Any]]:
    """The parts of a model, as JSON; the name of the rows without a part is null."""
    return [
        {"part": name or None, "rows": part.rows, "bytes": len(part.content),
         "changed": part.changed}
        for name, part in _described(saved)
    ]  # fmt: skip


def _described(saved: Saved) -> Iterator[tuple[str, Part]]:
    """Yield parts in order, the rows without a part last."""
    yield from sorted(saved.parts.items(), key=lambda item: (item[0] == REST, item[0]))
