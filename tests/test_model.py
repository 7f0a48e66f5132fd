"""Sums are stored once: shared by families, by overlapping blocks, and by processes."""

import pickle
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

import numpy as np
import pyarrow as pa
import pytest
from kit import slow
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from naively import (
    Gaussian,
    GaussianNB,
    Joint,
    LogNormal,
    MultivariateGaussian,
    NaiveBayes,
    Poisson,
    Student,
    Text,
)
from naively.families.registry import FAMILIES
from naively.model.model import Model
from naively.model.prior import Prior
from naively.model.schema import SPECIFIED, Block, Schema
from naively.statistics.powers import Powers
from naively.storage.model_files import Saved, from_bytes, to_bytes
from naively.tables.encoding import encode
from naively.tables.inference import ColumnOptions
from naively.tables.learning import TrainingSpec, merge, plan, summarise
from naively.tables.one_pass import learn
from naively.tables.targets import with_typed_labels

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 3, 90)
X = RNG.normal(Y, 1.0, (4, 90)).T
X[::11, 2] = np.nan
TABLE = pa.table({f"x{k}": X[:, k] for k in range(4)})


def schema(*blocks):
    """A schema of these (family, columns)."""
    names = sorted({name for _, own in blocks for name in own})
    return Schema(tuple(Block(*one) for one in blocks), dict.fromkeys(names, SPECIFIED))


def of_table(*blocks):
    """(a model that learned the table with these blocks, the rows as it takes them)."""
    columns = schema(*blocks)
    rows, _ = encode(columns, TABLE)
    return Model(columns, Prior()).summarise(rows, Y), rows


# ---- sums that are shared ------------------------------------------------------------------------


ALONE = ((Gaussian(), ("x0", "x1")),)
BESIDE = ((Gaussian(), ("x0",)), (Student(), ("x1",)))


@pytest.mark.parametrize(("mine", "theirs"), [(ALONE, BESIDE), (BESIDE, ALONE)])
def test_the_same_sums_add_up_whether_one_block_has_them_or_several(mine, theirs):
    (a, _), (b, _) = of_table(*mine), of_table(*theirs)
    assert a == b
    assert a.read_as(b.schema) == b
    total, twice = a.copy(), a.copy()
    total.absorb(b)
    twice.absorb(a)
    assert total == twice
    assert total != a
    total.forget(b)
    assert total == a
    taken = a.copy()
    taken.absorb(b, schema=b.schema)
    assert taken == twice
    rows = of_table(*theirs)[1]
    assert_array_equal(a.read_as(b.schema).posterior().proba(rows), b.posterior().proba(rows))


def test_blocks_that_cut_the_columns_otherwise_are_refused():
    x = Gaussian(), LogNormal()
    a, _ = of_table((x[0], ("x0", "x1")), (x[1], ("x2",)))
    b, _ = of_table((x[0], ("x0",)), (x[1], ("x1", "x2")))
    before = a.copy()
    with pytest.raises(ValueError, match="blocks of columns differ"):
        a.absorb(b)
    assert a == before


def test_merging_keeps_blocks_that_overlap():
    alone = Gaussian(floor="feature")  # each column by itself
    one, _ = of_table((alone, ("x0", "x1")), (Student(), ("x0",)))
    other, _ = of_table((alone, ("x0", "x1", "x2")))
    blocks = merge(one, other).schema.blocks
    assert [(block.family.name, block.names) for block in blocks] == [
        ("gaussian", ("x0", "x1", "x2")),
        ("student", ("x0",)),
    ]


def test_labels_that_become_equal_add_pooled_sums_once():
    columns = schema((MultivariateGaussian(tied=True), ("x0", "x1", "x3")))
    rows, _ = encode(columns, TABLE)
    written = np.array(["0", "0.0", "1", "1.0"])[2 * (Y > 0) + RNG.integers(0, 2, 90)]
    many = with_typed_labels(Model(columns, Prior(), untyped=True).summarise(rows, written))
    assert many == Model(columns, Prior()).summarise(rows, (Y > 0).astype(int))


OVERLAPPING = (
    (Gaussian(floor="feature"), ("x0", "x1", "x2")),
    (Student(), ("x1", "x3")),
    (Student(mean_rows=3.0), ("x3",)),
    (MultivariateGaussian(), ("x0", "x3")),
)


def test_columns_are_counted_once_a_summary():
    model, _ = of_table(*OVERLAPPING)
    powers, products = model.schema.parts
    assert powers.summary == Powers()
    assert tuple(powers.names) == ("x0", "x1", "x2", "x3")
    assert tuple(products.names) == ("x0", "x3")
    assert len(model.parts) == 2
    alone, _ = of_table((Gaussian(), ("x0", "x1", "x2", "x3")))
    assert model.parts[0] == alone.statistics


