"""Figures of the lectures: their numbers are those of the model, and of arithmetic."""

import math

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from naively import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    Discretized,
    GaussianBayes,
    GaussianNB,
    JointBayes,
    MultinomialNB,
    NaiveBayes,
    PoissonNB,
    TextNB,
)
from naively.plot import (
    BayesErrorDisplay,
    CategoriesDisplay,
    CoinDisplay,
    IdenticalRowsDisplay,
    NaiveAssumptionDisplay,
)

mpl.use("Agg")

RNG = np.random.default_rng(0)
TENNIS = {
    "outlook": ["sunny", "sunny", "overcast", "rain", "rain", "rain", "overcast"],
    "wind": ["weak", "strong", "weak", "weak", "weak", "strong", "strong"],
    "play": ["no", "no", "yes", "yes", "yes", "no", "yes"],
}
WORDS = ["free", "lunch", "noon", "prize"]
THETA = np.array([[0.4, 0.05, 0.05, 0.5], [0.1, 0.4, 0.45, 0.05]])


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


# ---- the Bayes error -----------------------------------------------------------------------------


@given(st.floats(0.2, 6.0), st.floats(0.05, 0.95), st.floats(-1e3, 1e3), st.floats(1e-3, 1e3))
def test_the_shaded_area_is_the_error_of_two_gaussians(apart, prior, place, unit):
    """Means 0 and Δ in units of σ: the boundary is at Δ/2 + log(π0 / π1) / Δ."""
    means = place + unit * np.array([[0.0], [apart]])
    model = GaussianNB.from_parameters(means, unit**2, prior=[prior, 1 - prior])
    display = BayesErrorDisplay.from_estimator(model)
    t = apart / 2 + math.log(prior / (1 - prior)) / apart
    truth = prior * stats.norm.sf(t) + (1 - prior) * stats.norm.cdf(t - apart)
    assert_allclose(display.error, truth, atol=1e-6)
    for line in display.boundaries_:
        step = display.x[1] - display.x[0]
        assert abs(line.get_xdata()[0] - (place + unit * t)) <= step
    plt.close("all")


def test_lines_are_prior_times_density_and_the_area_lies_under_all_but_the_highest():
    model = GaussianNB.from_parameters(
        [[0.0, 9.0], [2.0, 9.0], [4.0, 9.0]], 1.0, prior=[0.5, 0.3, 0.2], classes=list("abc")
    )
    display = BayesErrorDisplay.from_estimator(model, feature="x0")
    for line, prior, mean in zip(display.lines_, (0.5, 0.3, 0.2), (0, 2, 4), strict=True):
        x, y = line.get_data()
        assert_allclose(y, prior * stats.norm.pdf(x, mean), rtol=1e-9)
    lost = display.joint.sum(axis=0) - display.joint.max(axis=0)
    assert_allclose(np.trapezoid(lost, display.x), display.error, atol=2e-3)
    top = display.lost_.get_paths()[0].vertices[:, 1].max()
    assert_allclose(top, lost.max())
    assert display.ax_.get_ylim()[1] > top
    texts = [text.get_text() for text in display.legend_.get_texts()]
    assert texts == ["a", "b", "c", f"R(f*) = {display.error:.3g}"]
    assert len(display.boundaries_) == 2


def test_the_error_of_counts_is_a_sum():
    X, y = RNG.poisson(np.repeat([2.0, 7.0], 300))[:, None], np.repeat([0, 1], 300)
    model = PoissonNB().fit(X, y)
    display = BayesErrorDisplay.from_estimator(model)
    x = np.arange(200)
    joint = [0.5 * stats.poisson.pmf(x, rate) for rate in model.feature_rate_[:, 0]]
    assert_allclose(display.error, 1 - np.max(joint, axis=0).sum(), rtol=1e-9)
    estimate = model.bayes_error(random_state=0)
    assert abs(display.error - estimate.value) < 4.5 * estimate.standard_error


def test_one_numeric_feature_has_an_error():
    two = GaussianNB().fit(RNG.normal(size=(20, 2)), np.arange(20) % 2)
    with pytest.raises(ValueError, match="2 features of numbers: name the one"):
        BayesErrorDisplay.from_estimator(two)
    with pytest.raises(ValueError, match="'x7' is not one of the features"):
        BayesErrorDisplay.from_estimator(two, feature="x7")
    bins = NaiveBayes(family=Discretized()).fit({"x": RNG.normal(size=90)}, np.arange(90) % 2)
    for model in (CategoricalNB().fit([[0], [1]], [0, 1]), bins):
        with pytest.raises(ValueError, match=r"a density or counts.*`bayes_error\(\)`"):
            BayesErrorDisplay.from_estimator(model)


