"""What the values of an Arrow column mean: numbers, levels, documents.

A value has one meaning, whatever stands beside it and whichever type its column was given: text
that was read from a file means what the same number or truth value means in a frame.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from functools import cache
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from naively.exact import Float64
from naively.numerals import ANY, MOMENT, NUMBER, WHOLE
from naively.statistics.levels import Levels
from naively.statistics.row_encoding import number_text
from naively.tables import moments
from naively.tables.chunks import joined
from naively.tables.plain_numbers import MANY, plain_numbers
from naively.tables.views import unviewed

Codes = npt.NDArray[np.int32]
TEXT = np.dtypes.StringDType()
ENDLESS = re.compile(r"[-+]?(inf(inity)?|nan)", re.I)
EXACT = re.compile(r"\+?(-?[1-9][0-9]*)(\.[0-9]*)")
TRUTH = {"True": 1.0, "TRUE": 1.0, "true": 1.0, "False": 0.0, "FALSE": 0.0, "false": 0.0}
NUL = "\N{SYMBOL FOR NULL}"
"""What stands for NUL in a level: NumPy compares text up to the first NUL only."""
LONG = 400  # digits of a Decimal that are all written
UNITS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}  # of durations, a second


def is_text(kind: pa.DataType) -> bool:
    """Whether a column of this type holds text."""
    return kind in (pa.string(), pa.large_string(), pa.string_view())


def bytes_of(rows: pa.Table | pa.RecordBatch) -> int:
    """About how much memory some rows take."""
    try:
        return int(rows.nbytes)
    except pa.ArrowTypeError:  # pyarrow before 24 does not know it of views of text
        return int(rows.get_total_buffer_size())


def is_number(kind: pa.DataType) -> bool:
    """Whether a column of this type holds numbers."""
    types = pa.types
    return bool(
        types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
        or types.is_duration(kind)
    )  # fmt: skip


def no_plain_values(kind: pa.DataType) -> pa.DataType | None:
    """The type of what a column holds, if these are no numbers, texts, truth values or moments."""
    types = pa.types
    while True:
        if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
            kind = kind.value_type
        elif isinstance(kind, pa.BaseExtensionType):
            kind = pa.bool_() if kind == pa.bool8() else kind.storage_type
        else:
            break
    plain = (
        is_text(kind) or is_number(kind) or types.is_boolean(kind) or types.is_null(kind)
        or types.is_temporal(kind) or types.is_interval(kind)
    )  # fmt: skip
    return None if plain else kind


def flat(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The column in one piece, and of a type that all functions here take."""
    if isinstance(column, pa.ChunkedArray):
        column = joined(column)
    if isinstance(column, pa.ExtensionArray):
        column = column.cast(pa.bool_()) if column.type == pa.bool8() else column.storage
    if pa.types.is_run_end_encoded(column.type):
        column = pc.run_end_decode(column)
    column = unviewed(column)
    kind = column.type
    if pa.types.is_large_string(kind):
        return column.cast(pa.string())
    if pa.types.is_fixed_size_binary(kind):
        return column.cast(pa.binary())
    if pa.types.is_decimal32(kind) or pa.types.is_decimal64(kind):
        return column.cast(pa.decimal128(kind.precision, kind.scale))
    if pa.types.is_interval(kind):
        return _written(column)
    if pa.types.is_duration(kind):  # in seconds
        whole = column.cast(pa.int64()).cast(pa.float64(), safe=False)
        return pc.divide(whole, UNITS[kind.unit])
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return moments.plain(column)
    return column


def _written(column: pa.Array) -> pa.Array:
    """Values of a type that Arrow tells apart in no other way, as Python writes them."""
    return pa.array([None if one is None else str(one) for one in column.to_pylist()], pa.string())


def trimmed(column: pa.Array) -> pa.Array:
    """Text without the blanks about it."""
    if not pa.types.is_dictionary(column.type):
        return pc.utf8_trim_whitespace(column)
    known = pc.utf8_trim_whitespace(column.dictionary)
    return pa.DictionaryArray.from_arrays(column.indices, known)


# ---- numbers ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Numbers:
    """The values of a column as numbers.

    Attributes
    ----------
    values : (n,) float64, NaN where a value is missing or no number.
    invalid : (n,) bool, the values that are no numbers.
    example : one of them, the first in alphabetical order; None if there is none.
    truths : whether any value is written as a truth value.
    """

    values: Float64
    invalid: npt.NDArray[np.bool_]
    example: Any = None
    truths: bool = False

    def gather(self, places: npt.NDArray[Any]) -> Numbers:
        """The values at some places, one beyond the last being missing."""
        values, invalid = np.append(self.values, np.nan), np.append(self.invalid, False)
        return Numbers(values[places], invalid[places], self.example, self.truths)


