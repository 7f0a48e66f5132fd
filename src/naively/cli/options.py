"""Options that several commands share. Heavy imports wait."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from naively.calls import named_call
from naively.cli.errors import UsageError
from naively.core.model import Model
from naively.core.prior import Prior
from naively.families.base import AnyFamily
from naively.families.registry import FAMILIES
from naively.families.text.text import Text
from naively.io.inputs import MISSING
from naively.pooling.pooled import Pooled
from naively.storage.model_files import Saved
from naively.tables.declared import declared_by_user
from naively.tables.inference import Wishes
from naively.tables.learning import Question
from naively.tables.names import named
from naively.tables.targets import USUAL, LabelCells

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
        Plain naive Bayes: evidence is not weighted, and there are no interactions. Columns with
        families (--columns) imply it.
    columns
        The family of a column, as "age=gamma" or "job=categorical(alpha=0.5)"; may be repeated.
    text
        A text column, even if its texts are short; may be repeated. Its words are weighted beside
        the other features. For n-grams and the like: --columns "body=text(ngram_range=(1,2))".
    categorical
        A categorical column, even if its categories are numbers, as codes are; may be repeated.
    numeric
        A numeric column; other values are missing. May be repeated.
    family
        The family of all numeric columns: gaussian, lognormal, gamma, poisson, kernel_density, ...;
        auto for the best by cross-validation. "categorical(alpha=0)" is for categories, too.
    weight
        A column of weights: a row of weight 2 counts as two rows.
    holdout
        Share of the rows of each class, as 0.2, to evaluate on before training on all rows.
    alpha
        Smoothing of categories, counts and words.
    prior
        Class prior: uniform; a probability as "spam=0.8", repeated for each class, of which one may
        be left out; or all in the order of the classes, as 0.2,0.8. By default the class
        frequencies.
    prior_smoothing
        Virtual examples of each class, added to its rows: a number for all, "spam=2", repeated, or
        all in the order of the classes, as 2,8.
    unseen
        How unseen categories are predicted.
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
    family: str | None = None
    weight: str | None = None
    holdout: float = 0.0
    alpha: float = 1.0
    prior: Names = None
    prior_smoothing: Names = None
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
LEARNING, CHANGE = LearningOptions(), ChangeOptions()  # as they are if nothing is said


def check_count(option: str, count: int) -> None:
    """Refuse a number of things that is none."""
    if count < 0:
        raise UsageError(f"--{option} must not be negative, but is {count}")


# ---- options -------------------------------------------------------------------------------------


PAIRS = 1 << 26
"""Bytes to read, up to which pairs of words are evidence, too: there are very many of them."""
PLAIN = ("naive", "family", "alpha", "unseen")
"""Options that only a plain product has."""


def new_question(target: str, documents: Sequence[str], options: LearningOptions) -> Question:
    """What to learn if no model says; `documents` are columns that are text without saying so."""
    holdout, alpha, weight = options.holdout, options.alpha, options.weight
    if not 0 <= holdout < 1:
        raise UsageError(f"--holdout is the part of the rows to hold out, as 0.2, not {holdout:g}")
    check_count("seed", options.seed)
    if not 0 <= alpha < float("inf"):
        raise UsageError(f"--alpha must be a finite number >= 0, not {alpha:g}")
    wanted: dict[Any, Any] = {}
    for name, choice in _said(options):
        if name in (target, weight):
            what = "target" if name == target else "weight"
            raise UsageError(f"{name!r} is the {what}, and no column to learn from")
        if name in wanted:
            raise UsageError(f"--columns, --text and --skip name {name!r} more than once")
        wanted[name] = choice
    for name in documents:
        if name not in (target, weight):
            wanted.setdefault(name, Text(alpha=alpha))
    types = declared_by_user(options.categorical or (), options.numeric or ())
    for name in types:
        if name in wanted or name in (target, weight):
            raise UsageError(f"--{types[name]} {name}: the column is named for something else, too")
    auto = options.family == "auto"
    numeric = None if auto or options.family is None else parsed_family(options.family)
    wishes = Wishes(
        wanted,
        numeric,
        auto,
        alpha,
        options.unseen,
        missing_of(options),
        documents=tuple(documents),
        types=types,
    )
    return Question(target, wishes, prior_of(options), weight, holdout, options.seed, repeated=True)


def weighing(question: Question, options: LearningOptions, size: int | None) -> Question:
    """The same with evidence that is weighed, unless what is said makes sense for a product alone.

    That is a family of columns. Columns of text have none: their words are weighed beside the other
    columns. Documents have one, whose terms are weighed: words, met or not, and pairs of words
    where no more than 64 MB are to be read (`size`; None if nobody knows); and so has a column of
    text that there is nothing beside.
    """
    said = question.wishes.columns
    families = [one for one in said.values() if one != "skip"]
    if any(getattr(options, name) != getattr(LEARNING, name) for name in PLAIN):
        return question
    few = size is not None and size <= PAIRS
    weighed: Any = FAMILIES["weighed_text"]
    weighed = weighed("binary", ngram_range=(1, 2 if few else 1))
    if any(one != Text() for one in families):
        return question
    skipped = {name: one for name, one in said.items() if one == "skip"}
    whole = Pooled(text=tuple(str(name) for name in said if name not in skipped))
    wishes = replace(question.wishes, columns=skipped, whole=whole, alone=weighed)
    return replace(question, wishes=wishes)


def missing_of(options: LearningOptions) -> tuple[str, ...]:
    """What a missing value is spelled as: as usual, too, unless "" is among what was said."""
    own = tuple(one for one in options.missing or () if one)
    if options.missing is not None and "" in options.missing:
        return ("", *own)
    return (*(one for one in own if one not in MISSING), *MISSING)


def prior_of(options: LearningOptions) -> Prior:
    """The class prior: its name or probabilities, and virtual examples."""
    said, virtual = options.prior or ["empirical"], options.prior_smoothing
    named = len(said) == 1 and said[0] in ("empirical", "uniform")
    given: Any = said[0] if named else by_class("prior", said, "probability")
    if virtual and given != "empirical":
        raise UsageError("--prior-smoothing adds to how often classes were met: leave out --prior")
    smoothing: Any = by_class("prior-smoothing", virtual, "number") if virtual else 0.0
    if isinstance(smoothing, list) and len(smoothing) == 1:
        smoothing = smoothing[0]  # of every class
    option = "prior-smoothing" if virtual else "prior"
    try:
        return Prior(given, smoothing)
    except ValueError as error:
        raise UsageError(f"--{option}: {error}") from None


def by_class(option: str, said: Sequence[str], what: str) -> dict[str, float] | list[float]:
    """Numbers by class, as spam=0.8; or all in one, in the order of the classes, as 0.2,0.8."""
    if len(said) == 1 and (values := _numbers(said[0].split(","))) is not None:
        return values
    given: dict[str, float] = {}
    for one in said:
        label, equals, number = one.rpartition("=")
        value = _numbers([number])
        if not equals or value is None:
            names = '"uniform", "empirical", ' if option == "prior" else ""
            raise UsageError(
                f'--{option} {one}: write {names}"class={what}", or a {what} for each class, '
                "as 0.2,0.8"
            )
        if label in given:
            raise UsageError(f"--{option} names {label!r} more than once")
        given[label] = value[0]
    return given


def _numbers(texts: Sequence[str]) -> list[float] | None:
    """Texts as numbers; None if one is none."""
    try:
        return [float(text) for text in texts]
    except ValueError:
        return None


def learned_question(saved: Saved, weight: str | None) -> Question:
    """What to learn as a model did: `naively update`, `forget` and `fit --like`."""
    model = saved.model
    if model.target is None:
        raise UsageError("the model does not name its target; go on in Python with partial_fit")
    wishes = Wishes({}, missing=model.schema.missing)
    cells = LabelCells(saved.extra.get("separator", USUAL)) if saved.multilabel else None
    weight = weight or saved.extra.get("weight")
    return Question(model.target, wishes, model.prior, weight, cells=cells)


def noted(question: Question, model: Model) -> tuple[str, dict[str, Any]]:
    """(the estimator, its parameters) that a model file notes: what was asked."""
    wishes = question.wishes
    prior = {"prior": question.prior.given, "prior_smoothing": question.prior.smoothing}
    if wishes.whole is not None and model.family == wishes.whole:
        chosen = {
            name: one for name, one in vars(wishes.whole).items() if name not in ("plan", "types")
        }
        chosen["text"] = [*wishes.text] or None
        return "AutoBayes", {**chosen, **prior, **named_types(wishes), "missing": wishes.missing}
    columns: Any = wishes.columns
    if wishes.whole is not None:  # but there is one column of text
        columns = {**columns, **model.schema.known}
    return "NaiveBayes", {
        "columns": columns or None, "family": "auto" if wishes.auto else wishes.numeric,
        "alpha": wishes.alpha, **prior, "unseen": wishes.unseen, "missing": wishes.missing,
        **named_types(wishes),
    }  # fmt: skip


def named_types(wishes: Wishes) -> dict[str, list[str]]:
    """The columns whose types are declared, as estimators take them."""
    kinds = ("categorical", "numeric")
    return {
        kind: names
        for kind in kinds
        if (names := [name for name, own in wishes.types.items() if own == kind])
    }


def wishes_of(saved: Saved) -> Wishes:
    """What was said of columns when a model was fitted: see `noted`."""
    said, missing = saved.params, saved.model.schema.missing
    auto = said.get("family") == "auto"
    return Wishes(
        said.get("columns") or {},
        None if auto or said.get("family") is None else named(said["family"]),
        auto,
        said.get("alpha", 1.0),
        said.get("unseen", "smooth"),
        missing,
        types=declared_by_user(said.get("categorical") or (), said.get("numeric") or ()),
    )


def _said(options: LearningOptions) -> Iterator[tuple[str, Any]]:
    """(column, its family or "skip") of each column that is named."""
    for name in options.skip or ():
        yield name, "skip"
    for one in options.columns or ():
        head, *call = one.partition("(")
        name, _, kind = head.rpartition("=")
        if not name:
            raise UsageError(f'--columns {one}: write "column=family", as age=gamma')
        family = "".join([kind, *call])
        yield name, "skip" if family == "skip" else parsed_family(family)
    for name in options.text or ():
        yield name, Text(alpha=options.alpha)


def parsed_family(text: str) -> AnyFamily:
    """A family such as ``gamma`` or ``categorical(alpha=0.5)``."""
    name = text.split("(")[0].strip()
    if name not in FAMILIES:
        raise UsageError(f"{name!r} is no family: use one of {', '.join(sorted(FAMILIES))}")
    try:
        _, values = named_call(text)
    except ValueError as error:
        raise UsageError(str(error)) from None
    kind: Any = FAMILIES[name]
    known = [one.name for one in fields(kind) if one.name not in ("reference", "plan", "types")]
    if unknown := [one for one in values if one not in known]:
        has = f"it has {', '.join(known)}" if known else "it has no options"
        raise UsageError(f"{text!r}: {name} has no {unknown[0]!r}; {has}")
    try:
        if not values and (family := named(name)) is not None:
            return family
        if isinstance(values.get("stop_words"), str):
            from naively.estimators.text import stop_words  # of scikit-learn

            values["stop_words"] = stop_words(values["stop_words"])
        return kind(**values)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{text!r}: {error}") from None
