"""Naive Bayes and logistic regression as training sets grow: Figure 1 of Ng & Jordan (2001), again.

    NAIVELY_DATA=folder python experiments/ng_jordan.py --images FOLDER

The paper's curves, read off its figure, are in `../oracles/ng_jordan_fig1_digitised.csv` beside the
data folder: 15 UCI sets, the mean error of 1,000 random splits; here 200, the same for all
models, and at most 1,000 of the rows held out are judged.

The paper's naive Bayes: normal inputs with a mean a class and one variance a feature, shared by the
classes (`GaussianNB(tie="classes")`); discrete inputs with (n + 1) / (N + levels)
(`CategoricalNB`); class priors (n + 1) / (m + 2). Inputs are rescaled to [0, 1]. To each variance
1e-9 of the largest is added (the default), so that two examples, whose variances are zero, give
the nearest mean. Larger training sets are sums of smaller ones (`partial_fit`).

Its logistic regression: no penalty (C = 1e6 here), levels as indicators. Where classes can be
separated, the paper drew one of the separating planes by Markov chain Monte Carlo. So does `drawn`:
uniform among those with weights in [-1, 1], by Gibbs sampling.

The paper is silent on what follows, and it was settled by looking at its curves: rows with a
missing value ("?") are left out; parts that the UCI splits into training and test are pooled; of
sets marked (d) that hold numbers, as lymphography does, these are levels; lymphography means
metastases against malignant lymph, lenses means any lenses against none, liver its last column;
equal probabilities count as the positive class (it decides at two examples alone). "nearest mean"
is the model that was found to draw the paper's curves of continuous inputs: equal priors, and one
variance for all features too (`tie="both"`), which then does not matter.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from data import arguments, show
from joblib import Parallel, delayed
from numba import njit
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

from naively import CategoricalNB, GaussianNB

SPLITS = 200
JUDGED = 1000  # rows at most
SWEEPS = 30  # of the Gibbs sampler
NEAR = 0.02
BAYES, NEAREST, LOGISTIC = "naive Bayes", "nearest mean", "logistic regression"


@dataclass(frozen=True)
class Source:
    """Where a set is, and which of its rows and columns count."""

    files: tuple[str, ...]
    positive: str
    negative: str = ""  # all other rows, if not said
    columns: tuple[int, ...] = ()  # all but the label, if not said


ADULT = ("adult/adult-train.csv.gz", "adult/adult-test.csv.gz")
DIGITS = ("optdigits/optdigits.tra.gz", "optdigits/optdigits.tes.gz")
SICK = (*range(1, 17), 18, 20, 22, 24, 26, 28)
SOURCES = {
    "pima (c)": Source(("pima/pima-indians-diabetes.data.csv",), "1"),
    "adult (c)": Source(ADULT, ">50K", columns=(0, 2, 4, 10, 11, 12)),
    "boston>median (c)": Source(("housing/housing.data",), "above"),
    "optdigits 0v1 (c)": Source(DIGITS, "1", "0"),
    "optdigits 2v3 (c)": Source(DIGITS, "3", "2"),
    "ionosphere (c)": Source(("ionosphere/ionosphere.csv",), "g"),
    "liver (c)": Source(("bupa/bupa.dat",), "2"),
    "sonar (c)": Source(("sonar/sonar.csv",), "M"),
    "adult (d)": Source(ADULT, ">50K", columns=(1, 3, 5, 6, 7, 8, 9, 13)),
    "promoters (d)": Source(("promoters/promoters.data",), "+"),
    "lymphography (d)": Source(("lymphography/lymph.arff",), "metastases", "malign_lymph"),
    "breast cancer (d)": Source(("breast-cancer/breast-cancer.arff",), "recurrence-events"),
    "lenses hard/soft (d)": Source(("lenses/contact-lenses.arff",), "worn", "none"),
    "sick (d)": Source(("sick/sick.arff.gz",), "sick", columns=SICK),
    "voting (d)": Source(("vote/vote.arff",), "democrat"),
}


@dataclass(frozen=True)
class Rows:
    """A set: inputs from 0 to 1, or codes of levels; labels 0 and 1; the sizes to learn from."""

    X: np.ndarray
    y: np.ndarray
    discrete: bool
    sizes: list[int]


def cells(path: Path) -> list[list[str]]:
    """The values of a file of any of the formats, row by row."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt") as file:
        lines = [line for line in file if line.strip() and line[0] not in "%@"]
    return [[cell.strip("'") for cell in line.replace(",", " ").split()] for line in lines]


