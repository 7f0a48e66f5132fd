"""The classifiers of `quality.py`: ours, and what others have for tables, with their defaults.

All get the same rows; columns are prepared as each asks for. LightGBM, XGBoost and CatBoost have
one thread: they ignore OMP_NUM_THREADS, and more threads spin. They, EBM and Khiops take part if
they are installed (`pip install lightgbm xgboost catboost interpret khiops`; the commands of Khiops
must be on the PATH).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import pandas as pd
import tables
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from naively.evaluation.alternatives import LEVELS, Boosting

SUBJECT = "AutoBayes"  # what all others are compared with


def as_it_is(X: pd.DataFrame) -> pd.DataFrame:
    return X


def categories(X: pd.DataFrame) -> pd.DataFrame:
    """Text as pandas' categories, or as codes if there are too many; plain names of columns.

    Columns without any value are left out: scikit-learn's boosting fails on them (`sick`).
    """
    found = X.dropna(axis=1, how="all")
    found = found.set_axis([f"c{j}" for j in range(found.shape[1])], axis=1)
    for name in found.select_dtypes(object):
        levels = found[name].astype("category")
        codes = levels.cat.codes.astype(float)
        few = len(levels.cat.categories) <= LEVELS
        found[name] = levels if few else codes.mask(codes < 0)
    return found


@dataclass(frozen=True)
class Method:
    """A classifier.

    Attributes
    ----------
    make : gives one that is not fitted.
    package : that has it, as pip calls it.
    prepare : turns the columns of a table into what it takes.
    ours : whether it is measured anew each time.
    """

    make: Callable[[], Any]
    package: str = "scikit-learn"
    prepare: Callable[[pd.DataFrame], pd.DataFrame] = as_it_is
    ours: bool = False

    @property
    def missing(self) -> str:
        """Why it cannot take part; empty if it can."""
        try:
            version(self.package)
            self.make()
        except PackageNotFoundError:
            return f"{self.package} is not installed"
        except (AttributeError, ImportError) as error:  # of another version
            return str(error)
        return ""


def named(module: str, name: str, **given: Any) -> Callable[[], Any]:
    """A classifier whose module is imported when it is asked for."""
    return lambda: getattr(import_module(module), name)(**given)


def logistic(model: Any = None) -> Any:
    numbers = make_pipeline(tables.medians(), StandardScaler())
    model = model or LogisticRegression(max_iter=1000)
    return make_pipeline(tables.columns(tables.one_hot(), numbers), model)


def tuned_logistic() -> Any:
    """Its ridge by the log-loss of three folds."""
    ridges = [1e-4, 1e-3, 1e-2, 0.1, 1.0]
    return logistic(LogisticRegressionCV(Cs=ridges, cv=3, scoring="neg_log_loss", max_iter=1000))


def forest() -> Any:
    columns = tables.columns(tables.one_hot(), "passthrough")  # it takes missing numbers
    return make_pipeline(columns, RandomForestClassifier(n_jobs=-1, random_state=0))


class CatBoost:
    """CatBoost with its defaults, told which columns are categories."""

    def __init__(self) -> None:
        make = import_module("catboost").CatBoostClassifier
        self.model = make(verbose=False, thread_count=1, allow_writing_files=False)

    def fit(self, X: pd.DataFrame, y: Any) -> CatBoost:
        """Train the model; a missing category is a category."""
        self.texts = list(X.select_dtypes(object))
        self.model.fit(self.filled(X), y, cat_features=self.texts)
        self.classes_ = self.model.classes_
        return self

    def predict_proba(self, X: pd.DataFrame) -> Any:
        """Probabilities, (n, C)."""
        return self.model.predict_proba(self.filled(X))

    def filled(self, X: pd.DataFrame) -> pd.DataFrame:
        """The rows with text in each cell of a category."""
        return X.assign(**{name: X[name].fillna("").astype(str) for name in self.texts})


STEPS = {
    "NaiveBayes": Method(named("naively", "NaiveBayes"), "naively", ours=True),
    "1 bins": Method(named("naively", "NaiveBayes", family="discretized"), "naively", ours=True),
    "2 weights": Method(named("naively", SUBJECT, interactions=0), "naively", ours=True),
    "3 pairs": Method(named("naively", SUBJECT, interactions=2), "naively", ours=True),
    "3 triples": Method(named("naively", SUBJECT, interactions=3), "naively", ours=True),
    SUBJECT: Method(named("naively", SUBJECT), "naively", ours=True),
}
"""From naive Bayes to AutoBayes, as docs/evidence.md tells it."""

METHODS: dict[str, Method] = {
    SUBJECT: Method(named("naively", SUBJECT), "naively", ours=True),
    "NaiveBayes": Method(named("naively", "NaiveBayes"), "naively", ours=True),
    "NaiveBayes, auto": Method(named("naively", "NaiveBayes", family="auto"), "naively", ours=True),
    **{name: Method(make) for name, make in tables.PEERS.items()},
    "LogisticRegression": Method(logistic),
    "LogisticRegressionCV": Method(tuned_logistic),
    "RandomForest": Method(forest),
    "HistGradientBoosting": Method(Boosting, prepare=categories),
    "LightGBM": Method(
        named("lightgbm", "LGBMClassifier", verbose=-1, n_jobs=1), "lightgbm", prepare=categories
    ),
    "XGBoost": Method(
        named("xgboost", "XGBClassifier", enable_categorical=True, n_jobs=1),
        "xgboost",
        prepare=categories,
    ),
    "CatBoost": Method(CatBoost, "catboost"),
    "EBM": Method(named("interpret.glassbox", "ExplainableBoostingClassifier"), "interpret"),
    "Khiops": Method(named("khiops.sklearn", "KhiopsClassifier"), "khiops"),
}
