"""Several models of the same documents, weighted together: `TextNB(models=...)`."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from corpora import LOOKALIKES, corpus, divergences, doubted
from forging import forge, parts
from kit import with_family
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.feature_extraction.text import CountVectorizer
from test_cli import naive
from test_hostile_reasons import folder  # noqa: F401

import naively
from naively import TextNB
from naively.families.text.pooled_text import PooledText
from naively.families.text.weighed_text import WeighedText
from naively.storage.model_files import ModelFileError

TEXTS, Y = corpus(120)
NAMES = [
    "anna",
    "emma",
    "laura",
    "julia",
    "maria",
    "sofia",
    "clara",
    "helena",
    "nora",
    "olga",
    "peter",
    "erik",
    "oliver",
    "mark",
    "jonas",
    "anton",
    "victor",
    "karl",
    "albert",
    "hugo",
]
"""Each is met once: words tell nothing, characters do."""
SEX = np.array(["f"] * 10 + ["m"] * 10)


def mixed(n=160):
    """Documents of three classes, of which words tell something, and ends of new words as well."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n)
    letters = np.array([*"bdfgklmnprst"])
    texts = []
    for c in y:
        word = LOOKALIKES[rng.integers(3) if rng.random() < 0.4 else c]
        words = [word, f"x{rng.integers(9)}"]
        stems = ["".join(rng.choice(letters, 5)) for _ in range(3)]
        ends = ["aio"[rng.integers(3) if rng.random() < 0.5 else c] for _ in stems]
        texts.append(" ".join([*words, *map("".join, zip(stems, ends, strict=True))]))
    texts[3:5] = [None, "."]
    return texts, y


MIXED, CLASSES = mixed(300)


@pytest.fixture(scope="module")
def both():
    """Both of whose models count."""
    model = TextNB(models="auto").fit(MIXED, CLASSES)
    assert all(one.counts for one in model.scale_)
    return model


def scores(model, texts=TEXTS):
    return model.predict_joint_log_proba(texts)


