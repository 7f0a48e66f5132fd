"""Short texts that are read as levels, though their words would tell more: it is told of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from naively.evidence.prose import are_prose
from naively.exact import Float64
from naively.model import Model

LOOKED_AT = 10_000
"""Levels, about as many at most."""
FEWEST, ONCE = 50, 0.5
"""Levels, at least; part of them that one row has."""
WORDS, SPREAD = 3.0, 1.0
"""Words of a level on average, at least; their standard deviation. Names have two or three."""
SMALL, DIGITS = 0.2, 0.5
"""Part of the words that begin with a small letter, at least: most of names, addresses and job
titles do not. Part of the levels with a digit, at most: addresses have them."""


def wordy(levels: Sequence[str], weights: Float64) -> bool:
    """Whether levels that weigh so much look like short texts, of which most are met once."""
    if len(levels) < FEWEST or (weights <= 1).sum() <= ONCE * len(levels):
        return False
    some = levels[:: max(1, len(levels) // LOOKED_AT)]
    words = [level.split() for level in some]
    sizes = np.array([len(own) for own in words])
    small = sum(word[0].islower() for own in words for word in own)
    digits = sum(any(character.isdigit() for character in level) for level in some)
    return bool(
        sizes.mean() >= WORDS and sizes.std() >= SPREAD
        and small >= SMALL * sizes.sum() and digits <= DIGITS * len(some)
    )  # fmt: skip


def short_texts(model: Model) -> dict[str, str]:
    """The columns of levels that look like short texts, with what to say; the option follows.

    In a product of families only one that is alone: beside others it would be far too sure.
    """
    schema, found = model.schema, dict[str, str]()
    for part, counted in zip(schema.parts, model.parts, strict=True):
        weighed = part.summary.takes == "cells" and model.family.keeps
        if not weighed and not (part.summary.of_levels and len(schema.names) == 1):
            continue
        for k, name in enumerate(part.names):
            levels = counted.levels[k]
            named = schema.reason(name).kind == "asked" or name in model.family.text
            if levels.dtype.kind != "T" or named:
                continue
            weights = _weights(counted, k, weighed)
            if wordy(levels.tolist(), weights) and not (weighed and are_prose(levels, weights)):
                found[name] = said(len(levels))
    return found


def _weights(counted: Any, k: int, kept: bool) -> Float64:
    """What each level of a column weighs, of rows that are kept or counted."""
    if kept:
        codes, weights = counted.codes[:, k], counted.tables["count"].summed(0).rounded()
    else:
        own = slice(*counted.offsets[k : k + 2])
        return counted.tables["count"].gather(1, own).summed(0).rounded()
    size = len(counted.levels[k])
    return np.bincount(codes, weights, size + 1)[:size].astype(np.float64)


def said(count: int) -> str:
    """What so many such levels are; the option follows."""
    many = f"short texts, {count:,} different ones, most of them met once"
    return f"{many}: if their words matter, name it: "
