"""The story that a generative model tells: rows that it draws, and its own least error."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from naively.engines.threads import workers
from naively.posterior import Posterior
from naively.schema import Schema

CELLS = 1 << 22  # of rows that are drawn at a time: 32 MiB of numbers


@dataclass(frozen=True)
class BayesError:
    """R(f*), the error of the Bayes classifier if the model is the truth, estimated by chance.

    Attributes
    ----------
    value : the share of rows that the best classifier gets wrong.
    standard_error : of it; the error lies within two of these in 95 cases of 100.
    n_samples : rows that were drawn.
    """

    value: float
    standard_error: float
    n_samples: int

    def __str__(self) -> str:
        rows = f"{self.n_samples:,} rows drawn"
        return f"{self.value:.4f} ± {self.standard_error:.4f} ({rows}; ± is one standard error)"


class Stories:
    """What every classifier can do that says how rows come about."""

    n_jobs: int | None

    @abstractmethod
    def _posterior(self) -> Posterior:
        """What the model answers as it is now."""

    def sample(
        self, n_samples: int = 1, random_state: Any = None, *, label: Any = None,
        length: int | None = None,
    ) -> tuple[Any, Any]:  # fmt: skip
        """Rows drawn from the model, (X, y): a class from the prior, then a row of that class.

        Lecture 1: "we can use this to generate a spam email, i.e., a document x of class y = spam
        by picking m words independently at random": ``sample(label="spam", length=m)``.

        Parameters
        ----------
        n_samples : int, 0 or more.
        random_state : None, int or RandomState, as in scikit-learn.
        label : the class of all rows; by default each row's is drawn from the prior.
        length : int
            Events in each row, m = Σ_α x_α, such as the words of a document: for `MultinomialNB`,
            `ComplementNB` and text; 100 by default.

        Returns
        -------
        X : (n_samples, d) array; a list of texts from `TextNB`; from models of tables a table of
            the kind that was learned, an Arrow table if the model was read from a file.
        y : (n_samples,) labels.

        Raises
        ------
        ValueError : if the label is none of the classes, or the rows of the model have no length.
        """
        _check_count(n_samples, 0)
        posterior, generator = self._posterior(), _generator(random_state)
        drawn, labels = posterior.sample(n_samples, generator, label, length)
        return self._shown(posterior.schema, drawn), labels

    def bayes_error(
        self, n_samples: int = 100_000, random_state: Any = None, *, length: int | None = None
    ) -> BayesError:
        """R(f*) = P(f*(X) ≠ Y), the least error there is, if the model is the truth.

        Lecture 2, "Optimal Classification": even the optimal classifier makes mistakes. This is
        the mean of 1 - max_c P(c | x) over rows that are drawn from the model.

        Parameters
        ----------
        n_samples : int, 2 or more: rows to draw.
        random_state : None, int or RandomState, as in scikit-learn.
        length : int
            Events in each row, as for `sample`: the longer, the less error.

        Returns
        -------
        BayesError, with its standard error.

        Raises
        ------
        ValueError : where the scores are no distribution that rows can be drawn from: those of
            `AutoBayes`, of "complement", and of texts whose counts are weighted or "binary".

        Examples
        --------
        Two normal densities whose means are two standard deviations apart: R(f*) = Φ(-1) = 0.1587.

        >>> from naively import GaussianNB
        >>> model = GaussianNB.from_parameters([[-1.0], [1.0]], 1.0)
        >>> print(model.bayes_error(random_state=0))
        0.1589 ± 0.0005 (100,000 rows drawn; ± is one standard error)
        """
        _check_count(n_samples, 2)
        posterior, generator = self._posterior(), _generator(random_state)
        family = posterior.schema.family
        if not family.is_story:
            raise ValueError(
                f"the scores of {family.name} naive Bayes are not those of rows that it draws: "
                "it has no Bayes error"
            )
        jobs, total, squares = workers(self.n_jobs), 0.0, 0.0
        step = max(CELLS // max(len(posterior.schema.names), 64), 1)
        for start in range(0, n_samples, step):
            drawn, _ = posterior.sample(min(step, n_samples - start), generator, length=length)
            proba = posterior.proba(self._scored(posterior.schema, drawn), jobs)
            lost = 1.0 - proba.max(axis=1)
            total += lost.sum()
            squares += (lost**2).sum()
        value = total / n_samples
        variance = max(squares / n_samples - value**2, 0.0)
        return BayesError(value, math.sqrt(variance / (n_samples - 1)), n_samples)

    def _shown(self, schema: Schema, drawn: Any) -> Any:
        """Rows that were drawn, as people have them."""
        return drawn

    def _scored(self, schema: Schema, drawn: Any) -> Any:
        """Rows that were drawn, as the model takes them."""
        return drawn


def _generator(random_state: Any) -> np.random.Generator:
    return np.random.default_rng(check_random_state(random_state).randint(2**31))


def _check_count(n_samples: Any, least: int) -> None:
    if not isinstance(n_samples, Integral) or n_samples < least:
        raise ValueError(f"n_samples must be a number of rows, {least} or more, not {n_samples!r}")
