"""`AutoBayes`: any table, by evidence that is weighed and pairs that matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

from naively.estimators.table import TableClassifier
from naively.evidence.screening import Interactions
from naively.evidence.shapes import Shape
from naively.families.pooled import Pooled
from naively.prior import Given, Virtual
from naively.tables.inference import Wishes
from naively.tables.inputs import MISSING


@dataclass(eq=False, repr=False)
class AutoBayes(TableClassifier):
    """Naive Bayes for any table whose probabilities can be bet on: nothing to choose.

    The score of class c is log π_c + b_c + Σ_k w_k e_kc(x): the evidence e of each column, weighed,
    and that of pairs and triples of columns where they tell more than their columns do. Numbers,
    dates and times are cut into bins; all numbers together are evidence too, as normal densities,
    and so are the words of each column of text.
    Weights and pairs are chosen by how rows are predicted by evidence that is not their own:
    docs/evidence.md tells the recipe in four steps.

    The rows are kept, each distinct one once: so what is chosen follows from which rows were
    learned. A model that merged others, or forgot rows, is bit for bit the model of the rows that
    are left. A model file holds these rows.

    Parameters
    ----------
    interactions : "auto" or 3 for pairs and triples of columns where they tell more, 2 for pairs, 0
        for none.
    limit : int
        Distinct rows that are kept, at most. Of more, those of the smallest hashes are: a random
        sample, from which all is estimated but the class prior. Forgetting a row that is not in it
        changes the prior alone.
    prior : "empirical", "uniform", probabilities in the order of the classes, or a dict by class
        Of a dict one class may be left out: it gets the rest.
    prior_smoothing : float, sequence or dict
        Virtual examples of each class: of all, in the order of the classes, or by class.
    missing : sequence of str
        Text that means a missing value, besides NaN and null.
    n_jobs : int, optional
        Threads; the result is the same for any number. None for all processors.

    Attributes
    ----------
    classes_ : (C,) the labels met so far, sorted.
    feature_names_in_ : names of the columns that were given, if they had names.
    evidence_ : list of `naively.evidence.shapes.Shape`: of each block its columns, weight, bins,
        and the evidence and rows of each cell, as arrays and by `to_arrow()`. What moves the scores
        most comes first.
    model_ : Model, with the schema.

    Examples
    --------
    >>> from naively import AutoBayes
    >>> table = {"outlook": ["sunny", "rain", "rain", None], "wind": [3.1, 7.2, 6.8, 5.5]}
    >>> AutoBayes().fit(table, ["no", "yes", "yes", "yes"]).predict(table).tolist()
    ['yes', 'yes', 'yes', 'yes']
    """

    _takes_sparse = False

    interactions: Interactions = "auto"
    _: KW_ONLY
    limit: int = 1_000_000
    prior: Given = "empirical"
    prior_smoothing: Virtual = 0.0
    missing: Sequence[str] = MISSING
    n_jobs: int | None = None

    @property
    def evidence_(self) -> list[Shape]:
        """What each block of evidence says, what moves the scores most first."""
        return self._posterior().shapes

    def _wishes(self) -> Wishes:
        whole = Pooled(self.interactions, self.limit)
        return Wishes({}, missing=tuple(self.missing), whole=whole)
