"""Summarise a fitted model as plain data: features, interactions, classes, evaluation, sizes.

`summarise` reads a model once. The terminal, ``--json``, the report, the service, notebooks and
`summary()` in Python present this summary, and compute nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from naively.core.issues import Invalid
from naively.core.labels import Label
from naively.core.markup import magnitude
from naively.core.workers import workers
from naively.evaluation.fitted import cross_validation
from naively.evaluation.metrics import Scores
from naively.explain.importance import (
    InformativeTerm,
    constant_in,
    entropy,
    information_and_importance,
    informative_terms,
    missing_weight,
    nearly_all,
    with_zeros,
)
from naively.families.base import Evidence, Evidences, Section
from naively.model.column_types import MANY, written
from naively.model.model import Model
from naively.model.multilabel import Multilabel
from naively.model.prior import Prior
from naively.pooling.dates import as_dates
from naively.rendering import plain_json
from naively.statistics.levels import Levels
from naively.tables import left_out as leaving_out
from naively.tables.identifiers import IDENTIFIER, identifiers, short_texts

if TYPE_CHECKING:
    import pyarrow as pa

Kind = Literal["numeric", "categorical", "text", "date"]
PROPER = {
    "gaussian": "Gaussian", "multivariate": "multivariate Gaussian",
    "bernoulli": "Bernoulli", "poisson": "Poisson", "student": "Student's t",
    "joint": "joint table",
}  # fmt: skip
"""Display names of families that differ from their parameter value."""
NO_EVIDENCE = "weight 0: no evidence beyond that of other features"
WEIGHED_TEXTS = ("weighed_text", "pooled_text")  # text families whose evidence is weighted


@dataclass(frozen=True)
class Feature:
    """A feature of a model.

    Attributes
    ----------
    name : str
    kind : type of its values.
    detail : how it is modelled: "4 categories", "681 categories, 135 bins", "33 bins", or the name
        of its family.
    family, why : the name of its family, and the reason for it.
    missing : weight of the training rows in which it is missing.
    evidence : its blocks of evidence, if evidence is weighted: a date has several. Excludes
        interactions.
    importance : mean distance of the contribution to the log-odds from its mean, in nats,
        interactions included; see `naively.families.base.mean_contribution`. None for text in a
        product of families.
    information : mutual information with the class under the model, in bits; None for text.
    determines_class : whether it alone almost determines the class.
    zero_probability : whether a value has probability 0 in some classes, without smoothing.
    constant_in : classes in which it is constant, with a bell curve of almost no width.
    """

    name: str
    kind: Kind
    detail: str
    family: str
    why: str
    missing: float
    evidence: tuple[Evidence, ...]
    importance: float | None
    information: float | None
    determines_class: bool
    zero_probability: bool = False
    constant_in: Sequence[Label] = ()

    @property
    def type(self) -> str:
        """The kind and the detail, as shown in tables."""
        if self.kind == "categorical" and "categor" in self.detail:
            return self.detail
        return f"{self.kind}, {self.detail}" if self.detail else self.kind

    @property
    def weight(self) -> float | None:
        """The weight of its evidence; None if it has none, or several blocks."""
        return self.evidence[0].weight if len(self.evidence) == 1 else None

    def to_dict(self) -> dict[str, Any]:
        """Return the feature as JSON."""
        blocks = [{"kind": block.kind, "weight": block.weight, "importance": block.importance}
                  for block in self.evidence] if self.evidence[1:] else None  # fmt: skip
        return {
            "feature": self.name, "type": self.type, "missing": self.missing,
            "weight": self.weight, "importance": self.importance,
            "mutual_information": self.information, "determines_class": self.determines_class,
            "zero_probability": self.zero_probability, "constant_in": [*self.constant_in],
            "family": self.family, "why": self.why,
            **({} if blocks is None else {"evidence": blocks}),
        }  # fmt: skip


@dataclass(frozen=True)
class TextTerms:
    """The terms of a text column.

    Attributes
    ----------
    name : of the column.
    terms : number of terms, or of hash buckets.
    documents : weight of the documents that are not missing.
    hashed : whether the names of the terms are not stored.
    by_class : for each class, the terms with the largest share in the divergence of the class from
        the others.
    unit : "word" or "document", to which counts, probabilities and information refer.
    smoothing : (what is counted, alpha) for each bag of terms; empty if terms have alphas of their
        own.
    weighted : whether terms have weights, so that log-odds are not those of the probabilities.
    """

    name: str
    terms: int
    documents: float
    hashed: bool
    by_class: list[list[InformativeTerm]]
    unit: str
    smoothing: list[tuple[str, float]]
    weighted: bool

    def to_dict(self, classes: Sequence[Any]) -> dict[str, Any]:
        """Return the terms as JSON."""
        listed = [
            {"class": label, "terms": [term._asdict() for term in terms]}
            for label, terms in zip(classes, self.by_class, strict=True)
        ]
        return {
            "terms": self.terms, "documents": self.documents, "hashed": self.hashed,
            "smoothing": [{"counted": what, "alpha": alpha} for what, alpha in self.smoothing],
            "classes": listed,
        }  # fmt: skip


@dataclass(frozen=True)
class ModelSummary:
    """A fitted model, summarised.

    Attributes
    ----------
    estimator : name and parameters.
    target : the name of the label column; None if there is none.
    rows, unlabelled : number of training rows, and of skipped rows without a label.
    classes : the labels.
    class_weight, class_prior : total weight of the training rows of each class; π_c.
    weight : total weight of all training rows.
    n_features : number of features, including those left out.
    n_parameters : number of free parameters.
    features : the features in the model, by decreasing importance.
    interactions : evidence of several features together, by decreasing importance.
    left_out : the features that contribute nothing to the scores, with the reason.
    parameters : parameters by class, a section for each family; empty for weighted evidence.
    texts : terms of the text columns.
    cross_validation : scores of out-of-fold predictions of the training rows; for several labels
        per row the log-loss is the sum over them. None if not available.
    weighs : whether evidence is weighted, as by `AutoBayes`.
    stored_rows : whether the training rows are stored; if not, importance excludes interactions.
    multilabel : whether rows have any number of labels, predicted independently.
    row_numbers : features that may be mere row numbers.
    misread, short_texts : categorical features that may be meant as numbers or dates, or as text,
        with a description of their values.
    invalid : invalid values, by feature.
    class_entropy : entropy of the prior, in bits.
    remedy : what may help if the baseline predicts better.
    """

    estimator: str
    target: str | None
    rows: int
    unlabelled: int
    classes: list[Label]
    class_weight: list[float]
    class_prior: list[float]
    weight: float
    n_features: int
    n_parameters: int
    features: list[Feature]
    interactions: list[Evidence]
    left_out: dict[str, str]
    parameters: list[Section]
    texts: list[TextTerms]
    cross_validation: Scores | None = None
    weighs: bool = False
    stored_rows: bool = True
    multilabel: bool = False
    row_numbers: list[str] = field(default_factory=list)
    misread: dict[str, str] = field(default_factory=dict)
    short_texts: dict[str, str] = field(default_factory=dict)
    invalid: dict[str, Invalid] = field(default_factory=dict)
    class_entropy: float = 0.0
    remedy: str = ""

    @property
    def most_frequent(self) -> Label:
        """The class with the most rows."""
        return self.classes[int(np.argmax(self.class_weight))]

    @cached_property
    def kinds(self) -> dict[str, int]:
        """The number of features of each kind."""
        counts: dict[str, int] = {}
        for feature in self.features:
            counts[feature.kind] = counts.get(feature.kind, 0) + 1
        return counts

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as JSON, with the words of the tables."""
        scores = self.cross_validation
        parameters = [
            {
                # JSON has probabilities, tables have percentages
                "meaning": section.meaning.replace(" in %", ""),
                "rows": [
                    {"feature": name, "label": label,
                     **{key: value.tolist() for key, value in values.items()}}
                    for name, rows in section.rows.items() for label, values in rows
                ],
            }
            for section in self.parameters if any(section.rows.values())
        ]  # fmt: skip
        return plain_json({
            "estimator": self.estimator,
            "target": self.target,
            "rows": self.rows,
            "unlabelled": self.unlabelled,
            "n_features": self.n_features,
            # a joint table may have a number of cells of thousands of digits
            "n_parameters": count if (count := int(self.n_parameters)) < 1 << 64
            else magnitude(count),
            "labels" if self.multilabel else "classes": self.classes,
            "class_weight": self.class_weight,
            "class_prior": self.class_prior,
            "class_entropy": self.class_entropy,
            "features": [item.to_dict() for item in self.features],
            "interactions": [
                {"features": list(item.names), "kind": item.kind, "weight": item.weight,
                 "importance": item.importance}
                for item in self.interactions
            ],
            "left_out": self.left_out,
            "cross_validation": None if scores is None else scores.as_json(),
            "parameters": parameters,
            "texts": {item.name: item.to_dict(self.classes) for item in self.texts},
            "invalid": {
                name: {"values": item.count, "example": str(item.example)}
                for name, item in self.invalid.items()
            },
        })  # fmt: skip

    def to_arrow(self) -> pa.Table:
        """Return the features as an Arrow table, one per row, followed by those left out.

        The columns are ``feature``, ``type``, ``missing``, ``weight``, ``importance`` and
        ``left_out`` (the reason); null where they do not apply.
        """
        import pyarrow as pa

        text, real = pa.string(), pa.float64()
        types = {"feature": text, "type": text, "missing": real, "weight": real,
                 "importance": real, "left_out": text}  # fmt: skip
        lines: list[dict[str, Any]] = [feature.to_dict() for feature in self.features]
        lines += [
            {"feature": name, "importance": 0.0, "left_out": why}
            for name, why in self.left_out.items()
        ]
        return pa.table({
            name: pa.array([line.get(name) for line in lines], kind) for name, kind in types.items()
        })  # fmt: skip

    def to_frame(self) -> Any:
        """Return the features as a pandas data frame."""
        return self.to_arrow().to_pandas()


