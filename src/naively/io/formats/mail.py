"""Parse mails and mbox files: sender, recipients, subject and readable text, even if damaged."""

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
START = b"From "  # beginning of the first line of each mail in an mbox file
NEXT = re.compile(rb"\n(?:\xef\xbb\xbf)?From ")
"""The same after another mail; concatenated files have BOMs."""
MARKED = re.compile(rb"\A(From [^\n]*\n)?\xef\xbb\xbf")
LONGEST = 1 << 14
"""Maximum number of characters of a header to read: parsing its parts takes quadratic time."""
MOST = 50
"""Maximum number of multipart headers in a mail. With more, which may be deeply nested, the mail is
not split into parts."""
BLANK = re.compile(rb"\r?\n\r?\n")
HOLDS_PARTS = re.compile(rb"^content-type:\s*multipart/", re.I | re.M)
QUOTED = re.compile(rb"^>(?=>*From )", re.M)
WORD = re.compile(r"=\?([^?\s]+)\?([bq])\?([^?]*)\?=", re.I)
HEADER = re.compile(rb"([!-9;-~]+):")
SENT = {b"received", b"message-id", b"mime-version", b"return-path", b"delivered-to"}
"""Headers of which a sent mail has at least one."""
NEWS = {b"newsgroups", b"path", b"xref"}  # headers of Usenet news, which are not mails
SURROGATE = re.compile("[\ud800-\udfff]")
SHUNNED = ("ascii", "punycode", "unicode-escape", "undefined")
"""Encodings that are decoded as UTF-8, which includes ASCII; the others do not occur in mails."""
# Each alternative also matches up to the end of the text, so that the time is linear. html.parser
# takes quadratic time: a minute for 80 kB of "<a ".
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
"""Tags that separate words; others, such as <b>, may occur within a word."""

T = TypeVar("T")


class Body(NamedTuple):
    """A text part of a mail, and whether it is plain text (not HTML)."""

    text: str
    plain: bool


