"""What `drift` found, as people read it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from naively.evaluation.drift.columns import ColumnDrift, percent
from naively.markup import as_missing, counted
from naively.plain import aligned

SHOWN = 20
"""Columns that are printed, at most; and"""
WORDS, CLASSES = 5, 10
"""words of each column of text, and classes."""
COLUMN_HEADS = ("column", "what changed most", "moved", "by chance", "p")
WORD_HEADS = ("word", "learned", "new", "p")
SHARE_HEADS = ("class", "learned", "predicted", "estimated", "±")
HALF = 0.5
"""Part of what columns moved that the shares of the classes are to explain, at least."""
ROW_HEADS = ("row", "nats", "because of")
ROW_NOTE = "nats: how rare the values of a row are, added up, beyond the mean of learned rows"


def learned_rows(found: Any) -> str:
    """How many rows the model learned, by their weight."""
    return f"{found.learned:,.10g} row" + ("" if found.learned == 1 else "s")


def written(found: Any) -> str:
    """All of it as plain text."""
    lines = [verdict(found), "", f"learned: {learned_rows(found)}", f"new: {new_rows(found)}"]
    if found.columns:
        shown = column_rows(found)
        width = max(len(one[1]) for one in [COLUMN_HEADS, *shown])
        padded = [(one[0], one[1].ljust(width), *one[2:]) for one in [COLUMN_HEADS, *shown]]
        lines += ["", *aligned(padded[0], padded[1:])]
    lines += column_notes(found)
    for one in found.columns:
        if one.words:
            lines += ["", f"words of {one.name}:", *aligned(WORD_HEADS, word_rows(one))]
            lines += word_notes(one)
    if found.row.columns:
        least = [f"  row {row}: {nats} nats: {why}" for row, nats, why in unlikely_rows(found)]
        lines += ["", row_sentence(found), *least, ROW_NOTE]
    return "\n".join(
        [*lines, "", *aligned(share_heads(found), share_rows(found)), *share_notes(found)]
    )


def verdict(found: Any) -> str:
    """A sentence."""
    what = []
    if found.drifted:
        what.append(f"{len(found.drifted):,} of {counted(len(found.columns), 'column')}")
    if found.row_p < found.level:
        what.append("how probable the rows are")
    if found.share_p < found.level:
        what.append("the shares of the classes")
    said = f"Drift: {', '.join(what)}" if what else "No drift was found"
    return f"{said} (p < {found.level:g} for all tests together)."


def new_rows(found: Any) -> str:
    """How many rows there are."""
    some = f", of which a sample of {found.looked_at:,} was looked at"
    return f"{counted(found.rows, 'row')}{some * (found.looked_at < found.rows)}"


def column_rows(found: Any) -> list[tuple[str, ...]]:
    """The cells of `COLUMN_HEADS` for the columns that are shown."""
    return [
        (one.name, one.change, _share(one.moved), _share(one.by_chance), p_cell(one.adjusted))
        for one in found.columns[:SHOWN]
    ]


def column_notes(found: Any) -> list[str]:
    """What there is to say below the columns."""
    said, rest = [], found.columns[SHOWN:]
    if rest:
        more = sum(one.adjusted < found.level for one in rest)
        said.append(f"and {counted(len(rest), 'more column')}, {more:,} of them with drift")
    said.append(
        "moved: part of the rows that would have to have another value for both to look alike; "
        "p: that nothing changed, by Holm's method for all tests together"
    )
    for one in found.columns:
        if one.unseen and one.adjusted < found.level:
            listed = ", ".join(f"{name!r} {rows:,}" for name, rows in one.unseen.items())
            said.append(f"{one.name}: never learned: {listed}")
    for what, names in (
        ("not among the new rows", found.absent),
        ("not compared, as the model keeps nothing of each by itself", found.uncompared),
        ("unknown to the model", found.unknown),
    ):
        if names:
            dots = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
            said.append(f"{what}: {', '.join(names[:5])}{dots}")
    for name, values in found.invalid.items():
        said.append(f"{name}: {counted(values, 'value')} cannot be read, and {as_missing(values)}")
    if found.copies:
        said.append(f"{counted(found.copies, 'new row')} repeat others, and count once")
    if found.counted_as < found.learned:
        said.append(
            f"the learned rows weigh {found.learned:,.10g}, and count as the "
            f"{found.counted_as:,.10g} that they were"
        )
    return said


def word_rows(one: ColumnDrift) -> list[tuple[str, ...]]:
    """The cells of `WORD_HEADS` for the words of a column that changed most."""
    return [
        (word.word, f"{'≤ ' * word.at_most}{percent(word.learned)}", percent(word.new),
         p_cell(word.p_value))
        for word in one.words[:WORDS]
    ]  # fmt: skip


def word_notes(one: ColumnDrift) -> list[str]:
    """What there is to say below them."""
    if not any(word.at_most for word in one.words):
        return []
    return [
        "≤: the model counts how often a word is met, and not in how many texts, which are no "
        "more; so it is tested whether more new texts have it"
    ]


def row_sentence(found: Any) -> str:
    """How probable the rows are, in a sentence."""
    row = found.row
    if math.isnan(row.lower):
        return ""
    how = "below" if row.lower >= 0 else "above"
    return (
        f"log p(x) of the new rows, column by column ({row.columns:,} of them), is "
        f"{_with_error(abs(row.lower), row.error)} nats a row {how} that of learned rows "
        f"(p {p_in_words(found.row_p)})"
    )


def _with_error(value: float, error: float) -> str:
    """Both to the second digit of the error, if it has any and is below 100."""
    if not 0 < error < 100:
        return f"{value:.3g} ± {error:.2g}"
    decimals = max(0, 1 - math.floor(math.log10(error)))
    return f"{value:.{decimals}f} ± {error:.{decimals}f}"


def unlikely_rows(found: Any) -> list[tuple[str, ...]]:
    """The cells of `ROW_HEADS` for the least probable rows."""
    return [
        (
            f"{one.row + 1:,}", f"-{one.surprise:.1f}",
            ", ".join(f"{name} {value}" for name, value in one.values.items()),
        )
        for one in found.row.unlikely
    ]  # fmt: skip


def share_heads(found: Any) -> tuple[str, ...]:
    """The heads of `share_rows`: without that of errors, if these are not known."""
    return SHARE_HEADS[: 4 if np.isnan(found.share.error).all() else 5]


def share_rows(found: Any) -> list[tuple[str, ...]]:
    """The cells of `share_heads` for the classes with the most rows."""
    one, size = found.share, len(share_heads(found))
    order = np.argsort(-one.learned, kind="stable")[:CLASSES]
    each = (one.learned, one.predicted, one.estimated, one.error)[: size - 1]
    return [
        (str(one.classes[c]), *(_share(shares[c]) for shares in each))
        for c in sorted(order.tolist())
    ]


def share_notes(found: Any) -> list[str]:
    """What there is to say below the classes."""
    one, said = found.share, []
    if len(one.classes) > CLASSES:
        said.append(f"and {len(one.classes) - CLASSES:,} more classes with fewer rows")
    if one.method == "EM":
        said.append("estimated: by EM, if rows of a class are as they were")
    elif one.method:
        said.append(
            "estimated: by what columns tell of the classes on average, if rows of a class are as "
            "they were"
        )
    elif len(one.classes) > 1:
        said.append("the rows are too few, or too skewed, to estimate their shares")
    said.append(f"p that the shares are as they were: {p_in_words(found.share_p)}")
    if found.share_p < found.level and one.explained < HALF:
        said.append(
            f"but other shares explain only {percent(max(one.explained, 0.0))} of what the columns "
            "moved: rows of a class are not as they were, and the estimate is not to be trusted"
        )
    elif one.method:
        said.append(
            f"with the estimated shares as the prior {percent(one.changed)} of the labels change, "
            f"and probabilities by {percent(one.moved)} on average"
        )
    return said


def p_cell(p: float) -> str:
    """A p-value in a table."""
    return "·" if math.isnan(p) else "<1e-9" if p < 1e-9 else f"{p:.2g}"


def p_in_words(p: float) -> str:
    """A p-value in a sentence."""
    return "not known" if math.isnan(p) else p_cell(p)


def _share(value: float) -> str:
    return "·" if math.isnan(value) else percent(value)
