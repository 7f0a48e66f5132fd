"""`drift`: do new rows look like those that a model learned, and how do its answers change?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from naively.evaluation.drift import text as drift_text
from naively.evaluation.drift.columns import ColumnDrift, Compared, compared
from naively.evaluation.drift.marginals import marginals
from naively.evaluation.drift.rows import RowDrift, rows_drift
from naively.evaluation.drift.shares import ShareDrift, shares
from naively.evaluation.drift.two_samples import holm
from naively.evaluation.fold_assignment import alike
from naively.exact import Int64
from naively.families.distinct_texts import repeated_part
from naively.invalid import Invalid
from naively.model import Model
from naively.multilabel import Multilabel
from naively.plain import plain_json
from naively.pooling.canonical import Canonical
from naively.posterior import Posterior
from naively.statistics.pooled_terms import PooledTerms
from naively.statistics.sample import SampleStatistics
from naively.tables.encoding import encode, encode_for
from naively.tables.left_out import unvaried_in
from naively.tables.names import few
from naively.tables.summarising import other_columns
from naively.workers import Workers

LEVEL = 0.01


@dataclass(frozen=True, repr=False, eq=False)
class Drift:
    """What `drift` found.

    Attributes
    ----------
    level : the chance at which differences are taken for none, for all tests together.
    rows : new rows.
    looked_at : how many of them were looked at: a sample, if they are many.
    copies : how many of these are copies of others, as `naively.pooling.duplicates` tells them
        from rows that recur: they are no draws of their own, and count once.
    learned : rows that the model learned, or their weight.
    counted_as : rows that these count as in tests: no more than they were, without copies where
        the model keeps rows.
    columns : list of ColumnDrift: those that drifted, the farthest first; then the others.
    row : RowDrift, how probable the rows are.
    share : ShareDrift, how frequent the classes are.
    row_p, share_p : their p-values by Holm's method, for all tests together.
    absent : columns of the model that the new rows do not have.
    unknown : columns of the new rows that the model does not have.
    uncompared : columns of the model of which nothing is known that could be compared.
    invalid : dict, how many values of a column count as missing because they do not fit it.
    """

    level: float
    rows: int
    looked_at: int
    copies: int
    learned: float
    counted_as: float
    columns: list[ColumnDrift]
    row: RowDrift
    share: ShareDrift
    row_p: float
    share_p: float
    absent: list[str]
    unknown: list[str]
    uncompared: list[str]
    invalid: dict[str, int]

    @property
    def drifted(self) -> list[str]:
        """The columns that differ, the farthest first."""
        return [one.name for one in self.columns if one.adjusted < self.level]

    @property
    def found(self) -> bool:
        """Whether anything differs: on equal data true with a chance of `level`, at most."""
        return bool(self.drifted) or self.row_p < self.level or self.share_p < self.level

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return drift_text.written(self)

    def to_arrow(self) -> pa.Table:
        """A table with a line for each column, as `columns` has them, and whether it drifted."""
        plain = ("name", "kind", "change", "moved", "by_chance", "p_value", "adjusted")
        found = {name: [getattr(one, name) for one in self.columns] for name in plain}
        found["drifted"] = [one.adjusted < self.level for one in self.columns]
        for k, name in enumerate(("missing_learned", "missing_new")):
            found[name] = [one.missing[k] for one in self.columns]
        kinds = {name: pa.string() for name in plain[:3]} | {"drifted": pa.bool_()}
        return pa.table(
            {name: pa.array(one, kinds.get(name, pa.float64())) for name, one in found.items()}
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it, as JSON takes it: null for what is not known; rows are counted from 1."""
        own = dict(vars(self))
        own["drift"] = self.found
        own["drifted"] = self.drifted
        own["columns"] = [
            {**asdict(one), "drifted": one.adjusted < self.level} for one in self.columns
        ]
        unlikely = [{**asdict(one), "row": one.row + 1} for one in self.row.unlikely]
        own["row"] = {**asdict(self.row), "adjusted": own.pop("row_p"), "unlikely": unlikely}
        share = vars(self.share)
        by_class = ("classes", "learned", "predicted", "estimated", "error")
        lists = zip(*(np.asarray(share[name]).tolist() for name in by_class), strict=True)
        names = ("class", *by_class[1:])
        own["share"] = {
            "classes": [dict(zip(names, each, strict=True)) for each in lists],
            **{name: value for name, value in share.items() if name not in by_class},
            "adjusted": own.pop("share_p"),
        }
        return dict(plain_json(own))


