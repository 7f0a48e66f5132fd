"""Short texts that are read as levels, though their words would tell more: it is told of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from naively.exact import Float64

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


def said(count: int) -> str:
    """What so many such levels are; the option follows."""
    many = f"short texts, {count:,} different ones, most of them met once"
    return f"{many}: if their words matter, name it: "
