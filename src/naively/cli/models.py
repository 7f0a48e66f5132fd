"""Load, write and merge model files for commands, and read their properties."""

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
from naively.core.markup import counted
from naively.core.workers import workers
from naively.io.inputs import MISSING
from naively.model.linear_text import Weighed
from naively.model.model import Model
from naively.model.multilabel import Multilabel
from naively.predictor import Predictor
from naively.serve.log import LogError, holds_rows, path_of
from naively.serve.store import pending, with_a_change
from naively.storage import atomic, model_files, named_parts
from naively.storage.digest import digest
from naively.storage.model_files import Saved
from naively.tables import counting, values
from naively.tables.names import new_classes
from naively.tables.targets import positions

TEXT = "text"  # default name of the text column of a model


def write(saved: Saved, path: Path) -> None:
    """Write a model file, which `naively.load` can read; call it within `atomic.alone`."""
    check_log(path)
    with progress.doing() as show:
        show("estimating")
        model_files.save(saved, path, workers(None))


def load(path: Path, log_too: bool = False) -> Saved:
    """Load a model for prediction; unless `log_too`, print a note on changes only in its log."""
    saved = _read(path, log_too)
    if saved.learned:
        try:
            saved.model = Weighed.of(saved.model, **saved.learned)
        except (TypeError, ValueError) as error:
            raise UserError(str(model_files.damaged(str(path), error))) from None
    return saved


def load_sums(path: Path, log_too: bool = False) -> Saved:
    """As `load`, for a model that can be updated: UserError if it is not a sum over rows."""
    saved = _read(path, log_too)
    if saved.learned:
        raise UserError(
            f"{path}: a model of {saved.estimator} is trained on all rows at once, in Python: it "
            "cannot be updated, merged, or forget rows"
        )
    return saved


def _read(path: Path, log_too: bool) -> Saved:
    try:
        saved = model_files.load(path)
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such model file; `naively fit` writes one") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
    except model_files.NoModelError as error:
        remedy = (
            "where a command takes MODEL and DATA, MODEL is first" if path.stat().st_size
            else "restore a copy of it, or train the model again"
        )  # fmt: skip
        raise UserError(f"{error}; {remedy}") from None
    except model_files.ModelFileError as error:
        raise UserError(str(error)) from None
    if not log_too:
        _note_log(saved, path)
    return saved


def _note_log(saved: Saved, path: Path) -> None:
    """Print a note on changes that are only in the log of `naively serve`."""
    if model_files.SERVED not in saved.extra:
        return
    try:
        changes = pending(path, saved).changes
    except (OSError, LogError) as error:
        progress.note(f"the log of `naively serve` cannot be read: {error}")
        return
    if changes:
        progress.note(
            f"{path}: {counted(changes, 'change')} of `naively serve` not in this file yet, "
            f"only in its log {path_of(path)}: start `naively serve {path}` and stop it, "
            "before you forget, verify or update"
        )


def check_log(path: Path) -> None:
    """Refuse to change or to verify a model file while its log has rows.

    They may not be in the file, and the next start of `naively serve` would add them to it.
    """
    try:
        if not path.exists() or not holds_rows(path):
            return
    except (OSError, LogError) as error:
        raise UserError(f"the log of `naively serve` cannot be read: {error}") from None
    raise UserError(
        f"{path}: its log {path_of(path)} has changes of `naively serve` that are not in this "
        f"file: start `naively serve {path}`, unless it is running, and stop it; then run this "
        "again"
    )


def load_table(path: Path) -> Saved:
    """As `load`, for a model to train further on tables; there is no note on a log."""
    saved = load_sums(path, log_too=True)
    if saved.model.schema.reasons is None:
        raise UserError(
            f"{path}: a model of {saved.estimator} was trained on arrays in Python; "
            "`naively fit` trains models on tables"
        )
    return saved


IN_USE = "in use by another program, such as `naively serve`"


def note_in_use(output: Path) -> None:
    """Print a note if another program has locked a file, before the rows of a change are read."""
    if atomic.in_use(output):
        progress.note(
            f"{output}: {IN_USE}; the rows are read now, and the file is changed when that program "
            "has stopped"
        )


@contextmanager
def changing(saved: Saved, path: Path, output: Path) -> Iterator[Saved]:
    """Lock `output`, and yield the model to change.

    If `output` is the file the model was read from, it is read again if it has changed since.
    """
    waiting = "waiting until that program has stopped (Ctrl-C: do not change the file)"
    with atomic.alone(output, lambda: progress.note(f"{output}: {IN_USE}; {waiting}")):
        check_log(path)
        current = saved
        in_place = output.exists() and output.samefile(path)
        if in_place and model_files.stamp_of(path) != saved.stamp:
            current = load_table(path)
        if current.model.target != saved.model.target:
            raise UserError(f"{path}: another program wrote a model of another target there; run "
                            "this again")  # fmt: skip
        yield with_a_change(current)