# ---- the formula ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "models",
    [
        "auto",
        [{"ngram_range": (1, 2)}, {"analyzer": "char", "event": "binary", "ngram_range": (2, 3)}],
        [{"event": "binary"}, {}, {"analyzer": "char_wb", "ngram_range": (1, 3)}],
    ],
)
def test_scores_are_the_sums_of_the_models(models):
    model = TextNB(models=models).fit(TEXTS, Y)
    told = TextNB(models="auto")._family().models if models == "auto" else model._family().models
    expected = np.zeros((len(TEXTS), 3))
    present = np.array([text is not None for text in TEXTS])
    texts = [text or "" for text in TEXTS]
    has_terms = ~present & False
    for own, scale in zip(told, model.scale_, strict=True):
        cut = {"analyzer": own.analyzer, "ngram_range": own.ngram_range}
        counts = CountVectorizer(binary=own.event == "binary", **cut)
        x = counts.fit_transform(texts).astype(float)
        of_class = np.array([x[present & (c == Y)].sum(axis=0).A1 for c in range(3)])
        theta = of_class + scale.alpha
        theta = np.log(theta / theta.sum(axis=1, keepdims=True))
        total = of_class.sum(axis=0)
        names = counts.get_feature_names_out()
        units = [name.count(" ") + 1 if own.analyzer == "word" else len(name) for name in names]
        group = np.array(units) - own.ngram_range[0]
        aspects = [np.ones(len(total)), np.log(total.sum() / total), *divergences(of_class)]
        aspects = np.clip(aspects, scale.least[:, group], scale.most[:, group])
        weight = np.maximum((scale.weights[:, group] * aspects).sum(axis=0), 0.0)
        has_terms = has_terms | (x.sum(axis=1).A1 > 0)
        length = np.maximum(x.sum(axis=1).A1, 1.0)
        evidence = weight * theta
        evidence[:, scale.corrections.terms] += scale.corrections.values.T
        expected += length[:, None] ** (-scale.quarters / 4) * (x @ evidence.T)
    expected[has_terms] += model.scale_[0].bias
    count, different = np.bincount(Y[present]), len({text for text in TEXTS if text is not None})
    expected[present] = doubted(expected[present], count * different / count.sum())
    expected += np.log(model.class_count_ / model.class_count_.sum())
    assert_allclose(scores(model), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("options", [{"alpha": 0.3}, {"event": "binary", "ngram_range": (1, 2)}])
def test_a_pool_of_one_model_is_that_model(options):
    one, pool = (TextNB(**found).fit(TEXTS, Y) for found in (options, {"models": [options]}))
    assert_array_equal(scores(one), scores(pool))
    assert one.terms_.tolist() == pool.terms_.tolist()
    assert one.n_parameters_ == pool.n_parameters_


@pytest.mark.parametrize("seed", range(4))
def test_a_pool_predicts_left_out_documents_as_well_as_each_of_its_models(seed):
    texts, y = corpus(60, seed)
    models = [{"event": "binary"}, {"analyzer": "char", "ngram_range": (1, 3)}]
    pool = TextNB(models=models).fit(texts, y)
    alone = [TextNB(**one).fit(texts, y).scale_ for one in models]
    for own, scale in zip(alone, pool.scale_, strict=True):
        assert (
            scale.out_of_fold.log_loss <= 1.001 * own.out_of_fold.log_loss
        )  # groups differ a little
        assert (own.alpha, own.quarters) == (scale.alpha, scale.quarters)  # chosen alone


def test_a_model_without_evidence_gets_no_weight():
    pool, alone = (TextNB(models=one).fit(NAMES, SEX) for one in ("auto", ["characters"]))
    words, characters = pool.scale_
    assert not words.weights.any()
    assert characters.weights.any()
    # the groups that choose a ridge follow from the terms of all models: the same but for rounding
    assert_allclose(scores(pool, NAMES), scores(alone, NAMES), rtol=1e-5)
    assert all(term.startswith("'") for term in pool.terms_)
    (why,) = pool.explain(["monika"])
    assert set(why.terms) <= {*pool.terms_}


def test_documents_of_one_class_or_without_words():
    model = TextNB(models="auto").fit(["aa bb", "cc"], ["x", "x"])
    assert model.predict_proba(["aa", None]).tolist() == [[1.0], [1.0]]
    with pytest.raises(ValueError, match="no terms of any of the models"):
        TextNB(models="auto").fit([None, ""], [0, 1])
    model = TextNB(models="auto").partial_fit([None, ""], [0, 1])
    assert_allclose(model.predict_proba(["aa", None]), 0.5)
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    smileys = ["".join(rng.permutation([":-", ")("[label], "!?"[rng.integers(2)]])) for label in y]
    model = TextNB(models=["words", {"analyzer": "char"}]).fit(smileys, y)
    assert model.predict([":-)", ":-("]).tolist() == [0, 1]
    assert set(model.terms_) == {"':'", "'-'", "')'", "'('", "'!'", "'?'"}


def test_models_without_any_evidence():
    model = TextNB(models="auto").fit(["aa", "bb", "cc", "dd"], [0, 0, 1, 1])  # nothing in common
    assert not any(one.counts for one in model.scale_)
    assert_allclose(model.predict_proba(["aa", "bb"]), 0.5)
    assert model.terms_.tolist() == ["aa", "bb", "cc", "dd"]


# ---- what it says of its terms -------------------------------------------------------------------


def test_reasons_add_up_over_the_terms_of_all_models(both):
    texts = [*MIXED[:30], None, "", "unheard of", " ".join([*LOOKALIKES, "bdfgkla!"])]
    for one, own in zip(both.explain(texts), scores(both, texts), strict=True):
        assert_allclose(one.prior + one.contributions.sum(axis=0) + one.rest, own, rtol=1e-9)
        odds = one.known_log_odds(0, 1)[1]
        seen = [bool(term.strip("' ")) for term in one.terms]
        assert sum(mark[2] for mark in one.marks(0, 1)) == pytest.approx(odds[seen].sum())
    word = LOOKALIKES[0]
    (why,) = both.explain([f"{word} {word} x"])
    counts = dict(zip(why.terms, why.counts.tolist(), strict=True))
    assert f"{word} {word}" in why.unknown
    assert "' x '" in why.unknown
    assert (counts[word], counts["'bbb'"], counts["' a'"]) == (2, 2, 2)
    places = dict(zip(why.terms, why.spans, strict=True))
    assert places[word] == [[(0, 16)], [(17, 33)]]
    assert places["'bbb'"] == [[(7, 10)], [(24, 27)]]


def test_terms_of_all_models_have_names_numbers_and_information(both):
    model, terms = both, both.terms_.tolist()
    words = CountVectorizer(ngram_range=(1, 2), binary=True)
    runs = CountVectorizer(ngram_range=(2, 4), binary=True, analyzer="char_wb")
    texts = [text or "" for text in MIXED]
    counts = np.hstack([one.fit_transform(texts).toarray() for one in (words, runs)])
    expected = [
        *words.get_feature_names_out(),
        *(f"'{one}'" for one in runs.get_feature_names_out()),
    ]
    assert terms == expected
    assert_array_equal(model.feature_count_, [counts[c == CLASSES].sum(axis=0) for c in range(3)])
    assert model.feature_log_prob_.shape == model.feature_count_.shape
    information = model.information_
    assert information.shape == (len(terms),)
    assert information.min() >= 0
    told = model.informative_terms(len(terms)).to_pylist()
    listed = {one["term"] for one in told}
    assert any(term.startswith("'") for term in listed)
    assert any(" " in term and not term.startswith("'") for term in listed)
    places = {term: k for k, term in enumerate(terms)}
    for one in told:
        assert one["bits"] == information[places[one["term"]]]


def test_counterfactuals_are_words(both):
    (why,) = both.counterfactuals([MIXED[0]], (both.predict(MIXED[:1])[0] + 1) % 3)
    assert why.terms
    assert all(one.to in both.terms_ and not one.to.startswith("'") for one in why.terms)
    explained = both.explain([f"{MIXED[0]} {why.terms[0].to}", MIXED[0]])
    before_mixing = [
        sum(np.sum(part) for part in one.log_odds(why.label, why.predicted)[:2])
        for one in explained
    ]
    assert why.terms[0].log_odds == pytest.approx(before_mixing[0] - before_mixing[1])


def test_hashed_terms_have_no_names():
    hashed = {"analyzer": "char", "n_features": 256}
    model = TextNB(models=[hashed], alpha=0.1).fit(TEXTS, Y)
    assert model.scale_.counts
    for ask in (lambda: model.terms_, model.informative_terms, lambda: model.information_):
        with pytest.raises(ValueError, match="hashed"):
            ask()
    assert scores(model).shape == (120, 3)
    assert str(model.explain(TEXTS)[0])


# ---- parameters that change, and files -----------------------------------------------------------


def test_smoothing_may_change_and_models_may_not():
    model = TextNB(models="auto").fit(TEXTS, Y)
    assert len(model.alpha_) == 2
    model.set_params(alpha=0.2).reestimate()
    assert model.alpha_ == (0.2, 0.2)
    assert_array_equal(scores(model), scores(TextNB(models="auto", alpha=0.2).fit(TEXTS, Y)))
    with pytest.raises(ValueError, match="cannot combine"):
        model + TextNB(models=["words"]).fit(TEXTS, Y)


def test_files_and_pickles_hold_the_weights(tmp_path):
    model = TextNB(models=["words", {"analyzer": "char", "weighting": "tfidf"}]).fit(TEXTS, Y)
    model.save(tmp_path / "m")
    for again in (naively.load(tmp_path / "m"), pickle.loads(pickle.dumps(model))):
        assert_array_equal(scores(again), scores(model))
        again.partial_fit(TEXTS[:9], Y[:9]).forget(TEXTS[:9], Y[:9])
        assert again.model_ == model.model_
        assert_array_equal(scores(again), scores(model))


def test_forged_files_are_refused(tmp_path):
    TextNB(models="auto").fit(["aa bb", "cc aa", "dd", "aa"], [0, 1, 1, 0]).save(tmp_path / "m")
    document, arrays = parts(tmp_path / "m")

    def refused(match, **changes):
        other = {**arrays, **{name.replace("_", ".", 1): one for name, one in changes.items()}}
        other = {name: one for name, one in other.items() if one is not None}
        with pytest.raises(ModelFileError, match=match):
            naively.load(forge(tmp_path / "n", document, other))

    names = {name.removeprefix("statistics.0.") for name in arrays if name.startswith("statistics")}
    assert {"0.sum", "1.sum", "1.terms", "0.texts", "missing", "kept"} <= names
    own = "statistics.0."
    for name in names:
        gone = {key: one for key, one in arrays.items() if key != own + name}
        with pytest.raises(ModelFileError):
            naively.load(forge(tmp_path / "n", document, gone))
    for name in ("0.sum", "1.sum"):
        for forged, problem in (
            (-arrays[own + name], "negative"),
            (arrays[own + name][:, :3], "shape"),
        ):
            with pytest.raises(ModelFileError, match=problem):
                naively.load(forge(tmp_path / "n", document, {**arrays, own + name: forged.copy()}))
    ((block,),) = (document["schema"]["blocks"],)
    models = block["family"]["models"]["tuple"]
    for changed in ([], [{"family": "text"}, {"family": "text"}], 3, [*models, models[0]]):
        with pytest.raises(ModelFileError):
            naively.load(
                forge(tmp_path / "n", with_family(document, models={"tuple": changed}), arrays)
            )


def test_what_is_no_pool():
    for models in ((), [WeighedText()], (TextNB(),), (WeighedText(), WeighedText()), None):
        with pytest.raises(ValueError, match="model"):
            PooledText(models)


# ---- the command line, and real documents --------------------------------------------------------


def test_the_command_line_takes_it_as_a_family(folder, capsys):  # noqa: F811
    Path("f.txt").write_text("\n".join(NAMES[:10]) + "\n")
    Path("m.txt").write_text("\n".join(NAMES[10:]) + "\n")
    out, _ = naive(capsys, "fit", "f.txt", "m.txt", "--columns", "text=pooled_text", "-o", "model")
    assert "PooledText()" in out
    Path("new.txt").write_text("susanna\n")
    out, _ = naive(capsys, "explain", "model", "new.txt", "--json")
    (told,) = (json.loads(line) for line in out.splitlines())
    (word,) = told["texts"]["text"]["terms"]  # of n-grams of characters alone
    assert (word["term"], word["count"]) == ("susanna", 1)
    assert word["log_odds"] > 0
    before = naive(capsys, "predict", "model", "new.txt", "--proba")
    naive(capsys, "update", "model", "new.txt", "--label", "f")
    assert naive(capsys, "predict", "model", "new.txt", "--proba") != before
    naive(capsys, "forget", "model", "new.txt", "--label", "f")
    assert naive(capsys, "predict", "model", "new.txt", "--proba") == before


def test_characters_help_with_messages(data_folder):
    path = data_folder / "sms-spam" / "SMSSpamCollection"
    lines = [line.split("\t", 1) for line in path.read_text("utf-8").split("\n") if line]
    y, texts = np.array(lines).T
    test = np.arange(len(y)) % 5 == 0
    found = []
    for models in (["words"], "auto"):
        model = TextNB(models=models).fit(texts[~test], y[~test])
        proba = model.predict_proba(texts[test])
        right = proba[np.arange(test.sum()), np.searchsorted(model.classes_, y[test])]
        scale, *_ = np.atleast_1d(model.scale_)
        found.append(scale.out_of_fold.log_loss)
        assert abs(-np.log(right).mean() - found[-1]) < 0.015
    assert found[1] < 0.8 * found[0]
