"""Measure a classifier for `quality.py`, and summarise the measurements."""

from __future__ import annotations

import json
import os
import time
import warnings
from collections import Counter
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from peers import Method
from sklearn.metrics import roc_auc_score

from naively.evaluation.calibration import Reliability

LEAST = 1e-15  # probabilities below count as this much in the log-loss
FLOOR = 0.001  # nats; log-losses below count as this much in ratios

# A column with few values has fewer bins, and a rare class is left out of some folds.
EXPECTED = "Bins whose width are too small|The least populated class in y has only"

Entry = dict[str, Any]
"""What was measured of a method on a table; or why there is nothing."""
Results = dict[str, dict[str, Entry]]
"""Entries by table and method."""


def measure(
    method: Method, X: pd.DataFrame, y: np.ndarray, parts: Iterable[Any], limit: float = np.inf
) -> Entry:
    """Accuracy and so on of all rows that are predicted, each by a model that did not learn it.

    Parameters
    ----------
    method : the classifier.
    X, y : columns and labels.
    parts : (rows to learn, rows to predict) of each fold.
    limit : seconds that all folds may take: it fails once those that are left would take longer.

    Returns
    -------
    dict of `rows`, `columns`, `classes`; `accuracy`; `log_loss` in nats, probabilities clipped at
    1e-15; `calibration_error`, as in `naively.evaluation.calibration`; of two classes `auc` and
    `auc_deviation`, mean and standard deviation of folds; `fit`, `predict` and `processor`,
    seconds of all folds; `version` of its package; `warned`, warnings and how often. Of a failure
    `failed`.
    """
    entry: Entry = {"rows": len(X), "columns": X.shape[1], "classes": len(np.unique(y))}
    entry["version"] = version(method.package)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", EXPECTED)
        for kind in (DeprecationWarning, FutureWarning):  # for the authors of packages
            warnings.simplefilter("ignore", kind)
        try:
            entry |= crossed(method, X, y, list(parts), limit)
        except Exception as error:  # the others are still of interest
            entry["failed"] = f"{type(error).__name__}: {error}".splitlines()[0]
    first_lines = (str(warning.message).strip().splitlines()[0] for warning in said)
    return entry | {"warned": dict(Counter(first_lines))}


def crossed(
    method: Method, X: pd.DataFrame, y: np.ndarray, parts: list[Any], limit: float
) -> Entry:
    frame = method.prepare(X)
    classes, codes = np.unique(y, return_inverse=True)
    if method.ours:  # compiles, or loads what is loaded on first use
        few = np.arange(0, len(y), max(1, len(y) // 1000))
        predicted(method, frame, codes, few, few, len(classes))
    found, start = [], time.perf_counter()
    for k, part in enumerate(parts, 1):
        found.append(predicted(method, frame, codes, *part, len(classes)))
        taken = time.perf_counter() - start
        if k < len(parts) and taken / k * len(parts) > limit:
            raise TimeoutError(f"{taken:.0f} s for {k} of {len(parts)} folds; --limit {limit:g}")
    proba = np.concatenate([own for own, _, _ in found])
    truth = np.concatenate([own for _, own, _ in found])
    right = proba.argmax(axis=1) == truth
    chance = proba[np.arange(len(truth)), truth]
    entry = {
        "accuracy": float(right.mean()),
        "log_loss": float(-np.log(chance.clip(LEAST, 1.0)).mean()),
        "calibration_error": Reliability.of(proba.max(axis=1).clip(0, 1), right).error,
    }
    if len(classes) == 2:
        each = [roc_auc_score(own, proba[:, 1]) for proba, own, _ in found]
        entry |= {"auc": float(np.mean(each)), "auc_deviation": float(np.std(each))}
    seconds = np.sum([own for _, _, own in found], axis=0).tolist()
    return entry | dict(zip(("fit", "predict", "processor"), seconds, strict=True))


def predicted(
    method: Method, frame: pd.DataFrame, codes: np.ndarray, train: Any, test: Any, classes: int
) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """((rows, classes) probabilities, codes of the true classes, seconds) of a fold.

    A model is given the classes that it can know as 0, 1, ...: XGBoost takes no others.
    """
    known, labels = np.unique(codes[train], return_inverse=True)
    X, unknown, model = frame.iloc[train], frame.iloc[test], method.make()
    begun, start = busy(), time.perf_counter()
    model.fit(X, labels)
    fitted = time.perf_counter()
    own = np.asarray(model.predict_proba(unknown), float)
    ended = time.perf_counter()
    seconds = [fitted - start, ended - fitted, busy() - begun]
    if not np.isfinite(own).all():
        raise ValueError("some probabilities are no numbers")
    proba = np.zeros((len(test), classes))
    proba[:, known[np.asarray(model.classes_).astype(int)]] = own
    return proba, codes[test], seconds


def busy() -> float:
    """Seconds that the processors worked for this process and those that it ran."""
    return sum(os.times()[:4])


# ---- what is kept ----------------------------------------------------------------------------


def kept(file: Path | None) -> dict[str, Results]:
    """The results in a file, by protocol; none if there is no such file."""
    return json.loads(file.read_text()) if file and file.exists() else {}


def keep(file: Path | None, protocol: str, table: str, entries: dict[str, Entry]) -> None:
    """Add to what is in the file now: other runs may have written to it meanwhile."""
    if file:
        results = kept(file)
        results.setdefault(protocol, {}).setdefault(table, {}).update(entries)
        unfinished = file.with_name(f"{file.name}.{os.getpid()}")
        unfinished.write_text(json.dumps(results, indent=1))
        unfinished.replace(file)


def usable(entry: Entry | None, X: pd.DataFrame) -> bool:
    """Whether an entry is of this table, and no failure."""
    same = bool(entry) and (entry["rows"], entry["columns"]) == X.shape
    return same and "failed" not in entry


# ---- sums ------------------------------------------------------------------------------------


def common(results: Results, *methods: str) -> list[str]:
    """The tables that all of these methods have results of."""
    return [
        table
        for table, own in results.items()
        if all(name in own and "failed" not in own[name] for name in methods)
    ]


def ratios(results: Results, method: str, other: str) -> dict[str, float]:
    """The log-loss of a method divided by that of another, by table; both at least `FLOOR`."""
    return {
        table: max(results[table][method]["log_loss"], FLOOR)
        / max(results[table][other]["log_loss"], FLOOR)
        for table in common(results, method, other)
    }


def geometric_mean(values: Iterable[float]) -> float:
    return float(np.exp(np.mean(np.log(list(values)))))


def mean(results: Results, tables: Iterable[str], method: str, key: str) -> float:
    """Of the tables that have such a figure."""
    found = [results[table][method][key] for table in tables if key in results[table][method]]
    return float(np.mean(found)) if found else float("nan")


def total(results: Results, tables: Iterable[str], method: str, *keys: str) -> float:
    return sum(results[table][method][key] for table in tables for key in keys)
