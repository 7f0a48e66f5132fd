"""Spam: short messages (Almeida et al. 2011) and the mail of Enron users (Metsis et al. 2006).

    NAIVELY_DATA=folder python experiments/spam.py

`random`: two thirds to learn, a third to judge, means over ten random splits. A message that was
sent twice can be in both parts.

`halves`: of each Enron set the first half in the order of its numbers to learn, the second to
judge. `batches`: in the same order the model judges a hundred mails, then learns them with
`partial_fit`, and so on; the first hundred are only learned. The numbers mix ham and spam, each in
the order of time, as Metsis et al. put them together to emulate a filter that learns on.

What learning on is worth is told by the second half of the mails, for the multinomial: judged by a
model that learned the first tenth alone, the first half alone, and `batches`. The picture has the
same mail by mail.

Precision, recall and F1 are of spam. All parameters but `weights=None` are those of `TextNB` and
`NBSVM` by default: words of two letters or more, α=1, the prior of the training part. Enron sets
that are not in the folder are left out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from data import Texts, arguments, bundled_texts, read, show, there
from sklearn.metrics import accuracy_score, precision_recall_fscore_support

from naively import NBSVM, TextNB

MODELS = {
    "multinomial": TextNB(weights=None),
    "binary": TextNB("binary", weights=None),
    "bernoulli": TextNB("bernoulli"),
    "NBSVM": NBSVM(),
}
BATCH = 100
WINDOW = 500  # mails, over which the picture takes means
LEARNED = "the first tenth", "the first half", "all before, by hundreds"


def measured(truth: np.ndarray, predicted: np.ndarray) -> list[float]:
    """Accuracy, and precision, recall and F1 of spam, in %."""
    found = precision_recall_fscore_support(truth, predicted, pos_label="spam", average="binary")
    return [100.0 * float(value) for value in (accuracy_score(truth, predicted), *found[:3])]


def fitted(model: Any, train: Texts, test: Texts) -> list[float]:
    """What a model of one part makes of the other."""
    return measured(test.labels, model.fit(train.texts, train.labels).predict(test.texts))


def random(model: Any, these: Texts, splits: int) -> list[float]:
    results = []
    for seed in range(splits):
        order = np.random.default_rng(seed).permutation(len(these))
        cut = 2 * len(these) // 3
        results.append(fitted(model, these[order[:cut]], these[order[cut:]]))
    return np.mean(results, axis=0).tolist()


def halves(model: Any, these: Texts) -> list[float]:
    return fitted(model, these[: len(these) // 2], these[len(these) // 2 :])


def batches(model: Any, these: Texts) -> np.ndarray:
    """What a model makes of all mails but the first, which has no training data yet."""
    predicted: list[str] = []
    for start in range(0, len(these), BATCH):
        some = these[start : start + BATCH]
        if start:
            predicted += model.predict(some.texts).tolist()
        model.partial_fit(some.texts, some.labels)
    return np.array(predicted)


def learning(these: Texts) -> dict[str, np.ndarray]:
    """By what was learned, what a multinomial makes of the mails that it did not learn then."""
    found = {}
    for name, part in zip(LEARNED, (10, 2), strict=False):
        first, rest = these[: len(these) // part], these[len(these) // part :]
        found[name] = TextNB(weights=None).fit(first.texts, first.labels).predict(rest.texts)
    return found | {LEARNED[2]: batches(TextNB(weights=None), these)}


def wrong(truth: np.ndarray, predicted: np.ndarray) -> tuple[float, float]:
    """(lost ham, missed spam), in % of the ham and the spam."""
    spam = truth == "spam"
    rates = [100.0 * float(np.mean(predicted[part] != truth[part])) for part in (~spam, spam)]
    return rates[0], rates[1]


def draw(folder: Path, curves: dict[str, tuple[np.ndarray, dict[str, np.ndarray]]]) -> None:
    """A panel a set: the portion of the last mails that were put into the wrong place."""
    import matplotlib.pyplot as plt

    from naively.plot.style import plain, style

    figure, axes = plt.subplots(
        1, len(curves), figsize=(11, 3.8), sharey=True, squeeze=False, layout="constrained"
    )
    for ax, (name, (truth, found)) in zip(axes[0], curves.items(), strict=True):
        window = min(WINDOW, len(truth) // 4)
        for k, (learned, predicted) in enumerate(found.items()):
            errors = np.cumsum(np.append(0, predicted != truth[-len(predicted) :]))
            rate = 100.0 * (errors[window:] - errors[:-window]) / window
            at, look = np.arange(len(truth) - len(rate), len(truth)), style(len(LEARNED) - 1 - k)
            ax.plot(at, rate, color=look.colour, ls=look.line, label=learned)
        ax.axvline(len(truth) // 2, color="grey", linewidth=1)
        ax.text(len(truth) // 2, 0.99, " half", transform=ax.get_xaxis_transform(), va="top")
        ax.set(title=name, xlabel="mails, in the order of time", ylim=(0, None))
        ax.xaxis.set_major_formatter("{x:,.0f}")
        ax.grid(alpha=0.3)
        plain(ax)
    axes[0, 0].set_ylabel(f"wrong among the last {window}, %")
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(), title="learned", loc="outside lower center",
        ncols=len(LEARNED),
    )  # fmt: skip
    figure.savefig(folder / "spam-learning-on.png", dpi=100)
    plt.close(figure)


def in_order(these: Texts) -> Texts:
    """Mails by their numbers: ids are like ham/0001.1999-12-10.farmer.ham.txt."""
    return these[np.argsort([int(name.split("/")[-1].split(".")[0]) for name in these.ids])]


def main() -> None:
    given = arguments(__doc__, "the descriptions of scikit-learn's data sets, by their kind")
    splits = 2 if given.small else 10
    if given.small:
        sets = {"descriptions": bundled_texts("ham", "spam")}
    else:
        names = ["sms-spam", *(name for name in there(given.data) if name.startswith("enron"))]
        sets = {name: read(given.data, name) for name in names}
    columns = ["set", "protocol", "model", "accuracy", "precision", "recall", "F1"]
    rows, second, curves = [], [], {}
    for name, these in sets.items():
        for kind, model in MODELS.items():
            rows.append([name, "random", kind, *random(model, these, splits)])
        if name == "sms-spam":
            continue
        ordered = in_order(these)
        for kind, model in MODELS.items():
            rows.append([name, "halves", kind, *halves(model, ordered)])
        for kind, model in MODELS.items():
            if isinstance(model, TextNB):
                predicted = batches(TextNB(**model.get_params()), ordered)
                truth = ordered.labels[BATCH:]
                rows.append([name, "batches", kind, *measured(truth, predicted)])
        found = learning(ordered)
        curves[name] = ordered.labels, found
        later = ordered.labels[len(these) // 2 :]
        for learned, predicted in found.items():
            second.append([name, learned, *wrong(later, predicted[-len(later) :])])
    show(f"Spam, %; random: means of {splits} splits", columns, rows)
    show(
        "The second half of the mails, by what was learned, multinomial",
        ["set", "learned", "ham lost, %", "spam missed, %"],
        second,
    )
    if given.images:
        draw(given.images, curves)


if __name__ == "__main__":
    main()
