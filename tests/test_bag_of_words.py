"""Lecture 2, "Bag of words": the TOTAL page, and the sleeper in the next seat."""

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.feature_extraction.text import CountVectorizer

import naively.text.analysis
from naively import TextNB, bag_of_words

TOTAL = """the world of TOTAL

all about the company

Our energy exploration, production, and distribution operations span the globe, with activities in
more than 100 countries.

At TOTAL, we draw our greatest strength from our fast-growing oil and gas reserves. Our strategic
emphasis on natural gas provides a strong position in a rapidly expanding market.

Our expanding refining and marketing operations in Asia and the Mediterranean Rim complement already
solid positions in Europe, Africa, and the U.S.

Our growing specialty chemicals sector adds balance and profit to the core energy business.

All About The Company
"""
SLIDE = {"aardvark": 0, "about": 2, "all": 2, "africa": 1, "apple": 0, "anxious": 0, "gas": 1,
         "oil": 1, "zaire": 0}  # fmt: skip
SLIPS = {"gas": 2}  # "oil and gas reserves", "natural gas"
TEXTS = st.text(alphabet=st.sampled_from("abcAB éß.,'- \n7_"), max_size=60)


def test_the_total_page():
    bag = bag_of_words(TOTAL)
    assert {word: bag[word] for word in SLIDE} == SLIDE | SLIPS
    assert list(bag) == sorted(bag)


def test_the_order_of_words_is_ignored():
    said = (
        "When the lecture is over, remember to wake up the person sitting next to you in the "
        "lecture room."
    )
    slide = (
        "in is lecture lecture next over person remember room sitting the the to to up wake when "
        "you"
    )
    assert sorted(bag_of_words(said).elements()) == sorted(
        [*slide.split(), "the"]
    )  # it is there thrice
    assert bag_of_words(said) == bag_of_words(" ".join(reversed(said.split())))


@given(st.lists(TEXTS, min_size=2, max_size=5), st.sampled_from([(1, 1), (1, 2), (2, 3)]))
def test_a_bag_is_a_row_of_scikit_learns_counts(texts, ngram_range):
    found = [bag_of_words(text, ngram_range=ngram_range) for text in texts]
    if not any(found):
        return
    counter = CountVectorizer(ngram_range=ngram_range)
    rows = counter.fit_transform(texts).toarray()
    names = counter.get_feature_names_out()
    assert_array_equal(rows, [[bag[name] for name in names] for bag in found])
    assert sum(bag.total() for bag in found) == rows.sum()


@given(st.lists(TEXTS, min_size=1, max_size=6))
def test_the_bags_of_a_class_add_up_to_what_is_learned(texts):
    bag = sum(map(bag_of_words, texts), bag_of_words("word"))
    model = TextNB(weights=None).fit([*texts, "word", "other"], ["a"] * len(texts) + ["a", "b"])
    counts = dict(zip(model.terms_.tolist(), model.feature_count_[0].tolist(), strict=True))
    assert {term: count for term, count in counts.items() if count} == bag


def test_what_is_no_text_is_refused():
    for wrong in (None, b"bytes", ["a list"], 7):
        with pytest.raises(TypeError, match="text must be one document, a str, not"):
            bag_of_words(wrong)
    with pytest.raises(ValueError, match="ngram_range must be two integers"):
        bag_of_words("text", ngram_range=(2, 1))
    with pytest.raises(TypeError, match="unexpected keyword argument 'language'"):
        bag_of_words("text", language="en")
    assert bag_of_words("") == {}
    assert bag_of_words("the end", stop_words=["the"]) == {"end": 1}


def test_the_example():
    found = doctest.testmod(naively.text.analysis)
    assert found.attempted > 0 == found.failed
