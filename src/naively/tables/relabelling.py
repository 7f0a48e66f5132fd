"""Labels that are the text of a file, until all of them have been met."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from naively.exact import Int64
from naively.labels import Labels
from naively.model import Model
from naively.tables.targets import are_text, as_text, typed


def with_labels_alike(a: Model, b: Model) -> tuple[Model, Model]:
    """The models, both with text for labels if those of one are: a stream may turn to text."""
    empty = 0 in (len(a.classes), len(b.classes))
    if empty or are_text(a.classes) == are_text(b.classes):
        return a, b
    return _relabelled(a, as_text), _relabelled(b, as_text)


def with_typed_labels(model: Model) -> Model:
    """The model with labels that are what all of them read as: numbers, perhaps."""
    if model.untyped and len(model.classes):
        model = _relabelled(model, typed)
    return replace(model, untyped=False)


def _relabelled(model: Model, named: Callable[[Labels], Labels]) -> Model:
    """The model with other names for its labels; those that become equal are one class."""
    if len(model.classes) == 0 or (are_text(model.classes) and named is as_text):
        return model
    names = named(model.classes)
    total = replace(
        model.blank(model.counted), rows=model.rows, unlabelled=model.unlabelled,
        unread=dict(model.unread), skipped=model.skipped,
    )  # fmt: skip
    none = np.empty(0, np.int64)
    for k, own in enumerate(_distinct(names)):
        part = model.blank(model.counted)
        part.classes, part.class_weight = names[own], model.class_weight.gather(0, own)
        part.sums = model.sums.gather_classes(own)
        if k > 0:  # sums over all classes are in the first part
            part.sums = part.sums.copy()
            part.sums.accumulate(model.sums.gather_classes(none), none, sign=-1)
        total.absorb(part)
    if len(model.declared):
        total.declare_classes(named(model.declared))
    return total


def _distinct(labels: Labels) -> Iterator[Int64]:
    """Positions of the labels, sorted, in runs in which none is there twice."""
    order = np.argsort(labels, kind="stable")
    while len(order):
        first = np.append(True, labels[order][1:] != labels[order][:-1])
        yield order[first]
        order = order[~first]
