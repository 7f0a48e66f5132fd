"""Train scikit-learn's classifiers on the splits of `compare`, again for each training set."""

from __future__ import annotations

import multiprocessing
import re
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits

from naively.calls import named_call
from naively.core.exact import Float64, Int64
from naively.evaluation.learning_curves import Curve, Predicted, Splits, blank_curve, too_long
from naively.evaluation.metrics import Tally
from naively.evaluation.samples import LabelledRows
from naively.model.schema import Schema
from naively.pooling.bins import as_numbers
from naively.pooling.dates import as_dates
from naively.statistics.levels import Encoded
from naively.tables.encoding import encode_part
from naively.text.documents import Documents

PATIENCE = 2.0  # seconds of work, about as long as processes take to start
MANY = 10_000  # rows, above which threads are worth while
LONGEST = 60  # characters of a name, at most
FEW, LARGE = 3, 10_000  # rows of a class that is too rare, in tables with early stopping
LEVELS = 255  # categories of a column, at most, that boosting supports
DENSE = 1000  # columns up to which the one-hot array is dense: some estimators need that


class Boosting(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """`HistGradientBoostingClassifier` with its defaults, except for rare classes of large tables.

    Above 10,000 rows it holds out rows for early stopping. Then it fails if a class has one row,
    and diverges if it has two. So classes with fewer than three rows are left out of the training
    data, and their probability is their share of the rows.

    `categories`: positions of the columns with category codes; "from_dtype" for the categorical
    columns of a data frame.
    """

    def __init__(self, categories: Any = "from_dtype") -> None:
        self.categories = categories

    def fit(self, X: Any, y: Int64) -> Boosting:
        """Train on labels 0, 1, ...; NaN is a missing value."""
        counts = np.bincount(y)
        frequent = (counts >= FEW) | (len(y) <= LARGE)
        self.classes_, self.shares_ = np.arange(len(counts)), counts / len(y)
        self.learned_ = np.flatnonzero(frequent & (counts > 0))
        self.model_ = HistGradientBoostingClassifier(
            categorical_features=self.categories or None, random_state=0
        )
        self.model_.fit(X[frequent[y]], y[frequent[y]])
        return self

    def predict_proba(self, X: Any) -> Float64:
        """(n, C) probabilities."""
        proba = np.tile(self.shares_, (len(X), 1))
        proba[:, self.learned_] = self.shares_[self.learned_].sum() * self.model_.predict_proba(X)
        return proba

    def predict(self, X: Any) -> Int64:
        """(n,) the most probable labels."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def plain_columns(X: Encoded) -> tuple[Float64, list[int]]:
    """(columns (n, d) of numbers and category codes, positions of those to treat as categorical).

    Columns without any value are left out, because scikit-learn's boosting fails on them.
    """
    columns: list[Float64] = []
    categories: list[int] = []
    for codes, levels in zip(X.codes.T, X.levels, strict=True):
        if not len(levels):
            continue
        numbers = as_dates(levels) if levels.dtype.kind == "T" else as_numbers(levels)
        if numbers is None:
            numbers = np.arange(float(len(levels)))
            if len(levels) <= LEVELS:
                categories.append(len(columns))
        columns.append(np.append(numbers, np.nan)[codes])
    return np.column_stack(columns), categories


@dataclass(frozen=True)
class Alternative:
    """A classifier of scikit-learn."""

    name: str
    use: str  # Python code for it
    estimator: Any  # not fitted
    boosts: bool = False  # whether it takes columns without preprocessing: see `Boosting`


BOOSTING = "gradient boosting"
USUAL = (
    Alternative(
        "logistic regression", "LogisticRegression(max_iter=1000)",
        LogisticRegression(max_iter=1000),
    ),
    Alternative(BOOSTING, "HistGradientBoostingClassifier()", Boosting(), boosts=True),
)  # fmt: skip
"""Candidates for every table; boosting only for tables without text."""


def alternatives(estimators: Sequence[Any]) -> list[Alternative]:
    """Logistic regression, gradient boosting, and the user's classifiers.

    `estimators`: import paths such as ``sklearn.svm.SVC(C=10)``, or estimators. Raises ValueError
    for anything that is not a classifier, saying why.
    """
    candidates = [*USUAL]
    if isinstance(estimators, str) or hasattr(estimators, "fit"):
        raise ValueError(f"estimators must be a list, as [{estimators!r}]")
    for classifier in estimators:
        estimator = _imported(classifier) if isinstance(classifier, str) else classifier
        estimator_like = hasattr(estimator, "fit") and hasattr(estimator, "get_params")
        if isinstance(estimator, type) or not (estimator_like and is_classifier(estimator)):
            instance = "; pass an instance of it" if hasattr(estimator, "fit") else ""
            raise ValueError(f"{classifier!r} is not a scikit-learn classifier{instance}")
        code = re.sub(r"\s+", " ", str(estimator))
        kind = type(estimator)
        namesakes = [other for other in candidates if code in (other.use, other.name)]
        if any(type(other.estimator) is kind for other in namesakes):
            raise ValueError(f"{code} is compared more than once")
        if namesakes:
            code = f"{kind.__module__.split('.')[0]}.{code}"
        name = code if len(code) <= LONGEST else f"{kind.__name__}(...)"
        n_namesakes = sum(other.name.startswith(name) for other in candidates)
        name += f" {n_namesakes + 1}" if n_namesakes else ""
        seeds = [key for key, value in estimator.get_params().items()
                  if key.endswith("random_state") and value is None]  # fmt: skip
        estimator = clone(estimator).set_params(**dict.fromkeys(seeds, 0))
        candidates.append(Alternative(name, code, estimator))
    return candidates


def _imported(path: str) -> BaseEstimator:
    """Import an estimator, and call it with the arguments of the path."""
    name, arguments = named_call(path)
    module, _, attribute = name.rpartition(".")
    if not module:
        raise ValueError(f"{path!r}: name its module too, as sklearn.svm.SVC")
    try:
        kind = getattr(import_module(module), attribute)
    except ImportError as error:
        raise ValueError(f"{path!r}: {error}") from None
    except AttributeError:
        raise ValueError(f"{path!r}: {module} has no {attribute}") from None
    if not isinstance(kind, type) or not hasattr(kind, "fit"):
        raise ValueError(f"{path!r} is not a scikit-learn classifier")
    try:
        return kind(**arguments)
    except TypeError as error:
        raise ValueError(f"{path!r}: {error}") from None


Refit = tuple[tuple[int, int], int, Any, Int64, Any, Int64]
"""((split, size), number of classes, X and y of the training rows, X and y of the test rows)."""

Refitted = tuple[tuple[int, int], Predicted | None, str, str]
"""((split, size), predictions or None, error, first warning)."""


class Refits:
    """Learning curves of scikit-learn's classifiers, on the splits of the model ladder.

    Numeric columns are standardised, with missing values replaced by the median; categorical
    columns are one-hot encoded, with "missing" as a category; text is encoded by TF-IDF. All are
    fitted on the training rows of each split. Boosting takes numbers and categories as they are.

    `rule`: Schema with the types of the columns. `whole`: Schema of one block of all columns, for
    boosting; None if there is none.
    """

    def __init__(
        self, rows: LabelledRows, rule: Schema, whole: Schema | None, splits: Splits,
        seconds: float,
    ) -> None:  # fmt: skip
        self.rows, self.rule, self.whole, self.splits = rows, rule, whole, splits
        self.codes, self.seconds = rows.codes, seconds

    @cached_property
    def _features(self) -> tuple[npt.NDArray[Any], Any]:
        return _prepared(self.rows, self.rule)

    def curve(self, alternative: Alternative, done: Callable[[], None] = lambda: None) -> Curve:
        """Evaluate a classifier; `done` is called after each split and size."""
        start = time.perf_counter()
        if alternative.boosts:
            assert self.whole is not None
            (part,) = self.whole.parts
            X, _ = encode_part(part, self.rows.table, self.whole)
            self.X, categories = plain_columns(X)
            model = clone(alternative.estimator).set_params(categories=categories)
        else:
            self.X, preparation = self._features
            model = make_pipeline(preparation, alternative.estimator)
        result, reason, warning = blank_curve(self.splits), "", ""
        try:
            for (split, size), predicted, problem, message in self._scores(model):
                if predicted is not None:
                    result.fill(split, size, self.splits.tests[split], predicted)
                if size + 1 == len(self.splits.sizes):
                    reason = reason or problem
                warning = warning or message
                done()
        except (TimeoutError, multiprocessing.TimeoutError):
            reason = too_long(self.seconds)
        except Exception as error:  # processes that end, or objects that cannot be pickled
            reason = _in_one_line(error)
        seconds = time.perf_counter() - start
        return replace(result, reason=reason, warning=warning, seconds=seconds)

    def _scores(self, model: Any) -> Iterator[Refitted]:
        """Score small training sets first; after `PATIENCE` seconds, use all processors."""
        splits, sizes = range(len(self.splits.tests)), range(len(self.splits.sizes))
        cells = [(split, size) for size in sizes for split in splits]
        start = time.perf_counter()
        while cells and time.perf_counter() - start < min(PATIENCE, self.seconds):
            yield _score(model, self._task(*cells.pop(0)))
        if not cells:
            return
        remaining = self.seconds - (time.perf_counter() - start)
        if remaining <= 0:
            raise TimeoutError
        tasks = (delayed(_score)(model, self._task(*cell)) for cell in reversed(cells))
        limit = None if np.isinf(remaining) else remaining
        results = Parallel(n_jobs=-1, return_as="generator_unordered", timeout=limit)(tasks)
        for refitted in results:
            yield refitted
            if time.perf_counter() - start > self.seconds:
                with warnings.catch_warnings():  # joblib warns that the remaining tasks are ended
                    warnings.simplefilter("ignore")
                    results.close()
                raise TimeoutError

    def _task(self, split: int, size: int) -> Refit:
        """Select the training and test rows of a split and size."""
        steps = np.concatenate(self.splits.steps[split][: size + 1])
        train = np.concatenate([self.splits.parts[part] for part in steps])
        test = self.splits.tests[split]
        rows = self.X[train], self.codes[train], self.X[test], self.codes[test]
        return (split, size), len(self.rows.classes), *rows


def _score(model: Any, task: Refit) -> Refitted:
    """Fit a classifier, and predict the test rows."""
    cell, classes, *train, X, codes = task
    result, problem = None, ""
    # threads cost more than they save: BLAS for such small products, all of them for few rows
    user_api = "blas" if len(train[0]) > MANY else None
    with warnings.catch_warnings(record=True) as caught, threadpool_limits(1, user_api):
        warnings.simplefilter("always")
        try:
            model = clone(model).fit(*train)
            labels = np.asarray(model.predict(X))
            predicted = np.where(np.isin(labels, np.arange(classes)), labels, -1).astype(np.int64)
            proba = model.predict_proba(X) if hasattr(model, "predict_proba") else None
            if proba is not None and not ((proba >= 0.0) & (proba <= 1.0 + 1e-6)).all():
                raise ValueError("predict_proba gave what are no probabilities")
            with np.errstate(divide="ignore"):
                log_proba = None if proba is None else np.log(proba)
            tally = Tally(np.arange(classes))
            result = Predicted(tally, *tally.add(codes, log_proba, predicted))
        except Exception as error:  # any error of a user's classifier
            problem = _in_one_line(error)
    return cell, result, problem, next((_in_one_line(message.message) for message in caught), "")


def _in_one_line(problem: object) -> str:
    """Format an error or a warning in one line."""
    return f"{type(problem).__name__}: {problem}".split("\n")[0]


def _prepared(rows: LabelledRows, rule: Schema) -> tuple[npt.NDArray[Any], Any]:
    """(the columns as one array, the transformer that encodes them)."""
    parts = [encode_part(part, rows.table, rule)[0] for part in rule.parts]
    if len(parts) == 1 and isinstance(parts[0], Documents):
        return _texts(parts[0]), TfidfVectorizer()
    columns: list[npt.NDArray[Any]] = []
    positions: dict[str, list[int]] = {"numbers": [], "levels": [], "text": []}
    width = 0
    for part in parts:
        if isinstance(part, Documents):
            kind, arrays = "text", [_texts(part)]
        elif isinstance(part, Encoded):
            kind, arrays = "levels", list(part.codes.T)
            width += sum(len(levels) + 1 for levels in part.levels)
        else:
            kind, arrays = "numbers", list(np.asarray(part).T)
        positions[kind] += range(len(columns), len(columns) + len(arrays))
        columns += arrays
    width += len(positions["numbers"])
    floats = FunctionTransformer(np.asarray, kw_args={"dtype": np.float64})
    numbers = SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler()
    levels = make_pipeline(floats, OneHotEncoder(handle_unknown="ignore"))
    steps: list[Any] = [
        ("numbers", make_pipeline(floats, *numbers), positions["numbers"]),
        ("levels", levels, positions["levels"]),
        *((f"text {k}", TfidfVectorizer(), k) for k in positions["text"]),
    ]
    dense = width <= DENSE and not positions["text"]
    preparation = ColumnTransformer(
        [step for step in steps if step[2] != []], sparse_threshold=0.0 if dense else 1.0
    )
    values: Any = object if positions["text"] else np.float64
    table = np.empty((len(rows.codes), len(columns)), values)
    for k, column in enumerate(columns):
        table[:, k] = column
    return table, preparation


def _texts(documents: Documents) -> npt.NDArray[Any]:
    """Documents as an array of strings; missing ones are empty."""
    return np.array(list(documents.texts()), object)
