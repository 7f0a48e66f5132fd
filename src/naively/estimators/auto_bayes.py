"""`AutoBayes`: any table, by evidence that is weighed and pairs that matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

from naively.core.model import Model
from naively.core.prior import ClassWeight, Given, Virtual
from naively.estimators.shared.table import TableClassifier
from naively.io.inputs import MISSING
from naively.pooling.blocks.shapes import Shape
from naively.pooling.screening import Interactions
from naively.tables.identifiers import short_texts


@dataclass(eq=False, repr=False)
class AutoBayes(TableClassifier):
    """Naive Bayes for any table whose probabilities can be bet on: nothing to choose.

    The score of class c is log π_c + b_c + Σ_k w_k e_kc(x): the evidence e of each column, weighed,
    and that of two to four columns together where they tell more than each by itself. Numbers,
    dates and times are cut into bins; all numbers together are evidence too, as normal densities,
    and so are the words of each column of text.
    Weights and pairs are chosen by how rows are predicted by evidence that is not their own:
    docs/evidence.md tells the recipe in four steps.

    The rows are kept, each distinct one once: so what is chosen follows from which rows were
    learned. A model that merged others, or forgot rows, is bit for bit the model of the rows that
    are left. A model file holds these rows.

    Parameters
    ----------
    interactions : "auto" for pairs, triples and fours of columns where they tell more, 3 for pairs
        and triples, 2 for pairs, 0 for none.
    text : sequence of str, optional
        Names of columns that are texts, whose words are evidence, however short the texts are:
        titles, names of products. Longer texts, of six words or more on average and mostly
        different, are noticed by themselves. Unless this is given, also as [], a warning tells of
        columns that look like short texts.
    categorical, numeric : sequence of str
        Names of columns that are categorical although their values are numbers, such as codes; or
        numeric, whatever they look like: what is no number in them is missing. Types that a frame
        or file declares (pandas' category, Arrow's dictionary, the Enum and Categorical of polars,
        nominal columns of ARFF) hold without that.
    limit : int
        Distinct rows that are kept, at most. Of more, a random sample is, in which a row is with a
        probability in proportion to its weight; all but the class prior is estimated from it.
        Forgetting a row that is not in it changes the prior alone.
    prior : "empirical", "uniform", probabilities in the order of the classes, or a dict by class
        Of a dict one class may be left out: it gets the rest.
    prior_smoothing : float, sequence or dict
        Virtual examples of each class: of all, in the order of the classes, or by class.
    class_weight : None, "balanced" or dict
        Weights of the rows of each class, 1 of those that a dict does not name; "balanced" gives
        all classes the same total. They change the class prior alone: P(c | x) is multiplied by
        the weight of c and divided by the sum.
    missing : sequence of str
        Text that means a missing value, besides NaN and null.
    n_jobs : int, optional
        Threads; the result is the same for any number. None for all processors.

    Attributes
    ----------
    classes_ : (C,) the labels met so far, sorted.
    feature_names_in_ : names of the columns that were given, if they had names.
    evidence_ : list of `naively.pooling.blocks.shapes.Shape`: of each block its columns, weight,
        bins, and the evidence and rows of each cell, as arrays and by `to_arrow()`. What moves the
        scores most comes first.
    model_ : Model, with the schema.

    Examples
    --------
    >>> from naively import AutoBayes
    >>> table = {"outlook": ["sunny", "rain", "rain", None], "wind": [3.1, 7.2, 6.8, 5.5]}
    >>> AutoBayes().fit(table, ["no", "yes", "yes", "yes"]).predict(table).tolist()
    ['yes', 'yes', 'yes', 'yes']
    """

    _takes_sparse = False
    _name = "AutoBayes"

    interactions: Interactions = "auto"
    _: KW_ONLY
    text: Sequence[str] | None = None
    categorical: Sequence[str] = ()
    numeric: Sequence[str] = ()
    limit: int = 1_000_000
    prior: Given = "empirical"
    prior_smoothing: Virtual = 0.0
    class_weight: ClassWeight = None
    missing: Sequence[str] = MISSING
    n_jobs: int | None = None

    @property
    def evidence_(self) -> list[Shape]:
        """What each block of evidence says, what moves the scores most first."""
        return self._posterior().shapes

    def _hints(self, learned: Model) -> list[str]:
        found = {} if self.text is not None else short_texts(learned)
        return [
            f"column {name!r} holds {said}AutoBayes(text=[{name!r}])"
            for name, said in found.items()
        ]
