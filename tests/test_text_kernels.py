"""The kernels of text: units, n-grams and vocabularies, against their definitions in Python."""

import codecs
import re
import sys
import time
from collections import Counter
from itertools import pairwise, product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naively.kernels import text as kernel
from naively.text.analysis import LETTERS, SPACES, WORDS, Analysis
from naively.text.documents import Documents
from naively.text.tokens import Tokens, ascii_properties, of_terms, properties
from naively.text.vocabulary import Vocabulary

# ---- what is drawn -------------------------------------------------------------------------------

NASTY = (
    "İIıiΣσςΟΔ\u0301\u0307\u0345\u0378KÅßẞŉʼʰªⅧⓐ①½²٣_'-.·\u00adaBzZéÉ中日한لا\u064bﷺﬁ"
    "🙂\U00010400\U0001d7d8\u200d\u200b\0\x1c\x1f\x85\xa0\u1680\u2028\u3000\ufeff\ufffd\t\r\n "
    "\ud800\udfff\U000e0061\U0010ffff"
)
BLOCKS = (63, 64, 65, 127, 128, 129)  # lengths at which blocks of ASCII begin and end
PLAIN = st.text(st.sampled_from("aaaBz9_ .\n\0"), max_size=6)
RUNS = st.builds(
    lambda piece, n, cut: (piece * n)[:cut] if piece else "",
    st.sampled_from(["a", "Z", "ab ", "a ", " ", "x.", "the of ", "_\n\n", "\0"]),
    st.sampled_from([1, 30, 64, 130]),
    st.sampled_from(BLOCKS) | st.integers(0, 132),
)
STOPS = ["the", "of", "ab", "zz", "οδος", "i", "", "日本", "ab ab"]
WORDY = st.sampled_from(["the", "The", "of", "ab", "zz", "ΟΔΟΣ", "İ", "日本", "x", "don't", "K"])
TEXTS = st.lists(
    RUNS | PLAIN | WORDY.map(" {} ".format) | st.text(st.sampled_from(NASTY), max_size=4),
    max_size=5,
).map("".join) | st.text(st.characters(codec=None), max_size=20)
BATCHES = st.lists(st.lists(TEXTS, max_size=6), min_size=1, max_size=3)
RANGES = st.tuples(st.integers(1, 4), st.integers(0, 3)).map(lambda pair: (pair[0], sum(pair)))
ANALYSES = st.builds(
    Analysis,
    analyzer=st.sampled_from(["word", "word", "char", "char_wb"]),
    ngram_range=st.just((1, 1)) | RANGES,
    lowercase=st.booleans(),
    token_pattern=st.sampled_from([WORDS, LETTERS]),
    stop_words=st.none() | st.lists(st.sampled_from(STOPS), max_size=4),
)


def encoded(text):
    return text.encode("utf-8", "surrogatepass")


def surrogate_or_replace(error):
    """What is no UTF-8 is U+FFFD as with "replace", but an encoded surrogate is a surrogate."""
    piece = error.object[error.start : error.start + 3]
    if re.fullmatch(rb"\xed[\xa0-\xbf][\x80-\xbf]", piece):
        return piece.decode("utf-8", "surrogatepass"), error.start + 3
    return "\ufffd", error.end


codecs.register_error("surrogate-or-replace", surrogate_or_replace)


def decoded(data):
    return data.decode("utf-8", "surrogate-or-replace")


class Cut:
    """Terms of documents by the kernels, with the same memory again and again."""

    def __init__(self, analysis):
        assert analysis.compiled
        self.tokens = Tokens(analysis)
        self.vocabulary = Vocabulary()

    def terms(self, documents, first=0, last=None):
        """The terms of each document, in the order of the kernel."""
        last = len(documents) if last is None else last
        units = self.tokens.units(documents, first, last)
        low, high = self.tokens.low, self.tokens.high
        ids, indptr = self.vocabulary.number(units, low, high, grow=True)
        assert len(indptr) == last - first + 1
        assert indptr[0] == 0
        assert indptr[-1] == len(ids) <= units.grams(low, high)
        known = [self.vocabulary.term_bytes(k) for k in range(len(self.vocabulary))]
        numbers = ids.tolist()
        return [[known[k] for k in numbers[a:b]] for a, b in pairwise(indptr)]


