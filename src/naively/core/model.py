"""The structure of a model, and how long it is kept while rows are learned.

Bins, interactions and weights are no sums: they are chosen by how well held-out rows are predicted,
which takes long. An update keeps them, and counts: class weights and the counts of terms and of
bins are those of all rows. The structure is chosen anew as soon as

- rows have grown by more than a tenth since it was chosen, or columns or classes are new;
- rows were forgotten or decayed, models were merged, or parameters were set;
- `reestimate` asks for it.

So after `fit`, a merge, `forget` and `reestimate` the whole model is a function of the multiset of
rows; between two choices it follows from the rows at the last one, and from the counts of all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from threading import RLock
from typing import Any
from weakref import ref

import numpy as np

from naively.core.column_types import gathered, typed
from naively.core.exact import ExactArray, Float64
from naively.core.issues import Invalid, add_invalid, less_invalid
from naively.core.labels import Coded, Labels, encode_labels, merge_labels, narrow
from naively.core.posterior import Posterior, naming
from naively.core.prior import Prior
from naively.core.schema import Schema
from naively.core.workers import SERIAL, Workers
from naively.families.base import AnyFamily, FeatureError
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

GROWTH = 0.1
"""Part by which the weight of all rows may grow before the structure is chosen anew."""


@dataclass(frozen=True)
class Structure:
    """What was chosen by some rows.

    Attributes
    ----------
    chosen : as `Parameters.structure` has it.
    weight : of the rows by which it was chosen.
    classes, names : the classes and columns of these.
    """

    chosen: Any
    weight: float
    classes: list[Any]
    names: list[str]

    @classmethod
    def of(
        cls, chosen: Any, weight: float, classes: Labels, names: Sequence[str]
    ) -> Structure | None:
        """The structure, if there is one: a family may choose nothing."""
        return cls(chosen, weight, classes.tolist(), list(names)) if chosen else None

    def fits(self, weight: float, classes: Labels, names: Sequence[str]) -> bool:
        """Whether it is kept for rows of this weight, with these classes and columns."""
        return (
            self.weight <= weight <= self.weight * (1 + GROWTH)
            and self.classes == classes.tolist()
            and self.names == list(names)
        )


# ---- model ---------------------------------------------------------------------------------------


NEVER = "cannot forget what was never learned: "


@dataclass(eq=False)
class Model:
    """A class prior times families, each over a block of columns, with all that it learned.

    One thread may learn while others predict: each answer is that of one state of the model. What
    it learns, or reads to estimate its parameters, is under a lock; a `Posterior` needs none, for
    what it refers to does not change any more.

    Attributes
    ----------
    counted, prior : the columns with what is counted of them, and the class prior.
    classes : (C,) the labels met so far, sorted.
    class_weight : ExactArray (C,), total weight of the rows of each class.
    sums : Statistics, what was counted.
    declared : labels that were named before any of their rows was met, sorted.
    rows, unlabelled : int, rows that were learned, and those left out for want of a label.
    unread : values that could not be counted, by column.
    target : name of the column of labels, if it has one.
    skipped : a spelling of a missing value that a row without a label has for one; else empty.
    untyped : whether the labels are text of a file, and may be numbers: see `tables.relabelling`.
    lock : held while what was learned changes, or is read where it must not change meanwhile.
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
    """What was chosen by fewer rows, and is kept; None where all is to be estimated anew."""
    _typed: tuple[Schema, Statistics] | None = field(default=None, init=False, repr=False)
    """The columns with the families that their values have, and the sums of these."""
    _lent: bool = field(default=False, init=False, repr=False)
    """Whether a copy that is being pickled may refer to the sums, so that these stay."""

    def __post_init__(self) -> None:
        if self.sums is None:
            self.sums = self.counted.summary.empty(0, len(self.counted.names))

    @property
    def schema(self) -> Schema:
        """The columns with their families, as all that was learned has it."""
        return self._read()[0]

    @property
    def statistics(self) -> Statistics:
        """What these families are estimated from."""
        return self._read()[1]

    def _read(self) -> tuple[Schema, Statistics]:
        if self.counted.open is None:
            return self.counted, self.sums
        found = self._typed  # read once: it may be gone the next moment
        if found is None:
            with self.lock:
                found = self._typed = self._typed or typed(
                    self.counted, self.sums, self.class_weight
                )
        return found

    @property
    def invalid(self) -> dict[str, Invalid]:
        """Values that their columns' families cannot take, by column."""
        return self.invalid_in(self.schema) if len(self.class_weight.limbs) else self.unread

    def invalid_in(self, schema: Schema) -> dict[str, Invalid]:
        """The same, where columns have the families of a schema."""
        found = self.strays(schema)
        add_invalid(found, self.unread)
        return found

    def strays(self, schema: Schema) -> dict[str, Invalid]:
        """Texts among the numbers of columns that have a family of numbers in a schema."""
        if self.counted.open is None:
            return {}
        parts = zip(self.counted.parts, self.counted_parts, strict=True)
        counted = next(own for part, own in parts if part.summary.takes == "values")
        return {
            name: Invalid(count, example)
            for name, (count, example) in zip(self.counted.open.names, counted.strays, strict=True)
            if count and name in schema.known and schema.known[name].summary.takes == "numbers"
        }

    @property
    def family(self) -> AnyFamily:
        """The families of all columns; that of the only block itself."""
        return self.schema.family

    @property
    def n_features(self) -> int:
        """How many columns are learned from."""
        return len(self.schema.names)

    @property
    def feature_names(self) -> Sequence[str] | None:
        """Their names; None if the columns of an array have none."""
        return self.schema.feature_names

    @property
    def weight(self) -> float:
        """The weight of all rows."""
        return float(self.class_weight.summed(0).rounded())

    @property
    def counted_parts(self) -> list[Any]:
        """What was counted, for each part of what is counted."""
        return self.counted.parts_of(self.sums)

    @property
    def parts(self) -> list[Any]:
        """What was counted, for each of the schema's parts."""
        return self.schema.parts_of(self.statistics)

    @property
    def whole(self) -> tuple[Statistics, ExactArray]:
        """(sums, weights) over all rows by class, against which hyperparameters are held."""
        return self.statistics, self.class_weight

    # ---- the algebra -------------------------------------------------------------------------

    def blank(self, schema: Schema | None = None) -> Model:
        """A model of the same kind, or of another schema, that has learned nothing."""
        new, kind = schema or self.counted.bare, type(self)
        return kind(new, self.prior, target=self.target, untyped=self.untyped)

    def summarise(
        self, X: Data, y: Labels | Coded, weights: Float64 | None = None,
        workers: Workers | None = None,
    ) -> Model:  # fmt: skip
        """A model of the same kind that learned these rows alone. Rows of weight 0 are absent.

        `y` holds a label a row, or is what `encode_labels` returns.

        Raises
        ------
        ValueError : naming the row and the column of a value that the family cannot take.
        """
        kept = None
        if weights is not None and not weights.all() and not isinstance(y, tuple):
            kept = np.flatnonzero(weights)
            X, y, weights = X[kept], y[kept], weights[kept]
        classes, codes = y if isinstance(y, tuple) else encode_labels(y)
        batch = Batch(codes, len(classes), np.empty(0) if weights is None else weights)
        try:
            statistics = self.counted.summary.summarise(X, batch, workers or SERIAL)
        except InvalidValueError as error:
            if kept is not None:
                error.row = int(kept[error.row])
            raise error.named(self.feature_names) from None
        return Model(
            self.counted, self.prior, classes, class_weights(batch), statistics, rows=len(codes),
            target=self.target, untyped=self.untyped,
        )  # fmt: skip

    def absorb(
        self, other: Model, schema: Schema | None = None, prior: Prior | None = None
    ) -> None:
        """Add what another model learned, in place; classes merge by union.

        Go on with `schema` and `prior`, if they are others than before. The structure is chosen
        anew, unless it is set again: see `structure`. Raises ValueError if the models cannot be
        added; then self is unchanged.
        """
        with self.lock:
            schema, prior = schema or self.counted, prior or self.prior
            schema.refuse_unlike(other.counted)
            schema = schema.declaring(other.counted.types)
            classes = merge_labels(self.classes, other.classes)
            prior.check_room(classes)
            schema.family.check_room(classes)
            self._own()
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
        """Subtract what another model learned, in place; classes without weight are forgotten.

        Raises
        ------
        ValueError : if self did not learn that, as far as the sums can tell; self is unchanged.
        """
        with self.lock:
            other = self._alike(other)
            left = self._less(other)
            weighty = left.class_weight.nonzero()
            kept = np.flatnonzero(weighty | np.isin(self.classes, self.declared))
            weight = left.class_weight.gather(0, kept).trimmed()
            statistics = left.sums.gather_classes(kept).canonical()
            classes = narrow(self.classes[kept])
            self.classes, self.class_weight, self.sums = classes, weight, statistics
            self._changed()
            self.rows = max(0, self.rows - other.rows)
            self.unlabelled -= other.unlabelled
            self.unread = less_invalid(self.unread, other.unread)

    def _alike(self, other: Model) -> Model:
        """Another model, counted as this one; ValueError if it cannot have learned a part of it."""
        if self.counted.open is None or other.counted.open is None:
            return other
        for mine, theirs in zip(self.counted.summed, other.counted.summed, strict=True):
            if not theirs <= mine:
                raise ValueError(f"{NEVER}{NOT_LEARNED}")
        return other.under(self.counted)

    def under(self, schema: Schema) -> Model:
        """The same, as another schema counts these columns; those that are new have no values.

        Raises
        ------
        ValueError : if a column was counted otherwise, and its values are not all there.
        """
        if [one.names for one in schema.parts] == [one.names for one in self.counted.parts] and [
            one.summary for one in schema.parts
        ] == [one.summary for one in self.counted.parts]:
            return replace(self, counted=schema, sums=self._laid_out(schema))
        sources = list(zip(self.counted.parts, self.counted_parts, strict=True))
        parts = [gathered(part, sources, self.class_weight) for part in schema.parts]
        return replace(self, counted=schema, sums=schema.statistics(parts))

    def _less(self, other: Model) -> Model:
        """A copy that learned less, with all of the classes; ValueError if that cannot be."""
        self.counted.refuse_unlike(other.counted)
        known = self.classes.tolist()
        if absent := [label for label in other.classes.tolist() if label not in known]:
            raise ValueError(f"{NEVER}no class {absent[0]!r}")
        if refused := self.sums.refused():
            raise ValueError(f"{NEVER}{refused}")
        if (more := other.unlabelled - self.unlabelled) > 0:
            raise ValueError(f"{NEVER}{more:,} row{'s' * (more != 1)} without a label")
        left = self.less(other)
        weight = left.class_weight
        if problem := FORGOTTEN if weight.any_negative() else left.impossible():
            raise ValueError(f"{NEVER}{problem}")
        return left

    def impossible(self) -> str | None:
        """Why no rows can have what was counted, or None if some might."""
        return self.sums.impossible(self.class_weight)

    def less(self, other: Model) -> Model:
        """A copy without what another one surely learned, with all classes; nothing is checked."""
        places = np.searchsorted(self.classes, other.classes)
        left = self.copy()
        left.class_weight = left.class_weight.accumulate(other.class_weight, rows=places, sign=-1)
        left.sums.accumulate(other._laid_out(self.counted), places, sign=-1)
        return left

    def decay(self, gamma: float) -> None:
        """Multiply all that was learned by gamma, in place; ValueError unless 0 < gamma <= 1."""
        if not 0 < (gamma := float(gamma)) <= 1:
            raise ValueError(f"gamma must be above 0 and at most 1, not {gamma!r}")
        with self.lock:
            self.class_weight = self.class_weight.scaled(gamma)
            self.sums = self.sums.scaled(gamma)
            self._changed()

    def copy(self) -> Model:
        """A copy that shares nothing that changes."""
        with self.lock:
            return replace(
                self, class_weight=self.class_weight.copy(), sums=self.sums.copy(),
                unread=dict(self.unread),
            )  # fmt: skip

    def canonical(self) -> Model:
        """A copy with statistics in their one smallest form: equal models have equal bits."""
        model = self.copy()
        model.classes = narrow(model.classes)
        model.class_weight = model.class_weight.trimmed()
        model.sums = model.sums.canonical()
        return model

    def read_as(self, schema: Schema) -> Model:
        """A copy under other families or names; ValueError unless they read the same statistics."""
        schema.refuse_unlike(self.counted)
        model = self.copy()
        model.counted, model.sums = schema, model._laid_out(schema)
        return model

    def read_anew(
        self, schema: Schema, prior: Prior, statistics: Statistics | None = None
    ) -> Model:
        """The model under other families and another prior; it shares the sums until one changes.

        What was estimated under the same families is not estimated again.
        """
        with self.lock:
            self._lent = True
            sums = statistics or self._laid_out(schema)
            model = replace(self, counted=schema, prior=prior, sums=sums, unread=dict(self.unread))
            model._lent = True
            if schema is self.counted:
                model._structure, known = self._structure, self._estimate
                if known is not None:
                    with suppress(ValueError):  # a prior of classes that are yet to come
                        model._estimate = model._estimated(SERIAL, known.parameters)
        return model

    def _laid_out(self, schema: Schema) -> Statistics:
        """The statistics as a schema has them that counts the same: alone, or part beside part."""
        alike = schema.is_single == self.counted.is_single
        return self.sums if alike else schema.statistics(self.counted_parts)

    def __eq__(self, other: object) -> bool:
        """Whether both counted the same, bit for bit; families may read it in different ways."""
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
        """Make room for classes before any of their rows is met; they outlive forgetting."""
        declared = encode_labels(labels)[0]
        with self.lock:
            self._own()
            self._scatter_classes(merge_labels(self.classes, declared))
            self.declared = merge_labels(self.declared, declared)

    def _changed(self) -> None:
        """Drop what followed from the sums that were there."""
        self._estimate = self._structure = self._typed = None
        self._lent = False

    def _own(self) -> None:
        """Drop the estimate; copy the sums, which are about to change, if others refer to them.

        Some parameters are computed from them when first needed. Mostly nobody asks for these.
        """
        asked = []
        if self._estimate is not None:
            whole = self._estimate.parameters
            asked = [ref(one) for one in (whole, *self._estimate.schema.parts_of(whole))]
            del whole
        self._estimate = self._structure = self._typed = None
        if self._lent or any(one() is not None for one in asked):
            self.class_weight = self.class_weight.copy()
            self.sums = self.sums.copy()
            self._lent = False

    def _scatter_classes(self, classes: Labels) -> None:
        """Make room for a superset of the classes."""
        if len(classes) > len(self.classes):
            positions = np.searchsorted(classes, self.classes)
            self.class_weight = self.class_weight.scatter(0, positions, len(classes))
            self.sums = self.sums.scatter_classes(positions, len(classes))
        self.classes = classes

    def __getstate__(self) -> dict[str, Any]:
        """Without the parameters, which follow from the rest, but with what is kept of them."""
        with self.lock:
            self._lent = True  # what is pickled, or copied, afterwards must not change
            return {
                **vars(self),
                "_estimate": None,
                "_typed": None,
                "lock": None,
                "kept": self.kept(),
            }

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, lock=RLock())
        self.restore(vars(self).pop("kept"))

    # ---- the structure -----------------------------------------------------------------------

    @property
    def structure(self) -> Structure | None:
        """What was chosen that is not a sum; None if nothing was, or is to be chosen anew.

        Set it to that of an earlier state, to keep it as more rows are learned: see
        `naively.core.model`.
        """
        with self.lock:
            if self._structure is None and (found := self._estimate) is not None:
                self._structure = Structure.of(
                    found.parameters.structure(), self.weight, self.classes, self.schema.names,
                )  # fmt: skip
            return self._structure

    @structure.setter
    def structure(self, structure: Structure | None) -> None:
        if structure and not structure.fits(self.weight, self.classes, self.schema.names):
            structure = None
        with self.lock:
            self._estimate, self._structure = None, structure

    def reestimate(self) -> None:
        """Choose the structure anew, by all rows, when it is next needed."""
        self.structure = None

    # ---- the posterior -----------------------------------------------------------------------

    def posterior(self, workers: Workers | None = None) -> Posterior:
        """What it answers as it is now; SingularModelError if a covariance has no density."""
        found = self._estimate  # read once: it may be gone the next moment
        if found is None:
            with self.lock:
                found = self._estimate = self._estimate or self._estimated(workers or SERIAL)
        return found

    def _estimated(self, workers: Workers, parameters: Any = None) -> Posterior:
        prior = self.prior.estimate(self.class_weight, self.classes)
        with np.errstate(divide="ignore"):
            log_prior = np.log(prior)
        if parameters is None:
            with naming(self.classes, self.class_weight, self.feature_names):
                parameters = self._parameters(workers)
        return Posterior(self.schema, self.classes, parameters, prior, log_prior)

    @property
    def _within(self) -> AnyFamily:
        """The families for these classes and columns."""
        return self.family.within(self.classes, self.schema.names, self.schema.types)

    def _parameters(self, workers: Workers) -> Any:
        """The parameters by the structure that is kept, or by all rows."""
        family = self._within
        if self._structure is not None:
            with suppress(ValueError):  # it is none of these sums, as groups of terms are new
                return family.counted_for(
                    self._structure.chosen, self.statistics, self.class_weight
                )
            self._structure = None
        return family.estimate_on(self.statistics, self.class_weight, workers)

    def kept(self) -> Arrays:
        """What files keep of the estimate, if it was made: see `Parameters.kept`."""
        return {} if (found := self._estimate) is None else found.parameters.kept()

    def restore(self, kept: Arrays, weight: float | None = None) -> None:
        """Go on from an estimate of which this was kept; ValueError if it is none of these sums.

        Parameters
        ----------
        weight : of the rows by which its structure was chosen; None for all.
        """
        if not kept:
            return
        self._estimate = self._estimated(SERIAL, self._restored(kept))
        if weight is not None and (structure := self.structure) is not None:
            self._structure = replace(structure, weight=weight)

    def _restored(self, kept: Arrays) -> Any:
        """The parameters of which this was kept."""
        return self._within.restored(self.statistics, self.class_weight, kept)

    def check_family(self) -> None:
        """Raise ValueError if the families' hyperparameters do not fit what was learned."""
        self._within.check(*self.whole)

    def check(self, workers: Workers | None = None, classes: Labels | None = None) -> None:
        """Raise ValueError if the hyperparameters do not fit what was learned.

        They may name labels of `classes`, by default those that were learned.
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
