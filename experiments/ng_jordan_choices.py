"""Alternatives to the choices of `ng_jordan.py`, beside the curves of Ng & Jordan (2001).

    NAIVELY_DATA=folder python experiments/ng_jordan_choices.py

"Off" is the mean absolute distance of a curve from the paper's, at every third training size and
the last; with `--small`, which has no published curves, the mean error instead. Splits are as in
`ng_jordan.py`, half as many for logistic regression. Where classes can be separated, its plane is
the solver's own (0 sweeps), or drawn by 30 or 300.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from data import arguments, show
from joblib import Parallel, delayed
from ng_jordan import SWEEPS, bayes, described, indicators, logistic
from sklearn.preprocessing import OneHotEncoder
from uci import BAYES, LOGISTIC, SOURCES, Rows, bundled, prepared, published, read, table

from naively import BernoulliNB, CategoricalNB

NUMBERS = [8, 9, 17]  # the columns of lymphography that hold numbers
VARIANCES = {"a feature": "classes", "a class and feature": None, "one": "both"}
PRIORS = {"(n+1)/(m+2)": {}, "equal": {"priors": "uniform"}}
Trial = tuple[str, str, Rows, Any]
"""The set, what is done, the rows, and what makes a model."""


class OneOfTwo(CategoricalNB):
    """(n + 1) / (N + 2), which is a distribution for inputs of two levels only."""

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """Those of the parent, whose N + levels become N + 2."""
        N = self.class_count_[:, np.newaxis]
        change = np.log((N + self.n_categories_) / (N + 2)).sum(axis=1)
        return super().predict_joint_log_proba(X) + change


def readings(data: Path, sizes: dict[str, list[int]]) -> Iterator[Trial]:
    """Other rows, columns and classes."""

    def trial(name: str, what: str, X: np.ndarray, y: np.ndarray) -> Trial:
        these = prepared(X, y, True, sizes[name])
        return name, what, these, partial(described, these)

    for name in ("breast cancer (d)", "voting (d)"):
        these = read(data, name, sizes[name])
        yield name, 'rows with "?" left out (here)', these, partial(described, these)
        X, labels = table(data, name)
        y = labels == SOURCES[name].positive
        yield trial(name, '"?" a level', X, y)
        these = prepared(np.char.replace(X, "?", "~"), y, True, sizes[name])  # the last level
        holes = (X == "?").any(axis=0)
        these = replace(these, X=np.where(X == "?", np.nan, these.X), levels=these.levels - holes)
        yield name, '"?" a missing value', these, partial(described, these)
    name = "lymphography (d)"
    X, labels = table(data, name)
    two, ill = np.isin(labels, ["metastases", "malign_lymph"]), labels == "metastases"
    yield trial(name, "two classes, numbers as levels (here)", X[two], ill[two])
    yield trial(name, "numbers left out", np.delete(X[two], NUMBERS, axis=1), ill[two])
    yield trial(name, "all four classes", X, np.unique(labels, return_inverse=True)[1])
    name = "lenses hard/soft (d)"
    X, labels = table(data, name)
    yield trial(name, "any lenses against none (here)", X, labels != "none")
    yield trial(name, "hard against the rest", X, labels == "hard")
    yield trial(name, "soft against the rest", X, labels == "soft")
    yield trial(name, "all three classes", X, np.unique(labels, return_inverse=True)[1])


def estimates(name: str, these: Rows) -> Iterator[Trial]:
    """Other estimates of the parameters of discrete inputs."""
    yield name, "as described; ties are positive (here)", these, partial(described, these)
    yield name, "equal priors", these, partial(described, these, fit_prior=False)
    yield name, "ties are negative", replace(these, y=1 - these.y), partial(described, these)
    unnormed = partial(OneOfTwo, min_categories=these.levels, prior_smoothing=1.0, n_jobs=1)
    yield name, "(n + 1) / (N + 2)", these, unnormed
    inputs = replace(these, X=OneHotEncoder(sparse_output=False).fit_transform(these.X))
    yield name, "each level an input", inputs, partial(BernoulliNB, prior_smoothing=1.0, n_jobs=1)


def variances(name: str, these: Rows) -> list[Trial]:
    """Every variance and prior of continuous inputs."""
    return [
        (name, f"{variance}, {prior}", these, partial(described, these, tie=tie, **given))
        for variance, tie in VARIANCES.items()
        for prior, given in PRIORS.items()
    ]


def curve(errors: Any, splits: int) -> np.ndarray:
    """The mean of the errors of each split."""
    return np.mean([errors(seed) for seed in range(splits)], axis=0)


def main() -> None:
    given = arguments(__doc__, "5 splits of bundled sets, mean errors", splits=100)
    if given.small:
        sets, splits, jobs = bundled(), 5, 1
        theirs = {name: {BAYES: 0.0, LOGISTIC: 0.0} for name in sets}
    else:
        sizes, theirs = published(given.data, every=3)
        sets = {name: read(given.data, name, sizes[name]) for name in SOURCES}
        splits, jobs = given.splits, 2
    parallel, fewer = Parallel(n_jobs=jobs), -(-splits // 2)
    discrete = [] if given.small else list(readings(given.data, sizes))
    continuous = []
    for name, these in sets.items():
        if these.levels is None:
            continuous += variances(name, these)
        elif name in ("adult (d)", "sick (d)", "ink 0v1 (d)"):
            discrete += estimates(name, these)
    trials = discrete + continuous
    work = (delayed(curve)(partial(bayes, new, these), splits) for *_, these, new in trials)
    off = [
        f"{abs(ours - theirs[name][BAYES]).mean():.3f}"
        for (name, *_), ours in zip(trials, parallel(work), strict=True)
    ]
    rows = [[*trial[:2], far] for trial, far in zip(discrete, off, strict=False)]
    show(f"Naive Bayes, discrete inputs, {splits} splits", ["set", "what", "off"], rows)
    whats = [f"{variance}, {prior}" for variance in VARIANCES for prior in PRIORS]
    cells = np.reshape(off[len(discrete) :], (-1, len(whats)))
    names = [name for name, *_ in continuous[:: len(whats)]]
    rows = [[name, *own] for name, own in zip(names, cells, strict=True)]
    show(f"Variances and priors, continuous inputs, {splits} splits", ["set", *whats], rows)

    sweeps = (0, SWEEPS, 10 * SWEEPS)
    work = (
        delayed(curve)(partial(logistic, these, indicators(these), sweeps=number), fewer)
        for these in sets.values()
        for number in sweeps
    )
    found = iter(parallel(work))
    rows = []
    for name in sets:
        three = [next(found) for _ in sweeps]
        far = [f"{abs(ours - theirs[name][LOGISTIC]).mean():.3f}" for ours in three]
        rows.append([name, *far, *(f"{ours[-1]:.3f}" for ours in three)])
    columns = [f"{what}, {n}" for what in ("off", "at the last m") for n in sweeps]
    show(f"Logistic regression by sweeps of the sampler, {fewer} splits", ["set", *columns], rows)


if __name__ == "__main__":
    main()
