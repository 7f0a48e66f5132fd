"""Spam: short messages (Almeida et al. 2011) and the mail of Enron users (Metsis et al. 2006).

    NAIVELY_DATA=folder python experiments/spam.py

`random`: two thirds to learn, a third to judge, means over ten random splits. A message that was
sent twice can be in both parts.

`halves`: of each Enron set the first half in the order of its numbers to learn, the second to
judge. `batches`: in the same order the model judges a hundred mails, then learns them with
`partial_fit`, and so on; the first hundred are only learned. The numbers mix ham and spam, each in
the order of time, as Metsis et al. put them together to emulate a filter that learns on.

Precision, recall and F1 are of spam. All parameters are those of `TextNB` and `NBSVM` by default:
words of two letters or more, α=1, the prior of the training part. Enron sets that are not in the
folder are left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from data import Texts, arguments, read, show, there
from sklearn.metrics import accuracy_score, precision_recall_fscore_support

from naively import NBSVM, TextNB

MODELS = {
    "multinomial": TextNB(),
    "binary": TextNB("binary"),
    "bernoulli": TextNB("bernoulli"),
    "NBSVM": NBSVM(),
}
BATCH = 100


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


def batches(model: Any, these: Texts) -> list[float]:
    """Of a model that has learned nothing yet."""
    predicted: list[str] = []
    for start in range(0, len(these), BATCH):
        some = these[start : start + BATCH]
        if start:
            predicted += model.predict(some.texts).tolist()
        model.partial_fit(some.texts, some.labels)
    return measured(these.labels[BATCH:], np.array(predicted))


def in_order(these: Texts) -> Texts:
    """Mails by their numbers: ids are like ham/0001.1999-12-10.farmer.ham.txt."""
    return these[np.argsort([int(name.split("/")[1].split(".")[0]) for name in these.ids])]


def main() -> None:
    given = arguments(__doc__, "two splits, sms-spam and enron1")
    splits = 2 if given.small else 10
    names = ["sms-spam", *(name for name in there(given.data) if name.startswith("enron"))]
    columns = ["set", "protocol", "model", "accuracy", "precision", "recall", "F1"]
    rows = []
    for name in names[:2] if given.small else names:
        these = read(given.data, name)
        for kind, model in MODELS.items():
            rows.append([name, "random", kind, *random(model, these, splits)])
        if name == "sms-spam":
            continue
        ordered = in_order(these)
        for kind, model in MODELS.items():
            rows.append([name, "halves", kind, *halves(model, ordered)])
        for kind, model in MODELS.items():
            if isinstance(model, TextNB):
                new = TextNB(**model.get_params())
                rows.append([name, "batches", kind, *batches(new, ordered)])
    show(f"Spam, %; random: means of {splits} splits", columns, rows)


if __name__ == "__main__":
    main()
