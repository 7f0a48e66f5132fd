"""Find counterfactuals: changes of a row or text after which another class is predicted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Group, RenderableType

from naively.core.exact import Float64, Int64
from naively.core.labels import Label
from naively.core.markup import brief, shown
from naively.core.workers import SERIAL
from naively.explain.base import compared
from naively.explain.rendering import rounded
from naively.explain.rows import cell_text
from naively.model.decisions import DecisionRule
from naively.model.posterior import Posterior
from naively.rendering import WIDTH, Table, as_text, note, on_terminal, plain_json
from naively.tables.encoding import decode_block, encode
from naively.tables.left_out import unvaried_in
from naively.tables.values import readable
from naively.text.documents import ERRORS, Documents, to_array

DRAWN = 2048
"""Rows drawn from the model, equally many of each class, whose values are the candidates."""
VALUES, LONGEST = 100, 60
"""Maximum number of candidates of a feature, and of characters of a candidate."""
NEARLY = 0.9  # share of the largest gain in log-odds for which a number that is nearer is preferred
TERMS = 20  # number of candidate terms, those with the most evidence for the class
LISTED, WIDE = 10, 24  # number of printed changes; characters of a value, at most


@dataclass(frozen=True)
class Change:
    """A change of one feature, with all others unchanged.

    Attributes
    ----------
    feature : str
    value : the value of the cell: a number, or its text; None if it is missing, and for text
        columns.
    to : the new value, a number in the type of the column; for text columns, the term to add.
    log_odds : change of the log-odds of the label against the predicted class, in nats, before
        prior mixing.
    probability : P(label | x) after the change.
    predicted : the class that is then predicted.
    enough : whether it is the label.
    """

    feature: str
    value: int | float | str | None
    to: int | float | str
    log_odds: float
    probability: float
    predicted: Label
    enough: bool


@dataclass(frozen=True)
class Counterfactual:
    """Changes of a row after which the model predicts another class; log-odds in nats.

    They describe the model, not cause and effect.

    Attributes
    ----------
    predicted, label : the predicted (or decided) class, and the desired one.
    log_odds : log P(label | x) - log P(predicted | x).
    probability : P(label | x).
    changes : changes of one feature each; sufficient ones first, then the largest log-odds.
    terms : terms to add to texts, the largest log-odds first.
    together : least k such that the first k of `changes` and `terms` together are sufficient; None
        if all together are not.
    decided_by : the costs or the threshold that decide; empty for the most probable class.
    mixed : whether there is prior mixing: gains of log-odds are before it, probabilities after it.
    """

    predicted: Label
    label: Label
    log_odds: float
    probability: float
    changes: list[Change]
    terms: list[Change]
    together: int | None
    decided_by: str = ""
    mixed: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes as a dict for JSON."""
        attributes = vars(self) | {
            "changes": [vars(change) for change in self.changes],
            "terms": [vars(change) for change in self.terms],
        }
        return plain_json(attributes)

    @property
    def table(self) -> Table | None:
        """Table of the first changes; None if there are none."""
        limit = max(LISTED, self.together or 0)
        changes = [*self.changes[:limit], *self.terms[:limit]]
        if not changes:
            return None
        label = shown(str(self.label))
        rows = [
            [
                change.feature,
                "" if change in self.terms else _text_of(change.value, rounded),
                f"add {shown(str(change.to))}" if change in self.terms
                else _text_of(change.to, longest=LONGEST),
                f"{change.log_odds:+.3f}", f"{change.probability:.4f}",
                shown(str(change.predicted)),
            ]
            for change in changes
        ]  # fmt: skip
        heads = ["feature", "value", "change to", "log-odds gain", f"P({label})", self._verb]
        if not self.changes:  # terms alone: there is no value
            rows, heads = [[row[0], *row[2:]] for row in rows], [heads[0], "change", *heads[3:]]
        return Table("Counterfactuals", heads, rows, len(heads) - 3, wraps=True)

    @property
    def remark(self) -> str:
        """Sentence about which changes are sufficient."""
        label = shown(str(self.label))
        if self.predicted == self.label:
            kind = "decision" if self.decided_by else "prediction"
            return f"no change is needed: the {kind} is {label}"
        mixed = "; gains are before prior mixing, P after it" * self.mixed
        if any(change.enough for change in [*self.changes, *self.terms]):
            return f"each line changes one feature and leaves the others unchanged{mixed}"
        if self.together:
            kind = "changes" if self.changes else "terms"
            outcome = f"with the first {self.together} {kind} together, {label} is {self._verb}"
            return f"no single change is enough; {outcome}{mixed}"
        return f"neither a single change nor all together are enough for {label}{mixed}"

    @property
    def head(self) -> str:
        """Line with the predicted class and the probability of the desired one."""
        predicted, label = (shown(str(name)) for name in (self.predicted, self.label))
        head = f"{self._verb} {predicted}" + f" ({self.decided_by})" * bool(self.decided_by)
        return head if predicted == label else f"{head}; P({label}) = {self.probability:.4f}"

    @property
    def _verb(self) -> str:
        return "decided" if self.decided_by else "predicted"

    def __str__(self) -> str:
        table = self.table
        parts: list[RenderableType] = [] if table is None else ["", on_terminal(table, WIDTH)]
        return as_text(Group(self.head, *parts, note(self.remark)))


