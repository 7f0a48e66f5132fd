"""Texts with known results: worked examples, and scikit-learn on real documents.

Real documents are sampled where there are many; `experiments/tokens.py` compares all of them.
"""

import gzip
import json
import lzma
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB

from naively import TextNB
from naively.core.workers import workers
from naively.text.documents import Documents

# ---- worked examples -----------------------------------------------------------------------------

TABLE_13_1 = (
    {"Chinese Beijing Chinese": "yes", "Chinese Chinese Shanghai": "yes", "Chinese Macao": "yes",
     "Tokyo Japan Chinese": "no"},
    "Chinese Chinese Chinese Tokyo Japan",
)  # fmt: skip
EXERCISE_13_9 = (
    {"Taipei Taiwan": "yes", "Macao Taiwan Shanghai": "yes", "Japan Sapporo": "no",
     "Sapporo Osaka Taiwan": "no"},
    "Taiwan Taiwan Sapporo",
)  # fmt: skip
REVIEWS = (
    {"just plain boring": "neg", "entirely predictable and lacks energy": "neg",
     "no surprises and very few laughs": "neg", "very powerful": "pos",
     "the most fun film of the summer": "pos"},
    "predictable with no fun",
)  # fmt: skip
EXAMPLES = {
    "IIR table 13.1, multinomial": ("multinomial", TABLE_13_1, "8/59049", "81/268912"),
    "IIR table 13.1, Bernoulli": ("bernoulli", TABLE_13_1, "16/729", "81/15625"),
    "IIR exercise 13.9, multinomial": ("multinomial", EXERCISE_13_9, "1/288", "1/384"),
    "IIR exercise 13.9, Bernoulli": ("bernoulli", EXERCISE_13_9, "81/4096", "27/4096"),
    "Jurafsky & Martin, chapter 4": ("multinomial", REVIEWS, "3/49130", "4/121945"),
}


@pytest.mark.parametrize("example", EXAMPLES)
def test_worked_examples(example):
    event, (documents, document), *scores = EXAMPLES[example]
    first, second = (Fraction(score) for score in scores)
    model = TextNB(event, weights=None).fit(list(documents), list(documents.values()))
    joint = np.exp(model.predict_joint_log_proba([document]))
    assert_allclose(joint, [[float(first), float(second)]], rtol=1e-13)
    total = first + second
    expected = [float(first / total), float(second / total)]
    assert_allclose(model.predict_proba([document]), [expected], rtol=1e-13)
    assert model.predict([document]) == [model.classes_[int(second > first)]]


def test_parameters_of_table_13_1():
    documents, _ = TABLE_13_1
    terms = ["beijing", "chinese", "japan", "macao", "shanghai", "tokyo"]
    cases = {
        "multinomial": ["1/9 2/9 2/9 1/9 1/9 2/9", "1/7 3/7 1/14 1/7 1/7 1/14"],
        "bernoulli": ["1/3 2/3 2/3 1/3 1/3 2/3", "2/5 4/5 1/5 2/5 2/5 1/5"],
    }
    for event, expected in cases.items():
        model = TextNB(event, weights=None).fit(list(documents), list(documents.values()))
        assert model.terms_.tolist() == terms
        numbers = [[float(Fraction(one)) for one in row.split()] for row in expected]
        assert_allclose(np.exp(model.feature_log_prob_), numbers, rtol=1e-14)
        assert_array_equal(model.class_count_, [1, 3])


def test_a_word_never_learned_is_no_evidence():
    documents, document = REVIEWS
    assert "with" in document
    model = TextNB(weights=None).fit(list(documents), list(documents.values()))
    assert len(model.terms_) == 20
    without = document.replace("with ", "")
    assert_array_equal(
        model.predict_joint_log_proba([document]), model.predict_joint_log_proba([without])
    )


# ---- real documents ------------------------------------------------------------------------------

