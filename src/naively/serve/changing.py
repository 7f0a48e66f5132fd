"""How rows change a model: as `naively update` and `naively forget` do it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import pyarrow as pa

from naively.model import Model
from naively.predictor import invalid_values
from naively.serve.state import SPARE
from naively.tables import union
from naively.tables.inference import Wishes
from naively.tables.learning import Question
from naively.tables.names import few
from naively.tables.one_pass import learn
from naively.tables.relabelling import with_typed_labels
from naively.tables.turned import kinds, turned

What = Literal["learn", "forget"]


class Changed(NamedTuple):
    """What came of some rows.

    Attributes
    ----------
    model : Model, which shares nothing that changes with the one before.
    rows, unlabelled : int, rows that were learned or forgotten, and those without a label.
    said : what is to be said about them.
    """

    model: Model
    rows: int
    unlabelled: int
    said: list[str]


@dataclass(frozen=True)
class Changer:
    """How to change a model.

    Attributes
    ----------
    question : Question, what it learns from tables.
    wishes : Wishes, what was said of columns when it was fitted.
    """

    question: Question
    wishes: Wishes

    def columns(self, model: Model) -> list[str]:
        """The columns that rows to learn may have."""
        own = (self.question.target, self.question.weight)
        return [*model.counted.ordered, *(name for name in own if name is not None)]

    def change(self, model: Model, what: What, table: pa.Table) -> Changed:
        """What the model is after these rows; it stays as it is.

        Raises
        ------
        ValueError : if the rows cannot be learned, or were never.
        """
        tasks = [lambda batch=batch: batch for batch in table.combine_chunks().to_batches()]
        part = with_typed_labels(learn(tasks, self.question, 1, model)[0])
        after = model.copy()
        said: list[str] = []
        if what == "learn":
            if model.family.keeps and len(model.classes) and model.structure is None:
                model.posterior(SPARE)  # what is kept depends on the changes, not on their groups
            known = model.classes.tolist()
            if new := [label for label in part.classes.tolist() if label not in known]:
                said.append(f"new classes: {few([str(label)[:40] for label in new])}")
            after = union.merge(after, part)
            after.prior.check_room(after.classes)
            after.structure = model.structure
            invalid = part.invalid_in(after.schema)
            said = [str(one) for one in invalid_values(after.schema, invalid, "learned")] + said
            said += turned(kinds(model), after)
        else:
            after.forget(part)
        return Changed(after, part.rows, part.unlabelled, said)