def counterfactuals(
    posterior: Posterior,
    table: pa.Table,
    label: Label | None = None,
    changeable: Sequence[str] | None = None,
    immutable: Sequence[str] = (),
) -> Iterator[Counterfactual]:
    """Find changes of each row of a table after which another class is predicted.

    Each change is scored by the model itself. Candidate values are those of 2,048 rows drawn from
    the model, equally many of each class, so rare ones may be missing; whether a value fits the
    other features is not checked. For a numeric feature the nearest sufficient one is chosen.
    Candidate terms are those with the most evidence for the class that are not in the text.

    Parameters
    ----------
    label : the desired class; by default the second most probable one of each row.
    changeable : features that may change; all by default.
    immutable : features that may not change.

    Raises
    ------
    ValueError : if the label is not one of the classes, or a feature is unknown.
    """
    search = Search(posterior, changeable, immutable)
    for i in range(table.num_rows):
        yield search.row(table.slice(i, 1), label)


def document_table(texts: Any) -> pa.Table:
    """Convert documents to the table that a model of documents alone expects."""
    return pa.table({"x0": texts if isinstance(texts, pa.Array) else to_array(texts)})


class Search:
    """Search for counterfactuals: candidates are drawn once, and used for several rows.

    `rule`: decision rule; the most probable class by default. Raises ValueError if one of these
    features is unknown.
    """

    def __init__(
        self, posterior: Posterior, changeable: Sequence[str] | None = None,
        immutable: Sequence[str] = (), rule: DecisionRule | None = None,
    ) -> None:  # fmt: skip
        self.posterior, self.rule = posterior, rule or DecisionRule()
        for option, names in (("changeable", changeable), ("immutable", immutable)):
            if isinstance(names, str):
                raise ValueError(f"{option} must be a list of features, as [{names!r}]")
            for name in names or ():
                if name not in posterior.schema.names:
                    raise ValueError(f"{option}: the model has no feature {name!r}")
        self.without = unvaried_in(posterior)
        self.texts: dict[str, Any] = {}
        self.terms: dict[str, Any] = {}
        self.values: dict[str, list[Any]] = {}
        codes = np.arange(DRAWN) % len(posterior.classes)
        generator = np.random.default_rng(0)
        schema = posterior.schema
        for block, part in posterior.blocks:
            if block.family.summary.of_texts:
                self.texts[block.names[0]] = part
                continue
            if part.has_texts:
                self.terms |= part.weighted_terms(block.names)
            drawn = decode_block(schema, block, part.sample(codes, generator))
            self.values |= {
                name: _spread(column) for name, column in drawn.items()
                if name not in self.without and name not in self.terms
            }  # fmt: skip
        fixed = {*immutable}
        if changeable is not None:
            fixed |= {*posterior.schema.names} - {*changeable}
        for group in (self.texts, self.terms, self.values):
            for name in group.keys() & fixed:
                del group[name]

    def row(self, row: pa.Table, label: Label | None) -> Counterfactual:
        """Find the changes of one row."""
        classes = self.posterior.classes
        rows = self._encoded(row)
        joint = self.posterior.joint_log_proba(rows)
        mixed = np.ndim(self.posterior.parameters.mixing(rows)) > 0
        evidence, proba, codes = self._scores(row)
        first, second = compared(joint, self.posterior.log_prior, codes, classes, label, None)
        b = int(codes[0])
        a = int(second[0] if label is None else first[0])
        log_odds, base = (float(_odds(scores, a, b)[0]) for scores in (joint, evidence))
        names, decided_by = classes.tolist(), self.rule.named(classes)
        probability = float(proba[0, a])
        if a == b:
            return Counterfactual(names[b], names[a], 0.0, probability, [], [], None, decided_by)
        changes = [self._changed(row, name, a, b, base) for name in self.values]
        ordered = sorted(
            (change for change in changes if change is not None),
            key=lambda change: (not change.enough, -change.log_odds),
        )
        columns = (*self.texts, *self.terms)
        terms = [term for name in columns for term in self._terms(row, name, a, b, base)]
        terms = sorted(terms, key=lambda term: -term.log_odds)[:TERMS]
        together = self._together(row, [*ordered, *terms], a)
        if self.posterior.feature_names is None:  # documents alone
            terms = [replace(term, feature="text") for term in terms]
        return Counterfactual(
            names[b], names[a], log_odds, probability, ordered, terms, together, decided_by,
            mixed=mixed,
        )  # fmt: skip

    def _encoded(self, table: pa.Table) -> Any:
        return encode(self.posterior.schema, table, self.without)[0]

    def _scores(self, table: pa.Table) -> tuple[Float64, Float64, Int64]:
        """Return (scores without prior mixing (n, C), P(c | x) (n, C), predicted codes (n,)).

        Prior mixing bounds the log-odds: near the bound every change would gain nothing.
        """
        rows = self._encoded(table)
        codes, proba = self.posterior.codes_and_proba(rows)
        evidence = self.posterior.joint_log_proba(rows) - self.posterior.parameters.mixing(rows)
        return evidence, proba, self.rule.codes(proba, codes)

    def _with(self, row: pa.Table, name: str, values: Any) -> tuple[Float64, Float64, Int64]:
        """Return the scores of the row with each of these values in a column."""
        rows = row.take(pa.array(np.zeros(len(values), np.int64)))
        return self._scores(_with_column(rows, name, values))

    def _changed(self, row: pa.Table, name: str, a: int, b: int, base: float) -> Change | None:
        """Return the best change of a column; None if no value raises the log-odds.

        Of a number it is the nearest sufficient one or, if none is, the nearest one with nearly the
        largest gain; else the value with the largest gain, of the sufficient ones if there are any.
        """
        value = readable(row.column(name))[0].as_py() if name in row.column_names else None
        missing = self.posterior.schema.missing
        current = cell_text(value, missing)
        candidates = self.values[name]
        values = [value for value in candidates if cell_text(value, missing) != current]
        if not values:
            return None
        joint, proba, codes = self._with(row, name, pa.array(values))
        gains = _gained(joint, a, b, base)
        sufficient = codes == a
        best = int(np.where(sufficient | ~sufficient.any(), gains, -np.inf).argmax())
        number = _number(current)
        if number is not None and isinstance(values[0], float):
            enough = sufficient if sufficient.any() else gains >= NEARLY * gains[best]
            distances = np.abs(np.array(values, float) - number)
            best = int(np.where(enough, distances, np.inf).argmin())
        if not gains[best] > 0:
            return None
        return Change(
            name, *_typed(value, values[best], missing),
            float(gains[best]), float(proba[best, a]),
            self.posterior.classes.tolist()[codes[best]], bool(sufficient[best]),
        )  # fmt: skip

    def _terms(self, row: pa.Table, name: str, a: int, b: int, base: float) -> list[Change]:
        """Return the terms whose addition raises the log-odds most."""
        text = _text(row, name)
        if name in self.terms:
            names = self.terms[name].strongest_absent(text, a, b, TERMS)
        else:
            names = self._addable(self.texts[name].addable, text, a, b)
        if not names:
            return []
        texts = to_array([f"{text} {term}".strip() for term in names])
        joint, proba, codes = self._with(row, name, texts)
        gains = _gained(joint, a, b, base)
        numbers = zip(names, gains.tolist(), proba[:, a].tolist(), codes.tolist(), strict=True)
        return [
            Change(name, None, term, gain, probability, self.posterior.classes.tolist()[c], c == a)
            for term, gain, probability, c in numbers if gain > 0
        ]  # fmt: skip

    def _addable(self, parameters: Any, text: str, a: int, b: int) -> list[str]:
        """Return the terms with the most evidence for class a against b, but those in the text."""
        if parameters.hashed:
            return []  # names of hashed terms are unknown
        evidence = _slopes(parameters, a) - _slopes(parameters, b)
        evidence = np.nan_to_num(evidence, nan=0.0, posinf=1e300)
        terms_in_text = parameters.matrix(Documents.of([text]), SERIAL).indices
        evidence[terms_in_text] = -np.inf
        places = np.argsort(-evidence, kind="stable")[:TERMS]
        names: list[str] = parameters.named(places[evidence[places] > 0])
        return names

    def _together(self, row: pa.Table, changes: list[Change], a: int) -> int | None:
        """Return the least number of changes, from the first, after which class a is predicted."""
        for count, change in enumerate(changes, 1):
            if change.feature in self.values:
                value: Any = pa.array([self._value(change)])
            else:
                value = to_array([f"{_text(row, change.feature)} {change.to}".strip()])
            row = _with_column(row, change.feature, value)
            if self._scores(row)[2][0] == a:
                return count
        return None

    def _value(self, change: Change) -> Any:
        """Return the candidate value of a change."""
        missing = self.posterior.schema.missing
        candidates = self.values[change.feature]
        text = cell_text(change.to, missing)
        return next(value for value in candidates if cell_text(value, missing) == text)


