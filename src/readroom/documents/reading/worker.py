"""The child process that reads one document, confined before it looks at the first byte.

A program of its own, run by its path with `python -I -S`; its parent tells it where modules are.  It
imports the module that reads this kind of document and only then gives up its rights: files except
those of Python's own libraries and fonts, sockets, new programs, unlimited memory and processor time.
Its parent trusts none of its output.

    standard input   one JSON object in a line, see `Order`; then one `Ask` in a line for each part
    standard output  an answer for the opening and for each part, see `formats.documents.protocol`
"""

from __future__ import annotations

import importlib
import io
import json
import os
import resource
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, TypedDict

if TYPE_CHECKING:
    from readroom.documents.formats import Document, Part

_OUT_OF_MEMORY = "reading it takes more memory than documents get"

_SHARED = ("libgcc_s.so.1", "libstdc++.so.6")
"""Libraries of the system that those of formats are linked to, besides the usual ones."""

_FONTS = ("/usr/share/fonts", "/usr/local/share/fonts", "/etc/fonts")
"""Fonts for rendered pages; where they are missing, a font of the library is used."""


class Order(TypedDict):
    """The document to open. `paths` is where modules are found, `file` a descriptor of the document.

    Without one its bytes are asked for (`protocol.Wanted`); `size` is their number.
    `libraries` are those of the paths in which files may be read later, `argument`, where there is one, is
    for the module.
    """

    paths: list[str]
    libraries: list[str]
    module: str
    argument: str
    file: int | None
    size: int
    memory_bytes: int
    cpu_s: int
    files: int
    titles: int
    title_chars: int
    note_chars: int
    contents: int
    part_chars: int
    pictures_bytes: int


class Ask(TypedDict):
    """The part to extract, with or without its pictures; `area` is first and last row, columns, and lines.

    `formulas` is whether they are wanted in place of their values, `columns` are those of a table by name.
    With a `region` it is shown as a picture.
    """

    number: int
    area: list[int | None] | None
    formulas: bool
    columns: str
    text_only: bool
    region: list[int] | None


