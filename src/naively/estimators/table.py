"""`NaiveBayes`: any table, each column with the family that fits it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, column_or_1d

from naively.engines.stream import in_order
from naively.engines.threads import workers
from naively.estimators.base import NaiveBayesClassifier, Question
from naively.estimators.validation import check_data, check_several
from naively.exact import Float64
from naively.explanation import Explanation
from naively.families.base import Family, InvalidValueError
from naively.families.categorical import Unseen
from naively.families.product import Blocks
from naively.families.text import Text
from naively.model import Model
from naively.prior import Prior
from naively.tables import values
from naively.tables.decode import to_columns
from naively.tables.explaining import explain
from naively.tables.frames import SparseTable, array_names, is_named, to_arrow
from naively.tables.inference import Wishes, infer, named, reconsidered
from naively.tables.inputs import MISSING
from naively.tables.model import TableModel, add_unfit, slices
from naively.tables.names import few
from naively.tables.schema import Schema, Unfit
from naively.tables.targets import Coded, coded, label_column
from naively.tables.union import union
from naively.workers import Serial

Given = tuple[Any, Coded, Float64 | None]
"""(table without the target, labels, weights)."""


class NaiveBayes(NaiveBayesClassifier):
    """Naive Bayes for any table: mixed columns, missing values, unseen levels.

    The independence assumption lets each column have a family of its own. Which one is inferred
    from the first 100,000 rows by the rule in `naively.tables.inference`, told by
    ``table_.schema.why``, and overruled by `columns`. Values that a column's family cannot take
    count as missing, with a warning.

    Parameters
    ----------
    columns : dict, optional
        A `Family`, the name of one, or "skip" for columns whose family is not to be inferred. A
        tuple of columns is one block for a family such as ``Multinomial()`` or ``Joint()``.
    family : None, "auto", str or Family
        Of the columns of numbers that `columns` does not name: None for the rule; "auto" for the
        one that predicts held-out rows best, column by column; or the family itself.
    alpha : float
        Virtual counts of each level, for inferred families.
    prior : "empirical", "uniform" or probabilities in the order of the classes.
    prior_smoothing : float
        Virtual examples of each class.
    unseen : "smooth", "ignore" or "error"
        What a level does at prediction that was never learned; see `Categorical`.
    missing : sequence of str
        Text that means a missing value, besides NaN and null.
    n_jobs : int, optional
        Threads; the result is the same for any number. None for all processors.

    Attributes
    ----------
    classes_ : (C,) the labels met so far, sorted.
    feature_names_in_ : names of the columns that were given, if they had names.
    table_ : TableModel, with the schema.

    Examples
    --------
    >>> from naively import NaiveBayes
    >>> table = {"outlook": ["sunny", "rain", "rain", None], "wind": [3.1, 7.2, 6.8, 5.5]}
    >>> NaiveBayes().fit(table, ["no", "yes", "yes", "yes"]).predict(table).tolist()
    ['no', 'yes', 'yes', 'yes']
    """

    def __init__(
        self,
        columns: Mapping[str | tuple[str, ...], Family | str] | None = None,
        *,
        family: Family | str | None = None,
        alpha: float = 1.0,
        prior: Literal["empirical", "uniform"] | Sequence[float] = "empirical",
        prior_smoothing: float = 0.0,
        unseen: Unseen = "smooth",
        missing: Sequence[str] = MISSING,
        n_jobs: int | None = None,
    ) -> None:
        self.columns = columns
        self.family = family
        self.alpha = alpha
        self.prior = prior
        self.prior_smoothing = prior_smoothing
        self.unseen = unseen
        self.missing = missing
        self.n_jobs = n_jobs

    # ---- learning ----------------------------------------------------------------------------

    def _family(self) -> Family:
        return self.table_.schema.product

    def _prior(self) -> Prior:
        return Prior(self.prior, self.prior_smoothing)

    def _wishes(self) -> Wishes:
        family = self.family
        return Wishes(
            dict(self.columns or {}),
            None if family in (None, "auto") else named(family),
            family == "auto",
            self.alpha,
            self.unseen,
            tuple(self.missing),
        )

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the rows of X alone.

        Parameters
        ----------
        X : a data frame, Arrow table, dict of columns, or array, (n, d).
        y : (n,) labels of at least two classes, or the name of the column of X that has them.
            Rows without a label are left out, with a warning.
        sample_weight : (n,) non-negative weights; a row of weight w counts as w rows.

        Raises
        ------
        ValueError : saying what is wrong and where.
        """
        given = self._given(X, y, sample_weight)
        check_several(given[1][0])
        learned = self._learned(given, y, None)
        check_several(learned.model.classes)
        if said := learned.nothing_told:
            warnings.warn(said, UserWarning, stacklevel=2)
        learned.model.check(workers(self.n_jobs))
        self._take(learned)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows: new classes, levels and columns may appear in any call.

        Families are inferred when a column is first met. Any split of the rows gives the same
        model, bit for bit, once all columns are known or named in `columns`.
        """
        first = not hasattr(self, "table_")
        given = self._given(X, y, sample_weight)
        learned = self._learned(given, y, None if first else self.table_)
        if classes is not None:
            learned.model.know_classes(np.asarray(classes))
        if first:
            self._take(learned)
        else:
            self._absorb(learned)
        return self

    def _absorb(self, learned: TableModel) -> None:
        total = self.table_.copy()
        total.model.prior = self._prior()
        total.absorb(learned)
        self._take(reconsidered(self._wishes(), total))

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Unlearn rows: the model is again, bit for bit, one that never met them.

        Raises
        ------
        ValueError : if these rows were not learned, as far as the sums can tell; the model is
            as it was.
        """
        check_is_fitted(self)
        table, labels, weights = self._given(X, y, sample_weight)
        self.table_.forget(self._summed(self.table_, table, labels, weights))
        return self

    def __add__(self, other: Self) -> Self:
        """The model that learned what both did, with the parameters of the left one."""
        if type(other) is not type(self):
            return NotImplemented
        check_is_fitted(self)
        check_is_fitted(other)
        total = clone(self)
        total.table_ = self.table_
        total._absorb(other.table_)
        return total

    def _given(self, X: Any, y: Any, sample_weight: Any) -> Given:
        """(table without the target, labels, weights), checked."""
        table = self._as_table(X)
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None"
            )
        if isinstance(y, str):
            if y not in table.column_names:
                raise ValueError(f"y names {y!r}, which is no column of X")
            column = table.column(y)
            table = table.drop_columns([y])
        else:
            if getattr(y, "ndim", 1) == 2:
                y = column_or_1d(y, warn=True)
            column = label_column(y)
        if len(table.column_names) == 0:
            raise ValueError(
                f"Found array with 0 feature(s) (shape=({len(column)}, 0)) while a minimum of "
                "1 is required."
            )
        if len(column) != table.num_rows:
            raise ValueError(f"X has {table.num_rows} rows, y has {len(column)}")
        if table.num_rows == 0:
            raise ValueError("X has no rows: Found array with 0 sample(s)")
        labels = coded(values.flat(column), self.missing)
        if labels[0].dtype.kind == "f" and np.isinf(labels[0]).any():
            raise ValueError("Input y contains infinity: no label can be infinite")
        found = labels[0]
        if found.dtype.kind == "f" and (found != np.floor(found)).any():
            raise ValueError(
                f"Unknown label type: continuous. y holds {found[found != np.floor(found)][0]}, "
                "where classes are text, whole numbers or truth values; cut it into ranges first"
            )
        return table, labels, _weights(sample_weight, table.num_rows)

    def _learned(self, given: Given, y: Any, known: TableModel | None) -> TableModel:
        """A model of these rows alone; self is unchanged."""
        table, labels, weights = given
        first, of_first = table, labels
        if weights is not None and not weights.all():  # rows of weight 0 are absent
            first = table.filter(pa.array(weights > 0))
            of_first = labels[0], labels[1][weights > 0]
        schema = self._schema(first, of_first, known)
        blank = TableModel.blank(schema, self._prior())
        blank.target = y if isinstance(y, str) else None
        learned = self._summed(blank, table, labels, weights)
        if learned.unlabelled:
            warnings.warn(
                f"{learned.unlabelled} of {table.num_rows} rows have no label and were left out",
                UserWarning, stacklevel=3,
            )  # fmt: skip
        self._warn(learned.unfit, "learned", schema)
        return learned

    def _warn(self, unfit: dict[str, Unfit], what: str, schema: Schema | None = None) -> None:
        """Warn of values that columns could not take."""
        known = (schema or self.table_.schema).known
        for name, one in unfit.items():
            warnings.warn(
                f"column {name!r} ({known[name].name}): {one.count} values such as "
                f"{one.example!r} cannot be {what} and count as missing",
                UserWarning, stacklevel=5,
            )  # fmt: skip

    def _schema(self, table: Any, labels: Coded, known: TableModel | None) -> Schema:
        """The columns to learn from, given some rows and what is known."""
        if known is None:
            return infer(self._wishes(), table, labels)
        new = known.strangers(table.column_names)[1]
        if not new:
            return known.schema
        return union(known.schema, infer(self._wishes(), table, labels, new), (), ())

    def _summed(
        self, like: TableModel, table: pa.Table, labels: Coded, weights: Float64 | None
    ) -> TableModel:
        """A model like another one that learned these rows alone."""
        classes, codes = labels

        def one(batch: tuple[int, pa.Table]) -> TableModel:
            at, rows = batch
            part = slice(at, at + rows.num_rows)
            own = None if weights is None else weights[part]
            return like.summarise(rows, (classes, codes[part]), own)

        total = TableModel.blank(like.schema, self._prior())
        total.target = like.target
        for part in in_order(one, slices(table), workers(self.n_jobs).count):
            total.absorb(part)
        return total

    def _take(self, learned: TableModel) -> None:
        """Take a model as this estimator's own."""
        learned.model.prior.check_room(len(learned.model.classes))
        self.table_ = learned
        self.n_features_in_ = len(learned.schema.why)
        if self._of_array:
            self.__dict__.pop("feature_names_in_", None)
        else:
            self.feature_names_in_ = np.array(list(learned.schema.why), object)

    @property
    def model_(self) -> Model:  # type: ignore[override]
        """The model behind: features are in the order of its blocks."""
        return self.table_.model

    # ---- predicting --------------------------------------------------------------------------

    def _ask(self, X: Any, question: Question) -> npt.NDArray[Any]:
        self._check_classes()
        table = self._table(X)

        def one(batch: tuple[int, pa.Table]) -> tuple[npt.NDArray[Any], dict[str, Unfit]]:
            try:
                rows, invalid = self.table_.encode(batch[1])
                return question(self.model_, rows, Serial()), invalid
            except InvalidValueError as error:
                error.row += batch[0]
                raise self.model_.located(error) from None

        parts = list(in_order(one, slices(table), workers(self.n_jobs).count))
        unfit: dict[str, Unfit] = {}
        for _, invalid in parts:
            add_unfit(unfit, invalid)
        self._warn(unfit, "read")
        return np.concatenate([part for part, _ in parts])

    def _rows(self, X: Any) -> Blocks:
        return self._encoded(X)[1]

    def _encoded(self, X: Any) -> tuple[Any, Blocks]:
        """(the table, its rows as the model takes them)."""
        self._check_classes()
        table = self._table(X)
        rows, unfit = self.table_.encode(table)
        self._warn(unfit, "read")
        return table, rows

    def _as_table(self, X: Any) -> Any:
        """An Arrow table, or a `SparseTable`; arrays must have as many columns as those before."""
        table = SparseTable(check_data(clone(self), X, reset=True, sparse=self._takes_sparse)) if (
            issparse(X)) else to_arrow(X)  # fmt: skip
        if hasattr(self, "table_") and self._of_array and not is_named(X):
            expected, width = self._of_array, len(table.column_names)
            if width != expected:
                raise ValueError(
                    f"X has {width} features, but {type(self).__name__} is expecting {expected} "
                    "features as input"
                )
        return table

    @property
    def _of_array(self) -> int:
        """Number of columns of the array that was learned; 0 if it was no array."""
        names = list(self.table_.schema.why)
        return len(names) if names == array_names(len(names)) else 0

    def _table(self, X: Any) -> pa.Table:
        """The table, with a warning about columns that are missing or unknown."""
        names = self.table_.schema.names
        if len(names) == 1 and isinstance(self.table_.schema.known[names[0]], Text) and _flat(X):
            X = {names[0]: X}  # documents, one by one
        table = self._as_table(X)
        lacking, strangers = self.table_.strangers(table.column_names)
        if len(lacking) == len(self.table_.schema.names):
            raise ValueError(
                f"X has none of the columns that were learned: {few(lacking)}; "
                f"its columns are {few(table.column_names)}"
            )
        if lacking:
            warnings.warn(
                f"X lacks the column(s) {few(lacking)}: counted as missing", UserWarning,
                stacklevel=4,
            )  # fmt: skip
        if strangers:
            warnings.warn(
                f"X has the column(s) {few(strangers)}, never learned: ignored", UserWarning,
                stacklevel=4,
            )  # fmt: skip
        return table

    # ---- looking inside ----------------------------------------------------------------------

    def explain(self, X: Any) -> Explanation:
        """What each column and the prior contribute to each class's joint log-likelihood.

        The result has a number for each row, class and column: pass the rows to explain. It is a
        sequence of explanations of rows, which can be printed; `to_html` makes a page of it, and
        `to_arrow` a flat table. Of columns of text each term is told.
        """
        table, rows = self._encoded(X)
        return explain(self.table_.schema, self.model_, table, rows)

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[Any, Any]:
        """Rows drawn from the model: (Arrow table, labels)."""
        self._check_classes()
        seed = check_random_state(random_state).randint(2**31)
        rows: Any
        rows, labels = self.model_.sample(n_samples, np.random.default_rng(seed))
        return to_columns(rows, self.table_.schema), labels

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model, with its exact statistics, to a file: see `naively.load`."""
        from naively.files.safetensors import save

        check_is_fitted(self)
        save(self.table_, path, type(self).__name__, self.get_params(deep=False))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "table_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def _flat(X: Any) -> bool:
    """Whether something is a sequence of values rather than a table."""
    if isinstance(X, list | tuple):
        return all(isinstance(value, str | bytes | None) for value in X)
    return getattr(X, "ndim", 2) == 1 or isinstance(X, pa.Array | pa.ChunkedArray)


def _weights(sample_weight: Any, rows: int) -> Float64 | None:
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, np.float64)
    if weights.shape != (rows,):
        raise ValueError(f"sample_weight must be of shape ({rows},), not {weights.shape}")
    bad = ~((weights >= 0) & np.isfinite(weights))
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(f"sample_weight must be finite and >= 0: row {row} weighs {weights[row]}")
    if not weights.any():
        raise ValueError("All values of sample_weight are zero: no class has any rows")
    return weights
