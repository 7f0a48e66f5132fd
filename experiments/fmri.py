"""fMRI: which of two categories of pictures somebody looks at (Haxby et al. 2001; lecture 2).

    NAIVELY_DATA=folder python experiments/fmri.py

In each of 12 runs a subject saw pictures of eight categories, each in one block of nine volumes,
with rest between. PyMVPA's samples have subject 1: a slice of 530 voxels, and the brain in 129. For
each two categories Gaussian naive Bayes learns 11 runs and predicts the twelfth: means of 28 pairs
and 12 runs, chance is 50%. Variances are of a voxel (`tie="classes"`, σ_i); other ties are beside.
Each category of each run is learned once; all models are sums of these. No lag is added to labels.

Preparation was fixed before anything was predicted, as in PyMVPA's example of these data: in a run
a line is taken from each voxel's signal, which drifts, then the mean of rest; the result is divided
by the deviation of rest. `z-scores` are of a run's volumes, without a line; `blocks` means of nine.

Published: 85% for pairs of 12 categories of words, 15,000 voxels, 10 examples a class (lecture 2,
Mitchell et al.); 78.1% for all eight categories by a linear support vector machine, of blocks and
577 ventral temporal voxels of the same subject (PyMVPA's tutorial); 97.4% for volumes of faces and
houses, by support vector machines of whole brains, median of 10 subjects (Hanson & Halchenko 2008).
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from data import arguments, show
from scipy.signal import detrend
from sklearn.datasets import load_digits

from naively import GaussianNB

TIES = {"σ_i": "classes", "σ_ik": None, "σ_k": "features", "σ": "both"}
PREPARED = ("line, rest", "z-scores", "as measured")
PUBLISHED = {
    ("haxby-1slice", "volumes"): "97.4: face, house",
    ("haxby-1slice", "blocks"): "85: pairs of words; 78.1: all at once",
}


@dataclass(frozen=True)
class Scan:
    """(n, d) signals, (n,) what was seen, (n,) the run; where the voxels are, if that is known."""

    X: np.ndarray
    seen: np.ndarray
    run: np.ndarray
    mask: np.ndarray | None = None

    def __getitem__(self, rows: np.ndarray) -> Scan:
        return replace(self, X=self.X[rows], seen=self.seen[rows], run=self.run[rows])


def haxby(folder: Path) -> Scan:
    """A table of volumes; where there is a mask beside, the place of each voxel too."""
    table = pd.read_csv(next(folder.glob("*.csv.gz")))
    seen, run = table.pop("label").to_numpy(str), table.pop("run").to_numpy()
    X = table.to_numpy(float)
    if not (beside := folder / "mask.nii.gz").exists():
        return Scan(X, seen, run)
    raw = gzip.decompress(beside.read_bytes())  # NIfTI-1 of int16; from right to left, then up
    shape, start = np.frombuffer(raw, "<i2", 2, 42), int(np.frombuffer(raw, "<f4", 1, 108)[0])
    mask = np.frombuffer(raw, "<i2", offset=start).reshape(shape[::-1]) > 0
    place = np.cumsum(mask).reshape(mask.shape) - 1
    return Scan(X[:, place[::-1][mask[::-1]]], seen, run, mask[::-1])  # the front is above


def small() -> Scan:
    """Four of the digits that scikit-learn bundles: pixels are voxels, parts of the rows runs."""
    X, y = load_digits(n_class=4, return_X_y=True)
    return Scan(X, np.array([f"a {k}" for k in y]), np.arange(len(y)) // 60, np.ones((8, 8), bool))


def prepared(scan: Scan, how: str) -> Scan:
    """The signals of a run on one scale; volumes of rest are left out."""
    X = scan.X.copy()
    for run in np.unique(scan.run):
        here = scan.run == run
        own = base = detrend(X[here], axis=0) if how == "line, rest" else X[here]
        if how == "line, rest" and (rest := scan.seen[here] == "rest").any():
            base = own[rest]
        if how != "as measured":
            X[here] = (own - base.mean(axis=0)) / np.maximum(base.std(axis=0), 1e-9)
    return replace(scan, X=X)[scan.seen != "rest"]


def blocks(scan: Scan) -> Scan:
    """The mean of the volumes of each category in each run."""
    means = pd.DataFrame(scan.X).groupby([scan.seen, scan.run]).mean()
    seen, run = map(np.array, zip(*means.index, strict=True))
    return Scan(means.to_numpy(), seen, run, scan.mask)


class Held:
    """Models that have not met one run; each category in each run was learned once."""

    def __init__(self, scan: Scan) -> None:
        self.scan, self.runs = scan, np.unique(scan.run).tolist()
        self.categories = np.unique(scan.seen).tolist()
        self.pairs = list(combinations(self.categories, 2))
        self.others: dict[tuple[str, int], GaussianNB] = {}
        for category in self.categories:
            parts = [scan[(scan.seen == category) & (scan.run == run)] for run in self.runs]
            learned = [GaussianNB().partial_fit(part.X, part.seen) for part in parts]
            for k, run in enumerate(self.runs):
                self.others[category, run] = sum(learned[:k] + learned[k + 1 :])

    def folds(self, group: Any, tie: Any) -> Any:
        """For each run the model of these categories in the other runs, and the run's rows."""
        for run in self.runs:
            first, *rest = (self.others[category, run] for category in group)
            rows = self.scan[(self.scan.run == run) & np.isin(self.scan.seen, group)]
            yield sum(rest, first).set_params(tie=tie), rows

    def accuracies(self, groups: list[Any], tie: Any = "classes") -> np.ndarray:
        """(groups of categories, runs), in %."""
        folds = [list(self.folds(group, tie)) for group in groups]
        return 100.0 * np.array([[m.score(own.X, own.seen) for m, own in each] for each in folds])

    def evidence(self, pair: tuple[str, str]) -> np.ndarray:
        """(2, d): what a voxel adds to the log-odds where either is seen: means, in nats."""
        folds = self.folds(pair, "classes")
        parts = [(rows.seen, m.explain(rows.X).log_odds(*pair)[1]) for m, rows in folds]
        seen, added = map(np.concatenate, zip(*parts, strict=True))
        return np.array([added[seen == category].mean(axis=0) for category in pair])


