"""AutoBayes on whole tables: seconds, memory, one row forgotten, and abstention.

    NAIVELY_DATA=folder python benchmarks/whole.py                 # two minutes
    NAIVELY_DATA=folder python benchmarks/whole.py --only unsure

`learn` learns the training file of adult, and all of covtype, in processes of their own, and
predicts all rows; `forget` forgets one row of adult and predicts a half, beside gradient boosting
that is fitted again without the row; `unsure` leaves out a fifth of three tables, and of those rows
the ones that no class is so probable of. `shuffles` is `AutoBayes` beside `NaiveBayes` on zoo, in
five folds of ten shuffles.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import suite
from measuring import crossed
from peers import METHODS
from shown import check_folder
from sklearn.model_selection import StratifiedKFold

from naively import AutoBayes

LEARNED = {"adult": suite.adult_train, "covtype": suite.TABLES["covtype"]}
RUNS = 5
SURE = 0.8, 0.9, 0.99


def folds(seed: int) -> StratifiedKFold:
    return StratifiedKFold(5, shuffle=True, random_state=seed)


def learn(data: Path) -> None:
    for name in LEARNED:
        child = multiprocessing.get_context("spawn").Process(target=learned, args=(name, data))
        child.start()
        child.join()


def learned(name: str, data: Path) -> None:
    X, y = LEARNED[name](data)
    few = np.arange(0, len(y), 500)
    AutoBayes().fit(X.iloc[few], y[few]).predict_proba(X.iloc[few])  # imports what it needs
    begun = time.perf_counter()
    model = AutoBayes().fit(X, y)
    fitted = time.perf_counter()
    model.predict_proba(X)
    ended = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{name}, {len(y):,} x {X.shape[1]}: fitted in {fitted - begun:.2f} s, all predicted "
        f"in {ended - fitted:.2f}; {peak:,.0f} MB"
    )


def forget(data: Path) -> None:
    X, y = suite.adult_train(data)
    half, codes = X[: len(X) // 2], np.unique(y, return_inverse=True)[1]
    peer = METHODS["HistGradientBoosting"]
    prepared, model = peer.prepare(X), AutoBayes().fit(X, y)
    model.predict_proba(half)
    taken = {"forgotten and predicted": [], "fitted again and predicted": []}
    for k in range(RUNS):
        begun = time.perf_counter()
        model.forget(X[k : k + 1], y[k : k + 1]).predict_proba(half)
        ended = time.perf_counter()
        taken["forgotten and predicted"].append(ended - begun)
        peer.make().fit(prepared[k + 1 :], codes[k + 1 :]).predict_proba(prepared[: len(half)])
        taken["fitted again and predicted"].append(time.perf_counter() - ended)
    for what, seconds in taken.items():
        print(f"adult, one row {what}: {np.median(seconds):.2f} s")


def unsure(data: Path) -> None:
    print("| table | sure is | left unsure | error of the others | as they say |")
    print("| --- | --: | --: | --: | --: |")
    for name in ("adult", "covtype", "letter"):
        X, y = suite.TABLES[name](data)
        train, test = next(folds(0).split(X, y))
        model = AutoBayes().fit(X.iloc[train], y[train])
        proba = model.predict_proba(X.iloc[test])
        sure, wrong = proba.max(axis=1), model.classes_[proba.argmax(axis=1)] != y[test]
        for least in SURE:
            known = sure >= least
            print(
                f"| {name} | {least} | {1 - known.mean():.1%} | {wrong[known].mean():.2%} "
                f"| {1 - sure[known].mean():.2%} |"
            )


def shuffles(data: Path) -> None:
    X, y = suite.TABLES["zoo"](data)
    losses = pd.DataFrame([
        {
            name: crossed(METHODS[name], X, y, [*folds(seed).split(X, y)], np.inf)["log_loss"]
            for name in ("AutoBayes", "NaiveBayes")
        }
        for seed in range(10)
    ])  # fmt: skip
    ratio = losses["AutoBayes"] / losses["NaiveBayes"]
    mean = losses["AutoBayes"].mean() / losses["NaiveBayes"].mean()
    print(f"zoo, AutoBayes / NaiveBayes: {mean:.2f} ({ratio.min():.2f} to {ratio.max():.2f})")


STEPS = {"learn": learn, "forget": forget, "unsure": unsure, "shuffles": shuffles}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("NAIVELY_DATA"))
    parser.add_argument("--only", choices=STEPS, nargs="+", default=[*STEPS])
    given = parser.parse_args()
    check_folder(parser, given, "tables")
    warnings.simplefilter("ignore")
    for name in given.only:
        STEPS[name](given.data)


if __name__ == "__main__":
    main()
