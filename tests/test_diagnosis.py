"""`diagnose`: mutual information and its test, the model ladder, and the recommendation."""

import itertools
import json
import math
from collections import Counter
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import mutual_info_score
from sklearn.metrics.cluster import contingency_matrix, expected_mutual_information

from naively import AutoBayes, NaiveBayes, compare, diagnose
from naively.evaluation import dependence, learning_curves
from naively.evaluation import samples as rows
from naively.evaluation.diagnose import FOLDS, RungResult, examine, verdict
from naively.evaluation.learning_curves import Splits
from naively.evaluation.metrics import Scores, margin
from naively.evaluation.model_ladder import parameter_counts
from naively.evaluation.samples import of_table
from naively.io.inputs import MISSING
from naively.tables.inference import ColumnOptions


def levels(x, y, codes=None, sizes=None):
    """The evidence of two columns of levels."""
    x, y = np.asarray(x), np.asarray(y)
    codes = np.zeros_like(x) if codes is None else np.asarray(codes)
    sizes = sizes or (int(x.max()) + 1, int(y.max()) + 1)
    return dependence.of_levels(x, y, sizes, codes, int(codes.max()) + 1)


def numbers(x, y, codes=None):
    """The evidence of two columns of numbers."""
    codes = np.zeros(len(x), int) if codes is None else codes
    found = dependence.of_numbers(np.column_stack([x, y]), codes, int(codes.max()) + 1)
    assert found[0, 1] == found[1, 0]
    return found[0, 1]


def both(x, z, codes=None):
    """The evidence of a column of levels and one of numbers."""
    codes = np.zeros(len(x), int) if codes is None else codes
    found = dependence.of_both(x, int(x.max()) + 1, z[:, None], codes, int(codes.max()) + 1)
    return found[0]


# ---- the lectures ---------------------------------------------------------------------------


def taxi_drivers():
    """Lecture 2: coats and accidents, each more frequent in rain; independent given the weather.

    Exact counts of 1,000 days: P(coat | rain) = 0.9, P(accident | rain) = 0.3; dry 0.2 and 0.1.
    """
    counts = {
        ("rain", "on", "yes"): 135, ("rain", "on", "no"): 315,
        ("rain", "off", "yes"): 15, ("rain", "off", "no"): 35,
        ("dry", "on", "yes"): 10, ("dry", "on", "no"): 90,
        ("dry", "off", "yes"): 40, ("dry", "off", "no"): 360,
    }  # fmt: skip
    days = [day for day, count in counts.items() for _ in range(count)]
    return pd.DataFrame(days, columns=["weather", "coat", "accident"])


def test_london_taxi_drivers():
    """Lecture 2, "Conditional vs. Marginal Independence"."""
    found = diagnose(taxi_drivers(), "weather")
    (pair,) = found.pairs
    assert pair.given_class == pytest.approx(0.0, abs=1e-15)
    assert pair.p_value == 1.0
    joint = {("on", "yes"): 0.145, ("on", "no"): 0.405, ("off", "yes"): 0.055, ("off", "no"): 0.395}
    coat, accident = {"on": 0.55, "off": 0.45}, {"yes": 0.2, "no": 0.8}
    exact = sum(p * math.log(p / (coat[a] * accident[b])) for (a, b), p in joint.items())
    assert pair.marginal == pytest.approx(exact, rel=1e-12)
    assert pair.marginal_p_value < 1e-6
    assert found.recommendation.startswith("No dependence was found: the one pair")
    assert "1 pair is dependent over all rows, but not significantly given the class" in str(found)


def test_london_taxi_drivers_simulated():
    generator = np.random.default_rng(1)
    rain = generator.random(3000) < 0.4
    coat = generator.random(3000) < np.where(rain, 0.9, 0.2)
    accident = generator.random(3000) < np.where(rain, 0.3, 0.1)
    found = diagnose({"coat": coat, "accident": accident}, np.where(rain, "rain", "dry"))
    (pair,) = found.pairs
    assert not pair.dependent
    assert pair.marginal_p_value < 1e-6
    assert {one.name for one in found.rungs[-2:]} == {"joint table", "AutoBayes"}
    assert found.advised.name == "naive Bayes"


def test_thunder_given_lightning():
    """Lecture 2: P(Thunder | Rain, Lightning) = P(Thunder | Lightning), though both go together."""
    given = {"yes": (30, 20), "no": (8, 192)}  # thunder or not; rain splits both 4 : 1 and 1 : 3
    rain = {"yes": (4, 1), "no": (1, 3)}
    cells = [
        (light, wet, loud, given[light][k] * rain[light][j])
        for light in given
        for k, loud in enumerate(("thunder", "still"))
        for j, wet in enumerate(("rain", "dry"))
    ]
    sky = [cell[:3] for cell in cells for _ in range(cell[3])]
    (pair,) = diagnose(pd.DataFrame(sky, columns=["lightning", "rain", "sound"]), "lightning").pairs
    assert pair.given_class == pytest.approx(0.0, abs=1e-15)
    assert pair.marginal_p_value < 1e-6  # "does NOT mean Thunder is independent of Rain"


def test_parameter_counts_of_the_lectures():
    """Lecture 2, "How many parameters do we need to learn?", in its four places."""
    pixels = parameter_counts(10, 256 * 256)
    assert f"{pixels['full covariance'] / 1e9:.1f} billion" == "21.5 billion"
    assert pixels["Gaussian naive Bayes"] == 2 * 10 * 65536
    assert pixels["Bernoulli naive Bayes"] == 10 * 65536
    assert pixels["class prior"] == 9
    assert parameter_counts(3, 4) == {
        "class prior": 2, "Bernoulli naive Bayes": 12, "one variance": 13,
        "one variance per class": 15, "one variance per column": 16, "Gaussian naive Bayes": 24,
        "tied covariance": 22, "full covariance": 42, "joint table": 45,
    }  # fmt: skip
    assert pixels["joint table"] == 10 * (2**65536 - 1)
    with pytest.raises(ValueError, match="no 0 classes"):
        parameter_counts(0, 3)