S = TypeVar("S", bound=ModelSummary)


# ---- reading a model -----------------------------------------------------------------------------


def summarise(
    model: Model, estimator: str = "", terms: int = 10,
    kind: type[S] = ModelSummary,  # type: ignore[assignment]
    validate: bool = True,
) -> S:  # fmt: skip
    """Summarise a model that has at least one class.

    `validate`: whether to cross-validate the model, which trains small tables ten times.
    """
    posterior = model.posterior(workers(None))
    labels = isinstance(model, Multilabel)
    weights = model.class_weight.rounded().tolist()
    weight = weights[0] if labels else float(model.class_weight.rounded().sum())
    evidence = _evidence(model)
    shown_blocks = () if labels or evidence is not None else posterior.blocks
    left_out_features = left_out(model)
    if labels:
        features = _label_features(model, posterior)
    else:
        features = _features(model, evidence, left_out_features)
    return kind(
        estimator=estimator,
        target=model.target,
        rows=model.rows,
        unlabelled=model.unlabelled,
        classes=posterior.classes.tolist(),
        class_weight=weights[1:] if labels else weights,
        class_prior=posterior.class_prior.tolist(),
        weight=weight,
        n_features=len(features) + len(left_out_features),
        n_parameters=posterior.n_parameters,
        features=features,
        interactions=[] if evidence is None else [x for x in evidence.blocks if len(x.names) > 1],
        left_out=left_out_features,
        parameters=[part.described(block.names) for block, part in shown_blocks],
        texts=_label_terms(model, posterior, terms) if labels else text_terms(model, terms),
        cross_validation=_cross_validation(model) if validate else None,
        weighs=evidence is not None,
        stored_rows=evidence is None or evidence.columns is not None,
        multilabel=labels,
        row_numbers=row_numbers(model),
        misread=misread(model),
        short_texts={} if labels else short_texts(model),
        invalid=model.invalid,
        class_entropy=math.nan if labels else entropy(posterior),
        remedy=remedy(model),
    )


