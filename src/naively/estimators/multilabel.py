"""`MultilabelNB`: naive Bayes for raw text with any number of labels for each document."""

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
from naively.core.workers import Workers, workers
from naively.estimators.shared.inspection import InsideLabels
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
from naively.model.model import Model
from naively.model.multilabel import LabelsPosterior, Multilabel, likeliest_labels
from naively.model.prior import Prior
from naively.model.schema import Schema
from naively.pooling.texts.term_weights import TermWeights
from naively.statistics.terms import LengthNorm, Weighting
from naively.tables.specification import EstimatorSpec

INDICATOR = {"labels": "indicator"}  # entry in the model file if y was an indicator matrix


@dataclass(eq=False, repr=False)
class MultilabelNB(Learning, InsideLabels, TextOptions):
    r"""Naive Bayes for documents that have any number of labels, such as the topics of news.

    Each label is a binary classification of its own: documents with it against all others. Without
    weights this is ``OneVsRestClassifier(TextNB(weights=None))``, but faster: the terms of a
    document are counted once in all documents and once for each of its labels, and the counts
    without a label are the exact difference. Vocabulary and labels grow: ``partial_fit``, ``+`` and
    ``forget`` are exact for new terms and labels, too.

    Parameters
    ----------
    event : "multinomial" or "binary"
        How terms are counted: their occurrences, or their presence in a document.
    weights : "auto" or None
        Whether to weight the evidence, which calibrates the probabilities, as in `TextNB`. All
        labels share the weights, and each has a bias; see docs/text.md. Weights are estimated from
        out-of-fold scores, for which the model stores up to 20,000 documents.
    threshold : float
        `predict` returns the labels of at least this probability, above 0 and below 1.
    alpha : float, dict, "auto" or None
        Smoothing l, above 0: virtual counts of each term with and without each label; a dict by
        term, where terms that are not named have 1. None or "auto": chosen together with the
        weights if there are any, else 1.
    weighting, length_norm, n_features, max_terms : as for `TextNB`.
    prior : "empirical" or "uniform"
        Prior of a label: its frequency in the training data, or 1/2.
    prior_smoothing : float
        Virtual documents with each label, and as many without.
    analyzer, ngram_range, lowercase, strip_accents, stop_words, token_pattern, tokenizer
        Terms, as for `TextNB`.
    min_df, max_df, drop_most_frequent, max_features : terms to leave out, as for `TextNB`.
    n_jobs : int or None
        Number of threads, None for all processors. The model does not depend on it.

    Attributes
    ----------
    classes_ : (L,) labels, sorted.
    class_count_ : (L,) total weight of the documents with each label.
    document_count_ : float, total weight of all documents.
    indicator_ : bool, whether y was an indicator matrix, so that `predict` returns one.
    frame_ : (package, names) of the data frame that y was; None if it was none.
    alpha_ : the smoothing.
    scale_ : with weights, `naively.pooling.texts.term_weights.TermWeights`: the weights of terms.
    terms_ : (V,) the selected terms, sorted.

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
        fitted: Any = None if self._learned is None else self._learned.family
        params = self._current_parameters() | {"stop_words": stop_words(self.stop_words)}
        family = EstimatorSpec("MultilabelNB", params).label_family
        return family if fitted is None else replace(family, reference=fitted.reference)

    def _prior(self) -> Prior:
        if not isinstance(self.prior, str):
            problem = f'must be "empirical" or "uniform" for all labels, not {self.prior!r}'
            raise ValueError(f"prior {problem}")
        smoothing = self.prior_smoothing
        if not isinstance(smoothing, int | float | np.number) or isinstance(smoothing, bool):
            raise ValueError(f"prior_smoothing must be one number, not {smoothing!r}")
        return Prior(self.prior, smoothing)

    def _refuse_new_auto(self) -> None:
        """Accept `alpha="auto"`, which is chosen with the weights and needs no rows."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model to these documents alone.

        Parameters
        ----------
        X : (n,) documents: a list of str, or an array of NumPy, Arrow, pandas or polars.
        y : (n,) a list, tuple or set of labels for each document, strings or integers; or an
            indicator matrix (n, L) of 0 and 1, dense or sparse, whose labels are the column
            numbers, or the column names of a data frame. A document without labels is a negative
            example of each. A repeated label counts once; an empty string is no label.
        sample_weight : (n,) non-negative weights; a document of weight w counts as w documents.

        Raises
        ------
        ValueError : if documents, labels, weights or parameters are invalid.
        """
        return super().fit(X, y, sample_weight)

    def _summarise(
        self, X: Any, y: Any, sample_weight: Any, existing: Model | None
    ) -> tuple[Model, dict[str, Any]]:
        jobs = workers(self.n_jobs)
        documents = documents_of(X)
        if len(documents) == 0:
            raise ValueError("there are no training documents")
        labels, is_matrix = label_sets(y, len(documents))
        weights = check_weights(sample_weight, len(documents))
        if existing is None:
            check_total(weights, "documents")
            present = documents if weights is None else documents[weights > 0]
            family = replace(self._family(), reference=None).referring(present, jobs)
            existing = Multilabel(Schema.of_array(family, 1), self._prior())
        model = existing.summarise(documents, labels, weights, jobs)  # type: ignore[arg-type]
        if is_matrix:
            model.declare_classes(labels.labels)
        has_names = is_matrix and hasattr(y, "columns")
        frame = (type(y).__module__.partition(".")[0], [*y.columns]) if has_names else None
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
        """Return the posterior of the current model; ValueError if all documents were forgotten."""
        check_is_fitted(self)
        model, jobs = self.model_, jobs or workers(self.n_jobs)
        if not len(model.classes):
            raise ValueError("every document was forgotten: the model has no class")
        return model.posterior(jobs)  # type: ignore[return-value]

    def predict_proba(self, X: Any) -> Float64:
        """P(label | x), (n, L), in the order of `classes_`; rows need not sum to 1."""
        jobs = workers(self.n_jobs)
        return self._posterior(jobs).proba(documents_of(X), jobs)

    def decision_function(self, X: Any) -> Float64:
        """The log-odds of each label, log P(label | x) / (1 - P(label | x)), (n, L), in nats."""
        jobs = workers(self.n_jobs)
        return self._posterior(jobs).log_odds(documents_of(X), jobs)

    def predict(self, X: Any) -> Any:
        """Predict the labels whose probability is `threshold` or more.

        Returns
        -------
        (n,) a list of labels for each document. If y was a matrix: (n, L) an array of 0 and 1 in
        the order of `classes_`. If y was a data frame: a data frame with its columns in the same
        order, then those of new labels.
        """
        jobs = workers(self.n_jobs)
        posterior = self._posterior(jobs)
        proba = posterior.proba(documents_of(X), jobs)
        if not self.indicator_:
            return posterior.label_sets(proba, _threshold(self.threshold)).lists()
        indicator = (proba >= _threshold(self.threshold)).astype(np.int64)
        if self.frame_ is None:
            return indicator
        return _as_frame(indicator, posterior.classes, self.frame_)

    def predict_top(self, X: Any, k: int) -> tuple[npt.NDArray[Any], Float64]:
        """Return the k most probable labels of each document, whatever the threshold.

        Parameters
        ----------
        X : (n,) documents.
        k : number of labels, 1 or more; all labels if there are fewer.

        Returns
        -------
        (the labels, the most probable first; their probabilities), (n, k) both.
        """
        if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 1:
            raise ValueError(f"the number of labels must be 1 or more, not {k!r}")
        jobs = workers(self.n_jobs)
        posterior = self._posterior(jobs)
        return likeliest_labels(posterior.proba(documents_of(X), jobs), posterior.classes, int(k))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the subset accuracy, as scikit-learn does: the fraction of documents whose set of
        labels is exactly right.
        """
        documents = documents_of(X)
        truth, _ = label_sets(y, len(documents))
        weights = check_weights(sample_weight, len(documents))
        jobs = workers(self.n_jobs)
        posterior = self._posterior(jobs)
        proba = posterior.proba(documents, jobs)
        predicted = posterior.label_sets(proba, _threshold(self.threshold)).lists()
        correct = [a == b for a, b in zip(predicted, truth.lists(), strict=True)]
        return float(np.average(correct, weights=weights))

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
    def scale_(self) -> TermWeights:
        """The weights of terms, see the class. AttributeError for a model without weights."""
        scale = self._posterior().parameters.scale
        if scale is None:
            raise AttributeError('only MultilabelNB(weights="auto") has weights')
        return scale

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        return tags


def _as_frame(indicator: npt.NDArray[Any], labels: Labels, frame: tuple[str, list[Any]]) -> Any:
    """Convert an indicator matrix to a frame of the package and column order of `frame`."""
    package, names = frame
    columns = dict(zip(labels.tolist(), indicator.T, strict=True))
    ordered = [*(name for name in names if name in columns), *sorted({*columns} - {*names})]
    table = pa.table({str(name): columns[name] for name in ordered})
    if package == "polars":
        return as_kind(table, "polars")
    table = as_kind(table, "pandas")
    table.columns = ordered
    return table


def _threshold(value: Any) -> float:
    """Check the least probability of a predicted label: ValueError unless it is in (0, 1)."""
    number = isinstance(value, float | int | np.number) and not isinstance(value, bool)
    if not number or not 0 < value < 1:
        raise ValueError(f"threshold must be above 0 and below 1, not {value!r}")
    return float(value)
