"""Explanations of documents: contributions add up, and are safe to display."""

from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naively import GaussianNB, NaiveBayes, TextNB
from naively.explain.explanation import Explanation, TextExplanation
from naively.families.text.text import Text

MAILS = [
    "win a free prize", "meeting at noon", "free free prize, now", "lunch at noon?",
    "is the agenda free?", "a prize meeting", "now or never", "agenda: lunch",
]  # fmt: skip
KINDS = ["spam", "ham", "spam", "ham", "ham", "list", "list", "list"]
NEW = [
    "Free prize!\n\n  Free lunch, unheard of",
    "noon",
    "never met before",
    "",
    None,
    "é 日本 free",
]
VARIANTS = {
    "plain": {},
    "bernoulli": {"event": "bernoulli"},
    "binary": {"event": "binary"},
    "complement": {"event": "complement"},
    "bigrams": {"ngram_range": (1, 2)},
    "characters": {"analyzer": "char", "ngram_range": (1, 3)},
    "within words": {"analyzer": "char_wb", "ngram_range": (2, 4)},
    "hashed": {"n_features": 16},
    "few": {"max_features": 5},
    "tfidf": {"weighting": "log-tfidf", "length_norm": "l2"},
    "TWCNB": {"event": "complement", "weighting": "log-tfidf", "length_norm": "l2", "norm": True},
    "pooled": {"weights": "auto", "models": "auto"},
    "unsmoothed": {"alpha": 0.0},
    "unsmoothed bernoulli": {"event": "bernoulli", "alpha": 0.0},
}


