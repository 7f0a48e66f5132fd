"""How many rows it takes: naive Bayes n ~ log d, logistic regression n ~ d (lecture 2).

    python experiments/sample_complexity.py --images FOLDER

Ng & Jordan (2001) bound how far models of n rows and d features are from what endless rows make of
them: logistic regression by O(√(d / n)), naive Bayes by O(√(log d / n)), whose parameters are
learned one by one, if each feature tells something. Rows are drawn here: a coin is the class s, and
each feature is normal, of mean ½ or -½ by s and variance 1. The label is s, but wrong in a tenth of
the rows: so no feature is without use, and yet no model errs in less than a tenth. Both models end
at the same error, (1/10) + (8/10) Φ(-√d / 2), as their weights become equal.

Weights w and b say exactly how often a model errs: no rows are needed to judge it. Each figure is
the least number of rows from which on the mean error of random trials stays within 0.02 of the end.
`means`: from which on the furthest of the 2 d estimated means is within 0.25 of the true one, in
the mean of the trials. Naive Bayes has one variance a feature (`GaussianNB(tie="classes")`),
logistic regression has no penalty.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from data import show
from joblib import Parallel, delayed
from scipy import special
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from naively import GaussianNB

MEAN, WRONG = 0.5, 0.1  # of a feature, of the labels
NEAR, CLOSE = 0.02, 0.25  # to the error at the end, to the means
SIZES = np.unique((2 ** np.arange(2.0, 12.6, 0.25)).astype(int))
"""Training rows: 4 to 5,792."""
WHAT = ("naive Bayes", "logistic regression", "means")


def drawn(n: int, d: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """(rows, labels), both labels among the first two."""
    side = np.append([1, -1], rng.choice([1, -1], n - 2))
    X = rng.normal(MEAN * side[:, np.newaxis], 1.0, (n, d))
    wrong = np.append([False, False], rng.random(n - 2) < WRONG)
    return X, np.where(wrong, -side, side)


def error(w: np.ndarray, b: float) -> float:
    """How often sign(w · x + b) is not the label."""
    length = np.linalg.norm(w)
    missed = [special.ndtr(-(MEAN * w.sum() + side * b) / length) for side in (1, -1)]
    return WRONG + (1.0 - 2.0 * WRONG) * float(np.mean(missed))


def trial(d: int, seed: int, sizes: np.ndarray) -> list[tuple[float, float, float]]:
    """(error of naive Bayes, of logistic regression, of the worst mean) for each size."""
    X, y = drawn(sizes[-1], d, np.random.default_rng([seed, d]))
    true = MEAN * (1.0 - 2.0 * WRONG)
    model, learned, found = GaussianNB(tie="classes", n_jobs=1), 0, []
    for n in sizes:
        model.partial_fit(X[learned:n], y[learned:n])
        learned = n
        naive = model.to_linear()
        with warnings.catch_warnings():  # rows that a plane separates have no best one
            warnings.simplefilter("ignore", ConvergenceWarning)
            other = LogisticRegression(C=np.inf, max_iter=300).fit(X[:n], y[:n])
        worst = float(np.abs(model.theta_ - true * np.array([[-1.0], [1.0]])).max())
        found.append(
            (
                error(naive.coef.ravel(), float(np.ravel(naive.intercept)[0])),
                error(other.coef_.ravel(), float(other.intercept_[0])),
                worst,
            )
        )
    return found


def rows_needed(values: np.ndarray, most: float, sizes: np.ndarray) -> int:
    """The size from which on all values are at most so large."""
    above = np.flatnonzero(values > most)
    at = 0 if len(above) == 0 else int(above[-1]) + 1
    if at == len(sizes):
        raise ValueError(f"{sizes[-1]:,} rows are too few: {values[-1]:.3g} is above {most:.3g}")
    return int(sizes[at])


def needed(d: int, trials: int, sizes: np.ndarray) -> tuple[float, list[int]]:
    """(the error at the end, the rows needed of `WHAT`)."""
    runs = Parallel(n_jobs=-1)(delayed(trial)(d, seed, sizes) for seed in range(trials))
    naive, other, worst = np.mean(runs, axis=0).T
    end = error(np.ones(d), 0.0)
    limits = ((naive, end + NEAR), (other, end + NEAR), (worst, CLOSE))
    return end, [rows_needed(values, most, sizes) for values, most in limits]


def draw(folder: Path, counts: Sequence[int], found: np.ndarray) -> None:
    """Rows by features, both on logarithmic scales, beside lines that grow as d and as log 2d."""
    import matplotlib.pyplot as plt

    from naively.plot.style import plain, style

    ax = plt.subplots(figsize=(7, 4.4), layout="constrained")[1]
    for k, (name, rows) in enumerate(zip(WHAT, found.T, strict=True)):
        look = style(k)
        ax.plot(counts, rows, look.marker, color=look.colour, ls=look.line, label=name)
    d = np.array(counts, float)
    for text, line, of in (("∝ d", d, 1), ("∝ log 2d", np.log(2 * d), 2)):
        n = line * found[-1, of] / line[-1]
        ax.plot(d, n, c="0.6", ls=":", zorder=0)
        end = d[-1], n[-1]
        ax.annotate(text, end, (8, 0), textcoords="offset points", c="0.4", va="center")
    ax.set_xscale("log", base=2)
    ax.set_yscale("log", base=2)
    ax.set(xlabel="features d", ylabel="rows n needed")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter("{x:,.0f}")
    ax.grid(alpha=0.3)
    ax.legend()
    plain(ax)
    ax.figure.savefig(folder / "sample-complexity.png", dpi=100)
    plt.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="few features and trials")
    parser.add_argument("--images", type=Path, help="folder for pictures (needs naively[plot])")
    given = parser.parse_args()
    counts, trials = ([4, 16, 64], 6) if given.small else ([4, 8, 16, 32, 64, 128, 256], 40)
    sizes = SIZES[: -4 if given.small else None]
    found, table = [], []
    for d in counts:
        end, rows = needed(d, trials, sizes)
        found.append(rows)
        cells: list[Any] = [f"{n:,}" for n in rows]
        table.append([d, f"{end:.3f}", *cells, rows[1] / d, rows[2] / np.log(2 * d)])
    show(
        f"Rows needed, means of {trials} trials",
        ["d", "error at the end", *WHAT, "logistic regression / d", "means / log 2d"],
        table,
    )
    print(
        f"rows until the error stays within {NEAR} of the error at the end (of all rows); "
        f"means: rows until all 2d means are within {CLOSE} of the true ones"
    )
    if given.images:
        given.images.mkdir(parents=True, exist_ok=True)
        draw(given.images, counts, np.array(found))


if __name__ == "__main__":
    main()
