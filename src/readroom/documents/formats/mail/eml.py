"""Messages (.eml) and mailboxes of them (.mbox), by the standard library.

The text of a message is its plain form, or else its HTML. A mailbox is split at lines that begin with `From
`; in a large one each message is read on request, and attachments are only listed.
"""

from __future__ import annotations

import binascii
import email.header
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from email._policybase import Compat32
from email.errors import HeaderParseError
from email.feedparser import BytesFeedParser
from email.message import Message
from functools import cached_property
from typing import BinaryIO

from msgspec import Struct

from readroom.documents.formats import (
    Area,
    Document,
    Heading,
    Part,
    Unit,
    Unreadable,
    charsets,
    mail,
    sections,
    told,
)
from readroom.documents.formats.archives import ANOTHER_COPY
from readroom.documents.formats.mail import Attachment, Letter, Mail
from readroom.documents.limits import MAIL_BYTES, MAIL_PARTS

CARRIES = True
"""It opens files of other formats, which it carries."""

_FEED = 64 * 1024
_BLANK = b"\xef\xbb\xbf\r\n \t"
_PIECE = 4 * 1024 * 1024
_START = re.compile(rb"(?:\A|\n\r?\n)(From [^\r\n]+\r?\n)")
_QUOTED = re.compile(rb"^>(>*From )", re.MULTILINE)
_SUBJECT = re.compile(rb"^Subject:[ \t]*((?:[^\r\n]*)(?:\r?\n[ \t][^\r\n]*)*)", re.IGNORECASE | re.MULTILINE)
_FOLD = re.compile(r"\r?\n(?=[ \t])[ \t]*")
_HEADER = re.compile(rb"(?:From [^\n]*\n|>?[!-9;-~]{1,80}:[^\n]*\n)")
_APPLE = re.compile(rb"(\d{1,10}) *\n")
"""The first line of a message of Apple Mail (.emlx): its length; a property list follows the message."""

_USUAL = re.compile(r"multi-?part|MIME", re.IGNORECASE)
"""Boilerplate before the parts, for readers without MIME."""

_NO_HEADER = ("it does not start with the header of a message", "Read it as text, with `encoding`.")
_ENCRYPTED = frozenset(("multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime"))


MAIL_HEAD_BYTES = 16 * 1024
"""Bytes in which the subject of a message in a large mailbox is searched."""


def open_document(file: BinaryIO) -> Document:
    """The message or the mailbox in `file`. Raises Unreadable."""
    size = file.seek(0, 2)
    file.seek(0)
    head = file.read(MAIL_HEAD_BYTES)
    if head.lstrip(_BLANK).startswith(b"From ") and b"\n" in head:
        return _mailbox(file, size)
    if size > MAIL_BYTES:
        raise Unreadable(
            f"it is a message of more than {MAIL_BYTES:,} bytes",
            "Read it as plain text, with `encoding`.",
        )
    apple = _APPLE.match(head)
    if apple is not None and _HEADER.match(head, apple.end()):
        file.seek(apple.end())
        return Mail([letter(_before_list(file.read(), int(apple[1])))])
    if not _HEADER.match(head.lstrip(_BLANK)):
        raise Unreadable(*_NO_HEADER)
    file.seek(len(head) - len(head.lstrip(_BLANK)))
    return Mail([_letter(_parsed(iter(lambda: file.read(_FEED), b"")))])


def _before_list(data: bytes, length: int) -> bytes:
    """The message without the list that Apple Mail appends."""
    return data[:length] if data[length:].lstrip().startswith(b"<?xml") else data


def letter_in(data: bytes) -> Letter:
    """The message that these bytes are. Raises Unreadable."""
    data = data.lstrip(_BLANK)
    if not _HEADER.match(data):
        raise Unreadable(*_NO_HEADER)
    return letter(data)


def letter(data: bytes) -> Letter:
    """The message that these bytes are, whatever they begin with."""
    return _letter(_parsed(data[at : at + _FEED] for at in range(0, len(data), _FEED)))


MAIL_HEADER_CHARS = 64 * 1024
"""A header whose encoded words are decoded; a message to 1,000 people has some 40,000."""


class _RawHeaders(Compat32):
    """Decodes headers with bytes outside of ASCII, which many programs write."""

    def header_fetch_parse(self, name: str, value: str) -> str:
        """The value; the library would put a mark for each byte, and its time grows with the square."""
        value = value[:MAIL_HEADER_CHARS]
        if value.isascii():
            return value
        data = value.encode("ascii", "surrogateescape")
        try:
            return data.decode()
        except UnicodeDecodeError:
            return data.decode("cp1252", "replace")


_RAW = _RawHeaders()


def _parsed(pieces: Iterable[bytes]) -> Message:
    """The message that comes in pieces: as a whole the library would hold it three times more."""
    parser = BytesFeedParser(policy=_RAW)
    for piece in pieces:
        parser.feed(piece)
    return parser.close()


MAILBOX_BYTES = 2 * 1024 * 1024 * 1024
"""A mailbox that is searched for messages, which takes 1 s per gigabyte."""