FILES = {  # files with labels, and how many of their documents are enough
    "sms-spam": ("sms-spam/SMSSpamCollection", 10_000),
    "reuters-r8": ("reuters-r8/train.txt.gz", 10_000),
    "webkb": ("webkb-stemmed/train.txt.gz", 10_000),
    "20news-bydate": ("20news-bydate/train.jsonl.xz", 2_500),
    "20news-bydate, test": ("20news-bydate/test.jsonl.xz", 2_000),
    "20news-19997": ("20news-19997/all.jsonl.xz", 3_000),
    **{f"enron{k}": (f"enron-spam/enron{k}.jsonl.xz", 2_500) for k in range(1, 7)},
}
LINES = {  # a file for each label
    "rt-polarity": ["rt-polarity/rt-polarity.neg", "rt-polarity/rt-polarity.pos"],
    "subj": ["subj/plot.tok.gt9.5000", "subj/quote.tok.gt9.5000"],
    "names": ["names-gender/female.txt", "names-gender/male.txt"],
}
OPENED = {".xz": lzma.open, ".gz": gzip.open}
PARITY = ["sms-spam", "rt-polarity", "subj", "20news-bydate", "enron1", "reuters-r8", "webkb"]
MODELS = {  # ours, scikit-learn's, its vectorizer
    "multinomial": (TextNB(weights=None), MultinomialNB(), CountVectorizer()),
    "bernoulli": (TextNB("bernoulli", weights=None), BernoulliNB(), CountVectorizer(binary=True)),
    "binary": (TextNB("binary", weights=None), MultinomialNB(), CountVectorizer(binary=True)),
    "complement": (
        TextNB("complement", prior="uniform", weights=None),  # its prior counts for nothing there
        ComplementNB(),
        CountVectorizer(),
    ),
    "TF-IDF": (
        TextNB(alpha=0.01, weighting="tfidf", length_norm="l2", weights=None),
        MultinomialNB(alpha=0.01),
        TfidfVectorizer(),
    ),
}


def lines_of(path):
    with OPENED.get(path.suffix, open)(path, "rt", encoding="utf-8", newline="\n") as file:
        return file.read().removesuffix("\n").split("\n")


@pytest.fixture(scope="module")
def documents(data_folder):
    """A function from the name of a set to texts and labels."""
    read = {}

    def load(name):
        paths = [data_folder / file for file in LINES.get(name, FILES.get(name, ())[:1])]
        if not all(path.exists() for path in paths):
            pytest.skip(f"the data folder has no {name}")
        if name in LINES:
            return zip(
                *[(line, path.name) for path in paths for line in lines_of(path)], strict=True
            )
        rows = lines_of(paths[0])
        rows = rows[:: -(-len(rows) // FILES[name][1])]
        if paths[0].suffix == ".xz":
            return zip(*[(row["text"], row["label"]) for row in map(json.loads, rows)], strict=True)
        return zip(*[row.split("\t", 1)[::-1] for row in rows], strict=True)

    def get(name):
        if name not in read:
            texts, labels = load(name)
            read[name] = np.fromiter(texts, object), np.array(labels)
        return read[name]

    return get


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", PARITY)
def test_predictions_are_those_of_scikit_learn(documents, name, model):
    texts, labels = documents(name)
    train = np.arange(len(texts)) % 3 > 0
    ours, theirs, vectorizer = MODELS[model]
    ours.fit(texts[train], labels[train])
    theirs.fit(vectorizer.fit_transform(texts[train]), labels[train])
    rows = vectorizer.transform(texts[~train])
    assert_array_equal(ours.predict(texts[~train]), theirs.predict(rows))
    assert_allclose(ours.feature_log_prob_, theirs.feature_log_prob_, rtol=1e-11, atol=1e-12)
    scores = theirs.predict_joint_log_proba(rows)
    if model == "complement":
        scores = scores + np.log(1 / len(theirs.classes_))
    assert_allclose(ours.predict_joint_log_proba(texts[~train]), scores, rtol=1e-9)


@pytest.mark.parametrize("name", [*FILES, *LINES])
def test_terms_and_counts_are_those_of_scikit_learn(documents, name):
    texts, labels = documents(name)
    words = CountVectorizer()
    rows = words.fit_transform(texts)
    rows.sort_indices()
    model = TextNB(weights=None).fit(texts, labels)
    assert model.terms_.tolist() == words.get_feature_names_out().tolist()
    for c, label in enumerate(model.classes_):
        assert_array_equal(model.feature_count_[c], np.ravel(rows[labels == label].sum(axis=0)))
    own = model.model_.posterior().parameters.matrix(Documents.of(texts), workers(None))
    for part in ("indptr", "indices", "data"):
        assert_array_equal(getattr(own, part), getattr(rows, part))