# ---- mutual information against others ------------------------------------------------------


CODES = st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=1, max_size=60).map(np.array)


@given(CODES)
def test_levels_against_scipy_and_scikit_learn(table):
    x, y, codes = table.T
    found = levels(x, y, codes)
    g = dof = mean = 0.0
    for c in np.unique(codes):
        own = codes == c
        counts = contingency_matrix(x[own], y[own])
        told = stats.chi2_contingency(counts, correction=False, lambda_="log-likelihood")
        g, dof = g + told.statistic, dof + told.dof
        if told.dof:
            sparse = contingency_matrix(x[own], y[own], sparse=True)
            mean += 2 * own.sum() * expected_mutual_information(sparse, own.sum())
    assert found.rows == len(table)
    assert found.g == pytest.approx(g, abs=1e-9)
    assert found.dof == dof
    assert found.mean == pytest.approx(mean, abs=1e-9)
    assert levels(x, y).nats == pytest.approx(mutual_info_score(x, y), abs=1e-12)


def test_chance_is_the_mean_over_all_permutations():
    x, y = [0, 0, 0, 1, 1, 2], [0, 1, 1, 0, 2, 2]
    every = [levels(order, y).g for order in itertools.permutations(x)]
    assert levels(x, y).mean == pytest.approx(np.mean(every), rel=1e-12)


def test_chance_of_one_cell_against_its_distribution():
    """Term by term below an expected count of 30, from the moments above."""
    generator = np.random.default_rng(0)
    n = generator.integers(2, [100] * 100 + [5000] * 100)
    r, c = (1 + (generator.random(200) * (n - 1)).astype(int) for _ in range(2))
    exact = [
        stats.hypergeom(n, r, c).expect(lambda k, mu=r * c / n: 2 * special.xlogy(k, k / mu))
        for n, r, c in zip(n, r, c, strict=True)
    ]
    assert (r * c / n < 30).sum() > 50 < (r * c / n > 30).sum()
    np.testing.assert_allclose(dependence.expected(r, c, n), exact, rtol=2e-4, atol=1e-9)


def test_large_tables_count_the_same(monkeypatch):
    generator = np.random.default_rng(1)
    x, y, codes = generator.integers(0, [[30], [20], [4]], (3, 2000))
    small = levels(x, y, codes)
    monkeypatch.setattr(dependence, "CELLS", 10)  # of 4 million: the same counts, kept otherwise
    large = levels(x, y, codes)
    assert (small.g, small.mean, small.dof) == (large.g, large.mean, large.dof)


def test_numbers_against_correlations():
    generator = np.random.default_rng(2)
    codes = generator.integers(0, 3, 120)
    x, y = generator.normal(size=(2, 120))
    y = y + x * codes
    x[::10], y[::7] = np.nan, np.nan
    g = total = 0.0
    for c in range(3):
        own = (codes == c) & ~np.isnan(x + y)
        rho = np.corrcoef(x[own], y[own])[0, 1]
        g, total = g - own.sum() * math.log(1 - rho**2), total + own.sum()
    found = numbers(x, y, codes)
    assert found.g == pytest.approx(g, rel=1e-10)
    assert (found.rows, found.dof) == (total, 3)
    assert found.nats == pytest.approx(g / 2 / total, rel=1e-10)


@pytest.mark.parametrize("n", [8, 30, 300])
def test_p_values_are_nearly_those_of_exact_tests(n):
    """Of one class and normal numbers: Student's test of a correlation, and Fisher's of means."""
    generator = np.random.default_rng(n)
    for _ in range(20):
        x, y = generator.normal(size=(2, n))
        y += x * generator.choice([0, 0.5]) * math.sqrt(10 / n)
        assert numbers(x, y).p_value == pytest.approx(stats.pearsonr(x, y).pvalue, abs=0.015)
        group = np.arange(n) % 3
        exact = stats.f_oneway(*(y[group == k] for k in range(3)))
        found = both(group, y)
        assert found.p_value == pytest.approx(exact.pvalue, abs=0.015)
        ratio = exact.statistic * 2 / (n - 3)  # SSB / SSW
        assert found.g == pytest.approx(n * math.log1p(ratio), rel=1e-9, abs=1e-12)
        assert found.dof == 2


def test_units_and_offsets_do_not_matter():
    generator = np.random.default_rng(3)
    codes = generator.integers(0, 3, 200)
    x, y = generator.normal(size=(2, 200))
    y += x
    group = (x > 0).astype(int)
    plain, one = numbers(x, y, codes), both(group, y, codes)
    for scale, offset in [(1e300, 0), (1e-300, 0), (1, 1e8), (-3, 5)]:
        moved = y * scale + offset
        assert numbers(x, moved, codes).g == pytest.approx(plain.g, rel=1e-6)
        assert both(group, moved, codes).g == pytest.approx(one.g, rel=1e-6)


def test_what_cannot_vary_says_nothing():
    codes = np.array([0, 0, 0, 1, 1, 1])
    x = np.array([1.0, 2.0, 3.0, 7.0, 7.0, 7.0])
    found = numbers(x, np.arange(6.0) ** 2, codes)
    assert found.dof == 1
    for none in (
        numbers(np.full(6, 2.5), x),
        numbers(x[:2], x[:2]),  # two points are always on a line
        numbers(np.full(6, np.nan), x),
        both(np.zeros(6, int), x),
        both(np.arange(6), x),  # each level once
        levels([0] * 6, [0, 1, 2, 0, 1, 2]),
        levels([3, 3], [0, 1], sizes=(3, 2)),  # missing
    ):
        assert (none.g, none.mean, none.dof, none.p_value) == (0.0, 0.0, 0, 1.0)


