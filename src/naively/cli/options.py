"""What the options of the command line mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from naively.calls import named_call
from naively.cli.errors import UsageError
from naively.families.base import Family
from naively.families.registry import FAMILIES
from naively.families.text import Text
from naively.files.safetensors import Saved
from naively.prior import Prior
from naively.tables.inference import Wishes, named
from naively.tables.learning import Question


def question(
    target: str, columns: Sequence[str] | None, text: Sequence[str] | None,
    documents: Sequence[str], skip: Sequence[str] | None, family: str | None,
    weight: str | None, holdout: float, alpha: float, prior: Any, unseen: Any,
    missing: tuple[str, ...], seed: int,
) -> Question:  # fmt: skip
    """What `naively fit` is asked; `documents` are columns that are text without saying so."""
    if not 0 <= holdout < 1:
        raise UsageError(f"--holdout is the part of the rows to hold out, as 0.2, not {holdout:g}")
    if seed < 0:
        raise UsageError(f"--seed must not be negative, but is {seed}")
    if not 0 <= alpha < float("inf"):
        raise UsageError(f"--alpha must be a finite number >= 0, not {alpha:g}")
    wanted: dict[Any, Any] = {}
    for name in skip or ():
        _wish(wanted, name, "skip", target, weight)
    for wish in columns or ():
        name, equals, value = wish.rpartition("=") if "(" not in wish else _before(wish)
        if not equals or not name:
            raise UsageError(f'--columns {wish}: write "column=family", as age=gamma')
        _wish(wanted, name, "skip" if value == "skip" else parsed_family(value), target, weight)
    for name in text or ():
        _wish(wanted, name, Text(alpha=alpha), target, weight)
    for name in documents:
        if name not in (target, weight):
            wanted.setdefault(name, Text(alpha=alpha))
    wishes = Wishes(
        wanted,
        None if family in (None, "auto") else parsed_family(str(family)),
        family == "auto",
        alpha,
        unseen,
        missing,
    )
    return Question(target, wishes, Prior(prior), weight, holdout, seed)


def again(saved: Saved, weight: str | None) -> Question:
    """What `naively update` and `forget` are asked of a model."""
    table = saved.model
    if table.target is None:
        raise UsageError("the model does not name its target; go on in Python with partial_fit")
    wishes = Wishes({}, missing=table.schema.missing)
    return Question(table.target, wishes, table.model.prior, weight or saved.extra.get("weight"))


def wishes_of(saved: Saved) -> Wishes:
    """What was said of columns when a model was fitted."""
    asked, missing = saved.params, saved.model.schema.missing
    family = asked.get("family")
    return Wishes(
        asked.get("columns") or {},
        None if family in (None, "auto") else named(family),
        family == "auto",
        asked.get("alpha", 1.0),
        asked.get("unseen", "smooth"),
        missing,
    )


def _wish(wanted: dict[Any, Any], name: str, choice: Any, *taken: str | None) -> None:
    """Note what is wanted of a column, once."""
    if name in taken:
        what = "target" if name == taken[0] else "weight"
        raise UsageError(f"{name!r} is the {what}, and no column to learn from")
    if name in wanted:
        raise UsageError(f"--columns, --text and --skip name {name!r} more than once")
    wanted[name] = choice


def parsed_family(text: str) -> Family:
    """A family such as ``gamma`` or ``categorical(alpha=0.5)``."""
    name = text.split("(")[0].strip()
    if name not in FAMILIES:
        raise UsageError(f"{name!r} is no family: use one of {', '.join(sorted(FAMILIES))}")
    try:
        _, values = named_call(text)
    except ValueError as error:
        raise UsageError(str(error)) from None
    kind: Any = FAMILIES[name]
    known = [one.name for one in fields(kind) if one.name != "reference"]
    if strangers := [one for one in values if one not in known]:
        has = f"it has {', '.join(known)}" if known else "it has no options"
        raise UsageError(f"{text!r}: {name} has no {strangers[0]!r}; {has}")
    try:
        if not values and (family := named(name)) is not None:
            return family
        if isinstance(values.get("stop_words"), str):
            from naively.estimators.text import stop_words  # of scikit-learn

            values["stop_words"] = stop_words(values["stop_words"])
        return kind(**values)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{text!r}: {error}") from None


def _before(text: str) -> tuple[str, str, str]:
    """(column, "=", family) of ``column=family(name=value)``."""
    head, paren, tail = text.partition("(")
    name, equals, family = head.rpartition("=")
    return name, equals, family + paren + tail
