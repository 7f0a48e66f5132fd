"""Learning, forgetting, adding up, estimating again: of every estimator that has a `Model`."""

from __future__ import annotations

import copy
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
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
from naively.core.model import Model
from naively.core.posterior import Posterior
from naively.core.prior import Prior
from naively.core.workers import SERIAL, Workers, in_order, workers
from naively.estimators.shared.validation import (
    check_classes,
    check_labels,
    require_labels,
    settled,
)
from naively.families.base import AnyFamily, unlike
from naively.io.arrow import together
from naively.io.inputs import MISSING, Task, is_untyped
from naively.io.sources import Source
from naively.statistics.base import Data, InvalidValueError
from naively.storage import named_parts
from naively.storage.model_files import Saved, from_bytes, save, to_bytes
from naively.storage.parts import REST, Part
from naively.tables import values
from naively.tables.inference import ROWS
from naively.tables.learning import labelled, merge
from naively.tables.names import few, no_column
from naively.tables.targets import with_typed_labels

AGAIN = "call `fit` again, or set the parameters back"
SAVED, SET_LATER = "saved", "set_later"
"""What a state has besides attributes: the model, and what parameters set since were for it."""
UNREAD = ("n_jobs",)
"""Parameters that change no answer."""


class Rereads:
    """An estimator whose parameters take effect when it learns, or estimates again.

    All that `estimate` decides can change without the rows: smoothing, ties, floors, priors. What
    the sums themselves depend on, such as n-grams or the threshold of a binarizer, cannot.
    """

    model_: Model
    _read: dict[str, Any]
    """The parameters that `model_` was estimated under."""

    @abstractmethod
    def _family(self) -> AnyFamily: ...

    @abstractmethod
    def _prior(self) -> Prior: ...

    @property
    def _learned(self) -> Model | None:
        """The model; None before anything was learned."""
        return vars(self).get("model_")

    def _said(self) -> dict[str, Any]:
        """The parameters as they are now."""
        return {name: getattr(self, name) for name in type(self).__dataclass_fields__}  # type: ignore[attr-defined]

    @contextmanager
    def _as_set(self) -> Iterator[None]:
        """The model under the parameters as they are now; as it was, if the block fails.

        Raises ValueError if parameters changed that decide what is counted.
        """
        model, read = self.model_, self._read
        changed = self._changed()
        try:
            if changed - {*UNREAD}:
                self._refuse_new_auto()
                self.model_ = self._reread(model, changed)
            self._read = self._said()
            yield
        except BaseException:
            self.model_, self._read = model, read
            raise

    def _changed(self) -> set[str]:
        """The parameters that were set since the model was read; mostly none."""
        now = vars(self)
        if all(map(is_, map(now.get, self._read), self._read.values())):
            return set()
        return {
            name for name, value in self._read.items() if not _same(now.get(name, value), value)
        }

    def _refuse_new_auto(self) -> None:
        """Raise ValueError if smoothing is to be chosen that was not when the rows were there."""
        before, now = (one.get("alpha") for one in (self._read, self._said()))
        if isinstance(now, str) and now == "auto" and not isinstance(before, str):
            raise ValueError('alpha="auto" is chosen when `fit` is called: call it again')

    def _reread(self, model: Model, changed: set[str]) -> Model:
        """A model under the parameters as they are now.

        Raises
        ------
        ValueError : if something else would have to be counted.
        """
        family = self._family()
        refuse_other_sums(model.family, family)
        return model.read_anew(model.schema.with_family(family), self._prior())


def _same(a: Any, b: Any) -> bool:
    """Whether a parameter is what it was; equal numbers and text need not be the same object."""
    return a is b or (type(a) is type(b) and isinstance(a, int | float | str) and a == b)


def refuse_other_sums(before: AnyFamily, now: AnyFamily) -> None:
    """Raise ValueError unless a family reads what was counted for another one."""
    if type(now) is not type(before) or now.summary != before.summary:
        raise ValueError(
            f"what was learned cannot go on as another family: {unlike(before, now)}; {AGAIN}"
        )


# ---- streams -------------------------------------------------------------------------------------


Answer = Callable[[Posterior, Data, Workers], npt.NDArray[Any]]
"""A method of a posterior that answers for rows."""