def _cross_validation(model: Model) -> Scores | None:
    """Return the scores; None if the model of a fold cannot be estimated, too."""
    with suppress(ValueError):
        return cross_validation(model)
    return None


def _features(model: Model, evidence: Evidences | None, silent: Mapping[str, str]) -> list[Feature]:
    """Return the features in the model by decreasing importance, text without one first."""
    schema, posterior = model.schema, model.posterior()
    information, importance = information_and_importance(posterior, evidence is None)
    by_name: dict[str, list[Evidence]] = {}
    if evidence is not None:
        by_name, importance = _alone(evidence), _weighed_importances(evidence)
    determining, missing = set(nearly_all(model, information)), missing_weight(model)
    levels, texts, zeros = levels_of(model), texts_of(model), with_zeros(posterior)
    constant = constant_in(posterior)
    features = []
    for name in schema.ordered:
        if name in silent:
            continue
        family, blocks = schema.family_of[name], tuple(by_name.get(name, ()))
        kind = _kind(family.summary.takes, name in texts, levels.get(name))
        if schema.types.get(name) == "categorical" and kind == "numeric":
            kind = "categorical"  # of numbers that are declared to be codes
        if evidence is not None:
            detail = blocks[0].kind if len(blocks) == 1 else ""
            if kind == "categorical" and "bin" in detail:  # rare categories share one
                size = f"{len(levels[name]):,}"
                detail = f"{size} categories" + f", {detail}" * (detail != f"{size} bins")
        elif kind == "text":
            detail = f"{texts[name].n_terms:,} {'buckets' if texts[name].hashed else 'terms'}"
        elif family.name == "categorical" and name in levels:
            number = len(levels[name])
            detail = f"{number:,} categor{'y' if number == 1 else 'ies'}"
        else:
            detail = PROPER.get(family.name, family.name.replace("_", " "))
        features.append(
            Feature(
                name, kind, detail, family.name, schema.why[name], missing[name], blocks,
                importance.get(name), information.get(name), name in determining, name in zeros,
                constant.get(name, ()),
            )
        )  # fmt: skip
    return sorted(features, key=lambda f: -math.inf if f.importance is None else -f.importance)