def _text_of(
    value: float | str | None, form: Callable[[str], str] = str, longest: int = WIDE
) -> str:
    """Return a value for display."""
    return "missing" if value is None else brief(form(cell_text(value, ()) or ""), longest)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _typed(
    value: Any, candidate: Any, missing: Collection[str]
) -> tuple[int | float | str | None, int | float | str]:
    """Return a cell and a candidate: as numbers, where either is a number, or as text."""
    text, to = cell_text(value, missing), cell_text(candidate, missing) or ""
    if not (_is_number(value) or _is_number(candidate)):
        return text, to
    before, after = value if _is_number(value) else _number(text, value), _number(to, value)
    shown = before if text is not None and cell_text(before, missing) == text else text
    if after is None or cell_text(after, missing) != to:  # such as the category 1e3
        return shown, to
    return shown, after


def _number(text: str | None, cell: Any = 0.0) -> int | float | None:
    """Return the number that a text spells; None if none. A whole one is an int, as in the cell."""
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if isinstance(cell, float) or not number.is_integer() else int(number)


def _with_column(table: pa.Table, name: str, column: pa.Array) -> pa.Table:
    if name in table.column_names:
        return table.set_column(table.column_names.index(name), name, column)
    return table.append_column(name, column)


def _text(row: pa.Table, name: str) -> str:
    """Return the text in a column of one row."""
    value = row.column(name)[0].as_py() if name in row.column_names else None
    return value.decode("utf-8", ERRORS) if isinstance(value, bytes) else str(value or "")


