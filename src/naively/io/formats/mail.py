"""Mails: who wrote to whom, and the text that one reads, as far as a mail is whole."""

from __future__ import annotations

import binascii
import codecs
import html
import re
from collections.abc import Callable, Iterator
from email import message_from_bytes
from email.message import Message
from email.parser import BytesHeaderParser
from email.policy import Compat32
from typing import Any, NamedTuple, TypeVar

from naively.io import inputs
from naively.io.inputs import BOM, Stream

FIELDS = ("from", "to", "subject", "body")
START = b"From "
"""How the first line of each mail in an mbox file begins."""
NEXT = re.compile(rb"\n(?:\xef\xbb\xbf)?From ")
"""How it does after another mail; BOMs are of files that were joined."""
MARKED = re.compile(rb"\A(From [^\n]*\n)?\xef\xbb\xbf")
LONGEST = 1 << 14
"""Characters of a header that are read: the time that its parts take is quadratic."""
MOST = 50
"""Parts that have parts, in one mail: more are not told apart, as they might be nested."""
BLANK = re.compile(rb"\r?\n\r?\n")
HOLDS_PARTS = re.compile(rb"^content-type:\s*multipart/", re.I | re.M)
QUOTED = re.compile(rb"^>(?=>*From )", re.M)
WORD = re.compile(r"=\?([^?\s]+)\?([bq])\?([^?]*)\?=", re.I)
HEADER = re.compile(rb"([!-9;-~]+):")
SENT = {b"received", b"message-id", b"mime-version", b"return-path", b"delivered-to"}
"""Headers of which a mail that was sent has one, and"""
NEWS = {b"newsgroups", b"path", b"xref"}
"""those of news."""
SURROGATE = re.compile("[\ud800-\udfff]")
SHUNNED = ("ascii", "punycode", "unicode-escape", "undefined")
"""Encodings that are read as UTF-8: it holds the first; the others are none of mails."""
# Each alternative ends at the end of the text if nowhere else: so the time taken is linear, which
# that of html.parser is not. It takes a minute for 80 kB of "<a ".
MARKUP = re.compile(
    r"""
    <!--(?:-?>|.*?(?:-->|\Z))
    | <(script|style)\b.*?(?:</\1\b[^>]*(?:>|\Z)|\Z)
    | <[!?][^>]*(?:>|\Z)
    | </?([a-z][^\s/>]*)(?:[^>=]++|=\s*"[^"]*"|=\s*'[^']*'|=)*+(?:>|\Z)
    """,
    re.I | re.S | re.X,
)
APART = {
    "address", "article", "blockquote", "body", "br", "button", "caption", "center", "dd", "div",
    "dl", "dt", "fieldset", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "head", "header",
    "hr", "html", "img", "input", "li", "main", "nav", "ol", "option", "p", "pre", "section",
    "select", "table", "tbody", "td", "textarea", "tfoot", "th", "thead", "title", "tr", "ul",
}  # fmt: skip
"""Tags that stand between words; others, such as <b>, may stand within one."""

T = TypeVar("T")


class Body(NamedTuple):
    """A part of a mail that is text, and whether it was plain."""

    text: str
    plain: bool