def fitted(**options):
    return TextNB(**{"weights": None} | options).fit(MAILS, KINDS)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_parts_add_up_to_the_scores(variant):
    model = fitted(**VARIANTS[variant])
    told = model.explain(NEW)
    joint, proba = model.predict_joint_log_proba(NEW), model.predict_proba(NEW)
    assert [one.text for one in told] == [text or "" for text in NEW]
    for one, own, p, said in zip(told, joint, proba, model.predict(NEW), strict=True):
        np.testing.assert_allclose(one.joint, own, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(one.proba, p, rtol=1e-9, atol=1e-12)
        if not np.isfinite(own).all():
            continue
        prior, terms, rest = one.log_odds()
        first, second = np.sort(own)[::-1][:2]
        assert prior + terms.sum() + rest == pytest.approx(first - second, abs=1e-9)
        prior, terms, rest = one.log_odds("list")
        other = max(own[0], own[2])
        assert prior + terms.sum() + rest == pytest.approx(own[1] - other, abs=1e-9)
        prior, terms, rest = one.log_odds("ham", "spam")
        assert prior + terms.sum() + rest == pytest.approx(own[0] - own[2], abs=1e-9)
        assert sum(line[2] for line in one.lines("ham", "spam")) == pytest.approx(own[0] - own[2])
        prior, terms, rest = one.log_odds(against=said)
        assert prior + terms.sum() + rest <= 1e-9


@pytest.mark.parametrize("variant", VARIANTS)
def test_marks_share_the_log_odds_of_the_terms(variant):
    for one in fitted(**VARIANTS[variant]).explain(NEW):
        marks = one.marks("spam", "ham")
        places = [place for start, end, _ in marks for place in range(start, end)]
        assert places == sorted(set(places))
        assert not any(one.text[a:b] != one.text[a:b].strip() for a, b, _ in marks)
        odds = one.log_odds("spam", "ham")[1]
        if "unsmoothed" not in variant:
            kept = [bool(term.strip()) for term in one.terms]  # spaces cannot be marked
            if variant != "hashed":
                odds = odds[kept]
            assert sum(mark[2] for mark in marks) == pytest.approx(odds.sum(), abs=1e-9)


def test_a_word_of_several_models_is_marked_once(data_folder):
    """By default single words are terms of two models: alone, and beside pairs."""
    lines = (data_folder / "sms-spam" / "SMSSpamCollection").read_text("utf-8").splitlines()
    labels, messages = zip(*(line.split("\t", 1) for line in lines[:3000]), strict=True)
    model = TextNB().fit(messages, labels)
    for one in model.explain(["claim your free prize", "meeting at noon, or at one"]):
        words = [{*places} for analysis, places in one.cuts if not analysis.of_characters]
        assert len(words) == 2
        assert words[0] & words[1]
        terms = one.log_odds("spam", "ham")[1]
        marks = one.marks("spam", "ham")
        assert sum(mark[2] for mark in marks) == pytest.approx(terms.sum(), abs=1e-9)


@given(st.lists(st.sampled_from(["free", "Prize", "noon", "zebra", " ", "\n", ",", "日本"])))
def test_marks_of_any_text(pieces):
    text = " ".join(pieces)
    for options in ({}, {"ngram_range": (1, 3)}, {"analyzer": "char", "ngram_range": (2, 3)}):
        (one,) = fitted(**options).explain([text])
        marks = one.marks()
        assert all(0 <= a < b <= len(text) for a, b, _ in marks)
        assert all(b <= c for (_, b, _), (c, _, _) in pairwise(marks))
        assert Page(one.to_html()).text.count("zebra") >= text.count("zebra")


def test_a_word_has_its_own_log_odds():
    model = fitted()
    (one,) = model.explain(["Free prize, free lunch"])
    assert one.terms == ["free", "prize", "lunch"]
    assert one.counts.tolist() == [2, 1, 1]
    marks = {one.text[a:b]: odds for a, b, odds in one.marks("spam", "ham")}
    assert list(marks) == ["Free", "prize", "free", "lunch"]
    log_theta = dict(zip(model.terms_, model.feature_log_prob_.T, strict=True))
    for word, odds in marks.items():
        assert odds == pytest.approx(log_theta[word.lower()][2] - log_theta[word.lower()][0])


def test_pairs_are_marked_as_one_and_else_shared_by_their_words():
    (one,) = fitted(ngram_range=(2, 2)).explain(["free prize"])
    ((start, end, odds),) = one.marks("spam", "ham")
    assert (start, end) == (0, 10)
    assert odds == pytest.approx(one.log_odds("spam", "ham")[1][0])
    mails = ["not good", "not good", "good day", "good night", "a night", "not a day"]
    model = TextNB(ngram_range=(1, 2)).fit(mails, ["bad", "bad", "fine", "fine", "fine", "fine"])
    (one,) = model.explain(["it is not good, a good day and night"])
    odds = dict(zip(one.terms, one.log_odds("bad", "fine")[1].tolist(), strict=True))
    assert odds["not good"] > max(abs(odds["not"]), abs(odds["good"]))
    marks = {one.text[a:b]: own for a, b, own in one.marks("bad", "fine")}
    assert list(marks) == ["not good", "good", "day", "night"]
    assert abs(odds["good day"]) <= abs(odds["day"])  # no more than its words tell
    assert marks["not good"] == pytest.approx(odds["not"] + odds["good"] / 2 + odds["not good"])
    assert marks["day"] == pytest.approx(odds["day"] + odds["good day"] / 2)
    assert sum(marks.values()) == pytest.approx(sum(odds.values()))


@given(st.lists(st.sampled_from(["free", "prize", "noon", "lunch", "now", "\n", ","])))
def test_marks_of_phrases_add_up(pieces):
    text = " ".join(pieces)
    for options in ({"ngram_range": (1, 2)}, {"ngram_range": (1, 3), "event": "binary"}):
        (one,) = fitted(**options).explain([text])
        marks = one.marks("spam", "ham")
        assert all(a < b <= c for (a, b, _), (c, _, _) in pairwise(marks))
        total = one.log_odds("spam", "ham")[1].sum()
        assert sum(odds for *_, odds in marks) == pytest.approx(total, abs=1e-9)


def test_characters_mark_words_together():
    (one,) = fitted(analyzer="char", ngram_range=(3, 3)).explain(["free  prize"])
    assert [one.text[a:b] for a, b, _ in one.marks()] == ["free", "prize"]


def test_impossible_terms_are_no_evidence():
    model = TextNB(alpha=0).fit(["aa bb", "cc", "dd"], ["x", "y", "z"])
    (one,) = model.explain(["aa dd cc"])
    assert np.isneginf(one.joint).all()
    assert one.proba == pytest.approx([1 / 3] * 3)
    assert {term: odds for term, _, odds in one.lines("x", "y")} == {
        "(prior)": 0.0, "aa": np.inf, "cc": -np.inf, "dd": 0.0,
    }  # fmt: skip
    assert [mark[2] for mark in one.marks("x", "y")] == [np.inf, 0.0, -np.inf]
    assert "no estimate, as every class has probability 0 (0/0)" in str(one)
    assert np.isnan(one.total())
    assert "+inf" in one.to_html("x", "y")


def test_numbers_beyond_float64_in_both_classes_explain_the_prediction():
    """P = 1.0000 stood beside "undecided (each is ruled out)"."""
    draw = np.random.default_rng(0)
    y = np.arange(200) % 2
    table = {"near": draw.normal(size=200) * (1 + y), "far": draw.normal(size=200) * (2 - y)}
    model = NaiveBayes().fit(table, np.array(["a", "b"])[y])
    for near, far in ((1e200, 1.3e200), (1.3e200, 1e200)):
        row = {"near": [near], "far": [far]}
        (one,) = model.explain(row)
        others = {"a": "b", "b": "a"}
        assert one.predicted == model.predict(row)[0]
        assert one.total() == one.total(one.predicted) == np.inf
        assert one.total(others[one.predicted], one.predicted) == -np.inf
        assert "undecided" not in str(one)
        assert "+inf" in str(one)


def test_missing_documents_have_the_prior():
    for event in ("multinomial", "bernoulli"):
        (one,) = fitted(event=event).explain([None])
        assert one.joint.tolist() == one.prior.tolist()
        assert one.lines()[-1][0] == "(prior)"


def test_one_class_and_classes_that_are_not_there():
    model = fitted()
    (one,) = model.explain(["free"])
    for wrong in ({"label": "dog"}, {"against": "dog"}):
        with pytest.raises(ValueError, match="'dog' is not one of the classes"):
            one.log_odds(**wrong)
    for kind in ("ham", "list"):
        model.forget([m for m, k in zip(MAILS, KINDS, strict=True) if k == kind],
                     [kind] * KINDS.count(kind))  # fmt: skip
    (one,) = model.explain(["free"])
    assert str(one).startswith("predicted spam, P = 1.0000")
    assert "spam" in one.to_html()


def test_labels_of_any_kind():
    model = TextNB(weights=None).fit(["aa", "bb", "cc"], [10, 20, 30])
    (one,) = model.explain(["aa bb"])
    assert one.log_odds(10, 20)[1].tolist() == (-one.log_odds(20, 10)[1]).tolist()
    assert "10" in str(one)


def test_printed():
    (one,) = fitted().explain(["free free lunch, zebra"])
    lines = str(one).splitlines()
    assert lines[0].startswith("predicted spam, P = 0.")
    assert any(line.split()[:2] == ["free", "2"] for line in lines)
    names = [line.split()[0] for line in lines if line]
    assert names.index("(prior)") + 1 == names.index("total")
    assert lines[-3] == "unknown to the model: 1 term"
    assert lines[-2].startswith("log-odds of spam against ham, in nats")
    assert repr(one) == "<TextExplanation: spam rather than ham>"
    model = TextNB().fit([" ".join(f"w{i}" for i in range(50)), "b"], [0, 1])
    assert "(30 more terms)" in str(model.explain([" ".join(f"w{i}" for i in range(50))])[0])


class Page(HTMLParser):
    """The text of HTML, whose tags must be closed in order."""

    def __init__(self, html):
        super().__init__()
        self.open, self.text, self.titles = [], "", []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        assert tag in {"div", "p", "b", "span", "table", "thead", "tbody", "tr", "th", "td"}
        assert {name for name, _ in attributes} <= {"style", "title", "dir"}
        self.titles += [value for name, value in attributes if name == "title"]
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize("analyzer", ["word", "char"])
def test_html_is_escaped(analyzer):
    evil = '<script>alert("1")</script> & \'</div> \ud800'
    labels = ["<script>x</script>", '"><b onclick="y">']
    model = TextNB(analyzer=analyzer).fit([evil, "script fine"], labels)
    (one,) = model.explain([evil])
    for html in (one.to_html(), one._repr_html_(), one.to_html(labels[1], labels[0])):
        page = Page(html)
        assert evil.replace("\ud800", "?") in page.text
        assert labels[0] in page.text
        assert page.titles
        html.encode()


def test_ngrams_of_characters_add_up_to_their_words_in_all_outputs():
    """Words in place of their n-grams, which add up to the total: printed, JSON, table, HTML."""
    for options, words in (
        ({"analyzer": "char_wb", "ngram_range": (2, 4)}, {"a", "free", "prize"}),
        ({"analyzer": "char"}, {"a", "free", "prize"}),
        ({"weights": "auto"}, {"a", "free", "prize"}),
    ):
        told = fitted(**options).explain(["A free, FREE prize! "])
        one = told[0]
        lines = one.lines("spam", "ham")
        terms = {name: (count, odds) for name, count, odds in lines if name[0] != "("}
        assert terms.keys() <= words
        assert terms["free"][0] == 2
        assert sum(odds for *_, odds in lines) == pytest.approx(one.total("spam", "ham"))
        found = one.to_dict("spam", "ham")
        assert {item["term"]: (item["count"], item["log_odds"]) for item in found["terms"]} == terms
        spam, ham = (one.classes.tolist().index(label) for label in ("spam", "ham"))
        for item in found["terms"]:
            of_class = item["contributions"]
            assert of_class[spam] - of_class[ham] == pytest.approx(item["log_odds"])
        table = [row for row in told.to_arrow("spam", "ham").to_pylist() if row["term"]]
        assert {row["term"]: (int(row["value"]), row["log_odds"]) for row in table} == terms
        for shown in (str(one), Page(one.to_html("spam", "ham")).text):
            assert "free" in shown
            assert "'fre" not in shown


def test_impossible_ngrams_of_one_word_count_as_0():
    model = TextNB(alpha=0, analyzer="char_wb", ngram_range=(2, 3)).fit(
        ["aa bb aa", "bb cc"], ["x", "y"]
    )
    (one,) = model.explain(["aa bb ac"])  # " a" is of x alone, and "c " of y
    assert {term: odds for term, _, odds in one.lines("x", "y")}["ac"] == 0.0
    assert "nan" not in str(one)


def test_html_shows_numbers_and_leaves_out_blank_lines():
    (one,) = fitted().explain(["free" + "\n \n" * 50 + "prize zebra"])
    page = Page(one.to_html("spam", "ham"))
    assert "free\n\nprize zebra" in page.text
    assert page.titles == [f"{odds:+.3f}" for *_, odds in one.marks("spam", "ham")]
    assert "log-odds of spam against ham" in page.text
    assert one.head() in page.text
    assert one.head() not in Page(one.to_html("spam", "ham", heading=False)).text


def test_tables_are_explained_by_column():
    table = {"body": MAILS, "size": [len(mail) + 0.5 for mail in MAILS]}
    model = NaiveBayes(columns={"body": Text()}).fit(table, KINDS)
    told = model.explain(table)
    assert isinstance(told, Explanation)
    assert told.features == ["body", "size"]
    np.testing.assert_allclose(told.joint, model.predict_joint_log_proba(table), rtol=1e-9)
    own = TextNB(weights=None).fit(MAILS, KINDS).explain(MAILS)
    assert isinstance(own[0], TextExplanation)
    for one, columns in zip(own, told.contributions[:, :, 0], strict=True):
        np.testing.assert_allclose(one.contributions.sum(axis=0), columns, rtol=1e-9)


def test_long_numbers_are_rounded_where_they_are_printed():
    model = GaussianNB().fit([[0.0], [1.0], [2.0], [4.0]], [0, 0, 1, 1])
    (why,) = model.explain([[1.6432362870023167]])
    assert " 1.643 " in str(why)
    (exact,) = model.explain([[1.64325]])
    assert " 1.64325 " in str(exact)


def test_a_text_without_known_words_has_the_class_prior():
    model = TextNB(weights=None).fit(["free prize", "lunch"], ["spam", "ham"])
    unknown, known = model.explain(["zebra", "free zebra"])
    assert unknown.proba == pytest.approx(model.class_prior_)
    assert "no known term: the prediction is that of the class prior" in str(unknown)
    assert "no known term" not in str(known)
