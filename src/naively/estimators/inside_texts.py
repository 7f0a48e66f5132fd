"""What classifiers of text say of their terms, and of documents."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from naively.estimators.validation import documents_of
from naively.exact import Float64
from naively.explanations import writable
from naively.families.text_parameters import HASHED
from naively.labels import Labels
from naively.multilabel import LabelsPosterior
from naively.posterior import Posterior
from naively.tables.telling import bits_of, telling_terms
from naively.tables.why_not import WhyNot, document_table, why_not
from naively.text_explanation import TextExplanations


class InsideTexts:
    """Reasons, and the terms with what they tell."""

    _posterior: Any

    def explain(self, X: Any) -> TextExplanations:
        """Why each document has its scores: what its terms and the prior add to each class.

        Printing one shows the terms that matter most; a notebook also marks them in the text.
        `to_html` makes a page of all, and `to_arrow` a flat table. Of `NBSVM` the intercept is in
        the place of the prior.
        """
        return TextExplanations.of(self._posterior(), documents_of(X))

    def why_not(self, X: Any, label: Any = None) -> list[WhyNot]:
        """What would have to be said in each document for it to be of another class.

        Parameters
        ----------
        X : (n,) documents.
        label : the class that is asked about; by default the next most probable one of each.

        Returns
        -------
        list of `WhyNot` : print one, or ask it for its `terms`, those that would add most to the
            log-odds of that class, and how many of them would be enough `together`.

        Raises
        ------
        ValueError : if the label is not one of the classes.
        """
        return list(why_not(self._posterior(), document_table(X), label))

    def telling_terms(self, k: int = 10) -> pa.Table:
        """The k terms of each class that tell most about it, as an Arrow table, a line each.

        Its columns are ``class``, ``term``, ``log_odds`` (in nats: what the term adds to the class
        against the others together) and ``bits`` (as `information_` has them), for each class what
        tells most first: what is as frequent in the class as its log-odds are high. Only terms
        that speak for the class are listed.

        Raises
        ------
        ValueError : if terms are hashed, so that their names are not kept; or if k is no number of
            terms.
        """
        _check_number(k)
        posterior: Posterior = self._posterior()
        parameters: Any = posterior.parameters
        if parameters.hashed:
            raise ValueError(HASHED)
        found = telling_terms(posterior, parameters, int(k))
        return _told("class", posterior.classes, found)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """`terms_`, under the name that scikit-learn's `CountVectorizer` has for them."""
        parameters: Any = self._posterior().parameters
        return np.array(parameters.terms, object)

    @property
    def terms_(self) -> npt.NDArray[Any]:
        """The terms that count, sorted, (V,)."""
        return self.get_feature_names_out()

    @property
    def information_(self) -> Float64:
        """Mutual information I(term; class) in bits, (V,): of one word, "bernoulli": one document.

        For "complement" that of the multinomial model of the same counts, as for `NBSVM`, whose
        documents have each term once.
        """
        posterior: Posterior = self._posterior()
        parameters: Any = posterior.parameters
        return bits_of(parameters.events(()), posterior.class_prior)


class InsideLabels:
    """Reasons and telling terms where documents have any number of labels."""

    _posterior: Any

    def explain(self, X: Any, label: Any) -> TextExplanations:
        """Why each document has the probability of a label that it has: what its terms, the prior
        and the bias add to the log-odds of ``label`` against ``not label``.

        Raises
        ------
        ValueError : if the label is none of `classes_`.
        """
        return TextExplanations.of(self._posterior().of(label), documents_of(X))

    def telling_terms(self, k: int = 10) -> pa.Table:
        """The k terms of each label that tell most for it, as an Arrow table, a line each.

        Its columns are ``label``, ``term``, ``log_odds`` (in nats: what the term adds to the label)
        and ``bits`` (what one chance of it tells about the label), what tells most first. Only
        terms that speak for the label are listed.

        Raises
        ------
        ValueError : if terms are hashed, so that their names are not kept; or if k is no number of
            terms.
        """
        _check_number(k)
        posterior: LabelsPosterior = self._posterior()
        if posterior.parameters.vocabulary is None:
            raise ValueError(HASHED)
        each = [posterior.of(label) for label in posterior.classes.tolist()]
        found = [telling_terms(one, one.parameters, int(k))[1] for one in each]
        return _told("label", posterior.classes, found)

    @property
    def terms_(self) -> npt.NDArray[Any]:
        """The terms that count, sorted, (V,)."""
        return np.array(self._posterior().parameters.terms, object)


def _check_number(k: Any) -> None:
    if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 0:
        raise ValueError(f"k must be a number of terms, 0 or more, not {k!r}")


def _told(
    called: str, classes: Labels, found: Sequence[Sequence[tuple[str, float, float]]]
) -> pa.Table:
    """The terms of each class with what they tell, a line each."""
    labels = pa.array(classes.tolist())
    sizes = [len(own) for own in found]
    term, odds, bits = zip(*chain(*found), strict=True) if sum(sizes) else [()] * 3
    return pa.table(
        {
            called: labels.take(pa.array(np.repeat(np.arange(len(sizes)), sizes))),
            "term": pa.array(map(writable, term), pa.string()),
            "log_odds": pa.array(odds, pa.float64()),
            "bits": pa.array(bits, pa.float64()),
        }
    )