class _Policy(Compat32):
    """How to read headers: as they are, up to some length."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        return name, value[:LONGEST]


POLICY = _Policy()


def fields(data: bytes) -> tuple[str, ...]:
    """The FIELDS of a mail, empty where it has none. Nothing in a mail is an error.

    The body is the parts of plain text and of HTML without its tags; in a part that holds
    alternatives, HTML only if no plain text. Attachments are left out.
    """
    data = unmarked(data)
    try:
        if len(HOLDS_PARTS.findall(data)) > MOST:
            raise RecursionError
        mail = message_from_bytes(data, policy=POLICY)
        body = "\n".join(text for text, _ in _texts(mail))
    except Exception:  # the email package is not proof against every mail
        mail = BytesHeaderParser(policy=POLICY).parsebytes(data)
        body = _decoded(BLANK.split(data, 1)[-1], None)
    found: dict[str, list[str]] = {name: [] for name in FIELDS[:-1]}
    for name, value in mail.raw_items():
        if name.lower() in found:
            found[name.lower()].append(_header(value))
    return tuple(map(clean, [*map(", ".join, found.values()), body]))


def headers(head: bytes) -> set[bytes]:
    """The names of the headers that some bytes begin with, in lower case."""
    head = unmarked(head)
    found = set()
    for line in head.splitlines()[head.startswith(START) :]:
        if line[:1] in (b" ", b"\t"):
            continue  # the header goes on
        name = HEADER.match(line)
        if not name:
            break
        found.add(name[1].lower())
    return found


def unmarked(data: bytes) -> bytes:
    """A mail without a BOM before its headers."""
    return MARKED.sub(rb"\1", data.removeprefix(BOM))


def was_sent(names: set[bytes]) -> bool:
    """Whether these are the headers of a mail that was sent, which nothing else begins with."""
    return may_be_mail(names) and not SENT.isdisjoint(names)


def may_be_mail(names: set[bytes]) -> bool:
    """Whether these headers may be those of a mail; and they are not those of news."""
    return b"from" in names and NEWS.isdisjoint(names)


def messages(stream: Stream) -> Iterator[bytes]:
    """The mails of an mbox file.

    One begins at a line that begins with "From ", after a blank line or at the start.
    """
    data = bytearray()
    start = 0  # of the search for the next one
    final = False
    newline = inputs.newline_of(stream.peek())
    while not final:
        chunk = stream.read(inputs.BLOCK)
        final = len(chunk) < inputs.BLOCK
        newline = b"\n" if b"\n" in chunk else newline
        data += chunk.replace(newline, b"\n")
        while found := NEXT.search(data, start):
            end = found.start()
            start = end + 1
            before = bytes(data[max(end - 2, 0) : end])
            if before in (b"", b"\r", b"\n\r") or before.endswith(b"\n"):
                yield from _message(data[:end])
                del data[:start]
                start = 0
        start = max(start, len(data) - len(BOM + START))
    yield from _message(data[:-1] if data.endswith((b"\n\n", b"\n\r\n")) else data)


def _message(data: bytearray) -> Iterator[bytes]:
    """A mail without the blank line after it; none if there is nothing but blank lines."""
    if data.strip():
        yield QUOTED.sub(b"", bytes(data.removesuffix(b"\r")))


def clean(text: str) -> str:
    """A text without halves of surrogate pairs, which are no text."""
    return SURROGATE.sub("\ufffd", text)


def _texts(part: Message) -> list[Body]:
    """The texts in a mail, or in a part of one."""
    kind = _tried(part.get_content_type, "text/plain")
    if _tried(part.get_content_disposition, None) == "attachment":
        return []
    if part.is_multipart():
        inner: Any = part.get_payload()
        texts = [text for each in inner for text in _texts(each)]
        if kind != "multipart/alternative":
            return texts
        plain = [each for each in texts if each.plain and each.text.strip()]
        return plain or [each for each in texts if not each.plain]
    data: Any = part.get_payload(decode=True)
    if not data or not (kind in ("text/plain", "text/html") or kind.startswith("multipart/")):
        return []
    text = _decoded(data, _tried(part.get_content_charset, None))
    return [Body(_visible(text), False) if kind == "text/html" else Body(text, True)]


def _tried(get: Callable[[], T], otherwise: T) -> T:
    """What the email package says of a part, if the part does not break it."""
    try:
        return get()
    except Exception:
        return otherwise


def _decoded(data: bytes, charset: str | None) -> str:
    """Bytes as text, by their charset if it is known."""
    try:
        if charset and codecs.lookup(charset).name not in SHUNNED:
            return data.decode(charset, "replace")
    except (LookupError, ValueError):
        pass
    return data.decode(errors="replace")


def _header(value: str) -> str:
    """A header in one line, its encoded words (RFC 2047) decoded."""
    # the email package has bytes as text
    value = value.encode(errors="surrogateescape").decode(errors="replace")
    pieces: list[tuple[str | None, bytes]] = []
    end = 0
    for word in WORD.finditer(value):
        between = value[end : word.start()]
        end = word.end()
        if between.strip() or not pieces or pieces[-1][0] is None:
            pieces.append((None, between.encode()))
        data = _unpacked(word[2], word[3])
        charset = word[1].partition("*")[0].lower()  # what follows is the language
        if data is None:
            pieces.append((None, word[0].encode()))
        elif pieces[-1][0] == charset:  # half of a character may be in either
            pieces[-1] = charset, pieces[-1][1] + data
        else:
            pieces.append((charset, data))
    text = "".join(_decoded(data, charset) for charset, data in pieces) + value[end:]
    return " ".join(text.split())


def _unpacked(encoding: str, text: str) -> bytes | None:
    """The bytes of an encoded word; None if they cannot be had."""
    data = text.encode()
    if encoding in "qQ":
        return binascii.a2b_qp(data, header=True)
    try:
        return binascii.a2b_base64(data + b"==")
    except binascii.Error:
        return None


def _visible(text: str) -> str:
    """HTML without its tags, scripts and styles, as words in one line."""
    words = MARKUP.sub(lambda tag: " " if (tag[2] or "").lower() in APART else "", text)
    return " ".join(_tried(lambda: html.unescape(words), words).split())