def test_functions_of_each_other():
    generator = np.random.default_rng(4)
    x = generator.normal(size=50)
    determined = both(np.arange(50) // 10, (np.arange(50) // 10) * 1.5)
    assert numbers(x, 3 - x).nats == math.inf
    assert determined.nats == pytest.approx(math.log(5))  # the entropy of the categories
    assert numbers(x, 3 - x).p_value == determined.p_value == 0.0
    found = diagnose({"a": x, "b": 2 * x, "c": generator.normal(size=50)}, np.arange(50) % 2)
    assert (found.pairs[0].first, found.pairs[0].second) == ("a", "b")
    assert found.pairs[0].correlation == 1.0
    assert "one almost a function of the other" in found.recommendation
    assert next(iter(json.loads(json.dumps(found.to_dict()))["pairs"]))["given_class"] is None


def test_no_more_information_than_the_entropy_of_a_category():
    """Many categories with few rows each: what independent columns have by chance is subtracted."""
    generator = np.random.default_rng(11)
    n = 400
    y = np.arange(n) % 2
    ticket = generator.integers(0, 250, n)
    fare = np.exp(3 * generator.normal(size=250))[ticket] * (1 + 1e-6 * generator.random(n))
    table = {"ticket": ticket.astype(str), "fare": fare, "age": generator.normal(size=n)}
    columns = {"ticket": "categorical"}
    found = {frozenset((one.first, one.second)): one for one in
             diagnose(table, y, columns=columns).pairs}  # fmt: skip
    share = np.unique(ticket, return_counts=True)[1] / n
    entropy = -(share * np.log(share)).sum()
    fares, ages = (found[frozenset(("ticket", name))] for name in ("fare", "age"))
    assert 0.3 < fares.marginal_excess < fares.marginal <= entropy
    assert 0.2 < fares.excess < fares.given_class <= entropy
    assert fares.p_value < 1e-9
    assert ages.given_class > 0.1 > 0.03 > ages.excess
    assert ages.marginal > 0.1 > 0.03 > ages.marginal_excess
    once = diagnose({"code": [f"c{k}" for k in range(n)], "age": table["age"]}, y,
                    columns={"code": "categorical"})  # fmt: skip
    row = next(line for line in str(once).splitlines() if line.startswith("code × age"))
    assert row.split()[3:] == ["·"] * 4
    assert "· without a p-value: too few rows to compare" in str(once)


@pytest.mark.parametrize("n_categories", [20, 150, 1000])
def test_rare_categories_are_not_called_dependent(n_categories):
    """Independent incomes: p-values were below 1e-5 in some per cent, or all near 1."""
    generator = np.random.default_rng(n_categories)
    Z = np.exp(1.5 * generator.normal(size=(300, 1000)))
    share = 1 / np.arange(1, n_categories + 1)
    x = generator.choice(n_categories, 300, p=share / share.sum())
    codes = generator.integers(0, 2, 300)
    Z[generator.random(Z.shape) < 0.05] = np.nan
    scores = dependence.normal_scores(Z, codes, 2)
    found = dependence.of_both(x, n_categories, scores, codes, 2)
    assert stats.kstest(found.p_value, "uniform").pvalue > 1e-3
    assert found.p_value.min() > 1e-5
    assert abs((found.nats - found.chance).mean()) < 3e-3
    np.testing.assert_array_equal(dependence.normal_scores(np.log(Z), codes, 2), scores)


# ---- the test: right under independence, and able to see dependence -------------------------


def skewed(size, steep):
    """Probabilities of levels of which most are rare."""
    p = 1.0 / np.arange(1, size + 1) ** steep
    return p / p.sum()


@pytest.mark.parametrize(
    ("kind", "n", "exact"),
    [("few levels", 300, True), ("many levels", 400, False), ("rare levels", 1000, False),
     ("rare coincidences", 1000, False), ("numbers", 30, True), ("both", 40, True),
     ("heavy tails", 500, False)],
)  # fmt: skip
def test_independent_columns_are_rarely_called_dependent(kind, n, exact):
    """At 5%, about 5%; with tables of counts near 1, or far below, no more than that.

    An uncorrected χ² test of "many levels" would err in 9 of 10 tables.
    """
    generator = np.random.default_rng(5)
    found = []
    for _ in range(400):
        codes = np.arange(n) % 2
        if kind == "numbers":
            found.append(numbers(*generator.normal(codes, 1 + codes, (2, n)), codes).p_value)
        elif kind == "heavy tails":
            x, y = generator.exponential(size=(2, n)) ** 2
            found.append(numbers(x, np.where(y > 3, y, 0.0), codes).p_value)
        elif kind == "both":
            x = generator.integers(0, 4, n)
            found.append(both(x, generator.normal(codes, 1 + codes), codes).p_value)
        else:
            p, q = {
                "few levels": (skewed(2, 1), skewed(3, 0)),
                "many levels": (skewed(20, 0), skewed(20, 0)),
                "rare levels": (skewed(40, 2.5), skewed(15, 0.5)),
                "rare coincidences": ([0.99, 0.01], [0.99, 0.01]),
            }[kind]
            x, y = generator.choice(len(p), n, p=p), generator.choice(len(q), n, p=q)
            found.append(levels(x, y, codes, (len(p), len(q))).p_value)
    called = np.mean(np.array(found) < 0.05)
    assert called <= 0.085  # 0.05 and three standard errors
    if exact:
        assert called >= 0.02
        assert np.mean(np.array(found) < 0.5) == pytest.approx(0.5, abs=0.1)


def test_one_coincidence_of_rare_levels_is_no_proof():
    """Ten rows each of 10,000, one of them both: the odds are 1 in 100, not in a million."""
    x, y = np.zeros((2, 10_000), int)
    x[:10], y[9:19] = 1, 1
    exact = stats.hypergeom(10_000, 10, 10).sf(0)
    assert levels(x, y).p_value == pytest.approx(exact, rel=0.5)


def test_dependent_columns_are_found():
    generator = np.random.default_rng(6)
    n = 600
    y = generator.integers(0, 3, n)
    hidden = generator.normal(size=n)
    table = {
        "a": hidden + generator.normal(size=n) + y,
        "b": hidden + generator.normal(size=n) - y,
        "c": np.where(hidden + generator.normal(size=n) > 0, "high", "low"),
        "d": np.where(hidden > 0, "up", "down"),
        "e": generator.normal(size=n) + y,
        "f": np.array(["p", "q", "r"])[(y + generator.integers(0, 2, n)) % 3],
    }
    found = diagnose(table, y)
    seen = {frozenset((one.first, one.second)) for one in found.pairs if one.dependent}
    assert seen == {frozenset(pair) for pair in itertools.combinations("abcd", 2)}
    assert {one.kind for one in found.pairs} == {"numbers", "levels", "both"}
    assert found.pairs[0].excess == max(one.excess for one in found.pairs)


def test_p_values_are_times_the_number_of_pairs():
    generator = np.random.default_rng(8)
    X = generator.normal(size=(80, 5))
    codes = np.arange(80) % 2
    found = diagnose(X, codes)
    assert len(found.pairs) == 10
    for one in found.pairs:
        alone = numbers(X[:, int(one.first[1])], X[:, int(one.second[1])], codes)
        assert one.p_value == pytest.approx(min(1.0, 10 * alone.p_value))
        assert one.chance == pytest.approx(alone.chance)


# ---- the ladder -----------------------------------------------------------------------------


def mixed(n=300, seed=9):
    """Numbers, counts of few values, text and truth values, with holes; and labels."""
    generator = np.random.default_rng(seed)
    y = generator.integers(0, 3, n)
    table = {
        "height": np.where(generator.random(n) < 0.1, np.nan, generator.normal(y, 1.0)),
        "width": generator.normal(-y, 2.0),
        "rooms": generator.integers(1, 6, n) + y,
        "job": np.array(["cook", "smith", None])[generator.integers(0, 3, n)],
        "owner": generator.random(n) < 0.2 + 0.2 * y,
        "flag": generator.integers(0, 2, n),
    }
    return pa.table({name: pa.array(x, from_pandas=True) for name, x in table.items()}), y


def test_parameters_are_those_of_the_models():
    table, y = mixed()
    found = diagnose(table, y)
    assert found.numbers == ("height", "width", "rooms")
    assert found.levels == ("rooms", "job", "owner", "flag")
    models = {one.name: one for one in found.rungs}
    assert models["naive Bayes"].parameters == NaiveBayes().fit(table, y).n_parameters_
    assert models["class prior"].parameters == 2
    rest = 3 * (1 + 1 + 1)  # job, owner and flag have two levels each
    for name in ("one variance", "one variance per class", "one variance per column",
                 "shrunk tied covariance", "shrunk full covariance"):  # fmt: skip
        count = parameter_counts(3, 3)[name.removeprefix("shrunk ")]
        assert models[name].parameters == 2 + rest + count
    assert models["AutoBayes"].parameters == AutoBayes().fit(table, y).n_parameters_
    rooms = len(set(table["rooms"].to_pylist()))
    joint = 3 * (rooms * 2 * 2 * 2 - 1)
    assert models["joint table of categories"].parameters == 2 + joint + 3 * 2 * 2
    for one in found.rungs:
        assert one.rows_per_parameter == pytest.approx(300 / one.parameters)
        usual = "NaiveBayes(", "GaussianBayes(", "AutoBayes("
        assert one.use.startswith(usual) or one.name == "class prior"
    parameters = [one.parameters for one in found.rungs]
    assert parameters == sorted(parameters)


def held_out_rows(y):
    """The rows that each split of a diagnosis predicts."""
    return Splits(np.asarray(y), FOLDS).tests


def test_held_out_rows_are_scored_as_if_never_learned():
    """The total less a fold is the model of the other folds: as by fitting it anew."""
    table, y = mixed()
    result = next(one for one in diagnose(table, y).rungs if one.name == "naive Bayes")
    for held in held_out_rows(y):
        rest = np.setdiff1d(np.arange(len(y)), held)
        model = NaiveBayes(columns=NaiveBayes().fit(table, y).model_.schema.family_of)
        model.fit(table.take(rest), y[rest])
        log_proba = model.predict_log_proba(table.take(held))
        np.testing.assert_array_equal(
            result.losses[held], -log_proba[np.arange(len(held)), y[held]]
        )
        wrong = model.predict(table.take(held)) != y[held]
        np.testing.assert_array_equal(result.wrong[held], wrong)
    assert result.log_loss == pytest.approx(result.losses.mean())
    assert result.error == pytest.approx(result.wrong.mean())


def test_folds_are_even_in_every_class():
    _, y = mixed()
    for c in range(3):
        sizes = [np.sum(y[held] == c) for held in held_out_rows(y)]
        assert max(sizes) - min(sizes) <= 1


def test_tied_covariance_against_linear_discriminant_analysis():
    generator = np.random.default_rng(10)
    y = generator.integers(0, 3, 4000)
    X = generator.normal(size=(4000, 4)) @ generator.normal(size=(4, 4)) + y[:, None]
    found = {one.name: one for one in diagnose(X, y).rungs}["shrunk tied covariance"]
    for held in held_out_rows(y):
        rest = np.setdiff1d(np.arange(4000), held)
        assert len(rest) == 3200
        oracle = LinearDiscriminantAnalysis(solver="lsqr").fit(X[rest], y[rest])
        told = -oracle.predict_log_proba(X[held])[np.arange(len(held)), y[held]]
        assert np.abs(found.losses[held] - told).mean() < 0.01


def test_what_cannot_be_estimated_says_why():
    generator = np.random.default_rng(11)
    y = np.array([0] * 30 + [1] * 29 + [2])
    X = generator.normal(size=(60, 3))
    found = {one.name: one for one in diagnose(X, y).rungs}
    full = found["shrunk full covariance"]
    assert "the covariance of class 2, from 1 row" in full.reason
    assert math.isnan(full.log_loss)
    assert full.parameters == 2 + parameter_counts(3, 3)["full covariance"]
    assert found["shrunk tied covariance"].reason == ""
    assert "the covariance of class 2, from 1 row" in str(diagnose(X, y))


def test_too_many_parameters_are_not_tried(monkeypatch):
    monkeypatch.setattr(learning_curves, "MOST", 39)  # of a million, which need a thousand columns
    generator = np.random.default_rng(12)
    found = {one.name: one for one in diagnose(generator.normal(size=(50, 5)), [0, 1] * 25).rungs}
    assert found["shrunk full covariance"].parameters == 41
    assert found["shrunk full covariance"].reason == "not tried: more than 39 parameters"
    assert found["shrunk tied covariance"].reason == ""


def test_a_class_of_one_row_is_learned_and_never_predicted():
    generator = np.random.default_rng(13)
    y = np.array(["a", "b"] * 30 + ["rare"])
    found = diagnose({"x": generator.normal(size=61), "z": generator.normal(size=61)}, y)
    naive = next(one for one in found.rungs if one.name == "naive Bayes")
    assert np.isnan(naive.losses).sum() == 1
    assert np.isnan(naive.wrong).sum() == 1
    assert np.isnan(naive.wrong[-1])
    assert math.isfinite(naive.log_loss)


def test_joint_table_is_advised_where_naive_bayes_is_blind():
    """Exclusive or: each column alone tells nothing, no pair depends on each other but given y."""
    generator = np.random.default_rng(14)
    a, b = generator.integers(0, 2, (2, 400))
    noise = generator.random(400) < 0.05
    found = diagnose({"a": a, "b": b}, (a ^ b) ^ noise)
    (pair,) = found.pairs
    assert pair.dependent
    assert pair.marginal_p_value > 0.05
    best = found.verdict["best probabilities"]
    assert best.startswith(("joint table, ", "AutoBayes, "))
    assert "joint table" in best
    assert found.advised.name == "AutoBayes"  # which finds it, too


def test_columns_without_evidence():
    generator = np.random.default_rng(15)
    found = diagnose(generator.normal(size=(100, 2)), generator.integers(0, 2, 100))
    assert (
        "no model is clearly better than always predicting the class frequencies"
        in found.recommendation
    )


def test_columns_that_determine_the_class_without_a_probability_of_it():
    """Forty-one columns of connections: counts with heavy tails, idle flags, the same rates again.

    A row that looks like the other class is sure to 25 rates at once. That makes up for all others.
    """
    generator = np.random.default_rng(1)
    n = 1000
    attack = generator.random(n) < 0.43
    seen = attack ^ (generator.random(n) < 0.013)
    rate = np.clip(np.where(seen, 0.95, 0.05) + generator.normal(0, 0.02, n), 0, 1)
    table = {}
    for k in range(8):
        bursts = np.where(generator.random(n) < 0.004, 1e4, 1.0)
        table[f"bytes {k}"] = np.floor(np.exp(generator.normal(3 + 4 * seen, 1.0)) * bursts)
        table[f"flag {k}"] = (generator.random(n) < 0.002).astype(int)
    for k in range(25):
        odd = generator.random(n) < 0.01
        table[f"rate {k}"] = np.where(odd, generator.random(n), rate).round(2)
    y = np.where(attack, "attack", "normal")
    weighed = diagnose(table, y)
    assert weighed.advised.name == "AutoBayes"
    assert weighed.advised.log_loss < 0.25
    found = diagnose(table, y, columns={"rate 0": "gaussian"})  # without it, as one has a family
    prior, naive = found.rungs[0], next(r for r in found.rungs if r.name == "naive Bayes")
    assert prior.error > 0.4
    assert naive.log_loss > prior.log_loss
    assert naive.error < 0.03
    assert found.advised.error < 0.03
    assert "no model is clearly better" not in found.recommendation
    assert "for its labels alone" in found.recommendation


def test_one_column_is_no_assumption():
    generator = np.random.default_rng(16)
    y = generator.integers(0, 2, 100)
    found = diagnose({"x": generator.normal(4 * y, 1.0)}, y)
    assert found.pairs == []
    assert found.recommendation.startswith("There is one feature")
    assert found.verdict["recommendation"].startswith("naive Bayes: ")
    assert not any("covariance" in one.name for one in found.rungs)


def result(name, losses, wrong=0.0, parameters=10):
    """A result with these losses, and this part of wrong rows."""
    losses = np.asarray(losses, float)
    errs = (np.arange(len(losses)) < wrong * len(losses)).astype(float)
    use = "" if name == "class prior" else f"{name}()"
    nan, loss, error = math.nan, losses.mean(), errs.mean()
    return RungResult(
        name=name, log_loss=loss, error=error, losses=losses, wrong=errs, rows_per_parameter=7.0,
        use=use, option=None, parameters=parameters, reason="",
        scores=Scores(len(losses), 0, 1.0 - error, loss, nan, nan, nan, None),
    )  # fmt: skip


def outcomes(**losses):
    """Results of 200 rows by name of the rung: (log-loss above the noise, spread, part wrong)."""
    noise = np.tile([1.0, -1.0], 100)
    found = [result("class prior", 2.0 + 0.1 * noise, 0.5)]
    for name, (loss, spread, wrong) in losses.items():
        found.append(result(name.replace("_", " "), loss + spread * noise, wrong))
    return found


@pytest.mark.parametrize(
    ("losses", "advised", "says"),
    [
        ({"naive_Bayes": (1.0, 0, 0.2), "full": (0.5, 0.1, 0.1)}, "full", "the best probabilities"),
        ({"naive_Bayes": (1.0, 0, 0.2), "full": (0.9, 1.0, 0.2)}, "full", "the best probabilities"),
        ({"naive_Bayes": (1.0, 0, 0.1), "full": (0.9, 1.0, 0.2)},
         "naive Bayes", "no model has clearly better probabilities"),
        ({"naive_Bayes": (1.0, 0, 0.2), "full": (0.9, 5.0, 0.1)},
         "naive Bayes", "no model has clearly better probabilities"),
        ({"naive_Bayes": (1.0, 0, 0.2), "full": (1.1, 0, 0.1)},
         "naive Bayes", "the best probabilities"),
        ({"naive_Bayes": (2.5, 0, 0.5), "full": (1.99, 9.0, 0.5)}, "class prior", "none: no model"),
        ({"naive_Bayes": (9.0, 0, 0.013), "full": (8.0, 0, 0.02)},
         "naive Bayes", "for its labels alone: its probabilities are worse than the class "
         "frequencies (log-loss 9.0000, 2.0000)"),
        ({"naive_Bayes": (9.0, 0, 0.2), "full": (1.99, 9.0, 0.02)},
         "full", "for its labels alone: its probabilities are not clearly better"),
        ({"naive_Bayes": (9.0, 0, 0.5), "full": (8.0, 0, 0.5)}, "class prior", "none: no model"),
        ({"naive_Bayes": (1, 0, 0.1), "AutoBayes": (0.51, 0.4, 0.1), "full": (0.5, 0, 0.1)},
         "AutoBayes", "no model has clearly better probabilities"),
        ({"naive_Bayes": (1, 0, 0.1), "AutoBayes": (0.6, 0.4, 0.1), "full": (0.5, 0, 0.1)},
         "full", "the best probabilities"),
        ({"naive_Bayes": (1, 0, 0.1), "AutoBayes": (0.51, 0.4, 0.3), "full": (0.5, 0, 0.1)},
         "full", "the best probabilities"),
    ],
)  # fmt: skip
def test_what_is_advised(losses, advised, says):
    """More than two standard errors are clear (they are `spread` / √200 here)."""
    rungs = outcomes(**losses)
    found = verdict(rungs)
    assert found.advised.name == advised
    lines = found.lines()
    assert says in lines["recommendation"]
    assert lines["recommendation"].startswith("none" if advised == "class prior" else advised)
    errs = {one.name: one.error for one in rungs}
    least = min(errs, key=errs.get)
    assert lines["least error"].startswith(f"{least}, {errs[least]:.1%}")
    best = min(rungs, key=lambda one: one.log_loss).name
    assert lines["best probabilities"].startswith(f"{best}, log-loss ")
    said = f"for labels rather than probabilities, {least}" in lines["recommendation"]
    assert said == (errs[least] < errs[advised] and found.beats_prior and advised != "class prior")


def test_losses_without_bounds():
    """A loss may be infinite, or too large to be squared: no difference is clear then."""
    huge, plain = np.array([1e300, 1.0, 2.0, np.inf]), np.ones(4)
    assert margin(huge, plain)[0] == math.inf
    assert margin(huge[:3], plain[:3])[1] == math.inf
    assert margin(np.full(3, np.inf), np.full(3, np.inf)) == (0.0, math.inf)
    rungs = [result("class prior", plain), result("naive Bayes", huge)]
    assert verdict(rungs).advised.name == "class prior"


# ---- which rows and columns -----------------------------------------------------------------


def summary(found):
    """What must not depend on how the table was held."""
    return json.dumps(found.to_dict(), sort_keys=True)


def test_files_and_frames_of_the_same_values(tmp_path):
    table, y = mixed()
    whole = table.append_column("y", pa.array(y))
    pyarrow.parquet.write_table(whole, tmp_path / "t.parquet")
    pyarrow.parquet.write_table(whole.slice(0, 100), tmp_path / "a.parquet")
    pyarrow.parquet.write_table(whole.slice(100), tmp_path / "b.parquet")
    expected = summary(diagnose(whole, "y"))
    assert summary(diagnose(tmp_path / "t.parquet", "y")) == expected
    assert summary(diagnose([tmp_path / "a.parquet", str(tmp_path / "b.parquet")], "y")) == expected
    assert summary(diagnose(whole.to_pandas(), "y")) == expected


def test_order_of_rows_changes_no_pair():
    table, y = mixed()
    order = np.random.default_rng(0).permutation(len(y))
    for a, b in zip(diagnose(table, y).pairs, diagnose(table.take(order), y[order]).pairs,
                    strict=True):  # fmt: skip
        assert (a.first, a.second, a.rows, a.dof) == (b.first, b.second, b.rows, b.dof)
        assert a.given_class == pytest.approx(b.given_class, abs=1e-12)


def test_missing_values_drop_the_row_of_their_pairs():
    table, y = mixed()
    pairs = {(one.first, one.second): one for one in diagnose(table, y).pairs}
    known = [k for k, x in enumerate(table["height"].to_pylist()) if x is not None]
    kept = {(one.first, one.second): one for one in diagnose(table.take(known), y[known]).pairs}
    assert pairs["height", "width"].rows == len(known)
    assert pairs["height", "width"].given_class == kept["height", "width"].given_class
    assert pairs["width", "rooms"].rows == 300


@pytest.mark.slow
def test_a_sample_of_many_rows_is_said(monkeypatch, tmp_path):
    monkeypatch.setattr(rows, "ROWS", 1000)  # of 100,000, which take long to look at
    table, y = mixed(5000)
    whole = table.append_column("y", pa.array(y))
    pyarrow.parquet.write_table(whole, tmp_path / "t.parquet", row_group_size=300)
    for source in (whole, tmp_path / "t.parquet"):
        found = diagnose(source, "y")
        assert (found.rows, found.sampled) == (5000, 1000)
        assert "5,000, a sample of 1,000 of them used" in str(found)
        assert sum(found.classes.values()) == 1000
        assert found.rungs[0].rows_per_parameter == 2500
        assert summary(diagnose(source, "y")) == summary(found)
        assert summary(diagnose(source, "y", seed=1)) != summary(found)


def test_of_many_columns_the_informative_ones_are_tested():
    generator = np.random.default_rng(17)
    y = generator.integers(0, 2, 300)
    X = generator.normal(size=(300, 70))
    X[:, 60:] += 2 * y[:, None]
    found = diagnose(X, y)
    assert len(found.pairs) == 64 * 63 // 2
    assert len(found.untested) == 6
    assert not {f"x{k}" for k in range(60, 70)} & set(found.untested)
    assert "pairs of the 64 features with the most information" in str(found)


def test_identifiers_are_left_out_and_text_is_words():
    generator = np.random.default_rng(18)
    y = generator.integers(0, 2, 80)
    words = ["free prize now call this number today", "meeting at noon in the blue room"]
    table = {
        "id": np.arange(80),
        "mail": [f"{words[k]} {k}{i}" for i, k in enumerate(y)],
        "same": ["x"] * 80,
        "a": generator.normal(size=80),
        "b": generator.normal(size=80),
    }
    found = diagnose(table, y)
    assert found.left_out == {
        "id": "looks like an identifier: whole numbers, each once", "same": "constant",
    }  # fmt: skip
    assert found.columns == {"a": "numbers", "b": "numbers", "mail": "words"}
    assert len(found.words["mail"]) == 20
    assert "mail: the 20 words with the most information" in str(found)
    found = diagnose(table, y, columns={"b": "skip", "id": "gaussian"})
    assert list(found.columns) == ["id", "a", "mail"]


# ---- hostile input --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("X", "y", "says"),
    [
        ({"a": [1.5, 2.5]}, [0, 0], "one class only"),
        ({"a": [1.5, 2.5]}, [None, None], "no label"),
        ({"a": [1.5, 2.5]}, [0.5, 1.5], "Cut measurements into ranges"),
        ({"a": [1.5, 2.5]}, [0, 1, 1], "X has 2 rows, y has 3"),
        ({"a": [1.5, 2.5]}, "b", "no column 'b'"),
        ({"a": [1.5, 2.5]}, [0, 1], "one row of each class"),
        ({"a": ["x"] * 3}, [0, 1, 1], "no column is left to diagnose .a: constant"),
        ({"y": [0, 1, 1]}, "y", "no column is left"),
        (np.zeros((3, 2, 2)), [0, 1, 1], "rows and columns"),
        (contingency_matrix([0, 1], [0, 1], sparse=True), [0, 1], "not on a sparse matrix"),
        ("no/such/file.csv", ["a"], "name the column of a file"),
    ],
)
def test_mistakes_are_explained(X, y, says):
    with pytest.raises(ValueError, match=says):
        diagnose(X, y)


