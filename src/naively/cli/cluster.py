"""Run `naively fit --engine`: Spark reads tables and counts their rows."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Sequence
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
from naively.cli.work import Fitted, checked, cross_validated
from naively.clusters import Counting, added, learned
from naively.evaluation.samples import RowSample, kept_of, most_rows
from naively.io.inputs import UNTYPED, task_of
from naively.spark import engine as spark
from naively.storage.model_files import Saved
from naively.tables import learning
from naively.tables.learning import TrainingSpec, features_of
from naively.tables.names import three

ALONE = ("holdout", "label", "groups", "time")  # options that a cluster does not support
FEW = 100  # rows that are read to estimate the size of a row


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
    conflicting = [name for name in ALONE if getattr(options, name) != getattr(default, name)]
    conflicting += [name for name, value in (("like", like), ("plot", plot)) if value is not None]
    if conflicting:
        raise UsageError(f"--engine cannot be combined with --{conflicting[0]}")
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
    kind, _, address = engine.partition("://")
    if kind == "sc" and address:
        return engine
    if kind != "spark" or (address == "" and engine != "spark"):
        raise UsageError(f"--engine {engine}: write spark, spark://MASTER, or sc://HOST")
    if not address:
        return None
    return address if re.match(r"local\b|yarn$|k8s://", address) else engine


def _fitted(
    session: Any, data: Sequence[str], name: str, target: str | None, options: LearningOptions
) -> tuple[Fitted, Saved]:  # fmt: skip
    start = time.perf_counter()
    frame, text = _read(session, data, options.format)
    if target is None:
        raise UsageError(
            f"{name}: --target is missing: name the column with the classes; the columns are "
            f"{some(frame.columns)}"
        )
    head = partial(spark.first_rows, frame)
    text_column = lone_text(
        frame.columns, target, (), options, lambda rows: _marked(head(rows), text)
    )
    estimator = estimator_of(target, (), options, text_column)
    spec = spec_of(estimator, target, (), options)
    for column in filter(None, (target, spec.weight, *spec.columns.families, *spec.columns.text)):
        if column not in frame.columns:
            raise UserError(f"{name}: {no_such(str(column), frame.columns)}")
    with progress.doing() as show:
        show("Spark counts")
        rows = clusters.rows_to_look_at(spec, features_of(frame.columns, spec)) or 1
        plan = learning.plan([_marked(spark.first_rows(frame, rows), text)], spec)
        count = Counting(plan)
        counting = spark.converting(untyped, count) if text else count
        model = learned(plan, spark.summed(frame, counting, added))
    model = checked(name, model, spec)
    kept = _sample(frame, text, spec, model.rows + model.unlabelled)
    scores = cross_validated(name, model, kept, spec)
    seconds = time.perf_counter() - start
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
        options = {"quote": '"', "escape": '"', "mode": "FAILFAST"}
        return session.read.csv(paths, sep=sep, header=True, **options), True
    raise UsageError(f"--engine reads csv, tsv, jsonl and parquet, not {kind}")


def _kind(data: Sequence[str]) -> str:
    """The format, by the suffixes of files."""
    suffixes = {part for path in data for part in Path(path).name.lower().split(".")[1:]}
    formats = {kind: kind for kind in ("csv", "tsv", "jsonl", "parquet")} | {"ndjson": "jsonl"}
    kinds = {formats[part] for part in suffixes if part in formats}
    if len(kinds) != 1:
        raise UsageError("name the format of the tables with --format: csv, tsv, jsonl, parquet")
    return kinds.pop()


def _marked(table: pa.Table, text: bool) -> pa.Table:
    return untyped(table) if text else table


def _sample(frame: Any, text: bool, spec: TrainingSpec, rows: int) -> RowSample:
    """A sample of the rows for cross-validation; all rows if they are few."""
    sample = kept_of(spec)
    limit = most_rows(spark.first_rows(frame, FEW))
    some_rows = frame if rows <= limit else frame.sample(limit / rows, spec.seed)
    table = _marked(some_rows.toArrow(), text).combine_chunks()
    tasks = map(task_of, table.to_batches())
    deque((task() for task in sample.passing(tasks)), maxlen=0)
    return sample


def _brief(error: Exception) -> str:
    """An error in one line: for an error of a worker, its last error line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"[\w.]+(Error|Exception): ", line)]
    return re.sub(r"^[\w.]+: ", "", errors[-1]) if errors else lines[0]
