"""Tables of many numeric columns: images, voxels, and made ones with more columns than rows.

Of MNIST 12,500 images, so that five folds learn 10,000 each. The made tables have 250 rows of 1,000
columns and three classes: `spectra` are smooth curves of eight factors, whose means and variances
differ between the classes; `genes` are eight factors and noise, where 20 columns differ in their
mean; of `noise` five columns do, and nothing else is there.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import suite
import tables
from suite import Rows

ROWS, COLUMNS, CLASSES, FACTORS = 250, 1000, 3, 8


def images(folder: Path) -> Rows:
    """A fifth of all images, as they are."""
    pixels, labels = suite.images(folder)
    some = np.random.default_rng(0).permutation(len(labels))[:12_500]
    frame = pd.DataFrame(pixels[some].astype(float)).add_prefix("pixel")
    return frame, labels[some].astype(str)


def slice_of_a_brain(folder: Path) -> Rows:
    """Voxels of one slice, without the number of the run."""
    path = "haxby-1slice/haxby_sub001_1slice_530vox.csv.gz"
    table, labels = tables.csv(path, "label")(folder)
    return tables.plain(table).drop(columns="run"), labels.astype(str)


def made(kind: str) -> Callable[[Path], Rows]:
    """A made table; it needs no folder."""

    def load(_folder: Path) -> Rows:
        draw = np.random.default_rng(0)
        y = draw.integers(0, CLASSES, ROWS)
        X = draw.normal(size=(ROWS, COLUMNS))
        if kind == "spectra":
            places, widths = draw.random((FACTORS, 1)), draw.uniform(0.03, 0.3, (FACTORS, 1))
            curves = np.exp(-(((np.linspace(0, 1, COLUMNS) - places) / widths) ** 2))
            means, spreads = draw.normal(size=(2, CLASSES, FACTORS))
            factors = 0.7 * means[y] + np.exp(0.5 * spreads[y]) * draw.normal(size=(ROWS, FACTORS))
            X = factors @ curves + 0.3 * X
        if kind == "genes":
            weights = draw.normal(size=(FACTORS, COLUMNS))
            weights *= draw.random((FACTORS, COLUMNS)) < 0.1
            X += draw.normal(size=(ROWS, FACTORS)) @ weights
        n_informative = {"spectra": 0, "genes": 20, "noise": 5}[kind]
        X[:, :n_informative] += 0.5 * draw.normal(size=(CLASSES, n_informative))[y]
        return pd.DataFrame(X).add_prefix("x"), y.astype(str)

    return load


TABLES: dict[str, Callable[[Path], Rows]] = {
    "mnist-784": images,
    "haxby-1slice": slice_of_a_brain,
    "haxby-25mm": suite.TABLES["haxby-25mm"],
    "optdigits": suite.TABLES["optdigits"],
    "sonar": suite.TABLES["sonar"],
    "ionosphere": suite.TABLES["ionosphere"],
    "spectra": made("spectra"),
    "genes": made("genes"),
    "noise": made("noise"),
}
"""The tables, by name."""
