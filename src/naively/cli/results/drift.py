"""`naively drift`: compare new rows with the training rows of a model."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from naively.cli import models, progress, terminal
from naively.cli.errors import UsageError, UserError, printable
from naively.cli.sources import Opened
from naively.cli.terminal import clean, new_table, room_beside
from naively.core.workers import workers
from naively.evaluation.drift import drift as drift_text
from naively.evaluation.drift.drift import Drift, check_level, check_model, of_table
from naively.evaluation.samples import without_labels
from naively.storage.model_files import Saved

FOUND = 3
"""Exit code if there is drift."""
NAMES, CHANGES = 24, 20
"""Characters of a column's name, at most, and of its change, at least."""


def run(saved: Saved, source: Opened, level: float) -> Drift:
    """Compare the rows of files with the training rows of a model."""
    try:
        check_level(level)
    except ValueError as error:
        raise UsageError(f"--level: {error}") from None
    check_model(saved.model)
    target = models.target_of(saved)
    model = models.with_columns(saved, [n for n in source.names if n != target], source.name)
    with progress.bar("reading", source.files):
        table, positions, total = without_labels(source.tasks(), workers(None).count)
    if not total:
        raise UserError(f"{source.name}: there are no rows")
    if source.file in table.column_names:
        table = table.drop_columns([source.file])
    return of_table(model, model.posterior(), table, target, workers(None), level, positions, total)


def printed(result: Drift, path: str, source: str) -> None:
    """Print the result of `naively drift`."""
    out = terminal.console()
    training = f"{drift_text.learned_rows(result)}, {clean(path, 200)}"
    new = f"{drift_text.new_rows(result)}, {clean(source, 200)}"
    out.print(terminal.facts(training=training, new=new))
    out.print(Text(f"result    {printable(drift_text.verdict(result))}", style="bold"))
    out.print()
    out.print(_title("Feature drift"))
    out.print(_columns(result, out.width))
    terminal.remark(out, drift_text.column_notes(result))
    for feature in result.columns:
        if feature.words:
            out.print()
            out.print(_title(f"Words of {clean(feature.name)}"))
            out.print(_table(drift_text.WORD_HEADS, drift_text.word_rows(feature)))
            terminal.remark(out, drift_text.word_notes(feature))
    if result.row.columns:
        out.print()
        out.print(_title("Least likely rows"))
        out.print(Text(drift_text.row_sentence(result)))
        out.print()
        *headings, reason = drift_text.ROW_HEADS
        rows = drift_text.unlikely_rows(result)
        reason_width = room_beside(
            [
                [heading, *column]
                for heading, column in zip(headings, zip(*rows, strict=True), strict=False)
            ],
            out.width,
        )
        table = new_table(*headings, reason, names=0, style="")
        table.columns[-1].justify = "left"
        for *cells, text in rows:
            table.add_row(*cells, clean(text, max(reason_width, CHANGES)))
        out.print(table)
        terminal.remark(out, [drift_text.ROW_NOTE])
    out.print()
    out.print(_title("Class frequencies (label shift)"))
    out.print(_table(drift_text.share_heads(result), drift_text.share_rows(result)))
    terminal.remark(out, drift_text.share_notes(result))


def _title(text: str) -> Text:
    return Text(text, style="bold")


def _columns(result: Drift, width: int) -> Table:
    """A table with a row per feature; drifted ones are bold."""
    rows = drift_text.column_rows(result)
    names, changes, *numbers = zip(drift_text.COLUMN_HEADS, *rows, strict=True)
    longest = min(max(map(len, names)), NAMES)
    if room_beside(numbers, width) - longest - 2 < min(max(map(len, changes)), 2 * CHANGES):
        numbers.pop(1)  # by chance
    change_width = max(room_beside(numbers, width) - longest - 2, CHANGES)
    table = new_table(
        names[0], changes[0], *(heading for heading, *_ in numbers), names=2, style=""
    )
    for k, column_drift in enumerate(result.columns[: len(rows)]):
        style = "bold" if column_drift.adjusted < result.level else ""
        cells = (column[k + 1] for column in numbers)
        table.add_row(
            Text(clean(column_drift.name, longest), style=style),
            clean(column_drift.change, change_width),
            *cells,
        )
    return table


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> Table:
    table = new_table(*heads, style="")
    for name, *cells in rows:
        table.add_row(clean(name, NAMES), *cells)
    return table