def check_stream(estimator: Any, source: Source, y: Any, sample_weight: Any) -> None:
    """Refuse what a stream cannot be learned or judged with: ValueError."""
    require_labels(estimator, y)
    if not isinstance(y, str):
        raise ValueError("y must name the column of the stream that has the labels")
    if y not in source.names:
        raise ValueError(f"y names {y!r}, which is no column of X: {no_column(y, source.names)}")
    if sample_weight is not None:
        raise ValueError(
            "the rows of a stream have no sample_weight: pass rows in memory, as by "
            "naively.scan(...).to_table()"
        )


def counted(estimator: Any, source: Source, y: str, known: Model | None) -> Model:
    """A model of the rows of a stream, which has its labels in the column `y`.

    Parameters
    ----------
    known : whose columns and family these rows have; None to begin anew. A family that refers to
        documents then refers to the first 100,000.

    Raises
    ------
    ValueError : saying what is wrong and where.
    """
    tasks, reader = source.tasks(), estimator
    columns = features_of(estimator if known is not None else None, source.names, y)
    if known is None:
        reader = clone(estimator)
        head = list(_head(tasks, ROWS if reader._family().refers else 1))
        tasks = chain((partial(_itself, batch) for batch in head), tasks)
        first = together(list(map(_table, head)))
        labels = _labels(first, y, None)
        known = reader._learnable(reader._of_batch(first, columns), labels, None).blank
        known = replace(known, untyped=is_untyped(head[0].schema.field(y)))
        reader._keep(known, {})
    blank = known

    def one(task: Task) -> tuple[int, Model]:
        table = _table(task())
        if table.num_rows == 0:
            return 0, blank.blank()
        labels = _labels(table, y, blank.classes)
        rows = reader._learnable(reader._of_batch(table, columns), labels, None, blank)
        return table.num_rows, rows.summarise(SERIAL)

    total = blank.blank()
    with _counting(blank.feature_names) as before:
        for rows, part in in_order(one, tasks, workers(estimator.n_jobs).count):
            total = merge(total, part)
            before.rows += rows
    total = with_typed_labels(total)
    check_classes(total.classes, 1)
    return total


def answers(
    estimator: Any, source: Source, answer: Answer, y: str | None = None
) -> Iterator[tuple[npt.NDArray[Any], Labels | None]]:
    """(what a fitted estimator says of the rows, their labels if `y` names them), in batches.

    Raises
    ------
    ValueError : saying what is wrong and where.
    """
    posterior = estimator._posterior(workers(estimator.n_jobs)).remarking()
    columns = features_of(estimator, source.names, y)

    def one(task: Task) -> tuple[npt.NDArray[Any], Labels | None] | None:
        table = _table(task())
        if table.num_rows == 0:
            return None
        labels = None if y is None else _labels(table, y, posterior.classes)
        rows = estimator._rows(estimator._of_batch(table, columns))
        return answer(posterior, rows, SERIAL), labels

    with _counting(posterior.feature_names) as before:
        for found in in_order(one, source.tasks(), workers(estimator.n_jobs).count):
            if found is not None:
                yield found
                before.rows += len(found[0])
    if before.rows == 0:
        raise ValueError("X has no rows")
    for said in posterior.said:
        warnings.warn(said, UserWarning, stacklevel=4)


def features_of(estimator: Any, names: Sequence[str], y: str | None) -> list[str]:
    """The columns of a stream that a classifier learns or reads: those that it knows by name.

    Raises ValueError if one is missing.
    """
    there = [name for name in names if name != y]
    known = getattr(estimator, "feature_names_in_", None)
    if known is None:
        return there
    if lacking := [name for name in known if name not in there]:
        raise ValueError(
            f"X lacks the column(s) {few(lacking)}, which were learned; it has {few(there)}"
        )
    return list(known)


