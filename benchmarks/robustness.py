"""Effect of duplicates, missing values and meaningless changes of the rows on predictions.

    NAIVELY_DATA=folder python benchmarks/robustness.py
    python benchmarks/robustness.py --only pima sms-spam --parts duplicates words --splits 4

2,000 rows of a table (or two thirds of a smaller one) are learned, and other rows are predicted: up
to 10,000 in the first part, up to 2,000 in the others. Log-loss is in nats, probabilities clipped
at 1e-15.

`--only` takes seven more sets of documents, too.

- duplicates: training rows repeated in five ways, and as they are. Beside the log-loss of new rows:
  that of the model of the rows before they were repeated, with the class shares of the repeated
  ones as prior, and the log-loss of the cross-validation that `fit` reports. New rows are weighted
  to these shares. Few rows of tables with numbers are equal from the start: these are dropped
  first. New texts that equal a training text are left out, as cross-validation leaves out all
  copies. Means over random splits, and ratios of means ± their standard error: one split of a small
  table says little.
- missing: cells of new rows that are missing, at random or whole columns, never in training.
- changes: the largest difference of a probability after changes that mean nothing.
- words: after ten documents of one new word in one class, the smallest P(class | word) / P(class).
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import suite
from rich.console import Console
from shown import check_folder, check_names, short, show
from sklearn.metrics import log_loss
from text_peers import Analysis
from text_quality import ANALYSIS, SETS, SPLIT

from naively import AutoBayes, NaiveBayes, TextNB
from naively.evaluation.fitted import cross_validation

sys.path.append(str(Path(__file__).parent.parent / "experiments"))
from data import read

TABLES = (
    "adult", "adult-categories", "breast-cancer", "car", "glass", "ionosphere", "pima", "sick",
    "titanic-891", "vote", "wine",
)  # fmt: skip
CATEGORIES = "-categories"  # a table without its columns of numbers
TEXTS = ("enron1", "rt-polarity", "sms-spam")
MORE_TEXTS = tuple(
    f"{name}, train" if name in SPLIT else name for name in SETS if name not in TEXTS
)
ROWS, TESTED, PARTS = 2000, 10_000, ("duplicates", "missing", "changes", "words")
SHARES = (0.1, 0.3, 0.5, 1.0)
LEAST = 1e-15
OF_TEXTS = ("rows shuffled", "batches of 10, 90, 900", "classes renamed")

Data = pd.DataFrame | np.ndarray
Row = list[str]


@dataclass(frozen=True)
class Set:
    """A table, or an array of documents, with labels.

    Attributes
    ----------
    X, y : the rows.
    splits : random splits for the measurements of duplicates.
    analysis : how documents are cut into terms.
    """

    X: Data
    y: np.ndarray
    splits: int
    analysis: Analysis = field(default_factory=dict)

    def split(self, seed: int = 0, tested: int = ROWS) -> Split:
        """A random split, with these rows to predict, at most."""
        return Split(self.X, self.y, seed, tested, self.analysis)


class Split:
    """Rows to learn and to predict.

    Parameters
    ----------
    X, y : as in `Set`.
    seed : of the random split.
    tested : rows to predict, at most.
    analysis : as in `Set`.
    """

    def __init__(self, X: Data, y: np.ndarray, seed: int, tested: int, analysis: Analysis) -> None:
        self.analysis = analysis
        rows = np.random.default_rng(seed).permutation(len(y))
        size = min(ROWS, 2 * len(rows) // 3)
        learned, new = rows[:size], rows[size : size + tested]
        self.X, self.y = taken(X, learned), y[learned]
        known = np.isin(y[new], self.y)
        self.new, self.truth = taken(X, new[known]), y[new[known]]
        self.is_text = isinstance(X, np.ndarray)

    def model(self, **params: Any) -> Any:
        return TextNB(**params, **self.analysis) if self.is_text else AutoBayes(**params)


def taken(X: Data, rows: np.ndarray) -> Data:
    return X[rows] if isinstance(X, np.ndarray) else X.iloc[rows].reset_index(drop=True)


def loss(model: Any, X: Data, y: np.ndarray, shares: dict[Any, float] | None = None) -> float:
    """Log-loss, of rows that are weighted to these shares of the classes."""
    weights = None
    if shares is not None:
        labels, place, counts = np.unique(y, return_inverse=True, return_counts=True)
        weights = np.array([shares[label] for label in labels.tolist()])[place] / counts[place]
    proba = np.clip(model.predict_proba(X), LEAST, 1)
    return float(log_loss(y, proba, labels=model.classes_, sample_weight=weights))


def shares_of(y: np.ndarray) -> dict[Any, float]:
    labels, counts = np.unique(y, return_counts=True)
    return dict(zip(labels.tolist(), (counts / len(y)).tolist(), strict=True))


# ---- duplicates ----------------------------------------------------------------------------------


def repeated(y: np.ndarray, seed: int) -> Iterator[tuple[str, np.ndarray]]:
    """(kind of repetition, the rows of a training set)."""
    draw, every = np.random.default_rng([1, seed]), np.arange(len(y))
    most = np.unique(y, return_counts=True)[1].max()
    own = (np.flatnonzero(y == label) for label in np.unique(y))
    yield "as is", every
    yield "oversampled", np.concatenate([np.r_[k, draw.choice(k, most - len(k))] for k in own])
    yield "bootstrap", draw.choice(every, len(y))
    yield "each twice", np.repeat(every, 2)
    yield "each 1 to 5 times", np.repeat(every, draw.integers(1, 6, len(y)))
    yield "10% duplicates", np.r_[every, draw.choice(every, len(y) // 10)]


def losses(data: Split, seed: int) -> Iterator[tuple[str, list[float]]]:
    """(kind of repetition, log-losses of new rows, by the model of distinct rows, and by folds)."""
    learned, labels, new_rows, truth = data.X, data.y, data.new, data.truth
    if data.is_text:
        unseen = ~np.isin(new_rows, learned)
        new_rows, truth = new_rows[unseen], truth[unseen]
    elif len(learned.select_dtypes("number").columns):
        first = np.flatnonzero(~learned.assign(**{"own label": labels}).duplicated())
        learned, labels = taken(learned, first), labels[first]
    for kind, rows in repeated(labels, seed):
        X, y = taken(learned, rows), labels[rows]
        shares = shares_of(y)
        if len(shares) < len(np.unique(truth)):
            continue  # a bootstrap sample without a class
        model, once = data.model().fit(X, y), np.unique(rows)
        distinct = data.model(prior=shares).fit(taken(learned, once), labels[once])
        scores = cross_validation(model.model_)
        assert scores is not None
        new, right = (loss(one, new_rows, truth, shares) for one in (model, distinct))
        yield kind, [new, right, scores.log_loss]


def duplicates(name: str, whole: Set) -> Iterator[Row]:
    by_kind: dict[str, list[list[float]]] = {}
    for seed in range(whole.splits):
        for kind, found in losses(whole.split(seed, TESTED), seed):
            by_kind.setdefault(kind, []).append(found)
    for kind, every in by_kind.items():
        new, right, folds = np.array(every).T
        figures = [short(one.mean()) for one in (new, right, folds)]
        yield [name, kind, str(len(new)), *figures, ratio(new, right), ratio(folds, new)]


def ratio(a: np.ndarray, b: np.ndarray) -> str:
    """The ratio of the means of two paired samples ± its standard error, by linearisation."""
    value = a.mean() / b.mean()
    error = np.std(a - value * b, ddof=1) / (np.sqrt(len(a)) * b.mean()) if len(a) > 1 else np.nan
    return f"{value:.2f} ± {error:.2f}"


def means(rows: list[Row]) -> Iterator[Row]:
    """The geometric means of the ratios of each kind."""
    for kind in dict.fromkeys(row[1] for row in rows):
        cells = [[cell.split(" ± ") for cell in row[-2:]] for row in rows if row[1] == kind]
        values, errors = np.moveaxis(np.array(cells, float), 2, 0)
        mean = np.exp(np.log(values).mean(axis=0))
        error = mean * np.sqrt(((errors / values) ** 2).sum(axis=0)) / len(values)
        shown = [f"{one:.2f} ± {own:.2f}" for one, own in zip(mean, error, strict=True)]
        yield ["geometric mean", kind, "", "", "", "", *shown]


# ---- missing cells -------------------------------------------------------------------------------


def missing(name: str, whole: Set) -> Iterator[Row]:
    data = whole.split()
    if data.is_text:
        return
    draw, models = np.random.default_rng(2), [AutoBayes(), NaiveBayes()]
    for model in models:
        model.fit(data.X, data.y)
    shares = shares_of(data.y)
    prior = float(np.mean([-np.log(shares[label]) for label in data.truth.tolist()]))
    for share in SHARES:
        for how in ("at random", "columns"):
            shape = data.new.shape if how == "at random" else (1, data.new.shape[1])
            gone = np.broadcast_to(draw.random(shape) < share, data.new.shape)
            X = data.new.astype(object).mask(gone)
            figures = [*(loss(model, X, data.truth) for model in models), prior]
            yield [name, f"{share:.0%} {how}", *map(short, figures)]


# ---- changes that mean nothing -------------------------------------------------------------------


def has_words(column: pd.Series) -> bool:
    """Whether no value is a number: digits under other names would become categories."""
    return bool(pd.to_numeric(column, errors="coerce").isna().all())


def changes(name: str, whole: Set) -> Iterator[Row]:
    data = whole.split()
    numbers = [] if data.is_text else data.X.select_dtypes("number").columns.tolist()
    words = [] if data.is_text else [one for one in data.X.columns if has_words(data.X[one])]

    def same(X: Any) -> Any:
        return X

    def fitted(change: Callable[[Any], Any]) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
        return lambda kind: kind().fit(change(data.X), data.y), change

    def times(factor: float) -> Callable[[pd.DataFrame], pd.DataFrame]:
        return lambda X: X.assign(**{one: X[one] * factor for one in numbers})

    def renamed(X: pd.DataFrame) -> pd.DataFrame:
        other = {one: X[one].map(lambda own: f"{str(own)[::-1]}!", "ignore") for one in words}
        return X.assign(**other)

    def batches(kind: Callable[[], Any]) -> Any:
        found = kind()
        for part in np.array_split(np.arange(len(data.y)), [10, 100, 1000]):
            if len(part):
                found.partial_fit(taken(data.X, part), data.y[part], classes=np.unique(data.y))
        return found

    order = np.random.default_rng(3).permutation(len(data.y))
    labels = np.array([f"{str(one)[::-1]}x" for one in data.y])
    kinds: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
        "rows shuffled": (lambda kind: kind().fit(taken(data.X, order), data.y[order]), same),
        "batches of 10, 90, 900": (batches, same),
        "numbers / 8": fitted(times(0.125)),
        "numbers × 2.54": fitted(times(2.54)),
        "a constant column": fitted(lambda X: X.assign(constant="same")),
        "columns renamed": fitted(lambda X: X.rename(columns=lambda own: f"{str(own)[::-1]}?")),
        "categories renamed": fitted(renamed),
        "classes renamed": (lambda kind: kind().fit(data.X, labels), same),
        "float32 when predicting": (
            lambda kind: kind().fit(data.X, data.y),
            lambda X: X.astype(dict.fromkeys(numbers, np.float32)),
        ),
    }
    models = [data.model] if data.is_text else [AutoBayes, NaiveBayes]
    first = {kind: kind().fit(data.X, data.y) for kind in models}
    for change, (model, changed) in kinds.items():
        if data.is_text and change not in OF_TEXTS:
            continue
        found = []
        for kind in models:
            other, proba = model(kind), first[kind].predict_proba(data.new)
            classes = first[kind].classes_
            if change == "classes renamed":
                proba = proba[:, np.argsort([f"{str(one)[::-1]}x" for one in classes])]
            found.append(f"{np.abs(other.predict_proba(changed(data.new)) - proba).max():.1e}")
        yield [name, change, *found, *["–"] * data.is_text]


# ---- words ---------------------------------------------------------------------------------------


def words(name: str, whole: Set) -> Iterator[Row]:
    data = whole.split()
    if not data.is_text or data.analysis:  # a new word has characters of others
        return
    found = []
    for label in np.unique(data.y):
        X = np.append(data.X, ["zzrare"] * 10)
        model = TextNB().fit(X, np.append(data.y, [label] * 10))
        place = model.classes_.tolist().index(label)
        share = float((np.append(data.y, [label] * 10) == label).mean())
        found.append((float(model.predict_proba(["zzrare"])[0, place]), share))
    proba, share = min(found, key=lambda one: one[0] / one[1])
    yield [name, f"{proba:.3f}", f"{share:.3f}"]


# ---- what is printed -----------------------------------------------------------------------------


SHOWN: dict[str, tuple[Callable[[str, Set], Iterator[Row]], list[str]]] = {
    "duplicates": (
        duplicates,
        ["splits", "new", "distinct", "folds", "new / distinct", "cross-validation / new"],
    ),
    "missing": (missing, ["AutoBayes", "NaiveBayes", "prior"]),
    "changes": (changes, ["AutoBayes, TextNB", "NaiveBayes"]),
    "words": (words, ["P(class)"]),
}
HEADS = {
    "duplicates": "rows",
    "missing": "missing",
    "changes": "change",
    "words": "P(class | word)",
}


def loaded(data: Path, name: str, splits: int) -> Set:
    if name in (*TEXTS, *MORE_TEXTS):
        whole = read(data, name)
        texts = np.array(list(whole.texts), object)
        return Set(texts, np.asarray(whole.labels), splits, ANALYSIS.get(name, {}))
    X, y = suite.TABLES[name.removesuffix(CATEGORIES)](data)
    table = pd.DataFrame(X)
    if name.endswith(CATEGORIES):
        table = table.select_dtypes(exclude="number")
    return Set(table, np.asarray(y), splits)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", default=os.environ.get("NAIVELY_DATA"))
    parser.add_argument("--only", nargs="+", default=[*TABLES, *TEXTS], metavar="NAME")
    parser.add_argument("--parts", nargs="+", default=PARTS, metavar="PART")
    parser.add_argument("--splits", type=int, default=10, help="of duplicates: %(default)s")
    parser.add_argument("--markdown", action="store_true", help="tables for the docs")
    given = parser.parse_args()
    check_folder(parser, given, "tables and texts")
    check_names(parser, "only", given.only, (*TABLES, *TEXTS, *MORE_TEXTS))
    check_names(parser, "parts", given.parts, PARTS)
    sets = {name: loaded(given.data, name, given.splits) for name in given.only}
    console = Console(width=120)
    for part in given.parts:
        measure, columns = SHOWN[part]
        with warnings.catch_warnings(), console.status(part):
            warnings.simplefilter("ignore")  # of copies, which are meant
            rows = [row for name, data in sets.items() for row in measure(name, data)]
        if part == "duplicates" and len(sets) > 1:
            rows += means(rows)
        if rows:
            show(console, part, ["", HEADS[part], *columns], rows, given.markdown)


if __name__ == "__main__":
    main()
