"""Wrong calls of every compiled kernel: each is refused or returns, and touches no other memory.

Arguments are drawn from a kernel's contract, which is its docstring, and from `kernel_cases`; then
some are changed. What follows the contract and what breaks it must both be harmless. Run it with
the library that is built under the sanitizers (native/README.md says how):

    python tests/fuzz_native.py --calls 100000
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import threading
import time
import zlib
from functools import cache
from types import BuiltinFunctionType
from typing import Any

import numpy as np
from kernel_cases import CASES

from naively.kernels import native

KERNELS = [name for name in dir(native) if isinstance(getattr(native, name), BuiltinFunctionType)]
REFUSALS = TypeError, ValueError, OverflowError, MemoryError, BufferError
NUMBERS = [np.dtype(kind) for kind in ("f8", "f4", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")]
EXTREMES = [
    0,
    1,
    -1,
    2,
    7,
    8,
    63,
    64,
    2**16,
    2**31 - 1,
    2**31,
    -(2**31),
    2**53,
    2**63 - 1,
    -(2**63),
]
HOSTILE = [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, 1e-300, 1e300, 5e-324, np.inf, -np.inf, np.nan]
TEXT = np.frombuffer(b'ab c,\n\r"\\u00e9{}:1.5e3-\xc3\xa9\xe2\x82\xacZ\xff\xce\xa3', np.uint8)
LARGEST = 300_000
"""Elements of an array."""
PATIENCE = 60
"""Seconds that a call may take."""

HINTS: dict[str, dict[str, list[int]]] = {
    "split_words": {"Q": [128, 128, 128, 1_114_112], "t": [600], "u": [100], "s": [40]},
    "split_characters": {
        "Q": [128, 128, 128, 1_114_112], "t": [600], "u": [300], "s": [40], "G": [60],
    },
    "number_grams": {
        "t": [0, 2, 16, 256, 1024], "s": [60], "u": [20], "v": [200], "b": [8000], "i": [400],
        "low": [1, 2], "high": [1, 2, 3], "buckets": [0, 0, 8],
    },
    "number_fields": {"t": [2, 16, 64, 256], "s": [90], "K": [3, 40]},
    "rehash": {"t": [2, 16, 128], "s": [0, 16, 64]},
    "tabulate": {"s": [16, 32, 64], "k": [1, 5, 12]},
    "place_columns": {"s": [1, 16, 32], "r": [0, 3, 20]},
    "score_levels": {"width": [8, 16], "s": [0, 160, 400]},
    "linear_sparse": {"width": [0, 8, 16, 24, 32], "s": [0, 64, 200]},
    "copy_fields": {"s": [90], "o": [0, 60, 300]},
    "copy_strings": {"s": [80, 160], "o": [90, 300], "c": [2, 4]},
    "split_fields": {"s": [64, 100, 160]},
    "split_objects": {"s": [64, 100, 160]},
    "read_decimals": {"s": [8, 60], "p": [591], "least": [-300]},
    "count_terms": {"s": [0, 64], "V": [0, 16], "s0": [0, 64], "c": [9],
        "stride": [1, 16], "first": [0, 1],
    },
    "dense_sums": {"s": [0, 72, 144, 216, 432]},
    "cut": {"v": [4, 60]},
    "square": {"s": [256, 800], "panels": [1, 2]},
}  # fmt: skip
"""Of some lengths and numbers in contracts, values by which comparisons often hold."""


# ---- contracts -----------------------------------------------------------------------------------


class Argument:
    """What a contract says of an argument, as Python expressions."""

    def __init__(self, text: str) -> None:
        found = re.match(r"\w+", text)
        assert found is not None
        self.name, rest = found[0], text[found.end() :]
        self.lengths: list[str] | None = None
        if rest.startswith("("):
            end, depth, parts = 0, 0, [""]
            for end, c in enumerate(rest):
                depth += (c == "(") - (c == ")")
                if depth == 0:
                    break
                if c == "," and depth == 1:
                    parts.append("")
                elif end:
                    parts[-1] += c
            self.lengths, rest = parts, rest[end + 1 :]
        rest, _, self.where = rest.rstrip("!").partition("@")
        self.ends = rest.startswith("^")
        low, high = "0", rest[1:]
        if rest.startswith("<"):
            high += " - 1"
        elif rest.startswith(":"):
            low, _, high = high.partition("..")
        self.low, self.high = (low, high) if rest else (None, None)


def over(a: int, b: int) -> int:
    """a / b as contracts divide."""
    if b == 0:
        return 2**63 - 1
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


class Whole(int):
    """A number that divides as contracts do."""


def _operated(name: str) -> Any:
    plain = getattr(int, name)
    return lambda a, b: Whole(plain(a, int(b)))


for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "and", "rand"):
    setattr(Whole, f"__{_name}__", _operated(f"__{_name}__"))
Whole.__truediv__ = lambda a, b: Whole(over(int(a), int(b)))  # type: ignore[method-assign]
Whole.__rtruediv__ = lambda a, b: Whole(over(int(b), int(a)))  # type: ignore[method-assign]


@cache
def compiled(text: str) -> Any:
    return compile(re.sub(r"\b(\d+)\b", r"Whole(\1)", text), text, "eval")


def value(text: str, known: dict[str, Any]) -> int:
    """Of an expression of a contract. Raises NameError where a name is not known yet."""
    return int(eval(compiled(text), {"Whole": Whole, "min": min}, known))


class Contract:
    """The contract of a kernel, and the types of its arrays, which its refusals name."""

    def __init__(self, name: str) -> None:
        self.name, self.call = name, getattr(native, name)
        said, _, compared = self.call.__doc__.partition(";")
        self.arguments = [Argument(text) for text in said.split()]
        self.compared = compared.split()
        arrays = {one.name for one in self.arguments if one.lengths is not None}
        numbers = {one.name for one in self.arguments if one.lengths is None}
        lengths = [text for one in self.arguments for text in one.lengths or []]
        names = set(re.findall(r"[a-zA-Z_]\w*", " ".join(lengths)))
        self.free = sorted(names - arrays - numbers - {"min"})
        self.kinds = self._kinds()

    def _kinds(self) -> list[list[np.dtype[Any]]]:
        """Types of each argument: bool is refused, with the ones that are needed, if it is not."""
        kinds: list[list[np.dtype[Any]]] = [[np.dtype(bool)] for _ in self.arguments]
        several = {"real numbers": NUMBERS, "int32 or int64": [np.dtype("i4"), np.dtype("i8")]}
        while said := self._refusal(kinds):
            found = re.search(r"argument (\d+) .*array of (.*) is needed", said)
            kind = found[2]  # type: ignore[index]
            kinds[int(found[1]) - 1] = several.get(kind) or [np.dtype(kind)]  # type: ignore[index]
        return kinds

    def _refusal(self, kinds: list[list[np.dtype[Any]]]) -> str | None:
        blank = [
            0 if one.lengths is None else np.zeros((0,) * len(one.lengths), kind[0])
            for one, kind in zip(self.arguments, kinds, strict=True)
        ]
        try:
            self.call(*blank)
        except TypeError as error:
            return str(error)
        except REFUSALS:
            pass
        return None

    def draw(self, rng: np.random.Generator) -> list[Any]:
        """Arguments that mostly follow the contract."""
        last = None
        for _ in range(200):
            found, holds = self._drawn(rng)
            last = found or last
            if found and holds:
                break
        assert last is not None, self.name
        return last

    def _drawn(self, rng: np.random.Generator) -> tuple[list[Any] | None, bool]:
        hints = HINTS.get(self.name, {})
        most = int(rng.choice([1, 3, 9]))
        known: dict[str, Any] = {
            name: Whole(rng.choice(hints[name]) if name in hints else rng.integers(0, most + 1))
            for name in self.free
        }
        pending = list(range(len(self.arguments)))
        given: list[Any] = [None] * len(pending)
        holds = True
        for _ in range(len(pending) + 1):
            for k in list(pending):
                one = self.arguments[k]
                try:
                    if one.lengths is None:
                        given[k] = self._number(rng, one, known, hints)
                        known[one.name] = Whole(given[k]) if given[k] == given[k] else Whole(0)
                    else:
                        given[k] = self._array(rng, one, self.kinds[k], known)
                        known[one.name] = Elements(given[k])
                except (KeyError, NameError):
                    continue
                except (IndexError, ArithmeticError, ValueError):
                    return None, False
                pending.remove(k)
            if not pending:
                break
        if pending:
            return None, False
        for text in self.compared:
            left, op, right = re.split(r"(<=|>=|==|<|>)", text)
            try:
                a, b = value(left, known), value(right, known)
            except IndexError:
                return None, False
            holds &= {"<": a < b, ">": a > b, "<=": a <= b, ">=": a >= b, "==": a == b}[op]
        return given, holds

    def _number(self, rng: Any, one: Argument, known: dict[str, Any], hints: Any) -> Any:
        if one.low is None:
            return (
                rng.choice([0.0, 1.0, 0.5, 3.0, np.nan])
                if rng.integers(2)
                else int(rng.integers(3))
            )
        low, high = value(one.low, known), value(one.high or "", known)
        if one.name in hints:
            return int(rng.choice(hints[one.name]))
        if rng.integers(8) == 0:
            return int(rng.integers(low, min(high, 2**62) + 1))
        near = [x for x in (*range(-3, 9), 12, 40, low, high) if low <= x <= high]
        return int(rng.choice(near))

    def _array(
        self, rng: np.random.Generator, one: Argument, kinds: list[Any], known: dict[str, Any]
    ) -> np.ndarray:
        assert one.lengths is not None
        shape = [value(text.rstrip("?"), known) for text in one.lengths]
        if any(text.endswith("?") for text in one.lengths) and rng.integers(3) == 0:
            shape = [0] * len(shape)
        kind = kinds[int(rng.integers(len(kinds)))]
        if one.lengths == ["Q"]:
            return properties(shape[0])
        if min(shape) < 0 or np.prod(shape, dtype=float) > LARGEST:
            raise ValueError
        if one.low is None:
            return contents(rng, tuple(shape), kind)
        low, high = value(one.low, known), value(one.high or "", known)
        size = int(np.prod(shape))
        if high < low and size:
            raise ValueError
        if kind.kind == "f":
            kind = np.dtype("i8")
        bounds = np.iinfo(kind)
        high, low = min(high, int(bounds.max), low + 2**40), max(low, int(bounds.min))
        found = (
            rng.integers(low, high, shape, endpoint=True).astype(kind)
            if size
            else np.zeros(shape, kind)
        )
        if one.ends:
            found.sort()
            if rng.integers(2) and size:
                found[0] = low
                found[-1] = high if size > 1 else low
        return found


class Elements:
    """The elements of an array, as contracts read them."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __getitem__(self, k: int) -> int:
        if k < 0:
            raise IndexError
        return Whole(self.array[k])


