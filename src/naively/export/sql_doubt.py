"""Scores of texts that are doubted, in a query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import or_

import numpy as np
from sqlglot import exp

from naively.exact import Int64
from naively.export.expressions import Columns, added, cell, largest, number, paren, power, select
from naively.export.sql_text import ABSENT, TextTerm
from naively.families.formula import Bag, Doubted, Term

Text = tuple[str, TextTerm]
"""(what is known of a document, its words)."""


class DoubtedTerm:
    """The stages of a query that doubt what the texts of a column add.

    What all classes share is left out, so that a score is log (e + (1 - e) p(x | c) / p(x)).

    Parameters
    ----------
    term : what is doubted.
    texts : of each of its bags.
    k : the number of the term, by which its columns are called.
    """

    def __init__(self, term: Doubted, texts: Sequence[Text], k: int) -> None:
        self.term, self.texts, self.k = term, texts, k
        self.classes = range(len(term.base))

    def stages(self) -> Iterator[Columns]:
        """The columns of each stage, which follow from the one before; the first of the texts."""
        yield {self._sum(c): self._known(c) for c in self.classes}
        joint = [self._joint(c) for c in self.classes if self.term.log_prior[c] > -np.inf]
        yield {f"b{self.k}": largest(joint)}
        best = cell(f"b{self.k}")
        powers = [power(exp.Sub(this=one, expression=best.copy())) for one in joint]
        whole = exp.Ln(this=added(powers))
        yield {f"l{self.k}": exp.Add(this=best.copy(), expression=whole)}

    def score(self, c: int) -> exp.Expression:
        """What the texts add to the score of a class; null if nobody knows their words."""
        off = exp.Sub(this=cell(self._sum(c)), expression=cell(f"l{self.k}"))
        share, most = self.term.share, exp.Greatest(this=off, expressions=[number(0.0)])
        behind = exp.Mul(this=number(share), expression=power(exp.Neg(this=most.copy())))
        near = power(exp.Sub(this=paren(off.copy()), expression=most.copy()))
        own = exp.Mul(this=number(1.0 - share), expression=near)
        found = exp.Add(this=most, expression=exp.Ln(this=added([behind, own])))
        known = exp.Is(this=cell(f"l{self.k}"), expression=exp.Null()).not_()
        return exp.Case(ifs=[exp.If(this=known, true=found)])

    def _known(self, c: int) -> exp.Expression:
        """What is known of the texts: what recurred, or what their words add up to."""
        term, (state, first) = self.term, self.texts[0]
        absent = exp.EQ(this=cell(state), expression=exp.Literal.number(ABSENT))
        has_terms = reduce(either, [absent, *(text.has_terms() for _, text in self.texts)])
        base = exp.Case(
            ifs=[exp.If(this=has_terms, true=number(term.base[c]))], default=number(0.0)
        )
        words = added([base, *(one.score(state, c) for state, one in self.texts)])
        if not len(term.keys):
            return words
        ifs = [
            exp.If(this=first.is_key(key), true=number(score))
            for key, score in zip(term.keys.tolist(), term.recurring[:, c].tolist(), strict=True)
        ]
        return exp.Case(ifs=ifs, default=words)

    def _sum(self, c: int) -> str:
        return f"u{self.k}_{c}"

    def _joint(self, c: int) -> exp.Expression:
        return paren(added([number(self.term.log_prior[c]), cell(self._sum(c))]))


def either(a: exp.Expression, b: exp.Expression) -> exp.Expression:
    """Whether one of two is true."""
    return exp.Or(this=a, expression=b)


def texts_of(
    terms: Sequence[Term], dialect: str
) -> tuple[list[Text], list[Text], list[DoubtedTerm]]:
    """(all texts, those that are not doubted, what doubts the others)."""
    plain, others, doubted = list[Text](), list[Text](), list[DoubtedTerm]()

    def text(bag: Bag, numbers: Int64 | None = None) -> Text:
        k = len(plain) + len(others)
        return f"d{k}", TextTerm(bag, dialect, f"naively_text_{k}", numbers)

    for term in terms:
        if isinstance(term, Bag):
            plain.append(text(term))
        elif isinstance(term, Doubted):
            own = list[Text]()
            for bag in term.bags:
                own.append(text(bag, None if own else term.numbers))
                others.append(own[-1])
            doubted.append(DoubtedTerm(term, own, len(doubted)))
    return [*plain, *others], plain, doubted


def doubt_stages(
    doubted: Sequence[DoubtedTerm], carried: Columns, row: str
) -> Iterator[exp.Select]:
    """The stages before the scores, with what is carried along; none if nothing is doubted."""
    for k, own in enumerate(zip(*(one.stages() for one in doubted), strict=True)):
        columns = reduce(or_, own)
        found = select(carried | columns)
        for term in doubted if k == 0 else ():
            for _, text in term.texts:
                found = text.joined(found, row)
        carried = carried | {name: cell(name) for name in columns}
        yield found