def _mailbox(file: BinaryIO, size: int) -> Document:
    if size > MAILBOX_BYTES:
        raise Unreadable(
            f"it is a mailbox of more than {MAILBOX_BYTES:,} bytes", "Read it as text, with `encoding`."
        )
    starts = _starts(file, size)
    box = Mailbox(file, starts, size)
    if size <= MAIL_BYTES:
        return Mail([box.letter(number) for number in range(1, len(starts) + 1)])
    return box


MAILBOX_MESSAGES = 100_000
"""Messages of a mailbox."""


def _starts(file: BinaryIO, size: int) -> Sequence[int]:
    """Offsets of the messages, each at its line `From `."""
    starts: list[int] = []
    at, rest = 0, b""
    file.seek(0)
    while piece := file.read(_PIECE):
        data = rest + piece
        base = at - len(rest)
        for start in _START.finditer(data):
            place = base + start.start(1)
            if (start.start() or base == 0 or not rest) and (not starts or place > starts[-1]):
                starts.append(place)
                if len(starts) > MAILBOX_MESSAGES:
                    raise Unreadable(f"it has more than {MAILBOX_MESSAGES:,} messages", ANOTHER_COPY)
        at += len(piece)
        rest = data[-1024:]
    return [place for place in starts if place < size]


class Mailbox(Struct, frozen=True, dict=True):
    """A mailbox whose messages are read one by one."""

    file: BinaryIO
    starts: Sequence[int]
    size: int
    unit: Unit = Unit.PART

    @cached_property
    def titles(self) -> Sequence[str]:
        """The subject of each message, as far as titles are passed on."""
        known = [self._subject(number) for number in range(1, min(len(self.starts), MAIL_PARTS) + 1)]
        return known + [""] * (len(self.starts) - len(known))

    @property
    def contents(self) -> Sequence[Heading]:
        """The messages that have a subject."""
        return sections.titled(self.titles)

    def part(self, number: int, area: Area | None = None) -> Part:
        """The message with this number. Raises Unreadable."""
        sections.checked(number, len(self.starts), self.unit, area)
        return mail.written(number, self.letter(number), ())

    def letter(self, number: int) -> Letter:
        """The message with this number. Raises Unreadable."""
        start, end = self._span(number)
        if end - start > MAIL_BYTES:
            raise Unreadable(f"it is a message of more than {MAIL_BYTES:,} bytes", "Read it as text.")
        self.file.seek(start)
        data = self.file.read(end - start).partition(b"\n")[2]
        return letter(_QUOTED.sub(rb"\1", data))

    def _span(self, number: int) -> tuple[int, int]:
        end = self.starts[number] if number < len(self.starts) else self.size
        return self.starts[number - 1], end

    def _subject(self, number: int) -> str:
        start, end = self._span(number)
        self.file.seek(start)
        head = self.file.read(min(end - start, MAIL_HEAD_BYTES)).replace(b"\r\n", b"\n").partition(b"\n\n")[0]
        match = _SUBJECT.search(head)
        return "" if match is None else " ".join(decoded(match[1].decode("ascii", "surrogateescape")).split())


def _letter(message: Message) -> Letter:
    headers = [(name, decoded(str(words))) for name, words in message.raw_items()]
    walk = _MimeWalk()
    walk.take(message)
    lines, dropped = walk.body()
    notes = ["Its text is encrypted."] if walk.encrypted else []
    return Letter(headers, lines, walk.attachments, dropped, notes)


class _MimeWalk:
    """Sorts the parts of a message into text and attachments."""

    def __init__(self) -> None:
        self.attachments: list[Attachment] = []
        self.encrypted = False
        self._texts: list[Message] = []
        self._unused: Counter[str] = Counter()

    def take(self, message: Message) -> None:
        kind = message.get_content_type()
        self.encrypted |= kind in _ENCRYPTED and "signed" not in str(message.get_param("smime-type", ""))
        if kind == "message/rfc822" and message.is_multipart():
            inner = _inside(message)
            name = _name(message) or decoded(str(inner.get("Subject", ""))) or "message"
            self.attachments.append(
                Attachment(name, kind, 0, lambda: bytes(inner), letter=lambda: _letter(inner))
            )
        elif kind == "message/delivery-status" and message.is_multipart():
            self._texts.append(message)
        elif kind == "multipart/alternative":
            self._alternative(message)
        elif message.is_multipart():
            self._unused["text outside of its parts"] += _beside(message)
            for part in message.get_payload():
                if isinstance(part, Message):
                    self.take(part)
        elif self._is_attachment(message, kind):
            data = _payload(message)
            name = _name(message) or kind.replace("/", ".")
            charset = message.get_content_charset() or ""
            self.attachments.append(Attachment(name, kind, len(data), lambda: _payload(message), charset))
        else:
            self._texts.append(message)

    def body(self) -> tuple[list[str], Counter[str]]:
        """The lines of the text, and counts of what is not shown."""
        lines: list[str] = []
        dropped = Counter(self._unused)
        for message in self._texts:
            lines += [""] if lines else []
            if message.is_multipart():
                lines += [line for at in message.get_payload() for line in str(at).strip().split("\n")]
                continue
            body_lines, more = _lines_of(message)
            dropped += more
            lines += body_lines
        return lines, dropped

    def _alternative(self, message: Message) -> None:
        """The plain form, where there is one with words in it; the others are counted."""
        self._unused["text outside of its parts"] += _beside(message)
        forms = [part for part in message.get_payload() if isinstance(part, Message)]
        plain = [part for part in forms if part.get_content_type() == "text/plain" and _payload(part).strip()]
        chosen = plain[:1] or [part for part in forms if part.get_content_type() != "text/plain"][-1:]
        for part in forms:
            if part in chosen:
                self.take(part)
            elif part.get_content_type() in ("text/plain", "text/html"):
                words = "\n".join(_lines_of(part)[0])
                self._unused[told("other form of the text", words)] += bool(_payload(part).strip())
            else:
                inner = _MimeWalk()
                inner.take(part)
                self.attachments += inner.attachments
                for text in inner._texts:
                    words = "" if text.is_multipart() else "\n".join(_lines_of(text)[0])
                    self._unused[told("other form of the text", words)] += 1

    def _is_attachment(self, message: Message, kind: str) -> bool:
        if message.get_content_disposition() == "attachment" or _name(message):
            return True
        return kind not in ("text/plain", "text/html", "text/enriched", "message/delivery-status")


