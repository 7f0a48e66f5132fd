"""`TextNB`: naive Bayes for raw text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from naively.core.exact import Float64
from naively.core.workers import workers
from naively.estimators.shared.base import NaiveBayesClassifier
from naively.estimators.shared.from_parameters import ClassesAndPrior, probabilities
from naively.estimators.shared.inspection import InsideTexts
from naively.estimators.shared.validation import (
    check_labels,
    check_total,
    check_weights,
    documents_of,
)
from naively.evaluation.folds import Learnable, Reading
from naively.families.text.pooled_text import DEFAULT, PooledText, models_of
from naively.families.text.text import Event, Text
from naively.families.text.weighed_text import WEIGHED_EVENTS, WeighedText
from naively.model.model import Model
from naively.model.prior import ClassWeight, Prior, PriorLike, Virtual
from naively.model.schema import Schema
from naively.pooling.texts.term_weights import TermWeights
from naively.statistics.terms import LengthNorm, Weighting
from naively.tables import declared
from naively.tables.names import few
from naively.text.analysis import WORDS
from naively.text.documents import Documents


@dataclass(eq=False, repr=False, kw_only=True)
class TextOptions(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Parameters of all text classifiers: how documents are cut into terms, and which count."""

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
    """Base of the text classifiers that predict one label for each document."""


OPTIONS = [field.name for field in fields(Text) if field.name != "reference"]
"""Parameters of `TextNB` that are parameters of its family."""


def _one_or_all(values: tuple[Any, ...]) -> Any:
    """Return the value of the only model, or those of several."""
    return values[0] if len(values) == 1 else values


