"""Build SQL expressions, and check the names of columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from string import ascii_lowercase, ascii_uppercase
from typing import Any

from sqlglot import dialects, exp

from naively.core.exact import LARGEST
from naively.export.formulas import NotExportableError

FOLDING = ("bigquery", "duckdb", "sqlite")
"""Dialects in which column names are case-insensitive for A to Z."""
LONGEST = {"postgres": 63}  # the most bytes of a name in a database; it ignores the rest
CAPITALS = str.maketrans(ascii_uppercase, ascii_lowercase)


def check_names(names: Sequence[str], dialect: str) -> None:
    """Raise NotExportableError if the database cannot have columns of these names in one table."""
    columns: dict[str, str] = {}
    for name in names:
        if not name or "\0" in name:
            raise NotExportableError(f"no column of a database is called {name!r}: rename it")
        other = columns.setdefault(_read(name, dialect), name)
        if other != name:
            reason = "where capitals make no difference"
            if dialect in LONGEST:
                reason = f"which reads the first {LONGEST[dialect]} bytes of a name"
            raise NotExportableError(
                f"columns {other!r} and {name!r} are one column in {dialect}, {reason}: rename one "
                "of them"
            )


def free_name(name: str, taken: Collection[str], dialect: str) -> str:
    """Return an unused name for a result column within the database's limit; append _ if used."""
    used, suffix = {_read(other, dialect) for other in taken}, ""
    while True:
        longest = LONGEST.get(dialect)
        candidate = (name if longest is None else _cut(name, longest - len(suffix))) + suffix
        if _read(candidate, dialect) not in used:
            return candidate
        suffix += "_"


def _read(name: str, dialect: str) -> str:
    """Return the part of a name that identifies it in the database."""
    if dialect in LONGEST:
        return _cut(name, LONGEST[dialect])
    return name.translate(CAPITALS) if dialect in FOLDING else name


def _cut(name: str, longest: int) -> str:
    """Cut a name to whole characters within this number of bytes."""
    return name.encode("utf-8", "surrogatepass")[:longest].decode("utf-8", "ignore")


# ---- expressions ---------------------------------------------------------------------------------


Columns = dict[str, exp.Expression]  # expressions by their alias
LEAST = -700.0  # nats of a class relative to the best, at least; exp of less underflows


class Postgres(dialects.Postgres):  # type: ignore[misc]
    """PostgreSQL, with literals that do not depend on `standard_conforming_strings`."""

    class Generator(dialects.Postgres.Generator):  # type: ignore[misc]
        """Writes text with backslashes as E'...', with each backslash doubled."""

        def literal_sql(self, expression: exp.Literal) -> str:
            """Write a number or a text."""
            written = super().literal_sql(expression)
            needs_escape = expression.is_string and "\\" in expression.this
            return "E" + written.replace("\\", "\\\\") if needs_escape else written


def written(expression: exp.Expression, dialect: str) -> str:
    """Write an expression in a dialect, with quoted names."""
    writer = Postgres if dialect == "postgres" else dialect
    return expression.sql(writer, pretty=False, identify=True)


def select(columns: Columns) -> exp.Select:
    """Select these columns."""
    aliases = [
        exp.alias_(expression, exp.to_identifier(name, quoted=True), copy=False)
        for name, expression in columns.items()
    ]
    return exp.Select(expressions=aliases)


def cell(name: str) -> exp.Column:
    """Refer to a column."""
    return exp.Column(this=exp.to_identifier(name, quoted=True))


def number(value: float) -> exp.Expression:
    """Write a float64 exactly, with an exponent, as literals without one are decimals."""
    magnitude = exp.Literal.number(f"{abs(float(value)):.17e}")
    return paren(exp.Neg(this=magnitude)) if value < 0 else magnitude


def literal(label: Any) -> exp.Expression:
    """Write a label."""
    if isinstance(label, str):
        return exp.Literal.string(label)
    return exp.Boolean(this=label) if isinstance(label, bool) else exp.Literal.number(repr(label))


def cast(value: exp.Expression) -> exp.Expression:
    """Cast a number to float64."""
    return exp.cast(value, "double")


