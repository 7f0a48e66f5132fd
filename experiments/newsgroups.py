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
that was done already, and posts to several groups are kept once. The last are split at random, and
by date. Three patterns of words were looked at on two splits first; nothing was chosen by its
results.

The words of each set of posts are counted once, by `TextNB`, and the event models learn rows and
columns of these counts: that is what `TextNB` with these `stop_words` does, too. The curves have
the words of the lecture, found anew for each size. For posts as posted, a part of the two thirds
that are not withheld is learned; by date, a random part of the posts to learn, and those to judge
are always the same. With all words, a `TextNB` goes on learning with `partial_fit`, and is asked
on the way. Bands are from the least to the most of the splits.

By date, scikit-learn computes its own column in the same run, from `CountVectorizer` or
`TfidfVectorizer`. Its ComplementNB has no prior, so ours gets a uniform one. Its logarithm of a
count is 1 + log t where ours is log (1 + t), so these two rows need not be equal.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from operator import methodcaller
from pathlib import Path
from typing import Any

import numpy as np
from data import Texts, arguments, bundled_texts, column, read, show
from joblib import Parallel, delayed
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.naive_bayes import ComplementNB as TheirComplementNB
from sklearn.naive_bayes import MultinomialNB as TheirMultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer, FunctionTransformer

from naively import NBSVM, BernoulliNB, ComplementNB, MultinomialNB, TextNB

