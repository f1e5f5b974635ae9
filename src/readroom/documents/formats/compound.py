"""Compound files (OLE), the format of Office before 2007 and of Outlook, read within bounds."""

from __future__ import annotations

import codecs
import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from typing import Any, BinaryIO, final

import olefile

from readroom.documents.formats import Document, Encrypted, Unreadable, opener, told
from readroom.documents.formats.archives import ANOTHER_COPY

_ENTRIES = 1_000
_PEOPLES: Mapping[str, Mapping[int, str]] = {
    "\x05summaryinformation": {2: "title", 3: "subject", 4: "author", 5: "keywords", 6: "comments"},
    "\x05documentsummaryinformation": {2: "category", 14: "manager", 15: "company"},
}
"""Properties that people give a document, by their numbers."""

_TEXTS = {30: 1, 31: 2}
"""Bytes for each character of the kinds of texts."""

_CODE_PAGE = 1
"""The property with the encoding of the others."""


# -----------------------------------------------------------------------------
# The kind of an OLE file: an encrypted document, or one of the binary formats before 2007.
#
# The streams in its root folder tell: those of embedded objects are deeper.  Where its
# directory is damaged, names of streams somewhere in the file do, in UTF-16.
# -----------------------------------------------------------------------------

OLE_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


class Ole(Enum):
    """Kinds of OLE files by the stream that shows it, in the order of lookup."""

    ENCRYPTED = "EncryptedPackage"
    SHEETS = "Workbook"
    OLD_SHEETS = "Book"
    WORD = "WordDocument"
    SLIDES = "PowerPoint Document"
    MAIL = "__properties_version1.0"


REFUSALS = {
    Ole.WORD: (
        "it is a Word document from before 2007",
        "Rename it to end with .doc, then it is read.",
    ),
    Ole.SLIDES: (
        "it is a presentation from before 2007",
        "Rename it to end with .ppt, then it is read.",
    ),
    Ole.MAIL: ("it is an Outlook message", "Rename it to end with .msg, then it is read."),
}
"""Kinds that are read under another name."""

DAMAGED = ("its streams are damaged or cut short", "Ask for another copy, or for an export as text.")
UNKNOWN = ("it is a binary file of an older office program", "Ask for it in a current format, or as text.")
SHEETS = ("it is an Excel workbook from before 2007", "Rename it to end with .xls, then it is read.")


def is_ole(file: BinaryIO) -> bool:
    """Whether the magic bytes say so."""
    file.seek(0)
    return file.read(len(OLE_MAGIC)) == OLE_MAGIC


def kind(file: BinaryIO) -> Ole | None:
    """The kind of the file; if it is damaged, by its first OLE_SCAN_BYTES and its last ones."""
    try:
        streams = Compound(file).streams
    except Unreadable:
        return _named(file)
    return next((candidate for candidate in Ole if candidate.value.lower() in streams), None)


OLE_SCAN_BYTES = 8 * 1024 * 1024
"""Bytes at the start and the end of an OLE file that are searched for telling names. Most
programs write the directory near one of them."""


def _named(file: BinaryIO) -> Ole | None:
    size = file.seek(0, 2)
    file.seek(0)
    text = file.read(OLE_SCAN_BYTES)
    if size > OLE_SCAN_BYTES:
        file.seek(max(OLE_SCAN_BYTES, size - OLE_SCAN_BYTES))
        text += file.read(OLE_SCAN_BYTES)
    # Names of streams are case-insensitive; some programs write BOOK.
    names = text.upper()
    return next((candidate for candidate in Ole if _entry(candidate.value.upper()) in names), None)


def refusal(actual: Ole | None, wanted: Ole | None = None) -> Unreadable:
    """Why a file with this stream is not read, and what to do; `wanted` is the expected kind."""
    if actual is not None and actual is wanted:
        return Unreadable(*DAMAGED)
    if actual is Ole.ENCRYPTED:
        return Encrypted("it is encrypted", "Ask for a copy without a password.")
    return Unreadable(*UNKNOWN if actual is None else REFUSALS.get(actual, SHEETS))


def check_not_ole(file: BinaryIO) -> None:
    """Refuse an OLE file where a ZIP is expected. Raises Unreadable when it is one."""
    if is_ole(file):
        raise refusal(kind(file))


def _entry(name: str) -> bytes:
    """A stream's name as its directory entry starts; the length that follows keeps shorter ones apart."""
    return name.encode("utf-16-le").ljust(64, b"\0") + (2 * len(name) + 2).to_bytes(2, "little")