def test_files_that_are_none(tmp_path):
    with pytest.raises(FileNotFoundError):
        diagnose(tmp_path / "no.csv", "y")
    (tmp_path / "t.csv").write_text("a,y\n1.5,\n2.5,\n")
    with pytest.raises(ValueError, match="every cell of the target column 'y' is empty"):
        diagnose(tmp_path / "t.csv", "y")
    with pytest.raises(ValueError, match="no column 'z'"):
        diagnose(tmp_path / "t.csv", "z")


def test_rows_without_a_label_are_left_out():
    table, y = mixed()
    labels = [None if k % 10 == 0 else int(c) for k, c in enumerate(y)]
    found = diagnose(table, labels)
    assert (found.rows, found.unlabelled) == (270, 30)
    known = [k for k, label in enumerate(labels) if label is not None]
    assert found.classes == dict(sorted(Counter(y[known].tolist()).items()))


def test_extreme_tables_give_plain_answers():
    generator = np.random.default_rng(19)
    y = np.arange(40) % 2
    table = {
        "huge": generator.normal(size=40) * 1e300,
        "tiny": generator.normal(size=40) * 1e-300,
        "endless": np.where(np.arange(40) % 5 == 0, np.inf, generator.normal(size=40)),
        "holes": [None] * 38 + [1.5, 2.5],
        "ugly\n\x1b[31m": ["a,b", "", "ü", "\0"] * 10,
    }
    found = diagnose(table, y)
    assert all(0 <= one.p_value <= 1 for one in found.pairs)
    assert all(one.given_class >= 0 for one in found.pairs)
    json.dumps(found.to_dict(), allow_nan=False)


