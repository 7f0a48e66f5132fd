"""How much the assignment of rows to folds moves the answers of AutoBayes.

    NAIVELY_DATA=folder python benchmarks/stability.py            # about two minutes
    python benchmarks/stability.py --data folder --only wine car --splits 2 --assignments 8

Of each split of a table, 60% of the rows are learned (of car 800, of sick 2,000), several times:
the rows are the same, but assigned to folds differently. Shown are the log-loss of the other rows
in nats, its standard deviation over assignments as a share of it, the log-loss of the mean of the
probabilities of all assignments, that of cross-validation, and processor seconds of one fit and
prediction. No option changes the assignment: this script patches the order in which rows are
assigned.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import suite
from rich.console import Console
from shown import check_folder, check_names, show

from naively import AutoBayes
from naively.core.hashing import mixed
from naively.pooling import canonical

TABLES = (
    "breast-cancer", "glass", "ionosphere", "pima", "sonar", "vote", "wine", "zoo", "titanic-891",
    "car", "sick",
)  # fmt: skip
LEARNED = {"car": 800, "sick": 2000}
LEAST = 1e-15  # probabilities below count as this much

in_order = canonical._order


def assigned(salt: int) -> None:
    """Order rows, and so assign them to folds, by another hash."""
    canonical._order = lambda keys, count: in_order(mixed(keys + np.uint64(salt)), count)


def lost(proba: np.ndarray, y: np.ndarray) -> float:
    """Log-loss; `y` are columns of `proba`, -1 for a class that was not learned."""
    hit = np.where(y < 0, 0.0, proba[np.arange(len(y)), y])
    return float(-np.log(np.clip(hit, LEAST, 1)).mean())


def measured(name: str, given: argparse.Namespace) -> tuple[float, ...]:
    """What is shown of a table, but its name: see above."""
    X, labels = suite.TABLES[name](given.data)
    losses, together, left_out, seconds = [], [], [], []
    for split in range(given.splits):
        rows = np.random.default_rng(split).permutation(len(labels))
        learned, new = np.split(rows, [LEARNED.get(name, int(0.6 * len(rows)))])
        probas = []
        for salt in range(1, given.assignments + 1):
            assigned(salt)
            start = time.process_time()
            model = AutoBayes(n_jobs=1).fit(X.iloc[learned], labels[learned])
            probas.append(model.predict_proba(X.iloc[new]))
            seconds.append(time.process_time() - start)
            left_out.append(model.model_.posterior().parameters.out_of_fold.log_loss)
        place = {label: k for k, label in enumerate(model.classes_)}
        y = np.array([place.get(label, -1) for label in labels[new]])
        losses.append([lost(proba, y) for proba in probas])
        together.append(lost(np.mean(probas, axis=0), y))
    mean, variance = np.mean(losses), np.var(losses, axis=1, ddof=1).mean()
    return (
        mean, np.sqrt(variance) / mean, np.mean(together), np.mean(left_out), np.median(seconds),
    )  # fmt: skip


def rows_of(given: argparse.Namespace) -> Iterator[list[str]]:
    found = []
    for name in given.only:
        found.append(measured(name, given))
        mean, deviation, together, left_out, seconds = found[-1]
        yield [name, f"{mean:.4f}", f"{deviation:.1%}", f"{together:.4f}", f"{left_out:.4f}",
               f"{seconds:.3f}"]  # fmt: skip
    values = np.array(found)
    means = np.exp(np.log(values[:, [0, 2, 3]]).mean(axis=0))
    yield ["geometric mean, median", f"{means[0]:.4f}", f"{np.median(values[:, 1]):.1%}",
           f"{means[1]:.4f}", f"{means[2]:.4f}", f"{values[:, 4].mean():.3f}"]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("NAIVELY_DATA"), help="folder of the tables"
    )
    parser.add_argument("--only", nargs="+", metavar="TABLE", help="only these tables")
    parser.add_argument("--splits", type=int, default=4, help="of each table, %(default)s")
    parser.add_argument("--assignments", type=int, default=4, help="to folds, %(default)s")
    parser.add_argument("--markdown", action="store_true", help="print a table for the docs")
    given = parser.parse_args()
    check_folder(parser, given, "tables")
    given.only = given.only or list(TABLES)
    check_names(parser, "only", given.only, suite.TABLES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rows that are duplicates
        rows = list(rows_of(given))
    title = "AutoBayes, several assignments of the same rows to folds"
    columns = ["table", "log-loss", "deviation", "mean of probabilities", "cross-validation", "s"]
    show(Console(width=200), title, columns, rows, given.markdown)


if __name__ == "__main__":
    main()
