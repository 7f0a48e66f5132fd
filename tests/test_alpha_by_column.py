"""`alpha` by column, by category and by class: virtual counts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import naively
from naively import Categorical, CategoricalNB, NaiveBayes

X = {
    "size": ["s", "s", "l", "l", "l", "m"], "kind": ["a", "b", "a", "a", "b", "a"],
    "shop": ["u", "u", "v", "u", "v", "v"], "weight": [1.5, 2.5, 3.5, 2.0, 4.25, 3.0],
}  # fmt: skip
Y = np.array(["no", "no", "no", "yes", "yes", "yes"])
CATEGORIES = {name: X[name] for name in ("size", "kind", "shop")}
VIRTUAL = {"size": {"s": {"no": 1, "yes": 2}, "l": {"no": 3, "yes": 0.5}}, "kind": 0.5}


def expected(row, virtual):
    """P(no | row) from counts and virtual examples, {column: {category: (of no, of yes)}}."""
    scores = []
    for c, label in enumerate(("no", "yes")):
        score = (label == Y).mean()
        for column, value in row.items():
            met = np.array(X[column])[label == Y]
            own = {level: pair[c] for level, pair in virtual[column].items()}
            score *= ((met == value).sum() + own[value]) / (len(met) + sum(own.values()))
        scores.append(score)
    return scores[0] / sum(scores)


def as_pairs(alpha):
    """Numbers of the columns as virtual examples of each category and class."""
    return {
        column: dict.fromkeys(set(X[column]), (alpha.get(column, 1.0),) * 2)
        for column in CATEGORIES
    }


def test_a_number_by_column_is_of_this_column_alone():
    alpha = {"size": 2, "kind": 0.5}
    model = NaiveBayes(alpha=alpha).fit(CATEGORIES, Y)
    row = {"size": "s", "kind": "a", "shop": "u"}
    found = model.predict_proba({name: [value] for name, value in row.items()})
    assert_allclose(found[0, 0], expected(row, as_pairs(alpha)), rtol=1e-12)
    assert (
        model.n_parameters_ == NaiveBayes().fit(CATEGORIES, Y).n_parameters_ == 1 + 2 * (2 + 1 + 1)
    )
    assert model.alpha_ == alpha


def test_smoothing_by_column_is_that_of_all_rows_in_any_batches():
    """Whatever the first batch looked like: the family, and its smoothing, follow from all rows."""
    rows = {"size": [1, 2, *[1] * 10], "shop": [*"uv", *"uuvvvvvvvv"]}
    labels = np.array([*"ab"] * 6)
    alpha = {"size": {1: {"a": 2}, 2: 5}, "shop": 3}
    whole, batches = NaiveBayes(alpha=alpha).fit(rows, labels), NaiveBayes(alpha=alpha)
    for at in (slice(8, None), slice(0, 3), slice(3, 8)):
        part = {name: values[at] for name, values in rows.items()}
        batches.partial_fit(part, labels[at])
    assert batches.model_ == whole.model_
    assert_array_equal(batches.predict_proba(rows), whole.predict_proba(rows))
    families = {"size": Categorical(alpha["size"]), "shop": Categorical(3)}
    given = NaiveBayes(families).fit(rows, labels)
    assert_array_equal(given.predict_proba(rows), whole.predict_proba(rows))


def test_virtual_examples_by_category_and_class(tmp_path):
    model = NaiveBayes(alpha=VIRTUAL).fit(CATEGORIES, Y)
    pairs = as_pairs(VIRTUAL) | {"size": {"s": (1, 2), "l": (3, 0.5), "m": (1, 1)}}
    for size in "slm":
        row = {"size": size, "kind": "b", "shop": "v"}
        found = model.predict_proba({name: [value] for name, value in row.items()})
        assert_allclose(found[0, 0], expected(row, pairs), rtol=1e-12)
    given = Categorical({"s": [1, 2], "l": [3, 0.5]})
    same = NaiveBayes({"size": given, "kind": Categorical(0.5)}).fit(CATEGORIES, Y)
    assert_array_equal(model.predict_proba(CATEGORIES), same.predict_proba(CATEGORIES))
    model.save(tmp_path / "m")
    loaded = naively.load(tmp_path / "m")
    assert_array_equal(loaded.predict_proba(CATEGORIES), model.predict_proba(CATEGORIES))
    later = NaiveBayes().fit(CATEGORIES, Y).set_params(alpha=VIRTUAL).reestimate()
    assert_array_equal(later.predict_proba(CATEGORIES), model.predict_proba(CATEGORIES))
    with pytest.raises(
        ValueError, match="category 's': no training row has the class 'maybe'; the classes are"
    ):
        NaiveBayes(alpha={"size": {"s": {"maybe": 1}}}).fit(CATEGORIES, Y)


def test_rows_are_left_out_though_a_class_with_virtual_examples_goes_with_them():
    rows = {name: values * 5 for name, values in CATEGORIES.items()}
    labels = np.tile(Y, 5)
    labels[0] = "odd"
    alpha = {"size": {"s": {"no": 1, "odd": 2}}}
    found = NaiveBayes(alpha=alpha).out_of_fold(rows, labels, parts=3)
    assert found.unknown.sum() == 1
    part = found.split == found.split[found.unknown]
    train, test = (
        {name: np.array(values)[chosen].tolist() for name, values in rows.items()}
        for chosen in (~part, part)
    )
    refit = NaiveBayes(alpha={"size": {"s": {"no": 1}}}).fit(train, labels[~part])
    assert_array_equal(found.log_proba[part][:, [0, 2]], refit.predict_log_proba(test))


def test_categories_that_alpha_names_make_a_column_categorical():
    numbers = {"x": [0.5, 1.0, 1.0, 0.5, 1.0, 0.5], "t": [True, False, True, True, False, True]}
    alpha = {"x": {0.5: 2, 1: 3}, "t": {True: 2, False: 0.5}}
    model = NaiveBayes(alpha=alpha).fit(numbers, Y)
    text = {"x": ["half", "one", "one", "half", "one", "half"], "t": list("tfttft")}
    other = NaiveBayes(alpha={"x": {"half": 2, "one": 3}, "t": {"t": 2, "f": 0.5}}).fit(text, Y)
    assert_array_equal(model.predict_proba(numbers), other.predict_proba(text))


@pytest.mark.parametrize(
    ("alpha", "said"),
    [
        ({"siz": 2}, "there is no column 'siz'; did you mean 'size'?"),
        ({"size": [1, 2, 3]}, r"column 'size' must be a number, or a dict by category, not \[1"),
        ({"size": {}}, "column 'size' must be a number, or a dict by category"),
        ({"size": -1}, "alpha must be from 0 to 1e100, not -1"),
        ({"weight": 2}, "column 'weight', which has the family gaussian: it has no virtual counts"),
        ({"shop": 2}, r"column 'shop', whose family is in `columns`: give it there"),
    ],
)
def test_what_is_no_smoothing_of_a_column_is_refused(alpha, said):
    with pytest.raises(ValueError, match=said):
        NaiveBayes({"shop": Categorical()}, alpha=alpha).fit(X, Y)


def test_a_list_has_a_number_for_each_column_of_an_array():
    codes = np.column_stack([np.unique(X[name], return_inverse=True)[1] for name in CATEGORIES])
    model = CategoricalNB(alpha=[2, 0.5, 1]).fit(codes, Y)
    named = NaiveBayes(alpha={"size": 2, "kind": 0.5}).fit(CATEGORIES, Y)
    assert_allclose(model.predict_proba(codes), named.predict_proba(CATEGORIES), rtol=1e-12)
    mixed = CategoricalNB(alpha=[2, [0.5, 0.5], {0: {"no": 1}, 1: 1}]).fit(codes, Y)
    assert_array_equal(mixed.predict_proba(codes), model.predict_proba(codes))
    with pytest.raises(ValueError, match="alpha has values for 2 features, but there are 3"):
        CategoricalNB(alpha=[2, 0.5]).fit(codes, Y)
