"""The options of `naively merge`."""

from __future__ import annotations

from pathlib import Path

from naively.cli import arguments
from naively.cli.app import app


@app.command
def merge(*models: Path, output: arguments.NewFile) -> None:
    """Merge models: the result is the model trained on the rows of all of them.

    Parameters
    ----------
    models
        Model files written by `naively fit`, or by `save` in Python.
    output
        The model file to write.
    """
    from naively.cli import models as files
    from naively.cli import sources
    from naively.cli.errors import UsageError
    from naively.cli.results import summary
    from naively.storage import atomic

    if len(models) < 2:
        raise UsageError("name two or more models to merge")
    sources.check_output(output, [])
    with atomic.alone(output):
        saved = files.merged(models)
        files.write(saved, output)
    summary.changed("merged", saved.model.rows, saved.model, output)
