"""Arrow streams from untrusted clients: all types, odd values, and damaged streams.

As a program it reads some as files, with commands: `python arrow_bodies.py FOLDER SEED COUNT`.
"""

import contextlib
import datetime
import decimal
import io
import random
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa

ROWS = 6
WORDS = ["clerk", "boss", None, "more than the twelve bytes of a view", "x" * 40, "cook"]
PLAIN = {"age": pa.array([1.5] * ROWS), "job": pa.array(["boss"] * ROWS),
         "rich": pa.array(["y", "n"] * 3)}  # fmt: skip
LEARNED = {
    "age": [20.5 + k % 41 for k in range(40)],
    "job": [["clerk", "boss", "cook"][k % 3] for k in range(40)],
    "day": [datetime.date(2020, 1, 1 + k % 28) for k in range(40)],
    "rich": ["ny"[k % 2] for k in range(40)],
}
"""A table to learn from."""
NUMBERS = [0, -1, 1, 127, -128, 255, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63), 10**6, -5]


def stream(table):
    """A table as an Arrow stream."""
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as out:
        out.write_table(table)
    return sink.getvalue()


def with_column(name, column):
    """A stream of rows with this column."""
    return stream(pa.table(PLAIN | {name: column}))


def of_types():
    """A column of each type."""
    numbers = [0, 1, None, 100, 2, 3]
    for kind in (pa.int8(), pa.uint64(), pa.float64(), pa.float16(), pa.date32()):
        yield pa.array(numbers, kind)
    for kind in (pa.time32("s"), pa.time64("ns"), pa.bool_()):
        yield pa.array(numbers, pa.int32()).cast(pa.int64() if kind == pa.time64("ns") else
                                                 pa.int32()).cast(kind)  # fmt: skip
    yield pa.array([0, 86_400_000, None] * 2, pa.date64())
    for unit in ("s", "ms", "us", "ns"):
        for zone in (None, "Europe/Paris", "+01:00"):
            yield pa.array([0, 10**9, None, 1, 2, 3], pa.timestamp(unit, zone))
        yield pa.array(numbers, pa.duration(unit))
    yield pa.array([(1, 2, 3), None] * 3, pa.month_day_nano_interval())
    for make, digits in (
        (pa.decimal32, 5), (pa.decimal64, 12), (pa.decimal128, 20), (pa.decimal256, 50),
    ):  # fmt: skip
        yield pa.array([decimal.Decimal("1.25"), None] * 3, make(digits, 2))
    words = pa.array(WORDS, pa.string())
    for kind in (
        pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(),
        pa.binary_view(),
    ):  # fmt: skip
        yield (own := words.cast(kind))
        yield pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 2, 3, 0], pa.int8()), own)
    yield pa.array([b"abcd", None] * 3, pa.binary(4))
    yield pa.nulls(ROWS)


def _raw(kind, *values):
    """A column of six values of these bytes."""
    data = b"".join(values[k % len(values)] for k in range(ROWS))
    return pa.Array.from_buffers(kind, ROWS, [None, pa.py_buffer(data)])


def _int(value, size=8):
    return (value % (1 << 8 * size)).to_bytes(size, "little")


def leading_nowhere(kind):
    """Views of which those of missing values have a negative length, and would lead anywhere."""
    views = np.zeros((ROWS, 4), np.int32)
    views[:] = [1, ord("a"), 0, 0]
    views[1::2] = [-5, 7, 1 << 20, 1 << 30]
    buffers = [pa.py_buffer(b"\x15"), pa.py_buffer(views.tobytes())]
    return pa.Array.from_buffers(kind, ROWS, buffers)


