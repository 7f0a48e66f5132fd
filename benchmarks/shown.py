"""Options and output that `quality.py` and `text_quality.py` share."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterable
from pathlib import Path

import rich.box
from rich.console import Console
from rich.table import Table


def short(value: float) -> str:
    return f"{value:.3f}".removeprefix("0") if value < 100 else f"{value:.0f}"


def show(
    console: Console, title: str, columns: Iterable[str], rows: Iterable[list[str]], markdown: bool
) -> None:
    """A table, for people or for the docs."""
    table = Table(box=rich.box.MARKDOWN if markdown else rich.box.HEAVY_HEAD)
    for k, name in enumerate(columns):
        table.add_column(name, justify="right" if k else "left", no_wrap=not markdown or k == 0)
    for row in rows:
        table.add_row(*row)
    console.print(f"\n{title}\n", markup=False)
    console.print(table)


def check_folder(parser: argparse.ArgumentParser, given: argparse.Namespace, what: str) -> None:
    """End the program unless `--data` is a folder; make it a path."""
    if not given.data:
        parser.error(f"name the folder of the {what} with --data or NAIVELY_DATA")
    given.data = Path(given.data)
    if not given.data.is_dir():
        parser.error(f"there is no folder {given.data}")


def check_names(
    parser: argparse.ArgumentParser, option: str, asked: Iterable[str], known: Collection[str]
) -> None:
    """End the program if a name is not known."""
    for name in asked:
        if name not in known:
            parser.error(f"--{option} {name!r}: there are {', '.join(map(repr, known))}")
