"""naively and scikit-learn side by side: seconds, ratios and peak memory, in one run.

    python benchmarks/versus_sklearn.py            # all cases, about five minutes
    python benchmarks/versus_sklearn.py --scale 100 --runs 3   # a hundredth of the rows

Each run fits and predicts with one library and then the other, in turn; the figures are medians.
`fit` includes estimating the parameters. Memory is the peak of the process during the call beyond
what it held before (Linux only).
"""

from __future__ import annotations

import argparse
import gc
import statistics
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import sklearn
from rich.console import Console
from rich.table import Table
from sklearn import naive_bayes
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)

import naively


def dense(rows: int, classes: int, dtype: type) -> tuple:
    generator = np.random.default_rng(0)
    X = generator.standard_normal((rows, 50)).astype(dtype)
    return X, generator.integers(0, classes, rows)


def categorical(rows: int) -> tuple:
    generator = np.random.default_rng(0)
    return generator.integers(0, 50, (rows, 20)), generator.integers(0, 10, rows)


def counts(rows: int) -> tuple:
    """CSR of 300,000 columns with about 50 non-zeros a row, popular columns first as in text."""
    generator = np.random.default_rng(0)
    columns = (300_000 * generator.random(rows * 50) ** 3).astype(np.int32)
    values = generator.integers(1, 5, rows * 50).astype(np.float64)
    X = sp.csr_matrix((values, columns, np.arange(rows + 1) * 50), shape=(rows, 300_000))
    X.sum_duplicates()
    return X, generator.integers(0, 20, rows)


def classes_apart(rows: int, features: int, classes: int) -> tuple:
    """Normal rows about a mean for each class."""
    generator = np.random.default_rng(0)
    y = generator.integers(0, classes, rows)
    means = generator.standard_normal((classes, features))
    return means[y] + generator.standard_normal((rows, features)), y


def twins(name: str) -> tuple:
    """Our class and the drop-in's model, by their one name."""
    return getattr(naively, name), getattr(naive_bayes, name)


FULL = partial(naively.GaussianBayes, "full"), QuadraticDiscriminantAnalysis
TIED = partial(naively.GaussianBayes, "tied"), LinearDiscriminantAnalysis
CASES = {
    "Gaussian float64, C=2": (twins("GaussianNB"), lambda n: dense(n, 2, np.float64), 1_000_000),
    "Gaussian float64, C=10": (twins("GaussianNB"), lambda n: dense(n, 10, np.float64), 1_000_000),
    "Gaussian float64, C=100": (
        twins("GaussianNB"), lambda n: dense(n, 100, np.float64), 1_000_000,
    ),
    "Gaussian float32, C=2": (twins("GaussianNB"), lambda n: dense(n, 2, np.float32), 1_000_000),
    "Gaussian float32, C=10": (twins("GaussianNB"), lambda n: dense(n, 10, np.float32), 1_000_000),
    "Gaussian float32, C=100": (
        twins("GaussianNB"), lambda n: dense(n, 100, np.float32), 1_000_000,
    ),
    "categorical 50 levels, C=10": (twins("CategoricalNB"), categorical, 1_000_000),
    "CSR multinomial, C=20": (twins("MultinomialNB"), counts, 200_000),
    "full covariance (QDA), d=100": (FULL, lambda n: classes_apart(n, 100, 10), 200_000),
    "tied covariance (LDA), d=100": (TIED, lambda n: classes_apart(n, 100, 10), 200_000),
    "full covariance (QDA), d=1000": (FULL, lambda n: classes_apart(n, n // 20, 10), 20_000),
    "tied covariance (LDA), d=1000": (TIED, lambda n: classes_apart(n, n // 20, 10), 20_000),
}  # fmt: skip


def memory(field: str) -> float:
    """A field of /proc/self/status, in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    raise LookupError(field)


def timed(call) -> tuple:
    """(result, seconds, peak MB beyond what was held before)."""
    gc.collect()
    linux = Path("/proc/self/clear_refs").exists()
    if linux:
        Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = memory("VmRSS") if linux else float("nan")
    start = time.perf_counter()
    result = call()
    seconds = time.perf_counter() - start
    return result, seconds, (memory("VmHWM") if linux else float("nan")) - before


def compare(libraries: tuple, X, y, runs: int) -> list[list[float]]:
    """[[fit seconds, predict seconds, fit MB, predict MB] medians of ours, of the peer's]."""
    results = [[], []]
    for _ in range(runs):
        for side, new in enumerate(libraries):
            model, fit, fit_peak = timed(lambda: new().fit(X, y))  # noqa: B023
            _, predict, predict_peak = timed(lambda: model.predict(X))  # noqa: B023
            results[side].append([fit, predict, fit_peak, predict_peak])
    return [[statistics.median(column) for column in zip(*side, strict=True)] for side in results]


def small(console: Console) -> None:
    """Fit + predict on iris, in microseconds, and one row learned by `partial_fit`."""
    X, y = load_iris(return_X_y=True)
    times = [[], []]
    for _ in range(300):
        for side, library in enumerate((naively, naive_bayes)):
            start = time.perf_counter()
            library.GaussianNB().fit(X, y).predict(X)
            times[side].append(1e6 * (time.perf_counter() - start))
    ours, theirs = map(statistics.median, times)
    console.print(f"iris, fit + predict: {ours:.0f} µs, scikit-learn {theirs:.0f} µs")

    X, y = dense(2000, 10, np.float64)
    model = naively.GaussianNB().partial_fit(X, y)
    times = []
    for i in range(1000):
        start = time.perf_counter()
        model.partial_fit(X[i : i + 1], y[i : i + 1])
        times.append(1e6 * (time.perf_counter() - start))
    console.print(f"partial_fit of 1 row x 50 features: {statistics.median(times):.0f} µs")


def cold(console: Console) -> None:
    """The first call of a process, and `import naively`."""
    first = (
        "import time, numpy as np; from naively import GaussianNB;"
        "X = np.random.default_rng(0).standard_normal((150, 4)); y = np.arange(150) % 3;"
        "t = time.perf_counter(); GaussianNB().fit(X, y).predict(X);"
        "print(time.perf_counter() - t)"
    )
    alone = "import time; t = time.perf_counter(); import naively; print(time.perf_counter() - t)"
    for label, code in (("first call", first), ("import naively", alone)):
        run = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        console.print(f"{label}: {float(run.stdout):.3f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=1, help="divide the rows by this")
    parser.add_argument("--runs", type=int, default=5, help="runs to take medians of")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    arguments = parser.parse_args()
    console = Console(width=120)
    table = Table(title=f"naively {naively.__version__} and scikit-learn {sklearn.__version__}")
    for column in ("case", "fit s", "peer", "ratio", "predict s", "peer", "ratio", "MB", "peer MB"):
        table.add_column(column, justify="left" if column == "case" else "right")
    for label, (libraries, make, rows) in CASES.items():
        if arguments.only not in label:
            continue
        X, y = make(rows // arguments.scale)
        compare(libraries, X[:1000, :20], y[:1000], 1)  # compiles, and loads what is used first
        ours, theirs = compare(libraries, X, y, arguments.runs)
        table.add_row(
            label,
            *(
                text
                for k in (0, 1)
                for text in (
                    f"{ours[k]:.3f}", f"{theirs[k]:.3f}", f"{theirs[k] / ours[k]:.1f}x"
                )
            ),
            f"{max(ours[2:]):.0f}",
            f"{max(theirs[2:]):.0f}",
        )  # fmt: skip
        del X, y
    console.print(table)
    if not arguments.only:
        small(console)
        cold(console)


if __name__ == "__main__":
    main()
