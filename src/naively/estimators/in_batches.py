"""What classifiers of tables do batch by batch: all that needs no more than some rows at a time."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from naively.engines.stream import in_order
from naively.engines.threads import workers
from naively.estimators.base import NaiveBayesClassifier
from naively.estimators.inside import codes_of, likelihood
from naively.estimators.streams import Answer, check_question
from naively.estimators.validation import check_classes
from naively.invalid import Invalid, add_invalid
from naively.labels import Labels
from naively.model import Model
from naively.posterior import Posterior
from naively.schema import Schema
from naively.statistics.base import InvalidValueError
from naively.tables.encoding import encode_for
from naively.tables.inference import Wishes
from naively.tables.learning import Question, labelled
from naively.tables.left_out import unvaried_in
from naively.tables.names import few
from naively.tables.one_pass import learn
from naively.tables.readers import Source
from naively.tables.relabelling import with_typed_labels
from naively.tables.scanning import streamed
from naively.tables.summarising import other_columns, slices
from naively.tables.targets import LabelCodes
from naively.workers import SERIAL

Answered = tuple[npt.NDArray[Any], LabelCodes | None]
"""(what is said of the rows of a batch; their labels if these were asked for)."""
Judged = tuple[npt.NDArray[Any], Labels]
"""(what is said of the rows of a batch; the label of each)."""


class AnswersInBatches(NaiveBayesClassifier):
    """Tables beyond memory: see `naively.scan`."""

    missing: Any

    @abstractmethod
    def _wishes(self) -> Wishes: ...

    @abstractmethod
    def _schema(self, table: Any, labels: LabelCodes, known: Model | None) -> Schema: ...

    @abstractmethod
    def _table(self, X: Any, known: Schema) -> pa.Table: ...

    @abstractmethod
    def _warn(self, invalid: dict[str, Invalid], what: str, schema: Schema) -> None: ...

    # ---- learning ----------------------------------------------------------------------------

    def _counted(
        self, source: Source, y: Any, sample_weight: Any, known: Model | None, new: bool = True
    ) -> Model:
        """A model of the rows of a stream, with its `new` columns if there is a known model.

        Raises
        ------
        ValueError : saying what is wrong and where.
        """
        check_question(self, source, y, sample_weight)
        inferred = partial(self._schema, known=known) if new else None
        question = Question(y, self._wishes(), self._prior())
        threads = workers(self.n_jobs).count
        learned = with_typed_labels(
            learn(source.tasks(), question, threads, known, inferred=inferred)[0]
        )
        if known is None:
            check_classes(learned.classes, 1)
        return learned

    # ---- predicting --------------------------------------------------------------------------

    def _ask(self, X: Any, answer: Answer) -> npt.NDArray[Any]:
        posterior = self._posterior(workers(self.n_jobs)).remarking()
        tables: Iterable[Any]
        if (source := streamed(X)) is None:
            tables = [
                partial(_itself, rows) for _, rows in slices(self._table(X, posterior.schema))
            ]
        else:
            for said in self._others(source.names, posterior.schema):
                warnings.warn(said, UserWarning, stacklevel=3)
            tables = source.tasks()
        invalid: dict[str, Invalid] = {}
        parts = [own for own, _ in self._answers(posterior, tables, answer, invalid)]
        self._warn(invalid, "read", posterior.schema)
        for problem in posterior.said:
            warnings.warn(problem, UserWarning, stacklevel=3)
        return np.concatenate(parts)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The part of the rows whose label is predicted right.

        Parameters
        ----------
        X : the rows.
        y : (n,) labels, or the name of the column of X that has them.
        sample_weight : (n,) weights of the rows.
        """
        if streamed(X) is None:
            X, y = self._with_labels(X, y)
        return super().score(X, y, sample_weight)

    def log_likelihood(self, X: Any, y: Any, conditional: bool = False) -> float:  # noqa: D102
        if (source := streamed(X)) is None:
            return super().log_likelihood(X, y, conditional)
        rows = 0

        def own(judged: Judged) -> list[float]:
            nonlocal rows
            scores, labels = judged
            codes = codes_of(labels, self.model_.classes, rows)
            rows += len(scores)
            return scores[np.arange(len(scores)), codes].tolist()

        answers = self._judged(source, y, None, likelihood(conditional))
        return math.fsum(chain.from_iterable(map(own, answers)))

    def _judged(
        self, source: Source, y: Any, sample_weight: Any, answer: Answer
    ) -> Iterator[Judged]:
        """The answers for the rows of a stream, and their labels."""
        check_question(self, source, y, sample_weight)
        posterior = self._posterior(workers(self.n_jobs)).remarking()
        names = [name for name in source.names if name != y]
        for warning in self._others(names, posterior.schema):
            warnings.warn(warning, UserWarning, stacklevel=3)
        invalid: dict[str, Invalid] = {}
        rows = 0
        for said, labels in self._answers(posterior, source.tasks(), answer, invalid, y):
            classes, codes = labels or (posterior.classes, np.zeros(0, int))
            if (codes == len(classes)).any():
                row = rows + int((codes == len(classes)).argmax())
                raise ValueError(f"the label of row {row} is missing")
            yield said, classes[codes]
            rows += len(codes)
        self._warn(invalid, "read", posterior.schema)
        for problem in posterior.said:
            warnings.warn(problem, UserWarning, stacklevel=3)

    def _answers(
        self, posterior: Posterior, tasks: Iterable[Any], answer: Answer,
        invalid: dict[str, Invalid], target: str | None = None,
    ) -> Iterator[Answered]:  # fmt: skip
        """The answers for batches of rows; what cannot be read is added to `invalid`."""
        without = unvaried_in(posterior)

        def one(task: Any) -> tuple[Answered, dict[str, Invalid]]:
            rows = task()
            labels = None
            if target is not None:
                table = pa.Table.from_batches([rows])
                labels = labelled(table, target, self.missing, posterior.classes)
            encoded, unread = encode_for(posterior, rows, without)
            return (answer(posterior, encoded, SERIAL), labels), unread

        before = 0
        try:
            for answered, unread in in_order(one, tasks, workers(self.n_jobs).count):
                add_invalid(invalid, unread)
                before += len(answered[0])
                yield answered
        except InvalidValueError as error:
            error.row += before
            raise error.named(posterior.feature_names) from None

    def _others(self, names: Iterable[str], known: Schema) -> list[str]:
        """What to say of columns that are missing or unknown.

        Raises ValueError if all are missing.
        """
        names = list(names)
        lacking, unknown = other_columns(known, self.model_.target, names)
        if len(lacking) == len(known.names):
            raise ValueError(
                f"X has none of the columns that were learned: {few(lacking)}; "
                f"its columns are {few(names)}"
            )
        said = [f"X lacks the column(s) {few(lacking)}: counted as missing"] if lacking else []
        if unknown:
            said.append(f"X has the column(s) {few(unknown)}, never learned: ignored")
        return said


def _itself(rows: Any) -> Any:
    return rows
