"""Writing predictions: CSV to standard output, CSV or Parquet to a file."""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as parquet

from naively.cli.errors import UsageError
from naively.exact import Float64, Int64
from naively.files.atomic import replacing
from naively.model import Model

ROWS = 1 << 16  # rows that are turned into text at a time


def check_output(output: Path) -> None:
    """Refuse names that do not say what to write."""
    if not output.name.lower().endswith((".csv", ".csv.gz", ".parquet", ".pq")):
        raise UsageError(f"{output}: name it .csv, .csv.gz or .parquet, to say what to write")


def table(model: Model, codes: Int64, log_proba: Float64 | None) -> Any:
    """The column ``prediction`` and, if asked for, the probability of each class."""
    columns = {"prediction": pa.array(_plain(model.classes)).take(pa.array(codes))}
    if log_proba is not None:
        for c, label in enumerate(model.classes.tolist()):
            columns[f"P({label})"] = pa.array(np.exp(log_proba[:, c]))
    return pa.table(columns)


def to_file(predictions: Any, output: Path) -> None:
    """Write a file, whole or not at all."""
    with replacing(output) as temporary:
        if output.name.lower().endswith((".parquet", ".pq")):
            parquet.write_table(predictions, temporary)
            return
        compression = "gzip" if output.name.lower().endswith(".gz") else None
        with pa.output_stream(str(temporary), compression=compression) as stream:
            for text in _as_csv(predictions):
                stream.write(text)


def to_stdout(predictions: Any) -> None:
    """Write CSV to standard output, a piece at a time."""
    sys.stdout.flush()
    for text in _as_csv(predictions):
        sys.stdout.buffer.write(text)
    sys.stdout.buffer.flush()


def _as_csv(predictions: Any) -> Iterator[bytes]:
    """The header, then pieces of rows; quotes only if a label needs them."""
    header = io.StringIO()
    csv.writer(header, lineterminator="\n").writerow(predictions.column_names)
    yield header.getvalue().encode()
    labels = predictions.column("prediction").unique().to_pylist()
    plain = not any(re.search('[,"\r\n]', str(label)) for label in labels)
    options = arrow_csv.WriteOptions(
        include_header=False, quoting_style="none" if plain else "needed"
    )
    for at in range(0, predictions.num_rows, ROWS):
        text = io.BytesIO()
        arrow_csv.write_csv(predictions.slice(at, ROWS), text, options)
        yield text.getvalue()


def _plain(labels: Any) -> Any:
    return labels if labels.dtype.kind in "biuf" else labels.tolist()
