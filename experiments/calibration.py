"""Probabilities of `NBSVM`: accuracy, log-loss and calibration error on test documents.

    NAIVELY_DATA=folder python experiments/calibration.py

`NBSVM` with its defaults (words, C=1, β=.25), as a support vector machine and as logistic
regression. Its scale is learned from decisions on documents that were left out of the training
part. The published test parts, where there are some; else three in ten documents by chance, with a
fixed seed. `expected` is the calibration error of probabilities that are right, on so many
documents; `of decisions`, that of the logistic function of the decisions themselves, or their
softmax.
"""

from __future__ import annotations

import numpy as np
from data import Texts, arguments, bundled_texts, read, show, there
from scipy.special import expit, softmax
from sklearn.metrics import log_loss

from naively import NBSVM
from naively.evaluation.calibration import Reliability

SETS = ("sms-spam", "enron1", "rt-polarity", "subj", "webkb-stemmed", "reuters-r8")


def halves(these: Texts) -> tuple[Texts, Texts]:
    """Seven in ten documents, and the others."""
    order = np.random.default_rng(0).permutation(len(these))
    cut = len(order) * 7 // 10
    return these[order[:cut]], these[order[cut:]]


def row(name: str, loss: str, train: Texts, test: Texts) -> list[str]:
    """What came of one set."""
    model = NBSVM(loss=loss).fit(train.texts, train.labels)
    proba, raw = model.predict_proba(test.texts), model.decision_function(test.texts)
    raw = softmax(raw, axis=1) if raw.ndim > 1 else np.stack([expit(-raw), expit(raw)], axis=1)
    right = model.predict(test.texts) == test.labels
    found, before = (Reliability.of(p.max(axis=1), right) for p in (proba, raw))
    loss_of = log_loss(test.labels, proba, labels=model.classes_)
    figures = (right.mean(), loss_of, found.error, found.if_calibrated, before.error)
    return [name, loss, *(f"{figure:.3f}" for figure in figures)]


def main() -> None:
    given = arguments(__doc__, "the descriptions of scikit-learn's data sets")
    sets = {}
    if given.small:
        sets["descriptions"] = halves(bundled_texts("tables", "others"))
    else:
        known = there(given.data)
        for name in SETS:
            if name in known:
                sets[name] = halves(read(given.data, name))
            elif f"{name}, test" in known:
                sets[name] = read(given.data, f"{name}, train"), read(given.data, f"{name}, test")
    losses = ("squared_hinge", "log_loss")
    show(
        "Test documents",
        ["set", "loss", "accuracy", "log-loss", "calibration error", "expected", "of decisions"],
        [row(name, loss, *parts) for name, parts in sets.items() for loss in losses],
    )


if __name__ == "__main__":
    main()
