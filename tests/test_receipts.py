"""`forget --receipt` and `verify`: the content of a receipt, and what it detects."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit import CLASSIFIERS, domain, new, numbers

import naively
from naively import digest
from naively.cli.main import run

RNG = np.random.default_rng(0)


def rows(n, seed):
    draw = np.random.default_rng(seed)
    y = draw.choice(["yes", "no"], n)
    return pd.DataFrame({
        "x": (np.where(y == "yes", 1.0, 0.0) + draw.normal(size=n)).round(3),
        "shop": draw.choice(["north", "south", None], n),
        "y": y,
    })  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The model of two tables, of which one is to be forgotten."""
    monkeypatch.chdir(tmp_path)
    rows(80, 0).to_csv("old.csv", index=False)
    rows(60, 1).to_csv("gone.csv", index=False)
    assert run(["fit", "old.csv", "gone.csv", "--target", "y", "-o", "m", "--naive"]) == 0
    Path("before").write_bytes(Path("m").read_bytes())
    return tmp_path


def forget(*tokens):
    assert run(["forget", "m", "gone.csv", "--receipt", "r.json", *tokens]) == 0
    return json.loads(Path("r.json").read_text("utf-8"))


def verify(capsys, *tokens):
    """(exit status, what it says of the model, of the rows, of their sum)."""
    capsys.readouterr()
    status = run(["verify", "r.json", *tokens, "--json"])
    said = json.loads(capsys.readouterr().out)
    assert said["verified"] == (status == 0)
    return status, said["model"], said["rows"], said["sum"]


# ---- digests -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_equal_models_have_equal_digests_and_others_do_not(name):
    X, y = numbers(domain(name), 30, 2)
    whole = new(name).fit(X, y)
    parts = new(name).fit(X[20:], y[20:]).partial_fit(X[:20], y[:20])
    assert parts.model_ == whole.model_
    assert digest(parts) == digest(whole)
    less = new(name).fit(X[1:], y[1:])
    assert digest(less) != digest(whole)
    assert digest(whole.forget(X[:1], y[:1])) == digest(less)


@given(st.lists(st.integers(0, 2), min_size=4, max_size=12), st.sampled_from([int, float, np.int8]))
def test_a_digest_does_not_depend_on_types_order_or_what_is_estimated(codes, kind):
    y = np.array([0, 1, *codes])
    X = y[:, np.newaxis] + [0.5, 0.25] * np.arange(len(y))[:, np.newaxis]
    one = naively.GaussianNB().fit(X, y)
    other = naively.GaussianNB(var_smoothing=0.5, priors="uniform").fit(
        X[::-1], y[::-1].astype(kind)
    )
    assert digest(one) == digest(other)
    assert digest(one) != digest(naively.GaussianNB().fit(X, y.astype(str)))
    assert digest(one) != digest(naively.GaussianNB().fit(X[:, :1], y))


def test_what_is_no_sum_has_no_digest():
    for one in (naively.NBSVM().fit(["aa", "bb"] * 3, [0, 1] * 3), 3):
        with pytest.raises(TypeError, match="not a model of sums"):
            digest(one)


def test_what_is_counted_is_part_of_the_digest():
    X = [[1.0, 0.0], [0.0, 1.0]]
    assert digest(naively.BernoulliNB().fit(X, [0, 1])) != digest(
        naively.BernoulliNB(binarize=None).fit(X, [0, 1])
    )
    texts, labels = ["a b", "c d"], [0, 1]
    ones = naively.TextNB(token_pattern=r"\w+").fit(texts, labels)
    assert digest(ones) != digest(naively.TextNB(token_pattern=r"\w").fit(texts, labels))
    assert digest(ones) == digest(
        naively.TextNB(token_pattern=r"\w+", alpha=2.0).fit(texts, labels)
    )


# ---- receipts ------------------------------------------------------------------------------------


def test_a_receipt_says_what_was_removed(folder, capsys):
    said = forget()
    labels = rows(60, 1)["y"].value_counts().to_dict()
    assert said["removed"] == {"rows": 60, "classes": labels}
    assert said["data"] == ["gone.csv"]
    assert said["digests"]["before"] == digest(naively.load("before"))
    assert said["digests"]["after"] == digest(naively.load("m"))
    assert verify(capsys, "m") == (0, "after", None, None)
    assert verify(capsys, "m", "gone.csv") == (0, "after", True, True)


def test_the_rows_may_come_in_any_order_and_format(folder, capsys):
    forget()
    table = rows(60, 1)
    table[::-1].to_parquet("again.parquet")
    table[:20].to_json("a.jsonl", orient="records", lines=True)
    table[20:].to_json("b.jsonl", orient="records", lines=True)
    for data in (["again.parquet"], ["b.jsonl", "a.jsonl"]):
        assert verify(capsys, "m", *data) == (0, "after", True, True)


