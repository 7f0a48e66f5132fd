"""A model that learns what arrives: tested first if asked, fading, saved now and then."""

from __future__ import annotations

import time
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from naively.cli import models, progress, work
from naively.cli.amounts import Amount
from naively.cli.errors import UsageError, UserError
from naively.cli.followed import Followed, Version
from naively.engines.threads import workers
from naively.files.safetensors import Saved
from naively.model import Model
from naively.study.progressive import Progressive
from naively.tables.learning import Plan, Question, merge, plan, summarise

STEPS = 16
"""Steps in which what was learned loses half of its weight."""
BATCH = 1000
"""Rows that are predicted by one model, unless estimating takes long."""
LEAST = 2.0**-1000
"""What a long time leaves of a weight: 0 would be no weight."""


@dataclass
class Learned:
    """What was learned since the model file was written.

    Attributes
    ----------
    model : Model, that of the file and what came after.
    own : Model of the latter alone.
    gamma : what the weight of the former was multiplied by since.
    notes : Followed
    rows : int, that came after.
    """

    model: Model
    own: Model
    gamma: float
    notes: Followed
    rows: int = 0

    def copy(self) -> Learned:
        """A copy that shares nothing that changes."""
        files = {name: list(known) for name, known in self.notes.files.items()}
        notes = replace(self.notes, files=files)
        return replace(self, model=self.model.copy(), own=self.own.copy(), notes=notes)


