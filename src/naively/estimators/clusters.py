"""What clusters need of an estimator: a plan before the rows are counted, and a fit afterwards."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

import pyarrow as pa
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from naively.engines.threads import workers
from naively.estimators.auto_bayes import AutoBayes
from naively.estimators.naive_bayes import NaiveBayes
from naively.estimators.text import TextNB
from naively.estimators.validation import naming
from naively.files.safetensors import Saved, to_bytes
from naively.model import Model
from naively.predictor import invalid_values
from naively.schema import Schema
from naively.tables import learning
from naively.tables.inference import Wishes, first_rows
from naively.tables.learning import Plan, Question
from naively.tables.left_out import odd
from naively.tables.likeness import like as known_of
from naively.tables.names import few
from naively.tables.one_pass import planned as planned_stream
from naively.tables.readers import Source


def check_estimator(estimator: Any) -> None:
    """Refuse what cannot be counted by plan.

    Raises
    ------
    TypeError : if it is no estimator of tables or texts.
    ValueError : if something is to be chosen by looking at all rows several times.
    """
    if not isinstance(estimator, AutoBayes | NaiveBayes | TextNB):
        raise TypeError(
            f"a cluster learns AutoBayes, NaiveBayes and TextNB, not {type(estimator).__name__}; "
            "NaiveBayes(family=...) has the families of the other classifiers"
        )
    estimator._refuse_auto()


def question_of(
    estimator: Any, features: Sequence[str], target: str, weight: str | None = None
) -> Question:
    """What an estimator asks of rows with these features.

    Raises
    ------
    ValueError : if it is `TextNB`, and there are several.
    """
    check_estimator(estimator)
    wishes: Wishes
    if isinstance(estimator, TextNB):
        if len(features) != 1:
            raise ValueError(
                f"TextNB learns one column of text, and there are {len(features)} "
                f"({few(features)}): name it as `features`; NaiveBayes takes text among others"
            )
        wishes = Wishes({features[0]: estimator._family()}, missing=())
    else:
        wishes = estimator._wishes()
    return Question(target, wishes, estimator._prior(), weight)


def rows_to_look_at(question: Question, features: Sequence[str]) -> int:
    """How many rows a plan is made from: 0 if the names and types of the columns are enough."""
    wishes = question.wishes
    every = wishes.whole is not None and not wishes.text
    settled = every or wishes.settled(features).issuperset(features)
    return 0 if settled else first_rows(len(features))


def planned(head: pa.Table, question: Question, like: Any = None) -> Plan:
    """How the rows are to be counted, which begin with `head`.

    Parameters
    ----------
    like : a fitted estimator of which columns and families are taken over, or None.

    Raises
    ------
    ValueError : if these are no rows to learn from, or what is counted cannot be sent.
    """
    made = learning.plan([head], question, _known(like))
    to_bytes(Saved(made.blank))  # refuses functions
    return made


def planned_of(source: Source, estimator: Any, question: Question, like: Any = None) -> Plan:
    """How the rows of files are to be counted: as `estimator` counts them on one machine.

    Parameters and errors are those of `planned`.
    """
    text = isinstance(estimator, TextNB)
    inferred = None if text or like is not None else partial(estimator._schema, known=None)
    threads = workers(estimator.n_jobs).count
    made = planned_stream(source.tasks(), question, threads, _known(like), inferred)
    to_bytes(Saved(made.blank))  # refuses functions
    return made


def _known(like: Any) -> Model | None:
    if like is None:
        return None
    check_is_fitted(like)
    return known_of(like.model_, workers(like.n_jobs))


def fitted(estimator: Any, model: Model, like: Any = None) -> Any:
    """A fitted estimator with the parameters of another one, which has this model."""
    found = clone(estimator)
    if model.unlabelled:
        total = model.rows + model.unlabelled
        warnings.warn(
            f"{model.unlabelled} of {total} rows have no label and were left out",
            UserWarning, stacklevel=3,
        )  # fmt: skip
    if isinstance(found, TextNB):
        schema = Schema.of_array(model.schema.blocks[0].family, 1)
        model = model.read_as(schema)
        model.target = None
        found._keep(model, {})
        return found
    for issue in invalid_values(model.schema, model.invalid, "learned"):
        warnings.warn(str(issue), UserWarning, stacklevel=3)
    with naming(found):
        model.check(workers(found.n_jobs))
    if like is None and (said := odd(model)):
        warnings.warn(said, UserWarning, stacklevel=3)
    found._keep(model, {"_kind": "arrow"})
    return found
