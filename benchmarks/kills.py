"""Commands killed at random moments (kill -9) and started again, beside the same without a kill.

    python benchmarks/kills.py                   # 50 kills of each command
    python benchmarks/kills.py --runs 4 --only forget

Each command is run to its end once. Then it is started, killed after a random part of that time,
and started again, until it ends; all over again until it was killed often enough. After each kill
the files that are there must be whole, and hold each row once or not yet; at the end they must be,
byte for byte, those of the run that was not killed. Where all is over in one write, every second
kill comes while the file is written. A command is one `Case`: add it to `CASES`.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from naively.storage import model_files

COMMAND = [sys.executable, "-m", "naively"]
MODEL = "the.model"
WRITING = 0.03  # seconds that a kill which is aimed at the writing comes later, at most


class Case(ABC):
    """A command that is to survive a kill; `folder` is where it runs.

    Attributes
    ----------
    name : of the row of the report.
    rows : that the model has in the end.
    aimed : whether every second kill waits until the model is being written.
    """

    name: str
    rows: int
    aimed = False

    @abstractmethod
    def prepare(self, folder: Path) -> None:
        """Make what it reads, once, in an empty folder."""

    @abstractmethod
    def begin(self, folder: Path) -> None:
        """Make the folder as it is before the first start."""

    @abstractmethod
    def tokens(self) -> list[str]:
        """The command."""

    @abstractmethod
    def check(self, folder: Path) -> bool:
        """After a kill: whether it came halfway; AssertionError for damage.

        Halfway: something is there to go on from, or a file that was not written to its end.
        """

    def before(self, folder: Path) -> None:  # noqa: B027 - most often nothing
        """What happens in the folder before each start."""

    def complete(self, folder: Path) -> bool:
        """Whether the command need not be started once more after it ended."""
        return True


class Change(Case):
    """`naively update` or `naively forget`: the old model or the new one, and nothing else.

    The model is an `AutoBayes`, which keeps its rows: a file of some size, so that writing takes
    long enough to be killed. `forget` writes a receipt too, which there may be only with the new
    model: the model is in its place first.
    """

    aimed = True

    def __init__(self, verb: str, rows: int = 20_000, some: int = 2_000) -> None:
        self.name = self.verb = verb
        self.all, self.some = rows, some
        self.rows = rows + some if verb == "update" else rows - some

    def prepare(self, folder: Path) -> None:
        first = table(self.all, 3)
        write(folder / "first.csv", first)
        write(folder / "some.csv", table(self.some, 4) if self.verb == "update"
              else first.slice(0, self.some))  # fmt: skip
        tokens = ["fit", "first.csv", "--target", "label", "-o", "first.model"]
        subprocess.run([*COMMAND, *tokens], cwd=folder, check=True, capture_output=True)
        self.old = (folder / "first.model").read_bytes()
        self.new = b""

    def begin(self, folder: Path) -> None:
        self.new = self.new or self._changed(folder)

    def before(self, folder: Path) -> None:
        """A kill may have come after the change: it is made anew each time."""
        shutil.copy(folder / "first.model", folder / MODEL)
        (folder / "receipt.json").unlink(missing_ok=True)

    def tokens(self) -> list[str]:
        receipt = ["--receipt", "receipt.json"] if self.verb == "forget" else []
        return [self.verb, MODEL, "some.csv", *receipt]

    def check(self, folder: Path) -> bool:
        found, receipt = (folder / MODEL).read_bytes(), folder / "receipt.json"
        assert found in (self.old, self.new), "neither the old model nor the new one"
        if receipt.exists():
            assert json.loads(receipt.read_bytes())["removed"]["rows"] == self.some
            assert found == self.new, "a receipt of what was not forgotten"
        return bool(left_over(folder))

    def complete(self, folder: Path) -> bool:
        left = left_over(folder)
        assert not left, f"{left} were left by commands that were killed"
        return True

    def _changed(self, folder: Path) -> bytes:
        """The new model, from a run that is not killed."""
        self.before(folder)
        subprocess.run([*COMMAND, *self.tokens()], cwd=folder, check=True, capture_output=True)
        return (folder / MODEL).read_bytes()


@dataclass
class Result:
    """What came of one command."""

    name: str
    kills: int = 0
    ends: int = 0
    halfway: int = 0
    seconds: float = 0.0
    damage: list[str] = field(default_factory=list)


def table(rows: int, seed: int) -> pa.Table:
    """A mixed table whose columns depend on the label."""
    random_ = np.random.default_rng(seed)
    label = random_.integers(0, 3, rows)
    columns = {
        "size": np.round(random_.normal(size=rows) + label, 6),
        "count": random_.poisson(3 + label),
        "colour": np.array(["red", "green", "blue", "dark, grey"])[
            (random_.integers(0, 4, rows) + label) % 4
        ],
        "rare": np.where(random_.random(rows) < 1e-4, "12.5", "7"),
        "label": np.array(["a", "b", "c"])[label],
    }
    return pa.table(columns)


def left_over(folder: Path) -> set[str]:
    """The files that are being written, or were when their writer was killed."""
    return {one.name for one in folder.glob(".*.tmp")}


def write(path: Path, rows: pa.Table) -> None:
    pa.csv.write_csv(rows, path)


def run(case: Case, kills: int, seed: int) -> Result:
    """Kill a command so many times."""
    result, chance = Result(case.name), random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        case.prepare(folder)
        case.begin(folder)
        while True:
            case.before(folder)
            begun = time.perf_counter()
            done = started(case, folder)
            said = done.communicate()[1]
            assert done.returncode == 0, said
            result.seconds = time.perf_counter() - begun
            if case.complete(folder):
                break
        wanted = (folder / MODEL).read_bytes()
        while result.kills < kills:
            case.begin(folder)
            while True:
                case.before(folder)
                seconds = None  # often enough: to the end
                aimed = case.aimed and result.kills % 2 == 1
                if result.kills < kills:
                    seconds = chance.uniform(0.2, 1.1) * result.seconds
                    if aimed:
                        seconds = chance.uniform(0, WRITING)
                if not killed(case, folder, seconds, result, aimed) and case.complete(folder):
                    break
            result.ends += 1
            saved = model_files.load(folder / MODEL).model.rows
            if saved != case.rows:
                result.damage.append(f"{saved:,} rows in the end, not {case.rows:,}")
            if (folder / MODEL).read_bytes() != wanted:
                result.damage.append("another file in the end")
    return result


def started(case: Case, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, *case.tokens()], cwd=folder, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def killed(
    case: Case, folder: Path, seconds: float | None, result: Result, aimed: bool = False
) -> bool:
    """Start the command; whether it was killed before it ended.

    `seconds` are counted from its start, or if it is `aimed`, from when it begins to write.
    """
    begun, before = time.perf_counter(), left_over(folder)
    process = started(case, folder)
    while aimed and seconds is not None and process.poll() is None:
        if left_over(folder) != before:
            break
        time.sleep(0.0005)
    try:
        _, said = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
    if process.returncode == 0:
        result.seconds = time.perf_counter() - begun  # which changes with what else is going on
        return False
    if process.returncode > 0:
        raise RuntimeError(f"{case.name} ended with {process.returncode}: {said}")
    result.kills += 1
    try:
        result.halfway += case.check(folder)
    except (AssertionError, ValueError) as error:
        result.damage.append(str(error))
    return True


CASES = {
    "update": Change("update"),
    "forget": Change("forget"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=50, help="kills of each command")
    parser.add_argument("--only", choices=CASES, action="append", help="a command; may be repeated")
    parser.add_argument("--seed", type=int, default=0, help="when they are killed")
    given = parser.parse_args(arguments)
    print(
        f"{'command':30} {'kills':>6} {'ends':>5} {'halfway':>8} {'damage':>7}   seconds unkilled"
    )
    damaged = 0
    for name in given.only or CASES:
        found = run(CASES[name], given.runs, given.seed)
        damaged += len(found.damage)
        print(
            f"{found.name:30} {found.kills:6} {found.ends:5} {found.halfway:8} "
            f"{len(found.damage):7}   {found.seconds:.1f}", flush=True,
        )  # fmt: skip
        for one in found.damage[:5]:
            print(f"    {one}")
    return 1 if damaged else 0


if __name__ == "__main__":
    sys.exit(main())
