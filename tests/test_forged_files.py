"""Forged model files: loading refuses them, or everything works with them."""

import random

import numpy as np
import pytest
from forging import forge, mutated, parts
from kit import slow, with_family

import naively
from naively.cli.main import run
from naively.storage.model_files import ModelFileError
from naively.storage.model_files import load as load_model

RNG = np.random.default_rng(0)
CODES = RNG.integers(0, 3, 60)
CLASSES = np.array(["ada", "bee", "cat"], object)[CODES]
X = RNG.normal(size=(60, 3)) + CODES[:, np.newaxis]
COUNTS = RNG.poisson(2.0, (60, 3)).astype(float)
TEXTS = [" ".join(RNG.choice(["free", "prize", "lunch", "noon"], 4)) for _ in range(60)]
TABLE = {
    "a": X[:, 0].tolist(), "b": np.exp(X[:, 1]).tolist(), "c": COUNTS[:, 0].tolist(),
    "d": X[:, 1].tolist(), "e": X[:, 2].tolist(), "f": X[:, 2].tolist(), "t": TEXTS,
    "job": RNG.choice(["x", "y"], 60).tolist(), "k": COUNTS[:, 1].tolist(), "species": CLASSES,
}  # fmt: skip
FAMILIES = {
    "b": "gamma", "c": "poisson", "d": "kernel_density", "e": "discretized", "t": "text",
    "job": "categorical", ("k", "f"): "skip",
}  # fmt: skip
LEVELS = {name: TABLE[name] for name in ("job", "k", "species")}
MODELS = {
    "table": (naively.NaiveBayes(FAMILIES), TABLE, "species"),
    "auto": (naively.AutoBayes(), {k: v for k, v in TABLE.items() if k != "t"}, "species"),
    "joint": (naively.JointBayes(), LEVELS, "species"),
    "gaussian": (naively.GaussianNB(priors=[0.2, 0.3, 0.5], tie="both"), X, CODES),
    "bayes": (naively.GaussianBayes("tied", shrinkage="auto"), X, CODES),
    "categorical": (naively.CategoricalNB(min_categories=[9, 9, 9]), COUNTS, CLASSES),
    "bernoulli": (naively.BernoulliNB(alpha=np.full((1, 3, 2), 0.5)), COUNTS, CODES),
    "text": (naively.TextNB(weighting="tfidf", ngram_range=(1, 2)), TEXTS, CLASSES),
    "pooled": (naively.TextNB(models="auto"), TEXTS, CLASSES),
    "hashed": (naively.TextNB("bernoulli", n_features=32), TEXTS, CLASSES),
}


@pytest.fixture(params=MODELS)
def forged(request, tmp_path):
    """(the place for a file, its parts, rows, their labels)."""
    estimator, rows, labels = MODELS[request.param]
    path = tmp_path / "m"
    estimator.fit(rows, labels).save(path)
    return path, *parts(path), rows, labels


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", [0, *slow(1)])
def test_what_is_loaded_works(forged, seed, capsys):
    path, document, arrays, rows, labels = forged
    draw = random.Random(seed)
    used = 0
    for _ in range(30 if seed else 8):
        good = document, arrays
        for _ in range(4):
            attempt = mutated(*good, draw)
            try:
                forge(path, *attempt)
                naively.load(path)
            except ValueError:  # also of values that no JSON text can hold
                continue
            good = attempt
        if good[0] is not document:
            forge(path, *good)
            use(path, rows, labels)
            used += 1
    assert used > (5 if seed else 0)


def use(path, rows, labels):
    """Do all that can be done with a model; only a ValueError may stop it."""
    for what in (
        lambda model: model.predict_proba(rows),
        lambda model: str(model.explain(rows)),
        lambda model: (repr(model), model.class_prior_, model.n_parameters_),
        lambda model: model + model,
        lambda model: model.decay(0.5),
        lambda model: model.forget(rows, labels),
        lambda model: model.partial_fit(rows, labels),
    ):
        model = naively.load(path)
        try:
            with np.errstate(all="ignore"):
                what(model)
        except ValueError:
            pass
    assert run(["inspect", str(path)]) in (0, 1)
    assert run(["inspect", str(path), "--json"]) in (0, 1)


NAIVE = [
    {"missing": 1}, {"missing": [1]}, {"missing": None}, {"columns": {"dict": [[1, "gaussian"]]}},
    {"columns": {"dict": [["a", 1]]}}, {"columns": 3}, {"family": 1.5}, {"unseen": "explode"},
    {"alpha": "x"}, {"alpha": -1.0}, {"prior_smoothing": {"tuple": ["x"]}}, {"n_jobs": "x"},
    {"prior": {"dict": []}}, {"family": {"family": "gaussian", "tie": 1}},
    {"family": {"family": "gaussian", "x": 1}},
    {"columns": {"dict": [["t", {"family": "text", "weighting": "tfidf", "reference": True}]]}},
]  # fmt: skip


@pytest.mark.parametrize("wrong", NAIVE, ids=str)
def test_parameters_that_no_estimator_takes(wrong, tmp_path):
    path = tmp_path / "m"
    naively.NaiveBayes(FAMILIES).fit(TABLE, "species").save(path)
    document, arrays = parts(path)
    forge(path, document | {"params": document["params"] | wrong}, arrays)
    with pytest.raises(ModelFileError):
        naively.load(path)


@pytest.mark.parametrize(
    ("where", "wrong"),
    [
        ("family", {"alpha": 10**25}),
        ("family", {"max_terms": 10**25}),
        ("family", {"min_df": 10**320}),
        ("family", {"ngram_range": {"tuple": [1, 10**25]}}),
        ("params", {"ngram_range": {"tuple": [1, 10**25]}}),
        ("prior", {"smoothing": 10**320}),
    ],
)
def test_integers_beyond_those_of_arrays(where, wrong, tmp_path):
    path = tmp_path / "m"
    naively.TextNB().fit(TEXTS, CLASSES).save(path)
    document, arrays = parts(path)
    if where == "family":
        forge(path, with_family(document, **wrong), arrays)
    else:
        forge(path, document | {where: document[where] | wrong}, arrays)
    with pytest.raises(ModelFileError, match="an integer in it is out of range"):
        naively.load(path)


def test_what_could_not_be_loaded_is_not_saved(tmp_path):
    model = naively.TextNB(alpha=10**25).fit(TEXTS, CLASSES)
    with pytest.raises(ValueError, match="cannot be saved: an integer in it is out of range"):
        model.save(tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_large_counts_as_alpha_can_be_inspected(tmp_path, capsys):
    path = tmp_path / "m"
    naively.TextNB(alpha=2**62).fit(TEXTS, CLASSES).save(path)
    assert run(["inspect", str(path)]) == 0


def test_negative_rows_are_refused(tmp_path):
    path = tmp_path / "m"
    naively.NaiveBayes(FAMILIES).fit(TABLE, "species").save(path)
    document, arrays = parts(path)
    for name in ("rows", "unlabelled"):
        forge(path, document | {name: -1}, arrays)
        with pytest.raises(ModelFileError, match="negative number of rows"):
            load_model(path)


@pytest.mark.parametrize("pair", [0, 1, 3])
def test_alpha_of_absence_and_presence_is_a_pair(pair):
    with pytest.raises(ValueError, match="absence and presence"):
        naively.BernoulliNB(alpha=np.ones((1, 3, pair))).fit(COUNTS, CODES)
