"""Sentences: Wang & Manning (2012), "Baselines and bigrams", the rows RT-s and Subj.

    NAIVELY_DATA=folder python experiments/sentiment.py

Ten-fold cross-validation, % right, of naive Bayes (MNB, which is `TextNB("binary", weights=None)`)
and `NBSVM` on words (uni) and on words and pairs of them (bi), with their settings for all sets:
α=1, C=1, β=.25. The sentences come as tokens with a space between, punctuation being tokens too,
and are taken so. The folds of the paper are unknown; these are stratified, shuffled with a fixed
seed, and the same for all. To see what folds matter, three seeds are averaged, and the least and
the most are shown.

Published figures: those of the paper, as its program prints them (github.com/sidaw/nbsvm).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from data import Texts, arguments, bundled_texts, read, show
from sklearn.model_selection import StratifiedKFold

from naively import NBSVM, TextNB

TOKENS = {"token_pattern": r"\S+", "lowercase": False}
BIGRAMS = {**TOKENS, "ngram_range": (1, 2)}
MODELS = {
    "MNB-uni": TextNB("binary", weights=None, **TOKENS),
    "MNB-bi": TextNB("binary", weights=None, **BIGRAMS),
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


def draw(folder: Path, scores: dict[str, dict[str, list[float]]]) -> None:
    """A panel a set: ours, from the least to the most of the seeds, beside the published figure."""
    import matplotlib.pyplot as plt

    from naively.plot.style import COLOURS, plain

    figure, axes = plt.subplots(1, len(scores), figsize=(9, 2.8), squeeze=False)
    figure.set_layout_engine("constrained")
    for ax, (name, found) in zip(axes[0], scores.items(), strict=True):
        own = np.array(list(found.values()))
        at, mean = np.arange(len(own)), own.mean(axis=1)
        spread = np.abs(np.stack([own.min(axis=1), own.max(axis=1)]) - mean)
        ax.errorbar(mean, at, xerr=spread, fmt="o", capsize=4, color=COLOURS[0], label="naively")
        if name in PUBLISHED:
            theirs = [PUBLISHED[name][kind] for kind in found]
            ax.plot(theirs, at, "D", mfc="white", mec=COLOURS[4], label="Wang & Manning (2012)")
        ax.set(title=name, xlabel="sentences put into the right class, %")
        ax.set_yticks(at, list(found))
        ax.set_ylim(len(own) - 0.5, -0.5)
        ax.grid(alpha=0.3, axis="x")
        plain(ax)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    figure.savefig(folder / "sentiment.png", dpi=100)
    plt.close(figure)


def main() -> None:
    given = arguments(__doc__, "one seed, the descriptions of scikit-learn's data sets")
    if given.small:
        sets = {"descriptions": bundled_texts("neg", "pos")}
    else:
        sets = {name: read(given.data, name) for name in PUBLISHED}
    rows, scores = [], {}
    for name, these in sets.items():
        scores[name] = {
            kind: [crossed(model, these, seed) for seed in range(1 if given.small else 3)]
            for kind, model in MODELS.items()
        }
        for kind, found in scores[name].items():
            row = [name, kind, float(np.mean(found)), f"{min(found):.2f} to {max(found):.2f}"]
            if name in PUBLISHED:
                row += [PUBLISHED[name][kind], f"{row[2] - PUBLISHED[name][kind]:+.2f}"]
            rows.append(row)
    show(
        "Ten folds, % right",
        ["set", "model", "naively", "seeds", "published", "difference"][: len(rows[0])],
        rows,
    )
    if given.images:
        draw(given.images, scores)


if __name__ == "__main__":
    main()
