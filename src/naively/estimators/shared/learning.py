"""Base class for training: `fit`, `partial_fit`, `forget`, `decay`, ``+``, `reestimate`, `save`.

Training adds sufficient statistics to a `Model`. `fit` also estimates the parameters from them;
after other changes the first prediction does, so that many updates in a row estimate once.
"""

from __future__ import annotations

import copy
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import chain
from operator import is_
from os import PathLike
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from naively.core.labels import Labels
from naively.core.workers import SERIAL, Workers, in_order, workers
from naively.estimators.shared.validation import (
    check_classes,
    check_labels,
    require_labels,
    settled,
)
from naively.families.base import AnyFamily, unlike
from naively.io.arrow import together
from naively.io.inputs import MISSING, Task, is_untyped, task_of
from naively.io.sources import Source
from naively.model.model import Model
from naively.model.posterior import Posterior
from naively.model.prior import Prior
from naively.predictor import counting_rows, decoded
from naively.statistics.base import Data
from naively.storage import named_parts
from naively.storage.model_files import Saved, from_bytes, save, to_bytes
from naively.storage.parts import REST, Part
from naively.tables import values
from naively.tables.counting import unshared
from naively.tables.inference import ROWS
from naively.tables.learning import labelled, merge
from naively.tables.names import columns_named, few, no_column
from naively.tables.targets import with_typed_labels

AGAIN = "call `fit` again, or set the parameters back"
SAVED, SET_LATER = "saved", "set_later"
"""Keys of a pickled state: the model as bytes; values, when the model was estimated, of parameters
that were set later.
"""
UNREAD = ("n_jobs",)  # parameters that do not change results


class Rereads:
    """Estimator whose changed parameters take effect at the next update or `reestimate`.

    Parameters of the estimation can change without the rows: smoothing, ties, floors, priors.
    Parameters of counting, such as n-grams or the threshold of a binarizer, cannot.
    """

    model_: Model
    _read: dict[str, Any]  # the parameters that `model_` was estimated with

    @abstractmethod
    def _family(self) -> AnyFamily: ...

    @abstractmethod
    def _prior(self) -> Prior: ...

    @property
    def _learned(self) -> Model | None:
        """The model; None before fitting."""
        return vars(self).get("model_")

    def _current_parameters(self) -> dict[str, Any]:
        """Return the current parameters."""
        return {name: getattr(self, name) for name in type(self).__dataclass_fields__}  # type: ignore[attr-defined]

    @contextmanager
    def _as_set(self) -> Iterator[None]:
        """Apply changed parameters to the model, and restore both if the block fails.

        Raises ValueError if the parameters of counting changed.
        """
        model, parameters = self.model_, self._read
        changed = self._changed()
        try:
            if changed - {*UNREAD}:
                self._refuse_new_auto()
                self.model_ = self._reread(model, changed)
            self._read = self._current_parameters()
            yield
        except BaseException:
            self.model_, self._read = model, parameters
            raise

    def _changed(self) -> set[str]:
        """Return the names of parameters that were set since the model was estimated."""
        current = vars(self)  # identity first: comparing values is slow
        if all(map(is_, map(current.get, self._read), self._read.values())):
            return set()
        return {n for n, value in self._read.items() if not _same(current.get(n, value), value)}

    def _refuse_new_auto(self) -> None:
        """Raise ValueError if `alpha` was set to "auto" after `fit`: the choice needs the rows."""
        previous, current = self._read.get("alpha"), self._current_parameters().get("alpha")
        if isinstance(current, str) and current == "auto" and not isinstance(previous, str):
            raise ValueError('alpha="auto" is chosen when `fit` is called: call it again')

    def _reread(self, model: Model, changed: set[str]) -> Model:
        """Return the model with the current parameters.

        Raises ValueError if the parameters of counting changed.
        """
        family = self._family()
        refuse_other_sums(model.family, family)
        return model.read_anew(model.schema.with_family(family), self._prior())


def _same(a: Any, b: Any) -> bool:
    """Whether two values of a parameter are the same object, or equal numbers or strings."""
    return a is b or (type(a) is type(b) and isinstance(a, int | float | str) and a == b)


