"""The laws of the design, over every family: data and operations are drawn, nothing is mocked."""

import numpy as np
import pytest
from hypothesis import example, given, note
from hypothesis import strategies as st
from kit import CLASSIFIERS, ONE_EACH, assert_same, domain, new, numbers, state
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import naively

every_classifier = pytest.mark.parametrize("name", CLASSIFIERS)
one_each_family = pytest.mark.parametrize("name", ONE_EACH)
NAN = float("nan")

# ---- what is drawn -------------------------------------------------------------------------------

SIZES = [0.0, 1.0, 3.0, 0.1, 1 / 3, 1e8, 1e8 + 1, 1e-300, 1e300, 5e-324, 2.0**60 + 256, 1.7e308]
HOSTILE = {
    "reals": st.sampled_from(SIZES + [-x for x in SIZES])
    | st.floats(allow_nan=False, allow_infinity=False),
    "counts": st.sampled_from(SIZES) | st.floats(0, allow_infinity=False),
    "fractions": st.sampled_from([0.0, 1.0, 0.5, 0.1, 5e-324, 1e-300]) | st.floats(0, 1),
    "levels": st.sampled_from([0.0, 1.0, 2.0, 3.0, 5.0, 40.0, 1e6, 2.0**40]),
}
TAME = {
    "reals": st.integers(-40, 40).map(lambda k: k / 8),
    "counts": st.integers(0, 40).map(lambda k: k / 4),
    "fractions": st.integers(0, 8).map(lambda k: k / 8),
    "levels": st.integers(0, 4).map(float),
}
WEIGHTS = st.sampled_from([0.0, 1.0, 1.0, 2.0, 0.1, 1e-300, 5e-324, 1e8 + 1 / 3, 1e200])


@st.composite
def tables(draw, values, missing=True, labels=3, least=1, most=12):
    """(X, y) of a few rows and columns."""
    d = draw(st.integers(1, 4))
    cell = values | st.just(NAN) if missing else values
    row = st.tuples(st.lists(cell, min_size=d, max_size=d), st.integers(0, labels - 1))
    rows = draw(st.lists(row, min_size=least, max_size=most))
    return np.array([x for x, _ in rows]), np.array([label for _, label in rows])


@st.composite
def forms(draw, X):
    """The same numbers as another kind of array."""
    kinds = ["C", "F", "strided", "reversed", "list", "csr", "csc", "read-only", "big-endian"]
    with np.errstate(over="ignore"):
        if np.array_equal(X.astype(np.float32), X, equal_nan=True):
            kinds.append("float32")
    if (np.abs(X) < 100).all() and (np.floor(X) == X).all():
        kinds += ["int8", "int64"]
    kind = draw(st.sampled_from(kinds))
    if kind == "strided":
        return np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3]
    if kind == "reversed":
        return X[::-1, ::-1].copy()[::-1, ::-1]
    if kind == "csr":
        return sparse.csr_array(X)
    if kind == "csc":
        return sparse.csc_matrix(X)
    if kind == "list":
        return X.tolist()
    if kind == "read-only":
        X = X.copy()
        X.flags.writeable = False
        return X
    if kind == "big-endian":
        return X.astype(">f8")
    if kind in ("C", "F"):
        return np.array(X, order=kind)
    return X.astype(kind)


def learn(classifier, X, y, weights=None):
    """partial_fit, which refuses rows that all weigh nothing: they are absent."""
    if weights is None or np.any(weights):
        classifier.partial_fit(X, y, sample_weight=weights)
    return classifier


def rows_of(data, domain):
    """Hostile rows to score, as many columns as `data` has."""
    values = HOSTILE[domain]
    d = data.shape[1]
    return st.lists(st.lists(values, min_size=d, max_size=d), min_size=1, max_size=4).map(np.array)


# ---- 1. training is addition ---------------------------------------------------------------------


