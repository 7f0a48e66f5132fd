"""What the classifiers of tables share: frames in, labels out; a model of named columns."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import pyarrow as pa
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from naively.engines.stream import in_order
from naively.engines.threads import workers
from naively.estimators.asking import AsksWhyNot
from naively.estimators.by_position import placed
from naively.estimators.given import (
    Kind,
    apart,
    as_kind,
    check_weights_of,
    is_flat,
    kind_of,
    labels_of,
    target_within,
)
from naively.estimators.in_batches import AnswersInBatches
from naively.estimators.validation import (
    check_classes,
    check_data,
    check_total,
    require_labels,
)
from naively.evaluation.folds import Learnable, Reading
from naively.exact import Float64
from naively.explanation import Explanation
from naively.families.base import AnyFamily
from naively.invalid import Invalid
from naively.markup import as_missing, counted
from naively.model import Model
from naively.posterior import Posterior
from naively.prior import Prior
from naively.schema import Schema
from naively.tables import union, values
from naively.tables.encoding import decode, encode, encode_for
from naively.tables.explaining import explain
from naively.tables.frames import SparseTable, array_width, to_arrow
from naively.tables.identifiers import learnable_without, without_identifiers
from naively.tables.inference import Wishes, counting, infer
from naively.tables.left_out import odd, unvaried_in
from naively.tables.likeness import like as known_of
from naively.tables.names import few
from naively.tables.rereading import reread, smoothing_of
from naively.tables.scanning import streamed
from naively.tables.summarising import check_levels, other_columns, slices, summarise
from naively.tables.targets import LabelCodes, label_column, spelled_missing
from naively.tables.turned import kinds, turned

Given = tuple[Any, LabelCodes, Float64 | None, Kind]
"""(table without the target, labels, weights, the kind of table that X is)."""
Source = tuple[Any, LabelCodes, Float64 | None]
"""(table, labels, weights)."""


class TableClassifier(AnswersInBatches, AsksWhyNot):
    """Base of the estimators that learn from tables."""

    prior: Any
    prior_smoothing: Any
    missing: Sequence[str]
    _noted = ("_kind",)
    _kind: Kind = "arrow"

    @abstractmethod
    def _wishes(self) -> Wishes:
        """What the user says about columns."""

    # ---- learning ----------------------------------------------------------------------------

    def _family(self) -> AnyFamily:
        if self._learned is None:
            raise AttributeError("the families of the columns are known once it is fitted")
        return self._learned.family

    def _prior(self) -> Prior:
        return Prior(self.prior, self.prior_smoothing)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, like: Self | None = None) -> Self:
        """Learn from the rows of X alone.

        Parameters
        ----------
        X : a data frame, Arrow table, dict of columns, or array, (n, d); or rows that are read in
            batches, in constant memory: `naively.scan` of files, a stream of Arrow, a relation of
            DuckDB and the like, of which `y` names a column.
        y : (n,) labels, or the name of the column of X that has them; of one class alone the model
            predicts that one. Rows without a label are left out, with a warning.
        sample_weight : (n,) non-negative weights; a row of weight w counts as w rows.
        like : a fitted model, whose columns have the same families here, so that the two add up;
            an `AutoBayes` gives its plan: rows are counted for that, and none is kept.

        Raises
        ------
        ValueError : saying what is wrong and where.
        """
        if like is not None:
            check_is_fitted(like)
        known = None if like is None else known_of(like.model_, workers(self.n_jobs))
        chosen = self if like is not None else self._chosen(X, y, sample_weight)
        learned, noted = chosen._summarise(X, y, sample_weight, known)
        if like is None:
            learned = without_identifiers(learned)
            self._wishes().check_smoothed(learned.schema.known)
            learned.check(workers(self.n_jobs))
            for said in self._odd(learned):
                warnings.warn(said, UserWarning, stacklevel=2)
        self._keep(learned, noted)
        return self

    def _odd(self, learned: Model) -> list[str]:
        """What is odd about a model that was learned anew, in sentences."""
        said = odd(learned)
        return [said] if said else []

    def _reread(self, model: Model, changed: set[str]) -> Model:
        before = object.__new__(type(self))  # one that says what this one said
        before.__dict__.update(self._read)
        anew = reread(model, before._wishes(), self._wishes(), changed)
        return model.read_anew(anew.counted, self._prior(), anew.sums)

    def _go_on(self, delta: Model, noted: dict[str, Any]) -> None:
        total = union.merge(self.model_.copy(), delta)
        self._warn(delta.strays(total.schema), "learned", total.schema)
        for said in turned(kinds(self.model_), total):
            warnings.warn(said, UserWarning, stacklevel=4)
        self._keep(total, noted)

    def _to_forget(self, X: Any, y: Any, sample_weight: Any) -> Model:
        if (source := streamed(X)) is not None:
            return self._counted(source, y, sample_weight, self.model_, new=False)
        table, labels, weights, _ = self._given(X, y, sample_weight, self.model_)
        return self._summed(self.model_, table, labels, weights, declares=False)

    def _given(self, X: Any, y: Any, sample_weight: Any, known: Model | None) -> Given:
        """What there is to learn, checked."""
        table = self._as_table(X, None if known is None else known.schema, y)
        require_labels(self, y)
        kind = kind_of(X, table)
        table, column = apart(table, y)
        weights = check_weights_of(sample_weight, table.num_rows)
        return table, labels_of(column, self.missing), weights, kind

    def _summarise(
        self, X: Any, y: Any, sample_weight: Any, known: Model | None
    ) -> tuple[Model, dict[str, Any]]:
        kind: Kind = "arrow"
        if (source := streamed(X)) is not None:
            learned = self._counted(source, y, sample_weight, known)
            rows = learned.rows + learned.unlabelled
        else:
            blank, _, (table, labels, weights, kind) = self._planned(X, y, sample_weight, known, 1)
            learned, rows = self._summed(blank, table, labels, weights), table.num_rows
            if learned.unlabelled:
                column = values.flat(apart(self._as_table(X, None, y), y)[1])
                learned.skipped = spelled_missing(column, self.missing)
            if known is None and (name := target_within(table, labels, getattr(y, "name", None))):
                said = f"column {name!r} of X holds the labels y: leave it out"
                warnings.warn(said, UserWarning, stacklevel=3)
        if learned.unlabelled:
            said = f"{learned.unlabelled} of {rows} rows have no label and were left out"
            if learned.skipped:
                said += f"; {learned.skipped!r} means a missing value, unless `missing` says other"
            warnings.warn(said, UserWarning, stacklevel=3)
        if known is None:
            self._warn(learned.invalid, "learned", learned.schema)
        elif learned.unread:
            self._warn(learned.unread, "learned", known.schema)
        return learned, {"_kind": kind}

    def _planned(
        self, X: Any, y: Any, sample_weight: Any, known: Model | None, classes: int
    ) -> tuple[Model, Source, Given]:
        """(a model that learned nothing, what its families are inferred from, what to learn)."""
        if isinstance(y, str):
            self._wishes().check_target(y)
        given = self._given(X, y, sample_weight, known)
        table, labels, weights, _ = given
        if known is None:  # before anything is said of rows that are left out
            check_classes(labels[0], classes)
        if known is None:
            check_total(weights, "rows")
        source = table, labels, weights
        if weights is not None and not weights.all():  # rows of weight 0 are absent
            there = weights > 0
            codes = labels[1][there]
            source = table.filter(pa.array(there)), (labels[0], codes), weights[there]
        schema = self._schema(*source[:2], known)
        schema.check_any("learn from")
        blank = Model(schema, self._prior(), target=y if isinstance(y, str) else None)
        return blank, source, given

    def _learnable(
        self, X: Any, y: Any, sample_weight: Any, known: Model | None = None
    ) -> Learnable:
        blank, source, given = self._planned(X, y, sample_weight, known, 2)
        table, (classes, codes), weights, _ = given
        if blank.counted.open is not None:
            blank = blank.blank(infer(self._wishes(), *source))
        rows, invalid = encode(blank.schema, table)
        self._warn(invalid, "learned", blank.schema)
        kept = np.flatnonzero(codes < len(classes))
        if len(kept) == len(codes):
            found = Learnable(blank, rows, classes[codes], weights, source=source)
        else:
            weights = None if weights is None else weights[kept]
            found = Learnable(blank, rows[kept], classes[codes[kept]], weights, kept, source)
        return learnable_without(found) if known is None else found

    def _alpha_of(self, model: Model) -> Any:
        """The smoothing of the families that are not given: `alpha`, or what was chosen for it."""
        return self.alpha if isinstance(self.alpha, Mapping) else smoothing_of(model.schema)

    def _reading(self, rows: Learnable) -> Reading:
        return infer(self._wishes(), *rows.source), self._prior()

    def _warn(self, invalid: dict[str, Invalid], what: str, schema: Schema) -> None:
        """Warn of values that columns could not take, at the line of the user."""
        for name, one in invalid.items():
            warnings.warn(
                f"column {name!r} ({one.kind or schema.known[name].name}): "
                f"{counted(one.count, 'value')} such as {one.example!r} cannot be {what} and "
                f"{as_missing(one.count)}",
                UserWarning, stacklevel=4,
            )  # fmt: skip

    def _schema(self, table: Any, labels: LabelCodes, known: Model | None) -> Schema:
        """The columns to learn from, given some rows and what is known."""
        if known is None:
            return counting(self._wishes(), table, labels)
        new = other_columns(known.counted, known.target, table.column_names)[1]
        if new and known.family.closed:
            said = f"the plan that was given has no column(s) {few(new)}: ignored"
            warnings.warn(said, UserWarning, stacklevel=5)
            return known.counted
        if not new:
            return known.counted
        return union.union(known.counted, counting(self._wishes(), table, labels, new), {}, {})

    def _summed(
        self, like: Model, table: pa.Table, labels: LabelCodes, weights: Float64 | None,
        declares: bool = True,
    ) -> Model:  # fmt: skip
        """A model like another one that learned these rows alone."""
        classes, codes = labels
        blank = like.blank()
        blank.prior = self._prior()
        total = blank.copy()

        def one(batch: tuple[int, pa.Table]) -> Model:
            at, rows = batch
            part = slice(at, at + rows.num_rows)
            own = None if weights is None else weights[part]
            return summarise(blank, rows, (classes, codes[part]), own, declares)

        for part in in_order(one, slices(table), workers(self.n_jobs).count):
            total = union.merge(total, part) if total.rows or total.unlabelled else part
        check_levels(total)
        return total

    def _keep(self, model: Model, noted: dict[str, Any]) -> None:
        super()._keep(model, noted)
        self.n_features_in_ = len(model.schema.why)
        self.feature_names_in_ = np.array(list(model.schema.why), object)
        if array_width(model.schema.why):
            del self.feature_names_in_

    # ---- predicting --------------------------------------------------------------------------

    def _with_labels(self, X: Any, y: Any) -> tuple[Any, Any]:
        require_labels(self, y)
        if isinstance(y, str):
            X, y = apart(self._as_table(X, self._posterior().schema, y), y)
        classes, codes = labels_of(label_column(y), self.missing)
        if (codes == len(classes)).any():
            raise ValueError(f"the label of row {int((codes == len(classes)).argmax())} is missing")
        return X, classes[codes].tolist()

    def _rows(self, X: Any) -> Any:
        return self._encoded(X, self._posterior())[1]

    def _encoded(self, X: Any, posterior: Posterior) -> tuple[Any, Any]:
        """(the table, its rows as the model takes them)."""
        table = self._table(X, posterior.schema)
        rows, invalid = encode_for(posterior, table, unvaried_in(posterior))
        self._warn(invalid, "read", posterior.schema)
        return table, rows

    def _as_table(self, X: Any, known: Schema | None, y: Any = None) -> Any:
        """An Arrow table, or a `SparseTable`, with the names of columns that are known."""
        table = SparseTable(check_data(clone(self), X, reset=True, sparse=self._takes_sparse)) if (
            issparse(X)) else to_arrow(X)  # fmt: skip
        if known is None:
            return table
        target = None if self._learned is None else self.model_.target
        return placed(type(self).__name__, X, table, known, target, y)

    def _table(self, X: Any, known: Schema) -> pa.Table:
        """The table, with a warning about columns that are missing or unknown."""
        names = known.names
        only = known.parts[0].summary.takes if len(names) == 1 else None
        if only == "documents" and is_flat(X):
            X = {names[0]: X}  # documents, one by one
        table = self._as_table(X, known)
        for said in self._others(table.column_names, known):
            warnings.warn(said, UserWarning, stacklevel=4)
        return table

    # ---- looking inside ----------------------------------------------------------------------

    def explain(self, X: Any, *, by_block: bool = False) -> Explanation:
        """What each column and the prior contribute to each class's joint log-likelihood.

        The result has a number for each row, class and column: pass the rows to explain. It is a
        sequence of explanations of rows, which can be printed; `to_html` makes a page of it, and
        `to_arrow` a flat table. Of columns of text each term is told.

        Parameters
        ----------
        X : the rows.
        by_block : bool
            Show columns that tell something together as themselves, in place
            of each column's share of them. The sum is the same.
        """
        posterior = self._posterior()
        return explain(posterior, *self._encoded(X, posterior), by_block)

    def _shown(self, schema: Schema, drawn: Any) -> Any:
        """A table of the kind that was learned last.

        A file does not say which, as equal models are equal files: rows drawn from a loaded model
        are an Arrow table.
        """
        return as_kind(decode(schema, drawn), self._kind)

    def _scored(self, schema: Schema, drawn: Any) -> Any:
        return drawn if schema.is_single else encode(schema, decode(schema, drawn))[0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags
