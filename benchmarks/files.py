"""Train on files of any size, beside pyarrow and polars reading the same file alone.

    python benchmarks/files.py                  # CSV of 5 GB, Parquet of 20 million rows
    python benchmarks/files.py --scale 50       # a fiftieth of both

Writes the files to a temporary folder (`--folder` keeps them), then runs each side in a process of
its own, in turn, and prints medians of seconds, on the clock and of processors, and the largest
peak memory; imports are not counted. The table has 20 mixed columns: ten of floats, five of whole
numbers, five of text, and a label. Polars reads the whole file at once: pip install polars.
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

BLOCK = 500_000
CSV_BYTES = 5_000_000_000
PARQUET_ROWS = 20_000_000

IMPORTS = """
from naively.cli import work
from naively.cli.sources import opened
from naively.tables.inference import ColumnOptions
from naively.tables.learning import TrainingSpec
"""
OURS = """
work.fit(opened([PATH]), TrainingSpec("label", ColumnOptions({})))
"""
CSV_ALONE = """
for batch in pyarrow.csv.open_csv(PATH, read_options=pyarrow.csv.ReadOptions(block_size=8 << 20)):
    pass
"""
CSV_BY_POLARS = """
polars.read_csv(PATH)
"""
PARQUET_ALONE = """
for batch in pyarrow.parquet.ParquetFile(PATH).iter_batches(batch_size=1 << 17):
    pass
"""
TIMED = """
import json, resource, time
PATH = {path!r}
{imports}
start, before = time.perf_counter(), time.process_time()
{code}
seconds, processors = time.perf_counter() - start, time.process_time() - before
print(json.dumps([seconds, processors, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""


def block(seed: int) -> pa.Table:
    """Rows of a mixed table whose columns depend on the label."""
    generator = np.random.default_rng(seed)
    label = generator.integers(0, 3, BLOCK)
    columns: dict[str, object] = {}
    for k in range(10):
        columns[f"x{k}"] = np.round(generator.normal(label * 0.1 * k, 1.0 + k), 4)
    for k in range(5):
        columns[f"n{k}"] = generator.poisson(3 + label * k * (k + 1), BLOCK)
    for k in range(5):
        levels = np.array([f"{'abcde'[k]}_{i}" for i in range(4 ** (k + 1) // 2)])
        columns[f"t{k}"] = levels[generator.integers(0, len(levels), BLOCK) // (1 + label)]
    columns["label"] = np.array(["low", "middle", "high"])[label]
    return pa.table(columns)


def write_csv(path: Path, size: int) -> None:
    """A file of about `size` bytes: some blocks of rows, over and over."""
    pieces = []
    for seed in range(4):
        text = io.BytesIO()
        pyarrow.csv.write_csv(
            block(seed), text,
            pyarrow.csv.WriteOptions(include_header=False, quoting_style="none"),
        )  # fmt: skip
        pieces.append(text.getvalue())
    with path.open("wb") as file:
        file.write(",".join(block(0).column_names).encode() + b"\n")
        while file.tell() < size:
            for piece in pieces:
                file.write(piece)
                if file.tell() >= size:
                    break


def write_parquet(path: Path, rows: int) -> None:
    """A file of so many rows, in pyarrow's usual row groups."""
    with pyarrow.parquet.ParquetWriter(path, block(0).schema) as writer:
        for seed in range(max(1, rows // BLOCK)):
            writer.write_table(block(seed), row_group_size=1 << 20)


def timed(imports: str, code: str, path: Path) -> list[float]:
    """[seconds, seconds of processors, peak MB] of a process of its own."""
    run = subprocess.run(
        [sys.executable, "-c", TIMED.format(path=str(path), imports=imports, code=code)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(run.stdout)


def compare(name: str, sides: dict[str, tuple[str, str]], path: Path, runs: int) -> None:
    """Print the medians of each side, which is (what it imports, what it does)."""
    found: dict[str, list[list[float]]] = {side: [] for side in sides}
    for _ in range(runs):
        for side, code in sides.items():
            found[side].append(timed(*code, path))
    print(f"{name}, {path.stat().st_size / 1e9:.2f} GB")
    for side, times in found.items():
        seconds, work, peak = (list(column) for column in zip(*times, strict=True))
        print(
            f"  {side}: {statistics.median(seconds):.2f} s, {statistics.median(work):.2f} s of "
            f"processors, peak memory {max(peak):.0f} MB"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=1, help="divide the sizes by this")
    parser.add_argument("--runs", type=int, default=3, help="runs to take medians of")
    parser.add_argument("--folder", type=Path, help="where to keep the files")
    parser.add_argument("--only", default="", help="csv or parquet")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        if "parquet" not in arguments.only:
            path = folder / "table.csv"
            if not path.exists():
                write_csv(path, CSV_BYTES // arguments.scale)
            sides = {"pyarrow": ("import pyarrow.csv", CSV_ALONE), "naively": (IMPORTS, OURS)}
            if importlib.util.find_spec("polars"):
                sides["polars"] = "import polars", CSV_BY_POLARS
            compare("CSV", sides, path, arguments.runs)
        if "csv" not in arguments.only:
            path = folder / "table.parquet"
            if not path.exists():
                write_parquet(path, PARQUET_ROWS // arguments.scale)
            alone = "import pyarrow.parquet", PARQUET_ALONE
            compare("Parquet", {"pyarrow": alone, "naively": (IMPORTS, OURS)}, path, arguments.runs)


if __name__ == "__main__":
    main()
