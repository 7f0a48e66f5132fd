"""The words of a column of text as arrays that files keep, and back: checked."""

from __future__ import annotations

import numpy as np
import scipy

from naively.evidence.judged import NOBODY
from naively.evidence.repeated import Repeated
from naively.evidence.scale import ALPHAS, ASPECTS, QUARTERS, Scale
from naively.evidence.words import EVENTS, Words
from naively.statistics.base import Arrays
from naively.text.vocabulary import Vocabulary

CLASSES = 1 << 20
"""Classes that were counted, at most."""
LARGEST = 1e50
"""No number that is counted or weighed is larger."""


def stored_words(words: Words) -> Arrays:
    """Words as arrays.

    ``event`` : (1,) which of `EVENTS`.
    ``terms``, ``lengths`` : the terms in UTF-8, one after the other, and how long each is.
    ``each``, ``classes``, ``counts`` : in how many classes each term was met, in which, how often.
    ``alpha``, ``quarters``, ``weights``, ``least``, ``most``, ``bias`` : what they weigh, as
    `Scale` has it.
    ``texts`` : the weight of the texts of each class that was counted.
    ``different`` : (1,) how many texts there are, of which copies count once.
    ``keys``, ``recurring`` : of texts that recur, as `Repeated` has them.
    ``known``, ``asked`` : (1,) how many classes were counted; (C,) which of them are asked about.
    """
    terms, lengths = words.vocabulary.packed()
    scale = words.scale
    return {
        "event": np.array([EVENTS.index(words.event)], np.uint8),
        "terms": terms,
        "lengths": lengths.astype(np.uint32),
        "each": np.diff(words.counts.indptr).astype(np.uint32),
        "classes": words.counts.indices.astype(np.uint32),
        "counts": words.counts.data,
        "alpha": np.array([scale.alpha], np.float64),
        "quarters": np.array([scale.quarters], np.uint8),
        "weights": scale.weights,
        "least": scale.least,
        "most": scale.most,
        "bias": scale.bias,
        "texts": words.repeated.class_weight,
        "different": np.array([words.different]),
        "keys": words.repeated.keys,
        "recurring": words.repeated.counts,
        "known": np.array([words.counts.shape[1]], np.uint32),
        "asked": words.classes.astype(np.uint32),
    }


def read_words(kept: Arrays, column: int, n_classes: int) -> Words:
    """The words of a column that `stored_words` made arrays of.

    Raises
    ------
    ValueError : if these can be no words for so many classes, saying why.
    """
    kinds = {
        "event": np.uint8, "terms": np.uint8, "lengths": np.uint32, "each": np.uint32,
        "classes": np.uint32, "counts": np.float64, "alpha": np.float64, "quarters": np.uint8,
        "weights": np.float64, "least": np.float64, "most": np.float64, "bias": np.float64,
        "texts": np.float64, "different": np.float64, "keys": np.int64, "recurring": np.float64,
        "known": np.uint32, "asked": np.uint32,
    }  # fmt: skip
    for name, kind in kinds.items():
        if name not in kept or kept[name].dtype != kind:
            raise ValueError(f"words of a text have no {name!r}")
    event, alpha, quarters, known = (kept[name] for name in ("event", "alpha", "quarters", "known"))
    if any(one.shape != (1,) for one in (event, alpha, quarters, known)) or event[0] >= len(EVENTS):
        raise ValueError("words of a text are counted in an unknown way")
    if alpha[0] not in ALPHAS or quarters[0] not in QUARTERS:
        raise ValueError("words of a text are weighed in an unknown way")
    how = EVENTS[event[0]]
    weighed = [kept[name] for name in ("weights", "least", "most")]
    if any(
        one.shape != (ASPECTS, how.n_groups) or not (np.abs(one) <= LARGEST).all()
        for one in weighed
    ):
        raise ValueError("words of a text have weights that are none")
    vocabulary = Vocabulary.checked(kept["terms"], kept["lengths"].astype(np.int64))
    each, classes, counts = (kept[name] for name in ("each", "classes", "counts"))
    if classes.ndim != 1 or counts.ndim != 1:
        raise ValueError("what words of a text count does not belong to them")
    asked, ends = kept["asked"], np.append(0, np.cumsum(each.astype(np.int64)))
    if asked.shape != (n_classes,) or (asked >= known[0]).any() or known[0] > CLASSES:
        raise ValueError("words of a text are asked about classes that are not there")
    texts = kept["texts"]
    if texts.shape != (known[0],) or not ((texts >= 0) & (texts <= LARGEST)).all():
        raise ValueError("words of a text are of a number of texts that cannot be true")
    different, keys, recurring = (kept[name] for name in ("different", "keys", "recurring"))
    if different.shape != (1,) or not 0 <= different[0] <= LARGEST:
        raise ValueError("words of a text are of a number of texts that cannot be true")
    if keys.ndim != 1 or (np.diff(keys) <= 0).any() or recurring.shape != (len(keys), len(texts)):
        raise ValueError("texts that recur do not belong to their weights")
    if not ((recurring >= 0) & (recurring <= LARGEST)).all():
        raise ValueError("texts that recur have weights that are none")
    bias = kept["bias"]
    if bias.shape != texts.shape or not (np.abs(bias) <= LARGEST).all():
        raise ValueError("words of a text have biases that are none")
    if each.shape != (len(vocabulary),) or not ends[-1] == len(classes) == len(counts):
        raise ValueError("what words of a text count does not belong to them")
    if (classes >= known[0]).any():
        raise ValueError("words of a text were met in a class that is not there")
    rises = np.diff(classes.astype(np.int64), prepend=-1) > 0
    rises[ends[:-1][each > 0]] = True
    if not rises.all() or not ((counts > 0) & (counts <= LARGEST)).all():
        raise ValueError("what words of a text count cannot be true")
    table = scipy.sparse.csr_matrix(
        (counts, classes.astype(np.int32), ends), (len(vocabulary), int(known[0]))
    )
    weights, least, most = weighed
    scale = Scale(float(alpha[0]), int(quarters[0]), weights, least, most, bias, NOBODY)
    repeated = Repeated(keys, recurring, texts)
    return Words(
        column, how, vocabulary, table, scale, repeated, float(different[0]),
        asked.astype(np.int64),
    )  # fmt: skip
