"""`TextNB`: raw text in, label out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from naively.core.exact import Float64
from naively.core.model import Model
from naively.core.prior import ClassWeight, Given, Prior, Virtual
from naively.core.schema import Schema
from naively.core.workers import workers
from naively.estimators.shared.from_parameters import FromWords
from naively.estimators.shared.inside import InsideTexts
from naively.estimators.shared.validation import (
    check_labels,
    check_total,
    check_weights,
    documents_of,
)
from naively.evaluation.folds import Learnable, Reading
from naively.families.text.pooled_text import PooledText, models_of
from naively.families.text.text import Event, Text
from naively.families.text.weighed_text import WEIGHED_EVENTS, WeighedText
from naively.pooling.texts.scale import Scale
from naively.statistics.terms import LengthNorm, Weighting
from naively.tables import declared
from naively.tables.names import few
from naively.text.analysis import WORDS
from naively.text.documents import Documents


@dataclass(eq=False, repr=False, kw_only=True)
class TextOptions(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """What a term is, and which are left out."""

    alpha: float | Mapping[str, float] | Literal["auto"] = 1.0
    analyzer: Any = "word"
    ngram_range: tuple[int, int] = (1, 1)
    lowercase: bool = True
    strip_accents: Any = None
    stop_words: Literal["english"] | Sequence[str] | None = None
    token_pattern: str = WORDS
    tokenizer: Any = None
    min_df: int | float = 1
    max_df: int | float = 1.0
    drop_most_frequent: int = 0
    max_features: int | None = None
    n_jobs: int | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags


class TextClassifier(InsideTexts, TextOptions):
    """What the classifiers of text share that give each document one label."""


OPTIONS = [one.name for one in fields(Text) if one.name != "reference"]
"""Parameters of the family, which are those of `TextNB`."""


@dataclass(eq=False, repr=False)
class TextNB(TextClassifier, FromWords):  # type: ignore[misc]
    r"""Naive Bayes for raw text: documents in, labels out.

    Terms are those of scikit-learn's `CountVectorizer`, with its options. But text is cut, looked
    up and counted as bytes, without an object a word or a matrix, and the vocabulary grows:
    ``partial_fit``, ``+`` and ``forget`` are exact for words never met before, too. Documents are
    a list of str, or an array of NumPy, Arrow (which is not copied), pandas or polars; None is a
    missing document, which is no evidence.

    What terms tell is weighed, so that probabilities can be bet on. ``TextNB(weights=None)`` is the
    textbook's naive Bayes: its predictions are those of ``CountVectorizer()`` and `MultinomialNB`.

    Parameters
    ----------
    event : "multinomial", "complement", "bernoulli" or "binary"
        What is counted: how often each term is met in a document, or, for the last two, whether.
        "complement" judges a class by all others (Rennie et al. 2003); "bernoulli" counts absence
        as evidence; "binary" is multinomial.
    alpha : float, dict, "auto" or None
        Smoothing l: virtual counts of each term in each class; a dict by term, as ``{"free": 2}``,
        of which terms that are not named have 1; "auto" as in `MultinomialNB`. None for "auto"
        with weights, where it is chosen with them, and else for 1.
    norm : bool
        Divide each class's weights by their sum; "complement" only.
    weighting : None, "log", "tfidf" or "log-tfidf"
        What t occurrences count: t, log (1 + t), t · idf or log (1 + t) · idf with
        idf = 1 + log ((1 + n) / (1 + d)) for a term in d of n documents: those of `fit`, or of
        the first `partial_fit`. With ``event="complement"``, ``weighting="log-tfidf"``,
        ``length_norm="l2"``, ``norm=True`` and ``prior="uniform"`` this is Rennie's TWCNB, with a
        smooth idf.
    length_norm : None, "l1" or "l2"
        Divide a document's counts by their norm.
    analyzer : "word", "char", "char_wb" or callable
        Terms are of words, of characters, or of characters within words; or a function from a
        document to its terms.
    ngram_range : (int, int)
        Terms are n words or characters in a row, for n from one to the other.
    lowercase : bool
    strip_accents : None, "ascii", "unicode" or callable
    stop_words : None, "english" or sequence of str
        Words to leave out: those given, or scikit-learn's list.
    token_pattern : str
        What a word is. The default, words of two letters or more, and ``r"(?u)\b\w+\b"``, those of
        one too, are compiled; others, and functions, are slower.
    tokenizer : callable or None
        A function from a document to its words.
    min_df, max_df : int or float
        Leave out terms in fewer or more documents; as a float, parts of all of them. Nothing is
        lost: a model that learns on counts them again.
    drop_most_frequent : int
        Leave out so many of the most frequent terms, such as the 100 of lecture 2's newsgroups.
    max_features : int or None
        Leave out all others but the most frequent terms.
    n_features : int or None
        Hash terms into so many buckets, a power of two, in constant memory, without a vocabulary.
    max_terms : int or None
        Whenever more terms are known after a batch, the rarest are dropped, until at most half as
        many are left. ``model_.statistics.undercount`` bounds what any count lacks then.
    prior : "empirical", "uniform", probabilities in the order of the classes, or a dict by class
        Of a dict one class may be left out: it gets the rest.
    prior_smoothing : float, sequence or dict
        Virtual documents of each class: of all, in the order of the classes, or by class.
    class_weight : None, "balanced" or dict
        Weights of the documents of each class, 1 of those that a dict does not name; "balanced"
        gives all classes the same total. They change the class prior alone: P(c | x) is multiplied
        by the weight of c and divided by the sum.
    weights : "auto" or None
        Whether to weigh the evidence, so that probabilities can be bet on: what terms tell falls
        with the length of the document, and counts more or less by how rare they are, and words
        by how many are in a term; see docs/text.md. All that is learned from documents that are
        scored by counts without them: up to 20,000 documents are kept. "auto" weighs "multinomial"
        and "binary" with an alpha above 0; all else, and None, is the textbook.
    models : None, "auto" or list of str and dict
        Several models of the documents, whose evidence is weighed together: "words", of words and
        pairs of words, and "characters", of runs of two to four characters within words, both met
        or not; or dicts of options above, such as ``{"analyzer": "char", "ngram_range": (1, 3)}``.
        "auto" is ``["words", "characters"]``. What a model leaves open is as given above. A model
        without which documents are predicted as well gets no weight. None for one model.
    n_jobs : int or None
        Threads; None for all processors. The model does not depend on it.

    Attributes
    ----------
    classes_ : (C,) labels
    class_count_ : (C,) total weights
    alpha_ : the smoothing.
    scale_ : with weights, `naively.pooling.texts.scale.Scale`: how much terms count, and how well
        documents were predicted, each by counts and weights without it; of several models a tuple
        of these, and so is `alpha_`.
    terms_ : (V,) the terms that count, sorted; of several models those of each in turn, runs of
        characters in quotes.
    feature_count_ : (C, V) what was counted of them.
    information_ : (V,) mutual information of each term and the class, in bits.
    feature_log_prob_ : (C, V) log θ_αc; for "bernoulli" log p_αc; for "complement" its weights.

    Examples
    --------
    >>> from naively import TextNB
    >>> mails = ["win a free prize", "meeting at noon", "free free prize", "lunch at noon?"]
    >>> model = TextNB().fit(mails, ["spam", "ham", "spam", "ham"])
    >>> model.predict(["a prize for you"]).tolist()
    ['spam']
    """

    event: Event = "multinomial"
    _: KW_ONLY
    alpha: float | Mapping[str, float] | Literal["auto"] | None = None  # type: ignore[assignment]
    norm: bool = False
    weighting: Weighting | None = None
    length_norm: LengthNorm | None = None
    n_features: int | None = None
    max_terms: int | None = None
    prior: Given = "empirical"
    prior_smoothing: Virtual = 0.0
    class_weight: ClassWeight = None
    weights: Literal["auto"] | None = "auto"
    models: Literal["auto"] | Sequence[str | dict[str, Any]] | None = None

    @property
    def _weighs(self) -> bool:
        """Whether evidence is weighed: no weight changes what an alpha of 0 rules out."""
        if self.weights not in (None, "auto"):
            raise ValueError(f'weights must be "auto" or None, not {self.weights!r}')
        alphas: Any = self.alpha.values() if isinstance(self.alpha, Mapping) else [self.alpha]
        unsmoothed = any(np.ndim(one) == 0 and one == 0 for one in alphas)
        return self.weights is not None and self.event in WEIGHED_EVENTS and not unsmoothed

    def _family(self) -> Text | PooledText:
        options = {name: getattr(self, name) for name in OPTIONS}
        options["alpha"] = self._smoothing
        options["stop_words"] = stop_words(self.stop_words)
        kind = WeighedText if self._weighs else Text
        found = kind(**options) if self.models is None else self._pool(options)
        known = self._learned
        return found.referring_as(None if known is None else known.family)

    def _pool(self, options: dict[str, Any]) -> PooledText:
        """The models that are pooled, with these options where they leave them open."""
        if self.weights is None:
            raise ValueError("models are pooled by weights: leave out weights=None")
        said = {name: one for name, one in options.items() if one != getattr(type(self), name)}
        return PooledText(models_of(self.models, options, said))

    @property
    def _is_auto(self) -> bool:
        return not self._weighs and super()._is_auto

    def _refuse_new_auto(self) -> None:
        if not self._weighs:  # else it is chosen with the weights, at any time
            super()._refuse_new_auto()

    @property
    def _smoothing(self) -> Any:
        chosen = self.alpha is None or (isinstance(self.alpha, str) and self.alpha == "auto")
        if self._weighs:
            return None if chosen else self.alpha
        return 1.0 if self.alpha is None else super()._smoothing

    def _alpha_of(self, model: Model) -> Any:
        given = super()._alpha_of(model)
        if given is not None:
            return given
        chosen: Any = model.posterior(workers(self.n_jobs)).parameters
        return chosen.alphas if self.models is not None else chosen.alphas[0]

    @property
    def scale_(self) -> Scale | tuple[Scale, ...]:
        """How much the evidence of terms counts. AttributeError of a model without weights."""
        if not self._weighs:
            raise AttributeError(
                "this is the textbook's naive Bayes, whose evidence is not weighed"
            )
        scales: tuple[Scale, ...] = self._parameters.scales
        return scales[0] if self.models is None else scales

    def _prior(self) -> Prior:
        return Prior(self.prior, self.prior_smoothing, self.class_weight)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from these documents alone.

        Parameters
        ----------
        X : (n,) documents; or a stream with one column of them besides the labels, as
            ``naively.scan("posts/*.parquet", columns=["body", "label"])``, which is read in
            constant memory. An idf then refers to the first 100,000.
        y : (n,) labels; of one class alone the model predicts that one. Of a stream the name of the
            column that has them.
        sample_weight : (n,) non-negative weights; a document of weight w counts as w of them,
            but as one in an idf.

        Raises
        ------
        ValueError : saying what is wrong and where.
        """
        return super().fit(X, y, sample_weight)

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, *,
        part: str | None = None,
    ) -> Self:  # fmt: skip
        """Learn from more documents. New words and classes may appear in any call.

        Any split of the documents into calls gives the same model, bit for bit; but an idf is that
        of the first call, and `max_terms` drops terms after each.

        Parameters
        ----------
        X, y, sample_weight : as for `fit`.
        classes : labels to make room for before their documents are met; not required.
        part : a name for these documents, by which they can be forgotten later without them.

        Raises
        ------
        ValueError : saying what is wrong and where; the model is as it was.
        """
        return super().partial_fit(X, y, classes, sample_weight, part=part)

    def _learnable(
        self, X: Any, y: Any, sample_weight: Any, known: Model | None = None
    ) -> Learnable:
        if y is None:
            raise ValueError("TextNB requires y to be passed, but the target y is None")
        documents = documents_of(X)
        if len(documents) == 0:
            raise ValueError("there are no documents to learn from")
        labels = check_labels(y, len(documents))
        weights = check_weights(sample_weight, np.empty((len(documents), 1)))
        if known is None:
            check_total(weights, "documents")
            present = documents if weights is None else documents[weights > 0]
            family = self._family().referring_as(None).referring(present, workers(self.n_jobs))
            known = Model(Schema.of_array(family, 1), self._prior())
        return Learnable(known, documents, labels, weights)

    def _reading(self, rows: Learnable) -> Reading:
        family = self._family().referring_as(rows.blank.family)
        return rows.blank.schema.with_family(family), self._prior()

    def _of_batch(self, batch: Any, columns: Sequence[str]) -> Documents:
        if len(columns) != 1:
            raise ValueError(
                f"a stream of documents has one column of them, and there are {len(columns)} "
                f"({few(columns)}): select it, as by naively.scan(..., columns=[...])"
            )
        return declared.documents(batch.column(columns[0]), ())

    def _rows(self, X: Any) -> Documents:
        return documents_of(X)

    def _shown(self, schema: Schema, drawn: Documents) -> list[str | None]:
        """A list of bags of words, in no order."""
        return list(drawn.texts())

    @property
    def feature_count_(self) -> Float64:
        """What was counted of each term in each class, (C, V)."""
        parameters = self._parameters  # which keeps its sums from changing
        return parameters.feature_count()

    @property
    def feature_log_prob_(self) -> Float64:
        """log θ_αc, log p_αc or the weights of "complement", (C, V)."""
        return self._parameters.feature_log_prob()


def stop_words(words: Any) -> Any:
    """The words that are meant by scikit-learn's name for a list of them."""
    if isinstance(words, str):
        if words != "english":
            raise ValueError(f'stop_words must be "english" or a list of words, not {words!r}')
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return tuple(ENGLISH_STOP_WORDS)
    return words
