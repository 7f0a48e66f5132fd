"""What the terms of a document add to its scores."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from naively.exact import Float64, Int64
from naively.text.analysis import Analysis, Span

MARKED = 100_000
"""Characters from the start of a document in which terms are located: nobody reads more."""
BEYOND = 1_000
"""Characters after these that are looked at too, so that no term is cut in two."""


@dataclass(frozen=True, eq=False, repr=False)
class ExplainedTerms:
    """What the terms of one document add to the score of each class, in nats.

    Attributes
    ----------
    text : the document.
    terms : its distinct terms that the model knows, in the order in which they are met.
    counts : (T,) how often.
    contributions : (T, C) what each of them adds to the score of each class.
    rest : (C,) what is added besides.
    rest_is : because all other terms are absent; because the document may be of a kind that was
        never learned; or because it is missing.
    unknown : its terms that the model does not know.
    cuts : each (how the document becomes terms, the position in `terms` of each of them; those
        that are hashed together share one). There are several where models are pooled.
    """

    text: str
    terms: list[str]
    counts: Int64
    contributions: Float64
    rest: Float64
    rest_is: Literal["absent terms", "doubt", "missing"]
    unknown: list[str]
    cuts: list[tuple[Analysis, dict[str, int]]]

    @property
    def marked(self) -> str:
        """The part of the document in which terms are located: all of it, unless it is long."""
        return self.text[:MARKED]

    @cached_property
    def spans(self) -> list[list[list[Span]]]:
        """For each term the (start, end) of its words, each time it is met in `marked`."""
        found: list[list[list[Span]]] = [[] for _ in self.terms]
        for analysis, places in self.cuts:
            for term, spans in analysis.spans(self.text[: MARKED + BEYOND]):
                place = places.get(term)
                if place is not None and all(end <= MARKED for _, end in spans):
                    found[place].append(spans)
        return found
