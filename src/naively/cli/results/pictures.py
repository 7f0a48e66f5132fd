"""Write pictures with `naively.plot`; matplotlib is loaded only if one is requested."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from naively.cli import progress, terminal
from naively.cli.errors import UsageError, UserError
from naively.cli.sources import check_output
from naively.storage.atomic import replacing

PICTURES = (".png", ".svg", ".pdf", ".jpg", ".webp")


def check(picture: Path, data: Sequence[str]) -> None:
    """Refuse a picture that cannot be drawn or written, before work starts."""
    check_output(picture, data)
    if picture.suffix.lower() not in PICTURES:
        raise UsageError(f"{picture}: a picture's name ends in one of {', '.join(PICTURES)}")
    if importlib.util.find_spec("matplotlib") is None:
        raise UserError("--plot needs matplotlib: pip install 'naively[plot]'")


def displays() -> Any:
    """`naively.plot`, with a backend that draws to files."""
    import matplotlib as mpl

    mpl.use("agg")
    from naively import plot

    return plot


def write(display: Any, picture: Path) -> None:
    """Write a display's figure to a file, and print its path."""
    figure = display.axes_[0].get_figure(root=True)
    with replacing(picture) as temporary:
        figure.savefig(temporary, format=picture.suffix[1:], dpi=150)
    progress.note(f"saved {terminal.written(picture)}")
