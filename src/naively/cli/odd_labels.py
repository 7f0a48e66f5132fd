"""Labels that may be meant as something else: amounts, or several labels at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from naively.cli.layout import clean
from naively.column_types import MANY
from naively.model import Model
from naively.numerals import NUMBER

MOST = 0.9
"""Part of the labels that are numbers, from which on they may be amounts."""
SEPARATORS = "|;,"


def odd(model: Model) -> Iterator[str]:
    """What to say about the labels of a model that was fitted."""
    labels: list[Any] = model.classes.tolist()
    names = [str(label) for label in labels]
    numbers = sum(NUMBER.fullmatch(name) is not None for name in names)
    if numbers > MANY and numbers >= MOST * len(names):
        yield (
            f"{numbers:,} of the labels of {clean(model.target)!r} are numbers, and each is a "
            "class of its own: if they measure something, cut them into ranges"
        )
    if (several := _several(names)) and _has_texts(model):
        yield (
            f"labels such as {clean(several)!r} name several that are labels themselves: with "
            "--multilabel a text has any number of them"
        )


def _several(names: list[str]) -> str | None:
    """A label that is a list of others."""
    known = set(names)
    for name in names:
        for separator in SEPARATORS:
            parts = [part.strip() for part in name.split(separator)]
            if len(parts) > 1 and known.issuperset(parts):
                return name
    return None


def _has_texts(model: Model) -> bool:
    blocks = model.posterior().blocks
    return any(block.family.summary.takes == "documents" or own.has_texts for block, own in blocks)
