"""Parameters that change after `fit`: what was counted is estimated again under them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from operator import is_
from typing import Any

from naively.families.base import AnyFamily, unlike
from naively.model import Model
from naively.prior import Prior

AGAIN = "call `fit` again, or set the parameters back"
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

    def __getstate__(self) -> dict[str, Any]:
        return dict(vars(self))  # in one step: another thread may be teaching this one

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