def _slopes(parameters: Any, c: int) -> Float64:
    """Return the change of the score of class c by the presence of each term, (V,)."""
    size = parameters.total.shape[1]
    present, absent = (
        parameters.weighing.evaluated(slice(0, size), np.full((1, 1, size), count))[0, c]
        for count in (1.0, 0.0)
    )
    with np.errstate(invalid="ignore"):
        return np.asarray(present - absent)


def _odds(joint: Float64, a: int, b: int) -> Float64:
    """Return log P(a | x) - log P(b | x) of each row; 0 where both probabilities are 0."""
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(joint[:, a] - joint[:, b], nan=0.0, posinf=np.inf, neginf=-np.inf)


def _gained(joint: Float64, a: int, b: int, base: float) -> Float64:
    """Return the increase of the log-odds over `base`, in nats; 0 where it is undefined."""
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(_odds(joint, a, b) - base, nan=0.0, posinf=np.inf, neginf=-np.inf)


def _spread(column: pa.Array) -> list[Any]:
    """Return at most `VALUES` distinct values of a column; of more numbers, evenly spread ones.

    Numbers are rounded to five digits, as they are printed. Long strings are left out.
    """
    values = pc.unique(column).drop_null().to_pylist()
    if values and isinstance(values[0], str):
        return sorted(value for value in values if len(value) <= LONGEST)[:VALUES]
    values = sorted({float(f"{x:.5g}") if isinstance(x, float) else x for x in values})
    places = np.unique(np.linspace(0, len(values) - 1, min(len(values), VALUES)).astype(np.int64))
    return [values[k] for k in places.tolist()]
