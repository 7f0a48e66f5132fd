"""Weights that are computed on demand equal those computed for all columns."""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from corpora import corpus
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse import csr_matrix

from naively import TextNB
from naively.core.exact import ExactArray
from naively.core.workers import SERIAL
from naively.families.discrete.complement import Complement
from naively.families.discrete.multinomial import Multinomial
from naively.families.linear import WeightCache
from naively.statistics.powers import CountStatistics
from naively.text.documents import Documents

FAMILIES = [Multinomial(0.5), Complement(1.0), Multinomial(1e-300)]


def parameters_of(family, sums):
    """Parameters of these sums, (C, d)."""
    tables = {"sum": sums, "missing": ExactArray.zeros(sums.shape)}
    weight = ExactArray.from_integers(np.ones(sums.shape[0], np.int64))
    return family.estimate(CountStatistics(tables), weight)


def scores(weights, rows):
    out = np.empty((weights.inner.n_classes, rows.shape[0]))
    indices = rows.indices.astype(np.int32)
    weights.score(rows.data, indices, rows.indptr.astype(np.int64), out)
    return out


def expected(inner, rows):
    out = np.empty((inner.n_classes, rows.shape[0]))
    inner.log_prob(rows, 0, rows.shape[0], out)
    return out


@st.composite
def counted(draw):
    """Sums of numbers, some of them no whole ones, of columns of which some are alike."""
    classes, kinds = draw(st.integers(1, 17)), draw(st.integers(1, 20))
    values = st.sampled_from([0.0, 0.0, 1.0, 2.0, 7.0, 0.1, 1e30])
    columns = draw(st.lists(st.lists(values, min_size=classes, max_size=classes), min_size=kinds,
                            max_size=kinds))  # fmt: skip
    order = draw(st.lists(st.integers(0, kinds - 1), min_size=1, max_size=60))
    cells = np.array(columns).T[:, order]
    unit = 2**-64
    numbers = [int(value / unit) for value in cells.ravel().tolist()]
    return ExactArray.from_numbers(numbers, cells.shape, -2)


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
@given(sums=counted(), data=st.data())
def test_bits_are_those_of_all_columns_at_once(family, sums, data):
    inner = parameters_of(family, sums)
    generator = np.random.default_rng(data.draw(st.integers(0, 99)))
    rows = csr_matrix(generator.poisson(0.3, (12, sums.shape[1])).astype(float))
    whole = expected(inner, rows)
    weights = WeightCache(inner, sums)
    for i in generator.permutation(12):
        assert_array_equal(scores(weights, rows[i])[:, 0], whole[:, i])
    assert_array_equal(scores(WeightCache(inner, sums), rows), whole)


def test_thousands_of_columns():
    generator = np.random.default_rng(1)
    table = generator.integers(0, 50, (3, 5000))
    table[:, :2000] = table[:, 3000:]  # alike, and met apart
    sums = ExactArray.from_integers(table)
    inner = parameters_of(Multinomial(1.0), sums)
    weights = WeightCache(inner, sums)
    rows = csr_matrix((generator.random((40, table.shape[1])) < 0.1).astype(float))
    for first in (0, 20):
        part = rows[first : first + 20]
        assert_array_equal(scores(weights, part), expected(inner, part))
    met = np.unique(rows.indices)
    assert weights._count[0] == np.unique(table[:, met], axis=1).shape[1]


def test_threads_look_up_at_once():
    texts, y = corpus(400)
    classifier = TextNB(ngram_range=(1, 2)).fit(texts, y)
    whole = classifier.predict_joint_log_proba(texts)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for turn in range(5):
            posterior = TextNB(ngram_range=(1, 2)).fit(texts, y).model_.posterior()
            order = np.random.default_rng(turn).permutation(len(texts))

            def one(i, posterior=posterior):
                return posterior.joint_log_proba(Documents.of([texts[i]]))[0]

            with ThreadPoolExecutor(8) as pool:
                found = list(pool.map(one, order.tolist()))
            assert_array_equal(np.array(found), whole[order])
    finally:
        sys.setswitchinterval(before)


@pytest.mark.parametrize("options", [{}, {"n_features": 64}, {"event": "complement"}], ids=str)
def test_what_is_learned_later_is_not_looked_up(options):
    texts, y = corpus(200)
    classifier = TextNB(**options).partial_fit(texts[:100], y[:100])
    posterior = classifier.model_.posterior()
    classifier.partial_fit(texts[100:], y[100:])
    alone = TextNB(**options).partial_fit(texts[:100], y[:100]).model_.posterior()
    documents = Documents.of(texts)
    assert_array_equal(posterior.joint_log_proba(documents), alone.joint_log_proba(documents))
    if not options.get("n_features"):
        terms = posterior.parameters.terms
        assert terms == alone.parameters.terms == sorted(terms)


@pytest.mark.parametrize("options", [{}, {"event": "complement"}, {"ngram_range": (1, 2)}], ids=str)
def test_terms_of_what_was_subtracted_are_unknown(options):
    texts, y = corpus(200)
    gone = [*texts[:60], "once was never met again"]
    classifier = TextNB(**options).partial_fit([*gone, *texts[60:]], [*y[:60], y[0], *y[60:]])
    model = classifier.model_
    left = model.less(model.summarise(Documents.of(gone), np.array([*y[:60], y[0]])))
    alone = TextNB(**options).partial_fit(texts[60:], y[60:]).model_
    terms = getattr(left.statistics, "terms", [left.statistics])[0]
    assert terms.n_present < len(terms.vocabulary)
    documents = Documents.of([*texts, "once was never met again"])
    own, other = left.posterior(), alone.posterior()
    assert_array_equal(own.joint_log_proba(documents), other.joint_log_proba(documents))
    assert own.n_parameters == other.n_parameters
    told, expected = (
        each.parameters.explain_document(documents, len(texts)) for each in (own, other)
    )
    assert told.unknown == expected.unknown
    assert "once" in told.unknown
    assert own.parameters.terms == other.parameters.terms
    assert own.parameters.described(["x"]) == other.parameters.described(["x"])
    matrix, expected = (
        getattr(each.parameters, "parts", [each.parameters])[0].matrix(documents, SERIAL)
        for each in (own, other)
    )
    assert_array_equal(matrix.toarray(), expected.toarray())


def test_hashed_terms_are_looked_up_or_estimated_all_at_once():
    texts, y = corpus(200)
    classifier = TextNB(n_features=256).fit(texts, y)
    alone = np.vstack([classifier.predict_joint_log_proba([text]) for text in texts[:20]])
    (parameters,) = classifier.model_.posterior().parameters.parts
    assert parameters._looked_up is not None
    assert_array_equal(classifier.predict_joint_log_proba(texts)[:20], alone)
    assert parameters._looked_up is None
    assert_array_equal(classifier.predict_joint_log_proba(texts[:1]), alone[:1])
