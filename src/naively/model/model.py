"""Define `Model`: the sums of its training rows, and the parameters estimated from them.

Bins, interactions and weights form the structure of a model. They are not sums: they are selected
by how well held-out rows are predicted, which takes long. An update keeps the structure and adds
to the counts, so that class weights and the counts of terms and bins are those of all rows. The
structure is selected again

- when the rows have grown by more than a tenth since, or columns or classes are new;
- after rows are forgotten or decayed, models are merged, or parameters are set;
- when `reestimate` is called.

After `fit`, a merge, `forget` and `reestimate` the whole model is therefore a function of the
multiset of rows. Between two selections it is a function of the rows at the last selection and of
the counts of all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from threading import RLock
from typing import Any
from weakref import ref

import numpy as np

from naively.core import markup
from naively.core.exact import ExactArray, Float64
from naively.core.issues import Invalid, add_invalid, less_invalid
from naively.core.labels import Coded, Labels, encode_labels, merge_labels, narrow
from naively.core.workers import SERIAL, Workers
from naively.families.base import AnyFamily, FeatureError, Parameters
from naively.model.column_types import candidates_of, gathered, typed
from naively.model.posterior import Posterior, naming
from naively.model.prior import Prior
from naively.model.schema import Schema
from naively.statistics.base import (
    FORGOTTEN,
    NOT_LEARNED,
    Arrays,
    Batch,
    Data,
    InvalidValueError,
    Statistics,
)
from naively.statistics.powers import class_weights

GROWTH = 0.1  # relative growth of the total weight at which the structure is selected again


@dataclass(frozen=True)
class Structure:
    """The structure of a model, and the data that it was selected on.

    weight : total weight of the rows it was selected on.
    classes, names : the classes and columns of these rows.
    """

    chosen: Any
    weight: float
    classes: list[Any]
    names: list[str]

    @classmethod
    def of(
        cls, chosen: Any, weight: float, classes: Labels, names: Sequence[str]
    ) -> Structure | None:
        """Return the structure, or None if the family has none."""
        return cls(chosen, weight, classes.tolist(), list(names)) if chosen else None

    @property
    def limit(self) -> float:
        """The largest total weight of the rows for which it is reused."""
        return self.weight * (1 + GROWTH)

    def fits(self, weight: float, classes: Labels, names: Sequence[str]) -> bool:
        """Return whether the structure can be reused for this weight, these classes and columns."""
        return (
            self.weight <= weight <= self.limit
            and self.classes == classes.tolist()
            and self.names == list(names)
        )


# ---- model ---------------------------------------------------------------------------------------


NEVER = "cannot forget rows that are not in the training data: "


class NeverLearnedError(ValueError):
    """Rows to forget are not in the training data.

    Attributes
    ----------
    row : int, the number of the first such row, from 1; 0 if it was not located.
    """

    row = 0


@dataclass(eq=False)
class Model:
    """A class prior and families, each over a block of columns, with their sufficient statistics.

    One thread may train while others predict: each prediction uses a single state of the model. A
    lock protects the statistics while they change and while parameters are estimated from them. A
    `Posterior` needs no lock, since nothing that it refers to changes.

    counted, prior : the columns with the summaries that are counted over them; the class prior.
    class_weight : ExactArray (C,), total weight of the rows of each class.
    declared : labels that were declared before any of their rows was seen, sorted.
    rows, unlabelled : int, number of training rows, and of rows skipped because they have no label.
    unread : values that could not be read, by column.
    skipped : how a missing label was spelled in a skipped row; empty if none was.
    untyped : whether the labels are text of a file that may stand for numbers: see
        `naively.tables.targets`.
    lock : held while the statistics change, or while they are read and must not change.
    """

    counted: Schema
    prior: Prior
    classes: Labels = field(default_factory=lambda: np.empty(0, np.int64))
    class_weight: ExactArray = field(default_factory=lambda: ExactArray.zeros((0,)))
    sums: Statistics = field(default=None)  # type: ignore[assignment]
    declared: Labels = field(default_factory=lambda: np.empty(0, np.int64))
    rows: int = 0
    unlabelled: int = 0
    unread: dict[str, Invalid] = field(default_factory=dict)
    target: str | None = None
    untyped: bool = False
    skipped: str = field(default="", repr=False)
    lock: Any = field(default_factory=RLock, init=False, repr=False)
    _estimate: Posterior | None = field(default=None, init=False, repr=False)
    _structure: Structure | None = field(default=None, init=False, repr=False)
    """The structure selected on fewer rows, to reuse; None to select it on all rows."""
    _typed: tuple[Schema, Statistics] | None = field(default=None, init=False, repr=False)
    """The schema with the families inferred from the values, and their statistics."""
    _lent: bool = field(default=False, init=False, repr=False)
    """Whether another object may refer to the sums, so that they are copied before a change."""

    def __post_init__(self) -> None:
        if self.sums is None:
            self.sums = self.counted.summary.empty(0, len(self.counted.names))

    @property
    def schema(self) -> Schema:
        """The columns with their families, inferred from all training rows where undeclared."""
        return self._read()[0]

    @property
    def statistics(self) -> Statistics:
        """The sufficient statistics of these families."""
        return self._read()[1]

    def _read(self) -> tuple[Schema, Statistics]:
        if self.counted.open is None:
            return self.counted, self.sums
        typed_sums = self._typed  # read once: another thread may reset it
        if typed_sums is None:
            with self.lock:
                typed_sums = self._typed = self._typed or typed(
                    self.counted, self.sums, self.class_weight
                )
        return typed_sums

    @property
    def invalid(self) -> dict[str, Invalid]:
        """Values that are invalid for the families of their columns, by column."""
        return self.invalid_in(self.schema) if len(self.class_weight.limbs) else self.unread

    def invalid_in(self, schema: Schema) -> dict[str, Invalid]:
        """Return the invalid values, by column, for the families of a schema."""
        invalid = self.texts_in_numeric(schema)
        add_invalid(invalid, self.unread)
        return invalid

    def texts_in_numeric(self, schema: Schema) -> dict[str, Invalid]:
        """Return the text values found in columns that are numeric in a schema, by column."""
        if self.counted.open is None:
            return {}
        texts = zip(self.counted.open.names, self.candidates.first_texts, strict=True)
        return {
            name: Invalid(count, example)
            for name, (count, example) in texts
            if count
            and name in schema.family_of
            and schema.family_of[name].summary.takes == "numbers"
        }

    @property
    def family(self) -> AnyFamily:
        """The families of all columns combined; with a single block, its family."""
        return self.schema.family

    @property
    def n_features(self) -> int:
        """The number of features."""
        return len(self.schema.names)

    @property
    def feature_names(self) -> Sequence[str] | None:
        """The names of the features; None if the columns of an array have none."""
        return self.schema.feature_names

    @property
    def weight(self) -> float:
        """The total weight of all rows."""
        return float(self.class_weight.summed(0).rounded())

    @property
    def counted_parts(self) -> list[Any]:
        """The statistics of each part of `counted`."""
        return self.counted.parts_of(self.sums)

    @property
    def candidates(self) -> Any:
        """The statistics of the columns whose type is not declared; there must be some."""
        return candidates_of(self.counted, self.sums)

    @property
    def parts(self) -> list[Any]:
        """The statistics of each part of `schema`."""
        return self.schema.parts_of(self.statistics)

    @property
    def whole(self) -> tuple[Statistics, ExactArray]:
        """(statistics, weights) of all rows by class, to check hyperparameters against."""
        return self.statistics, self.class_weight

    # ---- the algebra -------------------------------------------------------------------------

    def blank(self, schema: Schema | None = None) -> Model:
        """Return an untrained model of the same kind, optionally with another schema."""
        new_schema, kind = schema or self.counted.bare, type(self)
        return kind(new_schema, self.prior, target=self.target, untyped=self.untyped)

    def summarise(
        self, X: Data, y: Labels | Coded, weights: Float64 | None = None,
        workers: Workers | None = None,
    ) -> Model:  # fmt: skip
        """Return a model of the same kind, trained on these rows alone, without rows of weight 0.

        `y` holds one label per row, or is what `encode_labels` returns. Raises ValueError, which
        names the row and the column of a value that is invalid for the family.
        """
        rows = None
        if weights is not None and not weights.all() and not isinstance(y, tuple):
            rows = np.flatnonzero(weights)
            X, y, weights = X[rows], y[rows], weights[rows]
        classes, codes = y if isinstance(y, tuple) else encode_labels(y)
        batch = Batch(codes, len(classes), np.empty(0) if weights is None else weights)
        try:
            statistics = self.counted.summary.summarise(X, batch, workers or SERIAL)
        except InvalidValueError as error:
            if rows is not None:
                error.row = int(rows[error.row])
            raise error.named(self.feature_names) from None
        return Model(
            self.counted, self.prior, classes, class_weights(batch), statistics, rows=len(codes),
            target=self.target, untyped=self.untyped,
        )  # fmt: skip

    def absorb(
        self, other: Model, schema: Schema | None = None, prior: Prior | None = None
    ) -> None:
        """Add the statistics of another model in place; the classes become the union of both.

        Continue with `schema` and `prior`, if given. The structure is selected again, unless the
        caller sets it: see `structure`. Raises ValueError if the models cannot be added; self is
        then unchanged.
        """
        with self.lock:
            schema, prior = schema or self.counted, prior or self.prior
            schema.refuse_unlike(other.counted)
            schema = schema.declaring(other.counted.types)
            classes = merge_labels(self.classes, other.classes)
            prior.check_room(classes)
            schema.family.check_room(classes)
            self._make_private()
            self.sums = self._laid_out(schema)
            self.counted, self.prior = schema, prior
            self._scatter_classes(classes)
            self.declared = merge_labels(self.declared, other.declared)
            positions = np.searchsorted(self.classes, other.classes)
            self.class_weight = self.class_weight.accumulate(other.class_weight, rows=positions)
            self.sums.accumulate(other._laid_out(schema), positions)
            self.rows += other.rows
            self.unlabelled += other.unlabelled
            self.skipped = min(filter(None, (self.skipped, other.skipped)), default="")
            add_invalid(self.unread, other.unread)

    def forget(self, other: Model) -> None:
        """Subtract the statistics of another model in place; drop classes left without rows.

        Raises ValueError if the sums show that self was not trained on these rows; self is
        unchanged.
        """
        with self.lock:
            other = self._alike(other)
            remaining = self._less(other)
            has_weight = remaining.class_weight.nonzero()
            positions = np.flatnonzero(has_weight | np.isin(self.classes, self.declared))
            weight = remaining.class_weight.gather(0, positions).trimmed()
            statistics = remaining.sums.gather_classes(positions).canonical()
            classes = narrow(self.classes[positions])
            self.classes, self.class_weight, self.sums = classes, weight, statistics
            self._changed()
            self.rows = max(0, self.rows - other.rows)
            self.unlabelled -= other.unlabelled
            self.unread = less_invalid(self.unread, other.unread)

    def _alike(self, other: Model) -> Model:
        """Return another model under this schema; ValueError if it was not a part of this one."""
        if self.counted.open is None or other.counted.open is None:
            return other
        summed = zip(self.counted.summed, other.counted.summed, strict=True)
        if not all(other_columns <= own_columns for own_columns, other_columns in summed):
            raise NeverLearnedError(f"{NEVER}{NOT_LEARNED}")
        return other.under(self.counted)

    def under(self, schema: Schema) -> Model:
        """Return the model under another schema of these columns; new columns have no values.

        Raises ValueError if a column was counted in another way, and not all its values are stored.
        """
        if schema.parts == self.counted.parts:
            return replace(self, counted=schema, sums=self._laid_out(schema))
        sources = list(zip(self.counted.parts, self.counted_parts, strict=True))
        statistics = [gathered(part, sources, self.class_weight) for part in schema.parts]
        return replace(self, counted=schema, sums=schema.statistics(statistics))

    def _less(self, other: Model) -> Model:
        """Return a copy minus another model, with all classes; ValueError if that is impossible."""
        self.counted.refuse_unlike(other.counted)
        classes = self.classes.tolist()
        if absent := [label for label in other.classes.tolist() if label not in classes]:
            raise NeverLearnedError(f"{NEVER}the model has no class {absent[0]!r}")
        if refused := self.sums.refused():
            raise NeverLearnedError(f"{NEVER}{refused}")
        if (excess := other.unlabelled - self.unlabelled) > 0:
            raise NeverLearnedError(f"{NEVER}{markup.counted(excess, 'row')} without a label")
        remaining = self.less(other)
        weight = remaining.class_weight
        if problem := FORGOTTEN if weight.any_negative() else remaining.impossible():
            raise NeverLearnedError(f"{NEVER}{problem}")
        return remaining

    def impossible(self) -> str | None:
        """Return why no rows can have these statistics, or None if some can."""
        return self.sums.impossible(self.class_weight)

    def less(self, other: Model) -> Model:
        """Return a copy minus another model, with all classes, without checks."""
        places = np.searchsorted(self.classes, other.classes)
        remaining = self.copy()
        weight = remaining.class_weight.accumulate(other.class_weight, rows=places, sign=-1)
        remaining.class_weight = weight
        remaining.sums.accumulate(other._laid_out(self.counted), places, sign=-1)
        return remaining

    def decay(self, gamma: float) -> None:
        """Multiply all statistics by gamma, in place; ValueError unless 0 < gamma <= 1."""
        if not 0 < (gamma := float(gamma)) <= 1:
            raise ValueError(f"gamma must be above 0 and at most 1, not {gamma!r}")
        with self.lock:
            self.class_weight = self.class_weight.scaled(gamma)
            self.sums = self.sums.scaled(gamma)
            self._changed()

    def copy(self) -> Model:
        """Return a copy that shares no mutable state."""
        with self.lock:
            return replace(
                self, class_weight=self.class_weight.copy(), sums=self.sums.copy(),
                unread=dict(self.unread),
            )  # fmt: skip

    def canonical(self) -> Model:
        """Return a copy with statistics in canonical form: equal models have equal bits."""
        model = self.copy()
        model.classes = narrow(model.classes)
        model.class_weight = model.class_weight.trimmed()
        model.sums = model.sums.canonical()
        return model

    def read_as(self, schema: Schema) -> Model:
        """Return a copy with other families or names; ValueError unless the statistics agree."""
        schema.refuse_unlike(self.counted)
        model = self.copy()
        model.counted, model.sums = schema, model._laid_out(schema)
        return model

    def read_anew(
        self, schema: Schema, prior: Prior, statistics: Statistics | None = None
    ) -> Model:
        """Return the model with other families and another prior; copy the sums only on a change.

        With the same families, the estimated parameters are reused.
        """
        with self.lock:
            self._lent = True
            sums = statistics or self._laid_out(schema)
            model = replace(self, counted=schema, prior=prior, sums=sums, unread=dict(self.unread))
            model._lent = True
            if schema is self.counted:
                model._structure, estimate = self._structure, self._estimate
                if estimate is not None:
                    with suppress(ValueError):  # the prior may name classes that have no rows yet
                        model._estimate = model.estimated(SERIAL, estimate.parameters)
        return model

    def _laid_out(self, schema: Schema) -> Statistics:
        """Return the statistics in the layout of a schema that counts the same parts."""
        same_layout = schema.is_single == self.counted.is_single
        return self.sums if same_layout else schema.statistics(self.counted_parts)

    def __eq__(self, other: object) -> bool:
        """Return whether both have the same statistics, bit for bit; their families may differ."""
        if not isinstance(other, Model):
            return NotImplemented
        try:
            self.counted.refuse_unlike(other.counted)
        except ValueError:
            return False
        return (
            self.classes.tolist() == other.classes.tolist()
            and self.class_weight == other.class_weight
            and self.sums.canonical() == other._laid_out(self.counted).canonical()
        )

    __hash__ = None  # type: ignore[assignment]

    def declare_classes(self, labels: Labels) -> None:
        """Add classes that have no rows yet; `forget` does not remove them."""
        declared = encode_labels(labels)[0]
        with self.lock:
            self._make_private()
            self._scatter_classes(merge_labels(self.classes, declared))
            self.declared = merge_labels(self.declared, declared)

    def _changed(self) -> None:
        """Reset all that was derived from the previous sums."""
        self._estimate = self._structure = self._typed = None
        self._lent = False

    def _make_private(self) -> None:
        """Reset the estimate, and copy the sums before a change if other objects refer to them.

        Some parameters are computed lazily from the sums, so a posterior in use needs the old ones.
        Most posteriors are already freed, hence the weak references.
        """
        references = []
        if self._estimate is not None:
            parameters = self._estimate.parameters
            items = [parameters, *self._estimate.schema.parts_of(parameters)]
            references = [*map(ref, items)]
            del parameters, items  # which would keep them alive
        self._estimate = self._structure = self._typed = None
        if self._lent or any(item() is not None for item in references):
            self.class_weight = self.class_weight.copy()
            self.sums = self.sums.copy()
            self._lent = False

    def _scatter_classes(self, classes: Labels) -> None:
        """Extend the classes to a superset."""
        if len(classes) > len(self.classes):
            positions = np.searchsorted(classes, self.classes)
            self.class_weight = self.class_weight.scatter(0, positions, len(classes))
            self.sums = self.sums.scatter_classes(positions, len(classes))
        self.classes = classes

    def __getstate__(self) -> dict[str, Any]:
        """Drop the parameters, but store the part that is costly to estimate again."""
        with self.lock:
            self._lent = True  # copy the sums before a change: the pickle refers to them
            dropped = {"_estimate": None, "_typed": None, "lock": None}
            return {**vars(self), **dropped, "kept": self.kept()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, lock=RLock())
        self.restore(vars(self).pop("kept"))

    # ---- the structure -----------------------------------------------------------------------

    @property
    def structure(self) -> Structure | None:
        """The structure (bins, interactions, weights); None if none is selected.

        Set it to the structure of an earlier state to reuse it as rows are added: see
        `naively.model.model`.
        """
        with self.lock:
            if self._structure is None and (estimate := self._estimate) is not None:
                self._structure = Structure.of(
                    estimate.parameters.structure(), self.weight, self.classes, self.schema.names,
                )  # fmt: skip
            return self._structure

    @structure.setter
    def structure(self, structure: Structure | None) -> None:
        if structure and not structure.fits(self.weight, self.classes, self.schema.names):
            structure = None
        with self.lock:
            self._estimate, self._structure = None, structure

    def reestimate(self) -> None:
        """Select the structure again, on all rows, when it is next needed."""
        self.structure = None

    # ---- the posterior -----------------------------------------------------------------------

    def posterior(self, workers: Workers | None = None) -> Posterior:
        """Return the posterior; SingularModelError if a covariance matrix is singular."""
        estimate = self._estimate  # read once: another thread may reset it
        if estimate is None:
            with self.lock:
                estimate = self._estimate = self._estimate or self.estimated(workers or SERIAL)
                estimate.parameters.complete()
        return estimate

    def estimated(self, workers: Workers, parameters: Parameters | None = None) -> Posterior:
        """Estimate a posterior to be used once; `posterior` returns the one that is kept."""
        prior = self.prior.estimate(self.class_weight, self.classes)
        with np.errstate(divide="ignore"):
            log_prior = np.log(prior)
        if parameters is None:
            with naming(self.classes, self.class_weight, self.feature_names):
                parameters = self._parameters(workers)
        return Posterior(self.schema, self.classes, parameters, prior, log_prior)

    @property
    def _within(self) -> AnyFamily:
        """The families bound to these classes and columns."""
        return self.family.within(self.classes, self.schema.names, self.schema.types)

    def _parameters(self, workers: Workers) -> Parameters:
        """Estimate the parameters with the reused structure, or else on all rows."""
        family = self._within
        if self._structure is not None:
            with suppress(ValueError):  # the structure may not fit: new groups of terms
                chosen = self._structure.chosen
                return family.counted_for(chosen, self.statistics, self.class_weight)
            self._structure = None
        return family.estimate_on(self.statistics, self.class_weight, workers)

    def kept(self) -> Arrays:
        """Return the part of the estimate that files store: see `Parameters.kept`."""
        return {} if (estimate := self._estimate) is None else estimate.parameters.kept()

    def restore(self, kept: Arrays, weight: float | None = None) -> None:
        """Restore the estimate from its stored part; ValueError if it does not fit these sums.

        weight : total weight of the rows its structure was selected on; None for all.
        """
        if not kept:
            return
        self._estimate = self.estimated(SERIAL, self._restored(kept))
        if weight is not None and (structure := self.structure) is not None:
            self._structure = replace(structure, weight=weight)

    def _restored(self, kept: Arrays) -> Parameters:
        """Return the parameters from their stored part."""
        return self._within.restored(self.statistics, self.class_weight, kept)

    def check_family(self) -> None:
        """Raise ValueError if the families' hyperparameters do not fit the statistics."""
        self._within.check(*self.whole)

    def check(self, workers: Workers | None = None, classes: Labels | None = None) -> None:
        """Raise ValueError if the hyperparameters do not fit the statistics.

        They may name labels of `classes`, by default those of the model.
        """
        self.prior.estimate(self.class_weight, self.classes)
        try:
            self.family.check_named(self.classes if classes is None else classes)
            self.check_family()
        except FeatureError as error:
            if self.feature_names is None:
                raise
            raise ValueError(f"column {self.feature_names[error.feature]!r}: {error}") from None
        if self.family.may_be_singular:
            self.posterior(workers)
