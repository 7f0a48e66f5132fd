"""What every classifier knows: probabilities under its terms of the lectures, and parameters."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sklearn.utils.metaestimators import available_if

from naively.estimators.validation import check_labels, require_labels
from naively.exact import Float64, Int64
from naively.posterior import Posterior
from naively.statistics.base import Data
from naively.tables.parameters import parameters
from naively.workers import Workers


def has_density(estimator: Any) -> bool:
    """Whether its scores are a density of x; AttributeError if they are none."""
    family = estimator._family()
    if not family.is_density:
        raise AttributeError(f"the scores of {family.name} naive Bayes are no density of x")
    return True


class Inside:
    """P(x | y), the likelihood of rows, and all that was estimated."""

    model_: Any

    @abstractmethod
    def _ask(self, X: Any, answer: Any) -> npt.NDArray[Any]: ...

    @abstractmethod
    def _posterior(self) -> Posterior: ...

    @available_if(has_density)  # type: ignore[untyped-decorator]
    def predict_log_likelihood(self, X: Any) -> Float64:
        """log P(x | c), (n, C), in nats: all of it, the terms that depend on x alone included.

        The log of the class conditional density or probability (lecture 2). With log π_c it is
        log P(x, c), of which `predict_joint_log_proba` leaves out the terms in x alone, and
        `score_samples` is the log of the sum over the classes. Classifiers whose scores are no
        density of x do not have this method: complement naive Bayes and `AutoBayes`.
        """
        return self._ask(X, Posterior.log_likelihood)

    def log_likelihood(self, X: Any, y: Any, conditional: bool = False) -> float:
        """The log-likelihood of rows and their labels under the model, in nats.

        Lecture 2: Σ_i log P(x_i, y_i), which the parameters of maximum likelihood maximise (MLE);
        or Σ_i log P(y_i | x_i), which logistic regression maximises (MCLE).

        Parameters
        ----------
        X : (n, d) rows, as for `fit`.
        y : (n,) labels, as for `fit`.
        conditional : bool
            Of the labels given the rows, instead of both.

        Raises
        ------
        ValueError : for labels that the model does not know or that are missing, saying where; and
            for the joint likelihood of a model whose scores are no density of x.
        """
        X, y = self._with_labels(X, y)
        scores = self._ask(X, likelihood(conditional))
        codes = codes_of(check_labels(y, len(scores)), self.model_.classes)
        return math.fsum(scores[np.arange(len(codes)), codes].tolist())

    def _with_labels(self, X: Any, y: Any) -> tuple[Any, Any]:
        """(rows without labels, the labels)."""
        require_labels(self, y)
        return X, y

    @property
    def parameters_(self) -> pa.Table:
        """All that was estimated, a number a row, as an Arrow table; `.to_pandas()` makes a frame.

        The columns are `class`, `feature`, `level`, `parameter` and `value`. A `parameter` is
        called as ``naively inspect`` calls it: ``prior`` for π_c, of no feature; ``mean`` and
        ``sd`` for μ_αc and σ_αc; ``p`` for [θ_jc]_α of a level, range or term, for θ_αc or p_αc of
        a feature; ``w`` for the weights of "complement". A ``covariance`` has its second feature
        for a level, and is there once of each two; that of all classes stands in each. A cell of
        a joint table has all features and all levels, as "outlook × wind" and "rain × weak", if it
        was met; without a level stands any other cell. The evidence of `AutoBayes` is left out:
        `evidence_` and ``naively inspect`` show it.
        """
        return parameters(self._posterior())

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The labels met so far, sorted, (C,)."""
        return self.model_.classes

    @property
    def class_count_(self) -> Float64:
        """Total weight of the rows of each class, (C,)."""
        model = self.model_
        with model.lock:
            return model.class_weight.rounded()

    @property
    def class_prior_(self) -> Float64:
        """π_c, (C,)."""
        return self.model_.posterior().class_prior

    @property
    def n_parameters_(self) -> int:
        """Number of free parameters, as the lectures count them: C - 1 for the prior, and ...

        Exact; printed, thousands of digits become an order of magnitude.
        """
        return self.model_.posterior().n_parameters

    @property
    def _parameters(self) -> Any:
        """Those of the family."""
        return self.model_.posterior().parameters


def likelihood(conditional: bool) -> Any:
    """What a posterior is asked for: log P(y | x), or log P(x, y)."""
    return Posterior.log_proba if conditional else _joint


def _joint(posterior: Posterior, rows: Data, jobs: Workers) -> Float64:
    return posterior.log_likelihood(rows, jobs) + posterior.log_prior


def codes_of(labels: npt.NDArray[Any], classes: npt.NDArray[Any], before: int = 0) -> Int64:
    """The position of each label among the classes; ValueError for one that is not there.

    `before` rows come before these, for the error.
    """
    known = {label: code for code, label in enumerate(classes.tolist())}
    codes = np.array([known.get(label, -1) for label in labels.tolist()], np.int64)
    if (codes < 0).any():
        row = int((codes < 0).argmax())
        raise ValueError(
            f"y has the label {labels.tolist()[row]!r} in row {before + row}, which the model does "
            f"not know: it knows {', '.join(map(repr, known))}"
        )
    return codes
