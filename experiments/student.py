"""Student's t beside the normal density: log-loss on held-out rows, from one set of sums.

    NAIVELY_DATA=folder python experiments/student.py    # half a minute
    python experiments/student.py --small                # tables that scikit-learn bundles

Columns of numbers are normal, or Student's t, whose defaults nobody tuned; all others are as the
rule has them. Five folds, each predicted by models of the others: of fifty rows, and of all.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import data as shared
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from naively import Gaussian, Student
from naively.core.workers import workers
from naively.evaluation.learning_curves import Splits, Trial
from naively.evaluation.metrics import margin
from naively.evaluation.model_ladder import Rung
from naively.evaluation.samples import LabelledRows, of_any
from naively.families.base import AnyFamily
from naively.io.inputs import MISSING
from naively.model.schema import Schema, together
from naively.tables.inference import ColumnOptions, infer

FEW = 50  # rows, or two a class, if that is more
SETS = {
    "glass": ("glass/glass.arff", "Type"),
    "ionosphere": ("ionosphere/ionosphere.arff", "class"),
    "iris": ("iris/iris.arff", "class"),
    "letter": ("letter/letter.arff.gz", "class"),
    "pima": ("pima/diabetes.arff", "class"),
    "sick": ("sick/sick.arff.gz", "Class"),
    "sonar": ("sonar/sonar.arff", "Class"),
    "stream-elec": ("stream-elec/elec.csv.gz", "target"),
    "titanic-891": ("titanic/titanic-seaborn-891.csv", "survived"),
    "wine": ("wine/wine.arff", "class"),
    "covtype": ("covtype/covtype.csv.xz", "Cover_Type"),
}


def tables(folder: Path | None) -> Iterator[tuple[str, LabelledRows]]:
    """Each table with its name: those of a folder, or bundled ones."""
    if folder is None:
        for load in (load_breast_cancer, load_iris, load_wine):
            bundled = load()
            yield load.__name__.removeprefix("load_"), rows_of(bundled.data, bundled.target)
        return
    for name, (file, target) in SETS.items():
        yield name, rows_of(folder / file, target)


def rows_of(X: Any, y: Any) -> LabelledRows:
    """The rows of a table; a sample of a large one."""
    return of_any(X, y, 0, MISSING)[0]


def with_numbers(schema: Schema, family: AnyFamily) -> Schema:
    """The schema with a family for its columns of numbers."""
    blocks = [
        replace(block, family=family) if block.family.summary == family.summary else block
        for block in schema.blocks
    ]
    return replace(schema, blocks=together(blocks))


def nats(loss: float) -> str:
    """A log-loss as a table has it."""
    return f"{loss:.3f}" if loss < 100 else f"{loss:.2g}"


def main() -> None:
    """Print the table."""
    asked = shared.arguments(__doc__, "three tables of scikit-learn")
    warnings.simplefilter("ignore")
    found = []
    for name, rows in tables(None if asked.small else asked.data):
        options = ColumnOptions({}, numeric=Gaussian(floor="feature"))
        rule = infer(options, rows.table, (rows.classes, rows.codes)).varying
        numbers = [n for n in rule.names if rule.family_of[n].summary == Student().summary]
        splits = Splits(rows.codes, 5, (max(FEW, 2 * len(rows.classes)),))
        trial = Trial(rows, rule, splits, workers(None))
        normal, student = trial.curves(
            [
                Rung(one.name, "", None, with_numbers(rule, one).blocks)
                for one in (Gaussian(floor="feature"), Student())
            ]
        )
        found.append(
            [
                name, f"{len(rows.codes):,}", f"{len(numbers)} of {len(rule.names)}",
                *(nats(one.log_loss[:, 0].mean()) for one in (normal, student)),
                *(nats(one.log_loss[:, -1].mean()) for one in (normal, student)),
                str(margin(normal.losses, student.losses)),
                *(f"{one.error[:, -1].mean():.2%}" for one in (normal, student)),
            ]
        )  # fmt: skip
    few = f"{FEW} rows: "
    shared.show(
        "Log-loss in nats on rows left out, and errors",
        ["table", "rows", "columns of numbers", f"{few}normal", f"{few}Student's t", "all: normal",
         "all: Student's t", "gain ± its error", "errors, normal", "errors, Student's t"],
        found,
    )  # fmt: skip


if __name__ == "__main__":
    main()
