"""What the commands do, without the printing."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from naively.cli.data import Rows, Table, as_numbers, no_column
from naively.cli.errors import UsageError, UserError
from naively.cli.metrics import Scores, score
from naively.engines.threads import workers
from naively.exact import Float64, Int64
from naively.families.base import Family, InvalidValueError
from naively.families.categorical import Categorical
from naively.families.gaussian import Gaussian
from naively.files import safetensors
from naively.files.safetensors import FAMILIES, Saved
from naively.model import Model
from naively.prior import Prior

WARM = 1000
"""Rows that are learned or scored before the clock starts: kernels compile or load first."""


@dataclass
class Fitted:
    """What `fit` did: the model, how long it took, and how good it is on what was held out."""

    model: Model
    target: str
    rows: int
    unlabelled: int
    missing: int
    reading: float
    learning: float
    held: Scores | None


@dataclass
class Evaluated:
    """What `evaluate` found."""

    model: Model
    target: str
    scores: Scores
    unlabelled: int
    reading: float
    predicting: float


def learn(
    data: Path, target: str, kind: str, alpha: float | None, holdout: float | None, seed: int
) -> Fitted:
    """A model of the rows of a file, but for those held out."""
    family = make_family(kind, alpha)
    if holdout is not None and not 0 < holdout < 1:
        raise UsageError(f"--holdout is the part of the rows to hold out, as 0.2, not {holdout:g}")
    if seed < 0:
        raise UsageError(f"--seed must not be negative, but is {seed}")
    start = time.perf_counter()
    table = Table(data)
    if target not in table.names:
        raise UserError(f"{data}: {no_column([target], table.names)}; choose one as --target")
    features = [name for name in table.names if name != target]
    if not features:
        raise UserError(f"{data}: {target!r} is the only column; there is nothing to learn from")
    rows = table.read(features, target)
    reading = time.perf_counter() - start
    labels = rows.labels
    assert labels is not None
    places = np.flatnonzero(rows.codes >= 0)
    unlabelled = len(rows.codes) - len(places)
    if not len(places):
        raise UserError(f"{data}: every cell of the target column {target!r} is empty")
    if len(labels) < 2:
        raise UserError(
            f"{data}: the target column {target!r} has one class only ({labels[0]}); a classifier "
            "needs two or more"
        )
    kept, held = places, places[:0]
    if holdout is not None:
        mixed = np.random.default_rng(seed).permutation(places)
        size = max(1, round(holdout * len(places)))
        held, kept = np.sort(mixed[:size]), np.sort(mixed[size:])
        if len(np.unique(rows.codes[kept])) < 2:
            raise UserError(
                f"{data}: with --holdout {holdout:g} fewer than two classes are left to learn; "
                "hold out less"
            )
    model = Model(family, Prior(), len(features))
    whole = len(kept) == len(rows.codes)
    X, codes = (rows.X, rows.codes) if whole else (rows.X[kept], rows.codes[kept])
    try:
        model.summarise(X[:WARM], codes[:WARM], workers=workers(None))
        start = time.perf_counter()
        model = model.summarise(X, codes, workers=workers(None))
        learning = time.perf_counter() - start
    except InvalidValueError as error:
        raise located(error, data, features, kept, model) from None
    model.classes = labels[model.classes]
    scores = None
    if holdout is not None:
        truth = positions(labels, model.classes)[rows.codes[held]]
        scores, _ = compare(model, rows.X[held], truth, data, features, held)
    model.feature_names = features
    missing = int(sum(np.isnan(column).sum() for column in X.T))
    return Fitted(model, target, len(kept), unlabelled, missing, reading, learning, scores)


def write(fitted: Fitted, path: Path) -> None:
    """Write the model file, which `naively.load` reads too."""
    model = fitted.model
    estimator = model.family.name.capitalize() + "NB"
    alpha = getattr(model.family, "alpha", None)
    params = {} if alpha is None else {"alpha": alpha}
    safetensors.save(model, path, estimator, params, {"target": fitted.target})


def evaluate(saved: Saved, data: Path, target: str | None) -> Evaluated:
    """Compare predictions with the target column of a file."""
    target = saved.extra.get("target") if target is None else target
    if target is None:
        raise UsageError("the model file does not name its target: give it with --target COLUMN")
    model = saved.model
    start = time.perf_counter()
    table = Table(data)
    if target not in table.names:
        raise UserError(
            f"{data}: {no_column([target], table.names)}; without the true labels there is nothing "
            "to compare"
        )
    if target in (model.feature_names or ()):
        raise UserError(f"{data}: {target!r} is a feature of the model, and cannot be its target")
    rows = read_features(model, table, target)
    reading = time.perf_counter() - start
    assert rows.labels is not None
    kept = np.flatnonzero(rows.codes >= 0)
    unlabelled = len(rows.codes) - len(kept)
    if not len(kept):
        raise UserError(f"{data}: every cell of the target column {target!r} is empty")
    truth = positions(rows.labels, model.classes)[rows.codes[kept]]
    if (truth < 0).all():
        some = ", ".join(str(label) for label in rows.labels[:3].tolist())
        raise UserError(
            f"{data}: no label in column {target!r} ({some}, ...) is a class of the model "
            f"({', '.join(str(label) for label in model.classes[:3].tolist())}, ...)"
        )
    X = rows.X if unlabelled == 0 else rows.X[kept]
    scores, predicting = compare(model, X, truth, data, rows.names, kept)
    return Evaluated(model, target, scores, unlabelled, reading, predicting)


def compare(
    model: Model, X: npt.NDArray[Any], truth: Int64, data: Path, features: list[str], places: Int64
) -> tuple[Scores, float]:
    """(scores, seconds that predicting took)."""
    codes, log_proba, seconds = predict(model, X, data, features, places)
    return score(truth, codes, log_proba, model.class_prior), seconds


def predict(
    model: Model, X: npt.NDArray[Any], data: Path, features: list[str], places: Int64 | None = None
) -> tuple[Int64, Float64, float]:
    """(positions of the predicted classes, log-probabilities, seconds for the positions)."""
    if not len(model.classes):
        raise UserError("the model knows no class: everything that it learned was forgotten")
    bare = replace(model, feature_names=None)  # so that errors say which row and column
    try:
        bare.predict_codes(X[:WARM])
        start = time.perf_counter()
        codes = bare.predict_codes(X, workers(None))
        seconds = time.perf_counter() - start
        return codes, bare.log_proba(X, workers(None)), seconds
    except InvalidValueError as error:
        raise located(error, data, features, places, model) from None


def read_features(model: Model, table: Table, target: str | None = None) -> Rows:
    """The columns that the model knows; by their order, if it knows no names."""
    names = model.feature_names
    if names is None:
        names = [name for name in table.names if name != target]
        if len(names) != model.n_features:
            raise UserError(
                f"{table.path}: there are {len(names)} columns, where the model, which knows no "
                f"names, learned from {model.n_features}"
            )
    return table.read(names, target)


def load(path: Path) -> Saved:
    """Read a model file."""
    try:
        return safetensors.load(path)
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such model file; `naively fit` writes one") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
    except safetensors.ModelFileError as error:
        raise UserError(str(error)) from None


def make_family(kind: str, alpha: float | None) -> Family:
    """The family of a name on the command line."""
    family = FAMILIES[kind]
    if alpha is None:
        return family()
    if family is Gaussian:
        raise UsageError("--alpha smooths counts; the gaussian model has none")
    if not 0 <= alpha < np.inf:
        raise UsageError(f"--alpha must be a finite number >= 0, not {alpha:g}")
    return family(alpha=alpha)  # type: ignore[call-arg]


def positions(labels: npt.NDArray[Any], classes: npt.NDArray[Any]) -> Int64:
    """The position among `classes` of each label, -1 if it is not there.

    Labels that a file has as text may be numbers in the model, and the other way round.
    """
    if classes.dtype.kind in "OUT" or labels.dtype.kind in "OUT":
        if classes.dtype.kind not in "OUT":
            numbers = as_numbers([str(label) for label in labels.tolist()])
            labels = numbers if numbers is not None else labels
        else:
            labels = np.array([str(label) for label in labels.tolist()], object)
    known = {label: place for place, label in enumerate(classes.tolist())}
    return np.array([known.get(label, -1) for label in labels.tolist()], np.int64)


def located(
    error: InvalidValueError, data: Path, features: list[str], places: Int64 | None, model: Model
) -> UserError:
    """The error with the file, the row as a person counts it, the column's name, and a way out."""
    row = error.row if places is None else int(places[error.row])
    where = f"row {row + 1}, column {features[error.column]!r}"
    text = error.problem.format(where=where)
    hint = ""
    if "infin" in text:
        hint = "; leave the cell empty if its value is not known"
    elif isinstance(model.family, Categorical):
        hint = "; levels are coded 0, 1, 2, ..."
    elif "Negative" in text:
        hint = f"; the {model.family.name} model takes counts, --model gaussian any number"
    return UserError(f"{data}: {text}{hint}")


def check_output(output: Path, data: Path) -> None:
    """Refuse to write over what is read, or where nothing can be written, before the work."""
    if not output.parent.is_dir():
        raise UserError(f"{output}: there is no folder {str(output.parent)!r}; make it first")
    if output.is_dir():
        raise UserError(f"{output} is a folder; name a file in it")
    if not os.access(output.parent, os.W_OK):
        raise UserError(f"{output}: you may not write in {str(output.parent)!r}; choose another")
    if output.exists() and data.exists() and output.samefile(data):
        raise UsageError(f"{output} is the file that was read; write to another one")
