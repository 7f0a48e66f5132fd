"""What several commands take, each option once. Heavy imports wait."""

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
ModelFile = Annotated[Path, Parameter(help="File that `naively fit` or `save` in Python wrote.")]
FittedFile = Annotated[Path, Parameter(help="File that `naively fit` wrote.")]
Target = Annotated[str | None, Parameter(alias="-t")]
TargetToLearn = Annotated[
    Target,
    Parameter(
        help="The column that holds the classes. Rows where it is empty are skipped. Documents "
        "have the\ncolumn `label`, of their files or folders."
    ),
]
NamedColumns = Annotated[
    Names,
    Parameter(help='Families of columns, as "age=gamma" or "job=categorical"; may be repeated.'),
]
Skip = Annotated[Names, Parameter(help="A column to leave out; may be repeated.")]
Missing = Annotated[
    Names,
    Parameter(
        help="Text that means a missing value, beside ?, NA, null and the like; may be repeated. "
        'With --missing "" these are none, but empty cells are.'
    ),
]
Format = Annotated[
    str | None,
    Parameter(
        help="csv, tsv, jsonl, parquet, arrow, arff, text (lines) or mail, if names do not tell."
    ),
]
Unsure = Annotated[
    float | None,
    Parameter(
        help="Leave the label open of rows whose most probable class is less probable, as 0.8."
    ),
]
Costs = Annotated[
    Path | None,
    Parameter(
        help="A CSV file of what mistakes cost, to give each row the label of least expected cost: "
        "a line for each true class, named in the first column; a column for each predicted one."
    ),
]
Part = Annotated[
    str | None,
    Parameter(
        help="A name for these rows, as customer=17: so they can be forgotten or replaced later, "
        "without the rows themselves. What they add is kept in the file, beside the sum."
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
        A query that gives the rows, in place of files; needs naively[sql].
    database
        Where to ask it: postgresql://user@host/name, duckdb:FILE or sqlite:FILE; duckdb: alone
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
        Multiply the probabilities of columns and words, as naive Bayes does; nothing is weighed.
        Columns with families are learned so without being asked.
    columns
        Families of columns, as "age=gamma" or "job=categorical(alpha=0.5)"; may be repeated.
    text
        A column of text, even if its texts are short; may be repeated. Its words are weighed beside
        the other columns. For n-grams and the like: --columns "body=text(ngram_range=(1,2))".
    categorical
        A column of categories, even if these are written as numbers, as codes are; may be repeated.
    numeric
        A column of numbers; what is none in it is missing. May be repeated.
    family
        Of all columns of numbers: gaussian, lognormal, gamma, poisson, kernel_density, ...; or
        auto for the one that predicts best. "categorical(alpha=0)" is of categories, too.
    weight
        A column of weights: a row of weight 2 counts as two rows.
    holdout
        Part of the rows of each class, as 0.2, to test the model on before it learns them too.
    alpha
        Smoothing of levels, counts and words.
    prior
        Class prior: uniform; a probability as "spam=0.8", repeated for each class, of which one may
        be left out; or all in the order of the classes, as 0.2,0.8. By default as often as each was
        met.
    prior_smoothing
        Virtual examples of each class, added to those that were met: a number for all, "spam=2",
        repeated, or all in the order of the classes, as 2,8.
    class_weight
        Weights of the rows of each class: balanced, so that all classes have the same total; or
        "spam=10", repeated, 1 of classes that are not named. They change the class prior alone.
    unseen
        What a level that was never met does at prediction.
    label
        The class of all documents; `naively update --label` then adds those of others.
    seed
        Which rows are held out.
    """

    naive: Annotated[bool, Parameter(negative="")] = False
    columns: Names = None
    text: Names = None
    skip: Skip = None
    categorical: Names = None
    numeric: Names = None
    family: str | None = None
    weight: str | None = None
    holdout: float = 0.0
    alpha: float = 1.0
    prior: Names = None
    prior_smoothing: Names = None
    class_weight: Names = None
    unseen: Literal["smooth", "ignore", "error"] = "smooth"
    missing: Missing = None
    format: Format = None
    label: str | None = None
    seed: int = 0


@Parameter(name="*")
@dataclass(frozen=True)
class ChangeOptions(Query):
    """Options of `naively update` and `forget` for rows and files.

    Attributes
    ----------
    output
        Write another file, and leave this one.
    weight
        A column of weights; the one that `fit` was given unless named.
    label
        The class of all documents; by default the name of their file, or folder, tells.
    """

    output: Output = None
    weight: str | None = None
    format: Format = None
    label: str | None = None


NO_QUERY = Query()
LEARNING, CHANGE = LearningOptions(), ChangeOptions()  # as they are if nothing is said


def check_count(option: str, count: int) -> None:
    """Refuse a number of things that is none."""
    if count < 0:
        raise UsageError(f"--{option} must not be negative, but is {count}")
