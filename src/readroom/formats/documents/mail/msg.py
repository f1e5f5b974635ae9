"""Messages of Outlook (.msg): properties as streams of a compound file, laid out as other messages are.

A property is read when it is needed, so that attachments cost nothing until then; messages
attached to messages are opened, and of a message that is only RTF, that is read.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import BinaryIO

from readroom.formats.documents import Unreadable, mail, ooxml, rtf
from readroom.formats.documents.archives import ANOTHER_COPY
from readroom.formats.documents.compound import Compound
from readroom.formats.documents.mail import Attachment, Letter, Mail, eml
from readroom.formats.documents.ooxml import Ole
from readroom.formats.documents.rtf.tokens import code_page
from readroom.limits import HEAD_BYTES
from readroom.limits.documents import MAIL_RTF_BYTES
from readroom.text import encodings

SUBJECT, BODY, HTML, RTF, HEADERS, CLASS = 0x0037, 0x1000, 0x1013, 0x1009, 0x007D, 0x001A
SENDER, SENDER_ADDRESS, SENDER_SMTP = 0x0C1A, 0x0C1F, 0x5D01
TO, CC, BCC, SENT, DELIVERED, MESSAGE_PAGE, BODY_PAGE = 0x0E04, 0x0E03, 0x0E02, 0x0039, 0x0E06, 0x3FFD, 0x3FDE
NAME, ADDRESS, SMTP, RECIPIENT_KIND = 0x3001, 0x3003, 0x39FE, 0x0C15
LONG_NAME, SHORT_NAME, DATA, MIME = 0x3707, 0x3704, 0x3701, 0x370E

MAX_ATTACHMENTS = 2_000
_SHOWN = frozenset(
    (SUBJECT, BODY, HTML, RTF, HEADERS, CLASS, SENDER, SENDER_ADDRESS, SENDER_SMTP, TO, CC, BCC)
)
_PROPERTIES = "__properties_version1.0"
_ADDRESS = re.compile(r"[^\s<>\",]{1,320}@[^\s<>\",]{1,255}")
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)
_PACKED, _PLAIN = 0x75465A4C, 0x414C454D
_PREFIX = (
    b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript "
    b"\\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par "
    b"\\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx"
)


def open_document(file: BinaryIO) -> Mail:
    """The message in `file`. Raises Unreadable."""
    kind = ooxml.kind(file)
    if kind is Ole.ENCRYPTED:
        raise ooxml.refusal(kind)
    compound = Compound(file)
    if not compound.has(_PROPERTIES):
        raise ooxml.refusal(kind, Ole.MAIL)
    return Mail([_OutlookItem(compound, "", 32).letter()])


class _OutlookItem:
    """A message, recipient or attachment: a folder of the compound file with properties."""

    def __init__(self, compound: Compound, folder: str, head: int, page: str = "") -> None:
        """`head` are the bytes before its properties of fixed size, `page` the encoding of its texts."""
        self._compound = compound
        self._folder = folder
        data = compound.optional(f"{folder}{_PROPERTIES}")
        self._fixed = {
            struct.unpack_from("<H", data, at + 2)[0]: data[at + 8 : at + 16]
            for at in range(head, len(data) - 15, 16)
        }
        number = self.number(MESSAGE_PAGE) or self.number(BODY_PAGE)
        self.page = page or (code_page(number) if number else "cp1252")

    def number(self, key: int) -> int:
        """A property that is a number; 0 without it."""
        return int.from_bytes(self._fixed.get(key, b"")[:4], "little")

    def date(self, key: int) -> str:
        """A property that is a time, as in headers of mail; empty without it."""
        ticks = int.from_bytes(self._fixed.get(key, b""), "little")
        try:
            return (_EPOCH + timedelta(microseconds=ticks // 10)).isoformat(" ", "seconds") if ticks else ""
        except OverflowError:
            return ""

    def text(self, key: int) -> str:
        """A property that is a text; empty without it."""
        wide = self._compound.optional(self._name(key, "001f"))
        if wide:
            return wide[: len(wide) // 2 * 2].decode("utf-16-le", "replace").rstrip("\0")
        return _decoded(self._compound.optional(self._name(key, "001e")), self.page).rstrip("\0")

    def data(self, key: int) -> bytes:
        """A property that is bytes; empty without it."""
        return self._compound.optional(self._name(key, "0102"))

    def _name(self, key: int, kind: str) -> str:
        return f"{self._folder}__substg1.0_{key:04x}{kind}"

    def letter(self) -> Letter:
        """The message that this is. Raises Unreadable."""
        lines, dropped = self._body()
        dropped["other property"] += self._others()
        kind = self.text(CLASS)
        notes = [f"It is not a message but an item of the class {kind}."] if _is_other(kind) else []
        return Letter(list(self._headers()), lines, list(self._attachments()), dropped, notes)

    # --- headers -----------------------------------------------------------------------------------

    def _headers(self) -> Iterator[tuple[str, str]]:
        """The headers that came with it; of a message that was never sent, what Outlook knows."""
        written = self.text(HEADERS)
        sent = eml.letter(written.encode("utf-8", "replace")).headers if written.strip() else ()
        there = {name.lower() for name, _ in sent}
        sender = _person(self.text(SENDER), self.text(SENDER_SMTP) or self.text(SENDER_ADDRESS))
        people = self._recipients()
        own = (
            ("From", sender),
            ("To", _together(people[1], self.text(TO))),
            ("Cc", _together(people[2], self.text(CC))),
            ("Bcc", _together(people[3], self.text(BCC))),
            ("Date", self.date(SENT) or self.date(DELIVERED)),
            ("Subject", self.text(SUBJECT)),
        )
        known = {name.lower(): words for name, words in own}
        yield from ((name, _with_names(words, known.get(name.lower(), ""))) for name, words in sent)
        yield from ((name, words) for name, words in own if words and name.lower() not in there)

    def _recipients(self) -> dict[int, list[str]]:
        by_kind: dict[int, list[str]] = {1: [], 2: [], 3: []}
        for folder in self._folders("__recip_version1.0_#"):
            item = _OutlookItem(self._compound, folder, 8, self.page)
            kind = item.number(RECIPIENT_KIND) & 0xF
            kind = kind if kind in by_kind else 1
            person = _person(item.text(NAME), item.text(SMTP) or item.text(ADDRESS))
            if person:
                by_kind[kind].append(person)
        return by_kind

    def _folders(self, start: str) -> list[str]:
        names = (name for name in self._compound.storages if name.startswith(f"{self._folder}{start}"))
        return sorted(f"{name}/" for name in names if "/" not in name[len(self._folder) :])[:MAX_ATTACHMENTS]

    # --- text --------------------------------------------------------------------------------------

    def _body(self) -> tuple[list[str], Counter[str]]:
        """The plain text, or that of the HTML, or that of the RTF."""
        html = self.data(HTML) or self.text(HTML).encode("utf-8", "replace")
        packed = self.data(RTF)
        text = self.text(BODY)
        if text.strip():
            others = Counter({"other form of the text": bool(html) + bool(packed and not html)})
            return mail.body_of_text(text.encode("utf-8", "replace"), "utf-8"), others
        if html:
            page = self.number(BODY_PAGE)
            is_binary = bool(self.data(HTML))
            return mail.body_of_html(html, (code_page(page) if page else "") if is_binary else "utf-8")
        if packed:
            document = rtf.read(unpacked(packed))
            parts = [document.part(number) for number in range(1, len(document.titles) + 1)]
            return [line for part in parts for line in part.lines], Counter()
        return [], Counter()

    def _others(self) -> int:
        """Texts that are not shown."""
        start = f"{self._folder}__substg1.0_"
        names = (name for name in self._compound.streams if name.startswith(start))
        keys = {name[len(start) :][:4] for name in names if name.endswith(("001f", "001e"))}
        return sum(int(key, 16) not in _SHOWN for key in keys if key.isalnum() and _is_hex(key))

    # --- attachments -------------------------------------------------------------------------------

    def _attachments(self) -> Iterator[Attachment]:
        for folder in self._folders("__attach_version1.0_#"):
            item = _OutlookItem(self._compound, folder, 8, self.page)
            name = item.text(LONG_NAME) or item.text(SHORT_NAME) or item.text(NAME) or "attachment"
            name = " ".join(name.replace("\\", "/").rpartition("/")[2].split())
            inner = f"{folder}__substg1.0_{DATA:04x}000d"
            stream = f"{folder}__substg1.0_{DATA:04x}0102"
            if self._compound.has(f"{inner}/{_PROPERTIES}"):
                message = _OutlookItem(self._compound, f"{inner}/", 24)
                yield Attachment(name, "application/vnd.ms-outlook", 0, bytes, letter=message.letter)
                continue
            size = self._compound.size(stream) if self._compound.has(stream) else 0
            mime = item.text(MIME) or "application/octet-stream"
            yield Attachment(name, mime, size, lambda stream=stream: self._read(stream))  # type: ignore[misc]

    def _read(self, stream: str) -> bytes:
        if not self._compound.has(stream):
            raise Unreadable(
                "it is not in the message: a link, or an object of another program", ANOTHER_COPY
            )
        return self._compound.read(stream)


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


def _decoded(data: bytes, page: str) -> str:
    """A text in the encoding that the message names; some name that of their HTML, and write another."""
    try:
        return data.decode(page)
    except UnicodeDecodeError:
        encoding = encodings.detect(data[:HEAD_BYTES], complete=False)
        return data.decode(page, "replace") if encoding is None else encodings.decode(data, encoding)


def _together(people: list[str], named: str) -> str:
    """The recipients, and who is named beside them."""
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
    return bool(kind) and not kind.upper().startswith(("IPM.NOTE", "REPORT", "IPM.SCHEDULE"))


def _is_hex(text: str) -> bool:
    return all(letter in "0123456789abcdef" for letter in text)