@cache
def properties(size: int) -> np.ndarray:
    """Of characters: themselves, as words, spaces, cased, or nothing."""
    found = np.arange(size) | np.random.default_rng(1).integers(16, size=size) << 21
    return found.astype(np.int32)


def contents(rng: np.random.Generator, shape: tuple[int, ...], kind: np.dtype[Any]) -> np.ndarray:
    """Values of an array of which the contract says nothing."""
    style = rng.integers(4)
    if style == 0:
        return np.zeros(shape, kind)
    if kind.kind == "f":
        found = rng.normal(size=shape) if style < 3 else rng.choice(HOSTILE, shape)
        with np.errstate(all="ignore"):
            return found.astype(kind)
    if kind.kind == "b":
        return rng.integers(2, size=shape).astype(bool)
    if kind == np.uint8 and style < 3:
        found = TEXT[rng.integers(len(TEXT), size=shape)]
        if len(shape) == 1 and shape[0] >= 64:
            found[-64:] = 10
        return found
    if style < 3:
        return (
            np.abs(rng.integers(-1, 9, shape)).astype(kind)
            if kind.kind == "u"
            else rng.integers(-1, 9, shape).astype(kind)
        )
    return rng.choice(np.array(EXTREMES), shape).astype(kind)


# ---- changes -------------------------------------------------------------------------------------


