"""How cost grows with rows, columns and classes, beside gradient boosting.

    python benchmarks/scaling.py --small           # a minute
    python benchmarks/scaling.py                   # the table of docs/benchmarks.md
    python benchmarks/scaling.py --full            # up to 10^6 rows, 2,000 columns, 200 classes

Each case is a mixed table, made by `table`: numbers that share factors, counts, categories, and
missing values; classes depend on some of the columns and on three pairs. `AutoBayes`, LightGBM and
HistGradientBoosting, with their defaults and one thread, take turns, each in a process of its own.
Printed are the processor seconds of `fit` / of `predict_proba` for new rows, a quarter as many as
the training rows (at least 1,000); the log-loss; the peak of memory during both, beyond the table
itself; the size of the saved file of `AutoBayes`, and beside it that of its distinct rows if each
value took as many bits as its column needs. With several runs they are medians.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

SMALL = [(1000, 20, 2), (1000, 20, 10), (1000, 200, 2), (10_000, 10, 2)]
USUAL = [
    (1000, 20, 2), (10_000, 20, 2), (100_000, 20, 2), (10_000, 100, 2), (10_000, 400, 2),
    (3000, 1500, 2), (10_000, 20, 10), (10_000, 20, 50),
]  # fmt: skip
FULL = [
    *USUAL, (1000, 10, 2), (400_000, 20, 2), (1_000_000, 10, 2), (100_000, 100, 2),
    (4000, 2000, 2), (10_000, 20, 200), (100_000, 20, 20),
]  # fmt: skip
"""(rows, columns, classes)."""
METHODS = ("AutoBayes", "LightGBM", "HistGradientBoosting")
LEAST = 1e-15  # probabilities below count as this much in the log-loss


def table(rows: int, columns: int, classes: int, seed: int = 0) -> tuple:
    """(a frame, labels) of training rows, and then of new ones."""
    import numpy as np
    import pandas as pd

    draw = np.random.default_rng([rows, columns, classes, seed])
    n = rows + max(1000, rows // 4)
    factors = draw.normal(size=(n, 5))
    hidden = 0.6 * factors[:, draw.integers(0, 5, columns)] + 0.8 * draw.normal(size=(n, columns))
    told = draw.choice(columns, min(columns, 10), replace=False)
    scores = hidden[:, told] @ draw.normal(size=(len(told), classes))
    for _ in range(3):
        a, b = draw.choice(told, 2, replace=False)
        scores += np.multiply.outer(hidden[:, a] * hidden[:, b], draw.normal(size=classes))
    y = (scores + 1.5 * draw.gumbel(size=scores.shape)).argmax(axis=1)
    frame = {}
    for j, x in enumerate(hidden.T):
        if j % 4 == 2:
            values = np.floor(np.exp(1 + 0.7 * x))
        elif j % 4 == 3:
            ends = np.sort(draw.normal(size=draw.integers(1, 12)))
            values = np.array([f"level {k}" for k in range(12)], object)[np.searchsorted(ends, x)]
        else:
            values = np.exp(x) if j % 8 == 1 else x
        if j % 5 == 4:
            values[draw.random(n) < 0.1] = None if values.dtype == object else np.nan
        frame[f"x{j}"] = values
    frame = pd.DataFrame(frame)
    return frame[:rows], y[:rows], frame[rows:], y[rows:]


def measure(name: str, size: tuple[int, int, int], seed: int) -> dict:
    """Fit and predict with one method."""
    import numpy as np
    import pandas as pd
    from peers import METHODS as PEERS

    method = PEERS[name]
    X, y, unknown, truth = table(*size, seed)
    every = method.prepare(pd.concat([X, unknown]))
    X, unknown = every[: len(X)], every[len(X) :]
    few = np.unique(y[:200], return_inverse=True)[1]
    method.make().fit(X[:200], few).predict_proba(X[:200])  # imports what is imported when used
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    start = time.process_time()
    model = method.make().fit(X, y)
    fitted = time.process_time()
    proba = np.asarray(model.predict_proba(unknown))
    ended = time.process_time()
    index = np.searchsorted(model.classes_, truth).clip(max=len(model.classes_) - 1)
    chance = proba[np.arange(len(truth)), index] * (model.classes_[index] == truth)
    found = {
        "fit": fitted - start, "predict": ended - fitted, "MB": resident("VmHWM") - before,
        "log-loss": float(-np.log(chance.clip(LEAST, 1)).mean()),
    }  # fmt: skip
    return found | (saved(model) if name == "AutoBayes" else {})


def saved(model: object) -> dict:
    """The size of the saved file, in MB, and of the packed distinct rows; seconds of saving."""
    import numpy as np

    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        model.save(f"{folder}/model")
        seconds = time.process_time() - start
        size = Path(f"{folder}/model").stat().st_size
    rows = model.model_.statistics
    bits = sum(int(np.ceil(np.log2(len(values) + 1))) for values in rows.levels)
    values = sum(
        8 * len(own) if own.dtype.kind != "T" else sum(len(str(one).encode()) + 1 for one in own)
        for own in rows.levels
    )
    packed = (len(rows.codes) * (bits + 8)) / 8 + values  # and a byte for label and count
    return {"file": size / 1e6, "packed": packed / 1e6, "save": seconds}


def resident(field: str) -> float:
    """A field of /proc/self/status, in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    raise LookupError(field)


