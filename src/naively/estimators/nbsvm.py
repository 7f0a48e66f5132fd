"""`NBSVM`: a linear support vector machine on the log-count ratios of naive Bayes."""

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

from naively.core.exact import Float64
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
from naively.model.decisions import DecisionRule, likeliest
from naively.model.linear_text import Weighed
from naively.model.posterior import Posterior
from naively.storage.model_files import Saved, save
from naively.text.documents import Documents

MOST = 10_000  # iterations of liblinear, which seldom needs so many


SHARED = [field.name for field in fields(TextClassifier)]
"""Parameters that are passed on to `TextNB`."""


@dataclass(eq=False, repr=False)
class NBSVM(TextClassifier):
    r"""A linear support vector machine for raw text, on the log-count ratios of naive Bayes.

    Wang & Manning (2012), "Baselines and bigrams: simple, good sentiment and topic
    classification". The features of a document are the log-count ratios of its terms::

        r = log (p / |p|₁) - log (q / |q|₁),   p = α + Σ f_i of a class,   q = α + Σ f_i of the rest

    with f_i the zeros and ones of the terms in document i. A support vector machine w · x + b is
    fitted to x = f ∘ r, and interpolated with naive Bayes, where all of w are equal::

        w' = (1 - β) w̄ + β w,   b' = (1 - β) w̄ log (N₊ / N₋) + β b,   w̄ = |w|₁ / V

    The data of the paper are balanced, and its program had no b. More than two classes are fitted
    one against the rest. Documents are as for `TextNB`; None is a document without terms. There is
    no `partial_fit`: only the counts of naive Bayes can be updated.

    Probabilities are calibrated by out-of-fold decisions: P(c | x) is proportional to
    exp (s · decision_c); with two classes it is 1 / (1 + exp (-s · decision)). The scale s is that
    with the least log-loss in 3-fold cross-validation (Platt 1999; Guo et al. 2017), which makes
    `fit` about three times as long. The most probable class always has the highest decision.

    Parameters
    ----------
    C : float
        Weight of the loss relative to the penalty on w, as in scikit-learn.
    beta : float from 0 to 1
        β: 0 for naive Bayes, ``TextNB("binary")``; 1 for the support vector machine alone.
    loss : "squared_hinge" or "log_loss"
        Fit w and b by a support vector machine, or by logistic regression.
    alpha : float
        Smoothing α of the counts, above 0.
    analyzer, ngram_range, lowercase, strip_accents, stop_words, token_pattern, tokenizer
        Terms, as for `TextNB`. Pairs of words, ``ngram_range=(1, 2)``, mostly help.
    min_df, max_df, drop_most_frequent, max_features
        Terms to leave out, as for `TextNB`.
    n_jobs : int or None
        Number of threads for counting, None for all processors. The model does not depend on it.

    Attributes
    ----------
    classes_ : (C,) labels
    bayes_ : the `TextNB` with the counts.
    coef_ : (1, V) w' ∘ r for two classes, else (C, V): contribution of each term to the decision.
    intercept_ : (1,) or (C,) b'
    scale_ : s, the log-odds of a decision of 1, in nats.
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
        """Fit the model to these documents.

        Parameters
        ----------
        X : (n,) documents.
        y : (n,) labels of at least two classes.
        sample_weight : (n,) non-negative weights; a document of weight w counts as w documents.

        Raises
        ------
        ValueError : if documents, labels, weights or parameters are invalid.
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
        """Return (the fitted `TextNB`, w' ∘ r, b') of these documents."""
        bayes = self._bayes().fit(documents, y, sample_weight)
        rows = _rows(bayes, documents)
        check_classes(bayes.classes_, 2)
        labels = check_labels(y, len(documents))
        count = bayes.class_count_
        selected = slice(None) if len(count) > 2 else slice(1, None)  # classes against the rest
        ratios = _ratios(bayes)[selected]
        odds = np.log(count / (count.sum() - count))[selected]
        w, b = np.empty_like(ratios), np.empty_like(odds)
        for c, label in enumerate(bayes.classes_[selected]):
            x = rows.copy()
            x.data *= ratios[c][rows.indices]
            linear = self._linear().fit(x, labels == label, sample_weight)
            w[c], b[c] = linear.coef_[0], linear.intercept_[0]
        mean = np.abs(w).mean(axis=1)
        coef = ((1 - self.beta) * mean[:, np.newaxis] + self.beta * w) * ratios
        return bayes, coef, (1 - self.beta) * mean * odds + self.beta * b

    def _linear(self) -> Any:
        """Make the scikit-learn classifier that fits w and b."""
        options = {"C": self.C, "dual": True, "random_state": 0, "max_iter": MOST}
        if self.loss == "log_loss":
            return LogisticRegression(solver="liblinear", **options)
        return LinearSVC(**options)

    def _scale(self, bayes: TextNB, documents: Documents, labels: Any, sample_weight: Any) -> float:
        """Choose s by the log-loss of out-of-fold decisions."""
        weights = check_weights(sample_weight, len(documents))
        weights = np.ones(len(documents)) if weights is None else weights
        codes = np.searchsorted(bayes.classes_, labels)
        present = np.flatnonzero(weights > 0)
        folds = np.full(len(documents), -1)
        keys = row_keys(bayes.model_.schema, documents)
        folds[present] = assign_equal_rows(keys[present], codes[present])
        decisions = np.full((len(documents), len(bayes.classes_)), np.nan)
        for k in range(DECISIONS):
            train, test = np.flatnonzero((folds != k) & (weights > 0)), np.flatnonzero(folds == k)
            if len(test):
                with suppress(ValueError):  # min_df may leave no terms in the other folds
                    model = self._learned(documents[train], labels[train], weights[train])
                    decisions[test] = _both(_decisions(*model, documents[test]))
        scored = ~np.isnan(decisions[:, 0])
        return temperature_scale(decisions[scored], codes[scored], weights[scored])

    def _bayes(self) -> TextNB:
        """Make the naive Bayes classifier that holds the counts."""
        return TextNB("binary", weights=None, **{name: getattr(self, name) for name in SHARED})

    def _take(self, bayes: TextNB, coef: Float64, intercept: Float64, scale: float) -> None:
        """Set the fitted attributes. Raises ValueError if their shapes do not match."""
        self._weighed = Weighed.of(bayes.model_, coef, intercept, scale)
        self.bayes_ = bayes
        self.classes_ = bayes.classes_
        self.coef_ = coef
        self.intercept_ = intercept
        self.scale_ = scale

    # ---- predicting --------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Float64:
        """Return w' · x + b' of each class, (n, C); for two classes of the second one, (n,)."""
        check_is_fitted(self)
        return _decisions(self.bayes_, self.coef_, self.intercept_, documents_of(X))

    def predict(self, X: Any, costs: Any = None, unsure: float | None = None) -> npt.NDArray[Any]:
        """Predict the class with the highest decision, (n,), or with the least expected cost.

        Parameters
        ----------
        X : (n,) documents.
        costs, unsure : as for `TextNB`.

        Raises
        ------
        ValueError : if the costs or `unsure` are invalid.
        """
        posterior, jobs = self._posterior(), workers(self.n_jobs)
        documents = documents_of(X)
        if costs is None and unsure is None:
            return posterior.predict(documents, jobs)
        return DecisionRule.of(costs, unsure, self.classes_).labels(posterior, documents, jobs)

    def predict_top(self, X: Any, k: int) -> tuple[npt.NDArray[Any], Float64]:
        """Return (the k most probable labels of each document, their P(c | x)), (n, k) both."""
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
        """The counts with the weights w' and b'."""
        return self._weighed

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model, with the counts of naive Bayes, to a file for `naively.load`.

        ``naively predict``, ``evaluate``, ``explain`` and ``inspect`` read it, too.
        """
        check_is_fitted(self)
        params = self.get_params(deep=False)
        learned = {"coef": self.coef_, "intercept": self.intercept_, "scale": self.scale_}
        save(Saved(self.bayes_.model_, type(self).__name__, params, learned=learned), path)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_weighed"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "bayes_" in state:
            self._take(self.bayes_, self.coef_, self.intercept_, self.scale_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")


def _ratios(bayes: TextNB) -> Float64:
    """Return r of each class against the rest, (C, V).

    Complement weights are minus the log-probabilities of the rest, so they are added.
    """
    total = bayes._parameters.total
    complement = ComplementParameters(total, bayes.alpha_, norm=False)
    return bayes.feature_log_prob_ + complement.weights(slice(0, total.shape[1]))


def _rows(bayes: TextNB, documents: Documents) -> Any:
    """Return the presence of terms in documents as a CSR matrix of zeros and ones, (n, V)."""
    return bayes._parameters.matrix(documents, workers(bayes.n_jobs))


def _decisions(bayes: TextNB, coef: Float64, intercept: Float64, documents: Documents) -> Float64:
    """Return the decisions of documents, (n, C); for two classes (n,)."""
    scores: Float64 = _rows(bayes, documents) @ coef.T + intercept
    return scores if len(bayes.classes_) > 2 else scores[:, 0]


def _both(decisions: Float64) -> Float64:
    """Return decisions as a score for each class, (n, C); two classes get minus and plus half."""
    return decisions if decisions.ndim > 1 else np.stack([-decisions, decisions], axis=1) / 2.0
