"""Scores of texts that are mixed with the prior, in a query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import or_

import numpy as np
from sqlglot import exp

from naively.exact import Int64
from naively.export.expressions import Columns, added, cell, largest, number, paren, power, select
from naively.export.sql_text import ABSENT, TextTerm
from naively.families.formula import Bag, Formula, MixedTexts, TextEvidence

Text = tuple[str, TextTerm]
"""(what is known of a document, its words)."""
FACTOR = "factor"
"""The factor of rows with unfamiliar missing cells; null of others."""


class MixedTerm:
    """The stages of a query that mix what texts add with the prior.

    What all classes share is left out, so that a score is log (e + (1 - e) p(x | c) / p(x)).

    Parameters
    ----------
    term : what is mixed.
    other : the same with the weights of rows that have a factor; None if no rows have one.
    texts : of the bags of each text.
    k : the number of the term, by which its columns are called.
    """

    def __init__(
        self, term: MixedTexts, other: MixedTexts | None, texts: Sequence[Sequence[Text]], k: int
    ) -> None:
        self.term, self.other, self.texts, self.k = term, other, texts, k
        self.classes = range(len(term.log_prior))

    def stages(self) -> Iterator[Columns]:
        """The columns of each stage, which follow from the one before; the first of the texts."""
        if self.other is None and self.term.weights == (1.0,):
            yield {self._sum(c): self._known(0, c) for c in self.classes}
        else:
            each = range(len(self.texts))
            yield {self._one(p, c): self._known(p, c) for p in each for c in self.classes}
            yield {self._sum(c): self._weighted(c) for c in self.classes}
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

    def _weighted(self, c: int) -> exp.Expression:
        """The weighted sum of what texts add, times the factor of rows that have one."""
        sums = []
        for term in filter(None, (self.term, self.other)):
            each = [
                exp.Mul(this=number(weight), expression=cell(self._one(p, c)))
                for p, weight in enumerate(term.weights)
            ]
            sums.append(added(each))
        if len(sums) == 1:
            return sums[0]
        none = exp.Is(this=cell(FACTOR), expression=exp.Null())
        scaled = exp.Mul(this=cell(FACTOR), expression=paren(sums[1]))
        return exp.Case(ifs=[exp.If(this=none, true=sums[0])], default=scaled)

    def _known(self, p: int, c: int) -> exp.Expression:
        """What is known of a text: what recurred, or what its words add up to."""
        text: TextEvidence = self.term.texts[p]
        state, first = self.texts[p][0]
        absent = exp.EQ(this=cell(state), expression=exp.Literal.number(ABSENT))
        has_terms = reduce(either, [absent, *(one.has_terms() for _, one in self.texts[p])])
        base = exp.Case(
            ifs=[exp.If(this=has_terms, true=number(text.base[c]))], default=number(0.0)
        )
        words = added([base, *(one.score(state, c) for state, one in self.texts[p])])
        if not len(text.keys):
            return words
        ifs = [
            exp.If(this=first.is_key(key), true=number(score))
            for key, score in zip(text.keys.tolist(), text.recurring[:, c].tolist(), strict=True)
        ]
        return exp.Case(ifs=ifs, default=words)

    def _one(self, p: int, c: int) -> str:
        return f"v{self.k}_{p}_{c}"

    def _sum(self, c: int) -> str:
        return f"u{self.k}_{c}"

    def _joint(self, c: int) -> exp.Expression:
        return paren(added([number(self.term.log_prior[c]), cell(self._sum(c))]))


def either(a: exp.Expression, b: exp.Expression) -> exp.Expression:
    """Whether one of two is true."""
    return exp.Or(this=a, expression=b)


def texts_of(formula: Formula, dialect: str) -> tuple[list[Text], list[Text], list[MixedTerm]]:
    """(all texts, those that are not mixed with the prior, what mixes the others)."""
    plain, others, mixed = list[Text](), list[Text](), list[MixedTerm]()

    def text(bag: Bag, numbers: Int64 | None = None) -> Text:
        k = len(plain) + len(others)
        return f"d{k}", TextTerm(bag, dialect, f"naively_text_{k}", numbers)

    rest = [] if formula.other is None else formula.other.terms
    of_rest = next((one for one in rest if isinstance(one, MixedTexts)), None)
    for term in formula.terms:
        if isinstance(term, Bag):
            plain.append(text(term))
        elif isinstance(term, MixedTexts):
            each = list[list[Text]]()
            for one in term.texts:
                own = list[Text]()
                for bag in one.bags:
                    own.append(text(bag, None if own else one.numbers))
                    others.append(own[-1])
                each.append(own)
            mixed.append(MixedTerm(term, of_rest, each, len(mixed)))
    return [*plain, *others], plain, mixed


def doubt_stages(mixed: Sequence[MixedTerm], carried: Columns, row: str) -> Iterator[exp.Select]:
    """The stages before the scores, with what is carried along; none if nothing is mixed."""
    for k, own in enumerate(zip(*(one.stages() for one in mixed), strict=True)):
        columns = reduce(or_, own)
        found = select(carried | columns)
        for term in mixed if k == 0 else ():
            for texts in term.texts:
                for _, text in texts:
                    found = text.joined(found, row)
        carried = carried | {name: cell(name) for name in columns}
        yield found
