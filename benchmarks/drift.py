"""Do the p-values of `naively.drift` hold on equal data, and does it find what changed?

    NAIVELY_DATA=folder python benchmarks/drift.py [--splits 200] [--only adult]

Real tables and texts are split at random, many times, into rows to learn and new rows: nothing
changed, so a p-value should be below .05 in one of twenty tests, or in fewer. Then one thing is
changed in the new rows of some splits, and it should be found, and ranked first.
"""

from __future__ import annotations

import argparse
import gzip
import json
import lzma
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

import naively
from naively import AutoBayes, NaiveBayes, Text, TextNB
from naively.evaluation.drift.drift import Drift

ADULT = [
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation",
    "relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week",
    "native-country", "income",
]  # fmt: skip
LEVELS = (0.05, 0.01)

Make = Callable[[pa.Table], Any]
Change = Callable[[pa.Table, np.random.Generator], pa.Table]


@dataclass(frozen=True)
class Case:
    """Rows that are split, and the model that learns some of them."""

    name: str
    rows: Callable[[Path], pa.Table]
    make: Make
    learned: int
    new: int


def adult(folder: Path) -> pa.Table:
    """The census table."""
    with gzip.open(folder / "adult/adult-train.csv.gz") as file:
        table = csv.read_csv(file, csv.ReadOptions(column_names=ADULT))
    columns = [
        pc.utf8_trim_whitespace(one) if pa.types.is_string(one.type) else one
        for one in table.columns
    ]
    return pa.table(columns, names=ADULT).rename_columns([*ADULT[:-1], "label"])


def covtype(folder: Path) -> pa.Table:
    """The first 50,000 patches of forest, in a random order."""
    with lzma.open(folder / "covtype/covtype.csv.xz") as file:
        first = b"".join(line for line, _ in zip(file, range(50_000), strict=False))
    table = csv.read_csv(pa.BufferReader(first), csv.ReadOptions())
    return table.rename_columns([*table.column_names[:-1], "label"])


def sms(folder: Path) -> pa.Table:
    """Short messages."""
    lines = (folder / "sms-spam/SMSSpamCollection").read_text("utf-8").split("\n")
    rows = [line.split("\t", 1) for line in lines if line]
    return pa.table({"label": [row[0] for row in rows], "text": [row[1] for row in rows]})


def newsgroups(folder: Path) -> pa.Table:
    """Posts to twenty newsgroups."""
    with lzma.open(folder / "20news-bydate/train.jsonl.xz", "rt", encoding="utf-8") as file:
        posts = [json.loads(line) for line in file]
    return pa.table({name: [post[name] for post in posts] for name in ("label", "text")})


def table(estimator: Any) -> Make:
    """Learn a table."""
    return lambda rows: estimator().fit(rows, "label")


def texts(estimator: Any) -> Make:
    """Learn documents."""
    return lambda rows: estimator().fit(rows["text"], rows["label"])


def gaussian(rows: pa.Table) -> Any:
    """Means and variances of the columns of numbers of the census."""
    numbers = [n for n in rows.column_names if not pa.types.is_string(rows[n].type)]
    return NaiveBayes(columns=dict.fromkeys(numbers, "gaussian")).fit(rows, "label")


CASES = [
    Case("adult, naive", adult, table(NaiveBayes), 3000, 1000),
    Case("adult, naive, more new rows", adult, table(NaiveBayes), 1000, 4000),
    Case("adult, gaussian", adult, gaussian, 2000, 2000),
    Case("adult, weighed", adult, table(AutoBayes), 2000, 1000),
    Case("adult, few rows", adult, table(NaiveBayes), 200, 60),
    Case("covtype, naive", covtype, table(NaiveBayes), 5000, 2000),
    Case("sms, counts of words", sms, table(NaiveBayes), 3500, 2000),
    Case("sms, documents counted", sms, texts(lambda: TextNB("binary")), 3500, 2000),
    Case("sms, documents kept", sms, texts(lambda: TextNB(weights="auto")), 2500, 2500),
    Case("sms, tf-idf", sms, table(lambda: NaiveBayes(columns={"text": Text(weighting="tfidf")})),
         2500, 2500),
    Case("newsgroups, counts of words", newsgroups, texts(TextNB), 2000, 1000),
    Case("newsgroups, documents counted", newsgroups, texts(lambda: TextNB("binary")), 1000, 2000),
]  # fmt: skip


def replaced(name: str, values: Callable[[Any, np.random.Generator], Any]) -> Change:
    """Change one column."""

    def one(rows: pa.Table, generator: np.random.Generator) -> pa.Table:
        at = rows.column_names.index(name)
        known = rows[name].to_numpy(zero_copy_only=False)
        return rows.set_column(at, name, pa.array(values(known, generator)))

    return one


def some(known: Any, generator: np.random.Generator, part: float, value: Any) -> Any:
    """The values with others in some places."""
    return np.where(generator.random(len(known)) < part, value, known)


