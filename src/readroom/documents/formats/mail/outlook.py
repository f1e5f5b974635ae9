"""Items of Outlook laid out like other messages, from the properties in a .msg, .oft or winmail.dat.

If an item has no other text than RTF, its RTF is read.
"""

from __future__ import annotations

import io
import re
import struct
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import BinaryIO, Protocol

from readroom.core.limits import HEAD_BYTES
from readroom.core.text import encodings
from readroom.documents.formats import Unreadable, compound, mail, rtf, told
from readroom.documents.formats.archives import ANOTHER_COPY
from readroom.documents.formats.compound import Compound, Ole
from readroom.documents.formats.mail import Attachment, Letter, Mail, eml
from readroom.documents.formats.rtf.tokens import code_page

SUBJECT, BODY, HTML, RTF, HEADERS, CLASS = 0x0037, 0x1000, 0x1013, 0x1009, 0x007D, 0x001A
SENDER, SENDER_ADDRESS, SENDER_SMTP = 0x0C1A, 0x0C1F, 0x5D01
TO, CC, BCC, SENT, DELIVERED, MESSAGE_PAGE, BODY_PAGE = 0x0E04, 0x0E03, 0x0E02, 0x0039, 0x0E06, 0x3FFD, 0x3FDE
NAME, ADDRESS, SMTP, RECIPIENT_KIND = 0x3001, 0x3003, 0x39FE, 0x0C15
LONG_NAME, SHORT_NAME, DATA, MIME = 0x3707, 0x3704, 0x3701, 0x370E

CARRIES = True
"""It opens files of other formats, which it carries."""

MOST = 2_000
"""Recipients and attachments of a message."""

NOT_THERE = "it is not in the message: a link, or an object of another program"
_SHOWN = frozenset(
    (SUBJECT, BODY, HTML, RTF, HEADERS, CLASS, SENDER, SENDER_ADDRESS, SENDER_SMTP, TO, CC, BCC)
)
_PROPERTY_NAMES = {
    0x0042: "represented sender", 0x0064: "kind of address", 0x0065: "address", 0x0070: "conversation topic",
    0x0C1E: "kind of sender's address", 0x0E1D: "subject without prefix", 0x003D: "prefix of the subject",
    0x1035: "message id", 0x1039: "references", 0x1042: "in reply to", 0x3A00: "account",
    0x3A06: "given name", 0x3A08: "office telephone", 0x3A09: "home telephone", 0x3A11: "surname",
    0x3A16: "company", 0x3A17: "title", 0x3A18: "department", 0x3A19: "office location",
    0x3A1C: "mobile telephone", 0x3A26: "country", 0x3A27: "place", 0x3A29: "street", 0x3A2A: "postal code",
    0x4022: "kind of creator", 0x4023: "creator's address", 0x3FFA: "last changed by",
    0x5D02: "represented sender's address",
}  # fmt: skip
"""Names of properties that are often there; others are shown by their numbers."""

_ADDRESS = re.compile(r"[^\s<>\",]{1,320}@[^\s<>\",]{1,255}")
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)
_PACKED, _PLAIN = 0x75465A4C, 0x414C454D
_PREFIX = (
    b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript "
    b"\\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par "
    b"\\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx"
)


class Item(Protocol):
    """A message, recipient or attachment, by its properties."""

    def raw(self, key: int) -> bytes:
        """A property of fixed size; empty without it."""

    def text(self, key: int) -> str:
        """A property that is a text; empty without it."""

    def data(self, key: int) -> bytes:
        """A property that is bytes; empty without it."""

    def texts(self) -> Iterable[int]:
        """The properties that are texts."""

    def recipients(self) -> Iterable[Item]:
        """To whom a message goes."""

    def attachments(self) -> Iterable[Attachment]:
        """An attachment of a message."""

    def left(self) -> Counter[str]:
        """Recipients and attachments that are too many."""


def number(item: Item, key: int) -> int:
    """A property that is a number; 0 without it."""
    return int.from_bytes(item.raw(key)[:4], "little")


def named(item: Item) -> str:
    """The name of an attachment, without folders."""
    name = item.text(LONG_NAME) or item.text(SHORT_NAME) or item.text(NAME) or "attachment"
    return " ".join(name.replace("\\", "/").rpartition("/")[2].split())


def page_of(item: Item) -> str:
    """The declared encoding of the texts of a message."""
    page = number(item, MESSAGE_PAGE) or number(item, BODY_PAGE)
    return code_page(page) if page else "cp1252"


def letter(item: Item) -> Letter:
    """The message that an item is. Raises Unreadable."""
    lines, dropped = _body(item)
    dropped += Counter(
        told("other property", f"{_PROPERTY_NAMES.get(key, f'0x{key:04X}')}: {item.text(key)}")
        for key in sorted(item.texts())
        if key not in _SHOWN
    )
    dropped += item.left()
    kind = item.text(CLASS)
    notes = [f"It is not a message but an item of the class {kind}."] if _is_other(kind) else []
    return Letter(list(_headers(item)), lines, list(item.attachments()), dropped, notes)


