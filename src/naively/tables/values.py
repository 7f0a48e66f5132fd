"""Convert Arrow columns to numbers, categories and canonical text."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cache
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from naively.core.exact import Float64, Int64
from naively.core.numerals import ANY, MOMENT, NUMBER, WHOLE
from naively.statistics.candidates import endless
from naively.statistics.levels import Levels
from naively.statistics.rows import number_text
from naively.text.documents import Documents


def joined(column: pa.ChunkedArray) -> pa.Array:
    """Combine the chunks of a column, and their dictionaries.

    Dictionaries are unified first: Arrow does not combine those that hold a null, and NumPy would
    read a null of several dictionaries as the last value.
    """
    if column.num_chunks == 1:
        return column.chunk(0)
    if pa.types.is_dictionary(column.type):
        column = unviewed(column)
        if any(chunk.dictionary.null_count for chunk in column.chunks):
            chunks = [chunk.dictionary.take(chunk.indices) for chunk in column.chunks]
            column = pa.chunked_array(chunks).dictionary_encode()
        else:
            column = column.unify_dictionaries()
    return column.combine_chunks()


# ---- views ---------------------------------------------------------------------------------------


Rows = TypeVar("Rows", pa.Table, pa.RecordBatch)

VIEW = 16  # bytes of a view (Arrow's string_view and binary_view)


def is_view(kind: pa.DataType) -> bool:
    """Return whether a type is string_view or binary_view."""
    return bool(pa.types.is_string_view(kind) or pa.types.is_binary_view(kind))


def without_views(rows: Rows) -> Rows:
    """Replace views by plain strings, also in dictionaries, lists and structs."""
    for k, field in enumerate(rows.schema):
        column = rows.column(k)
        if (converted := unviewed(column)) is not column:
            converted_field = pa.field(field.name, converted.type, metadata=field.metadata)
            rows = rows.set_column(k, converted_field, converted)
    return rows


def unviewed(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return a column without views; the same object if it has none."""
    kind = _plain(column.type)
    if kind == column.type:
        return column
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([_without(chunk, kind) for chunk in column.chunks], kind)
    return _without(column, kind)


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return the equivalent type without views; the same type if it has none."""
    types = pa.types
    if is_view(kind):
        return pa.large_string() if types.is_string_view(kind) else pa.large_binary()
    if types.is_dictionary(kind):
        inner = _plain(kind.value_type)
        is_plain = inner == kind.value_type
        return kind if is_plain else pa.dictionary(kind.index_type, inner, kind.ordered)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        inner = _plain(kind.value_type)
        return kind if inner == kind.value_type else pa.large_list(inner)
    if types.is_struct(kind):
        fields = [kind.field(k) for k in range(kind.num_fields)]
        return pa.struct([field.with_type(_plain(field.type)) for field in fields])
    return kind


def _without(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Convert an array to `kind`, the equivalent type without views."""
    if is_view(array.type):
        return _blanked(array).cast(kind)
    if pa.types.is_dictionary(kind):
        dictionary = _without(array.dictionary, kind.value_type)
        return pa.DictionaryArray.from_arrays(array.indices, dictionary, ordered=kind.ordered)
    return pa.array(array.to_pylist(), kind)  # to_pylist does not follow the views of nulls


def _blanked(array: pa.Array) -> pa.Array:
    """Set the views of nulls to empty ones.

    Arrow does not validate the view of a null, but follows it when it casts. In untrusted data it
    may have a negative length or an invalid address, which crashes the process.
    """
    if array.null_count == 0:
        return array
    validity, views, *data = array.buffers()
    rows = slice(array.offset, array.offset + len(array))
    blanked = np.frombuffer(views, np.uint8)[: VIEW * rows.stop].reshape(-1, VIEW).copy()
    blanked[rows][np.asarray(array.is_null())] = 0
    buffers = [validity, pa.py_buffer(blanked), *data]
    return pa.Array.from_buffers(array.type, len(array), buffers, offset=array.offset)


# ---- decimal numbers -----------------------------------------------------------------------------


