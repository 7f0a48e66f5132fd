"""Tables beyond memory: files, and what other libraries give in batches of Arrow."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from naively.tables.arrow_streams import arrow_stream
from naively.tables.readers import Source, open_source


def scan(source: Any, *, format: str | None = None, columns: Sequence[str] | None = None) -> Source:
    """A table that is read in batches, each time anew, and never held in memory as a whole.

    Classifiers learn it and answer for its rows in constant memory:
    ``NaiveBayes().fit(naively.scan("data/*.parquet"), "label")``. The model is that of the same
    rows in memory, and that of ``naively fit``, bit for bit. `NBSVM` and `MultilabelNB` need all
    rows in memory.

    Parameters
    ----------
    source : str, Path, list of them, or a stream
        Files, patterns such as "data/*.csv", folders, "-" for standard input: CSV, TSV, JSON lines,
        Parquet, Arrow and ARFF, compressed or not, lines of text and mails. Several files must have
        the same columns, in any order. Or what gives batches of Arrow, which estimators take as it
        is, too: a `pyarrow.RecordBatchReader`, a `pyarrow.dataset.Dataset`, a relation of DuckDB, a
        lazy frame of polars, a cursor of ADBC, and whatever has ``__arrow_c_stream__``.
    format : str, optional
        Of the files, if neither names nor contents tell: csv, tsv, jsonl, parquet, arrow, arff,
        text or mail.
    columns : sequence of str, optional
        The columns to read, in this order; by default all.

    Returns
    -------
    Source : with `names` of the columns, `batches()`, and `to_table()` for all rows in memory.
        Standard input, a `RecordBatchReader` and the result of a query can be read only once.

    Raises
    ------
    ValueError : if the files hold no table, or different ones; if a stream was read already.
    FileNotFoundError : if there is no such file.
    TypeError : if it is neither a path nor a stream.

    Examples
    --------
    >>> import naively, pyarrow as pa
    >>> table = pa.table({"wind": [3.1, 7.2, 6.8, 5.5], "go": ["no", "yes", "yes", "yes"]})
    >>> naively.scan(table.to_reader()).names
    ['wind', 'go']
    """
    if isinstance(source, str | Path) or (isinstance(source, list | tuple) and source):
        paths = list(source) if isinstance(source, tuple) else source
        files = open_source(paths, format=format, columns=columns)
        if files.hint:
            warnings.warn(files.hint, UserWarning, stacklevel=2)
        return files
    found = streamed(source)
    if found is None:
        raise TypeError(
            f"a {type(source).__name__} cannot be scanned: pass paths of files, or a stream of "
            "Arrow such as a pyarrow.RecordBatchReader; rows in memory need no scan"
        )
    return found if columns is None else found.only(columns)


def streamed(X: Any) -> Source | None:
    """What reads X in batches, if it is a stream; None for rows in memory.

    Raises
    ------
    ValueError : if it can be read no more.
    """
    if isinstance(X, np.ndarray | list):  # soon, as one row may be asked about at a time
        return None
    if isinstance(X, Source):
        return X
    part = arrow_stream(X)
    return None if part is None else Source(part.names, None, _parts=[part])
