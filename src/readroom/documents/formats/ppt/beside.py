"""Content of a presentation from before 2007 outside of its slides, counted with its words."""

from __future__ import annotations

import io
import struct
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress

from readroom.documents.formats import Unreadable, macros, told
from readroom.documents.formats.compound import OLE_STREAM_BYTES, Compound
from readroom.documents.formats.embedded import told_object
from readroom.documents.formats.ppt import records as kinds
from readroom.documents.formats.ppt.records import Record, text

_SOUND, _OBJECT, _ABOUT_OBJECT, _STORED = 4101, 4044, 4035, 4113
_MEDIA = (kinds.FILM, _SOUND)


def counts(compound: Compound, places: Mapping[int, int], top: Mapping[int, Record]) -> Counter[str]:
    """All of it; objects and macros are stored under numbers, whose records `places` finds in `top`."""

    def stored(number: int) -> Compound | None:
        return _opened(top.get(places.get(number, -1)))

    found, objects = compound.properties(), 0
    for record in top.values():
        if record.kind == kinds.MASTER:
            found.update(told("text of layouts and masters", words) for words in _of_layout(record))
        elif record.kind == kinds.DOCUMENT:
            for at in record.walk():
                if at.kind == kinds.LINK:
                    found[told("link target", _strings(at))] += 1
                elif at.kind in _MEDIA:
                    found[told("film or sound", _strings(at) or _paths(at))] += 1
                elif at.kind == _OBJECT:
                    objects += 1
                    head = ", ".join(filter(None, (str(objects), _strings(at))))
                    found[told_object(stored(_number(at.first(_ABOUT_OBJECT), 16)), "", head)] += 1
                elif _has_macros(at):
                    project = stored(_number(next(iter(at), None), 0))
                    lines = ["it cannot be found"] if project is None else macros.lines_anywhere(project)
                    found[told(macros.KIND, "\n".join(lines))] += 1
    return found


def _of_layout(master: Record) -> Iterator[str]:
    boxes = (shape for shape in master.walk() if shape.kind == kinds.TEXT_BOX)
    for at in (at for box in boxes for at in box):
        if at.kind in (kinds.TEXT_WIDE, kinds.TEXT_NARROW):
            words = text(at).translate(_BREAKS)
            if words.strip(" *\n\0"):
                yield words


_BREAKS = str.maketrans("\r\x0b", "\n\n")


def _strings(record: Record) -> str:
    """The texts of a record, the same one once."""
    words = (
        " ".join(text(at).replace("\0", "").split()) for at in record.walk() if at.kind == kinds.TEXT_STRING
    )
    return "; ".join(dict.fromkeys(filter(None, words)))


def _paths(record: Record) -> str:
    """The words for a film that names no file: its number in the presentation."""
    number = _number(next(record.walk(), None), 0)
    return f"number {number}" if number else "stored in the presentation"


def _number(record: Record | None, at: int) -> int:
    data = b"" if record is None else bytes(record.data[at : at + 4])
    return int.from_bytes(data, "little") if len(data) == 4 else 0


def _has_macros(record: Record) -> bool:
    """Whether a record has macros: programs write it also for presentations without."""
    return record.kind == kinds.MACROS and any(len(at.data) >= 8 and any(at.data[4:8]) for at in record)


def _opened(record: Record | None) -> Compound | None:
    """The compound file that a record holds, which may be compressed; None if it cannot be opened."""
    if record is None or record.kind != _STORED:
        return None
    data = bytes(record.data)
    if record.instance == 1:
        with suppress(zlib.error, struct.error):
            data = zlib.decompressobj().decompress(data[4:], OLE_STREAM_BYTES)
    with suppress(Unreadable):
        return Compound(io.BytesIO(data))
    return None
