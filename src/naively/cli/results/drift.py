"""`naively drift`: compare new rows with the training rows of a model."""

from __future__ import annotations

from rich.text import Text

from naively.cli import models, progress, terminal
from naively.cli.errors import UsageError, UserError, printable
from naively.cli.sources import Opened
from naively.cli.terminal import clean
from naively.core.workers import workers
from naively.evaluation.drift import drift
from naively.evaluation.samples import without_labels
from naively.rendering import on_page
from naively.storage.model_files import Saved

DRIFT_EXIT_CODE = 3  # exit code if there is drift


def run(saved: Saved, source: Opened, level: float) -> drift.Drift:
    """Compare the rows of files with the training rows of a model."""
    try:
        drift.check_level(level)
    except ValueError as error:
        raise UsageError(f"--level: {error}") from None
    drift.check_model(saved.model)
    target = saved.model.target
    model = models.with_columns(saved, [n for n in source.names if n != target], source.name)
    with progress.bar("reading", source.files):
        table, positions, total = without_labels(source.tasks(), workers(None).count)
    if not total:
        raise UserError(f"{source.name}: there are no rows")
    if source.file in table.column_names:
        table = table.drop_columns([source.file])
    posterior, threads = model.posterior(), workers(None)
    return drift.of_table(model, posterior, table, target, threads, level, positions, total)


def printed(result: drift.Drift, path: str, source: str) -> None:
    """Print the result of `naively drift`."""
    out = terminal.console()
    training = f"{drift.learned_rows(result)}, {clean(path, 200)}"
    new = f"{drift.new_rows(result)}, {clean(source, 200)}"
    out.print(terminal.facts(training=training, new=new))
    out.print(Text(f"result    {printable(drift.verdict(result))}", style="bold"))
    out.print(on_page(*result.parts(), width=out.width))
