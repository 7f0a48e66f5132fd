"""Score documents by one or several bags of weighted terms, and estimate the weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from naively.core.exact import ExactArray, Float64, Int64
from naively.core.workers import SERIAL, Workers
from naively.explain.text import ExplainedTerms
from naively.families.base import Events, Family, FeatureError, Listed, Parameters, Section
from naively.families.linear import LinearParameters, Terms, WeightCache, with_group
from naively.families.text.distinct import (
    DistinctTexts,
    Ending,
    Learned,
    copies_of,
    counts_of,
    learned_from,
)
from naively.families.text.parameters import Estimated, SelectedTerms, TextParameters
from naively.families.text.text import Text
from naively.formula import Formula, MixedTexts, TextEvidence
from naively.pooling.texts.corrections import FEWEST
from naively.pooling.texts.stored_term_weights import read_scale, stored_scale
from naively.pooling.texts.term_weights import Counted, TermWeights, narrowed, scales_of, unit_of
from naively.statistics.base import Arrays
from naively.statistics.documents import LONGEST, DocumentSample
from naively.statistics.powers import CountStatistics
from naively.statistics.terms import (
    DocumentTerms,
    PooledCounts,
    PooledTerms,
    TermCounts,
    TermStatistics,
    joint_keys,
)
from naively.text.analysis import deciding
from naively.text.counting import DocumentRows
from naively.text.documents import Documents
from naively.text.vocabulary import document_keys, term_numbers

ROUNDING = 1e-13  # remainders below this fraction of a score are rounding errors, and set to 0
SHARED = ("bias", "unseen", "log_loss", "sure", "right", "weight")
"""Arrays of a scale that are equal for all bags, and stored once."""


class WeighedTerms(LinearParameters):
    """The log-probabilities of terms, each multiplied by its weight, and corrected.

    `inner`: parameters of the counts of the terms. `total`: ExactArray (C, V), the count of each
    term in each class. `group`: (V,) the group of each term.
    """

    has_zero = False

    def __init__(
        self, inner: LinearParameters, total: ExactArray, scale: TermWeights, group: Int64
    ) -> None:
        super().__init__(inner.n_classes, inner.n_features)
        self.inner, self.total, self.scale, self.group = inner, total, scale, group
        self.of_class: Float64 = total.summed(1).rounded()

    def terms(self, columns: slice) -> Terms:
        """x_α (W_α log θ_αc + δ_αc)."""
        counts = self.total.gather(1, columns).rounded()
        weights = self.scale.of_terms(counts, self.of_class, self.group[columns])
        evidence = self.inner.terms(columns).slope * weights
        return Terms(self.scale.corrections.added(evidence, columns, counts))

    def sample(self, codes: Int64, generator: np.random.Generator) -> Any:
        """Draw counts of terms; weights are ignored."""
        return self.inner.sample(codes, generator)


class WeighedBag(TextParameters):
    """One bag of a text pool: the parameters of its terms, and their weights.

    `keyed`: whether documents are looked up among the recurring ones.
    """

    def __init__(
        self, summary: TermCounts, terms: Estimated, scale: TermWeights, group: Int64, n_groups: int
    ) -> None:
        super().__init__(summary, terms)
        self.scale, self.keyed = scale, False
        self.scorer = WeighedTerms(terms.inner, terms.total, scale, group)
        if np.ndim(terms.alpha) == 0:  # else terms of the same counts may have different weights
            kinds = scale.corrections.kinds(group, n_groups)
            self._looked_up = WeightCache(self.scorer, with_group(terms.total, *kinds))
        self._no_bias = np.zeros(len(scale.bias))  # the bias belongs to all bags together
        self.n_free += scale.weights.size + 1 + scale.corrections.values.size

    @property
    def weighing(self) -> LinearParameters:
        """The parameters of the terms, multiplied by their weights."""
        return self.scorer

    @cached_property
    def key_numbers(self) -> Int64:
        """The integers of the terms, (V,); the key of a document is their sum."""
        return term_numbers(self.scored.vocabulary, self.summary.buckets)

    def _keys(self, rows: DocumentRows) -> Int64 | None:
        if not self.keyed:
            return None
        data = None if self.summary.weighs else rows.data
        return document_keys(self.key_numbers, data, rows.indices, rows.indptr)

    def _finish(self, rows: DocumentRows, scores: Float64, keys: Int64 | None) -> Any:
        """Scale scores by L^-γ; return (which documents have terms, the keys of documents)."""
        self.scale.fall(scores, rows.data, rows.indptr, self._no_bias)
        return np.diff(rows.indptr) > 0, keys

    def added(self, scored: Estimated, columns: Any, values: Float64) -> Float64:
        """Compute the contribution of some terms of one document, with these counts: (k, C)."""
        factor = float(self.scale.of_lengths(np.array([values.sum()]))[0])
        return factor * self.scorer.evaluated(columns, values[np.newaxis, np.newaxis])[0].T

    def events(self, names: Sequence[str], features: Sequence[int] | None = None) -> Events | None:
        """Return the terms with their weighted log-odds, before the factor L^-γ."""
        events = super().events(names, features)
        return events and events.weighing(self.scorer.terms(slice(None)).slope)


class TextPoolParameters(Parameters):
    """One or several bags of weighted terms.

    Terms are listed bag after bag, each sorted; bags without weight are left out. If there are
    several bags, character n-grams are shown in quotes, to distinguish them from words.

    `endings`: for each bag, the last steps of scoring a document. `chosen`: the places of the bags
    among those of the family; by default all. `parts`: the bags with a positive weight; the first
    bag if there are none. `scales`: tuple of TermWeights, of all bags, each with the biases of all
    together. `alphas`: tuple, their smoothing. `summaries`: tuple of TermCounts, their terms.
    `bias`: (C,), added to every document besides log π_c, in nats.
    """

    not_linear = "the evidence of a document falls with its length: no weights are the same for all"

    bias: Float64
    ending: Ending

    def __init__(
        self, bags: Sequence[WeighedBag], endings: Sequence[Ending], chosen: Sequence[int] = (0,)
    ) -> None:
        self.scales = tuple(bag.scale for bag in bags)
        self._stored = [stored_scale(bag.scale, bag.vocabulary) for bag in bags]
        self._chosen = np.array(chosen)
        counts = [k for k, scale in enumerate(self.scales) if scale.counts] or [0]
        self.ending = endings[counts[0]]
        self.bias, self.out_of_fold = self.scales[0].bias, self.scales[0].out_of_fold
        self.parts = [bags[k] for k in counts]
        self._deciding = deciding([part.summary.analysis for part in self.parts])
        self.parts[0].keyed = len(self.ending.repeated) > 0
        self.alphas = tuple(bag.alpha for bag in bags)
        self.summaries = tuple(bag.summary for bag in bags)
        self.n_free = sum(bag.n_free for bag in bags) + len(self.bias)

    weighted = True  # whether terms have weights

    @property
    def smoothing(self) -> list[tuple[str, float]]:
        """(What is counted, its alpha) of each bag with a positive weight."""
        return [pair for part in self.parts for pair in part.smoothing]

    @property
    def is_single(self) -> bool:
        """Whether there is one bag."""
        return len(self.scales) == 1

    def kept(self) -> Arrays:
        """Return the weights of all bags."""
        arrays = {name: self._stored[0][name] for name in SHARED} | {"models": self._chosen}
        for k, stored in zip(self._chosen.tolist(), self._stored, strict=True):
            arrays |= {f"{k}.{name}": stored[name] for name in stored if name not in SHARED}
        return arrays

    # ---- scoring -----------------------------------------------------------------------------

    def chunk(self, X: Documents, n_classes: int) -> int:
        """Number of documents that are scored at a time."""
        return min(part.chunk(X, n_classes) for part in self.parts)

    def prepare(self, X: Documents, workers: Workers) -> None:
        """Compute what `log_prob` needs."""
        for part in self.parts:
            part.prepare(X, workers)

    def log_prob(self, X: Documents, start: int, stop: int, out: Float64) -> None:
        """Add the bias and the terms of all bags, mix with the prior; 0 for a missing document."""
        scores, unseen, _ = self._unmixed(X, start, stop)
        self.ending.mixing.scores(scores, unseen)
        out[:] = scores
        if X.valid is not None:
            out[:, ~X.valid[start:stop]] = 0.0

    def _unmixed(
        self, X: Documents, start: int, stop: int
    ) -> tuple[Float64, npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Compute the scores before prior mixing, (C, n).

        Also return which documents have no known words, and which have any known term, (n,).
        """
        scores, added = np.zeros((2, len(self.bias), stop - start))
        keys = np.zeros(stop - start, np.int64)
        has_terms, is_known = np.zeros((2, stop - start), bool)
        for k, part in enumerate(self.parts):
            results = part.scored_rows(X, start, stop, added)
            scores += added
            has_part = np.concatenate([part_values for part_values, _ in results])
            has_terms |= has_part
            if k in self._deciding:
                is_known |= has_part
            if k == 0 and part.keyed:
                keys = np.concatenate([part_values for _, part_values in results])
        scores[:, has_terms] += self.bias[:, np.newaxis]
        self.ending.repeated.replace(keys, scores)
        return scores, ~is_known, has_terms

    def biases(self, X: Documents) -> Float64:
        """Return the bias of each document, (n, C): 0 without known terms."""
        _, _, has_terms = self._unmixed(X, 0, len(X))
        return has_terms[:, np.newaxis] * self.bias

    def contributions(self, X: Documents) -> Float64:
        """Compute the contribution of the document to each class's score, (n, C, 1)."""
        out = np.empty((len(self.bias), len(X)))
        self.log_prob(X, 0, len(X), out)
        contributions = out.T - self.biases(X) - self.mixing(X)
        return contributions[:, :, np.newaxis]

    def mixing(self, X: Documents) -> Float64:
        """Compute what prior mixing adds to the scores, (n, C)."""
        scores, unseen, _ = self._unmixed(X, 0, len(X))
        added = self.ending.mixing.added(scores, unseen)
        if X.valid is not None:
            added[:, ~X.valid] = 0.0
        return added.T

    def explain_document(self, X: Documents, i: int) -> ExplainedTerms:
        """Compute the contribution of each term of document i to each class's score."""
        explanations = [part.explain_document(X, i) for part in self.parts]
        places: dict[str, int] = {}  # a term of several bags is listed once
        cuts, unknown, rows = [], dict[str, None](), []
        for part, explained in zip(self.parts, explanations, strict=True):
            names = self._shown(part, explained.terms)
            indices = np.array([places.setdefault(name, len(places)) for name in names], np.int64)
            ((analysis, positions),) = explained.cuts
            cuts.append((analysis, {term: int(indices[k]) for term, k in positions.items()}))
            unknown |= dict.fromkeys(self._shown(part, explained.unknown))
            rows.append(indices)
        counts = np.zeros(len(places), np.int64)
        contributions = np.zeros((len(places), len(self.bias)))
        for indices, explained in zip(rows, explanations, strict=True):
            counts[indices] = explained.counts
            np.add.at(contributions, indices, explained.contributions)
        scores = np.empty((len(self.bias), 1))
        self.log_prob(X, i, i + 1, scores)
        added = self.biases(X[i : i + 1])[0] + contributions.sum(axis=0)
        remainder = scores[:, 0] - added
        remainder[np.abs(remainder) <= ROUNDING * np.abs(added).max(initial=0.0)] = 0.0
        missing = X.valid is not None and not X.valid[i]
        return ExplainedTerms(
            X.text(i), [*places], counts, contributions, remainder,
            "missing" if missing else "prior mixing", [*unknown], cuts,
        )  # fmt: skip

    def formula(self, names: Sequence[str]) -> Formula:
        """Return the terms of all bags, the recurring texts and the prior mixing as data."""
        zeros = np.zeros(len(self.bias))
        bags = [
            part.bag(names[0], zeros if k else -self.bias, part.scale.quarters, self._quoted(part))
            for k, part in enumerate(self.parts)
        ]
        recurring, mixing = self.ending.repeated, self.ending.mixing
        numbers = self.parts[0].key_numbers if len(recurring) else None
        text = TextEvidence(self.bias, bags, numbers, recurring.keys, recurring.scores)
        shares = mixing.share, mixing.unseen_share
        return Formula(zeros, [MixedTexts((text,), (1.0,), zeros, mixing.log_prior, *shares, (0,))])

    def sample(self, codes: Int64, generator: np.random.Generator) -> Documents:
        """Draw documents of the words of one bag, if it has single words."""
        return self.addable.sample(codes, generator)

    @property
    def has_length(self) -> bool:  # type: ignore[override]
        """Whether documents are sequences of words that are drawn one by one."""
        return self.is_single and self.parts[0].has_length

    def sample_events(self, codes: Int64, length: int, generator: np.random.Generator) -> Documents:
        """Draw documents of `length` words each."""
        return self.addable.sample_events(codes, length, generator)

    # ---- terms -------------------------------------------------------------------------------

    @property
    def hashed(self) -> bool:
        """Whether the terms of a bag are hashed, and have no names."""
        return any(part.hashed for part in self.parts)

    @cached_property
    def _ends(self) -> Int64:
        """(M + 1,) the first index of each bag's terms, and the number of all terms."""
        return np.cumsum([0, *(part.n_terms for part in self.parts)])

    @property
    def n_terms(self) -> int:
        """Number of terms, or of buckets of hashed terms."""
        return int(self._ends[-1])

    @property
    def chance(self) -> str:
        """The unit in which terms are counted."""
        return "word"

    @property
    def addable(self) -> TextParameters:
        """The bag of which terms can be added to a text: words, if there are any."""
        return self.parts[self._deciding[0]]

    def named(self, places: npt.NDArray[np.integer]) -> list[str]:
        """Return the names of some terms. Raises ValueError if they are hashed."""
        names = np.empty(len(places), object)
        bags = np.searchsorted(self._ends, places, "right") - 1
        for k, part in enumerate(self.parts):
            rows = bags == k
            names[rows] = self._shown(part, part.named(places[rows] - self._ends[k]))
        return list(names)

    @property
    def terms(self) -> list[str]:
        """The terms. Raises ValueError if they are hashed."""
        return [term for part in self.parts for term in self._shown(part, part.terms)]

    def _shown(self, part: WeighedBag, terms: Sequence[Any]) -> list[str]:
        """Return the terms of one bag as they are shown."""
        return [f"'{term}'" for term in terms] if self._quoted(part) else list(terms)

    def _quoted(self, part: WeighedBag) -> bool:
        """Whether a bag's terms are shown in quotes: character n-grams beside words."""
        return not self.is_single and part.summary.analysis.of_characters

    def feature_count(self) -> Float64:
        """Return the counts of the terms, (C, V)."""
        return np.hstack([part.feature_count() for part in self.parts])

    def feature_log_prob(self) -> Float64:
        """Return the log-probabilities of the terms, (C, V)."""
        return np.hstack([part.feature_log_prob() for part in self.parts])

    # ---- descriptions ------------------------------------------------------------------------

    def described(self, names: Sequence[str]) -> Section:
        """Describe the number of terms of each bag."""
        if self.is_single:
            return self.parts[0].described(names)
        units = {False: "terms of words", True: "character n-grams"}
        parts = self.parts
        sizes = [f"{part.n_terms:,} {units[part.summary.analysis.of_characters]}" for part in parts]
        return Section("words", rows={names[0]: []}, words={names[0]: " and ".join(sizes)})

    def listed(self) -> list[Listed]:
        """List the numbers of each term; hashed terms by the index of their bucket."""
        return [
            replace(numbers, levels=self._shown(part, numbers.levels or ()))
            for part in self.parts for numbers in part.listed()
        ]  # fmt: skip

    def events(self, names: Sequence[str], features: Sequence[int] | None = None) -> Events | None:
        """Return the terms with their weighted log-odds, before the factor L^-γ."""
        bag_events: list[Any] = [part.events(names) for part in self.parts]

        def beside(name: str) -> Float64:
            of_bags = [(getattr(events, name), events.counts.shape) for events in bag_events]
            return np.hstack([np.broadcast_to(values, shape) for values, shape in of_bags])

        return Events(self.terms, *map(beside, ("counts", "totals", "alpha", "whole", "odds")))


