"""The shape of each block of evidence that a model weighs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from naively.model import Model
from naively.plot import shapes as drawing
from naively.plot import style
from naively.plot.models import codes, feature, model_of
from naively.plot.shapes import View
from naively.pooling.blocks.shapes import Shape, drawable, of_columns

MOST = 9
"""Blocks that are shown unless they are named."""
LINES = 6
"""Classes that are told apart, those with the most rows."""
PANEL = 3.9, 2.8
"""Size of one of several panels, in inches."""
LEGEND = 1.2
"""Its width."""


@dataclass(kw_only=True, eq=False, repr=False)
class EvidenceDisplay:
    """What each column and pair adds to the scores of `AutoBayes`, weight times evidence, in nats.

    Of two classes it is what the log-odds have of it, and colours tell for which class it speaks.
    Of a number it is drawn as steps over its values, with the rows behind each bin (their
    logarithm) in grey below; of levels as bars, with how many rows each has; of a pair as a heat
    map, with the rows of each bin beside it: cells without rows are grey, "?" is a missing number.
    Of more than two classes each has a line, or a mark, and a heat map is of one class. Values that
    few rows have (1 of 200) may be out of view.

    Parameters
    ----------
    shapes : list of Shape, as `AutoBayes.evidence_` has them, of one or two columns.
    classes : (C,) labels.
    label : the class that log-odds and heat maps are of; by default of two the second, of more the
        one with the most rows.

    Attributes
    ----------
    axes_ : list of Axes, one a block.
    figure_, legend_
    """

    shapes: Sequence[Shape]
    classes: Any
    label: Any = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, features: Any = None, label: Any = None, ax: Axes | None = None
    ) -> Self:
        """Take the blocks of a fitted `AutoBayes`, and draw.

        Parameters
        ----------
        estimator : fitted.
        features : a column, by name or position, or a tuple of two; or a list of these. By default
            the nine blocks of one or two columns that move the scores most.
        label : the class that log-odds and heat maps are of.
        ax : axes of `subplots` in whose place to draw; a new figure by default.

        Raises
        ------
        TypeError, ValueError : if the estimator is none of naively, or weighs no evidence; if it
            has no such block, or no such class.
        """
        model = model_of(estimator)
        return cls(shapes=chosen(model, features), classes=model.classes, label=label).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw in the place of the given axes, or in a new figure."""
        view = self.view
        columns, lines = style.layout(len(self.shapes))
        wide, high = (5.2, 4.0) if columns == 1 else PANEL
        ratios = [*[wide] * columns, LEGEND]
        size = sum(ratios), high * lines + 0.2
        self.figure_, grid = style.grid(ax, lines, columns + 1, size, width_ratios=ratios)
        self.axes_ = []
        for k, shape in enumerate(self.shapes):
            panel = self.figure_.add_subplot(grid[divmod(k, columns)])
            drawing.draw(panel, shape, view)
            drawing.set_title(panel, shape)
            self.axes_.append(panel)
        corner = self.figure_.add_subplot(grid[0, columns])
        corner.set_axis_off()
        self.legend_ = style.legend(corner, *self.entries, place=(0.0, 1.0))
        return self

    @property
    def entries(self) -> tuple[list[Any], list[str]]:
        """(what is seen, what it means) in the legend."""
        view = self.view
        names = [style.label(name) for name in self.classes.tolist()]
        if view.against is not None:
            patches = [Patch(facecolor=view.speaks_for(sign)) for sign in (1.0, -1.0)]
            return patches, [f"for {names[c]}" for c in (view.of, view.against)]
        lines = [
            Line2D([], [], c=own.colour, ls=own.line, marker=own.marker) for _, own in view.styles()
        ]
        return lines, [names[c] for c in view.chosen]

    @property
    def view(self) -> View:
        """Which classes are shown."""
        rows = self.shapes[0].rows.reshape(-1, len(self.classes)).sum(axis=0)  # of each class
        two = len(self.classes) == 2
        if self.label is not None:
            of = int(codes(np.array([self.label]), self.classes)[0])
        else:
            of = 1 if two else int(rows.argmax())
        most = np.argsort(-rows, kind="stable")[:LINES]
        if of not in most:
            most[-1] = of
        shown = np.array([of]) if two else np.sort(most)
        return View(shown, of, 1 - of if two else None, self.classes.tolist())


def chosen(model: Model, given: Any) -> list[Shape]:
    """The blocks that are asked for, of one or two columns each.

    Raises
    ------
    ValueError : if there are none.
    """
    drawn = drawable(model.posterior().shapes)
    if not drawn:
        raise ValueError("no column of this model has evidence that is weighed: AutoBayes has some")
    if given is None:
        return drawn[:MOST]
    names = model.schema.ordered
    found: list[Shape] = []
    for one in given if isinstance(given, list) else [given]:
        columns = one if isinstance(one, tuple) else (one,)
        found += of_columns(drawn, [feature(model, own, names) for own in columns])
    return found
