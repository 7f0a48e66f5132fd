"""What the classifiers of tables share: frames and streams in, labels out."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from naively.engines.stream import in_order
from naively.engines.threads import workers
from naively.estimators.base import NaiveBayesClassifier
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
from naively.estimators.inside import codes_of, likelihood
from naively.estimators.streams import Answer, check_question
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
from naively.labels import Labels
from naively.model import Model
from naively.predictor import Issue, Predictor, invalid_values
from naively.prior import Prior
from naively.schema import Schema
from naively.tables import union, values
from naively.tables.encoding import decode, encode
from naively.tables.frames import SparseTable, array_width, to_arrow
from naively.tables.identifiers import learnable_without, without_identifiers
from naively.tables.inference import Wishes, counting, infer
from naively.tables.inputs import Task
from naively.tables.learning import Question
from naively.tables.left_out import odd
from naively.tables.likeness import like as known_of
from naively.tables.names import few
from naively.tables.one_pass import learn
from naively.tables.readers import Source
from naively.tables.relabelling import with_typed_labels
from naively.tables.rereading import reread, smoothing_of
from naively.tables.scanning import streamed
from naively.tables.summarising import check_levels, other_columns, slices, summarise
from naively.tables.targets import LabelCodes, label_column, spelled_missing
from naively.tables.turned import kinds, turned
from naively.tables.why_not import WhyNot, why_not

Given = tuple[Any, LabelCodes, Float64 | None, Kind]
"""(table without the target, labels, weights, the kind of table that X is)."""
Learned = tuple[Any, LabelCodes, Float64 | None]
"""(table, labels, weights)."""


class TableClassifier(NaiveBayesClassifier):
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
        _warn(invalid_values(total.schema, delta.strays(total.schema), "learned"))
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
            _warn(invalid_values(learned.schema, learned.invalid, "learned"))
        elif learned.unread:
            _warn(invalid_values(known.schema, learned.unread, "learned"))
        return learned, {"_kind": kind}

    def _counted(
        self, source: Source, y: Any, sample_weight: Any, known: Model | None, new: bool = True
    ) -> Model:
        """A model of the rows of a stream, with its `new` columns if there is a known model.

        Raises
        ------
        ValueError : saying what is wrong and where.
        """
        check_question(self, source, y, sample_weight)
        inferred = partial(self._schema, known=known) if new else None
        question = Question(y, self._wishes(), self._prior())
        threads = workers(self.n_jobs).count
        learned = with_typed_labels(
            learn(source.tasks(), question, threads, known, inferred=inferred)[0]
        )
        if known is None:
            check_classes(learned.classes, 1)
        return learned

    def _planned(
        self, X: Any, y: Any, sample_weight: Any, known: Model | None, classes: int
    ) -> tuple[Model, Learned, Given]:
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
        _warn(invalid_values(blank.schema, invalid, "learned"))
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

    def _predictor(self, target: str | None = None) -> Predictor:
        """What reads rows for the model as it is now."""
        return Predictor(self._posterior(workers(self.n_jobs)), target or self.model_.target)

    def _ask(self, X: Any, answer: Answer) -> npt.NDArray[Any]:
        predictor = self._predictor()
        tasks: Iterable[Task]
        if (source := streamed(X)) is None:
            table = self._table(X, predictor)
            tasks = [partial(_itself, rows) for _, rows in slices(table)]
        else:
            predictor.check_columns(source.names)
            tasks = source.tasks()
        parts = list(predictor.answers(tasks, answer, workers(self.n_jobs).count))
        _warn(predictor.issues)
        return np.concatenate(parts)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The part of the rows whose label is predicted right.

        Parameters
        ----------
        X : the rows.
        y : (n,) labels, or the name of the column of X that has them.
        sample_weight : (n,) weights of the rows.
        """
        if streamed(X) is None:
            X, y = self._with_labels(X, y)
        return super().score(X, y, sample_weight)

    def log_likelihood(self, X: Any, y: Any, conditional: bool = False) -> float:  # noqa: D102
        if (source := streamed(X)) is None:
            return super().log_likelihood(X, y, conditional)
        terms: list[float] = []
        for scores, labels in self._judged(source, y, None, likelihood(conditional)):
            codes = codes_of(labels, self.model_.classes, len(terms))
            terms += scores[np.arange(len(scores)), codes].tolist()
        return math.fsum(terms)

    def _judged(
        self, source: Source, y: Any, sample_weight: Any, answer: Answer
    ) -> Iterator[tuple[npt.NDArray[Any], Labels]]:
        """The answers for the rows of a stream, and their labels."""
        check_question(self, source, y, sample_weight)
        predictor = self._predictor(y)
        predictor.check_columns(source.names)
        threads = workers(self.n_jobs).count
        yield from predictor.labelled_answers(source.tasks(), answer, threads, self.missing)
        _warn(predictor.issues)

    def _with_labels(self, X: Any, y: Any) -> tuple[Any, Any]:
        require_labels(self, y)
        if isinstance(y, str):
            X, y = apart(self._as_table(X, self._posterior().schema, y), y)
        classes, codes = labels_of(label_column(y), self.missing)
        if (codes == len(classes)).any():
            raise ValueError(f"the label of row {int((codes == len(classes)).argmax())} is missing")
        return X, classes[codes].tolist()

    def _rows(self, X: Any) -> Any:
        predictor = self._predictor()
        rows = predictor.encode(self._table(X, predictor))
        _warn(predictor.issues)
        return rows

    def _as_table(self, X: Any, known: Schema | None, y: Any = None) -> Any:
        """An Arrow table, or a `SparseTable`, with the names of columns that are known."""
        table = SparseTable(check_data(clone(self), X, reset=True, sparse=self._takes_sparse)) if (
            issparse(X)) else to_arrow(X)  # fmt: skip
        if known is None:
            return table
        target = None if self._learned is None else self.model_.target
        return placed(type(self).__name__, X, table, known, target, y)

    def _table(self, X: Any, predictor: Predictor) -> Any:
        """The rows as a table, whose columns are checked."""
        known = predictor.schema
        only = known.parts[0].summary.takes if len(known.names) == 1 else None
        if only == "documents" and is_flat(X):
            X = {known.names[0]: X}  # documents, one by one
        table = self._as_table(X, known)
        predictor.check_columns(table.column_names)
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
        predictor = self._predictor()
        explanation = predictor.explain(self._table(X, predictor), by_block)
        _warn(predictor.issues)
        return explanation

    def why_not(self, X: Any, label: Any = None) -> list[WhyNot]:
        """Which change of one column would make each row be of another class, by the model.

        Each change is scored by the model itself, with the others of the row as they are. The
        values that are tried are those of rows drawn from the model, so that they are plausible;
        of numbers the nearest one that is enough is returned. That the model would predict
        something else does not mean that the world would be so.

        Parameters
        ----------
        X : the rows.
        label : the class that is asked about; by default the next most probable one of each.

        Returns
        -------
        list of `WhyNot` : print one, or ask it for its `changes`; for columns of text, its `terms`.

        Raises
        ------
        ValueError : if the label is not one of the classes; or for a sparse matrix.
        """
        predictor = self._predictor()
        table = self._table(X, predictor)
        predictor.encode(table)  # notes what is invalid
        _warn(predictor.issues)
        return list(why_not(predictor.posterior, table, label))

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


def _warn(issues: Iterable[Issue]) -> None:
    """Warn of issues, at the line of the user: two calls above who calls this."""
    for issue in issues:
        warnings.warn(str(issue), UserWarning, stacklevel=4)


def _itself(rows: Any) -> Any:
    return rows
