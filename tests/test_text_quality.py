"""`benchmarks/text_quality.py`: a run on a tiny set, its figures against refitting."""

import importlib
import json
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from programs import as_program
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import MultinomialNB

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parent.parent
MODULES = ("text_quality", "text_peers", "measuring", "shown", "peers", "tables", "data")
QUICK = ("textbook", "TextNB", "LogisticRegression", "LinearSVC", "ComplementNB", "TWCNB")


@pytest.fixture
def modules(monkeypatch):
    """What the benchmark is made of, by name; forgotten afterwards."""
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    yield {name: importlib.import_module(name) for name in MODULES}
    for name in MODULES:
        sys.modules.pop(name)


@pytest.fixture
def run(modules, monkeypatch):
    """Runs the benchmark as a program does: (exit code, standard output, standard error)."""
    monkeypatch.delenv("NAIVELY_DATA", raising=False)

    return partial(as_program, ROOT / "benchmarks" / "text_quality.py")


def cells(printed, title):
    """The cells of the only row of a table, by the names of columns."""
    lines = printed.partition(f"\n{title}\n")[2].splitlines()
    header, _, row = [line for line in lines if line.startswith("|")][:3]
    names, own = ([cell.strip() for cell in line.strip("|").split("|")] for line in (header, row))
    return dict(zip(names, own, strict=True))


def test_a_tiny_set(run, modules, tmp_path):
    kept = tmp_path / "results.json"
    asked = ("--sets", "descriptions", "--json", kept, "--models", *QUICK)
    code, printed, error = run(*asked)
    assert code == 0, error
    shown = {title: cells(printed, title) for title in modules["text_quality"].FIGURES}
    assert shown["Accuracy/log-loss"].keys() == {"set", "training", "test", "classes", *QUICK}
    results = json.loads(kept.read_text())["text"]["descriptions"]
    for name in QUICK:
        own = results[name]
        assert own["accuracy"] > 0.8
        assert min(own["fit"], own["predict"]) > 0
        without = name == "LinearSVC"
        assert ("log_loss" in own, "calibration_error" in own) == (not without, not without)
        accuracy, _, loss = shown["Accuracy/log-loss"][name].partition("/")
        assert_allclose(float(accuracy), own["accuracy"], atol=5e-4)
        assert loss == ("" if without else f"{own['log_loss']:.3f}"[1:])
    # the plain model is scikit-learn's
    whole = modules["data"].bundled_texts("tables", "others")
    rows = train_test_split(
        np.arange(len(whole)), test_size=0.2, stratify=whole.labels, random_state=0
    )
    learned, test_texts = (whole[own] for own in rows)
    counts = CountVectorizer()
    peer = MultinomialNB().fit(counts.fit_transform(learned.texts), learned.labels)
    proba = peer.predict_proba(counts.transform(test_texts.texts))
    own = results["textbook"]
    assert (own["training"], own["test"], own["classes"]) == (len(learned), len(test_texts), 2)
    assert own["accuracy"] == np.mean(peer.classes_[proba.argmax(axis=1)] == test_texts.labels)
    assert_allclose(own["log_loss"], log_loss(test_texts.labels, proba.clip(1e-15)), rtol=1e-9)
    # what is kept of others is not measured again, and ours is
    for entry in results.values():
        entry["accuracy"] = 0.25
    kept.write_text(json.dumps({"text": {"descriptions": results}}))
    again = cells(run(*asked)[1], "Accuracy/log-loss")
    assert again["LinearSVC"] == ".250"
    assert again["TextNB"] == shown["Accuracy/log-loss"]["TextNB"]


def test_calibration_error_by_hand(modules):
    """Bins [.6, .667) and [.933, 1]: 2 rows with 1 right, 3 with 3 right."""
    confidence = np.array([0.61, 0.65, 0.94, 0.96, 1.0])
    right = np.array([True, False, True, True, True])
    found = modules["text_quality"].calibration_error(confidence, right)
    assert_allclose(found, (abs(1 - 1.26) + abs(3 - 2.9)) / 5)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--sets", "subj"], "NAIVELY_DATA"),
        (["--data", "nowhere"], "no folder nowhere"),
        (["--sets", "subjective"], "--sets 'subjective': there are '20news-bydate'"),
        (["--sets", "descriptions", "--models", "Bayes"], "'Bayes': there are 'textbook'"),
    ],
)
def test_wrong_options(run, arguments, said):
    code, printed, error = run(*arguments)
    assert (code, printed) == (2, "")
    assert said in error


def test_peers_that_want_lines(modules):
    """Terms of characters hold what separates terms, or tells labels, in these programs."""
    lines = modules["text_peers"].Lines({"analyzer": "char", "ngram_range": (1, 2)})
    assert lines.lines(["a b", "|:"]) == ["a _ b a_ _b", "! . !."]


@pytest.mark.parametrize(
    ("name", "package"), [("fastText", "fasttext"), ("Vowpal Wabbit", "vowpalwabbit")]
)
def test_installed_peers(modules, name, package):
    pytest.importorskip(package)
    model = modules["text_peers"].METHODS[name].make({})
    texts, labels = ["good fine", "bad poor", "dull dull"] * 30, np.array([0, 1, 2] * 30)
    proba = model.fit(texts, labels).predict_proba([*texts[:3], "?"])
    assert_allclose(proba.sum(axis=1), 1, rtol=1e-5)
    assert proba[:3].argmax(axis=1).tolist() == [0, 1, 2]
    assert (proba > 0).all()
