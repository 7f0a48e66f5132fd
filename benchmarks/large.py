"""Train on files of several gigabytes in a process of its own: seconds and peak memory.

    python benchmarks/large.py --gigabytes 10            # some minutes, and 15 GB of disk
    python benchmarks/large.py --gigabytes 1 --only text

`table` is the table of `memory.py` as CSV, `text` a table of labels and documents, which
`naively fit` learns; `parquet`, half as large, is learned through `naively.scan` and a relation of
DuckDB. Files are made one after the other in a temporary folder, and removed; their
2 million rows (200,000 documents) are repeated as often as that takes.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from memory import BATCH, batch

FIT = [sys.executable, "-m", "naively", "fit"]
PIECES = 20  # different ones, of which the files are made
WORDS = 300_000  # different ones, as often as those of languages are
PARAGRAPHS = 30_000  # of 80 words; a document is three of them


def tables() -> Iterator[pa.Table]:
    """Numbers, counts and categories."""
    for seed in range(PIECES):
        yield batch(BATCH, seed)


def documents() -> Iterator[pa.Table]:
    """Texts of 1,700 bytes whose words depend a little on their label."""
    random = np.random.default_rng(0)
    letters = random.choice([*"etaoinshrdlu"], (WORDS, 12))
    lengths = random.integers(2, 12, WORDS)
    words = np.array(["".join(one[:n]) for one, n in zip(letters, lengths, strict=True)])
    ranks = (WORDS ** random.random((PARAGRAPHS, 80))).astype(int)
    classes = np.arange(PARAGRAPHS) % 4
    ranks[:, :4] = ranks[:, :4] // 4 * 4 + classes[:, None]
    paragraphs = np.array([" ".join(words[own % WORDS]) for own in ranks], dtype=object)
    labels = np.array(["news", "sport", "travel", "work"])
    for _ in range(PIECES):
        chosen = random.integers(0, PARAGRAPHS // 4, (3, BATCH // 10)) * 4
        label = random.integers(0, 4, BATCH // 10)
        first, second, third = (paragraphs[one + label] for one in chosen)
        yield pa.table({"label": labels[label], "text": first + " " + second + " " + third})


def write_csv(pieces: Iterator[pa.Table], folder: Path, size: float) -> int:
    """Write pieces, and these again and again, until there are so many bytes; returns the rows."""
    rows = 0
    with (folder / "t.csv").open("wb") as file:
        once = [*pieces]
        pa.csv.write_csv(once[0].slice(0, 0), file)
        for piece in cycle(once):
            if file.tell() >= size:
                return rows
            pa.csv.write_csv(piece, file, pa.csv.WriteOptions(include_header=False))
            rows += piece.num_rows
    raise AssertionError


def write_parquet(pieces: Iterator[pa.Table], folder: Path, size: float) -> int:
    """The same as files of Parquet, each of all pieces."""
    whole = pa.concat_tables(pieces)
    pa.parquet.write_table(whole, folder / "0.parquet", row_group_size=BATCH)
    count = -(-size // (folder / "0.parquet").stat().st_size)
    for k in range(1, int(count)):
        shutil.copy(folder / "0.parquet", folder / f"{k}.parquet")
    return whole.num_rows * int(count)


def measured(command: list[str]) -> tuple[float, float, float]:
    """(seconds, seconds of processors, peak of memory in MB) of a command."""
    begun = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            raise RuntimeError(f"{command}: {said.read().decode()}")
    return time.perf_counter() - begun, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> None:
    """Print a row a command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gigabytes", type=float, default=10)
    parser.add_argument("--only", nargs="*", default=["table", "text", "parquet"])
    given = parser.parse_args()
    size = given.gigabytes * 1e9
    print("| file | GB | rows | | seconds | CPU seconds | peak memory |", flush=True)
    print("| --- | --: | --: | --- | --: | --: | --: |", flush=True)
    for name in given.only:
        with tempfile.TemporaryDirectory() as own:
            folder, model = Path(own), str(Path(own, "m"))
            fit = [*FIT, str(folder / "t.csv"), "--target", "label", "-o", model]
            commands = {"fit --naive": [*fit, "--naive"], "fit": fit}
            match name:
                case "table":
                    rows = write_csv(tables(), folder, size)
                case "text":
                    rows = write_csv(documents(), folder, size)
                case _:
                    rows = write_parquet(tables(), folder, size / 2)
                    commands = {
                        "naively.scan": python(f"naively.scan('{folder}/*.parquet')", model),
                        "duckdb": python(f"duckdb.read_parquet('{folder}/*.parquet')", model),
                    }
            bytes_ = sum(one.stat().st_size for one in folder.iterdir())
            for called, command in commands.items():
                seconds, cpu, peak = measured(command)
                print(f"| {name} | {bytes_ / 1e9:.1f} | {rows:,} | {called} | {seconds:,.0f} | "
                      f"{cpu:,.0f} | {peak:,.0f} MB |", flush=True)  # fmt: skip


def python(source: str, model: str) -> list[str]:
    """What learns a source in Python."""
    code = f"import naively, duckdb; naively.NaiveBayes().fit({source}, 'label').save('{model}')"
    return [sys.executable, "-c", code]


if __name__ == "__main__":
    main()