def _alone(evidence: Evidences) -> dict[str, list[Evidence]]:
    """Return the evidence of each feature, without interactions."""
    by_name: dict[str, list[Evidence]] = {}
    for block in evidence.blocks:
        if len(block.names) == 1:
            by_name.setdefault(block.names[0], []).append(block)
    return by_name


def _weighed_importances(evidence: Evidences) -> dict[str, float]:
    """Return the importance of each feature, without interactions if rows are not stored."""
    return evidence.columns or {
        name: sum(block.importance for block in blocks) for name, blocks in _alone(evidence).items()
    }


def importances(model: Model) -> dict[str, float | None]:
    """Return the importance of each feature, see `Feature`; 0 for those left out."""
    evidence = _evidence(model)
    if evidence is None:
        by_name = information_and_importance(model.posterior())[1]
    else:
        by_name = _weighed_importances(evidence)
    reasons = left_out(model)
    return {
        name: 0.0 if name in reasons else by_name.get(name)
        for name in {**dict.fromkeys(model.schema.ordered), **reasons}
    }


def _kind(takes: str, has_terms: bool, levels: Levels | None) -> Kind:
    """Return the type of the values of a feature."""
    if takes == "documents" or has_terms:
        return "text"
    if takes == "levels":
        return "categorical"
    if levels is None or levels.dtype.kind != "T":
        return "numeric"
    return "categorical" if as_dates(levels) is None else "date"


def texts_of(model: Model) -> dict[str, Any]:
    """Return the text columns, with the parameters of their terms."""
    texts: dict[str, Any] = {}
    for block, parameters in model.posterior().blocks:
        if block.family.summary.of_texts:
            texts[block.names[0]] = parameters
        elif parameters.has_texts:
            texts |= parameters.weighted_terms(block.names)
    return texts


def levels_of(model: Model) -> dict[str, Levels]:
    """Return the distinct values of each column that stores them, in the order of the table."""
    levels: dict[str, Levels] = {}
    for part, statistics in zip(model.schema.parts, model.parts, strict=True):
        if part.summary.of_levels or part.summary.takes == "cells":
            levels |= zip(part.names, statistics.levels, strict=True)
    return {name: levels[name] for name in model.schema.ordered if name in levels}


