"""Write SQL that splits documents into terms and adds up their contributions to scores."""

from __future__ import annotations

import string
from collections.abc import Iterator, Sequence
from functools import cache, reduce
from operator import or_

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from naively.core.exact import Int64
from naively.export.formulas import NotExportableError
from naively.export.sql.expressions import (
    Columns,
    added,
    cell,
    largest,
    number,
    paren,
    power,
    select,
    trimmed,
    written,
)
from naively.formula import Bag, Formula, MixedTexts, TextEvidence
from naively.text.analysis import LETTERS, Analysis

DIALECTS = ("duckdb", "postgres")  # dialects for which the tokenization is tested
POINTS, ASCII = 0x110000, 0x80
SIGMA, DOTTED = "Σ", "İ"
"""Letters whose lower case depends on their neighbours, or has two characters."""
ABSENT, PRESENT = 0, 1  # states of a document
CLOCK = r"[0-9]{2}:[0-9]{2}"
WRITTEN = (
    r"^([-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?"
    rf"|([-+]?[0-9]+-[0-9]{{2}}-[0-9]{{2}}[T ])?{CLOCK}(:[0-9]{{2}}(\.[0-9]+)?)?"
    r"(Z|[-+][0-9]{2}:?[0-9]{2})?)$"
)
"""Text that is a number or a time, and that Python may normalize to another spelling,"""
CANONICAL = rf"^(-?[1-9][0-9]*|0|[-+]?0[0-9]+([.eE].*)?|{CLOCK})$"
"""except these, which stay as they are."""


