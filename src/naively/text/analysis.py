"""Convert a document to terms, in Python: the reference for the compiled kernels.

Documents are normalised (lower case, then accents) and split into tokens; n consecutive tokens are
an n-gram. The terms are those of scikit-learn's `CountVectorizer`.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from operator import index
from typing import Any

WORDS = r"(?u)\b\w\w+\b"  # the default token_pattern: words of two characters or more
LETTERS = r"(?u)\b\w+\b"  # the token_pattern of all words, including those of one character

SPACES = re.compile(r"\s\s+")
CELL = re.compile(r"\s\s+|.", re.DOTALL)

Span = tuple[int, int]
Places = list[Span | None]


@dataclass(frozen=True, kw_only=True)
class Analysis:
    r"""How a document becomes terms. Parameters as in scikit-learn's `CountVectorizer`.

    Parameters
    ----------
    analyzer : "word", "char", "char_wb" or callable
        Unit of the n-grams: words; characters; characters within words, padded by a space on
        either side. Or a function from a document to its terms, which replaces all other options.
    ngram_range : (int, int)
        The least and the greatest number of tokens in a term.
    lowercase : bool
        Whether to convert text to lower case.
    strip_accents : None, "ascii", "unicode" or callable
        Whether to remove accents: decompose characters (NFKD), and drop all but ASCII, or
        combining marks only. Or a function from text to text.
    stop_words : list of str or None
        Words to drop before n-grams are built. For words only.
    token_pattern : str
        The regular expression of a word. If it has a group, that is the word.
    tokenizer : callable or None
        A function from text to its words, instead of `token_pattern`.
    """

    analyzer: str | Callable[[str], Iterable[str]] = "word"
    ngram_range: tuple[int, int] = (1, 1)
    lowercase: bool = True
    strip_accents: str | Callable[[str], str] | None = None
    stop_words: tuple[str, ...] | None = None
    token_pattern: str = WORDS
    tokenizer: Callable[[str], Iterable[str]] | None = None

    def __post_init__(self) -> None:
        if not (callable(self.analyzer) or _one_of(self.analyzer, "word", "char", "char_wb")):
            raise ValueError(
                f'analyzer must be "word", "char", "char_wb" or callable, not {self.analyzer!r}'
            )
        try:
            low, high = (int(index(size)) for size in self.ngram_range)
        except (TypeError, ValueError):
            low = high = 0
        if not 1 <= low <= high:
            raise ValueError(
                "ngram_range must be two integers (low, high) with 1 <= low <= high, "
                f"not {self.ngram_range!r}"
            )
        object.__setattr__(self, "ngram_range", (low, high))
        if self.lowercase not in (True, False):
            raise ValueError(f"lowercase must be True or False, not {self.lowercase!r}")
        object.__setattr__(self, "lowercase", bool(self.lowercase))
        accents = self.strip_accents
        if not (accents is None or callable(accents) or _one_of(accents, *STRIP)):
            raise ValueError(
                f'strip_accents must be None, "ascii", "unicode" or callable, not {accents!r}'
            )
        if self.stop_words is not None:
            object.__setattr__(self, "stop_words", _words(self.stop_words))
        if not isinstance(self.token_pattern, str):
            raise ValueError(f"token_pattern must be a str, not {self.token_pattern!r}")
        try:
            groups = re.compile(self.token_pattern).groups
        except (re.error, OverflowError, RecursionError) as error:
            raise ValueError(
                f"token_pattern {self.token_pattern!r} is not a regular expression: {error}"
            ) from None
        if groups > 1:
            raise ValueError(
                f"token_pattern {self.token_pattern!r} must have one capturing group at most, "
                f"not {groups}; write (?:...) for the others"
            )
        if not (self.tokenizer is None or callable(self.tokenizer)):
            raise ValueError(f"tokenizer must be callable or None, not {self.tokenizer!r}")

    @property
    def of_characters(self) -> bool:
        """Whether terms are character n-grams."""
        return self.analyzer in ("char", "char_wb")

    @property
    def unit(self) -> str:
        """What is counted, for display: "words", "words and pairs", "characters"."""
        if callable(self.analyzer):
            return "terms"
        if self.analyzer != "word":
            return "characters"
        named = {(1, 1): "words", (1, 2): "words and pairs"}
        return named.get(self.ngram_range, "word n-grams")

    @property
    def compiled(self) -> bool:
        """Whether kernels support it: no accents to strip, no other pattern, no functions."""
        if callable(self.analyzer) or self.strip_accents is not None or self.tokenizer is not None:
            return False
        return self.analyzer != "word" or self.token_pattern in (WORDS, LETTERS)

    def terms(self, document: str) -> list[str]:
        """Return the terms of a document, with repetitions."""
        if callable(self.analyzer):
            return list(self.analyzer(document))
        text = self._normalised(document)
        if self.analyzer == "word":
            tokens = self._pattern.findall(text) if self.tokenizer is None else self.tokenizer(text)
            tokens = [token for token in tokens if token not in self._left_out]
            if self.ngram_range == (1, 1):
                return tokens
            return [" ".join(tokens[i:j]) for i, j in self._windows(len(tokens))]
        if self.analyzer == "char":
            text = SPACES.sub(" ", text)
            return [text[i:j] for i, j in self._windows(len(text))]
        words = [f" {word} " for word in text.split()]
        return [word[i:j] for word in words for i, j in self._windows_of_word(len(word))]

    def spans(self, document: str) -> list[tuple[str, list[Span]]]:
        """Return the terms of a document, in the order of `terms`, with their positions.

        Positions are the (start, end) of each word of a term, or of an n-gram of characters without
        the spaces that "char_wb" adds. Terms from functions have no known position: they are
        searched in the normalised document from left to right, then from the start again. Terms
        that are not found have no (start, end).
        """
        text, places = self._aligned(document)
        located: Iterable[tuple[str, list[Span]]]
        if callable(self.analyzer):
            terms = list(self.analyzer(document))
            located = zip(terms, _sought(map(self._normalised, terms), text), strict=True)
        elif self.analyzer == "word":
            located = self._located_words(text)
        else:
            located = self._located_characters(text)
        return [
            (term, sorted(place for span in spans for place in _parts(places, *span)))
            for term, spans in located
        ]

    def _located_words(self, text: str) -> Iterable[tuple[str, list[Span]]]:
        """Yield the n-grams of words, and the positions of their words in the text."""
        if self.tokenizer is None:
            matches = list(self._pattern.finditer(text))
            group = self._pattern.groups
            tokens = [match[group] or "" for match in matches]
            spans = [[match.span(group)] if match.start(group) >= 0 else [] for match in matches]
        else:
            tokens = list(self.tokenizer(text))
            spans = _sought(tokens, text)
        positions = [k for k, token in enumerate(tokens) if token not in self._left_out]
        for i, j in self._windows(len(positions)):
            places = [span for k in positions[i:j] for span in spans[k]]
            yield " ".join(tokens[k] for k in positions[i:j]), places

    def _located_characters(self, text: str) -> Iterable[tuple[str, list[Span]]]:
        """Yield the n-grams of characters, and their positions in the text."""
        if self.analyzer == "char":
            cells = [match.span() for match in CELL.finditer(text)]
            text = SPACES.sub(" ", text)
            for i, j in self._windows(len(text)):
                yield text[i:j], [(cells[i][0], cells[j - 1][1])]
            return
        for match in re.finditer(r"\S+", text):
            start, end = match.span()
            word = f" {match[0]} "
            for i, j in self._windows_of_word(len(word)):
                yield word[i:j], [(max(start + i - 1, start), min(start + j - 1, end))]

    def _windows(self, length: int) -> list[Span]:
        """Return the n-grams of a sequence of tokens, as (start, end)."""
        low, high = self.ngram_range
        return [
            (start, start + size)
            for size in range(low, min(high, length) + 1)
            for start in range(length - size + 1)
        ]

    def _windows_of_word(self, length: int) -> list[Span]:
        """Return the n-grams within a word; a word that is too short is one n-gram."""
        return self._windows(length) or [(0, length)]

    def _normalised(self, document: str) -> str:
        """Return the document in lower case and without accents, as configured."""
        return self._stripped(document.lower() if self.lowercase else document)

    def _stripped(self, text: str) -> str:
        """Return the text without accents, as configured."""
        if self.strip_accents is None:
            return text
        if callable(self.strip_accents):
            return self.strip_accents(text)
        return STRIP[self.strip_accents](text)

    def _aligned(self, document: str) -> tuple[str, Places]:
        """Return (normalised document; the span of the original for each character, and its end).

        The lower case of a letter can depend on its neighbours, but its length does not. Functions
        that strip accents are applied to each character; if that does not reproduce the stripped
        text, its words are searched in the original.
        """
        text = document
        spans = [(k, k + 1) for k in range(len(document))]
        if self.lowercase:
            spans = [span for span, letter in zip(spans, text, strict=True) for _ in letter.lower()]
            text = text.lower()
        stripped = self._stripped(text)
        pieces = {character: self._stripped(character) for character in set(text)}
        end = (len(document), len(document))
        if "".join(pieces[character] for character in text) != stripped:
            return stripped, [*_matched(stripped, text, spans), end]
        places: list[Span] = []
        for character, (start, stop) in zip(text, spans, strict=True):
            piece = pieces[character]
            places += [(start, stop)] * len(piece)
            if not piece and unicodedata.combining(character) and places and places[-1][1] >= start:
                places[-1] = (places[-1][0], stop)  # a mark belongs to its letter
        return stripped, [*places, end]

    def __getstate__(self) -> dict[str, Any]:  # another thread may be caching a property
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(self.token_pattern)

    @cached_property
    def _left_out(self) -> frozenset[str]:
        return frozenset(self.stop_words or ())


def deciding(analyses: Sequence[Analysis]) -> list[int]:
    """Which bags of a text decide whether it has known terms: those of words, if there are any."""
    of_words = [k for k, analysis in enumerate(analyses) if not analysis.of_characters]
    return of_words or [*range(len(analyses))]


def strip_unicode(text: str) -> str:
    """Decompose the text (NFKD), and drop combining marks."""
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join([character for character in decomposed if not unicodedata.combining(character)])


def strip_ascii(text: str) -> str:
    """Decompose the text (NFKD), and drop all that is not ASCII."""
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")


STRIP = {"ascii": strip_ascii, "unicode": strip_unicode}


def _one_of(value: object, *names: str) -> bool:
    """Return whether the value is one of these names."""
    return isinstance(value, str) and value in names


def _words(words: Iterable[str]) -> tuple[str, ...]:
    """Return the stop words, sorted; raise ValueError if they are no list of words."""
    if isinstance(words, str):
        raise ValueError(f"stop_words must be the words themselves, in a list, not {words!r}")
    if not isinstance(words, Iterable):
        raise ValueError(f"stop_words must be a list of words or None, not {words!r}")
    stop_words = tuple(words)
    for word in stop_words:
        if not isinstance(word, str):
            raise ValueError(f"stop_words must be words, not {word!r}")
    return tuple(sorted(set(stop_words)))  # sorted, so that equal sets of words are equal options


def _parts(places: Places, start: int, end: int) -> list[Span]:
    """Return the span of a document that corresponds to text[start:end], if known."""
    spans = [place for place in places[start : max(end, start + 1)] if place]
    if not spans:
        return []
    begin = min(spans)[0]
    return [(begin, max(spans)[1] if end > start else begin)]


def _sought(terms: Iterable[str], text: str) -> list[list[Span]]:
    """Return the next occurrence of each term in the text, or else the first."""
    occurrences: list[list[Span]] = []
    end = 0
    for term in terms:
        start = text.find(term, end)
        if start < 0:
            start = text.find(term)
        if start >= 0:
            end = start + len(term)
        occurrences.append([(start, end)] if start >= 0 else [])
    return occurrences


def _matched(text: str, source: str, parts: list[Span]) -> Places:
    """Return the source span of each character of a text, for words that occur in the source."""
    words = list(re.finditer(r"\w+", text))
    places: Places = [None] * len(text)
    for word, spans in zip(words, _sought((word[0] for word in words), source), strict=True):
        for start, end in spans:
            places[word.start() : word.end()] = parts[start:end]
    return places


# ---- bag -----------------------------------------------------------------------------------------


def bag_of_words(text: str, **options: Any) -> Counter[str]:
    r"""Count the words of a text, as `TextNB` does.

    Lecture 2, "Bag of words approach": the order of the words is ignored. A word that does not
    occur counts 0. Bags can be added.

    Parameters
    ----------
    text : str
    options : `analyzer`, `ngram_range`, `lowercase`, `strip_accents`, `stop_words` (a list),
        `token_pattern` and `tokenizer`, as of `TextNB`; by default words of two characters or more,
        in lower case.

    Returns
    -------
    Counter of the terms, sorted.

    Raises
    ------
    TypeError : if the text is no str, or an option is none of these.
    ValueError : saying which option is wrong.

    Examples
    --------
    >>> from naively import bag_of_words
    >>> bag = bag_of_words("All about the company. All you want to know about it.")
    >>> bag["about"], bag["all"], bag["company"], bag["aardvark"]
    (2, 2, 1, 0)
    >>> bag == bag_of_words("it to the know want you company, about ABOUT ... all ALL")
    True
    """
    if not isinstance(text, str):
        raise TypeError(
            f"text must be one document, a str, not {type(text).__name__}; "
            "TextNB takes a list of them"
        )
    return Counter(sorted(Analysis(**options).terms(text)))
