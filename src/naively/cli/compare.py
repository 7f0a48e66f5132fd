"""`naively compare`: learning curves of naive Bayes and its alternatives."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.table import Table
from rich.text import Text

from naively.cli import layout, progress
from naively.cli.errors import UsageError, UserError, printable
from naively.cli.layout import clean, new_facts, new_table, note
from naively.cli.sources import Opened, check_columns, check_output
from naively.comparison import report
from naively.comparison.comparison import Comparison, examine
from naively.engines.threads import workers
from naively.ladder.rows import of_stream
from naively.plain import rows_told
from naively.tables.learning import Question

CELL = 8  # characters of an error and the room beside it


def check_picture(picture: Path, data: Sequence[str]) -> None:
    """Refuse a picture that cannot be drawn or written, before the work."""
    check_output(picture, data)
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ImportError:
        raise UserError("--plot needs matplotlib: pip install 'naively[plot]'") from None
    known = FigureCanvasBase.filetypes
    if picture.suffix.lower().removeprefix(".") not in known:
        raise UsageError(f"{picture}: a picture's name ends in one of .{', .'.join(sorted(known))}")


def run(source: Opened, question: Question, estimators: Sequence[str], splits: int) -> Comparison:
    """The comparison on the rows of files."""
    check_columns(source, question)
    with progress.bar("reading", source.files):
        try:
            rows = of_stream(source.tasks(), question.target, question.seed, workers(None).count)
        except ValueError as error:
            raise UserError(f"{source.name}: {error}") from None
    return examine(rows, question.wishes, estimators, splits, question.seed, progress.steps)


def draw(found: Comparison, picture: Path) -> None:
    """Write the curves to a file."""
    import matplotlib as mpl

    mpl.use("agg")
    from naively.plot import LearningCurvesDisplay

    figure = LearningCurvesDisplay.from_comparison(found).axes_[0].get_figure(root=True)
    assert figure is not None
    figure.savefig(picture, dpi=150)


def compared(found: Comparison) -> None:
    """What `naively compare` found."""
    out = layout.console()
    facts = new_facts()
    facts.add_row("target", clean(found.target))
    facts.add_row("rows", rows_told(found.rows, found.looked_at, found.unlabelled))
    facts.add_row("classes", layout.classes_told(found.classes))
    out.print(facts)
    out.print()
    out.print(_curves(found, out.width))
    for one in report.notes(found):
        out.print(note(printable(one)))
    out.print()
    out.print(Text(printable(found.advice), style="bold"))


def _curves(found: Comparison, width: int) -> Table:
    """A line a candidate; as many sizes as there is room for."""
    names = max(len(one.name) for one in found.candidates)
    shown = report.places(found.sizes, (width - min(names, width // 2) - 24) // CELL)
    table = new_table()
    heads = report.heads([found.sizes[k] for k in shown])
    for head in heads:
        first = head == heads[0]
        table.add_column(head, justify="left" if first else "right", no_wrap=True)
    least = min(found.candidates, key=lambda one: (one.error[-1] != one.error[-1], one.error[-1]))
    for one in found.candidates:
        name, *cells = report.cells(one, shown)
        style = "bold green" if one is least else "" if one.kind == "naive" else "dim"
        table.add_row(clean(name, width // 2), *cells, style=style)
    return table