def assert_as_defined(analysis, texts, found):
    for text, terms in zip(texts, found, strict=True):
        expected = Counter(map(encoded, analysis.terms(text)))
        assert Counter(terms) == expected, repr(text)


# ---- documents to terms --------------------------------------------------------------------------


@given(BATCHES, ANALYSES, st.data())
def test_terms_are_as_defined(batches, analysis, data):
    cut = Cut(analysis)
    for texts in batches:
        documents = Documents.of(texts)
        at = 0
        while at < len(texts):
            stop = data.draw(st.integers(at + 1, len(texts)))
            assert_as_defined(analysis, texts[at:stop], cut.terms(documents, at, stop))
            at = stop


@given(st.lists(TEXTS, min_size=2, max_size=6), ANALYSES, st.data())
def test_documents_within_a_larger_array(texts, analysis, data):
    first = data.draw(st.integers(0, len(texts) - 1))
    rows = data.draw(st.lists(st.integers(0, len(texts) - 1), max_size=8))
    documents, cut = Documents.of(texts), Cut(analysis)
    assert_as_defined(analysis, texts[first:], cut.terms(documents[first:]))
    assert_as_defined(analysis, [texts[i] for i in rows], cut.terms(documents[rows]))
    assert_as_defined(analysis, texts[::-1], cut.terms(documents[::-1]))


EVERY = [
    Analysis(),
    Analysis(lowercase=False, token_pattern=LETTERS, ngram_range=(1, 2)),
    Analysis(stop_words=["xx", "the"], ngram_range=(2, 3)),
    Analysis(analyzer="char", ngram_range=(1, 2)),
    Analysis(analyzer="char_wb", ngram_range=(2, 3), lowercase=False),
]
of_every = pytest.mark.parametrize("analysis", EVERY, ids=lambda a: f"{a.analyzer}{a.ngram_range}")


@of_every
def test_each_character_at_each_place_of_a_block(analysis):
    texts = ["x" * k + character + "Y" * 3 for k in range(60, 69) for character in NASTY]
    texts += ["x" * k + " " + character * 2 + " y" for k in (0, 126, 127) for character in NASTY]
    texts += [character + "x" * k for k in BLOCKS for character in NASTY]
    texts += [f"{character} the {character}the{character}" for character in NASTY]
    cut = Cut(analysis)
    assert_as_defined(analysis, texts, cut.terms(Documents.of(texts)))
    for text in texts[::7]:  # alone: there is no next document whose bytes can be read
        assert_as_defined(analysis, [text], cut.terms(Documents.of([text])))


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("pattern", [WORDS, LETTERS])
def test_words_of_ascii_at_each_place(lowercase, pattern):
    """All that a block of 64 bytes can begin and end with, and all its lengths."""
    texts = [
        gap * a + "Q" * b + gap * c + "r" * d
        for gap in " _@[`{/:"
        for a in (0, 1, 62, 63, 64)
        for b in (1, 2, 63, 64, 65, 129)
        for c in (0, 1, 63)
        for d in (0, 1, 2, 64)
    ]
    analysis = Analysis(lowercase=lowercase, token_pattern=pattern)
    assert_as_defined(analysis, texts, Cut(analysis).terms(Documents.of(texts)))


def test_every_ascii_character():
    everything = "".join(map(chr, range(128)))
    texts = [everything, everything[::-1], *(f"a{character}b" for character in everything)]
    for analysis in EVERY:
        assert_as_defined(analysis, texts, Cut(analysis).terms(Documents.of(texts)))


def test_every_character_there_is():
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    texts = [everything[at : at + 4096] for at in range(0, len(everything), 4096)]
    for analysis in (Analysis(token_pattern=LETTERS), Analysis(analyzer="char_wb")):
        assert_as_defined(analysis, texts, Cut(analysis).terms(Documents.of(texts)))


SIGMAS = ["Σ", "a", "Z", ".", " ", "\u0301", "\u0345", "ʰ", "1", "中", "İ", "\ud800"]


