"""`TextNB`: raw text in, label out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from naively.engines.threads import workers
from naively.estimators.base import NaiveBayesClassifier
from naively.estimators.validation import check_labels, check_weights
from naively.exact import Float64
from naively.families.base import Family
from naively.families.bernoulli import BernoulliParameters
from naively.families.complement import ComplementParameters
from naively.families.multinomial import MultinomialParameters
from naively.families.text import Event, Text, Weighting
from naively.families.text_parameters import TextParameters
from naively.model import Model
from naively.prior import Prior
from naively.text.analysis import WORDS
from naively.text.documents import Documents
from naively.text_explanation import TextExplanation, TextExplanations


class TextNB(NaiveBayesClassifier):
    r"""Naive Bayes for raw text: documents in, labels out.

    Terms are those of scikit-learn's `CountVectorizer`, with its options; so are the predictions
    of ``TextNB()`` those of ``CountVectorizer()`` and `MultinomialNB`. But text is cut, looked up
    and counted as bytes, without an object a word or a matrix, and the vocabulary grows:
    ``partial_fit``, ``+`` and ``forget`` are exact for words never met before, too. Documents are
    a list of str, or an array of NumPy, Arrow (which is not copied), pandas or polars; None is a
    missing document, which is no evidence.

    Parameters
    ----------
    event : "multinomial", "complement", "bernoulli" or "binary"
        What is counted: how often each term is met in a document, or, for the last two, whether.
        "complement" judges a class by all others (Rennie et al. 2003); "bernoulli" counts absence
        as evidence; "binary" is multinomial.
    alpha : float
        Smoothing l: virtual counts of each term in each class.
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
    max_features : int or None
        Leave out all but the most frequent terms.
    n_features : int or None
        Hash terms into so many buckets, a power of two, in constant memory, without a vocabulary.
    max_terms : int or None
        Whenever more terms are known after a batch, the rarest are dropped, until at most half as
        many are left. ``model_.statistics.undercount`` bounds what any count lacks then.
    prior : "empirical", "uniform" or probabilities in the order of the classes.
    prior_smoothing : float
        Virtual documents of each class.
    n_jobs : int or None
        Threads; None for all processors. The model does not depend on it.

    Attributes
    ----------
    classes_ : (C,) labels
    class_count_ : (C,) total weights
    terms_ : (V,) the terms that count, sorted.
    feature_count_ : (C, V) what was counted of them.
    feature_log_prob_ : (C, V) log θ_αc; for "bernoulli" log p_αc; for "complement" its weights.

    Examples
    --------
    >>> from naively import TextNB
    >>> mails = ["win a free prize", "meeting at noon", "free free prize", "lunch at noon?"]
    >>> model = TextNB().fit(mails, ["spam", "ham", "spam", "ham"])
    >>> model.predict(["a prize for you"]).tolist()
    ['spam']
    """

    def __init__(
        self,
        event: Event = "multinomial",
        *,
        alpha: float = 1.0,
        norm: bool = False,
        weighting: Weighting | None = None,
        length_norm: Literal["l1", "l2"] | None = None,
        analyzer: Any = "word",
        ngram_range: tuple[int, int] = (1, 1),
        lowercase: bool = True,
        strip_accents: Any = None,
        stop_words: Literal["english"] | Sequence[str] | None = None,
        token_pattern: str = WORDS,
        tokenizer: Any = None,
        min_df: int | float = 1,
        max_df: int | float = 1.0,
        max_features: int | None = None,
        n_features: int | None = None,
        max_terms: int | None = None,
        prior: Literal["empirical", "uniform"] | Sequence[float] = "empirical",
        prior_smoothing: float = 0.0,
        n_jobs: int | None = None,
    ) -> None:
        self.event = event
        self.alpha = alpha
        self.norm = norm
        self.weighting = weighting
        self.length_norm = length_norm
        self.analyzer = analyzer
        self.ngram_range = ngram_range
        self.lowercase = lowercase
        self.strip_accents = strip_accents
        self.stop_words = stop_words
        self.token_pattern = token_pattern
        self.tokenizer = tokenizer
        self.min_df = min_df
        self.max_df = max_df
        self.max_features = max_features
        self.n_features = n_features
        self.max_terms = max_terms
        self.prior = prior
        self.prior_smoothing = prior_smoothing
        self.n_jobs = n_jobs

    def _family(self) -> Family:
        reference = None
        if hasattr(self, "model_") and isinstance(self.model_.family, Text):
            reference = self.model_.family.reference
        return Text(
            self.event, self.alpha, self.norm, self.weighting, self.length_norm, self.analyzer,
            self.ngram_range, self.lowercase, self.strip_accents, stop_words(self.stop_words),
            self.token_pattern, self.tokenizer, self.min_df, self.max_df, self.max_features,
            self.n_features, self.max_terms, reference,
        )  # fmt: skip

    def _prior(self) -> Prior:
        return Prior(self.prior, self.prior_smoothing)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from these documents alone.

        Parameters
        ----------
        X : (n,) documents.
        y : (n,) labels of at least two classes.
        sample_weight : (n,) non-negative weights; a document of weight w counts as w of them,
            but as one in an idf.

        Raises
        ------
        ValueError : saying what is wrong and where.
        """
        return super().fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more documents. New words and classes may appear in any call.

        Any split of the documents into calls gives the same model, bit for bit; but an idf is that
        of the first call, and `max_terms` drops terms after each.

        Parameters
        ----------
        X, y, sample_weight : as for `fit`.
        classes : labels to make room for before their documents are met; not required.

        Raises
        ------
        ValueError : saying what is wrong and where; the model is as it was.
        """
        return super().partial_fit(X, y, classes, sample_weight)

    def _summarise(
        self, X: Any, y: Any, sample_weight: Any, *, first: bool
    ) -> tuple[Model, dict[str, Any]]:
        """(a model of these documents alone, nothing); self is unchanged."""
        if y is None:
            raise ValueError("TextNB requires y to be passed, but the target y is None")
        documents = Documents.of(X)
        if len(documents) == 0:
            raise ValueError("there are no documents to learn from")
        labels = check_labels(y, len(documents))
        weights = check_weights(sample_weight, np.empty((len(documents), 1)))
        if first and weights is not None and not weights.any():
            raise ValueError("All values of sample_weight are zero: no class has any documents")
        jobs = workers(self.n_jobs)
        if not first:
            return self.model_.summarise(documents, labels, weights, jobs), {}
        family = self._family()
        assert isinstance(family, Text)
        present = documents if weights is None else documents[weights > 0]
        family = replace(family, reference=None).referring(present, jobs)
        blank = Model(family, self._prior(), 1)
        return blank.summarise(documents, labels, weights, jobs), {"n_features_in_": 1}

    def _rows(self, X: Any) -> Documents:
        return Documents.of(X)

    def explain(self, X: Any) -> TextExplanations:  # type: ignore[override]
        """Why each document has its scores: what its terms and the prior add to each class.

        Printing one shows the terms that matter most; a notebook also marks them in the text.
        `to_html` makes a page of all, and `to_arrow` a flat table.
        """
        model = self._posterior()
        documents = self._rows(X)
        parameters: Any = model.parameters
        proba, codes = model.proba(documents), model.predict_codes(documents)
        told = [
            TextExplanation(
                **vars(parameters.tell(documents, i)), classes=model.classes,
                prior=model.log_prior, proba=proba[i], code=int(codes[i]),
            )
            for i in range(len(documents))
        ]  # fmt: skip
        return TextExplanations(model.classes, told)

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[Any, Any]:
        """Documents drawn from the model, (list of str, labels): bags of words, in no order."""
        documents, labels = super().sample(n_samples, random_state)
        return list(documents.texts()), labels

    @property
    def _parameters(self) -> TextParameters:
        parameters = self.model_.parameters
        assert isinstance(parameters, TextParameters)
        return parameters

    @property
    def terms_(self) -> npt.NDArray[Any]:
        """The terms, sorted, (V,)."""
        return np.array(self._parameters.terms, object)

    @property
    def feature_count_(self) -> Float64:
        """What was counted of each term in each class, (C, V)."""
        parameters = self._parameters  # which keeps its sums from changing
        return parameters.total.rounded()

    @property
    def feature_log_prob_(self) -> Float64:
        """log θ_αc, log p_αc or the weights of "complement", (C, V)."""
        parameters = self._parameters
        inner = parameters.inner
        everything = slice(0, inner.n_features)
        if isinstance(inner, BernoulliParameters):
            return inner.log_probabilities(everything)[1]
        if isinstance(inner, ComplementParameters):
            return inner.weights(everything)
        assert isinstance(inner, MultinomialParameters)
        return inner.log_theta(everything)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags


def stop_words(words: Any) -> Any:
    """The words that are meant by scikit-learn's name for a list of them."""
    if isinstance(words, str):
        if words != "english":
            raise ValueError(f'stop_words must be "english" or a list of words, not {words!r}')
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return tuple(ENGLISH_STOP_WORDS)
    return words
