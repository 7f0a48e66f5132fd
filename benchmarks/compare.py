"""Learning curves as `naively compare` makes them, and by refitting scikit-learn at each size.

    NAIVELY_DATA=folder python benchmarks/compare.py             # adult
    python benchmarks/compare.py --data table.csv --target y     # a table of yours

The same splits and sizes, each model asked for probabilities of the same rows. A larger training
set is a sum of smaller ones here, and rows are encoded once; scikit-learn fits anew. It has no
naive Bayes for mixed columns, so two of its models stand for it: CategoricalNB of all columns,
numbers cut at their deciles; and GaussianNB of the columns of numbers alone. All begin with the
same table in memory, and run in turn; the figures are medians of seconds on the clock and of
processor time.
"""

from __future__ import annotations

import argparse
import gzip
import io
import os
import statistics
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.csv
from rich.console import Console
from rich.table import Table
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OrdinalEncoder

from naively.core.workers import workers
from naively.evaluation.alternatives import alternatives
from naively.evaluation.compare import examine
from naively.evaluation.learning_curves import Splits, Trial, growing
from naively.evaluation.model_ladder import kinds, ladder
from naively.evaluation.samples import LabelledRows, of_table
from naively.io.inputs import MISSING
from naively.tables.inference import ColumnOptions, infer

ADULT = [
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation",
    "relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week",
    "native-country", "income",
]  # fmt: skip
FOLDS = 5


def adult() -> LabelledRows:
    path = Path(os.environ["NAIVELY_DATA"]) / "adult" / "adult-train.csv.gz"
    text = gzip.decompress(path.read_bytes()).replace(b", ", b",")
    options = pyarrow.csv.ReadOptions(column_names=ADULT)
    return of_table(pyarrow.csv.read_csv(io.BytesIO(text), options), "income", 0, MISSING)


def theirs(rows: LabelledRows, splits: Splits) -> dict:
    """A function for each model of scikit-learn that makes its whole curve."""
    table = rows.table.to_pandas()
    numbers = list(table.select_dtypes("number"))
    levels = [name for name in table if name not in numbers]
    deciles = KBinsDiscretizer(10, encode="ordinal", quantile_method="averaged_inverted_cdf")
    cut = make_pipeline(SimpleImputer(strategy="median"), deciles)
    codes = OrdinalEncoder(categories=[sorted(table[name].unique()) for name in levels])
    most = [10] * len(numbers) + [table[name].nunique() for name in levels]
    columns = ColumnTransformer([("numbers", cut, numbers), ("levels", codes, levels)])
    models = {
        "CategoricalNB, deciles": (
            make_pipeline(columns, CategoricalNB(min_categories=most)),
            table,
        ),
        "GaussianNB, numbers only": (GaussianNB(), table[numbers]),
    }

    def curve(model: object, X: pd.DataFrame) -> None:
        for steps, test in zip(splits.steps, splits.tests, strict=True):
            for size in range(len(splits.sizes)):
                parts = np.concatenate(steps[: size + 1])
                train = np.concatenate([splits.parts[part] for part in parts])
                fitted = clone(model).fit(X.iloc[train], rows.codes[train])
                fitted.predict_proba(X.iloc[test])

    return {name: (lambda pair=pair: curve(*pair)) for name, pair in models.items()}


def main() -> None:
    warnings.simplefilter("ignore", UserWarning)  # deciles that fall together
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="a CSV file instead of adult")
    parser.add_argument("--target", help="its column of classes")
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    if given.data:
        rows = of_table(pyarrow.csv.read_csv(given.data), given.target, 0, MISSING)
    else:
        rows = adult()
    rule = infer(ColumnOptions({}), rows.table, (rows.classes, rows.codes))
    splits = Splits(rows.codes, FOLDS, growing(rows.codes, FOLDS))
    rungs = ladder(rule, *kinds(rule, ColumnOptions({}), rows), len(rows.classes))
    naive = [rung for rung in rungs if rung.naive]

    def ours() -> None:
        Trial(rows, rule, splits, workers(None)).curves(naive)

    cases = {f"naively: {len(naive)} naive rungs": ours}
    cases |= {f"scikit-learn: {name}": run for name, run in theirs(rows, splits).items()}
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in cases}
    for case in cases.values():
        case()  # compiles
    for _ in range(given.runs):
        for name, case in cases.items():
            start, cpu = time.perf_counter(), time.process_time()
            case()
            taken[name].append((time.perf_counter() - start, time.process_time() - cpu))
    found = {
        name: tuple(statistics.median(each) for each in zip(*own, strict=True))
        for name, own in taken.items()
    }
    start = time.perf_counter()
    examine(rows, ColumnOptions({}), alternatives([]), FOLDS, 0)
    whole = time.perf_counter() - start
    out = Table("curve", "seconds", "processor", title=f"{len(rows.codes):,} rows, {splits.sizes}")
    for name, (wall, cpu) in found.items():
        out.add_row(name, f"{wall:.3f}", f"{cpu:.3f}")
    Console().print(out)
    (first, *others) = found.items()
    for name, own in others:
        ratios = (len(naive) * theirs / ours for theirs, ours in zip(own, first[1], strict=True))
        print(
            "{}: {:.1f} times a naive rung of ours, {:.1f} in processor time".format(name, *ratios)
        )
    print(f"naively.compare, logistic regression and the other rungs included: {whole:.1f} s")


if __name__ == "__main__":
    main()
