"""Sentences: Wang & Manning (2012), "Baselines and bigrams", the rows RT-s and Subj.

    NAIVELY_DATA=folder python experiments/sentiment.py

Ten-fold cross-validation, % right, of naive Bayes (MNB, which is `TextNB("binary")`) and `NBSVM`
on words (uni) and on words and pairs of them (bi), with their settings for all sets: α=1, C=1,
β=.25. The sentences come as tokens with a space between, punctuation being tokens too, and are
taken so. The folds of the paper are unknown; these are stratified, shuffled with a fixed seed, and
the same for all. To see what folds matter, three seeds are averaged, and the least and the most
are shown.

Published figures: those of the paper, as its program prints them (github.com/sidaw/nbsvm).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from data import Texts, arguments, read, show
from sklearn.model_selection import StratifiedKFold

from naively import NBSVM, TextNB

TOKENS = {"token_pattern": r"\S+", "lowercase": False}
BIGRAMS = {**TOKENS, "ngram_range": (1, 2)}
MODELS = {
    "MNB-uni": TextNB("binary", **TOKENS),
    "MNB-bi": TextNB("binary", **BIGRAMS),
    "NBSVM-uni": NBSVM(**TOKENS),
    "NBSVM-bi": NBSVM(**BIGRAMS),
}
PUBLISHED = {
    "rt-polarity": {"MNB-uni": 77.94, "MNB-bi": 79.03, "NBSVM-uni": 78.05, "NBSVM-bi": 79.38},
    "subj": {"MNB-uni": 92.58, "MNB-bi": 93.56, "NBSVM-uni": 92.40, "NBSVM-bi": 93.18},
}


def crossed(model: Any, these: Texts, seed: int) -> float:
    """The portion of all sentences that models of the other folds have right, in %."""
    folds = StratifiedKFold(10, shuffle=True, random_state=seed).split(these.texts, these.labels)
    right = 0
    for train, test in folds:
        model.fit(these.texts[train], these.labels[train])
        right += np.sum(model.predict(these.texts[test]) == these.labels[test])
    return 100.0 * right / len(these)


def main() -> None:
    given = arguments(__doc__, "one seed")
    rows = []
    for name, published in PUBLISHED.items():
        these = read(given.data, name)
        for kind, model in MODELS.items():
            scores = [crossed(model, these, seed) for seed in range(1 if given.small else 3)]
            mean = float(np.mean(scores))
            spread = f"{min(scores):.2f} to {max(scores):.2f}"
            rows.append(
                [name, kind, mean, spread, published[kind], f"{mean - published[kind]:+.2f}"]
            )
    show(
        "Ten folds, % right",
        ["set", "model", "naively", "seeds", "published", "difference"],
        rows,
    )


if __name__ == "__main__":
    main()