def test_blocks_that_overlap_add_up():
    model, rows = of_table(*OVERLAPPING)
    posterior = model.posterior()
    expected = np.zeros((len(Y), 3)) + posterior.log_prior
    contributions = np.zeros((len(Y), 3, 4))
    for family, names in OVERLAPPING:
        own, X = of_table((family, names))
        expected += own.posterior().joint_log_proba(X) - own.posterior().log_prior
        columns = [list(posterior.schema.names).index(name) for name in names]
        contributions[:, :, columns] += own.posterior().explain(X).contributions
    assert_allclose(posterior.joint_log_proba(rows), expected, rtol=1e-12)
    explained = posterior.explain(rows)
    assert_allclose(explained.contributions, contributions, rtol=1e-12)
    assert_allclose(explained.joint, posterior.joint_log_proba(rows), rtol=1e-9)
    again = from_bytes(to_bytes(Saved(model))).model
    assert again == model
    assert_array_equal(again.posterior().joint_log_proba(rows), posterior.joint_log_proba(rows))
    half = model.summarise(rows[:40], Y[:40])
    half.absorb(model.summarise(rows[40:], Y[40:]))
    assert half == model
    half.forget(model.summarise(rows[40:], Y[40:]))
    assert half == model.summarise(rows[:40], Y[:40])


PAIRS = [(a, b) for a in FAMILIES for b in FAMILIES]
SHARING = [(a, b) for a, b in PAIRS if FAMILIES[a]().summary == FAMILIES[b]().summary]


TAKE_ARRAYS = [p for p in SHARING if p[0] not in ("text", "weighed_text", "pooled_text", "joint")]


@pytest.mark.parametrize(("name", "other"), TAKE_ARRAYS)
def test_families_of_one_summary_read_the_same_sums(name, other):
    mine, theirs = FAMILIES[name](), FAMILIES[other]()
    rows = np.abs(np.floor(4 * X)) + 1
    learned = Model(Schema.of_array(mine, 4), Prior()).summarise(rows, Y)
    stored = from_bytes(to_bytes(Saved(learned))).model
    read = stored.read_as(Schema.of_array(theirs, 4))
    direct = Model(Schema.of_array(theirs, 4), Prior()).summarise(rows, Y)
    assert read == direct == learned
    assert_array_equal(
        read.posterior().joint_log_proba(rows), direct.posterior().joint_log_proba(rows)
    )
    learned.absorb(direct)  # they add up
    assert learned.class_weight.rounded().sum() == 2 * len(Y)


def test_families_of_other_summaries_read_no_sums():
    for name, other in set(PAIRS) - set(SHARING):
        mine, theirs = (Schema.of_array(FAMILIES[one](), 1) for one in (name, other))
        with pytest.raises(ValueError, match=f"{theirs.blocks[0].family.name} and {name}"):
            Model(mine, Prior()).read_as(theirs)


# ---- bytes ---------------------------------------------------------------------------------------


def test_what_cannot_be_estimated_is_stored():
    singular = Model(Schema.of_array(MultivariateGaussian(), 4), Prior())
    few = singular.summarise(X[:3], Y[:3])
    with pytest.raises(ValueError, match="is singular"):
        few.posterior()
    assert from_bytes(to_bytes(Saved(few))).model == few
    priors = GaussianNB(priors=[0.5, 0.5]).fit(X[Y < 2], Y[Y < 2]).forget(X[Y == 0], Y[Y == 0])
    again = from_bytes(to_bytes(Saved(priors.model_))).model
    assert again == priors.model_
    with pytest.raises(ValueError, match="Number of priors"):
        again.posterior()


def test_bytes_need_no_estimator():
    model, _ = of_table(*OVERLAPPING)
    saved = from_bytes(to_bytes(Saved(model)))
    assert (saved.estimator, saved.params) == ("", {})
    assert to_bytes(Saved(model)) == to_bytes(Saved(from_bytes(to_bytes(Saved(model))).model))
    with pytest.raises(ValueError, match="a checkpoint is not a model file"):
        from_bytes(b"nothing", "a checkpoint")


# ---- plan, summarise, merge ----------------------------------------------------------------------

WORDS = ["free", "prize", "lunch", "noon", "money", "meeting"]
TEXTS = [" ".join(RNG.choice(WORDS, 4)) for _ in range(90)]
MIXED = TABLE.append_column("t", pa.array(TEXTS)).append_column(
    "y", pa.array(["a", "b", "c"]).take(pa.array(Y))
)
SPEC = TrainingSpec("y", ColumnOptions({"t": Text(weighting="tfidf"), "x3": "discretized"}))


def counted(made, content):
    """What another process makes of a batch: bytes to bytes."""
    batch = pa.ipc.open_stream(content).read_all()
    return to_bytes(Saved(summarise(made, batch)))


