"""Store the arrays of model files in fewer bytes, without loss.

- Whole numbers of at least 0 take the bits of the largest number in their column (the last axis):
  bit k of all numbers of a column is one string of bits. Others take the smallest type that fits.
- float64 that are float32 are stored as such.
- Floats of which many are 0 are stored without the zeros, and with a bit for each number.

What is read takes at most 64 times the bytes of the file, whatever a file claims.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from naively.statistics.base import Arrays

Array = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]

SMALL = 4096  # bytes of an array up to which it is stored as it is
WORTH = 7 / 8  # share of the bytes that a smaller form may take, at most, to be used
LONG = 1 << 28
"""Bits of a column up to which its numbers are split into bits: types are faster for many."""
BITS, TYPE, ZEROS = "bits", "type", "zeros"
DENSE = {"i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"}
NARROW = ("u1", "u2", "u4")


def pack(arrays: Arrays) -> tuple[Arrays, dict[str, Any]]:
    """Return (the arrays as they are stored, how those that changed are to be read, as JSON)."""
    stored, forms = dict[str, Any](), dict[str, Any]()
    for name, array in arrays.items():
        form = None
        if array.nbytes > SMALL and array.dtype.str[1:] in DENSE:
            form = _whole(array) if array.dtype.kind in "iu" else _floats(array)
        if form is None:
            stored[name] = array
        else:
            stored[name], how = form
            forms[name] = [array.dtype.str[1:], list(array.shape), *how]
    return stored, forms


def unpack(stored: Arrays, forms: dict[Any, Any]) -> Arrays:
    """Return the arrays of `pack`. Raises ValueError if their forms are invalid."""
    arrays = dict(stored)
    for name, form in forms.items():
        match form:
            case [str(dtype), list(shape), str(kind), list(widths)] if (
                name in arrays
                and dtype in DENSE
                and all(type(size) is int and size > 0 for size in shape)
                and all(type(width) is int and 0 < width < 64 for width in widths)
            ):
                arrays[name] = _read(stored[name], np.dtype(dtype), shape, kind, widths)
            case _:
                raise ValueError(f"it does not say how its tensor {str(name)[:40]!r} is stored")
    return arrays


def _read(
    array: Array, dtype: np.dtype[Any], shape: list[int], kind: str, widths: list[int]
) -> Array:
    """Return an array from its stored form."""
    size = math.prod(shape)
    smaller = ("f4",) if dtype.kind == "f" else NARROW
    if kind == TYPE and array.dtype.str[1:] in smaller and list(array.shape) == shape:
        return array.astype(dtype)
    if kind == BITS and dtype.kind in "iu" and len(widths) == shape[-1]:
        return _joined(array, size // shape[-1], widths, dtype).reshape(shape)
    if kind == ZEROS and dtype.kind == "f" and array.dtype == np.uint8 and array.ndim == 1:
        marks, rest = np.split(array, [_bytes(size)])
        if len(marks) == _bytes(size):
            nonzero = np.unpackbits(marks, count=size).astype(bool)
            if len(rest) == int(nonzero.sum()) * dtype.itemsize:
                dense = np.zeros(size, dtype)
                dense[nonzero] = np.frombuffer(rest.tobytes(), dtype.newbyteorder("<"))
                return cast(Array, dense.reshape(shape))
    raise ValueError("one of its tensors is stored as none can be")


# ---- whole numbers -------------------------------------------------------------------------------


def _whole(array: Array) -> tuple[Array, list[Any]] | None:
    """Return (the smallest form of whole numbers, its description); None if there is none."""
    if int(array.min()) < 0:
        return None
    columns = array.reshape(-1, array.shape[-1])
    widths = [max(1, int(most).bit_length()) for most in columns.max(axis=0).tolist()]
    rows, widest = len(columns), max(widths)
    narrow = next((t for t in NARROW if widest <= 8 * np.dtype(t).itemsize), None)
    as_type = array.nbytes if narrow is None else array.size * np.dtype(narrow).itemsize
    if sum(widths) * _bytes(rows) < WORTH * min(as_type, array.nbytes) and rows * widest < LONG:
        return _split(columns, widths), [BITS, widths]
    if narrow is not None and as_type < array.nbytes:
        return array.astype(f"<{narrow}"), [TYPE, []]
    return None


def _split(columns: Array, widths: Sequence[int]) -> Bytes:
    """Return the bits of each column, (Σ widths, bytes), the lowest first."""
    planes = np.empty((sum(widths), _bytes(len(columns))), np.uint8)
    place = 0
    for column, width in zip(columns.T, widths, strict=True):
        numbers = np.ascontiguousarray(column)
        for bit in range(width):
            planes[place] = np.packbits((numbers & (1 << bit)) != 0)
            place += 1
    return planes


def _joined(planes: Array, rows: int, widths: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """Return the columns (rows, d) of their bits. Raises ValueError for another number of bits."""
    if planes.dtype != np.uint8 or planes.shape != (sum(widths), _bytes(rows)):
        raise ValueError("one of its tensors has more or fewer bits than it claims")
    if max(widths) > 8 * dtype.itemsize - (dtype.kind == "i"):
        raise ValueError("numbers of one of its tensors have too many bits")
    columns, place = np.empty((len(widths), rows), dtype), 0
    for column, width in zip(columns, widths, strict=True):
        column[:] = np.unpackbits(planes[place], count=rows)
        for bit in range(1, width):
            column |= np.unpackbits(planes[place + bit], count=rows).astype(dtype) << bit
        place += width
    return np.ascontiguousarray(columns.T)


# ---- floats --------------------------------------------------------------------------------------


def _floats(array: Array) -> tuple[Array, list[Any]] | None:
    """Return (the smallest form of floats, its description); None if there is none."""
    bits = np.ascontiguousarray(array).reshape(-1).view(f"u{array.itemsize}")
    if array.dtype.itemsize == 8:
        with np.errstate(over="ignore", invalid="ignore"):
            single = array.astype("<f4")
            if (single.astype(np.float64).reshape(-1).view("u8") == bits).all():
                return single, [TYPE, []]
    nonzero = bits != 0  # -0.0 is a number like others
    size = _bytes(len(bits)) + int(nonzero.sum()) * array.itemsize
    if size >= WORTH * array.nbytes:
        return None
    rest = bits[nonzero].astype(f"<u{array.itemsize}").view(np.uint8)
    return np.concatenate([np.packbits(nonzero), rest]), [ZEROS, []]


def _bytes(bits: int) -> int:
    return -(-bits // 8)
