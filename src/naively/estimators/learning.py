"""Learning, forgetting and adding up: what every estimator does that has a `Model`."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from naively.engines.threads import workers
from naively.estimators.rereading import UNREAD, Rereads
from naively.estimators.validation import check_labels, settled
from naively.files import parted
from naively.files.parts import REST, Part
from naively.files.safetensors import Saved, save
from naively.labels import Labels
from naively.model import Model
from naively.posterior import Posterior
from naively.tables.names import few
from naively.workers import Workers


class Learning(Rereads):
    """All that changes a model, and its files."""

    n_features_in_: int
    get_params: Any
    n_jobs: int | None
    _noted: tuple[str, ...] = ()
    """Attributes that are kept beside the model."""
    _parts: Mapping[str, Part]
    """What named parts learned; see `naively.files.parted`."""

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
            parts = parted.begun({}, delta.blank(), delta, name)
            self._keep(delta, noted)
            self._parts = parted.added(parts, self.model_, delta, name)
            return self
        with self._as_set():
            known = self.model_
            delta, noted = self._summarise(X, y, sample_weight, known)
            if classes is not None:
                delta.declare_classes(self._declared(classes))
            name = part or REST
            parts = parted.begun(self._parts, known, delta, name)
            structure = known.structure
            self._go_on(delta, noted)
            self.model_.structure = structure
        self._parts = parted.added(parts, self.model_, delta, name)
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
                self._become(lambda saved: parted.forget(saved, {part or REST: gone}))
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
                self._become(lambda saved: parted.decayed(saved, gamma))
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
            total._parts = parted.merged(total.model_, own)
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

    def __sklearn_is_fitted__(self) -> bool:
        return self._learned is not None
