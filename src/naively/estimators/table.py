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
from sklearn.utils.validation import check_is_fitted

from naively.engines.stream import in_order
from naively.engines.threads import workers
from naively.estimators.base import NaiveBayesClassifier, Question, settled
from naively.estimators.given import apart, check_weights_of, is_flat, labels_of
from naively.estimators.kinds import Kind, as_kind, kind_of
from naively.estimators.nested import inside, replaced
from naively.estimators.validation import check_data, check_labels, check_several
from naively.exact import Float64
from naively.explanation import Explanation
from naively.families.base import Family, InvalidValueError
from naively.families.categorical import Unseen
from naively.families.product import Blocks
from naively.families.text import Text
from naively.model import Model
from naively.posterior import Posterior
from naively.prior import Prior
from naively.tables.decode import to_columns
from naively.tables.explaining import explain
from naively.tables.frames import SparseTable, array_names, is_named, to_arrow
from naively.tables.inference import Wishes, infer, named, reconsidered
from naively.tables.inputs import MISSING
from naively.tables.model import TableModel, add_unfit, slices
from naively.tables.names import few
from naively.tables.schema import Schema, Unfit
from naively.tables.targets import Coded
from naively.tables.union import union
from naively.workers import Serial

Given = tuple[Any, Coded, Float64 | None, Kind]
"""(table without the target, labels, weights, the kind of table that X is)."""


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

    Notes
    -----
    The parameters of families have nested names, for searches such as `GridSearchCV`:
    ``family__alpha``, and ``columns__body__alpha`` with ``columns={"body": Text()}``, where
    ``columns__body`` is the family itself. The columns of a tuple are joined by commas:
    ``columns__a,b__alpha``. Names may hold ``__``: what follows the last one is the parameter,
    unless all of it is the name of a column.

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

    _kind: str = "arrow"

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

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters; if `deep`, those of the families in them too: see the class."""
        params = super().get_params(deep)
        if deep:
            for name in self._get_param_names():
                params = inside(name, getattr(self, name)) | params
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by their names, nested ones too: see the class."""
        known = self._get_param_names()
        nested: dict[str, dict[str, Any]] = {}
        for path in [path for path in params if "__" in path]:
            name, _, within = path.partition("__")
            if name in known:
                nested.setdefault(name, {})[within] = params.pop(path)
        super().set_params(**params)
        for name, changes in nested.items():
            setattr(self, name, replaced(name, getattr(self, name), changes))
        return self

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

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, like: NaiveBayes | None = None
    ) -> Self:
        """Learn from the rows of X alone.

        Parameters
        ----------
        X : a data frame, Arrow table, dict of columns, or array, (n, d).
        y : (n,) labels of at least two classes, or the name of the column of X that has them.
            Rows without a label are left out, with a warning.
        sample_weight : (n,) non-negative weights; a row of weight w counts as w rows.
        like : a fitted model, whose columns have the same families here, so that the two add up.
            Then one class is enough: this may be one part of the rows.

        Raises
        ------
        ValueError : saying what is wrong and where.
        """
        if like is not None:
            check_is_fitted(like)
        known = None if like is None else like.table_
        given = self._given(X, y, sample_weight, known)
        if known is None:
            check_several(given[1][0])
        learned = self._learned(given, y, known)
        if known is None:
            check_several(learned.model.classes)
            learned.model.check(workers(self.n_jobs))
            if said := learned.nothing_told:
                warnings.warn(said, UserWarning, stacklevel=2)
        self._take(learned)
        self._kind = given[3]
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows: new classes, levels and columns may appear in any call.

        Families are inferred when a column is first met. Any split of the rows gives the same
        model, bit for bit, once all columns are known or named in `columns`.
        """
        known = getattr(self, "table_", None)
        given = self._given(X, y, sample_weight, known)
        learned = self._learned(given, y, known)
        if classes is not None:
            learned.model.know_classes(check_labels(classes, len(classes)))
        if known is None:
            self._take(learned)
        else:
            self._absorb(learned)
        self._kind = given[3]
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
        known = self.table_
        table, labels, weights, _ = self._given(X, y, sample_weight, known)
        known.forget(self._summed(known, table, labels, weights))
        return self

    def __add__(self, other: Self) -> Self:
        """The model that learned what both did, with the parameters of the left one."""
        if type(other) is not type(self):
            return NotImplemented
        check_is_fitted(self)
        check_is_fitted(other)
        total = clone(self)
        total.table_, total._kind, learned = self.table_, self._kind, other.table_
        with learned.model.lock:  # another thread may be teaching it
            total._absorb(learned)
        return total

    def _given(self, X: Any, y: Any, sample_weight: Any, known: TableModel | None) -> Given:
        """What there is to learn, checked."""
        table = self._as_table(X, known)
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None"
            )
        kind = kind_of(X, table)
        table, column = apart(table, y)
        weights = check_weights_of(sample_weight, table.num_rows)
        return table, labels_of(column, self.missing), weights, kind

    def _learned(self, given: Given, y: Any, known: TableModel | None) -> TableModel:
        """A model of these rows alone; self is unchanged."""
        table, labels, weights, _ = given
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

    def _warn(self, unfit: dict[str, Unfit], what: str, schema: Schema) -> None:
        """Warn of values that columns could not take, at the line of the user."""
        for name, one in unfit.items():
            warnings.warn(
                f"column {name!r} ({schema.known[name].name}): {one.count} values such as "
                f"{one.example!r} cannot be {what} and count as missing",
                UserWarning, stacklevel=4,
            )  # fmt: skip

    def _schema(self, table: Any, labels: Coded, known: TableModel | None) -> Schema:
        """The columns to learn from, given some rows and what is known."""
        if known is None:
            return infer(self._wishes(), table, labels)
        new = known.strangers(table.column_names)[1]
        if not new:
            return known.schema
        return union(known.schema, infer(self._wishes(), table, labels, new), {}, {})

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
        if _array_columns(learned):
            self.__dict__.pop("feature_names_in_", None)
        else:
            self.feature_names_in_ = np.array(list(learned.schema.why), object)

    @property
    def model_(self) -> Model:  # type: ignore[override]
        """The model behind: features are in the order of its blocks."""
        return self.table_.model

    # ---- predicting --------------------------------------------------------------------------

    def _ask(self, X: Any, question: Question) -> npt.NDArray[Any]:
        check_is_fitted(self)
        known, jobs = self.table_, workers(self.n_jobs)
        posterior = settled(known.model, jobs)

        def one(batch: tuple[int, pa.Table]) -> tuple[npt.NDArray[Any], dict[str, Unfit]]:
            try:
                rows, invalid = known.encode(batch[1], posterior)
                return question(posterior, rows, Serial()), invalid
            except InvalidValueError as error:
                error.row += batch[0]
                raise error.named(posterior.feature_names) from None

        parts = list(in_order(one, slices(self._table(X, known)), jobs.count))
        unfit: dict[str, Unfit] = {}
        for _, invalid in parts:
            add_unfit(unfit, invalid)
        self._warn(unfit, "read", known.schema)
        return np.concatenate([part for part, _ in parts])

    def _rows(self, X: Any, known: TableModel | None = None) -> Blocks:
        return self._encoded(X, known or self.table_)[1]

    def _encoded(
        self, X: Any, known: TableModel, posterior: Posterior | None = None
    ) -> tuple[Any, Blocks]:
        """(the table, its rows as the model takes them)."""
        table = self._table(X, known)
        rows, unfit = known.encode(table, posterior)
        self._warn(unfit, "read", known.schema)
        return table, rows

    def _as_table(self, X: Any, known: TableModel | None) -> Any:
        """An Arrow table, or a `SparseTable`; arrays must have as many columns as those known."""
        table = SparseTable(check_data(clone(self), X, reset=True, sparse=self._takes_sparse)) if (
            issparse(X)) else to_arrow(X)  # fmt: skip
        if known is not None and not is_named(X):
            expected, width = _array_columns(known), len(table.column_names)
            if expected and width != expected:
                raise ValueError(
                    f"X has {width} features, but {type(self).__name__} is expecting {expected} "
                    "features as input"
                )
        return table

    def _table(self, X: Any, known: TableModel) -> pa.Table:
        """The table, with a warning about columns that are missing or unknown."""
        names = known.schema.names
        if len(names) == 1 and isinstance(known.schema.known[names[0]], Text) and is_flat(X):
            X = {names[0]: X}  # documents, one by one
        table = self._as_table(X, known)
        lacking, strangers = known.strangers(table.column_names)
        if len(lacking) == len(names):
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
        check_is_fitted(self)
        known = self.table_
        posterior = settled(known.model, workers(self.n_jobs))
        table, rows = self._encoded(X, known, posterior)
        return explain(known.schema, posterior, table, rows)

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[Any, Any]:
        """Rows drawn from the model, with their labels.

        They are of the kind that was learned last: a frame of pandas or polars, an Arrow table, a
        dict of columns or an array. A file does not say which, as equal models are equal files:
        rows drawn from a loaded model are an Arrow table.
        """
        check_is_fitted(self)
        known = self.table_
        posterior = settled(known.model, workers(self.n_jobs))
        seed = check_random_state(random_state).randint(2**31)
        rows: Any
        rows, labels = posterior.sample(n_samples, np.random.default_rng(seed))
        return as_kind(to_columns(rows, known.schema), self._kind), labels

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


def _array_columns(table: TableModel) -> int:
    """Number of columns of the array that was learned; 0 if it was no array."""
    names = list(table.schema.why)
    return len(names) if names == array_names(len(names)) else 0
