"""`winmail.dat` (TNEF), in which Outlook packs the text and the attachments of a message.

A file is a list of attributes. Those of the message come first; each attachment begins with an attribute that
says how it is rendered. Two attributes hold properties like those of a .msg, the others are their older form.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import BinaryIO

from msgspec.structs import replace

from readroom.documents.formats import Unreadable
from readroom.documents.formats.archives import ANOTHER_COPY
from readroom.documents.formats.mail import Attachment, Letter, Mail, outlook
from readroom.documents.formats.rtf.tokens import code_page
from readroom.documents.limits import MAIL_BYTES
from readroom.documents.table import TNEF_MARK

CARRIES = True
"""It opens files of other formats, which it carries."""

_HEAD = 6
_ATTRIBUTE = struct.Struct("<BII")
_PROPERTIES, _ATTACHED, _RECIPIENTS, _PAGE, _BEGIN = 0x69003, 0x69005, 0x69004, 0x69007, 0x69002
_SENDER, _FILE = 0x08000, 0x6800F
_OF_MESSAGE, _OF_ATTACHMENT = 1, 2
_OLDER = {0x18004: outlook.SUBJECT, 0x2800C: outlook.BODY, 0x78008: outlook.CLASS, 0x18010: outlook.LONG_NAME}
_TEXT, _WIDE, _OBJECT, _BYTES, _SEVERAL, _GUID, _NAMED = 0x1E, 0x1F, 0x0D, 0x102, 0x1000, 0x48, 0x8000
_SIZES = {0: 0, 1: 0, 2: 4, 3: 4, 4: 4, 5: 8, 6: 8, 7: 8, 0xA: 4, 0xB: 4, 0x14: 8, 0x40: 8, _GUID: 16}
_CUT = "It is damaged or cut short, and the rest is not shown."


def open_document(file: BinaryIO) -> Mail:
    """The message in `file`. Raises Unreadable."""
    size = file.seek(0, 2)
    if size > MAIL_BYTES:
        raise Unreadable(f"it is a message of more than {MAIL_BYTES:,} bytes", ANOTHER_COPY)
    file.seek(0)
    return Mail([letter_in(file.read())])


def letter_in(data: bytes | memoryview) -> Letter:
    """The message that these bytes are. Raises Unreadable."""
    view = memoryview(data)
    if bytes(view[:4]) != TNEF_MARK:
        raise Unreadable("it does not start like a winmail.dat (TNEF)", ANOTHER_COPY)
    item = _PackedItem()
    item.take(view)
    message = outlook.letter(item)
    return replace(message, notes=[*message.notes, _CUT]) if item.is_cut else message


class _PackedItem:
    """A message, recipient or attachment: its properties by their numbers, each with its kind."""

    def __init__(self, page: str = "") -> None:
        self._page = page
        self._values: dict[int, tuple[int, memoryview]] = {}
        self._attached: list[_PackedItem] = []
        self._recipients: list[_PackedItem] = []
        self._left: Counter[str] = Counter()
        self.is_cut = False

    def take(self, data: memoryview) -> None:
        """All attributes of a message."""
        at = _HEAD
        try:
            while at < len(data):
                level, name, size = _ATTRIBUTE.unpack_from(data, at)
                at += _ATTRIBUTE.size
                known = level in (_OF_MESSAGE, _OF_ATTACHMENT)
                self.is_cut |= not known or at + size > len(data)
                if not known:
                    break
                self._attribute(level, name, data[at : at + size])
                at += size + 2
        except struct.error:
            self.is_cut = True

    def _attribute(self, level: int, name: int, value: memoryview) -> None:
        if name == _BEGIN and len(self._attached) < outlook.MOST:
            self._attached.append(_PackedItem(self._page))
        elif name == _BEGIN:
            self._left["attachment"] += 1
        if level == _OF_ATTACHMENT and self._left["attachment"]:
            return
        item = self._attached[-1] if self._attached else self
        if name in (_PROPERTIES, _ATTACHED):
            item.properties(value, 0)
        elif name == _RECIPIENTS:
            self._people(value)
        elif name == _PAGE:
            self._page = code_page(struct.unpack_from("<I", value)[0])
        elif name == _FILE:
            item.older(outlook.DATA, _BYTES, value)
        elif name == _SENDER:
            _, _, length, more = struct.unpack_from("<4H", value)
            self.older(outlook.SENDER, _TEXT, value[8 : 8 + length])
            address = bytes(value[8 + length : 8 + length + more]).partition(b":")[2]
            self.older(outlook.SENDER_ADDRESS, _TEXT, memoryview(address))
        elif name in _OLDER:
            item.older(_OLDER[name], _TEXT, value)

    def older(self, key: int, kind: int, value: memoryview) -> None:
        """A property in its older form, used if there is no other."""
        self._values.setdefault(key, (kind, value))

    def _people(self, value: memoryview) -> None:
        count, at = struct.unpack_from("<I", value)[0], 4
        for _ in range(min(count, outlook.MOST)):
            person = _PackedItem(self._page)
            at = person.properties(value, at)
            self._recipients.append(person)
        self._left["recipient"] += max(0, count - outlook.MOST)

    def properties(self, data: memoryview, at: int) -> int:
        """Properties as a .msg has them, from a place on; where they end. Raises struct.error."""
        count = struct.unpack_from("<I", data, at)[0]
        at += 4
        for _ in range(count):
            kind, key = struct.unpack_from("<HH", data, at)
            at += 4
            if key >= _NAMED:
                by_name, size = struct.unpack_from("<II", data, at + 16)
                at += 24 + (_padded(size) if by_name else 0)
            size = _SIZES.get(kind & ~_SEVERAL, -1)
            several = 1
            if kind & _SEVERAL or size < 0:
                several = struct.unpack_from("<I", data, at)[0]
                at += 4
            if size >= 0:
                self._values[key] = (kind, data[at : at + size])
                at += size * several
            else:
                at = self._of_any_size(key, kind, data, at, several)
            if at > len(data):
                raise struct.error
        return at

    def _of_any_size(self, key: int, kind: int, data: memoryview, at: int, several: int) -> int:
        for number in range(several):
            size = struct.unpack_from("<I", data, at)[0]
            if not number:
                self._values[key] = (kind, data[at + 4 : at + 4 + size])
            at += 4 + _padded(size)
        return at

    # --- as an item ---------------------------------------------------------------------------------

    def raw(self, key: int) -> bytes:
        return self._value(key, *_SIZES)

    def text(self, key: int) -> str:
        wide = self._value(key, _WIDE)
        if wide:
            return wide[: len(wide) // 2 * 2].decode("utf-16-le", "replace").rstrip("\0")
        return outlook.decoded(self._value(key, _TEXT), self._page or outlook.page_of(self)).rstrip("\0")

    def data(self, key: int) -> bytes:
        return self._value(key, _BYTES)

    def texts(self) -> Iterator[int]:
        return (key for key, (kind, _) in self._values.items() if kind in (_TEXT, _WIDE) and key < _NAMED)

    def recipients(self) -> Iterator[_PackedItem]:
        return iter(self._recipients)

    def attachments(self) -> Iterator[Attachment]:
        return (item.attachment() for item in self._attached)

    def left(self) -> Counter[str]:
        return self._left

    def attachment(self) -> Attachment:
        """The attachment that this is; an object may be a message that is packed as this one."""
        name, mime = outlook.named(self), self.text(outlook.MIME) or "application/octet-stream"
        kind, value = self._values.get(outlook.DATA, (0, memoryview(b"")))
        if kind == _OBJECT:
            value = value[16:]  # after the kind of the object
            if bytes(value[:4]) == TNEF_MARK:
                inner = partial(letter_in, value)
                return Attachment(name, "application/ms-tnef", len(value), value.tobytes, letter=inner)
        return Attachment(name, mime, len(value), value.tobytes if kind else _missing)

    def _value(self, key: int, *kinds: int) -> bytes:
        kind, value = self._values.get(key, (-1, memoryview(b"")))
        return bytes(value) if kind in kinds else b""


def _missing() -> bytes:
    raise Unreadable(outlook.NOT_THERE, ANOTHER_COPY)


def _padded(size: int) -> int:
    return (size + 3) // 4 * 4