class Arriving:
    """A model file, and what arrives for it.

    Parameters
    ----------
    path : of the model file.
    half_life : rows or time after which what was learned weighs half; None if it does not fade.
    test : what predictions are compared by, if rows are to be predicted before they are learned.

    Attributes
    ----------
    saved : what the file holds.
    now : Learned
    total : rows that were learned and written.
    files : how many files were.
    """

    def __init__(self, path: Path, half_life: Amount | None, test: Progressive | None) -> None:
        self.path, self.half_life, self.test = path, half_life, test
        self.total = self.files = 0
        self._taken: list[tuple[str, Version]] = []
        self._begin(models.load_table(path))

    def _begin(self, saved: Saved) -> None:
        """Go on from a model file."""
        if saved.parts:
            raise UserError(
                f"{self.path}: the model has parts, which `naively update` and `naively forget` "
                "change; follow a model without"
            )
        if saved.multilabel and self.test is not None:
            raise UsageError("--progressive is for models that give each row one label")
        notes = Followed.of(saved.extra, self.path)
        self.saved = saved
        self._made: Plan | None = None
        self.now = Learned(saved.model, saved.model.blank(), 1.0, notes)
        self._taken = []
        self.written = time.monotonic()

    # ---- learning ----------------------------------------------------------------------------

    def learn(self, batch: pa.RecordBatch, question: Question) -> int:
        """Learn a batch, in steps; how many of its rows have a label.

        Raises LearningError if it cannot be learned.
        """
        table, at, labelled = pa.Table.from_batches([batch]), 0, 0
        made = self._made
        if made is None or made.blank.counted is not self.now.model.counted:
            made = self._made = plan([table], question, self.now.model)
        self._fade_by_time()
        while at < table.num_rows:
            rows = table.slice(at, self._room())
            if self.test is not None:
                self._tested(rows, made.question)
            part = summarise(made, rows)
            structure = self.now.model.structure
            self.now.model = merge(self.now.model, part)
            self.now.model.structure = structure
            self.now.own = merge(self.now.own, part)
            labelled += part.rows
            at += rows.num_rows
            self.now.notes.since += rows.num_rows
            self._fade_by_rows()
        self.now.rows += labelled
        return labelled

    def _room(self) -> int:
        """How many rows may be learned at once."""
        most = 1 << 62
        if self.test is not None and not self.now.model.family.keeps:
            most = BATCH
        if self.half_life is not None and self.half_life.rows is not None:
            most = min(most, max(1, _step(self.half_life.rows) - self.now.notes.since))
        return most

    def _tested(self, rows: pa.Table, question: Question) -> None:
        """Predict rows, and compare."""
        assert self.test is not None
        model = self.now.model
        if len(model.classes):  # else nothing can be predicted
            model.posterior(workers(None))
            tested = work.compared(model, rows, question.target, question.wishes.missing)
            self.test.add(*tested[:2])

    def _fade_by_rows(self) -> None:
        """Let what was learned lose weight, if enough rows came since the last time."""
        life, since = self.half_life, self.now.notes.since
        if life is not None and life.rows is not None and since >= _step(life.rows):
            self._fade(since / life.rows)
            self.now.notes.since = 0

    def _fade_by_time(self) -> None:
        """The same, if enough time has gone by."""
        if self.half_life is None or self.half_life.seconds is None:
            return
        notes, now = self.now.notes, time.time()
        gone = now - notes.clock if notes.clock else 0.0
        if gone >= self.half_life.seconds / STEPS:
            self._fade(gone / self.half_life.seconds)
        if gone <= 0 or gone >= self.half_life.seconds / STEPS:  # a clock may be set back
            notes.clock = now

    def _fade(self, lives: float) -> None:
        gamma = max(2.0**-lives, LEAST)
        self.now.model.decay(gamma)
        self.now.own.decay(gamma)
        self.now.gamma = max(self.now.gamma * gamma, LEAST)

    # ---- files -------------------------------------------------------------------------------

    def whole(self, name: str, version: Version, learn: Callable[[], None]) -> None:
        """Learn a file, all of it or, if that fails, nothing."""
        before, test = self.now.copy(), copy(self.test)
        try:
            self._made = None  # the labels of another file may be of another type
            learn()
        except BaseException:
            self.now, self.test = before, test
            raise
        models.note_new_classes(name, self.now.model, replace(self.saved, model=before.model))
        self.now.notes.add(name, version)
        self._taken.append((name, version))

    # ---- writing -----------------------------------------------------------------------------

    @property
    def unwritten(self) -> bool:
        """Whether something was learned that is not in the file."""
        return bool(self.now.rows or self._taken)

    def write(self) -> bool:
        """Write the model file; False if what was learned is to be learned again.

        Another command may have changed the file since: then what was learned is added to that. If
        it learned the same files, what was learned here is dropped, so that nothing counts twice.
        """
        if not self.unwritten:
            self.written = time.monotonic()
            return True
        now = self.now
        with models.changing(replace(self.saved, model=now.model), self.path, self.path) as there:
            if there.model is not now.model and not self._joined(there):
                self._begin(there)
                return False
            self.now.notes.note(there.extra)
            models.write(there, self.path)
        models.unread(there.model, now.own.invalid_in(there.model.schema), "learned")
        self.total += now.rows
        self.files += len(self._taken)
        self._begin(there)
        return True

    def _joined(self, there: Saved) -> bool:
        """Add what was learned to a model that somebody else wrote; False if that is not right."""
        theirs = Followed.of(there.extra, self.path)
        if any(theirs.has(name, version) for name, version in self._taken):
            progress.note(
                f"{self.path}: another command learned the same files; going on from there"
            )
            return False
        for name, version in self._taken:
            theirs.add(name, version)
        theirs.since, theirs.clock = self.now.notes.since, self.now.notes.clock
        self.now.notes = theirs
        if self.now.gamma < 1.0:
            there.model.decay(self.now.gamma)
        there.model = _sum(there.model, self.now.own)
        return True


def _sum(model: Model, own: Model) -> Model:
    """What both learned; the families of a model hold, if its columns have changed theirs since."""
    try:
        return merge(model, own)
    except ValueError:
        if not own.schema.why.keys() <= model.schema.why.keys():
            raise
        return merge(model, own.under(model.counted))


def _step(half_life: int) -> int:
    """Rows after which what was learned loses weight."""
    return max(1, round(half_life / STEPS))
