"""What documents score whose evidence is pooled from several models."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from naively.evidence.kept_scale import stored_scale
from naively.evidence.scale import Scale
from naively.exact import Float64, Int64
from naively.families.base import Parameters
from naively.families.describing import Events, Listed, Section
from naively.families.ending import Ending
from naively.families.formula import Formula
from naively.families.text_formula import text_formula
from naively.families.text_parameters import TextParameters
from naively.families.text_reasons import rest_of
from naively.families.weighed_text_parameters import WeighedTextParameters
from naively.statistics.base import Arrays
from naively.text.documents import Documents
from naively.text.explained import ExplainedTerms
from naively.workers import Workers

SHARED = ("bias", "log_loss", "sure", "right", "weight")
"""What files keep of a scale that is the same for all models."""


class PooledTextParameters(Parameters):
    """The parameters of the terms of several models, and how much each term counts.

    Where terms are listed, those of all models that count are: model after model, each sorted.
    Runs of characters have quotes, so that they are told from words.

    Parameters
    ----------
    models : the parameters of each model, which add no bias.
    scales : of each model, with the biases of all together.
    endings : what happens to scores at last, of documents as each model knows them.

    Attributes
    ----------
    parts : the models that count; others get no weight, and are not asked. The first, if none does.
    scale : tuple of Scale
    bias : (C,), what every document has besides log π_c, in nats.
    alpha : tuple, the smoothing of each model.
    """

    not_linear = WeighedTextParameters.not_linear

    bias: Float64
    ending: Ending

    def __init__(
        self, models: Sequence[WeighedTextParameters], scales: Sequence[Scale],
        endings: Sequence[Ending],
    ) -> None:  # fmt: skip
        self.scale = tuple(scales)
        counts = [k for k, scale in enumerate(scales) if scale.counts] or [0]
        self.ending = endings[counts[0]]
        self.bias, self.judged = scales[0].bias, scales[0].judged
        pairs = zip(models, scales, strict=True)
        self.parts = [own for own, scale in pairs if scale.counts] or [models[0]]
        self.parts[0].keyed = len(self.ending.repeated) > 0
        self.alpha = tuple(own.alpha for own in models)
        self.n_free = sum(own.n_free for own in models) - len(self.bias) * (len(models) - 1)

    def kept(self) -> Arrays:
        """The weights of all models."""
        each = [stored_scale(one) for one in self.scale]
        found = {name: each[0][name] for name in SHARED}
        for k, own in enumerate(each):
            found |= {f"{k}.{name}": one for name, one in own.items() if name not in SHARED}
        return found

    # ---- scoring -----------------------------------------------------------------------------

    def chunk(self, X: Documents, n_classes: int) -> int:
        """How many documents to score at a time."""
        return min(part.chunk(X, n_classes) for part in self.parts)

    def prepare(self, X: Documents, workers: Workers) -> None:
        """Compute what `log_prob` needs."""
        for part in self.parts:
            part.prepare(X, workers)

    def log_prob(self, X: Documents, start: int, stop: int, out: Float64) -> None:
        """The bias, what the terms of each model add, and the doubt; 0 for a missing document."""
        scores, added = np.zeros(out.shape), np.empty(out.shape)
        keys = np.zeros(out.shape[1], np.int64)
        has_terms = np.zeros(out.shape[1], bool)
        for k, part in enumerate(self.parts):
            found = part.scored_rows(X, start, stop, added)
            scores += added
            has_terms |= np.concatenate([own for own, _ in found])
            if k == 0 and part.keyed:
                keys = np.concatenate([own for _, own in found])
        scores[:, has_terms] += self.bias[:, np.newaxis]
        self.ending.scores(scores, keys)
        out[:] = scores
        if X.valid is not None:
            out[:, ~X.valid[start:stop]] = 0.0

    def contributions(self, X: Documents) -> Float64:
        """What the document adds to the score of each class, (n, C, 1)."""
        out = np.empty((len(self.bias), len(X)))
        self.log_prob(X, 0, len(X), out)
        out -= self.bias[:, np.newaxis]
        return np.ascontiguousarray(out.T)[:, :, np.newaxis]

    def explain_document(self, X: Documents, i: int) -> ExplainedTerms:
        """What each term of document i adds to the score of each class."""
        found = [part.explain_document(X, i) for part in self.parts]
        pairs = list(zip(self.parts, found, strict=True))
        terms: list[str] = []
        cuts = []
        for part, own in pairs:
            ((analysis, places),) = own.cuts
            cuts.append((analysis, {one: place + len(terms) for one, place in places.items()}))
            terms += _shown(part, own.terms)
        contributions = np.concatenate([own.contributions for own in found])
        rest = rest_of(self, X, i, contributions)
        missing = X.valid is not None and not X.valid[i]
        return ExplainedTerms(
            X.text(i), terms, np.concatenate([own.counts for own in found]),
            contributions, rest, "missing" if missing else "doubt",
            [one for part, own in pairs for one in _shown(part, own.unknown)], cuts,
        )  # fmt: skip

    def formula(self, names: Sequence[str]) -> Formula:
        """What each of the terms of all models adds."""
        quarters = [part.scale.quarters for part in self.parts]
        quoted = [*map(_of_characters, self.parts)]
        return text_formula(self.parts, names[0], quarters, self.bias, quoted, self.ending)

    def sample(self, codes: Int64, generator: np.random.Generator) -> Documents:
        """Documents of the words of one model, if it has single words."""
        return self.addable.sample(codes, generator)

    # ---- terms -------------------------------------------------------------------------------

    @property
    def hashed(self) -> bool:
        """Whether terms of a model are hashed, and have no names."""
        return any(part.hashed for part in self.parts)

    @cached_property
    def _ends(self) -> Int64:
        """(M + 1,) where the terms of each model begin, and the last end."""
        return np.cumsum([0, *(part.n_terms for part in self.parts)])

    @property
    def n_terms(self) -> int:
        """How many terms there are, or buckets of them."""
        return int(self._ends[-1])

    @property
    def chance(self) -> str:
        """What has a term or has it not."""
        return "word"

    @property
    def addable(self) -> TextParameters:
        """Those of terms that can be added to a text: of words, if there are any."""
        words = (part for part in self.parts if not _of_characters(part))
        return next(words, self.parts[0])

    def named(self, places: npt.NDArray[np.integer]) -> list[str]:
        """Some of the terms. Raises ValueError if they are hashed."""
        found = np.empty(len(places), object)
        of = np.searchsorted(self._ends, places, "right") - 1
        for k, part in enumerate(self.parts):
            own = of == k
            found[own] = _shown(part, part.named(places[own] - self._ends[k]))
        return list(found)

    @property
    def terms(self) -> list[str]:
        """The terms. Raises ValueError if they are hashed."""
        return [one for part in self.parts for one in _shown(part, part.terms)]

    def feature_count(self) -> Float64:
        """What was counted of the terms, (C, V)."""
        return np.hstack([part.feature_count() for part in self.parts])

    def feature_log_prob(self) -> Float64:
        """Their log-probabilities, (C, V)."""
        return np.hstack([part.feature_log_prob() for part in self.parts])

    # ---- for people --------------------------------------------------------------------------

    def described(self, names: Sequence[str]) -> Section:
        """How many terms each model has."""
        said = [
            f"{part.n_terms:,} {'runs of characters' if _of_characters(part) else 'terms of words'}"
            for part in self.parts
        ]
        return Section("words", rows={names[0]: []}, words={names[0]: " and ".join(said)})

    def listed(self) -> list[Listed]:
        """The numbers of each term; of hashed ones by the number of their bucket."""
        return [
            Listed(one.name, one.features, _shown(part, one.levels), one.values)
            for part in self.parts
            for one in part.listed()
        ]

    def events(self, names: Sequence[str], features: Sequence[int] | None = None) -> Events | None:
        """The terms, which tell as much as they weigh, before what falls with the length."""
        found: list[Any] = [part.events(names) for part in self.parts]

        def beside(name: str) -> Float64:
            return np.hstack(
                [np.broadcast_to(getattr(one, name), one.counts.shape) for one in found]
            )

        return Events(self.terms, *map(beside, ("counts", "totals", "alpha", "whole", "odds")))


def _of_characters(part: TextParameters) -> bool:
    return part.summary.analysis.analyzer in ("char", "char_wb")


def _shown(part: TextParameters, terms: Any) -> list[str]:
    """Terms of one of several models: runs of characters in quotes."""
    return [f"'{one}'" for one in terms] if _of_characters(part) else list(terms)