def numbers(column: pa.Array, missing: Collection[str]) -> Numbers:
    """The values of a column as numbers: true is 1, false is 0; dates and times are none."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        places, known = encoded(column)
        return numbers(known, missing).gather(places)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        places, texts = level_texts(column, ())
        return numbers(pa.array(texts, pa.string()), missing).gather(places)
    if is_text(kind):
        found = _parsed(column, missing)
    elif pa.types.is_boolean(kind) or is_number(kind):
        truths = pa.types.is_boolean(kind)
        # Arrow rounds decimals twice: 3.10 would not be 3.1
        plain = pa.uint8() if truths else pa.string() if pa.types.is_decimal(kind) else kind
        values = _float64(column.cast(plain).cast(pa.float64(), safe=False))
        found = Numbers(values, np.zeros(len(column), bool), truths=truths)
    else:
        strange = _mask(column.is_valid())
        example = min(filter(None, level_texts(column, ())[1]), default=None)
        return Numbers(np.full(len(column), np.nan), strange, example)
    for number in _numbers_among(tuple(missing)):
        found.values[found.values == number] = np.nan
    return found


@cache
def _numbers_among(missing: tuple[str, ...]) -> list[float]:
    """The spellings of a missing value that are numbers, such as -999."""
    return [float(spelling) for spelling in missing if NUMBER.fullmatch(spelling)]


def begins_with_word(column: pa.Array, missing: Collection[str]) -> bool:
    """Whether the first value of a column is text that is no number, as each word is."""
    if len(column) == 0 or not is_text(column.type) or (first := column[0].as_py()) is None:
        return False
    text = first.strip()
    return text[:1].isalpha() and _read(text, missing) is None


def _parsed(column: pa.Array, missing: Collection[str]) -> Numbers:
    """Text as numbers."""
    if len(column) < MANY:
        return _parsed_few(column, missing)
    values, others = plain_numbers(column)
    invalid, left = np.zeros(len(column), bool), np.flatnonzero(others)
    if not len(left):
        return Numbers(values, invalid)
    places, known = encoded(column.take(pa.array(left)))
    found = _parsed_few(known, missing).gather(places)
    values[left], invalid[left] = found.values, found.invalid
    return Numbers(values, invalid, found.example, found.truths)


def _parsed_few(column: pa.Array, missing: Collection[str]) -> Numbers:
    """Text as numbers: what looks like one by Arrow, all else value by value."""
    nothing = np.zeros(len(column), bool)
    try:
        values = _float64(column.cast(pa.float64()))
        if np.isfinite(values).sum() == len(values) - column.null_count:
            return Numbers(values, nothing)
    except pa.ArrowInvalid:
        pass
    column = pc.utf8_trim_whitespace(column)
    looks = pc.match_substring_regex(column, f"^{ANY}$")
    values = _float64(pc.if_else(looks, column, None).cast(pa.float64()))
    others = np.flatnonzero(_mask(column.is_valid()) & ~_mask(looks))
    if not len(others):
        return Numbers(values, nothing)
    places, known = encoded(column.take(pa.array(others)))
    read = [_read(text, missing) for text in known.to_pylist()]
    strange = [text for text, one in zip(known.to_pylist(), read, strict=True) if one is None]
    truths = any(text in TRUTH for text in known.to_pylist())
    values[others] = np.array([math.nan if one is None else one for one in read])[places]
    nothing[others] = np.array([one is None for one in read], bool)[places]
    return Numbers(values, nothing, min(strange, default=None), truths)


def _read(text: str, missing: Collection[str]) -> float | None:
    """What text that does not look like a number is as one; NaN if missing, None if it is none."""
    if text in missing:
        return math.nan
    if text in TRUTH:
        return TRUTH[text]
    word = text.lstrip("+-").lower()
    return float(text) if word in ("inf", "infinity", "nan") and len(text) - len(word) < 2 else None


def _float64(column: pa.Array) -> Float64:
    """A float64 column with NaN for null; a copy."""
    return np.array(pc.fill_null(column, math.nan) if column.null_count else column)


def _mask(column: pa.Array) -> npt.NDArray[np.bool_]:
    """A column of truth values, null being false."""
    return np.asarray(pc.fill_null(column, False))


def encoded(column: pa.Array) -> tuple[npt.NDArray[Any], pa.Array]:
    """(position of each value among the distinct values, these); null is beyond them."""
    if not pa.types.is_dictionary(column.type):
        column = pc.dictionary_encode(column)
    # a slice of a column with more values, or a null among the values
    if len(column.dictionary) > len(column) or column.dictionary.null_count:
        column = pc.dictionary_encode(column.cast(column.type.value_type))
    known, indices = column.dictionary, column.indices
    if indices.null_count:
        indices = pc.fill_null(indices.cast(pa.int64()), len(known))
    return np.asarray(indices), flat(known)


def is_endless(text: str) -> bool:
    """Whether text is a number beyond float64, a word for one or for no number, or a far date."""
    if text[:1] in ("-", "+") and moments.FAR.fullmatch(text):
        return True
    ends = text.endswith(("f", "F", "y", "Y", "n", "N"))
    if not (ends or "e" in text or "E" in text or len(text) > 300):
        return False  # soon, as levels are many
    return bool(ENDLESS.fullmatch(text) or (NUMBER.fullmatch(text) and math.isinf(float(text))))


def any_code(column: pa.Array) -> bool:
    """Whether any text is of digits with a leading zero, such as 02139: a code, no number."""
    text = pc.ascii_ltrim(column, " \t\n\f\r")
    text = text.filter(pc.starts_with(text, "0"))  # few, and the rest takes longer
    return bool(pc.any(pc.match_substring_regex(text, "^0[0-9]")).as_py())


# ---- levels ----------------------------------------------------------------------------------


def level_text(value: Any, missing: Collection[str]) -> str | None:
    """A value as the text of a level, the same from whatever source; None if it is missing.

    Equal numbers are one level (5, 5.0 and "5"), so are True and "true", and the ways to write a
    date or time (12:30 and 12:30:00).
    """
    if value is None:
        return None
    if isinstance(value, str):
        value = value.strip()
        text = None if value in missing else _canonical(value)
    elif isinstance(value, bool | np.bool_):
        text = "true" if value else "false"
    elif isinstance(value, Integral):
        text = str(int(value))
    elif isinstance(value, Real):  # np.float32(0.1) is 0.10000000149011612: sums are of values
        text = _number_text(float(value))
    elif isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) < LONG:
        text = _canonical(f"{value:f}")
    elif isinstance(value, timedelta):
        text = _number_text(value.total_seconds())
    elif isinstance(value, bytes):  # what is no text is told apart, too
        text = _canonical(value.decode(errors="backslashreplace").strip())
    else:
        text = None if is_nothing(value) else _canonical(str(value).strip())
    if text is not None and "\0" in text:
        text = text.replace("\0", NUL)
    return None if text in missing else text


def is_nothing(value: Any) -> bool:
    """Whether it is None, or a not-a-number of some type: NaN, NaT, pandas' NA, a Decimal."""
    if value is None:
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # NA has no truth, an array has many
        return not hasattr(value, "__len__")


