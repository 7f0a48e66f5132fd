"""Several models of the same documents, such as of words and of characters, weighed together."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from typing import Any, Self

from naively.evidence.kept_scale import read_scale
from naively.exact import ExactArray
from naively.families.base import AnyFamily, Family, FeatureError
from naively.families.distinct_texts import DistinctTexts
from naively.families.pooled_text_parameters import SHARED, PooledTextParameters
from naively.families.text import Event, Text
from naively.families.weighed_text import WeighedText, grouped_once, weighed_together
from naively.statistics.base import Arrays
from naively.statistics.pooled_terms import PooledCounts, PooledTerms
from naively.text.analysis import WORDS
from naively.text.documents import Documents
from naively.workers import SERIAL, Workers

NAMED: dict[str, dict[str, Any]] = {
    "words": {"event": "binary", "analyzer": "word", "ngram_range": (1, 2)},
    "characters": {
        "event": "binary", "analyzer": "char_wb", "ngram_range": (2, 4),
        "stop_words": None, "token_pattern": WORDS, "tokenizer": None,  # which are of words
    },
}  # fmt: skip
BY_NAME = ("event", "analyzer", "ngram_range")
"""Models that have names: words and pairs of words; runs of characters within words; met or not."""


@dataclass(frozen=True)
class PooledText(Family[PooledTerms, PooledTextParameters]):
    """Documents as several models have them, whose evidence is weighed together.

    The score of class c is::

        log π_c + b_c + Σ_m L_m^-γ_m Σ_t x_t W_t log θ_tc

    with the terms t of each model m, such as words or runs of characters, in their groups. Each
    model has its own vocabulary, counts, α and γ. The weights of all of them and the biases are
    those by which documents are predicted best together, each by counts without it: see
    `naively.evidence.scale`.

    Parameters
    ----------
    models : tuple of WeighedText; by default words and pairs of words, and runs of two to four
        characters within words, met or not.
    """

    models: tuple[WeighedText, ...] = tuple(WeighedText(**one) for one in NAMED.values())

    name = "pooled_text"
    is_density = is_story = False
    keeps = True

    def __post_init__(self) -> None:
        models: Any = self.models
        if not isinstance(models, tuple) or not models:
            raise ValueError(f"models must be several models of text, not {models!r}")
        for one in models:
            if not isinstance(one, WeighedText):
                raise ValueError(f"a model must be a weighed_text, not {one!r}")
        if len(set(map(repr, models))) < len(models):
            raise ValueError("models must be different ones: one is there twice")

    @cached_property
    def summary(self) -> PooledCounts:  # type: ignore[override]
        """What is counted for each model, and some documents."""
        first, *others = self.models
        return PooledCounts((first.summary, *(one.counts for one in others)))

    @property
    def alpha(self) -> tuple[Any, ...] | None:
        """The smoothing of each model; None if one is to be chosen."""
        given = tuple(one.alpha for one in self.models)
        return None if None in given else given

    @property
    def presence(self) -> Text:
        """As `Text` has it: of words, if a model has them."""
        words = (one for one in self.models if one.analyzer == "word")
        return next(words, self.models[0]).presence

    def counting(self, event: Event) -> Self:
        """Refused: each model counts in its own way."""
        raise ValueError("each model counts in its own way")

    # ---- learning ----------------------------------------------------------------------------

    @property
    def refers(self) -> bool:
        """Whether weights of terms depend on reference documents."""
        return any(one.refers for one in self.models)

    def referring(self, X: Documents, workers: Workers = SERIAL) -> Self:
        """As `Text` has it."""
        return replace(self, models=tuple(one.referring(X, workers) for one in self.models))

    def referring_as(self, known: AnyFamily | None) -> Self:
        """As `Text` has it."""
        others = getattr(known, "models", ())[: len(self.models)]
        pairs = zip_longest(self.models, others)
        return replace(self, models=tuple(one.referring_as(other) for one, other in pairs))

    def check(self, statistics: PooledTerms, class_weight: ExactArray) -> None:
        """Raise FeatureError unless a model has terms to learn from, and each that has can."""
        if statistics.wordless:
            raise FeatureError("the documents hold no terms of any of the models")
        for model, own in zip(self.models, statistics.parts, strict=True):
            if not own.wordless:
                model.check(own, class_weight)

    def doubt(self, statistics: PooledTerms) -> str | None:
        """What is odd about the first model of which something is."""
        first, *others = zip(self.models, statistics.parts, strict=True)
        said = [first[0].doubt(first[1]), *(Text.doubt(model, own) for model, own in others)]
        return next(filter(None, said), None)

    def estimate(
        self, statistics: PooledTerms, class_weight: ExactArray, workers: Workers = SERIAL
    ) -> PooledTextParameters:
        """The parameters of the terms of each model, and what all of them count together."""
        terms, scales, distinct = weighed_together(
            self.models, statistics.parts, statistics.sample, class_weight, workers
        )
        return self._pooled(terms, scales, distinct, workers)

    estimate_on = estimate

    def restored(
        self, statistics: PooledTerms, class_weight: ExactArray, kept: Arrays
    ) -> PooledTextParameters:
        """The weights that were kept, and the parameters of the terms."""
        shared = {name: kept[name] for name in SHARED if name in kept}
        distinct, terms = grouped_once(
            self.models, statistics.parts, statistics.sample, class_weight, SERIAL
        )
        scales = []
        for k, (model, grouped) in enumerate(zip(self.models, terms, strict=True)):
            own = {name.removeprefix(f"{k}."): one for name, one in kept.items()
                   if name.startswith(f"{k}.")}  # fmt: skip
            classes = class_weight.shape[0]
            scales.append(read_scale(own | shared, grouped.n_groups, classes, model.chooses))
        return self._pooled(terms, scales, distinct, SERIAL)

    def _pooled(
        self, terms: Any, scales: Any, distinct: DistinctTexts, workers: Workers
    ) -> PooledTextParameters:
        own = [
            model.weighed(grouped, replace(scale, bias=0.0 * scale.bias), None)
            for model, grouped, scale in zip(self.models, terms, scales, strict=True)
        ]
        endings = [
            distinct.ending(grouped, model.counts, workers)
            for model, grouped in zip(self.models, terms, strict=True)
        ]
        return PooledTextParameters(own, scales, endings)


def models_of(
    wanted: Any, options: dict[str, Any], said: Collection[str] = ()
) -> tuple[WeighedText, ...]:
    """The models that somebody asks for.

    Parameters
    ----------
    wanted : "auto" for all that have names; or a list of names, and of dicts of options of a model.
    options : of a `WeighedText`, for what `wanted` leaves open.
    said : those of them that somebody chose: what models with names are cannot be.

    Raises
    ------
    ValueError : if these are no models, saying why.
    """
    if wanted == "auto":
        wanted = [*NAMED]
    if isinstance(wanted, str) or not isinstance(wanted, list | tuple) or not wanted:
        raise ValueError(
            f'models must be "auto", or a list of {_known()} or dicts of options, not {wanted!r}'
        )
    return tuple(_model(one, options, said) for one in wanted)


def _model(wanted: Any, options: dict[str, Any], said: Collection[str]) -> WeighedText:
    named = isinstance(wanted, str)
    own = NAMED.get(wanted) if named else wanted
    if not isinstance(own, dict):
        raise ValueError(f"each of models must be {_known()} or a dict, not {wanted!r}")
    if named and (both := [name for name in BY_NAME if name in said]):
        raise ValueError(
            f"models that have names say what {both[0]} is: leave out {both[0]}, or give models as "
            f"dicts, as {{{both[0]!r}: {options[both[0]]!r}}}"
        )
    if unknown := [name for name in own if name not in options]:
        raise ValueError(
            f"models have no {unknown[0]!r}: their options are {', '.join(sorted(options))}"
        )
    return WeighedText(**options | own)


def _known() -> str:
    return " or ".join(f'"{name}"' for name in NAMED)