def read(data: Path, name: str, sizes: list[int]) -> Rows:
    source = SOURCES[name]
    found = [row for file in source.files for row in cells(data / file)]
    if name == "promoters (d)":  # label, name, sequence
        found = [[*row[2], row[0]] for row in found]
    table = np.array(found)
    X, labels = table[:, :-1], np.char.rstrip(table[:, -1], ".")
    if name == "boston>median (c)":
        price = labels.astype(float)
        labels = np.where(price > np.median(price), "above", "below")
    if name == "lenses hard/soft (d)":
        labels = np.where(labels == "none", "none", "worn")
    if source.columns:
        X = X[:, source.columns]
    kept = (X != "?").all(axis=1)
    if source.negative:
        kept &= np.isin(labels, (source.positive, source.negative))
    return prepared(X[kept], labels[kept] == source.positive, "(d)" in name, sizes)


def prepared(X: np.ndarray, positive: np.ndarray, discrete: bool, sizes: list[int]) -> Rows:
    if discrete:
        X = np.stack([np.unique(column, return_inverse=True)[1] for column in X.T], axis=1)
    else:
        X = MinMaxScaler().fit_transform(X.astype(float))
    return Rows(X, positive.astype(int), discrete, sizes)


def bundled() -> dict[str, Rows]:
    """Small sets that come with scikit-learn."""
    tumours, wine, digits = load_breast_cancer(), load_wine(), load_digits()
    two, pair = wine.target < 2, digits.target < 2
    sizes = [2, 4, 8, 16, 32, 64]
    return {
        "tumours (c)": prepared(tumours.data, tumours.target == 0, False, sizes),
        "wine 0v1 (c)": prepared(wine.data[two], wine.target[two] == 1, False, sizes),
        "ink 0v1 (d)": prepared(digits.data[pair] > 8, digits.target[pair] == 1, True, sizes),
    }


def orders(these: Rows, seed: int) -> Iterator[tuple[int, np.ndarray, bool]]:
    """(m, rows in an order whose first m hold both classes, whether it goes on from the last m).

    One order serves all sizes; where its first m rows lack a class, another one stands in for it.
    """
    rng = np.random.default_rng(seed)
    whole = rng.permutation(len(these.y))
    for m in these.sizes:
        order = whole
        while len(set(these.y[order[:m]].tolist())) < 2:
            order = rng.permutation(len(these.y))
        yield m, order, order is whole


def wrong(score: np.ndarray, y: np.ndarray) -> float:
    """The share of errors; a row is positive if its score is not negative."""
    return float(((score >= 0) != y).mean())


def bayes(new: Callable[[], Any], these: Rows, seed: int) -> list[float]:
    """The error of naive Bayes by training size, of one split."""
    chain, learned, errors = new(), 0, []
    for m, order, goes_on in orders(these, seed):
        model, rows = (chain, order[learned:m]) if goes_on else (new(), order[:m])
        model.partial_fit(these.X[rows], these.y[rows])
        learned = m if goes_on else learned
        test = order[m : m + JUDGED]
        joint = model.predict_joint_log_proba(these.X[test])
        errors.append(wrong(joint[:, 1] - joint[:, 0] + 1e-9, these.y[test]))  # ties are positive
    return errors


def logistic(these: Rows, Z: np.ndarray, seed: int) -> list[float]:
    """The same of logistic regression; Z are the numbers that it sees, and a column of ones."""
    planes, errors = np.random.default_rng((seed, 1)), []
    for m, order, _ in orders(these, seed):
        rows, test = order[:m], order[m : m + JUDGED]
        model = LogisticRegression(C=1e6, solver="liblinear", max_iter=1000)
        model.fit(Z[rows, :-1], these.y[rows])
        w = np.append(model.coef_, model.intercept_)
        sided = np.ascontiguousarray((Z[rows] * (2 * these.y[rows, np.newaxis] - 1)).T)
        if (w @ sided > 0).all():
            w = drawn(sided, w / abs(w).max(), planes.random((SWEEPS, len(w))))
        errors.append(wrong(Z[test] @ w, these.y[test]))
    return errors


