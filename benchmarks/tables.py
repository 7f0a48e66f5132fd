"""naive Bayes on real tables: ten-fold accuracy of naively, Weka and scikit-learn, in one run.

    NAIVELY_DATA=folder python benchmarks/tables.py    # all tables, about six minutes
    python benchmarks/tables.py --data folder --only iris --only vote --markdown

Every table is read as published and given to naively as it is: no column is dropped, converted or
imputed by hand. The folds are stratified and shuffled, the same for all; `adult` has a test file
of its own. scikit-learn has one classifier for all columns: of the pipelines in `PEERS` the best
on the very rows that are scored is taken, which favours it.
"""

from __future__ import annotations

import argparse
import os
import re
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import sklearn
from rich.console import Console
from rich.table import Table
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, OrdinalEncoder

import naively
from naively import NaiveBayes
from naively.io.sources import open_source

# Weka 3.6.14, ten stratified folds, % right: NaiveBayes, -K (kernel densities), -D (supervised
# discretization). Run for this project; naively is not tuned to them.
WEKA = {
    "breast-cancer": (71.68, 71.68, 71.68),
    "car": (85.53, 85.53, 85.53),
    "pima": (76.30, 74.61, 74.35),
    "glass": (48.60, 49.07, 70.56),
    "ionosphere": (82.62, 91.74, 89.17),
    "iris": (96.00, 96.67, 92.67),
    "lymphography": (83.11, 82.43, 84.46),
    "mushroom": (95.83, 95.83, 95.83),
    "nursery": (90.32, 90.32, 90.32),
    "optdigits": (91.33, 92.21, 92.30),
    "sick": (92.60, 95.76, 97.16),
    "sonar": (67.79, 73.08, 80.29),
    "soybean": (92.97, 92.97, 92.97),
    "vote": (90.11, 90.11, 90.11),
    "zoo": (95.05, 95.05, 93.07),
}
WITHIN = 1.5  # points below Weka that pass

# Column of the result: what NaiveBayes is given for numbers.
OURS: dict[str, dict[str, Any]] = {
    "default": {},
    "auto": {"family": "auto"},
    "gaussian": {"family": "gaussian"},
    "kernel": {"family": "kernel_density"},
    "discretized": {"family": "discretized"},
}
VERSUS_WEKA = ("gaussian", "kernel", "discretized")

Rows = tuple[pa.Table, np.ndarray]


# ---- tables ----------------------------------------------------------------------------------


def split(table: pa.Table, target: str) -> Rows:
    """(the columns but the target, labels)."""
    labels = table.column(target).to_pandas().astype(str).to_numpy()
    return table.drop_columns([target]), labels


def read(file: str, target: str) -> Callable[[Path], Rows]:
    """A reader of a file that has the names of its columns, by naively's own reader."""

    def load(folder: Path) -> Rows:
        return split(pa.Table.from_batches(list(open_source(folder / file).batches())), target)

    return load


def csv(file: str, target: str) -> Callable[[Path], Rows]:
    """A reader of comma-separated values, which say nothing of types: pandas guesses them."""

    def load(folder: Path) -> Rows:
        return split(pa.Table.from_pandas(pd.read_csv(folder / file)), target)

    return load


def adult(folder: Path, part: str) -> Rows:
    """The files have no header, and the test labels end with a full stop."""
    text = (folder / "adult/adult.names").read_text()
    names = [*re.findall(r"^([a-z-]+):", text, re.MULTILINE), "class"]
    X, y = split(headless(folder / f"adult/adult-{part}.csv.gz", names), "class")
    return X, np.char.rstrip(np.char.strip(y.astype(str)), ".")


def optdigits(folder: Path) -> Rows:
    """Both files together, as Weka has it."""
    names = [*(f"pixel{k}" for k in range(64)), "digit"]
    files = [folder / f"optdigits/optdigits.{part}.gz" for part in ("tra", "tes")]
    return split(pa.concat_tables([headless(file, names) for file in files]), "digit")


def headless(file: Path, names: list[str]) -> pa.Table:
    return pa.Table.from_pandas(pd.read_csv(file, header=None, names=names, na_values=[]))


def orange(folder: Path) -> Rows:
    """Orange's tables have two more lines of header."""
    file = folder / "titanic/titanic-orange-2201.tab"
    return split(pa.Table.from_pandas(pd.read_csv(file, sep="\t", skiprows=[1, 2])), "survived")


