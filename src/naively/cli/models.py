"""Models on the command line: their files, and what is known of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from naively.cli import progress
from naively.cli.errors import UsageError, UserError, some
from naively.cli.terminal import clean
from naively.core.issues import Invalid, Issue
from naively.core.labels import Labels
from naively.core.model import Model
from naively.core.multilabel import Multilabel
from naively.core.weighed import Weighed
from naively.core.workers import workers
from naively.explain.markup import counted
from naively.io.inputs import MISSING
from naively.predictor import Predictor
from naively.serve.log import LogError
from naively.serve.store import pending
from naively.storage import atomic, model_files, named_parts
from naively.storage.model_files import Saved
from naively.tables import counting, values
from naively.tables.targets import positions

TEXT = "text"
"""The column of a model of documents that had no name."""


def write(saved: Saved, path: Path) -> None:
    """Write the model file, which `naively.load` reads too; in `locks.alone`."""
    model_files.save(saved, path, workers(None))


def load(path: Path, log_too: bool = False) -> Saved:
    """Read a model file, to ask it; a note says what is in its log alone, unless that is read."""
    saved = _read(path)
    if not log_too:
        _note_log(saved, path)
    if saved.learned:
        try:
            saved.model = Weighed.of(saved.model, **saved.learned)
        except (TypeError, ValueError) as error:
            raise UserError(f"{path} is a damaged model file: {error}") from None
    return saved


def load_sums(path: Path) -> Saved:
    """Read the file of a model that is nothing but sums, which can be added to."""
    saved = _read(path)
    _note_log(saved, path)
    if saved.learned:
        raise UserError(
            f"{path}: a model of {saved.estimator} has to learn all rows at once, in Python: it "
            "cannot learn on, forget or add up"
        )
    return saved


def _read(path: Path) -> Saved:
    try:
        return model_files.load(path)
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such model file; `naively fit` writes one") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
    except model_files.NoModelError as error:
        raise UserError(f"{error}; where a command takes MODEL and DATA, MODEL is first") from None
    except model_files.ModelFileError as error:
        raise UserError(str(error)) from None


def _note_log(saved: Saved, path: Path) -> None:
    """A note on what is only in the log of a model that is served, or was until it was killed."""
    if model_files.SERVED not in saved.extra:
        return
    try:
        changes = pending(path, saved).changes
    except (OSError, LogError) as error:
        progress.note(f"the log of `naively serve` cannot be read: {error}")
        return
    if changes:
        progress.note(
            f"{path}: {counted(changes, 'change')} that `naively serve` acknowledged are only in "
            "its log so far; they go into the file when it stops, or starts again"
        )


def load_table(path: Path) -> Saved:
    """Read the file of a model of a table, which can go on learning from tables."""
    saved = load_sums(path)
    if saved.model.schema.reasons is None:
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
    with atomic.alone(output, lambda: progress.note(f"{output}: another program has it; waiting")):
        now = saved
        same = output.exists() and output.samefile(path)
        if same and model_files.stamp_of(path) != saved.stamp:
            now = load_table(path)
        if target_of(now) != target_of(saved):
            raise UserError(f"{path}: another program wrote a model of another target there; run "
                            "this again")  # fmt: skip
        yield now


def merged(paths: Sequence[Path]) -> Saved:
    """One model that learned what all of several files did."""
    saved = [load_sums(path) for path in paths]
    total = saved[0].model.copy()
    for path, other in zip(paths[1:], saved[1:], strict=True):
        if saved[0].estimator != other.estimator:
            raise UserError(f"{path}: a model of {other.estimator} cannot be added to one of "
                            f"{saved[0].estimator}")  # fmt: skip
        if target_of(saved[0]) != target_of(other):
            raise UserError(f"{path}: its target is {target_of(other)!r}, where that of {paths[0]} "
                            f"is {target_of(saved[0])!r}")  # fmt: skip
        try:
            total = counting.merge(total, other.model)
        except ValueError as error:
            said = str(error).replace("in `columns`", "with --columns in `naively fit`")
            raise UserError(f"{path}: {said}") from None
    extra = dict(saved[0].extra)
    extra.pop(model_files.SERVED, None)
    parts = named_parts.merged(total, saved)
    return Saved(total, saved[0].estimator, saved[0].params, extra, parts=parts)


def shown(saved: Saved) -> Model | None:
    """The model with names for its columns, to look into; None if it knows no class."""
    model = saved.model
    if model.feature_names is None:
        names = [f"feature {k}" for k in range(model.n_features)]
        model = _named(model, [TEXT] if model.schema.text_column is not None else names, "")
    if len(model.classes) == 0:
        return None
    model.posterior(workers(None))
    return model


def labels_of(model: Model) -> Labels:
    """The labels of a model: its classes, unless the first of these is all rows."""
    return model.labels if isinstance(model, Multilabel) else model.classes


def label_of(model: Model, text: str) -> int:
    """The position of the class that a text on the command line names."""
    place = int(positions(np.array([text], object), model.classes)[0])
    if place < 0:
        raise UsageError(f"{text!r} is none of the classes {some(model.classes)}")
    return place


def features_of(saved: Saved) -> Sequence[str]:
    """The names of the columns that a model learned, if it says."""
    return saved.model.feature_names or []


def spellings(saved: Saved) -> Sequence[str]:
    """What a missing value is spelled as in the tables that a model learned."""
    schema = saved.model.schema
    return MISSING if schema.reasons is None else schema.missing


def target_of(saved: Saved) -> str | None:
    """The column of labels that a model was fitted to, if it says."""
    return saved.model.target


def document_of(saved: Saved) -> str | None:
    """The column of documents, if that is all that a model learned."""
    if saved.model.schema.text_column is None:
        return None
    names = saved.model.feature_names
    return TEXT if names is None else names[0]


def kind_of(saved: Saved) -> str | None:
    """What the documents are that a model learned, text or mail; None if it learned tables."""
    return saved.extra.get("documents")


def names_of(classes: Labels) -> list[str]:
    """Classes as one writes them on the command line."""
    return [text for label in classes.tolist() if (text := values.level_text(label, ()))]


def predictor(
    saved: Saved, names: Sequence[str], data: str, target: str | None = None
) -> Predictor:
    """What answers for the rows of a table of these columns; a note says which features it lacks.

    Of a model of an array without names the columns are taken by order.
    """
    target = target or target_of(saved)
    model = with_columns(saved, [name for name in names if name != target], data)
    return Predictor(model.posterior(), target, data)


def with_columns(saved: Saved, names: list[str], data: str) -> Model:
    """The model for a table of these columns; a note says which features are absent."""
    model = _named(saved.model, names, data)
    if len(model.classes) == 0:
        raise UserError("the model has no class: all its training rows were forgotten")
    found = Predictor(model.posterior(workers(None)), model.target, data)
    found.check_columns(names)
    notes(issue for issue in found.issues if issue.kind == "absent")
    return model


def _named(model: Model, names: list[str], data: str) -> Model:
    """The model as one of a table; that of an array without names takes these, by order."""
    schema = model.schema
    if schema.reasons is not None:
        return model
    known = schema.feature_names
    if known is None and schema.text_column is not None and (TEXT in names or len(names) > 1):
        known = [TEXT]
    if known is None:
        if len(names) != len(schema.names):
            raise UserError(
                f"{data}: there are {len(names)} columns, where the model, which knows no "
                f"names, learned from {len(schema.names)}"
            )
        known = names
    return model.read_as(schema.named(known, MISSING))


def unread(model: Model, invalid: dict[str, Invalid], what: str = "read") -> None:
    """Notes on values that columns could not take, on standard error."""
    notes(model.schema.invalid_values(invalid, what))


def notes(issues: Iterable[Issue]) -> None:
    """Print issues on standard error."""
    for issue in issues:
        progress.note(clean(issue, 400))


def note_new_classes(source: str, learned: Model, saved: Saved) -> None:
    """A note on classes that a model did not know, which may be slips of the pen."""
    known = labels_of(saved.model)
    new = [label for label in labels_of(learned).tolist() if label not in known.tolist()]
    if new and len(known):
        what, verb = ("class", "is") if len(new) == 1 else ("classes", "are")
        progress.note(
            f"{source}: {what} {some(map(repr, new))} {verb} new to the model, which has "
            f"{some(known)}"
        )
