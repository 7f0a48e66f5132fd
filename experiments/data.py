"""Read the public data sets of the experiments, and show results.

The sets themselves are no part of the project. `--data`, or the variable NAIVELY_DATA, names the
folder that holds them: as they were published, or a JSON object a document. With `--small` an
experiment takes what scikit-learn bundles instead, and needs no folder.
"""

from __future__ import annotations

import argparse
import gzip
import json
import lzma
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.resources import files as resources
from pathlib import Path
from typing import Any

import numpy as np
import rich.box
from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Texts:
    """Documents and their labels, in the order of the files.

    Attributes
    ----------
    texts : (n,) object array of str
    labels, ids : (n,) arrays of str; ids are empty where the set has none.
    """

    texts: np.ndarray
    labels: np.ndarray
    ids: np.ndarray

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, rows: Any) -> Texts:
        return Texts(self.texts[rows], self.labels[rows], self.ids[rows])

    def __add__(self, other: Texts) -> Texts:
        pairs = ((getattr(self, name), getattr(other, name)) for name in ("texts", "labels", "ids"))
        return Texts(*map(np.concatenate, pairs))

    def mapped(self, change: Callable[[str], str]) -> Texts:
        """The same with each document changed."""
        return Texts(column(map(change, self.texts)), self.labels, self.ids)


def column(texts: Iterable[str]) -> np.ndarray:
    """An array of the strings as they are."""
    return np.fromiter(texts, object)


# A file of documents with labels; or a file of documents for each label, one a line.
SETS: dict[str, str | dict[str, str]] = {
    "20news-19997": "20news-19997/all.jsonl.xz",
    "20news-bydate, train": "20news-bydate/train.jsonl.xz",
    "20news-bydate, test": "20news-bydate/test.jsonl.xz",
    **{f"enron{k}": f"enron-spam/enron{k}.jsonl.xz" for k in range(1, 7)},
    "names-gender": {"female": "names-gender/female.txt", "male": "names-gender/male.txt"},
    "reuters-r8, train": "reuters-r8/train.txt.gz",
    "reuters-r8, test": "reuters-r8/test.txt.gz",
    "rt-polarity": {"neg": "rt-polarity/rt-polarity.neg", "pos": "rt-polarity/rt-polarity.pos"},
    "sms-spam": "sms-spam/SMSSpamCollection",
    "subj": {"plot": "subj/plot.tok.gt9.5000", "quote": "subj/quote.tok.gt9.5000"},
    "webkb-stemmed, train": "webkb-stemmed/train.txt.gz",
    "webkb-stemmed, test": "webkb-stemmed/test.txt.gz",
}


def files(data: Path, name: str) -> dict[str, Path]:
    """The files of a set, and the label of each if it has one."""
    found = SETS[name]
    labelled = {"": found} if isinstance(found, str) else found
    return {label: data / file for label, file in labelled.items()}


def there(data: Path) -> list[str]:
    """The sets whose files are in the folder."""
    found = [name for name in SETS if all(path.exists() for path in files(data, name).values())]
    if not found:
        raise FileNotFoundError(f"none of the data sets is in {data}: {', '.join(SETS)}")
    return found


def read(data: Path, name: str) -> Texts:
    """One of the sets."""
    rows: list[tuple[str, str, str]] = []
    for label, path in files(data, name).items():
        open_file = {".xz": lzma.open, ".gz": gzip.open}.get(path.suffix, open)
        with open_file(path, "rt", encoding="utf-8", newline="\n") as file:
            lines = [line.removesuffix("\n") for line in file]
        if label:
            rows += [(line, label, "") for line in lines]
        elif path.suffix == ".xz":
            rows += [(row["text"], row["label"], row["id"]) for row in map(json.loads, lines)]
        else:
            rows += [(text, label, "") for label, text in (line.split("\t", 1) for line in lines)]
    texts, labels, ids = zip(*rows, strict=True)
    return Texts(column(texts), np.array(labels), np.array(ids))


TABLES = ("breast", "california", "covtype", "diabetes", "iris", "kddcup99", "linnerud", "wine")


def bundled_texts(tables: str | None = None, others: str | None = None) -> Texts:
    """The paragraphs of scikit-learn's descriptions of data sets, in a fixed random order.

    Labels are the names of the data sets; or, if they are given, `tables` for those of tables and
    `others` for those of texts, pictures and species. Ids are the numbers of the order.
    """
    found: list[tuple[str, str]] = []
    for file in sorted(resources("sklearn.datasets.descr").iterdir(), key=lambda file: file.name):
        name = file.name.removesuffix(".rst")
        label = tables if name.startswith(TABLES) else others
        paragraphs = re.split(r"\n\s*\n", file.read_text("utf-8")) if name != file.name else []
        found += [(text, label or name) for text in paragraphs if text.strip()]
    texts, labels = zip(*found, strict=True)
    order = np.random.default_rng(0).permutation(len(texts))
    return Texts(column(texts)[order], np.array(labels)[order], np.arange(len(order)).astype(str))


def arguments(description: str, small: str, splits: int = 0) -> argparse.Namespace:
    """`data`, a folder; `small`, whether to take what scikit-learn bundles; `images`, a folder.

    And `splits`, how many random splits to take, if it is said how many are usual.
    """
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("NAIVELY_DATA"), help="folder of the data sets"
    )
    parser.add_argument("--small", action="store_true", help=f"{small}; no folder is needed")
    parser.add_argument("--images", type=Path, help="folder for pictures (needs naively[plot])")
    if splits:
        parser.add_argument("--splits", type=int, default=splits, help="how many (%(default)s)")
    found = parser.parse_args()
    if not found.data and not found.small:
        parser.error("name the folder of the data sets with --data or NAIVELY_DATA")
    if splits and found.splits < 1:
        parser.error(f"--splits must be 1 or more, not {found.splits}")
    if found.data:
        found.data = Path(found.data)
        if not (found.small or found.data.is_dir()):
            parser.error(f"there is no folder {found.data}")
    if found.images:
        found.images.mkdir(parents=True, exist_ok=True)
    return found


def show(title: str, columns: list[str], rows: list[list[Any]]) -> None:
    """Print a table in Markdown."""
    table = Table(box=rich.box.MARKDOWN)
    for k, name in enumerate(columns):
        number = re.fullmatch(r"[-+]?[\d.,]+", str(rows[0][k]))
        table.add_column(name, justify="right" if number else "left", no_wrap=True)
    for row in rows:
        table.add_row(*(f"{cell:.2f}" if isinstance(cell, float) else str(cell) for cell in row))
    print(f"\n{title}\n")
    Console(width=200).print(table)
