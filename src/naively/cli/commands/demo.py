"""The options of `naively demo`."""

from __future__ import annotations

from pathlib import Path

from naively.cli.app import app


@app.command
def demo(*, folder: Path = Path("naively-demo")) -> None:
    """Train a model on 1,000 generated loans, explain a refusal, and forget a row.

    The tables are made by `naively.cli.results.demo.make_credit`; no row is of a real person.

    Parameters
    ----------
    folder
        The folder for the tables and the model.
    """
    from naively.cli.results.demo import run as run_demo

    run_demo(folder)
