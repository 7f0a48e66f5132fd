"""The tables of `quality.py`, as pandas frames: numbers, text (object), NaN where it is missing.

All classification tables of the folder of public data sets but four: `lenses` and `playtennis`
have fewer than 30 rows, `haxby-1slice` has the rows of `haxby-25mm`, and `housing` has no classes.
A name that belongs to one row is left out (the animals of `zoo`, the promoters), so is the number
of the run of `haxby-25mm`. MNIST is its 40 first principal components, which know no labels.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import tables
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.decomposition import PCA

Rows = tuple[pd.DataFrame, np.ndarray]
"""(columns, labels as text)."""

COMPONENTS = 40
# Tables that were not used while the method was chosen.
UNTOUCHED = frozenset({
    "sick", "breast-cancer", "mushroom", "titanic-891", "wine",
    "stream-elec", "bupa",
})  # fmt: skip


def published(name: str) -> Callable[[Path], Rows]:
    """A table that `tables.py` reads too."""

    def load(folder: Path) -> Rows:
        table, labels = tables.SETS[name](folder)
        return tables.plain(table), labels.astype(str)

    return load


def haxby(folder: Path) -> Rows:
    table, labels = tables.csv("haxby-25mm/haxby_sub001_25mm.csv.gz", "label")(folder)
    return tables.plain(table), labels.astype(str)


def adult(folder: Path) -> Rows:
    """Both files."""
    both = [tables.adult(folder, part) for part in ("train", "test")]
    frames = [tables.plain(table) for table, _ in both]
    labels = np.concatenate([labels for _, labels in both])
    return pd.concat(frames, ignore_index=True), labels.astype(str)


def adult_train(folder: Path) -> Rows:
    """The training file alone."""
    table, labels = tables.adult(folder, "train")
    return tables.plain(table), labels.astype(str)


def bupa(folder: Path) -> Rows:
    names = [*(f"x{k}" for k in range(1, 7)), "selector"]
    frame = pd.read_csv(folder / "bupa/bupa.dat", names=names, comment="@", skipinitialspace=True)
    return frame.iloc[:, :-1], frame["selector"].to_numpy().astype(str)


def promoters(folder: Path) -> Rows:
    """A column for each of the 57 bases."""
    file = folder / "promoters/promoters.data"
    frame = pd.read_csv(file, names=["class", "name", "bases"], skipinitialspace=True)
    bases = pd.DataFrame([list(text.strip()) for text in frame["bases"]], dtype=object)
    return bases.rename(columns="base{}".format), frame["class"].to_numpy(str)


def images(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """(pixels, labels) of both parts of MNIST, 70,000 images."""

    def numbers(name: str, header: int) -> np.ndarray:
        with gzip.open(folder / "mnist" / name) as file:
            return np.frombuffer(file.read(), np.uint8, offset=header)

    parts = ("train", "t10k")
    pixels = [numbers(f"{part}-images-idx3-ubyte.gz", 16).reshape(-1, 784) for part in parts]
    labels = [numbers(f"{part}-labels-idx1-ubyte.gz", 8) for part in parts]
    return np.concatenate(pixels), np.concatenate(labels)


def mnist(folder: Path) -> Rows:
    """All images, as their first principal components."""
    pixels, labels = images(folder)
    found = PCA(COMPONENTS, svd_solver="covariance_eigh")
    X = found.fit_transform(pixels.astype(float))
    frame = pd.DataFrame(X, columns=[f"component{k}" for k in range(COMPONENTS)])
    return frame, labels.astype(str)


def without(name: str, load: Callable[[Path], Rows]) -> Callable[[Path], Rows]:
    """The table without a column."""

    def loaded(folder: Path) -> Rows:
        X, y = load(folder)
        return X.drop(columns=name), y

    return loaded


TABLES: dict[str, Callable[[Path], Rows]] = {
    "adult": adult,
    "breast-cancer": published("breast-cancer"),
    "bupa": bupa,
    "car": published("car"),
    "covtype": published("covtype"),
    "glass": published("glass"),
    "haxby-25mm": without("run", haxby),
    "ionosphere": published("ionosphere"),
    "iris": published("iris"),
    "letter": published("letter"),
    "lymphography": published("lymphography"),
    "mnist-40": mnist,
    "mushroom": published("mushroom"),
    "nursery": published("nursery"),
    "optdigits": published("optdigits"),
    "pima": published("pima"),
    "promoters": promoters,
    "sick": published("sick"),
    "sonar": published("sonar"),
    "soybean": published("soybean"),
    "stream-elec": published("stream-elec"),
    "titanic-2201": published("titanic-2201"),
    "titanic-891": published("titanic-891"),
    "vote": published("vote"),
    "wine": published("wine"),
    "zoo": without("animal", published("zoo")),
}
"""The tables of the suite, by name."""


def bundled(load: Callable[..., object]) -> Callable[[Path], Rows]:
    """A table of scikit-learn; its first column in words, and some values of its second missing."""

    def loaded(folder: Path) -> Rows:
        found = load(as_frame=True)
        X, words = found.data.copy(), ["low", "middle", "high"]
        X.isetitem(0, pd.qcut(X.iloc[:, 0], 3, labels=words).astype(object))
        X.iloc[::10, 1] = np.nan
        return X, found.target_names[found.target].astype(str)

    return loaded


SMALL = {
    "iris": bundled(load_iris),
    "tumours": bundled(load_breast_cancer),
    "wine": bundled(load_wine),
}
"""Tables that need no folder."""
