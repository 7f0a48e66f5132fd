"""Weigh several bags of the same documents together, such as words and character n-grams."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from itertools import zip_longest
from typing import Any, Self

from naively.core.workers import SERIAL, Workers
from naively.families.base import AnyFamily
from naively.families.text.pool import TextPool
from naively.families.text.text import Event, Text
from naively.families.text.weighed_text import WeighedText
from naively.text.analysis import WORDS
from naively.text.documents import Documents

NAMED: dict[str, dict[str, Any]] = {
    "words": {"event": "binary", "analyzer": "word", "ngram_range": (1, 2)},
    "characters": {
        "event": "binary", "analyzer": "char_wb", "ngram_range": (2, 4),
        "stop_words": None, "token_pattern": WORDS, "tokenizer": None,  # which are of words
    },
}  # fmt: skip
BY_NAME = ("event", "analyzer", "ngram_range")
"""Named models: single words and pairs, and character n-grams within words; presence only."""


@dataclass(frozen=True)
class PooledText(TextPool):
    """Documents as several bags of terms, with weights chosen for all bags together.

    The score of class c is::

        log π_c + b_c + Σ_m L_m^-γ_m Σ_t x_t W_t log θ_tc

    with the terms t of each bag m, such as words or character n-grams, in their groups. Each bag
    has its own vocabulary, counts, α and γ. The weights of all bags and the biases are those with
    the least log-loss of leave-one-out predictions: see `naively.pooling.texts.term_weights`.

    Parameters
    ----------
    models : tuple of WeighedText; by default single words and pairs of words, and character
        n-grams of length 2 to 4 within words; each term counts once a document.
    """

    models: tuple[WeighedText, ...] = tuple(WeighedText(**options) for options in NAMED.values())

    name = "pooled_text"

    def __post_init__(self) -> None:
        models: Any = self.models
        if not isinstance(models, tuple) or not models:
            raise ValueError(f"models must be several models of text, not {models!r}")
        for model in models:
            if not isinstance(model, WeighedText):
                raise ValueError(f"a model must be a weighed_text, not {model!r}")
        if len(set(map(repr, models))) < len(models):
            raise ValueError("models must be different ones: one is there twice")

    @property
    def alpha(self) -> tuple[Any, ...] | None:
        """The smoothing of each model; None if one is to be chosen."""
        alphas = tuple(model.alpha for model in self.models)
        return None if None in alphas else alphas

    @property
    def presence(self) -> Text:
        """Return the presence of terms, see `Text.presence`: of words, if a model has them."""
        word_models = (model for model in self.models if model.analyzer == "word")
        return next(word_models, self.models[0]).presence

    def counting(self, event: Event) -> Self:
        """Not available: each model has its own way to count."""
        raise ValueError("each model counts in its own way")

    @property
    def refers(self) -> bool:
        """Whether weights of terms depend on reference documents."""
        return any(model.refers for model in self.models)

    def referring(self, X: Documents, workers: Workers = SERIAL) -> Self:
        """Set the reference documents of each model, as in `Text`."""
        return replace(self, models=tuple(model.referring(X, workers) for model in self.models))

    def referring_as(self, source: AnyFamily | None) -> Self:
        """Take the reference documents of each model from another family, as in `Text`."""
        others = getattr(source, "models", ())[: len(self.models)]
        pairs = zip_longest(self.models, others)
        return replace(self, models=tuple(model.referring_as(other) for model, other in pairs))


def models_of(
    models: Any, options: dict[str, Any], set_options: Collection[str] = ()
) -> tuple[WeighedText, ...]:
    """Build the models of a pool from the user's options.

    `models`: "auto" for all named models; or a list of names, and of dicts of options of a model.
    `options`: of a `WeighedText`, the defaults for `models`. `set_options`: names of the options
    that the user set; named models do not allow some of them. Raises ValueError if the models are
    not valid, with the reason.
    """
    if models == "auto":
        models = [*NAMED]
    if isinstance(models, str) or not isinstance(models, list | tuple) or not models:
        raise ValueError(
            f'models must be "auto", or a list of {_model_names()} or dicts of options, '
            f"not {models!r}"
        )
    return tuple(_model(model, options, set_options) for model in models)


def _model(model: Any, options: dict[str, Any], set_options: Collection[str]) -> WeighedText:
    has_name = isinstance(model, str)
    changes = NAMED.get(model) if has_name else model
    if not isinstance(changes, dict):
        raise ValueError(f"each of models must be {_model_names()} or a dict, not {model!r}")
    if has_name and (fixed := [name for name in BY_NAME if name in set_options]):
        raise ValueError(
            f"named models set {fixed[0]} is: leave out {fixed[0]}, or give "
            f"models as dicts, as {{{fixed[0]!r}: {options[fixed[0]]!r}}}"
        )
    if unknown := [name for name in changes if name not in options]:
        raise ValueError(
            f"models have no {unknown[0]!r}: their options are {', '.join(sorted(options))}"
        )
    return WeighedText(**options | changes)


def _model_names() -> str:
    return " or ".join(f'"{name}"' for name in NAMED)


_PLAIN: dict[str, Any] = {field.name: field.default for field in fields(WeighedText)}
DEFAULT = WeighedText(
    also=models_of("auto", {k: v for k, v in _PLAIN.items() if k not in ("also", "reference")})
)
"""The default model of documents: `TextNB()`, `naively fit`, `compare` and `diagnose`."""
