"""Train on a file of documents by whole commands: naively, Vowpal Wabbit, `wc -w`.

    python benchmarks/text_files.py --data FOLDER                    # 200 MB of JSON lines
    python benchmarks/text_files.py --checkouts ../before .          # of several, in turn

The 11,314 posts to learn of twenty newsgroups (`20news-bydate`), again and again, from the second
time on with two words swapped and a number added, each with its label; a post is two kilobytes.
Commands take turns, each in a process of its own; the figures are medians: seconds of processors
(user and system, all threads, Python's start and all imports), seconds of the clock, and the peak
of memory. One run before fills the caches.

`wc -w` counts words and does nothing else. Vowpal Wabbit reads a format of its own: what making
that of the JSON takes, by Python, is told apart. It learns in one pass, 20 classes one against the
others, 18 bits. It is `vw` if there is one, else the Python package (pip install vowpalwabbit).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import lzma
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

CONVERT = """
import json, sys
labels = {}
with open(sys.argv[1], encoding="utf-8") as lines, open(sys.argv[2], "w", encoding="utf-8") as out:
    for line in lines:
        row = json.loads(line)
        text = " ".join(row["text"].split()).replace("|", " ").replace(":", " ")
        out.write(f"{labels.setdefault(row['label'], len(labels) + 1)} | {text}\\n")
"""
WORKSPACE = "import sys, vowpalwabbit; vowpalwabbit.Workspace(arg_list=sys.argv[1:]).finish()"
FIT = ["-m", "naively", "fit", "news.jsonl", "--text", "text", "--target", "label", "-o", "m"]


class Taken(NamedTuple):
    """Of a process: seconds of processors, of the clock, and the peak of its memory in MB."""

    work: float
    clock: float
    peak: float


def write(data: Path, path: Path, size: float) -> int:
    """Documents as JSON lines of so many bytes; returns how many there are."""
    with lzma.open(data / "20news-bydate" / "train.jsonl.xz", "rt", encoding="utf-8") as file:
        posts = [*map(json.loads, file)]
    chance, rows = random.Random(0), 0
    with path.open("wb") as out:
        while out.tell() < size:
            if rows % len(posts) == 0:
                chance.shuffle(posts)
            post = posts[rows % len(posts)]
            words = post["text"].split(" ")
            if rows >= len(posts):
                a, b = chance.randrange(len(words)), chance.randrange(len(words))
                words[a], words[b] = words[b], words[a]
                words.append(f"copy {rows}")
            row = {"label": post["label"], "text": " ".join(words)}
            out.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
            rows += 1
    return rows


def commands(checkouts: list[Path]) -> dict[str, tuple[list[str], dict[str, str]]]:
    """What is run, with the variables of its environment."""
    found: dict[str, tuple[list[str], dict[str, str]]] = {
        "wc -w, C.UTF-8": (["wc", "-w", "news.jsonl"], {"LC_ALL": "C.UTF-8"}),
        "wc -w, C": (["wc", "-w", "news.jsonl"], {"LC_ALL": "C"}),
    }
    for one in checkouts:
        where = {"PYTHONPATH": str(one / "src")}
        name = f", {one.name}" if len(checkouts) > 1 else ""
        found[f"naively fit --naive{name}"] = [sys.executable, *FIT, "--naive"], where
        found[f"naively fit{name}"] = [sys.executable, *FIT], where
    vw = ["vw"] if shutil.which("vw") else [sys.executable, "-c", WORKSPACE]
    if vw == ["vw"] or importlib.util.find_spec("vowpalwabbit"):
        found["JSON lines to Vowpal Wabbit's format"] = [
            sys.executable, "-c", CONVERT, "news.jsonl", "news.vw"
        ], {}  # fmt: skip
        learn = ["-d", "news.vw", "--oaa", "20", "--passes", "1", "--quiet", "-f", "m.vw"]
        found["Vowpal Wabbit, learning alone"] = [*vw, *learn], {}
    return found


def run(command: list[str], environment: dict[str, str], folder: Path) -> Taken:
    """A command in a process of its own."""
    begun = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            command, cwd=folder, env=os.environ | environment, stdout=said, stderr=said
        )
        _, status, used = os.wait4(process.pid, 0)
        taken = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            raise SystemExit(f"{command} failed:\n{said.read().decode(errors='replace')}")
    return Taken(used.ru_utime + used.ru_stime, taken, used.ru_maxrss / 1024)


def main() -> None:
    """Print a row a command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=os.environ.get("NAIVELY_DATA"))
    parser.add_argument("--megabytes", type=float, default=200)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--checkouts", nargs="+", type=Path, default=[Path(__file__).parents[1]])
    asked = parser.parse_args()
    if asked.data is None:
        parser.error("name the folder of the data sets: --data, or NAIVELY_DATA")
    chosen = commands([one.resolve() for one in asked.checkouts])
    found: dict[str, list[Taken]] = {name: [] for name in chosen}
    with tempfile.TemporaryDirectory() as own:
        folder = Path(own)
        rows = write(Path(asked.data), folder / "news.jsonl", 1e6 * asked.megabytes)
        size = (folder / "news.jsonl").stat().st_size
        for turn in range(asked.runs + 1):
            for name, (command, environment) in chosen.items():
                taken = run(command, environment, folder)
                print(f"run {turn}, {name}: {taken}", file=sys.stderr, flush=True)
                if turn:
                    found[name].append(taken)
    print(f"{rows:,} documents, {size / 1e6:.0f} MB\n")
    print("| command | s of processors | s of the clock | peak MB |\n| --- | --: | --: | --: |")
    for name, each in found.items():
        work, clock, peak = map(statistics.median, zip(*each, strict=True))
        print(f"| {name} | {work:.2f} | {clock:.2f} | {peak:,.0f} |")


if __name__ == "__main__":
    main()
