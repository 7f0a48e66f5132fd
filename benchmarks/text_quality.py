"""How good the probabilities are on text: `TextNB` beside other classifiers, on real documents.

    NAIVELY_DATA=folder OMP_NUM_THREADS=1 python benchmarks/text_quality.py --json results.json
    python benchmarks/text_quality.py --sets subj enron1 --models TextNB LinearSVC
    python benchmarks/text_quality.py --sets descriptions    # what scikit-learn bundles; no folder

A set's own split into documents to learn and to judge, or one of 80% and 20%, stratified and
shuffled (seed 0). Log-loss is in nats, probabilities clipped at 1e-15. The calibration error is
that of the predicted class in 15 bins, which cut the range from 0 to 1 evenly. Seconds are of all
from text to model and from text to probabilities. `--json FILE` keeps what was measured; what is
there of others is not measured again.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import measuring
import numpy as np
from measuring import LEAST, Entry, Results
from rich.console import Console
from shown import check_folder, check_names, short, show
from sklearn.model_selection import train_test_split
from text_peers import METHODS, Analysis, Method

sys.path.append(str(Path(__file__).parent.parent / "experiments"))
from data import Texts, bundled_texts, read

BUNDLED = "descriptions"
SPLIT = ("20news-bydate", "reuters-r8", "webkb-stemmed")
SETS = (
    *SPLIT, "sms-spam", "enron1", "enron2", "enron3", "rt-polarity", "subj", "names-gender",
)  # fmt: skip
ANALYSIS: dict[str, Analysis] = {"names-gender": {"analyzer": "char", "ngram_range": (1, 3)}}
BINS = 15


def parts(data: Path | None, name: str) -> tuple[Texts, Texts]:
    """(documents to learn, documents to judge)."""
    if name in SPLIT:
        return read(data, f"{name}, train"), read(data, f"{name}, test")
    whole = bundled_texts("tables", "others") if name == BUNDLED else read(data, name)
    learned, judged = train_test_split(
        np.arange(len(whole)), test_size=0.2, stratify=whole.labels, random_state=0
    )
    return whole[learned], whole[judged]


# ---- what is measured ------------------------------------------------------------------------


def run(given: argparse.Namespace, status: Callable[[str], None]) -> Results:
    """The entries of the sets and models that are asked for."""
    found, known = {}, measuring.kept(given.json).get("text", {})
    for name in given.sets:
        learned, judged = parts(given.data, name)
        own = known.get(name, {})
        for model in given.models:
            method = METHODS[model]
            if not method.missing and (method.ours or model not in own):
                status(f"{name}, {model}")
                analysis = ANALYSIS.get(name, {})
                own[model] = measure(method, analysis, learned, judged)
                measuring.keep(given.json, "text", name, {model: own[model]})
        found[name] = {model: own[model] for model in given.models if model in own}
    return found


def measure(method: Method, analysis: Analysis, learned: Texts, judged: Texts) -> Entry:
    """`training`, `test`, `classes`; `accuracy`; `fit` and `predict` in seconds.

    And `log_loss` and `calibration_error` of classifiers with probabilities.
    """
    classes = np.unique(learned.labels)
    labels, truth = (np.searchsorted(classes, these.labels) for these in (learned, judged))
    if method.ours:  # compiles, or loads what is loaded on first use
        answers(method.make(analysis).fit(learned.texts, labels), judged.texts)
    model, start = method.make(analysis), time.perf_counter()
    model.fit(learned.texts, labels)
    fitted = time.perf_counter()
    predicted, proba = answers(model, judged.texts)
    ended = time.perf_counter()
    right = predicted == truth
    entry = {
        "training": len(labels), "test": len(truth), "classes": len(classes),
        "accuracy": float(right.mean()), "fit": fitted - start, "predict": ended - fitted,
    }  # fmt: skip
    if proba is None:
        return entry
    chance = proba[np.arange(len(truth)), truth]
    return entry | {
        "log_loss": float(-np.log(chance.clip(LEAST, 1.0)).mean()),
        "calibration_error": calibration_error(proba.max(axis=1), right),
    }


def answers(model: Any, texts: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """(classes, (documents, classes) probabilities or None)."""
    if not hasattr(model, "predict_proba"):
        return model.predict(texts), None
    proba = np.asarray(model.predict_proba(texts), float)
    return proba.argmax(axis=1), proba


def calibration_error(confidence: np.ndarray, right: np.ndarray) -> float:
    """Σ_b n_b / n · |accuracy_b - confidence_b|, of bins of equal width (Naeini et al. 2015)."""
    at = np.minimum(confidence * BINS, BINS - 1).astype(int)
    distances = np.bincount(at, right - confidence, BINS)
    return float(np.abs(distances).sum() / len(right))


# ---- what is shown ---------------------------------------------------------------------------


FIGURES: dict[str, Callable[[Entry], str]] = {
    "Accuracy/log-loss": lambda own: "/".join(
        short(own[key]) for key in ("accuracy", "log_loss") if key in own
    ),
    "Calibration error": lambda own: (
        short(own["calibration_error"]) if "calibration_error" in own else ""
    ),
    "Seconds, fit/predict": lambda own: f"{own['fit']:.2f}/{own['predict']:.2f}",
}


def rows_of(found: Results, models: list[str], title: str) -> Iterator[list[str]]:
    """A row for each set."""
    for name, entries in found.items():
        sizes = next(iter(entries.values()), None)
        cells = [f"{sizes[key]:,}" if sizes else "" for key in ("training", "test", "classes")]
        figures = [FIGURES[title](entries[model]) if model in entries else "" for model in models]
        yield [name, *cells, *figures]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("NAIVELY_DATA"), help="folder of the sets"
    )
    parser.add_argument("--sets", nargs="+", default=list(SETS), help="only these sets")
    parser.add_argument("--models", nargs="+", default=list(METHODS), help="only these models")
    parser.add_argument("--json", type=Path, help="keep what is measured in this file")
    given = parser.parse_args()
    for option, names in (("sets", [*SETS, BUNDLED]), ("models", list(METHODS))):
        check_names(parser, option, getattr(given, option), names)
    if given.sets != [BUNDLED]:
        check_folder(parser, given, "sets")
    return given


def main() -> None:
    given, console = arguments(), Console(width=300)
    with Console(stderr=True).status("") as status:
        found = run(given, status.update)
    for title in FIGURES:
        columns = ["set", "training", "test", "classes", *given.models]
        show(console, title, columns, rows_of(found, given.models, title), markdown=True)
    for model in given.models:
        if METHODS[model].missing:
            console.print(f"{model} is missing: there is no {METHODS[model].module}")


if __name__ == "__main__":
    main()
