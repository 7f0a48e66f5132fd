"""`naively demo`: what it takes."""

from __future__ import annotations

from pathlib import Path

from naively.cli.app import app


@app.command
def demo(*, folder: Path = Path("naively-demo")) -> None:
    """Learn to read handwritten digits: writes two tables, learns one, is tested on the other.

    Works offline: scikit-learn bundles the digits.

    Parameters
    ----------
    folder
        Where to put the tables and the model.
    """
    from naively.cli.verbs.demo import run as run_demo

    run_demo(folder)
