"""Repeated texts, words of one class, and texts without known terms."""

import warnings

import numpy as np
import pytest
from kit import slow
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import log_loss

from naively import AutoBayes, MultilabelNB, TextNB
from naively.pooling.texts.repeated import once, recur

WAYS = [{}, {"ngram_range": (1, 2)}, {"models": "auto"}]
one_way = pytest.mark.parametrize("way", [WAYS[0], *slow(*WAYS[1:])])
FORM = "thank you for contacting support your ticket number is open"


def mails(n, seed=0, vocabulary=300, length=12):
    """Different documents: three times as often words of the first tenth, or of the last."""
    random = np.random.default_rng(seed)
    words = [f"w{k}" for k in range(vocabulary)]
    share = np.r_[np.full(vocabulary // 10, 3.0), np.ones(vocabulary - vocabulary // 10)]
    share /= share.sum()
    y = np.arange(n) % 2
    texts = [" ".join(random.choice(words, length, p=share if c else share[::-1])) for c in y]
    return texts, y


TEXTS, Y = mails(600)
NEW, NEW_Y = mails(600, 1)


def spam(model, texts):
    """P(1) of each text, of `TextNB` or `MultilabelNB`."""
    return model.predict_proba(texts)[:, -1]


# ---- words of one class --------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_a_word_of_one_class_never_counts_against_it(way):
    """Also where its counts are beyond those of all words that weights were learned from."""
    words = [f"tag{k}" for k in range(20)]
    share = np.r_[np.full(5, 3.0), np.ones(15)] / 30
    random = np.random.default_rng(0)
    texts = [" ".join(random.choice(words, 6, p=share if k % 2 else share[::-1]))
             for k in range(200)]  # fmt: skip
    texts, y = [*texts, *[f"rare {text}" for text in texts[1:40:2]]], [*[0, 1] * 100, *[1] * 20]
    model = TextNB(**way).fit(texts, y)
    own = model.explain([f"rare {texts[0]}"])[0]
    told = own.contributions[own.terms.index("rare")]
    assert told[1] >= told[0]
    for part in getattr(model._parameters, "parts", [model._parameters]):
        counts = part.total.rounded()
        assert (part.scale.of_terms(counts, counts.sum(axis=1), part.scorer.group) >= 0).all()
    many = MultilabelNB().fit(texts, [[label] for label in y])
    without, has = spam(many, [texts[0], f"rare {texts[0]}"])
    assert has >= without


@pytest.mark.parametrize("times", [10, 20])
def test_a_text_of_one_class_that_comes_again_and_again(times):
    texts, y = [*TEXTS, *["hello stranger"] * times], [*Y, *[1] * times]
    share = np.mean(y)
    expected = (times + 2 * share) / (times + 2)  # the rule of succession, by the prior
    assert spam(TextNB().fit(texts, y), ["hello stranger"]) == pytest.approx(expected, abs=0.01)
    many = MultilabelNB().fit(texts, [[label] for label in y])
    assert spam(many, ["hello stranger"]) == pytest.approx(expected, abs=0.01)
    table = {"t": texts, "k": [1] * len(y)}
    auto = AutoBayes(text=["t"]).fit(table, y)
    assert spam(auto, {"t": ["hello stranger"], "k": [1]})[0] > 0.8


# ---- one text of several classes -----------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_a_text_of_mixed_labels_has_their_shares(way):
    texts, y = [*TEXTS, *[FORM] * 200], np.r_[Y, np.arange(200) < 40]
    model = TextNB(**way).fit(texts, y)
    assert_allclose(spam(model, [FORM, FORM.upper() + " ."]), 0.2, atol=0.01)
    proba = model.predict_proba([*NEW, *[FORM] * 200])
    new = log_loss([*NEW_Y, *y[600:]], proba)
    scale = np.atleast_1d(model.scale_)[0]
    assert scale.out_of_fold.log_loss == pytest.approx(new, rel=0.1)
    # the words of the form are those of one document, and others are predicted as without it
    bare = TextNB(**way).fit(TEXTS, Y)
    loss = log_loss(NEW_Y, bare.predict_proba(NEW))
    assert log_loss(NEW_Y, proba[:600]) == pytest.approx(loss, rel=0.02)


def test_calibration_does_not_sort_equal_texts_by_their_class():
    """Without itself a text of a class is less probable in it: that says nothing of calibration."""
    rng = np.random.default_rng(0)
    chance = rng.random(60)
    text = rng.integers(0, 60, 6000)
    y = rng.random(6000) < chance[text]
    texts = [f"word{k} of group{k % 7}" for k in text]
    model = TextNB("binary").fit(texts, y)
    (printed,) = {float(line.split()[3][:-1]) for line in str(model.summary()).splitlines()
                  if line.startswith("calibration error")}  # fmt: skip
    assert printed == pytest.approx(100 * model.out_of_fold(texts, y).calibration.error, abs=1.5)


def test_labels_of_a_text_have_their_shares():
    texts, y = [*TEXTS, *[FORM] * 200], np.r_[Y, np.arange(200) < 40]
    model = MultilabelNB().fit(texts, [[label] for label in y])
    assert spam(model, [FORM]) == pytest.approx(0.2, abs=0.01)
    two = model.predict_proba([*NEW, *[FORM] * 200])[:, 1]
    loss = log_loss([*NEW_Y, *y[600:]], two)
    assert model.scale_.out_of_fold.log_loss / 2 == pytest.approx(loss, rel=0.1)
    (why,) = model.explain([FORM], 1)
    total = why.prior + why.contributions.sum(axis=0) + why.rest
    assert total[1] - total[0] == pytest.approx(np.log(0.2 / 0.8), abs=0.05)


def test_a_column_of_text_has_the_shares_of_a_text():
    texts, y = [*TEXTS, *[FORM] * 200], np.r_[Y, np.arange(200) < 40].astype(int)
    model = AutoBayes(text=["t"]).fit({"t": texts, "k": [1] * 800}, y)
    assert spam(model, {"t": [FORM], "k": [1]}) == pytest.approx(0.2, abs=0.03)


# ---- copies --------------------------------------------------------------------------------------


def copied(kind, y, random):
    """Rows of documents that were drawn or repeated in some way."""
    n = len(y)
    if kind == "oversampled":
        few = np.flatnonzero(y == 1)
        return np.r_[np.arange(n), random.choice(few, n - 2 * len(few))]
    if kind == "bootstrap":
        return random.integers(0, n, n)
    if kind == "twice":
        return np.tile(np.arange(n), 2)
    if kind == "1 to 5 times":
        return np.repeat(np.arange(n), random.integers(1, 6, n))
    return np.r_[np.arange(n), random.choice(n, n // 10, replace=False)]


KINDS = ["oversampled", "bootstrap", "twice", "1 to 5 times", "a tenth twice"]


@pytest.mark.filterwarnings("ignore:.*duplicates of others")
@pytest.mark.parametrize("kind", KINDS)
@one_way
def test_copies_are_no_new_documents(way, kind):
    """The model is that of the distinct documents, with the class shares of all."""
    texts, y = mails(1200, 2)
    kept = (y == 0) | (np.random.default_rng(0).random(1200) < 0.3)
    texts, y = np.array(texts, object)[kept], y[kept]
    rows = copied(kind, y, np.random.default_rng(1))
    distinct, shares = np.unique(rows), {c: float((y[rows] == c).mean()) for c in (0, 1)}
    model = TextNB(**way).fit(texts[rows], y[rows])
    other = TextNB(prior=shares, **way).fit(texts[distinct], y[distinct])
    weight = np.where(NEW_Y == 1, shares[1], shares[0])  # as half of the new ones are of each
    loss, expected = (
        log_loss(NEW_Y, one.predict_proba(NEW), sample_weight=weight) for one in (model, other)
    )
    assert loss == pytest.approx(expected, rel=0.05)
    scale = np.atleast_1d(model.scale_)[0]
    assert scale.out_of_fold.log_loss == pytest.approx(loss, rel=0.1)


@pytest.mark.filterwarnings("ignore:.*duplicates of others")
def test_copies_are_left_out_together():
    rows = copied("bootstrap", Y, np.random.default_rng(0))
    texts = np.array(TEXTS, object)[rows]
    found = TextNB().out_of_fold(texts, Y[rows]).log_loss
    new = log_loss(NEW_Y, TextNB().fit(texts, Y[rows]).predict_proba(NEW))
    assert found == pytest.approx(new, rel=0.1)  # .3 where each copy is known by the others


def test_fit_says_that_documents_are_copies():
    rows = copied("bootstrap", Y, np.random.default_rng(0))
    with pytest.warns(UserWarning, match="37% of the documents are duplicates of others"):
        TextNB().fit(np.array(TEXTS, object)[rows], Y[rows])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TextNB().fit(TEXTS, Y)
        TextNB().fit([*TEXTS, *[FORM] * 200], np.r_[Y, np.arange(200) < 40])  # recurs


def test_what_recurs():
    """Mixed labels, and counts that no resampler gives."""
    random = np.random.default_rng(0)
    counts = np.zeros((500, 2))
    counts[np.arange(500), np.arange(500) % 2] = 1 + random.poisson(7, 500)
    assert not recur(counts, counts.sum(axis=1)).any()
    counts[3], counts[4], counts[5] = (1, 1), (60, 0), (0, 25)
    assert np.flatnonzero(recur(counts, counts.sum(axis=1))).tolist() == [3, 4, 5]
    weights = once(counts, counts.sum(axis=1))
    assert_allclose(weights.sum(axis=1), 1)
    assert weights[3].tolist() == [0.5, 0.5]
    light = np.array([[0.25, 0.5], [1e-3, 0]])
    assert_array_equal(once(light, light.sum(axis=1)), light)


def test_recurring_texts_are_stored_in_files_and_forgotten(tmp_path):
    from naively import load

    texts, y = [*TEXTS, *[FORM] * 200], np.r_[Y, np.arange(200) < 40].astype(int)
    for way in WAYS:
        model = TextNB(**way).fit(texts, y)
        model.save(tmp_path / "m")
        proba = model.predict_proba([FORM, *NEW[:20]])
        assert_array_equal(load(tmp_path / "m").predict_proba([FORM, *NEW[:20]]), proba)
        model.forget(texts[600:], y[600:])
        bare = TextNB(**way).fit(TEXTS, Y)
        assert_array_equal(model.predict_proba([FORM, *NEW]), bare.predict_proba([FORM, *NEW]))
    table = {"t": texts, "k": [1.0] * len(y)}
    auto = AutoBayes(text=["t"]).fit(table, y)
    auto.save(tmp_path / "a")
    few = {"t": [FORM, NEW[0], None], "k": [1.0] * 3}
    assert_array_equal(load(tmp_path / "a").predict_proba(few), auto.predict_proba(few))


# ---- nothing is known ----------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_texts_without_known_words_have_the_prior(way):
    texts = [
        f"{text} {'some more words that ham has' * (1 - c)}"
        for text, c in zip(TEXTS, Y, strict=True)
    ]
    kept = (Y == 0) | (np.arange(600) < 200)
    texts, y = np.array(texts, object)[kept], Y[kept]
    model = TextNB(**way).fit(texts, y)
    assert abs(np.ravel(model._parameters.bias)).max() > 0.1  # it would decide alone
    unknown = ["", None, "ЖЖЖЖ ЩЩЩЩ", "?!"]
    assert_allclose(spam(model, unknown), y.mean(), rtol=1e-9)
    many = MultilabelNB().fit(texts, [[label] for label in y])
    assert_allclose(spam(many, unknown), y.mean(), rtol=1e-9)
    for one, row in zip(model.explain(unknown), model.predict_log_proba(unknown), strict=True):
        added = one.prior + one.contributions.sum(axis=0) + one.rest
        assert added[0] - added[1] == pytest.approx(row[0] - row[1])


def test_a_column_of_text_without_known_words_is_no_evidence():
    kept = (Y == 0) | (np.arange(600) < 200)
    texts, y = np.array(TEXTS, object)[kept], Y[kept]
    model = AutoBayes(text=["t"]).fit({"t": texts, "k": [1] * len(y)}, y)
    found = spam(model, {"t": [None, "", "ЖЖЖЖ ЩЩЩЩ"], "k": [1] * 3})
    assert_allclose(found, y.mean(), atol=0.03)


# ---- what the bytes of a text are besides --------------------------------------------------------


@one_way
def test_blanks_capitals_and_names_of_classes_change_nothing(way):
    """Folds follow from the terms, and are symmetric in the classes."""
    model = TextNB(**way).fit(TEXTS, Y)
    expected = spam(model, NEW)
    for changed in ([f"{text} " for text in TEXTS], [text.upper() for text in TEXTS]):
        assert_array_equal(spam(TextNB(**way).fit(changed, Y), NEW), expected)
    other = TextNB(**way).fit(TEXTS, np.where(Y == 1, "a", "b"))  # in the other order
    assert_allclose(other.predict_proba(NEW)[:, 0], expected, atol=1e-5)
    for parts in ([f"{text} " for text in TEXTS], [text.upper() for text in TEXTS]):
        found = TextNB(**way).out_of_fold(parts, Y)
        assert_array_equal(found.proba, TextNB(**way).out_of_fold(TEXTS, Y).proba)


# ---- beside other columns ------------------------------------------------------------------------


def test_words_of_a_row_are_doubted_once():
    """100 texts allow no more than 101 of 102, however many blocks and columns they have."""
    random = np.random.default_rng(0)
    own, common = [[f"{c}{k}" for k in range(200)] for c in "hs"], [f"c{k}" for k in range(200)]

    def text(c):
        return " ".join([*random.choice(own[c], 8), *random.choice(common, 8)])

    y = np.arange(100) % 2
    for columns in (["t"], ["t", "u"]):
        table = {name: [text(c) for c in y] for name in columns} | {"k": [1] * 100}
        model = AutoBayes(text=columns).fit(table, y)
        assert 1 - model.predict_proba(table).max() > 0.95 / 102
        rows = model.explain(table)
        for why in (rows[0], rows[7]):
            total = why.joint
            (proba,) = np.exp([total - total.max()])
            assert (proba / proba.sum()).max() < 1 - 0.95 / 102