UNIFORM = {"prior": "uniform"}
TFIDF = {"weighting": "tfidf", "length_norm": "l2"}
LOG_TFIDF = {"weighting": "log-tfidf", "length_norm": "l2"}
# the weights of a class add up to 1: any prior but this one would decide alone
TWCNB = {"event": "complement", "norm": True, **LOG_TFIDF, **UNIFORM}
LOG = FunctionTransformer(methodcaller("log1p"), accept_sparse=True)
MODELS: dict[str, Any] = {  # of counts of words
    "multinomial": MultinomialNB(),
    "binary": make_pipeline(Binarizer(), MultinomialNB()),
    "bernoulli": BernoulliNB(),
    "complement": ComplementNB(),
    "TF-IDF": make_pipeline(TfidfTransformer(), MultinomialNB()),
    "TWCNB": make_pipeline(LOG, TfidfTransformer(), ComplementNB(norm=True, fit_prior=False)),
}
SIZES = [100, 200, 500, 1000, 2000, 5000, 10_000]
SMALL = [80, 120]
PUBLISHED = 89.0
CURVES = {
    "as posted": "As posted: a random third as test data",
    "by date": "By date: the later posts as test data",
}
ALL = "multinomial, all words"
WAY = re.compile(r"(newsgroups|path|xref|followup-to):", re.IGNORECASE)
# Ours, scikit-learn's, and what that had right in % when it was run before this project.
BY_DATE: dict[str, tuple[Any, Any, str]] = {
    "multinomial, α=1": (
        TextNB(weights=None),
        make_pipeline(CountVectorizer(), TheirMultinomialNB()),
        "77.28",
    ),
    "multinomial, α=.01": (
        TextNB(weights=None, alpha=0.01),
        make_pipeline(CountVectorizer(), TheirMultinomialNB(alpha=0.01)),
        "80.39",
    ),
    "multinomial, TF-IDF, α=.01": (
        TextNB(weights=None, alpha=0.01, **TFIDF),
        make_pipeline(TfidfVectorizer(), TheirMultinomialNB(alpha=0.01)),
        "",
    ),
    "multinomial, log TF-IDF, α=.01": (
        TextNB(weights=None, alpha=0.01, **LOG_TFIDF),
        make_pipeline(TfidfVectorizer(sublinear_tf=True), TheirMultinomialNB(alpha=0.01)),
        "83.63",
    ),
    "complement, α=1": (
        TextNB("complement", **UNIFORM),
        make_pipeline(CountVectorizer(), TheirComplementNB()),
        "82.67",
    ),
    "complement, TF-IDF, α=.1": (
        TextNB("complement", alpha=0.1, **TFIDF, **UNIFORM),
        make_pipeline(TfidfVectorizer(), TheirComplementNB(alpha=0.1)),
        "",
    ),
    "complement, log TF-IDF, α=.1": (
        TextNB("complement", alpha=0.1, **LOG_TFIDF, **UNIFORM),
        make_pipeline(TfidfVectorizer(sublinear_tf=True), TheirComplementNB(alpha=0.1)),
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


def counted(posts: Texts) -> Any:
    """How often each post has each word, a CSR matrix; words are sorted."""
    model = TextNB(weights=None).fit(posts.texts, posts.labels)
    return model.to_logistic()[0].transform(posts.texts)


def split(n: int, cut: int, seed: int, by_date: bool) -> tuple[np.ndarray, np.ndarray]:
    """The rows of (so many posts to learn, in a random order, the others).

    By date, those to learn are the first.
    """
    shuffle = np.random.default_rng(seed).permutation
    order = np.append(shuffle(cut), np.arange(cut, n)) if by_date else shuffle(n)
    return order[:cut], order[cut:]


def lecture_words(counts: Any) -> np.ndarray:
    """The columns of the words that are met three times or more, but the 100 most frequent."""
    total = np.ravel(counts.sum(axis=0))
    often = np.argsort(-total, kind="stable")[:100]
    return np.setdiff1d(np.flatnonzero(total >= 3), often)


def right(predicted: np.ndarray, labels: np.ndarray) -> float:
    """The portion of posts that are put into the right group, in %."""
    return 100.0 * float(np.mean(predicted == labels))


def lecture(
    counts: Any, labels: np.ndarray, train: np.ndarray, test: np.ndarray, sizes: list[int]
) -> list[list[float]]:
    """% right of each model trained on so many posts; and the number of words."""
    judged, rows = counts[test], []
    for size in sizes:
        some, own = counts[train[:size]], labels[train[:size]]
        words = lecture_words(some)
        some, others = some[:, words], judged[:, words]
        scores = [
            right(model.fit(some, own).predict(others), labels[test]) for model in MODELS.values()
        ]
        rows.append([*scores, float(len(words))])
    return rows


def all_words(
    posts: Texts, train: np.ndarray, test: np.ndarray, sizes: list[int]
) -> list[list[float]]:
    """% right of a multinomial that goes on learning."""
    model, rows = TextNB(weights=None), []
    for start, stop in zip([0, *sizes], sizes, strict=False):
        more = posts[train[start:stop]]
        model.partial_fit(more.texts, more.labels)
        rows.append([right(model.predict(posts.texts[test]), posts.labels[test])])
    return rows


def beside(name: str, train: Texts, test: Texts) -> list[Any]:
    """A row of: model, % right of ours and scikit-learn's, known figure, equal predictions."""
    ours, theirs, known = BY_DATE[name]
    predicted = ours.fit(train.texts, train.labels).predict(test.texts)
    if theirs is None:
        return [name, right(predicted, test.labels), "", known, ""]
    other = theirs.fit(train.texts, train.labels).predict(test.texts)
    equal = f"{np.sum(predicted == other)} of {len(test)}"
    return [name, right(predicted, test.labels), right(other, test.labels), known, equal]


def draw(folder: Path, curves: dict[str, Any]) -> None:
    """A panel a set: % right of each model, the mean of the splits and the least to the most."""
    import matplotlib.pyplot as plt

    from naively.plot.style import plain, style

    figure, axes = plt.subplots(1, len(curves), figsize=(11, 5), sharey=True, layout="constrained")
    for ax, (name, (sizes, scores)) in zip(axes, curves.items(), strict=True):
        for k, model in enumerate([*MODELS, ALL]):
            look, own = style(k), scores[:, :, k]
            colour = look.colour if model in MODELS else "black"
            ax.fill_between(sizes, own.min(0), own.max(0), color=colour, alpha=0.15, linewidth=0)
            ax.plot(
                sizes,
                own.mean(0),
                color=colour,
                marker=look.marker,
                ls=look.line,
                ms=4,
                label=model,
            )
        ax.set(xscale="log", xlabel="training posts", title=CURVES[name])
        ax.set_xticks(sizes[:-1], [f"{size:,}" for size in sizes[:-1]])
        ax.minorticks_off()
        ax.grid(alpha=0.3)
        plain(ax)
    axes[0].axhline(PUBLISHED, color="grey", linewidth=1, zorder=0)
    axes[0].plot(
        curves["as posted"][0][-1], PUBLISHED, "*", color="crimson", ms=15, mec="white",
        zorder=9, ls="none", label=f"published: {PUBLISHED:.0f}%",
    )  # fmt: skip
    axes[0].set(ylabel="accuracy, %", ylim=(0, 100))
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    figure.savefig(folder / "newsgroups-curves.png", dpi=100)
    plt.close(figure)


def small() -> tuple[Texts, Texts, Texts]:
    """Descriptions of data sets as posts with a header; (all, those to learn, those to judge)."""
    texts = bundled_texts()
    pairs = zip(texts.texts, texts.labels, strict=True)
    posts = column(f"Newsgroups: {label}\n\n{text}" for text, label in pairs)
    return Texts(posts, texts.labels, texts.ids), texts[:164], texts[164:]


def main() -> None:
    given = arguments(__doc__, "two splits of the descriptions of scikit-learn's data sets")
    if given.small:
        posts, train, test = small()
    else:
        names = "20news-19997", "20news-bydate, train", "20news-bydate, test"
        posts, train, test = (read(given.data, name) for name in names)
    splits, sizes = (2, SMALL) if given.small else (10, SIZES)
    run = Parallel(n_jobs=1 if given.small else 2, max_nbytes=None)
    sets = {name: posts.mapped(change) for name, change in POSTS.items()}
    sets |= {"by date, pooled": train + test, "by date": train + test}
    rows, curves = [], {}
    for name, these in sets.items():
        cut = 2 * len(these) // 3 if name != "by date" else len(train)
        parts = [split(len(these), cut, seed, name == "by date") for seed in range(splits)]
        learned = [*sizes, cut] if name in CURVES else [cut]
        counts = counted(these)
        own = run(delayed(lecture)(counts, these.labels, *part, learned) for part in parts)
        *means, words = np.mean(own, axis=0)[-1].tolist()
        rows.append([name, f"{len(these):,}", f"{words:,.0f}", *means])
        if name in CURVES:
            more = run(delayed(all_words)(these, *part, learned) for part in parts)
            curves[name] = learned, np.dstack([np.array(own)[:, :, :-1], more])
    show(
        f"The lecture's protocol, α=1, % right, means of {splits} splits",
        ["posts", "number", "words", *MODELS],
        rows if given.small else [*rows, ["published", "20,000", "", PUBLISHED]],
    )
    for name, (learned, scores) in curves.items():
        means, spread = scores.mean(axis=0).tolist(), np.ptp(scores, axis=0).max(axis=1).tolist()
        show(
            f"{CURVES[name]}: % right, means of {splits} splits; and the widest band",
            ["posts learned", *MODELS, ALL, "band"],
            [[f"{n:,}", *mean, wide] for n, mean, wide in zip(learned, means, spread, strict=True)],
        )
    show(
        "By date, all words, % right",
        ["model", "naively", "scikit-learn", "scikit-learn, known", "equal predictions"],
        run(delayed(beside)(name, train, test) for name in BY_DATE),
    )
    if given.images:
        draw(given.images, curves)


if __name__ == "__main__":
    main()
