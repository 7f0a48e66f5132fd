"""Handwritten digits: MNIST by its principal components, with each covariance (lecture 2).

    NAIVELY_DATA=folder python experiments/digits.py

60,000 images of 28 x 28 pixels to learn, 10,000 to predict; 40 principal components of the images
to learn. Published: 3.3% for 40 components and a quadratic classifier (LeCun's table; LeCun,
Bottou, Bengio & Haffner 1998), which was a polynomial of degree two in them, not a Gaussian one.

`chosen` takes pixels or their square roots, and an amount of shrinkage of components of variance 1,
by the error on the last 10,000 images to learn, of a model of the others.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
from data import arguments, show
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from naively import GaussianBayes

COMPONENTS = 40
AMOUNTS = (None, "auto", 0.01, 0.03, 0.05, 0.1)
KINDS = ("full", "tied", "diagonal", "tied_diagonal", "spherical", "tied_spherical")
Digits = tuple[np.ndarray, np.ndarray]


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


def small() -> tuple[Digits, Digits]:
    """The 1,797 digits that scikit-learn bundles, of 8 x 8 pixels."""
    X, y = load_digits(return_X_y=True)
    return (X[:1200], y[:1200]), (X[1200:], y[1200:])


def components(train: np.ndarray, *others: np.ndarray, whiten: bool = False) -> list[np.ndarray]:
    """The principal components of the images to learn, of those and of others."""
    found = PCA(min(COMPONENTS, train.shape[1]), svd_solver="covariance_eigh", whiten=whiten)
    found.fit(train)
    return [found.transform(images) for images in (train, *others)]


def error(model: GaussianBayes, train: Digits, test: Digits) -> float:
    """In %."""
    return 100.0 * float((model.fit(*train).predict(test[0]) != test[1]).mean())


def rungs(train: Digits, test: Digits) -> None:
    first, second = components(train[0], test[0])
    rows = []
    for kind in KINDS:
        model = GaussianBayes(kind)
        rate = error(model, (first, train[1]), (second, test[1]))
        rows.append([kind, model.n_parameters_, rate])
    show(f"{first.shape[1]} principal components", ["covariance", "parameters", "error %"], rows)


def chosen(train: Digits, test: Digits) -> None:
    held = len(train[1]) // 6
    found = {}
    for name, change in (("pixels", np.asarray), ("square roots", np.sqrt)):
        first, rest = components(change(train[0][:-held]), change(train[0][-held:]), whiten=True)
        for amount in AMOUNTS:
            model = GaussianBayes("full", amount)
            rate = error(model, (first, train[1][:-held]), (rest, train[1][-held:]))
            found[name, amount] = rate, change
    show(
        f"Full covariance, error in % on the last {held:,} images to learn",
        ["of", *map(str, AMOUNTS)],
        [[name, *(found[name, a][0] for a in AMOUNTS)] for name in ("pixels", "square roots")],
    )
    (name, amount), (_, change) = min(found.items(), key=lambda pair: pair[1][0])
    first, second = components(change(train[0]), change(test[0]), whiten=True)
    rate = error(GaussianBayes("full", amount), (first, train[1]), (second, test[1]))
    print(
        f"chosen: {name}, shrinkage {amount}; error on the {len(test[1]):,} to predict {rate:.2f}%"
    )


def main() -> None:
    given = arguments(__doc__, "the digits that scikit-learn bundles")
    train, test = small() if given.small else mnist(given.data)
    rungs(train, test)
    chosen(train, test)


if __name__ == "__main__":
    main()