@pytest.mark.parametrize("analyzer", ["word", "char"])
def test_the_lower_case_of_sigma(analyzer):
    texts = ["".join(letters) for n in range(1, 5) for letters in product(SIGMAS, repeat=n)]
    texts = [text for text in texts if "Σ" in text]
    texts += [
        f"{before}{'.' * n}Σ{'.' * m}{after}"
        for before, after in product("aΣ 1", repeat=2)
        for n, m in product((0, 9, 70), repeat=2)
    ]
    analysis = Analysis(analyzer=analyzer, token_pattern=LETTERS)
    assert_as_defined(analysis, texts, Cut(analysis).terms(Documents.of(texts)))


def test_a_sigma_sees_no_further_than_its_document():
    texts = ["a", "Σ", "b", "aΣ", "b", "Σ.", "Σa", ""]
    analysis = Analysis(token_pattern=LETTERS)
    assert_as_defined(analysis, texts, Cut(analysis).terms(Documents.of(texts)))


@pytest.mark.parametrize("size", [0, 1, 2, 30, 61, 62, 63, 64, 65, 66, 127, 128, 129, 200])
@pytest.mark.parametrize(
    "ngram_range", [(1, 1), (1, 3), (2, 2), (63, 65), (64, 64), (1, 70), (129, 200), (201, 300)]
)
def test_ngrams_of_as_many_units(size, ngram_range):
    """The n-grams are numbered some at a time: wherever that ends, none is lost or doubled."""
    texts = ["", " ".join(f"w{k % 7}" for k in range(size)), "w1 w2", "x" * max(size - 2, 0) + " y"]
    for analyzer in ("word", "char", "char_wb"):
        analysis = Analysis(analyzer=analyzer, ngram_range=ngram_range)
        assert_as_defined(analysis, texts, Cut(analysis).terms(Documents.of(texts)))


def test_words_are_in_the_order_of_the_document():
    text = "one two three two one"
    assert b" ".join(Cut(Analysis()).terms(Documents.of([text]))[0]).decode() == text


def test_a_large_text():
    generator = np.random.default_rng(0)
    words = [f"w{k:x}" for k in range(5000)] + ["ΟΔΟΣ", "naïve", "日本語", "İstanbul", "x" * 70]
    text = " ".join(generator.choice(words, 150_000))
    for analysis in (
        Analysis(ngram_range=(1, 2)),
        Analysis(analyzer="char_wb", ngram_range=(3, 4)),
    ):
        assert_as_defined(analysis, [text], Cut(analysis).terms(Documents.of([text])))


def test_functions_cut_too():
    analysis = Analysis(analyzer=lambda text: text.split("/"))
    texts = ["a/bb/a", "ccc", "\ud800/\0//İ"]
    units = Tokens(analysis).units(Documents.of(texts), 1, 3)
    vocabulary = Vocabulary()
    ids, indptr = vocabulary.number(units, grow=True)
    assert [vocabulary.term(k) for k in ids] == ["ccc", "\ud800", "\0", "", "İ"]
    assert indptr.tolist() == [0, 1, 5]


# ---- bytes that are no UTF-8 ---------------------------------------------------------------------

BAD = [
    b"\x80", b"\xbf", b"\xc0", b"\xc1\x81", b"\xc3", b"\xce", b"\xe0\x9f\xbf", b"\xe4\xb8", b"\xe4",
    b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xef\xbf", b"\xf0\x8f\xbf\xbf", b"\xf0\x9f\x99",
    b"\xf0\x9f", b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"\xff", b"\xfe", b"\xf8\x88\x80",
]  # fmt: skip
BYTES = st.lists(st.sampled_from(BAD) | TEXTS.map(encoded) | st.binary(max_size=6), max_size=6).map(
    b"".join
)


@given(st.lists(BYTES, min_size=1, max_size=5), ANALYSES)
def test_bad_bytes_are_replaced_as_python_does(documents, analysis):
    texts = list(map(decoded, documents))
    found = Cut(analysis).terms(Documents.of(documents))
    assert_as_defined(analysis, texts, found)


EDGES = [
    0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xED, 0xEF, 0xF0,
    0xF3, 0xF4, 0xF5, 0xFF,
]  # fmt: skip


def test_all_sequences_of_bytes_where_utf8_changes():
    documents = [bytes(few) for n in (1, 2, 3, 4) for few in product(EDGES, repeat=n)]
    units = Tokens(Analysis(analyzer="char", lowercase=False)).units(
        Documents.of(documents), 0, len(documents)
    )
    ends = units.ends[units.groups - 1].tolist()
    text = units.text.tobytes()
    for data, first, last in zip(documents, [0, *ends], ends, strict=False):
        assert text[first:last] == encoded(SPACES.sub(" ", decoded(data))), data