_FORMATS: Mapping[Ole, str] = {
    Ole.WORD: "doc", Ole.SLIDES: "ppt", Ole.MAIL: "msg", Ole.SHEETS: "xls", Ole.OLD_SHEETS: "xls",
}  # fmt: skip


def opened(file: BinaryIO, wanted: Ole | None = None) -> Document:
    """The document in a compound file by its streams; `wanted` is the kind that its name claims.

    Raises:
        Unreadable: It is encrypted, damaged, or of another program.
    """
    actual = kind(file)
    if actual in (None, Ole.ENCRYPTED):
        raise refusal(actual)
    compound = Compound(file)
    found = next((at for at in _FORMATS if at is not wanted and compound.has(at.value)), None)
    if found is None:
        raise refusal(actual, wanted)
    file.seek(0)
    return opener(_FORMATS[found])(file)


OLE_STREAM_BYTES = 32 * 1024 * 1024
"""A stream of a compound file that is read into memory; the text of 1,000 pages has a few megabytes."""

OLE_ENTRIES = 20_000
"""Entries of the directory of a compound file, each an object; a message with 500 attachments has 15,000."""

OLE_PROPERTY_BYTES = 1024 * 1024
"""A stream of properties of an old document; most have some hundred bytes."""


@final
class Compound:
    """An opened compound file. Names are paths with `/`, in lower case."""

    def __init__(self, file: BinaryIO) -> None:
        """Open it. Raises Unreadable."""
        with translated():
            self._ole: Any = olefile.OleFileIO(file)
            # Names are case-insensitive; some programs write them in capitals.
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
        """A whole stream. Raises Unreadable if it is missing, too large, or damaged."""
        if not self.has(name):
            raise Unreadable(f"its stream {name!r} is missing", ANOTHER_COPY)
        with translated():
            size = self.size(name)
            if size > most:
                raise Unreadable(
                    f"its stream {name!r} is {size:,} bytes, more than the limit of {most:,}",
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
        """The declared size of a stream."""
        return int(self._ole.get_size(name))

    def properties(self) -> Counter[str]:
        """The properties that people gave the document, counted with their words; none if damaged."""
        return Counter(
            told("document property", f"{key}: {words}")
            for name, keys in _PEOPLES.items()
            for key, words in _filled(self.optional(name, OLE_PROPERTY_BYTES), keys)
        )


def unencrypted(file: BinaryIO) -> Compound:
    """The opened compound file. Raises Unreadable, and Encrypted where an office program has encrypted it."""
    actual = kind(file)
    if actual is Ole.ENCRYPTED:
        raise refusal(actual)
    return Compound(file)


def _filled(data: bytes, keys: Mapping[int, str]) -> list[tuple[str, str]]:
    """Those of these properties that have words; the library reads all, and trusts their counts."""
    try:
        start = struct.unpack_from("<I", data, 44)[0]
        count = min(struct.unpack_from("<I", data, start + 4)[0], _ENTRIES)
        listed = [struct.unpack_from("<II", data, start + 8 + 8 * at) for at in range(count)]
        places = {key: start + place for key, place in listed}
        page = 0
        if _CODE_PAGE in places:
            page = struct.unpack_from("<H", data, places[_CODE_PAGE] + 4)[0]
        found = []
        for key in sorted(places.keys() & keys.keys()):
            words = _words(data, places[key], page)
            found += [(keys[key], words)] if words else []
        return found
    except struct.error:
        return []


def _words(data: bytes, at: int, page: int) -> str:
    """A property that is a text, in one line; empty for others."""
    kind, size = struct.unpack_from("<II", data, at)
    width = _TEXTS.get(kind, 0)
    text = data[at + 8 :][: size * width]
    if width == 2:
        decoded = text[: len(text) // 2 * 2].decode("utf-16-le", "replace")
    else:
        decoded = text.decode(_codec(page), "replace")
    return " ".join(decoded.partition("\0")[0].split())


def _codec(page: int) -> str:
    """The codec of a code page; 1200 is UTF-16, which is no encoding of single bytes."""
    try:
        return "utf-8" if page == 65001 else codecs.lookup(f"cp{page}").name
    except LookupError:
        return "cp1252"


@contextmanager
def translated() -> Iterator[None]:
    """The library's failures as Unreadable; for a damaged file it raises any exception."""
    try:
        yield
    except (MemoryError, RecursionError, Unreadable):
        raise
    except Exception:
        raise Unreadable("its streams are damaged or cut short", ANOTHER_COPY) from None