def apart(name: str, size: tuple[int, int, int], seed: int) -> dict:
    """What `measure` returns, from a process of its own."""
    command = [sys.executable, __file__, "--measure", json.dumps([name, size, seed])]
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, env={**os.environ, **threads}
    )
    return json.loads(done.stdout.splitlines()[-1])


def row(size: tuple[int, int, int], found: dict[str, dict]) -> str:
    ours = found["AutoBayes"]
    cells = [" × ".join(f"{n:,}" for n in size)]
    cells += [f"{decimals(own['fit'])} / {decimals(own['predict'])}" for own in found.values()]
    cells += [f"{own['log-loss']:.3f}" for own in found.values()]
    cells += [f"{own['MB']:.0f}" for own in found.values()]
    return f"| {' | '.join([*cells, decimals(ours['file']), decimals(ours['packed'])])} |"


def decimals(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


def main() -> None:
    """Print a row a case, and then how the seconds and log-losses compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write all measurements to this file")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        print(json.dumps(measure(*json.loads(given.measure))))
        return
    short = {"HistGradientBoosting": "HGB"}
    heads = [short.get(name, name) for name in given.methods]
    columns = ["rows × columns × classes"]
    columns += [f"{what}, {name}" for what in ("seconds", "log-loss", "peak MB") for name in heads]
    columns += ["file MB", "rows packed, MB"]
    print(", ".join(f"{name} {version(name)}" for name in ("scikit-learn", "lightgbm")), flush=True)
    print(f"| {' | '.join(columns)} |\n| --- |{' --: |' * (len(columns) - 1)}")
    every = {}
    for size in SMALL if given.small else FULL if given.full else USUAL:
        runs = {name: [] for name in given.methods}
        for seed in range(given.runs):
            for name in given.methods:
                runs[name].append(apart(name, size, seed))
        medians = {
            name: {what: statistics.median(own[what] for own in some) for what in some[0]}
            for name, some in runs.items()
        }
        every["x".join(map(str, size))] = medians
        print(row(size, medians), flush=True)
    for name in given.methods[1:]:
        for label, keys in (("seconds", ("fit", "predict")), ("log-loss", ("log-loss",))):
            ratios = [
                sum(own["AutoBayes"][key] for key in keys) / sum(own[name][key] for key in keys)
                for own in every.values()
            ]
            mean, worst = statistics.geometric_mean(ratios), max(ratios)
            print(f"- {label}, divided by those of {name}: {mean:.2f}, at most {worst:.2f}")
    if given.json:
        given.json.write_text(json.dumps(every, indent=1))


if __name__ == "__main__":
    main()
