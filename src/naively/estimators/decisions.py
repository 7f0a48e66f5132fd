"""What every classifier decides by its probabilities: labels, for their costs; another prior."""

from __future__ import annotations

import copy
from abc import abstractmethod
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from naively.decisions import DecisionRule, likeliest
from naively.exact import Float64
from naively.posterior import Posterior
from naively.prior import Prior, adapted
from naively.statistics.base import Data
from naively.workers import Workers


class Deciding:
    """Labels from probabilities: those that cost least, and none where no class is sure."""

    model_: Any
    _as_set: Any
    _prior_parameter = "prior"
    """The name of the parameter that may hold probabilities of the classes."""

    @abstractmethod
    def _prior(self) -> Prior: ...

    @abstractmethod
    def _ask(self, X: Any, answer: Any) -> npt.NDArray[Any]: ...

    def predict(self, X: Any, costs: Any = None, unsure: float | None = None) -> npt.NDArray[Any]:
        """The label of each row, (n,): the most probable class, unless costs say otherwise.

        Parameters
        ----------
        X : (n, d) rows, as for `fit`.
        costs : (C, C) numbers or dict
            What it costs to predict each class (column) where each is true (row), in the order of
            `classes_`; or {(true, predicted): cost}, 0 for pairs that are not named. A row gets
            the label k of least expected cost Σ_c P(c | x) cost[c, k]; of equals the first.
        unsure : float
            Leave the label open where the most probable class has P(c | x) < `unsure`, above 0 and
            at most 1: the result is then an array of objects, None where it is open.

        Raises
        ------
        ValueError : saying what is wrong with the rows, the costs or `unsure`.
        """
        if costs is None and unsure is None:
            return self._ask(X, Posterior.predict)

        def answer(posterior: Posterior, rows: Data, jobs: Workers) -> npt.NDArray[Any]:
            return DecisionRule.of(costs, unsure, posterior.classes).labels(posterior, rows, jobs)

        return self._ask(X, answer)

    def predict_top(self, X: Any, k: int) -> tuple[npt.NDArray[Any], Float64]:
        """The k most probable classes of each row, the most probable first.

        Parameters
        ----------
        X : (n, d) rows, as for `fit`.
        k : how many, 1 or more; all classes if they are fewer.

        Returns
        -------
        (their labels, their P(c | x)), (n, k) both. The first labels are those of `predict`.
        """
        asked: list[Posterior] = []  # another thread may teach the model new classes meanwhile

        def answer(posterior: Posterior, rows: Data, jobs: Workers) -> npt.NDArray[Any]:
            asked.append(posterior)
            return np.stack(likeliest(posterior, rows, k, jobs), axis=2)

        found = self._ask(X, answer)
        return asked[0].classes[found[..., 0].astype(np.int64)], found[..., 1]

    def adapt_prior(self, X: Any) -> Self:
        """A copy of this classifier for rows of which the classes are more or less frequent.

        Re-estimates the class prior from rows without labels, where P(x | c) is as it was and only
        the prior is another (label shift): the prior under which these rows are most probable, by
        expectation maximisation (Saerens, Latinne & Decaestecker 2002). It trusts P(x | c): of a
        model whose probabilities are far off, so is the prior.

        The copy predicts with the new prior, which is its parameter for given priors (`prior`,
        `priors` or `class_prior`): so it keeps it when it learns on, or is saved and loaded, and
        refuses classes that the prior does not name. This classifier does not change, and may go
        on learning.

        Parameters
        ----------
        X : (n, d) rows, as for `fit`: as many as possible.

        Raises
        ------
        ValueError : saying what is wrong with the rows.
        """
        check_is_fitted(self)
        new = copy.deepcopy(self)  # another thread may be teaching this one

        def answer(posterior: Posterior, rows: Data, jobs: Workers) -> npt.NDArray[Any]:
            with np.errstate(invalid="ignore"):  # of a class without rows
                return posterior.log_proba(rows, jobs) - posterior.log_prior

        prior = adapted(new._ask(X, answer), new.model_.posterior().class_prior)
        setattr(new, self._prior_parameter, tuple(prior.tolist()))
        with new._as_set():
            return new