@njit(nogil=True)
def drawn(sided, w, random):  # type: ignore[no-untyped-def]
    """A separating plane at random: Gibbs sampling, uniform on {w in [-1, 1]^d : w · x y > 0}.

    sided : (d, m), the examples times their classes -1 and 1; w : (d,), a separating plane;
    random : (sweeps, d), uniform numbers from 0 to 1.
    """
    for sweep in random:
        margin = w @ sided
        for j in range(len(w)):
            low, high = -1.0 - w[j], 1.0 - w[j]
            for i in range(len(margin)):
                if sided[j, i] > 0:
                    low = max(low, -margin[i] / sided[j, i])
                elif sided[j, i] < 0:
                    high = min(high, -margin[i] / sided[j, i])
            step = low + (high - low) * sweep[j]
            if low < high:
                w[j] += step
                margin += step * sided[j]
    return w


def curves(these: Rows, splits: int) -> dict[str, np.ndarray]:
    """The mean error of each model by training size. All see the same splits."""
    if these.discrete:
        levels = these.X.max(axis=0) + 1
        models: dict[str, Callable[[], Any]] = {
            BAYES: lambda: CategoricalNB(min_categories=levels, prior_smoothing=1.0, n_jobs=1)
        }
        numbers = OneHotEncoder(sparse_output=False).fit_transform(these.X)
    else:
        models = {
            BAYES: lambda: GaussianNB(tie="classes", prior_smoothing=1.0, n_jobs=1),
            NEAREST: lambda: GaussianNB(tie="both", priors="uniform", n_jobs=1),
        }
        numbers = these.X
    Z = np.column_stack([numbers, np.ones(len(numbers))])
    found = {
        name: [bayes(new, these, seed) for seed in range(splits)] for name, new in models.items()
    }
    found[LOGISTIC] = [logistic(these, Z, seed) for seed in range(splits)]
    return {name: np.mean(errors, axis=0) for name, errors in found.items()}


Curves = dict[str, dict[str, np.ndarray]]  # set, model: the error at each size


def published(path: Path) -> tuple[dict[str, list[int]], Curves]:
    """(the sizes of each set, the paper's curves)"""
    if not path.exists():
        raise SystemExit(f"the paper's curves are looked for in {path}; --small needs none")
    sizes: dict[str, list[int]] = {}
    errors: dict[str, dict[str, list[float]]] = {}
    with path.open() as file:
        for row in csv.DictReader(file):
            model = {"NB": BAYES, "LR": LOGISTIC}[row["model"]]
            errors.setdefault(row["dataset"], {}).setdefault(model, []).append(float(row["error"]))
            if model == BAYES:
                sizes.setdefault(row["dataset"], []).append(round(float(row["m"])))
    return sizes, {
        name: {model: np.array(curve) for model, curve in own.items()}
        for name, own in errors.items()
    }


def leader(bayes: np.ndarray, logistic: np.ndarray) -> str:
    """Who errs less at the last size."""
    return "NB" if bayes[-1] < logistic[-1] else "LR"