def test_sigma_between_bad_bytes():
    parts = ["Σ".encode(), b"a", b".", b"\x80", b"\xce", b"\xe4\xb8", b"\xed\xa0\x80", b"\xcc\x81"]
    documents = [b"".join(few) for n in (1, 2, 3, 4) for few in product(parts, repeat=n)]
    analysis = Analysis(analyzer="char")
    texts = list(map(decoded, documents))
    assert_as_defined(analysis, texts, Cut(analysis).terms(Documents.of(documents)))


def test_bad_bytes_at_the_end_of_a_document_are_not_completed_by_the_next():
    documents = [b"ab\xe4\xb8", b"\xad cd", b"ef\xce", b"\xa3gh", b"\xf0\x9f", b"\x99\x82"]
    analysis = Analysis(token_pattern=LETTERS)
    found = Cut(analysis).terms(Documents.of(documents))
    assert found == [[b"ab"], [b"cd"], [b"ef"], [b"gh"], [], []]


# ---- what characters are -------------------------------------------------------------------------


def test_the_table_of_characters():
    table = properties()
    everything = [chr(point) for point in range(sys.maxunicode + 1)]
    assert table.shape == (len(everything),)
    lower = [ord(c.lower()) if len(c.lower()) == 1 else ord(c) for c in everything]
    assert np.array_equal(table & kernel.LETTER, lower)
    assert [c for c in everything if len(c.lower()) > 1] == [chr(kernel.DOTTED_I)]
    word = np.zeros(len(table), bool)
    word[[ord(c) for c in re.findall(r"\w", "".join(everything))]] = True
    assert np.array_equal(table & kernel.WORD > 0, word)
    assert np.array_equal(word, [c.isalnum() or c == "_" for c in everything])
    space = [c.isspace() for c in everything]
    assert np.array_equal(table & kernel.SPACE > 0, space)
    behind = np.array([f"{c}Σ".lower()[-1] == "ς" for c in everything])
    through = np.array([f"a{c}Σ".lower()[-1] == "ς" for c in everything])
    assert np.array_equal(table & kernel.CASED > 0, behind)
    assert np.array_equal(table & kernel.IGNORABLE > 0, through & ~behind)


def test_the_table_of_ascii_is_part_of_it():
    kept = kernel.LETTER | kernel.WORD | kernel.SPACE
    assert np.array_equal(ascii_properties(), properties()[:128] & kept)


# ---- terms to numbers ----------------------------------------------------------------------------


def numbered(vocabulary, terms, grow=True, documents=None):
    """The numbers of terms, of one document unless said."""
    ids, indptr = vocabulary.number(of_terms(documents or [terms]), grow=grow)
    assert indptr[-1] == len(ids)
    return ids.tolist()


def of(terms):
    vocabulary = Vocabulary()
    vocabulary.add(of_terms([list(terms)]))
    assert list(map(encoded, vocabulary.terms())) == list(dict.fromkeys(terms))
    return vocabulary


STEMS = [
    b"",
    b"\0",
    b"\0" * 7,
    b"\0" * 8,
    b"abcdefgh",
    b"abcdefg",
    b"a" * 16,
    b"a" * 33,
    b"\x7f" * 8,
]
SHORT = st.text(st.sampled_from("\0ab\x01"), max_size=10).map(str.encode)
TERMS = st.builds(lambda a, b, c: a + b + c, st.sampled_from(STEMS), SHORT, st.sampled_from(STEMS))
TERMS |= st.integers(0, 200).map(lambda n: b"z" * n) | st.text(max_size=9).map(str.encode)


@given(st.lists(st.lists(TERMS, max_size=30), max_size=6))
def test_numbers_are_in_the_order_of_arrival(calls):
    vocabulary, numbers = Vocabulary(), {}
    for terms in calls:
        expected = [numbers.get(term, -1) for term in terms]
        assert numbered(vocabulary, terms, grow=False) == expected
        assert numbered(vocabulary, terms) == [numbers.setdefault(t, len(numbers)) for t in terms]
        assert len(vocabulary) == len(numbers)
    assert [vocabulary.term_bytes(k) for k in range(len(vocabulary))] == list(numbers)
    packed, lengths = vocabulary.packed()
    assert packed.tobytes() == b"".join(numbers)
    assert lengths.tolist() == list(map(len, numbers))
    assert Vocabulary.of(packed, lengths) == vocabulary


