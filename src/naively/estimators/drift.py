"""`drift`: test new data for drift against the training data of a classifier."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from scipy.sparse import issparse

from naively.core.workers import workers
from naively.estimators.shared.table import is_flat, placed
from naively.evaluation.drift.drift import LEVEL, Drift, check_level, check_model, examine, of_table
from naively.io.formats.documents import TEXTS
from naively.io.frames import SparseTable, to_arrow
from naively.model.model import Model


def drift(model: Any, X: Any, *, level: float = LEVEL) -> Drift:
    """Test whether new rows without labels differ from the training data of a classifier.

    The training rows are not needed: the sufficient statistics of the new rows are compared with
    those of the model. docs/drift.md describes the tests.

    Parameters
    ----------
    model : a fitted classifier of naively, which does not change.
    X : the rows, as for its `predict`. A target column is not needed; no test
        uses it.
    level : probability of a false alarm on data without drift, for all tests together.

    Returns
    -------
    Drift : ``print`` shows it, `to_arrow` makes a table of the columns, `to_dict` has everything.

    Raises
    ------
    ValueError : if the model is not fitted, `level` is invalid, or the rows do not fit the model.

    Examples
    --------
    >>> from naively import NaiveBayes, drift
    >>> people = {"job": ["clerk", "boss"] * 100, "rich": ["no", "yes"] * 100}
    >>> drift(NaiveBayes().fit(people, "rich"), {"job": ["pilot"] * 50}).drifted
    ['job']
    """
    check_level(level)
    if isinstance(model, type) or not hasattr(model, "_posterior"):
        raise ValueError(f"drift needs a fitted classifier of naively, not {model!r:.60}")
    posterior = model._posterior()
    model = getattr(model, "bayes_", model)  # the counts of a `NBSVM`
    fitted: Model = model.model_
    check_model(fitted)
    jobs = workers(model.n_jobs)
    if fitted.schema.reasons is None:
        rows, _ = posterior.parameters.readable(model._rows(X))
        if fitted.schema.summary.of_texts:
            fitted = replace(fitted, counted=fitted.schema.named(TEXTS, ()))
        return examine(fitted, posterior, rows, jobs, level)
    if fitted.schema.text_column is not None and is_flat(X):
        X = {fitted.schema.text_column: X}
    table = SparseTable(X.tocsr()) if issparse(X) else to_arrow(X)
    table = placed(type(model).__name__, X, table, fitted.schema, fitted.target)
    return of_table(fitted, posterior, table, fitted.target, jobs, level)
