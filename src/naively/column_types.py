"""What a column is: a rule over its values, however they were ordered or cut into batches.

==================================================  ==============================================
the column holds                                    its family
==================================================  ==============================================
true and false                                      Bernoulli
text, 6 words or more on average, mostly different  Text
other text, categories                              Categorical
at most 20 different numbers, half as many as rows  Categorical
other numbers                                       Gaussian, or the family that was asked for
one value only, or none                             Categorical, left out of the product until
                                                    a second value is met
text of which more than 9 in 10 are different       left out: like an identifier
whole numbers, each once, at least half of those    left out: like an identifier
of their range
dates and times                                     left out
more than 4 MB of different short texts             left out
other numbers, and a text in ten at most            as numbers; the text counts as missing
more than 1,024 different numbers, and more text    left out
==================================================  ==============================================

No unit matters: a column times a number, or plus one, is of the same type. But what counts the rows
has no unit: only whole numbers, one after the other, do. A grid of fractions is measured.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from naively.exact import Float64
from naively.families.base import AnyFamily
from naively.families.bernoulli import Bernoulli
from naively.families.categorical import Categorical
from naively.families.gaussian import Gaussian
from naively.families.inferred import Inferred
from naively.families.text import Text
from naively.numerals import ANY, MOMENT
from naively.schema import CONSTANT, NO_VALUES, ColumnType, Why
from naively.statistics.candidates import (
    FRACTIONAL,
    NUMBERS,
    TEXTS,
    WORDS,
    CandidateStatistics,
)
from naively.statistics.levels import Levels
from naively.statistics.row_encoding import texts as spelled
from naively.written import written

FEW = 20  # different numbers, at most, that are categories rather than amounts
ROWS_EACH = 2  # rows a number, at least, where these are categories
MANY = 20  # rows from which on a column of different values is an identifier
DIFFERENT = 0.9  # of the values of an identifier
PROSE, PROSE_ROWS = 6, 1000  # words a value on average; rows of which half have different ones
STRAYS = 1 / 9  # texts a number, at most, that are none of the column
ROUNDING = 2.0**-20  # of a step, which is that of floats
FINEST = 2.0**-10  # steps of numbers, in standard deviations, that matter
CODE = re.compile(ANY)
"""Numbers that are texts: digits with leading zeros, or so many that no float64 has them; any
number of a column that is declared as categorical."""
PLAIN = Gaussian(floor="feature")
TRUTHS = Why("true or false", "truths")
PROSE_WHY = Why("text of many words")

Decided = tuple[AnyFamily | None, Why]
"""(the family of a column, or None to leave it out; the reason)."""


@dataclass(frozen=True)
class Column:
    """What is known of the values of a column.

    Attributes
    ----------
    numbers, texts : the different ones, or a sample of them.
    numbers_met, texts_met : the weight of each.
    number_shift, text_shift : 0 where all are there, else binary orders of magnitude that lack.
    tally : what is counted of all values: see `naively.statistics.candidates`.
    """

    numbers: Levels
    numbers_met: Float64
    number_shift: int
    texts: Levels
    texts_met: Float64
    text_shift: int
    tally: list[float]


def columns(counted: CandidateStatistics) -> list[Column]:
    """All columns."""
    parts = [*map(_met_only, counted.levels, counted.met, counted.shifts.tolist())]
    d, tallies = counted.width, counted.tally.tolist()
    return [Column(*parts[k], *parts[d + k], tallies[k]) for k in range(d)]


def _met_only(known: Levels, met: Float64, shift: int) -> tuple[Levels, Float64, int]:
    """Without the values that nobody has any more."""
    there = met != 0
    return (known, met, shift) if there.all() else (known[there], met[there], shift)


def decide(family: Inferred, column: Column, declared: ColumnType | None = None) -> Decided:
    """What a column is, of which `family` has the smoothing."""
    tally = column.tally
    if declared == "numeric":
        return _of_numbers(family, column, declared=True)
    if isinstance(family.alpha, Mapping):  # it names categories
        return _of_categories(family, column)
    if tally[TEXTS] == 0 and (len(column.numbers) or not tally[WORDS]):
        return _of_numbers(family, column)
    if _are_strays(column):
        decided = _of_numbers(family, column)
        if decided[0] is None or decided[0].summary.takes == "numbers":
            return decided
    return _of_categories(family, column)


def _of_categories(family: Inferred, column: Column) -> Decided:
    """Texts, numbers being texts as they are written."""
    if column.number_shift:
        return None, Why(f"text and more than {family.summary.limit:,} different numbers")
    return _of_levels(family, column)


def _are_strays(column: Column) -> bool:
    """Whether texts are few among numbers, and none of them is a code, truth value or moment."""
    if column.tally[TEXTS] > STRAYS * column.tally[NUMBERS]:
        return False
    return not any(
        CODE.fullmatch(text) or MOMENT.fullmatch(text) or text in ("true", "false")
        for text in column.texts.tolist()
    )


# ---- numbers -------------------------------------------------------------------------------------


def _of_numbers(family: Inferred, column: Column, declared: bool = False) -> Decided:
    x, n, complete = column.numbers, column.tally[NUMBERS], not column.number_shift
    if complete and len(x) < 2:
        return _constant(family, len(x))
    whole = column.tally[FRACTIONAL] == 0
    if not declared and whole and n >= MANY and _is_identifier(column):
        return None, Why("like an identifier: whole numbers, each once", "identifier")
    why = Why("whole numbers" if whole else "numbers")
    if family.numeric is not None:
        plain = family.numeric == PLAIN
        return (_gaussian(column) if plain else family.numeric), why
    if not declared and complete and len(x) <= max(2, min(FEW, n // ROWS_EACH)):
        kind = "whole numbers" if whole else "numbers"
        few = Why(f"{kind}, {len(x)} different", "few numbers")
        return Categorical(family.alpha, unseen=family.unseen), few
    return _gaussian(column), why


def _constant(family: Inferred, levels: int) -> Decided:
    """Of a column that may yet turn out to be anything: its value is counted."""
    constant = Categorical(family.alpha, unseen=family.unseen)
    return constant, CONSTANT if levels else NO_VALUES


def _is_identifier(column: Column) -> bool:
    """Whether most whole numbers are there once, and are at least half of those of their range."""
    x, n = column.numbers, column.tally[NUMBERS]
    if len(x) < 2 or 2.0**column.number_shift * len(x) <= DIFFERENT * n:
        return False
    if column.numbers_met.sum() > len(x) / DIFFERENT:
        return False
    extent = float(x[-1] / 2 - x[0] / 2) * 2  # infinite beyond float64, without a warning
    return n >= (extent + 1) / 2


def _step(x: Float64, least: float) -> float | None:
    """The step between neighbours of evenly spaced numbers, some of which are x, if not below that.

    The greatest common divisor of the differences, by Euclid's algorithm on floats.
    """
    with np.errstate(over="ignore"):
        differences = np.diff(x)
    least, rounded = least * (1 - ROUNDING), least * ROUNDING
    step = float(differences.min())
    while least <= step < np.inf:
        rests = np.abs(differences - step * np.round(differences / step))
        rests = rests[rests > rounded]
        if not len(rests):
            return step
        step = float(rests.min())
    return None


def _gaussian(column: Column) -> AnyFamily:
    """Normal; of few steps the variance is at least that of the rounding to these."""
    x, met = column.numbers, column.numbers_met
    if column.number_shift or len(x) < 2:
        return PLAIN
    with np.errstate(over="ignore", invalid="ignore"):
        share = met / met.sum()
        scale = float(np.abs(x - x[0]).max())  # a power of two changes no bit of what follows
        z = (x - x[0]) / scale
        deviation = float(np.sqrt((share * (z - (share * z).sum()) ** 2).sum())) * scale
    step = _step(x, FINEST * deviation) if 0 < deviation < 1e100 else None
    if step is None or step > 1e100:
        return PLAIN
    mantissa, exponent = np.frexp(step)  # without the last bits, which are of the rounding
    rounded = float(np.ldexp(np.round(mantissa * 2.0**20) / 2.0**20, exponent))
    return replace(PLAIN, resolution=rounded)


# ---- categories and text -------------------------------------------------------------------------


def _of_levels(family: Inferred, column: Column) -> Decided:
    tally = column.tally
    numbers = [] if not len(column.numbers) else spelled(column.numbers).tolist()
    known = {*numbers, *column.texts.tolist()}
    present = tally[NUMBERS] + max(tally[TEXTS], float(column.texts_met.sum()))
    larger = 2.0**column.text_shift
    levels = len(known) if larger == 1 else len(numbers) + larger * len(column.texts)
    if larger == 1 and levels < 2:
        return _constant(family, len(known))
    by_level = isinstance(family.alpha, Mapping)
    if family.levels is None and not by_level and known <= {"true", "false"}:
        return Bernoulli(family.alpha, binarize=None), TRUTHS
    if all(level and MOMENT.fullmatch(level) for level in known):
        return None, Why("dates or times")
    if tally[WORDS] >= PROSE * present and _differ(column, present):
        return Text(alpha=family.alpha), PROSE_WHY
    if present >= MANY and levels > DIFFERENT * present:
        how = written(sorted(known))
        about = "about " if larger > 1 else ""
        like = f"like an identifier: {about}{levels:,.0f} different values in {present:,.0f} rows"
        return None, Why(f"{like}; {how}" if how else like, "identifier")
    if larger > 1:
        return None, Why(f"about {levels:,.0f} different texts: name its family to learn it")
    chosen = family.levels or Categorical(family.alpha, unseen=family.unseen)
    return chosen, Why(
        f"text, {levels:,} level{'s' * (levels != 1)}", "levels" if family.levels else "rule"
    )


def _differ(column: Column, present: float) -> bool:
    """Whether more than half of so many rows, or of a thousand by chance, have different values."""
    share = min(1.0, PROSE_ROWS / present)
    expected: Any = 0.0
    for met, shift in (
        (column.numbers_met, column.number_shift), (column.texts_met, column.text_shift),
    ):  # fmt: skip
        with np.errstate(divide="ignore"):
            once = -np.expm1(np.maximum(met, 1.0) * np.log1p(-share))
        expected += 2.0**shift * once.sum()
    return bool(expected > 0.5 * share * present)
