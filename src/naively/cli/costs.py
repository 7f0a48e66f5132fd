"""What mistakes cost, as a small table in a file; and how labels follow from the options."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from naively.cli.errors import UsageError, UserError, some
from naively.decisions import DecisionRule, cost_matrix
from naively.exact import Float64
from naively.labels import Labels
from naively.tables.targets import positions


def rule(classes: Labels, costs: Path | None, unsure: float | None) -> DecisionRule | None:
    """The rule of `--costs` and `--unsure`; None if neither was given."""
    if costs is None and unsure is None:
        return None
    if unsure is not None and not 0 < unsure <= 1:
        raise UsageError(
            f"--unsure is a probability, above 0 and at most 1, as 0.8, not {unsure:g}"
        )
    return DecisionRule(None if costs is None else read(costs, classes), unsure)


def read(path: Path, classes: Labels) -> Float64:
    """The costs in a CSV or TSV file, (C, C) in the order of the classes.

    Its first line names the predicted classes, and the first cell of each other line a true one;
    every class once, in any order.
    """
    heads, *lines = _cells(path)
    columns = _places(heads[1:], classes, f"{path}: its first line")
    rows = _places([line[0] for line in lines], classes, f"{path}: its first column")
    matrix = np.empty((len(classes), len(classes)))
    for place, line in zip(rows, lines, strict=True):
        for column, said, cell in zip(columns, heads[1:], line[1:], strict=True):
            try:
                matrix[place, column] = float(cell)
            except ValueError:
                raise UserError(
                    f"{path}: the cost of {said!r} where {line[0]!r} is true must be a number, "
                    f"not {cell!r}"
                ) from None
    try:
        return cost_matrix(matrix, classes)
    except ValueError as error:
        raise UserError(f"{path}: {error}") from None


def _cells(path: Path) -> list[list[str]]:
    """The cells of each line that is not empty, as many in each."""
    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: is no text in UTF-8: {error}") from None
    reader = csv.reader(text.splitlines(), delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
    cells: list[list[str]] = []
    for line in reader:
        if not any(line):
            continue
        cells.append([cell.strip() for cell in line])
        if len(line) != len(cells[0]):
            raise UserError(
                f"{path}: line {reader.line_num} has {len(line)} cells, the first {len(cells[0])}"
            )
    if not cells:
        raise UserError(f"{path}: is empty; its first line names the predicted classes")
    return cells


def _places(names: Sequence[str], classes: Labels, where: str) -> list[int]:
    """The position of each class, all of which must be named once."""
    places: list[int] = positions(np.array(names, object), classes).tolist()
    for place, name in zip(places, names, strict=True):
        if place < 0:
            raise UserError(f"{where} names {name!r}, which is none of the classes {some(classes)}")
        if places.count(place) > 1:
            raise UserError(f"{where} names {name!r} twice")
    if lacking := [label for c, label in enumerate(classes.tolist()) if c not in places]:
        raise UserError(f"{where} lacks {some(map(repr, lacking))}: name every class")
    return places
