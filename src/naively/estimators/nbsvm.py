"""`NBSVM`: a linear support vector machine on the evidence of naive Bayes."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from os import PathLike
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted

from naively.engines.threads import workers
from naively.estimators.text import TextNB
from naively.estimators.validation import check_labels
from naively.exact import Float64
from naively.families.complement import ComplementParameters
from naively.families.text_parameters import TextParameters
from naively.text.analysis import WORDS
from naively.text.documents import Documents, to_array

OPTIONS = (
    "alpha", "analyzer", "ngram_range", "lowercase", "strip_accents", "stop_words",
    "token_pattern", "tokenizer", "min_df", "max_df", "max_features", "n_jobs",
)  # fmt: skip
"""Parameters that are those of `TextNB`."""
MOST = 10_000  # rounds over the documents, which liblinear seldom needs


class NBSVM(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    r"""Raw text in, label out: a linear support vector machine on what naive Bayes learned.

    Wang & Manning (2012), "Baselines and bigrams: simple, good sentiment and topic
    classification". The terms that a document has weigh what naive Bayes makes of them, their
    log-count ratios::

        r = log (p / |p|₁) - log (q / |q|₁),   p = α + Σ f_i of a class,   q = α + Σ f_i of the rest

    with f_i the zeros and ones of the terms in document i. A support vector machine w · x + b is
    learned from x = f ∘ r, and pulled back towards naive Bayes, where all of w are equal::

        w' = (1 - β) w̄ + β w,   b' = (1 - β) w̄ log (N₊ / N₋) + β b,   w̄ = |w|₁ / V

    The sets of the paper are balanced; its program learned no b, and had none.
    More than two classes are learned one against the rest. Documents are what `TextNB` takes;
    None is a document without terms. All of them have to be learned at once: only what naive Bayes
    learned adds up.

    Parameters
    ----------
    C : float
        How much the squared errors count, against the size of w.
    beta : float from 0 to 1
        β: 0 for naive Bayes, ``TextNB("binary")``; 1 for the support vector machine alone.
    alpha : float
        Smoothing α of the counts, above 0.
    analyzer, ngram_range, lowercase, strip_accents, stop_words, token_pattern, tokenizer
        What a term is; see `TextNB`. Pairs of words, ``ngram_range=(1, 2)``, mostly help.
    min_df, max_df, max_features
        Which terms are left out; see `TextNB`.
    n_jobs : int or None
        Threads that count and cut; None for all processors. The model does not depend on it.

    Attributes
    ----------
    classes_ : (C,) labels
    bayes_ : the `TextNB` that learned the counts.
    coef_ : (1, V) w' ∘ r for two classes, else (C, V): what each term adds to the decision.
    intercept_ : (1,) or (C,) b'
    terms_ : (V,) the terms, sorted.

    Examples
    --------
    >>> from naively import NBSVM
    >>> mails = ["win a free prize", "meeting at noon", "free free prize", "lunch at noon?"]
    >>> model = NBSVM(ngram_range=(1, 2)).fit(mails, ["spam", "ham", "spam", "ham"])
    >>> model.predict(["a prize for you"]).tolist()
    ['spam']
    """

    bayes_: TextNB
    classes_: npt.NDArray[Any]
    coef_: Float64
    intercept_: Float64

    def __init__(
        self,
        C: float = 1.0,
        *,
        beta: float = 0.25,
        alpha: float = 1.0,
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
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.beta = beta
        self.alpha = alpha
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
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from these documents.

        Parameters
        ----------
        X : (n,) documents.
        y : (n,) labels of at least two classes.
        sample_weight : (n,) non-negative weights; a document of weight w counts as w of them.

        Raises
        ------
        ValueError : saying what is wrong and where.
        """
        if not (isinstance(self.beta, Real) and 0 <= self.beta <= 1):
            raise ValueError(f"beta must be from 0 to 1, not {self.beta!r}")
        if self.alpha == 0:
            raise ValueError("alpha must be above 0: without smoothing, ratios are infinite")
        texts = X if isinstance(X, pa.Array) else to_array(X)
        bayes = self._bayes().fit(texts, y, sample_weight)
        rows = _rows(bayes, Documents.of(texts))
        labels = check_labels(y, len(texts))
        count = bayes.class_count_
        some = slice(None) if len(count) > 2 else slice(1, None)  # those against the rest
        ratios = _ratios(bayes)[some]
        odds = np.log(count / (count.sum() - count))[some]
        w, b = np.empty_like(ratios), np.empty_like(odds)
        for c, label in enumerate(bayes.classes_[some]):
            x = rows.copy()
            x.data *= ratios[c][rows.indices]
            svm = LinearSVC(C=self.C, dual=True, random_state=0, max_iter=MOST)
            svm.fit(x, labels == label, sample_weight)
            w[c], b[c] = svm.coef_[0], svm.intercept_[0]
        mean = np.abs(w).mean(axis=1)
        coef = ((1 - self.beta) * mean[:, np.newaxis] + self.beta * w) * ratios
        self._take(bayes, coef, (1 - self.beta) * mean * odds + self.beta * b)
        return self

    def _bayes(self) -> TextNB:
        """The naive Bayes classifier that learns the counts."""
        return TextNB("binary", **{name: getattr(self, name) for name in OPTIONS})

    def _take(self, bayes: TextNB, coef: Float64, intercept: Float64) -> None:
        """Take what was learned as this estimator's own.

        Raises
        ------
        ValueError : if it does not fit together.
        """
        classes, terms = _parameters(bayes).total.shape
        rows = classes if classes > 2 else classes - 1
        for weights, shape in ((coef, (rows, terms)), (intercept, (rows,))):
            if rows < 1 or np.shape(weights) != shape or not np.isfinite(weights).all():
                raise ValueError(f"its weights do not fit {classes} classes and {terms} terms")
        self.bayes_ = bayes
        self.classes_ = bayes.classes_
        self.coef_ = coef
        self.intercept_ = intercept

    def decision_function(self, X: Any) -> Float64:
        """How far a document is on the side of each class, (n, C); of the second of two, (n,)."""
        check_is_fitted(self)
        rows = _rows(self.bayes_, Documents.of(X))
        scores: Float64 = rows @ self.coef_.T + self.intercept_
        return scores if len(self.classes_) > 2 else scores[:, 0]

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class that decides highest for each document, (n,)."""
        scores = self.decision_function(X)
        codes = scores.argmax(axis=1) if scores.ndim > 1 else (scores > 0).astype(np.int64)
        return self.classes_[codes]

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model, with the counts that naive Bayes learned, to a file: see `naively.load`.

        The command line does not read it.
        """
        from naively.files.safetensors import save

        check_is_fitted(self)
        params = self.get_params(deep=False)
        learned = {"coef": self.coef_, "intercept": self.intercept_}
        save(self.bayes_.model_, path, type(self).__name__, params, learned=learned)

    @property
    def terms_(self) -> npt.NDArray[Any]:
        """The terms, sorted, (V,)."""
        return self.bayes_.terms_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags


def _ratios(bayes: TextNB) -> Float64:
    """r of each class against the rest, (C, V): its multinomial, and the complement's."""
    total = _parameters(bayes).total
    others = ComplementParameters(total, bayes.alpha, norm=False)
    return bayes.feature_log_prob_ + others.weights(slice(0, total.shape[1]))


def _rows(bayes: TextNB, documents: Documents) -> Any:
    """Zeros and ones of the terms of documents, as a CSR matrix."""
    return _parameters(bayes).matrix(documents, workers(bayes.n_jobs))


def _parameters(bayes: TextNB) -> TextParameters:
    parameters = bayes.model_.parameters
    assert isinstance(parameters, TextParameters)
    return parameters