SETS: dict[str, Callable[[Path], Rows]] = {
    "adult": lambda folder: adult(folder, "train"),
    "breast-cancer": read("breast-cancer/breast-cancer.arff", "Class"),
    "car": read("car/car.arff", "class"),
    "covtype": csv("covtype/covtype.csv.xz", "Cover_Type"),
    "glass": read("glass/glass.arff", "Type"),
    "ionosphere": read("ionosphere/ionosphere.arff", "class"),
    "iris": read("iris/iris.arff", "class"),
    "letter": read("letter/letter.arff.gz", "class"),
    "lymphography": read("lymphography/lymph.arff", "class"),
    "mushroom": read("mushroom/mushroom.arff.gz", "class"),
    "nursery": read("nursery/nursery.arff.gz", "class"),
    "optdigits": optdigits,
    "pima": read("pima/diabetes.arff", "class"),
    "sick": read("sick/sick.arff.gz", "Class"),
    "sonar": read("sonar/sonar.arff", "Class"),
    "soybean": read("soybean/soybean.arff.gz", "class"),
    "stream-elec": csv("stream-elec/elec.csv.gz", "target"),
    "titanic-2201": orange,
    "titanic-891": csv("titanic/titanic-seaborn-891.csv", "survived"),
    "vote": read("vote/vote.arff", "Class"),
    "wine": read("wine/wine.arff", "class"),
    "zoo": read("zoo/zoo.arff", "type"),
}
TESTS = {"adult": lambda folder: adult(folder, "test")}


# ---- scikit-learn ----------------------------------------------------------------------------


class Bins(TransformerMixin, BaseEstimator):
    """Numbers as codes of bins, from 1 on; 0 is missing."""

    def __init__(self, strategy: str = "quantile") -> None:
        self.strategy = strategy

    def fit(self, X: Any, y: Any = None) -> Bins:
        """Cut each column."""
        self.bins_ = []
        for column in np.asarray(X, float).T:
            known = column[~np.isnan(column)]
            bins = KBinsDiscretizer(
                10,
                encode="ordinal",
                strategy=self.strategy,
                quantile_method="averaged_inverted_cdf",
                subsample=None,
            )
            varied = len(known) and known.min() < known.max()
            self.bins_.append(bins.fit(known[:, None]) if varied else None)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """The codes."""
        codes = np.zeros(np.shape(X), int)
        for j, (column, bins) in enumerate(zip(np.asarray(X, float).T, self.bins_, strict=True)):
            known = ~np.isnan(column)
            if bins is not None and known.any():
                codes[known, j] = 1 + bins.transform(column[known, None])[:, 0]
        return codes


class Levels(OrdinalEncoder):
    """Text as codes from 1 on, missing being a level; 0 is a level that was never met."""

    def __init__(self) -> None:
        super().__init__(handle_unknown="use_encoded_value", unknown_value=-1)

    def transform(self, X: Any) -> np.ndarray:
        """The codes."""
        return super().transform(X).astype(int) + 1


TEXT = make_column_selector(dtype_include=object)
NUMBERS = make_column_selector(dtype_include="number")


def columns(text: Any, numbers: Any) -> Any:
    """Each kind of column through its own encoder, as a dense array."""
    filled = make_pipeline(SimpleImputer(strategy="constant", fill_value="missing"), text)
    return make_column_transformer((filled, TEXT), (numbers, NUMBERS), sparse_threshold=0)


def one_hot() -> OneHotEncoder:
    return OneHotEncoder(handle_unknown="ignore", sparse_output=False, dtype=np.float32)


def medians() -> SimpleImputer:
    return SimpleImputer(strategy="median", keep_empty_features=True)


PEERS: dict[str, Callable[[], Any]] = {
    "Gaussian": lambda: make_pipeline(columns(Levels(), medians()), GaussianNB()),
    "Gaussian, one-hot": lambda: make_pipeline(columns(one_hot(), medians()), GaussianNB()),
    "Categorical, even counts": lambda: make_pipeline(
        columns(Levels(), Bins("quantile")), CategoricalNB()
    ),
    "Categorical, even widths": lambda: make_pipeline(
        columns(Levels(), Bins("uniform")), CategoricalNB()
    ),
    "Bernoulli, one-hot": lambda: make_pipeline(
        columns(one_hot(), make_pipeline(Bins("quantile"), one_hot())), BernoulliNB()
    ),
}


def plain(table: pa.Table) -> pd.DataFrame:
    """A frame of text (object) and numbers, as scikit-learn likes it; "?" is missing."""
    frame = table.to_pandas(strings_to_categorical=False)
    for name in frame:
        if not pd.api.types.is_numeric_dtype(frame[name]):
            text = frame[name].astype(object)
            text = text.map(lambda value: value.strip(), na_action="ignore")
            frame[name] = text.where(text.notna() & (text != "?"), np.nan).astype(object)
    return frame


# ---- the comparison --------------------------------------------------------------------------


@dataclass
class Result:
    """What came out of one table.

    Attributes
    ----------
    rows, columns : of the table, without the target.
    majority : portion of the most frequent class among the rows that are scored.
    right : portion of the rows that each of `OURS` and `PEERS` has right.
    failed : why one of them has none.
    seconds : fits and predictions of the default on all folds together.
    said : warnings, with how often.
    """

    rows: int
    columns: int
    majority: float
    right: dict[str, float] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    said: Counter[str] = field(default_factory=Counter)

    @property
    def peer(self) -> str:
        """The best of scikit-learn's."""
        return max((name for name in PEERS if name in self.right), key=self.right.__getitem__)


