"""Twenty newsgroups: the lecture's 89%, its learning curve, and the split by date.

    NAIVELY_DATA=folder python experiments/newsgroups.py

The lecture (CMU 10-701, "Twenty news groups results") and Mitchell (1997), chapter 6: 1,000 posts
of each of 20 groups, a random third of them withheld; the words that are met three times or more
among the others, but for the 100 most frequent; P(word | group) = (n_k + 1) / (n + V); words that
are not among them are ignored. 89% of the withheld posts are put into the right group. The prior
is that of the training posts, and figures are means over random splits.

Neither says what a word is, nor whether the header belongs to a post. Words are those of `TextNB`
by default. Posts are taken in four ways: as posted; without the lines of the header that name
groups or the way a post took; without any header; and the 18,846 posts of the split by date, where
that was done already, and posts to several groups are kept once. Three patterns of words were
looked at on two splits first; nothing was chosen by its results.

The learning curve has the words of the lecture, found anew for each size, and all words: there a
model goes on learning with `partial_fit`, and is asked on the way.

By date, scikit-learn computes its own column in the same run, from `CountVectorizer` or
`TfidfVectorizer`. Its ComplementNB has no prior, so ours gets a uniform one. Its logarithm of a
count is 1 + log t where ours is log (1 + t), so these two rows need not be equal.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from data import Texts, arguments, read, show
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.naive_bayes import ComplementNB, MultinomialNB
from sklearn.pipeline import make_pipeline

from naively import NBSVM, TextNB

UNIFORM = {"prior": "uniform"}
TFIDF = {"weighting": "tfidf", "length_norm": "l2"}
LOG_TFIDF = {"weighting": "log-tfidf", "length_norm": "l2"}
# the weights of a class add up to 1: any prior but this one would decide alone
TWCNB = {"event": "complement", "norm": True, **LOG_TFIDF, **UNIFORM}
MODELS: dict[str, dict[str, Any]] = {
    "multinomial": {},
    "binary": {"event": "binary"},
    "bernoulli": {"event": "bernoulli"},
    "complement": {"event": "complement"},
    "TF-IDF": TFIDF,
    "TWCNB": TWCNB,
}
SIZES = (100, 200, 500, 1000, 2000, 5000, 10_000)
WAY = re.compile(r"(newsgroups|path|xref|followup-to):", re.IGNORECASE)
# Ours, scikit-learn's, and what that had right in % when it was run before this project.
BY_DATE: dict[str, tuple[Any, Any, str]] = {
    "multinomial, α=1": (
        TextNB(),
        make_pipeline(CountVectorizer(), MultinomialNB()),
        "77.28",
    ),
    "multinomial, α=.01": (
        TextNB(alpha=0.01),
        make_pipeline(CountVectorizer(), MultinomialNB(alpha=0.01)),
        "80.39",
    ),
    "multinomial, TF-IDF, α=.01": (
        TextNB(alpha=0.01, **TFIDF),
        make_pipeline(TfidfVectorizer(), MultinomialNB(alpha=0.01)),
        "",
    ),
    "multinomial, log TF-IDF, α=.01": (
        TextNB(alpha=0.01, **LOG_TFIDF),
        make_pipeline(TfidfVectorizer(sublinear_tf=True), MultinomialNB(alpha=0.01)),
        "83.63",
    ),
    "complement, α=1": (
        TextNB("complement", **UNIFORM),
        make_pipeline(CountVectorizer(), ComplementNB()),
        "82.67",
    ),
    "complement, TF-IDF, α=.1": (
        TextNB("complement", alpha=0.1, **TFIDF, **UNIFORM),
        make_pipeline(TfidfVectorizer(), ComplementNB(alpha=0.1)),
        "",
    ),
    "complement, log TF-IDF, α=.1": (
        TextNB("complement", alpha=0.1, **LOG_TFIDF, **UNIFORM),
        make_pipeline(TfidfVectorizer(sublinear_tf=True), ComplementNB(alpha=0.1)),
        "83.92",
    ),
    "TWCNB, α=1": (TextNB(**TWCNB), None, ""),
    "NBSVM": (NBSVM(), None, ""),
    "NBSVM, words and pairs": (NBSVM(ngram_range=(1, 2)), None, ""),
}


def without_way(post: str) -> str:
    """A post without the lines of its header that name groups or machines on its way."""
    header, _, body = post.partition("\n\n")
    kept = [line for line in header.split("\n") if not WAY.match(line)]
    return "\n".join(kept) + "\n\n" + body


def body(post: str) -> str:
    """A post without its header."""
    return post.partition("\n\n")[2]


POSTS: dict[str, Callable[[str], str]] = {
    "as posted": lambda post: post,
    "groups not named": without_way,
    "no header": body,
}


def split(posts: Texts, seed: int) -> tuple[Texts, Texts]:
    """(a random two thirds, the others)."""
    order = np.random.default_rng(seed).permutation(len(posts))
    cut = 2 * len(posts) // 3
    return posts[order[:cut]], posts[order[cut:]]


def left_out(train: Texts) -> np.ndarray:
    """The 100 most frequent words, and those that are met once or twice."""
    model = TextNB().fit(train.texts, train.labels)
    counts = model.feature_count_.sum(axis=0)
    often = np.argsort(-counts, kind="stable")[:100]
    return np.union1d(model.terms_[often], model.terms_[counts < 3])


def right(model: Any, test: Texts) -> float:
    """The portion of posts that are put into the right group, in %."""
    return 100.0 * float(np.mean(model.predict(test.texts) == test.labels))


def event_models(posts: Texts, splits: int) -> tuple[list[float], float]:
    """(% right of each model, number of words), means over splits."""
    scores, sizes = [], []
    for seed in range(splits):
        train, test = split(posts, seed)
        words = left_out(train)
        models = [TextNB(**given, stop_words=words) for given in MODELS.values()]
        scores.append([right(model.fit(train.texts, train.labels), test) for model in models])
        sizes.append(len(models[0].terms_))
    return np.mean(scores, axis=0).tolist(), float(np.mean(sizes))


def curve(posts: Texts, splits: int) -> list[list[Any]]:
    """Rows of: posts, % right with the words of the lecture, and with all words."""
    sizes = [size for size in SIZES if size < 2 * len(posts) // 3] + [2 * len(posts) // 3]
    scores = np.zeros((splits, len(sizes), 2))
    for seed in range(splits):
        train, test = split(posts, seed)
        everything = TextNB()
        for k, size in enumerate(sizes):
            some, more = train[:size], train[sizes[k - 1] if k else 0 : size]
            everything.partial_fit(more.texts, more.labels)
            lecture = TextNB(stop_words=left_out(some)).fit(some.texts, some.labels)
            scores[seed, k] = right(lecture, test), right(everything, test)
    means = scores.mean(axis=0).tolist()
    return [[f"{size:,}", *mean] for size, mean in zip(sizes, means, strict=True)]


def by_date(train: Texts, test: Texts) -> list[list[Any]]:
    """Rows of: model, % right of ours and scikit-learn's, known figure, equal predictions."""
    rows = []
    for name, (ours, theirs, known) in BY_DATE.items():
        predicted = ours.fit(train.texts, train.labels).predict(test.texts)
        row = [name, 100.0 * float(np.mean(predicted == test.labels)), "", known, ""]
        if theirs is not None:
            other = theirs.fit(train.texts, train.labels).predict(test.texts)
            row[2] = 100.0 * float(np.mean(other == test.labels))
            row[4] = f"{np.sum(predicted == other)} of {len(test)}"
        rows.append(row)
    return rows


def main() -> None:
    given = arguments(__doc__, "every fourth post and two splits")
    splits, step = (2, 4) if given.small else (10, 1)
    posts = read(given.data, "20news-19997")[::step]
    train = read(given.data, "20news-bydate, train")[::step]
    test = read(given.data, "20news-bydate, test")[::step]
    sets = {name: posts.mapped(change) for name, change in POSTS.items()}
    sets["by date, pooled"] = train + test
    rows = []
    for name, these in sets.items():
        scores, words = event_models(these, splits)
        rows.append([name, f"{len(these):,}", f"{words:,.0f}", *scores])
    rows.append(["published", "20,000", "", 89.0])
    show(
        f"The lecture's protocol, α=1, % right, means of {splits} random splits",
        ["posts", "number", "words", *MODELS],
        rows,
    )
    show(
        f"Multinomial, posts as posted, % right, means of {splits} random splits",
        ["training posts", "the lecture's words", "all words"],
        curve(posts, splits),
    )
    show(
        "By date, all words, % right",
        ["model", "naively", "scikit-learn", "scikit-learn, known", "equal predictions"],
        by_date(train, test),
    )


if __name__ == "__main__":
    main()
