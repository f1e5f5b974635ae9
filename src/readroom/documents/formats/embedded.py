"""Objects of other programs in documents: the kind of each and its text, for who asks what it is.

A file that is packed in one (a `Package`) is read as the document that it is. Files packed in that one are
not opened: they may be nested without end.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from contextlib import suppress
from contextvars import ContextVar

from readroom.core.formats.kinds import recognise
from readroom.core.formats.registry import table
from readroom.core.limits import HEAD_BYTES
from readroom.core.quoting import quote
from readroom.documents.formats import BESIDE_CHARS, Unreadable, opener, told_file
from readroom.documents.formats.compound import Compound, is_ole
from readroom.documents.formats.legible import legible

KIND = "embedded object"
EMBEDDED_STREAMS = 50
"""Streams of one object that are shown."""

_ABOUT, _NATIVE = "\x01compobj", "\x01ole10native"
_OF_PROGRAMS = frozenset(("\x01ole", "\x03objinfo", "\x03linkinfo", "\x02olepres000", "\x03eprint"))
"""Streams that have pictures and settings of the program."""

_READING: ContextVar[bool] = ContextVar("_READING", default=False)
"""Whether a document in a document is being read: those in it are not opened, as one may hold itself."""

_ABOUT_HEAD = 28
_CONTROLS = "\x01\x02\x03\x04\x05\x06"


def told_object(compound: Compound | None, folder: str, head: str) -> str:
    """The name under which the object in a folder of a compound file is counted; `head` says which it is."""
    lines, names = ([], []) if compound is None else _lines_of(compound, folder)
    return told_file(KIND, head, lines, names)


def told_in(data: bytes, head: str) -> str:
    """The same of a part of a document of today, which may be such a file or a document."""
    if is_ole(io.BytesIO(data)):
        with suppress(Unreadable):
            return told_object(Compound(io.BytesIO(data)), "", head)
    return told_file(KIND, head, _text("", data), [])


def _lines_of(compound: Compound, folder: str) -> tuple[list[str], list[str]]:
    """The lines about an object, and the names of the files in it."""
    top = f"{folder}/" if folder else ""
    names = sorted(name for name in compound.streams if name.startswith(top))
    kind = _kind(compound.optional(f"{top}{_ABOUT}"))
    lines = [f"kind: {kind}"] if kind else []
    inner = [name for name in names if name[len(top) :] not in (*_OF_PROGRAMS, _ABOUT)]
    files: list[str] = []
    for name in inner[:EMBEDDED_STREAMS]:
        data = compound.optional(name)
        label = name[len(top) :].strip(_CONTROLS)
        if name[len(top) :] == _NATIVE:
            label, data = _native(data)
            files.append(label)
        lines += [f"[{quote(label)}]", *_text(label, data)]
    left = len(inner) - EMBEDDED_STREAMS
    return [*lines, *([f"({left:,} more streams are not shown)"] if left > 0 else [])], files


def _kind(about: bytes) -> str:
    """The name that a program gives to its objects; empty if it is not said."""
    if len(about) < _ABOUT_HEAD + 4:
        return ""
    size = struct.unpack_from("<I", about, _ABOUT_HEAD)[0]
    name = about[_ABOUT_HEAD + 4 :][: min(size, 200)].split(b"\0")[0]
    return name.decode("cp1252", "replace").strip()


def _native(data: bytes) -> tuple[str, bytes]:
    """The name and the bytes of a packed file; all of the bytes if they are laid out in another way."""
    if len(data) < 8 or data[4:6] != b"\2\0":
        return "data", data[4:] if len(data) > 4 else data
    label, _, rest = data[6:].partition(b"\0")
    path, _, rest = rest.partition(b"\0")
    size = int.from_bytes(rest[4:8], "little")
    start = 8 + size
    length = int.from_bytes(rest[start : start + 4], "little")
    name = (label or path).decode("cp1252", "replace").replace("\\", "/").rpartition("/")[2]
    content = rest[start + 4 : start + 4 + length]
    return name or "file", content or rest


def _text(name: str, data: bytes) -> list[str]:
    """The text of a packed document, or what can be read of other bytes."""
    found = recognise(name.lower(), data[:HEAD_BYTES])
    form = _zipped_form(data) if found is None else found.format
    if form not in table().rows or is_ole(io.BytesIO(data)) or _READING.get():
        return legible(data)
    before = _READING.set(True)
    try:
        return list(_document(form, data))
    except Unreadable as error:
        return [f"It cannot be read: {error.problem}."]
    finally:
        _READING.reset(before)


def _zipped_form(data: bytes) -> str:
    """The format of a document by its members, whatever its name is."""
    found = recognise("package.docx", data[:HEAD_BYTES]) if data.startswith(b"PK\3\4") else None
    return "" if found is None else found.format


def _document(form: str, data: bytes) -> Iterator[str]:
    document = opener(form)(io.BytesIO(data))
    room = BESIDE_CHARS
    for number in range(1, len(document.titles) + 1):
        part = document.part(number)
        lines = [*([f"[{document.unit} {number}: {part.title}]"] if part.title else []), *part.lines]
        room -= sum(map(len, lines))
        yield from lines
        if room < 0:
            return