class TextTerm:
    """The stages of a query that score the documents of a column by their terms.

    Raises NotExportableError if the query cannot make or count the terms as Python does.

    name : the alias of the documents, and prefix of the other aliases.
    numbers : of the terms; the key of a document is their sum. None without recurring texts.
    """

    def __init__(self, term: Bag, dialect: str, name: str, numbers: Int64 | None = None) -> None:
        self.term, self.dialect, self.name, self.numbers = term, dialect, name, numbers
        self.classes = term.slope.shape[1]
        column = f"column {term.column!r}"
        if dialect not in DIALECTS:
            raise NotExportableError(
                f"{column}: text is exported to {' and '.join(DIALECTS)} alone: {dialect} cuts it "
                "in ways that we could not compare with Python's"
            )
        if term.weighting is not None or term.length_norm is not None:
            raise NotExportableError(
                f"{column}: counts with weighting or length_norm cannot be exported in SQL"
            )

    # ---- columns of the table --------------------------------------------------------------------

    def state(self) -> exp.Expression:
        """Whether there is a document; null where the query cannot split it as Python does."""
        document = cell(self.name)
        is_null = exp.Is(this=document, expression=exp.Null())
        ifs = [exp.If(this=is_null, true=exp.Literal.number(ABSENT))]
        state: exp.Expression = exp.Literal.number(PRESENT)
        if self.term.analysis.lowercase:
            operands = [document.copy(), exp.Literal.string(SIGMA)]
            position = exp.Anonymous(this="STRPOS", expressions=operands)
            has_sigma = exp.GT(this=position, expression=exp.Literal.number(0))
            state = exp.Case(ifs=[exp.If(this=has_sigma, true=exp.Null())], default=state)
        if self.term.as_level:
            text = trimmed(document.copy(), self.dialect)
            number_or_time, is_canonical = (
                exp.RegexpLike(this=text.copy(), expression=exp.Literal.string(regex))
                for regex in (WRITTEN, CANONICAL)
            )
            is_spelled = exp.Not(this=exp.Paren(this=is_canonical))
            is_other = exp.And(this=number_or_time, expression=is_spelled)
            ifs.append(exp.If(this=is_other, true=exp.Null()))
        return exp.Case(ifs=ifs, default=state)

    # ---- joined tables ---------------------------------------------------------------------------

    def stages(self, table: str, row: str) -> Iterator[tuple[exp.TableAlias, exp.Expression]]:
        """Yield (name, query) of the stages from the documents to the sums of their terms."""
        name, low_high = self.name, self.term.analysis.ngram_range
        yield _alias(f"{name}_terms", ["term", *self._slopes(), *self._number()]), self._terms()
        yield _alias(f"{name}_words", ["row", "word", "place"]), self._words(table, row)
        source = f"{name}_words"
        if low_high != (1, 1) or self.term.analysis.analyzer != "word":
            grams = self._grams if self.term.analysis.analyzer == "word" else self._runs
            source = f"{name}_grams"
            yield _alias(source, ["row", "word"]), grams(f"{name}_words", *low_high)
        sums = _alias(f"{name}_met", [name + "_row", *self._sums(), *self._key()])
        yield sums, self._sum_of_contributions(source)

    def joined(self, stage: exp.Select, row: str) -> exp.Select:
        """Join a stage with the sums of the terms of each document."""
        same_row = exp.EQ(this=cell(row), expression=cell(f"{self.name}_row"))
        return stage.join(exp.to_table(f"{self.name}_met"), on=same_row, join_type="left")

    def score(self, state: str, c: int) -> exp.Expression:
        """Compute the document's contribution to the score of a class."""
        evidence = exp.Coalesce(this=cell(self._sums()[c]), expressions=[number(0.0)])
        zero = self.term.zero
        absence = 0.0 if zero is None else float(np.sum(zero[:, c]))
        ifs = [
            _when(state, ABSENT, number(self.term.missing[c])),
            _when(state, PRESENT, added([number(absence), evidence]) if absence else evidence),
        ]
        return exp.Case(ifs=ifs)

    def has_terms(self) -> exp.Expression:
        """Whether a document has known terms."""
        return exp.Is(this=cell(self._sums()[0]), expression=exp.Null()).not_()

    def is_key(self, key: int) -> exp.Expression:
        """Whether a document has this key."""
        return exp.EQ(this=cell(self._key()[0]), expression=exp.Literal.number(key))

    # ---- terms -----------------------------------------------------------------------------------

    def _slopes(self) -> list[str]:
        return [f"k{c}" for c in range(self.classes)]

    def _sums(self) -> list[str]:
        return [f"{self.name}_{c}" for c in range(self.classes)]

    def _number(self) -> list[str]:
        return [] if self.numbers is None else ["h"]

    def _key(self) -> list[str]:
        return [f"{self.name}_{column}" for column in self._number()]

    def _terms(self) -> exp.Expression:
        """Write the known terms as one text: as expression objects they would take minutes."""
        slopes: list[list[float | int]] = self.term.slope.tolist()
        if self.numbers is not None:
            keys = self.numbers.tolist()
            slopes = [[*values, key] for values, key in zip(slopes, keys, strict=True)]
        rows = [
            f"({written(exp.Literal.string(term), self.dialect)}, {', '.join(map(repr, values))})"
            for term, values in zip(self.term.terms, slopes, strict=True)
        ]
        kind = "DOUBLE PRECISION" if self.dialect == "postgres" else "DOUBLE"
        kinds = [kind] * self.classes + ["BIGINT"] * len(self._number())
        zeros = ", ".join(f"CAST(0 AS {sql_type})" for sql_type in kinds)
        header = f"(CAST(NULL AS TEXT), {zeros})"  # declares the types of the columns
        return exp.Var(this=f"VALUES {', '.join([header, *rows])}")

    def _words(self, table: str, row: str) -> exp.Expression:
        """Split each document into words, with their positions; words may repeat.

        For character n-grams within words, words are separated by blanks; for character n-grams
        of the whole text, the document is one word.
        """
        analysis = self.term.analysis
        document = self._lower() if analysis.lowercase else cell(self.name)
        if analysis.analyzer == "char":
            repeated = exp.Literal.string(f"[{blanks(self.dialect)}]{{2,}}")
            texts = [repeated, *map(exp.Literal.string, (" ", "g"))]
            replaced = exp.Anonymous(this="REGEXP_REPLACE", expressions=[document, *texts])
            text = written(replaced, self.dialect)
            return exp.Var(this=f'SELECT "{row}", {text}, 1 FROM "{table}"')
        text = written(document, self.dialect)
        regex = written(exp.Literal.string(pattern(analysis, self.dialect)), self.dialect)
        is_words = analysis.analyzer == "word"
        condition = self._stop_words() if is_words and analysis.ngram_range != (1, 1) else ""
        if self.dialect == "duckdb":
            words = f'REGEXP_EXTRACT_ALL({text}, {regex}) AS "words"'
            query = (
                'SELECT "row", UNNEST("words") AS "word", GENERATE_SUBSCRIPTS("words", 1) AS '
                f'"place" FROM (SELECT "{row}" AS "row", {words} FROM "{table}") AS "cut"'
            )
        else:
            query = (
                f'SELECT "{row}" AS "row", "found"."match"[1] AS "word", "found"."place" '
                f"FROM \"{table}\", REGEXP_MATCHES({text}, {regex}, 'g') "
                'WITH ORDINALITY AS "found"("match", "place")'
            )
        return exp.Var(this=f'SELECT * FROM ({query}) AS "each"{condition}')

    def _stop_words(self) -> str:
        words = self.term.analysis.stop_words
        if not words:
            return ""
        texts = ", ".join(written(exp.Literal.string(word), self.dialect) for word in words)
        return f' WHERE "word" NOT IN ({texts})'

    def _lower(self) -> exp.Expression:
        """Convert the document to lower case as Python does.

        A database's own function depends on its version, or on the locale of the server.
        """
        document = cell(self.name)
        upper, lower = cases()
        dotted = [document, *map(exp.Literal.string, (DOTTED, DOTTED.lower()))]
        replaced = exp.Anonymous(this="REPLACE", expressions=dotted)
        translated = _translated(replaced, "".join(upper), "".join(lower))
        ascii_only = _translated(document.copy(), string.ascii_uppercase, string.ascii_lowercase)
        mask = np.zeros(POINTS, bool)
        mask[[ord(c) for c in (*upper, DOTTED)]] = True
        mask[:ASCII] = False
        character_set = exp.Literal.string(f"[{ranges(mask, self.dialect)}]")
        has_other = exp.RegexpLike(this=document.copy(), expression=character_set)
        return exp.Case(ifs=[exp.If(this=has_other, true=translated)], default=ascii_only)

    def _grams(self, words: str, low: int, high: int) -> exp.Expression:
        """Make n-grams of words; null beyond the end of a document."""
        order = '(PARTITION BY "row" ORDER BY "place")'
        queries = []
        for size in range(low, high + 1):
            following = [f" || ' ' || LEAD(\"word\", {k}) OVER {order}" for k in range(1, size)]
            queries.append(f'SELECT "row", "word"{"".join(following)} FROM "{words}"')
        return exp.Var(this=" UNION ALL ".join(queries))

    def _runs(self, words: str, low: int, high: int) -> exp.Expression:
        """Make character n-grams of a document, or of each word with a blank on either side.

        A word that is shorter than all n-grams is one n-gram.
        """
        bounded = self.term.analysis.analyzer == "char_wb"
        word = """' ' || "word" || ' '""" if bounded else '"word"'
        source = f'SELECT "row", {word} AS "word" FROM "{words}"'
        queries = [f'SELECT * FROM ({source}) AS "all" WHERE LENGTH("word") < {low}'] * bounded
        for size in range(low, high + 1):
            positions = f'GENERATE_SERIES(1, LENGTH("word") - {size - 1})'
            positions = f"UNNEST({positions})" if self.dialect == "duckdb" else positions
            positioned = f'SELECT "row", "word", {positions} AS "place" FROM ({source}) AS "all"'
            gram = f'SUBSTRING("word", CAST("place" AS INT), {size})'
            queries.append(f'SELECT "row", {gram} FROM ({positioned}) AS "at"')
        return exp.Var(this=" UNION ALL ".join(queries))

    def _sum_of_contributions(self, words: str) -> exp.Expression:
        """Add up the contributions of each document's terms, times L^-γ."""
        count = "1" if self.term.once else "COUNT(*)"
        counts = f'SELECT "row", "word", {count} AS "n" FROM "{words}" GROUP BY "row", "word"'
        root = ' / SQRT(SQRT(CAST(SUM("n") AS DOUBLE PRECISION)))' * self.term.quarters
        weighted = [f'SUM("n" * "{slope}"){root}' for slope in self._slopes()]
        sums = ", ".join([*weighted, *(f'SUM("n" * "{column}")' for column in self._number())])
        return exp.Var(
            this=f'SELECT "row", {sums} FROM ({counts}) AS "counts" '
            f'JOIN "{self.name}_terms" ON "word" = "term" GROUP BY "row"'
        )


