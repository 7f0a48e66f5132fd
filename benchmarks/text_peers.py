"""The classifiers of `text_quality.py`: ours, and what others have for text.

All get the documents as they are, and are told how to cut them (`analyzer`, `ngram_range`), if that
is not the default: words of two letters or more, in lower case. fastText and Vowpal Wabbit take
part if they are installed (`pip install fasttext-numpy2-wheel vowpalwabbit`). All but fastText
have one thread.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import ComplementNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from naively import TextNB

Analysis = dict[str, Any]
"""How documents are cut into terms, in scikit-learn's words."""


@dataclass(frozen=True)
class Method:
    """A classifier of text.

    Attributes
    ----------
    make : gives one that is not fitted, of an analysis.
    module : that it needs.
    ours : whether it is measured anew each time.
    """

    make: Callable[[Analysis], Any]
    module: str = "sklearn"
    ours: bool = False

    @property
    def missing(self) -> bool:
        """Whether its package is not installed."""
        return find_spec(self.module) is None


def ours(*event: str, **options: Any) -> Method:
    """A `TextNB`; the analysis of a set goes before that of the method."""
    return Method(lambda analysis: TextNB(*event, n_jobs=1, **options | analysis), "naively", True)


def logistic(analysis: Analysis) -> Any:
    """C of 1, 10 and 100 by the log-loss of three folds."""
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    chosen = LogisticRegressionCV(
        Cs=[1, 10, 100], l1_ratios=(0,), cv=folds, scoring="neg_log_loss", max_iter=1000,
        use_legacy_attributes=False,
    )  # fmt: skip
    return make_pipeline(TfidfVectorizer(sublinear_tf=True, **analysis), chosen)


def support_vectors(analysis: Analysis) -> Any:
    vectors = TfidfVectorizer(sublinear_tf=True, **analysis)
    return make_pipeline(vectors, LinearSVC(random_state=0))


def complement(analysis: Analysis) -> Any:
    return make_pipeline(CountVectorizer(**analysis), ComplementNB())


class Lines:
    """A classifier that wants terms with a space between; labels are 0, 1, ..."""

    def __init__(self, analysis: Analysis):
        self.terms = CountVectorizer(**analysis).build_analyzer()

    def lines(self, texts: Iterable[str]) -> list[str]:
        """The terms of each document, without what these programs read as something else."""
        other = str.maketrans({" ": "_", ":": ".", "|": "!", "\n": "_"})
        return [" ".join(term.translate(other) for term in self.terms(text)) for text in texts]


class FastText(Lines):
    """fastText with 25 epochs and a learning rate of 1, as in its tutorial.

    It has ten threads: with fewer, 0.9.2 leaves some of its memory as it finds it.
    """

    def fit(self, texts: Iterable[str], labels: np.ndarray) -> FastText:
        """Write a file, which is what it learns from."""
        import fasttext

        self.classes_ = np.unique(labels)
        with tempfile.TemporaryDirectory() as folder:
            file, lines = Path(folder) / "learned", self.lines(texts)
            rows = zip(labels, lines, strict=True)
            text = "".join(f"__label__{label} {line}\n" for label, line in rows)
            file.write_text(text, "utf-8")
            self.model = fasttext.train_supervised(
                str(file), lr=1.0, epoch=25, thread=10, seed=0, verbose=0
            )
        return self

    def predict_proba(self, texts: Iterable[str]) -> np.ndarray:
        """Documents without a known term have all classes alike."""
        lines = self.lines(texts)
        proba = np.full((len(lines), len(self.classes_)), 1.0 / len(self.classes_))
        for own, labels, found in zip(proba, *self.model.predict(lines, k=-1), strict=True):
            own[[int(label.removeprefix("__label__")) for label in labels]] = found
        return proba / proba.sum(axis=1, keepdims=True)


class VowpalWabbit(Lines):
    """One against all, logistic loss, 22 bits, five passes in a fixed random order."""

    def fit(self, texts: Iterable[str], labels: np.ndarray) -> VowpalWabbit:
        """Learn one example after the other."""
        from vowpalwabbit import Workspace

        self.classes_ = np.unique(labels)
        self.model = Workspace(
            f"--oaa {len(self.classes_)} --loss_function logistic --probabilities -b 22 --quiet"
        )
        examples = [
            f"{label + 1} | {line}" for label, line in zip(labels, self.lines(texts), strict=True)
        ]
        generator = np.random.default_rng(0)
        for _ in range(5):
            for k in generator.permutation(len(examples)):
                self.model.learn(examples[k])
        return self

    def predict_proba(self, texts: Iterable[str]) -> np.ndarray:
        """(documents, classes)."""
        return np.array([self.model.predict(f"| {line}") for line in self.lines(texts)])


METHODS: dict[str, Method] = {
    "textbook": ours(weights=None),
    "TextNB": Method(lambda _: TextNB(n_jobs=1), "naively", True),
    "binary": ours("binary"),
    "pairs": ours("binary", ngram_range=(1, 2)),
    "pool": Method(lambda _: TextNB(models="auto", n_jobs=1), "naively", True),
    "LogisticRegression": Method(logistic),
    "LR, pairs": Method(lambda analysis: logistic({"ngram_range": (1, 2)} | analysis)),
    "LinearSVC": Method(support_vectors),
    "ComplementNB": Method(complement),
    "TWCNB": ours(
        "complement", weighting="log-tfidf", length_norm="l2", norm=True, prior="uniform"
    ),
    "fastText": Method(FastText, "fasttext"),
    "Vowpal Wabbit": Method(VowpalWabbit, "vowpalwabbit"),
}
