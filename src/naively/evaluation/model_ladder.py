"""Build the model ladder for a table's columns, from the class prior to the full joint table."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, cast

from naively.evaluation.samples import LabelledRows
from naively.families.auto_bayes.pooled import Pooled
from naively.families.base import AnyFamily
from naively.families.discrete.joint import Joint
from naively.families.multivariate.multivariate import MultivariateGaussian
from naively.families.numeric.gaussian import Gaussian
from naively.families.text.pooled_text import DEFAULT
from naively.families.text.text import Event, Text
from naively.families.text.weighed_text import WeighedText
from naively.model.schema import Block, Schema
from naively.rendering import Count
from naively.tables.encoding import encode_part
from naively.tables.identifiers import columns_without
from naively.tables.inference import ColumnOptions, infer

COUNTS: dict[str, Callable[[int, int], int]] = {
    "class prior": lambda k, d: k - 1,
    "Bernoulli naive Bayes": lambda k, d: k * d,
    "one variance": lambda k, d: k * d + 1,
    "one variance per class": lambda k, d: k * d + k,
    "one variance per column": lambda k, d: k * d + d,
    "Gaussian naive Bayes": lambda k, d: 2 * k * d,
    "tied covariance": lambda k, d: k * d + d * (d + 1) // 2,
    "full covariance": lambda k, d: k * d + k * d * (d + 1) // 2,
    "joint table": lambda k, d: k * (2**d - 1),
}
"""The number of free parameters of each model for K classes and d features: lecture 2, "How many
parameters do we need to learn?"."""

GAUSSIANS: dict[str, AnyFamily] = {
    "one variance": Gaussian("both", floor="feature"),
    "one variance per class": Gaussian("features", floor="feature"),
    "one variance per column": Gaussian("classes", floor="feature"),
    "Gaussian naive Bayes": Gaussian(floor="feature"),
    "shrunk tied covariance": MultivariateGaussian(tied=True, shrinkage="auto"),
    "shrunk full covariance": MultivariateGaussian(shrinkage="auto"),
}
"""The family of each Gaussian model of the ladder.

With many rows a covariance without shrinkage is about the same, with few it may be singular.
"""

KNOWN_AS = {
    "one variance": "nearest centroid, with class priors",
    "one variance per column": "diagonal LDA",
    "tied covariance": "LDA",
    "full covariance": "QDA",
}
"""Names that models of the ladder have elsewhere."""

PRIOR = ("prior", "prior_smoothing", "class_weight")
"""Parameters of the class prior, which all estimators have."""

AUTO, WIDE = "AutoBayes", 200
"""The default model of tables, and the number of columns up to which it is tried."""
TEXT = "TextNB"  # the default model of documents
FEW = 3  # text columns to name, at most

EVENTS: dict[Event, str] = {
    "multinomial": "naive Bayes, multinomial",
    "binary": "naive Bayes, binary",
    "bernoulli": "naive Bayes, Bernoulli",
    "complement": "naive Bayes, complement",
}
"""The events that text columns can count, and the names of these models."""


def parameter_counts(classes: int, features: int) -> dict[str, int]:
    """The number of free parameters of each model of the ladder, as lecture 2 counts them.

    All but the first count p(x | y); the parameters of the class prior are extra. The joint table
    is that of binary features.

    Parameters
    ----------
    classes, features : K and d.

    Returns
    -------
    dict of int by model: exact; numbers that are too long print as their order of magnitude.

    Raises
    ------
    ValueError : for less than one class, or a negative number of features.

    Examples
    --------
    >>> from naively import parameter_counts
    >>> parameter_counts(10, 256 * 256)["full covariance"]  # "~ 21.5 billion parameters!"
    21475819520
    >>> print(parameter_counts(10, 256 * 256)["joint table"])  # K (2^d - 1)
    2.00e+19729
    """
    if classes < 1 or features < 0:
        raise ValueError(f"there are no {classes} classes of {features} features")
    return {name: Count(count(classes, features)) for name, count in COUNTS.items()}


def known_as(models: Iterable[str]) -> list[str]:
    """Return a note with the names that some of these models have elsewhere, in a list."""
    names = {name.removeprefix("shrunk ") for name in models}
    notes = [f"{name}: {alias}" for name, alias in KNOWN_AS.items() if name in names]
    return ["; ".join(notes)] * bool(notes)


@dataclass(frozen=True)
class Rung:
    """A model of the ladder: a choice of blocks for the columns of a table."""

    name: str
    use: str  # Python code for it; empty for the class prior
    option: str | None  # option of `naively fit` for it; None if there is none
    blocks: tuple[Block, ...]
    free: int | None = None  # parameters of the first block, if known before estimation

    @property
    def naive(self) -> bool:
        """Whether the columns are independent given the class."""
        return bool(self.blocks) and all(
            block.family.independent or len(block.names) == 1 for block in self.blocks
        )


