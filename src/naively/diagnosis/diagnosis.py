"""`diagnose`: is the naive assumption true here, and which rung of the ladder fits a table?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from naively.diagnosis import advice, report
from naively.diagnosis.pairs import Pair, features, most_telling, pairs
from naively.diagnosis.results import Result, results
from naively.engines.threads import workers
from naively.families.text import Text
from naively.ladder.rows import Rows, is_path, of_files, of_table
from naively.ladder.rungs import kinds, ladder
from naively.ladder.splits import Splits
from naively.ladder.trial import Trial
from naively.plain import plain_json
from naively.tables.inference import Columns, Wishes, infer
from naively.tables.inputs import MISSING
from naively.tables.schema import Schema

FOLDS = 5


@dataclass(frozen=True, repr=False)
class Diagnosis:
    """What `diagnose` found.

    Attributes
    ----------
    target : name of the column of labels, if it has one.
    classes : dict, the rows of each label.
    rows : rows with a label.
    looked_at : how many of them were looked at: a sample, if they are many.
    unlabelled : rows without a label, which were left out.
    columns : dict, whether each column that was looked at is tested as numbers or as levels.
    numbers : the columns that Gaussian rungs take together.
    levels : the columns that a joint table takes together.
    left_out : dict, the columns that were not looked at, with the reason.
    unfit : dict, how many values of a column count as missing because they do not fit it, such as
        infinite ones.
    untested : the columns whose pairs were not tested, because there are too many.
    pairs : list of Pair, those first that tell most of each other given the class.
    rungs : list of Result, by the number of parameters.
    recommendation : a few plain sentences.
    """

    target: str | None
    classes: dict[Any, int]
    rows: int
    looked_at: int
    unlabelled: int
    columns: dict[str, str]
    numbers: tuple[str, ...]
    levels: tuple[str, ...]
    left_out: dict[str, str]
    unfit: dict[str, int]
    untested: tuple[str, ...]
    pairs: list[Pair]
    rungs: list[Result]
    recommendation: str

    @property
    def advised(self) -> Result:
        """The rung to use, which the recommendation names."""
        return advice.choice(self.rungs).advised

    def __repr__(self) -> str:
        return str(self)

    def to_dict(self) -> dict[str, Any]:
        """All of it, as JSON takes it: null for what is infinite or unknown.

        Numbers of parameters beyond 2^53 are floats, and null beyond the largest.
        """
        found = {
            name: value for name, value in vars(self).items() if name not in ("pairs", "rungs")
        }
        found["classes"] = [{"class": c, "rows": n} for c, n in self.classes.items()]
        for name in ("numbers", "levels", "untested"):
            found[name] = list(found[name])
        found["pairs"] = [
            {**asdict(pair), "excess": pair.excess, "correlation": pair.correlation}
            for pair in self.pairs
        ]
        found["advised"] = self.advised.name
        found["rungs"] = [
            {name: value for name, value in vars(rung).items() if name not in ("losses", "wrong")}
            for rung in self.rungs
        ]
        return plain_json(found)

    def __str__(self) -> str:
        return report.plain(self)


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
    `naively.diagnosis.information`), and each rung, from the class prior to the full joint table,
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
    wishes = Wishes(dict(columns or {}), missing=tuple(missing))
    if is_path(X) or (isinstance(X, list) and X and all(map(is_path, X))):
        rows, _ = of_files(X, y, seed, missing)
    else:
        rows = of_table(X, y, seed, missing)
    return examine(rows, wishes, seed)


def examine(
    rows: Rows, wishes: Wishes, seed: int, tell: Callable[[str], None] = lambda _: None
) -> Diagnosis:
    """The diagnosis of some rows; `tell` is told what is being done.

    Raises
    ------
    ValueError : if no column is left.
    """
    labels = rows.classes, rows.codes
    classes = len(rows.classes)
    rule = _without_text(infer(wishes, rows.table, labels).varying)
    rule.check_any("diagnose")
    found, unfit = features(rule, rows.table)
    numbers, levels = kinds(rule, wishes, rows)
    tell("testing the pairs of columns")
    chosen = most_telling(found, rows.codes, classes)
    tested = pairs(chosen, rows.codes, classes)
    trial = Trial(rows, rule, Splits(rows.codes, FOLDS, seed=seed), workers(None))
    tell("trying the rungs of the ladder")
    tried = results(trial, ladder(rule, numbers, levels, classes))
    return Diagnosis(
        target=rows.target,
        classes=rows.counts,
        rows=rows.total,
        looked_at=len(rows.codes),
        unlabelled=rows.unlabelled,
        columns={one.name: "levels" if one.levels else "numbers" for one in found},
        numbers=numbers,
        levels=tuple(levels),
        left_out=rule.skipped,
        unfit={name: one.count for name, one in unfit.items()},
        untested=tuple(one.name for one in found if one not in chosen),
        pairs=tested,
        rungs=tried,
        recommendation=advice.recommendation(rows.target, tested, tried),
    )


def _without_text(schema: Schema) -> Schema:
    """The schema without columns of text."""
    kept = tuple(block for block in schema.blocks if not isinstance(block.family, Text))
    texts = [name for name, family in schema.known.items() if isinstance(family, Text)]
    why = {**schema.why, **dict.fromkeys(texts, "text of many words")}
    return replace(schema, blocks=kept, why=why)