def _alias(name: str, columns: Sequence[str]) -> exp.TableAlias:
    identifiers = [exp.to_identifier(column, quoted=True) for column in columns]
    return exp.TableAlias(this=exp.to_identifier(name, quoted=True), columns=identifiers)


def _translated(text: exp.Expression, letters: str, others: str) -> exp.Expression:
    alphabets = map(exp.Literal.string, (letters, others))
    return exp.Anonymous(this="TRANSLATE", expressions=[text, *alphabets])


def _when(state: str, value: int, result: exp.Expression) -> exp.If:
    return exp.If(this=exp.EQ(this=cell(state), expression=exp.Literal.number(value)), true=result)


# ---- Python's character classes --------------------------------------------------------------


@cache
def cases() -> tuple[list[str], list[str]]:
    """Return (letters that have a lower case, these), except `SIGMA` and `DOTTED`."""
    letters = [c for c in map(chr, range(POINTS)) if c not in (SIGMA, DOTTED) and c.lower() != c]
    return letters, [c.lower() for c in letters]


@cache
def pattern(analysis: Analysis, dialect: str) -> str:
    """Return a regular expression of words, which lists Python's word characters.

    For character n-grams, words are everything between blanks.
    """
    if analysis.analyzer == "char_wb":
        return f"[^{blanks(dialect)}]+"
    letters = np.array([chr(k).isalnum() or chr(k) == "_" for k in range(POINTS)])
    return f"[{ranges(letters, dialect)}]{'+' if analysis.token_pattern == LETTERS else '{2,}'}"