# ---- text pool -----------------------------------------------------------------------------------


CHARACTERS = 1 << 24
"""Bytes of the stored documents up to which character n-grams are counted in them."""
LENGTHS = 8  # numbers of n-gram lengths with separate weights; longer n-grams share the last one


class Grouped(NamedTuple):
    """Sorted terms in groups."""

    terms: Estimated
    present: ExactArray  # (C,) the weight of the documents that are not missing
    group: Int64  # (V,) the group of each term: words, pairs of words and so on
    n_groups: int


class TextPool(Family[PooledTerms, TextPoolParameters]):
    """Documents as one or several bags of terms, with weights chosen by leave-one-out log-loss.

    Terms of `models` are counted in all documents, those of `also` in the stored ones, a bounded
    number; if they have no weight, they are left out. Below a hundred stored documents there is no
    choice.
    """

    models: tuple[Text, ...]  # the terms of each bag, and how they count
    also: tuple[Text, ...] = ()
    """Further bags, whose terms are counted in the stored documents alone."""

    is_density = is_story = False
    keeps = True

    @cached_property
    def summary(self) -> PooledCounts:  # type: ignore[override]
        """Count the terms of each bag, and sample documents."""
        return PooledCounts(tuple(model.counts for model in self.models))

    def check(self, statistics: PooledTerms, class_weight: ExactArray) -> None:
        """Raise FeatureError unless a bag has terms, and each bag with terms can be estimated."""
        is_single = len(self.models) == 1
        if statistics.wordless and not is_single:
            raise FeatureError("the documents hold no terms of any of the models")
        for model, counts in zip(self.models, statistics.terms, strict=True):
            if is_single or not counts.wordless:
                Text.check(model, counts, class_weight)

    def warning(self, statistics: PooledTerms) -> str | None:
        """Warn if no document is short enough to learn weights, or many are duplicates."""
        if not len(statistics.sample) and statistics.terms[0].tables["sum"].nonzero().any():
            limit = f"no document is shorter than {LONGEST:,} bytes"
            return f"{limit}, so no weights were estimated: each is 1"
        pairs = zip(self.models, statistics.terms, strict=True)
        first, *others = (Text.warning(model, counts) for model, counts in pairs)
        return next(filter(None, [first, copies_of(statistics.sample), *others]), None)

    def estimate(
        self, statistics: PooledTerms, class_weight: ExactArray, workers: Workers = SERIAL
    ) -> TextPoolParameters:
        """Estimate the terms of each bag, and the weights of all bags together."""
        models = dict(enumerate(self._candidates(statistics.sample)))
        distinct, bags, terms = self._once(models, statistics, class_weight, workers)
        n_groups = sum(bag.n_groups for bag in bags.values())
        documents = Learned.of(distinct, next(iter(bags.values())).present, n_groups)
        counted = [_counted(models[k], bag, documents, terms.pop(k)) for k, bag in bags.items()]
        scales = scales_of(counted, workers)
        bias = np.zeros(class_weight.shape[0])
        bias[documents.classes] = scales[0].bias
        chosen = {}
        for k, scale in enumerate(scales):
            corrections = scale.corrections.among(documents.classes, len(bias))
            chosen[k] = replace(scale, bias=bias, corrections=corrections)
        if self.also:  # bags without weights are left out
            chosen = {k: scale for k, scale in chosen.items() if scale.counts} or {0: scales[0]}
        return self._weighed(models, bags, chosen, distinct, workers)

    estimate_on = estimate

    def restored(
        self, statistics: PooledTerms, class_weight: ExactArray, kept: Arrays
    ) -> TextPoolParameters:
        """Restore the stored weights, and estimate the parameters of the terms."""
        candidates = self._candidates(statistics.sample)
        chosen = kept.get("models", np.empty(0)).tolist()
        if not chosen or chosen != sorted({*chosen} & {*range(len(candidates))}):
            raise ValueError("its weights are of other models")
        models = {k: candidates[k] for k in chosen}
        distinct, bags, _ = self._once(models, statistics, class_weight, SERIAL)
        shared = {name: kept[name] for name in SHARED if name in kept}
        classes, scales = class_weight.shape[0], {}
        for k, model in models.items():
            prefix, terms = f"{k}.", bags[k].terms
            arrays = {name.removeprefix(prefix): array for name, array in kept.items()
                      if name.startswith(prefix)} | shared  # fmt: skip
            scales[k] = read_scale(
                arrays, bags[k].n_groups, classes, chooses(model), terms.vocabulary,
                terms.total.shape[1],
            )  # fmt: skip
        return self._weighed(models, bags, scales, distinct, SERIAL)

    def _candidates(self, sample: DocumentSample) -> Sequence[Text]:
        """The models that these documents allow: `also` those that are counted in few enough."""
        if not self.also:
            return self.models
        lengths = sample.lengths[sample.counts.any(axis=0)]  # forgotten documents weigh 0
        if len(lengths) < FEWEST:
            return self.models
        is_small = lengths.sum() <= CHARACTERS
        also = [model for model in self.also if is_small or model.analyzer == "word"]
        return [*self.models, *also]

    def _once(
        self, models: Mapping[int, Text], statistics: PooledTerms, class_weight: ExactArray,
        workers: Workers,
    ) -> tuple[DistinctTexts, dict[int, Grouped], dict[int, DocumentTerms]]:  # fmt: skip
        """Return (the distinct documents, the terms of these models, those of documents).

        Each document counts once. If only a sample is stored, or terms were dropped, duplicates
        stay in the counts.
        """
        stored, counted = statistics.sample.canonical(), statistics.terms
        sample, places = learned_from(stored)
        totals, terms = dict[int, TermStatistics](), dict[int, DocumentTerms]()
        keys = []
        for k, model in enumerate(self._candidates(stored)):
            if k < len(counted):
                totals[k] = counted[k]
                document_terms = model.counts.terms_of(sample.documents, workers)
            else:
                document_terms = model.counts.terms_of(stored.documents, workers)
                if k in models:
                    totals[k] = counts_of(model.counts, document_terms, stored.counts.T, workers)
                if len(places) < len(stored):
                    document_terms = document_terms.some(places)
            keys.append(document_terms.keys(model.counts))
            if k in models:
                terms[k] = document_terms
        distinct = DistinctTexts.of(sample, joint_keys(keys))
        if any(counts.undercount for counts in counted):
            distinct = replace(distinct, complete=False, exact=False)
        present = counted[0].observed(class_weight).gather(1, 0)

        def grouped(k: int, model: Text) -> Grouped:
            return _grouped(model, distinct.counted_once(totals[k], model.counts, workers), present)

        return distinct, {k: grouped(k, model) for k, model in models.items()}, terms

    def _weighed(
        self, models: Mapping[int, Text], bags: Mapping[int, Grouped],
        scales: Mapping[int, TermWeights], distinct: DistinctTexts, workers: Workers,
    ) -> TextPoolParameters:  # fmt: skip
        """Make the parameters of the bags with these weights."""
        weighted_bags, endings = [], []
        for k, scale in scales.items():
            model, bag, terms = models[k], bags[k], bags[k].terms
            if scale.alpha is not None:
                total = terms.total
                counts = CountStatistics({"sum": total, "missing": ExactArray.zeros(total.shape)})
                inner = model._inner(scale.alpha).estimate(counts, bag.present)
                terms = terms._replace(inner=inner, alpha=scale.alpha)
            weighted_bags.append(WeighedBag(model.counts, terms, scale, bag.group, bag.n_groups))
            endings.append(distinct.ending(bag, model.counts, scale.unseen, workers))
        return TextPoolParameters(weighted_bags, endings, [*scales])