VALUES = st.sampled_from([None, 0, 1, 2, 7, -1.5, 2.25, 1e9, "", "a", "b", "c d", True])


@given(st.lists(st.tuples(VALUES, VALUES, VALUES, st.sampled_from("xyz")), max_size=12))
def test_small_tables_of_anything(table):
    """An answer, or a sentence that says why there is none."""
    columns = {name: [row[k] for row in table] for k, name in enumerate("abc")}
    found, said = None, ""
    try:
        found = diagnose(columns, [row[3] for row in table])
    except ValueError as error:
        said = str(error)
    if found is None:
        assert "no column is left" in said or "the target has" in said
        return
    assert all(0 <= one.p_value <= 1 and one.given_class >= 0 for one in found.pairs)
    for one in found.rungs:
        assert bool(one.reason) == math.isnan(one.log_loss)
        assert one.parameters >= len(found.classes) - 1
    text = " ".join(str(found).split())
    assert all(
        " ".join(line.split()) in text for line in [found.assumption, *found.verdict.values()]
    )
    json.dumps(found.to_dict(), allow_nan=False)


def test_numbers_of_parameters_beyond_any_float():
    generator = np.random.default_rng(20)
    letters = np.array(list("abcdefghijklmnopqrst"))
    table = {f"c{k}": letters[generator.integers(0, 20, 60)] for k in range(300)}
    found = diagnose(table, [0, 1, 2] * 20)
    joint = found.rungs[-1]
    assert joint.name == "joint table"
    assert joint.parameters > 10**380
    assert "e+" in str(found)
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert told["rungs"][-1]["parameters"] is None


