"""Open the data of a command: tables, documents as tables, or a query."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Any

import pyarrow as pa

from naively.cli import models, progress
from naively.cli.arguments import LEARNING, NO_QUERY, ChangeOptions, LearningOptions, Query
from naively.cli.errors import UsageError, UserError, some
from naively.cli.options import estimator_of, missing_of, spec_of, update_spec
from naively.core.workers import workers
from naively.io.arrow import together
from naively.io.databases import file_of, queried
from naively.io.formats.documents import FILE, LABEL, TEXTS
from naively.io.inputs import MISSING, Task, task_of
from naively.io.sources import FORMATS, Source, open_source
from naively.model.model import Model
from naively.storage import atomic
from naively.storage.model_files import SERVED, Saved
from naively.tables import names as naming
from naively.tables.counting import like as structure_of
from naively.tables.counting import other_columns
from naively.tables.declared import PROSE_ROWS, is_prose
from naively.tables.learning import TrainingSpec, weights_of
from naively.tables.specification import EstimatorSpec

SETTLED = (
    "naive", "columns", "text", "skip", "monotone", "family", "missing", "alpha", "prior",
    "prior_smoothing", "class_weight", "unseen",
)  # fmt: skip
"""Options that `--like` takes from the model."""


@dataclass
class Opened:
    """An open source, with column names that fit the model."""

    files: Source
    name: str  # its name in messages
    names: list[str]  # of the columns
    # the classes of a model by their texts, for documents, if classes are not texts
    labels: dict[str, Any] = field(default_factory=dict)
    _ahead: Iterator[Task | None] | None = field(default=None, repr=False)

    @property
    def file(self) -> str | None:
        """The column with the file name of each document, if there is one."""
        return self.names[0] if self.files.file else None

    def tasks(self) -> Iterator[Task]:
        """Tasks that read one batch each; see `Source`."""
        return (task for task in self.live_tasks() if task is not None)

    def live_tasks(self) -> Iterator[Task | None]:
        """As `tasks`, with None where a pipe pauses."""
        if self._ahead is not None:
            tasks, self._ahead = self._ahead, None
            return tasks
        if self.names == self.files.names and not self.labels:
            return self.files.live_tasks()  # JSON lines may have further columns later
        return (task and partial(self._renamed, task) for task in self.files.live_tasks())

    def first(self, rows: int) -> pa.Table:
        """Read about so many rows ahead; the next tasks begin with them again."""
        tasks, batches = self.live_tasks(), list[pa.RecordBatch]()
        for task in tasks:
            if task is not None:
                batches.append(task())
            if sum(batch.num_rows for batch in batches) >= rows:
                break
        self._ahead = chain(map(task_of, batches), tasks)
        return together([pa.Table.from_batches([batch]) for batch in batches])

    def _renamed(self, task: Task) -> pa.RecordBatch:
        batch = task()
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        if self.labels and LABEL in columns:
            column = columns[LABEL]
            classes = [self.labels.get(text) for text in column.dictionary.to_pylist()]
            if None not in classes:
                columns[LABEL] = pa.array(classes).take(column.indices)
        return pa.RecordBatch.from_arrays(list(columns.values()), names=self.names)


def opened(
    data: Sequence[str], format: str | None = None, missing: Sequence[str] = MISSING,
    label: str | None = None, query: Query = NO_QUERY, **options: Any,
) -> Opened:  # fmt: skip
    """Open tables or documents.

    `data`: files, folders and patterns; none for standard input. `label`: the class of all
    documents; None if they have their own or are tables.
    """
    if query.sql is not None or query.database is not None:
        return _queried(data, format, label, query)
    if not data:
        if sys.stdin is None or sys.stdin.isatty():
            raise UsageError("name a table: a file, a folder, or - for standard input")
        data = ["-"]
    try:
        source = open_source(list(data), missing=missing, format=format, label=label, **options)
    except FileNotFoundError as error:
        raise UserError(f"{error.filename}: there is no such file") from None
    name = "standard input" if list(data) == ["-"] else naming.three(data)
    if label is not None and not source.texts:
        raise UsageError(f"{name}: --label is for documents; a table has its classes in a column")
    if source.hint:
        progress.note(source.hint)
    return Opened(source, name, list(source.names))


def _queried(data: Sequence[str], format: str | None, label: str | None, query: Query) -> Opened:
    """Open the rows of a query."""
    if query.sql is None or query.database is None:
        raise UsageError(
            "--sql (the query) and --database (where it runs) belong together: give both"
        )
    if data or format or label:
        raise UsageError("--sql gives the rows: leave out files, --format and --label")
    source = queried(query.sql, query.database)
    return Opened(source, source.name, list(source.names))


def opened_for(
    saved: Saved, data: Sequence[str], format: str | None, label: str | None = None, **options: Any
) -> Opened:
    """Open data for a model; documents get the names of its text column and its target."""
    document, target = models.document_of(saved), saved.model.target
    names = saved.model.feature_names or []
    options |= {"document": document, "kind": saved.extra.get("documents")}
    source = opened(data, format, models.spellings(saved), label, **options)
    if not source.files.texts:
        return source
    if source.files.file is not None:
        used_names = {*names, document, target}
        source.names[0] = next(name for i in count() if (name := FILE + "_" * i) not in used_names)
    for old, new in ((TEXTS[0], document), (LABEL, target)):
        present = old in source.names and old not in names
        if present and new is not None and new not in source.names:
            source.names[source.names.index(old)] = new
    return source


def opened_to_learn(
    saved: Saved, data: Sequence[str], options: LearningOptions | ChangeOptions, **more: Any
) -> tuple[Opened, TrainingSpec]:
    """Open data to train a model further, and how to read them; documents need a class."""
    classes, target, label = saved.model.classes, saved.model.target, options.label
    names = models.names_of(classes)
    source = opened_for(saved, data, options.format, label, classes=names, query=options, **more)
    if source.files.texts and classes.dtype.kind not in "OUT":
        source.labels = dict(zip(names, classes.tolist(), strict=True))
    if label is not None and (remark := naming.new_classes(names, [label])):
        progress.note(f"{source.name}: {remark}; {models.UNDO}")
    if source.files.texts and target is not None and target not in source.names:
        raise UserError(
            f"{source.name}: name the class of these documents with --label; the model has "
            f"{some(classes)}"
        )
    return source, update_spec(saved, options.weight)


def opened_like(
    data: Sequence[str], target: str | None, options: LearningOptions, like: Path, **more: Any
) -> tuple[Opened, TrainingSpec, Saved]:
    """Open data for a model with the structure of `like`; and that model, without rows."""
    if conflicting := [f"--{n}" for n in SETTLED if getattr(options, n) != getattr(LEARNING, n)]:
        names = ", ".join(conflicting).replace("_", "-")
        raise UsageError(f"--like takes that from the model: leave out {names}")
    if options.groups is not None or options.time is not None:
        raise UsageError("--like trains without cross-validation: leave out --groups and --time")
    saved = models.load_table(like)
    saved.extra.pop(SERVED, None)  # the log belongs to the other model
    try:
        saved.model = structure_of(saved.model, workers(None))
    except ValueError as error:
        raise UserError(f"{like}: {error}") from None
    source, spec = opened_to_learn(saved, data, options, **more)
    if target not in (None, spec.target):
        raise UsageError(f"the target of {like} is {spec.target!r}: leave out --target")
    return source, replace(spec, holdout=options.holdout, seed=options.seed), saved


def opened_new(
    data: Sequence[str], target: str | None, options: LearningOptions
) -> tuple[Opened, EstimatorSpec, TrainingSpec]:
    """Open data for a new model; the estimator that the options specify, and how to read rows."""
    source = opened(data, options.format, missing_of(options), options.label, options)
    target, texts = target_among(source, target), source.files.texts
    text_column = lone_text(source.names, target, texts, options, source.first)
    estimator = estimator_of(target, texts, options, text_column)
    return source, estimator, spec_of(estimator, target, texts, options)


def lone_text(
    names: Sequence[str], target: str, texts: Sequence[str], options: LearningOptions,
    first: Callable[[int], pa.Table],
) -> str | None:  # fmt: skip
    """The only feature, if it is text: by an option, or by its first values; else None.

    `first`: reads about so many of the first rows.
    """
    features = [name for name in names if name not in (target, options.weight)]
    features = [name for name in features if name not in options.skipped]
    if len(features) != 1:
        return None
    if features[0] in (*texts, *(options.text or ())):
        return features[0]
    if options.naive or features[0] in (*(options.categorical or ()), *(options.numeric or ())):
        return None
    rows, missing = first(PROSE_ROWS), missing_of(options)
    if (
        options.weight is not None and options.weight in rows.column_names
    ):  # rows of weight 0 are ignored
        rows = rows.filter(pa.array(weights_of(rows, options.weight, missing) > 0))
    present = features[0] in rows.column_names
    return features[0] if present and is_prose(rows.column(features[0]), missing) else None


def target_among(table: Opened, target: str | None) -> str:
    """The target column; documents in several files or folders have one."""
    if target is not None:
        return target
    if table.files.texts and LABEL in table.names:
        return LABEL
    if table.files.texts:
        raise UsageError(
            f"{table.name}: the classes of documents are the names of their files, such as "
            "ham.txt and spam.txt, or of their folders; else name one class for all with "
            "`fit --label`, or the column of labels with --target"
        )
    raise UsageError(
        f"{table.name}: --target is missing: name the column with the classes; the columns are "
        f"{some(table.names)}{naming.headless(table.names)}"
    )


def compared_target(saved: Saved, table: Opened, target: str | None) -> str:
    """The column with actual labels, to evaluate a model on."""
    if target is None:
        raise UsageError("the model file does not name its target: give it with --target COLUMN")
    features = saved.model.feature_names or []
    if target not in table.names:
        candidates = [name for name in table.names if name not in features]
        reason = f"there is no column {target!r}"
        if candidates:
            reason = naming.no_column(
                target, candidates, "the columns that are not features of the model are"
            )
        raise UserError(f"{table.name}: evaluation needs the true labels: {reason}")
    if target in features:
        other = saved.model.target
        usual = "" if other is None else f"; leave out --target to use {other!r}"
        raise UserError(
            f"{target!r} is a feature of the model: --target names the column with the true "
            f"classes{usual}"
        )
    return target


def check_columns(table: Opened, spec: TrainingSpec) -> None:
    """Raise UserError for names that are no column, or have two roles."""
    options = spec.columns
    if spec.target == spec.weight:
        raise UserError(f"{table.name}: {spec.target!r} cannot be the target and the weight")
    roles = spec.target, spec.weight, spec.groups, spec.time
    column_names = *roles, *options.named, *options.text, *options.types
    for name in filter(None, column_names):
        if name not in table.names:
            raise UserError(f"{table.name}: {no_such(str(name), table.names)}")


def no_such(name: str, names: Sequence[str]) -> str:
    """The message for an option with a name that is no column."""
    if pieces := naming.several(name, names):
        return (
            f"there is no column {name!r}; give the option once for each column, as "
            f"--skip {pieces[0]} --skip {pieces[1]}"
        )
    return naming.no_column(name, names)


def note_other_columns(table: Opened, model: Model, spec: TrainingSpec) -> None:
    """Print notes on columns that the model has and the data do not, and the reverse."""
    roles = (spec.target, spec.weight)
    names = (name for name in table.names if name not in roles)
    absent, new = other_columns(model.schema, model.target, names)
    if len(absent) == len(model.schema.names):
        raise UserError(f"{table.name} has none of the features of the model: {naming.few(absent)}")
    if absent:
        progress.note(f"{table.name} has {naming.absent_columns(absent, new)}")
    if new:
        progress.note(
            f"{table.name}: ignored, as the model has no such feature: {some(new)}; "
            "`naively fit` trains a model with new columns"
        )


def check_output(output: Path, data: Sequence[str], query: Query = NO_QUERY) -> None:
    """Refuse an output that is also an input, or cannot be written, before work starts."""
    data = [*data, *file_of(query.database)]
    folder = (Path(os.path.realpath(output)) if output.is_symlink() else output).parent
    if not folder.is_dir():
        raise UserError(f"{output}: there is no folder {str(folder)!r}; make it first")
    if output.is_dir():
        raise UserError(f"{output} is a folder; name a file in it")
    if not os.access(folder, os.W_OK):
        raise UserError(f"{output}: you may not write in {str(folder)!r}; choose another")
    if not output.exists():
        return
    if not atomic.in_use(output):  # else the log is checked when that program has stopped
        models.check_log(output)
    for source in data:
        has_format = any(part in FORMATS for part in output.name.lower().split(".")[1:])
        inside = has_format and Path(source).is_dir() and output.parent.samefile(source)
        paths = [source] if Path(source).exists() else glob.glob(source, recursive=True)  # noqa: PTH207
        if inside or any(output.samefile(path) for path in paths):
            raise UsageError(f"{output} is among the files that are read; write to another one")