def numbers_of(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    """These columns as numbers; what is missing is NaN.

    Raises
    ------
    ValueError : if one holds something else, saying which.
    """
    found = {}
    for name in columns:
        read = values.numbers(values.flat(table.column(name)), MISSING)
        if read.invalid.any() or (read.truths and is_untyped(table.schema.field(name))):
            example = "true or false" if read.example is None else repr(read.example)
            raise ValueError(
                f"X must hold numbers, but column {name!r} holds {example}: leave it out, as by "
                "naively.scan(..., columns=...), or use NaiveBayes or AutoBayes"
            )
        found[name] = read.values
    return pa.table(found)


def _table(batch: pa.RecordBatch) -> pa.Table:
    return pa.Table.from_batches([batch])


def _itself(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch


def _head(tasks: Iterator[Task], rows: int) -> Iterator[pa.RecordBatch]:
    """The batches of the first rows; ValueError if there are none."""
    met = 0
    for task in tasks:
        batch = task()
        yield batch
        met += batch.num_rows
        if met >= rows:
            return
    if met == 0:
        raise ValueError("there are no rows to learn from")


class MissingLabelError(ValueError):
    """The label of a row is missing."""

    def __init__(self, row: int) -> None:
        self.row = row
        super().__init__(row)

    def __str__(self) -> str:
        return f"the label of row {self.row} is missing"


def _labels(table: pa.Table, y: str, like: Labels | None) -> Labels:
    classes, codes = labelled(table, y, MISSING, like)
    if (codes == len(classes)).any():
        raise MissingLabelError(int((codes == len(classes)).argmax()))
    found: Labels = classes[codes]
    return found


@dataclass
class _Before:
    """Rows of a stream before the batch that is asked about."""

    rows: int = 0


@contextmanager
def _counting(names: Sequence[str] | None) -> Iterator[_Before]:
    """Let errors about a row of a batch name that of the stream, and columns by these names."""
    before = _Before()
    try:
        yield before
    except MissingLabelError as error:
        error.row += before.rows
        raise
    except InvalidValueError as error:
        error.row += before.rows
        raise error.named(names) from None


# ---- learning ------------------------------------------------------------------------------------


class Learning(Rereads):
    """All that changes a model, and its files."""

    n_features_in_: int
    get_params: Any
    n_jobs: int | None
    _noted: tuple[str, ...] = ()
    """Attributes that are kept beside the model."""
    _parts: Mapping[str, Part]
    """What named parts learned; see `naively.storage.named_parts`."""

    @abstractmethod
    def _summarise(
        self, X: Any, y: Any, sample_weight: Any, known: Model | None
    ) -> tuple[Model, dict[str, Any]]:
        """(a model of these rows alone, attributes to keep with it); self is unchanged."""

    def _notes(self) -> dict[str, str]:
        """What a file notes beside the model."""
        return {}

    def _noted_in(self, extra: dict[str, str]) -> dict[str, Any]:
        """What is kept beside the model, of the notes in a file."""
        return {}

    def _declared(self, classes: Any) -> Labels:
        """Labels to make room for, checked."""
        return check_labels(classes, len(classes))

    def _chosen(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """Itself; or a classifier like it with parameters that these rows choose."""
        return self

    def _refuse_auto(self) -> None:
        """Raise ValueError if parameters are to be chosen, which `partial_fit` cannot."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the rows of X alone.

        Parameters
        ----------
        X : (n, d) array, data frame or sparse matrix; NaN is a missing value. Or a stream, as
            `naively.scan` makes it, which is read in constant memory.
        y : (n,) labels; of one class alone the model predicts that one. Of a stream the name of the
            column that has them; all other columns are features.
        sample_weight : (n,) non-negative weights; a row of weight w counts as w rows.

        Raises
        ------
        ValueError : saying what is wrong and where.
        """
        delta, noted = self._chosen(X, y, sample_weight)._summarise(X, y, sample_weight, None)
        delta.check(workers(self.n_jobs))
        if said := delta.family.doubt(delta.whole[0]):
            warnings.warn(said, UserWarning, stacklevel=2)
        self._keep(delta, noted)
        return self

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, *,
        part: str | None = None,
    ) -> Self:  # fmt: skip
        """Learn from more rows. New classes may appear in any call; so may levels and columns.

        Any split of the rows into calls gives the same model, bit for bit, of a table with the
        same families of columns (but for ``family="auto"``, which chooses on the first rows).
        Bins, interactions and weights that were chosen are kept while rows grow by a tenth at
        most: see `reestimate`.

        Parameters
        ----------
        X, y, sample_weight : as for `fit`.
        classes : labels to make room for before their rows are met; not required.
        part : a name for these rows, by which they can be forgotten later without them: what the
            part learned is kept beside the sum, and saved with it.

        Raises
        ------
        ValueError : saying what is wrong and where; the model is as it was.
        """
        if self._learned is None:
            self._refuse_auto()
            delta, noted = self._summarise(X, y, sample_weight, None)
            if classes is not None:
                delta.declare_classes(self._declared(classes))
            name = part or REST
            parts = named_parts.begun({}, delta.blank(), delta, name)
            self._keep(delta, noted)
            self._parts = named_parts.added(parts, self.model_, delta, name)
            return self
        with self._as_set():
            known = self.model_
            delta, noted = self._summarise(X, y, sample_weight, known)
            if classes is not None:
                delta.declare_classes(self._declared(classes))
            name = part or REST
            parts = named_parts.begun(self._parts, known, delta, name)
            structure = known.structure
            self._go_on(delta, noted)
            self.model_.structure = structure
        self._parts = named_parts.added(parts, self.model_, delta, name)
        return self

    def reestimate(self) -> Self:
        """Estimate again from what was counted, under the parameters as they are now.

        After ``set_params(alpha=0.1)`` no row is needed: smoothing, priors, ties and floors are no
        part of the sums. Bins, interactions and weights are chosen anew: `partial_fit` keeps them
        until rows have grown by more than a tenth since they were chosen, or columns or classes are
        new, so that an update costs what counting costs. Afterwards the model is again that of one
        `fit` of all rows, bit for bit, as it is after `forget`, `decay` and a sum.

        Raises
        ------
        ValueError : if a parameter changed that decides what is counted, as `ngram_range` does, or
            is invalid; the model is as it was.
        """
        check_is_fitted(self)
        with self._as_set():
            if len(self.model_.classes):
                self.model_.check(workers(self.n_jobs))
            self.model_.reestimate()
        return self

    def _go_on(self, delta: Model, noted: dict[str, Any]) -> None:
        """Absorb a model, under the parameters of this estimator."""
        self.model_.absorb(delta)

    def forget(
        self, X: Any = None, y: Any = None, sample_weight: Any = None, *, part: str | None = None
    ) -> Self:
        """Unlearn rows: the model is again, bit for bit, one that never met them.

        Parameters
        ----------
        X, y, sample_weight : as for `fit`; all rows of the part if there are none.
        part : the name with which the rows were learned, if they had one: see `partial_fit`.

        Raises
        ------
        ValueError : if these rows were not learned, as far as the sums can tell; the model is
            as it was.
        """
        check_is_fitted(self)
        whole = part is not None and X is None and y is None
        with self._as_set():
            gone = None if whole else self._to_forget(X, y, sample_weight)
            if not self._parts and part is None and gone is not None:
                self.model_.forget(gone)
            else:
                self._become(lambda saved: named_parts.forget(saved, {part or REST: gone}))
        return self

    def _become(self, change: Callable[[Saved], Any]) -> None:
        """Take what becomes of the model and its parts."""
        saved = Saved(self.model_, parts=self._parts)
        change(saved)
        self._keep(saved.model, {name: getattr(self, name) for name in self._noted})
        self._parts = saved.parts

    def _to_forget(self, X: Any, y: Any, sample_weight: Any) -> Model:
        """A model of these rows alone, which have the columns that are known."""
        return self._summarise(X, y, sample_weight, self.model_)[0]

    def decay(self, gamma: float) -> Self:
        """Let all that was learned so far count `gamma` times, 0 < gamma <= 1."""
        check_is_fitted(self)
        with self._as_set():
            if self._parts:
                self._become(lambda saved: named_parts.decayed(saved, gamma))
            else:
                self.model_.decay(gamma)
        return self

    def __add__(self, other: Self) -> Self:
        """The model that learned what both did, with the parameters of the left one.

        Those of the right one may be others, as long as they counted the same: its smoothing,
        prior and the like. Warns if the right one was given another value that the sum does not
        have, and if the models have no column in common.
        """
        if type(other) is not type(self):
            return NotImplemented
        check_is_fitted(self)
        check_is_fitted(other)
        total = clone(self)
        noted = {name: getattr(self, name) for name in self._noted}
        with self._as_set():
            total._keep(self.model_.copy(), noted)
        with other.model_.lock:  # another thread may be teaching it
            total._go_on(other.model_, noted)
            own = [Saved(one.model_, parts=one._parts) for one in (self, other)]
            total._parts = named_parts.merged(total.model_, own)
        self._warn_unlike(other)
        return total

    def _warn_unlike(self, other: Self) -> None:
        """Warn of what a sum of two models cannot have of both, at the line of the user."""
        mine, theirs, default = self._said(), other._said(), type(self)()._said()
        # what the right model left at its default, it leaves to the left one; the families that
        # `columns` names, and declared types, are compared where their statistics are added
        unlike = [
            f"{name}={mine[name]!r}, not {theirs[name]!r}"
            for name in mine
            if name not in (*UNREAD, "columns", "categorical", "numeric")
            and repr(theirs[name]) not in (repr(mine[name]), repr(default[name]))
        ]
        if unlike:
            said = f"the sum has the parameters of the left model: {', '.join(unlike)}"
            warnings.warn(said, UserWarning, stacklevel=3)
        own, others = (list(model.feature_names or ()) for model in (self.model_, other.model_))
        if own and others and not {*own} & {*others}:
            said = f"the models have no column in common: {few(own)}; {few(others)}"
            warnings.warn(said, UserWarning, stacklevel=3)

    def __radd__(self, other: Any) -> Self:
        """So that ``sum(models)`` works."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def _keep(self, model: Model, noted: dict[str, Any]) -> None:
        """Take a model as this estimator's own, with what was noted beside it."""
        model.prior.check_room(model.classes)
        self.__dict__.pop("feature_names_in_", None)
        if model.feature_names is not None:
            self.feature_names_in_ = np.array(model.schema.ordered, object)
        if model.schema.reasons is None and model.schema.family.summary.takes == "documents":
            self.__dict__.pop("n_features_in_", None)  # documents are no columns of X
        else:
            self.n_features_in_ = model.n_features
        for name, value in noted.items():
            setattr(self, name, value)
        self._parts = {}
        self._read = self._said()
        self.model_ = model  # last, as other threads may be asking

    def _posterior(self, jobs: Workers | None = None) -> Posterior:
        """What the model answers as it is now; to be asked for once an answer, as it may change."""
        if not self.__sklearn_is_fitted__():  # which `check_is_fitted` takes long to ask
            check_is_fitted(self)
        return settled(self.model_, jobs or workers(self.n_jobs))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model, with its exact statistics, to a file: see `naively.load`."""
        check_is_fitted(self)
        said, notes = self._read, self._notes()
        saved = Saved(self.model_, type(self).__name__, said, notes, parts=self._parts)
        save(saved, path, workers(self.n_jobs))

    # ---- pickle, joblib, skops, MLflow -------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """Parameters and other attributes, and the bytes of `save` as the model.

        A model that a file cannot hold, such as one with a function as analyzer, stays as it is.
        """
        state = dict(vars(self))  # in one step: another thread may be teaching this one
        if "model_" not in state:
            return state
        with suppress(ValueError):
            held = to_bytes(Saved(state["model_"], parts=state["_parts"]))
            read = {name: state["_read"][name] for name in self._changed()}
            for name in ("model_", "_parts", "_read"):
                del state[name]
            state |= {SAVED: held, SET_LATER: read}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        others = {name: one for name, one in state.items() if name not in (SAVED, SET_LATER)}
        vars(self).update(others)
        if SAVED in state:
            saved = from_bytes(state[SAVED], f"the state of this {type(self).__name__}")
            self._keep(saved.model, {})
            self._parts = saved.parts
            self._read |= state[SET_LATER]

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """A copy that shares the sums until one of the two changes them."""
        memo[id(self)] = new = object.__new__(type(self))
        vars(new).update(copy.deepcopy(dict(vars(self)), memo))
        return new

    def __sklearn_is_fitted__(self) -> bool:
        return self._learned is not None
