"""The whole ladder on one data set: 20,000 letters, 16 whole numbers from 0 to 15 (Slate 1991).

    NAIVELY_DATA=folder python experiments/ladder.py --images docs/images

The first 16,000 letters are training data, the last 4,000 test data, as the data set's authors do.
The rungs: the joint table over all columns; joint tables of pairs of columns; naive Bayes with a
die for each column; a normal distribution a class with each covariance; the class prior. All
parameters are those by default, but `alpha` 0.1 of the joint tables, whose cells are many.

With `--small`, the digits that scikit-learn bundles: eight counts of ink in the middle of each.
"""

from __future__ import annotations

import gzip
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from data import arguments, show
from sklearn.datasets import load_digits
from sklearn.dummy import DummyClassifier
from sklearn.metrics import log_loss

from naively import Categorical, GaussianBayes, Joint, JointBayes, NaiveBayes
from naively.evaluation.model_ladder import parameter_counts

SIZES = [250, 500, 1000, 2000, 4000, 8000, 16000]
# classes and features that tell the rungs apart
SHOWN = (["J", "K", "T"], ["xybar", "yegvx"])
SHOWN_SMALL = (["1", "4", "7"], ["ink 2", "ink 4"])
GAUSSIANS = ("full", "tied", "diagonal", "tied_diagonal", "spherical", "tied_spherical")
Table = tuple[pd.DataFrame, np.ndarray]


def letters(data: Path) -> tuple[Table, Table]:
    """((rows, labels) to learn, those to predict)."""
    with gzip.open(data / "letter" / "letter.arff.gz", "rt") as file:
        lines = [line.strip() for line in file if not line.startswith("%")]
    names = [line.split()[1].strip("'") for line in lines if line.startswith("@attribute")]
    rows = [line.split(",") for line in lines if line and not line.startswith("@")]
    table = pd.DataFrame(rows, columns=names)
    labels = table.pop("class").to_numpy(str)
    table = table.astype(int)
    return (table[:16000], labels[:16000]), (table[16000:], labels[16000:])


def digits() -> tuple[Table, Table]:
    """The same of the digits that scikit-learn bundles: sums of 2 x 2 pixels, from 0 to 16."""
    X, labels = load_digits(return_X_y=True)
    ink = X.reshape(-1, 4, 2, 4, 2).sum(axis=(2, 4))[:, :, 1:3].reshape(-1, 8) // 4
    table = pd.DataFrame(ink.astype(int), columns=[f"ink {k}" for k in range(8)])
    labels = labels.astype(str)
    return (table[:1200], labels[:1200]), (table[1200:], labels[1200:])


def pairs(names: list[str]) -> NaiveBayes:
    """A joint table for each two columns that stand side by side."""
    columns = {(a, b): Joint(0.1) for a, b in zip(names[::2], names[1::2], strict=True)}
    return NaiveBayes(columns=columns)


def rungs(names: list[str]) -> dict[str, Any]:
    """A new model for each rung."""
    return {
        "joint table": partial(JointBayes, 0.1),
        "joint tables of pairs": partial(pairs, names),
        "categorical naive Bayes": partial(NaiveBayes, columns=dict.fromkeys(names, Categorical())),
        "Gaussian, full, shrunk": partial(GaussianBayes, "full", "auto"),
        **{f"Gaussian, {kind}": partial(GaussianBayes, kind) for kind in GAUSSIANS},
        "class prior": partial(DummyClassifier, strategy="prior"),
    }


def measured(model: Any, train: Table, test: Table) -> tuple[float, float, float]:
    """(seconds to learn, error in %, log-loss in nats)"""
    start = time.perf_counter()
    model.fit(*train)
    seconds = time.perf_counter() - start
    proba = model.predict_proba(test[0])
    error = 100.0 * float((model.classes_[proba.argmax(axis=1)] != test[1]).mean())
    return seconds, error, float(log_loss(test[1], proba, labels=model.classes_))


