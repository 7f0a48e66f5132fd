"""Documents to terms: as scikit-learn makes them, with their positions."""

import json
import lzma
import pickle
import re
import sys
import warnings
from collections import Counter
from functools import cache

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import (
    CountVectorizer,
    strip_accents_ascii,
    strip_accents_unicode,
)

from naively.text.analysis import LETTERS, WORDS, Analysis, strip_ascii, strip_unicode

NASTY = (
    "İIıiΣσςΟΔ\u0301\u0345\u0307\u0327ßẞKÅŉʼⅧ℡①½²٣۴_'-.09aAbBzZ éÉñ中日本한글لا\u064bﷺﬁﬂ"
    "🙂👩\u200d💻\u00ad\u0000\u001c\u001f\u0085\u00a0\u2028\u3000\t\r\n\ud800\udfff\U00010400"
)
CHARACTERS = (
    st.sampled_from(NASTY)
    | st.sampled_from("aAbB  .")
    | st.characters(codec=None)  # surrogates too
)
WORDS_OF_TEXT = st.sampled_from(
    [
        "the",
        "The",
        "ΟΔΟΣ",
        "ΟΔΟΣ.",
        "İstanbul",
        "e\u0301te\u0301",
        "naïve",
        "don't",
        "x",
        "  ",
        "\n",
    ]
)
TEXTS = st.text(CHARACTERS, max_size=40) | st.lists(
    WORDS_OF_TEXT | st.text(CHARACTERS, max_size=3), max_size=12
).map(" ".join)
RANGES = st.tuples(st.integers(1, 5), st.integers(0, 4)).map(lambda pair: (pair[0], sum(pair)))
PATTERNS = [WORDS, LETTERS, r"\w*", r"(?a)\b\w+\b", r"(\w)\w*|-", r"(?:\w+-)?(\w+)", r".", r"\S+"]
OPTIONS = st.fixed_dictionaries(
    {
        "analyzer": st.sampled_from(["word", "char", "char_wb"]),
        "ngram_range": RANGES,
        "lowercase": st.booleans(),
        "strip_accents": st.sampled_from([None, "ascii", "unicode", str.swapcase, str.strip]),
        "stop_words": st.none() | st.lists(st.sampled_from(["the", "ab", "οδος", "naive", ""])),
        "token_pattern": st.sampled_from(PATTERNS),
        "tokenizer": st.sampled_from([None, None, str.split, list, lambda text: [text, "no"]]),
    }
)