def kinds(
    rule: Schema, options: ColumnOptions, rows: LabelledRows
) -> tuple[tuple[str, ...], dict[str, int]]:
    """(numeric columns with more than two values; categories of each categorical column).

    A column of few whole numbers is both.
    """
    labels = rows.classes, rows.codes
    gaussian_options = replace(options, numeric=Gaussian(floor="feature"))
    numeric = infer(gaussian_options, rows.table, labels).varying
    levels: dict[str, int] = {}
    for part in rule.parts:
        if part.summary.takes == "levels":
            part_levels = encode_part(part, rows.table, rule)[0].levels
            levels |= dict(zip(part.names, map(len, part_levels), strict=True))
        elif part.summary.takes == "truths":
            levels |= dict.fromkeys(part.names, 2)
    powers = {name for name in rule.ordered if _has_powers(numeric.family_of[name])}
    numbers = tuple(name for name in rule.ordered if name in powers and levels.get(name) != 2)
    return numbers, {name: levels[name] for name in rule.ordered if name in levels}


def _has_powers(family: AnyFamily) -> bool:
    """Whether a column of this family is numeric, so that Gaussians can be estimated from it."""
    return family.summary == Gaussian.summary


def unweighed(options: ColumnOptions, rows: LabelledRows, rule: Schema) -> str | None:
    """Why `AutoBayes` is not tried on these columns; None if it is.

    With more than 200 columns, screening all pairs in each fold would take too long. `TextNB` is
    the default model of documents alone.
    """
    plain = ("skip", Text())
    with_family = [name for name, family in options.families.items() if family not in plain]
    if rows.table.num_columns > WIDE:
        return f"there are more than {WIDE} columns"
    if not rule.blocks[1:] and (reason := has_text(rule)):
        return reason
    return f"{with_family[0]!r} was given a family" if with_family else None


def has_text(rule: Schema) -> str | None:
    """Why models that take no text are not tried; None if they are."""
    texts = [repr(name) for block in rule.blocks if _is_text(block) for name in block.names]
    if not texts:
        return None
    names = ", ".join(texts[:FEW]) + ", ..." * (len(texts) > FEW)
    return f"{names} {'are' if texts[1:] else 'is'} text"


def weighed(options: ColumnOptions, rows: LabelledRows, rule: Schema) -> Schema | None:
    """The columns that `AutoBayes` uses, in its one block; None if it is not tried on them."""
    if unweighed(options, rows, rule):
        return None
    texts = tuple(str(name) for name, family in options.families.items() if family == Text())
    skipped = {name: "skip" for name, family in options.families.items() if family == "skip"}
    whole_options = replace(options, families=skipped, whole=Pooled(text=texts))
    schema = infer(whole_options, rows.table, (rows.classes, rows.codes)).varying
    if not schema.blocks:
        return None
    X, _ = encode_part(schema.parts[0], rows.table, schema)
    without_identifiers = columns_without(schema, X, None)
    return schema if without_identifiers is None else without_identifiers[0]


def ladder(
    rule: Schema, numbers: Sequence[str], levels: dict[str, int], classes: int,
    whole: Schema | None = None,
) -> list[Rung]:  # fmt: skip
    """The models of the ladder for the columns of a table.

    `numbers`: numeric columns, which Gaussian models take together. `levels`: number of categories
    of each categorical column. `whole`: all columns in one block, for `AutoBayes`; None if it is
    not tried on them.
    """
    is_text = len(rule.blocks) == 1 and _is_text(rule.blocks[0])
    use = text_code(rule.blocks[0].family) if is_text else "NaiveBayes()"
    rungs = [Rung("class prior", "", None, ()), Rung("naive Bayes", use, "--naive", rule.blocks)]
    if numbers:
        other_blocks = _without(rule, numbers)
        all_powers = all(_has_powers(rule.family_of[name]) for name in numbers)
        for name, family in GAUSSIANS.items():
            single_column = len(numbers) == 1 and not family.independent
            if single_column or (all_powers and name == "Gaussian naive Bayes"):
                continue  # naive Bayes is already this model
            count = COUNTS[name.removeprefix("shrunk ")](classes, len(numbers))
            blocks = (Block(family, tuple(numbers)), *other_blocks)
            use = _use(family, alone=not other_blocks)
            option = f'--family "{_code(family.name, _changed_options(family))}"'
            rungs.append(Rung(name, use, option, blocks, count))
    if whole is not None:
        declared = getattr(whole.blocks[0].family, "text", ())
        use = f"AutoBayes(text={list(declared)!r})" if declared else "AutoBayes()"
        option = " ".join(f"--text {shlex.quote(name)}" for name in declared)
        rungs.append(Rung(AUTO, use, option, whole.blocks))
    rungs += _of_text(rule)
    if len(levels) > 1:
        other_blocks = _without(rule, levels)
        use = "NaiveBayes(columns={levels: Joint()})" if other_blocks else "JointBayes()"
        name = "joint table of categories" if other_blocks else "joint table"
        n_cells = math.prod(levels.values())
        blocks = Block(Joint(), tuple(levels)), *other_blocks
        can_name = not any("," in column or '"' in column for column in levels)
        joint = f'--columns "{",".join(levels)}=joint"' if can_name else None
        rungs.append(Rung(name, use, joint, blocks, classes * (n_cells - 1)))
    return rungs


