"""`naively explain` of more than ten rows: one line per row."""

import csv
from pathlib import Path

import pytest
from rich.cells import cell_len
from test_cli import asked, folder, naive
from test_cli_text import HAM, SPAM

from naively import TextNB, load

__all__ = ["folder"]  # a fixture


def lines_of(out):
    head, *lines, remark = out.splitlines()
    assert "largest contributions (nats)" in head
    assert "--row 3 explains row 3 in full" in remark
    return lines, remark


@pytest.fixture
def texts(tmp_path, monkeypatch):
    """Messages, one a line, and a model of them."""
    monkeypatch.chdir(tmp_path)
    model = TextNB(ngram_range=(1, 2)).fit(HAM + SPAM, ["ham"] * len(HAM) + ["spam"] * len(SPAM))
    model.save("m")
    Path("t.txt").write_text("\n".join(HAM + SPAM) + "\n")
    return model


def test_a_line_a_text_with_its_largest_contributions(texts, capsys):
    lines, remark = lines_of(naive(capsys, "explain", "m", "t.txt", "--row", "all")[0])
    assert len(lines) == len(HAM + SPAM)
    assert "+ for the predicted class, - for the most probable other one" in remark
    for number, (line, why) in enumerate(zip(lines, texts.explain(HAM + SPAM), strict=True), 1):
        first, label, p = line.split()[:3]
        assert (first, label, p) == (str(number), why.predicted, f"{max(why.proba):.4f}")
        (_, term, _, odds), *_ = why.parts()
        assert f"{term or '(prior)'} {odds:+.2f}" in line
        assert len(line) <= 100


def test_ten_rows_are_explained_in_full(texts, capsys):
    out, _ = naive(capsys, "explain", "m", "t.txt", "--row", "1-9", "--row", "11")
    assert out.count("in nats: ") == 10
    lines, remark = lines_of(
        naive(capsys, "explain", "m", "t.txt", "--row", "1-11", "--label", "ham")[0]
    )
    assert len(lines) == 11
    assert "+ for ham, - for the most probable other one" in remark


def test_columns_with_their_values(folder, capsys):
    naive(capsys, "fit", "data.csv", "--target", "species", "-o", "m")
    lines, _ = lines_of(naive(capsys, "explain", "m", "data.csv", "--row", "3-20")[0])
    assert [line.split()[0] for line in lines] == [str(k) for k in range(3, 21)]
    rows = list(csv.DictReader(Path("data.csv").read_text().splitlines()))
    for k, line in enumerate(lines, 2):
        told = asked(capsys, "explain", "m", "data.csv", "--row", k + 1)["log_odds"]
        name, odds = max(told["features"].items(), key=lambda one: abs(one[1]))
        if odds:
            assert f"{name}={rows[k][name]} {odds:+.2f}" in line
    assert load("m").classes_.tolist() == ["ada", "bee, wild", "cat"]


def test_hostile_rows_stay_in_their_lines(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    wide, long, odd = "日本語の文章", "longest" * 30, "\x1b[31mred\x07"
    label = "a label that is\nmuch too long 日本"
    model = TextNB(token_pattern=r"\S+").fit([wide, long, odd], [label, "b", "c"])
    model.save("m")
    Path("t.txt").write_text("\n".join([wide, long, odd, " ", "never met"] * 3) + "\n")
    lines, _ = lines_of(naive(capsys, "explain", "m", "t.txt", "--row", "all")[0])
    assert len(lines) == 15
    assert all(cell_len(line) <= 100 for line in lines)
    assert not any(control in "".join(lines) for control in "\x1b\x07")
