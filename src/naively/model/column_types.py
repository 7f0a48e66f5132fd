"""Infer the type and family of each column from its values, and recount it under that family."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from naively.core import numerals
from naively.core.exact import ExactArray, Float64
from naively.core.numerals import MOMENT
from naively.core.workers import SERIAL
from naively.families.base import AnyFamily
from naively.families.discrete.bernoulli import Bernoulli
from naively.families.discrete.categorical import Categorical
from naively.families.numeric.gaussian import Gaussian
from naively.families.product import Inferred
from naively.families.text.text import Text
from naively.model.schema import (
    CONSTANT,
    DATES,
    NO_VALUES,
    Block,
    ColumnType,
    Counted,
    Schema,
    Why,
    together,
)
from naively.statistics.base import Batch, Statistics, Summary
from naively.statistics.candidates import (
    FRACTIONAL,
    NO_TEXTS,
    NUMBERS,
    TEXTS,
    WORDS,
    CandidateStatistics,
    weighed_cells,
)
from naively.statistics.levels import TRUTHS, Levels, LevelStatistics
from naively.statistics.powers import Powers, PowerStatistics
from naively.statistics.rows import texts as spelled
from naively.text.documents import Documents

LOOKED_AT = 10_000  # largest number of distinct values that are checked against the patterns, about
FEWEST, MOST_OF = 3, 0.9
"""Least number, and share, of values of one format for the format to be reported."""
SPELLED, LONGEST = 3, 16
"""Odd values are all listed up to this number, and up to this many characters each."""

SIGN = r"[$€£¥₹₽₩₺]|USD|EUR|GBP|CHF|JPY|INR|CAD|AUD|CNY|SEK|NOK|DKK|PLN|kr|zł|R\$"
NUMBER = r"(?:\d+(?:[.,]\d+)?|\d{1,3}(?:[.,' \u00a0\u202f]\d{3})+(?:[.,]\d+)?)"
MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
CLOCK = r"\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?(?: ?[ap]\.?m\.?)?"
DATE = (
    r"(?:\d{1,2}([./-])\d{1,2}\1(?:\d{4}|\d\d)|\d{4}([./])\d{1,2}\2\d{1,2}|\d{4}-\d{1,2}-\d{1,2}"
    rf"|\d{{1,2}}[ -]{MONTH}[ -]\d{{2,4}}|{MONTH} \d{{1,2}},? \d{{4}})"
)
FORMS = (
    ("percentages", "write 0.063 for 6.3%", rf"[-+]?{NUMBER} ?%"),
    ("amounts of money", "write 1234.5 for $1,234.50",
     rf"[-+]?(?:(?:{SIGN}) ?[-+]?{NUMBER}|{NUMBER} ?(?:{SIGN}))|\((?:{SIGN}) ?{NUMBER}\)"),
    ("numbers with a comma", "write 1234.5 for 1,234.5 or 1234,5",
     r"[-+]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+,\d+|\d{1,3}(?:\.\d{3})+,\d+)"),
    ("numbers in groups of digits", "write 1234.5 for 1 234.5",
     r"[-+]?\d{1,3}(?:[' \u00a0\u202f]\d{3})+(?:[.,]\d+)?"),
    ("dates", "write 2020-12-31 and 13:05, as ISO 8601 does", rf"{DATE}(?:,?[ T]{CLOCK})?"),
    ("times of the day", "write 13:05, as ISO 8601 does", CLOCK),
)  # fmt: skip
"""(what the values are, what to write instead, their pattern): the first match counts."""
CODE = re.compile(numerals.ANY)
"""Any number, and codes: digits with leading zeros, which `numerals.NUMBER` does not match."""
PATTERNS = [(what, remedy, re.compile(form, re.ASCII | re.I)) for what, remedy, form in FORMS]
OF_NUMBERS, OF_MOMENTS = PATTERNS[:4], PATTERNS[4:]


def written(levels: Sequence[str]) -> str | None:
    """Describe the format of text values and how to convert them; None if they are plain text.

    Numbers and dates in a valid format are reported too, if few other values stand among them, or
    if the others have a format that stands for numbers or dates.
    """
    values = [level.strip() for level in levels[:: max(1, len(levels) // LOOKED_AT)]]
    if len(values) < FEWEST:
        return None
    n_allowed = (1 - MOST_OF) * len(values)
    formats = ("numbers", numerals.NUMBER, OF_NUMBERS), ("dates or times", MOMENT, OF_MOMENTS)
    for content, pattern, forms in formats:
        strays = [level for level in values if not (level and pattern.fullmatch(level))]
        if not strays:
            return None
        if len(values) - len(strays) > n_allowed and (advice := _meant(strays, n_allowed, forms)):
            named = _named(strays, advice[0])
            return f"{content}, but for {named}: so the column is categorical; {advice[1]}"
        if len(strays) <= n_allowed:
            code = next((level for level in strays if CODE.fullmatch(level)), None)
            hint = _spelled(strays) if code is None else ": digits with leading zeros are text"
            return f"{content}, but for {_named(strays, code)}{hint}"
    if advice := _meant(values, n_allowed, PATTERNS):
        return f"categories such as {advice[0]!r}: {advice[1]}"
    return None


def _named(strays: Sequence[str], first: str | None) -> str:
    """Return the odd values if they are few; else one of them, and the number of the others."""
    quoted = [repr(value) for value in strays]
    if first is None and 1 < len(quoted) <= SPELLED:
        return f"{', '.join(quoted[:-1])} and {quoted[-1]}"
    others = f" and {len(quoted) - 1:,} more" if quoted[1:] else ""
    return f"{quoted[0] if first is None else repr(first)}{others}"


def _spelled(strays: Sequence[str]) -> str:
    """Return the option to use if the odd values stand for missing ones."""
    consequence = ": so the column is categorical; "
    if len(strays) > SPELLED or any(not 0 < len(value) <= LONGEST for value in strays):
        return f"{consequence}see --missing"
    subject = "these are" if strays[1:] else "it is"
    options = (f"--missing{'=' if v[0] == '-' else ' '}{shlex.quote(v)}" for v in strays)
    return f"{consequence}if {subject} missing, {' '.join(options)}"


def _meant(
    levels: Sequence[str], others: float, forms: Sequence[tuple[str, str, re.Pattern[str]]]
) -> tuple[str, str] | None:
    """Return (an example, what to write instead) if all but `others` values have one format."""
    for content, remedy, pattern in forms:
        matches = [level for level in levels if pattern.fullmatch(level)]
        if len(matches) >= max(FEWEST, len(levels) - others):
            return matches[len(matches) // 2], f"if these are {content}, {remedy}"
    return None


# ---- column types --------------------------------------------------------------------------------


FEW = 20  # distinct numbers, at most, that are categories rather than amounts
ROWS_EACH = 2  # rows per distinct number, at least, for numbers that are categories
MANY = 20  # rows, at least, for a column of distinct values to be an identifier
DIFFERENT = 0.9  # share of distinct values, above which a column is an identifier
PROSE, PROSE_ROWS = 6, 1000  # words per value, on average; rows in which half must be distinct
STRAYS = 1 / 9  # texts per number, at most, that count as invalid values of a numeric column
ROUNDING = 2.0**-20  # relative tolerance of a step, for rounding errors
FINEST = 2.0**-10  # smallest step that matters, in standard deviations
"""Finer steps are ignored: rounding to them hardly changes the variance."""
PLAIN = Gaussian(floor="feature")
TRUTH_VALUES = Why("true or false", "truths")
PROSE_WHY = Why("text of many words")

Decided = tuple[AnyFamily | None, Why]
"""(the family of a column, or None to leave it out; the reason)."""


@dataclass(frozen=True)
class Column:
    """The values of a column.

    numbers, texts : the distinct values, or a sample of them.
    numbers_met, texts_met : the total weight of each.
    number_shift, text_shift : 0 if all are stored; else they are a sample of about 1 in 2**shift.
    tally : totals over all values: see `naively.statistics.candidates`.
    """

    numbers: Levels
    numbers_met: Float64
    number_shift: int
    texts: Levels
    texts_met: Float64
    text_shift: int
    tally: list[float]


def columns(counted: CandidateStatistics) -> list[Column]:
    """Return the values of each column."""
    columns = zip(counted.levels, counted.weight_of_values, counted.shifts.tolist(), strict=True)
    # without values of weight 0, which remain after `forget`
    values = [(levels[w != 0], w[w != 0], shift) for levels, w, shift in columns]
    d, tallies = counted.width, counted.tally.tolist()
    return [Column(*values[k], *values[d + k], tallies[k]) for k in range(d)]


def decide(family: Inferred, column: Column, declared: ColumnType | None = None) -> Decided:
    """Return the family of a column and the reason; `family` has the smoothing."""
    tally = column.tally
    if declared == "numeric":
        return _of_numbers(family, column, declared=True)
    if not isinstance(family.alpha, Mapping):  # smoothing by category implies categories
        if tally[TEXTS] == 0 and (len(column.numbers) or not tally[WORDS]):
            return _of_numbers(family, column)
        if _are_strays(column):
            decided = _of_numbers(family, column)
            if decided[0] is None or decided[0].summary.takes == "numbers":
                return decided
    if column.number_shift:
        return None, Why(f"text and more than {family.summary.limit:,} different numbers")
    return _of_levels(family, column)


def _are_strays(column: Column) -> bool:
    """Return whether texts are so rare among numbers that they are invalid values of these.

    They are not if one is a code, a truth value, a date or a time.
    """
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
    is_integer = column.tally[FRACTIONAL] == 0
    if not declared and is_integer and n >= MANY and _is_identifier(column):
        return None, Why("looks like an identifier: whole numbers, each once", "identifier")
    why = Why("whole numbers" if is_integer else "numbers")
    if family.numeric is not None:
        plain = family.numeric == PLAIN
        return (_gaussian(column) if plain else family.numeric), why
    if not declared and complete and len(x) <= max(2, min(FEW, n // ROWS_EACH)):
        kind = "whole numbers" if is_integer else "numbers"
        few_numbers = Why(f"{kind}, {len(x)} different", "few numbers")
        return Categorical(family.alpha, unseen=family.unseen), few_numbers
    return _gaussian(column), why


def _constant(family: Inferred, levels: int) -> Decided:
    """Return a categorical family for a column whose type is still open: at most one value."""
    return Categorical(family.alpha, unseen=family.unseen), CONSTANT if levels else NO_VALUES


def _is_identifier(column: Column) -> bool:
    """Return whether most whole numbers occur once and cover at least half of their range."""
    x, n = column.numbers, column.tally[NUMBERS]
    if len(x) < 2 or 2.0**column.number_shift * len(x) <= DIFFERENT * n:
        return False
    if column.numbers_met.sum() > len(x) / DIFFERENT:
        return False
    extent = float(x[-1] / 2 - x[0] / 2) * 2  # infinite beyond float64, without a warning
    return n >= (extent + 1) / 2


def _step(x: Float64, least: float) -> float | None:
    """Return the step of evenly spaced numbers (gaps allowed), or None if it is below `least`.

    The greatest common divisor of the differences, by Euclid's algorithm on floats.
    """
    with np.errstate(over="ignore"):
        differences = np.diff(x)
    least, tolerance = least * (1 - ROUNDING), least * ROUNDING
    step = float(differences.min())
    while least <= step < np.inf:
        remainders = np.abs(differences - step * np.round(differences / step))
        remainders = remainders[remainders > tolerance]
        if not len(remainders):
            return step
        step = float(remainders.min())
    return None


def _gaussian(column: Column) -> AnyFamily:
    """Return a Gaussian; for evenly spaced numbers, with the step as its resolution.

    The variance is then at least that of rounding to the step.
    """
    x, weights = column.numbers, column.numbers_met
    if column.number_shift or len(x) < 2:
        return PLAIN
    with np.errstate(over="ignore", invalid="ignore"):
        share = weights / weights.sum()
        scale = float(np.abs(x - x[0]).max())  # scaled, so that squares stay in range
        z = (x - x[0]) / scale
        deviation = float(np.sqrt((share * (z - (share * z).sum()) ** 2).sum())) * scale
    step = _step(x, FINEST * deviation) if 0 < deviation < 1e100 else None
    if step is None or step > 1e100:
        return PLAIN
    mantissa, exponent = np.frexp(step)  # drop the last bits, which are rounding error
    rounded = float(np.ldexp(np.round(mantissa * 2.0**20) / 2.0**20, exponent))
    return replace(PLAIN, resolution=rounded)


# ---- categories and text -------------------------------------------------------------------------


def _of_levels(family: Inferred, column: Column) -> Decided:
    tally = column.tally
    numbers = spelled(column.numbers).tolist() if len(column.numbers) else []
    categories = {*numbers, *column.texts.tolist()}
    present = tally[NUMBERS] + max(tally[TEXTS], float(column.texts_met.sum()))
    scale = 2.0**column.text_shift
    levels = len(categories) if scale == 1 else len(numbers) + scale * len(column.texts)
    if scale == 1 and levels < 2:
        return _constant(family, len(categories))
    by_category = isinstance(family.alpha, Mapping)
    if scale == 1 and family.levels is None and not by_category and categories <= {"true", "false"}:
        return Bernoulli(family.alpha, binarize=None), TRUTH_VALUES
    if categories and all(level and MOMENT.fullmatch(level) for level in categories):
        return None, DATES
    if tally[WORDS] >= PROSE * present and _differ(column, present):
        return Text(alpha=family.alpha), PROSE_WHY
    if present >= MANY and levels > DIFFERENT * present:
        format_hint = written(sorted(categories))
        about = "about " if scale > 1 else ""
        values = f"{about}{levels:,.0f} different values in {present:,.0f} rows"
        reason = f"looks like an identifier: {values}"
        return None, Why(f"{reason}; {format_hint}" if format_hint else reason, "identifier")
    if scale > 1:
        return None, Why(f"about {levels:,.0f} different texts: name its family to use it")
    categorical = family.levels or Categorical(family.alpha, unseen=family.unseen)
    return categorical, Why(
        f"text, {levels:,} categor{'ies' if levels != 1 else 'y'}",
        "levels" if family.levels else "rule",
    )


def _differ(column: Column, present: float) -> bool:
    """Return whether more than half of the values are distinct.

    In more than `PROSE_ROWS` rows, the expected number of distinct values in a random sample of
    that size counts.
    """
    share = min(1.0, PROSE_ROWS / present)
    expected: Any = 0.0
    numbers, texts = (
        (column.numbers_met, column.number_shift),
        (column.texts_met, column.text_shift),
    )
    for weights, shift in (numbers, texts):
        with np.errstate(divide="ignore"):
            inclusion = -np.expm1(np.maximum(weights, 1.0) * np.log1p(-share))
        expected += 2.0**shift * inclusion.sum()
    return bool(expected > 0.5 * share * present)


# ---- recounting ----------------------------------------------------------------------------------


Source = tuple[Counted, Any]  # (columns, their statistics)


def typed(schema: Schema, sums: Statistics, class_weight: ExactArray) -> tuple[Schema, Statistics]:
    """Return the schema with an inferred family for each column, and the statistics of these.

    Raises NoColumnError if all columns are left out.
    """
    if schema.open is None:
        return schema, sums
    decided = with_types(schema, sums)
    sources = list(zip(schema.parts, schema.parts_of(sums), strict=True))
    statistics = [gathered(part, sources, class_weight) for part in decided.parts]
    return decided, decided.statistics(statistics)


def candidates_of(schema: Schema, sums: Statistics) -> Any:
    """Return the statistics of the columns whose type is not declared; there must be some."""
    parts = zip(schema.parts, schema.parts_of(sums), strict=True)
    return next(counted for part, counted in parts if part.summary.takes == "values")


def with_types(schema: Schema, sums: Statistics) -> Schema:
    """Return the schema with a family for each column, inferred from its values.

    Raises NoColumnError if all columns are left out.
    """
    if schema.open is None:
        return schema
    family: Any = schema.open.family
    values = zip(schema.open.names, columns(candidates_of(schema, sums)), strict=True)
    inferred: dict[str, Decided] = {
        name: decide(family.of_column(name), column, schema.types.get(name))
        for name, column in values
    }
    previous = schema.reasons or {}
    reasons = {name: inferred[name][1] if name in inferred else previous[name] for name in previous}
    declared = {name: block for block in schema.declared for name in block.names}
    blocks: list[Block] = []
    for name in reasons:
        if name in declared:
            blocks += [declared[name]] if declared[name] not in blocks else []
        elif name in inferred and (item := inferred[name][0]) is not None:
            blocks.append(Block(item, (name,)))
    decided = Schema(together(blocks, family.numeric), reasons, schema.missing, schema.types)
    decided.check_any("train on")
    return decided


def gathered(part: Counted, sources: Sequence[Source], class_weight: ExactArray) -> Statistics:
    """Return the statistics of some columns, gathered from sources; new columns have no values.

    Raises ValueError if a column was counted in another way, and not all its values are stored.
    """
    (classes,) = class_weight.shape
    all_classes, size = np.arange(classes), len(part.names)
    total = part.summary.empty(classes, size)
    place = {name: k for k, name in enumerate(part.names)}
    absent = dict.fromkeys(part.names)
    for source, counted in sources:
        columns = [k for k, name in enumerate(source.names) if name in place]
        if columns and source.summary == part.summary:
            names = [source.names[k] for k in columns]
            places = np.array([place[name] for name in names])
            total.accumulate(counted.reindex_columns(np.array(columns), places, size), all_classes)
            for name in names:
                absent.pop(name, None)
    for source, counted in sources:
        columns = [k for k, name in enumerate(source.names) if name in absent]
        if not columns:
            continue
        names = [source.names[k] for k in columns]
        if source.summary.takes != "values":
            raise ValueError(f"the column {names[0]!r} was counted in another way")
        _check_complete(part.summary, counted, columns, names)
        places, all_columns = np.array([place[name] for name in names]), np.arange(len(columns))
        recounted = _recounted(part.summary, counted, columns, class_weight)
        total.accumulate(recounted.reindex_columns(all_columns, places, size), all_classes)
        for name in names:
            absent.pop(name)
    none = np.array([place[name] for name in absent], np.int64)
    total.add_missing(none, class_weight)
    return total


def _check_complete(
    summary: Summary[Any], counted: CandidateStatistics, positions: Sequence[int],
    names: Sequence[str],
) -> None:  # fmt: skip
    """Raise ValueError, with a remedy, if not all distinct values of a column are stored."""
    has_texts = counted.tables["texts"].summed(0).nonzero()  # not after `forget` of all texts
    for k, name in zip(positions, names, strict=True):
        lacks_texts = counted.shifts[counted.width + k] and has_texts[k]
        texts = lacks_texts and summary.takes != "numbers"
        if counted.shifts[k] or texts:
            values = "texts" if texts else f"numbers, more than {counted.limit:,} different ones"
            as_levels = summary.takes == "levels"
            kind = "categorical" if as_levels else "to be counted in another way"
            option = f"categorical=[{name!r}], --categorical {name}"
            raise ValueError(
                f"column {name!r} is declared {kind} here, and was trained as {values}: declare it "
                f"in the first rows too{f', or name it: {option}' if as_levels else ''}"
            )


def _recounted(
    summary: Summary[Any], counted: CandidateStatistics, positions: list[int],
    class_weight: ExactArray,
) -> Statistics:  # fmt: skip
    """Recount some columns, whose distinct values are all stored, with another summary."""
    if summary.takes == "levels" and summary.by_column:
        return _levels(summary, counted, positions)
    if isinstance(summary, Powers):
        return _powers(counted, positions)
    if len(positions) == 1:
        return _column(summary, counted, positions[0], class_weight)
    total = summary.empty(len(class_weight.limbs), len(positions))
    first, all_classes = np.zeros(1, np.int64), np.arange(len(class_weight.limbs))
    for k, position in enumerate(positions):
        column = _column(summary, counted, position, class_weight)
        total.accumulate(column.reindex_columns(first, np.array([k]), len(positions)), all_classes)
    return total


def _levels(
    summary: Summary[Any], counted: CandidateStatistics, columns: list[int]
) -> LevelStatistics:
    """Return the weight of each category of some columns; numbers become categories as written."""
    classes = counted.tables["missing"].shape[0]
    all_classes = np.arange(classes)
    offsets, d = counted.offsets, len(columns)
    total = summary.empty(classes, d)
    for of_texts in (False, True):
        positions = [of_texts * counted.width + k for k in columns]
        cells, levels = [np.empty(0, np.int64)], []
        for position in positions:
            places = np.arange(offsets[position], offsets[position + 1])
            categories = counted.levels[position]
            if not of_texts:
                categories = spelled(categories) if len(categories) else NO_TEXTS
                order = np.argsort(categories, kind="stable")
                categories, places = categories[order], places[order]
            levels.append(categories)
            cells.append(places)
        missing = counted.tables["missing"].gather(1, np.array(columns, np.int64))
        tables = {
            "count": counted.tables["count"].gather(1, np.concatenate(cells)),
            "missing": missing if of_texts else missing - missing,
        }
        total.accumulate(LevelStatistics(tables, levels), all_classes)
    return total.canonical()


def _powers(counted: CandidateStatistics, positions: list[int]) -> PowerStatistics:
    """Return Σw x and Σw x² of some columns, with each (class, column) as a class of one batch."""
    classes, d = counted.tables["missing"].shape[0], len(positions)
    missing = counted.tables["missing"] + counted.tables["texts"]
    missing = missing.gather(1, np.array(positions, np.int64))
    offsets = counted.offsets
    places = (np.arange(offsets[k], offsets[k + 1]) for k in positions)
    cells = np.concatenate([np.empty(0, np.int64), *places])
    values = np.concatenate([np.empty(0), *(counted.levels[k] for k in positions)])
    columns = np.repeat(np.arange(d), [len(counted.levels[k]) for k in positions])
    value, code, weights = weighed_cells(counted.tables["count"].gather(1, cells))
    x = np.ascontiguousarray(values[value][:, np.newaxis])
    batch = Batch(code * d + columns[value], classes * d, weights)
    if not len(x):
        empty = Powers().empty(classes, d)
        empty.tables["missing"] = missing
        return empty
    statistics = Powers().summarise(x, batch, SERIAL)
    tables = {"missing": missing}
    for name in ("sum", "square"):
        table = statistics.tables[name]
        tables[name] = ExactArray(table.limbs.reshape(classes, d, -1), table.low)
    return PowerStatistics(tables)


def _column(
    summary: Summary[Any], counted: CandidateStatistics, k: int, class_weight: ExactArray
) -> Statistics:
    """Recount one column: each (value, class) becomes a row with their total weight."""
    classes = len(class_weight.limbs)
    positions = (k, counted.width + k)
    offsets, count = counted.offsets, counted.tables["count"]
    (x, x_codes, x_weights), (t, t_codes, t_weights) = (
        weighed_cells(count.gather(1, slice(*offsets[position : position + 2])))
        for position in positions
    )
    missing = counted.tables["missing"].gather(1, slice(k, k + 1))
    _, missing_codes, missing_weights = weighed_cells(missing)
    codes = np.concatenate([x_codes, t_codes, missing_codes])
    weights = np.concatenate([x_weights, t_weights, missing_weights])
    numbers, categories = (counted.levels[position] for position in positions)
    rows: Documents | Float64
    if summary.of_texts:
        texts = [*(spelled(numbers).tolist() if len(numbers) else []), *categories.tolist(), None]
        places = np.concatenate([x, len(numbers) + t, np.full(len(missing_codes), len(texts) - 1)])
        rows = Documents.of(pa.array([texts[place] for place in places.tolist()], pa.string()))
    else:
        rows = np.full((len(codes), 1), np.nan)
        rows[: len(x), 0] = numbers[x]
        if summary.takes == "truths":
            truths = [TRUTHS.index(c) if c in TRUTHS else np.nan for c in categories.tolist()]
            rows[len(x) : len(x) + len(t), 0] = np.array(truths, np.float64)[t]
        rows = within(rows, summary)
    if not len(codes):
        return summary.empty(classes, 1)
    return summary.summarise(rows, Batch(codes, classes, weights), SERIAL)


def within(numbers: Float64, summary: Summary[Any]) -> Float64:
    """Replace numbers outside the bounds of a summary by NaN (missing)."""
    low, high = summary.bounds
    return np.where((numbers < low) | (numbers > high), np.nan, numbers)