@dataclass(eq=False, repr=False)
class TextNB(TextClassifier, NaiveBayesClassifier):  # type: ignore[misc]
    r"""Naive Bayes for raw text: documents in, labels out.

    Terms are those of scikit-learn's `CountVectorizer`, with the same options, but no matrix is
    made, and the vocabulary grows: ``partial_fit``, ``+`` and ``forget`` are exact for new terms,
    too. Documents are a list of str, or an array of NumPy, Arrow (not copied), pandas or polars.
    None is a missing document, which is no evidence.

    By default the evidence of terms is weighted, which calibrates the probabilities.
    ``TextNB(weights=None)`` is naive Bayes of the textbooks: its predictions are those of
    ``CountVectorizer()`` and `MultinomialNB`.

    Parameters
    ----------
    event : "multinomial", "complement", "bernoulli" or "binary"
        How terms are counted: their occurrences, or, for the last two, their presence in a
        document. "complement" scores a class by the counts of all others (Rennie et al. 2003);
        "bernoulli" uses absent terms as evidence, too; "binary" is multinomial naive Bayes of
        presence.
    alpha : float, dict, "auto" or None
        Smoothing l: virtual counts of each term in each class. A dict by term, as ``{"free": 2}``,
        where terms that are not named have 1. "auto" as in `MultinomialNB`. None: chosen together
        with the weights if there are any, else 1.
    norm : bool
        Divide the weights of each class by their sum; "complement" only.
    weighting : None, "log", "tfidf" or "log-tfidf"
        Value of t occurrences: t, log (1 + t), t · idf or log (1 + t) · idf with
        idf = 1 + log ((1 + n) / (1 + d)) for a term in d of n documents: those of `fit`, or of
        the first `partial_fit`. With ``event="complement"``, ``weighting="log-tfidf"``,
        ``length_norm="l2"``, ``norm=True`` and ``prior="uniform"`` this is Rennie's TWCNB, with a
        smooth idf.
    length_norm : None, "l1" or "l2"
        Divide the counts of a document by their norm.
    analyzer : "word", "char", "char_wb" or callable
        Make terms of words, of characters, or of characters within words; or a function from a
        document to its terms.
    ngram_range : (int, int)
        Least and largest n of the n-grams of words or characters.
    lowercase : bool
        Convert to lower case first.
    strip_accents : None, "ascii", "unicode" or callable
        Remove accents first, as in `CountVectorizer`.
    stop_words : None, "english" or sequence of str
        Words to leave out: scikit-learn's list, or yours.
    token_pattern : str
        Regular expression of a word. Two are compiled: the default (words of two letters or more),
        and ``r"(?u)\b\w+\b"`` (one letter or more). Others, and functions, are slower.
    tokenizer : callable or None
        A function from a document to its words.
    min_df, max_df : int or float
        Leave out terms that are in fewer or more documents: a number of documents, or as a float a
        fraction. Their counts stay in the model, and terms are selected again after each update.
    drop_most_frequent : int
        Number of the most frequent terms to leave out, such as the 100 of lecture 2's newsgroups.
    max_features : int or None
        Use this number of the most frequent terms only.
    n_features : int or None
        Hash terms into this number of buckets, a power of two: constant memory, no vocabulary.
    max_terms : int or None
        If more terms than this are counted after a batch, drop the rarest until at most half as
        many are left. ``model_.statistics.undercount`` bounds the error of any count.
    prior : "empirical", "uniform", probabilities in the order of the classes, or a dict by class
        A dict may omit one class, which gets the remaining probability.
    prior_smoothing : float, sequence or dict
        Virtual documents of each class: one number for all, a sequence in the order of the
        classes, or a dict by class.
    class_weight : None, "balanced" or dict
        Weights of the classes, 1 for those that a dict does not name; "balanced" gives all classes
        the same total. They change the class prior alone: P(c | x) is multiplied by the weight of
        c and normalised.
    weights : "auto" or None
        Whether to weight the evidence, which calibrates the probabilities. The weight of a term
        depends on the length of the document, the frequency of the term, and its number of words;
        docs/text.md has the formula. Weights are estimated from out-of-fold scores, for which the
        model stores up to 20,000 documents. "auto" weights "multinomial" and "binary" with an
        alpha above 0, and nothing else.
    models : None, "auto" or list of str and dict
        Several models of each document, whose evidence is weighted together: "words" (presence of
        words and pairs of words), "characters" (presence of n-grams of two to four characters
        within words), or dicts of the options above, such as
        ``{"analyzer": "char", "ngram_range": (1, 3)}``. "auto" is ``["words", "characters"]``.
        Options that a model does not set are those above. A model that does not improve the
        out-of-fold predictions gets no weight. None: one model of the options above. If none of
        them is set, one or several are chosen of counts of words and of both named models, which
        are counted in the stored documents; characters if these have at most 16 MB. Below 100
        stored documents there is no choice.
    n_jobs : int or None
        Number of threads, None for all processors. The model does not depend on it.

    Attributes
    ----------
    classes_ : (C,) labels
    class_count_ : (C,) total weights
    models_ : list of M dict, the models that are used or were chosen: their "event", "analyzer"
        and "ngram_range". ``TextNB(models=model.models_)`` takes them again.
    alpha_ : the smoothing: a float if M = 1, else a tuple in the order of `models_`. An array or
        dict if `alpha` is one.
    scale_ : with weights, `naively.pooling.texts.term_weights.TermWeights`, with the quality of
        the out-of-fold predictions; a tuple if M > 1, as `alpha_`.
    terms_ : (V,) the selected terms, sorted; for several models one after the other, n-grams of
        characters in quotes.
    feature_count_ : (C, V) counts of these terms.
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
    prior: PriorLike = "empirical"
    prior_smoothing: Virtual = 0.0
    class_weight: ClassWeight = None
    weights: Literal["auto"] | None = "auto"
    models: Literal["auto"] | Sequence[str | dict[str, Any]] | None = None

    @classmethod
    def from_parameters(
        cls, terms: Sequence[str], theta: Any, *, prior: Any = "uniform", classes: Any = None
    ) -> Self:
        """Make a model from words, θ and π, which count as one word in total in `partial_fit`.

        Parameters
        ----------
        terms : (V,) distinct words, as in `terms_`: in lower case, of two letters or more.
        theta : (C, V) θ_αc; those of a class sum to 1. The model's `alpha` is 0.
        prior : "uniform", (C,) π_c above 0 in the order of the rows of `theta`, or a dict by label.
        classes : (C,) labels; 0, 1, ... by default.

        Raises
        ------
        ValueError : if a parameter is invalid.

        Examples
        --------
        >>> from naively import TextNB
        >>> model = TextNB.from_parameters(
        ...     ["free", "lunch", "noon"],
        ...     [[0.6, 0.2, 0.2], [0.1, 0.4, 0.5]],
        ...     classes=["spam", "ham"],
        ... )
        >>> model.sample(1, 0, label="spam", length=6)[0]
        ['free free lunch free lunch free']
        """
        theta = probabilities("theta", theta)
        words = [str(term) for term in terms]
        if theta.shape[1] != len(words):
            problem = f"theta has {theta.shape[1]} words a class, but terms has {len(words)}"
            raise ValueError(problem)
        virtual_rows = ClassesAndPrior(len(theta), prior, classes)
        weights = virtual_rows.prior[:, np.newaxis] * theta
        labels = np.repeat(virtual_rows.labels[virtual_rows.batch.codes], len(words))
        estimator = cls(alpha=0.0)
        estimator.fit(words * len(theta), labels, weights.ravel())
        used = [word for word, p in zip(words, theta.T, strict=True) if p.any()]
        vocabulary = set(estimator.terms_)
        if unknown := [word for word in used if word not in vocabulary]:
            raise ValueError(f"{unknown[0]!r} is not a word of a text in lower case: see `terms`")
        if len(set(words)) < len(words):
            twice = next(word for k, word in enumerate(words) if word in words[:k])
            raise ValueError(f"terms must be different words: {twice!r} is there twice")
        return estimator

    @property
    def _weighs(self) -> bool:
        """Whether evidence is weighted: not with an alpha of 0, whose evidence may be infinite."""
        if self.weights not in (None, "auto"):
            raise ValueError(f'weights must be "auto" or None, not {self.weights!r}')
        alphas: Any = self.alpha.values() if isinstance(self.alpha, Mapping) else [self.alpha]
        unsmoothed = any(np.ndim(alpha) == 0 and alpha == 0 for alpha in alphas)
        return self.weights is not None and self.event in WEIGHED_EVENTS and not unsmoothed

    def _family(self) -> Text | PooledText:
        options = {name: getattr(self, name) for name in OPTIONS}
        options["alpha"] = self._smoothing
        options["stop_words"] = stop_words(self.stop_words)
        family: Text | PooledText
        if self.models is not None:
            family = self._pool(options)
        elif not self._weighs:
            family = Text(**options)
        else:
            defaults = [getattr(type(self), name) for name in OPTIONS]
            is_free = repr([getattr(self, name) for name in OPTIONS]) == repr(defaults)
            family = DEFAULT if is_free else WeighedText(**options)
        model = self._learned
        return family.referring_as(None if model is None else model.family)

    def _pool(self, options: dict[str, Any]) -> PooledText:
        """Make the family of several models; options that a model does not set are these."""
        if self.weights is None:
            raise ValueError("models are pooled by weights: leave out weights=None")
        changes = {name: x for name, x in options.items() if x != getattr(type(self), name)}
        return PooledText(models_of(self.models, options, changes))

    @property
    def _is_auto(self) -> bool:
        return not self._weighs and super()._is_auto

    def _refuse_new_auto(self) -> None:
        if not self._weighs:  # else alpha is chosen with the weights, which needs no rows
            super()._refuse_new_auto()

    @property
    def _smoothing(self) -> Any:
        is_auto = self.alpha is None or (isinstance(self.alpha, str) and self.alpha == "auto")
        if self._weighs:
            return None if is_auto else self.alpha
        return 1.0 if self.alpha is None else super()._smoothing

    def _alpha_of(self, model: Model) -> Any:
        alpha = super()._alpha_of(model)
        if alpha is not None:
            return alpha
        parameters: Any = model.posterior(workers(self.n_jobs)).parameters
        return _one_or_all(parameters.alphas)

    @property
    def models_(self) -> list[dict[str, Any]]:
        """The models of a document, as `models` takes them: event, analyzer and ngram_range."""
        parameters: Any = self._parameters
        if not self._weighs:
            return [{name: getattr(self, name) for name in ("event", "analyzer", "ngram_range")}]
        return [
            {
                "event": "binary" if terms.once else "multinomial",
                "analyzer": terms.analysis.analyzer,
                "ngram_range": terms.analysis.ngram_range,
            }
            for terms in parameters.summaries
        ]

    @property
    def scale_(self) -> TermWeights | tuple[TermWeights, ...]:
        """The weights of terms, see the class. AttributeError for a model without weights."""
        if not self._weighs:
            raise AttributeError("this TextNB has no weights: its terms are not weighted")
        scales: tuple[TermWeights, ...] = self._parameters.scales
        return _one_or_all(scales)

    def _prior(self) -> Prior:
        return Prior(self.prior, self.prior_smoothing, self.class_weight)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model to these documents alone.

        Parameters
        ----------
        X : (n,) documents; or a stream with one column of documents besides the labels, as
            ``naively.scan("posts/*.parquet", columns=["body", "label"])``, which is read in
            constant memory. The idf is then that of the first 100,000 documents.
        y : (n,) labels; a single class is always predicted. For a stream the name of the label
            column.
        sample_weight : (n,) non-negative weights; a document of weight w counts as w documents,
            but as one in the idf.

        Raises
        ------
        ValueError : if documents, labels, weights or parameters are invalid.
        """
        return super().fit(X, y, sample_weight)

    def _learnable(
        self, X: Any, y: Any, sample_weight: Any, existing: Model | None = None
    ) -> Learnable:
        if y is None:
            raise ValueError("TextNB requires y to be passed, but the target y is None")
        documents = documents_of(X)
        if len(documents) == 0:
            raise ValueError("there are no training documents")
        labels = check_labels(y, len(documents))
        weights = check_weights(sample_weight, len(documents))
        if existing is None:
            check_total(weights, "documents")
            present = documents if weights is None else documents[weights > 0]
            family = self._family().referring_as(None).referring(present, workers(self.n_jobs))
            existing = Model(Schema.of_array(family, 1), self._prior())
        return Learnable(existing, documents, labels, weights)

    def _reading(self, rows: Learnable) -> Reading:
        family = self._family().referring_as(rows.blank.family)
        return rows.blank.schema.with_family(family), self._prior()

    def _of_batch(self, batch: Any, columns: Sequence[str]) -> Documents:
        if len(columns) != 1:
            raise ValueError(
                f"a stream of documents has one column of them, but there are {len(columns)} "
                f"({few(columns)}): select it, as by naively.scan(..., columns=[...])"
            )
        return declared.documents(batch.column(columns[0]), ())

    def _rows(self, X: Any) -> Documents:
        return documents_of(X)

    def _shown(self, schema: Schema, drawn: Documents) -> list[str | None]:
        """Return the drawn documents as texts; the words are in no order."""
        return list(drawn.texts())

    @property
    def feature_count_(self) -> Float64:
        """Counts of each term in each class, (C, V)."""
        parameters = self._parameters  # a frozen snapshot of the sums
        return parameters.feature_count()

    @property
    def feature_log_prob_(self) -> Float64:
        """log θ_αc, log p_αc or the weights of "complement", (C, V)."""
        return self._parameters.feature_log_prob()


def stop_words(words: Any) -> Any:
    """Replace "english" by scikit-learn's list of stop words; return others unchanged."""
    if isinstance(words, str):
        if words != "english":
            raise ValueError(f'stop_words must be "english" or a list of words, not {words!r}')
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return tuple(ENGLISH_STOP_WORDS)
    return words
