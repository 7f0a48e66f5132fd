"""|C| / |B|: the rows that are identical to one, among all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.patches import Circle

from naively.families.joint import Joint
from naively.model import Model
from naively.plot import style
from naively.plot.models import model_of
from naively.predictor import Predictor
from naively.tables.names import few

MOST = 2000  # rows that are drawn one by one
LINES = 8  # columns of the row that are named
TURN = np.pi * (3.0 - np.sqrt(5.0))  # the golden angle: dots lie evenly in a disc (Vogel 1979)
EDGE = 0.05  # between a dot and the edge of its disc, of the radius of the largest
FACES = "0.93", style.COLOURS[5], style.COLOURS[1]
DOTS = "0.6", style.COLOURS[0], style.style(1).dark


@dataclass(kw_only=True, eq=False, repr=False)
class IdenticalRowsDisplay:
    """A ⊃ B ⊃ C: all rows, those identical to x, and those of them in the class; P = |C| / |B|.

    Lecture 1, "we can estimate P(y | x) as |C| / |B|", and its problem: in many dimensions B is
    empty. Areas are to scale; up to 2,000 rows are dots.

    Parameters
    ----------
    counts : (|A|, |B|, |C|), weights of rows.
    row : the values of x, by column.
    label : y.

    Attributes
    ----------
    ax_, figure_
    discs_ : list of Circle: A, and B and C if they are not empty.
    """

    counts: tuple[float, float, float]
    row: Mapping[str, Any]
    label: Any

    @classmethod
    def from_estimator(
        cls, estimator: Any, row: Mapping[str, Any] | Sequence[Any], label: Any,
        ax: Axes | None = None,
    ) -> Self:  # fmt: skip
        """Count the rows that a fitted `JointBayes` met.

        Parameters
        ----------
        estimator : fitted `JointBayes`.
        row : the values of x by column, or in the order of the columns; columns that are not named
            may have any value.
        label : y, one of the classes.
        ax : axes to draw in; a new figure by default.

        Raises
        ------
        TypeError, ValueError : if the estimator is no joint table, the row does not fit it, or the
            label is none of the classes.
        """
        model = model_of(estimator)
        named = _named(model, row)
        classes = model.classes.tolist()
        if label not in classes:
            raise ValueError(f"label must be one of the classes, {few(classes)}, not {label!r}")
        posterior = model.posterior()
        parameters: Any = posterior.parameters
        columns = {name: pa.array([str(value)]) for name, value in named.items()}
        rows = Predictor(posterior).encode(pa.table(columns))
        met, same = parameters.count.sum(axis=1), parameters.matching(rows)[0]
        counts = float(met.sum()), float(same.sum()), float(same[classes.index(label)])
        return cls(counts=counts, row=named, label=label).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw in the given axes, or in a new figure."""
        self.ax_ = ax = style.axes(ax)
        self.figure_ = ax.figure
        whole = self.counts[0]
        self.discs_ = [
            ax.add_patch(Circle((0.0, 0.0), np.sqrt(count / whole), fc=face, ec="black", lw=1.2))
            for count, face in zip(self.counts, FACES, strict=True)
            if count > 0
        ]
        self._draw_dots(ax)
        self._draw_names(ax)
        ax.set(xlim=(-1.05, 2.6), ylim=(-1.15, 1.05), aspect="equal")
        ax.set_axis_off()
        ax.set_title(self._estimate(), fontsize="medium")
        return self

    def _estimate(self) -> str:
        """|C| / |B|, in words and numbers."""
        _, same, both = self.counts
        said = rf"$\hat P$({style.label(self.label)} | x) = |C| / |B| = {both:,.10g} / {same:,.10g}"
        return f"{said} = {both / same:.3g}" if same > 0 else f"{said}: no estimate, B is empty"

    def _draw_dots(self, ax: Axes) -> None:
        """The rows, if they are few and whole: C in the middle, B around it, then the others."""
        if self.counts[0] > MOST or any(count % 1 for count in self.counts):
            return
        total, same, both = map(int, self.counts)
        k = np.arange(total)
        ends = np.array([0, both, same, total])
        ring = np.searchsorted(ends[1:3], k, "right")
        inner, outer = np.sqrt(ends / total)[[ring, ring + 1]]
        gap = np.minimum(EDGE, (outer - inner) / 3)  # no dot lies on an edge
        inner, outer = np.where(ring > 0, inner + gap, 0.0), outer - gap
        part = (k - ends[ring] + 0.5) / (ends[ring + 1] - ends[ring])
        away = np.sqrt(inner**2 + part * (outer**2 - inner**2))
        kind = 2 - ring
        size = min(1600.0 / total, 60.0)
        ax.scatter(
            away * np.cos(TURN * k), away * np.sin(TURN * k), s=size, lw=0,
            c=[DOTS[own] for own in kind], zorder=3,
        )  # fmt: skip

    def _draw_names(self, ax: Axes) -> None:
        """What each set is, with a line to its edge."""
        values = [f"{name} = {value}" for name, value in self.row.items()]
        shown = [style.label(value) for value in values[:LINES]]
        if len(values) > LINES:
            shown.append(f"and {len(values) - LINES:,} more")
        total, same, both = (f"{count:,.10g}" for count in self.counts)
        of_class = style.label(self.label)
        texts = (
            (0.85, f"A: all rows, {total}"),
            (0.45, "\n".join([f"B: identical to x, {same}", *(f"    {one}" for one in shown)])),
            (-0.85, f"C: of these y = {of_class}, {both}"),
        )
        for (height, text), count, angle in zip(texts, self.counts, (55, 10, -60), strict=True):
            radius = np.sqrt(count / self.counts[0])
            turn = np.radians(angle)
            ax.annotate(
                text, (radius * np.cos(turn), radius * np.sin(turn)), (1.2, height),
                va="top", ha="left", fontsize="small",
                arrowprops={
                    "arrowstyle": "-", "color": "black", "lw": 0.9, "relpos": (0.0, 1.0),
                    "shrinkA": 2.0, "shrinkB": 0.0,
                } if count > 0 else None,
            )  # fmt: skip


def _named(model: Model, row: Any) -> dict[str, Any]:
    """The values of a row by column, checked."""
    if not isinstance(model.family, Joint):
        raise ValueError("rows are counted by a joint table alone: fit JointBayes")
    names = model.schema.ordered
    if isinstance(row, Mapping):
        if unknown := [str(name) for name in row if name not in names]:
            raise ValueError(f"row names {few(unknown)}, but the columns are {few(names)}")
        return {str(name): value for name, value in row.items()}
    values = [row] if isinstance(row, str) else list(row)
    if len(values) != len(names):
        raise ValueError(f"row has {len(values)} values, but there are {len(names)} columns")
    return dict(zip(names, values, strict=True))
