"""Run `naively fit --engine`: Spark reads tables and counts their rows."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from naively import clusters
from naively.cli import progress
from naively.cli.arguments import LearningOptions
from naively.cli.errors import UsageError, UserError, some
from naively.cli.options import estimator_of, spec_of
from naively.cli.sources import lone_text, no_such
from naively.cli.work import Fitted, checked, left_out
from naively.clusters import Counting, added, learned
from naively.evaluation.samples import Kept, kept_of, most_rows
from naively.io.inputs import UNTYPED
from naively.spark import engine as spark
from naively.storage.model_files import Saved
from naively.tables import learning
from naively.tables.learning import TrainingSpec, features_of
from naively.tables.names import three

ALONE = ("holdout", "label")
"""Options that a cluster does not support."""
FEW = 100
"""Rows that are read to estimate the size of a row."""


class AsText:
    """Count batches in which all values are text, such as those of a CSV file."""

    def __init__(self, count: Any) -> None:
        self.count = count

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> bytes | None:
        """Mark batches as untyped, and count them."""
        found: bytes | None = self.count(map(untyped, batches))
        return found


def untyped(batch: Any) -> Any:
    """Mark a batch or table as untyped, so that its text may be read as numbers."""
    schema = pa.schema([field.with_metadata(UNTYPED) for field in batch.schema])
    return type(batch).from_arrays(batch.columns, schema=schema)


def fit(
    engine: str, data: Sequence[str], target: str | None, options: LearningOptions,
    like: Path | None, plot: Path | None,
) -> tuple[Fitted, Saved]:  # fmt: skip
    """(the result of training with Spark, the model to write)."""
    default = LearningOptions()
    said = [name for name in ALONE if getattr(options, name) != getattr(default, name)]
    said += [name for name, one in (("like", like), ("plot", plot)) if one is not None]
    if said:
        raise UsageError(f"--engine does not go together with --{said[0]}")
    master = master_of(engine)
    try:
        from pyspark.errors import PySparkException
    except ImportError:
        raise UserError("Spark needs pyspark: pip install 'naively[spark]'") from None
    try:
        session = spark.session(master)
    except (RuntimeError, PySparkException) as error:
        raise UserError(f"{engine}: {_brief(error)}") from None
    name = three(data)
    try:
        return _fitted(session, data, name, target, options)
    except (learning.LearningError, PySparkException) as error:
        raise UserError(f"{name}: {_brief(error)}") from None


def master_of(engine: str) -> str | None:
    """Spark's name of the cluster; None for the configured one."""
    kind, _, rest = engine.partition("://")
    if kind == "sc" and rest:
        return engine
    if kind != "spark" or (rest == "" and engine != "spark"):
        raise UsageError(f"--engine {engine}: write spark, spark://MASTER, or sc://HOST")
    if not rest:
        return None
    return rest if re.match(r"local\b|yarn$|k8s://", rest) else engine


def _fitted(
    session: Any, data: Sequence[str], name: str, target: str | None, options: LearningOptions
) -> tuple[Fitted, Saved]:  # fmt: skip
    start = time.perf_counter()
    frame, text = _read(session, data, options.format)
    if target is None:
        raise UsageError(
            f"{name}: name the column that holds the classes with --target; there are "
            f"{some(frame.columns)}"
        )
    head = partial(spark.first_rows, frame)
    lone = lone_text(frame.columns, target, (), options, lambda rows: _marked(head(rows), text))
    estimator = estimator_of(target, (), options, lone, None)
    spec = spec_of(estimator, target, (), options)
    for one in filter(None, (target, spec.weight, *spec.columns.families, *spec.columns.text)):
        if one not in frame.columns:
            raise UserError(f"{name}: {no_such(str(one), frame.columns)}")
    with progress.doing() as tell:
        tell("Spark counts")
        rows = clusters.rows_to_look_at(spec, features_of(frame.columns, spec)) or 1
        made = learning.plan([_marked(spark.first_rows(frame, rows), text)], spec)
        count = Counting(made)
        model = learned(made, spark.summed(frame, AsText(count) if text else count, added))
    model = checked(name, model, spec)
    seconds = time.perf_counter() - start
    kept = _kept(frame, text, spec, model.rows + model.unlabelled)
    scores = left_out(name, model, kept, spec)
    extra = {} if options.weight is None else {"weight": options.weight}
    saved = Saved(model, estimator.name, dict(estimator.params), extra)
    return Fitted(model, seconds, None, scores, kept), saved


def _read(session: Any, data: Sequence[str], format: str | None) -> tuple[Any, bool]:
    """(a Spark data frame of the tables, whether all values are text)."""
    kind = format or _kind(data)
    paths = list(data)
    if kind == "parquet":
        return session.read.parquet(*paths), False
    if kind == "jsonl":
        return session.read.json(paths), False
    if kind in ("csv", "tsv"):
        sep = "," if kind == "csv" else "\t"
        return session.read.csv(
            paths, sep=sep, header=True, quote='"', escape='"', mode="FAILFAST"
        ), True
    raise UsageError(f"--engine reads csv, tsv, jsonl and parquet, not {kind}")


def _kind(data: Sequence[str]) -> str:
    """The format, by the suffixes of files."""
    found = {part for one in data for part in Path(one).name.lower().split(".")[1:]}
    known = {"csv": "csv", "tsv": "tsv", "jsonl": "jsonl", "ndjson": "jsonl", "parquet": "parquet"}
    kinds = {known[part] for part in found if part in known}
    if len(kinds) != 1:
        raise UsageError("say with --format which format the tables have: csv, tsv, jsonl, parquet")
    return kinds.pop()


def _marked(table: pa.Table, text: bool) -> pa.Table:
    return untyped(table) if text else table


def _kept(frame: Any, text: bool, spec: TrainingSpec, rows: int) -> Kept:
    """A sample of the rows for cross-validation; all rows if they are few."""
    kept = kept_of(spec)
    most = most_rows(spark.first_rows(frame, FEW))
    some_rows = frame if rows <= most else frame.sample(most / rows, spec.seed)
    table = _marked(some_rows.toArrow(), text).combine_chunks()
    tasks = [partial(_itself, batch) for batch in table.to_batches()]
    deque((task() for task in kept.passing(tasks)), maxlen=0)
    return kept


def _itself(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch


def _brief(error: Exception) -> str:
    """An error in one line: for an error of a worker, its last error line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    own = [line for line in lines if re.match(r"[\w.]+(Error|Exception): ", line)]
    return re.sub(r"^[\w.]+: ", "", own[-1]) if own else lines[0]