def test_other_rows_and_other_models_do_not_pass(folder, capsys):
    forget()
    table = rows(60, 1)
    table[1:].to_csv("fewer.csv", index=False)
    table.assign(x=table["x"] + np.where(table.index == 7, 1e-9, 0)).to_csv("near.csv", index=False)
    for data in ("fewer.csv", "near.csv", "old.csv"):
        assert verify(capsys, "m", data) == (1, "after", False, False)
    assert verify(capsys, "before") == (1, "before", None, None)
    assert verify(capsys, "before", "gone.csv") == (1, "before", True, None)
    assert run(["update", "m", "gone.csv"]) == 0  # it is learned again
    assert verify(capsys, "m") == (1, "before", None, None)
    assert run(["update", "m", "gone.csv"]) == 0
    assert verify(capsys, "m") == (1, "other", None, None)


def test_receipts_are_printed_in_words(folder, capsys):
    forget()
    capsys.readouterr()
    assert run(["verify", "r.json", "m", "gone.csv"]) == 0
    said = capsys.readouterr()
    assert "60 rows forgotten on 20" in said.out
    assert said.err == ""
    assert run(["verify", "r.json", "before"]) == 1
    said = capsys.readouterr()
    assert "NOT FORGOTTEN" in said.out
    assert said.err == "naively: before is not the model of r.json after forgetting\n"
    table = rows(30, 2).rename(columns={"y": "z"})
    table.to_csv("z.csv", index=False)
    assert run(["fit", "z.csv", "--target", "z", "-o", "z"]) == 0
    capsys.readouterr()
    assert run(["verify", "r.json", "z"]) == 1
    assert "another model: its target is 'z', not 'y'" in capsys.readouterr().out


def edited(**changes):
    return lambda said: said | changes


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (edited(time="2020-01-01T00:00:00Z"), "its checksum is wrong"),
        (edited(removed={"rows": 0, "classes": {}}), "its checksum is wrong"),
        (edited(checksum=None), "its checksum is wrong"),
        (edited(version=2), "version 2"),
        (edited(receipt="other"), "is not a receipt"),
        (lambda said: [said], "is not a receipt"),
        (lambda said: {"receipt": "naively forget"}, "version None"),
    ],
)
def test_a_receipt_that_was_edited_is_refused(folder, capsys, edit, problem):
    said = edit(forget())
    Path("r.json").write_text(json.dumps(said), "utf-8")
    capsys.readouterr()
    assert run(["verify", "r.json", "m"]) == 1
    assert problem in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b"x" * 10])
def test_what_is_no_receipt_is_refused(folder, capsys, content):
    Path("r.json").write_bytes(content)
    assert run(["verify", "r.json", "m"]) == 1
    assert "r.json is not a receipt" in capsys.readouterr().err


def test_a_receipt_is_never_written_over(folder, capsys):
    forget()
    held = Path("r.json").read_bytes(), Path("m").read_bytes()
    assert run(["forget", "m", "old.csv", "--receipt", "r.json"]) == 2
    assert "r.json exists already" in capsys.readouterr().err
    assert run(["forget", "m", "old.csv", "--receipt", "nowhere/r.json"]) == 1
    assert run(["forget", "m", "old.csv", "-o", "n", "--receipt", "./n"]) == 2
    assert not Path("n").exists()
    assert (Path("r.json").read_bytes(), Path("m").read_bytes()) == held


def test_where_nothing_is_forgotten_there_is_no_receipt(folder, capsys):
    rows(10, 5).assign(shop="west").to_csv("never.csv", index=False)
    held = Path("m").read_bytes()
    assert run(["forget", "m", "never.csv", "--receipt", "r.json"]) == 1
    assert "not in the training data" in capsys.readouterr().err
    assert Path("m").read_bytes() == held
    assert not Path("r.json").exists()


def test_weights_and_rows_that_weigh_as_much_have_one_receipt(folder, capsys):
    table = rows(60, 1)
    table.assign(w=0.5).to_csv("half.csv", index=False)
    pd.concat([rows(80, 0), table]).assign(w=1).to_csv("all.csv", index=False)
    assert run(["fit", "all.csv", "--target", "y", "--weight", "w", "-o", "m"]) == 0
    assert run(["forget", "m", "half.csv", "half.csv", "--receipt", "r.json"]) == 0
    assert json.loads(Path("r.json").read_text())["removed"]["rows"] == 120
    table.assign(w=1).to_csv("whole.csv", index=False)
    assert verify(capsys, "m", "whole.csv") == (0, "after", True, True)
