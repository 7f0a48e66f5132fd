"""What the terms of a document add to its scores."""

from __future__ import annotations

from dataclasses import dataclass

from naively.exact import Float64, Int64
from naively.text.analysis import Span


@dataclass(frozen=True, eq=False, repr=False)
class Told:
    """What the terms of one document add to the score of each class, in nats.

    Attributes
    ----------
    text : the document.
    terms : its distinct terms that the model knows, in the order in which they are met.
    counts : (T,) how often.
    contributions : (T, C) what each of them adds to the score of each class.
    spans : for each term the (start, end) of its words, each time it is met.
    rest : (C,) what the absence of all other terms adds; 0 unless ``event="bernoulli"``.
    unknown : its terms that the model does not know.
    """

    text: str
    terms: list[str]
    counts: Int64
    contributions: Float64
    spans: list[list[list[Span]]]
    rest: Float64
    unknown: list[str]