MANY = 4096  # minimum number of values for which loading the kernel pays off
AFTER = 8  # bytes that the kernel may read beyond the last value


def plain_numbers(column: pa.Array) -> tuple[Float64, npt.NDArray[np.bool_]]:
    """Parse text as float64; return (values, whether a value must be parsed in another way).

    Values that remain are 0: nulls, text that is not a number, numbers of more than 19 digits, and
    those near the limits of float64. All others equal Python's `float`, bit for bit.
    """
    from naively.kernels.tables import read_decimals

    texts = Documents.of(column)
    data = texts.data
    if len(data) < texts.offsets[-1] + AFTER:
        data = np.append(data, np.zeros(AFTER, np.uint8))
    numbers_ = np.zeros(len(column))
    unparsed = np.zeros(len(column), bool) if texts.valid is None else ~texts.valid
    read_decimals(data, texts.offsets, numbers_, unparsed)
    return numbers_, unparsed


# ---- dates and times -----------------------------------------------------------------------------


Column = TypeVar("Column", pa.Array, pa.ChunkedArray)

FAR = re.compile(r"[-+]\d{4,}-[01]\d-[0-3]\d(?:[T ]\d\d:.*)?", re.ASCII)
"""The text of a date outside the years 1 to 9999."""
DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
"""Number of time units in a day."""
FIRST, LAST = -719_162, 2_932_896
"""The first day of the year 1, and the last of 9999, in days since 1970."""
CYCLE = 146_097  # days of 400 years, the period of the Gregorian calendar
LONGEST = 999_999_999  # maximum days of a Python `timedelta`


def plain(column: pa.Array) -> pa.Array:
    """Convert timestamps with a time zone to UTC, and a column with years outside 1-9999 to text.

    The zone, which may be unknown, is not looked up: timestamps count from 1970 in UTC.
    """
    kind = column.type
    if pa.types.is_timestamp(kind) and kind.tz not in (None, "UTC"):
        column = column.cast(pa.timestamp(kind.unit, "UTC"))
    is_far = _far(column)
    return _as_text(column, is_far) if is_far.any() else column


def readable(column: Column) -> Column:
    """Convert dates, times and durations that Python cannot represent to text."""
    if isinstance(column, pa.ChunkedArray):
        chunks = [_readable(chunk) for chunk in column.chunks]
        kinds = {chunk.type for chunk in chunks}
        if len(kinds) > 1:
            chunks = [chunk.cast(pa.string()) for chunk in chunks]
        return pa.chunked_array(chunks) if chunks else column
    return _readable(column)


