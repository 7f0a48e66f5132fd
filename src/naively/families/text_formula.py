"""What documents score, as data: see `naively.families.formula`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from naively.families.ending import Ending
from naively.families.formula import Bag, Formula, MixedTexts, TextEvidence
from naively.families.linear import IMPOSSIBLE


def text_formula(
    models: Sequence[Any], name: str, quarters: Sequence[int], bias: Any,
    quoted: Sequence[bool] = (False,), ending: Ending | None = None,
) -> Formula:  # fmt: skip
    """What the terms of one or several models of the same documents add.

    Parameters
    ----------
    models : list of TextParameters
    name : of the column.
    quarters : 4 γ of each model, whose evidence is times L^-γ.
    bias : (C,) or 0, what every document has that is not missing, in nats.
    quoted : whether the terms of each model are shown in quotes.
    ending : what happens to the scores of documents at last.

    Raises
    ------
    ValueError : if terms are hashed, or made by means of Python's own, or a probability is 0.
    """
    classes = models[0].weighing.n_classes
    base = np.zeros(classes) + bias
    each = zip(models, quarters, quoted, strict=True)
    first, *others = (_bag(own, name, fall, quotes) for own, fall, quotes in each)
    first = replace(first, missing=-base)
    if ending is None:
        return Formula(base, [first, *others])
    known, numbers = ending.repeated, models[0].key_numbers if len(ending.repeated) else None
    text = TextEvidence(base, [first, *others], numbers, known.keys, known.scores)
    mixed = MixedTexts((text,), (1.0,), ending.doubt.log_prior, ending.doubt.share)
    return Formula(np.zeros(classes), [mixed])


def _bag(own: Any, name: str, quarters: int, quoted: bool) -> Bag:
    summary = own.summary
    if own.hashed:
        raise ValueError("its terms are hashed, and have no names that could be exported")
    if not summary.analysis.compiled:
        raise ValueError(
            "its terms are made by strip_accents, a token_pattern or a function of Python, which "
            "cannot be exported"
        )
    terms = own.weighing.terms(slice(0, len(own.terms)))
    if terms.impossible is not None:
        raise ValueError(IMPOSSIBLE)
    zero = None if terms.zero is None or not terms.zero.any() else terms.zero.T
    return Bag(
        name, summary.analysis, own.terms, summary.once, summary.weighting, summary.length_norm,
        summary.idf(own.vocabulary), terms.slope.T, zero, quarters, np.zeros(len(terms.slope)),
        quoted,
    )  # fmt: skip
