"""The columns of a Spark frame: which are learned from, and vectors as columns of numbers."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import SparkSession, types

from naively import clusters
from naively.clusters import Counting, CountingFiles, added, learned
from naively.io.sources import Source
from naively.tables.names import no_column

FOLDS = re.compile(r"(CrossValidator|TrainValidationSplit)_\w+_rand")
"""Columns that Spark adds while it tunes, and that are none of the data."""
NESTED = (types.ArrayType, types.MapType, types.StructType, types.UserDefinedType)
WIDEST = 4096
"""Entries of a vector, at most, that become columns."""


@dataclass(frozen=True)
class Columns:
    """The features of a frame.

    Attributes
    ----------
    names : of the columns.
    vectors : how many entries those have that are vectors, by name.
    """

    names: tuple[str, ...]
    vectors: dict[str, int]

    @property
    def features(self) -> list[str]:
        """What is learned from: the columns, with the entries of vectors in their places."""
        return [one for name in self.names for one in self._spread(name)]

    def _spread(self, name: str) -> list[str]:
        if name not in self.vectors:
            return [name]
        return [f"{name}[{k}]" for k in range(self.vectors[name])]

    def unpacked(self, batch: Any) -> Any:
        """The batch, or table, with columns of numbers in the place of vectors, and times in UTC.

        In which time zone a session shows instants does not matter then.

        Raises
        ------
        ValueError : if a vector has another number of entries than was agreed.
        """
        arrays: list[Any] = []
        names: list[str] = []
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if name in self.vectors:
                arrays += _entries(name, column, self.vectors[name])
                names += self._spread(name)
            else:
                arrays.append(_in_utc(column))
                names.append(name)
        return type(batch).from_arrays(arrays, names=names)


class Unpacking:
    """Counts batches of a frame whose vectors are unpacked first."""

    def __init__(self, columns: Columns, count: Any) -> None:
        self.columns, self.count = columns, count

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> bytes | None:
        """What was counted."""
        found: bytes | None = self.count(map(self.columns.unpacked, batches))
        return found


def learnable(
    frame: Any, target: str, features: Sequence[str] | None, weight: str | None
) -> Columns:
    """The columns of a frame to learn from; by default all but the target and the weight.

    Raises
    ------
    ValueError : naming a column that is not there, or cannot be learned from.
    """
    for name in filter(None, (target, weight, *(features or ()))):
        if name not in frame.columns:
            raise ValueError(no_column(name, frame.columns))
    indexed = frame.schema[target].metadata.get("ml_attr", {})
    if features is None and indexed.get("type") == "nominal":
        raise ValueError(
            f"the target {target!r} was made of another column by a StringIndexer: name the "
            "`features`, so that this column is none of them"
        )
    if features is None:
        features = [
            name for name in frame.columns
            if name not in (target, weight) and not FOLDS.fullmatch(name)
        ]  # fmt: skip
    elif target in features or weight in features:
        raise ValueError("the target and the weight cannot be among the features")
    return taken(frame, features)


def taken(frame: Any, names: Sequence[str], known: dict[str, int] | None = None) -> Columns:
    """These columns of a frame.

    Parameters
    ----------
    known : how many entries vectors have, by column; what the first ones have, if None.

    Raises
    ------
    ValueError : if one is nested, or a vector too long.
    """
    vectors = []
    for name in names:
        kind = frame.schema[name].dataType
        if isinstance(kind, VectorUDT):
            vectors.append(name)
        elif isinstance(kind, NESTED) or kind.typeName() == "variant":
            raise ValueError(
                f"column {name!r} holds {kind.simpleString()}, and no plain values: select what is "
                "in it as columns of their own, or name other `features`"
            )
    if known is None:
        known = {name: _width(frame, name) for name in vectors}
    elif known.keys() != {*vectors}:
        odd = min(known.keys() ^ {*vectors})
        raise ValueError(f"column {odd!r} is of vectors either here or where it was learned")
    return Columns(tuple(names), known)


def quoted(name: str) -> str:
    """The name of a column as Spark takes it, whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


def _width(frame: Any, name: str) -> int:
    """How many entries the vectors of a column have."""
    own = quoted(name)
    first = frame.select(own).where(f"{own} is not null").first()
    width = 0 if first is None else len(first[0])
    if width > WIDEST:
        raise ValueError(
            f"column {name!r} holds vectors of {width:,} entries, where at most {WIDEST:,} can be "
            "columns; name the columns that they were made of as `features`, such as the text"
        )
    return width