def changed(rng: np.random.Generator, given: list[Any]) -> list[Any]:
    """The same arguments, of which one or two are changed."""
    given = list(given)
    for _ in range(int(rng.integers(1, 3))):
        k = int(rng.integers(len(given)))
        one = given[k]
        if isinstance(one, np.ndarray):
            given[k] = _changed_array(rng, one, given)
        elif rng.integers(20) == 0:
            given[k] = [None, "1", [1], np.zeros(2), 2**70][int(rng.integers(5))]
        elif isinstance(one, float):
            given[k] = rng.choice(HOSTILE)
        else:
            near = [int(one) + 1, int(one) - 1, 2 * int(one)]
            given[k] = int((near + EXTREMES)[int(rng.integers(len(near) + len(EXTREMES)))])
    return given


def _changed_array(rng: np.random.Generator, one: np.ndarray, given: list[Any]) -> Any:
    way = int(rng.integers(12))
    if way < 4 and one.size:  # a value
        found = one.copy()
        at = tuple(int(rng.integers(n)) for n in one.shape)
        if one.dtype.kind == "f":
            with np.errstate(all="ignore"):
                found[at] = rng.choice(HOSTILE)
        elif one.dtype.kind in "iu":
            near = np.array([*EXTREMES, int(found[at]) + 1 & 0x7F, int(found.max()) + 1 & 0xFFFF])
            found[at] = rng.choice(near).astype(one.dtype)
        return found
    axis = int(rng.integers(max(one.ndim, 1)))
    if way == 4 and one.size:  # one shorter
        return np.ascontiguousarray(np.delete(one, -1, axis))
    if way == 5 and one.size < LARGEST:  # one longer
        more = np.zeros([1 if a == axis else n for a, n in enumerate(one.shape)], one.dtype)
        return np.concatenate([one, more], axis)
    if way == 6:
        return np.zeros([0 if a == axis else n for a, n in enumerate(one.shape)], one.dtype)
    if way == 7:
        with np.errstate(all="ignore"):
            return one.astype(NUMBERS[int(rng.integers(len(NUMBERS)))])
    if way == 8:
        return [one[::-1], one[::2], one.T, one[np.newaxis], one.reshape(-1)][int(rng.integers(5))]
    if way == 9 and one.nbytes < LARGEST:  # not aligned, or in the other order of bytes
        found = np.zeros(one.nbytes + 1, np.uint8)[1:].view(one.dtype).reshape(one.shape)
        return found if rng.integers(2) else one.astype(one.dtype.newbyteorder())
    if way == 10:
        found = one.view()
        found.flags.writeable = False
        return found
    others = [other for other in given if isinstance(other, np.ndarray)]
    return others[int(rng.integers(len(others)))]  # perhaps the same memory twice