def refuse_other_sums(before: AnyFamily, now: AnyFamily) -> None:
    """Raise ValueError unless two families have the same sufficient statistics."""
    if type(now) is not type(before) or now.summary != before.summary:
        raise ValueError(
            f"a trained model cannot continue with another family: {unlike(before, now)}; {AGAIN}"
        )


# ---- streams -------------------------------------------------------------------------------------


Answer = Callable[[Posterior, Data, Workers], npt.NDArray[Any]]
"""A method of a posterior: results for rows, such as probabilities."""


def check_stream(estimator: Any, source: Source, y: Any, sample_weight: Any) -> None:
    """Raise ValueError unless y names a column of the stream, and there are no sample weights."""
    require_labels(estimator, y)
    if not isinstance(y, str):
        raise ValueError("y must name the column of the stream that has the labels")
    if y not in source.names:
        raise ValueError(f"y names {y!r}, which is not a column of X: {no_column(y, source.names)}")
    if sample_weight is not None:
        raise ValueError(
            "the rows of a stream have no sample_weight: pass rows in memory, as by "
            "naively.scan(...).to_table()"
        )


def counted(estimator: Any, source: Source, y: str, existing: Model | None) -> Model:
    """Count the rows of a stream in batches; column `y` has the labels.

    Raises ValueError if rows or labels are invalid.

    existing : model with the columns and the family of the rows; None for a new model. A new family
        with an idf takes it from the first 100,000 documents.
    """
    tasks, reader = source.tasks(), estimator
    columns = features_of(estimator if existing is not None else None, source.names, y)
    if existing is None:
        reader = clone(estimator)
        head = list(_head(tasks, ROWS if reader._family().refers else 1))
        tasks = chain(map(task_of, head), tasks)
        table_head = together(list(map(_table, head)))
        labels = _labels(table_head, y, None)
        existing = reader._learnable(reader._of_batch(table_head, columns), labels, None).blank
        existing = replace(existing, untyped=is_untyped(head[0].schema.field(y)))
        reader._keep(existing, {})
    blank = existing

    def count_task(task: Task) -> tuple[int, Model]:
        table = _table(task())
        if table.num_rows == 0:
            return 0, blank.blank()
        labels = _labels(table, y, blank.classes)
        rows = reader._learnable(reader._of_batch(table, columns), labels, None, blank)
        return table.num_rows, rows.summarise(SERIAL)

    total = blank.blank()
    with counting_rows(blank.feature_names) as offset:
        for rows, part in in_order(count_task, tasks, workers(estimator.n_jobs).count):
            total = merge(total, part)
            offset.before += rows
    total = with_typed_labels(total)
    check_classes(total.classes, 1)
    return total


def answers(
    estimator: Any, source: Source, answer: Answer, y: str | None = None
) -> Iterator[tuple[npt.NDArray[Any], Labels | None]]:
    """Yield (results of a fitted estimator, labels if `y` names their column) for each batch.

    Raises ValueError if rows or labels are invalid, or the stream has no rows.
    """
    posterior = estimator._posterior(workers(estimator.n_jobs)).remarking()
    columns = features_of(estimator, source.names, y)

    def answer_task(task: Task) -> tuple[npt.NDArray[Any], Labels | None] | None:
        table = _table(task())
        if table.num_rows == 0:
            return None
        labels = None if y is None else _labels(table, y, posterior.classes)
        rows = estimator._rows(estimator._of_batch(table, columns))
        return answer(posterior, rows, SERIAL), labels

    with counting_rows(posterior.feature_names) as offset:
        for result in in_order(answer_task, source.tasks(), workers(estimator.n_jobs).count):
            if result is not None:
                yield result
                offset.before += len(result[0])
    if offset.before == 0:
        raise ValueError("X has no rows")
    for message in posterior.warnings:
        warnings.warn(message, UserWarning, stacklevel=4)


def features_of(estimator: Any, names: Sequence[str], y: str | None) -> list[str]:
    """Return the feature columns of a stream: those of the fitted estimator, or all but `y`.

    Raises ValueError if one is missing.
    """
    features = [name for name in names if name != y]
    expected = getattr(estimator, "feature_names_in_", None)
    if expected is None:
        return features
    if missing := [name for name in expected if name not in features]:
        columns = columns_named(few(missing), missing)
        raise ValueError(f"X has no {columns}, which the model needs; it has {few(features)}")
    return list(expected)