def blanks(dialect: str) -> str:
    """Return Python's blanks as the ranges of a regular expression."""
    return ranges(np.array([chr(k).isspace() for k in range(POINTS)]), dialect)


def ranges(chosen: npt.NDArray[np.bool_], dialect: str) -> str:
    """Return a set of characters as the ranges of a regular expression."""
    ends = np.flatnonzero(np.diff(chosen, prepend=False, append=False)).reshape(-1, 2).tolist()
    return "".join(
        _point(first, dialect) + (f"-{_point(end - 1, dialect)}" if end - first > 1 else "")
        for first, end in ends
    )


def _point(k: int, dialect: str) -> str:
    if dialect == "duckdb":
        return f"\\x{{{k:x}}}"
    return f"\\u{k:04x}" if k < 0x10000 else f"\\U{k:08x}"


# ---- prior mixing --------------------------------------------------------------------------------


Text = tuple[str, TextTerm]  # (the alias of a document's state, its terms)
FACTOR = "factor"  # the alias of the factor of rows with unfamiliar missing cells; null for others


class MixedTerm:
    """The stages of a query that mix the evidence of texts with the prior.

    Terms that all classes share are omitted, so that a score is log (e + (1 - e) p(x | c) / p(x)).

    other : the same with the weights of rows that have a factor; None if no rows have one.
    texts : of the bags of each text.
    k : the index of the term, which is part of its aliases.
    """

    def __init__(
        self, term: MixedTexts, other: MixedTexts | None, texts: Sequence[Sequence[Text]], k: int
    ) -> None:
        self.term, self.other, self.texts, self.k = term, other, texts, k
        self.classes = range(len(term.log_prior))

    def stages(self) -> Iterator[Columns]:
        """Yield the columns of each stage; the first reads the texts, others the previous stage."""
        share = {self._share: self._share_of_row()}
        if self.other is None and self.term.weights == (1.0,) and not self.term.base.any():
            yield share | {self._sum(c): self._evidence(0, c) for c in self.classes}
        else:
            indices = range(len(self.texts))
            yield share | {
                self._value(p, c): self._evidence(p, c) for p in indices for c in self.classes
            }
            yield {self._sum(c): self._weighted(c) for c in self.classes}
        joint = [self._joint(c) for c in self.classes if self.term.log_prior[c] > -np.inf]
        yield {f"b{self.k}": largest(joint)}
        best = cell(f"b{self.k}")
        powers = [power(exp.Sub(this=score, expression=best.copy())) for score in joint]
        log_total = exp.Ln(this=added(powers))
        yield {f"l{self.k}": exp.Add(this=best.copy(), expression=log_total)}

    def score(self, c: int) -> exp.Expression:
        """Compute the texts' contribution to the score of a class; null if they cannot be split."""
        log_ratio = exp.Sub(this=cell(self._sum(c)), expression=cell(f"l{self.k}"))
        share, positive = cell(self._share), exp.Greatest(this=log_ratio, expressions=[number(0.0)])
        prior_part = exp.Mul(this=share, expression=power(exp.Neg(this=positive.copy())))
        exponential = power(exp.Sub(this=paren(log_ratio.copy()), expression=positive.copy()))
        complement = paren(exp.Sub(this=number(1.0), expression=share.copy()))
        evidence_part = exp.Mul(this=complement, expression=exponential)
        value = exp.Add(this=positive, expression=exp.Ln(this=added([prior_part, evidence_part])))
        has_evidence = exp.Is(this=cell(f"l{self.k}"), expression=exp.Null()).not_()
        no_evidence = exp.EQ(this=share.copy(), expression=number(1.0))
        is_prior = exp.And(this=has_evidence.copy(), expression=no_evidence)
        ifs = [exp.If(this=is_prior, true=number(0.0)), exp.If(this=has_evidence, true=value)]
        return exp.Case(ifs=ifs)

    @property
    def _share(self) -> str:
        return f"e{self.k}"

    def _share_of_row(self) -> exp.Expression:
        """Compute e, which differs for rows without known terms."""
        without_terms, with_terms = list[exp.Expression](), list[exp.Expression]()
        for p in self.term.first:
            state, _ = self.texts[p][0]
            present = exp.EQ(this=cell(state), expression=exp.Literal.number(PRESENT))
            bags = [self.texts[p][k][1] for k in self.term.texts[p].deciding]
            has_terms = paren(reduce(either, [bag.has_terms() for bag in bags]))
            without_terms.append(exp.And(this=present, expression=exp.Not(this=has_terms)))
            with_terms.append(exp.And(this=present.copy(), expression=has_terms.copy()))
        ifs = [
            exp.If(this=reduce(either, with_terms), true=number(self.term.share)),
            exp.If(this=reduce(either, without_terms), true=number(self.term.unseen_share)),
        ]
        return exp.Case(ifs=ifs, default=number(self.term.share))

    def _weighted(self, c: int) -> exp.Expression:
        """Compute the weighted sum of the texts' evidence, times the factor of the row, if any."""
        sums = []
        for term in filter(None, (self.term, self.other)):
            products = [
                exp.Mul(this=number(weight), expression=cell(self._value(p, c)))
                for p, weight in enumerate(term.weights)
            ]
            sums.append(added([number(term.base[c]), *products]))
        if len(sums) == 1:
            return sums[0]
        is_familiar = exp.Is(this=cell(FACTOR), expression=exp.Null())
        scaled = exp.Mul(this=cell(FACTOR), expression=paren(sums[1]))
        return exp.Case(ifs=[exp.If(this=is_familiar, true=sums[0])], default=scaled)

    def _evidence(self, p: int, c: int) -> exp.Expression:
        """Compute the evidence of a text: of the recurring text, or the sum of its terms."""
        text: TextEvidence = self.term.texts[p]
        state, first_bag = self.texts[p][0]
        absent = exp.EQ(this=cell(state), expression=exp.Literal.number(ABSENT))
        has_terms = reduce(either, [absent, *(bag.has_terms() for _, bag in self.texts[p])])
        with_terms = exp.If(this=has_terms, true=number(text.base[c]))
        base = exp.Case(ifs=[with_terms], default=number(0.0))
        words = added([base, *(bag.score(state, c) for state, bag in self.texts[p])])
        if not len(text.keys):
            return words
        ifs = [
            exp.If(this=first_bag.is_key(key), true=number(score))
            for key, score in zip(text.keys.tolist(), text.recurring[:, c].tolist(), strict=True)
        ]
        return exp.Case(ifs=ifs, default=words)

    def _value(self, p: int, c: int) -> str:
        return f"v{self.k}_{p}_{c}"

    def _sum(self, c: int) -> str:
        return f"u{self.k}_{c}"

    def _joint(self, c: int) -> exp.Expression:
        return paren(added([number(self.term.log_prior[c]), cell(self._sum(c))]))


