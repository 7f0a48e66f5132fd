"""Options that several commands share. Heavy imports wait."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from naively.cli.errors import UsageError

if TYPE_CHECKING:
    Data = str
else:
    Data = str | Path  # always text; that it may be a path lets shells complete names of files

Names = list[str] | None
Output = Annotated[Path | None, Parameter(alias="-o")]
NewFile = Annotated[Path, Parameter(alias="-o")]
ModelFile = Annotated[Path, Parameter(help="File of `naively fit`, or of `save` in Python.")]
FittedFile = Annotated[Path, Parameter(help="File written by `naively fit`.")]
Target = Annotated[str | None, Parameter(alias="-t")]
TargetToLearn = Annotated[
    Target,
    Parameter(
        help="The column with the classes. Rows where it is empty are skipped. Documents have the "
        "column `label`, of their files or folders."
    ),
]
NamedColumns = Annotated[
    Names,
    Parameter(help='The family of a column, as "age=gamma" or "job=categorical"; may be repeated.'),
]
Skip = Annotated[Names, Parameter(help="A column to leave out; may be repeated.")]
Missing = Annotated[
    Names,
    Parameter(
        help="Text that means a missing value, besides ?, NA, null and the like; may be repeated. "
        'With --missing "" only empty cells and the given texts are missing.'
    ),
]
Format = Annotated[
    str | None,
    Parameter(
        help="csv, tsv, jsonl, parquet, arrow, arff, text (lines) or mail, if names are ambiguous."
    ),
]
Unsure = Annotated[
    float | None,
    Parameter(
        help="Abstain, with no class, if the most probable class has a lower probability, as 0.8."
    ),
]
Costs = Annotated[
    Path | None,
    Parameter(
        help="A CSV file of the costs of errors, to decide for the class of least expected cost: a "
        "line for each actual class, named in the first column, a column for each predicted one."
    ),
]
Part = Annotated[
    str | None,
    Parameter(
        help="A name for these rows, as customer=17, so that they can be forgotten or replaced "
        "without the rows themselves. Their statistics are stored in the file, beside the sum."
    ),
]
Json = Annotated[bool, Parameter(help="Print one JSON object.")]


@Parameter(name="*")
@dataclass(frozen=True)
class Query:
    """Rows of a database, in place of files.

    Attributes
    ----------
    sql
        A query whose result is read instead of files; needs naively[sql].
    database
        The database: postgresql://user@host/name, duckdb:FILE or sqlite:FILE; duckdb: alone
        queries files.
    """

    sql: str | None = None
    database: str | None = None


@Parameter(name="*")
@dataclass(frozen=True)
class LearningOptions(Query):
    """Options of `naively fit` for columns and rows; `diagnose` and `compare` have some.

    Attributes
    ----------
    naive
        Plain naive Bayes: evidence is not weighted, and there are no interactions. Families of
        columns (--columns), --family, --alpha and --unseen imply it.
    columns
        The family of a column, as "age=gamma" or "job=categorical(alpha=0.5)"; may be repeated.
        Several columns may share one joint table, "job,home=joint(alpha=0)", or one covariance
        matrix, "height,weight=multivariate".
    text
        A text column, even if its texts are short; may be repeated. Its words are weighted beside
        the other features. For n-grams and the like: --columns "body=text(ngram_range=(1,2))".
    categorical
        A categorical column, even if its categories are numbers, as codes are; may be repeated.
    numeric
        A numeric column; other values are missing. May be repeated.
    monotone
        A numeric column whose effect has one direction, as age=1 or amount=-1; may be repeated.
        With 1 the log-odds of the second class never fall with it, with -1 they never rise.
    family
        The family of all numeric columns: gaussian, lognormal, gamma, poisson, kernel_density, ...;
        auto for the best by cross-validation. "categorical(alpha=0)" is for categories, too.
    weight
        A column of weights: a row of weight 2 counts as two rows.
    holdout
        Share of the rows of each class, as 0.2, to evaluate on before training on all rows.
    alpha
        Smoothing of categories, counts and words of plain naive Bayes; by default 1, Laplace
        smoothing. `AutoBayes` smooths by itself, and `TextNB` chooses the smoothing of terms.
    prior
        Class prior: uniform; a probability as "spam=0.8", repeated for each class, of which one may
        be left out; or all in the order of the classes, as 0.2,0.8. By default the class
        frequencies.
    prior_smoothing
        Virtual examples of each class, added to its rows: a number for all, "spam=2", repeated, or
        all in the order of the classes, as 2,8.
    class_weight
        Weights of the rows of each class: balanced, so that all classes have the same total; or
        "spam=10", repeated, 1 for classes that are not named. They change the class prior alone.
    unseen
        How unseen categories are predicted.
    groups
        A column such as customer, for cross-validation: rows of a customer are never in training
        and test fold at once. It is not a feature, unless another option names it.
    time
        A column of dates or numbers, for forward validation: each fold is predicted from earlier
        rows. It is not a feature, unless another option names it.
    label
        The class of all documents; `naively update --label` adds those of other classes.
    seed
        Seed of the held-out rows.
    """

    naive: Annotated[bool, Parameter(negative="")] = False
    columns: Names = None
    text: Names = None
    skip: Skip = None
    categorical: Names = None
    numeric: Names = None
    monotone: Names = None
    family: str | None = None
    weight: str | None = None
    holdout: float = 0.0
    alpha: float | None = None
    prior: Names = None
    prior_smoothing: Names = None
    class_weight: Names = None
    unseen: Literal["smooth", "ignore", "error"] = "smooth"
    missing: Missing = None
    format: Format = None
    groups: str | None = None
    time: str | None = None
    label: str | None = None
    seed: int = 0

    @property
    def smoothing(self) -> float:
        """The smoothing of plain naive Bayes."""
        return 1.0 if self.alpha is None else self.alpha

    @property
    def skipped(self) -> list[str]:
        """The columns to leave out: --skip, and --groups and --time if no option names them."""
        families = (text.partition("(")[0].rpartition("=")[0] for text in self.columns or ())
        features = {*families}.union(self.text or (), self.categorical or (), self.numeric or ())
        names = [*(self.skip or ())]
        features = features.union(names)
        return names + [name for name in (self.groups, self.time) if name and name not in features]


@Parameter(name="*")
@dataclass(frozen=True)
class ChangeOptions(Query):
    """Options of `naively update` and `forget` for rows and files.

    Attributes
    ----------
    output
        Write another file instead of changing the model file.
    weight
        A column of weights; by default the one of `fit`.
    label
        The class of all documents; by default the name of their file or folder.
    """

    output: Output = None
    weight: str | None = None
    format: Format = None
    label: str | None = None


NO_QUERY = Query()
LEARNING, CHANGE = LearningOptions(), ChangeOptions()  # the defaults


def check_count(option: str, count: int) -> None:
    """Refuse a number of things that is none."""
    if count < 0:
        raise UsageError(f"--{option} must not be negative, but is {count}")
