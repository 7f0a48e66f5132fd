"""`JointBayes`: the Bayes classifier by counting identical rows of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, cast

from naively.core.exact import Float64
from naively.core.workers import Workers
from naively.estimators.shared.table import TableClassifier
from naively.families.discrete.joint import Joint
from naively.io.inputs import MISSING
from naively.model.model import Model
from naively.model.posterior import Posterior
from naively.model.prior import ClassWeight, PriorLike, Virtual
from naively.model.schema import Block, Schema, Why
from naively.statistics.base import Data
from naively.tables.names import few
from naively.tables.targets import LabelCodes


@dataclass(eq=False, repr=False)
class JointBayes(TableClassifier):
    """The Bayes classifier of the full joint table: P(y | x) by counting identical rows.

    This is |C| / |B| of lecture 1. It assumes no independence, and so has K (2^d - 1) probabilities
    to estimate for d binary columns and K classes, which needs too much data if d is large; naive
    Bayes avoids this. All columns are categorical (numbers by their text) and all count, including
    constants and identifiers.

    P(y = c | x) is proportional to π_c (N_c(x) + alpha) / (N_c + alpha M), where N_c(x) is the
    number of training rows of class c that are identical to x, N_c the number of those without a
    missing value, and M = Π_α K_α the number of cells. Only cells with training rows use memory.

    - If x is not in the training data, all N_c(x) are 0. With ``alpha=0`` the result is then the
      class prior, and `score_samples` is -inf. The same holds if x has an unseen category.
    - Missing values of x are summed out exactly. If all values are missing, the result is the class
      prior.
    - Training rows with a missing value count for the class prior only.
    - `explain` adds the columns in their order: the contribution of a column is the change of the
      score given the columns before it. Another order splits the same sum in another way.
    - All training rows must have the same columns, in any order. A column that is absent at
      prediction counts as missing.

    Parameters
    ----------
    alpha : float or "auto"
        Virtual counts of each cell; 0 for |C| / |B|; "auto" as in `MultinomialNB`.
    min_categories : int, (d,) sequence or None
        Minimum K_α, for all columns or for each in order: 2 for pixels, some of which are
        constant. Unseen categories score as categories with count 0 in either case.
    prior, prior_smoothing, class_weight, missing, n_jobs : as for `NaiveBayes`.

    Attributes
    ----------
    classes_ : (C,) class labels, sorted.
    class_count_ : (C,) total weight of the rows of each class.
    n_parameters_ : int, C - 1 + C (M - 1), exact however large.
    feature_names_in_ : names of the columns of X, if X had column names.
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
    prior: PriorLike = "empirical"
    prior_smoothing: Virtual = 0.0
    class_weight: ClassWeight = None
    missing: Sequence[str] = MISSING
    n_jobs: int | None = None

    def _schema(self, table: Any, labels: LabelCodes, existing: Model | None) -> Schema:
        names, columns = tuple(table.column_names), self._columns()
        block = Block(cast(Joint, columns.whole), names)
        return Schema((block,), dict.fromkeys(names, Why("joint table")), columns.missing)

    def _go_on(self, delta: Model, attributes: dict[str, Any]) -> None:
        columns, new_columns = self.model_.schema.names, delta.schema.names
        if {*columns} != {*new_columns}:
            pairs = ("lack", columns, new_columns), ("add", new_columns, columns)
            problems = [
                f"{what} {few([name for name in names if name not in others])}"
                for what, names, others in pairs
                if not {*names} <= {*others}
            ]
            raise ValueError(
                f"a joint table needs all of its columns in each row, and no others: these "
                f"{' and '.join(problems)}"
            )
        super()._go_on(delta, attributes)

    def counts(self, X: Any) -> Float64:
        """Return the weight of the training rows of each class that are identical to x, (n, C).

        Lecture 1: |C| is the number in the column of the class, |B| the sum over the columns, and
        P(y | x) = |C| / |B|. If x has missing values, training rows that agree in the other columns
        count. Training rows with a missing value do not count.
        """

        def answer(posterior: Posterior, rows: Data, jobs: Workers) -> Float64:
            parameters: Any = posterior.parameters
            return cast(Float64, parameters.matching(rows))

        return self._ask(X, answer)
