"""Models on the command line: their files, and what is known of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from naively.cli import progress
from naively.cli.errors import UsageError, UserError, some
from naively.cli.layout import clean, counted
from naively.cli.options import wishes_of
from naively.exact import Int64
from naively.families.base import Family
from naively.families.text import Text
from naively.files import locks, safetensors
from naively.files.safetensors import Saved
from naively.labels import Labels
from naively.model import Model
from naively.tables import values
from naively.tables.inference import reconsidered
from naively.tables.inputs import MISSING
from naively.tables.model import TableModel
from naively.tables.schema import Unfit

TEXT = "text"
"""The column of a model of documents that had no name."""


def write(
    model: Any, path: Path, params: dict[str, Any], extra: dict[str, str] | None = None,
    estimator: str = "NaiveBayes",
) -> None:  # fmt: skip
    """Write the model file, which `naively.load` reads too; in `locks.alone`."""
    safetensors.save(model, path, estimator, params, extra)


def load(path: Path) -> Saved:
    """Read a model file."""
    try:
        saved = safetensors.load(path)
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such model file; `naively fit` writes one") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
    except safetensors.ModelFileError as error:
        raise UserError(str(error)) from None
    if saved.learned:  # more than a model of sums, which is all that the commands ask
        raise UserError(f"{path}: a model of {saved.estimator}: use naively.load, in Python")
    return saved


def load_table(path: Path) -> Saved:
    """Read the file of a model of a table, which can go on learning from tables."""
    saved = load(path)
    if not isinstance(saved.model, TableModel):
        raise UserError(
            f"{path}: a model of {saved.estimator} learns from arrays in Python; "
            "`naively fit` makes models that learn from tables"
        )
    return saved


@contextmanager
def changing(saved: Saved, path: Path, output: Path) -> Iterator[Saved]:
    """The model to change and write to `output`, which no other command writes meanwhile.

    Where that is the file that it was read from, it is read again if somebody wrote it since.
    """
    with locks.alone(output):
        now = saved
        same = output.exists() and output.samefile(path)
        if same and safetensors.stamp_of(path) != saved.stamp:
            now = load_table(path)
        if target_of(now) != target_of(saved):
            raise UserError(f"{path}: another program wrote a model of another target there; run "
                            "this again")  # fmt: skip
        yield now


def merged(paths: Sequence[Path]) -> Saved:
    """One model that learned what all of several files did."""
    saved = [load(path) for path in paths]
    total = saved[0].model.copy()
    for path, other in zip(paths[1:], saved[1:], strict=True):
        if saved[0].estimator != other.estimator:
            raise UserError(f"{path}: a model of {other.estimator} cannot be added to one of "
                            f"{saved[0].estimator}")  # fmt: skip
        if target_of(saved[0]) != target_of(other):
            raise UserError(f"{path}: its target is {target_of(other)!r}, where that of {paths[0]} "
                            f"is {target_of(saved[0])!r}")  # fmt: skip
        try:
            total.absorb(other.model)
        except ValueError as error:
            said = str(error).replace("in `columns`", "with --columns in `naively fit`")
            raise UserError(f"{path}: {said}") from None
    if isinstance(total, TableModel):
        total = reconsidered(wishes_of(saved[0]), total)
    return Saved(total, saved[0].estimator, saved[0].params, saved[0].extra)


def shown(saved: Saved) -> TableModel | None:
    """The model as one of a table, to look into; None if it knows no class."""
    model = saved.model
    if isinstance(model, Model):
        names = [f"feature {k}" for k in range(model.n_features)]
        model = of_array(model, [TEXT] if isinstance(model.family, Text) else names, "")
    return model if len(model.model.classes) else None


def label_of(table: TableModel, text: str) -> int:
    """The position of the class that a text on the command line names."""
    place = int(positions(np.array([text], object), table.model.classes)[0])
    if place < 0:
        raise UsageError(f"{text!r} is none of the classes {some(table.model.classes)}")
    return place


def features_of(saved: Saved) -> list[str]:
    """The names of the columns that a model learned, if it says."""
    names = (
        saved.model.feature_names if isinstance(saved.model, Model) else saved.model.schema.names
    )
    return names or []


def spellings(saved: Saved) -> Sequence[str]:
    """What a missing value is spelled as in the tables that a model learned."""
    return saved.model.schema.missing if isinstance(saved.model, TableModel) else MISSING


def target_of(saved: Saved) -> str | None:
    """The column of labels that a model was fitted to, if it says."""
    target = getattr(saved.model, "target", None)
    return target if target is not None else saved.extra.get("target")


def document_of(saved: Saved) -> str | None:
    """The column of documents, if that is all that a model learned."""
    model = saved.model
    if isinstance(model, Model):
        return TEXT if isinstance(model.family, Text) else None
    families: list[Family] = list(model.schema.known.values())
    return features_of(saved)[0] if [type(family) for family in families] == [Text] else None


def kind_of(saved: Saved) -> str | None:
    """What the documents are that a model learned, text or mail; None if it learned tables."""
    return saved.extra.get("documents")


def classes_of(saved: Saved) -> Labels:
    """The classes that a model knows."""
    model = saved.model if isinstance(saved.model, Model) else saved.model.model
    return model.classes


def names_of(classes: Labels) -> list[str]:
    """Classes as one writes them on the command line."""
    return [text for label in classes.tolist() if (text := values.level_text(label, ()))]


def as_table(saved: Saved, names: list[str], data: str) -> TableModel:
    """The model as one of a table; that of an array takes its columns by order if it has no names.

    Warns of columns that are absent or unknown.
    """
    model = saved.model
    if isinstance(model, Model):
        table = of_array(model, names, data)
    else:
        table = model
    if len(table.model.classes) == 0:
        raise UserError("the model knows no class: everything that it learned was forgotten")
    lacking, _ = table.strangers(names)
    if len(lacking) == len(table.schema.names):
        raise UserError(
            f"{data}: it has none of the columns that the model learned "
            f"({some(lacking)}); its own are {some(names)}"
        )
    if lacking:
        progress.note(f"{data} lacks {some(lacking)}: counted as missing")
    return table


def unread(table: TableModel, unfit: dict[str, Unfit], what: str = "read") -> None:
    """Notes on values that columns could not take, on standard error."""
    for name, one in unfit.items():
        family = table.schema.known[name].name
        progress.note(
            f"column {clean(name)!r} ({family}): {counted(one.count, 'value')} such as "
            f"{clean(one.example)!r} cannot be {what} and count as missing"
        )


def note_new_classes(source: str, learned: TableModel, saved: Saved) -> None:
    """A note on classes that a model did not know, which may be slips of the pen."""
    known = classes_of(saved)
    new = [label for label in learned.model.classes.tolist() if label not in known.tolist()]
    if new and len(known):
        what = "class" if len(new) == 1 else "classes"
        progress.note(
            f"{source}: the model did not know the {what} {some(map(repr, new))}; it knows "
            f"{some(known)}"
        )


def of_array(model: Model, names: list[str], data: str) -> TableModel:
    """A model of an array as one of a table with these columns."""
    known = model.feature_names
    if known is None and isinstance(model.family, Text) and (TEXT in names or len(names) > 1):
        known = [TEXT]
    if known is None:
        if len(names) != model.n_features:
            raise UserError(
                f"{data}: there are {len(names)} columns, where the model, which knows no "
                f"names, learned from {model.n_features}"
            )
        known = names
    return TableModel.of_array(model, known)


def positions(labels: Labels, classes: Labels) -> Int64:
    """The position among `classes` of each label, -1 if it is not there.

    Labels that a file has as text may be numbers in the model, and the other way round.
    """
    if (labels.dtype.kind in "OUT") == (classes.dtype.kind in "OUT"):
        known = {label: place for place, label in enumerate(classes.tolist())}
        return np.array([known.get(label, -1) for label in labels.tolist()], np.int64)
    known = {values.level_text(label, ()): place for place, label in enumerate(classes.tolist())}
    texts = [values.level_text(label, ()) for label in labels.tolist()]
    return np.array([known.get(text, -1) for text in texts], np.int64)
