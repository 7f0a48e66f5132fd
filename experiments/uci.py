"""The 15 UCI sets of Ng & Jordan (2001), how each is read, and the curves of their Figure 1.

The paper is silent on what follows, and it was settled by looking at its curves
(`ng_jordan_choices.py` has the alternatives): rows with a missing value ("?") are left out; of sets
marked (d) that hold numbers, as lymphography does, these are levels; lymphography means metastases
against malignant lymph, lenses means any lenses against none. Parts that the UCI splits into
training and test are pooled, and liver's class is its last column.
"""

from __future__ import annotations

import csv
import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.preprocessing import MinMaxScaler

BAYES, NEAREST, LOGISTIC = "naive Bayes", "nearest mean", "logistic regression"
Curves = dict[str, dict[str, np.ndarray]]  # set, model: the error at each size


@dataclass(frozen=True)
class Source:
    """Where a set is, and which of its rows and columns count."""

    files: tuple[str, ...]
    positive: str  # labels, with blanks between them
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
    "lenses hard/soft (d)": Source(("lenses/contact-lenses.arff",), "hard soft"),
    "sick (d)": Source(("sick/sick.arff.gz",), "sick", columns=SICK),
    "voting (d)": Source(("vote/vote.arff",), "democrat"),
}


@dataclass(frozen=True)
class Rows:
    """A set: inputs from 0 to 1, or codes of levels; labels 0 and 1; the sizes to learn from."""

    X: np.ndarray
    y: np.ndarray
    levels: np.ndarray | None  # of each input; None if inputs are continuous
    sizes: list[int]


def cells(path: Path) -> list[list[str]]:
    """The values of a file of any of the formats, row by row."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt") as file:
        lines = [line for line in file if line.strip() and line[0] not in "%@"]
    return [[cell.strip("'") for cell in line.replace(",", " ").split()] for line in lines]


def table(data: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """(inputs that count, labels), of all rows, as they are written."""
    source = SOURCES[name]
    found = [row for file in source.files for row in cells(data / file)]
    if name == "promoters (d)":  # label, name, sequence
        found = [[*row[2], row[0]] for row in found]
    all_cells = np.array(found)
    X, labels = all_cells[:, :-1], np.char.rstrip(all_cells[:, -1], ".")
    if name == "boston>median (c)":
        price = labels.astype(float)
        labels = np.where(price > np.median(price), "above", "below")
    return X[:, source.columns] if source.columns else X, labels


def read(data: Path, name: str, sizes: list[int]) -> Rows:
    X, labels = table(data, name)
    positive, negative = SOURCES[name].positive.split(), SOURCES[name].negative
    kept = (X != "?").all(axis=1)
    if negative:
        kept &= np.isin(labels, [*positive, negative])
    return prepared(X[kept], np.isin(labels[kept], positive), "(d)" in name, sizes)


def prepared(X: np.ndarray, y: np.ndarray, discrete: bool, sizes: list[int]) -> Rows:
    if not discrete:
        return Rows(MinMaxScaler().fit_transform(X.astype(float)), y.astype(int), None, sizes)
    X = np.stack([np.unique(column, return_inverse=True)[1] for column in X.T], axis=1)
    return Rows(X, y.astype(int), X.max(axis=0) + 1, sizes)


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


def published(data: Path, every: int = 1) -> tuple[dict[str, list[int]], Curves]:
    """(the sizes of each set, the paper's curves), read off its figure; beside the data folder.

    Of `every` so many sizes, one; and the last.
    """
    path = data / "../oracles/ng_jordan_fig1_digitised.csv"
    if not path.exists():
        raise SystemExit(f"the paper's curves are looked for in {path}; --small needs none")
    sizes: dict[str, list[int]] = {name: [] for name in SOURCES}
    errors: dict[str, dict[str, list[float]]] = {
        name: {BAYES: [], LOGISTIC: []} for name in SOURCES
    }
    with path.open() as file:
        for row in csv.DictReader(file):
            model = {"NB": BAYES, "LR": LOGISTIC}[row["model"]]
            errors[row["dataset"]][model].append(float(row["error"]))
            if model == BAYES:
                sizes[row["dataset"]].append(round(float(row["m"])))
    return {name: own[:-1:every] + own[-1:] for name, own in sizes.items()}, {
        name: {model: np.array(curve[:-1:every] + curve[-1:]) for model, curve in own.items()}
        for name, own in errors.items()
    }
