"""Text to a trained model and text to predictions: naively and its peers in one run.

    python benchmarks/text.py --data FOLDER                 # 200 MB of text
    python benchmarks/text.py --megabytes 10 --only words   # a quick look

Real mail, posts and reviews, over and over until there is enough; the class is where a text comes
from. The items take turns, run after run, so what else the machine does hits all alike; figures
are medians (and the least). MB are 10^6 bytes of the texts in UTF-8, whatever the file around
them. `x` is the time relative to the first row of the group. The texts that were learned are
predicted, so `right` only shows that an item learned; `agree` is how often it predicts what the
first row of the group does.

Items of `files` run in a process of their own, file to model file to predictions. `whole command`
counts all of it, the start of Python and the imports too; `warm` is the same command in a Python
that has just run it on a small file. Vowpal Wabbit (its default 18 bits, one pass) and fastText
have only Python bindings here and are timed after their import; they read files in their own
formats, whose making is not counted, and split at spaces only. fastText's prediction is its
`test`, which writes nothing.

Peers: pip install vowpalwabbit fasttext-numpy2-wheel. What is not there is said to be missing.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import lzma
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import rich.box
from rich.console import Console
from rich.table import Table
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

import naively

CYRILLIC = {ord("a") + k: 0x430 + k for k in range(26)}
CYRILLIC |= {ord("A") + k: 0x410 + k for k in range(26)}
NAIVELY = [sys.executable, "-c", "from naively.cli.main import main; main()"]
PROCESS = """
import json, sys, time
{setup}
start = time.perf_counter()
result = {code}
print("\\n" + json.dumps([time.perf_counter() - start, result]))
"""
# a small process between: a child's peak counts what its parent held when it was forked
LAUNCHER = """
import json, resource, subprocess, sys, time
start = time.perf_counter()
run = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
print(json.dumps([seconds, peak, run.returncode, run.stdout.decode(errors="replace")]))
"""


def documents(data: Path) -> Iterator[tuple[str, str]]:
    """(text, label) of all there is."""
    for path in sorted(data.glob("20news-*/*.jsonl.xz")) + sorted(data.glob("enron-spam/*.xz")):
        prefix = "enron-" if path.parent.name == "enron-spam" else ""
        with lzma.open(path, "rt", encoding="utf-8") as file:
            for row in map(json.loads, file):
                yield row["text"], prefix + row["label"]
    for path in sorted(data.glob("rt-polarity/rt-polarity.*")) + sorted(data.glob("subj/*.5000")):
        encoding = "latin-1" if path.parent.name == "subj" else "utf-8"
        for line in path.read_text(encoding).split("\n")[:-1]:
            yield line, path.name
    for label, text in messages(data):
        yield text, f"sms-{label}"


def messages(data: Path) -> list[list[str]]:
    lines = (data / "sms-spam" / "SMSSpamCollection").read_text("utf-8").split("\n")
    return [line.split("\t", 1) for line in lines if line]


def mixed(number: int, text: str) -> str:
    """Every 20th word in other letters."""
    words = text.split(" ")
    words[number % 20 :: 20] = [word.translate(CYRILLIC) for word in words[number % 20 :: 20]]
    return " ".join(words)


class Corpus:
    """So many bytes of documents, and the files of them, written when first asked for."""

    def __init__(self, texts: list[str], labels: list[str], size: float, folder: Path):
        lengths = [len(text.encode()) for text in texts]
        times = 1 + int(size / sum(lengths))
        ends = np.cumsum(lengths * times)
        rows = 1 + int(np.searchsorted(ends, size))
        self.bytes = int(ends[rows - 1])
        self.texts = (texts * times)[:rows]
        self.labels = np.array((labels * times)[:rows])
        self.characters = sum(map(len, self.texts))
        self.arrow = pa.array(self.texts)
        self.classes = sorted(set(labels))
        self.folder = folder
        folder.mkdir(parents=True)

    def file(self, kind: str) -> str:
        """The path of the documents as jsonl, parquet, vw, fasttext or txt."""
        path = self.folder / f"texts.{kind}"
        number = {label: k + 1 for k, label in enumerate(self.classes)}
        if path.exists():
            return str(path)
        if kind == "parquet":
            pa.parquet.write_table(pa.table({"text": self.arrow, "label": self.labels}), path)
            return str(path)
        with path.open("w", encoding="utf-8", newline="\n") as file:
            for text, label in zip(self.texts, self.labels.tolist(), strict=True):
                line = text.replace("\n", " ").replace("\r", " ")  # one document a line
                if kind == "jsonl":
                    line = json.dumps({"text": text, "label": label}, ensure_ascii=False)
                elif kind == "vw":
                    line = f"{number[label]} | {line.replace('|', ' ').replace(':', ' ')}"
                elif kind == "fasttext":
                    line = f"__label__{label} {line}"
                file.write(line + "\n")
        return str(path)


@dataclass
class Measured:
    """Seconds of one run, peak MB of the process that learned, and what came out."""

    fit: float
    predict: float | None = None
    predicted: Any = None
    right: float | None = None
    peak: float | None = None
    model: Any = None


def settle() -> None:
    """Take and free some memory: a virtual machine's host may have taken the free pages back, and
    fetching them again would count for whoever comes first.
    """
    gc.collect()
    np.ones(2**27)  # 1 GiB


def clock(call: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    result = call()
    return result, time.perf_counter() - start


def learner(make: Callable[[], Any], corpus: Corpus, arrow: bool = False) -> Measured:
    """A model in this process, from Python strings or Arrow's."""
    texts = corpus.arrow if arrow else corpus.texts
    settle()
    model, fit = clock(lambda: make().fit(texts, corpus.labels))
    settle()
    predicted, predict = clock(lambda: model.predict(texts))
    return Measured(fit, predict, predicted, model=model)


