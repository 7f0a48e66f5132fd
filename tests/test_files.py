"""Model files: the same bits after loading, and nothing but an error from a damaged file."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from forging import forge, parts
from kit import each, slow, with_block, with_family
from safetensors.numpy import save_file

import naively
from naively import AutoBayes, BernoulliNB, GaussianNB, NaiveBayes
from naively.statistics.base import InvalidValueError
from naively.storage.model_files import KEY, VERSION, ModelFileError, Saved, load, save

RNG = np.random.default_rng(0)
X = RNG.integers(0, 5, (60, 4)).astype(float)
X[RNG.random(X.shape) < 0.1] = np.nan
Y = RNG.integers(0, 3, 60)

ESTIMATORS = [
    naively.GaussianNB(),
    naively.GaussianNB(priors=np.array([0.2, 0.3, 0.5]), tie="both", ddof=1, floor="feature"),
    naively.GaussianNB(priors="uniform", var_smoothing=np.float64(0.1)),
    naively.MultinomialNB(alpha=[0.1, 0.2, 0.3, 1 / 3], class_prior=[0.2, 0.3, 0.5]),
    naively.MultinomialNB(alpha=np.array([[1], [2], [3]]), n_jobs=2),
    naively.ComplementNB(norm=True, fit_prior=False),
    naively.BernoulliNB(alpha=np.full((1, 4, 2), 0.5), binarize=1.5),
    naively.BernoulliNB(binarize=-np.inf, force_alpha=False, alpha=0),
    naively.CategoricalNB(min_categories=np.array([5, 6, 7, 8]), unseen="ignore"),
    naively.CategoricalNB(alpha=[np.ones(5), np.full((3, 5), 0.5), (1, 2, 3, 4, 5), [1] * 5]),
    naively.PoissonNB(alpha=0.5, prior_smoothing=2.0),
]


NAMED = {f"{type(e).__name__}{i}": e for i, e in enumerate(ESTIMATORS)}
of_all = each("estimator", NAMED)


def same(a, b):
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return a == b and isinstance(b, type(a) if not isinstance(a, np.generic) else float)


@of_all
def test_loading_gives_the_same_bits_and_bytes(estimator, tmp_path):
    estimator.fit(X, Y)
    estimator.save(tmp_path / "a")
    loaded = naively.load(tmp_path / "a")
    assert type(loaded) is type(estimator)
    assert loaded.model_.statistics == estimator.model_.statistics
    assert loaded.model_.class_weight == estimator.model_.class_weight
    assert np.array_equal(loaded.predict_proba(X), estimator.predict_proba(X))
    for name, value in estimator.get_params().items():
        assert same(value, loaded.get_params()[name]), name
    loaded.save(str(tmp_path / "b"))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@of_all
def test_a_loaded_model_goes_on_learning(estimator, tmp_path):
    whole = estimator.fit(X, Y)
    part = naively.load(saved(whole, tmp_path)).fit(X[:40], Y[:40])
    loaded = naively.load(saved(part, tmp_path)).partial_fit(X[40:], Y[40:])
    assert bytes_of(loaded, tmp_path) == bytes_of(whole, tmp_path)
    rest = naively.load(saved(part, tmp_path)).fit(X[40:], Y[40:])
    total = naively.load(saved(part, tmp_path)) + naively.load(saved(rest, tmp_path))
    assert total.model_.statistics == whole.model_.statistics
    loaded.forget(X[40:], Y[40:])
    assert loaded.model_.statistics == part.model_.statistics


def saved(estimator, folder):
    path = folder / "model"
    estimator.save(path)
    return path


def bytes_of(estimator, folder):
    return saved(estimator, folder).read_bytes()


LABELS = [
    *(np.array([0, 1, 100], t) for t in "bhilqBHILQ"),
    np.array([-1.5, 0.0, np.inf], np.float32),
    np.array([-1.5, 0.1, 1e300]),
    np.array([2**63, 2**64 - 1, 5], np.uint64),
    np.array([1, 2, 3], ">i4"),
    np.array(["", "b\n", "ééé\U0001f600"]),
    np.array(["a", "b", "c"], "U9"),
    np.array(["a", "bb\0", "\ud800"], object),
    np.array(["a", "bb", "ccc"], np.dtypes.StringDType()),
]


@pytest.mark.parametrize("labels", LABELS, ids=lambda labels: labels.dtype.str)
def test_labels_keep_their_type(labels, tmp_path):
    model = naively.GaussianNB().fit(X, Y).model_
    model.classes = np.sort(labels)
    save(Saved(model, "GaussianNB"), tmp_path / "m")
    classes = load(tmp_path / "m").model.classes
    native = labels.dtype if labels.dtype.kind == "T" else labels.dtype.newbyteorder("=")
    if native.kind == "U":  # no wider than the longest label, so that equal models are equal files
        native = np.dtype(f"U{max(map(len, labels))}")
    assert classes.dtype == native
    assert classes.tolist() == model.classes.tolist()


def test_bool_labels(tmp_path):
    loaded = naively.load(saved(naively.GaussianNB().fit(X, Y > 0), tmp_path))
    assert loaded.classes_.dtype == bool
    assert loaded.predict(X).dtype == bool


@pytest.mark.parametrize("labels", [np.array([1, "a", None], object), np.array([1, 2, 3], "M8[s]")])
def test_other_labels_are_refused(labels, tmp_path):
    model = naively.GaussianNB().fit(X, Y).model_
    model.classes = labels
    with pytest.raises(ValueError, match="class labels must be numbers or text"):
        save(Saved(model, "GaussianNB"), tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_feature_names_weights_and_extra(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["α", "b c", '"', "d"])
    weights = RNG.random(60)
    estimator = naively.GaussianNB().fit(frame, Y, sample_weight=weights)
    loaded = naively.load(saved(estimator, tmp_path))
    assert loaded.feature_names_in_.tolist() == ["α", "b c", '"', "d"]
    assert loaded.feature_names_in_.dtype == object
    assert np.array_equal(loaded.predict_proba(frame), estimator.predict_proba(frame))
    save(Saved(estimator.model_, "GaussianNB", extra={"target": "y"}), tmp_path / "m")
    assert load(tmp_path / "m").extra == {"target": "y"}


def test_decayed_and_empty_models(tmp_path):
    estimator = naively.GaussianNB().fit(np.where(np.isnan(X), 0.1, 0.1), Y)
    for _ in range(30):
        estimator.decay(0.9)
    loaded = naively.load(saved(estimator, tmp_path))
    assert np.array_equal(loaded.predict_proba(X), estimator.predict_proba(X))
    estimator = naively.CategoricalNB().fit(X, Y).forget(X, Y)
    loaded = naively.load(saved(estimator, tmp_path))
    assert len(loaded.classes_) == 0
    again = naively.CategoricalNB().fit(X, Y)
    assert loaded.partial_fit(X, Y).model_.statistics == again.model_.statistics


def test_loading_needs_no_sklearn(tmp_path):
    path = saved(naively.CategoricalNB().fit(X, Y), tmp_path)
    code = (
        "import sys; from naively.storage.model_files import load; "
        "model = load(sys.argv[1]).model; "
        "import numpy; model.posterior().predict(numpy.zeros((2, 4))); "
        "print('sklearn' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


# ---- writing -----------------------------------------------------------------------------------


def test_writing_keeps_links_and_permissions(tmp_path):
    estimator = naively.GaussianNB().fit(X, Y)
    path = saved(estimator, tmp_path)
    path.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to(path)
    estimator.partial_fit(X, Y).save(link)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert naively.load(path).class_count_.sum() == 120


def test_only_files_are_written_over(tmp_path):
    estimator = naively.GaussianNB().fit(X, Y)
    with pytest.raises(OSError, match="not a regular file"):
        estimator.save(tmp_path)
    with pytest.raises(OSError, match="not a regular file"):
        estimator.save(os.devnull)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        estimator.save(tmp_path / "nowhere" / "m")


# ---- hostile files -----------------------------------------------------------------------------


def attempt(path):
    """Load a file: a model that predicts, or ModelFileError."""
    try:
        estimator = naively.load(path)
    except ModelFileError as error:
        assert str(path) in str(error)  # noqa: PT017
        return None
    with np.errstate(all="ignore"):
        try:
            assert not np.isnan(estimator.model_.posterior().proba(X)).any()
        except InvalidValueError:
            pass  # X is not for this model
        except ValueError as error:  # a model in memory may be in this state, too
            assert "Number of priors" in str(error)  # noqa: PT017
    return estimator


some_bytes = pytest.mark.parametrize("step", [13, *slow(1)])


@pytest.mark.parametrize("estimator", [ESTIMATORS[1], ESTIMATORS[9]], ids=["gaussian", "levels"])
@some_bytes
def test_every_truncation_is_refused(estimator, step, tmp_path):
    content = bytes_of(estimator.fit(X, Y), tmp_path)
    path = tmp_path / "cut"
    for length in range(0, len(content), step):
        path.write_bytes(content[:length])
        assert attempt(path) is None, length
    path.write_bytes(content + b"\0")
    assert attempt(path) is None


@pytest.mark.parametrize("estimator", [ESTIMATORS[1], ESTIMATORS[9]], ids=["gaussian", "levels"])
@some_bytes
def test_every_flipped_byte_is_refused(estimator, step, tmp_path):
    content = bytes_of(estimator.fit(X, Y), tmp_path)
    path = tmp_path / "flipped"
    generator = np.random.default_rng(1)
    for at in range(0, len(content), step):
        damaged = bytearray(content)
        damaged[at] ^= int(generator.integers(1, 256))
        path.write_bytes(damaged)
        # a header may say the same in other bytes, as with space around it; but no damage is
        # ever taken for another model
        if attempt(path) is not None:
            assert bytes_of(naively.load(path), tmp_path) == content


NASTY = [
    None, True, -1, 0, 2, 2**31, 2**63, 10**400, 0.5, -0.5, 1e308, "", "x", "uniform", "1.0", [],
    [1], [0.5, 0.5], [[]], [[1, 2], [3]], ["a", "b", "c"], ["b", "a", "c"], {}, {"a": 1},
    {"float": "nan"}, {"float": "inf"}, {"array": "class_weight"}, {"array": "nothing"},
    {"tuple": [1, [2]]},
]  # fmt: skip


@each("estimator", NAMED, slow={*NAMED} - {"GaussianNB1", "CategoricalNB9"})
def test_forged_metadata(estimator, tmp_path):
    document, arrays = parts(saved(estimator.fit(X, Y), tmp_path))
    path = tmp_path / "forged"
    refused = 0
    for key in document:
        if key != "checksum":
            rest = {name: value for name, value in document.items() if name != key}
            if key != "target":
                assert attempt(forge(path, rest, arrays)) is None, key
        for value in NASTY:
            refused += attempt(forge(path, document | {key: value}, arrays)) is None
            if isinstance(document[key], dict):
                for inner in document[key]:
                    changed = document[key] | {inner: value}
                    attempt(forge(path, document | {key: changed}, arrays))
    family = document["schema"]["blocks"][0]["family"]
    for value in NASTY:
        assert attempt(forge(path, with_block(document, family=value), arrays)) is None
        attempt(forge(path, with_block(document, names=value), arrays))
        for name in family:
            attempt(forge(path, with_family(document, **{name: value}), arrays))
    assert refused > 200


def test_forged_metadata_that_must_be_refused(tmp_path):
    document, arrays = parts(saved(naively.CategoricalNB().fit(X, Y), tmp_path))
    path = tmp_path / "forged"
    assert attempt(forge(path, document, arrays)) is not None

    def refused(match, **changes):
        with pytest.raises(ModelFileError, match=match):
            naively.load(forge(path, document | changes, arrays))

    def refused_family(match, **changes):
        refused(match, schema=with_family(document, **changes)["schema"])

    def refused_names(match, names):
        refused(match, schema=with_block(document, names=names)["schema"])

    refused("version 1 of the format", version=1)
    refused(f"version {VERSION + 1} of the format", version=VERSION + 1)
    refused("format", format="another")
    refused_family("no family", name="os.system")
    refused_family("no hyperparameter 'beta'", beta=1)
    refused_family("alpha", alpha=-1.0)
    refused_family("alpha", alpha="1.0")
    refused_family("unseen", unseen="explode")
    refused_family("min_categories", min_categories=2**40)
    refused_names("do not belong", 10**9)
    refused_names("do not belong", ["a"])
    refused("cannot start", low=document["low"] | {"class_weight": 10**9})
    refused("no tensor", low=document["low"] | {"x": 0})
    refused("'PickleNB'", estimator="PickleNB")
    refused("is no categorical model", estimator="GaussianNB", params={})
    refused("no parameter", params={"__class__": "x"})
    refused("sum of the priors", prior={"given": [0.5, 0.1, 0.1]})
    refused("recursion|damaged", extra=json.loads("[" * 500 + "]" * 500))
    save_file(arrays, path, {KEY: json.dumps(document | {"extra": {"target": "z"}})})
    with pytest.raises(ModelFileError, match="checksum"):
        naively.load(path)


def change(arrays, name, cell, value):
    array = arrays[name].copy()
    array[cell] = value
    return arrays | {name: array}


def test_forged_tensors(tmp_path):
    counted = parts(saved(naively.CategoricalNB().fit(X, Y), tmp_path))
    normal = parts(saved(naively.GaussianNB().fit(X * 0.1, Y), tmp_path))
    binary = parts(saved(naively.BernoulliNB().fit(X, Y), tmp_path))
    path = tmp_path / "forged"

    def refused(match, source, arrays):
        with pytest.raises(ModelFileError, match=match):
            naively.load(forge(path, source[0], arrays))

    total, square = "statistics.0.sum", "statistics.0.square"
    for name, array in normal[1].items():
        rest = {other: value for other, value in normal[1].items() if other != name}
        refused("damaged", normal, rest)
        refused("damaged", normal, rest | {name: array.astype(np.float64)})
        refused("damaged", normal, rest | {name: array.astype(np.int32)})
        refused("damaged", normal, rest | {name: array[:-1].copy()})
        refused("damaged", normal, rest | {name: np.concatenate([array, array])})
        refused("damaged", normal, rest | {name: array.ravel()[:1].reshape(()).copy()})
    refused("digit", normal, change(normal[1], total, (0, 0, 0), -1))
    refused("digit", normal, change(normal[1], total, (0, 0, 0), 1 << 32))
    refused("top limb", normal, change(normal[1], total, (0, 0, -1), 1 << 62))
    refused("negative", normal, change(normal[1], square, (0, 0, -1), -1))
    refused("negative", normal, change(normal[1], "class_weight", (0, 0), -5))
    refused("more rows than", normal, change(normal[1], "statistics.0.missing", (0, 0), 10**6))
    refused("more rows than", binary, change(binary[1], total, (0, 0), 10**6))
    refused("sorted and distinct", normal, change(normal[1], "classes", 0, 2))
    refused("sorted and distinct", counted, change(counted[1], "statistics.0.levels", 0, 3))
    refused("out of range", counted, change(counted[1], "statistics.0.levels", 0, -1))
    refused("do not belong", counted, change(counted[1], "statistics.0.level_counts", 0, 1 << 62))
    wide = np.zeros((3, 4, 401), np.int64)
    refused("no limbs", normal, normal[1] | {total: wide})


def test_claims_of_size_cost_no_memory(tmp_path):
    document, arrays = parts(saved(naively.GaussianNB().fit(X, Y), tmp_path))
    path = tmp_path / "forged"
    for shape in [(3, 2**40, 0), (2**20, 2**20, 0), (3, 2**62, 0)]:
        header = {KEY: json.dumps(document)}
        shapes = {name: list(array.shape) for name, array in arrays.items()}
        text, at = {"__metadata__": header}, 0
        for name, array in arrays.items():
            empty = name.startswith("statistics")
            size = 0 if empty else array.nbytes
            text[name] = {
                "dtype": "I64", "shape": list(shape) if empty else shapes[name],
                "data_offsets": [at, at + size],
            }  # fmt: skip
            at += size
        content = json.dumps(text).encode()
        body = b"".join(a.tobytes() for n, a in arrays.items() if not n.startswith("statistics"))
        path.write_bytes(len(content).to_bytes(8, "little") + content + body)
        assert attempt(path) is None
    # the honest way to claim them: without the padding that an honest writer adds
    claimed = {
        **arrays,
        **{name: np.zeros((3, 2**24, 0), np.int64) for name in arrays if "statistics" in name},
    }
    forged = forge(path, with_block(document, names=2**24), claimed)
    assert attempt(forged) is None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"x",
        b"\0" * 100,
        b"\xff" * 100,
        b"a,b\n1,2\n",
        (2**63).to_bytes(8, "little"),
        (10**6).to_bytes(8, "little") + b"[" * 10**6,
        (2).to_bytes(8, "little") + b"{}",
    ],
    ids=range(8),
)
def test_foreign_files_are_refused(content, tmp_path):
    path = tmp_path / "foreign"
    path.write_bytes(content)
    assert attempt(path) is None


@pytest.mark.parametrize("damage", [
    lambda content: content[:-1], lambda content: content[:100],
    lambda content: content[:-3] + bytes([content[-3] ^ 4]) + content[-2:],
    lambda content: content.replace(b"numpy", b"nympu", 1)[:200],
])  # fmt: skip
def test_damaged_files_say_what_to_do(damage, tmp_path):
    path = saved(naively.GaussianNB().fit(X, Y), tmp_path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ModelFileError, match=r"is a damaged model file: .*; restore a copy") as met:
        naively.load(path)
    assert str(path) in str(met.value)


def test_other_files_are_not_called_damaged(tmp_path):
    path = tmp_path / "a.model"
    for content, problem in ((b"", "is empty"), (b"text,naively\n", "is not a model file")):
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match=problem) as met:
            naively.load(path)
        assert "damaged" not in str(met.value)


def test_what_is_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        naively.load(tmp_path / "nothing")
    assert attempt(tmp_path) is None
    save_file({"a": np.zeros(3)}, tmp_path / "other")
    with pytest.raises(ModelFileError, match="not a model of naively"):
        naively.load(tmp_path / "other")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert attempt(pipe) is None


def test_new_files_have_the_usual_permissions(tmp_path):
    path = saved(naively.GaussianNB().fit(X, Y), tmp_path)
    plain = tmp_path / "plain"
    plain.touch()
    assert path.stat().st_mode == plain.stat().st_mode


@pytest.mark.parametrize("kind", [NaiveBayes, AutoBayes, GaussianNB, BernoulliNB])
def test_labels_of_no_weight_leave_no_trace(kind, tmp_path):
    """Nor do forgotten ones: text of labels is stored no wider than the longest label."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(60, 2))
    y = np.array(["no", "yes"])[(X[:, 0] > 0).astype(int)]
    more, long = np.vstack([X, X[:1]]), np.append(y, "a label that is much longer")
    weights = np.append(np.ones(60), 0.0)
    models = (
        kind().fit(X, y), kind().fit(more, long, sample_weight=weights),
        kind().fit(more, long).forget(more[60:], long[60:]),
    )  # fmt: skip
    files = []
    for model in models:
        model.save(tmp_path / "m")
        files.append((tmp_path / "m").read_bytes())
    assert files[0] == files[1] == files[2]