def _evidence(model: Model) -> Evidences | None:
    """Return the weighted evidence of a model, or None; features in the order of the table."""
    first, *other_blocks = model.posterior().blocks
    evidence = None if other_blocks else first[1].evidence(first[0].names)
    if evidence is None:
        return None
    place = {name: k for k, name in enumerate(model.schema.ordered)}
    order = place.__getitem__
    blocks = [replace(block, names=sorted(block.names, key=order)) for block in evidence.blocks]
    return replace(evidence, blocks=blocks)


def left_out(model: Model) -> dict[str, str]:
    """Return the features that contribute nothing to the scores, with the reason."""
    reasons = leaving_out.left_out(model)
    if evidence := _evidence(model):
        used = {name for block in evidence.blocks for name in block.names}
        reasons = {n: NO_EVIDENCE for n in model.schema.ordered if n not in used} | reasons
        reasons |= {name: IDENTIFIER.text for name in identifiers(model) if name in reasons}
    return reasons


def text_terms(model: Model, most: int) -> list[TextTerms]:
    """Return the `most` most informative terms of each class, for each text column."""
    weight = float(model.class_weight.rounded().sum())
    missing, posterior = missing_weight(model), model.posterior()
    return [
        TextTerms(
            name, terms.n_terms, weight - missing[name], terms.hashed,
            informative_terms(posterior, terms, most) if most else [[] for _ in posterior.classes],
            terms.chance, terms.smoothing, terms.weighted,
        )
        for name, terms in texts_of(model).items()
    ]  # fmt: skip


def row_numbers(model: Model) -> list[str]:
    """Return the weighted features that may be row numbers: whole, distinct and dense."""
    evidence = _evidence(model)
    if evidence is None or model.rows < MANY:
        return []
    used = {name for item in evidence.blocks for name in item.names}
    ((block, parameters),) = model.posterior().blocks
    return [
        name
        for name, levels in zip(block.names, parameters.levels, strict=True)
        if name in used and len(levels) == model.rows and levels.dtype.kind != "T"
        and (levels == np.floor(levels)).all() and levels[-1] - levels[0] < 2 * model.rows
    ]  # fmt: skip


def misread(model: Model) -> dict[str, str]:
    """Return the categorical features that may be meant as numbers or dates, described."""
    descriptions = {
        name: written(levels.tolist())
        for name, levels in levels_of(model).items()
        if levels.dtype.kind == "T" and as_dates(levels) is None
    }
    return {name: description for name, description in descriptions.items() if description}


def remedy(model: Model) -> str:
    """Return what may help if the baseline predicts better."""
    if model.prior != Prior():
        return ": expected, as its class prior is not the class frequencies of the training data"
    schema = model.schema
    families = schema.family_of
    if any(family.name in WEIGHED_TEXTS for family in families.values()):
        return ": use its labels only"
    if any(schema.reason(name).kind == "array" for name in families):
        return ""
    if model.family.keeps:
        return ": it is too confident on these rows; more training rows or other features may help"
    weighted = "AutoBayes" if schema.text_column is None else "TextNB"
    return f": `{weighted}()`, with weights, may do better"


# ---- models of any number of labels a row --------------------------------------------------------


def _label_features(model: Model, posterior: Any) -> list[Feature]:
    """Return the single text column of a multilabel model."""
    (name,), ((_, family),) = model.schema.ordered, model.schema.family_of.items()
    missing = float(model.parts[0].tables["missing"].rounded()[:1].sum())
    why = model.schema.why[name]
    detail = f"{posterior.parameters.n_terms:,} terms"
    return [Feature(name, "text", detail, family.name, why, missing, (), None, None, False)]


def _label_terms(model: Model, posterior: Any, most: int) -> list[TextTerms]:
    """Return the terms that raise the odds of each label most."""
    by_label, parameters = [], posterior.parameters
    for label in posterior.classes.tolist():
        label_posterior = posterior.of(label)
        by_label.append(
            informative_terms(label_posterior, label_posterior.parameters, most)[1] if most else []
        )
    name = model.schema.ordered[0]
    missing = float(model.parts[0].tables["missing"].rounded()[:1].sum())
    hashed = parameters.vocabulary is None
    terms = TextTerms(
        name, parameters.n_terms, model.weight - missing, hashed, by_label, "word",
        parameters.smoothing, True,
    )  # fmt: skip
    return [terms]
