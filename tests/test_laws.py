"""The laws of the design, over every case: data and operations are drawn at random."""

import copy
import pickle
from functools import cache

import numpy as np
import pytest
from cases import COUNTED, DRAWN, FIXED, POSITIVE, REPEATED, SIGNED, examples, lists
from hypothesis import example, given, is_hypothesis_test, note, settings
from hypothesis import strategies as st
from kit import assert_probabilities, each
from numpy.testing import assert_allclose, assert_array_equal

import naively

LABELS = [0, 1, 2]
ONE, TIMES, EIGHTHS = st.just(1.0), st.integers(0, 5), st.integers(1, 40)
SHORT = st.sampled_from([1.0, 0.1, 3.0, 1e8 + 1 / 3])


def law(cases, holds=lambda case: True):
    """A test of every case, but those that say why the law does not hold for them."""

    def over(test):
        name = test.__name__
        held = {key: case for key, case in cases.items() if name not in case.but and holds(case)}
        if is_hypothesis_test(test):  # of each case; there are many
            test = settings(max_examples=2 * settings.default.max_examples // 3)(test)
        return each("case", held, REPEATED)(test)

    return over


def learned(case, X, y, weights=None, new=None, **more):
    """A classifier that learned some rows."""
    classifier = (new or case.new)(**more)
    return classifier.partial_fit(case.given(X), y, sample_weight=weights)


@cache
def tame(case):
    """Tame rows and their labels, for laws over what is asked of them: made once."""
    return case.large(60)


@cache
def plain(case):
    """A classifier that learned those rows."""
    return learned(case, *tame(case))


def has_density(case, classifier):
    return hasattr(classifier, "score_samples") and "score_samples" not in case.but


def answers(case, classifier, X):
    """All that it says of some rows, or why it says nothing: equal only if every bit is."""
    names = ["predict_joint_log_proba", "predict"]
    names += ["score_samples"] * has_density(case, classifier)
    try:
        with np.errstate(over="ignore"):  # a density below all floats is 0
            return {name: getattr(classifier, name)(X).tobytes() for name in names}
    except ValueError as error:  # a covariance without a density
        return str(error)


def assert_same(case, a, b, X):
    """Two classifiers learned the same, and say the same, bit for bit."""
    assert a.model_ == b.model_
    X = X if case.probe is None else np.concatenate([X, case.probe])
    assert answers(case, a, case.given(X)) == answers(case, b, case.given(X))


def speaks(case, classifier, X):
    """Whether a classifier has an answer for some rows, and not a covariance without density."""
    return isinstance(answers(case, classifier, case.given(X)), dict)


# ---- 1. training is addition ---------------------------------------------------------------------


@law(COUNTED)
@given(data=st.data())
def test_any_split_order_form_and_threads_give_the_same_model(case, data):
    own = data.draw(examples(case))
    X, y, weights = own.rows, own.y, own.weights
    whole = learned(case, X, y, weights, own.new, n_jobs=1)
    order = np.array(data.draw(st.permutations(range(len(y)))))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(y)), max_size=4)))
    total = None
    for piece in np.split(order, cuts):
        w = None if weights is None else weights[piece]
        if w is None and data.draw(st.booleans()):
            w = np.ones(len(piece))
        if len(piece) == 0 or (w is not None and not w.any()):
            continue  # rows that all weigh nothing are absent
        rows = case.forms(data.draw, X[piece])
        if total is not None and data.draw(st.booleans()):
            total.partial_fit(rows, y[piece], sample_weight=w)
        else:
            part = own.new(n_jobs=data.draw(st.sampled_from([None, 1, 3])))
            part.partial_fit(rows, y[piece], sample_weight=w)
            total = part if total is None else total + part
    assert_same(case, whole, total, X)


MANY = {f"{name}, {kind}": (name, kind) for name, case in FIXED.items() for kind in case.many[0]}
TELLING = {"extreme in the middle", "missing", "extreme", "plain"}