def check_model(model: Model) -> None:
    """Raise ValueError for a model whose rows have any number of labels."""
    if isinstance(model, Multilabel):
        raise ValueError(
            "drift compares rows that have one label each; those of this model have any number"
        )


def examine(
    model: Model, posterior: Posterior, rows: Any, asked: Any, workers: Workers,
    level: float = LEVEL, at: Int64 | None = None, total: int | None = None,
    absent: Sequence[str] = (), unknown: Sequence[str] = (),
    invalid: dict[str, Invalid] | None = None,
) -> Drift:  # fmt: skip
    """How some rows differ from those that a model learned.

    Parameters
    ----------
    posterior : of the model.
    rows : the new ones, as the model takes them.
    asked : the same, as the model is asked: without columns that tell nothing yet.
    at : (m,) the positions of these rows in the data; None for all of them.
    total : rows of the data; None if these are all.
    absent, unknown, invalid : as of `Drift`.

    Raises
    ------
    ValueError : if there are no new rows, or no learned ones.
    """
    check_level(level)
    m = rows.shape[0]
    if not m:
        raise ValueError("there are no new rows to compare")
    weight = model.class_weight.rounded()
    learned = float(weight.sum())
    if not learned or not model.rows:
        raise ValueError("the model has learned no rows that new ones could be compared with")
    at = np.arange(m) if at is None else at
    same = alike(model.schema, rows, np.zeros(m, np.int64))
    if len(single := np.flatnonzero(same == np.arange(m))) < m:
        rows, asked, at = rows[single], asked[single], at[single]
    scale = min(1.0, model.rows / learned) * _different(model)
    known = marginals(model, rows, workers)
    columns: list[Compared] = []
    told, means = np.zeros((len(single), len(weight))), np.zeros((len(weight), len(weight)))
    for one in known:  # what columns tell of classes is added up at once: it is as large as they
        own = compared(one, scale)
        if own.told is not None and own.means is not None:
            told, means = told + own.told, means + own.means
        columns.append(replace(own, told=None))
    row = rows_drift(known, columns, learned * scale, at)
    log_p = posterior.log_proba(asked, workers)
    share = shares(posterior, weight * scale, told, means, log_p, columns)
    p = holm(np.array([*(one.drift.p_value for one in columns), row.p_value, share.p_value]))
    drifts = [replace(one.drift, adjusted=q) for one, q in zip(columns, p.tolist(), strict=False)]
    drifts.sort(key=lambda one: _rank(one, level))
    return Drift(
        level, m if total is None else total, m, m - len(single), learned, learned * scale, drifts,
        row, share, float(p[-2]), float(p[-1]), [*absent], [*unknown],
        [name for name in model.schema.ordered if name not in {one.name for one in known}],
        {name: one.count for name, one in (invalid or {}).items()},
    )  # fmt: skip


def _different(model: Model) -> float:
    """The part of the learned rows that is left where copies count once; 1 if no rows are kept."""
    for own in model.parts:
        if isinstance(own, SampleStatistics):
            rows = Canonical.of(own.canonical())
            return 1.0 - rows.duplicates / max(float(rows.class_weight.sum()), 1e-300)
        if isinstance(own, PooledTerms):
            return 1.0 - repeated_part(own.sample)
    return 1.0


def of_table(
    model: Model, posterior: Posterior, table: pa.Table, target: str | None, workers: Workers,
    level: float = LEVEL, at: Int64 | None = None, total: int | None = None,
) -> Drift:  # fmt: skip
    """How the rows of a table differ from those that a model learned; see `examine`.

    Columns that the model does not have, and the target, are not compared.

    Raises
    ------
    ValueError : if the table has none of the columns of the model, too.
    """
    absent, unknown = other_columns(model.schema, target, table.column_names)
    if len(absent) == len(model.schema.names):
        raise ValueError(
            f"X has none of the columns that were learned: {few(absent)}; its columns are "
            f"{few(table.column_names)}"
        )
    rows, invalid = encode_for(posterior, table)
    silent = unvaried_in(posterior)
    asked = encode(model.schema, table, silent)[0] if silent else rows
    return examine(
        model, posterior, rows, asked, workers, level, at, total, absent, unknown, invalid
    )


def check_level(level: float) -> None:
    """Raise ValueError unless it is a probability above 0 and below 1."""
    if not 0 < level < 1:
        raise ValueError(f"the level is a probability above 0 and below 1, as 0.01, not {level!r}")


def _rank(one: ColumnDrift, level: float) -> tuple[Any, ...]:
    if one.adjusted < level:
        return 0, -one.moved
    return 1, math.isnan(one.p_value), one.p_value
