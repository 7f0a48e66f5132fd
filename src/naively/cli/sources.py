"""What the commands read: tables, and documents that stand for tables."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa

from naively.cli import progress
from naively.cli.errors import UsageError, UserError, some
from naively.cli.models import document_of, features_of, spellings, target_of
from naively.files.safetensors import Saved
from naively.tables.documents import LABEL, TEXTS
from naively.tables.inputs import MISSING, Task
from naively.tables.learning import Question
from naively.tables.model import TableModel
from naively.tables.names import no_column
from naively.tables.readers import FORMATS, Source, open_source


@dataclass
class Opened:
    """What is read, under names that a model knows.

    Attributes
    ----------
    files : Source
    name : what messages call it.
    names : of the columns.
    """

    files: Source
    name: str
    names: list[str]

    def tasks(self) -> Iterator[Task]:
        """Pieces of work, each of which makes a batch; see `Source`."""
        if self.names == self.files.names:
            return self.files.tasks()  # JSON lines may have other columns further down
        return (partial(_renamed, task, self.names) for task in self.files.tasks())


def _renamed(task: Task, names: list[str]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(task().columns, names=names)


def opened(
    data: Sequence[str], format: str | None = None, missing: Sequence[str] = MISSING,
    document: str | None = None,
) -> Opened:  # fmt: skip
    """The tables or documents to read.

    Parameters
    ----------
    data : files, folders and patterns.
    format : of the files; None if they tell.
    missing : spellings of a missing value.
    document : the column of documents, where lines of them may stand for a table.
    """
    try:
        source = open_source(list(data), missing=missing, format=format, document=document)
    except FileNotFoundError as error:
        raise UserError(f"{error.filename}: there is no such file") from None
    name = "standard input" if list(data) == ["-"] else ", ".join(data[:3])
    return Opened(source, name, list(source.names))


def opened_for(saved: Saved, data: Sequence[str], format: str | None) -> Opened:
    """The same for a model: documents have the names of its column of text and of its target."""
    document = document_of(saved)
    found = opened(data, format, spellings(saved), document)
    for old, new in ((TEXTS[0], document), (LABEL, target_of(saved))):
        fits = old in found.names and old not in features_of(saved)
        if found.files.texts and fits and new is not None and new not in found.names:
            found.names[found.names.index(old)] = new
    return found


def target_among(table: Opened, asked: str | None) -> str:
    """The column of classes to learn: documents have one if they are of several kinds."""
    if asked is not None:
        return asked
    if table.files.texts and LABEL in table.names:
        return LABEL
    if table.files.texts:
        raise UsageError(
            f"{table.name}: documents have classes if there are several files, such as ham.txt and "
            "spam.txt, or folders in the folder; or name a column of theirs with --target"
        )
    raise UsageError(
        f"{table.name}: name the column that holds the classes with --target; there are "
        f"{some(table.names)}"
    )


def check_columns(table: Opened, question: Question) -> None:
    """Refuse names of columns that are not there."""
    for name in filter(None, (question.target, question.weight, *question.wishes.columns)):
        if name not in table.names:
            raise UserError(f"{table.name}: {no_column(str(name), table.names)}")


def check_known(table: Opened, known: TableModel, question: Question) -> None:
    """Tell of columns that are absent from more rows of a model, or new in them."""
    asked = (question.target, question.weight)
    lacking, new = known.strangers(name for name in table.names if name not in asked)
    if len(lacking) == len(known.schema.names):
        raise UserError(
            f"{table.name}: it has none of the columns that the model learned ({some(lacking)})"
        )
    if lacking:
        progress.note(f"{table.name} lacks {some(lacking)}: counted as missing")
    if new:
        progress.note(
            f"{table.name}: the model does not know {some(new)}, left out; "
            "`naively fit` takes new columns"
        )


def check_output(output: Path, data: Sequence[str]) -> None:
    """Refuse to write over what is read, or where nothing can be written, before the work."""
    folder = (Path(os.path.realpath(output)) if output.is_symlink() else output).parent
    if not folder.is_dir():
        raise UserError(f"{output}: there is no folder {str(folder)!r}; make it first")
    if output.is_dir():
        raise UserError(f"{output} is a folder; name a file in it")
    if not os.access(folder, os.W_OK):
        raise UserError(f"{output}: you may not write in {str(folder)!r}; choose another")
    if not output.exists():
        return
    for one in data:
        inside = Path(one).is_dir() and output.parent.samefile(one) and _is_table(output)
        paths = [one] if Path(one).exists() else glob.glob(one, recursive=True)  # noqa: PTH207
        if inside or any(output.samefile(path) for path in paths):
            raise UsageError(f"{output} is among the files that are read; write to another one")


def _is_table(path: Path) -> bool:
    """Whether a folder's file of this name is read."""
    return any(part in FORMATS for part in path.name.lower().split(".")[1:])
