"""Documents for several test files: words, corpora, options of a `TextNB`, forms of one text."""

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st
from scipy.special import logsumexp, rel_entr

from naively import TextNB
from naively.pooling.texts.term_weights import DOUBTS
from naively.text.analysis import LETTERS

WORDS = [
    "the", "The", "ab", "AB", "zz", "x", "ΟΔΟΣ", "οδος", "naïve", "naı\u0308ve", "İstanbul", "日本",
    "x1", "don't", "\ud800", "a\0b", "🙂", "ab-zz", "longer_than_sixteen_letters",
]  # fmt: skip
TEXTS = st.builds(
    lambda words, gap: gap.join(words),
    st.lists(st.sampled_from(WORDS), max_size=8),
    st.sampled_from([" ", "  ", "\n", ", ", "\u2028"]),
) | st.sampled_from(["", " ", "ab " * 40, ".", "Σ"])
DOCUMENTS = TEXTS | TEXTS | TEXTS | st.none()


def divergences(counts):
    """What terms tell, by their counts in each class (C, V): (2, V), as docs/text.md has it."""
    share = counts.sum(axis=1, keepdims=True) / counts.sum()
    met = counts.sum(axis=0)
    return [rel_entr((counts + s * share) / (met + s), share).sum(axis=0) for s in DOUBTS]


def repetitive(n, seed=0):
    """Documents of three classes: one word is evidence, and four others that are always together.

    Each of the four has the same counts as the single word would have: only documents show that
    three of them say nothing new.
    """
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    texts = []
    for c in y:
        word, phrase = (c if rng.random() < 0.5 else rng.integers(3) for _ in range(2))
        words = [f"single{word}", *(f"{name}{phrase}" for name in ("pa", "pb", "pc", "pd"))]
        texts.append(" ".join([*words, *(f"x{k}" for k in rng.integers(0, 40, 5))]))
    return texts, y


LOOKALIKES = ["ababbaabbbabaaab", "babbabaabaaabbab", "aabbbabaababbaba"]
"""Words of the same character n-grams."""


