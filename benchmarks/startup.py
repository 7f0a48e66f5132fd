"""Time of commands and imports with little work: what a process loads.

    python benchmarks/startup.py                          # of this checkout
    python benchmarks/startup.py --checkouts ../old .     # of several, in turn: three minutes
    python benchmarks/startup.py --first                  # with nothing compiled

Each line is the median of processes of their own, which take turns: seconds of processor time
(user and system, all threads) and of the clock. `--first` is for checkouts that compile what they
call first: each process begins with an empty folder of kernels. The table has five mixed columns.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

LEARN = """
import numpy as np
from naively import GaussianNB
X = np.random.default_rng(0).normal(size=(1000, 5))
GaussianNB().fit(X, X[:, 0] > 0).predict(X[:10])
"""
TEXTS = """
from naively import TextNB
texts = [f"{'good bad fine poor'.split()[k % 4]} film number {k}, seen twice" for k in range(20)]
model = TextNB(OPTIONS).fit(texts, [k % 2 for k in range(20)])
model.predict(texts)
"""
ROWS = """
import numpy as np
from naively import AutoBayes, GaussianBayes, MultinomialNB
rng = np.random.default_rng(0)
X = rng.normal(size=(5000, 5))
y = (X[:, 0] > 0).astype(int)
"""
SPARSE = """
from scipy import sparse
X = sparse.random(5000, 1000, 0.01, "csr", random_state=0)
X.data = np.ceil(9 * X.data)
MultinomialNB().fit(X, y).predict(X)
"""
NAIVELY = ["-m", "naively"]
FIT = [*NAIVELY, "fit", "rows.csv", "--target", "label", "--output"]
WARM = {
    "python alone": ["-c", ""],
    "naively --version": [*NAIVELY, "--version"],
    "import naively": ["-c", "import naively"],
    "from naively import GaussianNB": ["-c", "from naively import GaussianNB"],
    "sklearn.naive_bayes alone": ["-c", "import sklearn.naive_bayes"],
    "GaussianNB: fit, predict": ["-c", LEARN],
    "TextNB(weights=None)": ["-c", TEXTS.replace("TextNB(OPTIONS)", "TextNB(weights=None)")],
    'TextNB(models="auto")': ["-c", TEXTS.replace("TextNB(OPTIONS)", 'TextNB(models="auto")')],
    "GaussianBayes: fit, predict": ["-c", ROWS + "GaussianBayes().fit(X, y).predict(X)"],
    "AutoBayes: fit, predict": ["-c", ROWS + "AutoBayes().fit(X, y).predict(X)"],
    "MultinomialNB on CSR": ["-c", ROWS + SPARSE],
    "naively fit, 1,000 rows": [*FIT, "new.model"],
    "naively fit --naive": [*FIT, "new.model", "--naive"],
    "naively predict, pooled fit": [*NAIVELY, "predict", "pooled.model", "ten.csv"],
    "naively predict, fit --naive": [*NAIVELY, "predict", "naive.model", "ten.csv"],
}
FIRST = [line for line in WARM if any(part in line for part in ("fit", "(", "CSR"))]


def write_tables(folder: Path) -> None:
    """A table of a thousand rows, and one of ten."""
    rng = np.random.default_rng(0)
    for name, n in (("rows.csv", 1000), ("ten.csv", 10)):
        y = rng.integers(0, 3, n)
        lines = ["a,b,c,colour,size,label"]
        for k in y.tolist():
            a, b, c = rng.normal(k), rng.normal(2 * k, 3.0), rng.gamma(2.0 + k)
            colour = ("red", "green", "blue")[rng.integers(3)]
            lines.append(f"{a:.4f},{b:.4f},{c:.4f},{colour},{rng.integers(5)},{'xyz'[k]}")
        (folder / name).write_text("\n".join([*lines, ""]))


def run(command: list[str], checkout: Path, folder: Path, **also: str) -> tuple[float, float]:
    """Seconds of (processor, clock) of one process, some variables of its environment set."""
    environment = os.environ | {"PYTHONPATH": str(checkout / "src")} | also
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *command], cwd=folder, env=environment, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    taken = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{said}")
    return used.ru_utime + used.ru_stime, taken


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    here = Path(__file__).parents[1]
    parser.add_argument("--checkouts", nargs="+", type=Path, default=[here])
    parser.add_argument("--runs", type=int, default=0, help="of each; 5, or 2 with --first")
    parser.add_argument("--first", action="store_true", help="with nothing compiled")
    parser.add_argument("--only", default="", help="lines that contain this")
    asked = parser.parse_args()
    runs = asked.runs or (2 if asked.first else 5)
    checkouts = [one.resolve() for one in asked.checkouts]
    lines = [one for one in (FIRST if asked.first else WARM) if asked.only in one]

    with tempfile.TemporaryDirectory() as scratch:
        folders = []
        for k, checkout in enumerate(checkouts):
            folder = Path(scratch, f"checkout{k}")
            folder.mkdir()
            write_tables(folder)
            for options in (["pooled.model"], ["naive.model", "--naive"]):
                run([*FIT, *options], checkout, folder)
            folders.append(folder)
        print("| seconds, processor (clock) |", *(f" {one.name} |" for one in checkouts))
        print("| --- |", *("--: |" for _ in checkouts))
        for line in lines:
            found: list[list[tuple[float, float]]] = [[] for _ in checkouts]
            for turn in range(runs + (not asked.first)):
                for checkout, folder, own in zip(checkouts, folders, found, strict=True):
                    kernels = {"NUMBA_CACHE_DIR": str(folder / f"{line} {turn}")}
                    taken = run(WARM[line], checkout, folder, **(kernels if asked.first else {}))
                    if turn or asked.first:  # the first of the others compiles and writes bytecode
                        own.append(taken)
            cells = (
                "{:.2f} ({:.2f})".format(*map(statistics.median, zip(*own, strict=True)))
                for own in found
            )
            print(f"| {line} |", *(f" {cell} |" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