def walk(train: Table, test: Table) -> None:
    rows = []
    for name, new in rungs(list(train[0])).items():
        measured(new(), train, test)  # compiles
        model = new()
        seconds, error, loss = measured(model, train, test)
        count = getattr(model, "n_parameters_", len(set(train[1])) - 1)
        each = len(train[1]) / count
        rows.append(
            [name, f"{count:,}" if count < 1e9 else f"{count:.2g}", f"{each:.2g}", f"{seconds:.3f}",
             error, f"{loss:.3f}"]
        )  # fmt: skip
    show(
        f"{len(train[1]):,} training rows, {len(test[1]):,} test rows",
        ["rung", "parameters", "rows per parameter", "seconds", "error %", "log-loss"], rows,
    )  # fmt: skip


def curves(train: Table, test: Table, sizes: list[int]) -> dict[str, list[float]]:
    """The error of each rung in %, trained on the first rows alone."""
    found: dict[str, list[float]] = {}
    for name, new in rungs(list(train[0])).items():
        for size in sizes:
            first = train[0][:size], train[1][:size]
            try:
                error = measured(new(), first, test)[1]
            except ValueError:  # a covariance without a density: too few rows
                error = np.nan
            found.setdefault(name, []).append(error)
    rows = [
        [name, *("-" if np.isnan(e) else f"{e:.1f}" for e in own)] for name, own in found.items()
    ]
    show("Error in % by the number of training rows", ["rung", *map(str, sizes)], rows)
    return found


def draw(folder: Path, train: Table, shown: Any, errors: Any, sizes: list[int]) -> None:
    import matplotlib.pyplot as plt

    from naively.plot import DecisionBoundaryDisplay, ParametersDisplay

    some = np.isin(train[1], shown[0])
    two, own = train[0].loc[some, shown[1]][:300], train[1][some][:300]
    jitter = np.random.default_rng(0).uniform(-0.4, 0.4, two.shape)
    figure, axes = plt.subplots(2, 3, figsize=(10, 6.4), layout="constrained")
    for kind, ax in zip(GAUSSIANS, axes.flat, strict=True):
        model = GaussianBayes(kind).fit(two, own)
        display = DecisionBoundaryDisplay.from_estimator(model, two + jitter, own, ax=ax)
        ax.set_title(f"{kind}: {model.n_parameters_} parameters")
        if kind != GAUSSIANS[2]:
            display.legend_.remove()
    figure.savefig(folder / "ladder-boundaries.png", dpi=80)

    figure, ax = plt.subplots(figsize=(7, 4.4), layout="constrained")
    for name, marker in zip(errors, "os^vDP*Xh.<", strict=True):
        style = "--" if "tied" in name else "-"
        colour = "black" if name == "class prior" else None
        ax.plot(sizes, errors[name], style, marker=marker, label=name, color=colour)
    ax.set(xscale="log", xlabel="training rows", ylabel="test error, %", ylim=(0, 100))
    ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
    ax.minorticks_off()
    ax.grid(alpha=0.3)
    figure.legend(loc="outside right upper", fontsize=8)
    figure.savefig(folder / "ladder-errors.png", dpi=80)

    classes, features = shape(train)
    display = ParametersDisplay(n_classes=classes, n_features=features, n_rows=len(train[1])).plot()
    display.figure_.savefig(folder / "ladder-parameters.png", dpi=80)


def shape(table: Table) -> tuple[int, int]:
    """(classes, features)"""
    return len(set(table[1])), table[0].shape[1]


def main() -> None:
    given = arguments(__doc__, "the digits that scikit-learn bundles")
    train, test = digits() if given.small else letters(given.data)
    sizes = [size for size in SIZES if size <= len(train[1])]
    walk(train, test)
    for name, count in parameter_counts(*shape(train)).items():
        print(f"{name}: {count:,}")
    errors = curves(train, test, sizes)
    if given.images:
        draw(given.images, train, SHOWN_SMALL if given.small else SHOWN, errors, sizes)


if __name__ == "__main__":
    main()
