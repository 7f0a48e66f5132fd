"""Text columns in `AutoBayes`: words are weighted beside the other columns."""

import csv
import json
import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB

from naively import AutoBayes, TextNB, load
from naively.cli.main import run
from naively.core.workers import SERIAL
from naively.pooling.entries import Entries
from naively.pooling.texts.corrections import Corrections
from naively.pooling.texts.prose import is_text
from naively.pooling.texts.term_weights import TermWeights
from naively.pooling.texts.words import EVENTS, NO_PREDICTIONS, _Chosen, _rows, _Texts

WORDS = [
    "free", "win", "money", "call", "now", "hello", "dear", "friend", "meeting", "report",
    "today", "lunch", "see", "you", "soon",
]  # fmt: skip


def letters(n, seed=0):
    """A table of letters, their length and a label; some letters are missing or empty."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, "spam", "ham")
    texts = []
    for label in y:
        p = np.r_[np.full(5, 3.0), np.ones(10)] if label == "spam" else np.ones(15)
        texts.append(" ".join(rng.choice(WORDS, rng.integers(6, 30), p=p / p.sum())))
    table = pd.DataFrame({"text": texts, "size": rng.normal(size=n)})
    table.loc[::17, "text"] = None
    table.loc[5::23, "text"] = ""
    return table, y


def bits(model, table):
    return model.predict_proba(table).tobytes()


def blocks(model):
    return [one.words for one in model.model_.posterior().parameters.plan.blocks if one.reads_text]


@pytest.fixture(scope="module")
def learned():
    table, y = letters(400)
    return table, y, AutoBayes().fit(table, y)


def test_words_are_evidence(learned):
    table, y, model = learned
    assert {one.column for one in blocks(model)} == {1}  # after "size"
    fresh, truth = letters(300, seed=1)
    plain = AutoBayes().fit(table[["size"]], y).score(fresh[["size"]], truth)
    assert model.score(fresh, truth) > plain + 0.05


def test_any_order_and_split_gives_the_same_bits(learned):
    table, y, model = learned
    order = np.random.default_rng(1).permutation(len(y))
    again = AutoBayes(n_jobs=1)
    for rows in np.array_split(order, 7):
        again.partial_fit(table.iloc[rows], y[rows])
    assert bits(again, table) == bits(model, table)
    half = len(y) // 2
    first = AutoBayes().fit(table[:half], y[:half])
    total = first + AutoBayes().fit(table[half:], y[half:])
    assert bits(total, table) == bits(model, table)


def test_a_letter_withdrawn_leaves_no_trace(learned):
    table, y, _ = learned
    kept = AutoBayes().fit(table[40:], y[40:])
    less = AutoBayes().fit(table, y).forget(table[:40], y[:40])
    assert bits(less, table) == bits(kept, table)


def test_a_file_gives_the_same_bits(learned, tmp_path):
    table, _, model = learned
    model.save(tmp_path / "letters")
    assert bits(load(tmp_path / "letters"), table) == bits(model, table)


def test_a_row_alone_is_as_in_the_frame(learned):
    table, _, model = learned
    whole = model.predict_proba(table)
    for i in (0, 5, 17, 28, 99):
        assert_array_equal(model.predict_proba(table[i : i + 1])[0], whole[i])


def test_unseen_words_are_no_evidence(learned):
    _, _, model = learned
    rows = pd.DataFrame({"text": ["жжж щщщ ёёё ююю эээ ъъъ", "?!", "", None], "size": 0.0})
    proba = model.predict_proba(rows)
    assert_array_equal(proba[0], proba[1])
    assert_array_equal(proba[2], proba[3])  # an empty text is a missing one


def test_contributions_add_up(learned):
    table, _, model = learned
    why = model.explain(table[:50])
    total = why.prior + why.mixing + why.contributions.sum(axis=2)
    proba = np.exp(total - total.max(axis=1, keepdims=True))
    assert_allclose(proba / proba.sum(axis=1, keepdims=True), model.predict_proba(table[:50]), 1e-9)


def entries_of(table, y):
    """The training rows, and which of their columns the texts are."""
    rows = Entries.of(AutoBayes().fit(table, y).model_.parts[0].canonical())
    return rows, [sorted(table)[j] for j in rows.columns].index("text")


def doubted(scores, documents):
    """log p(x | c) after so many documents of each class, by the probabilities that they allow."""
    prior, n = documents / documents.sum(), documents.sum()
    proba = prior * np.exp(scores - scores.max())
    proba = n / (n + 2) * proba / proba.sum() + 2 / (n + 2) * prior
    return np.log(proba / prior)


def test_words_are_no_surer_than_the_texts_allow(learned):
    """What all words of a text tell together is mixed with the shares of the classes, once."""
    table, y, model = learned
    there = (table["text"].fillna("") != "").to_numpy()
    documents = np.array([(y[there] == label).sum() for label in model.classes_], float)
    documents *= table["text"][there].nunique() / documents.sum()  # copies make nobody surer
    letter = np.array(["free win money call now " * 40], np.dtypes.StringDType())
    plan = model.model_.posterior().parameters.plan
    whole = np.zeros(len(documents))
    for block, weight in zip(plan.blocks, plan.weights, strict=True):
        if block.reads_text:
            (told, none), unseen = block.words.evidence(letter)
            bare = block.words.of_text(str(letter[0]))[2].sum(axis=0) + block.words.bias
            assert_allclose(told, bare - bare.max(), atol=1e-9)
            assert_array_equal(none, 0)
            assert_array_equal(unseen, False)
            whole += weight * told
    (why,) = model.explain(pd.DataFrame({"text": letter.tolist(), "size": [0.0]}))
    column = why.contributions[:, why.features.index("text")]
    sure = doubted(whole + plan.bias, documents)
    for block, weight in zip(plan.blocks, plan.weights, strict=True):
        if block.way is not None and block.columns == (1,):  # that it is not missing
            column = column - weight * block.table[0]
    column = column + why.prior - np.log(model.class_prior_) + why.mixing
    assert_allclose(column - column[0], sure - sure[0], atol=1e-9)
    proba = documents * np.exp(sure)
    assert (proba / proba.sum()).max() <= 1 - 2 / (documents.sum() + 2) * 0.2


@pytest.mark.parametrize("alone", [0, 3, 300])
def test_a_text_without_known_words_is_mixed_by_how_many_such_texts_there_were(alone):
    """Runs of its characters tell nothing where each training text shares words with others."""
    draw = np.random.default_rng(0)
    y = np.array(["spam", "ham", "ham"] * 100)
    head = {"spam": ["quick", "quiz"], "ham": ["meeting", "mention"]}
    texts = [" ".join(draw.choice(head[label], 2)) for label in y]
    texts = [f"{own} note {'abcdefghij'[k % 10]}{k}" for k, own in enumerate(texts)]
    for k in range(alone):  # each of one word of its own
        texts[k] = f"{'quix' if y[k] == 'spam' else 'ment'}{k:04d}"
    model = AutoBayes(text=["t"]).fit({"t": texts, "k": [1] * 300}, y)
    strange = {"t": ["quixzzz", "", None], "k": [1] * 3}
    proba = model.predict_proba(strange)
    e = 2 / (alone + 2)
    assert (proba[:, 1] <= 1 - e * 2 / 3 + 1e-12).all()
    if alone == 0:
        assert_allclose(proba[:2], [[2 / 3, 1 / 3]] * 2, rtol=1e-12)
    if alone == 300:
        assert proba[0, 1] > 0.9
    assert_allclose(proba[2], [2 / 3, 1 / 3], atol=0.05)
    why = model.explain(strange)
    total = why.prior + why.mixing + why.contributions.sum(axis=2)
    assert_allclose(softmax(total, axis=1), proba, rtol=1e-9)


@pytest.mark.skipif("NAIVELY_DATA" not in os.environ, reason="NAIVELY_DATA is not set")
def test_a_learned_name_is_never_evidence_against_its_class():
    """Few names come twice, then for both genders; all others would be taken for the other one."""
    folder = Path(os.environ["NAIVELY_DATA"]) / "names-gender"
    kinds = {one: (folder / f"{one}.txt").read_text("utf-8").split() for one in ("female", "male")}
    names = np.array([name for own in kinds.values() for name in own], object)
    labels = np.repeat([*kinds], [*map(len, kinds.values())])
    rows = np.random.default_rng(1).permutation(len(names))[:1000]
    table = {"name": names[rows], "size": np.arange(1000) % 7 + 0.5}
    model = AutoBayes(text=["name"]).fit(table, labels[rows])
    plan = model.model_.posterior().parameters.plan
    weights = [w for block, w in zip(plan.blocks, plan.weights, strict=True) if block.reads_text]
    assert min(weights) >= 0
    assert model.score(table, labels[rows]) > 0.9


def test_prior_mixing_is_a_line_of_its_own(learned):
    """The contribution of a text is that of its terms, whatever the mixing with the prior."""
    _, _, model = learned
    rows = pd.DataFrame({"text": ["free win money call now " * 40, "hello"], "size": 0.0})
    why = model.explain(rows)
    for row in why:
        names = [name for name, _, _ in row.lines()]
        assert names[-2:] == ["(prior mixing)", "(prior and bias)"]
        assert [part[0] for part in row.parts()][-2:] == names[-2:]
        assert_allclose(sum(odds for *_, odds in row.parts()), row.total())
        text = row.texts["text"]
        assert "(prior mixing)" not in {term for term, _, _ in text.lines()}
        column = row.contributions[:, row.features.index("text")]
        terms = text.contributions.sum(axis=0)
        assert_allclose(column - column[0], terms - terms[0], atol=1e-9)
        found = row.to_dict()
        log_odds = found["log_odds"]
        parts = [log_odds["prior"], log_odds["prior_mixing"], *log_odds["features"].values()]
        assert sum(parts) == pytest.approx(log_odds["total"])
        assert found["prior_has_bias"]
    strong, _ = why
    odds = strong.log_odds("spam", against="ham")
    assert odds[1][strong.features.index("text")] > 1 > 0 > odds[2]
    assert "(prior mixing)" in strong.to_html()
    assert "(prior mixing)" in str(strong).split("Text of")[0]


def test_the_mixing_of_several_texts_turns_no_sign(learned):
    table, y, _ = learned
    both = table.assign(subject=table["text"].str.split().str[:4].str.join(" "))
    model = AutoBayes(text=["text", "subject"]).fit(both, y)
    row = pd.DataFrame({
        "text": ["free win money call now " * 40], "subject": ["free win money"], "size": 0.0,
    })  # fmt: skip
    (why,) = model.explain(row)
    odds = dict(zip(why.features, why.log_odds("spam", against="ham")[1], strict=True))
    for name in ("text", "subject"):
        less = model.explain(row.assign(**{name: None}))[0].total("spam", "ham")
        assert np.sign(odds[name]) == np.sign(why.total("spam", "ham") - less)


def test_a_document_is_scored_without_itself_and_its_equals():
    """By the counts of all others: with the weights of naive Bayes, as scikit-learn has it."""
    table, y = letters(120)
    table = table.dropna()
    table.loc[table.index[40:45], "text"] = table["text"].iloc[7]  # the same letter six times
    y[table.index[40:45]] = y[table.index[7]]
    entries, column = entries_of(table, y[table.index])
    levels = entries.levels[column]
    rows, vocabulary = _rows([*levels.tolist(), ""], EVENTS[0], SERIAL)
    texts = _Texts(entries, column, rows, EVENTS[0], vocabulary)
    weights = np.array([[1.0, 1.0], [0, 0], [0, 0], [0, 0]])
    most = np.full(weights.shape, 1e9)
    scale = TermWeights(0.3, 0, weights, -most, most, np.zeros(2), NO_PREDICTIONS,
                  Corrections.none(2))  # fmt: skip
    found, unseen = texts.left_out(_Chosen(scale, np.tile(weights.ravel(), (5, 1))), SERIAL)
    at = texts.at
    names = np.array([*levels.tolist(), ""], object)
    assert unseen == 0
    for text in (0, 5, int(np.bincount(at).argmax())):
        others = at != text
        counter = CountVectorizer(ngram_range=(1, 2), binary=True).fit(names[at[others]])
        X = counter.transform(names[at[others]])
        once = entries.weight / np.bincount(at, entries.weight)[at]  # each text counts once
        other = MultinomialNB(alpha=0.3).fit(X, entries.y[others], once[others])
        own = counter.transform([names[text]]) @ other.feature_log_prob_.T
        told = found[~others, 1] - found[~others, 0]
        assert_allclose(told, own[0, 1] - own[0, 0], rtol=1e-5)


@pytest.mark.parametrize(
    ("texts", "prose"),
    [
        ([f"this is letter number {k} of a long list" for k in range(30)], True),
        (["the same long letter again and again"] * 30, False),
        ([f"street {k}" for k in range(30)], False),
        ([None] * 30, False),
        ([float(k) for k in range(30)], False),
    ],
)
def test_what_is_prose(texts, prose):
    table = pd.DataFrame({"text": pd.Series(texts, dtype=object), "other": range(30)})
    model = AutoBayes().fit(table, ["a", "b"] * 15).model_
    rows = model.parts[0]
    names = model.schema.names
    found = "text" in names and is_text(
        SimpleNamespace(
            codes=rows.codes, levels=rows.levels, rows_met=lambda: np.ones(len(rows.codes))
        ),
        names.index("text"),
        False,
    )
    assert found == prose


def test_texts_without_words_are_no_trouble():
    table = pd.DataFrame({"text": [f"{'! ' * 7}{'?' * k}" for k in range(40)]})
    model = AutoBayes().fit(table, ["a", "b"] * 20)
    assert all(one.event.name == "character n-grams" for one in blocks(model))
    assert_allclose(model.predict_proba(pd.DataFrame({"text": ["", "##"]})), 0.5, atol=0.1)


def test_many_classes_and_two_texts():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 600)
    themes = [[f"{word}{c}" for word in "abcdefgh"] for c in range(5)]
    common = [f"x{k}" for k in range(50)]
    subject = [" ".join(rng.choice(common + themes[c], 8)) for c in y]
    body = [" ".join(rng.choice(common + themes[c], 30)) for c in y]
    table = pd.DataFrame({"subject": subject, "body": body})
    model = AutoBayes().fit(table[:450], y[:450])
    assert {one.column for one in blocks(model)} == {0, 1}
    assert model.score(table[450:], y[450:]) > 0.95


@pytest.mark.skipif("NAIVELY_DATA" not in os.environ, reason="NAIVELY_DATA is not set")
def test_short_messages():
    file = Path(os.environ["NAIVELY_DATA"]) / "sms-spam" / "SMSSpamCollection"
    with file.open(encoding="utf-8") as lines:
        rows = list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    y, texts = np.array([row[0] for row in rows]), [row[1] for row in rows]
    table, cut = pd.DataFrame({"text": texts}), 4000
    truth = (y[cut:] == "spam").astype(int)

    def log_loss(proba):
        return -np.log(np.maximum(proba[np.arange(len(truth)), truth], 1e-15)).mean()

    ours = log_loss(AutoBayes().fit(table[:cut], y[:cut]).predict_proba(table[cut:]))
    plain = log_loss(TextNB(weights=None).fit(texts[:cut], y[:cut]).predict_proba(texts[cut:]))
    assert ours < 0.5 * plain
    assert ours < 0.05


# ---- for people ----------------------------------------------------------------------------------


def repeated():
    """Letters of which some are sent again and again, with a label and when they came."""
    table, y = letters(700)
    for k in range(6):
        table.loc[k * 12 : k * 12 + 5, "text"] = f"one letter that is sent again, number {k}"
    rng = np.random.default_rng(2)
    hours = np.where(y == "spam", rng.integers(0, 9, 700), rng.integers(5, 24, 700))
    stamps = np.datetime64("2021-03-01T00:00") + rng.integers(0, 300, 700) * 1440 + hours * 60
    return table.assign(day=pd.Series(stamps).astype(str)), y


@pytest.fixture(scope="module")
def sent(tmp_path_factory):
    table, y = repeated()
    folder = tmp_path_factory.mktemp("sent")
    table.assign(y=y).to_csv(folder / "t.csv", index=False)
    assert run(["fit", str(folder / "t.csv"), "--target", "y", "-o", str(folder / "m")]) == 0
    return folder / "m"


def told(path, capsys, *options):
    assert run(["inspect", str(path), *options]) == 0
    return capsys.readouterr().out


def test_informative_words_have_the_odds_that_explanations_add(sent, capsys):
    """The odds of a word are what it adds where it is the only one."""
    model = load(sent)
    found = json.loads(told(sent, capsys, "--json"))["texts"]["text"]
    assert {one["class"] for one in found["classes"]} == {"ham", "spam"}
    checked = 0
    for one in found["classes"]:
        other = "ham" if one["class"] == "spam" else "spam"
        assert all(term["log_odds"] > 0 for term in one["terms"])
        for term in one["terms"]:
            if term["term"].isalpha():
                row = pd.DataFrame({"text": [term["term"]], "size": [0.0], "day": [None]})
                (why,) = model.explain(row)
                text = why.texts["text"]
                a, b = (list(model.classes_).index(label) for label in (one["class"], other))
                added = text.contributions[text.terms.index(term["term"])]
                assert added[a] - added[b] == pytest.approx(term["log_odds"])
                checked += 1
    assert checked > 5
    (spam,) = (one["terms"] for one in found["classes"] if one["class"] == "spam")
    assert {term["term"].strip("'") for term in spam} & {"free", "win", "money", "call", "now"}


def test_inspect_lists_words_in_place_of_whole_texts(sent, capsys):
    model = load(sent)
    (whole,) = (one for one in model.evidence_ if one.of_text and len(one.bins or ()) == 1)
    assert whole.evidence.shape[0] == 2  # there or missing: letters that came again tell no more
    for options in ((), ("--column", "text")):
        out = told(sent, capsys, *options)
        assert "Terms of text by class" in out
        assert "one letter that" not in out
        assert "missing or not" in out
    found = json.loads(told(sent, capsys, "--column", "text", "--json"))
    assert found["texts"]["text"] == json.loads(told(sent, capsys, "--json"))["texts"]["text"]
    assert "texts" not in json.loads(told(sent, capsys, "--column", "day", "--json"))