def stream_of(batch):
    """A table as bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_table(batch)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize("processes", [0, *slow(2)])
def test_anybody_plans_counts_and_merges(processes):
    made = plan([MIXED], SPEC)
    whole, _ = learn([lambda: MIXED.combine_chunks().to_batches()[0]], SPEC, 1)
    batches = [stream_of(MIXED.slice(at, 25)) for at in (50, 0, 75, 25)]
    if processes:
        with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
            parts = list(pool.map(counted, [made] * 4, batches))
    else:
        parts = [counted(pickle.loads(pickle.dumps(made)), batch) for batch in batches]
    total = made.blank.copy()
    for part in parts:
        total = merge(total, from_bytes(part).model)
    assert total == whole
    assert to_bytes(Saved(replace(total, untyped=False))) == to_bytes(Saved(whole))


def test_batches_are_added_in_the_order_of_the_stream():
    """Rare words are dropped as they come, so the order shows."""
    texts = [f"w{k % 37} v{k % 11} u{k}" for k in range(4000)]
    table = pa.table({"t": texts, "y": [["a", "b"][k % 2] for k in range(4000)]})
    spec = TrainingSpec("y", ColumnOptions({"t": Text(max_terms=300)}))
    found = []
    for threads in (1, 4):
        tasks = [(lambda at=at: table.slice(at, 50).to_batches()[0]) for at in range(0, 4000, 50)]
        found.append(to_bytes(Saved(learn(tasks, spec, threads)[0])))
    assert found[0] == found[1]


# ---- classes that are left out early -------------------------------------------------------------


def test_a_block_among_others_leaves_classes_out():
    y = RNG.integers(0, 5, 600)
    wide = RNG.normal(0.4 * y[:, None], 1.0, (600, 70))
    table = {f"x{k}": wide[:, k] for k in range(70)} | {"level": np.array(list("abcab"))[y]}
    together = {tuple(f"x{k}" for k in range(70)): MultivariateGaussian(shrinkage=0.2)}
    model = NaiveBayes(together | {"level": "categorical"}).fit(table, y)
    joint = model.predict_joint_log_proba(table)
    assert_array_equal(model.predict(table), model.classes_[joint.argmax(axis=1)])
    assert_allclose(model.predict_proba(table), np.exp(model.predict_log_proba(table)), atol=1e-12)
    (_, part), _ = model.model_.posterior().blocks
    assert part.leaves_out
    out = np.empty((5, 600))
    rows, _ = encode(model.model_.schema, pa.table(table))
    posterior = model.model_.posterior()
    posterior.parameters.leading(rows, 0, 600, posterior.log_prior[:, None], 0.0, out)
    assert np.isneginf(out).any()  # they were not scored to the end


# ---- Student's t ---------------------------------------------------------------------------------


def test_student_is_the_posterior_predictive():
    family = Student(mean=0.5, mean_rows=2.0, deviation=1.5, deviation_rows=3.0)
    model = Model(Schema.of_array(family, 4), Prior()).summarise(X, Y)
    parameters = model.posterior().parameters
    found = parameters.contributions(X)
    for c in range(3):
        for j in range(4):
            x = X[c == Y, j]
            x = x[~np.isnan(x)]
            n, k, nu = len(x), 2.0 + len(x), 3.0 + len(x)
            mu = (2.0 * 0.5 + x.sum()) / k
            total = 3.0 * 1.5**2 + n * x.var() + 2.0 * n / k * (x.mean() - 0.5) ** 2
            scale = np.sqrt(total / nu * (1 + 1 / k))
            seen = ~np.isnan(X[:, j])
            expected = stats.t.logpdf(X[seen, j], nu, mu, scale)
            assert_allclose(found[seen, c, j], expected, rtol=1e-9, atol=1e-12)
    assert_array_equal(found[np.isnan(X[:, 2]), :, 2], 0.0)


def test_student_with_many_rows_is_gaussian():
    many = np.tile(X, (2000, 1))
    y = np.tile(Y, 2000)
    found = [
        Model(Schema.of_array(one, 4), Prior()).summarise(many, y).posterior().log_proba(X)
        for one in (Gaussian(), Student())
    ]
    assert_allclose(*found, atol=1e-2)


def test_student_scores_what_a_class_never_had():
    rows = np.array([[1.0, 5.0], [2.0, 5.0], [np.nan, 5.0]])
    model = NaiveBayes({"x0": Student(), "x1": Student()}).fit(rows, [0, 0, 1])
    ((_, part),) = model.model_.posterior().blocks
    assert part.freedom[1, 0] == 1.0  # the prior's own
    assert part.location[1, 0] == 1.5
    assert_array_equal(part.contributions(rows)[:, 0, 1], part.contributions(rows)[:, 1, 1])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [({"mean": np.inf}, "mean"), ({"mean_rows": 0}, "mean_rows"), ({"deviation": 0.0}, "deviation"),
     ({"deviation_rows": -1.0}, "deviation_rows"), ({"deviation_rows": np.nan}, "deviation_rows")],
)  # fmt: skip
def test_priors_that_student_refuses(wrong, said):
    with pytest.raises(ValueError, match=f"^{said} must be"):
        Student(**wrong)


def test_pickled_schemas_are_equal():
    columns = schema(*OVERLAPPING[:2], (Joint(), ("x2", "x3")), (Poisson(), ("x0",)))
    assert pickle.loads(pickle.dumps(columns)) == columns
