"""Files of rows: CSV and Parquet, read with pyarrow into a matrix and labels."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.parquet as parquet

from naively.cli.errors import UserError

Int64 = npt.NDArray[np.int64]
NO_NUMBER = ["", "NA", "N/A", "NaN", "nan", "null", "NULL", "None"]
"""How missing numbers are written in CSV files, as pyarrow and pandas have it."""
TRUTH = {"true": 1.0, "false": 0.0}
FOREIGN = {b"PK\x03\x04": "a zip or Excel file", b"ARROW1": "an Arrow file", b"%PDF": "a PDF file",
           b"SQLite": "an SQLite file", b"\xd0\xcf\x11\xe0": "an Excel file"}  # fmt: skip


@dataclass
class Rows:
    """What was read.

    Attributes
    ----------
    X : (n, d) float64, or float32 if all columns are; NaN is a missing value.
    names : d names of columns
    labels : the distinct labels, sorted; None if there is no target.
    codes : (n,) positions in `labels`, -1 for a row without a label.
    """

    X: npt.NDArray[Any]
    names: list[str]
    labels: npt.NDArray[Any] | None
    codes: Int64


class Table:
    """A file of rows whose columns can be read by name."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if path.exists() and not path.is_file():
            raise UserError(f"{path}: this is no file; a table must be one, to be read again")
        try:
            with path.open("rb") as file:
                start = file.read(4096)
        except FileNotFoundError:
            raise UserError(f"{path}: there is no such file") from None
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {error.strerror}") from None
        if not start:
            raise UserError(f"{path}: the file is empty; it needs a header and rows")
        for magic, what in FOREIGN.items():
            if start.startswith(magic):
                raise UserError(f"{path}: this is {what}; save the table as CSV or Parquet")
        self.is_parquet = start.startswith(b"PAR1")
        self.is_gzip = start.startswith(b"\x1f\x8b")
        if b"\0" in start and not self.is_parquet and not self.is_gzip:
            raise UserError(f"{path}: this is neither CSV in UTF-8 nor Parquet")
        self.names = self._guarded(self._read_names)
        twice = [name for name, count in Counter(self.names).items() if count > 1]
        if twice:
            raise UserError(f"{path}: two columns are named {twice[0]!r}; give them other names")

    def read(self, features: list[str], target: str | None) -> Rows:
        """The rows, with the columns `features` as numbers and the column `target` as labels.

        Raises
        ------
        UserError : naming the column, and the row of what is no number.
        """
        wanted = features if target is None else [*features, target]
        absent = [name for name in wanted if name not in self.names]
        if absent:
            raise UserError(f"{self.path}: {no_column(absent, self.names)}")
        table = self._guarded(lambda: self._read(features, wanted))
        if table.num_rows == 0:
            raise UserError(f"{self.path}: there is a header, but there are no rows")
        labels, codes = None, np.full(table.num_rows, -1)
        if target is not None:
            labels, codes = self._labels(table.column(target))
        return Rows(self._matrix(table, features), features, labels, codes)

    # ---- files -------------------------------------------------------------------------------

    def _guarded(self, read: Any) -> Any:
        try:
            return read()
        except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError) as error:
            raise UserError(f"{self.path}: {self._reason(error)}") from None

    def _reason(self, error: Exception) -> str:
        text = " ".join(str(error).split())
        if self.is_parquet:
            return f"cannot be read as Parquet: {text[:200]}"
        if match := re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", text):
            line, expected, got = map(int, match.groups())
            return (
                f"row {line - 1} has {got} columns, where the header has {expected}; is it a CSV "
                "file with commas?"
            )
        if "invalid UTF8" in text or isinstance(error, UnicodeDecodeError):
            return "this is no UTF-8 text; save the table as CSV in UTF-8, or as Parquet"
        return f"cannot be read as CSV: {text[:200]}"

    def _stream(self) -> Any:
        return pa.input_stream(str(self.path), compression="gzip" if self.is_gzip else None)

    @property
    def _dialect(self) -> Any:
        tabs = self.path.name.lower().removesuffix(".gz").endswith((".tsv", ".tab"))
        return csv.ParseOptions(delimiter="\t" if tabs else ",")

    def _read_names(self) -> list[str]:
        if self.is_parquet:
            return list(parquet.read_schema(self.path).names)
        options = csv.ReadOptions(use_threads=False)
        with csv.open_csv(self._stream(), options, self._dialect) as reader:
            return list(reader.schema.names)

    def _read(self, features: list[str], wanted: list[str]) -> Any:
        if self.is_parquet:
            return parquet.read_table(self.path, columns=wanted)
        try:
            return self._read_csv(features, wanted, pa.float64())
        except pa.ArrowInvalid:  # some text, perhaps true and false: look at it
            return self._read_csv(features, wanted, pa.string())

    def _read_csv(self, features: list[str], wanted: list[str], of_features: Any) -> Any:
        text = pa.types.is_string(of_features)
        types = dict.fromkeys(features, of_features)
        types |= {name: pa.string() for name in wanted if name not in types}
        return csv.read_csv(
            self._stream(),
            read_options=csv.ReadOptions(use_threads=not text),  # one thread knows the row
            parse_options=self._dialect,
            convert_options=csv.ConvertOptions(
                column_types=types, include_columns=wanted, null_values=NO_NUMBER
            ),
        )

    # ---- columns -----------------------------------------------------------------------------

    def _matrix(self, table: Any, features: list[str]) -> npt.NDArray[Any]:
        columns = [table.column(name) for name in features]
        single = bool(columns) and all(pa.types.is_float32(column.type) for column in columns)
        X = np.empty((table.num_rows, len(features)), np.float32 if single else np.float64)
        for j, name in enumerate(features):
            X[:, j] = self._numbers(columns[j], name, pa.float32() if single else pa.float64())
            columns[j] = None
        return X

    def _numbers(self, column: Any, name: str, to: Any) -> npt.NDArray[Any]:
        kind = column.type
        if pa.types.is_dictionary(kind):
            column = column.cast(kind.value_type)
            kind = column.type
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return self._parsed(column, name)
        if pa.types.is_boolean(kind):
            column = column.cast(pa.uint8())
        elif not (
            pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind)
            or pa.types.is_decimal(kind)
        ):  # fmt: skip
            raise UserError(
                f"{self.path}: column {name!r} holds {kind}, where naively learns from numbers; "
                "drop it or turn it into a number"
            )
        # safe=False: whole numbers beyond 2**53 are rounded
        return column.cast(to, safe=False).to_numpy()

    def _parsed(self, column: Any, name: str) -> npt.NDArray[Any]:
        """Text that holds numbers, or true and false."""
        texts = pc.dictionary_encode(column).unify_dictionaries()
        known = texts.chunk(0).dictionary.to_pylist() if texts.num_chunks else []
        numbers = np.array([self._number(text) for text in known] + [0.0])
        codes = texts.combine_chunks().indices if texts.num_chunks else pa.array([], pa.int32())
        empty = codes.is_null().to_numpy(zero_copy_only=False)
        at = codes.fill_null(len(known)).to_numpy(zero_copy_only=False)
        bad = np.array([self._number(text) is None for text in known] + [False])[at]
        if bad.any():
            row = int(bad.argmax())
            raise UserError(
                f"{self.path}: row {row + 1}, column {name!r} is {known[at[row]]!r}, where a "
                "number belongs; mend it, or drop the column"
            )
        return np.where(empty, np.nan, numbers.astype(np.float64)[at])

    @staticmethod
    def _number(text: str) -> float | None:
        word = text.strip()
        if word.lower() in TRUTH:
            return TRUTH[word.lower()]
        if word in NO_NUMBER:
            return np.nan
        try:
            return float(word) if "_" not in word else None
        except ValueError:
            return None

    def _labels(self, column: Any) -> tuple[npt.NDArray[Any], Int64]:
        """(distinct labels, sorted; the position of each row's label, or -1)."""
        if pa.types.is_floating(column.type):
            column = pc.if_else(pc.is_nan(column), None, column)
        encoded = column if pa.types.is_dictionary(column.type) else pc.dictionary_encode(column)
        encoded = encoded.unify_dictionaries().combine_chunks()
        known = encoded.dictionary
        codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        labels, present = self._typed(known)
        ordered, at = np.unique(labels, return_inverse=True)
        place = np.full(len(present) + 1, -1)  # the last one for -1
        place[np.flatnonzero(present)] = at
        used = np.unique(place[codes])
        used = used[used >= 0]  # a dictionary may hold labels that no row has
        rank = np.full(len(ordered) + 1, -1)
        rank[used] = np.arange(len(used))
        return ordered[used], rank[place[codes]]

    def _typed(self, known: Any) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
        """(labels as whole numbers, numbers, truth values or text; which of `known` they are)."""
        everything = np.ones(len(known), bool)
        kind = known.type
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
            return known.to_numpy(zero_copy_only=False), everything
        texts = list(map(str, known.to_pylist()))
        if self.is_parquet:
            return np.array(texts, str), everything
        present = np.array([text not in NO_NUMBER for text in texts], bool)
        words = [text for text in texts if text not in NO_NUMBER]
        numbers = as_numbers(words)
        if numbers is not None:
            return numbers, present
        # a class may well be called "NA", but not ""
        return np.array([text for text in texts if text], str), np.array(texts, str) != ""


def as_numbers(words: list[str]) -> npt.NDArray[Any] | None:
    """The words as int64 or float64 if all of them are such numbers, else None."""
    if not words:
        return None
    if all(re.fullmatch("0|-?[1-9][0-9]{0,17}", word) for word in words):  # "007" is a name
        return np.array(list(map(int, words)), np.int64)
    if all(re.fullmatch(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?", word) for word in words) and any(
        "." in word for word in words
    ):
        return np.array(list(map(float, words)))
    return None


def no_column(absent: list[str], names: list[str]) -> str:
    """That there is no such column, and which are."""
    listed = ", ".join(map(repr, absent[:3])) + (", ..." if len(absent) > 3 else "")
    have = ", ".join(names[:8]) + (f", ... ({len(names)} in all)" if len(names) > 8 else "")
    plural = "columns" if len(absent) > 1 else "column"
    return f"no {plural} named {listed}; the columns are {have}"