# ---- calls ---------------------------------------------------------------------------------------

NOW: list[Any] = ["", 0, 0.0]
"""The kernel, the seed and the time of the call that runs."""


def fuzz(name: str, calls: int, seed: int = 0, note: Any = None) -> tuple[int, int]:
    """(calls that returned, calls that were refused)."""
    contract = Contract(name)
    returned = refused = 0
    while returned + refused < calls:
        NOW[:] = name, seed, time.monotonic()
        if note:
            note(f"{name} {seed}\n".ljust(60))
        rng = np.random.default_rng([zlib.crc32(name.encode()), seed])
        if name in CASES and rng.integers(2):
            given = CASES[name][0](rng)
        else:
            given = contract.draw(rng)
        given = [one.copy() if isinstance(one, np.ndarray) else one for one in given]
        for step in range(20):
            NOW[2] = time.monotonic()
            try:
                contract.call(*(changed(rng, given) if step else given))
                returned += 1
            except REFUSALS:
                refused += 1
        seed += 1
    return returned, refused


def _watch() -> None:
    while True:
        time.sleep(1)
        if NOW[2] and time.monotonic() - NOW[2] > PATIENCE:
            print(f"{NOW[0]} of seed {NOW[1]} takes too long", flush=True)
            os._exit(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=100_000, help="of each kernel")
    parser.add_argument("--seed", type=int, default=0, help="of the first calls")
    parser.add_argument("--note", help="a file for the seed of the call that runs")
    parser.add_argument("kernels", nargs="*", help="all if none is named")
    options = parser.parse_args()
    threading.Thread(target=_watch, daemon=True).start()
    note = None
    if options.note:
        file = os.open(options.note, os.O_CREAT | os.O_WRONLY)

        def note(text: str) -> None:
            os.pwrite(file, text.encode(), 0)

    for name in options.kernels or KERNELS:
        begun = time.monotonic()
        returned, refused = fuzz(name, options.calls, options.seed, note)
        NOW[2] = 0.0
        seconds = time.monotonic() - begun
        print(f"{name:20} {returned:8,} returned {refused:8,} refused {seconds:7.1f} s")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
