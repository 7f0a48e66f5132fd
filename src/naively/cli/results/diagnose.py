"""`naively diagnose`: test the naive assumption, and recommend a model."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from naively.cli import progress, terminal
from naively.cli.sources import Opened
from naively.cli.work import sampled
from naively.evaluation.diagnose import Diagnosis, examine
from naively.model.column_types import written
from naively.pooling.dates import as_dates
from naively.rendering import on_page
from naively.summary_tables import grouped, held
from naively.tables import values
from naively.tables.identifiers import many_texts, wordy
from naively.tables.learning import TrainingSpec

KINDS = {"numbers": "numeric", "levels": "categorical", "words": "text"}


def run(source: Opened, spec: TrainingSpec) -> Diagnosis:
    """Diagnose the rows of files."""
    rows = sampled(source, spec)
    diagnosis = examine(rows, spec.columns, spec.seed, progress.steps)
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
    features = f"{', '.join(counts)} (in naive Bayes)"
    out.print(terminal.facts(**diagnosis.examined, features=features))
    out.print(on_page(*diagnosis.parts(limit), width=out.width))
    out.print()
    terminal.recommend(out, diagnosis.verdict, diagnosis.target, diagnosis.advised, spec)