def either(a: exp.Expression, b: exp.Expression) -> exp.Expression:
    """Whether one of two is true."""
    return exp.Or(this=a, expression=b)


def texts_of(formula: Formula, dialect: str) -> tuple[list[Text], list[Text], list[MixedTerm]]:
    """Return (all texts, those that are not mixed with the prior, the mixtures of the others)."""
    plain, others, mixed = list[Text](), list[Text](), list[MixedTerm]()

    def text(bag: Bag, numbers: Int64 | None = None) -> Text:
        k = len(plain) + len(others)
        return f"d{k}", TextTerm(bag, dialect, f"naively_text_{k}", numbers)

    other_terms = [] if formula.other is None else formula.other.terms
    other = next((term for term in other_terms if isinstance(term, MixedTexts)), None)
    for term in formula.terms:
        if isinstance(term, Bag):
            plain.append(text(term))
        elif isinstance(term, MixedTexts):
            texts = list[list[Text]]()
            for text_evidence in term.texts:
                bags = list[Text]()
                for bag in text_evidence.bags:
                    bags.append(text(bag, None if bags else text_evidence.numbers))
                    others.append(bags[-1])
                texts.append(bags)
            mixed.append(MixedTerm(term, other, texts, len(mixed)))
    return [*plain, *others], plain, mixed


def mixing_stages(mixed: Sequence[MixedTerm], carried: Columns, row: str) -> Iterator[exp.Select]:
    """Yield the stages before the scores, with the `carried` columns; none if nothing is mixed."""
    for k, stage in enumerate(zip(*(mixed_term.stages() for mixed_term in mixed), strict=True)):
        columns = reduce(or_, stage)
        query = select(carried | columns)
        for term in mixed if k == 0 else ():
            for texts in term.texts:
                for _, text in texts:
                    query = text.joined(query, row)
        carried = carried | {name: cell(name) for name in columns}
        yield query