# ---- four panels ---------------------------------------------------------------------------------


def test_the_third_panel_is_the_product_of_the_first_two_and_the_fourth_its_posterior():
    X, y = RNG.normal(size=(60, 3)) + np.arange(60)[:, None] % 2, np.array(["a", "b"] * 30)
    model = GaussianNB().fit(X[:, :2], y)
    display = NaiveAssumptionDisplay.from_estimator(model, X[:, :2], y)
    first, second = display.curves
    assert display.independent
    for c in range(2):
        assert_allclose(first.density[c], stats.norm.pdf(
            first.x, model.theta_[c, 0], np.sqrt(model.var_[c, 0])))  # fmt: skip
        x = np.interp(display.grid[0], first.x, np.log(first.density[c]))
        z = np.interp(display.grid[1], second.x, np.log(second.density[c]))
        assert_allclose(display.joint[c], x[None, :] + z[:, None], atol=1e-2)
    probes = np.column_stack([axis.ravel() for axis in np.meshgrid(*display.grid)])
    best = (display.joint + display.log_prior[:, None, None]).argmax(axis=0).ravel()
    assert_array_equal(display.classes[best], model.predict(probes))
    assert len(display.axes_) == 4
    titles = [panel.get_title() for panel in display.axes_]
    assert [title[0] for title in titles] == ["1", "2", "3", "4"]
    assert display.axes_[3].get_legend() is None


def test_without_the_assumption_the_third_panel_says_so():
    full = GaussianBayes.from_parameters([[0, 0], [2, 2]], [[1.0, 0.6], [0.6, 1.0]])
    display = NaiveAssumptionDisplay.from_estimator(full)
    assert not display.independent
    assert "not their product" in display.axes_[2].get_title()
    assert display.codes is None


def test_two_features_of_numbers_are_drawn_together():
    model = GaussianNB().fit(RNG.normal(size=(20, 4)), np.arange(20) % 2)
    assert len(NaiveAssumptionDisplay.from_estimator(model).curves) == 2
    for chosen in (["x1"], ["x1", "x1"], [0, 1, 2]):
        with pytest.raises(ValueError, match="two features of numbers are drawn together"):
            NaiveAssumptionDisplay.from_estimator(model, features=chosen)
    with pytest.raises(ValueError, match="no feature of this model has a density"):
        NaiveAssumptionDisplay.from_estimator(CategoricalNB().fit([[0], [1]], [0, 1]))
    with pytest.raises(ValueError, match="pass their labels y"):
        NaiveAssumptionDisplay.from_estimator(model, np.zeros((2, 4)))


# ---- a coin --------------------------------------------------------------------------------------


@given(st.lists(st.booleans(), min_size=1, max_size=300), st.floats(0.2, 5.0))
def test_the_posterior_of_a_coin_is_beta(throws, alpha):
    display = CoinDisplay.from_throws(throws, alpha=alpha)
    n, heads = len(throws), sum(throws)
    found = display.posterior(n)
    assert_allclose(found.mean(), (heads + alpha) / (n + 2 * alpha))
    assert_allclose(display.posterior(0).mean(), 0.5)
    theta, density = display.lines_[-1].get_data()
    assert density.max() <= 1.0
    inside = (theta > 0) & (theta < 1)
    truth = stats.beta(alpha + heads, alpha + n - heads).pdf(theta[inside])
    kept = truth > truth.max() * 1e-6
    ratio = density[inside][kept] / truth[kept]
    if alpha >= 1:  # else the peak may be at an end, where it is infinite
        assert_allclose(ratio, ratio[0], rtol=1e-9)
    plt.close("all")