def odd():
    """Columns by what is odd about them, which Arrow takes for valid."""
    own = {}
    for kind in (pa.string_view(), pa.binary_view()):
        own[f"{kind} leading nowhere"] = views = leading_nowhere(kind)
        codes = pa.array([0, 1, 2, 3, None, 5], pa.int8())
        own[f"a dictionary of {kind} leading nowhere"] = pa.DictionaryArray.from_arrays(
            codes, views
        )
    own["a dictionary of string_view"] = pa.DictionaryArray.from_arrays(
        pa.array([0, 1, None, 2, 3, 0], pa.int8()), pa.array(WORDS, pa.string_view())
    )
    for zone in ("Europe/Nowhere", "+99:00"):
        own[f"the time zone {zone}"] = _raw(pa.timestamp("s", zone), _int(0), _int(10**9))
    for unit in ("s", "ms", "us"):
        for zone in (None, "UTC", "Asia/Kolkata"):
            own[f"far timestamps in {unit}, {zone}"] = _raw(
                pa.timestamp(unit, zone), _int(2**63 - 1), _int(-(2**63)), _int(-(2**62))
            )
    own["far days"] = _raw(pa.date32(), _int(2**31 - 1, 4), _int(-(2**31), 4), _int(2932897, 4))
    own["far days in ms"] = _raw(pa.date64(), _int(86_400_000 * 10**8), _int(-86_400_000 * 10**7))
    own["far days, encoded"] = pa.DictionaryArray.from_arrays(
        pa.array([0, 1] * 3, pa.int8()), pa.array([0, 2**31 - 1], pa.int32()).cast(pa.date32())
    )
    for unit in ("s", "ns"):
        own[f"a long duration in {unit}"] = _raw(pa.duration(unit), _int(2**63 - 1), _int(-(2**63)))
    own["nanoseconds"] = _raw(pa.timestamp("ns"), _int(1), _int(2**63 - 1))
    return own


def unreadable():
    """Streams by the type of their column, which is none that values can be read of."""
    own = {}
    for scale in (-408, -(2**31), 408):
        own[f"decimal256 of scale {scale}"] = with_column(
            "age", _raw(pa.decimal256(50, scale), _int(125, 32))
        )
    body = with_column("age", pa.array([(1, 2, 3)] * ROWS, pa.month_day_nano_interval()))
    for k, unit in enumerate(("months", "days")):  # a byte of the schema
        own[f"an interval of {unit}"] = next(
            damaged for at in range(len(body))
            if body[at] == 2 and _type_of(damaged := body[:at] + bytes([k]) + body[at + 1 :])
            in ("month_interval", "day_time_interval")
        )  # fmt: skip
    body = with_column("age", pa.array([0] * ROWS, pa.timestamp("s", "Europe/Paris")))
    own["a time zone that is no text"] = body.replace(
        b"Europe/Paris", b"Europe/\xff\xfe\xfd\xfc\xfb"
    )
    return own


def _type_of(body):
    try:
        return str(pa.ipc.open_stream(body).schema.field("age").type)
    except (pa.ArrowException, OSError):
        return None


def bodies():
    """Streams of columns of all types, in each place."""
    return [
        with_column(name, column)
        for column in [*of_types(), *odd().values()]
        for name in ("age", "job", "day", "rich")
    ] + [*unreadable().values()]


def damaged(random, body, other):
    """A body with some of its bytes changed, or taken from elsewhere or from another one."""
    own = bytearray(body)
    for _ in range(random.choice([1, 1, 1, 2, 3, 6])):
        width = random.choice([1, 2, 4, 8])
        at = random.randrange(len(own) - 8) // width * width
        match random.randrange(5):
            case 0:
                own[at] ^= 1 << random.randrange(8)
            case 1:
                own[at : at + width] = _int(random.choice(NUMBERS), width)
            case 2:
                number = int.from_bytes(own[at : at + width], "little")
                own[at : at + width] = _int(number + random.choice([-1, 1, 2, 8]), width)
            case 3:
                start = random.randrange(len(own) - 8)
                own[at : at + width] = own[start : start + width]
            case 4:
                start = random.randrange(len(other) - 8)
                own[at : at + width] = other[start : start + width]
    return bytes(own)


def some(seed, count):
    """All bodies, and so many damaged ones."""
    every, generator = bodies(), random.Random(seed)
    yield from every
    for _ in range(count):
        yield damaged(generator, generator.choice(every), generator.choice(every))


def main(folder, seed, count):
    """Read bodies as files; an exception or a crash is an error of ours."""
    from naively import NaiveBayes
    from naively.cli.main import run

    model, path, made = (str(Path(folder, name)) for name in ("m.model", "x.arrow", "o.model"))
    NaiveBayes().fit(LEARNED, "rich").save(model)
    commands = [
        ["predict", model, path], ["predict", model, path, "--json"], ["explain", model, path],
        ["fit", path, "--target", "rich", "--naive", "-o", made],
    ]  # fmt: skip
    for k, body in enumerate(some(seed, count)):
        Path(path).write_bytes(body)
        out = io.TextIOWrapper(io.BytesIO())
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            run(commands[k % len(commands)])


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