def _readable(column: pa.Array) -> pa.Array:
    kind, types = column.type, pa.types
    if types.is_nested(kind):
        return column if _is_python(column) else _shown(column)
    value_type = kind.value_type if types.is_dictionary(kind) else kind
    is_date, is_duration = types.is_date(value_type), types.is_duration(value_type)
    if not (is_date or is_duration or types.is_timestamp(value_type)):
        return column
    moments = column.cast(value_type)
    if is_duration:
        is_long = np.abs(_whole(moments) // DAY[value_type.unit]) >= LONGEST
        return moments.cast(pa.int64()).cast(pa.string()) if is_long.any() else column
    if _far(moments).any() or (types.is_timestamp(value_type) and not _is_known(value_type.tz)):
        return plain(moments).cast(pa.string())
    is_ns = types.is_timestamp(value_type) and value_type.unit == "ns"
    return moments.cast(pa.string()) if is_ns and (_whole(moments) % 1000).any() else column


def _is_python(column: pa.Array) -> bool:
    """Return whether nested values can be converted to Python objects."""
    try:
        column.to_pylist()
    except Exception:  # each type raises another exception
        return False
    return True


def _shown(column: pa.Array) -> pa.Array:
    """Convert nested values to text, as Arrow prints them."""
    shown = [str(column.slice(k, 1)) if x.is_valid else None for k, x in enumerate(column)]
    return pa.array(shown, pa.string())


def _whole(column: pa.Array) -> Int64:
    """Return (n,) dates, times or durations as integers of their unit; 0 where missing."""
    converted = column.cast(pa.int32()) if pa.types.is_date32(column.type) else column
    return np.asarray(pc.fill_null(converted.cast(pa.int64()), 0))


def _day(kind: pa.DataType) -> int:
    """Return the number of units of a date or timestamp type in a day."""
    return 1 if pa.types.is_date32(kind) else DAY["ms" if pa.types.is_date64(kind) else kind.unit]


def _far(column: pa.Array) -> npt.NDArray[np.bool_]:
    """Return (n,) whether each date is outside the years 1 to 9999."""
    days = _whole(column) // _day(column.type)
    return (days < FIRST) | (days > LAST)


def _as_text(column: pa.Array, far: npt.NDArray[np.bool_]) -> pa.Array:
    kind = column.type
    representable = pc.if_else(pa.array(far), pa.scalar(None, kind), column)
    texts, integers = representable.cast(pa.string()).to_pylist(), _whole(column)
    for k in np.flatnonzero(far).tolist():
        days, remainder = divmod(int(integers[k]), _day(kind))
        cycles, day = divmod(days - FIRST, CYCLE)
        equivalent = date.fromordinal(day + 1)
        texts[k] = f"{equivalent.year + 400 * cycles:+05d}-{equivalent:%m-%d}"
        if pa.types.is_timestamp(kind):
            clock = remainder * (DAY["ns"] // _day(kind)) // 1000  # Python has microseconds
            texts[k] += f" {datetime.min + timedelta(microseconds=clock):%H:%M:%S.%f}"
            texts[k] += "Z" if kind.tz else ""
    return pa.array(texts, pa.string())


@cache
def _is_known(zone: str | None) -> bool:
    """Return whether both Arrow and Python have a time zone."""
    try:
        moment = pa.scalar(0, pa.timestamp("s", zone))
        moment.cast(pa.string())
        moment.as_py()
    except Exception:  # each library raises another exception
        return False
    return True


def moment_text(
    date: str | None, clock: str | None, seconds: str | None, fraction: str | None, zone: str | None
) -> str:
    """Format a date and time without trailing zeros, in UTC if it has a zone."""
    fraction = (fraction or "").rstrip("0").rstrip(".")
    if seconds and (seconds != "00" or fraction):
        clock = f"{clock}:{seconds}{fraction}"
    if zone and date and clock and (utc := _in_utc(date, clock, zone)):
        date, clock = utc
        zone = "+00:00"
    elif zone:
        zone = "+00:00" if zone == "Z" else f"{zone[:3]}:{zone[-2:]}"
    elif date and clock == "00:00":
        clock = None
    return " ".join(part for part in (date, clock) if part) + (zone or "")


def _in_utc(date: str, clock: str, zone: str) -> list[str] | None:
    """Convert a date and time to UTC; return [date, time], or None if there is no such date.

    Zones are whole minutes, so seconds do not change.
    """
    seconds = clock[5:]
    minutes = 0 if zone == "Z" else 60 * int(zone[1:3]) + int(zone[-2:])
    try:
        moment = datetime.fromisoformat(f"{date} {clock[:5]}")
        moment -= timedelta(minutes=-minutes if zone[0] == "-" else minutes)
    except (ValueError, OverflowError):
        return None
    date, clock = moment.isoformat(" ", "minutes").split(" ")
    return [date, clock + seconds]


# ---- values --------------------------------------------------------------------------------------


Codes = npt.NDArray[np.int32]
TEXT = np.dtypes.StringDType()
ENDLESS = re.compile(r"[-+]?(inf(inity)?|nan)", re.I)
EXACT = re.compile(r"\+?(-?[1-9][0-9]*)(\.[0-9]*)")
TRUTH = {"True": 1.0, "TRUE": 1.0, "true": 1.0, "False": 0.0, "FALSE": 0.0, "false": 0.0}
NUL = "\N{SYMBOL FOR NULL}"
"""Replaces NUL in categories: NumPy compares text up to the first NUL only."""
LONG = 400  # maximum exponent of a Decimal that is written without an exponent
UNITS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}  # duration units per second


def is_text(kind: pa.DataType) -> bool:
    """Return whether a type is text."""
    return kind in (pa.string(), pa.large_string(), pa.string_view())


def bytes_of(rows: pa.Table | pa.RecordBatch) -> int:
    """Return the approximate memory of some rows."""
    try:
        return int(rows.nbytes)
    except pa.ArrowTypeError:  # pyarrow before 24: not implemented for string views
        return int(rows.get_total_buffer_size())


def is_number(kind: pa.DataType) -> bool:
    """Return whether a type is numeric; durations are."""
    types = pa.types
    return bool(
        types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
        or types.is_duration(kind)
    )  # fmt: skip


def no_plain_values(kind: pa.DataType) -> pa.DataType | None:
    """Return the type of a column's values if it is not numeric, text, boolean or a date or time.

    None if it is one of these.
    """
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


FLAT = frozenset((pa.string(), pa.float64(), pa.int64(), pa.bool_(), pa.null()))
"""Common types, which need no conversion."""


def flat(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Combine the chunks of a column, and convert it to a type that this module supports."""
    if isinstance(column, pa.ChunkedArray):
        column = joined(column)
    if column.type in FLAT:
        return column
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
        integers = column.cast(pa.int64()).cast(pa.float64(), safe=False)
        return pc.divide(integers, UNITS[kind.unit])
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return plain(column)
    return column


def _written(column: pa.Array) -> pa.Array:
    """Convert values that Arrow cannot compare to text, as Python writes them."""
    texts = [None if value is None else str(value) for value in column.to_pylist()]
    return pa.array(texts, pa.string())


def trimmed(column: pa.Array) -> pa.Array:
    """Strip blanks from text."""
    if not pa.types.is_dictionary(column.type):
        return pc.utf8_trim_whitespace(column)
    distinct = pc.utf8_trim_whitespace(column.dictionary)
    return pa.DictionaryArray.from_arrays(column.indices, distinct)


# ---- numbers ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Numbers:
    """The values of a column as numbers.

    values : (n,) float64, NaN where a value is missing or invalid.
    invalid : (n,) bool, whether a value is not a number.
    example : the first invalid value in alphabetical order, or None.
    truths : whether any value is a boolean.
    """

    values: Float64
    invalid: npt.NDArray[np.bool_]
    example: Any = None
    truths: bool = False

    def gather(self, places: npt.NDArray[Any]) -> Numbers:
        """Return the values at some positions; a position after the last is missing."""
        values, invalid = np.append(self.values, np.nan), np.append(self.invalid, False)
        return Numbers(values[places], invalid[places], self.example, self.truths)


def numbers(column: pa.Array, missing: Collection[str]) -> Numbers:
    """Convert a column to numbers: true is 1, false is 0; dates and times are invalid."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        places, distinct = encoded(column)
        return numbers(distinct, missing).gather(places)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        places, texts = level_texts(column, ())
        return numbers(pa.array(texts, pa.string()), missing).gather(places)
    if is_text(kind):
        parsed = _parsed(column, missing)
    elif pa.types.is_boolean(kind) or is_number(kind):
        truths = pa.types.is_boolean(kind)
        # Arrow rounds decimals twice: 3.10 would not be 3.1
        plain = pa.uint8() if truths else pa.string() if pa.types.is_decimal(kind) else kind
        if kind != pa.float64():
            column = column.cast(plain).cast(pa.float64(), safe=False)
        values = _float64(column)
        parsed = Numbers(values, np.zeros(len(column), bool), truths=truths)
    else:
        invalid = _mask(column.is_valid())
        example = min(filter(None, level_texts(column, ())[1]), default=None)
        return Numbers(np.full(len(column), np.nan), invalid, example)
    for number in _numbers_among(tuple(missing)):
        parsed.values[parsed.values == number] = np.nan
    return parsed


@cache
def _numbers_among(missing: tuple[str, ...]) -> list[float]:
    """Return the spellings of a missing value that are numbers, such as -999."""
    return [float(spelling) for spelling in missing if NUMBER.fullmatch(spelling)]


def begins_with_word(column: pa.Array, missing: Collection[str]) -> bool:
    """Return whether the first value of a column is a word, and not a number."""
    if len(column) == 0 or not is_text(column.type) or (first := column[0].as_py()) is None:
        return False
    text = first.strip()
    return text[:1].isalpha() and _read(text, missing) is None


def _parsed(column: pa.Array, missing: Collection[str]) -> Numbers:
    """Parse text as numbers, by the kernel if there are many values."""
    if len(column) < MANY:
        return _parsed_few(column, missing)
    values, unparsed = plain_numbers(column)
    invalid, remaining = np.zeros(len(column), bool), np.flatnonzero(unparsed)
    if not len(remaining):
        return Numbers(values, invalid)
    places, distinct = encoded(column.take(pa.array(remaining)))
    parsed = _parsed_few(distinct, missing).gather(places)
    values[remaining], invalid[remaining] = parsed.values, parsed.invalid
    return Numbers(values, invalid, parsed.example, parsed.truths)


def _parsed_few(column: pa.Array, missing: Collection[str]) -> Numbers:
    """Parse text as numbers: by Arrow what looks like a number, the rest value by value."""
    invalid = np.zeros(len(column), bool)
    try:
        values = _float64(column.cast(pa.float64()))
        if np.isfinite(values).sum() == len(values) - column.null_count:
            return Numbers(values, invalid)
    except pa.ArrowInvalid:
        pass
    column = pc.utf8_trim_whitespace(column)
    is_decimal = pc.match_substring_regex(column, f"^{ANY}$")
    values = _float64(pc.if_else(is_decimal, column, None).cast(pa.float64()))
    unparsed = np.flatnonzero(_mask(column.is_valid()) & ~_mask(is_decimal))
    if not len(unparsed):
        return Numbers(values, invalid)
    places, distinct = encoded(column.take(pa.array(unparsed)))
    parsed = [_read(text, missing) for text in distinct.to_pylist()]
    unreadable = [text for text, x in zip(distinct.to_pylist(), parsed, strict=True) if x is None]
    truths = any(text in TRUTH for text in distinct.to_pylist())
    values[unparsed] = np.array([math.nan if x is None else x for x in parsed])[places]
    invalid[unparsed] = np.array([x is None for x in parsed], bool)[places]
    return Numbers(values, invalid, min(unreadable, default=None), truths)


def _read(text: str, missing: Collection[str]) -> float | None:
    """Parse text that does not look like a number: a missing value (NaN), a boolean, inf or nan.

    None if it is none of these.
    """
    if text in missing:
        return math.nan
    if text in TRUTH:
        return TRUTH[text]
    return float(text) if endless(text) else None


def _float64(column: pa.Array) -> Float64:
    """Copy a float64 column to NumPy, with NaN for null."""
    return np.array(pc.fill_null(column, math.nan) if column.null_count else column)


def _mask(column: pa.Array) -> npt.NDArray[np.bool_]:
    """Convert a boolean column to NumPy; null is false."""
    return np.asarray(pc.fill_null(column, False))


def encoded(column: pa.Array) -> tuple[npt.NDArray[Any], pa.Array]:
    """Return (position of each value among the distinct values, the distinct values).

    The position of null is their number.
    """
    if not pa.types.is_dictionary(column.type):
        column = pc.dictionary_encode(column)
    # the dictionary holds a null, or more values than rows (a slice of a larger column)
    if len(column.dictionary) > len(column) or column.dictionary.null_count:
        column = pc.dictionary_encode(column.cast(column.type.value_type))
    distinct, indices = column.dictionary, column.indices
    if indices.null_count:
        indices = pc.fill_null(indices.cast(pa.int64()), len(distinct))
    return np.asarray(indices), flat(distinct)


def is_endless(text: str) -> bool:
    """Return whether text is inf, nan, a number beyond float64, or a date outside years 1-9999."""
    if text[:1] in ("-", "+") and FAR.fullmatch(text):
        return True
    has_suffix = text.endswith(("f", "F", "y", "Y", "n", "N"))
    if not (has_suffix or "e" in text or "E" in text or len(text) > 300):
        return False  # fast path for most texts
    return bool(ENDLESS.fullmatch(text) or (NUMBER.fullmatch(text) and math.isinf(float(text))))


def any_code(column: pa.Array) -> bool:
    """Return whether any text is a code: digits with a leading zero, such as 02139."""
    text = pc.ascii_ltrim(column, " \t\n\f\r")
    text = text.filter(pc.starts_with(text, "0"))  # the regular expression is slow: filter first
    return bool(pc.any(pc.match_substring_regex(text, "^0[0-9]")).as_py())


# ---- categories ------------------------------------------------------------------------------


def level_text(value: Any, missing: Collection[str]) -> str | None:
    """Return the category of a value as text, the same for all sources; None if it is missing.

    Equal numbers are the same category (5, 5.0 and "5"), as are True and "true", and different
    spellings of a date or time (12:30 and 12:30:00).
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
    elif isinstance(value, Real):  # the exact value: np.float32(0.1) is 0.10000000149011612
        text = _number_text(float(value))
    elif isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) < LONG:
        text = _canonical(f"{value:f}")
    elif isinstance(value, timedelta):
        text = _number_text(value.total_seconds())
    elif isinstance(value, bytes):  # invalid UTF-8 stays distinct, as escapes
        text = _canonical(value.decode(errors="backslashreplace").strip())
    else:
        text = None if is_nothing(value) else _canonical(str(value).strip())
    if text is not None and "\0" in text:
        text = text.replace("\0", NUL)
    return None if text in missing else text


def is_nothing(value: object) -> bool:
    """Return whether a value is None, NaN, NaT, pandas' NA or a Decimal NaN."""
    if value is None:
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # NA and arrays have no truth value
        return not hasattr(value, "__len__")


def _canonical(text: str) -> str:
    """Convert text to its canonical form: 1.50 to 1.5, True to true, 12:30:00 to 12:30."""
    if text[:1].isalpha():  # no number, date or time begins with a letter
        return text.lower() if text in TRUTH else text
    if WHOLE.fullmatch(text):
        return text.lstrip("+") if text != "-0" else "0"
    if NUMBER.fullmatch(text) and math.isfinite(value := float(text)):
        if abs(value) >= 2**53 and (match := EXACT.fullmatch(text)):  # float64 would drop digits
            return match[1] + match[2].rstrip("0").rstrip(".")
        return str(_number_text(value))
    if text and (match := MOMENT.fullmatch(text)):
        return moment_text(*match.groups())
    return text


def number_of(text: str) -> float | None:
    """Return the number that a category's text spells; None for other text, booleans and codes.

    Also None for integers beyond 2**53 that float64 cannot represent: they are identifiers.
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
    """Return (code of each value, sorted categories); the code of missing is their number."""
    if len(column) == 1 and is_text(column.type):  # fast path for a single row
        text = level_text(column[0].as_py(), missing)
        return np.zeros(1, np.int32), np.array([] if text is None else [text], TEXT)
    places, texts = level_texts(column, missing)
    array = np.array([text for text in texts if text is not None], TEXT)
    categories, order = np.unique(array, return_inverse=True)
    remap = np.full(len(texts) + 1, len(categories), np.int32)
    remap[[k for k, text in enumerate(texts) if text is not None]] = order
    return remap[places], categories


def level_texts(
    column: pa.Array, missing: Collection[str]
) -> tuple[npt.NDArray[Any], list[str | None]]:
    """Return (position of each value in the list, category texts of the distinct values).

    The position of null is the length of the list. Different values may have the same text.
    """
    types = pa.types
    if types.is_nested(column.type) and not types.is_dictionary(column.type):
        column = _written(column)
    places, distinct = encoded(column)
    if types.is_temporal(distinct.type):
        distinct = distinct.cast(pa.string())
    return places, [level_text(value, missing) for value in distinct.to_pylist()]
