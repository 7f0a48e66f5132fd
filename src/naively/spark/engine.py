"""Count the rows of Spark frames and files on executors, and add up the counts.

Vectors of `pyspark.ml` become columns of numbers.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import DataFrame, SparkSession, types

from naively import clusters
from naively.clusters import Counting, CountingFiles, added, learned
from naively.io.sources import Source

FOLDS = re.compile(r"(CrossValidator|TrainValidationSplit)_\w+_rand")
"""Columns that Spark adds during cross-validation, which are not features."""
NESTED = (types.ArrayType, types.MapType, types.StructType, types.UserDefinedType)
WIDEST = 4096  # maximum number of entries of a vector column


@dataclass(frozen=True)
class Columns:
    """Feature columns of a frame.

    vectors : number of entries of each vector column, by name.
    """

    names: tuple[str, ...]
    vectors: dict[str, int]

    @property
    def features(self) -> list[str]:
        """Names of the features: the columns, with vectors replaced by their entries."""
        return [feature for name in self.names for feature in self._spread(name)]

    def _spread(self, name: str) -> list[str]:
        if name not in self.vectors:
            return [name]
        return [f"{name}[{k}]" for k in range(self.vectors[name])]

    def unpacked(self, batch: pa.Table | pa.RecordBatch) -> pa.Table | pa.RecordBatch:
        """Replace the vectors of a batch or table by columns of numbers, and convert times to UTC.

        So results do not depend on the time zone of the session. Raises ValueError if a vector does
        not have the number of entries in `vectors`.
        """
        arrays: list[pa.Array] = []
        names: list[str] = []
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if name in self.vectors:
                arrays += _entries(name, column, self.vectors[name])
                names += self._spread(name)
            else:
                arrays.append(_in_utc(column))
                names.append(name)
        return type(batch).from_arrays(arrays, names=names)


def converting(convert: Callable[[pa.RecordBatch], pa.RecordBatch], count: Count) -> Count:
    """Return a function that converts batches, and counts them; it can be sent to workers."""
    return partial(_converted, convert, count)


def _converted(convert: Any, count: Count, batches: Batches) -> bytes | None:
    return count(map(convert, batches))


def learnable(
    frame: DataFrame, target: str, features: Sequence[str] | None, weight: str | None
) -> Columns:
    """Return the feature columns of a frame; by default all but the target and the weight.

    Raises ValueError if a column does not exist or is nested, or the target is among the features.
    """
    names = clusters.features_of(frame.columns, target, features, weight)
    indexed = frame.schema[target].metadata.get("ml_attr", {})
    if features is None and indexed.get("type") == "nominal":
        raise ValueError(
            f"the target {target!r} was made of another column by a StringIndexer: name the "
            "`features`, without this column"
        )
    if features is None:
        names = [name for name in names if not FOLDS.fullmatch(name)]
    return taken(frame, names)


def taken(frame: DataFrame, names: Sequence[str], widths: dict[str, int] | None = None) -> Columns:
    """Check these columns of a frame.

    Raises ValueError if a column is nested, or a vector too long.

    widths : number of entries of vectors, by column; None to take that of the first vector.
    """
    vectors = []
    for name in names:
        kind = frame.schema[name].dataType
        if isinstance(kind, VectorUDT):
            vectors.append(name)
        elif isinstance(kind, NESTED) or kind.typeName() == "variant":
            raise ValueError(
                f"column {name!r} holds {kind.simpleString()}, which are not plain values: select "
                "its fields as columns, or name other `features`"
            )
    if widths is None:
        widths = {name: _width(frame, name) for name in vectors}
    elif widths.keys() != {*vectors}:
        mismatch = min(widths.keys() ^ {*vectors})
        raise ValueError(f"column {mismatch!r} is of vectors either here or in training")
    return Columns(tuple(names), widths)


def quoted(name: str) -> str:
    """Quote the name of a column for Spark."""
    return "`" + name.replace("`", "``") + "`"


def _width(frame: DataFrame, name: str) -> int:
    """Return the number of entries of the first vector in a column; 0 if there is none."""
    column = quoted(name)
    first = frame.select(column).where(f"{column} is not null").first()
    width = 0 if first is None else len(first[0])
    if width > WIDEST:
        raise ValueError(
            f"column {name!r} holds vectors of {width:,} entries, where at most {WIDEST:,} can be "
            "columns; name the columns that they were made of as `features`, such as the text"
        )
    return width


def _entries(name: str, column: pa.Array, width: int) -> Iterable[pa.Array]:
    """Convert dense or sparse vectors to a column of numbers for each entry."""
    table = np.full((width, len(column)), np.nan)
    for row, vector in enumerate(column.to_pylist()):
        if vector is None:
            continue
        dense = vector["type"] == 1
        if (len(vector["values"]) if dense else vector["size"]) != width:
            raise ValueError(f"column {name!r} holds vectors of different lengths")
        if dense:
            table[:, row] = vector["values"]
        else:
            table[:, row] = 0.0
            table[vector["indices"], row] = vector["values"]
    return [pa.array(entries, from_pandas=False) for entries in table]


def _in_utc(column: pa.Array) -> pa.Array:
    kind = column.type
    zoned = pa.types.is_timestamp(kind) and kind.tz is not None
    return column.cast(pa.timestamp(kind.unit, "UTC")) if zoned else column


# ---- files ---------------------------------------------------------------------------------------


SHARE = 32 << 20
"""Approximate bytes of files for each task, if there is more than one share for each core."""
AT_ONCE = 64  # assumed number of parallel tasks with Spark Connect, which does not report it


def fitted_files(
    source: Source, model: Any, target: str, features: Sequence[str] | None, weight: str | None,
    like: Any,
) -> tuple[Any, Columns]:  # fmt: skip
    """Fit an estimator to files, which the executors of the active session read.

    `source` has tables in files, with the same paths on all machines; the rest is as in `fitted`.
    """
    names = clusters.features_of(source.names, target, features, weight)
    columns = None if features is None else [*names, *filter(None, (target, weight))]
    session = SparkSession.active()
    context = getattr(session, "sparkContext", None)
    parallelism = AT_ONCE if context is None else context.defaultParallelism
    shares = source.shares(max(parallelism, (source.size or 0) // SHARE), columns)
    spec = clusters.spec_of(model, names, target, weight)
    (share,) = source.shares(1, columns)
    plan = clusters.planned_of(share, model, spec, like)
    ids = session.range(0, len(shares), 1, len(shares))
    rounds = 2 if plan.blank.family.keeps else int(len(shares) > GROUPS)
    counts = summed(ids, CountingFiles(plan, shares), added, rounds)
    estimator = clusters.fitted(model, learned(plan, counts), like)
    return estimator, Columns(tuple(plan.blank.schema.why), {})


# ---- frames --------------------------------------------------------------------------------------


def fitted(
    dataset: DataFrame, model: Any, target: str, features: Sequence[str] | None, weight: str | None,
    like: Any,
) -> tuple[Any, Columns]:  # fmt: skip
    """Fit an estimator to a Spark frame; return (a fitted clone of `model`, its columns).

    Raises ValueError if a column does not exist, or the data are invalid.
    """
    columns = learnable(dataset, target, features, weight)
    frame = dataset.select(*map(quoted, filter(None, (*columns.names, target, weight))))
    spec = clusters.spec_of(model, columns.features, target, weight)
    rows = 0 if like is not None else clusters.rows_to_look_at(spec, columns.features)
    plan = clusters.planned(columns.unpacked(first_rows(frame, rows)), spec, like)
    rounds = 2 if plan.blank.family.keeps else 1
    counts = summed(frame, converting(columns.unpacked, Counting(plan)), added, rounds)
    return clusters.fitted(model, learned(plan, counts), like), columns


# ---- spark ---------------------------------------------------------------------------------------


PIECE = 4 << 20  # maximum bytes of a sum in one row: messages and batches of Spark have limits
GROUPS = 16  # number of groups of partitions that are added up in parallel
COLUMNS = "part long, piece long, pieces long, data binary"
SCHEMA = pa.schema({"part": pa.int64(), "piece": pa.int64(), "pieces": pa.int64(),
                    "data": pa.binary()})  # fmt: skip
JAVA = (
    "Spark needs Java 17 or later, and there is none: install the package openjdk-17-jre-headless "
    "(Debian, Ubuntu) or java-17-openjdk-headless (Fedora), or set JAVA_HOME"
)

Batches = Iterable[pa.RecordBatch]
Count = Callable[[Batches], bytes | None]
Add = Callable[[Iterable[bytes]], bytes | None]


def session(master: str | None) -> SparkSession:
    """Return the active session, or a new one.

    Raises RuntimeError if Java is not installed.

    master : such as ``spark://host:7077``, ``local[4]``, or ``sc://host`` for Spark Connect; None
        for the configuration of Spark.
    """
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("naively")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    remote = (master or os.environ.get("SPARK_REMOTE", "")).startswith("sc://")
    if not remote and SparkSession.getActiveSession() is None:
        home = os.environ.get("JAVA_HOME")
        if shutil.which("java", path=f"{home}/bin" if home else None) is None:
            raise RuntimeError(JAVA)
    if master is not None:
        builder = builder.remote(master) if remote else builder.master(master)
    spark = builder.getOrCreate()
    if not remote and "PYSPARK_PYTHON" not in os.environ:
        context = spark.sparkContext
        if context.master.startswith("local"):  # else its workers use any python3 in PATH
            context.pythonExec = sys.executable
    return spark


def first_rows(frame: DataFrame, rows: int) -> pa.Table:
    """Return the first rows of a frame, partition after partition; only its columns for 0 rows.

    `coalesce(1)` makes one task read them in order: a limit over many partitions would read rows in
    each, and return whichever come first.
    """
    return frame.coalesce(1).limit(rows).toArrow()


def summed(frame: DataFrame, count: Count, add: Add, rounds: int = 2) -> list[bytes]:
    """Count each partition, and add up the counts; returns a few sums, none if there are no rows.

    frame : DataFrame, classic or of Spark Connect.
    count : function from the batches of a partition to bytes; None if there are no rows.
    add : function from such bytes to those of their sum.
    rounds : rounds of additions on executors before the driver gets the sums, each of which takes
        time: 2 for a single sum, if sums are large; 1 for at most `GROUPS`; 0 if there are few
        partitions.
    """
    sums = frame.mapInArrow(partial(counted, count), COLUMNS)
    if rounds > 0:
        groups = sums.repartition((sums["part"] % GROUPS).alias("group"))
        sums = groups.mapInArrow(partial(_summed, add), COLUMNS)
    if rounds > 1:
        sums = sums.repartition(1).mapInArrow(partial(_summed, add), COLUMNS)
    return [content for _, content in joined(sums.toArrow().to_batches())]


def pieces(part: int, content: bytes | None) -> Iterator[pa.RecordBatch]:
    """Split the bytes of a sum into rows of at most `PIECE` bytes."""
    if content is None:
        return
    total = max(1, -(-len(content) // PIECE))
    for k in range(total):
        row = [part, k, total, content[k * PIECE : (k + 1) * PIECE]]
        cells = dict(zip(SCHEMA.names, row, strict=True))
        yield pa.RecordBatch.from_pylist([cells], SCHEMA)


def joined(batches: Batches) -> Iterator[tuple[int, bytes]]:
    """Join the pieces of sums, in any order. Yields (number, bytes) as soon as a sum is complete.

    Raises ValueError if a piece is duplicate or missing.
    """
    incomplete: dict[int, list[bytes | None]] = {}
    complete: set[int] = set()
    for batch in batches:
        for part, piece, total, data in zip(*batch.to_pydict().values(), strict=True):
            chunks = incomplete.setdefault(part, [None] * total)
            if part in complete or chunks[piece] is not None:
                raise ValueError(f"the counts of partition {part} arrived twice")
            chunks[piece] = data
            if None not in chunks:
                complete.add(part)
                yield part, b"".join(incomplete.pop(part))  # type: ignore[arg-type]
    if incomplete:
        raise ValueError(f"counts of partition {min(incomplete)} are lost")


def counted(count: Count, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Count a partition, on an executor."""
    return pieces(_partition(), count(batches))


def _summed(add: Add, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Add up the sums of a partition, on an executor."""
    return pieces(_partition(), add(data for _, data in joined(batches)))


def _partition() -> int:
    """Return the number of the partition of this task, which is the same in each attempt."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return int(context.partitionId())
