"""`NBSVM`: a linear support vector machine on the evidence of naive Bayes."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, fields
from numbers import Real
from os import PathLike
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted

from naively.core.decisions import DecisionRule, likeliest
from naively.core.exact import Float64
from naively.core.posterior import Posterior
from naively.core.weighed import Weighed
from naively.core.workers import workers
from naively.estimators.shared.validation import (
    check_classes,
    check_labels,
    check_weights,
    documents_of,
)
from naively.estimators.text import TextClassifier, TextNB
from naively.evaluation.calibration import temperature_scale
from naively.evaluation.folds import DECISIONS, assign_equal_rows, row_keys
from naively.families.discrete.complement import ComplementParameters
from naively.storage.model_files import Saved, save
from naively.text.documents import Documents

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

    Probabilities are those of decisions on documents that were not learned: P(c | x) is in
    proportion to exp (s · decision_c), and of two classes 1 / (1 + exp (-s · decision)). Models
    without a third of the documents each decide on that third, and s is what gives these
    decisions the least log-loss (Platt 1999; Guo et al. 2017). So `fit` takes three times as long
    as without, and the most probable class is always the one that decides highest.

    Parameters
    ----------
    C : float
        How much the squared errors count, against the size of w.
    beta : float from 0 to 1
        β: 0 for naive Bayes, ``TextNB("binary")``; 1 for the support vector machine alone.
    loss : "squared_hinge" or "log_loss"
        Whether w and b are those of a support vector machine, or of logistic regression.
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
    scale_ : s, the nats of log-odds that a decision of 1 is.
    terms_ : (V,) the terms, sorted.
    information_ : (V,) mutual information of each term and the class, in bits.

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
    loss: Literal["squared_hinge", "log_loss"] = "squared_hinge"

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
        self._check()
        documents = documents_of(X)
        bayes, coef, intercept = self._learned(documents, y, sample_weight)
        labels = check_labels(y, len(documents))
        nats = self._scale(bayes, documents, labels, sample_weight)
        self._take(bayes, coef, intercept, nats)
        return self

    def _check(self) -> None:
        if not (isinstance(self.beta, Real) and 0 <= self.beta <= 1):
            raise ValueError(f"beta must be from 0 to 1, not {self.beta!r}")
        if self.loss not in ("squared_hinge", "log_loss"):
            raise ValueError(f'loss must be "squared_hinge" or "log_loss", not {self.loss!r}')
        if isinstance(self.alpha, str) and self.alpha == "auto":
            raise ValueError('alpha must be a number: "auto" is for classifiers that add up')
        if isinstance(self.alpha, Mapping):
            raise ValueError("alpha must be one number: NBSVM smooths all terms alike")
        if self.alpha == 0:
            raise ValueError("alpha must be above 0: without smoothing, ratios are infinite")

    def _learned(
        self, documents: Documents, y: Any, sample_weight: Any
    ) -> tuple[TextNB, Float64, Float64]:
        """(the counts, w' ∘ r, b') of some documents."""
        bayes = self._bayes().fit(documents, y, sample_weight)
        rows = _rows(bayes, documents)
        check_classes(bayes.classes_, 2)
        labels = check_labels(y, len(documents))
        count = bayes.class_count_
        some = slice(None) if len(count) > 2 else slice(1, None)  # those against the rest
        ratios = _ratios(bayes)[some]
        odds = np.log(count / (count.sum() - count))[some]
        w, b = np.empty_like(ratios), np.empty_like(odds)
        for c, label in enumerate(bayes.classes_[some]):
            x = rows.copy()
            x.data *= ratios[c][rows.indices]
            linear = self._linear().fit(x, labels == label, sample_weight)
            w[c], b[c] = linear.coef_[0], linear.intercept_[0]
        mean = np.abs(w).mean(axis=1)
        coef = ((1 - self.beta) * mean[:, np.newaxis] + self.beta * w) * ratios
        return bayes, coef, (1 - self.beta) * mean * odds + self.beta * b

    def _linear(self) -> Any:
        """The classifier that learns w and b."""
        if self.loss == "log_loss":
            return LogisticRegression(
                C=self.C, solver="liblinear", dual=True, random_state=0, max_iter=MOST
            )
        return LinearSVC(C=self.C, dual=True, random_state=0, max_iter=MOST)

    def _scale(self, bayes: TextNB, documents: Documents, labels: Any, sample_weight: Any) -> float:
        """The s of decisions on documents that were not learned."""
        weights = check_weights(sample_weight, documents)
        weights = np.ones(len(documents)) if weights is None else weights
        codes = np.searchsorted(bayes.classes_, labels)
        present = np.flatnonzero(weights > 0)
        part = np.full(len(documents), -1)
        keys = row_keys(bayes.model_.schema, documents)
        part[present] = assign_equal_rows(keys[present], codes[present])
        decisions = np.full((len(documents), len(bayes.classes_)), np.nan)
        for k in range(DECISIONS):
            rest, out = np.flatnonzero((part != k) & (weights > 0)), np.flatnonzero(part == k)
            if len(out):
                with suppress(ValueError):  # the others hold no terms that are frequent enough
                    found = self._learned(documents[rest], labels[rest], weights[rest])
                    decisions[out] = _both(_decisions(*found, documents[out]))
        known = ~np.isnan(decisions[:, 0])
        return temperature_scale(decisions[known], codes[known], weights[known])

    def _bayes(self) -> TextNB:
        """The naive Bayes classifier that learns the counts."""
        return TextNB("binary", weights=None, **{name: getattr(self, name) for name in SHARED})

    def _take(self, bayes: TextNB, coef: Float64, intercept: Float64, scale: float) -> None:
        """Take what was learned as this estimator's own.

        Raises
        ------
        ValueError : if it does not fit together.
        """
        self._weighed = Weighed.of(bayes.model_, coef, intercept, scale)
        self.bayes_ = bayes
        self.classes_ = bayes.classes_
        self.coef_ = coef
        self.intercept_ = intercept
        self.scale_ = scale

    # ---- predicting --------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Float64:
        """How far a document is on the side of each class, (n, C); of the second of two, (n,)."""
        check_is_fitted(self)
        return _decisions(self.bayes_, self.coef_, self.intercept_, documents_of(X))

    def predict(self, X: Any, costs: Any = None, unsure: float | None = None) -> npt.NDArray[Any]:
        """The class that decides highest for each document, (n,), unless costs say otherwise.

        Parameters
        ----------
        X : (n,) documents.
        costs, unsure : as for `TextNB`.

        Raises
        ------
        ValueError : saying what is wrong with the costs or `unsure`.
        """
        posterior, jobs = self._posterior(), workers(self.n_jobs)
        documents = documents_of(X)
        if costs is None and unsure is None:
            return posterior.predict(documents, jobs)
        return DecisionRule.of(costs, unsure, self.classes_).labels(posterior, documents, jobs)

    def predict_top(self, X: Any, k: int) -> tuple[npt.NDArray[Any], Float64]:
        """(the k most probable labels of each document, their P(c | x)), as `TextNB` does."""
        codes, proba = likeliest(self._posterior(), documents_of(X), k, workers(self.n_jobs))
        return self.classes_[codes], proba

    def predict_proba(self, X: Any) -> Float64:
        """P(c | x), (n, C), in the order of `classes_`."""
        return self._posterior().proba(documents_of(X), workers(self.n_jobs))

    def predict_log_proba(self, X: Any) -> Float64:
        """log P(c | x), (n, C), in nats."""
        return self._posterior().log_proba(documents_of(X), workers(self.n_jobs))

    def _posterior(self) -> Posterior:
        check_is_fitted(self)
        return self._weighed.posterior(workers(self.n_jobs))

    def _summarised(self) -> Weighed:
        """The counts as the weights read them."""
        return self._weighed

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model, with the counts that naive Bayes learned, to a file: see `naively.load`.

        ``naively predict``, ``evaluate``, ``explain`` and ``inspect`` read it too.
        """
        check_is_fitted(self)
        params = self.get_params(deep=False)
        learned = {"coef": self.coef_, "intercept": self.intercept_, "scale": self.scale_}
        save(Saved(self.bayes_.model_, type(self).__name__, params, learned=learned), path)

    def __getstate__(self) -> dict[str, Any]:
        return {name: one for name, one in vars(self).items() if name != "_weighed"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "bayes_" in state:
            self._take(self.bayes_, self.coef_, self.intercept_, self.scale_)

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


def _decisions(bayes: TextNB, coef: Float64, intercept: Float64, documents: Documents) -> Float64:
    """Those of `NBSVM.decision_function`."""
    scores: Float64 = _rows(bayes, documents) @ coef.T + intercept
    return scores if len(bayes.classes_) > 2 else scores[:, 0]


def _both(decisions: Float64) -> Float64:
    """Decisions as a score of each class, (n, C): of two, half for one and half against it."""
    return decisions if decisions.ndim > 1 else np.stack([-decisions, decisions], axis=1) / 2.0