class _Policy(Compat32):
    """Policy that keeps headers undecoded, and truncates long ones."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        return name, value[:LONGEST]


POLICY = _Policy()


def fields(data: bytes) -> tuple[str, ...]:
    """Return the FIELDS of a mail; missing ones are empty. Raises no errors, whatever the mail.

    The body consists of the plain text parts, and of the HTML parts without tags. Of alternatives,
    HTML is used only if there is no plain text. Attachments are skipped.
    """
    data = unmarked(data)
    try:
        if len(HOLDS_PARTS.findall(data)) > MOST:
            raise RecursionError
        mail = message_from_bytes(data, policy=POLICY)
        body = "\n".join(text for text, _ in _texts(mail))
    except Exception:  # the email package fails on some damaged mails
        mail = BytesHeaderParser(policy=POLICY).parsebytes(data)
        body = _decoded(BLANK.split(data, 1)[-1], None)
    values: dict[str, list[str]] = {name: [] for name in FIELDS[:-1]}
    for name, value in mail.raw_items():
        if name.lower() in values:
            values[name.lower()].append(_header(value))
    return tuple(map(clean, [*map(", ".join, values.values()), body]))


def headers(head: bytes) -> set[bytes]:
    """Return the names of the headers at the start of some bytes, in lower case."""
    head = unmarked(head)
    names = set()
    for line in head.splitlines()[head.startswith(START) :]:
        if line[:1] in (b" ", b"\t"):
            continue  # continuation of a header
        name = HEADER.match(line)
        if not name:
            break
        names.add(name[1].lower())
    return names


def unmarked(data: bytes) -> bytes:
    """Remove a BOM before the headers of a mail."""
    return MARKED.sub(rb"\1", data.removeprefix(BOM))


def was_sent(names: set[bytes]) -> bool:
    """Return whether these are the headers of a sent mail; other texts do not have them."""
    return may_be_mail(names) and not SENT.isdisjoint(names)


def may_be_mail(names: set[bytes]) -> bool:
    """Return whether these headers may be those of a mail, and are not those of news."""
    return b"from" in names and NEWS.isdisjoint(names)


def messages(stream: Stream) -> Iterator[bytes]:
    """Yield the mails of an mbox file.

    A mail begins at a line that begins with "From ", after a blank line or at the start.
    """
    data = bytearray()
    start = 0  # where to search for the next mail
    final = False
    newline = inputs.newline_of(stream.peek())
    while not final:
        chunk = stream.read(inputs.BLOCK)
        final = len(chunk) < inputs.BLOCK
        newline = b"\n" if b"\n" in chunk else newline
        data += chunk.replace(newline, b"\n")
        while match := NEXT.search(data, start):
            end = match.start()
            start = end + 1
            before = bytes(data[max(end - 2, 0) : end])
            if before in (b"", b"\r", b"\n\r") or before.endswith(b"\n"):
                yield from _message(data[:end])
                del data[:start]
                start = 0
        start = max(start, len(data) - len(BOM + START))
    yield from _message(data[:-1] if data.endswith((b"\n\n", b"\n\r\n")) else data)


def _message(data: bytearray) -> Iterator[bytes]:
    """Yield a mail without the blank line after it; nothing if it has blank lines only."""
    if data.strip():
        yield QUOTED.sub(b"", bytes(data.removesuffix(b"\r")))


def clean(text: str) -> str:
    """Replace lone surrogates by U+FFFD."""
    return SURROGATE.sub("\ufffd", text)


def _texts(part: Message) -> list[Body]:
    """Return the texts of a mail or of a part."""
    kind = _tried(part.get_content_type, "text/plain")
    if _tried(part.get_content_disposition, None) == "attachment":
        return []
    if part.is_multipart():
        inner: Any = part.get_payload()
        texts = [text for body in inner for text in _texts(body)]
        if kind != "multipart/alternative":
            return texts
        plain = [body for body in texts if body.plain and body.text.strip()]
        return plain or [body for body in texts if not body.plain]
    data: Any = part.get_payload(decode=True)
    if not data or not (kind in ("text/plain", "text/html") or kind.startswith("multipart/")):
        return []
    text = _decoded(data, _tried(part.get_content_charset, None))
    return [Body(_visible(text), False) if kind == "text/html" else Body(text, True)]


def _tried(get: Callable[[], T], otherwise: T) -> T:
    """Call a method of the email package; return `otherwise` if it raises."""
    try:
        return get()
    except Exception:
        return otherwise


def _decoded(data: bytes, charset: str | None) -> str:
    """Decode bytes by their charset, or as UTF-8 if it is unknown."""
    try:
        if charset and codecs.lookup(charset).name not in SHUNNED:
            return data.decode(charset, "replace")
    except (LookupError, ValueError):
        pass
    return data.decode(errors="replace")


def _header(value: str) -> str:
    """Return a header in one line, with its encoded words (RFC 2047) decoded."""
    # the email package stores raw bytes as surrogates
    value = value.encode(errors="surrogateescape").decode(errors="replace")
    pieces: list[tuple[str | None, bytes]] = []
    end = 0
    for word in WORD.finditer(value):
        between = value[end : word.start()]
        end = word.end()
        if between.strip() or not pieces or pieces[-1][0] is None:
            pieces.append((None, between.encode()))
        data = _unpacked(word[2], word[3])
        charset = word[1].partition("*")[0].lower()  # without a language tag
        if data is None:
            pieces.append((None, word[0].encode()))
        elif pieces[-1][0] == charset:  # a character may be split between words
            pieces[-1] = charset, pieces[-1][1] + data
        else:
            pieces.append((charset, data))
    text = "".join(_decoded(data, charset) for charset, data in pieces) + value[end:]
    return " ".join(text.split())


def _unpacked(encoding: str, text: str) -> bytes | None:
    """Return the bytes of an encoded word; None if they cannot be decoded."""
    data = text.encode()
    if encoding in "qQ":
        return binascii.a2b_qp(data, header=True)
    try:
        return binascii.a2b_base64(data + b"==")
    except binascii.Error:
        return None


def _visible(text: str) -> str:
    """Return the text of HTML in one line, without tags, scripts and styles."""
    words = MARKUP.sub(lambda tag: " " if (tag[2] or "").lower() in APART else "", text)
    return " ".join(_tried(lambda: html.unescape(words), words).split())
