"""`MultilabelNB`: raw text in, any number of labels out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sklearn.utils.validation import check_is_fitted

from naively.core.exact import Float64
from naively.core.labels import Labels, LabelSets
from naively.core.model import Model
from naively.core.multilabel import LabelsPosterior, Multilabel, likeliest_labels
from naively.core.prior import Prior
from naively.core.schema import Schema
from naively.core.workers import Workers, workers
from naively.estimators.shared.inside import InsideLabels
from naively.estimators.shared.learning import Learning
from naively.estimators.shared.table import as_kind
from naively.estimators.shared.validation import (
    check_total,
    check_weights,
    documents_of,
    label_sets,
)
from naively.estimators.text import TextOptions, stop_words
from naively.families.text.text import Text
from naively.pooling.texts.scale import Scale
from naively.statistics.terms import LengthNorm, Weighting
from naively.tables.specification import EstimatorSpec

INDICATOR = {"labels": "indicator"}
"""What a file notes of a model that learned from a matrix."""


@dataclass(eq=False, repr=False)
class MultilabelNB(Learning, InsideLabels, TextOptions):
    r"""Naive Bayes for documents that have any number of labels, such as the topics of news.

    Each label is judged by itself: documents that have it against all others. Without weights that
    is ``OneVsRestClassifier(TextNB(weights=None))``. But each document is cut into terms once, and
    its terms are counted once in all documents and once in each of its labels: the counts without a
    label are the difference, exactly. The vocabulary and the labels grow: ``partial_fit``, ``+``
    and ``forget`` are exact for terms and labels never met before, too.

    Parameters
    ----------
    event : "multinomial" or "binary"
        What is counted: how often each term is met in a document, or whether.
    weights : "auto" or None
        Whether to weigh the evidence, so that probabilities can be bet on, as of `TextNB`; but what
        terms count is the same for all labels, of which each has a bias of its own. See
        docs/text.md. All that is learned from documents that are scored by counts without them: up
        to 20,000 documents are kept. None for the textbook.
    threshold : float
        `predict` gives a document the labels of this probability or more, above 0 and below 1.
    alpha : float, dict, "auto" or None
        Smoothing l, above 0: virtual counts of each term with and without each label; a dict by
        term, of which terms that are not named have 1. None or "auto" to choose it with the
        weights; 1 without weights.
    weighting, length_norm, n_features, max_terms : as of `TextNB`.
    prior : "empirical" or "uniform"
        Whether a label is as frequent as it was met, or half of the documents have it.
    prior_smoothing : float
        Virtual documents with each label, and as many without.
    analyzer, ngram_range, lowercase, strip_accents, stop_words, token_pattern, tokenizer
        What a term is: as of `TextNB`.
    min_df, max_df, drop_most_frequent, max_features : which terms are left out, as of `TextNB`.
    n_jobs : int or None
        Threads; None for all processors. The model does not depend on it.

    Attributes
    ----------
    classes_ : (L,) labels, sorted.
    class_count_ : (L,) total weight of the documents that have each.
    document_count_ : float, total weight of all documents.
    indicator_ : bool, whether labels were learned from a matrix, so that `predict` gives one.
    frame_ : (package, names) of the frame that the matrix was; None if it was none.
    alpha_ : the smoothing.
    scale_ : with weights, `naively.pooling.texts.scale.Scale`: how much terms count.
    terms_ : (V,) the terms that count, sorted.

    Examples
    --------
    >>> from naively import MultilabelNB
    >>> news = ["wheat and maize exports rise", "wheat harvest falls", "bank lifts its rates"]
    >>> model = MultilabelNB(weights=None).fit(news, [["grain", "trade"], ["grain"], ["money"]])
    >>> model.predict(["wheat harvest", "the bank and its rates"])
    [['grain'], ['money']]
    """

    event: Literal["multinomial", "binary"] = "multinomial"
    _: KW_ONLY
    weights: Literal["auto"] | None = "auto"
    threshold: float = 0.5
    alpha: float | Mapping[str, float] | Literal["auto"] | None = None  # type: ignore[assignment]
    weighting: Weighting | None = None
    length_norm: LengthNorm | None = None
    n_features: int | None = None
    max_terms: int | None = None
    prior: Literal["empirical", "uniform"] = "empirical"
    prior_smoothing: float = 0.0

    _noted = ("indicator_", "frame_")

    # ---- learning ----------------------------------------------------------------------------

    def _family(self) -> Text:
        _threshold(self.threshold)
        known: Any = None if self._learned is None else self._learned.family
        params = self._said() | {"stop_words": stop_words(self.stop_words)}
        family = EstimatorSpec("MultilabelNB", params).label_family
        return family if known is None else replace(family, reference=known.reference)

    def _prior(self) -> Prior:
        if not isinstance(self.prior, str):
            raise ValueError(
                f'prior must be "empirical" or "uniform" for all labels, not {self.prior!r}'
            )
        smoothing = self.prior_smoothing
        if not isinstance(smoothing, int | float | np.number) or isinstance(smoothing, bool):
            raise ValueError(f"prior_smoothing must be one number, not {smoothing!r}")
        return Prior(self.prior, smoothing)

    def _refuse_new_auto(self) -> None:
        """`alpha="auto"` is chosen with the weights, at any time."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from these documents alone.

        Parameters
        ----------
        X : (n,) documents: a list of str, or an array of NumPy, Arrow, pandas or polars.
        y : (n,) a list, tuple or set of labels for each document, text or whole numbers, which may
            be empty; or an indicator matrix (n, L) of 0 and 1, dense or sparse, whose labels are
            the numbers of its columns, or their names if it is a frame. A document without labels
            has none of them: it counts. A label that is there twice counts once, and empty text is
            no label.
        sample_weight : (n,) non-negative weights; a document of weight w counts as w of them.

        Raises
        ------
        ValueError : saying what is wrong and where.
        """
        return super().fit(X, y, sample_weight)

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, *,
        part: str | None = None,
    ) -> Self:  # fmt: skip
        """Learn from more documents. New terms and labels may appear in any call.

        Any split of the documents into calls gives the same model, bit for bit; but an idf is that
        of the first call, and `max_terms` drops terms after each.

        Parameters
        ----------
        X, y, sample_weight : as for `fit`.
        classes : labels to make room for before their documents are met; not required.
        part : a name for these documents, by which they can be forgotten later without them.

        Raises
        ------
        ValueError : saying what is wrong and where; the model is as it was.
        """
        return super().partial_fit(X, y, classes, sample_weight, part=part)

    def _summarise(
        self, X: Any, y: Any, sample_weight: Any, known: Model | None
    ) -> tuple[Model, dict[str, Any]]:
        jobs = workers(self.n_jobs)
        documents = documents_of(X)
        if len(documents) == 0:
            raise ValueError("there are no documents to learn from")
        labels, is_matrix = label_sets(y, len(documents))
        weights = check_weights(sample_weight, np.empty((len(documents), 1)))
        if known is None:
            check_total(weights, "documents")
            present = documents if weights is None else documents[weights > 0]
            family = replace(self._family(), reference=None).referring(present, jobs)
            known = Multilabel(Schema.of_array(family, 1), self._prior())
        model = known.summarise(documents, labels, weights, jobs)  # type: ignore[arg-type]
        if is_matrix:
            model.declare_classes(labels.labels)
        named = is_matrix and hasattr(y, "columns")
        frame = (type(y).__module__.partition(".")[0], [*y.columns]) if named else None
        return model, {"indicator_": is_matrix, "frame_": frame}

    def _declared(self, classes: Any) -> Labels:
        return LabelSets.of_lists([list(classes)], "classes").labels

    def _notes(self) -> dict[str, str]:
        frame = {} if self.frame_ is None else {"frame": json.dumps(self.frame_, default=int)}
        return dict(INDICATOR) | frame if self.indicator_ else {}

    def _noted_in(self, extra: dict[str, str]) -> dict[str, Any]:
        frame = tuple(json.loads(extra["frame"])) if "frame" in extra else None
        return {"indicator_": INDICATOR.items() <= extra.items(), "frame_": frame}

    # ---- predicting --------------------------------------------------------------------------

    def _posterior(self, jobs: Workers | None = None) -> LabelsPosterior:
        """What the model answers as it is now."""
        check_is_fitted(self)
        model, jobs = self.model_, jobs or workers(self.n_jobs)
        if not len(model.classes):
            raise ValueError("every document was forgotten: the model knows nothing")
        return model.posterior(jobs)  # type: ignore[return-value]

    def predict_proba(self, X: Any) -> Float64:
        """P(label | x), (n, L), in the order of `classes_`: each label by itself."""
        jobs = workers(self.n_jobs)
        return self._posterior(jobs).proba(documents_of(X), jobs)

    def decision_function(self, X: Any) -> Float64:
        """The log-odds of each label, log P(label | x) / (1 - P(label | x)), (n, L), in nats."""
        jobs = workers(self.n_jobs)
        return self._posterior(jobs).log_odds(documents_of(X), jobs)

    def predict(self, X: Any) -> Any:
        """The labels of each document whose probability is `threshold` or more.

        Returns
        -------
        (n,) a list of labels for each document; or (n, L) an array of 0 and 1 in the order of
        `classes_`, of a model that learned from a matrix; or a frame like the one it learned from,
        its columns in the same order, then those of other labels.
        """
        jobs = workers(self.n_jobs)
        posterior = self._posterior(jobs)
        proba = posterior.proba(documents_of(X), jobs)
        if self.indicator_:
            found = (proba >= _threshold(self.threshold)).astype(np.int64)
            return (
                found if self.frame_ is None else _as_frame(found, posterior.classes, self.frame_)
            )
        return posterior.label_sets(proba, _threshold(self.threshold)).lists()

    def predict_top(self, X: Any, k: int) -> tuple[npt.NDArray[Any], Float64]:
        """The k most probable labels of each document, whether probable or not.

        Parameters
        ----------
        X : (n,) documents.
        k : how many, 1 or more; all labels if they are fewer.

        Returns
        -------
        (the labels, the most probable first; their probabilities), (n, k) both.
        """
        if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 1:
            raise ValueError(f"as many labels as 1 or more can be asked for, not {k!r}")
        jobs = workers(self.n_jobs)
        posterior = self._posterior(jobs)
        return likeliest_labels(posterior.proba(documents_of(X), jobs), posterior.classes, int(k))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The part of the documents all of whose labels are right, and no others: the accuracy that
        scikit-learn has for many labels, too.
        """
        documents = documents_of(X)
        truth, _ = label_sets(y, len(documents))
        weights = check_weights(sample_weight, np.empty((len(documents), 1)))
        jobs = workers(self.n_jobs)
        posterior = self._posterior(jobs)
        proba = posterior.proba(documents, jobs)
        said = posterior.label_sets(proba, _threshold(self.threshold)).lists()
        right = [a == b for a, b in zip(said, truth.lists(), strict=True)]
        return float(np.average(right, weights=weights))

    # ---- looking inside ----------------------------------------------------------------------

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """(L,) labels."""
        return self.model_.labels  # type: ignore[attr-defined]

    @property
    def class_count_(self) -> Float64:
        """(L,) total weight of the documents that have each label."""
        return self.model_.class_weight.rounded()[1:]

    @property
    def document_count_(self) -> float:
        """Total weight of all documents."""
        return float(self.model_.class_weight.rounded()[0]) if len(self.model_.classes) else 0.0

    @property
    def alpha_(self) -> Any:
        """The smoothing."""
        return self._posterior().parameters.alpha

    @property
    def scale_(self) -> Scale:
        """How much the evidence of terms counts. AttributeError of a model without weights."""
        scale = self._posterior().parameters.scale
        if scale is None:
            raise AttributeError('evidence is weighed by MultilabelNB(weights="auto") alone')
        return scale

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        return tags


def _as_frame(found: npt.NDArray[Any], labels: Labels, frame: tuple[str, list[Any]]) -> Any:
    """An indicator matrix as a frame of the same package, with the columns in the same order."""
    package, names = frame
    columns = dict(zip(labels.tolist(), found.T, strict=True))
    ordered = [*(name for name in names if name in columns), *sorted({*columns} - {*names})]
    table = pa.table({str(name): columns[name] for name in ordered})
    if package == "polars":
        return as_kind(table, "polars")
    table = as_kind(table, "pandas")
    table.columns = ordered
    return table


def _threshold(value: Any) -> float:
    """A probability from which on a label is given. Raises ValueError if it is none."""
    number = isinstance(value, float | int | np.number) and not isinstance(value, bool)
    if not number or not 0 < value < 1:
        raise ValueError(f"threshold must be above 0 and below 1, not {value!r}")
    return float(value)