def test_the_coin_of_a_model_is_its_parameter():
    model = BernoulliNB.from_parameters([[0.3, 0.8], [0.6, 0.1]], classes=["ham", "spam"])
    names = ["free", "noon"]
    display = CoinDisplay.from_estimator(
        model, feature="free", label="spam", n_throws=2000, feature_names=names
    )
    assert_allclose(display.theta, 0.6)
    assert abs(display.heads[-1] / 2000 - 0.6) < 4.5 * math.sqrt(0.6 * 0.4 / 2000)
    labels = [text.get_text() for text in display.legend_.get_texts()]
    assert labels == [
        "0 throws", "10 throws", "100 throws", "1,000 throws", "2,000 throws", "the coin: θ = 0.6",
    ]  # fmt: skip
    assert "P(free = 1 | spam)" in display.axes_[0].get_xlabel()
    half = (display.posterior(2000).ppf(0.975) - display.posterior(2000).ppf(0.025)) / 2
    assert f"± {half:.2g}" in display.axes_[1].get_title()


def test_what_is_no_coin_is_refused():
    model = BernoulliNB().fit([[0, 1], [1, 0]], ["a", "b"])
    for throws in ([], [0, 2], [[0, 1]], ["x"]):
        with pytest.raises(ValueError, match="flat list of zeros and ones"):
            CoinDisplay.from_throws(throws)
    for alpha in (0, -1, math.inf, "1"):
        with pytest.raises(ValueError, match="alpha must be a finite number above 0"):
            CoinDisplay.from_throws([1], alpha=alpha)
    with pytest.raises(ValueError, match="label must be one of the classes, not 'c'"):
        CoinDisplay.from_estimator(model, feature=0, label="c")
    with pytest.raises(ValueError, match="9 is not one of the features"):
        CoinDisplay.from_estimator(model, feature=9, label="a")
    with pytest.raises(ValueError, match="n_throws must be from 1"):
        CoinDisplay.from_estimator(model, feature=0, label="a", n_throws=0)
    with pytest.raises(ValueError, match="no feature of this model is a coin"):
        CoinDisplay.from_estimator(GaussianNB().fit([[0.0], [1.0]], [0, 1]), feature=0, label=0)


# ---- A, B and C ----------------------------------------------------------------------------------


@given(st.integers(0, 3), st.integers(0, 3), st.sampled_from(["no", "yes"]), st.integers(0, 99))
def test_a_b_and_c_are_counts_of_rows(first, second, label, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 3, (40, 2)), np.where(rng.random(40) < 0.5, "no", "yes")
    model = JointBayes(alpha=2.0).fit(X, y)
    display = IdenticalRowsDisplay.from_estimator(model, [first, second], label)
    same = ([first, second] == X).all(axis=1)
    assert display.counts == (40, same.sum(), (same & (y == label)).sum())
    areas = [disc.get_radius() ** 2 * 40 for disc in display.discs_]
    assert_allclose(areas, [count for count in display.counts if count > 0])
    dots = display.ax_.collections[0].get_offsets()
    away = np.hypot(*dots.T) * math.sqrt(40)
    for count in display.counts[1:]:  # as many dots as rows lie in each disc
        assert (away < math.sqrt(count)).sum() == count
    plt.close("all")


def test_the_title_is_the_estimate():
    model = JointBayes(alpha=0).fit(TENNIS, "play")
    display = IdenticalRowsDisplay.from_estimator(model, {"wind": "weak"}, "yes")
    assert display.counts == (7, 4, 3)  # any outlook
    assert display.ax_.get_title().endswith("(yes | x) = |C| / |B| = 3 / 4 = 0.75")
    none = IdenticalRowsDisplay.from_estimator(model, ["overcast", "calm"], "yes")
    assert none.counts == (7, 0, 0)
    assert none.ax_.get_title().endswith("0 / 0: no estimate, B is empty")
    assert len(none.discs_) == 1


def test_rows_that_do_not_fit_the_table_are_refused():
    model = JointBayes().fit(TENNIS, "play")
    for row, said in (
        (["sunny"], "row has 1 values, but there are 2 columns"),
        ({"sky": "red"}, "row names 'sky', but the columns are 'outlook', 'wind'"),
    ):
        with pytest.raises(ValueError, match=said):
            IdenticalRowsDisplay.from_estimator(model, row, "yes")
    with pytest.raises(ValueError, match="label must be one of the classes"):
        IdenticalRowsDisplay.from_estimator(model, {}, "maybe")
    with pytest.raises(ValueError, match="fit JointBayes"):
        IdenticalRowsDisplay.from_estimator(NaiveBayes().fit(TENNIS, "play"), {}, "yes")


# ---- one die a class, and coins ------------------------------------------------------------------


