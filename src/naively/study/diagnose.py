"""`diagnose`: is the naive assumption true here, and which rung of the ladder fits a table?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from naively.engines.threads import workers
from naively.families.text import Text
from naively.study.advice import recommendation
from naively.study.diagnosis import Diagnosis
from naively.study.pairs import features, most_telling, pairs
from naively.study.results import rung_results
from naively.study.rows import LabelledRows, of_any
from naively.study.rungs import kinds, ladder
from naively.study.splits import Splits
from naively.study.trial import Trial
from naively.tables.inference import Columns, Wishes, infer
from naively.tables.inputs import MISSING
from naively.tables.schema import Schema

FOLDS = 5


def diagnose(
    X: Any,
    y: Any,
    *,
    columns: Columns | None = None,
    missing: Sequence[str] = MISSING,
    seed: int = 0,
) -> Diagnosis:
    """Whether the naive assumption is true for a table, and which rung of the ladder fits it.

    The mutual information of each pair of columns given the class is tested (see
    `naively.study.information`), and each rung, from the class prior to the full joint table,
    predicts rows that it did not learn, five times a fifth of them. Which columns are numbers or
    levels is inferred as by `NaiveBayes`; columns of text are left out. Pairs do not see what
    three columns tell only together; the joint table does.

    Of more than 100,000 rows (fewer of wide tables) a sample is looked at. Of more than 64 columns
    the pairs of those are tested that tell most about the class.

    Parameters
    ----------
    X : a data frame, Arrow table, dict of columns or array, (n, d); or a path of a file, or a list
        of paths, as the command line takes them.
    y : (n,) labels, or the name of the column that has them. Rows without a label are left out.
    columns : dict, optional
        Families of columns, or "skip", as for `NaiveBayes`.
    missing : spellings of a missing value.
    seed : of the sample and of the folds.

    Raises
    ------
    ValueError : saying what is wrong and where.

    Examples
    --------
    >>> from naively import diagnose
    >>> days = {"coat": [1, 1, 0, 0] * 20, "accident": [1, 0, 1, 0] * 20}
    >>> diagnose(days, (["rain"] * 4 + ["dry"] * 4) * 10).pairs[0].dependent
    False
    """
    rows, _ = of_any(X, y, seed, missing)
    return examine(rows, Wishes(dict(columns or {}), missing=tuple(missing)), seed)


def examine(
    rows: LabelledRows, wishes: Wishes, seed: int, tell: Callable[[str], None] = lambda _: None
) -> Diagnosis:
    """The diagnosis of some rows; `tell` is told what is being done.

    Raises
    ------
    ValueError : if no column is left.
    """
    classes = len(rows.classes)
    rule = _without_text(infer(wishes, rows.table, (rows.classes, rows.codes)).varying)
    rule.check_any("diagnose")
    found, unfit = features(rule, rows.table)
    numbers, levels = kinds(rule, wishes, rows)
    tell("testing the pairs of columns")
    chosen = most_telling(found, rows.codes, classes)
    tested = pairs(chosen, rows.codes, classes)
    trial = Trial(rows, rule, Splits(rows.codes, FOLDS, seed=seed), workers(None))
    tell("trying the rungs of the ladder")
    tried = rung_results(trial, ladder(rule, numbers, levels, classes))
    return Diagnosis(
        **rows.facts,
        columns={one.name: "levels" if one.levels else "numbers" for one in found},
        numbers=numbers,
        levels=tuple(levels),
        left_out=rule.skipped,
        unfit={name: one.count for name, one in unfit.items()},
        untested=tuple(one.name for one in found if one not in chosen),
        pairs=tested,
        rungs=tried,
        recommendation=recommendation(rows.target, tested, tried),
    )


def _without_text(schema: Schema) -> Schema:
    """The schema without columns of text."""
    kept = tuple(block for block in schema.blocks if not isinstance(block.family, Text))
    texts = [name for name, family in schema.known.items() if isinstance(family, Text)]
    why = {**schema.why, **dict.fromkeys(texts, "text of many words")}
    return replace(schema, blocks=kept, why=why)