def _lines_of(message: Message) -> tuple[list[str], Counter[str]]:
    """The lines of a text, and counts of what of it is not shown."""
    charset = message.get_content_charset() or ""
    if message.get_content_type() == "text/html":
        return mail.body_of_html(_payload(message), charset)
    if str(message.get_param("format", "") or "").lower() != "flowed":
        return mail.body_of_text(_payload(message), charset), Counter()
    deleted = str(message.get_param("delsp", "") or "").lower() == "yes"
    return _flowed(_payload(message), charset, joined="" if deleted else " "), Counter()


def _flowed(data: bytes, charset: str, joined: str) -> list[str]:
    """The lines of a text whose lines were broken by its program (RFC 3676): a blank at an end continues it.

    Quoted lines continue within their depth; the line before a signature does not.
    """
    lines: list[str] = []
    depth, goes_on = 0, False
    for line in mail.body_of_text(data, charset, stripped=False):
        quotes = len(line) - len(line.lstrip(">"))
        words = line[quotes:].removeprefix(" ")
        is_end = words.rstrip() == "--"
        if goes_on and quotes == depth and not is_end:
            lines[-1] = lines[-1].rstrip() + joined + words
        else:
            lines.append(f"{'>' * quotes}{' ' if quotes and words else ''}{words}")
        depth, goes_on = quotes, words.endswith(" ") and not is_end
    return [line.rstrip() for line in lines]


def _inside(message: Message) -> Message:
    """The embedded message, which some programs encode although they must not."""
    inner = message.get_payload(0)
    assert isinstance(inner, Message)
    how = str(message.get("Content-Transfer-Encoding", "")).strip().lower()
    if how in ("base64", "quoted-printable") and not inner.keys():
        inner["Content-Transfer-Encoding"] = how
        data = _payload(inner).lstrip(_BLANK)
        if _HEADER.match(data):
            return _parsed([data])
        del inner["Content-Transfer-Encoding"]
    return inner


def _beside(message: Message) -> int:
    """How many texts are before and after the parts of a message, where mail programs do not show them."""
    texts = (str(message.preamble or "").strip(), str(message.epilogue or "").strip())
    return sum(bool(text) and not _USUAL.search(text) for text in texts)


def _name(message: Message) -> str:
    """The name of an attachment, without folders."""
    try:
        name = message.get_filename() or ""
    except (ValueError, TypeError, LookupError):
        name = ""
    return " ".join(decoded(str(name)).replace("\0", "").replace("\\", "/").rpartition("/")[2].split())


def _payload(message: Message) -> bytes:
    try:
        data = message.get_payload(decode=True)
    except (ValueError, AssertionError, binascii.Error):
        data = None
    return data if isinstance(data, bytes) else str(message.get_payload()).encode("utf-8", "replace")


def decoded(words: str) -> str:
    """The words of a header, whose encoded ones are decoded as far as they can be."""
    words = _FOLD.sub(" ", words)  # the library takes a blank at the start of a line for none
    if len(words) > MAIL_HEADER_CHARS:
        words = words.replace("=?", "= ?")
    try:
        pieces = email.header.decode_header(words)
    except (HeaderParseError, ValueError, binascii.Error):
        pieces = [(words, None)]
    texts = []
    for piece, charset in pieces:
        if isinstance(piece, str):
            piece = piece.encode("utf-8", "surrogateescape")
        try:
            texts.append(piece.decode(charsets.codec_name(charset or "utf-8")))
        except (LookupError, ValueError):
            texts.append(piece.decode("cp1252", "replace"))
    return "".join(texts).replace("\n", " ").replace("\r", "")