class _Seekable(io.RawIOBase):
    """A document with a position."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        if base + offset < 0:
            raise ValueError("before the beginning")
        self._at = base + offset
        return self._at

    def tell(self) -> int:
        return self._at


class _File(_Seekable):
    """The document by its descriptor, whose position others may move."""

    def __init__(self, fd: int) -> None:
        super().__init__(os.fstat(fd).st_size)
        self._fd = fd

    def fileno(self) -> int:
        return self._fd

    def readinto(self, buffer: Any) -> int:
        data = os.pread(self._fd, len(buffer), self._at)
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


class _Asked(_Seekable):
    """The document by ranges that the parent sends when they are asked for.

    Attributes:
        far: Reading all of it costs much.
    """

    far = True

    def __init__(self, size: int, orders: BinaryIO, answers: BinaryIO) -> None:
        super().__init__(size)
        self._orders, self._answers = orders, answers

    def readinto(self, buffer: Any) -> int:
        from readroom.documents.formats.protocol import RANGE_BYTES

        size = max(0, min(len(buffer), RANGE_BYTES, self._size - self._at))
        if not size:
            return 0
        _send(self._answers, json.dumps({"type": "Wanted", "offset": self._at, "size": size}).encode(), [])
        data = self._orders.read(size)
        if len(data) < size:
            os._exit(0)  # nobody waits for an answer
        buffer[:size] = data
        self._at += size
        return size


def main() -> int:
    """Open one document and answer requests for its parts."""
    orders = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for place in (0, 1, 2):
        os.dup2(nothing, place)  # libraries print their opinions of a file
    order: Order = json.loads(orders.readline())
    sys.path[:] = order["paths"]
    name, _, function = order["module"].partition(":")
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as missing:
        _answered(answers, lambda missing=missing: _without(missing.name or ""))
        os._exit(0)
    if getattr(module, "CARRIES", False):
        _load_shared()
    _confine(order, reopens=getattr(module, "REOPENS", False))
    fd = order["file"]
    bytes_ = _Asked(order["size"], orders, answers) if fd is None else _File(fd)
    file = io.BufferedReader(bytes_, 64 * 1024)
    arguments = (order["argument"],) if order["argument"] else ()
    opener = getattr(module, function or "open_document")
    document = _answered(answers, lambda: _opened(partial(opener, file, *arguments), order))
    while document is not None and (line := orders.readline()):
        ask: Ask = json.loads(line)
        _answered(answers, lambda ask=ask: _extracted(document, ask, order))
    answers.close()
    os._exit(0)  # nothing is left to clean up, and libraries take their time


def _load_shared() -> None:
    """Load what libraries of other formats share: later it cannot be opened any more."""
    import ctypes

    for name in _SHARED:
        with suppress(OSError):  # another system, whose libraries need nothing of it
            ctypes.CDLL(name)


def _answered(answers: BinaryIO, act: Any) -> Any:
    """Send the result of `act`, or the reason of its failure; None then."""
    from readroom.documents.formats import Encrypted, NoSuchColumn, Unreadable

    value = None
    try:
        value, answer, blobs = act()
    except Unreadable as error:
        answer = _refused(error.problem, error.advice)
        answer |= {"encrypted": isinstance(error, Encrypted), "no_column": isinstance(error, NoSuchColumn)}
        blobs = []
    except MemoryError:
        answer, blobs = _refused(_OUT_OF_MEMORY, ""), []
    except RecursionError:
        answer, blobs = _refused("it is nested too deeply", ""), []
    except Exception as error:
        answer, blobs = _refused(f"it is broken ({type(error).__name__})", ""), []
    try:
        data = json.dumps(answer).encode()
    except MemoryError:
        value, blobs = None, []
        data = json.dumps(_refused(_OUT_OF_MEMORY, "")).encode()
    _send(answers, data, blobs)
    return value


def _send(answers: BinaryIO, data: bytes, blobs: Sequence[bytes]) -> None:
    answers.write(struct.pack("!II", len(data), sum(map(len, blobs))))
    answers.write(data)
    for blob in blobs:
        answers.write(blob)
    answers.flush()


def _without(module: str) -> None:
    """Say which package is missing. Raises Unreadable."""
    from readroom.core.extras import OF_DOCUMENTS, install, problem
    from readroom.documents.formats import Unreadable

    package = module.partition(".")[0]
    if package == "readroom":
        raise ModuleNotFoundError(module)  # a defect, which installing something does not mend
    advice = f"Ask the user to run {install(OF_DOCUMENTS)}, or for an export as text."
    raise Unreadable(problem(package.replace("_", "-")), advice)


def _refused(problem: str, advice: str) -> dict[str, Any]:
    return {"type": "Refused", "problem": problem, "advice": advice, "encrypted": False, "no_column": False}


def _opened(open_document: Any, order: Order) -> tuple[Document, dict[str, Any], list[bytes]]:
    from readroom.documents.formats import Carrying

    document: Document = open_document()
    total = len(document.titles)
    titles = [_line(title, order["title_chars"]) for title in document.titles[: order["titles"]]]
    contents = [
        (heading.level, _line(heading.title, order["title_chars"]), heading.part)
        for heading in document.contents[: order["contents"]]
    ]
    # A truncated name could pass a rule that the full name fails.
    names = [_sound(name) for name in document.names] if isinstance(document, Carrying) else []
    answer = {
        "type": "Opened",
        "unit": str(document.unit),
        "total": total,
        "titles": titles if any(titles) else [],
        "contents": contents,
        "names": names if any(names) else [],
    }
    return document, answer, []


def _extracted(document: Document, ask: Ask, order: Order) -> tuple[Document, dict[str, Any], list[bytes]]:
    from readroom.documents.formats import Area, Skimmed

    corners = ask["area"]
    area = None
    if corners is not None:
        first, last, left, right, most = corners
        area = Area(first or 1, last, left or 1, right, ask["formulas"], ask["columns"], most)
    part: Part
    if ask["region"] is not None:
        part = _drawn(document, ask["number"], ask["region"])
    elif ask["text_only"] and isinstance(document, Skimmed):
        part = document.text_part(ask["number"])
    else:
        part = document.part(ask["number"], area)
    lines = _lines(part.lines)
    counted = _lines([line for note in part.notes for line in getattr(note, "counted", ())])
    kept = _fitting(lines, order["part_chars"])
    pictures, notes = [], list(part.notes)
    if not kept and lines:
        lines[0], kept = lines[0][: order["part_chars"]], 1
        notes.append("The rest of line 1 is too long to be shown.")
    room = order["pictures_bytes"]
    for picture in part.pictures:
        if len(picture.data) > room:
            notes.append(f"An image of {len(picture.data):,} bytes is too large to be shown.")
            continue
        room -= len(picture.data)
        pictures.append(picture)
    answer = {
        "type": "Extracted",
        "title": _line(part.title, order["title_chars"]),
        "lines": lines[:kept],
        "pictures": [(picture.mime[:100], len(picture.data)) for picture in pictures],
        "header": None if part.header is None else _line(part.header, order["part_chars"]),
        "first_row": part.first_row,
        "total_rows": part.total_rows,
        "notes": [_line(note, order["note_chars"]) for note in notes[:20]],
        "brief": part.brief,
        "total_known": part.total_known,
        "left_out": len(lines) - kept,
        "naming": [(_sound(line), _sound(name)) for line, name in _naming(part)],
        "rows": list(part.rows[: kept + 1]) if part.rows else [],
        "figures": part.figures,
        "drawn": list(part.drawn),
        "formulas": sum(getattr(note, "formulas", 0) for note in part.notes),
        "is_bare": any(getattr(note, "is_bare", False) for note in part.notes),
        "counted": counted[: _fitting(counted, order["part_chars"])],
    }
    return document, answer, [picture.data for picture in pictures]


def _naming(part: Part) -> list[tuple[str, str]]:
    """The lines of a part, and of what its notes count, that name files."""
    return [*part.naming, *(pair for note in part.notes for pair in getattr(note, "naming", ()))]


def _drawn(document: Document, number: int, region: Sequence[int]) -> Part:
    from readroom.core.formats.regions import Region
    from readroom.documents.formats import Drawn, Unreadable

    if not isinstance(document, Drawn):
        raise Unreadable("it has no pictures of its parts", "Read its text.")
    return document.picture_of(number, Region(*region))


def _lines(lines: Sequence[str]) -> list[str]:
    split: list[str] = []
    for line in lines:
        if "\n" in line or "\r" in line:
            split += line.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        else:
            split.append(line)
    return [_sound(line) for line in split]


def _fitting(lines: Sequence[str], room: int) -> int:
    """How many of the lines have that many characters together."""
    for at, line in enumerate(lines):
        room -= len(line) + 1
        if room < 0:
            return at
    return len(lines)


def _line(text: str, most: int) -> str:
    return _sound(" ".join(text[: 4 * most].split())[:most]) if text else ""


def _sound(text: str) -> str:
    """Without halves of surrogate pairs, which no answer can hold."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _confine(order: Order, *, reopens: bool) -> None:
    """Give up, for good, all rights that reading a document does not need.

    With `reopens` the file of the document may be opened again, even if it was renamed: no other file.
    """
    for what, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, order["files"]),
        (resource.RLIMIT_DATA, order["memory_bytes"]),
    ):
        resource.setrlimit(what, (most, most))
    resource.setrlimit(resource.RLIMIT_CPU, (order["cpu_s"], order["cpu_s"] + 1))  # named by the first limit
    if sys.platform != "linux":
        return
    from readroom.core.kernel import landlock, seccomp

    libraries = [place for place in {*order["libraries"], *_FONTS} if os.path.isdir(place)]
    own = f"/proc/self/fd/{order['file']}"
    if reopens and order["file"] is not None and os.path.exists(os.readlink(own)):
        libraries.append(own)
    if landlock.available():
        landlock.restrict(landlock.LandlockRules(read=libraries, execute=[]))
        if seccomp.known_machine():
            seccomp.install(seccomp.reading_filter())


if __name__ == "__main__":
    sys.exit(main())