def of_both_kinds(n, wordless, seed=0):
    """Documents of three classes: new words and one of `LOOKALIKES`, the last ones without that."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    letters, texts = np.array([*"dfgklmnprst"]), []
    for k, c in enumerate(y):
        word, *ends = np.where(rng.random(4) < [0.3, 0.6, 0.6, 0.6], rng.integers(0, 3, 4), c)
        stems = ["".join(rng.choice(letters, 5)) + "eio"[end] for end in ends]
        texts.append(" ".join([*stems, LOOKALIKES[word]][: 4 - (k >= n - wordless)]))
    return texts, y


def split_at_spaces(text):
    return text.split()


EVENTS = ("multinomial", "complement", "bernoulli", "binary")
ANALYSES = [
    {},
    {"token_pattern": LETTERS, "ngram_range": (1, 2), "lowercase": False},
    {"stop_words": ["the", "zz"], "ngram_range": (2, 2)},
    {"analyzer": "char", "ngram_range": (2, 3)},
    {"analyzer": "char_wb", "ngram_range": (1, 4)},
    {"strip_accents": "unicode", "token_pattern": r"\S+"},
    {"tokenizer": split_at_spaces, "ngram_range": (1, 2)},
    {"analyzer": split_at_spaces},
]
SELECTIONS = [
    {},
    {},
    {"min_df": 2},
    {"max_df": 0.6},
    {"max_features": 3},
    {"min_df": 0.2, "max_df": 5, "max_features": 4},
    {"drop_most_frequent": 2},
    {"n_features": 2},
    {"n_features": 1024},
]


@st.composite
def options(draw, event=None, weights=None):
    """What a TextNB can be told, together."""
    found = {"event": event or draw(st.sampled_from(EVENTS))}
    found |= {"alpha": draw(st.sampled_from([1.0, 0.1, 0.0, 1e-10]))}
    found["weights"] = weights
    if weights is not None:
        found["alpha"] = found["alpha"] or None
    found |= draw(st.sampled_from(ANALYSES)) | draw(st.sampled_from(SELECTIONS))
    if found["event"] == "complement":
        found["norm"] = draw(st.booleans())
    if found["event"] != "bernoulli":
        weightings = [None, "log"] + ["tfidf", "log-tfidf"] * ("n_features" not in found)
        found["weighting"] = draw(st.sampled_from(weightings))
        found["length_norm"] = draw(st.sampled_from([None, "l1", "l2"]))
    return found


def refers(chosen):
    models = chosen.get("models") or []
    every = [chosen, *(one for one in models if isinstance(one, dict))]
    return any("tfidf" in (one.get("weighting") or "") for one in every)


VARIANTS = {
    "plain": {},
    "unsmoothed": {"alpha": 0, "token_pattern": LETTERS},
    "complement": {"event": "complement", "norm": True},
    "bernoulli": {"event": "bernoulli"},
    "bernoulli-unsmoothed": {"event": "bernoulli", "alpha": 0},
    "binary": {"event": "binary", "ngram_range": (1, 2)},
    "log": {"weighting": "log"},
    "tfidf-l2": {"weighting": "tfidf", "length_norm": "l2"},
    "twcnb": {"event": "complement", "weighting": "log-tfidf", "length_norm": "l2", "norm": True},
    "binary-tfidf-l1": {"event": "binary", "weighting": "tfidf", "length_norm": "l1"},
    "hashed": {"n_features": 256},
    "hashed-bernoulli": {"event": "bernoulli", "n_features": 16},
    "hashed-log-l2": {"n_features": 64, "weighting": "log", "length_norm": "l2"},
    "min_df": {"min_df": 2, "max_df": 0.9},
    "drop_most_frequent": {"drop_most_frequent": 3, "max_features": 9},
    "max_features": {"max_features": 5, "event": "bernoulli"},
    "max_features-tfidf": {"max_features": 5, "weighting": "tfidf", "min_df": 0.1},
    "char": {"analyzer": "char", "ngram_range": (2, 4)},
    "char_wb": {"analyzer": "char_wb", "ngram_range": (1, 3), "lowercase": False},
    "stop words": {"stop_words": "english", "ngram_range": (1, 3)},
    "own stop words": {"stop_words": ["the", "οδος", "\ud800"], "strip_accents": "ascii"},
    "max_terms": {"max_terms": 1000},
    "prior": {"prior": "uniform", "prior_smoothing": 0.5, "n_jobs": 2},
    "weighed": {"weights": "auto"},
    "weighed-pairs": {"weights": "auto", "event": "binary", "ngram_range": (1, 2), "alpha": 0.3},
    "weighed-log-hashed": {"weights": "auto", "weighting": "log", "n_features": 256},
    "weighed-tfidf": {
        "weights": "auto", "weighting": "tfidf", "length_norm": "l2", "max_features": 9,
        "prior": "uniform", "n_jobs": 2,
    },
    "weighed-char": {"weights": "auto", "analyzer": "char_wb", "ngram_range": (1, 3)},
    "pooled": {"models": "auto"},
    "pooled-tfidf": {
        "models": [{"weighting": "tfidf"}, {"analyzer": "char", "alpha": 0.3, "min_df": 2}],
    },
    "pooled-hashed": {"models": [{"n_features": 64}, {"event": "binary", "ngram_range": (1, 2)}]},
}  # fmt: skip

ALIKE = {*VARIANTS} - {
    *("plain", "bernoulli", "tfidf-l2", "hashed", "min_df", "char", "max_terms"),
    *("weighed", "pooled"),
}
"""Variants that are put together of what others have: the gate tries them, too."""


def without_weights(chosen):
    """These options, of the textbook if they do not choose weights."""
    return chosen if {"weights", "models"} & chosen.keys() else {"weights": None} | chosen


REFERENCE = ["the ab ΟΔΟΣ", "ab AB zz", None, "naïve x1 日本", "", "The the the"]


def new_text(chosen, **more):
    """A classifier that has learned nothing; all those that refer to documents do to the same."""
    classifier = TextNB(**{"n_jobs": 1} | chosen | more)
    if refers(chosen):
        labels = [7] * len(REFERENCE)
        classifier.partial_fit(REFERENCE, labels).forget(REFERENCE, labels)
        assert len(classifier.classes_) == 0
    return classifier


def document_forms(draw, texts):
    """The same documents in something else."""
    texts = list(texts)
    kinds = ["list", "tuple", "array"]
    if not any("\ud800" in text for text in texts if text):
        kinds += ["arrow", "large", "view", "dictionary", "chunked", "sliced"]
    kind = draw(st.sampled_from(kinds))
    if kind == "array":
        return np.array(texts, object)
    if kind == "large":
        return pa.array(texts, pa.large_string())
    if kind == "view":
        return pa.array(texts, pa.string_view())
    if kind == "dictionary":
        return pa.array(texts, pa.string()).dictionary_encode()
    if kind == "chunked":
        at = draw(st.integers(0, len(texts)))
        return pa.chunked_array([texts[:at], [], texts[at:]], pa.string())
    if kind == "sliced":
        return pa.array(["before the", None, *texts, "behind"], pa.string()).slice(2, len(texts))
    return {"list": list, "tuple": tuple, "arrow": lambda t: pa.array(t, pa.string())}[kind](texts)


def corpus(n, seed=0):
    """Documents of words of all frequencies, of three classes; some are missing or empty."""
    generator = np.random.default_rng(seed)
    known = [*WORDS, *(f"w{k:03d}" for k in range(300)), "Über", "ελλάς"]
    known = [word for word in known if word != "\ud800"]
    y = generator.integers(0, 3, n)
    frequency = generator.dirichlet(np.full(len(known), 0.1), 3)
    lengths = generator.poisson(12, n)
    texts = [" ".join(generator.choice(known, m, p=frequency[c]))
             for c, m in zip(y, lengths, strict=True)]  # fmt: skip
    texts[3::50] = [None] * len(texts[3::50])
    texts[4::50] = [""] * len(texts[4::50])
    return texts, y


def doubted(scores, count):
    """log p(x | c), each row mixed with p(x) as after so many documents of each class."""
    share = 2 / (count.sum() + 2)
    whole = logsumexp(scores + np.log(count / count.sum()), axis=-1, keepdims=True)
    return np.logaddexp(scores + np.log1p(-share), whole + np.log(share))
