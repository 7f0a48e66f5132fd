"""Sums over the partitions of a Spark frame: bytes of each, added up in a tree.

Only the DataFrame API is used, so that Spark Connect does the same as a classic session. Spark
takes the output of one attempt of each task, however many were made: no row counts twice. That is
checked where sums are joined: each has a number, and comes in so many pieces, each of them once.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa

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