def ours(arrow: bool = True, **parameters: Any) -> Callable[[Corpus], Measured]:
    return partial(learner, lambda: naively.TextNB(weights=None, **parameters), arrow=arrow)


def peer(vectorizer: type, **parameters: Any) -> Callable[[Corpus], Measured]:
    if vectorizer is HashingVectorizer:  # counts, as the others have
        parameters |= {"alternate_sign": False, "norm": None}
    return partial(learner, lambda: make_pipeline(vectorizer(**parameters), MultinomialNB()))


def process(command: list[str], **environment: str) -> tuple[float, float, str]:
    """Seconds and peak MB of a command, and what it printed."""
    settle()
    run = subprocess.run(
        [sys.executable, "-c", LAUNCHER, *command],
        env={**os.environ, **environment}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    seconds, peak, code, output = json.loads(run.stdout)
    if code:
        raise SystemExit(f"{command}\n{output}")
    return seconds, peak, output


def inside(setup: str, code: str, **environment: str) -> tuple[float, float, Any, str]:
    """Seconds of an expression in a Python of its own, its peak MB, the result, the output."""
    script = PROCESS.format(setup=setup, code=code)
    _, peak, output = process([sys.executable, "-c", script], **environment)
    seconds, result = json.loads(output.rstrip().rsplit("\n", 1)[-1])
    return seconds, peak, result, output


def command(corpus: Corpus, kind: str, warm: bool) -> Measured:
    """`naively fit` and `naively predict`."""
    model, out = (str(corpus.folder / name) for name in ("model.naively", "out.csv"))

    def run(*before: str, after: list[str]) -> tuple[float, float]:
        tokens = [*before, corpus.file(kind), *after]
        if not warm:
            return process([*NAIVELY, *tokens])[:2]
        few = [*before, corpus.few.file(kind), *after]
        setup = f"from naively.cli.main import run\nrun({few})"
        seconds, peak, code, output = inside(setup, f"run({tokens})")
        if code:
            raise SystemExit(output)
        return seconds, peak

    fit, peak = run("fit", after=["--text", "text", "--target", "label", "-o", model])
    predict, _ = run("predict", model, after=["--only", "-o", out])
    return Measured(
        fit, predict, np.array(Path(out).read_text("utf-8").split("\n")[1:-1]), peak=peak
    )


def vowpal(corpus: Corpus, *more: str) -> Measured:
    """One pass, a weight vector for each class against the rest."""
    model, out = (str(corpus.folder / name) for name in ("model.vw", "out.vw"))
    call = "vowpalwabbit.Workspace(arg_list={!r}).finish()"
    learn = ["-d", corpus.file("vw"), "--passes", "1", "--oaa", str(len(corpus.classes)), *more]
    fit, peak, _, said = inside("import vowpalwabbit", call.format([*learn, "-f", model]))
    assert f"number of examples = {len(corpus.texts)}\n" in said, said
    score = ["-d", corpus.file("vw"), "-t", "-i", model, "-p", out, "--quiet"]
    predict, *_ = inside("import vowpalwabbit", call.format(score))
    numbers = np.array(Path(out).read_text().split(), dtype=float).astype(int)
    return Measured(fit, predict, np.array(corpus.classes)[numbers - 1], peak=peak)


def fasttext(corpus: Corpus, **parameters: int) -> Measured:
    """One epoch, two threads, ten dimensions."""
    model, path = str(corpus.folder / "model.bin"), corpus.file("fasttext")
    parameters |= {"epoch": 1, "thread": 2, "dim": 10, "verbose": 0}
    learn = f"fasttext.train_supervised({path!r}, **{parameters}).save_model({model!r})"
    fit, peak, *_ = inside("import fasttext", learn)
    score = f"fasttext.load_model({model!r}).test({path!r})"
    predict, _, (read, right, _), _ = inside("import fasttext", score)
    assert read == len(corpus.texts), read
    return Measured(fit, predict, right=right, peak=peak)


def wc(corpus: Corpus, locale: str) -> Measured:
    """Only counts words: what reading a text costs."""
    seconds, peak, _ = process(["wc", "-w", corpus.file("txt")], LC_ALL=locale)
    return Measured(seconds, peak=peak)


VARIETIES = {"plain": lambda _, text: text, "Cyrillic": lambda _, text: text.translate(CYRILLIC),
             "mixed": mixed}  # fmt: skip
BIGRAMS: dict = {"ngram_range": (1, 2)}
HASHED = {"n_features": 2**20}
ARROW, COUNT, HASH = "naively, Arrow", "sklearn CountVectorizer", "sklearn HashingVectorizer"
ITEMS: list[tuple[str, str, Callable[[Corpus], Measured]]] = [
    ("words", ARROW, ours()),
    ("words", "naively, list of str", ours(arrow=False)),
    ("words", COUNT, peer(CountVectorizer)),
    ("binary", ARROW, ours(event="binary")),
    ("binary", COUNT, peer(CountVectorizer, binary=True)),
    ("hashed", ARROW, ours(**HASHED)),
    ("hashed", HASH, peer(HashingVectorizer, **HASHED)),
    ("bigrams", ARROW, ours(**BIGRAMS)),
    ("bigrams", COUNT, peer(CountVectorizer, **BIGRAMS)),
    ("hashed bigrams", ARROW, ours(**BIGRAMS, **HASHED)),
    ("hashed bigrams", HASH, peer(HashingVectorizer, **BIGRAMS, **HASHED)),
    ("Cyrillic", ARROW, ours()),
    ("Cyrillic", COUNT, peer(CountVectorizer)),
    ("mixed", ARROW, ours()),
    ("mixed", COUNT, peer(CountVectorizer)),
    ("files", "naively JSONL, whole command", partial(command, kind="jsonl", warm=False)),
    ("files", "naively JSONL, warm", partial(command, kind="jsonl", warm=True)),
    ("files", "naively Parquet, whole command", partial(command, kind="parquet", warm=False)),
    ("files", "naively Parquet, warm", partial(command, kind="parquet", warm=True)),
    ("files", "Vowpal Wabbit", vowpal),
    ("files", "Vowpal Wabbit, bigrams", lambda corpus: vowpal(corpus, "--ngram", "2")),
    ("files", "fastText", fasttext),
    ("files", "fastText, bigrams", lambda corpus: fasttext(corpus, wordNgrams=2)),
    ("files", "wc -w, C.UTF-8", partial(wc, locale="C.UTF-8")),
    ("files", "wc -w, C", partial(wc, locale="C")),
]


def needed(label: str) -> str:
    """The module that an item is of."""
    modules = {"Vowpal Wabbit": "vowpalwabbit", "fastText": "fasttext"}
    return modules.get(label.split(",")[0], "naively")


def row(runs: list[Measured], first: list[Measured] | None, corpus: Corpus) -> list[str]:
    """The cells of an item, `first` being the results of its group's first one."""
    cells = []
    for field in ("fit", "predict"):
        seconds = [getattr(run, field) for run in runs]
        if None in seconds:
            cells += ["-"] * 3
            continue
        middle = statistics.median(seconds)
        times = middle / statistics.median(getattr(run, field) for run in first or runs)
        cells += [f"{middle:.3f} ({min(seconds):.3f})", f"{corpus.bytes / 1e6 / middle:.1f}"]
        cells.append(f"{times:.2f}" if first else "-")
    last, agree = runs[-1], None
    right = last.right
    if last.predicted is not None:
        right = np.mean(last.predicted == corpus.labels)
        agree = np.mean(last.predicted == first[-1].predicted) if first else None
    cells.append("-" if last.peak is None else f"{max(run.peak for run in runs):.0f}")
    return cells + ["-" if share is None else f"{share:.4f}" for share in (right, agree)]


def short(models: dict[str, Any], texts: list[str]) -> None:
    """Score one message at a time, the models in turns of 100 calls; the first turn warms up."""
    times: dict[str, list[float]] = {name: [] for name in models}
    for turn in range(31):
        for name, model in models.items():
            taken = [clock(lambda: model.predict([text]))[1] for text in texts]  # noqa: B023
            times[name] += taken if turn else []
    for name, taken in times.items():
        print(f"one SMS, {name}: {1e6 * statistics.median(taken):.0f} µs")


def first() -> None:
    """The first fit and predict of a process."""
    setup = "import pyarrow as pa\nfrom naively import TextNB\ntexts = pa.array(['aa bb', 'cc dd'])"
    code = "TextNB(weights=None).fit(texts, [0, 1]).predict(texts).tolist()"
    print(f"first call: {inside(setup, code)[0]:.3f} s")


def measure(chosen: list, corpora: dict[str, Corpus], runs: int) -> dict:
    """{(group, label): results}, the items in turn."""
    results: dict[tuple[str, str], list[Measured]] = {item[:2]: [] for item in chosen}
    for group, _, run in chosen:  # loads what is loaded on first use
        run(corpora.get(group, corpora["plain"]).few)
    for k in range(runs):
        for group, label, run in chosen:
            for old in results[group, label]:
                old.model = old.predicted = None  # make room
            measured = run(corpora.get(group, corpora["plain"]))
            if group != "words":
                measured.model = None
            results[group, label].append(measured)
            print(f"run {k + 1}, {group}, {label}: {measured.fit:.3f} s", file=sys.stderr)
    return results


def show(rows: list[list[str]], markdown: bool) -> None:
    table = Table(box=rich.box.MARKDOWN if markdown else rich.box.HEAVY_HEAD)
    columns = ["group", "item", "fit s (min)", "MB/s", "x", "predict s (min)", "MB/s", "x",
               "peak MB", "right", "agree"]  # fmt: skip
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number < 2 else "right", no_wrap=True)
    for cells in rows:
        table.add_row(*cells)
    Console(width=150).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("NAIVELY_DATA"))
    parser.add_argument("--megabytes", type=float, default=200, help="of each text, in UTF-8")
    parser.add_argument("--runs", type=int, default=3, help="runs to take medians of")
    parser.add_argument("--only", default="", help="items whose 'group, item' has this pattern")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    arguments = parser.parse_args()
    if arguments.data is None:
        parser.error("name the folder of the data sets: --data, or NAIVELY_DATA")
    chosen = [item for item in ITEMS if re.search(arguments.only, ", ".join(item[:2]), re.I)]
    pairs = list(documents(Path(arguments.data)))
    random.Random(0).shuffle(pairs)
    plain, labels = [text for text, _ in pairs], [label for _, label in pairs]
    kinds = {"plain"} | {group for group, *_ in chosen}
    with tempfile.TemporaryDirectory() as folder:
        corpora = {}
        for name, change in VARIETIES.items():
            if name in kinds:
                texts = [change(k, text) for k, text in enumerate(plain)]
                place = Path(folder, name)
                corpora[name] = Corpus(texts, labels, 1e6 * arguments.megabytes, place)
                corpora[name].few = Corpus(texts, labels, 3e5, place / "few")
                corpora[name].few.few = corpora[name].few
        there = [item for item in chosen if importlib.util.find_spec(needed(item[1]))]
        results = measure(there, corpora, arguments.runs)
    heads = {group: results.get((group, label)) for group, label, _ in reversed(ITEMS)}
    rows = []
    for group, label, _ in chosen:
        cells = ["missing"] + ["-"] * 8
        if (group, label) in results:
            corpus = corpora.get(group, corpora["plain"])
            cells = row(results[group, label], heads[group], corpus)
        rows.append([group, label, *cells])
    show(rows, arguments.markdown)
    for name, corpus in corpora.items():
        size = f"{corpus.bytes / 1e6:.1f} MB, {corpus.characters / 1e6:.1f} million characters"
        counts = f"{len(corpus.texts)} documents of {len(corpus.classes)} classes"
        print(f"{name} text: {counts}, {size}")
    for (group, label), runs in results.items():
        if group in VARIETIES:
            rate = corpora[group].characters / 1e6 / statistics.median(run.fit for run in runs)
            print(f"{group}, {label}: fit {rate:.1f} million characters a second")
    models = {label: results["words", label][-1].model for label in (ARROW, COUNT)
              if ("words", label) in results}  # fmt: skip
    short(models, [text for _, text in messages(Path(arguments.data))[:100]])
    if any(label.startswith("naively") for _, label in results):
        first()


if __name__ == "__main__":
    main()
