"""Peak memory of training and predicting on tables that are read in batches, at two sizes.

    python benchmarks/memory.py --rows 2000000          # and half as many

A table of ten columns is written in a temporary folder. Each source is learned by a `NaiveBayes`
and predicted, in a process of its own, whose peaks are told, of learning and of both: as the rows
double they should stay, but for the predictions, of 24 bytes a row. About 250 MB are Python and
libraries. Sources whose package is not installed are left out.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

BATCH = 100_000
PACKAGES = {"duckdb": "duckdb", "polars": "polars"}
SOURCES = {
    "naively.scan, CSV": "naively.scan(folder + '/t.csv')",
    "naively.scan, Parquet": "naively.scan(folder + '/t.parquet')",
    "pyarrow.dataset": "__import__('pyarrow.dataset').dataset.dataset(folder + '/t.parquet')",
    "duckdb relation": "__import__('duckdb').read_parquet(folder + '/t.parquet')",
    "polars lazy frame": "__import__('polars').scan_parquet(folder + '/t.parquet')",
}


def batch(rows: int, seed: int) -> pa.Table:
    """Columns that depend on the label."""
    random = np.random.default_rng(seed)
    label = random.integers(0, 3, rows)
    columns = {f"x{k}": random.normal(label * (k % 3), 1.0 + k, rows) for k in range(6)}
    columns |= {f"c{k}": random.poisson(2 + label + k, rows) for k in range(2)}
    columns["job"] = np.array(["clerk", "boss", "worker", "pilot"])[
        (label + random.integers(0, 2, rows)) % 4
    ]
    columns["label"] = np.array(["low", "middle", "high"])[label]
    return pa.table(columns)


def write(folder: Path, rows: int) -> None:
    """The table as CSV and as Parquet."""
    schema = batch(1, 0).schema
    with (
        pa.csv.CSVWriter(folder / "t.csv", schema) as text,
        pa.parquet.ParquetWriter(folder / "t.parquet", schema) as parquet,
    ):
        for start in range(0, rows, BATCH):
            part = batch(min(BATCH, rows - start), start)
            text.write_table(part)
            parquet.write_table(part)


def measure(folder: str, source: str) -> None:
    """Learn and predict; the peaks in MB are printed."""
    import naively

    names = {"naively": naively, "folder": folder}
    model = naively.NaiveBayes().fit(eval(SOURCES[source], names), "label")
    learned = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    model.predict(eval(SOURCES[source], names))
    print(f"{learned} / {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}")


def main() -> None:
    """Print a row a source."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        measure(*given.measure)
        return
    sizes, found = (given.rows // 2, given.rows), {name: [] for name in SOURCES}
    for rows in sizes:
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), rows)
            bytes_of = {kind: (Path(folder) / f"t.{kind}").stat().st_size for kind in
                        ("csv", "parquet")}  # fmt: skip
            print(f"{rows:,} rows:", {kind: f"{n / 1e6:,.0f} MB" for kind, n in bytes_of.items()})
            for name in SOURCES:
                if find_spec(PACKAGES.get(name.split()[0], "naively")) is not None:
                    command = [sys.executable, __file__, "--measure", folder, name]
                    done = subprocess.run(command, check=True, capture_output=True, text=True)
                    found[name].append(done.stdout.strip())
    print(f"| source | {sizes[0]:,} rows | {sizes[1]:,} rows |\n| --- | --: | --: |")
    for name, peaks in found.items():
        print(f"| {name} | {' | '.join(f'{peak} MB' for peak in peaks)} |")


if __name__ == "__main__":
    main()
