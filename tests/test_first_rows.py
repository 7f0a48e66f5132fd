"""How many rows are read before counting begins: as few as decide."""

import json

import pytest

from naively.io import inputs
from naively.io.sources import open_source
from naively.tables.inference import ColumnOptions
from naively.tables.learning import TrainingSpec
from naively.tables.one_pass import Drawn, _head, learn

TEXT = "the quick brown fox number {} jumps over the lazy dog and {} other animals of the wood"
ROWS = 3000
SPEC = TrainingSpec("label", ColumnOptions({}))


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(inputs, "BLOCK", 1500 * len(TEXT))


def rows(**more):
    """Texts, all different, with a label and columns that functions of the row's number make."""
    for k in range(ROWS):
        yield {"label": "ab"[k % 2], "text": TEXT.format(k, 7 * k)} | {
            name: make(k) for name, make in more.items()
        }


def as_csv(path, **more):
    each = [*rows(**more)]
    lines = [",".join(each[0]), *(",".join(map(str, row.values())) for row in each)]
    path.write_text("\n".join(lines) + "\n")
    return path


def looked_at(path, spec=SPEC, looks=True):
    head, _ = _head(map(Drawn, open_source(path).tasks()), spec, 1, looks)
    return sum(batch.num_rows for batch, _ in head)


def test_of_texts_alone_a_thousand_rows_are_looked_at(tmp_path):
    file = as_csv(tmp_path / "t.csv")
    assert 1000 <= looked_at(file) < ROWS
    assert looked_at(file, looks=False) == ROWS
    weighed = as_csv(tmp_path / "w.csv", weight=lambda k: k % 3)
    assert looked_at(weighed, TrainingSpec("label", ColumnOptions({}), weight="weight")) == ROWS


def test_a_column_of_numbers_needs_more(tmp_path):
    file = as_csv(tmp_path / "t.csv", size=lambda k: k if k > 2000 else 5)
    assert looked_at(file) == ROWS
    model, _ = learn(open_source(file).tasks(), SPEC, 2)
    assert model.schema.family_of["size"].name == "gaussian"
    assert model.schema.family_of["text"].name == "text"


def test_a_key_that_comes_later_is_a_column_too(tmp_path):
    """JSON lines have no header, so that all of the first rows are looked at."""
    file = tmp_path / "t.jsonl"
    each = [row | ({"size": k % 7 + 0.5} if k > 2500 else {}) for k, row in enumerate(rows())]
    file.write_text("".join(json.dumps(row) + "\n" for row in each))
    model, _ = learn(open_source(file).tasks(), SPEC, 2)
    assert {*model.schema.family_of} == {"text", "size"}


def test_what_is_learned_is_the_same_however_few_were_looked_at(tmp_path):
    file = as_csv(tmp_path / "t.csv")
    few, _ = learn(open_source(file).tasks(), SPEC, 2)
    columns, _ = learn(open_source(file).tasks(), SPEC, 1, few.blank())
    inputs.BLOCK = 1 << 20  # one block
    whole, _ = learn(open_source(file).tasks(), SPEC, 1)
    assert few == whole == columns
    assert few.schema.why == whole.schema.why