def _entries(name: str, column: Any, width: int) -> Iterable[pa.Array]:
    """A column of numbers for each entry of vectors, which Spark stores dense or sparse."""
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


def _in_utc(column: Any) -> Any:
    kind = column.type
    zoned = pa.types.is_timestamp(kind) and kind.tz is not None
    return column.cast(pa.timestamp(kind.unit, "UTC")) if zoned else column


# ---- files ---------------------------------------------------------------------------------------


SHARE = 32 << 20
"""Bytes of files that a task reads, about, if there are more than all executors read at once."""
AT_ONCE = 64
"""How many tasks run at once, over Spark Connect, which does not say."""


def fitted_files(
    source: Source, model: Any, target: str, features: Sequence[str] | None, weight: str | None,
    like: Any,
) -> tuple[Any, Columns]:  # fmt: skip
    """(a fitted estimator like `model`, its columns), learned from files by the session there is.

    Parameters
    ----------
    source : of tables in files, in the same places on all machines.
    target, features, weight : columns of it; all other columns are features if these are None.

    Raises
    ------
    ValueError : saying what is wrong and where.
    """
    for name in filter(None, (target, weight, *(features or ()))):
        if name not in source.names:
            raise ValueError(no_column(name, source.names))
    asked = [name for name in (target, weight) if name is not None]
    if features is not None and {*features} & {*asked}:
        raise ValueError("the target and the weight cannot be among the features")
    read = None if features is None else [*features, *asked]
    session = SparkSession.active()
    context = getattr(session, "sparkContext", None)
    at_once = AT_ONCE if context is None else context.defaultParallelism
    shares = source.shares(max(at_once, (source.size or 0) // SHARE), read)
    names = [name for name in read or source.names if name not in asked]
    spec = clusters.spec_of(model, names, target, weight)
    (whole,) = source.shares(1, read)
    made = clusters.planned_of(whole, model, spec, like)
    ids = session.range(0, len(shares), 1, len(shares))
    one_round = len(shares) > GROUPS
    rounds = 2 if made.blank.family.keeps else int(one_round)
    counts = summed(ids, CountingFiles(made, shares), added, rounds)
    found = clusters.fitted(model, learned(made, counts), like)
    return found, Columns(tuple(made.blank.schema.why), {})


# ---- frames --------------------------------------------------------------------------------------


def fitted(
    dataset: Any, model: Any, target: str, features: Sequence[str] | None, weight: str | None,
    like: Any,
) -> tuple[Any, Columns]:  # fmt: skip
    """(a fitted estimator like `model`, the columns that it learned from a frame).

    Parameters
    ----------
    dataset : DataFrame, classic or of Spark Connect.
    target, features, weight : columns of it; all other columns are features if these are None.

    Raises
    ------
    ValueError : saying what is wrong and where.
    """
    columns = learnable(dataset, target, features, weight)
    frame = dataset.select(*map(quoted, filter(None, (*columns.names, target, weight))))
    spec = clusters.spec_of(model, columns.features, target, weight)
    rows = 0 if like is not None else clusters.rows_to_look_at(spec, columns.features)
    made = clusters.planned(columns.unpacked(first_rows(frame, rows)), spec, like)
    rounds = 2 if made.blank.family.keeps else 1
    counts = summed(frame, Unpacking(columns, Counting(made)), added, rounds)
    return clusters.fitted(model, learned(made, counts), like), columns


# ---- spark ---------------------------------------------------------------------------------------


PIECE = 4 << 20
"""Bytes of a sum in one row, at most: messages and batches of Spark have limits."""
GROUPS = 16
"""Sums that are joined at last; each of them is of a share of the partitions."""
COLUMNS = "part long, piece long, pieces long, data binary"
SCHEMA = pa.schema(
    [("part", pa.int64()), ("piece", pa.int64()), ("pieces", pa.int64()), ("data", pa.binary())]
)
JAVA = (
    "Spark needs Java 17 or later, and there is none: install the package openjdk-17-jre-headless "
    "(Debian, Ubuntu) or java-17-openjdk-headless (Fedora), or set JAVA_HOME"
)

Batches = Iterable[pa.RecordBatch]
Count = Callable[[Batches], bytes | None]
Add = Callable[[Iterable[bytes]], bytes | None]


def session(master: str | None) -> Any:
    """The session that is there, or a new one.

    Parameters
    ----------
    master : as ``spark://host:7077``, ``local[4]``, or ``sc://host`` for Spark Connect; None for
        what Spark is configured to take.

    Raises
    ------
    RuntimeError : if there is no Java.
    """
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("naively").config(
        "spark.ui.showConsoleProgress", "false"
    )
    remote = (master or os.environ.get("SPARK_REMOTE", "")).startswith("sc://")
    if not remote and SparkSession.getActiveSession() is None:
        home = os.environ.get("JAVA_HOME")
        if shutil.which("java", path=f"{home}/bin" if home else None) is None:
            raise RuntimeError(JAVA)
    if master is not None:
        builder = builder.remote(master) if remote else builder.master(master)
    found = builder.getOrCreate()
    if not remote and "PYSPARK_PYTHON" not in os.environ:
        context = found.sparkContext
        if context.master.startswith("local"):  # whose workers would take any python3
            context.pythonExec = sys.executable
    return found


def first_rows(frame: Any, rows: int) -> pa.Table:
    """The first rows of a frame, partition after partition; its columns alone for 0 rows.

    One task reads them, and no more: a limit over many partitions would ask each for so many, and
    take those that come first.
    """
    return frame.coalesce(1).limit(rows).toArrow()


def summed(frame: Any, count: Count, add: Add, rounds: int = 2) -> list[bytes]:
    """Few sums of what was counted of each partition; none if no partition has rows.

    Parameters
    ----------
    frame : DataFrame, classic or of Spark Connect.
    count : from the batches of a partition to bytes; None if it has no rows.
    add : from such bytes to the bytes of their sum.
    rounds : how often executors add sums up before they come to the driver, each of which takes
        some time: 2, until there is one, which may be large; 1, until there are a few; 0 if there
        are few partitions.
    """
    sums = frame.mapInArrow(_Counting(count), COLUMNS)
    if rounds > 0:
        groups = sums.repartition((sums["part"] % GROUPS).alias("group"))
        sums = groups.mapInArrow(_Adding(add), COLUMNS)
    if rounds > 1:
        sums = sums.repartition(1).mapInArrow(_Adding(add), COLUMNS)
    return [content for _, content in joined(sums.toArrow().to_batches())]


def pieces(part: int, content: bytes | None) -> Iterator[pa.RecordBatch]:
    """The bytes of a sum, in rows of no more than a few megabytes."""
    if content is None:
        return
    total = max(1, -(-len(content) // PIECE))
    for k in range(total):
        data = content[k * PIECE : (k + 1) * PIECE]
        rows = [[part], [k], [total], [data]]
        yield pa.RecordBatch.from_arrays(
            [pa.array(one, field.type) for one, field in zip(rows, SCHEMA, strict=True)],
            schema=SCHEMA,
        )


def joined(batches: Batches) -> Iterator[tuple[int, bytes]]:
    """(number, bytes) of each sum, from its pieces in any order, as soon as all are there.

    Raises
    ------
    ValueError : if a piece is there twice, or lacks.
    """
    waiting: dict[int, list[bytes | None]] = {}
    done: set[int] = set()
    for batch in batches:
        for part, piece, total, data in zip(*batch.to_pydict().values(), strict=True):
            own = waiting.setdefault(part, [None] * total)
            if part in done or own[piece] is not None:
                raise ValueError(f"what was counted of partition {part} came twice")
            own[piece] = data
            if None not in own:
                done.add(part)
                yield part, b"".join(waiting.pop(part))  # type: ignore[arg-type]
    if waiting:
        raise ValueError(f"some of what was counted of partition {min(waiting)} is lost")


class _Counting:
    """Counts a partition, on an executor."""

    def __init__(self, count: Count) -> None:
        self.count = count

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return pieces(_partition(), self.count(batches))


class _Adding:
    """Adds up the sums of a partition, on an executor."""

    def __init__(self, add: Add) -> None:
        self.add = add

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        content = self.add(own for _, own in joined(batches))
        return pieces(_partition(), content)


def _partition() -> int:
    """The number of the partition that this task is about: the same in each attempt."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return int(context.partitionId())