@every_classifier
@given(data=st.data())
def test_any_split_order_and_form_gives_the_same_model(name, data):
    X, y = data.draw(tables(HOSTILE[domain(name)]))
    weights = data.draw(st.none() | st.lists(WEIGHTS, min_size=len(y), max_size=len(y)))
    weights = None if weights is None else np.array(weights)
    if weights is not None and not weights.any():
        weights[0] = 1.0
    whole = new(name, n_jobs=1).partial_fit(X, y, sample_weight=weights)

    order = np.array(data.draw(st.permutations(range(len(y)))))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(y)), max_size=4)))
    pieces = [piece for piece in np.split(order, cuts) if len(piece)]
    n_jobs = data.draw(st.sampled_from([None, 1, 3]))
    total = None
    for piece in pieces:
        w = None if weights is None else weights[piece]
        if w is None and data.draw(st.booleans()):
            w = np.ones(len(piece))
        if w is not None and not w.any():
            continue
        rows = data.draw(forms(X[piece]))
        if total is not None and data.draw(st.booleans()):
            learn(total, rows, y[piece], w)
        else:
            part = learn(new(name, n_jobs=n_jobs), rows, y[piece], w)
            total = part if total is None else total + part
    assert_same(whole, total, np.vstack([X, data.draw(rows_of(X, domain(name)))]))


