"""Rows whose columns are read as they are declared: categories that are written as numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from naively.evidence.bins import as_numbers
from naively.statistics.levels import Levels
from naively.statistics.row_encoding import Codes, texts
from naively.statistics.sample import SampleStatistics


def as_declared(statistics: SampleStatistics, types: Mapping[int, str]) -> SampleStatistics:
    """The rows with the values of declared columns as text if categorical, else as numbers.

    Statistics themselves keep values as they would be without a declaration, so that models of
    declared and of undeclared sources add up. What is no number in a numeric column is missing.
    """
    levels, codes = [*statistics.levels], np.array(statistics.codes, order="F")
    for j, kind in types.items():
        if (levels[j].dtype.kind == "T") == (kind == "numeric") and len(levels[j]):
            written = texts(levels[j]) if kind == "categorical" else as_numbers(levels[j])
            levels[j], codes[:, j] = _recoded(written, codes[:, j])
    if all(one is known for one, known in zip(levels, statistics.levels, strict=True)):
        return statistics
    found = replace(statistics, rows=replace(statistics.rows, levels=levels, codes=codes))
    if "numeric" in types.values():  # rows that differed in what is missing now become one
        found = found.gather_columns(slice(None))
    return found


def _recoded(levels: Levels, codes: Codes) -> tuple[Levels, Codes]:
    """(sorted levels without NaN, the codes of rows among them)."""
    known, place = np.unique(levels, return_inverse=True)
    if known.dtype.kind == "f":
        known = known[~np.isnan(known)]
    return known, np.append(np.minimum(place, len(known)), len(known))[codes].astype(np.int32)
