"""Answers as JSON, without an object for each row: all rows are one text with other values."""

from __future__ import annotations

from typing import Any

from pydantic_core import to_json

from naively.exact import Float64
from naively.labels import Labels
from naively.tables.answers import PREDICTION, Answer


def in_json(value: Any) -> bytes:
    """A value as JSON; what is not finite is null. Floats are read back as they were."""
    return to_json(value, inf_nan_mode="null", fallback=str)


def rows_in_json(answer: Answer, classes: Labels) -> bytes:
    """The list of rows that `Answer.fields` describes, as JSON.

    Parameters
    ----------
    answer : Answer, of one row or more.
    classes : (C,) labels.
    """
    known = {label: in_json(label) for label in (None, *classes.tolist())}
    text = b"{%b:%%b" % in_json(PREDICTION)
    cells = [[known[one] for one in answer.labels.tolist()]]
    if answer.proba is not None:
        names = (in_json(str(label)).replace(b"%", b"%%") for label in classes.tolist())
        text += b',"probabilities":{' + b",".join(name + b":%b" for name in names) + b"}"
        cells += _by_column(answer.proba)
    if answer.top is not None:
        labels, proba = answer.top
        one = b'{"label":%b,"probability":%b}'
        text += b',"top":[' + b",".join([one] * proba.shape[1]) + b"]"
        for own, numbers in zip(labels.T.tolist(), _by_column(proba), strict=True):
            cells += [known[label] for label in own], numbers
    n, width = len(answer.labels), len(cells)
    flat = [b""] * (n * width)
    for k, column in enumerate(cells):
        flat[k::width] = column
    return b"[" + b",".join([text + b"}"] * n) % tuple(flat) + b"]"


def _by_column(numbers: Float64) -> list[list[bytes]]:
    """Each number of each column, (k, n) of (n, k), as JSON."""
    every = in_json(numbers.ravel().tolist())[1:-1].split(b",")
    return [every[c :: numbers.shape[1]] for c in range(numbers.shape[1])]
