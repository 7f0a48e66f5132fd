"""`NBSVM`: a linear support vector machine on the evidence of naive Bayes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, fields
from numbers import Real
from os import PathLike
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted

from naively.engines.threads import workers
from naively.estimators.text import TextClassifier, TextNB
from naively.estimators.validation import check_classes, check_labels
from naively.exact import Float64
from naively.families.complement import ComplementParameters
from naively.files.safetensors import Saved, save
from naively.text.documents import Documents, to_array

MOST = 10_000  # rounds over the documents, which liblinear seldom needs


SHARED = [one.name for one in fields(TextClassifier)]
"""Parameters that are those of `TextNB`."""


@dataclass(eq=False, repr=False)
class NBSVM(TextClassifier):
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
    min_df, max_df, drop_most_frequent, max_features
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

    C: float = 1.0
    _: KW_ONLY
    beta: float = 0.25

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
        if isinstance(self.alpha, str) and self.alpha == "auto":
            raise ValueError('alpha must be a number: "auto" is for classifiers that add up')
        if isinstance(self.alpha, Mapping):
            raise ValueError("alpha must be one number: NBSVM smooths all terms alike")
        if self.alpha == 0:
            raise ValueError("alpha must be above 0: without smoothing, ratios are infinite")
        texts = X if isinstance(X, pa.Array) else to_array(X)
        bayes = self._bayes().fit(texts, y, sample_weight)
        rows = _rows(bayes, Documents.of(texts))
        check_classes(bayes.classes_, 2)
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
        return TextNB("binary", **{name: getattr(self, name) for name in SHARED})

    def _take(self, bayes: TextNB, coef: Float64, intercept: Float64) -> None:
        """Take what was learned as this estimator's own.

        Raises
        ------
        ValueError : if it does not fit together.
        """
        classes, terms = bayes._parameters.total.shape
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
        check_is_fitted(self)
        params = self.get_params(deep=False)
        learned = {"coef": self.coef_, "intercept": self.intercept_}
        save(Saved(self.bayes_.model_, type(self).__name__, params, learned=learned), path)

    @property
    def terms_(self) -> npt.NDArray[Any]:
        """The terms, sorted, (V,)."""
        return self.bayes_.terms_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")


def _ratios(bayes: TextNB) -> Float64:
    """r of each class against the rest, (C, V): its multinomial, and the complement's."""
    total = bayes._parameters.total
    others = ComplementParameters(total, bayes.alpha_, norm=False)
    return bayes.feature_log_prob_ + others.weights(slice(0, total.shape[1]))


def _rows(bayes: TextNB, documents: Documents) -> Any:
    """Zeros and ones of the terms of documents, as a CSR matrix."""
    return bayes._parameters.matrix(documents, workers(bayes.n_jobs))