@pytest.mark.parametrize("event", ["counts", "text", "binary"])
def test_one_die_a_class_has_a_side_for_each_event(event):
    if event == "counts":
        model = MultinomialNB.from_parameters(THETA)
    else:
        texts = ["free prize prize free", "lunch noon", "free prize", "noon lunch free"]
        kind = "multinomial" if event == "text" else event
        model = TextNB(kind, alpha=0.5).fit(texts, [0, 1, 0, 1])
    names = WORDS if event == "counts" else None
    (die,) = CategoriesDisplay.from_estimator(model, feature_names=names).dice
    assert die.levels == WORDS
    assert die.name == "one die of 4 sides"
    assert_allclose(die.theta, np.exp(model.feature_log_prob_))
    assert_allclose(die.theta.sum(axis=1), 1.0)
    named = CategoriesDisplay.from_estimator(model, features=["noon"], feature_names=names)
    assert named.dice[0].levels == ["noon"]
    assert named.dice[0].name == "1 of 4 sides"
    assert named.axes_[0].get_xlabel() == "P(side | class)"


@given(st.integers(1, 300), st.data())
def test_dots_of_rows_lie_within_their_own_discs(total, data):
    same = data.draw(st.integers(0, total))
    both = data.draw(st.integers(0, same))
    shown = {"counts": (float(total), float(same), float(both)), "row": {}, "label": "c"}
    display = IdenticalRowsDisplay(**shown).plot()
    away = np.hypot(*display.ax_.collections[0].get_offsets().T)
    plt.close("all")
    bounds = np.sqrt(np.array([both, same, total]) / total)
    for low, high, count in zip(
        [0, *bounds], bounds, np.diff([0, both, same, total]), strict=False
    ):
        assert ((away > low * 1.001) & (away < high * 0.999)).sum() == count


def test_of_many_sides_the_most_informative_are_shown():
    theta = np.full((2, 100), 0.01)
    theta[0, 40:46], theta[1, 40:46] = 0.0, 0.02
    theta[0, 70:76], theta[1, 70:76] = 0.02, 0.0
    (die,) = CategoriesDisplay.from_estimator(MultinomialNB.from_parameters(theta)).dice
    assert die.levels == [f"x{k}" for k in (*range(40, 46), *range(70, 76))]
    assert die.name == "12 of 100 sides"
    many = np.full((10, 100), 0.01)
    (die,) = CategoriesDisplay.from_estimator(MultinomialNB.from_parameters(many)).dice
    assert die.name == "7 of 100 sides"  # ten bars each


def test_features_that_are_present_or_absent_are_coins():
    p = [[0.9, 0.5], [0.3, 0.5]]
    display = CategoriesDisplay.from_estimator(
        BernoulliNB.from_parameters(p), feature_names=["fever", "cough"]
    )
    (coins,) = display.dice
    assert (coins.name, coins.levels) == ("2 coins", ["fever", "cough"])
    assert_allclose(coins.theta, p)
    assert display.axes_[0].get_xlabel() == "P(x = 1 | class)"
    words = TextNB("bernoulli", alpha=1).fit(["win", "noon", "win noon"], [0, 1, 1])
    (coins,) = CategoriesDisplay.from_estimator(words).dice
    assert_allclose(coins.theta, np.exp(words.feature_log_prob_))


def test_a_table_has_dice_for_levels_and_a_die_for_each_text():
    table = {**TENNIS, "said": ["win now"] * 3 + ["noon"] * 4}
    model = NaiveBayes(columns={"said": "text"}).fit(table, "play")
    dice = CategoriesDisplay.from_estimator(model).dice
    assert [die.name for die in dice] == ["outlook", "wind", "one die of 3 sides: said"]
    some = CategoriesDisplay.from_estimator(model, features=["wind", "noon"]).dice
    assert [(die.name, die.levels) for die in some] == [
        ("wind", ["strong", "weak"]), ("1 of 3 sides: said", ["noon"]),
    ]  # fmt: skip


def test_what_rolls_no_dice_is_refused():
    counts = ComplementNB().fit([[1, 0], [0, 1]], [0, 1])
    with pytest.raises(ValueError, match="no die or coin"):
        CategoriesDisplay.from_estimator(counts)
    with pytest.raises(ValueError, match="'x9' is not one of the features"):
        CategoriesDisplay.from_estimator(MultinomialNB.from_parameters(THETA), features="x9")
