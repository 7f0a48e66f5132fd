"""Model documents as bags of terms, counted in the UTF-8 bytes of the text."""

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
"""Options that remove terms by their frequency."""


@dataclass(frozen=True)
class Text(Analysis, Family[TermStatistics, TextParameters]):
    """Documents, each a bag of terms: words or n-grams of words or characters.

    Lecture 2, "NB with Bag of Words"; lecture 4; Manning, Raghavan & Schütze (2008), chapter 13.
    The vocabulary is part of the statistics: it grows with the documents, and that of a sum of
    models is the union. Unseen terms are ignored.

    Parameters
    ----------
    event : "multinomial", "complement", "bernoulli" or "binary"
        What is counted: the occurrences of each term (`Multinomial`, or its `Complement`); its
        presence or absence (`Bernoulli`); its presence, as a multinomial.
    alpha : float or dict
        Virtual counts of each term, and of its absence for "bernoulli"; or a dict by term, such
        as ``{"free": 2}``; other terms have 1.
    norm : bool
        Divide the weights of each class by their sum, for "complement" only.
    weighting : None, "log", "tfidf" or "log-tfidf"
        The count of a term that occurs t times in a document, if d of n reference documents have
        it: t; log (1 + t); t · (1 + log ((1 + n) / (1 + d))) as in scikit-learn; or
        log (1 + t) · (1 + log ((1 + n) / (1 + d))).
    length_norm : None, "l1" or "l2"
        Divide the counts of each document by their sum, or the root of the sum of their squares.
    analyzer, ngram_range, lowercase, strip_accents, stop_words, token_pattern, tokenizer
        How a document becomes terms; see `Analysis`.
    min_df, max_df : int or float
        Remove terms that are in fewer, or more, documents; a float is a share of all documents.
    drop_most_frequent : int
        Remove this number of the most frequent terms that `min_df` and `max_df` leave, as
        stop words of this corpus. Ties are broken in alphabetical order.
    max_features : int or None
        Keep only this number of the most frequent terms.
    n_features : int or None
        Hash terms into this number of buckets, a power of two, instead of storing a vocabulary:
        memory is constant, but terms may share a bucket, and have no names.
    max_terms : int or None
        When more terms are known, drop the rarest until at most half as many are left, to process
        endless streams in bounded memory. `TermStatistics.undercount` bounds the lost counts.
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
        return Analysis(**{field.name: getattr(self, field.name) for field in fields(Analysis)})

    @property
    def summary(self) -> TermCounts:  # type: ignore[override]
        """Count the terms of documents."""
        return self.counts

    @cached_property
    def counts(self) -> TermCounts:
        """Count the terms of documents, without sampling documents."""
        by_document = self.selects and (not self.once or self.weighs)
        return TermCounts(
            self.analysis, self.once, self.weighting, self.length_norm, self.n_features or 0,
            by_document, self.max_terms, self.reference,
        )  # fmt: skip

    def _inner(self, alpha: Alpha) -> AnyFamily:
        """Return the family of the counts of the terms."""
        if self.event == "complement":
            return Complement(alpha, self.norm)
        return Bernoulli(alpha) if self.event == "bernoulli" else Multinomial(alpha)

    @property
    def is_density(self) -> bool:  # type: ignore[override]
        """Whether scores are a probability of the terms of a document."""
        return self.event != "complement" and self.weighting is None and self.length_norm is None

    @property
    def is_story(self) -> bool:  # type: ignore[override]
        """Whether documents are drawn from what scores them; "binary" draws words repeatedly."""
        return self.is_density and self.event != "binary"

    @property
    def once(self) -> bool:
        """Whether a term counts once a document."""
        return self.event in ("bernoulli", "binary")

    @property
    def selects(self) -> bool:
        """Whether terms are removed by their frequency."""
        all_rare = self.min_df == (0.0 if isinstance(self.min_df, float) else 1)
        all_frequent = isinstance(self.max_df, float) and self.max_df == 1.0
        limited = self.drop_most_frequent > 0 or self.max_features is not None
        return not (all_rare and all_frequent) or limited

    @property
    def weighs(self) -> bool:
        """Whether the counts of a document are weighted or normalized."""
        return self.weighting is not None or self.length_norm is not None

    @property
    def refers(self) -> bool:
        """Whether weights depend on reference documents."""
        return self.weighting in ("tfidf", "log-tfidf")

    @property
    def presence(self) -> Text:
        """A family of the presence of the same terms in documents, without smoothing.

        It has a vocabulary even if terms are hashed here.
        """
        names = {*Analysis.__dataclass_fields__, *SELECTING}
        return Text("bernoulli", 0.0, **{name: getattr(self, name) for name in names})

    def counting(self, event: Event) -> Self:
        """Return the family with another `event`. Raises ValueError if options do not allow it."""
        return replace(self, event=event, norm=self.norm and event == "complement")

    # ---- estimation --------------------------------------------------------------------------

    def referring(self, X: Documents, workers: Workers = SERIAL) -> Self:
        """Set these as `reference` documents, if the family needs some and has none."""
        if not self.refers or self.reference is not None:
            return self
        return replace(self, reference=reference_of(X, self.analysis, workers))

    def referring_as(self, source: AnyFamily | None) -> Self:
        """Take the `reference` of another family of text, or none."""
        return replace(self, reference=getattr(source, "reference", None))

    def check(self, statistics: TermStatistics, class_weight: ExactArray) -> None:
        """Raise FeatureError unless there are terms."""
        vocabulary = statistics.vocabulary
        if vocabulary is None:
            return
        if statistics.wordless:
            raise FeatureError(
                "the documents hold no terms, which are words of two letters or more, but for stop "
                'words; token_pattern or analyzer="char" makes others'
            )
        if len(vocabulary) == 0:
            raise FeatureError("all terms were dropped as the rarest: max_terms is too low")
        if isinstance(self.alpha, Mapping) and (
            unknown := self.alpha.keys() - {*vocabulary.terms()}
        ):
            raise FeatureError(
                f"alpha names {min(unknown)!r}, which is not a term of the training data"
            )
        if not self.selects:
            return
        present = statistics.observed(class_weight).gather(1, 0)
        if len(self._selected(statistics.ordered(), present)) == 0:
            raise FeatureError(
                f"no terms remain of {len(vocabulary):,}: try a lower min_df or "
                "drop_most_frequent, or a higher max_df"
            )

    def warning(self, statistics: TermStatistics) -> str | None:
        """Warn if there are more hash buckets than words: smoothing outweighs the counts."""
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
        """Estimate the parameters of the selected terms."""
        present = statistics.observed(class_weight).gather(1, 0)
        alpha = 0.0 if isinstance(self.alpha, Mapping) else float(self.alpha)
        looked_up = alpha > 0 and self._inner(alpha).needs_present_columns_only
        # rounded sums over distinct terms depend on their order, and sorting millions is slow
        any_order = looked_up and not (self.once or self.weighs or self.selects)
        if not any_order or (n_counted := statistics.n_present) == 0:
            return TextParameters(self.summary, self._sorted(statistics, present), looked_up)
        assert statistics.vocabulary is not None
        return TextParameters(
            self.summary, self._estimated(statistics, present, n_counted), True,
            partial(self._sorted, statistics, present), n_counted < len(statistics.vocabulary),
        )  # fmt: skip

    def estimate_labels(
        self, statistics: TermStatistics, class_weight: ExactArray, workers: Workers = SERIAL
    ) -> LabelledParameters:
        """Estimate the log-odds of each label by the selected terms; class 0 is all documents."""
        terms = self._labelled(statistics, class_weight)
        alpha = smoothing_of(terms.vocabulary, self.alpha)
        parameters_of = partial(TextParameters, self.summary)
        return LabelledParameters(self.summary, terms, alpha, lambda some, _: parameters_of(some))

    def check_labels(self) -> None:
        """Raise ValueError unless the event model gives log-odds of labels, with alpha above 0."""
        if self.event not in ("multinomial", "binary"):
            raise ValueError(
                f'multilabel models have event="multinomial" or "binary", not {self.event!r}'
            )
        if 0 in (self.alpha.values() if isinstance(self.alpha, Mapping) else [self.alpha]):
            raise ValueError("alpha=0 would let one word rule a label out: use a larger alpha")

    def _labelled(self, statistics: TermStatistics, class_weight: ExactArray) -> SelectedTerms:
        """Select and sort the terms, where class 0 is all documents."""
        self.check_labels()
        ordered, first_class = statistics.ordered(), np.zeros(1, np.int64)
        documents = ordered.gather_classes(first_class)
        present = documents.observed(class_weight.gather(0, first_class)).gather(1, 0)
        return self._terms(ordered, documents, present)

    def _sorted(self, statistics: TermStatistics, present: ExactArray) -> Estimated:
        return self._estimated(statistics.ordered(), present)

    def _estimated(
        self, statistics: TermStatistics, present: ExactArray, n_terms: int | None = None
    ) -> Estimated:
        """Estimate the parameters of the selected terms, in the order of the statistics.

        `n_terms` is the number of terms with a count that is not 0, if some may have count 0.
        """
        vocabulary, total = self._terms(statistics, statistics, present)
        counts = CountStatistics({"sum": total, "missing": ExactArray.zeros(total.shape)})
        if n_terms is not None:
            counts.tables["events"] = total.summed(1).repeated(1)
            counts.width = n_terms
        alpha = smoothing_of(vocabulary, self.alpha)
        inner = self._inner(alpha).estimate(counts, present)
        return Estimated(inner, vocabulary, total, alpha)

    def _terms(
        self, statistics: TermStatistics, whole: TermStatistics, present: ExactArray
    ) -> SelectedTerms:
        """Select terms, by their document frequencies in all classes of `whole`."""
        vocabulary, total = statistics.vocabulary, statistics.tables["sum"]
        if self.selects:
            columns = self._selected(whole, present)
            assert vocabulary is not None
            vocabulary, total = vocabulary.gather(columns), total.gather(1, columns)
        elif vocabulary is not None and total.shape[1] > len(vocabulary):  # spare capacity
            total = total.gather(1, slice(len(vocabulary)))
        return SelectedTerms(vocabulary, total)

    def _selected(self, statistics: TermStatistics, present: ExactArray) -> Int64:
        """Return the columns of the terms that are neither too rare nor too frequent."""
        table = statistics.tables.get("documents", statistics.tables["sum"])
        documents = table.summed(0).rounded()
        n_documents = float(present.summed(0).rounded())
        limits = self.min_df, self.max_df
        low, high = (x * n_documents if isinstance(x, float) else float(x) for x in limits)
        columns = np.flatnonzero((documents >= low) & (documents <= high))
        first, last = self.drop_most_frequent, None
        if self.max_features is not None:
            last = first + self.max_features
        if first > 0 or (last is not None and len(columns) > last):
            total = statistics.tables["sum"].gather(1, columns).summed(0).rounded()
            columns = columns[np.sort(np.argsort(-total, kind="stable")[first:last])]
        return columns


def smoothing_of(vocabulary: Vocabulary | None, smoothing: Alpha | Mapping[str, float]) -> Alpha:
    """Return the smoothing of each term, (V,); one number if all terms have the same."""
    if not isinstance(smoothing, Mapping):
        return smoothing
    assert vocabulary is not None  # hashed terms are never named
    return np.array([smoothing.get(term, 1.0) for term in vocabulary.terms()])


def _check_options(options: Any) -> None:
    """Raise ValueError for invalid options of a `Text`, with the reason."""
    _among("event", options.event, "multinomial", "complement", "bernoulli", "binary")
    _among("weighting", options.weighting, None, "log", "tfidf", "log-tfidf")
    _among("length_norm", options.length_norm, None, "l1", "l2")
    if options.event == "bernoulli" and (options.weighting or options.length_norm):
        raise ValueError(
            'weighting and length_norm change counts, which event="bernoulli" has not: use "binary"'
        )
    if options.norm and options.event != "complement":
        raise ValueError('norm is for event="complement" only')
    alphas = options.alpha if isinstance(options.alpha, Mapping) else {"": options.alpha}
    if "" in alphas and np.ndim(alphas[""]) > 0:
        raise ValueError("alpha must be one number, or a dict by term")
    for name in ("min_df", "max_df"):
        value = getattr(options, name)
        is_share = isinstance(value, float) and 0.0 <= value <= 1.0
        if not is_share and not (_is_count(value) and value >= 1):
            raise ValueError(
                f"{name} must be a number of documents, as an int, or a part of them, as a "
                f"float from 0 to 1, not {value!r}"
            )
    for name in ("max_features", "max_terms"):
        value = getattr(options, name)
        if value is not None and not (_is_count(value) and value >= 1):
            raise ValueError(f"{name} must be an integer of at least 1, or None, not {value!r}")
    dropped = options.drop_most_frequent
    if not (_is_count(dropped) and dropped >= 0):
        raise ValueError(f"drop_most_frequent must be a number of terms, not {dropped!r}")
    if options.n_features is not None:
        size = options.n_features
        if not (_is_count(size) and 2 <= size <= MOST_BUCKETS and size & (size - 1) == 0):
            raise ValueError(f"n_features must be a power of two up to 2**30, not {size!r}")
        if options.selects or options.max_terms is not None:
            raise ValueError(
                "with n_features terms are hashed, and cannot be left out by min_df, max_df, "
                "drop_most_frequent, max_features or max_terms"
            )
        if options.weighting in ("tfidf", "log-tfidf"):
            raise ValueError("with n_features terms are hashed: weighting must be None or log")
    if not isinstance(options.reference, Reference | None):
        raise ValueError(f"reference must be a Reference or None, not {options.reference!r}")
    if options.n_features is not None and alphas is options.alpha:
        raise ValueError("with n_features terms are hashed, and alpha cannot name them")
    for term, number in alphas.items():
        if not isinstance(term, str):
            raise ValueError(f"alpha names {term!r}, which is not a term")
        if term and np.ndim(number) > 0:
            raise ValueError(f"alpha of the term {term!r} must be one number, not {number!r}")
        try:
            options._inner(number)
        except ValueError as error:
            raise ValueError(f"{error}, for {term!r}" if term else str(error)) from None


def _among(name: str, value: object, *options: object) -> None:
    if not (value is None or isinstance(value, str)) or value not in options:
        names = ", ".join(repr(option) for option in options)
        raise ValueError(f"{name} must be one of {names}, not {value!r}")


def _is_count(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
