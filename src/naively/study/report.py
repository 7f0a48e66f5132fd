"""What a diagnosis and a comparison share: the rows, and how all of it is printed and saved."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from naively.plain import plain_json
from naively.study.margins import LARGE


@dataclass(frozen=True, repr=False, eq=False)
class Report:
    """What was found on the rows of a table.

    Attributes
    ----------
    target : name of the column of labels, if it has one.
    classes : dict, the rows of each label.
    rows : rows with a label.
    looked_at : how many of them were looked at: a sample, if they are many.
    unlabelled : rows without a label, which were left out.
    """

    target: str | None
    classes: dict[Any, int]
    rows: int
    looked_at: int
    unlabelled: int

    def __repr__(self) -> str:
        return str(self)

    def _as_json(self, **nested: Any) -> dict[str, Any]:
        """The attributes as JSON takes them; last those whose values are given here, and others."""
        plain = {name: value for name, value in vars(self).items() if name not in nested}
        plain["classes"] = [{"class": c, "rows": n} for c, n in self.classes.items()]
        return plain_json({**plain, **nested})


def loss_cell(loss: float) -> str:
    """A log-loss in nats."""
    return f"{loss:.4f}" if loss < LARGE else f"{loss:.3g}"


def failures(reasons: Iterable[tuple[str, str]]) -> list[str]:
    """A line for each reason, after the names of all that failed for it.

    Parameters
    ----------
    reasons : (name, why it was not estimated, or nothing).
    """
    names: dict[str, list[str]] = {}
    for name, reason in reasons:
        if reason:
            names.setdefault(reason, []).append(name)
    return [f"{', '.join(own)}: {reason}" for reason, own in names.items()]
