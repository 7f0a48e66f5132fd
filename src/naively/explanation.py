"""Why rows have the scores that they have: what each feature adds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np

from naively.exact import Float64, Int64
from naively.labels import Labels
from naively.markup import brief, escaped, html_table, largest, legend, lined, more_of, total_odds
from naively.reasons import Part, Reason, Reasons, compared
from naively.text_explanation import TextExplanation

__all__ = ["Explanation", "RowExplanation", "TextExplanation"]

MOST = 30
"""Features that are listed, those with the largest log-odds."""
WIDE = 24
"""Characters of a name, and of a value, in a list."""
BLOCK = 256
"""Rows whose cells are read together."""

Line = tuple[str, str | None, float]
"""(a feature, or the prior in brackets; its value; its log-odds)."""
Cells = Callable[[range], Sequence[Sequence[str | None]]]
"""The text of the cells of some rows, feature by feature; None of one that is missing."""
Texts = Callable[[int], dict[str, TextExplanation]]
"""Why the columns of text of one row have their scores, by name."""


@dataclass(frozen=True, eq=False, repr=False)
class RowExplanation(Reason):
    """Why a row has the joint log-likelihoods that it has; all in nats.

    ``print`` shows the features that move it most from one class to another, and so does a
    notebook.

    Attributes
    ----------
    classes, prior, proba, code : as `Reason` has them.
    features : list of d names.
    values : list of d, the text of the row's cells; None where a value is missing.
    contributions : (C, d), what each feature adds to the score of each class.
    texts : why each feature of text has its scores, by name.
    """

    features: list[str]
    values: list[str | None]
    contributions: Float64
    texts: dict[str, TextExplanation]

    @property
    def joint(self) -> Float64:
        """The joint log-likelihoods, (C,): the prior plus all contributions."""
        return self.prior + self.contributions.sum(axis=1)

    def log_odds(self, label: Any = None, against: Any = None) -> tuple[float, Float64]:
        """The parts of log P(label | x) - log P(against | x), in nats.

        Parameters
        ----------
        label, against : two classes; by default the most probable one and the next.

        Returns
        -------
        (that of the prior, (d,) those of the features)
        """
        a, b = self.pair(label, against)
        with np.errstate(invalid="ignore"):  # NaN where neither class can have a value
            return (
                float(self.prior[a] - self.prior[b]),
                self.contributions[a] - self.contributions[b],
            )

    def lines(self, label: Any = None, against: Any = None) -> list[Line]:
        """(a feature, its value, its log-odds) of each, and of the prior, the largest first.

        What both classes rule out speaks for neither.
        """
        prior, odds = self.log_odds(label, against)
        odds = np.where(np.isnan(odds), 0.0, odds)
        found: list[Line] = [("(prior)", "", 0.0 if np.isnan(prior) else prior)]
        found += zip(self.features, self.values, odds.tolist(), strict=True)
        return sorted(found, key=lambda line: -abs(line[2]))

    def parts(self, label: Any = None, against: Any = None) -> list[Part]:
        """All parts of the log-odds, the largest first; what both classes rule out is 0."""
        if self.text is not None:
            return self.text.parts(*self._named(label, against))
        found: list[Part] = []
        for name, value, odds in self.lines(label, against):
            if name in self.texts:
                found += self.texts[name].parts(*self._named(label, against))
            else:
                found.append((name, None, value or None, odds))
        return sorted(found, key=lambda part: -abs(part[3]))

    @property
    def text(self) -> TextExplanation | None:
        """Why the text has its scores, if the row has one feature and that is a text."""
        return self.texts[self.features[0]] if len(self.texts) == len(self.features) == 1 else None

    def _named(self, label: Any, against: Any) -> tuple[Any, Any]:
        """The two classes that are compared."""
        a, b = self.pair(label, against)
        return self.classes[a], self.classes[b]

    # ---- for people --------------------------------------------------------------------------

    def __str__(self) -> str:
        found = [self.head(), ""]
        if self.text is None:
            lines = self.lines()
            found += lined([(brief(name, WIDE), cell(value, WIDE), odds)
                            for name, value, odds in lines[:MOST]])  # fmt: skip
            found += [more_of(lines[MOST:], "column")] * (len(lines) > MOST)
        pair = self._named(None, None)
        for name, text in self.texts.items():
            if self.text is None:
                found += ["", words_of(name, text, *pair)] * bool(text.text)
            found += text.listed(*pair)
        return "\n".join(found).rstrip()

    def to_html(
        self, label: Any = None, against: Any = None, *, heading: bool = True,
        strongest: float | None = None,
    ) -> str:  # fmt: skip
        """A table of the most telling features, and texts with their words marked, as HTML.

        Parameters
        ----------
        label, against : two classes; by default the most probable one and the next.
        heading : whether a line says how probable the class is.
        strongest : log-odds of the strongest colour of a word; the largest here, by default.
        """
        pair = self._named(label, against)
        head = f'<p style="margin:.5em 0"><b>{escaped(self.head(*pair))}</b></p>'
        found = [head] * heading
        if self.text is None:
            lines = self.lines(*pair)
            rows = [(brief(name, WIDE), cell(value, 2 * WIDE), odds) for name, value, odds in lines]
            found.append(legend(*map(str, pair)))
            found.append(html_table(("column", "value", "log-odds"), rows[:MOST]))
            rest = more_of(lines[MOST:], "column")
            found += [f'<p style="margin:.5em 0;opacity:.7">{rest}</p>'] * (len(lines) > MOST)
        strongest = strongest or self.strongest(*pair)
        for name, text in self.texts.items():
            if self.text is None:
                title = escaped(words_of(name, text, *pair))
                found.append(f'<p style="margin:1.5em 0 .5em"><b>{title}</b></p>')
            found.append(text.to_html(*pair, heading=False, strongest=strongest))
        return "\n".join(found)

    def strongest(self, label: Any = None, against: Any = None) -> float:
        """The largest log-odds of a word: colours mean the same in all texts of the row."""
        marks = [m for text in self.texts.values() for m in text.marks(label, against)]
        return largest(odds for _, _, odds in marks)


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Reasons[RowExplanation]):
    """Why each row has the joint log-likelihoods that it has; all in nats.

    A sequence of `RowExplanation`: ``explanation[0]`` is why the first row has its scores. What is
    printed, and shown in a notebook, are the first ten; `to_html` and `to_arrow` take all.

    Attributes
    ----------
    classes : (C,) the labels.
    features : list of d names, or None.
    prior : (C,) log π_c.
    contributions : (n, C, d), what each feature adds to the score of each class.
    proba : (n, C) P(c | x).
    codes : (n,) position of the class that is predicted.
    cells, texts : where the text of the cells comes from, and why columns of text have their
        scores.
    at : the rows that these are of `cells` and `texts`; all, if None.
    """

    classes: Labels
    features: list[str] | None
    prior: Float64
    contributions: Float64
    proba: Float64
    codes: Int64
    cells: Cells | None = None
    texts: Texts | None = None
    at: range | None = None

    @property
    def joint(self) -> Float64:
        """The joint log-likelihoods, (n, C): the prior plus all contributions."""
        return self.prior + self.contributions.sum(axis=2)

    @property
    def predicted(self) -> Labels:
        """The class that is predicted for each row, (n,)."""
        return self.classes[self.codes]

    def log_odds(self, label: Any = None, against: Any = None) -> tuple[Float64, Float64]:
        """The parts of log P(label | x) - log P(against | x) of each row, in nats.

        Parameters
        ----------
        label, against : two classes; by default the most probable one of each row and the next.

        Returns
        -------
        ((n,) those of the prior, (n, d) those of the features; NaN where both rule out a value)
        """
        a, b = compared(self.joint, self.prior, self.codes, self.classes, label, against)
        rows = np.arange(len(self))
        with np.errstate(invalid="ignore"):  # NaN where neither class can have a value
            return (
                self.prior[a] - self.prior[b],
                self.contributions[rows, a] - self.contributions[rows, b],
            )

    @property
    def has_terms(self) -> bool:  # type: ignore[override]
        """Whether any column is text, of which each term is told."""
        return self.texts is not None

    @property
    def _classes(self) -> Labels:
        return self.classes

    # ---- row by row --------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.contributions)

    @overload
    def __getitem__(self, i: int) -> RowExplanation: ...
    @overload
    def __getitem__(self, i: slice) -> Explanation: ...
    def __getitem__(self, i: Any) -> Any:
        rows = range(len(self))[i]  # refuses a row that is not there
        if isinstance(rows, int):
            return self._row(rows, self._values(range(rows, rows + 1))[0])
        return replace(
            self, contributions=self.contributions[i], proba=self.proba[i], codes=self.codes[i],
            at=self._places(rows),
        )  # fmt: skip

    def __iter__(self) -> Iterator[RowExplanation]:
        for start in range(0, len(self), BLOCK):
            block = range(start, min(start + BLOCK, len(self)))
            yield from map(self._row, block, self._values(block))

    def _places(self, rows: range) -> range:
        """Where some rows are in `cells` and `texts`."""
        if self.at is None:
            return rows
        first, step = self.at.start, self.at.step
        return range(first + rows.start * step, first + rows.stop * step, step * rows.step)

    def _values(self, rows: range) -> list[list[str | None]]:
        """The text of the cells of some rows, row by row."""
        if self.cells is None:
            return [[""] * self.contributions.shape[2] for _ in rows]
        return [list(row) for row in zip(*self.cells(self._places(rows)), strict=True)]

    def _row(self, i: int, values: list[str | None]) -> RowExplanation:
        names = self.features
        if names is None:
            names = [f"x{k}" for k in range(self.contributions.shape[2])]
        place = i if self.at is None else self.at[i]
        return RowExplanation(
            self.classes, self.prior, self.proba[i], int(self.codes[i]), names, values,
            self.contributions[i], {} if self.texts is None else self.texts(place),
        )  # fmt: skip

    def __repr__(self) -> str:
        n, c, d = self.contributions.shape
        return f"<Explanation: {n:,} rows, {c:,} classes, {d:,} features>"


def cell(value: str | None, longest: int) -> str:
    """The text of a cell as a list shows it."""
    return "missing" if value is None else brief(value, longest)


def words_of(name: str, text: TextExplanation, label: Any, against: Any) -> str:
    """A line that says what the words of a text add up to."""
    total = total_odds([text.total(label, against)])
    return f"The words of {brief(name, WIDE)}, {total} together"
