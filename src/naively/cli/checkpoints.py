"""Checkpoints of `naively fit`: what was learned so far, so that a killed command can go on.

A checkpoint holds the model so far, what the head of the data decided, the rows that are held out
or kept for the report, and a digest of each piece of the input. It is written between two pieces,
whole or not at all. The next command reads the pieces that were learned, compares their digests,
and learns the others.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from naively import __version__
from naively.cli import progress
from naively.cli.arguments import LEARNING, LearningOptions
from naively.cli.errors import UsageError, UserError
from naively.cli.sources import Opened, check_output
from naively.files import bundles
from naively.files.encoding import encode
from naively.files.safetensors import Saved, from_bytes, to_bytes
from naively.markup import counted
from naively.model import Model
from naively.statistics.sampling import ALL
from naively.study.kept import kept_of
from naively.tables.held import Held
from naively.tables.inputs import DIGEST, Task
from naively.tables.learning import Plan, Question
from naively.tables.one_pass import Halfway

EVERY = 1_000_000
"""Rows between two checkpoints, unless somebody says otherwise."""
FAMILIES = "the families"


class Checkpoint:
    """A file that keeps what was learned halfway, and what it says if it is there.

    Parameters
    ----------
    path : the file.
    every : rows between two checkpoints; they are written at the ends of pieces.
    command : what the model depends on beside the input, as JSON.
    question : what is learned.
    known : a model whose columns and families are taken over, or None.

    Attributes
    ----------
    begun : what an earlier command had learned; None if there is no such file.
    kept : the rows that it kept for the report.
    seconds : how long that took.

    Raises
    ------
    UserError : if the file is of another command, or no checkpoint.
    """

    def __init__(
        self, path: Path, every: int, command: dict[str, Any], question: Question,
        known: Model | None,
    ) -> None:  # fmt: skip
        self.path, self.every, self.command, self.question = path, every, command, question
        self.begun: Halfway | None = None
        self.kept = kept_of(question)
        self.seconds = 0.0
        self._marks: list[bytes] = []
        if path.exists():
            self._read(known)
        self._last = 0 if self.begun is None else self.begun.rows
        self._start = time.perf_counter()

    # ---- the stream ------------------------------------------------------------------------

    def rest(self, source: Opened) -> Iterator[Task]:
        """The pieces of work that are still to be learned.

        Raises UserError if those before them are not what was learned.
        """
        ends = [] if self.begun is None else list(self.begun.ends)
        done, number = len(ends), 0
        for task in source.tasks():
            name, digest = source.files.reached()
            number += 1
            if number > done:
                self._marks.append(digest)
                yield task
            elif digest != self._marks[number - 1]:
                first = ends[number - 2] + 1 if number > 1 else 1
                raise UserError(
                    f"{name}: this is not what was learned before: rows {first:,} to "
                    f"{ends[number - 1]:,} in all were others; {self._anew}"
                )
        if number < done:
            raise UserError(
                f"{source.name}: it ends earlier than what was learned before, which had more than "
                f"{counted(ends[number - 1] if number else 0, 'row')}; {self._anew}"
            )

    @property
    def _anew(self) -> str:
        return f"give the same input, or remove {self.path} to begin anew"

    # ---- keeping -----------------------------------------------------------------------------

    def due(self, rows: int) -> bool:
        """Whether enough rows were learned since the last time."""
        return rows - self._last >= self.every

    def keep(self, halfway: Halfway) -> None:
        """Write the file."""
        self._last = halfway.rows
        parts = {
            "blank": to_bytes(Saved(halfway.made.blank)),
            "total": to_bytes(Saved(halfway.total)),
            "marks": b"".join(self._marks[: len(halfway.ends)]),
            "ends": np.array(halfway.ends, "<i8").tobytes(),
        }
        notes = {
            "naively": __version__,
            "command": self.command,
            "untyped": [halfway.made.blank.untyped, halfway.total.untyped],
            "limit": halfway.limit,
            "threshold": halfway.threshold,
            "met": halfway.met,
            "kept_limit": self.kept.limit,
            "kept_threshold": self.kept.threshold if self.kept.threshold < ALL else None,
            "held_sizes": _put("held", halfway.held, parts),
            "kept_sizes": _put("kept", self.kept.held, parts),
            "seconds": self.seconds + time.perf_counter() - self._start,
        }
        bundles.write(self.path, notes, parts)

    def remove(self) -> None:
        """Remove the file: the model was written."""
        self.path.unlink(missing_ok=True)

    # ---- going on ----------------------------------------------------------------------------

    def _read(self, known: Model | None) -> None:
        try:
            notes, parts = bundles.read(self.path)
        except bundles.BundleError as error:
            raise UserError(f"{error}; remove it, or name another file") from None
        if notes["naively"] != __version__:
            raise UserError(
                f"{self.path}: naively {notes['naively']} wrote it, and this is {__version__}: end "
                "with the version that began, or remove the file to begin anew"
            )
        if said := _difference(notes["command"], self.command):
            raise UserError(
                f"{self.path} is of another command: {said}; repeat that command, or remove the "
                "file to begin anew"
            )
        blank, total = (
            from_bytes(parts[name], str(self.path)).model for name in ("blank", "total")
        )
        blank.untyped, total.untyped = notes["untyped"]
        made = Plan(blank, self.question, None if known is None else known.classes)
        marks, ends = parts["marks"], np.frombuffer(parts["ends"], "<i8").tolist()
        self._marks = [marks[at : at + DIGEST] for at in range(0, len(marks), DIGEST)]
        self.begun = Halfway(
            made, total, notes["limit"], _got("held", notes["held_sizes"], parts),
            notes["threshold"], notes["met"], ends,
        )  # fmt: skip
        limited = notes["kept_threshold"]
        self.kept = replace(
            kept_of(self.question), pieces=len(ends), limit=notes["kept_limit"],
            held=_got("kept", notes["kept_sizes"], parts),
            threshold=ALL if limited is None else limited,
        )  # fmt: skip
        self.seconds = notes["seconds"]
        progress.note(f"{self.path}: {counted(self.begun.rows, 'row')} were learned before")


def check(path: Path | None, every: int | None, output: Path, data: Sequence[str]) -> None:
    """Refuse options for checkpoints that make no sense, before the work."""
    if path is None:
        if every is not None:
            raise UsageError("--every is for --checkpoint FILE: name that file too")
        return
    if every is not None and every < 1:
        raise UsageError(f"--every must be at least 1, but is {every}")
    if path.resolve() == output.resolve():
        raise UsageError(f"{path} is to be the model: name another file with --checkpoint")
    check_output(path, data)


def begun(
    path: Path | None, every: int | None, question: Question, options: LearningOptions,
    like: Path | None = None, known: Model | None = None,
) -> Checkpoint | None:  # fmt: skip
    """The checkpoint that a command goes on from, or begins; None if none is wanted."""
    if path is None:
        return None
    return Checkpoint(path, every or EVERY, _command(question, options, like), question, known)


def _command(question: Question, options: LearningOptions, like: Path | None) -> dict[str, Any]:
    """What a model depends on beside the input, by the names of options."""
    said = {
        f"--{name.replace('_', '-')}": value
        for name, value in asdict(options).items()
        if value != getattr(LEARNING, name)
    }
    said["--target"] = question.target
    said[FAMILIES] = encode(question.wishes.columns, {})
    if like is not None:
        said["--like"] = hashlib.blake2b(like.read_bytes(), digest_size=DIGEST).hexdigest()
    return said


def _difference(before: dict[str, Any], now: dict[str, Any]) -> str:
    """What two commands differ in; empty if in nothing."""
    for name in sorted({*before, *now}):
        if before.get(name) == now.get(name):
            continue
        if name == FAMILIES:
            return "the size of the input, on which the families depend, was another"
        if name == "--like":
            return "--like named another model, or none" if name in now else "it had --like"
        if name not in before:
            return f"it had no {name}"
        return f"it had {name} {before[name]}"
    return ""


def _put(name: str, held: Held, parts: dict[str, bytes]) -> list[int]:
    """Put rows with their numbers among parts; how many rows each table has."""
    sizes, tables = bundles.tables_to_bytes(held.tables)
    parts |= {f"{name}.{k}": one for k, one in enumerate(tables)}
    draws = np.concatenate([np.empty(0), *held.draws])
    parts[f"{name}.draws"] = draws.astype("<f8").tobytes()
    return sizes


def _got(name: str, sizes: list[int], parts: dict[str, bytes]) -> Held:
    """The rows that `_put` put among parts."""
    count = sum(one.startswith(f"{name}.") for one in parts) - 1
    tables = bundles.tables_of(sizes, [parts[f"{name}.{k}"] for k in range(count)])
    draws = np.frombuffer(parts[f"{name}.draws"], "<f8")
    return Held(tables, np.split(draws, np.cumsum(sizes))[:-1], sum(sizes))