def seconds(moment: exp.Expression, dialect: str) -> exp.Expression:
    """Compute the seconds of a date since 1970, or of a time of the day."""
    if dialect == "duckdb":  # its EPOCH rounds twice before 1684
        micros = exp.Anonymous(this="EPOCH_US", expressions=[moment])
        million = exp.Literal.number(1_000_000)
        integer = cast(exp.IntDiv(this=micros, expression=million))
        remainder = exp.Mod(this=micros.copy(), expression=million.copy())
        fraction = exp.Div(this=cast(remainder), expression=million.copy())
        return paren(exp.Add(this=integer, expression=fraction))
    return exp.Extract(this=exp.Var(this="EPOCH"), expression=moment)


def part_of_date(moment: exp.Expression, part: int, dialect: str) -> exp.Expression:
    """Extract a part of a date, given by its seconds: see `naively.formula.PartCut`."""
    name, first = (("HOUR", 0), ("ISODOW", 1), ("DAY", 1), ("MONTH", 1))[part]
    floor = exp.Floor(this=moment)
    if dialect == "duckdb":
        micros = exp.Mul(this=exp.cast(floor, "bigint"), expression=exp.Literal.number(1_000_000))
        date: exp.Expression = exp.Anonymous(this="MAKE_TIMESTAMP", expressions=[micros])
    else:
        zoned = exp.Anonymous(this="TO_TIMESTAMP", expressions=[floor])
        date = exp.AtTimeZone(this=zoned, zone=exp.Literal.string("UTC"))
    value = exp.cast(exp.Extract(this=exp.Var(this=name), expression=date), "int")
    return paren(exp.Sub(this=value, expression=exp.Literal.number(first)))


def paren(expression: exp.Expression) -> exp.Expression:
    """Parenthesize an expression if needed."""
    plain = isinstance(expression, exp.Column | exp.Literal | exp.Paren)
    return expression if plain else exp.Paren(this=expression)


def minus(expression: exp.Expression, value: float) -> exp.Expression:
    """Subtract a number."""
    return exp.Sub(this=expression, expression=number(value))


def over(dividend: exp.Expression, divisor: exp.Expression) -> exp.Expression:
    """Divide numbers."""
    return exp.Div(this=paren(dividend), expression=divisor, typed=True)


def finite(value: exp.Expression) -> exp.Expression:
    """Whether a number is finite."""
    return exp.Between(this=value.copy(), low=number(-LARGEST), high=number(LARGEST))


BLANKS = [point for point in range(0x10000) if chr(point).isspace()]
"""Code points of the characters that `str.strip` removes."""


def trimmed(text: exp.Expression, dialect: str) -> exp.Expression:
    """Strip blanks from a text; the query contains no invisible characters."""
    if dialect == "duckdb":  # its TRIM of characters beyond ASCII is eight times as slow
        escapes = "".join(f"\\x{{{code:x}}}" for code in BLANKS)
        texts = map(exp.Literal.string, (f"^[{escapes}]+|[{escapes}]+$", "", "g"))
        return exp.Anonymous(this="REGEXP_REPLACE", expressions=[text.copy(), *texts])
    codes: list[exp.Expression] = [exp.Literal.number(code) for code in BLANKS]
    escaped = "".join(f"\\u{code:04x}" for code in BLANKS)
    array = exp.Array(expressions=codes)
    blanks = {
        "bigquery": exp.Anonymous(this="CODE_POINTS_TO_STRING", expressions=[array]),
        "postgres": exp.Var(this=f"E'{escaped}'"),
        "snowflake": exp.Var(this=f"'{escaped}'"),
        "sqlite": exp.Anonymous(this="CHAR", expressions=codes),
    }
    return exp.Trim(this=text.copy(), expression=blanks[dialect])


def power(exponent: exp.Expression) -> exp.Expression:
    """Compute exp of a number, clipped at LEAST, where PostgreSQL would fail."""
    return exp.Exp(this=exp.Greatest(this=exponent, expressions=[number(LEAST)]))


def largest(values: Sequence[exp.Expression]) -> exp.Expression:
    """Return the largest of some numbers, none of them null."""
    first, *rest = (value.copy() for value in values)
    return exp.Greatest(this=first, expressions=rest) if rest else first


def added(parts: Sequence[exp.Expression]) -> exp.Expression:
    """Add up expressions as a balanced tree, as databases limit the depth."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    left, right = added(parts[:half]), added(parts[half:])
    return exp.Add(this=left, expression=paren(right) if isinstance(right, exp.Add) else right)
