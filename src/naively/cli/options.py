"""Turn command-line options into estimators and training specifications."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

from naively.calls import named_call
from naively.cli import progress
from naively.cli.arguments import LEARNING, LearningOptions, check_count
from naively.cli.errors import UsageError
from naively.families.auto_bayes.pooled import Pooled
from naively.families.base import AnyFamily
from naively.families.registry import FAMILIES
from naively.families.text.pooled_text import DEFAULT
from naively.families.text.text import Text
from naively.io.inputs import MISSING
from naively.model.prior import Prior
from naively.storage.model_files import Saved
from naively.tables.learning import TrainingSpec
from naively.tables.names import named, names_of
from naively.tables.specification import EstimatorSpec
from naively.tables.targets import USUAL, LabelCells

PLAIN = ("family", "alpha", "unseen")  # options that only `NaiveBayes` has, and that imply --naive


def plain_estimator(
    target: str, documents: Sequence[str], options: LearningOptions
) -> EstimatorSpec:
    """`NaiveBayes` with these options; `documents` are columns that the format declares as text."""
    if not 0 <= options.smoothing < float("inf"):
        raise UsageError(f"--alpha must be a finite number >= 0, not {options.smoothing:g}")
    if target in (options.groups, options.time):
        role = "groups" if target == options.groups else "time"
        raise UsageError(f"--{role} {target}: it is the target")
    families, columns = dict[Any, Any](), set[str]()
    for key, choice in _named_columns(options):
        for name in names_of(key):
            if name in (target, options.weight):
                role = "target" if name == target else "weight"
                raise UsageError(f"{name!r} is the {role}, and not a feature")
            if name in columns:
                raise UsageError(f"--columns, --text and --skip name {name!r} more than once")
            columns.add(name)
        families[key] = choice
    for name in documents:
        if name not in (target, options.weight) and name not in columns:
            families[name] = Text(alpha=options.smoothing)
    for kind, names in declared_columns(options).items():
        for name in names:
            if name in columns or name in documents or name in (target, options.weight):
                raise UsageError(f"--{kind} {name}: the column is named for something else, too")
    family: AnyFamily | str | None = options.family
    if isinstance(family, str) and family != "auto":
        family = parsed_family(family)
    return EstimatorSpec("NaiveBayes", {
        "columns": families or None, "family": family, "alpha": options.smoothing,
        **prior_parameters(options), "unseen": options.unseen, "missing": missing_of(options),
        **declared_columns(options),
    })  # fmt: skip


def estimator_of(
    target: str, documents: Sequence[str], options: LearningOptions, lone: str | None
) -> EstimatorSpec:  # fmt: skip
    """The estimator of `naively fit`: `AutoBayes`, or `NaiveBayes` if an option needs it.

    Prints a note if an option other than --naive needs it. A family for a column is such an option.
    Text columns need none: `AutoBayes` weighs their terms beside other columns. If text is the only
    column, its family is that of `TextNB()`.

    `documents`: columns that the format declares as text. `lone`: the text column, if there is no
    other feature; else None.
    """
    naive_bayes = plain_estimator(target, documents, options)
    families = naive_bayes.params["columns"] or {}
    texts = [name for name, family in families.items() if family != "skip"]
    implying = [f"--{name}" for name in PLAIN if getattr(options, name) != getattr(LEARNING, name)]
    plain_text = Text(alpha=options.smoothing)
    implying += ["--columns"] * any(families[name] != plain_text for name in texts)
    plain = options.naive or bool(implying)
    monotone = signs(options.monotone or ())
    if monotone and (plain or lone is not None):
        reason = "leave out --naive, --columns, --family, --alpha and --unseen"
        raise UsageError(
            f"--monotone is for numbers in AutoBayes: {reason if plain else 'the feature is text'}"
        )
    if plain and not options.naive:
        verb = "imply" if implying[1:] else "implies"
        progress.note(
            f"{' and '.join(implying)} {verb} --naive: the model is plain naive Bayes, with no "
            "weights and no interactions"
        )
    if plain:
        return naive_bayes
    if lone is not None:
        skipped = {name: "skip" for name in families if name not in texts}
        return EstimatorSpec(
            "NaiveBayes", {**naive_bayes.params, "columns": {**skipped, lone: DEFAULT}}
        )
    return EstimatorSpec("AutoBayes", {
        "interactions": Pooled().interactions, "limit": Pooled().limit, "text": texts or None,
        "monotone": monotone or None, **prior_parameters(options), **declared_columns(options),
        "missing": missing_of(options),
    })  # fmt: skip


def spec_of(
    estimator: EstimatorSpec, target: str, documents: Sequence[str], options: LearningOptions
) -> TrainingSpec:
    """How an estimator reads tables with these columns for training."""
    if options.groups is not None and options.time is not None:
        raise UsageError("--groups and --time are two ways to split rows: give one of them")
    if options.holdout and (options.groups or options.time):
        raise UsageError("--holdout draws rows at random: leave it out with --groups and --time")
    if not 0 <= options.holdout < 1:
        raise UsageError(
            f"--holdout is the share of the rows to hold out, as 0.2, not {options.holdout:g}"
        )
    check_count("seed", options.seed)
    columns = replace(estimator.columns(), documents=tuple(documents))
    if columns.whole is not None:
        columns = replace(columns, families=dict.fromkeys(options.skipped, "skip"))
    return TrainingSpec(
        target, columns, estimator.prior, options.weight, options.holdout, options.seed,
        repeated=True, groups=options.groups, time=options.time,
    )  # fmt: skip


def missing_of(options: LearningOptions) -> tuple[str, ...]:
    """The spellings of a missing value: the usual ones and the user's; only the user's with ""."""
    spellings = tuple(spelling for spelling in options.missing or () if spelling)
    if options.missing is not None and "" in options.missing:
        return ("", *spellings)
    return (*(spelling for spelling in spellings if spelling not in MISSING), *MISSING)


def prior_parameters(options: LearningOptions) -> dict[str, Any]:
    """The parameters of the class prior: its name or probabilities, smoothing, class weights."""
    values, pseudo_counts = options.prior or ["empirical"], options.prior_smoothing
    is_name = len(values) == 1 and values[0] in ("empirical", "uniform")
    class_prior: Any = values[0] if is_name else by_class("prior", values, "probability")
    if pseudo_counts and class_prior != "empirical":
        raise UsageError("--prior-smoothing adds to the class frequencies: leave out --prior")
    smoothing: Any = by_class("prior-smoothing", pseudo_counts, "number") if pseudo_counts else 0.0
    if isinstance(smoothing, list) and len(smoothing) == 1:
        smoothing = smoothing[0]  # for every class
    weight: Any = options.class_weight
    if weight is not None:
        if weight == ["balanced"]:
            weight = "balanced"
        elif all("=" in entry for entry in weight):
            weight = by_class("class-weight", weight, "weight")
        else:
            raise UsageError('--class-weight is balanced, or "class=weight", repeated')
        if class_prior != "empirical":
            raise UsageError("--class-weight changes the class frequencies: leave out --prior")
    option = "class-weight" if weight else "prior-smoothing" if pseudo_counts else "prior"
    try:
        prior = Prior(class_prior, smoothing, weight)
    except ValueError as error:
        raise UsageError(f"--{option}: {error}") from None
    return {"prior": prior.given, "prior_smoothing": prior.smoothing, "class_weight": weight}


def declared_columns(options: LearningOptions) -> dict[str, list[str]]:
    """The declared categorical and numeric columns, as parameters of an estimator."""
    kinds = {"categorical": options.categorical, "numeric": options.numeric}
    return {kind: [*dict.fromkeys(names)] for kind, names in kinds.items() if names}


def signs(constraints: Sequence[str]) -> dict[str, int]:
    """Parse the signs of monotone constraints, such as age=1, by column."""
    by_column: dict[str, int] = {}
    for entry in constraints:
        name, equals, sign = entry.rpartition("=")
        if not equals or sign not in ("1", "+1", "-1", "0"):
            raise UsageError(
                f'--monotone {entry}: write "column=1" (increasing) or "column=-1" (decreasing)'
            )
        if name in by_column:
            raise UsageError(f"--monotone names {name!r} more than once")
        by_column[name] = int(sign)
    return by_column


def by_class(option: str, texts: Sequence[str], what: str) -> dict[str, float] | list[float]:
    """Parse numbers by class, such as spam=0.8, or 0.2,0.8 in the order of the classes."""
    if len(texts) == 1 and (values := _numbers(texts[0].split(","))) is not None:
        return values
    numbers: dict[str, float] = {}
    for entry in texts:
        label, equals, number = entry.rpartition("=")
        value = _numbers([number])
        if not equals or value is None:
            names = '"uniform", "empirical", ' if option == "prior" else ""
            raise UsageError(
                f'--{option} {entry}: write {names}"class={what}", or a {what} for each class, '
                "as 0.2,0.8"
            )
        if label in numbers:
            raise UsageError(f"--{option} names {label!r} more than once")
        numbers[label] = value[0]
    return numbers


def _numbers(texts: Sequence[str]) -> list[float] | None:
    """Convert texts to numbers; None if one is not a number."""
    try:
        return [float(text) for text in texts]
    except ValueError:
        return None


def update_spec(saved: Saved, weight: str | None) -> TrainingSpec:
    """How to read rows for `naively update`, `forget` and `fit --like`, as in training."""
    if saved.model.target is None:
        raise UsageError(
            "the model does not name its target: train it further in Python with partial_fit"
        )
    cells = LabelCells(saved.extra.get("separator", USUAL)) if saved.multilabel else None
    return TrainingSpec.like(saved.model, weight or saved.extra.get("weight"), cells)


def _named_columns(options: LearningOptions) -> Iterator[tuple[str | tuple[str, ...], Any]]:
    """Yield (column or columns of a block, family or "skip") for --skip, --columns and --text."""
    for name in options.skipped:
        yield name, "skip"
    for text in options.columns or ():
        head, *call = text.partition("(")
        name, _, kind = head.rpartition("=")
        if not name:
            raise UsageError(f'--columns {text}: write "column=family", as age=gamma')
        if (text := "".join([kind, *call])) == "skip":
            yield name, "skip"
            continue
        family = parsed_family(text)
        several = "," in name and not family.independent
        yield tuple(name.split(",")) if several else name, family
    for name in options.text or ():
        yield name, Text(alpha=options.smoothing)


def parsed_family(text: str) -> AnyFamily:
    """Parse a family such as ``gamma`` or ``categorical(alpha=0.5)``."""
    name = text.split("(")[0].strip()
    if name not in FAMILIES:
        raise UsageError(f"{name!r} is not a family: use one of {', '.join(sorted(FAMILIES))}")
    try:
        _, values = named_call(text)
    except ValueError as error:
        raise UsageError(str(error)) from None
    kind: Any = FAMILIES[name]
    internal = ("reference", "plan", "types")
    option_names = [option.name for option in fields(kind) if option.name not in internal]
    if unknown := [option for option in values if option not in option_names]:
        available = f"it has {', '.join(option_names)}" if option_names else "it has no options"
        raise UsageError(f"{text!r}: {name} has no {unknown[0]!r}; {available}")
    try:
        if not values and (family := named(name)) is not None:
            return family
        if isinstance(values.get("stop_words"), str):
            from naively.estimators.text import stop_words  # needs scikit-learn

            values["stop_words"] = stop_words(values["stop_words"])
        return kind(**values)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{text!r}: {error}") from None
