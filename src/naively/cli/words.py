"""The words of a column of text: which speak for a class, and how a text looks with them marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
from rich.cells import cell_len, set_cell_size
from rich.console import Group
from rich.text import Text

from naively.cli.errors import printable
from naively.cli.layout import clean, note
from naively.markup import Mark, counted, cut_note, shown, squeezed
from naively.model import Model
from naively.tables.telling import missing_weight, telling_terms
from naively.text_explanation import TextExplanation

CLASSES = 20  # whose words are shown
SHOWN = 10_000  # characters of a text
WIDEST, NUMBERS, GAP = 15, 14, 3  # characters of a word, of its two numbers, between columns
STRONG, CLEAR, FAINT = 0.5, 0.2, 0.05  # parts of the largest log-odds of a text
FOR = ("bold #ffffff on #005fd7", "bold #3a8ee6", "#3a8ee6")
AGAINST = ("bold #000000 on #ff8700", "bold #d98200", "#d98200")


@dataclass
class Words:
    """What a model knows of a column of text.

    Attributes
    ----------
    name : of the column.
    terms : how many there are, or buckets of them.
    documents : weight of those that are not missing.
    hashed : whether the names of the terms are not kept.
    telling : for each class, (a term, its log-odds against all other classes together, its mutual
        information with the class in bits): those with the largest share in the divergence of the
        class from the others first.
    of : "word" or "document", what the information is of.
    """

    name: str
    terms: int
    documents: float
    hashed: bool
    telling: list[list[tuple[str, float, float]]]
    of: str

    def as_json(self, classes: list[Any]) -> dict[str, Any]:
        """The same for programs."""
        words = [
            {
                "class": label,
                "terms": [
                    {"term": term, "log_odds": odds, "bits": bits} for term, odds, bits in own
                ],
            }
            for label, own in zip(classes, self.telling, strict=True)
        ]
        return {
            "terms": self.terms, "documents": self.documents, "hashed": self.hashed,
            "classes": words,
        }  # fmt: skip


def words_of(model: Model, count: int) -> list[Words]:
    """So many words a class of each column of text, also of text that is weighed beside others."""
    weight = float(model.class_weight.rounded().sum())
    missing = missing_weight(model)
    texts: dict[str, Any] = {}
    for block, own in model.posterior().blocks:
        if block.family.summary.takes == "documents":
            texts[block.names[0]] = own
        elif own.has_texts:
            texts |= own.told_texts(block.names)
    return [
        Words(
            name, own.n_terms, weight - missing[name],
            own.hashed, telling_terms(model.posterior(), own, count), own.chance,
        )
        for name, own in texts.items()
    ]  # fmt: skip


def listed(words: Words, model: Model, width: int) -> Group:
    """The telling words of each class, in as many columns as fit."""
    title = Text(f"Words of {clean(words.name)} that speak for a class", style="bold")
    if words.hashed:
        return Group(title, note("terms are hashed: their names are not kept"))
    if not any(words.telling):
        return Group(title, note("none does"))
    weights = model.class_weight.rounded()
    chosen = np.sort(np.argsort(-weights, kind="stable")[:CLASSES]).tolist()
    cells = [
        [
            (clean(shown(t), WIDEST), f"{odds:>+7.2f}{1000 * bits:>7.2f}")
            for t, odds, bits in words.telling[c]
        ]
        for c in chosen
    ]
    labels = [clean(model.classes[c], WIDEST + NUMBERS) for c in chosen]
    wide = [cell_len(word) for own in cells for word, _ in own]
    room = max(*wide, max(map(cell_len, labels)) - NUMBERS, 1)
    across = max(1, (width + GAP) // (room + NUMBERS + GAP))
    lines = [title]
    for first in range(0, len(chosen), across):
        band = slice(first, first + across)
        heads = [set_cell_size(label, room + NUMBERS) for label in labels[band]]
        lines += [Text(), Text((" " * GAP).join(heads), style="bold")]
        lines.append(Text((" " * GAP).join("─" * (room + NUMBERS) for _ in heads)))
        for own in zip_longest(*cells[band], fillvalue=("", "")):
            parts = [set_cell_size(word, room) + f"{said:>{NUMBERS}}" for word, said in own]
            lines.append(Text((" " * GAP).join(parts).rstrip()))
    lines += [
        Text(),
        note("log-odds against the other classes together; what tells most comes first"),
        note(f"then the mutual information of term and class, in bits of 1,000 {words.of}s"),
    ]
    if rest := len(weights) - len(chosen):
        lines.append(note(f"and {counted(rest, 'class', 'classes')} with fewer rows"))
    return Group(*lines)


def beginning(
    text: TextExplanation, marks: Sequence[Mark], strongest: float, colours: bool
) -> Group:
    """A text with its words marked, or as much of it as one may want to see on a terminal."""
    part = text.marked[:SHOWN]
    found = marked(part, [mark for mark in marks if mark[1] <= SHOWN], strongest, colours)
    if len(part) == len(text.text):
        return Group(found)
    return Group(found.append("…"), Text(), note(cut_note(len(part), len(text.text))))


def marked(text: str, marks: Sequence[Mark], strongest: float, colours: bool) -> Text:
    """A text with its words marked by their log-odds: in colours, or with numbers."""
    found, at = Text(), 0
    for start, end, odds in marks:
        found.append(_printed(text[at:start]))
        part = abs(odds) / strongest
        word = _printed(text[start:end])
        if colours:
            level = (part < STRONG) + (part < CLEAR) + (part < FAINT)
            found.append(word, (*(FOR if odds > 0 else AGAINST), "")[level])
        else:
            phrase = f"({word})" if len(word.split()) > 1 else word
            found.append(f"{phrase}[{odds:+.1f}]" if part >= CLEAR else word)
        at = end
    found.append(_printed(text[at:]))
    found.rstrip()
    return found


def _printed(text: str) -> str:
    """Text as a terminal may show it, in lines."""
    lines = squeezed(text).replace("\t", " ").split("\n")
    return "\n".join(printable(line.removesuffix("\r")) for line in lines)
