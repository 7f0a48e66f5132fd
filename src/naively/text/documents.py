"""Store documents as UTF-8 bytes, and convert sequences and Arrow arrays to them."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from naively.core.exact import Index, Int64

Bytes = npt.NDArray[np.uint8]

LONGEST = 1 << 28  # largest size of a document, in bytes
WIDE = 1 << 31  # bytes from which 32-bit offsets may overflow
FEW = 16  # up to so many documents are joined faster without Arrow


@dataclass(frozen=True)
class Documents:
    """A column of documents in UTF-8.

    Invalid UTF-8 counts as U+FFFD, as many as with Python's ``errors="replace"``.
    """

    data: Bytes  # uint8 array with the bytes of all documents
    offsets: Int64  # (n + 1,) int64; document i is data[offsets[i] : offsets[i + 1]]
    # (n,) whether each is present, or None if all are; a missing one has no bytes
    valid: npt.NDArray[np.bool_] | None = None

    @classmethod
    def of(cls, texts: Any) -> Documents:
        """Convert an Arrow array of text (without a copy), or a sequence of str, bytes and None.

        A table of one column stands for that column. Raises TypeError for other values, with their
        position; ValueError if a document is too long.
        """
        if type(texts) is list and len(texts) <= FEW and all(type(text) is str for text in texts):
            encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
            ends = np.array([0, *accumulate(map(len, encoded))])
            if ends[-1] <= LONGEST:
                return cls(np.frombuffer(b"".join(encoded), np.uint8), ends)
        if isinstance(texts, pa.ChunkedArray):
            texts = _joined(texts)
        if not isinstance(texts, pa.Array):
            texts = to_array(texts)
        documents = cls._of_arrow(texts)
        return documents._in_utf8() if _is_bytes(texts.type) else documents

    @classmethod
    def _of_arrow(cls, texts: pa.Array) -> Documents:
        kind = texts.type
        if pa.types.is_dictionary(kind):
            texts = _decoded(texts)
            kind = texts.type
        if pa.types.is_null(kind) or pa.types.is_string_view(kind):
            texts = texts.cast(pa.large_string())
        elif pa.types.is_binary_view(kind):
            texts = texts.cast(pa.large_binary())
        kind = texts.type
        large = pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)
        if not (large or pa.types.is_string(kind) or pa.types.is_binary(kind)):
            if pa.types.is_struct(kind):
                raise _table_error([field.name for field in kind])
            raise TypeError(f"documents must be text, not {kind!s:.60}")
        bitmap, ends, data = texts.buffers()
        number = np.int64 if large else np.int32
        size = np.dtype(number).itemsize
        offsets = np.zeros(1, np.int64)
        if len(texts):
            offsets = np.frombuffer(ends, number, len(texts) + 1, texts.offset * size)
        valid = None
        if bitmap is not None and texts.null_count:
            valid = texts.is_valid().to_numpy(zero_copy_only=False)
        total = 0 if len(offsets) == 0 else int(offsets[-1] - offsets[0])
        if total > LONGEST and (lengths := np.diff(offsets)).max() > LONGEST:
            i = int(lengths.argmax())
            problem = f"document {i} has {lengths[i]:,} bytes"
            raise ValueError(f"{problem}; cut documents to at most {LONGEST:,}")
        text = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
        documents = cls(text, offsets.astype(np.int64, copy=False))
        return documents if valid is None else documents.where(valid)

    def _in_utf8(self) -> Documents:
        """Replace invalid UTF-8 by U+FFFD, so that documents that count alike also hash alike."""
        try:
            self._whole().cast(pa.large_string())
            return self
        except pa.ArrowInvalid:
            texts = [text.encode("utf-8", "surrogatepass") for text in self.texts()]
            ends = np.array([0, *accumulate(map(len, texts))])
            return Documents(np.frombuffer(b"".join(texts), np.uint8), ends, self.valid)

    def _whole(self) -> pa.LargeBinaryArray:
        """Return the documents as an Arrow array of bytes, none of them missing."""
        return pa.LargeBinaryArray.from_buffers(
            pa.large_binary(), len(self),
            [None, pa.py_buffer(np.ascontiguousarray(self.offsets)), pa.py_buffer(self.data)],
        )  # fmt: skip

    def where(self, valid: npt.NDArray[np.bool_]) -> Documents:
        """Return the documents with those missing that are not `valid`, (n,)."""
        if valid.all():
            return self
        lengths = np.where(valid, np.diff(self.offsets), 0)
        offsets = np.append(0, np.cumsum(lengths))
        if offsets[-1] == self.offsets[-1] - self.offsets[0]:
            return Documents(self.data, self.offsets, valid)
        return Documents(self[np.flatnonzero(valid)].data, offsets, valid)

    @property
    def shape(self) -> tuple[int, int]:
        """(n, 1): documents are one feature."""
        return len(self.offsets) - 1, 1

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, rows: Index) -> Documents:
        if isinstance(rows, slice):
            first, last, step = rows.indices(len(self))
            if step == 1:
                valid = None if self.valid is None else self.valid[first:last]
                return Documents(self.data, self.offsets[first : max(first, last) + 1], valid)
        positions = np.arange(len(self))[rows]
        documents = Documents._of_arrow(self._whole().take(pa.array(positions)))
        valid = None if self.valid is None else self.valid[positions]
        return Documents(documents.data, documents.offsets, valid)

    def text(self, i: int) -> str:
        """Return document i."""
        return self.data[self.offsets[i] : self.offsets[i + 1]].tobytes().decode("utf-8", ERRORS)

    def texts(self) -> Iterator[str]:
        """Iterate over all documents."""
        return (self.text(i) for i in range(len(self)))

    def pieces(self, size: int) -> list[tuple[int, int]]:
        """Return (first, last) of runs of documents of about `size` bytes."""
        if len(self) and self.offsets[-1] - self.offsets[0] <= size:
            return [(0, len(self))]
        ranges = []
        first = 0
        while first < len(self):
            last = int(np.searchsorted(self.offsets, self.offsets[first] + size, "right")) - 1
            last = min(max(last, first + 1), len(self))
            ranges.append((first, last))
            first = last
        return ranges


ERRORS = "naively.replaced"


def _replaced(error: UnicodeError) -> tuple[str, int]:
    """Replace invalid bytes as "replace" does, but decode surrogates, which str may contain."""
    assert isinstance(error, UnicodeDecodeError)
    three = error.object[error.start : error.start + 3]
    try:
        return three.decode("utf-8", "surrogatepass"), error.start + 3
    except UnicodeDecodeError:
        return "\ufffd", error.end


codecs.register_error(ERRORS, _replaced)


def _is_bytes(kind: pa.DataType) -> bool:
    """Return whether an Arrow type holds bytes, which may be invalid UTF-8."""
    base = kind.value_type if pa.types.is_dictionary(kind) else kind
    kinds = pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view
    return any(is_kind(base) for is_kind in kinds)


def _large(kind: pa.DataType) -> pa.DataType:
    """Return the type of text, or of bytes, with offsets of 64 bits."""
    return pa.large_binary() if _is_bytes(kind) else pa.large_string()


def _joined(texts: pa.ChunkedArray) -> pa.Array:
    """Combine chunks into one array."""
    if texts.num_chunks == 1:
        return texts.chunk(0)
    if pa.types.is_dictionary(texts.type):  # Arrow cannot combine dictionaries that contain null
        texts = pa.chunked_array(map(_decoded, texts.chunks), _large(texts.type))
    elif texts.get_total_buffer_size() >= WIDE:
        texts = texts.cast(_large(texts.type))
    return texts.combine_chunks()


def _decoded(texts: pa.DictionaryArray) -> pa.Array:
    """Decode a dictionary array of text or bytes."""
    return texts.dictionary.cast(_large(texts.type)).take(texts.indices)


def to_array(texts: Any) -> pa.Array:
    """Convert a sequence of str, bytes and None (or NaN) to an Arrow array."""
    if isinstance(texts, str | bytes | PathLike):
        raise TypeError(
            "documents must be a sequence of texts, not one text: put it in a list; for a file "
            "pass naively.scan(path)"
        )
    names = getattr(texts, "column_names", getattr(texts, "columns", None))
    if names is not None and len(names) == 1:  # meta-estimators of scikit-learn pass such tables
        return to_array(texts[names[0]])
    if isinstance(texts, Mapping) or names is not None:
        raise _table_error(list(texts if names is None else names))
    if hasattr(texts, "__arrow_c_stream__"):
        try:
            array = _joined(pa.chunked_array(texts))
        except (pa.ArrowInvalid, pa.ArrowTypeError, UnicodeEncodeError):
            array = pa.array([], pa.null())  # objects of mixed types are converted one by one below
        if len(array) and not (pa.types.is_integer(array.type) or pa.types.is_floating(array.type)):
            return array
    if isinstance(texts, np.ndarray):
        if texts.ndim == 2 and texts.shape[1] == 1:
            texts = texts[:, 0]
        if texts.ndim != 1:
            raise ValueError(f"documents must be a flat sequence, not of shape {texts.shape}")
        if texts.dtype.kind in "SU":
            texts = texts.astype(object)
    texts = texts.tolist() if isinstance(texts, np.ma.MaskedArray) else list(texts)
    try:
        return pa.array(texts, pa.large_string(), from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, UnicodeEncodeError):
        return pa.array([_bytes(text, i) for i, text in enumerate(texts)], pa.large_binary())


def _table_error(names: list[Any]) -> TypeError:
    """Return the error for a table passed in place of its column of documents."""
    listed = ", ".join(f"{str(name)[:24]!r}" for name in names[:3])
    more = ", ..." if len(names) > 3 else ""
    columns = f"{len(names)} column{'s'[: len(names) != 1]}"
    column = "that" if len(names) == 1 else "the one that holds them"
    example = repr(names[0]) if len(names) == 1 else '"..."'
    return TypeError(
        f"documents must be one column of text, and X is a table of {columns} ({listed}{more}): "
        f"pass {column}, as X[{example}]"
    )


def _bytes(text: Any, i: int) -> bytes | None:
    if text is None or text is pa.NA or (isinstance(text, float) and text != text):
        return None
    if isinstance(text, str):
        return text.encode("utf-8", "surrogatepass")
    if isinstance(text, bytes | bytearray):
        return bytes(text)
    raise TypeError(f"documents must be text: document {i} is {text!r} ({type(text).__name__})")
