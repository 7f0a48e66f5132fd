"""The lecture's word statistics: most frequent words dropped, mutual information, buckets."""

import json
import math
from collections import Counter

import numpy as np
import pytest
from corpora import corpus
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import mutual_info_score

import naively
from naively import NBSVM, NaiveBayes, Text, TextNB, bag_of_words
from naively.cli.main import run

TEXTS, Y = corpus(120, seed=5)
TEXTS = [text or "" for text in TEXTS]
CHINA = ["Chinese Beijing Chinese", "Chinese Chinese Shanghai", "Chinese Macao",
         "Tokyo Japan Chinese"]  # fmt: skip
JAPAN = ["china", "china", "china", "japan"]
EVENTS = ("multinomial", "binary", "bernoulli", "complement")


# ---- the most frequent terms ---------------------------------------------------------------------


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("k", [1, 4, 20])
def test_the_most_frequent_are_as_if_they_were_stop_words(event, k):
    counted = Counter()
    for text in TEXTS:
        bag = bag_of_words(text)
        counted += bag if event in ("multinomial", "complement") else Counter({*bag})
    most = sorted(counted, key=lambda term: (-counted[term], term))[:k]
    dropped = TextNB(event, drop_most_frequent=k, weights=None).fit(TEXTS, Y)
    stopped = TextNB(event, stop_words=most, weights=None).fit(TEXTS, Y)
    assert_array_equal(dropped.terms_, stopped.terms_)
    assert_array_equal(dropped.predict_proba(TEXTS), stopped.predict_proba(TEXTS))


def test_they_are_dropped_of_those_that_the_others_leave():
    plain = TextNB(min_df=2, max_df=0.5).fit(TEXTS, Y)
    order = plain.terms_[np.argsort(-plain.feature_count_.sum(axis=0), kind="stable")]
    model = TextNB(min_df=2, max_df=0.5, drop_most_frequent=2, max_features=3).fit(TEXTS, Y)
    assert_array_equal(model.terms_, np.sort(order[2:5]))


def test_dropping_loses_nothing_that_was_learned():
    half = len(TEXTS) // 2
    model = TextNB(drop_most_frequent=5).fit(TEXTS[:half], Y[:half])
    model.partial_fit(TEXTS[half:], Y[half:])
    whole = TextNB(drop_most_frequent=5).fit(TEXTS, Y)
    assert_array_equal(model.predict_proba(TEXTS), whole.predict_proba(TEXTS))


def test_all_may_not_be_dropped():
    with pytest.raises(ValueError, match=r"no terms remain of 6: try a lower .*drop_most_frequent"):
        TextNB(drop_most_frequent=6).fit(CHINA, JAPAN)
    assert NBSVM(drop_most_frequent=5).fit(CHINA, JAPAN).terms_.size == 1


# ---- information ---------------------------------------------------------------------------------


def test_information_of_a_document_is_that_of_scikit_learn():
    cut = CountVectorizer(binary=True)
    rows = cut.fit_transform(TEXTS).toarray()
    expected = [mutual_info_score(Y, column) / math.log(2) for column in rows.T]
    model = TextNB("bernoulli", alpha=0).fit(TEXTS, Y)
    assert_array_equal(model.terms_, cut.get_feature_names_out())
    assert_allclose(model.information_, expected, atol=1e-12)


def test_information_of_a_word_by_hand():
    model = TextNB(weights=None).fit(CHINA, JAPAN)
    found = dict(zip(model.terms_, model.information_, strict=True))
    prior, theta = (3 / 4, 1 / 4), (6 / 14, 2 / 9)  # of table 13.1
    mean = prior[0] * theta[0] + prior[1] * theta[1]
    expected = sum(
        pi * (p * math.log2(p / mean) + (1 - p) * math.log2((1 - p) / (1 - mean)))
        for pi, p in zip(prior, theta, strict=True)
    )
    assert found["chinese"] == pytest.approx(expected, rel=1e-12)
    assert max(found, key=found.get) in ("japan", "tokyo")


@pytest.mark.parametrize(
    ("event", "of"),
    [("multinomial", "a term of a text is this one"), ("bernoulli", "a text contains the term")],
)
def test_information_is_listed_with_the_informative_words(event, of, tmp_path, capsys):
    model = NaiveBayes({"text": Text(event=event)}).fit({"text": CHINA}, JAPAN)
    model.save(tmp_path / "m")
    alone = TextNB(event, weights=None).fit(CHINA, JAPAN)
    bits = dict(zip(alone.terms_, alone.information_, strict=True))
    assert run(["inspect", str(tmp_path / "m"), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)["texts"]["text"]["classes"]
    assert {t["term"]: t["bits"] for c in said for t in c["terms"]} == pytest.approx(
        {t["term"]: bits[t["term"]] for c in said for t in c["terms"]}
    )
    assert run(["inspect", str(tmp_path / "m")]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert f"MI: mutual information of the class and whether {of}, in bits" in out
    assert f"{1000 * bits['japan']:.2f}" in out


# ---- buckets -------------------------------------------------------------------------------------


def test_more_buckets_than_words_are_warned_of():
    with pytest.warns(UserWarning, match=r"262,144 buckets for 11 words, and alpha=1 counts"):
        TextNB(n_features=2**18, weights=None).fit(CHINA, JAPAN)
    with pytest.warns(UserWarning, match="16 buckets for 11 words"):
        NaiveBayes({"text": Text(n_features=16)}).fit({"text": CHINA}, JAPAN)


@pytest.mark.filterwarnings("error")
def test_fewer_buckets_are_not(recwarn):
    TextNB(n_features=8, weights=None).fit(CHINA, JAPAN)
    TextNB(n_features=2**18, alpha=0, weights=None).fit(CHINA, JAPAN)
    assert not [one for one in recwarn if "buckets" in str(one.message)]
    assert naively.TextNB(alpha=1.0, weights=None).fit(CHINA, JAPAN).predict(CHINA[:1]) == ["china"]


def test_the_command_line_says_it_too(tmp_path, capsys):
    for name in ("china", "japan"):
        texts = [text for text, label in zip(CHINA, JAPAN, strict=True) if label == name]
        (tmp_path / f"{name}.txt").write_text("\n".join(texts) + "\n")
    files = [str(tmp_path / f"{name}.txt") for name in ("china", "japan")]
    family = ["--columns", "text=text(n_features=1024)"]
    assert run(["fit", *files, *family, "-o", str(tmp_path / "m")]) == 0
    assert "1,024 buckets for 11 words" in " ".join(capsys.readouterr().err.split())