def compare(ours: Curves, theirs: Curves, sizes: dict[str, list[int]]) -> None:
    columns = [
        "set", "m", "NB", "NM", "paper NB", "NB off", "NM off", "LR", "paper LR", "LR off",
        "ahead", "NM's", "paper's",
    ]  # fmt: skip
    rows, near, side = [], np.zeros(2, int), np.zeros(2, int)
    for name, own in ours.items():
        their, logit = theirs[name], own[LOGISTIC]
        both = [own[BAYES], own.get(NEAREST, own[BAYES])]  # of discrete inputs there is but one
        distances = [abs(curve - their[BAYES]).mean() for curve in both]
        ahead = [leader(curve, logit) for curve in both]
        paper = leader(their[BAYES], their[LOGISTIC])
        near += [distance <= NEAR for distance in distances]
        side += [one == paper for one in ahead]
        ends = [f"{curve[-1]:.3f}" for curve in both]
        apart = [f"{distance:.3f}" for distance in distances]
        if NEAREST not in own:
            ends[1] = apart[1] = ahead[1] = ""
        rows.append([
            name, str(sizes[name][-1]), *ends, f"{their[BAYES][-1]:.3f}", *apart,
            f"{logit[-1]:.3f}", f"{their[LOGISTIC][-1]:.3f}",
            f"{abs(logit - their[LOGISTIC]).mean():.3f}", *ahead, paper,
        ])  # fmt: skip
    show("Errors at the last m; off: mean distance of the curves; NM: nearest mean", columns, rows)
    for k, kind in enumerate(("as described", "nearest mean for continuous inputs")):
        print(
            f"Naive Bayes, {kind}: distance at most {NEAR} on {near[k]} of {len(rows)}, "
            f"the same side ahead on {side[k]}."
        )


def draw(path: Path, ours: Curves, theirs: Curves, sizes: dict[str, list[int]]) -> None:
    import matplotlib.pyplot as plt

    from naively.plot.style import COLOURS, plain

    across = min(5, len(ours))
    down = -(-len(ours) // across)
    figure, axes = plt.subplots(
        down, across, figsize=(3.2 * across, 2.7 * down + 0.6), layout="constrained", squeeze=False
    )
    blue, orange, green = COLOURS[0], COLOURS[4], COLOURS[2]
    looks = {LOGISTIC: (orange, "-"), NEAREST: (green, (0, (4, 1.5))), BAYES: (blue, "-")}
    handles: dict[str, Any] = {}
    for ax, (name, own) in zip(axes.flat, ours.items(), strict=True):
        m = sizes[name]
        for model, (colour, line) in looks.items():
            if model in own:
                handles[model] = ax.plot(m, own[model], color=colour, ls=line, lw=1.8)[0]
            if model in theirs.get(name, {}):
                label = f"{model}, in the paper"
                handles[label] = ax.plot(
                    m, theirs[name][model], "o", ms=4, mfc="white", mec=colour, mew=1.0, zorder=3
                )[0]
        kind = "discrete" if name.endswith("(d)") else "continuous"
        ax.set_title(f"{name.removesuffix(' (c)').removesuffix(' (d)')}, {kind}", fontsize=10)
        ax.set_ylim(bottom=0)
        ax.locator_params(nbins=5)
        ax.grid(alpha=0.3)
        ax.tick_params(labelsize=8)
        plain(ax)
    figure.supxlabel("examples learned, m", fontsize=11)
    figure.supylabel("error, share of the rows held out", fontsize=11)
    names = [
        name for name in (BAYES, f"{BAYES}, in the paper", NEAREST, LOGISTIC) if name in handles
    ]
    names += [name for name in handles if name not in names]
    figure.legend(
        [handles[name] for name in names], names, loc="outside upper center", ncols=len(names),
        frameon=False, fontsize=10,
    )  # fmt: skip
    figure.savefig(path, dpi=100)


def main() -> None:
    given = arguments(__doc__, "bundled sets, no published curves")
    if given.small:
        sets, theirs = bundled(), {}
    else:
        sizes, theirs = published(given.data / "../oracles/ng_jordan_fig1_digitised.csv")
        sets = {name: read(given.data, name, sizes[name]) for name in SOURCES}
    splits, jobs = (5, 1) if given.small else (SPLITS, 2)
    work = (delayed(curves)(these, splits) for these in sets.values())
    ours = dict(zip(sets, Parallel(n_jobs=jobs)(work), strict=True))
    sizes = {name: these.sizes for name, these in sets.items()}
    if theirs:
        compare(ours, theirs, sizes)
    else:
        rows = [
            [name, model, *(f"{error:.3f}" for error in curve)]
            for name, own in ours.items()
            for model, curve in own.items()
        ]
        show(
            "Error by training size", ["set", "model", *map(str, next(iter(sizes.values())))], rows
        )
    if given.images:
        draw(given.images / "ng-jordan.png", ours, theirs, sizes)


if __name__ == "__main__":
    main()
