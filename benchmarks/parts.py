"""What named parts of a model take in its file, in bytes: the table of docs/forgetting.md.

NAIVELY_DATA=folder python benchmarks/parts.py
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from naively import AutoBayes, NaiveBayes, TextNB
from naively.storage.model_files import load

Parts = Iterator[tuple[str, Any, Any]]
"""(name, X, y) of each part."""


def adult(folder: Path) -> Parts:
    """The rows of each country, the largest part first."""
    table = pd.read_csv(folder / "adult/adult-train.csv.gz", header=None, skipinitialspace=True)
    table = table.rename(columns=str)
    for country in table["13"].value_counts().index:
        rows = table[table["13"] == country]
        yield f"country={country}", rows.drop(columns="14"), rows["14"]


def messages(folder: Path) -> Parts:
    """50 parts, one message after the other."""
    lines = (folder / "sms-spam/SMSSpamCollection").read_text("utf-8").split("\n")[:-1]
    labels, texts = np.array([line.split("\t", 1) for line in lines], object).T
    for part in range(50):
        yield f"part={part}", texts[part::50].tolist(), labels[part::50]


def main() -> None:
    folder = Path(os.environ["NAIVELY_DATA"])
    print("| model | parts | smallest part | part in the middle | largest part |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for said, model, parts in (
        ("adult, `NaiveBayes()`, a part a country", NaiveBayes(), adult(folder)),
        ("adult, `AutoBayes()`", AutoBayes(), adult(folder)),
        ("SMS, `TextNB(weights=None)`, 50 parts", TextNB(weights=None), messages(folder)),
        ("SMS, `TextNB()`: words weighed, 50 parts", TextNB(), messages(folder)),
    ):
        for name, X, y in parts:
            model.partial_fit(X, y, part=name)
        with tempfile.TemporaryDirectory() as place:
            model.save(path := Path(place) / "m")
            known = [(len(one.content), one.rows) for one in load(path).parts.values()]
        known.sort()
        shown = [
            f"{size:,} ({rows:,.0f} row{'s' * (rows != 1)})"
            for size, rows in (known[0], known[len(known) // 2], known[-1])
        ]
        print(f"| {said} | {len(known)} | {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    main()
