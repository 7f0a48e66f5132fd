"""Handwritten digits: every Gaussian and naive Bayes of their pixels (lecture 2).

    NAIVELY_DATA=folder python experiments/digits.py

optdigits (3,823 images of 8 x 8 pixels to learn, 1,797 of other writers to predict) and MNIST
(60,000 of 28 x 28, 10,000). `pixels`: the lecture's models of the pixels as they are. The binary
one has the pixels above half the range; the multinomial one takes intensities for counts. Pixels
that never vary leave a covariance without a density, so full and tied ones are shrunk: by "auto",
and a full one by the amount that errs least on the last sixth of the images to learn, of a model of
the others, which then learns that sixth too. The smoothing of naive variances, and the virtual rows
of MAP, are chosen likewise.

`rungs`: MNIST by its 40 first principal components, with each covariance. `chosen` takes pixels or
their square roots, and an amount of shrinkage of components of variance 1, in the same way.

Published, of MNIST: 12.0% for a linear classifier, 3.3% for 40 components and a quadratic one
(LeCun, Bottou, Bengio & Haffner 1998; LeCun's table), both fitted to discriminate. Of optdigits:
2.0% for the nearest neighbour (the set's description at UCI); 8.67% for Weka's Gaussian naive
Bayes, in ten folds of all images, no deviation below a sixth of the unit.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
from data import arguments, show
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from naively import BernoulliNB, GaussianBayes, GaussianNB, MultinomialNB

COMPONENTS = 40
AMOUNTS = (None, "auto", 0.01, 0.03, 0.05, 0.1)
SHRINKAGE = (0.03, 0.1, 0.3, 0.5)
VIRTUAL = (0.0, 0.1, 1.0, 10.0, 100.0, 1000.0)
SMOOTHING = (1e-9, 0.001, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
KINDS = ("full", "tied", "diagonal", "tied_diagonal", "spherical", "tied_spherical")
NAIVE = {"σ_ik": None, "σ_i": "classes", "σ_k": "features", "σ": "both"}
PUBLISHED = {
    ("mnist", "Gaussian, tied, auto"): "12.0 linear",
    ("optdigits", "naive, σ_ik"): "8.67 Weka, floored",
}
LINES = {
    "optdigits": {"nearest neighbour, 2.0 (UCI)": 2.0},
    "mnist": {"linear, 12.0 (LeCun)": 12.0, "40 components, quadratic, 3.3 (LeCun)": 3.3},
}
Digits = tuple[np.ndarray, np.ndarray]
Found = dict[str, tuple[int, float]]
"""Free parameters and error in % by model."""


def mnist(data: Path) -> tuple[Digits, Digits]:
    """((images, labels) to learn, those to predict)."""

    def numbers(name: str, header: int) -> np.ndarray:
        with gzip.open(data / "mnist" / name) as file:
            return np.frombuffer(file.read(), np.uint8, offset=header)

    parts = []
    for name in ("train", "t10k"):
        images = numbers(f"{name}-images-idx3-ubyte.gz", 16).reshape(-1, 784)
        parts.append((images.astype(float), numbers(f"{name}-labels-idx1-ubyte.gz", 8)))
    return parts[0], parts[1]


def optdigits(data: Path) -> tuple[Digits, Digits]:
    """((images, labels) to learn, those to predict)."""
    folder = data / "optdigits"
    train, test = (np.loadtxt(folder / f"optdigits.{k}.gz", delimiter=",") for k in ("tra", "tes"))
    return (train[:, :-1], train[:, -1].astype(int)), (test[:, :-1], test[:, -1].astype(int))


def small() -> tuple[Digits, Digits]:
    """The 1,797 digits that scikit-learn bundles, of 8 x 8 pixels."""
    X, y = load_digits(return_X_y=True)
    return (X[:1200], y[:1200]), (X[1200:], y[1200:])


def components(train: np.ndarray, *others: np.ndarray, whiten: bool = False) -> list[np.ndarray]:
    """The principal components of the images to learn, of those and of others."""
    found = PCA(min(COMPONENTS, train.shape[1]), svd_solver="covariance_eigh", whiten=whiten)
    found.fit(train)
    return [found.transform(images) for images in (train, *others)]


def misread(model: Any, test: Digits) -> float:
    """In %."""
    return 100.0 * float((model.predict(test[0]) != test[1]).mean())


def best(model: Any, name: str, amounts: tuple[float, ...], train: Digits) -> Any:
    """The model with the parameter that errs least on the last sixth; then it learns that too."""
    X, y = train
    held = len(y) // 6
    model.fit(X[:-held], y[:-held])
    rates = []
    for amount in amounts:  # a row of weight 0 changes nothing but the parameters
        model.set_params(**{name: amount}).partial_fit(X[:1], y[:1], sample_weight=[0.0])
        rates.append(misread(model, (X[-held:], y[-held:])))
    model.set_params(**{name: amounts[int(np.argmin(rates))]})
    return model.partial_fit(X[-held:], y[-held:])


def pixels(of: str, train: Digits, test: Digits) -> Found:
    """Prints, and returns, parameters and error in % of each model."""
    full = best(GaussianBayes("full", "auto"), "shrinkage", SHRINKAGE, train)
    smooth = best(GaussianNB(), "var_smoothing", SMOOTHING, train)
    virtual = best(GaussianNB(), "alpha", VIRTUAL, train)
    models = {
        "Gaussian, full, chosen": full,
        "Gaussian, full, auto": GaussianBayes("full", "auto").fit(*train),
        "Gaussian, tied, auto": GaussianBayes("tied", "auto").fit(*train),
        **{f"naive, {name}": GaussianNB(tie=tie).fit(*train) for name, tie in NAIVE.items()},
        "naive, σ_ik, chosen": smooth,
        "naive, σ_ik, MAP": virtual,
        "Bernoulli": BernoulliNB(binarize=train[0].max() / 2).fit(*train),
        "multinomial": MultinomialNB().fit(*train),
    }
    found = {name: (model.n_parameters_, misread(model, test)) for name, model in models.items()}
    choices = f"shrinkage {full.shrinkage}, smoothing {smooth.var_smoothing}, "
    choices += f"virtual rows {virtual.alpha:g}"
    title = f"{of}, {len(train[1]):,} images learned, {len(test[1]):,} predicted; chosen: {choices}"
    rows = [[k, f"{n:,}", rate, PUBLISHED.get((of, k), "")] for k, (n, rate) in found.items()]
    show(title, ["model", "parameters", "error %", "published"], rows)
    return found


def rungs(train: Digits, test: Digits) -> Found:
    """Prints, and returns, parameters and error in % with each covariance."""
    first, second = components(train[0], test[0])
    found = {}
    for kind in KINDS:
        model = GaussianBayes(kind).fit(first, train[1])
        found[kind] = model.n_parameters_, misread(model, (second, test[1]))
    rows = [[kind, *own] for kind, own in found.items()]
    show(f"{first.shape[1]} principal components", ["covariance", "parameters", "error %"], rows)
    return found


def chosen(train: Digits, test: Digits) -> None:
    held = len(train[1]) // 6
    changes: dict[str, Any] = {"pixels": np.asarray, "square roots": np.sqrt}
    found = {}
    for name, change in changes.items():
        first, rest = components(change(train[0][:-held]), change(train[0][-held:]), whiten=True)
        for amount in AMOUNTS:
            model = GaussianBayes("full", amount).fit(first, train[1][:-held])
            found[name, amount] = misread(model, (rest, train[1][-held:]))
    rows = [[name, *(found[name, amount] for amount in AMOUNTS)] for name in changes]
    title = f"Full covariance, error in % on the last {held:,} images to learn"
    show(title, ["of", *map(str, AMOUNTS)], rows)
    name, amount = min(found, key=lambda choice: found[choice])
    first, second = components(changes[name](train[0]), changes[name](test[0]), whiten=True)
    rate = misread(GaussianBayes("full", amount).fit(first, train[1]), (second, test[1]))
    print(f"chosen: {name}, shrinkage {amount}; error on the images to predict {rate:.2f}%")


def draw(folder: Path, trains: dict[str, Digits], found: dict[str, Found], few: Found) -> None:
    import matplotlib.pyplot as plt

    from naively.plot import ImageDisplay
    from naively.plot.style import style

    for of, train in trains.items():
        ax = plt.subplots(figsize=(8, 7), layout="constrained")[1]
        display = ImageDisplay.from_estimator(GaussianNB().fit(*train), ax=ax)
        display.figure_.savefig(folder / f"digits-means-{of}.png", dpi=90)

    size = 4.4 * len(found) + 2.4, 4.4
    figure, axes = plt.subplots(1, len(found), figsize=size, squeeze=False, layout="constrained")
    for ax, (of, models) in zip(axes[0], found.items(), strict=True):
        dots = [(k, "full", own) for k, own in enumerate(models.values())]
        if of == list(found)[-1]:  # the rungs are models 1 to 6
            dots += [(k, "none", own) for k, own in enumerate(few.values(), start=1)]
        for k, fill, (count, rate) in dots:
            ax.plot(count, rate, style(k).marker, c=style(k).colour, fillstyle=fill, ms=9)
        for text, rate in LINES.get(of, {}).items():
            ax.axhline(rate, c="0.4", ls=":")
            ax.text(0.02, rate - 0.3, text, transform=ax.get_yaxis_transform(), va="top")
        ax.set(title=of, xscale="log", xlabel="free parameters", ylabel="error, %", ylim=0)
        ax.grid(alpha=0.3)
    lines, title = ax.lines[: len(models)], "hollow: of components"
    figure.legend(lines, list(models), loc="outside right upper", title=title)
    figure.savefig(folder / "digits-errors.png", dpi=90)


def main() -> None:
    given = arguments(__doc__, "the digits that scikit-learn bundles")
    sets = {"digits": small()} if given.small else {
        "optdigits": optdigits(given.data), "mnist": mnist(given.data)
    }  # fmt: skip
    found = {of: pixels(of, *parts) for of, parts in sets.items()}
    *_, last = sets.values()
    few = rungs(*last)
    chosen(*last)
    if given.images:
        draw(given.images, {of: train for of, (train, _) in sets.items()}, found, few)


if __name__ == "__main__":
    main()