def numbers_of(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Convert these columns to float64; missing values become NaN.

    Raises ValueError if a column has values that are not numbers.
    """
    arrays = {}
    for name in columns:
        parsed = values.numbers(values.flat(table.column(name)), MISSING)
        if parsed.invalid.any() or (parsed.truths and is_untyped(table.schema.field(name))):
            example = "true or false" if parsed.example is None else repr(parsed.example)
            raise ValueError(
                f"X must hold numbers, but column {name!r} holds {example}: leave it out, as by "
                "naively.scan(..., columns=...), or use NaiveBayes or AutoBayes"
            )
        arrays[name] = parsed.values
    return pa.table(arrays)


def _table(batch: pa.RecordBatch) -> pa.Table:
    return pa.Table.from_batches([batch])


def _head(tasks: Iterator[Task], rows: int) -> Iterator[pa.RecordBatch]:
    """Yield batches until they have `rows` rows in total; ValueError if there are no rows."""
    n_rows = 0
    for task in tasks:
        batch = task()
        yield batch
        n_rows += batch.num_rows
        if n_rows >= rows:
            return
    if n_rows == 0:
        raise ValueError("there are no training rows")


def _labels(table: pa.Table, y: str, like: Labels | None) -> Labels:
    return decoded(labelled(table, y, MISSING, like))


# ---- learning ------------------------------------------------------------------------------------


class Learning(Rereads):
    """Base class with the methods that train, update, merge and save a model."""

    n_features_in_: int
    get_params: Any
    n_jobs: int | None
    _noted: tuple[str, ...] = ()  # names of attributes that are set together with the model
    _parts: Mapping[str, Part]  # named parts of the model; see `naively.storage.named_parts`

    @abstractmethod
    def _summarise(
        self, X: Any, y: Any, sample_weight: Any, existing: Model | None
    ) -> tuple[Model, dict[str, Any]]:
        """Return (a model of these rows alone, attributes to set with it); self is unchanged."""

    def _notes(self) -> dict[str, str]:
        """Return the entries of the model file for the attributes in `_noted`."""
        return {}

    def _noted_in(self, extra: dict[str, str]) -> dict[str, Any]:
        """Return the attributes in `_noted` from the entries of a model file."""
        return {}

    def _declared(self, classes: Any) -> Labels:
        """Check the labels that `partial_fit` is to add."""
        return check_labels(classes, len(classes))

    def _chosen(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """Return self, or a clone whose "auto" parameters are chosen by these rows."""
        return self

    def _refuse_auto(self) -> None:
        """Raise ValueError if parameters are "auto", which only `fit` can choose."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model to the rows of X alone.

        Parameters
        ----------
        X : (n, d) array, data frame or sparse matrix; NaN is a missing value. Or a stream, such as
            `naively.scan` returns, which is read in constant memory.
        y : (n,) labels; a single class is always predicted. For a stream the name of the label
            column; all other columns are features.
        sample_weight : (n,) non-negative weights; a row of weight w counts as w rows.

        Raises
        ------
        ValueError : if rows, labels, weights or parameters are invalid.
        """
        delta, attributes = self._chosen(X, y, sample_weight)._summarise(X, y, sample_weight, None)
        delta.check(workers(self.n_jobs))
        if message := delta.family.warning(delta.whole[0]):
            warnings.warn(message, UserWarning, stacklevel=2)
        delta.posterior(workers(self.n_jobs))
        self._keep(delta, attributes)
        return self

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, *,
        part: str | None = None,
    ) -> Self:  # fmt: skip
        """Add more rows. New classes may appear in any call; so may categories and table columns.

        Parameters are estimated at the next prediction, so that many calls in a row are fast.

        Any split of the rows into calls gives the same model, bit for bit, if the columns have the
        same families (``family="auto"`` chooses them by the first rows). `AutoBayes` and weighted
        text keep bins, interactions and weights until the rows have grown by more than a tenth:
        see `reestimate`. Of text, the idf is that of the first call, and `max_terms` drops terms
        after each.

        Parameters
        ----------
        X, y, sample_weight : as for `fit`.
        classes : labels to add before they have rows; optional.
        part : name for these rows, by which `forget` can remove them without the data. The
            statistics of a named part are stored and saved beside those of the whole model.

        Raises
        ------
        ValueError : if the input is invalid; the model is then unchanged.
        """
        name = part or REST
        if self._learned is None:
            self._refuse_auto()
            delta, attributes = self._summarise(X, y, sample_weight, None)
            if classes is not None:
                delta.declare_classes(self._declared(classes))
            parts = named_parts.begun({}, delta.blank(), delta, name)
            self._keep(delta, attributes)
            self._parts = named_parts.added(parts, self.model_, delta, name)
            return self
        with self._as_set():
            model = self.model_
            delta, attributes = self._summarise(X, y, sample_weight, model)
            if classes is not None:
                delta.declare_classes(self._declared(classes))
            parts = named_parts.begun(self._parts, model, delta, name)
            structure = model.structure
            self._go_on(delta, attributes)
            self.model_.structure = structure
        self._parts = named_parts.added(parts, self.model_, delta, name)
        return self

    def reestimate(self) -> Self:
        """Estimate again from the stored statistics, with the current parameters.

        Use it after ``set_params(alpha=0.1)``: smoothing, priors, ties and floors do not change the
        statistics, so no rows are needed. Bins, interactions and weights are chosen again, too;
        `partial_fit` keeps them until the rows have grown by more than a tenth since the last
        choice, or there are new columns or classes, so that updates are fast. The model is then
        that of one `fit` to all rows, bit for bit, as it is after `forget`, `decay` and ``+``.

        Raises
        ------
        ValueError : if a parameter is invalid, or a parameter of counting changed, such as
            `ngram_range`; the model is then unchanged.
        """
        check_is_fitted(self)
        with self._as_set():
            if len(self.model_.classes):
                self.model_.check(workers(self.n_jobs))
            self.model_.reestimate()
        return self

    def _go_on(self, delta: Model, attributes: dict[str, Any]) -> None:
        """Add a model to that of this estimator."""
        self.model_.absorb(delta)

    def forget(
        self, X: Any = None, y: Any = None, sample_weight: Any = None, *, part: str | None = None
    ) -> Self:
        """Remove training rows: the model is then, bit for bit, that of the remaining rows.

        Parameters
        ----------
        X, y, sample_weight : as for `fit`; omit them to remove all rows of the part.
        part : the name of the part that has the rows, if any: see `partial_fit`.

        Raises
        ------
        ValueError : if the sums show that these are not training rows; the model is then
            unchanged.
        """
        check_is_fitted(self)
        whole_part = part is not None and X is None and y is None
        with self._as_set():
            removed = None if whole_part else self._to_forget(X, y, sample_weight)
            if not self._parts and part is None and removed is not None:
                self.model_.forget(removed)
            else:
                self._become(lambda saved: named_parts.forget(saved, {part or REST: removed}))
        return self

    def _become(self, change: Callable[[Saved], Any]) -> None:
        """Apply a change to the model and its parts."""
        saved = Saved(self.model_, parts=self._parts)
        change(saved)
        self._keep(saved.model, {name: getattr(self, name) for name in self._noted})
        self._parts = saved.parts

    def _to_forget(self, X: Any, y: Any, sample_weight: Any) -> Model:
        """Return a model of the rows to forget, with the columns of `model_`."""
        return self._summarise(X, y, sample_weight, self.model_)[0]

    def decay(self, gamma: float) -> Self:
        """Multiply the weights of all rows so far by `gamma`, 0 < gamma <= 1."""
        check_is_fitted(self)
        with self._as_set():
            if self._parts:
                self._become(lambda saved: named_parts.decayed(saved, gamma))
            else:
                self.model_.decay(gamma)
        return self

    def __add__(self, other: Self) -> Self:
        """Return the model of the rows of both, with the parameters of the left one.

        Parameters of counting must be equal. Warns if other parameters, such as smoothing or prior,
        were set to a different value in the right model, and about columns that only one model has.
        """
        if type(other) is not type(self):
            return NotImplemented
        check_is_fitted(self)
        check_is_fitted(other)
        total = clone(self)
        attributes = {name: getattr(self, name) for name in self._noted}
        with self._as_set():
            total._keep(self.model_.copy(), attributes)
        with other.model_.lock:  # another thread may be training it
            total._go_on(other.model_, attributes)
            models = [Saved(summand.model_, parts=summand._parts) for summand in (self, other)]
            total._parts = named_parts.merged(total.model_, models)
        self._warn_unlike(other)
        return total

    def _warn_unlike(self, other: Self) -> None:
        """Warn about parameters that the sum does not have, and columns that one model lacks."""
        models = self, other, type(self)()
        left, right, default = (model._current_parameters() for model in models)
        # parameters that the right model left at their defaults are no conflict; families in
        # `columns` and declared types are compared where the statistics are added
        conflicts = [
            f"{name}={left[name]!r}, not {right[name]!r}"
            for name in left
            if name not in (*UNREAD, "columns", "categorical", "numeric")
            and repr(right[name]) not in (repr(left[name]), repr(default[name]))
        ]
        if conflicts:
            message = f"the sum has the parameters of the left model: {', '.join(conflicts)}"
            warnings.warn(message, UserWarning, stacklevel=3)
        if remark := unshared(self.model_, other.model_, ("the left model", "the right model")):
            warnings.warn(remark, UserWarning, stacklevel=3)

    def __radd__(self, other: Any) -> Self:
        """Support ``sum(models)``, which begins with 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def _keep(self, model: Model, attributes: dict[str, Any]) -> None:
        """Set the fitted attributes: the model, and the attributes in `attributes`."""
        model.prior.check_room(model.classes)
        model.family.check_room(model.classes)
        self.__dict__.pop("feature_names_in_", None)
        if model.feature_names is not None:
            self.feature_names_in_ = np.array(model.schema.ordered, object)
        if model.schema.reasons is None and model.schema.family.summary.takes == "documents":
            self.__dict__.pop("n_features_in_", None)  # documents have no columns
        else:
            self.n_features_in_ = model.n_features
        for name, value in attributes.items():
            setattr(self, name, value)
        self._parts = {}
        self._read = self._current_parameters()
        self.model_ = model  # last: other threads may be predicting

    def _posterior(self, jobs: Workers | None = None) -> Posterior:
        """Return the posterior of the current model; get it once per call, as it may change."""
        if not self.__sklearn_is_fitted__():  # faster than `check_is_fitted`
            check_is_fitted(self)
        return settled(self.model_, jobs or workers(self.n_jobs))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model, with its exact statistics, to a file for `naively.load`."""
        check_is_fitted(self)
        parameters, notes = self._read, self._notes()
        saved = Saved(self.model_, type(self).__name__, parameters, notes, parts=self._parts)
        save(saved, path, workers(self.n_jobs))

    # ---- pickle, joblib, skops, MLflow -------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """Return all attributes, with the model as bytes of the file format.

        A model that a file cannot hold, such as one with a function as analyzer, is pickled as it
        is.
        """
        state = dict(vars(self))  # in one step: another thread may be training this one
        if "model_" not in state:
            return state
        with suppress(ValueError):
            content = to_bytes(Saved(state["model_"], parts=state["_parts"]))
            parameters = {name: state["_read"][name] for name in self._changed()}
            for name in ("model_", "_parts", "_read"):
                del state[name]
            state |= {SAVED: content, SET_LATER: parameters}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        attributes = dict(state)
        content, set_later = attributes.pop(SAVED, None), attributes.pop(SET_LATER, {})
        vars(self).update(attributes)
        if content is not None:
            saved = from_bytes(content, f"the state of this {type(self).__name__}")
            self._keep(saved.model, {})
            self._parts = saved.parts
            self._read |= set_later

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Copy the estimator; the sums are shared until one of the two changes them."""
        memo[id(self)] = estimator = object.__new__(type(self))
        vars(estimator).update(copy.deepcopy(dict(vars(self)), memo))
        return estimator

    def __sklearn_is_fitted__(self) -> bool:
        return self._learned is not None
