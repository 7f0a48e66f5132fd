"""What classifiers of text say of their terms, and of documents."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from naively.exact import Float64
from naively.explanations import writable
from naively.families.text_parameters import HASHED
from naively.posterior import Posterior
from naively.tables.telling import bits_of, telling_terms
from naively.tables.why_not import WhyNot, document_table, why_not
from naively.text.documents import Documents
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
        return TextExplanations.of(self._posterior(), Documents.of(X))

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
        if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 0:
            raise ValueError(f"k must be a number of terms, 0 or more, not {k!r}")
        posterior: Posterior = self._posterior()
        parameters: Any = posterior.parameters
        if parameters.hashed:
            raise ValueError(HASHED)
        found = telling_terms(posterior, parameters, int(k))
        labels = pa.array(posterior.classes.tolist())
        sizes = [len(own) for own in found]
        term, odds, bits = zip(*chain(*found), strict=True) if sum(sizes) else [()] * 3
        return pa.table(
            {
                "class": labels.take(pa.array(np.repeat(np.arange(len(sizes)), sizes))),
                "term": pa.array(map(writable, term), pa.string()),
                "log_odds": pa.array(odds, pa.float64()),
                "bits": pa.array(bits, pa.float64()),
            }
        )

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
