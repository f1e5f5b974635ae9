"""Messages of Outlook (.msg, .oft): properties as streams of a compound file.

A property is read when it is needed, so that attachments cost nothing until then; messages
attached to messages are opened.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import BinaryIO

from readroom.formats.documents import Unreadable
from readroom.formats.documents import compound as compounds
from readroom.formats.documents.archives import ANOTHER_COPY
from readroom.formats.documents.compound import Compound, Ole
from readroom.formats.documents.mail import Attachment, Mail, outlook
from readroom.formats.documents.mail.outlook import DATA, MIME, MOST, NOT_THERE

_PROPERTIES = "__properties_version1.0"
_RECIPIENT, _ATTACHMENT = "__recip_version1.0_#", "__attach_version1.0_#"
_HEX = frozenset("0123456789abcdef")


def open_document(file: BinaryIO) -> Mail:
    """The message in `file`. Raises Unreadable."""
    kind = compounds.kind(file)
    if kind is Ole.ENCRYPTED:
        raise compounds.refusal(kind)
    compound = Compound(file)
    if not compound.has(_PROPERTIES):
        raise compounds.refusal(kind, Ole.MAIL)
    return Mail([outlook.letter(_StoredItem(compound, "", 32))])


class _StoredItem:
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
        self._page = page or outlook.page_of(self)

    def raw(self, key: int) -> bytes:
        """A property of fixed size; empty without it."""
        return self._fixed.get(key, b"")

    def text(self, key: int) -> str:
        """A property that is a text; empty without it."""
        wide = self._compound.optional(self._name(key, "001f"))
        if wide:
            return wide[: len(wide) // 2 * 2].decode("utf-16-le", "replace").rstrip("\0")
        return outlook.decoded(self._compound.optional(self._name(key, "001e")), self._page).rstrip("\0")

    def data(self, key: int) -> bytes:
        """A property that is bytes; empty without it."""
        return self._compound.optional(self._name(key, "0102"))

    def texts(self) -> set[int]:
        """The properties that are texts."""
        start = f"{self._folder}__substg1.0_"
        names = (name for name in self._compound.streams if name.startswith(start))
        keys = {name[len(start) :][:4] for name in names if name.endswith(("001f", "001e"))}
        return {int(key, 16) for key in keys if _HEX.issuperset(key)}

    def recipients(self) -> Iterator[_StoredItem]:
        """To whom a message goes."""
        for folder in self._folders(_RECIPIENT)[:MOST]:
            yield _StoredItem(self._compound, folder, 8, self._page)

    def attachments(self) -> Iterator[Attachment]:
        """What is attached to a message."""
        for folder in self._folders(_ATTACHMENT)[:MOST]:
            item = _StoredItem(self._compound, folder, 8, self._page)
            name = outlook.named(item)
            inner = f"{folder}__substg1.0_{DATA:04x}000d"
            stream = f"{folder}__substg1.0_{DATA:04x}0102"
            if self._compound.has(f"{inner}/{_PROPERTIES}"):
                message = _StoredItem(self._compound, f"{inner}/", 24)
                yield Attachment(
                    name, "application/vnd.ms-outlook", 0, bytes, letter=partial(outlook.letter, message)
                )
                continue
            size = self._compound.size(stream) if self._compound.has(stream) else 0
            mime = item.text(MIME) or "application/octet-stream"
            yield Attachment(name, mime, size, partial(self._read, stream))

    def left(self) -> Counter[str]:
        """Recipients and attachments that are too many."""
        kinds = {"recipient": _RECIPIENT, "attachment": _ATTACHMENT}
        return Counter({what: max(0, len(self._folders(start)) - MOST) for what, start in kinds.items()})

    def _name(self, key: int, kind: str) -> str:
        return f"{self._folder}__substg1.0_{key:04x}{kind}"

    def _folders(self, start: str) -> list[str]:
        names = (name for name in self._compound.storages if name.startswith(f"{self._folder}{start}"))
        return sorted(f"{name}/" for name in names if "/" not in name[len(self._folder) :])

    def _read(self, stream: str) -> bytes:
        if not self._compound.has(stream):
            raise Unreadable(NOT_THERE, ANOTHER_COPY)
        return self._compound.read(stream)
