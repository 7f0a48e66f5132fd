"""`JointBayes`: the Bayes classifier by counting identical rows of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, cast

from naively.core.exact import Float64
from naively.core.model import Model
from naively.core.posterior import Posterior
from naively.core.prior import ClassWeight, Given, Virtual
from naively.core.schema import Block, Schema, Why
from naively.core.workers import Workers
from naively.estimators.shared.table import TableClassifier
from naively.families.discrete.joint import Joint
from naively.io.inputs import MISSING
from naively.statistics.base import Data
from naively.tables.names import few
from naively.tables.targets import LabelCodes


@dataclass(eq=False, repr=False)
class JointBayes(TableClassifier):
    """The Bayes classifier of the full joint table: P(y | x) by counting identical rows.

    Lecture 1's |C| / |B|, of which naive Bayes is the cure where d is large: no independence is
    assumed, and K (2^d - 1) probabilities are learned of d binary columns and K classes. Each
    column is one of levels: text, truth values, and numbers by their text. All columns count,
    constants and identifiers too.

    P(y = c | x) is proportional to π_c (N_c(x) + alpha) / (N_c + alpha M): N_c(x) rows of the class
    are identical to x, N_c have no missing value, and M = Π_α K_α is the number of cells. Only rows
    that were met take memory.

    - x was never seen: with ``alpha=0`` the answer is the class prior, and `score_samples` is
      -inf; else all N_c(x) are 0 in the formula. So it is if a level was never met in its column.
    - x has missing values: they are summed out, exactly. A row with all of them missing gets the
      class prior.
    - A row with a missing value is no cell when learning: only the prior learns from it.
    - `explain` splits a score in the order of the columns: what each adds, given those before it.
      Other orders give other splits of the same sum.
    - All rows that are learned must have the same columns, in any order; a column that is lacking
      when predicting counts as missing.

    Parameters
    ----------
    alpha : float or "auto"
        Virtual counts of each cell; 0 for |C| / |B|; "auto" as in `MultinomialNB`.
    min_categories : int, (d,) sequence or None
        Least K_α of every or each column, in their order: 2 for pixels, some of which never vary.
        A level that was never met scores as one with count 0, with or without it.
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
    class_count_ : (C,) total weight of the rows of each class.
    n_parameters_ : int, C - 1 + C (M - 1), exact however large.
    feature_names_in_ : names of the columns that were given, if they had names.
    model_ : Model, with the schema.

    Examples
    --------
    >>> from naively import JointBayes
    >>> table = {"rain": ["yes", "yes", "no", "no"], "wind": ["yes", "no", "yes", "no"]}
    >>> JointBayes(alpha=0).fit(table, ["stay", "go", "go", "stay"]).predict(table).tolist()
    ['stay', 'go', 'go', 'stay']
    """

    _takes_sparse = False
    _name = "JointBayes"

    alpha: float | Literal["auto"] = 1.0
    _: KW_ONLY
    min_categories: int | Sequence[int] | None = None
    prior: Given = "empirical"
    prior_smoothing: Virtual = 0.0
    class_weight: ClassWeight = None
    missing: Sequence[str] = MISSING
    n_jobs: int | None = None

    def _schema(self, table: Any, labels: LabelCodes, known: Model | None) -> Schema:
        names, columns = tuple(table.column_names), self._columns()
        block = Block(cast(Joint, columns.whole), names)
        return Schema((block,), dict.fromkeys(names, Why("joint table")), columns.missing)

    def _go_on(self, delta: Model, noted: dict[str, Any]) -> None:
        mine, theirs = self.model_.schema.names, delta.schema.names
        if {*mine} != {*theirs}:
            problems = [
                f"{what} {few([name for name in names if name not in others])}"
                for what, names, others in (("lack", mine, theirs), ("add", theirs, mine))
                if not {*names} <= {*others}
            ]
            raise ValueError(
                f"a joint table learns rows that have all of its columns and no others: these "
                f"{' and '.join(problems)}"
            )
        super()._go_on(delta, noted)

    def counts(self, X: Any) -> Float64:
        """How many rows identical to each of these were learned, by class, (n, C): their weight.

        Lecture 1: |C| is the number in the column of the class, |B| the sum over the columns, and
        P(y | x) = |C| / |B|. Where a row has missing values, rows count that agree in the others.
        A row that was learned with a missing value is no cell, and does not count.
        """

        def answer(posterior: Posterior, rows: Data, jobs: Workers) -> Float64:
            parameters: Any = posterior.parameters
            return cast(Float64, parameters.matching(rows))

        return self._ask(X, answer)