def _of_text(rule: Schema) -> list[Rung]:
    """The default model of documents, and one for each other event that text columns can count."""
    rungs = []
    if [block.family for block in rule.blocks] == [Text()]:
        default_block = replace(rule.blocks[0], family=DEFAULT)
        rungs.append(Rung(TEXT, text_code(DEFAULT), "", (default_block,)))
    for event, name in EVENTS.items():
        try:
            blocks = tuple(
                replace(block, family=cast(Any, block.family).counting(event))
                if _is_text(block) else block
                for block in rule.blocks
            )  # fmt: skip
        except ValueError:  # options that do not suit this event
            continue
        if blocks == rule.blocks:
            continue
        words = [block for block in blocks if _is_text(block)]
        column_options = {block.names[0]: _changed_options(block.family) for block in words}
        pairs = column_options.items()
        code = ", ".join(f"{column!r}: {_code('Text', options)}" for column, options in pairs)
        use = f"NaiveBayes(columns={{{code}}})"
        if len(blocks) == 1:
            use = text_code(words[0].family)
        families = (f"{column}={_code('text', options)}" for column, options in pairs)
        option = " ".join(f'--columns "{family}"' for family in families)
        rungs.append(Rung(name, use, option, blocks))
    return rungs


def lone_text(columns: Any, n_features: int) -> Text | None:
    """Return the family of the only feature, if `columns` declares it as text, as for `TextNB`."""
    used = [family for family in (columns or {}).values() if family != "skip"]
    is_alone = len(used) == n_features == 1 and isinstance(used[0], Text)
    return used[0] if is_alone else None


def text_code(family: AnyFamily, parameters: Iterable[tuple[str, str]] = ()) -> str:
    """Return Python code of the `TextNB` with this family.

    `parameters`: (name, code) of those of a `NaiveBayes`, of which `TextNB` has the class prior's.
    """
    options = _changed_options(family)
    if not isinstance(family, WeighedText):
        options["weights"] = None
    event = options.pop("event", None)
    code = [(name, repr(value)) for name, value in options.items()]
    code += [(name, value) for name, value in parameters if name in PRIOR]
    arguments = [repr(event)] * (event is not None) + [f"{name}={value}" for name, value in code]
    return f"TextNB({', '.join(arguments)})"


def _is_text(block: Block) -> bool:
    return block.family.summary.of_texts


def _without(schema: Schema, names: Collection[str]) -> tuple[Block, ...]:
    """The blocks of a schema without these columns."""
    remaining = (
        tuple(name for name in block.names if name not in names) for block in schema.blocks
    )
    blocks = zip(schema.blocks, remaining, strict=True)
    return tuple(replace(block, names=names) for block, names in blocks if names)


def _use(family: AnyFamily, alone: bool) -> str:
    """Python code for the family of numeric columns, `alone` or beside other columns."""
    options = _changed_options(family)
    name = type(family).__name__
    if alone and not family.independent:
        name = "GaussianBayes"
        options = {"covariance": "tied" if options.pop("tied", False) else "full", **options}
    elif alone:
        name = "GaussianNB"
    code = _code(name, options)
    return code if alone else f"NaiveBayes(columns={{numbers: {code}}})"


def _changed_options(family: AnyFamily) -> dict[str, Any]:
    """The hyperparameters of a family that differ from their defaults."""
    return {
        field.name: getattr(family, field.name)
        for field in fields(cast(Any, family))
        if field.name not in ("reference", "also") and getattr(family, field.name) != field.default
    }


def _code(name: str, options: dict[str, Any]) -> str:
    return f"{name}({', '.join(f'{k}={v!r}' for k, v in options.items())})"