def richer(rows: pa.Table, generator: np.random.Generator) -> pa.Table:
    """Half of the rows of the rarer class."""
    rich = np.flatnonzero(rows["label"].to_numpy(zero_copy_only=False) == ">50K")
    poor = np.setdiff1d(np.arange(rows.num_rows), rich)[: len(rich)]
    return rows.take(np.concatenate([rich, poor]))


CHANGES: dict[str, tuple[str, Change]] = {
    "people are two years older": ("age", replaced("age", lambda x, _: x + 2)),
    "minutes in place of hours": (
        "hours-per-week", replaced("hours-per-week", lambda x, _: x * 60),
    ),
    "a new level in 2% of rows": (
        "workclass", replaced("workclass", lambda x, g: some(x, g, 0.02, "Freelance")),
    ),
    "a level in place of another": (
        "education", replaced("education", lambda x, _: np.where(x == "HS-grad", "High school", x)),
    ),
    "a column that is empty": ("occupation", replaced("occupation", lambda x, _: [None] * len(x))),
    "1% more are missing": ("age", replaced("age", lambda x, g: some(x, g, 0.01, np.nan))),
    "half of the rows are rich": ("the shares", richer),
}  # fmt: skip


def splits(case: Case, rows: pa.Table, count: int) -> Iterator[tuple[Any, pa.Table]]:
    """(a model, rows that it did not learn), so many times."""
    generator = np.random.default_rng(0)
    for _ in range(count):
        order = generator.permutation(rows.num_rows)[: case.learned + case.new]
        learned, new = order[: case.learned], order[case.learned :]
        yield case.make(rows.take(learned)), rows.take(new)


def drifted(model: Any, new: pa.Table) -> Drift:
    """What is found."""
    document = model.__class__ is TextNB
    return naively.drift(model, new["text"] if document else new.drop_columns(["label"]))


def equal(case: Case, rows: pa.Table, count: int) -> dict[str, str]:
    """How often p-values are below the levels where nothing changed."""
    found = [drifted(*one) for one in splits(case, rows, count)]
    tests = {
        "columns": [one.p_value for each in found for one in each.columns],
        "worst column": _worst(found),
        "rows": [each.row.p_value for each in found],
        "shares": [each.share.p_value for each in found],
        "any": [
            np.nanmin([*(one.adjusted for one in each.columns), each.row_p, each.share_p])
            for each in found
        ],
    }
    return {name: _below(np.array(p)) for name, p in tests.items()}


def changed(case: Case, rows: pa.Table, count: int) -> Iterator[str]:
    """How often what changed is found at level .01, and is the first of the columns."""
    for name, (column, change) in CHANGES.items():
        generator = np.random.default_rng(1)
        found = [drifted(model, change(new, generator)) for model, new in splits(case, rows, count)]
        if column == "the shares":
            hits = [one.share_p < one.level for one in found]
            own = np.array([one.share.estimated[1] for one in found])
            more = f"estimated as {own.mean():.1%} ± {own.std():.1%}"
        else:
            hits = [column in one.drifted for one in found]
            first = np.mean([one.columns[0].name == column for one in found])
            others = np.mean([len({*one.drifted} - {column}) > 0 for one in found])
            more = f"first {first:4.0%}, others too {others:4.0%}"
        yield f"  {name:28} found {np.mean(hits):4.0%}, {more}"


def _worst(found: list[Drift]) -> list[float]:
    """The p-values of the column that is below .05 most often."""
    by_name: dict[str, list[float]] = {}
    for each in found:
        for one in each.columns:
            by_name.setdefault(one.name, []).append(one.p_value)
    return max(by_name.values(), key=lambda p: float((np.array(p) < LEVELS[0]).mean()))


def _below(p: Any) -> str:
    known = p[~np.isnan(p)]
    if not len(known):
        return "·"
    shares = " ".join(f"{float((known < level).mean()):6.1%}" for level in LEVELS)
    return f"{shares} {len(known) / len(p):5.0%}"


def main() -> None:
    """Run all of it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--splits", type=int, default=200)
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    folder = Path(os.environ["NAIVELY_DATA"])
    print("p-values below .05 and .01, which should be 5% and 1%; tests that have one")
    kept: dict[Any, pa.Table] = {}
    for case in CASES:
        if asked.only not in case.name:
            continue
        rows = kept.setdefault(case.rows, case.rows(folder))
        print(f"\n{case.name}: {case.learned:,} learned, {case.new:,} new, {asked.splits} times")
        for name, said in equal(case, rows, asked.splits).items():
            print(f"  {name:14}{said}", flush=True)
    for case in CASES:
        if case.name in ("adult, naive", "adult, weighed") and asked.only in case.name:
            print(f"\n{case.name}: changed")
            for line in changed(case, kept[case.rows], max(asked.splits // 10, 5)):
                print(line, flush=True)


if __name__ == "__main__":
    main()