def _date(item: Item, key: int) -> str:
    """A property that is a time, as in headers of mail; empty without it."""
    ticks = int.from_bytes(item.raw(key), "little")
    try:
        return (_EPOCH + timedelta(microseconds=ticks // 10)).isoformat(" ", "seconds") if ticks else ""
    except OverflowError:
        return ""


def _headers(item: Item) -> Iterator[tuple[str, str]]:
    """The headers of a received message; for one that was never sent, the fields that Outlook has."""
    written = item.text(HEADERS)
    sent = eml.letter(written.encode("utf-8", "replace")).headers if written.strip() else ()
    there = {name.lower() for name, _ in sent}
    people = _recipients(item)
    own = (
        ("From", _person(item.text(SENDER), item.text(SENDER_SMTP) or item.text(SENDER_ADDRESS))),
        ("To", _together(people[1], item.text(TO))),
        ("Cc", _together(people[2], item.text(CC))),
        ("Bcc", _together(people[3], item.text(BCC))),
        ("Date", _date(item, SENT) or _date(item, DELIVERED)),
        ("Subject", item.text(SUBJECT)),
    )
    known = {name.lower(): words for name, words in own}
    yield from ((name, _with_names(words, known.get(name.lower(), ""))) for name, words in sent)
    yield from ((name, words) for name, words in own if words and name.lower() not in there)


def _recipients(item: Item) -> dict[int, list[str]]:
    by_kind: dict[int, list[str]] = {1: [], 2: [], 3: []}
    for recipient in item.recipients():
        kind = number(recipient, RECIPIENT_KIND) & 0xF
        kind = kind if kind in by_kind else 1
        person = _person(recipient.text(NAME), recipient.text(SMTP) or recipient.text(ADDRESS))
        if person:
            by_kind[kind].append(person)
    return by_kind


def _body(item: Item) -> tuple[list[str], Counter[str]]:
    """The plain text, or that of the HTML, or that of the RTF."""
    html = item.data(HTML) or item.text(HTML).encode("utf-8", "replace")
    packed = item.data(RTF)
    text = item.text(BODY)
    if text.strip():
        words = "\n".join(_page(item, html)[0]) if html else ""
        others = Counter({told("other form of the text", words): bool(html) + bool(packed and not html)})
        return mail.body_of_text(text.encode("utf-8", "replace"), "utf-8"), others
    if html:
        return _page(item, html)
    if packed:
        document = rtf.read(unpacked(packed))
        parts = [document.part(at) for at in range(1, len(document.titles) + 1)]
        return [line for part in parts for line in part.lines], Counter()
    return [], Counter()


def _page(item: Item, html: bytes) -> tuple[list[str], Counter[str]]:
    page = number(item, BODY_PAGE)
    is_binary = bool(item.data(HTML))
    return mail.body_of_html(html, (code_page(page) if page else "") if is_binary else "utf-8")


MAIL_RTF_BYTES = 8 * 1024 * 1024
"""The RTF of an Outlook message, unpacked, which takes 0.3 s per megabyte."""


def unpacked(data: bytes) -> bytes:
    """The RTF of a message, which is compressed in a way of its own. Raises Unreadable."""
    if len(data) < 16:
        raise Unreadable("its text is damaged", ANOTHER_COPY)
    size, magic = struct.unpack_from("<II", data, 4)
    if magic == _PLAIN:
        return data[16 : 16 + size]
    if magic != _PACKED or size > MAIL_RTF_BYTES:
        raise Unreadable("its text is damaged or too large", ANOTHER_COPY)
    window = bytearray(_PREFIX.ljust(4096, b" "))
    at, place, unpacked_bytes = 16, len(_PREFIX), bytearray()
    while at < len(data) and len(unpacked_bytes) < size:
        flags = data[at]
        at += 1
        for bit in range(8):
            if at >= len(data):
                break
            if flags >> bit & 1:
                pair = int.from_bytes(data[at : at + 2], "big")
                at += 2
                start, count = pair >> 4, (pair & 0xF) + 2
                if start == place:
                    return bytes(unpacked_bytes)
                letters = [start + step for step in range(count)]
            else:
                window[place] = data[at]
                unpacked_bytes.append(data[at])
                at, place = at + 1, (place + 1) % 4096
                continue
            for letter in letters:
                window[place] = window[letter % 4096]
                unpacked_bytes.append(window[place])
                place = (place + 1) % 4096
    return bytes(unpacked_bytes)


def decoded(data: bytes, page: str) -> str:
    """A text in the encoding that the message names; some name that of their HTML, and write another."""
    try:
        return data.decode(page)
    except UnicodeDecodeError:
        encoding = encodings.detect(data[:HEAD_BYTES], complete=False)
        return data.decode(page, "replace") if encoding is None else encodings.decode(data, encoding)


def _together(people: list[str], named: str) -> str:
    """The recipients of all kinds."""
    known = ", ".join(people)
    others = [
        name for name in (part.strip(" '\"") for part in named.split(";")) if name and name not in known
    ]
    return ", ".join((*people, *others))


def _with_names(sent: str, known: str) -> str:
    """A header of bare addresses as Outlook knows them: with the names of these people."""
    addresses = {address.strip(" <>").lower() for address in sent.split(",")}
    is_bare = all(_ADDRESS.fullmatch(address) for address in addresses)
    return known if is_bare and addresses <= set(_ADDRESS.findall(known.lower())) else sent


def _person(name: str, address: str) -> str:
    name, address = " ".join(name.split()).strip("'\""), address.strip()
    return f"{name} <{address}>" if name and address and address != name else name or address


def _is_other(kind: str) -> bool:
    return bool(kind) and not kind.upper().startswith(
        ("IPM.NOTE", "IPM.MICROSOFT MAIL", "REPORT", "IPM.SCHEDULE")
    )


# -----------------------------------------------------------------------------
# .msg and .oft: properties are streams of a compound file.
#
# A property is read when it is needed, so that attachments cost nothing before; attached messages are opened.
# -----------------------------------------------------------------------------

_PROPERTIES = "__properties_version1.0"
_RECIPIENT, _ATTACHMENT = "__recip_version1.0_#", "__attach_version1.0_#"
_HEX = frozenset("0123456789abcdef")


def open_document(file: BinaryIO) -> Mail:
    """The message in `file`. Raises Unreadable."""
    return Mail([_message(file)])


def letter_in(data: bytes) -> Letter:
    """The message that these bytes are. Raises Unreadable."""
    return _message(io.BytesIO(data))


def _message(file: BinaryIO) -> Letter:
    streams = compound.unencrypted(file)
    if not streams.has(_PROPERTIES):
        raise compound.refusal(compound.kind(file), Ole.MAIL)
    return letter(_StoredItem(streams, "", 32))


class _StoredItem:
    """A message, recipient or attachment: a folder of the compound file with properties."""

    def __init__(self, streams: Compound, folder: str, head: int, page: str = "") -> None:
        """`head` are the bytes before its properties of fixed size, `page` the encoding of its texts."""
        self._streams = streams
        self._folder = folder
        data = streams.optional(f"{folder}{_PROPERTIES}")
        self._fixed = {
            struct.unpack_from("<H", data, at + 2)[0]: data[at + 8 : at + 16]
            for at in range(head, len(data) - 15, 16)
        }
        self._page = page or page_of(self)

    def raw(self, key: int) -> bytes:
        return self._fixed.get(key, b"")

    def text(self, key: int) -> str:
        wide = self._streams.optional(self._name(key, "001f"))
        if wide:
            return wide[: len(wide) // 2 * 2].decode("utf-16-le", "replace").rstrip("\0")
        return decoded(self._streams.optional(self._name(key, "001e")), self._page).rstrip("\0")

    def data(self, key: int) -> bytes:
        return self._streams.optional(self._name(key, "0102"))

    def texts(self) -> set[int]:
        start = f"{self._folder}__substg1.0_"
        names = (name for name in self._streams.streams if name.startswith(start))
        keys = {name[len(start) :][:4] for name in names if name.endswith(("001f", "001e"))}
        return {int(key, 16) for key in keys if _HEX.issuperset(key)}

    def recipients(self) -> Iterator[_StoredItem]:
        for folder in self._folders(_RECIPIENT)[:MOST]:
            yield _StoredItem(self._streams, folder, 8, self._page)

    def attachments(self) -> Iterator[Attachment]:
        for folder in self._folders(_ATTACHMENT)[:MOST]:
            item = _StoredItem(self._streams, folder, 8, self._page)
            name = named(item)
            inner = f"{folder}__substg1.0_{DATA:04x}000d"
            stream = f"{folder}__substg1.0_{DATA:04x}0102"
            if self._streams.has(f"{inner}/{_PROPERTIES}"):
                message = _StoredItem(self._streams, f"{inner}/", 24)
                yield Attachment(
                    name, "application/vnd.ms-outlook", 0, bytes, letter=partial(letter, message)
                )
                continue
            size = self._streams.size(stream) if self._streams.has(stream) else 0
            mime = item.text(MIME) or "application/octet-stream"
            yield Attachment(name, mime, size, partial(self._read, stream))

    def left(self) -> Counter[str]:
        kinds = {"recipient": _RECIPIENT, "attachment": _ATTACHMENT}
        return Counter({what: max(0, len(self._folders(start)) - MOST) for what, start in kinds.items()})

    def _name(self, key: int, kind: str) -> str:
        return f"{self._folder}__substg1.0_{key:04x}{kind}"

    def _folders(self, start: str) -> list[str]:
        names = (name for name in self._streams.storages if name.startswith(f"{self._folder}{start}"))
        return sorted(f"{name}/" for name in names if "/" not in name[len(self._folder) :])

    def _read(self, stream: str) -> bytes:
        if not self._streams.has(stream):
            raise Unreadable(NOT_THERE, ANOTHER_COPY)
        return self._streams.read(stream)