def merged(paths: Sequence[Path]) -> Saved:
    """Add up the models of several files."""
    saved = [load_sums(path) for path in paths]
    paths_by_digest: dict[str, Path] = {}
    for path, other in zip(paths, saved, strict=True):
        if (content := digest(other.model)) in paths_by_digest and other.model.rows:
            same = paths_by_digest[content]
            progress.note(f"{path} has the same rows as {same}: they count again")
        paths_by_digest[content] = path
    total = saved[0].model.copy()
    for path, other in zip(paths[1:], saved[1:], strict=True):
        if saved[0].estimator != other.estimator:
            raise UserError(f"{path}: a model of {other.estimator} cannot be added to one of "
                            f"{saved[0].estimator}")  # fmt: skip
        if saved[0].model.target != other.model.target:
            raise UserError(
                f"{path}: its target is {other.model.target!r}, where that of {paths[0]} is "
                f"{saved[0].model.target!r}"
            )
        earlier = str(paths[0]) if path == paths[1] else "the sum of the earlier models"
        if remark := counting.unshared(total, other.model, (earlier, str(path))):
            progress.note(remark)
        try:
            total = counting.merge(total, other.model)
        except ValueError as error:
            message = str(error).replace("in `columns`", "with --columns in `naively fit`")
            raise UserError(f"{path}: {message}") from None
    extra = dict(saved[0].extra)
    extra.pop(model_files.SERVED, None)
    parts = named_parts.merged(total, saved)
    return Saved(total, saved[0].estimator, saved[0].params, extra, parts=parts)


def shown(saved: Saved) -> Model | None:
    """The model with names for its features, to inspect; None if it has no class."""
    model = saved.model
    if model.feature_names is None:
        names = [f"feature {k}" for k in range(model.n_features)]
        model = _named(model, [TEXT] if model.schema.text_column is not None else names, "")
    if len(model.classes) == 0:
        return None
    model.posterior(workers(None))
    return model


def labels_of(model: Model) -> Labels:
    """The labels of a multilabel model, or the classes of another."""
    return model.labels if isinstance(model, Multilabel) else model.classes


def label_of(model: Model, text: str, option: str) -> int:
    """The position of the class that an option names; UsageError if there is none."""
    index = int(positions(np.array([text], object), model.classes)[0])
    if index < 0:
        raise UsageError(f"{option} {text}: the classes are {some(model.classes)}")
    return index


def spellings(saved: Saved) -> Sequence[str]:
    """The spellings of a missing value in the model's training tables."""
    schema = saved.model.schema
    return MISSING if schema.reasons is None else schema.missing


def document_of(saved: Saved) -> str | None:
    """The name of the text column, if it is the model's only feature; else None."""
    if saved.model.schema.text_column is None:
        return None
    names = saved.model.feature_names
    return TEXT if names is None else names[0]


def names_of(classes: Labels) -> list[str]:
    """The names of classes on the command line."""
    return [text for label in classes.tolist() if (text := values.level_text(label, ()))]


def predictor(
    saved: Saved, names: Sequence[str], data: str, target: str | None = None
) -> Predictor:
    """A predictor for a table with these columns; prints a note on absent features.

    If the model's features have no names, columns are matched by order.
    """
    target = target or saved.model.target
    model = with_columns(saved, [name for name in names if name != target], data)
    return Predictor(model.posterior(), target, data)


def with_columns(saved: Saved, names: list[str], data: str) -> Model:
    """The model with names for these columns; prints a note on absent features."""
    model = _named(saved.model, names, data)
    if len(model.classes) == 0:
        raise UserError("the model has no class: all its training rows were forgotten")
    checker = Predictor(model.posterior(workers(None)), model.target, data)
    checker.check_columns(names)
    notes(issue for issue in checker.issues if issue.kind == "absent")
    return model


def _named(model: Model, names: list[str], data: str) -> Model:
    """Name the features of a model that was trained on an array, by order."""
    schema = model.schema
    if schema.reasons is not None:
        return model
    feature_names = schema.feature_names
    many = TEXT in names or len(names) > 1
    if feature_names is None and schema.text_column is not None and many:
        feature_names = [TEXT]
    if feature_names is None:
        if len(names) != len(schema.names):
            raise UserError(
                f"{data} has {len(names)} columns, but the model was trained on "
                f"{len(schema.names)} columns without names"
            )
        feature_names = names
    return model.read_as(schema.named(feature_names, MISSING))


def note_invalid(model: Model, invalid: dict[str, Invalid]) -> None:
    """Print notes on invalid values, on standard error."""
    notes(model.schema.invalid_values(invalid, "used"))


def notes(issues: Iterable[Issue]) -> None:
    """Print issues on standard error."""
    for issue in issues:
        progress.note(clean(issue, 400))


UNDO = "if this is a mistake, `naively forget` of these rows undoes it"


def note_new_classes(source: str, learned: Model, saved: Saved) -> None:
    """Print a note on classes that are new to a model, which may be typing errors."""
    if remark := new_classes(labels_of(saved.model).tolist(), labels_of(learned).tolist()):
        progress.note(f"{source}: {remark}; {UNDO}")