def expected(document, **options):
    """The terms by scikit-learn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # stop words that it finds inconsistent
        return CountVectorizer(**options).build_analyzer()(document)


def assert_placed(document, found):
    """Every part lies in the document, and the parts of a term are in order."""
    for _, spans in found:
        assert all(0 <= start <= end <= len(document) for start, end in spans)
        assert spans == sorted(spans)


def parts(document, **options):
    """Each term with the text of its parts."""
    found = Analysis(**options).spans(document)
    assert_placed(document, found)
    return [(term, [document[start:end] for start, end in spans]) for term, spans in found]


@given(TEXTS, OPTIONS)
@example("a", {"analyzer": "char_wb", "ngram_range": (3, 5)})
@example("ab", {"analyzer": "char_wb", "ngram_range": (5, 9)})
@example(" \x1c\x85 a", {"analyzer": "char", "ngram_range": (1, 3)})
def test_terms_are_those_of_scikit_learn(document, options):
    analysis = Analysis(**options)
    terms = analysis.terms(document)
    assert Counter(terms) == Counter(expected(document, **options))
    assert [term for term, _ in analysis.spans(document)] == terms


@given(TEXTS, OPTIONS)
def test_parts_lie_in_the_document(document, options):
    assert_placed(document, Analysis(**options).spans(document))


@given(TEXTS, st.sampled_from([None, "ascii", "unicode"]), st.sampled_from([WORDS, LETTERS]))
def test_parts_alone_are_the_words(document, accents, pattern):
    analysis = Analysis(strip_accents=accents, token_pattern=pattern)
    everything = Analysis(strip_accents=accents, token_pattern=r"(?s).+")

    def alone(text):
        return "".join(everything.terms(text)).replace("ς", "σ")  # which depends on what is next

    ordinary = all(len(alone(character)) <= 1 for character in document)
    last = 0
    for word, ((start, end),) in analysis.spans(document):
        part = alone(document[start:end])
        if ordinary:
            assert start >= last
            assert part == word.replace("ς", "σ")
        else:  # two words can come of one character, which is then a part of both
            assert start >= last - 1
            assert word.replace("ς", "σ") in part
        last = end


@given(TEXTS, RANGES, st.sampled_from(["char", "char_wb"]))
def test_parts_are_the_ngrams_of_characters(document, ngram_range, analyzer):
    document = "".join(c for c in document if len(c.lower()) == 1)
    for term, found in parts(document, analyzer=analyzer, ngram_range=ngram_range):
        (part,) = found
        part = re.sub(r"\s\s+", " ", part).lower().replace("ς", "σ")
        term = term.replace("ς", "σ")
        assert part == (term.strip() if analyzer == "char_wb" else term)


def test_parts_of_words():
    assert parts("The naïve  Bayes", ngram_range=(1, 2), stop_words=["the"]) == [
        ("naïve", ["naïve"]),
        ("bayes", ["Bayes"]),
        ("naïve bayes", ["naïve", "Bayes"]),
    ]
    assert parts("a-b c", token_pattern=r"(\w)-|\w") == [
        ("a", ["a"]),
        ("", []),
        ("", []),
    ]


def test_parts_where_lengths_change():
    assert parts("İ İzmir İyi", token_pattern=LETTERS) == [
        ("i", ["İ"]),
        ("i", ["İ"]),
        ("zmir", ["zmir"]),
        ("i", ["İ"]),
        ("yi", ["yi"]),
    ]
    assert parts("İİ ΟΔΟΣ", strip_accents="unicode") == [("ii", ["İİ"]), ("οδος", ["ΟΔΟΣ"])]
    cafe = "Cafe\u0301, ﬁn ℡ déjà—vu 日本go日本"
    assert parts(cafe, strip_accents="unicode") == [
        ("cafe", ["Cafe\u0301"]),
        ("fin", ["ﬁn"]),
        ("TEL", ["℡"]),
        ("deja", ["déjà"]),
        ("vu", ["vu"]),
        ("日本go日本", ["日本go日本"]),
    ]
    assert parts(cafe, strip_accents="ascii") == [
        ("cafe", ["Cafe\u0301"]),
        ("fin", ["ﬁn"]),
        ("TEL", ["℡"]),
        ("dejavu", ["déjà—vu"]),
        ("go", ["go"]),
    ]


def test_parts_of_characters():
    assert parts("Go \n up", analyzer="char", ngram_range=(3, 3)) == [
        ("go ", ["Go \n "]),
        ("o u", ["o \n u"]),
        (" up", [" \n up"]),
    ]
    assert parts(" a  Be", analyzer="char_wb", ngram_range=(1, 4)) == [
        *[(" ", [""]), ("a", ["a"]), (" ", [""]), (" a", ["a"]), ("a ", ["a"]), (" a ", ["a"])],
        *[(" ", [""]), ("b", ["B"]), ("e", ["e"]), (" ", [""])],
        *[(" b", ["B"]), ("be", ["Be"]), ("e ", ["e"])],
        *[(" be", ["Be"]), ("be ", ["Be"]), (" be ", ["Be"])],
    ]


def test_parts_of_what_functions_find():
    def stems(text):
        return (word[:3] if word != "went" else "go" for word in text.split())

    document = "We WENT running, runners ran"
    assert parts(document, tokenizer=stems, ngram_range=(1, 2)) == [
        *[("we", ["We"]), ("go", []), ("run", ["run"]), ("run", ["run"]), ("ran", ["ran"])],
        *[("we go", ["We"]), ("go run", ["run"]), ("run run", ["run", "run"])],
        ("run ran", ["run", "ran"]),
    ]
    spans = dict(Analysis(analyzer=lambda text: ["WENT", "We", "went ru", "We"]).spans(document))
    assert spans == {"WENT": [(3, 7)], "We": [(0, 2)], "went ru": [(3, 10)]}
    tags = "<b>Straße</b>  und  <i>Haus</i>"
    assert parts(tags, strip_accents=lambda text: re.sub("<[^>]+>", "", text)) == [
        *[("straße", ["Straße"]), ("und", ["und"]), ("haus", ["Haus"])]
    ]
    assert parts(tags, strip_accents=lambda text: text.replace("ß", "ss"))[0] == (
        "strasse",
        ["Straße"],
    )
    assert parts(
        "A test: <i>ease</i>", strip_accents=lambda text: re.sub("<i>|(?<=t)e", "", text)
    ) == [*[("tst", []), ("ease", ["ease"])]]


@pytest.mark.parametrize("analyzer", [str.split, lambda text: iter(text.upper()), lambda text: ()])
def test_an_analyzer_gets_the_document_as_it_is(analyzer):
    document = "Ünder the Σ\ud800 İ"
    analysis = Analysis(analyzer=analyzer, stop_words=["the"], ngram_range=(2, 3))
    assert analysis.terms(document) == list(expected(document, analyzer=analyzer))
    assert [term for term, _ in analysis.spans(document)] == analysis.terms(document)


def test_characters_are_normalised_one_by_one():
    """What `spans` relies on, for all characters there are, whatever their neighbours."""
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    for text in (everything, everything[::-1], everything[::7] + everything[3::5]):
        for strip, same in (
            (strip_ascii, strip_accents_ascii),
            (strip_unicode, strip_accents_unicode),
        ):
            assert strip(text) == same(text)
            assert strip(text) == "".join(strip(character) for character in text)
        lower = "".join(character.lower() for character in text)
        assert len(text.lower()) == len(lower)
        assert text.lower().replace("ς", "σ") == lower.replace("ς", "σ")
    spaces = set(re.findall(r"\s", everything))
    assert spaces == {character for character in everything if not character.split()}


def test_compiled():
    assert Analysis().compiled
    assert Analysis(ngram_range=(2, 3), lowercase=False, stop_words=["the"]).compiled
    assert Analysis(token_pattern=LETTERS).compiled
    assert not Analysis(token_pattern=r"\w+").compiled
    for analyzer in ("char", "char_wb"):
        assert Analysis(analyzer=analyzer, token_pattern=r"\w+").compiled
        assert not Analysis(analyzer=analyzer, strip_accents="ascii").compiled
    assert not Analysis(analyzer=str.split).compiled
    assert not Analysis(tokenizer=str.split).compiled
    assert not Analysis(strip_accents="unicode").compiled


def test_an_analysis_is_a_value():
    analysis = Analysis(ngram_range=[np.int64(1), 2], lowercase=np.True_, stop_words={"of", "a"})
    assert analysis == Analysis(ngram_range=(1, 2), stop_words=["a", "of"])
    assert hash(analysis) == hash(Analysis(ngram_range=(1, 2), stop_words=("a", "of")))
    assert type(analysis.lowercase) is bool
    assert type(analysis.ngram_range[0]) is int
    assert analysis.terms("The end of a story") == ["the", "end", "story", "the end", "end story"]
    again = pickle.loads(pickle.dumps(analysis))
    assert again == analysis
    assert again.terms("out of it") == ["out", "it", "out it"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"analyzer": "words"}, "analyzer must be .*not 'words'"),
        ({"analyzer": None}, "analyzer must be"),
        ({"analyzer": ["word"]}, "analyzer must be"),
        ({"ngram_range": (2, 1)}, r"ngram_range must be .*not \(2, 1\)"),
        ({"ngram_range": (0, 1)}, "ngram_range"),
        ({"ngram_range": (1, 2.0)}, "ngram_range"),
        ({"ngram_range": (1, 2, 3)}, "ngram_range"),
        ({"ngram_range": 2}, "ngram_range"),
        ({"ngram_range": "12"}, "ngram_range"),
        ({"lowercase": "yes"}, "lowercase must be True or False, not 'yes'"),
        ({"lowercase": None}, "lowercase"),
        ({"strip_accents": "latin"}, "strip_accents must be .*not 'latin'"),
        ({"strip_accents": True}, "strip_accents"),
        ({"stop_words": "english"}, "stop_words must be the words themselves.*'english'"),
        ({"stop_words": 3}, "stop_words must be a list"),
        ({"stop_words": ["a", 3]}, "stop_words must be words, not 3"),
        ({"stop_words": {"a", None}}, "stop_words must be words, not None"),
        ({"token_pattern": None}, "token_pattern must be a str"),
        ({"token_pattern": b"x"}, "token_pattern must be a str"),
        ({"token_pattern": "(a"}, r"token_pattern '\(a' is not a regular expression: "),
        ({"token_pattern": "a{99999999999}"}, "token_pattern .* is not a regular expression"),
        ({"token_pattern": "(a)(b)"}, "token_pattern .* one capturing group at most, not 2"),
        ({"tokenizer": "split"}, "tokenizer must be callable or None, not 'split'"),
    ],
)
def test_what_is_wrong_is_said(options, message):
    with pytest.raises(ValueError, match=message):
        Analysis(**options)


@cache
def documents(folder, name):
    """A sample of the documents of a data set."""
    if name == "20news-bydate":
        with lzma.open(folder / name / "test.jsonl.xz", "rt", encoding="utf-8") as lines:
            return [json.loads(line)["text"] for k, line in enumerate(lines) if k % 100 == 0]
    file = "SMSSpamCollection" if name == "sms-spam" else "rt-polarity.pos"
    return (folder / name / file).read_text("utf-8").split("\n")[::20]


@pytest.mark.parametrize("name", ["sms-spam", "rt-polarity", "20news-bydate"])
@pytest.mark.parametrize(
    "options",
    [
        {"ngram_range": (1, 3)},
        {"token_pattern": LETTERS, "lowercase": False, "stop_words": ["the", "a"]},
        {"strip_accents": "unicode", "token_pattern": r"[a-z]{3,}"},
        {"strip_accents": "ascii", "analyzer": "char_wb", "ngram_range": (2, 5)},
        {"analyzer": "char", "ngram_range": (3, 4)},
    ],
    ids=lambda options: "-".join(options),
)
def test_real_documents(data_folder, name, options):
    analysis = Analysis(**options)
    analyze = CountVectorizer(**options).build_analyzer()
    for document in documents(data_folder, name):
        terms = analysis.terms(document)
        assert Counter(terms) == Counter(analyze(document))
        found = analysis.spans(document)
        assert [term for term, _ in found] == terms
        assert_placed(document, found)
        if analysis.analyzer == "word" and analysis.strip_accents is None:
            for term, spans in found:
                part = " ".join(document[start:end] for start, end in spans)
                assert term == (part.lower() if analysis.lowercase else part)