def chooses(model: Text) -> bool:
    """Whether the smoothing of a bag is chosen together with the weights."""
    return model.alpha is None


def groups_of(model: Text, terms: Estimated | SelectedTerms) -> tuple[Int64, int]:
    """Return (the group of each term, the number of groups): words, pairs of words and so on."""
    low, high = model.ngram_range
    is_split = isinstance(model.analyzer, str) and model.tokenizer is None
    if terms.vocabulary is None or not is_split or low == high:
        return np.zeros(terms.total.shape[1], np.int64), 1
    count = min(high - low + 1, LENGTHS)
    lengths = terms.vocabulary.lengths_in(model.analyzer == "word")
    return np.clip(lengths - low, 0, count - 1), count


def _grouped(model: Text, counts: TermStatistics, present: ExactArray) -> Grouped:
    """Sort the terms, and group them."""
    sorted_terms = model._sorted(counts, present)
    return Grouped(sorted_terms, present, *groups_of(model, sorted_terms))


def _counted(model: Text, bag: Grouped, documents: Learned, found: DocumentTerms) -> Counted:
    """Collect the counts of terms from which weights are estimated, for some documents."""
    estimated, classes = bag.terms, documents.classes
    total = np.asarray(estimated.total.summed(0).rounded())
    in_order = found.some(documents.places).among(estimated.vocabulary)
    rows, terms = narrowed(model.counts.matrix(in_order, estimated.vocabulary))
    alpha = estimated.alpha if np.ndim(estimated.alpha) == 0 else np.asarray(estimated.alpha)[terms]
    return Counted(
        rows, documents.y, documents.weight, documents.equal, terms,
        estimated.total.rounded_columns(terms, classes),
        estimated.total.summed(1).rounded()[classes], bag.present.rounded()[classes], alpha,
        len(total),
        0.0 if chooses(model) else float(np.broadcast_to(estimated.alpha, len(total)).sum()),
        bag.group[terms], bag.n_groups, unit_of(total), documents.documents, documents.beside,
        not model.analysis.of_characters,
    )  # fmt: skip