@given(st.lists(TERMS, unique=True, max_size=60))
def test_the_order_is_that_of_bytes(terms):
    vocabulary = of(terms)
    order = vocabulary.order()
    assert [terms[k] for k in order] == sorted(terms)
    texts = sorted(vocabulary.terms())
    assert texts == [vocabulary.term(k) for k in order]  # bytes in UTF-8 sort as code points


@given(
    st.lists(TERMS, unique=True, max_size=20), st.lists(TERMS, unique=True, max_size=20), st.data()
)
def test_vocabularies_merge_and_are_taken_apart(a, b, data):
    mine, theirs = of(a), of(b)
    assert mine.find(theirs).tolist() == [a.index(term) if term in a else -1 for term in b]
    before, copied = mine.copy(), mine.copy()
    assert copied.merge(theirs).tolist() == [[*dict.fromkeys(a + b)].index(term) for term in b]
    assert copied == of(dict.fromkeys(a + b))
    assert mine == before == of(a)  # a copy shares nothing
    assert (mine == theirs) == (a == b)
    if a:
        numbers = data.draw(st.lists(st.integers(0, len(a) - 1), unique=True))
        taken = mine.gather(np.array(numbers, np.int64))
        assert taken == of([a[k] for k in numbers])
        assert numbered(taken, a, grow=False) == [
            numbers.index(k) if k in numbers else -1 for k in range(len(a))
        ]


def test_it_grows():
    generator = np.random.default_rng(1)
    drawn = (generator.random(150_000) ** 2 * 60_000).astype(int).tolist()
    stream = [b"%x" % k * (1 + k % 9) for k in drawn]
    numbers = {}
    vocabulary = Vocabulary()
    for at in range(0, len(stream), 30_011):
        terms = stream[at : at + 30_011]
        expected = [numbers.setdefault(term, len(numbers)) for term in terms]
        assert numbered(vocabulary, terms) == expected
    assert len(vocabulary) == len(numbers) > 20_000
    assert len(vocabulary.slots) > 64 * 1024
    assert numbered(vocabulary, stream, grow=False) == [numbers[term] for term in stream]
    assert numbered(vocabulary, [b"none", b"x" * 100], grow=False) == [-1, -1]
    assert [vocabulary.term_bytes(k) for k in vocabulary.order()] == sorted(numbers)


@pytest.mark.parametrize("size", [1, 10, 1000, 20_000, 40_000, 300_000])
def test_a_term_larger_than_all_before(size):
    terms = [b"a", b"b" * size, b"c", b"b" * (size - 1) + b"c", b"d"]
    vocabulary = Vocabulary()
    assert numbered(vocabulary, terms) == [0, 1, 2, 2 if size == 1 else 3, 3 if size == 1 else 4]
    assert [vocabulary.term_bytes(k) for k in vocabulary.order()] == sorted(set(terms))


def test_terms_in_many_documents():
    documents = [[b"a"] * n + [b"b"] for n in (0, 1, 63, 64, 65, 0, 200)] + [[], [], [b"a"], []]
    vocabulary = Vocabulary()
    ids, indptr = vocabulary.number(of_terms(documents), grow=True)
    ends = np.cumsum([0, *map(len, documents)])
    assert indptr.tolist() == ends.tolist()
    names = [[vocabulary.term_bytes(k) for k in ids[a:b]] for a, b in pairwise(ends)]
    assert names == documents


