"""`AutoBayes`: naive Bayes with weights and interactions chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass

from naively.estimators.shared.table import TableClassifier
from naively.io.inputs import MISSING
from naively.model.model import Model
from naively.model.prior import ClassWeight, PriorLike, Virtual
from naively.pooling.blocks.shapes import Shape
from naively.pooling.screening import Interactions
from naively.tables.identifiers import short_texts


@dataclass(eq=False, repr=False)
class AutoBayes(TableClassifier):
    """Naive Bayes with calibrated probabilities for any table, without tuning.

    The score of class c is log π_c + b_c + Σ_k w_k e_kc(x), where e_kc is the evidence of block k:
    a column, or an interaction of two to four columns. Numbers, dates and times are binned. All
    numeric columns together are further blocks, as Gaussian densities, and from twenty columns on
    as a logistic regression; the words of each text column are blocks, too, and decision trees for
    rules of many conditions. Weights, interactions and smoothing are those with the best
    out-of-fold log-loss: docs/evidence.md explains the method.

    The model stores the distinct training rows, and derives everything from them. So a sum of
    models, or a model after `forget`, is bit for bit the model of the rows that remain. Model files
    contain these rows.

    Parameters
    ----------
    interactions : "auto", 3, 2 or 0
        "auto" for interactions of two to four columns and decision trees, 3 for pairs and
        triples, 2 for pairs, 0 for none.
    text : sequence of str, optional
        Names of text columns, whose words are evidence. Needed for short texts only, such as
        titles: columns of mostly distinct texts with six words or more on average are recognised.
        By default `fit` warns about columns that look like short texts; [] turns this off.
    categorical, numeric : sequence of str
        Names of columns to treat as categorical although their values are numbers, such as codes;
        or as numeric, where other values count as missing. Not needed for types that a data frame
        or file declares (pandas' category, Arrow's dictionary, Enum and Categorical of polars,
        nominal columns of ARFF).
    monotone : dict of str to int, optional
        1 or -1 for numeric columns whose effect has one direction: with 1 the log-odds of the
        second class of `classes_` never fall with the column, all else being equal; with -1 they
        never rise; 0 is no constraint. Needs two classes. Such a column is in no interaction, and
        other values than numbers are missing; a missing value is not constrained.
    limit : int
        Maximum number of distinct rows to store. Of more rows the model stores a random sample, in
        which a row is with a probability in proportion to its weight, and estimates everything but
        the class prior from it. Forgetting a row outside the sample changes the prior alone.
    prior : "empirical", "uniform", probabilities in the order of the classes, or a dict by class
        A dict may omit one class, which gets the remaining probability.
    prior_smoothing : float, sequence or dict
        Virtual examples of each class: one number for all, a sequence in the order of the classes,
        or a dict by class.
    class_weight : None, "balanced" or dict
        Weights of the classes, 1 for those that a dict does not name; "balanced" gives all classes
        the same total. They change the class prior alone: P(c | x) is multiplied by the weight of
        c and normalised.
    missing : sequence of str
        Strings that mean a missing value, besides NaN and null.
    n_jobs : int, optional
        Number of threads, None for all processors. The result does not depend on it.

    Attributes
    ----------
    classes_ : (C,) class labels, sorted.
    feature_names_in_ : names of the columns of X, if X had column names.
    evidence_ : list of `naively.pooling.blocks.shapes.Shape`: columns, weight and bins of each
        block, and the evidence and rows of each cell, as arrays and by `to_arrow()`; of a feature
        with interactions also its mean contribution in each bin, interactions included (`total`).
        The evidence of its table alone may point the other way. The most important block comes
        first.
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
    monotone: Mapping[str, int] | None = None
    limit: int = 1_000_000
    prior: PriorLike = "empirical"
    prior_smoothing: Virtual = 0.0
    class_weight: ClassWeight = None
    missing: Sequence[str] = MISSING
    n_jobs: int | None = None

    @property
    def evidence_(self) -> list[Shape]:
        """Weight, bins and evidence of each block, the most important block first."""
        return self._posterior().shapes

    def _hints(self, learned: Model) -> list[str]:
        hints = {} if self.text is not None else short_texts(learned)
        return [f"column {n!r} holds {hint}AutoBayes(text=[{n!r}])" for n, hint in hints.items()]
