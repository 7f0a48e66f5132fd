"""Base class of the estimators of tables: data frames, dicts, arrays, streams; labels; weights."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, column_or_1d

from naively.core.exact import Float64
from naively.core.issues import Issue
from naively.core.labels import Labels, check_whole
from naively.core.workers import in_order, workers
from naively.estimators.shared.base import NaiveBayesClassifier
from naively.estimators.shared.inspection import codes_of, likelihood
from naively.estimators.shared.learning import Answer, check_stream
from naively.estimators.shared.validation import (
    check_classes,
    check_data,
    check_total,
    check_weights,
    refuse_masked,
    require_labels,
)
from naively.evaluation.folds import Learnable, Reading
from naively.explain.counterfactuals import Counterfactual, counterfactuals
from naively.explain.explanation import Explanation
from naively.families.base import AnyFamily
from naively.io.frames import SparseTable, array_width, is_named, to_arrow
from naively.io.inputs import Task, is_untyped, task_of
from naively.io.sources import Source, streamed
from naively.model.model import Model
from naively.model.prior import Prior
from naively.model.schema import Schema
from naively.predictor import Predictor, decoded
from naively.statistics.base import dense
from naively.tables import counting as adding
from naively.tables import values
from naively.tables.counting import check_levels, other_columns, slices, summarise
from naively.tables.counting import like as structure_of
from naively.tables.encoding import decode, encode
from naively.tables.identifiers import columns_without
from naively.tables.inference import ColumnOptions, counting, infer
from naively.tables.learning import TrainingSpec, trained, updated
from naively.tables.names import columns_named, few, no_column
from naively.tables.one_pass import learn
from naively.tables.reestimation import reread, smoothing_of
from naively.tables.specification import EstimatorSpec
from naively.tables.targets import (
    LabelCodes,
    coded,
    label_column,
    spelled_missing,
    with_typed_labels,
)

MANY, FIRST = 100, 20
"""Least rows for a column that equals the labels; and rows that are compared first."""
Kind = Literal["pandas", "polars", "dict", "numbers", "objects", "arrow"]
"""Types of tables: data frames, a dict of columns, arrays of numbers or objects, else Arrow."""


def separate_target(table: Any, y: Any) -> tuple[Any, Any]:
    """Separate features and labels. Returns (the table without the target, the label column).

    Raises ValueError if there are no rows or features, lengths differ, or there is no such column.

    y : (n,) labels, or the name of the label column.
    """
    if isinstance(y, str):
        if y not in table.column_names:
            problem = no_column(y, table.column_names)
            raise ValueError(f"y names {y!r}, which is not a column of X: {problem}")
        column = values.flat(table.column(y))
        if is_untyped(table.schema.field(y)):  # blanks around a field of text files
            column = values.trimmed(column)
        table = table.drop_columns([y])
    else:
        if getattr(y, "ndim", 1) == 2:
            refuse_masked("y", y)
            y = column_or_1d(y, warn=True)
        column = label_column(y)
    if len(table.column_names) == 0:
        shape = f"(shape=({len(column)}, 0))"
        raise ValueError(f"Found array with 0 feature(s) {shape} while a minimum of 1 is required.")
    if len(column) != table.num_rows:
        raise ValueError(f"X has {table.num_rows} rows, y has {len(column)}")
    if table.num_rows == 0:
        raise ValueError("X has no rows: Found array with 0 sample(s)")
    return table, column


def labels_of(column: pa.Array | pa.ChunkedArray, missing: Collection[str]) -> LabelCodes:
    """Encode the labels in a column, some of which may be missing.

    Raises ValueError for infinite or fractional numbers.
    """
    labels = coded(values.flat(column), missing)
    if labels[0].dtype.kind == "f" and np.isinf(labels[0]).any():
        raise ValueError("Input y contains infinity: no label can be infinite")
    check_whole(labels[0])
    return labels


def target_within(table: pa.Table, labels: LabelCodes, name: Any) -> str | None:
    """Find a column of X that equals the labels in every row; None if there is none.

    name : name of y if it is a series. A column of this name is checked in small tables, too.
    """
    if isinstance(table, SparseTable) or len(table.column_names) < 2:
        return None
    classes, codes = labels
    texts = [*(values.level_text(label, ()) for label in classes.tolist()), None]
    first = [texts[code] for code in codes[:FIRST].tolist()]
    for k, candidate in enumerate(table.column_names):
        if candidate != name and table.num_rows < MANY:
            continue
        column = table.column(k)
        is_similar = _texts(column.slice(0, FIRST)) == first
        if is_similar and _texts(column) == [texts[code] for code in codes.tolist()]:
            return candidate
    return None


def _texts(column: pa.Array | pa.ChunkedArray) -> list[str | None]:
    """Convert values to their text as categories."""
    places, texts = values.level_texts(values.flat(column), ())
    texts.append(None)  # missing values have the last code
    return [texts[place] for place in places.tolist()]


def is_flat(X: Any) -> bool:
    """Whether X is one sequence of values, such as documents, and no table."""
    if isinstance(X, list | tuple):
        return all(isinstance(value, str | bytes | None) for value in X)
    return getattr(X, "ndim", 2) == 1 or isinstance(X, pa.Array | pa.ChunkedArray)


def kind_of(X: Any, table: pa.Table | SparseTable) -> Kind:
    """Return the type of X; `table` is X as Arrow. `sample` returns tables of this type."""
    package = type(X).__module__.partition(".")[0]
    if package == "pandas" or package == "polars":
        return "pandas" if package == "pandas" else "polars"
    if isinstance(X, Mapping):
        return "dict"
    if is_named(X):
        return "arrow"
    numeric = isinstance(table, SparseTable) or all(map(values.is_number, table.schema.types))
    return "numbers" if numeric else "objects"


def as_kind(table: pa.Table, kind: str) -> Any:
    """Convert an Arrow table to another type; categories of "numbers" become numbers."""
    match kind:
        case "pandas":
            return table.to_pandas()
        case "polars":
            import polars

            return polars.from_arrow(table)
        case "dict":
            return table.to_pydict()
        case "numbers":
            return np.column_stack([column.cast(pa.float64()) for column in table.columns])
        case "objects":
            return np.array([column.to_pylist() for column in table.columns], object).T
    return table


# ---- columns by position -------------------------------------------------------------------------


PASSED = ("naively", "sklearn")  # packages to skip when a warning names the line that caused it


def placed(
    kind: str, X: Any, table: Any, schema: Schema, target: str | None = None, y: Any = None,
    *, quiet: bool = False,
) -> Any:  # fmt: skip
    """Rename the columns of X to those of the training data if they match by position.

    Columns match by position if X has no column names. They do so, too, if the training data had
    none, and X has the same number of columns, none of them called x0, x1, ... Raises ValueError if
    X has no names, and another number of columns than the training data.

    kind : name of the model in messages.
    table : X as an Arrow table or `SparseTable`.
    target, y : the target of the model, and the name of the label column of X, if any: these
        columns are not features.
    quiet : whether to omit the warning about names.
    """
    expected, columns = list(schema.why), table.column_names
    unnamed = array_width(expected) > 0
    if is_named(X):
        if not unnamed:
            return table
        features = _without(columns, [target, y])
        if len(features) != len(expected) or not {*features}.isdisjoint(expected):
            return table
        message = f"X has feature names, but {kind} was fitted without feature names"
    else:
        features = _without(columns, [y])
        if len(features) != len(expected):
            counts = f"{len(features)} features, but {kind} is expecting {len(expected)} features"
            raise ValueError(f"X has {counts} as input")
        if features == expected:
            return table
        message = f"X does not have valid feature names, but {kind} was fitted with feature names"
    if not quiet:
        warn(f"{message}: its columns are taken in their order")
    if isinstance(table, SparseTable):
        table = to_arrow(dense(table.matrix))
    new_names = dict(zip(features, expected, strict=True))
    return table.rename_columns([new_names.get(name, name) for name in columns])


def _without(names: list[str], others: Collection[Any]) -> list[str]:
    others = [other for other in others if isinstance(other, str)]
    return [name for name in names if name not in others]


def warn(message: str) -> None:
    """Warn with the line that called the package, at any depth of calls."""
    frame, depth = sys._getframe(1), 1
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in PASSED:
        frame, depth = frame.f_back, depth + 1
    warnings.warn(message, UserWarning, stacklevel=depth + 1)


# ---- table ---------------------------------------------------------------------------------------


TrainingData = tuple[Any, LabelCodes, Float64 | None, Kind]
"""(table without the target, labels, weights, type of X)."""
Learned = tuple[Any, LabelCodes, Float64 | None]  # (table, labels, weights)


class TableClassifier(NaiveBayesClassifier):
    """Base class of the estimators for tables: `NaiveBayes`, `AutoBayes` and `JointBayes`."""

    prior: Any
    prior_smoothing: Any
    class_weight: Any
    missing: Sequence[str]
    _noted = ("_kind",)
    _kind: Kind = "arrow"

    _name: str  # name of the estimator in model files, also for subclasses of it

    def _columns(self) -> ColumnOptions:
        """Return the options for columns from the current parameters."""
        spec = EstimatorSpec(self._name, self._current_parameters())
        return spec.columns(self._smoothing if self._is_auto else 1.0)

    # ---- learning ----------------------------------------------------------------------------

    def _family(self) -> AnyFamily:
        if self._learned is None:
            raise AttributeError("the families of the columns are inferred by `fit`: call it first")
        return self._learned.family

    def _prior(self) -> Prior:
        return EstimatorSpec(self._name, self._current_parameters()).prior

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, like: Self | None = None) -> Self:
        """Fit the model to the rows of X alone.

        Parameters
        ----------
        X : a data frame, Arrow table, dict of columns, or array, (n, d); or a stream, which is read
            in batches in constant memory: `naively.scan` of files, an Arrow stream, a DuckDB
            relation and the like.
        y : (n,) labels, or the name of the label column of X, as streams need it; a single class is
            always predicted. Rows without a label are left out, with a warning.
        sample_weight : (n,) non-negative weights; a row of weight w counts as w rows.
        like : a fitted model whose columns and families are used, so that the two models can be
            added. Of an `AutoBayes` the structure is used (bins, interactions, weights): the rows
            are counted for it, and not stored.

        Raises
        ------
        ValueError : if rows, labels, weights or parameters are invalid.
        """
        if like is not None:
            check_is_fitted(like)
        structure = None if like is None else structure_of(like.model_, workers(self.n_jobs))
        estimator = self if like is not None else self._chosen(X, y, sample_weight)
        model, attributes = estimator._summarise(X, y, sample_weight, structure)
        if like is None:
            model, issues = trained(model, self._columns(), workers(self.n_jobs))
            for message in [*map(str, issues), *self._hints(model)]:
                warnings.warn(message, UserWarning, stacklevel=2)
        self._keep(model, attributes)
        return self

    def _hints(self, learned: Model) -> list[str]:
        """Return suggestions for other parameters, as sentences, for warnings."""
        return []

    def _reread(self, model: Model, changed: set[str]) -> Model:
        old_options = EstimatorSpec(self._name, self._read).columns()
        result = reread(model, old_options, self._columns(), changed)
        return model.read_anew(result.counted, self._prior(), result.sums)

    def _go_on(self, delta: Model, attributes: dict[str, Any]) -> None:
        total, issues = updated(self.model_, delta)
        _warn(issues)
        self._keep(total, attributes)

    def _to_forget(self, X: Any, y: Any, sample_weight: Any) -> Model:
        if (source := streamed(X)) is not None:
            return self._counted(source, y, sample_weight, self.model_, new=False)
        table, labels, weights, _ = self._training_data(X, y, sample_weight, self.model_)
        return self._summed(self.model_, table, labels, weights, declares=False)

    def _training_data(
        self, X: Any, y: Any, sample_weight: Any, existing: Model | None
    ) -> TrainingData:
        """Check training data."""
        table = self._as_table(X, None if existing is None else existing.schema, y)
        require_labels(self, y)
        kind = kind_of(X, table)
        table, column = separate_target(table, y)
        weights = check_weights(sample_weight, table.num_rows)
        return table, labels_of(column, self.missing), weights, kind

    def _summarise(
        self, X: Any, y: Any, sample_weight: Any, existing: Model | None
    ) -> tuple[Model, dict[str, Any]]:
        kind: Kind = "arrow"
        if (source := streamed(X)) is not None:
            model = self._counted(source, y, sample_weight, existing)
            rows = model.rows + model.unlabelled
        else:
            blank, _, data = self._planned(X, y, sample_weight, existing, 1)
            table, labels, weights, kind = data
            model, rows = self._summed(blank, table, labels, weights), table.num_rows
            if model.unlabelled:
                column = values.flat(separate_target(self._as_table(X, None, y), y)[1])
                model.skipped = spelled_missing(column, self.missing)
            own_name = getattr(y, "name", None)
            if existing is None and (name := target_within(table, labels, own_name)):
                message = f"column {name!r} of X holds the labels y: leave it out"
                warnings.warn(message, UserWarning, stacklevel=3)
        if model.unlabelled:
            message = f"{model.unlabelled} of {rows} rows have no label and were left out"
            if skipped := model.skipped:
                message += f"; {skipped!r} means a missing value, unless `missing` lists other"
            warnings.warn(message, UserWarning, stacklevel=3)
        if existing is None:
            _warn(model.schema.invalid_values(model.invalid, "used"))
        elif model.unread:
            _warn(existing.schema.invalid_values(model.unread, "used"))
        return model, {"_kind": kind}

    def _counted(
        self, source: Source, y: Any, sample_weight: Any, existing: Model | None, new: bool = True
    ) -> Model:
        """Count the rows of a stream in batches.

        Raises ValueError if rows or labels are invalid.

        existing : model with the columns and families; None for a new model.
        new : whether columns that `existing` does not have are added.
        """
        check_stream(self, source, y, sample_weight)
        inferred = partial(self._schema, existing=existing) if new else None
        spec = TrainingSpec(y, self._columns(), self._prior())
        threads = workers(self.n_jobs).count
        model, _ = learn(source.tasks(), spec, threads, existing, inferred=inferred)
        model = with_typed_labels(model)
        if existing is None:
            check_classes(model.classes, 1)
        return model

    def _planned(
        self, X: Any, y: Any, sample_weight: Any, existing: Model | None, classes: int
    ) -> tuple[Model, Learned, TrainingData]:
        """Return (a model without rows, the rows to infer families from, the training data)."""
        if isinstance(y, str):
            self._columns().check_target(y)
        data = self._training_data(X, y, sample_weight, existing)
        table, labels, weights, _ = data
        if existing is None:  # before warnings about rows that are left out
            check_classes(labels[0], classes)
            check_total(weights, "rows")
        source = table, labels, weights
        if weights is not None and not weights.all():  # rows of weight 0 do not count
            positive = weights > 0
            codes = labels[1][positive]
            source = table.filter(pa.array(positive)), (labels[0], codes), weights[positive]
        schema = self._schema(*source[:2], existing)
        schema.check_any("train on")
        blank = Model(schema, self._prior(), target=y if isinstance(y, str) else None)
        return blank, source, data

    def _set_apart(self, X: Any, name: str) -> tuple[Any, Any]:
        table = to_arrow(X)
        if name not in table.column_names:
            raise ValueError(no_column(name, table.column_names))
        return table.drop_columns([name]), table.column(name)

    def _learnable(
        self, X: Any, y: Any, sample_weight: Any, existing: Model | None = None
    ) -> Learnable:
        blank, source, data = self._planned(X, y, sample_weight, existing, 2)
        table, (classes, codes), weights, _ = data
        if blank.counted.open is not None:
            blank = blank.blank(infer(self._columns(), *source))
        rows, invalid = encode(blank.schema, table)
        _warn(blank.schema.invalid_values(invalid, "used"))
        kept: Any = None
        if len(labelled := np.flatnonzero(codes < len(classes))) < len(codes):
            weights = None if weights is None else weights[labelled]
            rows, codes, kept = rows[labelled], codes[labelled], labelled
        learnable = Learnable(blank, rows, classes[codes], weights, kept, source)
        reduced = columns_without(blank.counted, learnable.X, learnable.weights)
        if existing is not None or reduced is None:
            return learnable
        narrower, places = reduced
        dropped = [name for name in blank.counted.names if name not in narrower.family_of]
        source = source[0].drop_columns(dropped), *source[1:]
        X = learnable.X[:, places]
        return replace(learnable, blank=blank.blank(narrower), X=X, source=source)

    def _alpha_of(self, model: Model) -> Any:
        """Return the smoothing of inferred families: `alpha`, or the value chosen for "auto"."""
        return self.alpha if isinstance(self.alpha, Mapping) else smoothing_of(model.schema)

    def _reading(self, rows: Learnable) -> Reading:
        return infer(self._columns(), *rows.source), self._prior()

    def _schema(self, table: Any, labels: LabelCodes, existing: Model | None) -> Schema:
        """Return the schema: columns of `existing`, and new columns of the table, inferred."""
        if existing is None:
            return counting(self._columns(), table, labels)
        new = other_columns(existing.counted, existing.target, table.column_names)[1]
        if not new:
            return existing.counted
        if existing.family.closed:
            message = f"the fixed structure (`like`) has no {columns_named(few(new), new)}: ignored"
            warnings.warn(message, UserWarning, stacklevel=5)
            return existing.counted
        return adding.union(existing.counted, counting(self._columns(), table, labels, new), {}, {})

    def _summed(
        self, like: Model, table: pa.Table, labels: LabelCodes, weights: Float64 | None,
        declares: bool = True,
    ) -> Model:  # fmt: skip
        """Count rows into a new model with the columns of `like`, in batches and threads."""
        classes, codes = labels
        blank = like.blank()
        blank.prior = self._prior()
        total = blank.copy()

        def count_slice(batch: tuple[int, pa.Table]) -> Model:
            start, rows = batch
            part = slice(start, start + rows.num_rows)
            row_weights = None if weights is None else weights[part]
            return summarise(blank, rows, (classes, codes[part]), row_weights, declares)

        for part in in_order(count_slice, slices(table), workers(self.n_jobs).count):
            total = adding.merge(total, part) if total.rows or total.unlabelled else part
        check_levels(total)
        return total

    def _keep(self, model: Model, attributes: dict[str, Any]) -> None:
        super()._keep(model, attributes)
        self.n_features_in_ = len(model.schema.why)
        self.feature_names_in_ = np.array(list(model.schema.why), object)
        if array_width(model.schema.why):
            del self.feature_names_in_

    # ---- predicting --------------------------------------------------------------------------

    def _predictor(self, target: str | None = None) -> Predictor:
        """Return a predictor with the posterior of the current model."""
        return Predictor(self._posterior(workers(self.n_jobs)), target or self.model_.target)

    def _ask(self, X: Any, answer: Answer) -> npt.NDArray[Any]:
        predictor = self._predictor()
        tasks: Iterable[Task]
        if (source := streamed(X)) is None:
            table = self._table(X, predictor)
            tasks = [task_of(rows) for _, rows in slices(table)]
        else:
            predictor.check_columns(source.names)
            tasks = source.tasks()
        parts = list(predictor.answers(tasks, answer, workers(self.n_jobs).count))
        _warn(predictor.issues)
        return np.concatenate(parts)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on these rows.

        Parameters
        ----------
        X : the rows.
        y : (n,) labels, or the name of the label column of X.
        sample_weight : (n,) weights of the rows.
        """
        if streamed(X) is None:
            X, y = self._with_labels(X, y)
        return super().score(X, y, sample_weight)

    def log_likelihood(self, X: Any, y: Any, conditional: bool = False) -> float:  # noqa: D102
        if (source := streamed(X)) is None:
            return super().log_likelihood(X, y, conditional)
        terms: list[float] = []
        for scores, labels in self._answered(source, y, None, likelihood(conditional)):
            codes = codes_of(labels, self.model_.classes, len(terms))
            terms += scores[np.arange(len(scores)), codes].tolist()
        return math.fsum(terms)

    def _answered(
        self, source: Source, y: Any, sample_weight: Any, answer: Answer
    ) -> Iterator[tuple[npt.NDArray[Any], Labels]]:
        """Yield (results, labels) for the batches of a stream."""
        check_stream(self, source, y, sample_weight)
        predictor = self._predictor(y)
        predictor.check_columns(source.names)
        threads = workers(self.n_jobs).count
        yield from predictor.labelled_answers(source.tasks(), answer, threads, self.missing)
        _warn(predictor.issues)

    def _with_labels(self, X: Any, y: Any) -> tuple[Any, Any]:
        require_labels(self, y)
        if isinstance(y, str):
            X, y = separate_target(self._as_table(X, self._posterior().schema, y), y)
        return X, decoded(labels_of(label_column(y), self.missing)).tolist()

    def _rows(self, X: Any) -> Any:
        predictor = self._predictor()
        rows = predictor.encode(self._table(X, predictor))
        _warn(predictor.issues)
        return rows

    def _as_table(self, X: Any, schema: Schema | None, y: Any = None) -> Any:
        """Convert X to an Arrow table or `SparseTable`, with the column names of `schema`."""
        table = SparseTable(check_data(clone(self), X, reset=True, sparse=self._takes_sparse)) if (
            issparse(X)) else to_arrow(X)  # fmt: skip
        if schema is None:
            return table
        target = None if self._learned is None else self.model_.target
        # SHAP sets the names to None, so that arrays are taken without a warning
        quiet = getattr(self, "feature_names_in_", ()) is None
        return placed(type(self).__name__, X, table, schema, target, y, quiet=quiet)

    def _table(self, X: Any, predictor: Predictor) -> Any:
        """Convert rows to a table with checked columns."""
        schema = predictor.schema
        if schema.text_column is not None and is_flat(X):
            X = {schema.text_column: X}  # a list of documents
        table = self._as_table(X, schema)
        predictor.check_columns(table.column_names)
        return table

    # ---- looking inside ----------------------------------------------------------------------

    def explain(self, X: Any, *, by_block: bool = False) -> Explanation:
        """Return the contributions of columns and prior to the joint log-likelihoods, in nats.

        The result is a sequence of explanations, one for each row, which can be printed; `to_html`
        makes a page, and `to_arrow` a flat table. Text columns list the contribution of each term.
        The result has n · C · d numbers, so pass only rows to explain.

        Parameters
        ----------
        X : the rows.
        by_block : bool
            Show interactions as entries, instead of sharing them between their columns. The sum is
            the same.
        """
        predictor = self._predictor()
        explanation = predictor.explain(self._table(X, predictor), by_block)
        _warn(predictor.issues)
        return explanation

    def counterfactuals(
        self, X: Any, label: Any = None, changeable: Sequence[str] | None = None,
        immutable: Sequence[str] = (),
    ) -> list[Counterfactual]:  # fmt: skip
        """Find changes of one feature after which the model predicts another class.

        Each change is scored by the model itself; the other features of the row stay as they are.
        Candidate values are those of rows drawn from the model, so that they are plausible; for a
        numeric feature the nearest sufficient one is returned. Counterfactuals describe the model,
        not cause and effect.

        Parameters
        ----------
        X : the rows.
        label : the desired class; by default the second most probable one of each row.
        changeable : features that may change; all by default.
        immutable : features that may not change.

        Returns
        -------
        list of `Counterfactual` : with `changes` of features, and `terms` to add to text columns.

        Raises
        ------
        ValueError : if the label is not one of the classes, a feature is unknown, or X is sparse.
        """
        predictor = self._predictor()
        table = self._table(X, predictor)
        predictor.encode(table)  # records invalid values
        _warn(predictor.issues)
        return list(counterfactuals(predictor.posterior, table, label, changeable, immutable))

    def _shown(self, schema: Schema, drawn: Any) -> Any:
        """Convert drawn rows to a table of the type of the training data.

        Model files do not store the type, so that equal models are equal files: rows drawn from a
        loaded model are an Arrow table.
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
    """Warn about issues, with the line of the user: two calls above the caller."""
    for issue in issues:
        warnings.warn(str(issue), UserWarning, stacklevel=4)
