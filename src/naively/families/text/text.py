"""Documents as bags of terms: p(x | y) of the words of a text, straight from its bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import Any, Literal, Self

import numpy as np

from naively.core.exact import ExactArray, Int64
from naively.core.workers import SERIAL, Workers
from naively.families.base import AnyFamily, Family, FeatureError
from naively.families.discrete.bernoulli import Bernoulli
from naively.families.discrete.complement import Complement
from naively.families.discrete.multinomial import Multinomial
from naively.families.linear import Alpha
from naively.families.text.labelled import LabelledParameters
from naively.families.text.parameters import Estimated, SelectedTerms, TextParameters
from naively.statistics.powers import CountStatistics
from naively.statistics.terms import (
    LengthNorm,
    Reference,
    TermCounts,
    TermStatistics,
    Weighting,
    reference_of,
)
from naively.text.analysis import Analysis
from naively.text.documents import Documents
from naively.text.vocabulary import Vocabulary

Event = Literal["multinomial", "complement", "bernoulli", "binary"]
MOST_BUCKETS = 1 << 30
SELECTING = ("min_df", "max_df", "drop_most_frequent", "max_features")
"""What leaves out terms by how frequent they are."""


@dataclass(frozen=True)
class Text(Analysis, Family[TermStatistics, TextParameters]):
    """Documents, each a bag of terms: words or n-grams of words or characters.

    Lecture 2, "NB with Bag of Words"; lecture 4; Manning, Raghavan & Schütze (2008), chapter 13.
    The vocabulary is part of the statistics: it grows with the documents, and that of a sum of
    models is the union. Terms that were never learned are left out of the product.

    Parameters
    ----------
    event : "multinomial", "complement", "bernoulli" or "binary"
        What is counted: how often each term is met (`Multinomial`, or its `Complement`); whether
        it is met, absence being evidence too (`Bernoulli`); whether it is met, as a multinomial.
    alpha : float or dict
        Virtual counts of each term, and of its absence for "bernoulli"; a dict by term, as
        ``{"free": 2}``, of which terms that are not named have 1.
    norm : bool
        Divide the weights of each class by their sum, for "complement" only.
    weighting : None, "log", "tfidf" or "log-tfidf"
        What a term counts that is met t times in a document, d of n reference documents having
        it: t; log (1 + t); t · (1 + log ((1 + n) / (1 + d))) as in scikit-learn; or
        log (1 + t) · (1 + log ((1 + n) / (1 + d))).
    length_norm : None, "l1" or "l2"
        Divide the counts of each document by their sum, or the root of the sum of their squares.
    analyzer, ngram_range, lowercase, strip_accents, stop_words, token_pattern, tokenizer
        How a document becomes terms; see `Analysis`.
    min_df, max_df : int or float
        Leave out terms that are in fewer, or more, documents; as a float, parts of all of them.
    drop_most_frequent : int
        Leave out so many of the most frequent terms that `min_df` and `max_df` leave: a list of
        stop words that the documents make themselves. Of equal ones the first of the alphabet.
    max_features : int or None
        Leave out all other terms but the most frequent.
    n_features : int or None
        Hash terms into so many buckets, a power of two, instead of keeping a vocabulary: constant
        memory, but different terms may share a bucket, and names are forgotten.
    max_terms : int or None
        Whenever more terms are known, the rarest are dropped until at most half as many are left:
        endless streams in bounded memory. `TermStatistics.undercount` says what that may cost.
    reference : Reference or None
        The documents that "tfidf" refers to: those of the first `fit` or `partial_fit`, each
        counted once.
    """

    event: Event = "multinomial"
    alpha: Alpha | Mapping[str, float] = 1.0
    norm: bool = False
    weighting: Weighting | None = None
    length_norm: LengthNorm | None = None
    min_df: int | float = 1
    max_df: int | float = 1.0
    drop_most_frequent: int = 0
    max_features: int | None = None
    n_features: int | None = None
    max_terms: int | None = None
    reference: Reference | None = None

    name = "text"

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_options(self)

    @cached_property
    def analysis(self) -> Analysis:
        """How a document becomes terms."""
        return Analysis(**{one.name: getattr(self, one.name) for one in fields(Analysis)})

    @property
    def summary(self) -> TermCounts:  # type: ignore[override]
        """What is counted of the terms of documents."""
        return self.counts

    @cached_property
    def counts(self) -> TermCounts:
        """The same, without the documents themselves."""
        by_document = self.selects and (not self.once or self.weighs)
        return TermCounts(
            self.analysis, self.once, self.weighting, self.length_norm, self.n_features or 0,
            by_document, self.max_terms, self.reference,
        )  # fmt: skip

    def _inner(self, alpha: Alpha) -> AnyFamily:
        """The family of the counts of the terms."""
        if self.event == "complement":
            return Complement(alpha, self.norm)
        return Bernoulli(alpha) if self.event == "bernoulli" else Multinomial(alpha)

    @property
    def is_density(self) -> bool:  # type: ignore[override]
        """Whether scores are a probability of the terms of a document."""
        return self.event != "complement" and self.weighting is None and self.length_norm is None

    @property
    def is_story(self) -> bool:  # type: ignore[override]
        """Whether documents are drawn from what scores them: "binary" draws words repeatedly."""
        return self.is_density and self.event != "binary"

    @property
    def once(self) -> bool:
        """Whether a term counts once a document."""
        return self.event in ("bernoulli", "binary")

    @property
    def selects(self) -> bool:
        """Whether terms are left out by their frequency."""
        least = self.min_df == (0.0 if isinstance(self.min_df, float) else 1)
        most = isinstance(self.max_df, float) and self.max_df == 1.0
        limited = self.drop_most_frequent > 0 or self.max_features is not None
        return not (least and most) or limited

    @property
    def weighs(self) -> bool:
        """Whether the counts of a document are changed."""
        return self.weighting is not None or self.length_norm is not None

    @property
    def refers(self) -> bool:
        """Whether weights depend on reference documents."""
        return self.weighting in ("tfidf", "log-tfidf")

    @property
    def presence(self) -> Text:
        """Whether each of the same terms is in a document, by the textbook and without smoothing.

        Terms that are hashed here have names there.
        """
        same = {*Analysis.__dataclass_fields__, *SELECTING}
        return Text("bernoulli", 0.0, **{name: getattr(self, name) for name in same})

    def counting(self, event: Event) -> Self:
        """The same terms, counted otherwise. Raises ValueError if options do not allow it."""
        return replace(self, event=event, norm=self.norm and event == "complement")

    # ---- learning ----------------------------------------------------------------------------

    def referring(self, X: Documents, workers: Workers = SERIAL) -> Self:
        """The same, with these as `reference` documents if it needs some and has none."""
        if not self.refers or self.reference is not None:
            return self
        return replace(self, reference=reference_of(X, self.analysis, workers))

    def referring_as(self, known: AnyFamily | None) -> Self:
        """The same, with the `reference` of another family of text; or without any."""
        return replace(self, reference=getattr(known, "reference", None))

    def check(self, statistics: TermStatistics, class_weight: ExactArray) -> None:
        """Raise FeatureError unless there are terms to learn from."""
        known = statistics.vocabulary
        if known is None:
            return
        if statistics.wordless:
            raise FeatureError(
                "the documents hold no terms, which are words of two letters or more, but for stop "
                'words; token_pattern or analyzer="char" makes others'
            )
        if len(known) == 0:
            raise FeatureError("all terms were dropped as the rarest: max_terms is too low")
        if isinstance(self.alpha, Mapping) and (new := self.alpha.keys() - {*known.terms()}):
            raise FeatureError(f"alpha names {min(new)!r}, which is no term that was learned")
        if not self.selects:
            return
        present = statistics.observed(class_weight).gather(1, 0)
        if len(self._selected(statistics.ordered(), present)) == 0:
            raise FeatureError(
                f"no terms remain of {len(known):,}: try a lower min_df or drop_most_frequent, or "
                "a higher max_df"
            )

    def doubt(self, statistics: TermStatistics) -> str | None:
        """Whether smoothing counts more buckets than there are words, which no vocabulary has."""
        if self.n_features is None or not self.alpha:
            return None
        words = float(statistics.tables["sum"].summed(0).summed(0).rounded())
        if not 0 < words < self.n_features:
            return None
        return (
            f"there are {self.n_features:,} buckets for {words:,.0f} words, and alpha="
            f"{self.alpha:g} counts each bucket in each class, so that smoothing outweighs the "
            "words: lower n_features or alpha, or keep a vocabulary (n_features=None)"
        )

    def estimate(self, statistics: TermStatistics, class_weight: ExactArray) -> TextParameters:
        """The parameters of the terms that are not left out."""
        present = statistics.observed(class_weight).gather(1, 0)
        alpha = 0.0 if isinstance(self.alpha, Mapping) else float(self.alpha)
        looked_up = alpha > 0 and self._inner(alpha).met_only
        # sums over distinct terms go by their order, and millions of terms take long to sort
        any_order = looked_up and not (self.once or self.weighs or self.selects)
        if not any_order or (met := statistics.met) == 0:
            return TextParameters(self.summary, self._sorted(statistics, present), looked_up)
        assert statistics.vocabulary is not None
        return TextParameters(
            self.summary, self._estimated(statistics, present, met), True,
            partial(self._sorted, statistics, present), met < len(statistics.vocabulary),
        )  # fmt: skip

    def estimate_labels(
        self, statistics: TermStatistics, class_weight: ExactArray, workers: Workers = SERIAL
    ) -> LabelledParameters:
        """What the terms that are not left out tell of each label; class 0 is all documents."""
        terms = self._labelled(statistics, class_weight)
        alpha = smoothing_of(terms.vocabulary, self.alpha)
        apart = partial(TextParameters, self.summary)
        return LabelledParameters(self.summary, terms, alpha, lambda own, _: apart(own))

    def check_labels(self) -> None:
        """Raise ValueError unless what terms tell of a label is their log-odds."""
        if self.event not in ("multinomial", "binary"):
            raise ValueError(
                f'many labels are learned with event="multinomial" and "binary", not {self.event!r}'
            )
        if 0 in (self.alpha.values() if isinstance(self.alpha, Mapping) else [self.alpha]):
            raise ValueError("alpha=0 would let one word rule a label out: use a larger alpha")

    def _labelled(self, statistics: TermStatistics, class_weight: ExactArray) -> SelectedTerms:
        """The sorted terms that are not left out, where class 0 is all documents."""
        self.check_labels()
        ordered, all_ = statistics.ordered(), np.zeros(1, np.int64)
        whole = ordered.gather_classes(all_)
        present = whole.observed(class_weight.gather(0, all_)).gather(1, 0)
        return self._terms(ordered, whole, present)

    def _sorted(self, statistics: TermStatistics, present: ExactArray) -> Estimated:
        return self._estimated(statistics.ordered(), present)

    def _estimated(
        self, statistics: TermStatistics, present: ExactArray, met: int | None = None
    ) -> Estimated:
        """What follows for the terms that are not left out, in the order of the statistics.

        `met` is how many of them have a count that is not 0, if some may have not.
        """
        vocabulary, total = self._terms(statistics, statistics, present)
        counts = CountStatistics({"sum": total, "missing": ExactArray.zeros(total.shape)})
        if met is not None:
            counts.tables["events"] = total.summed(1).repeated(1)
            counts.width = met
        alpha = smoothing_of(vocabulary, self.alpha)
        inner = self._inner(alpha).estimate(counts, present)
        return Estimated(inner, vocabulary, total, alpha)

    def _terms(
        self, statistics: TermStatistics, whole: TermStatistics, present: ExactArray
    ) -> SelectedTerms:
        """The terms that are not left out, by the documents of all classes of `whole`."""
        vocabulary, total = statistics.vocabulary, statistics.tables["sum"]
        if self.selects:
            chosen = self._selected(whole, present)
            assert vocabulary is not None
            vocabulary, total = vocabulary.gather(chosen), total.gather(1, chosen)
        elif vocabulary is not None and total.shape[1] > len(vocabulary):  # room for more
            total = total.gather(1, slice(len(vocabulary)))
        return SelectedTerms(vocabulary, total)

    def _selected(self, statistics: TermStatistics, present: ExactArray) -> Int64:
        """The columns of the terms that are neither too rare nor too frequent."""
        table = statistics.tables.get("documents", statistics.tables["sum"])
        documents = table.summed(0).rounded()
        whole = float(present.summed(0).rounded())
        low, high = (
            part * whole if isinstance(part, float) else float(part)
            for part in (self.min_df, self.max_df)
        )
        chosen = np.flatnonzero((documents >= low) & (documents <= high))
        first, last = self.drop_most_frequent, None
        if self.max_features is not None:
            last = first + self.max_features
        if first > 0 or (last is not None and len(chosen) > last):
            total = statistics.tables["sum"].gather(1, chosen).summed(0).rounded()
            chosen = chosen[np.sort(np.argsort(-total, kind="stable")[first:last])]
        return chosen


def smoothing_of(vocabulary: Vocabulary | None, smoothing: Alpha | Mapping[str, float]) -> Alpha:
    """The smoothing of each of these terms, (V,); one number if all have the same."""
    if not isinstance(smoothing, Mapping):
        return smoothing
    assert vocabulary is not None  # hashed terms are never named
    return np.array([smoothing.get(term, 1.0) for term in vocabulary.terms()])


def _check_options(own: Any) -> None:
    """Raise ValueError for options of a `Text` that cannot be, saying why."""
    _among("event", own.event, "multinomial", "complement", "bernoulli", "binary")
    _among("weighting", own.weighting, None, "log", "tfidf", "log-tfidf")
    _among("length_norm", own.length_norm, None, "l1", "l2")
    if own.event == "bernoulli" and (own.weighting or own.length_norm):
        raise ValueError(
            'weighting and length_norm change counts, which event="bernoulli" has not: use "binary"'
        )
    if own.norm and own.event != "complement":
        raise ValueError('norm is for event="complement" only')
    named = own.alpha if isinstance(own.alpha, Mapping) else {"": own.alpha}
    if "" in named and np.ndim(named[""]) > 0:
        raise ValueError("alpha must be one number, or a dict by term")
    for name in ("min_df", "max_df"):
        value = getattr(own, name)
        part = isinstance(value, float) and 0.0 <= value <= 1.0
        if not part and not (_is_count(value) and value >= 1):
            raise ValueError(
                f"{name} must be a number of documents, as an int, or a part of them, as a "
                f"float from 0 to 1, not {value!r}"
            )
    for name in ("max_features", "max_terms"):
        value = getattr(own, name)
        if value is not None and not (_is_count(value) and value >= 1):
            raise ValueError(f"{name} must be an integer of at least 1, or None, not {value!r}")
    dropped = own.drop_most_frequent
    if not (_is_count(dropped) and dropped >= 0):
        raise ValueError(f"drop_most_frequent must be a number of terms, not {dropped!r}")
    if own.n_features is not None:
        size = own.n_features
        if not (_is_count(size) and 2 <= size <= MOST_BUCKETS and size & (size - 1) == 0):
            raise ValueError(f"n_features must be a power of two up to 2**30, not {size!r}")
        if own.selects or own.max_terms is not None:
            raise ValueError(
                "with n_features terms are hashed, and cannot be left out by min_df, max_df, "
                "drop_most_frequent, max_features or max_terms"
            )
        if own.weighting in ("tfidf", "log-tfidf"):
            raise ValueError("with n_features terms are hashed: weighting must be None or log")
    if not isinstance(own.reference, Reference | None):
        raise ValueError(f"reference must be a Reference or None, not {own.reference!r}")
    if own.n_features is not None and named is own.alpha:
        raise ValueError("with n_features terms are hashed, and alpha cannot name them")
    for term, one in named.items():
        if not isinstance(term, str):
            raise ValueError(f"alpha names {term!r}, which is no term")
        if term and np.ndim(one) > 0:
            raise ValueError(f"alpha of the term {term!r} must be one number, not {one!r}")
        try:
            own._inner(one)
        except ValueError as error:
            raise ValueError(f"{error}, for {term!r}" if term else str(error)) from None


def _among(name: str, value: Any, *known: Any) -> None:
    if not (value is None or isinstance(value, str)) or value not in known:
        names = ", ".join(repr(one) for one in known)
        raise ValueError(f"{name} must be one of {names}, not {value!r}")


def _is_count(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