def tables(scans: dict[str, Scan]) -> tuple[Held, np.ndarray]:
    """Prints them; the models and the accuracies of pairs of the first row."""
    kept, by_tie, by_preparation = [], [], []
    for name, scan in scans.items():
        for kind, change in (("volumes", replace), ("blocks", blocks)):
            usual, *others = (Held(change(prepared(scan, how))) for how in PREPARED)
            found = [usual.accuracies(usual.pairs, tie) for tie in TIES.values()]
            found += [usual.accuracies([usual.categories])]
            means = [float(each.mean()) for each in found]
            by_tie.append([name, kind, scan.X.shape[1], *means, PUBLISHED.get((name, kind), "")])
            means[1:] = [float(other.accuracies(other.pairs).mean()) for other in others]
            by_preparation.append([name, kind, *means])
            kept.append((usual, found[0]))
    columns = ["of", "examples", "voxels", *TIES, "all at once", "published"]
    show("Pairs, %, by what a variance is of; all categories at once, by σ_i", columns, by_tie)
    show("Pairs, %, by preparation, by σ_i", ["of", "examples", *PREPARED], by_preparation)
    return kept[0]


def draw(folder: Path, held: Held, pair: tuple[str, str], table: Any, added: Any) -> None:
    import matplotlib.pyplot as plt

    from naively.plot import ImageDisplay
    from naively.plot.images import Quantity

    def images(name: str, title: str, classes: list[str], **rows: np.ndarray) -> None:
        ax = plt.subplots(figsize=(8, len(classes) / 4 + 2.2), layout="constrained")[1]
        shown = [Quantity(row, values, "PuOr_r", symmetric=True) for row, values in rows.items()]
        ImageDisplay(quantities=shown, classes=classes, mask=held.scan.mask).plot(ax)
        ax.figure.suptitle(title, fontsize="medium")
        ax.figure.savefig(folder / f"fmri-{name}.png", dpi=110)

    names, model = held.categories, GaussianNB().fit(held.scan.X, held.scan.seen)
    means = {"mean": model.theta_, "− mean\nof all": model.theta_ - model.theta_.mean(axis=0)}
    images("means", "signal above rest, in standard deviations of rest", names, **means)
    title = f"log-odds of {pair[0]} against {pair[1]} by voxel, in nats: means over unseen runs"
    images("evidence", title, [f"{name} seen" for name in pair], evidence=added)
    ax = plt.subplots(figsize=(5.8, 5.2), layout="constrained")[1]
    ax.imshow(table, cmap="cividis", vmin=50, vmax=100)
    for i, j in zip(*np.nonzero(np.isfinite(table)), strict=True):
        ink = "white" if table[i, j] < 75 else "black"
        ax.text(j, i, f"{table[i, j]:.0f}", c=ink, ha="center", va="center")
    ax.set_xticks(range(len(names)), names, rotation=40, ha="right")
    ax.set_yticks(range(len(names)), names)
    ax.set_title(f"pairs told apart by one volume: {np.nanmean(table):.1f}% on average")
    ax.figure.savefig(folder / "fmri-pairs.png", dpi=110)


def main() -> None:
    given = arguments(__doc__, "the digits that scikit-learn bundles, pixels for voxels")
    folders = () if given.small else ("haxby-1slice", "haxby-25mm")
    scans = {name: haxby(given.data / name) for name in folders} or {"digits": small()}
    pair = ("face", "house") if folders else ("a 0", "a 1")
    held, found = tables(scans)
    table = np.full((len(held.categories),) * 2, np.nan)
    first, second = np.triu_indices(len(table), 1)
    table[first, second] = table[second, first] = found.mean(axis=1)
    cells = np.where(np.isnan(table), "-", table.round(1).astype(str)).tolist()
    rows = [[name, *row] for name, row in zip(held.categories, cells, strict=True)]
    show("Volumes of the first, %, by σ_i", ["", *held.categories], rows)
    added = held.evidence(pair)
    print(f"log-odds of {pair[0]} against {pair[1]}, mean nats: {added.sum(axis=1).round(1)}")
    if given.images:
        draw(given.images, held, pair, table, added)


if __name__ == "__main__":
    main()
