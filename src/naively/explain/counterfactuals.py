"""What would have to be otherwise in a row, or said in a text, for it to be of another class."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from naively.core.exact import Float64, Int64
from naively.core.posterior import Posterior
from naively.core.workers import SERIAL
from naively.explain.compared import compared
from naively.explain.markup import brief, counted, shown
from naively.explain.rows import cell_text
from naively.rendering import plain_json
from naively.tables.encoding import decode_block, encode
from naively.tables.left_out import unvaried_in
from naively.tables.values import readable
from naively.text.documents import ERRORS, Documents, to_array

DRAWN = 2048
"""Rows that are drawn from the model, the classes evenly, for values that columns may have,"""
VALUES, LONGEST = 100, 60
"""values of a column that are tried, and characters of such a value, at most."""
TERMS = 20
"""Terms that are tried, those that speak most for the class."""
LISTED = 10
"""Changes that are printed."""


@dataclass(frozen=True)
class Change:
    """A change of one column, all others staying as they are.

    Attributes
    ----------
    column : str
    value : the text of the cell as it is; None if it is missing. Of a text, None.
    to : what it would be; of a text, the term that would be added to it.
    log_odds : nats that this adds to the log-odds of the label against the class that is predicted.
    enough : whether the label would be predicted then.
    """

    column: str
    value: str | None
    to: str
    log_odds: float
    enough: bool


@dataclass(frozen=True)
class WhyNot:
    """Why a row is not of a class, and what would make it so by the model; in nats.

    That the model would say something else does not mean that the world would be so.

    Attributes
    ----------
    predicted, label : the class that is predicted, and the one that is asked about.
    log_odds : log P(label | x) - log P(predicted | x).
    changes : of one column each; enough ones first, then what adds most.
    terms : that could be added to texts, what adds most first.
    together : how many of these terms, from the first on, are enough together; None if all are not.
    """

    predicted: Any
    label: Any
    log_odds: float
    changes: list[Change]
    terms: list[Change]
    together: int | None

    def to_dict(self) -> dict[str, Any]:
        """All of it, for programs."""
        found = vars(self) | {
            "changes": [vars(one) for one in self.changes],
            "terms": [vars(one) for one in self.terms],
        }
        return plain_json(found)

    def lines(self) -> tuple[list[tuple[str, str, str, float, bool]], str]:
        """((column, value, what it would be, log-odds, enough) of the first changes; a remark)."""
        listed = [
            (one.column, "missing" if one.value is None else one.value, one.to, one.log_odds,
             one.enough)
            for one in self.changes[:LISTED]
        ]  # fmt: skip
        listed += [
            (one.column, "", f"+ {shown(one.to)}", one.log_odds, one.enough)
            for one in self.terms[: max(LISTED, self.together or 0)]
        ]
        return listed, self._remark()

    def _remark(self) -> str:
        label = shown(str(self.label))
        if self.predicted == self.label:
            return f"it is predicted to be {label}"
        if any(one.enough for one in [*self.changes, *self.terms]):
            return f"* this change alone makes it {label}"
        if self.together:
            return f"no change alone makes it {label}; the first {self.together} terms together do"
        tried = [counted(len(self.terms), "term")] if self.terms else []
        together = f", nor all {tried[0]} together" if tried else ""
        return f"no single change that was tried makes it {label}{together}"

    def __str__(self) -> str:
        listed, remark = self.lines()
        head = (
            f"{shown(str(self.label))} rather than {shown(str(self.predicted))}: log-odds "
            f"{self.log_odds:+.3f} nats"
        )
        rows = [
            f"{brief(name, 24)}: {brief(was, 24)} -> {brief(to, 24)}  {odds:+.3f}{' *' * enough}"
            if was else f"{brief(name, 24)} {brief(to, 40)}  {odds:+.3f}{' *' * enough}"
            for name, was, to, odds, enough in listed
        ]  # fmt: skip
        return "\n".join([head, *rows, remark])


def why_not(posterior: Posterior, table: pa.Table, label: Any = None) -> Iterator[WhyNot]:
    """Why each row of a table is not of a class; by default not of the next most probable one.

    Each change is judged by the model itself, which scores the row that has it. Values that are
    tried are those of rows drawn from the model, so that they are plausible; of numbers the nearest
    that is enough is told. Terms are those that speak most for the class, among those that the text
    does not have.

    Raises
    ------
    ValueError : if the label is not one of the classes.
    """
    tried = Tried(posterior)
    for i in range(table.num_rows):
        yield tried.row(table.slice(i, 1), label)


def document_table(texts: Any) -> pa.Table:
    """Documents as the table that a model of them alone takes."""
    return pa.table({"x0": texts if isinstance(texts, pa.Array) else to_array(texts)})


class Tried:
    """What can be changed, for several rows."""

    def __init__(self, posterior: Posterior) -> None:
        self.posterior = posterior
        self.without = unvaried_in(posterior)
        self.texts: dict[str, Any] = {}
        self.told: dict[str, Any] = {}
        self.values: dict[str, list[Any]] = {}
        codes = np.arange(DRAWN) % len(posterior.classes)
        generator = np.random.default_rng(0)
        schema = posterior.schema
        for block, part in posterior.blocks:
            if block.family.summary.of_texts:
                self.texts[block.names[0]] = part
                continue
            if part.has_texts:
                self.told |= part.told_texts(block.names)
            drawn = decode_block(schema, block, part.sample(codes, generator))
            self.values |= {
                name: _spread(column) for name, column in drawn.items()
                if name not in self.without and name not in self.told
            }  # fmt: skip

    def row(self, row: pa.Table, label: Any) -> WhyNot:
        """Why one row is not of a class."""
        classes = self.posterior.classes
        joint, codes = self._scores(row)
        first, second = compared(joint, self.posterior.log_prior, codes, classes, label, None)
        b = int(codes[0])
        a = int(second[0] if label is None else first[0])
        base = float(_odds(joint, a, b)[0])
        said = classes.tolist()
        if a == b:
            return WhyNot(said[b], said[a], 0.0, [], [], None)
        changes = [self._changed(row, name, a, b, base) for name in self.values]
        found = sorted(
            (one for one in changes if one is not None),
            key=lambda one: (not one.enough, -one.log_odds),
        )
        terms = [
            one for name in (*self.texts, *self.told) for one in self._terms(row, name, a, b, base)
        ]
        terms = sorted(terms, key=lambda one: -one.log_odds)[:TERMS]
        together = self._together(row, terms, a)
        if self.posterior.feature_names is None:  # documents alone
            terms = [replace(one, column="text") for one in terms]
        return WhyNot(said[b], said[a], base, found, terms, together)

    def _scores(self, table: pa.Table) -> tuple[Float64, Int64]:
        """(joint log-likelihoods (n, C), positions of the predicted classes) of rows."""
        rows, _ = encode(self.posterior.schema, table, self.without)
        return self.posterior.joint_log_proba(rows), self.posterior.predict_codes(rows)

    def _with(self, row: pa.Table, name: str, values: Any) -> tuple[Float64, Int64]:
        """Scores of the row with each of these values in a column."""
        several = row.take(pa.array(np.zeros(len(values), np.int64)))
        return self._scores(_with_column(several, name, values))

    def _changed(self, row: pa.Table, name: str, a: int, b: int, base: float) -> Change | None:
        """The best change of a column: the nearest number that is enough, or what adds most."""
        now = readable(row.column(name))[0].as_py() if name in row.column_names else None
        missing = self.posterior.schema.missing
        was = cell_text(now, missing)
        values = [one for one in self.values[name] if cell_text(one, missing) != was]
        if not values:
            return None
        joint, codes = self._with(row, name, pa.array(values))
        added = _gained(joint, a, b, base)
        enough = codes == a
        best = int(np.where(enough | ~enough.any(), added, -np.inf).argmax())
        number = _number(was)
        if enough.any() and number is not None and isinstance(values[0], float):
            far = np.where(enough, np.abs(np.array(values, float) - number), np.inf)
            best = int(far.argmin())
        if not added[best] > 0:
            return None
        text = cell_text(values[best], missing) or ""
        return Change(name, was, text, float(added[best]), bool(enough[best]))

    def _terms(self, row: pa.Table, name: str, a: int, b: int, base: float) -> list[Change]:
        """The terms that would add most to a text."""
        text = _text(row, name)
        if name in self.told:
            names = self.told[name].speaking(text, a, b, TERMS)
        else:
            names = self._addable(self.texts[name].addable, text, a, b)
        if not names:
            return []
        joint, codes = self._with(row, name, to_array([f"{text} {term}".strip() for term in names]))
        added = _gained(joint, a, b, base)
        return [
            Change(name, None, term, gain, enough)
            for term, gain, enough in zip(names, added.tolist(), (codes == a).tolist(), strict=True)
            if gain > 0
        ]  # fmt: skip

    def _addable(self, own: Any, text: str, a: int, b: int) -> list[str]:
        """The terms that tell most for a class, of a model of documents."""
        if own.hashed:
            return []  # names of hashed terms are not kept
        told = np.nan_to_num(_slopes(own, a) - _slopes(own, b), nan=0.0, posinf=1e300)
        told[own.matrix(Documents.of([text]), SERIAL).indices] = -np.inf  # what it has already
        places = np.argsort(-told, kind="stable")[:TERMS]
        names: list[str] = own.named(places[told[places] > 0])
        return names

    def _together(self, row: pa.Table, terms: list[Change], a: int) -> int | None:
        """How many terms, from the first on, make it of class a."""
        for count in range(1, len(terms) + 1):
            changed = row
            for name in dict.fromkeys(one.column for one in terms[:count]):
                more = [one.to for one in terms[:count] if one.column == name]
                text = " ".join([_text(row, name), *more])
                changed = _with_column(changed, name, to_array([text]))
            if self._scores(changed)[1][0] == a:
                return count
        return None


def _with_column(table: pa.Table, name: str, column: pa.Array) -> pa.Table:
    if name in table.column_names:
        return table.set_column(table.column_names.index(name), name, column)
    return table.append_column(name, column)


def _text(row: pa.Table, name: str) -> str:
    """The text in a column of one row."""
    value = row.column(name)[0].as_py() if name in row.column_names else None
    return value.decode("utf-8", ERRORS) if isinstance(value, bytes) else str(value or "")


def _slopes(own: Any, c: int) -> Float64:
    """What each term adds to the score of class c by being there, (V,)."""
    size = own.total.shape[1]
    here, absent = (
        own.weighing.evaluated(slice(0, size), np.full((1, 1, size), count))[0, c]
        for count in (1.0, 0.0)
    )
    with np.errstate(invalid="ignore"):
        return np.asarray(here - absent)


def _odds(joint: Float64, a: int, b: int) -> Float64:
    """log P(a | x) - log P(b | x) of each row; 0 where both rule it out."""
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(joint[:, a] - joint[:, b], nan=0.0, posinf=np.inf, neginf=-np.inf)


def _gained(joint: Float64, a: int, b: int, base: float) -> Float64:
    """How many nats above `base` these are; 0 where no number says."""
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(_odds(joint, a, b) - base, nan=0.0, posinf=np.inf, neginf=-np.inf)


def _spread(column: pa.Array) -> list[Any]:
    """Different values of a column, of so many spread evenly; those of numbers as they are shown.

    None of long text.
    """
    found = pc.unique(column).drop_null().to_pylist()
    if found and isinstance(found[0], str):
        return sorted(one for one in found if len(one) <= LONGEST)[:VALUES]
    found = sorted({float(f"{one:.5g}") if isinstance(one, float) else one for one in found})
    places = np.unique(np.linspace(0, len(found) - 1, min(len(found), VALUES)).astype(np.int64))
    return [found[k] for k in places.tolist()]


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None