def awkward(pattern, n, d, rng):
    """Rows that lead the bulk kernels off their fast path."""
    X = rng.normal(size=(n, d))
    if pattern == "offset":
        X += 1e8
    elif pattern == "growing":  # each part of another magnitude, up and down again
        X *= 10.0 ** np.repeat([0, 40, -60, 3, 100, -100], -(-n // 6))[:n, None]
    elif pattern == "extreme in the middle":
        X[n // 2, 1] = 1e300
        X[n // 2 + 1, 0] = 1e-300
        X[n // 2 + 2, 2] = 5e-324
    elif pattern == "heavy tails":
        X = rng.standard_cauchy((n, d)) ** 3
    elif pattern == "columns of all scales":
        X *= 10.0 ** np.linspace(-110, 110, d)
    elif pattern == "zeros then numbers":
        X[: n // 2] = 0.0
        X[:, 0] = 0.0
    elif pattern == "missing":
        X[rng.random((n, d)) < 0.3] = np.nan
        X[:, 1] = np.nan
    elif pattern == "float32":
        X = X.astype(np.float32)
    elif pattern == "integers":
        X = rng.integers(-100, 100, (n, d)).astype(np.int16)
    return X


PATTERNS = [
    "normal", "offset", "growing", "extreme in the middle", "heavy tails", "columns of all scales",
    "zeros then numbers", "missing", "float32", "integers",
]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
@one_each_family
def test_bulk_kernels_agree_with_single_deposits(name, pattern):
    rng = np.random.default_rng(len(pattern))
    n = 24_001
    X = awkward(pattern, n, 12, rng)
    y = np.where(np.arange(n) < n // 2, rng.integers(0, 3, n), rng.integers(0, 2, n))
    if domain(name) == "counts":
        X = abs(X)
    elif domain(name) == "levels":
        X = abs(X.astype(np.float64) % 37 // 1)
    bulk = new(name, n_jobs=1).fit(X, y)
    one_by_one = new(name, n_jobs=1).fit(X, y, sample_weight=np.ones(n))
    assert_same(bulk, one_by_one, X[:500])
    for n_jobs in (2, 5):
        assert_same(bulk, new(name, n_jobs=n_jobs).fit(np.asfortranarray(X), y), X[:500])
    halves = new(name).fit(X[: n // 3], y[: n // 3]) + new(name).fit(X[n // 3 :], y[n // 3 :])
    assert_same(bulk, halves, X[:500])
    empty = halves.forget(X[::-1][:-50], y[::-1][:-50])
    assert_same(empty, new(name).fit(X[:50], y[:50]), X[:50])


@one_each_family
def test_a_stream_of_single_rows_is_a_batch(name):
    rng = np.random.default_rng(7)
    X = awkward("heavy tails", 5100, 3, rng)
    X[2500] *= 1e290
    y = rng.integers(0, 3, len(X))
    if domain(name) == "counts":
        X = abs(X)
    elif domain(name) == "levels":
        X = abs(X % 11 // 1)
    stream = new(name, n_jobs=1)
    for i in range(len(X)):
        stream.partial_fit(X[i : i + 1], y[i : i + 1])
    assert_same(new(name).fit(X, y), stream, X)


@every_classifier
def test_a_score_does_not_depend_on_the_other_rows(name):
    X, y = numbers(domain(name), 300, 5)
    classifier = new(name, n_jobs=3).fit(X, y)
    together = classifier.predict_joint_log_proba(np.tile(X, (100, 1)))[:300]
    alone = np.vstack([classifier.predict_joint_log_proba(X[i : i + 1]) for i in range(300)])
    assert_array_equal(together, alone)


# ---- 2. forgetting is subtraction ----------------------------------------------------------------


@every_classifier
@given(data=st.data())
def test_forgetting_undoes_learning(name, data):
    X, y = data.draw(tables(HOSTILE[domain(name)], least=2))
    weights = np.array(data.draw(st.lists(WEIGHTS.filter(bool), min_size=len(y), max_size=len(y))))
    cut = data.draw(st.integers(1, len(y) - 1))
    a, b = slice(0, cut), slice(cut, None)
    alone = new(name).partial_fit(X[a], y[a], sample_weight=weights[a])
    both = new(name).partial_fit(X, y, sample_weight=weights)
    both.forget(data.draw(forms(X[b])), y[b], sample_weight=weights[b])
    assert_same(alone, both, X)


@every_classifier
@given(data=st.data())
def test_more_than_was_learned_is_not_forgotten(name, data):
    X, y = data.draw(tables(HOSTILE[domain(name)]))
    classifier = new(name).partial_fit(X, y)
    before = state(classifier)
    extra = data.draw(st.integers(0, len(y) - 1))
    rows = np.append(np.arange(len(y)), extra)
    for labels in (y[rows], y[rows] + 1, y[rows] + 10):
        with pytest.raises(ValueError, match="cannot forget what was never learned"):
            classifier.forget(X[rows], labels)
        assert state(classifier) == before


UNKNOWN = {
    "other counts": ("multinomial", [[5, 0], [0, 5]], [0, 1], [[3, 0]], [0]),
    "other counts, complement": ("complement", [[5, 0], [0, 5]], [0, 1], [[3, 0]], [0]),
    "other counts, Poisson": ("poisson", [[5, 0], [0, 5]], [0, 1], [[3, 0]], [0]),
    "larger counts": ("poisson", [[5, 0], [2, 1], [0, 5]], [0, 0, 1], [[8, 0]], [0]),
    "absent for present": ("bernoulli", [[1, 0], [0, 1]], [0, 1], [[0, 0]], [0]),
    "present for absent": ("bernoulli", [[0, 0], [0, 0], [0, 1]], [0, 0, 1], [[1, 0]], [0]),
    "another level": ("categorical", [[1], [0], [2]], [0, 0, 1], [[2]], [0]),
    "another number": ("gaussian-None-0", [[1], [2], [3]], [0, 1, 1], [[5]], [0]),
    "numbers too far apart": ("gaussian-None-0", [[1], [2], [3]], [0, 0, 1], [[9]], [0]),
    "present for missing": (
        "gaussian-None-0",
        [[NAN], [NAN], [0], [1]],
        [0, 0, 0, 1],
        [[0], [0]],
        [0, 0],
    ),
    "present for missing, Poisson": (
        "poisson",
        [[NAN], [NAN], [0], [1]],
        [0, 0, 0, 1],
        [[0], [0]],
        [0, 0],
    ),
    "present for missing, multinomial": (
        "multinomial",
        [[NAN], [NAN], [0], [1]],
        [0, 0, 0, 1],
        [[0], [0]],
        [0, 0],
    ),
    "missing for present": ("gaussian-None-0", [[1], [2], [3]], [0, 0, 1], [[NAN]], [0]),
    "numbers of a missing value": (
        "gaussian-None-0",
        [[NAN], [2], [3]],
        [0, 0, 1],
        [[NAN], [3]],
        [0, 0],
    ),
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_what_was_never_learned_is_not_forgotten(case):
    name, X, y, rows, labels = UNKNOWN[case]
    classifier = new(name).fit(np.array(X, float), y)
    before = state(classifier)
    with pytest.raises(ValueError, match="cannot forget what was never learned"):
        classifier.forget(np.array(rows, float), labels)
    assert state(classifier) == before


@one_each_family
def test_forgetting_keeps_classes_that_were_announced(name):
    X, y = numbers(domain(name), 20, 3)
    alone = new(name).partial_fit(X[:10], y[:10] % 2, classes=[0, 1, 9])
    both = new(name).partial_fit(X[:10], y[:10] % 2, classes=[0, 1, 9])
    both.partial_fit(X[10:], y[10:] % 2).forget(X[10:], y[10:] % 2)
    assert_same(alone, both, X)


# ---- 3. weights are repetitions ------------------------------------------------------------------


@every_classifier
@given(data=st.data())
def test_a_weight_is_that_many_rows(name, data):
    X, y = data.draw(tables(HOSTILE[domain(name)]))
    times = np.array(data.draw(st.lists(st.integers(0, 5), min_size=len(y), max_size=len(y))))
    times[0] += 1
    weighted = new(name).partial_fit(X, y, sample_weight=times)
    repeated = new(name).partial_fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert_same(weighted, repeated, X)


@every_classifier
@given(data=st.data())
def test_weights_of_one_row_add_up(name, data):
    X, y = data.draw(tables(HOSTILE[domain(name)]))
    eighths = st.lists(st.integers(1, 40), min_size=len(y), max_size=len(y))
    first, second = (np.array(data.draw(eighths)) / 8 for _ in range(2))
    once = new(name).partial_fit(X, y, sample_weight=first + second)
    twice = new(name).partial_fit(X, y, sample_weight=first)
    twice.partial_fit(X[::-1], y[::-1], sample_weight=second[::-1])
    assert_same(once, twice, X)


@every_classifier
def test_rows_without_weight_may_hold_anything(name):
    X, y = numbers(domain(name), 30, 3)
    fitted = new(name).fit(X, y)
    bad = np.vstack([np.full((1, 3), np.inf), X, np.full((1, 3), -1e300)])
    weights = np.r_[0.0, np.ones(30), 0.0]
    assert_same(fitted, new(name).fit(bad, np.r_[7, y, 8], sample_weight=weights), X)


# ---- 4. names and places carry no meaning --------------------------------------------------------


def learned(classifier):
    """What was learned of each feature, as a list of arrays (C, ...), one a feature."""
    if isinstance(classifier, naively.CategoricalNB):
        return classifier.category_count_
    if isinstance(classifier, naively.GaussianNB):
        return list(np.moveaxis([classifier.theta_, classifier.var_], 2, 0))
    return list(classifier.feature_count_.T)


@every_classifier
@given(data=st.data())
def test_permuted_features_give_the_permuted_model(name, data):
    kind = domain(name)  # category_count_ has a column for every code: let them be few
    X, y = data.draw(tables(TAME[kind] if kind == "levels" else HOSTILE[kind]))
    order = data.draw(st.permutations(range(X.shape[1])))
    plain = learned(new(name).partial_fit(X, y))
    permuted = learned(new(name).partial_fit(X[:, order], y))
    for j, k in enumerate(order):
        assert_array_equal(permuted[j], plain[k])


@every_classifier
@given(data=st.data())
def test_permuted_features_give_the_same_scores(name, data):
    X, y = data.draw(tables(TAME[domain(name)]))
    order = data.draw(st.permutations(range(X.shape[1])))
    plain = new(name).partial_fit(X, y).predict_joint_log_proba(X)
    permuted = new(name).partial_fit(X[:, order], y).predict_joint_log_proba(X[:, order])
    assert_allclose(permuted, plain, rtol=1e-12, atol=1e-12)


@every_classifier
@given(data=st.data())
def test_renamed_classes_give_the_permuted_model(name, data):
    X, y = data.draw(tables(HOSTILE[domain(name)]))
    names = np.array(data.draw(st.permutations(["a", "bcd", "é"])))
    plain = new(name).partial_fit(X, y)
    renamed = new(name).partial_fit(X, names[y])
    order = np.searchsorted(renamed.classes_, names[plain.classes_])
    assert_array_equal(
        renamed.predict_joint_log_proba(X)[:, order], plain.predict_joint_log_proba(X)
    )


# ---- 5. posteriors are probabilities -------------------------------------------------------------


def assert_probabilities(classifier, X):
    p = classifier.predict_proba(X)
    assert ((p >= 0) & (p <= 1)).all()
    assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    log_p = classifier.predict_log_proba(X)
    assert not np.isnan(log_p).any()
    assert_allclose(np.exp(log_p), p, rtol=1e-9, atol=1e-300)
    rows = np.arange(len(p))
    best = np.searchsorted(classifier.classes_, classifier.predict(X))
    assert_array_equal(log_p[rows, best], log_p.max(axis=1))


@every_classifier
@given(data=st.data())
def test_posteriors_are_probabilities(name, data):
    X, y = data.draw(tables(HOSTILE[domain(name)]))
    weights = data.draw(
        st.none() | st.lists(WEIGHTS.filter(bool), min_size=len(y), max_size=len(y))
    )
    classifier = new(name).partial_fit(X, y, sample_weight=weights)
    probe = np.vstack([X, data.draw(rows_of(X, domain(name)))])
    assert_probabilities(classifier, probe)
    assert_probabilities(classifier, sparse.csr_array(probe))


@pytest.mark.parametrize("sizes", [(1e308, 1e308), (1.7e308, 0), (0, 1.7e308), (1e300, 1e-300)])
@every_classifier
def test_a_plain_model_survives_extreme_rows(name, sizes):
    kind = domain(name)
    classifier = new(name).fit(*numbers(kind, 60, 2))
    rows = np.array([sizes])
    if kind == "fractions":
        rows = rows / 1.7e308
    elif kind == "levels":
        rows = np.minimum(rows // 1, 2.0**52)
    assert_probabilities(classifier, rows)
    if kind == "reals":
        assert_probabilities(classifier, -rows)


@every_classifier
def test_eight_hundred_features_leave_the_range_of_float64_alone(name):
    X, y = numbers(domain(name), 100, 800)
    classifier = new(name).fit(X, y)
    assert_probabilities(classifier, X)
    if not name.startswith("complement"):
        assert (classifier.predict(X) == y).mean() > 0.9


# ---- 6. explanations add up ----------------------------------------------------------------------


@every_classifier
@given(data=st.data())
def test_contributions_sum_to_the_joint_log_likelihood(name, data):
    X, y = data.draw(tables(TAME[domain(name)]))
    classifier = new(name).partial_fit(X, y)
    rows = data.draw(forms(X))
    explained = classifier.explain(rows)
    joint = classifier.predict_joint_log_proba(rows)
    assert explained.contributions.shape == (len(X), len(classifier.classes_), X.shape[1])
    size = abs(explained.contributions).sum(axis=2).max(initial=1.0, where=np.isfinite(joint))
    assert_allclose(explained.joint, joint, rtol=1e-12, atol=1e-13 * size)
    labels = classifier.classes_.tolist()
    if len(labels) > 1:
        prior, parts = explained.log_odds(labels[0], labels[-1])
        possible = np.isfinite(joint).all(axis=1)
        odds = classifier.predict_log_proba(rows)
        assert_allclose(
            prior[possible] + parts[possible].sum(axis=1),
            odds[possible, 0] - odds[possible, -1], rtol=1e-9, atol=1e-12 * size,
        )  # fmt: skip


# ---- 7. a missing value drops its feature --------------------------------------------------------


@every_classifier
@given(data=st.data())
def test_a_missing_value_drops_its_feature_from_the_score(name, data):
    X, y = data.draw(tables(TAME[domain(name)], missing=False))
    classifier = new(name).partial_fit(X, y)
    j = data.draw(st.integers(0, X.shape[1] - 1))
    holed = X.copy()
    holed[:, j] = np.nan
    explained = classifier.explain(X)
    others = np.delete(explained.contributions, j, axis=2)
    for rows in (holed, sparse.csr_array(holed)):
        joint = classifier.predict_joint_log_proba(rows)
        assert_allclose(joint, explained.prior + others.sum(axis=2), rtol=1e-11, atol=1e-11)


@every_classifier
def test_a_row_of_missing_values_gets_the_prior(name):
    X, y = numbers(domain(name), 50, 3)
    classifier = new(name).fit(X, y)
    prior = np.bincount(y) / 50
    assert_allclose(classifier.predict_proba(np.full((2, 3), np.nan)), [prior, prior], rtol=1e-12)


INDEPENDENT = [
    "gaussian-None-1",
    "gaussian-classes-0",
    "gaussian-feature-floor",
    "bernoulli",
    "bernoulli-soft",
    "categorical",
    "poisson",
]


@pytest.mark.parametrize("name", INDEPENDENT)
@given(data=st.data())
def test_a_feature_is_learned_from_the_rows_that_have_it(name, data):
    X, y = data.draw(tables(TAME[domain(name)]))
    every_label = np.arange(3)
    parameters = {"var_smoothing": 1e-3} if name == "gaussian-feature-floor" else {}
    if name in ("gaussian-None-1", "gaussian-classes-0"):
        parameters = {"var_smoothing": 0.0}  # no variance shared by the features
    whole = new(name, **parameters).partial_fit(X, y, classes=every_label)
    probe = np.nan_to_num(X)
    contributions = whole.explain(probe).contributions
    for j in range(X.shape[1]):
        seen = ~np.isnan(X[:, j])
        if seen.any():
            alone = new(name, **parameters)
            alone.partial_fit(X[seen, j : j + 1], y[seen], classes=every_label)
            one = alone.explain(probe[:, j : j + 1]).contributions
            assert_array_equal(one[:, :, 0], contributions[:, :, j])


@pytest.mark.parametrize("name", ["multinomial", "complement"])
@given(data=st.data())
def test_a_missing_count_teaches_nothing(name, data):
    X, y = data.draw(tables(TAME["counts"]))
    holed, filled = new(name).partial_fit(X, y), new(name).partial_fit(np.nan_to_num(X), y)
    assert_array_equal(holed.feature_log_prob_, filled.feature_log_prob_)


# ---- 8. samples teach what drew them -------------------------------------------------------------

DRAWN = 40_000
FAR = 5.0  # standard errors; the seeds are fixed


def drawn(name, **parameters):
    """(a classifier, another one that learned only what the first one drew)."""
    first = new(name, **parameters).fit(*numbers(domain(name), 300, 4, seed=3))
    X, y = first.sample(DRAWN, random_state=11)
    return first, new(name, **parameters).fit(X, y)


@pytest.mark.parametrize(
    "name", ["gaussian-None-0", "gaussian-classes-0", "gaussian-features-1", "gaussian-both-0"]
)
def test_normal_samples_teach_their_parameters(name):
    first, second = drawn(name)
    n = second.class_count_[:, None]
    assert (abs(second.theta_ - first.theta_) < FAR * np.sqrt(first.var_ / n)).all()
    assert (abs(second.var_ / first.var_ - 1) < FAR * np.sqrt(2 / n)).all()


@pytest.mark.parametrize("name", ["bernoulli", "bernoulli-unsmoothed", "bernoulli-soft"])
def test_yes_or_no_samples_teach_their_parameters(name):
    first, second = drawn(name)
    p, n = np.exp(first.feature_log_prob_), second.class_count_[:, None]
    error = abs(np.exp(second.feature_log_prob_) - p)
    assert (error <= FAR * np.sqrt(p * (1 - p) / n) + 3 / n).all()


@pytest.mark.parametrize("name", ["multinomial", "complement"])
def test_samples_of_counts_teach_their_parameters(name):
    first, second = drawn(name)
    source = new("multinomial").fit(*numbers("counts", 300, 4, seed=3))
    theta = np.exp(source.feature_log_prob_)
    counts = second.feature_count_
    total = counts.sum(axis=1, keepdims=True)
    assert (abs(counts / total - theta) < FAR * np.sqrt(theta * (1 - theta) / total)).all()
    assert_allclose(np.exp(first.class_log_prior_), np.exp(second.class_log_prior_), atol=0.02)


def test_poisson_samples_teach_their_rates():
    first, second = drawn("poisson")
    n = second.class_count_[:, None]
    error = abs(second.feature_rate_ - first.feature_rate_)
    assert (error < FAR * np.sqrt(first.feature_rate_ / n) + 3 / n).all()


def test_samples_of_levels_teach_their_parameters():
    first, second = drawn("categorical")
    for before, after in zip(first.feature_log_prob_, second.feature_log_prob_, strict=True):
        p, n = np.exp(before), second.class_count_[:, None]
        assert (abs(np.exp(after) - p) < FAR * np.sqrt(p * (1 - p) / n) + 5 / n).all()


@every_classifier
def test_labels_are_drawn_from_the_prior(name):
    first, second = drawn(name)
    p = first.class_count_ / first.class_count_.sum()
    assert (abs(second.class_count_ / DRAWN - p) < FAR * np.sqrt(p * (1 - p) / DRAWN)).all()


@one_each_family
def test_a_sample_is_repeatable(name):
    first, _ = drawn(name)
    (X, y), (X2, y2) = first.sample(20, random_state=5), first.sample(20, random_state=5)
    assert_array_equal(X, X2)
    assert_array_equal(y, y2)


# ---- 9. a file holds the model -------------------------------------------------------------------


@every_classifier
def test_a_loaded_model_is_the_saved_one(name, tmp_path):
    X, y = numbers(domain(name), 80, 4)
    X[3, 1] = np.nan
    saved = new(name).fit(X, np.array(["é", "b", "c"])[y], sample_weight=np.linspace(0.1, 3, 80))
    saved.save(tmp_path / "model")
    loaded = naively.load(tmp_path / "model")
    assert type(loaded) is type(saved)
    assert loaded.get_params() == saved.get_params()
    assert_same(saved, loaded, X)
    saved.partial_fit(X[:5], ["d"] * 5)
    loaded.partial_fit(X[:5], ["d"] * 5)
    assert_same(saved, loaded, X)


# ---- the laws in any sequence --------------------------------------------------------------------

STEPS = st.lists(
    st.tuples(st.sampled_from(["learn", "add", "forget", "copy"]), st.integers(0, 5)), max_size=10
)


@one_each_family
@given(data=st.data())
def test_any_sequence_of_operations_leaves_the_rows_that_remain(name, data):
    X, y = data.draw(tables(HOSTILE[domain(name)], least=6, most=6))
    classifier = new(name).partial_fit(X[:1], y[:1])
    held = [0]
    for step, i in data.draw(STEPS):
        row, label = X[i : i + 1], y[i : i + 1]
        if step == "learn":
            classifier.partial_fit(row, label)
            held.append(i)
        elif step == "add":
            before = state(classifier)
            total = classifier + new(name).partial_fit(row, label)
            assert state(classifier) == before  # the parts are as they were
            classifier = total
            held.append(i)
        elif step == "forget" and i in held and len(held) > 1:
            classifier.forget(row, label)
            held.remove(i)
        elif step == "copy":
            twice = classifier + classifier
            assert_same(twice, new(name).partial_fit(X[held * 2], y[held * 2]), X)
    note(f"rows {held}")
    assert_same(classifier, new(name).partial_fit(X[held], y[held]), X)


@every_classifier
def test_a_canonical_model_does_not_change_with_its_source(name):
    X, y = numbers(domain(name), 30, 3)
    classifier = new(name).fit(X, y)
    kept = classifier.model_.canonical()
    before = kept.statistics.copy()
    classifier.partial_fit(X, y)
    assert kept.statistics == before


@every_classifier
@given(gamma=st.floats(1e-6, 1.0))
@example(gamma=0.5)
def test_decay_scales_the_weights_and_keeps_the_rest(name, gamma):
    X, y = numbers(domain(name), 40, 3)
    plain, decayed = new(name).fit(X, y), new(name).fit(X, y).decay(gamma)
    assert_allclose(decayed.class_count_, gamma * plain.class_count_, rtol=1e-15)
    if name.startswith("gaussian") and name.endswith(("0", "floor")):
        assert_allclose(decayed.theta_, plain.theta_, rtol=1e-13)
        assert_allclose(decayed.var_, plain.var_, rtol=1e-12)
