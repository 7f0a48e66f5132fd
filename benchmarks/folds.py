"""Twenty values of alpha in ten folds on twenty newsgroups, beside scikit-learn's grid search.

    NAIVELY_DATA=folder python benchmarks/folds.py

The posts to learn of the split by date, as counts of words by `CountVectorizer`. Both libraries get
the same matrix, labels and folds, in turn: `naively.cross_validate` with settings, and
`GridSearchCV` over `MultinomialNB`. By default naively has a thread for each processor, and
scikit-learn one job; `--jobs 1` gives one to both, `--jobs 2` two. The log-losses of all values are
compared; what scikit-learn's scorer "neg_log_loss" cuts off at 36 nats counts whole in both.
Seconds of processors are of this process alone: they are of all work with one job.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import MultinomialNB as TheirMultinomialNB

import naively
from naively import MultinomialNB

ALPHAS = np.logspace(-3, 1, 20).tolist()
FOLDS = 10


def newsgroups(folder: Path) -> tuple[Any, Any]:
    """(counts of words, groups) of the posts to learn."""
    with lzma.open(folder / "20news-bydate/train.jsonl.xz", "rt", encoding="utf-8") as file:
        posts = [json.loads(line) for line in file]
    X = CountVectorizer().fit_transform([post["text"] for post in posts])
    return X, np.array([post["label"] for post in posts])


def likelihood(model: Any, X: Any, y: Any) -> float:
    """Mean log P(label | x)."""
    own = np.searchsorted(model.classes_, y)
    return float(model.predict_log_proba(X)[np.arange(len(y)), own].mean())


def ours(X: Any, y: Any, jobs: int | None) -> list[float]:
    """The mean log-loss over the folds, for each alpha."""
    model, settings = MultinomialNB(n_jobs=jobs), {"alpha": ALPHAS}
    found = naively.cross_validate(model, X, y, cv=FOLDS, settings=settings)
    return [float(np.mean([fold.log_loss for fold in one.folds])) for one in found]


def theirs(X: Any, y: Any, jobs: int | None) -> list[float]:
    """The same by refitting."""
    search = GridSearchCV(
        TheirMultinomialNB(), {"alpha": ALPHAS}, cv=FOLDS, scoring=likelihood, refit=False,
        n_jobs=jobs,
    )  # fmt: skip
    return [-score for score in search.fit(X, y).cv_results_["mean_test_score"]]


def timed(work: Callable[..., list[float]], *given: Any) -> tuple[float, float, list[float]]:
    """(seconds, those of processors, the log-losses)."""
    start, busy = time.perf_counter(), time.process_time()
    found = work(*given)
    return time.perf_counter() - start, time.process_time() - busy, found


def main() -> None:
    """Time both, and compare."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("NAIVELY_DATA"))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--jobs", type=int, help="of both")
    parser.add_argument("--small", action="store_true", help="digits, which need no folder")
    asked = parser.parse_args()
    if not asked.small and asked.data is None:
        parser.error("name the folder of the data sets with --data, or set NAIVELY_DATA")
    X, y = load_digits(return_X_y=True) if asked.small else newsgroups(asked.data)
    ours(X[::10], y[::10], asked.jobs)  # which compiles
    runs = [[timed(work, X, y, asked.jobs) for work in (ours, theirs)] for _ in range(asked.runs)]
    clock, busy = (
        [statistics.median(run[k][which] for run in runs) for k in (0, 1)] for which in (0, 1)
    )
    (*_, own), (*_, other) = runs[0]
    print(f"{X.shape[0]:,} rows, {X.shape[1]:,} columns, {len(ALPHAS)} alphas, {FOLDS} folds")
    print(f"naively       {clock[0]:7.2f} s, {busy[0]:6.2f} s of processors")
    print(f"scikit-learn  {clock[1]:7.2f} s, {busy[1]:6.2f} s of processors")
    print(f"              {clock[1] / clock[0]:7.1f} and {busy[1] / busy[0]:.1f} times as long")
    print(f"log-losses differ by at most {np.abs(np.subtract(own, other)).max():.1g} nats")
    print(f"least log-loss {min(own):.4f} nats, alpha = {ALPHAS[int(np.argmin(own))]:.4g}")


if __name__ == "__main__":
    main()