@each("many", MANY, slow={
    id for id, (name, kind) in MANY.items()
    if name in REPEATED or (kind not in TELLING and name != "gaussian-None-0")
})  # fmt: skip
def test_many_rows_are_learned_as_few(many):
    """In bulk and one by one, by any number of threads, in any order of memory, in parts."""
    name, kind = many
    case = FIXED[name]
    X, y = case.many[1](kind)
    n = len(y)
    bulk = learned(case, X, y, n_jobs=1)
    probe = X[:: max(1, n // 300)]
    assert_same(case, bulk, learned(case, X, y, np.ones(n), n_jobs=3), probe)
    assert_same(case, bulk, learned(case, np.asfortranarray(X), y, n_jobs=2), probe)
    halves = learned(case, X[: n // 3], y[: n // 3]) + learned(case, X[n // 3 :], y[n // 3 :])
    assert_same(case, bulk, halves, probe)
    together = bulk.predict_joint_log_proba(case.given(X))
    for at in (0, n // 2, n - 1):
        alone = bulk.predict_joint_log_proba(case.given(X[at : at + 1]))
        assert_array_equal(together[at : at + 1], alone)
    if "test_many_rows_are_forgotten" not in case.but:
        left = n // 6
        halves.forget(case.given(X[::-1][:-left]), y[::-1][:-left])
        assert_same(case, halves, learned(case, X[:left], y[:left]), probe)


@law(FIXED)
def test_a_stream_of_single_rows_is_a_batch(case):
    X, y = case.large(150)
    stream = case.new(n_jobs=1)
    for i in range(len(y)):
        stream.partial_fit(case.given(X[i : i + 1]), y[i : i + 1])
    assert_same(case, learned(case, X, y), stream, X)


@law(FIXED)
def test_a_score_does_not_depend_on_the_other_rows(case):
    X, y = case.large(100)
    classifier = learned(case, X, y, n_jobs=3)
    together = classifier.predict_joint_log_proba(case.given(np.concatenate([X] * 50)))
    alone = [classifier.predict_joint_log_proba(case.given(X[i : i + 1])) for i in range(100)]
    assert_array_equal(together[-100:], np.vstack(alone))


@pytest.mark.parametrize("classes", [9, 300])
@pytest.mark.parametrize("kind", [naively.GaussianNB, naively.AutoBayes, naively.CategoricalNB])
def test_a_row_of_many_classes_is_answered_alone_as_among_others(kind, classes):
    """NumPy added up the probabilities of a single row in pairs: other bits, of many classes."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(3 * classes) % classes)
    X = np.array([y % 7, y % 11]).T + rng.integers(0, 3, (len(y), 2))
    model = kind().fit(X, y)
    asked = ["predict_proba", "predict_log_proba"]
    asked += ["score_samples"] * hasattr(model, "score_samples")
    for ask in (getattr(model, name) for name in asked):
        assert_array_equal(np.concatenate([ask(X[k : k + 1]) for k in range(25)]), ask(X)[:25])
    alone = [model.predict_top(X[k : k + 1], 3)[1] for k in range(25)]
    assert_array_equal(np.concatenate(alone), model.predict_top(X, 3)[1][:25])


# ---- 2. forgetting is subtraction ----------------------------------------------------------------


@law(COUNTED)
@given(data=st.data())
def test_forgetting_undoes_learning(case, data):
    own = data.draw(examples(case, least=2, weights=POSITIVE))
    X, y, w = own.rows, own.y, own.weights
    cut = data.draw(st.integers(1, len(y) - 1))
    a, b = slice(0, cut), slice(cut, None)
    both = learned(case, X, y, w, own.new)
    both.forget(case.forms(data.draw, X[b]), y[b], sample_weight=w[b])
    assert_same(case, learned(case, X[a], y[a], w[a], own.new), both, X)
    both.forget(case.given(X[a]), y[a], sample_weight=w[a])
    assert len(both.classes_) == 0
    both.partial_fit(case.given(X[b]), y[b], sample_weight=w[b])
    assert_same(case, learned(case, X[b], y[b], w[b], own.new), both, X)


@law(COUNTED)
@given(data=st.data())
def test_more_than_was_learned_is_not_forgotten(case, data):
    own = data.draw(examples(case))
    classifier = learned(case, own.rows, own.y, new=own.new)
    before = copy.deepcopy(classifier)
    extra = data.draw(st.integers(0, len(own.y) - 1))
    rows = np.append(np.arange(len(own.y)), extra)
    X, y = own.rows[rows], own.y[rows]
    for labels in (y, y + 1, y + 10):
        with pytest.raises(
            ValueError, match="cannot forget rows that are not in the training data"
        ):
            classifier.forget(case.given(X), labels)
        assert_same(case, before, classifier, own.rows)
    classifier.partial_fit(case.given(X[-1:]), y[-1:])
    assert classifier.model_ != before.model_


@law(FIXED)
def test_forgetting_keeps_classes_that_were_announced(case):
    X, y = case.large(20)
    alone = case.new().partial_fit(case.given(X[:10]), y[:10] % 2, classes=[0, 1, 9])
    both = copy.deepcopy(alone).partial_fit(case.given(X[10:]), y[10:] % 2 * 9)
    both.forget(case.given(X[10:]), y[10:] % 2 * 9)
    assert both.classes_.tolist() == [0, 1, 9]
    assert_same(case, alone, both, X)


# ---- 3. weights are repetitions ------------------------------------------------------------------


@law(COUNTED)
@given(data=st.data())
def test_a_weight_is_that_many_rows(case, data):
    own = data.draw(examples(case))
    times = np.array(data.draw(lists(TIMES, len(own.y), len(own.y))))
    times[0] += 1
    weighted = learned(case, own.rows, own.y, times, own.new)
    again = np.repeat(np.arange(len(times)), times)
    repeated = learned(case, own.rows[again], own.y[again], new=own.new)
    assert_same(case, weighted, repeated, own.rows)


@law(COUNTED)
@given(data=st.data())
def test_weights_of_one_row_add_up(case, data):
    own = data.draw(examples(case))
    eighths = lists(EIGHTHS, len(own.y), len(own.y))
    first, second = (np.array(data.draw(eighths)) / 8 for _ in range(2))
    once = learned(case, own.rows, own.y, first + second, own.new)
    twice = learned(case, own.rows, own.y, first, own.new)
    twice.partial_fit(case.given(own.rows[::-1]), own.y[::-1], sample_weight=second[::-1])
    assert_same(case, once, twice, own.rows)


@law(FIXED)
def test_rows_without_weight_may_hold_anything(case):
    X, y = case.large(30)
    bad = X[:2] if case.bad is None else case.bad
    rows = np.concatenate([bad[:1], X, bad[1:]])
    weights = np.r_[0.0, np.ones(30), 0.0]
    fitted = case.new().fit(case.given(X), y)
    assert_same(case, fitted, learned(case, rows, np.r_[7, y, 8], weights), X)
    again = case.new().fit(case.given(rows), np.r_[7, y, 8], sample_weight=weights)
    again.partial_fit(case.given(X), y + 5, sample_weight=np.zeros(30))
    assert_same(case, fitted, again, X)


# ---- 4. names and places carry no meaning --------------------------------------------------------


@law(DRAWN, lambda case: case.hole)
@given(data=st.data())
def test_permuted_features_give_the_permuted_model(case, data):
    name = "test_permuted_features_give_the_permuted_model"
    tame = name in case.near or data.draw(st.booleans())
    own = data.draw(examples(case, tame=tame))
    given_, y = case.given(own.rows), own.y
    places = list(given_) if isinstance(given_, dict) else range(given_.shape[1])
    order = data.draw(st.permutations(places))
    permuted = {j: given_[j] for j in order} if isinstance(given_, dict) else given_[:, order]
    plain = learned(case, own.rows, y, new=own.new)
    other = own.new().partial_fit(permuted, y)
    if not speaks(case, plain, own.rows):
        return
    if tame:  # else what is left of sums of huge terms depends on their order
        scores = [one.predict_joint_log_proba(rows) for one, rows in
                  ((other, permuted), (plain, given_))]  # fmt: skip
        assert_allclose(*scores, rtol=1e-10, atol=1e-10)
    if name not in case.near:
        terms = [one.explain(rows).contributions for one, rows in
                 ((other, permuted), (plain, given_))]  # fmt: skip
        columns = [list(places).index(j) for j in order]
        assert_array_equal(terms[0], terms[1][:, :, columns])


@law(DRAWN)
@given(data=st.data())
def test_renamed_classes_give_the_permuted_model(case, data):
    near = "test_renamed_classes_give_the_permuted_model" in case.near
    own = data.draw(examples(case, tame=near))
    names = np.array(data.draw(st.permutations(["a", "bcd", "é"])))
    plain = learned(case, own.rows, own.y, own.weights, own.new)
    renamed = learned(case, own.rows, names[own.y], own.weights, own.new)
    if not (speaks(case, plain, own.rows) and speaks(case, renamed, own.rows)):
        return
    order = np.searchsorted(renamed.classes_, names[plain.classes_])
    X = case.given(own.rows)
    scores = renamed.predict_joint_log_proba(X)[:, order], plain.predict_joint_log_proba(X)
    if near:
        assert_allclose(*scores, rtol=1e-9, atol=1e-9)
    else:
        assert_array_equal(*scores)


# ---- 5. posteriors are probabilities -------------------------------------------------------------


def assert_sound(case, classifier, X):
    assert_probabilities(classifier, X)
    if has_density(case, classifier):
        with np.errstate(over="ignore"):  # a density below all floats is 0
            assert not np.isnan(classifier.score_samples(X)).any()


@law(DRAWN)
@given(data=st.data())
def test_posteriors_are_probabilities(case, data):
    own = data.draw(examples(case))
    classifier = learned(case, own.rows, own.y, own.weights, own.new)
    if data.draw(st.booleans()):
        classifier.decay(data.draw(st.sampled_from([0.5, 1e-300])))
    width = own.rows.shape[1] if own.rows.ndim > 1 else None
    more = data.draw(lists(case.row(data.draw, False, width), 1, 4))
    X = np.concatenate([own.rows, case.pack(more)])
    X = X if case.probe is None else np.concatenate([X, case.probe])
    if speaks(case, classifier, own.rows):
        assert_sound(case, classifier, case.given(X))
        assert_sound(case, classifier, case.forms(data.draw, X))


@law(FIXED)
@given(data=st.data())
def test_a_plain_model_survives_any_rows(case, data):
    X, _ = tame(case)
    width = X.shape[1] if X.ndim > 1 else None
    rows = data.draw(lists(case.row(data.draw, False, width), 1, 6))
    assert_sound(case, plain(case), case.given(case.pack(rows)))


@law(FIXED, lambda case: case.far is not None)
def test_a_plain_model_survives_extreme_rows(case):
    X, y = case.large(60)
    d = case.far.shape[1]
    classifier = learned(case, X[:, :d], y)
    assert_sound(case, classifier, case.given(case.far))


@law(FIXED, lambda case: case.wide)
def test_many_features_leave_the_range_of_float64_alone(case):
    X, y = case.wide()
    classifier = learned(case, X, y)
    assert_sound(case, classifier, case.given(X))
    if hasattr(classifier, "score_samples") and len(X) == 100:
        assert (classifier.predict(case.given(X)) == y).mean() > 0.9


# ---- 6. explanations add up ----------------------------------------------------------------------


@law(DRAWN)
@given(data=st.data())
def test_contributions_sum_to_the_score(case, data):
    own = data.draw(examples(case, tame=True))
    classifier = learned(case, own.rows, own.y, new=own.new)
    if not speaks(case, classifier, own.rows):
        return
    rows = case.forms(data.draw, own.rows)
    explained = case.explain(classifier, rows)
    joint = classifier.predict_joint_log_proba(rows)
    assert explained.contributions.shape[:2] == joint.shape
    if case.hole and "test_a_row_without_values_is_no_evidence" not in case.but:
        missing = own.rows == None if case.nothing is None else np.isnan(own.rows)  # noqa: E711
        assert (explained.contributions.transpose(0, 2, 1)[missing] == 0).all()
    finite = np.where(np.isfinite(explained.contributions), explained.contributions, 0.0)
    size = abs(finite).sum(axis=2).max(initial=1.0)
    kept = joint > -1e300  # sums beyond are kept finite, so that they rank
    assert_allclose(explained.joint[kept], joint[kept], rtol=1e-11, atol=1e-12 * size)
    assert (explained.joint[~kept] <= -1e300).all()
    labels = classifier.classes_.tolist()
    if len(labels) > 1:
        prior, parts, mixing = explained.log_odds(labels[0], labels[-1])
        possible = kept.all(axis=1)
        odds = classifier.predict_log_proba(rows)[possible]
        total = prior[possible] + parts[possible].sum(axis=1) + mixing[possible]
        assert_allclose(total, odds[:, 0] - odds[:, -1],
                        rtol=1e-9, atol=1e-11 * size)  # fmt: skip


# ---- 7. a missing value drops its feature --------------------------------------------------------


@law(DRAWN, lambda case: case.hole)
@given(data=st.data())
def test_a_missing_value_drops_its_feature_from_the_score(case, data):
    own = data.draw(examples(case, tame=True))
    classifier = learned(case, own.rows, own.y, new=own.new)
    j = data.draw(st.integers(0, own.rows.shape[1] - 1))
    explained = classifier.explain(case.given(own.rows))
    others = np.delete(explained.contributions, j, axis=2)
    expected = explained.prior + others.sum(axis=2)
    size = abs(others).sum(axis=2).max(initial=1.0, where=np.isfinite(expected))
    for rows in (case.given, lambda X: case.forms(data.draw, X)):
        joint = classifier.predict_joint_log_proba(rows(case.hole(own.rows, j)))
        kept = joint > -1e300
        assert_allclose(joint[kept], expected[kept], rtol=1e-11, atol=1e-11 + 1e-13 * size)


@law(DRAWN)
@given(data=st.data())
def test_a_row_without_values_is_no_evidence(case, data):
    """It gets the prior, and teaches its class alone."""
    near = "test_a_row_without_values_is_no_evidence" in case.near
    own = data.draw(examples(case, tame=near, weights=ONE if near else None))
    nothing = np.full_like(own.rows[:1], case.nothing)
    X, y = np.concatenate([own.rows, nothing]), np.append(own.y, 0)
    w = None if own.weights is None else np.append(own.weights, 1.0)
    whole, part = own.new(), own.new()
    whole.partial_fit(case.given(X), y, classes=LABELS, sample_weight=w)
    part.partial_fit(case.given(own.rows), own.y, classes=LABELS, sample_weight=own.weights)
    assert whole.model_ != part.model_
    if speaks(case, part, own.rows):
        told = [case.explain(one, case.given(own.rows)).contributions for one in (whole, part)]
        assert_array_equal(*told)
        p = whole.predict_proba(case.given(nothing))[0]
        assert_allclose(p, whole.class_count_ / whole.class_count_.sum(), rtol=1e-12, atol=1e-300)
        if has_density(case, whole):
            assert_allclose(whole.score_samples(case.given(nothing)), 0.0, atol=1e-12)


@law(DRAWN, lambda case: case.apart is not None)
@given(data=st.data())
def test_a_feature_is_learned_from_the_rows_that_have_it(case, data):
    own = data.draw(examples(case, tame=True))
    X, y = own.rows, own.y
    if case.apart:
        own.new = lambda: case.new(**case.apart)
    whole = own.new().partial_fit(case.given(X), y, classes=LABELS)
    probe = case.given(np.nan_to_num(X, nan=1.0))
    told = whole.explain(probe).contributions
    for j in range(X.shape[1]):
        seen = ~np.isnan(X[:, j])
        if seen.any():
            rows = X[seen]
            for k in set(range(X.shape[1])) - {j}:
                rows = case.hole(rows, k)
            alone = own.new().partial_fit(case.given(rows), y[seen], classes=LABELS)
            assert_array_equal(alone.explain(probe).contributions[:, :, j], told[:, :, j])


# ---- 8. samples teach what drew them -------------------------------------------------------------

DRAWS = 40_000
FAR = 5.0  # standard errors, or expected divergences; the seeds are fixed


@law(FIXED)
def test_samples_teach_what_drew_them(case):
    """A model of n rows is k / 2n nats a row away from the truth that has k free parameters."""
    first = case.new().fit(case.given(case.large(300, 3)[0]), case.large(300, 3)[1])
    text = not case.hole
    n = 4000 if text else DRAWS
    X, y = first.sample(n, random_state=11)
    second = case.new().fit(X, y)
    if hasattr(first, "score_samples"):
        gap = (second.score_samples(X) - first.score_samples(X)).mean()
    else:
        drawn = np.arange(n), np.searchsorted(first.classes_, y)
        gap = (second.predict_log_proba(X)[drawn] - first.predict_log_proba(X)[drawn]).mean()
    assert abs(gap) < FAR * first.n_parameters_ / (2 * n) + case.slack
    p = first.class_prior_
    assert (abs(second.class_count_ / n - p) < FAR * np.sqrt(p * (1 - p) / n)).all()


@law(FIXED)
def test_a_sample_is_repeatable(case):
    first = learned(case, *case.large(50))
    one, two, three = (first.sample(20, random_state=seed) for seed in (5, 5, 6))
    assert pickle.dumps(one) == pickle.dumps(two) != pickle.dumps(three)


# ---- 9. a file holds the model -------------------------------------------------------------------


@law(FIXED)
def test_a_loaded_model_is_the_saved_one(case, tmp_path):
    X, y = case.large(80)
    X[3] = np.full_like(X[3:4], case.nothing)[0]
    labels = np.array(["é", "b", "c"])[y]
    w = np.linspace(0.1, 3, 80)
    saved = learned(case, X, labels, w)
    saved.save(tmp_path / "a")
    loaded = naively.load(tmp_path / "a")
    assert type(loaded) is type(saved)
    assert loaded.get_params() == saved.get_params()
    halves = learned(case, X[50:], labels[50:], w[50:]) + learned(case, X[:50], labels[:50], w[:50])
    twice = saved + saved
    for other in (loaded, pickle.loads(pickle.dumps(saved)), copy.deepcopy(saved), halves):
        assert_same(case, saved, other, X)
        other.save(tmp_path / "b")
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
        assert_same(case, twice, other + saved, X)
        before = other.predict_proba(case.given(X))
        other.partial_fit(case.given(X[:5]), ["d"] * 5)  # and they share nothing
        other.forget(case.given(X[:5]), ["d"] * 5)
        assert_array_equal(before, saved.predict_proba(case.given(X)))
        assert_same(case, saved, other, X)


# ---- the laws in any sequence --------------------------------------------------------------------

STEPS = st.lists(
    st.tuples(st.sampled_from(["learn", "add", "forget", "copy", "pickle"]), st.integers(0, 5)),
    max_size=10,
)


@law(COUNTED)
@given(data=st.data())
def test_any_sequence_of_operations_leaves_the_rows_that_remain(case, data):
    own = data.draw(examples(case, least=6, most=6))
    X, y = own.rows, own.y

    def of(rows):
        return learned(case, X[rows], y[rows], new=own.new)

    classifier, held = of([0]), [0]
    for step, i in data.draw(STEPS):
        row = case.given(X[i : i + 1]), y[i : i + 1]
        if step == "learn":
            classifier.partial_fit(*row)
            held.append(i)
        elif step == "add":
            total = classifier + of([i])
            assert classifier.model_ == of(held).model_  # the parts are as they were
            classifier = total
            held.append(i)
        elif step == "forget" and i in held and len(held) > 1:
            classifier.forget(*row)
            held.remove(i)
        elif step == "pickle":
            classifier = pickle.loads(pickle.dumps(classifier))
        elif step == "copy":
            assert_same(case, classifier + classifier, of(held * 2), X)
    note(f"rows {held}")
    assert_same(case, classifier, of(held), X)


# ---- decay ---------------------------------------------------------------------------------------


@law(COUNTED)
@given(data=st.data())
def test_decay_is_a_smaller_weight(case, data):
    """Of rows whose sums have few bits: decay keeps the leading 225."""
    own = data.draw(examples(case, tame=True, weights=SHORT))
    gamma = data.draw(st.sampled_from([0.5, 0.25, 2.0**-30]))
    decayed = learned(case, own.rows, own.y, own.weights, own.new).decay(gamma)
    expected = learned(case, own.rows, own.y, gamma * own.weights, own.new)
    assert_same(case, decayed, expected, own.rows)
    more = learned(case, own.rows[::-1], own.y[::-1], new=own.new)
    parts = copy.deepcopy(decayed).decay(0.5) + copy.deepcopy(more).decay(0.5)
    assert_same(case, (decayed + more).decay(0.5), parts, own.rows)


@law(FIXED)
@given(gamma=st.floats(0.2, 1.0))
@example(gamma=0.5)
@example(gamma=0.9**20)
@example(gamma=1e-6)
def test_decay_scales_the_weights_and_keeps_the_rest(case, gamma):
    X, y = tame(case)
    whole, decayed = plain(case), learned(case, X, y).decay(gamma)
    assert_allclose(decayed.class_count_, gamma * whole.class_count_, rtol=1e-15)
    if case.unsmoothed:
        joint = [one.predict_joint_log_proba(case.given(X)) for one in (whole, decayed)]
        assert_allclose(*joint, rtol=1e-9, atol=1e-9)


# ---- the cases themselves ------------------------------------------------------------------------


def test_exceptions_name_laws():
    named = {name for case in {**DRAWN, **FIXED}.values() for name in [*case.but, *case.near]}
    assert named - {"test_many_rows_are_forgotten", "score_samples"} <= set(globals())
    assert len(SIGNED) == 24
