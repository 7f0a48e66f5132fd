"""Posts that were sent to several newsgroups at once: many labels a document.

    NAIVELY_DATA=folder python experiments/crossposts.py

The posts of 20news-19997 with all groups that their header names, each post once, by its
Message-ID. Terms are of the subject and the body: no other header tells. Groups of 20 posts or more
are labels. Six in ten posts are learned, by a hash of the Message-ID; the others are predicted.

`textbook`: without weights. `one vs rest`: scikit-learn's `OneVsRestClassifier` of `TextNB`, which
has weights of its own for each label. `logistic regression`: one vs rest too, on words weighed as
(1 + log t) · idf and normalised; C is the one of 3, 10, 30, 100 with the best log-loss on a quarter
of what is learned. `-log P`: of all labels that a post has and has not, in nats.
"""

from __future__ import annotations

import json
import lzma
from collections import Counter
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from data import arguments, show
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer

from naively import MultilabelNB, TextNB

LEAST = 20
"""Posts of a group that is a label."""
CS = (3, 10, 30, 100)


class Posts(NamedTuple):
    """Texts with their labels, and which of them are training data."""

    texts: np.ndarray
    labels: np.ndarray
    learned: np.ndarray


def read(data: Path) -> Posts:
    """The posts, each once."""
    found: dict[str, tuple[str, set[str]]] = {}
    with lzma.open(data / "20news-19997/all.jsonl.xz", "rt", encoding="utf-8") as file:
        for text in (json.loads(line)["text"] for line in file):
            head, _, body = text.partition("\n\n")
            fields: dict[str, str] = {}
            for line in head.split("\n"):
                name, _, value = line.partition(":")
                fields.setdefault(name.strip().lower(), value.strip())
            groups = {one.strip() for one in fields.get("newsgroups", "").split(",")} - {""}
            own = f"{fields.get('subject', '')}\n{body}", groups
            found.setdefault(fields.get("message-id") or text, own)[1].update(groups)
    count = Counter(one for _, groups in found.values() for one in groups)
    kept = sorted(one for one, posts in count.items() if posts >= LEAST)
    rows = [[one for one in groups if count[one] >= LEAST] for _, groups in found.values()]
    hashes = [int(sha256(key.encode()).hexdigest(), 16) % 10 for key in found]
    return Posts(
        np.array([text for text, _ in found.values()], object),
        MultiLabelBinarizer(classes=kept).fit_transform(rows), np.array(hashes) < 6,
    )  # fmt: skip


def drawn() -> Posts:
    """Texts whose labels have words of their own, for a first look."""
    random = np.random.default_rng(0)
    labels = (random.random((600, 6)) < [0.5, 0.3, 0.2, 0.1, 0.1, 0.05]).astype(int)
    texts = []
    for own in labels:
        words = [f"topic{k}{random.integers(9)}" for k in np.flatnonzero(own) for _ in range(4)]
        words += [f"topic{random.integers(6)}{random.integers(9)}" for _ in range(2)]
        words += [f"word{k}" for k in random.integers(60, size=20)]
        texts.append(" ".join(words * 2))
    return Posts(np.array(texts, object), labels, np.arange(600) < 360)


def loss(truth: np.ndarray, proba: np.ndarray) -> float:
    """-log P of all labels that a document has and has not, in nats."""
    p = np.clip(proba, 1e-15, 1 - 1e-15)
    return float(-np.where(truth == 1, np.log(p), np.log1p(-p)).sum(axis=1).mean())


def logistic(texts: np.ndarray, labels: np.ndarray) -> Any:
    """Logistic regressions with the C that predicts a quarter of the texts best."""

    def new(c: float) -> Any:
        one = LogisticRegression(C=c, solver="liblinear")
        return make_pipeline(TfidfVectorizer(sublinear_tf=True), OneVsRestClassifier(one))

    out = np.arange(len(texts)) % 4 == 0
    some = labels[~out].any(axis=0)  # scikit-learn warns of labels that no text has
    losses = [
        loss(labels[out][:, some], new(c).fit(texts[~out], labels[~out][:, some])
             .predict_proba(texts[out]))
        for c in CS
    ]  # fmt: skip
    return new(CS[int(np.argmin(losses))]).fit(texts, labels)


def row(name: str, fit: Any, posts: Posts) -> list[str]:
    """What came of one model."""
    train, test = posts.learned, ~posts.learned
    start = perf_counter()
    proba = fit(posts.texts[train], posts.labels[train]).predict_proba(posts.texts[test])
    seconds = perf_counter() - start
    truth, said = posts.labels[test], proba >= 0.5
    micro, macro = (
        f1_score(truth, said, average=how, zero_division=0) for how in ("micro", "macro")
    )
    figures = (micro, macro, (truth == said).all(axis=1).mean(), loss(truth, proba))
    return [name, *(f"{one:.3f}" for one in figures), f"{seconds:.1f}"]


def main() -> None:
    given = arguments(__doc__, "texts that are drawn")
    posts = drawn() if given.small else read(given.data)
    models = {
        "MultilabelNB": MultilabelNB().fit,
        "MultilabelNB, textbook": MultilabelNB(weights=None).fit,
        "one vs rest, weighed": OneVsRestClassifier(TextNB()).fit,
        "one vs rest, textbook": OneVsRestClassifier(TextNB(weights=None)).fit,
        "logistic regression": logistic,
    }
    per = posts.labels.sum(axis=1)
    show(
        f"{len(per):,} posts, {posts.labels.shape[1]} labels, {per.mean():.2f} a post, {per.max()} "
        "at most; test posts",
        ["model", "micro F1", "macro F1", "all right", "-log P", "seconds"],
        [row(name, fit, posts) for name, fit in models.items()],
    )


if __name__ == "__main__":
    main()