def folds(name: str, folder: Path) -> tuple[pa.Table, np.ndarray, list[Any]]:
    """(the whole table, labels, (rows to learn, rows to score) of each fold)."""
    table, y = SETS[name](folder)
    if name in TESTS:
        test, truth = TESTS[name](folder)
        both = np.arange(len(y) + len(truth))
        whole, labels = pa.concat_tables([table, test]), np.concatenate([y, truth])
        return whole, labels, [np.split(both, [len(y)])]
    with warnings.catch_warnings():  # such a class is left out of some folds
        warnings.filterwarnings("ignore", "The least populated class in y has only")
        return table, y, list(StratifiedKFold(10, shuffle=True, random_state=0).split(y, y))


def crossed(make: Callable[[], Any], take: Any, y: np.ndarray, parts: Any) -> tuple[float, float]:
    """(portion of the scored rows that models have right, seconds of fits and predictions)."""
    right, scored, seconds = 0, 0, 0.0
    for train, test in parts:
        X, unknown = take(train), take(test)
        start = time.perf_counter()
        predicted = make().fit(X, y[train]).predict(unknown)
        seconds += time.perf_counter() - start
        right += int((predicted == y[test]).sum())
        scored += len(test)
    return right / scored, seconds


def evaluate(name: str, folder: Path) -> Result:
    table, y, parts = folds(name, folder)
    scored = y[np.concatenate([test for _, test in parts])]
    majority = np.unique(scored, return_counts=True)[1].max() / len(scored)
    result = Result(table.num_rows, table.num_columns, majority)
    frame = plain(table)
    few = np.arange(0, len(y), max(1, len(y) // 1000))
    candidates = {
        **{key: (partial(NaiveBayes, **given), table.take) for key, given in OURS.items()},
        **{key: (make, frame.take) for key, make in PEERS.items()},
    }
    seconds = 0.0
    for key, (make, take) in candidates.items():
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            # a column with few values has fewer bins, and that is right
            warnings.filterwarnings("ignore", "Bins whose width are too small")
            try:
                if key in OURS:  # loads what is loaded on first use
                    crossed(make, take, y, [(few, few)])
                    said.clear()
                result.right[key], seconds = crossed(make, take, y, parts)
            except Exception as error:  # the others are still of interest
                result.failed[key] = f"{type(error).__name__}: {error}"
        result.said.update(f"{key}: {warning.message}" for warning in said)
        if key == "default":
            result.seconds = seconds
    return result


def cells(name: str, result: Result) -> list[str]:
    """A row of the table that is printed; "!" marks what is too far below Weka."""

    def percent(key: str) -> str:
        return f"{100 * result.right[key]:.2f}" if key in result.right else "-"

    shown = [name, f"{result.rows:,}", str(result.columns), f"{100 * result.majority:.2f}"]
    shown += [percent("default"), percent("auto")]
    for key, weka in zip(VERSUS_WEKA, WEKA.get(name, (None,) * 3), strict=True):
        if weka is None:
            shown += [percent(key), ""]
        else:
            missed = key not in result.right or 100 * result.right[key] < weka - WITHIN
            shown += [percent(key) + ("!" if missed else ""), f"{weka:.2f}"]
    return [*shown, percent(result.peer), result.peer, f"{result.seconds:.2f}"]


HEADER = [
    "table", "rows", "columns", "majority", "default", "auto", "gaussian", "Weka", "kernel",
    "Weka -K", "discretized", "Weka -D", "scikit-learn", "its best", "s",
]  # fmt: skip


def show(console: Console, rows: list[list[str]]) -> None:
    table = Table(
        title=f"naively {naively.__version__} and scikit-learn {sklearn.__version__}, % right"
    )
    for column in HEADER:
        left = column in ("table", "its best")
        table.add_column(column, justify="left" if left else "right", no_wrap=not left)
    for row in rows:
        table.add_row(*row)
    console.print(table)


def as_markdown(rows: list[list[str]]) -> str:
    rule = [" --- " if column in ("table", "its best") else " --: " for column in HEADER]
    lines = [f"| {' | '.join(HEADER)} |", f"|{'|'.join(rule)}|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", default=os.environ.get("NAIVELY_DATA"), help="folder of the tables"
    )
    parser.add_argument("--only", action="append", choices=sorted(SETS), help="only this table")
    parser.add_argument("--markdown", action="store_true", help="print the table for the docs")
    arguments = parser.parse_args()
    if not arguments.data:
        parser.error("name the folder of the tables with --data or NAIVELY_DATA")
    console, rows, notes = Console(width=190), [], []
    with console.status("") as status:
        for name in arguments.only or SETS:
            status.update(name)
            result = evaluate(name, Path(arguments.data))
            rows.append(cells(name, result))
            notes += [f"{name}, {key}: {why}" for key, why in result.failed.items()]
            notes += [f"{name}, {text} ({count} times)" for text, count in result.said.items()]
    if arguments.markdown:
        print(as_markdown(rows))
    else:
        show(console, rows)
    for note in notes:
        console.print(note, markup=False, soft_wrap=True)


if __name__ == "__main__":
    main()