def _canonical(text: str) -> str:
    """1.50 as 1.5, True as true, 12:30:00 as 12:30."""
    if text[:1].isalpha():  # as no number, date or time does
        return text.lower() if text in TRUTH else text
    if WHOLE.fullmatch(text):
        return text.lstrip("+") if text != "-0" else "0"
    if NUMBER.fullmatch(text) and math.isfinite(value := float(text)):
        if abs(value) >= 2**53 and (found := EXACT.fullmatch(text)):  # all digits count
            return found[1] + found[2].rstrip("0").rstrip(".")
        return str(_number_text(value))
    if text and (found := MOMENT.fullmatch(text)):
        return moments.moment_text(*found.groups())
    return text


def number_of(text: str) -> float | None:
    """The number that the text of a level is; None if it is none, as truth values and codes.

    Nor are whole numbers beyond 2**53 of which float64 has not all digits: they are names.
    """
    if text[:1].isalpha() or not NUMBER.fullmatch(text):
        return None
    value = float(text)
    if not math.isfinite(value):
        return None
    if abs(value) >= 2**53 and WHOLE.fullmatch(text) and int(text) != int(value):
        return None
    return value + 0.0


def _number_text(value: float) -> str | None:
    return None if math.isnan(value) else number_text(value)


def levels(column: pa.Array, missing: Collection[str]) -> tuple[Codes, Levels]:
    """(position of each value among the levels, or their number if missing; sorted levels)."""
    places, texts = level_texts(column, missing)
    known = np.array([text for text in texts if text is not None], TEXT)
    found, order = np.unique(known, return_inverse=True)
    remap = np.full(len(texts) + 1, len(found), np.int32)
    remap[[k for k, text in enumerate(texts) if text is not None]] = order
    return remap[places], found


def level_texts(
    column: pa.Array, missing: Collection[str]
) -> tuple[npt.NDArray[Any], list[str | None]]:
    """(position of each value in the list, the texts of the distinct values); null is beyond."""
    types = pa.types
    if types.is_nested(column.type) and not types.is_dictionary(column.type):
        column = _written(column)
    places, known = encoded(column)
    if types.is_temporal(known.type):
        known = known.cast(pa.string())
    return places, [level_text(value, missing) for value in known.to_pylist()]
