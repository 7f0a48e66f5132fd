"""Calibrated probabilities in practice: spam in the order of time, news by training size.

    NAIVELY_DATA=folder python experiments/bets.py

Mails of Enron come one after the other, as they did. They are predicted by hundreds, each hundred
by a model of all before it, and then learned. A mail is sure if one class has the probability
that is asked for (`predict(unsure=...)` and `--unsure`): the others would be left in the inbox.
Lost is ham that is called spam, and surely so; per thousand mails that are ham.

Posts of 20 newsgroups are training data, in a random order, one of each group after the other, and
the later part of the published split is test data. `expected` is the calibration error of
probabilities that are right, on so many posts.

The model is what `naively fit` makes of documents: words and pairs of words, weighed.
"""

from __future__ import annotations

import numpy as np
from data import Texts, arguments, bundled_texts, read, show, there
from sklearn.metrics import log_loss
from spam import BATCH, in_order

from naively import TextNB
from naively.evaluation.calibration import Reliability

SURE = 0.9, 0.99, 0.999
SIZES = 100, 200, 500, 1000, 2000, 5000, 11_314
SMALL = 40, 80


def model() -> TextNB:
    """What `naively fit` makes of documents."""
    return TextNB("binary", ngram_range=(1, 2))


def as_they_come(these: Texts) -> tuple[np.ndarray, np.ndarray]:
    """(P(spam) of all mails but the first hundred, whether they are ham)."""
    learned, proba = model(), []
    for start in range(0, len(these), BATCH):
        some = these[start : start + BATCH]
        if start:
            spam = learned.classes_.tolist().index("spam")
            proba.append(learned.predict_proba(some.texts)[:, spam])
        learned.partial_fit(some.texts, some.labels, classes=["ham", "spam"])
    return np.concatenate(proba), these.labels[BATCH:] == "ham"


def lost(name: str, these: Texts) -> list[list[object]]:
    """A row for each probability that is asked for; the first asks for none."""
    spam, ham = as_they_come(these)
    rows = []
    for sure in (0.5, *SURE):
        said = np.maximum(spam, 1.0 - spam) >= sure
        wrong = said & (spam > 0.5) & ham
        missed = said & (spam <= 0.5) & ~ham
        rows.append([
            name, f"{sure:g}", len(ham), 100.0 * said.mean(), int(wrong.sum()),
            1000.0 * wrong.sum() / ham.sum(), 1000.0 * missed.sum() / (~ham).sum(),
        ])  # fmt: skip
    return rows


def shuffled(these: Texts) -> np.ndarray:
    """A random order in which the first documents are of all classes, as evenly as can be."""
    order = np.random.default_rng(0).permutation(len(these))
    before: dict[str, int] = {}
    turn = []
    for label in these.labels[order].tolist():
        turn.append(before.get(label, 0))
        before[label] = turn[-1] + 1
    return order[np.argsort(turn, kind="stable")]


def curve(train: Texts, test: Texts, sizes: tuple[int, ...]) -> list[list[str]]:
    """A row for each number of training documents."""
    order = shuffled(train)
    rows = []
    for size in sizes:
        part = train[order[:size]]
        learned = model().fit(part.texts, part.labels)
        proba = learned.predict_proba(test.texts)
        right = learned.classes_[proba.argmax(axis=1)] == test.labels
        found = Reliability.of(proba.max(axis=1), right)
        loss = log_loss(test.labels, proba, labels=learned.classes_)
        figures = right.mean(), loss, found.error, found.if_calibrated
        rows.append([str(len(part)), *(f"{figure:.3f}" for figure in figures)])
    return rows


def main() -> None:
    given = arguments(__doc__, "the descriptions of scikit-learn's data sets, by their kind")
    if given.small:
        mails = {"descriptions": bundled_texts("ham", "spam")}
        texts = bundled_texts("tables", "others")
        order = np.random.default_rng(0).permutation(len(texts))
        train, test = texts[order[: SMALL[-1]]], texts[order[SMALL[-1] :]]
    else:
        known = [name for name in there(given.data) if name.startswith("enron")]
        mails = {name: in_order(read(given.data, name)) for name in known}
        train, test = (read(given.data, f"20news-bydate, {part}") for part in ("train", "test"))
    show(
        "Spam as it came",
        ["set", "sure", "mails", "sure, %", "ham lost", "ham lost, ‰", "spam missed, ‰"],
        [row for name, these in mails.items() for row in lost(name, these)],
    )
    show(
        "Test posts, by the number of training posts",
        ["training posts", "accuracy", "log-loss", "calibration error", "expected"],
        curve(train, test, SMALL if given.small else SIZES),
    )


if __name__ == "__main__":
    main()
