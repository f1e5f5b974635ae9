"""Compound files (OLE), in which Office before 2007 and Outlook keep their streams, read within bounds."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any, BinaryIO, final

import olefile

from readroom.formats.documents import OPENERS, Document, Unreadable, ooxml
from readroom.formats.documents.archives import ANOTHER_COPY
from readroom.formats.documents.ooxml import Ole
from readroom.limits.documents import OLE_ENTRIES, OLE_PROPERTY_BYTES, OLE_STREAM_BYTES

_ENTRIES = 1_000
_PEOPLES = {
    "\x05summaryinformation": frozenset((2, 3, 4, 5, 6)),
    "\x05documentsummaryinformation": frozenset((2, 14, 15)),
}
"""Properties that people give a document: title, subject, author, keywords, comments; category and firm."""

_TEXTS = {30: 1, 31: 2}
"""Bytes for each character of the kinds of texts."""


_FORMATS: Mapping[Ole, str] = {
    Ole.WORD: "doc", Ole.SLIDES: "ppt", Ole.MAIL: "msg", Ole.SHEETS: "xls", Ole.OLD_SHEETS: "xls",
}  # fmt: skip


def opened(file: BinaryIO, wanted: Ole | None = None) -> Document:
    """The document in a compound file by the streams it has, whatever its name says.

    Args:
        file: The compound file.
        wanted: What its name says, and what it was found not to be.

    Raises:
        Unreadable: It is encrypted, damaged, or of another program.
    """
    actual = ooxml.kind(file)
    if actual in (None, Ole.ENCRYPTED):
        raise ooxml.refusal(actual)
    compound = Compound(file)
    found = next((kind for kind in _FORMATS if kind is not wanted and compound.has(kind.value)), None)
    if found is None:
        raise ooxml.refusal(actual, wanted)
    file.seek(0)
    document: Document = import_module(OPENERS[_FORMATS[found]]).open_document(file)
    return document


@final
class Compound:
    """An opened compound file. Names are paths with `/`, in lower case."""

    def __init__(self, file: BinaryIO) -> None:
        """Open it. Raises Unreadable."""
        with translated():
            self._ole: Any = olefile.OleFileIO(file)
            # Names are the same in any case, says the format; some programs write them in capitals.
            self.streams = frozenset("/".join(path).lower() for path in self._ole.listdir(streams=True))
            self.storages = frozenset(
                "/".join(path).lower() for path in self._ole.listdir(streams=False, storages=True)
            )
        if len(self.streams) + len(self.storages) > OLE_ENTRIES:
            raise Unreadable(f"it has more than {OLE_ENTRIES:,} streams", ANOTHER_COPY)

    def has(self, name: str) -> bool:
        """Whether there is a stream of this name, in any case."""
        return name.lower() in self.streams

    def read(self, name: str, most: int = OLE_STREAM_BYTES) -> bytes:
        """A stream as a whole. Raises Unreadable when there is none, it is larger, or it is damaged."""
        if not self.has(name):
            raise Unreadable(f"its stream {name!r} is missing", ANOTHER_COPY)
        with translated():
            size = self.size(name)
            if size > most:
                raise Unreadable(
                    f"its stream {name!r} is {size:,} bytes, and at most {most:,} are taken",
                    "Ask for it in smaller pieces, or for an export as text.",
                )
            stream: bytes = self._ole.openstream(name).read()
            return stream

    def optional(self, name: str, most: int = OLE_STREAM_BYTES) -> bytes:
        """A stream that a file can do without; empty where it is missing or cannot be read."""
        try:
            return self.read(name, most) if self.has(name) else b""
        except Unreadable:
            return b""

    def size(self, name: str) -> int:
        """The size that a stream says to have."""
        return int(self._ole.get_size(name))

    def properties(self) -> int:
        """How many properties the document was given; what cannot be read is none."""
        return sum(_filled(self.optional(name, OLE_PROPERTY_BYTES), keys) for name, keys in _PEOPLES.items())


def _filled(data: bytes, keys: frozenset[int]) -> int:
    """How many of these properties a stream of them has; the library reads all, and trusts their counts."""
    try:
        start = struct.unpack_from("<I", data, 44)[0]
        count = min(struct.unpack_from("<I", data, start + 4)[0], _ENTRIES)
        listed = [struct.unpack_from("<II", data, start + 8 + 8 * at) for at in range(count)]
        filled = 0
        for key, place in listed:
            if key in keys:
                kind, size = struct.unpack_from("<II", data, start + place)
                width = _TEXTS.get(kind, 0)
                filled += bool(data[start + place + 8 :][: size * width].strip(b"\0 "))
        return filled
    except struct.error:
        return 0


@contextmanager
def translated() -> Iterator[None]:
    """The library's failures as Unreadable; of a damaged file it raises whatever its code meets."""
    try:
        yield
    except (MemoryError, RecursionError, Unreadable):
        raise
    except Exception:
        raise Unreadable("its streams are damaged or cut short", ANOTHER_COPY) from None
