"""`naively diagnose`: test the naive assumption, and recommend a model."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from rich.table import Table
from rich.text import Text

from naively.cli import progress, terminal
from naively.cli.errors import printable
from naively.cli.sources import Opened
from naively.cli.terminal import clean, new_table, room_beside
from naively.cli.work import sampled
from naively.evaluation import diagnose
from naively.evaluation.dependence import ColumnPair
from naively.evaluation.diagnose import Diagnosis, examine
from naively.model.column_types import written
from naively.pooling.dates import as_dates
from naively.summary_tables import grouped, held
from naively.tables import values
from naively.tables.identifiers import many_texts, wordy
from naively.tables.learning import TrainingSpec

KINDS = {"numbers": "numeric", "levels": "categorical", "words": "text"}
NAMES = 30  # characters of the names of two columns, at least


def run(source: Opened, spec: TrainingSpec) -> Diagnosis:
    """Diagnose the rows of files."""
    rows = sampled(source, spec)
    with progress.doing() as show:
        diagnosis = examine(rows, spec.columns, spec.seed, show)
    is_only, missing = len(diagnosis.columns) == 1, spec.columns.missing
    remarks = {
        name: _meant(name, rows.table.column(name), missing, is_only)
        for name, kind in diagnosis.columns.items()
        if kind == "levels" and name not in spec.columns.families
    }
    for remark, names in grouped(
        {name: remark for name, remark in remarks.items() if remark}
    ).items():
        progress.note(held(names, remark))
    return diagnosis


def _meant(name: str, column: pa.ChunkedArray, missing: Sequence[str], alone: bool) -> str | None:
    """The type that a categorical column may be meant as, and what to do; None if there is none."""
    codes, categories = values.levels(values.flat(column), missing)
    levels, weights = categories.tolist(), np.bincount(codes, minlength=len(categories) + 1)[:-1]
    remark = None if as_dates(categories) is not None else written(levels)
    if remark is None and alone and wordy(levels, weights.astype(np.float64)):
        remark = f"{many_texts(len(levels))}--columns {shlex.quote(f'{name}=text')}"
    return remark


def diagnosed(diagnosis: Diagnosis, limit: int, spec: TrainingSpec) -> None:
    """Print a diagnosis."""
    out = terminal.console()
    kinds = list(diagnosis.columns.values())
    counts = [f"{kinds.count(kind):,} {name}" for kind, name in KINDS.items() if kind in kinds]
    out.print(terminal.facts(**diagnosis.examined, features=", ".join(counts)))
    out.print()
    out.print(Text("Dependence between features", style="bold"))
    if diagnosis.pairs[:limit]:
        out.print(_pairs(diagnosis, limit, out.width))
    terminal.remark(out, diagnose.pair_notes(diagnosis, limit))
    out.print()
    out.print(Text("Models, by number of parameters", style="bold"))
    out.print(_rungs(diagnosis, out.width))
    terminal.remark(out, diagnose.rung_notes(diagnosis))
    out.print()
    out.print(Text(printable(diagnosis.assumption)))
    out.print()
    terminal.recommend(out, diagnosis.verdict, diagnosis.target, diagnosis.advised, spec)


def _pairs(diagnosis: Diagnosis, limit: int, width: int) -> Table:
    """A table with a row per pair, dependent pairs first."""
    pairs = diagnosis.pairs[:limit]
    names, *columns = zip(diagnose.PAIR_HEADS, *diagnose.pair_rows(pairs), strict=True)
    if room_beside(columns, width) < min(max(map(len, names)), NAMES):
        del columns[-2:]  # marginal
    name_width = max(room_beside(columns, width), 15)
    table = new_table(names[0], *(heading for heading, *_ in columns), style="")
    for pair, *cells in zip(pairs, *(column[1:] for column in columns), strict=True):
        styles = ("bold", "") if pair.dependent else ("", "dim")
        table.add_row(Text(_both(pair, name_width), style=styles[0]), *cells, style=styles[1])
    return table


def _both(pair: ColumnPair, room: int) -> str:
    """The names of both columns, shortened to so many characters."""
    first, second = clean(pair.first, 200), clean(pair.second, 200)
    room -= 3
    half = room // 2
    first_room = max(half, room - len(second))
    return f"{clean(first, first_room)} × {clean(second, max(room - len(first), room - half))}"


def _rungs(diagnosis: Diagnosis, width: int) -> Table:
    """A table with a row per model, by number of parameters; the recommended one is bold."""
    advised = diagnosis.advised
    columns = list(zip(diagnose.RUNG_HEADS, *diagnose.rung_rows(diagnosis), strict=True))
    for heading in ("rows per parameter", "against naive Bayes"):  # dropped in a narrow terminal
        if room_beside(columns, width) + 2 < 0:
            columns = [column for column in columns if column[0] != heading]
    table = new_table(*(heading for heading, *_ in columns), style="")
    for rung, *cells in zip(diagnosis.rungs, *(column[1:] for column in columns), strict=True):
        style = "bold green" if rung is advised else "dim" if rung.reason else ""
        table.add_row(*cells, style=style)
    return table