HARD = {
    "equal first bytes": lambda k: b"prefix--%d" % k,
    "equal first and last bytes": lambda k: b"prefix--%d--suffix" % k,
    "equal but for one byte in the middle": lambda k: b"a" * 40 + b"%06d" % k + b"z" * 40,
    "eight bytes": lambda k: b"ab%06d" % k,
    "multiples": lambda k: (k << 32).to_bytes(8, "little"),
    "NULs": lambda k: b"\0" * (k % 300 + 1) + b"%d" % (k // 300),
}


@pytest.mark.parametrize("name", HARD)
def test_a_hundred_thousand_terms_that_are_alike(name):
    terms = [HARD[name](k) for k in range(100_000)]
    units = of_terms([terms])
    warm = Vocabulary()
    warm.add(of_terms([terms[:9]]))
    start = time.process_time()
    vocabulary = Vocabulary()
    ids = vocabulary.add(units)
    again = vocabulary.find(vocabulary)
    order = vocabulary.order()
    assert time.process_time() - start < 5.0
    assert np.array_equal(ids, np.arange(len(terms)))
    assert np.array_equal(again, ids)
    assert [terms[k] for k in order] == sorted(terms)


P0, P1 = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93  # as in native/terms.hpp
ALL = (1 << 64) - 1


def fold(x):
    """The two halves of x · P0, exclusive-or."""
    product = x * P0
    return (product ^ product >> 64) & ALL


def long_key(term):
    """The key of a term of more than eight bytes."""
    key = len(term) * P1 & ALL
    for k in [*range(0, len(term) - 8, 8), len(term) - 8]:
        key = fold(key ^ int.from_bytes(term[k : k + 8], "little"))
    return key


def colliding(count):
    """Terms of 16 bytes that all have the same hash of 64 bits."""
    seed = 16 * P1 & ALL
    words = (0x6162636465660000 + k for k in range(count))
    pairs = [(word, fold(seed ^ word) ^ 0x123456789) for word in words]
    return [a.to_bytes(8, "little") + b.to_bytes(8, "little") for a, b in pairs]


def test_terms_of_one_hash_are_distinguished():
    terms = colliding(300)
    assert len(set(map(long_key, terms))) == 1
    vocabulary = Vocabulary()
    assert numbered(vocabulary, terms) == list(range(300))
    assert numbered(vocabulary, terms[::-1], grow=False) == list(range(300))[::-1]
    assert [terms[k] for k in vocabulary.order()] == sorted(terms)


@pytest.mark.parametrize("buckets", [2, 64, 1024, 1 << 30])
def test_hashes_depend_on_the_term_alone(buckets):
    terms = [b"%d" % (k * k) for k in range(5000)] + [b"word %d of many" % k for k in range(5000)]
    ids, _ = Vocabulary().number(of_terms([terms]), buckets=buckets)
    assert ids.min() >= 0
    assert ids.max() < buckets
    known = of([b"other", *terms[::3]])
    size = len(known)
    for documents in ([terms[::-1]], [[term] for term in terms[::-1]]):
        others, _ = known.number(of_terms(documents), grow=True, buckets=buckets)
        assert np.array_equal(others[::-1], ids)
    assert len(known) == size  # nothing is learned
    if buckets <= 1024:  # as even as chance: of the chi-square, 5 standard deviations
        counts = np.bincount(ids, minlength=buckets)
        expected = len(set(terms)) / buckets
        chi = ((counts - expected) ** 2 / expected).sum()
        assert abs(chi - (buckets - 1)) < 5 * np.sqrt(2 * buckets)
    else:
        assert len(np.unique(ids)) > len(set(terms)) - 5


@given(st.lists(TEXTS, min_size=1, max_size=4), ANALYSES)
def test_unknown_terms_have_no_number(texts, analysis):
    tokens, vocabulary = Tokens(analysis), Vocabulary()
    documents = Documents.of([*texts, "the new zz ab Word"])
    units = tokens.units(documents, 0, len(texts))
    vocabulary.number(units, tokens.low, tokens.high, grow=True)
    size = len(vocabulary)
    units = tokens.units(documents, 0, len(texts) + 1)
    ids, indptr = vocabulary.number(units, tokens.low, tokens.high)
    assert len(vocabulary) == size
    assert (ids[: indptr[len(texts)]] >= 0).all()
    known = {term for text in texts for term in analysis.terms(text)}
    expected = Counter(t in known for t in analysis.terms("the new zz ab Word"))
    assert Counter((ids[indptr[len(texts)] :] >= 0).tolist()) == expected


def test_arrow_is_not_copied():
    texts = pa.array(["one two", None, "drei"])
    documents = Documents.of(texts)
    assert documents.data.ctypes.data == texts.buffers()[2].address
    assert documents.valid.tolist() == [True, False, True]
    assert Cut(Analysis()).terms(documents) == [[b"one", b"two"], [], [b"drei"]]