def test_progress_is_reported():
    table, y = mixed(60)
    steps = {}

    @contextmanager
    def progress(what, total):
        steps[what] = [total]
        yield lambda: steps[what].append("done")

    found = examine(of_table(table, y, 0, MISSING), ColumnOptions({}), 0, progress)
    (pairs, (total, *done)) = steps.values()
    assert pairs == [1, "done"]
    assert total == len(done) == 5 * len(found.rungs)


def test_scores_are_those_of_compare():
    """Over the rows of all folds, which are not of one size."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 203)
    X = rng.normal(size=(203, 2)) + y[:, None]
    results = {one.name: one for one in diagnose(X, y).rungs}
    names = ["class prior", "one variance", "naive Bayes", "AutoBayes"]
    for one in compare(X, y, only=names).candidates:
        assert one.error[-1] == pytest.approx(results[one.name].error, rel=1e-14)
        assert one.log_loss[-1] == pytest.approx(results[one.name].log_loss, rel=1e-14)


# ---- real tables ----------------------------------------------------------------------------


def test_iris(data_folder):
    found = diagnose(data_folder / "iris" / "iris.arff", "class")
    assert len(found.pairs) == sum(one.dependent for one in found.pairs) == 6
    results = {one.name: one for one in found.rungs}
    assert results["shrunk tied covariance"].error <= 0.03  # as published for linear discriminants
    assert results["shrunk full covariance"].parameters == 44
    assert found.advised.name == "shrunk tied covariance"
    names = [one.name for one in found.rungs]
    same = compare(data_folder / "iris" / "iris.arff", "class", only=names)
    for said in ("least error", "best probabilities", "recommendation"):
        assert same.verdict[said].split(",")[0] == found.verdict[said].split(",")[0]


@pytest.mark.slow
def test_mushroom_and_vote(data_folder):
    """Tables of levels, where naive Bayes is known to be overconfident."""
    for path, target, dependent in [("mushroom/mushroom.arff.gz", "class", 200),
                                    ("vote/vote.arff", "Class", 60)]:  # fmt: skip
        found = diagnose(data_folder / path, target)
        assert sum(one.dependent for one in found.pairs) >= dependent
        rungs = {one.name: one for one in found.rungs}
        assert rungs.keys() == {"class prior", "naive Bayes", "AutoBayes", "joint table"}
        assert rungs["naive Bayes"].error < 0.12
        assert rungs["AutoBayes"].log_loss < rungs["naive Bayes"].log_loss


def test_what_cannot_be_shown_is_not_shown():
    """No column without a number, no heading without a table, no claim from a few rows."""
    rng = np.random.default_rng(1)
    y = np.arange(300) % 2
    day = np.datetime64("2024-01-01") + (rng.integers(0, 180, 300) + 180 * y)
    table = {"a": rng.normal(size=300), "b": rng.normal(size=300), "day": day}
    found = diagnose(table, y)
    said = " ".join(str(found).split())
    assert "No dependence was found: the one pair of features is not significantly" in said
    assert "correlation" not in said
    assert "used by AutoBayes alone: day (dates or times)" in said
    assert found.verdict["recommendation"].endswith("it alone uses day")
    identified = {**table, "n": np.arange(300), "code": [f"k{k}" for k in range(300)]}
    found = diagnose(identified, y)
    said = " ".join(str(found).split())
    assert "used by AutoBayes alone: n (looks like an identifier: whole numbers" in said
    assert "left out: code (looks like an identifier: a different value in each row)" in said
    assert [*AutoBayes().fit(identified, y).model_.schema.skipped] == ["code"]  # as `fit` does
    few = diagnose({name: values[:14] for name, values in table.items()}, y[:14])
    assert "So few rows (14) could show only a very strong dependence." in few.recommendation
    single = str(diagnose({"a": rng.normal(size=60) + y[:60]}, y[:60]))
    assert "Dependence between features" not in single
    assert "There is one feature" in single
