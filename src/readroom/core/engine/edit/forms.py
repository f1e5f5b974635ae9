"""Files whose reads show another form than their bytes: whether a change leaves them readable.

A notebook is JSON, a flat OpenDocument XML, and an edit changes what is stored.  Text from a read that is put
there as it is can end a string or open a tag; then the whole file is lost for its programs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from xml.parsers import expat
from xml.sax.saxutils import escape

from msgspec import Struct

from readroom.core.deadline import Deadline
from readroom.core.formats.kinds import suffix
from readroom.core.formats.parsing import Unjudged, json_fault
from readroom.core.formats.registry import table
from readroom.core.stores.base import Source


class Form(Struct, frozen=True):
    """The stored form of a file: its name, whether bytes are valid in it, and how to write a text in it."""

    name: str
    is_valid: Callable[[bytes], bool]
    written: Callable[[str], str]

    def is_broken_by(self, source: Source, changed: bytes) -> bool:
        """Whether a file that is valid would no longer be."""
        return not self.is_valid(changed) and self.is_valid(source.read_at(0, source.size))


def form_of(path: str) -> Form | None:
    """The form of a file that is shown otherwise than it is stored; None for any other."""
    row = table().texts.get(suffix(path))
    return None if row is None else _FORMS.get(row.stored)


def _is_json(data: bytes) -> bool:
    try:
        return json_fault(data.decode("utf-8-sig", "surrogateescape"), Deadline()) is None
    except (Unjudged, ValueError):
        return False


def _in_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _is_xml(data: bytes) -> bool:
    if b"<!DOCTYPE" in data:
        return True  # its entities could explode; such a file is not read as a document either
    try:
        expat.ParserCreate().Parse(data, True)
    except expat.ExpatError:
        return False
    return True


def _is_rtf(data: bytes) -> bool:
    """Whether every group that is opened is closed, and no earlier."""
    depth = 0
    bare = data.replace(b"\\\\", b"").replace(b"\\{", b"").replace(b"\\}", b"")
    for byte in bare.translate(None, _NO_BRACES):
        depth += 1 if byte == _OPENING else -1
        if depth < 0:
            return False
    return depth == 0


_OPENING = ord("{")
_NO_BRACES = bytes(byte for byte in range(256) if byte not in b"{}")


def _in_rtf(text: str) -> str:
    return text.replace("\\", "\\\\").replace("{", "\\{").replace("}", "\\}")


_FORMS: Mapping[str, Form] = MappingProxyType(
    {
        "JSON": Form("JSON", _is_json, _in_json),
        "XML": Form("XML", _is_xml, escape),
        "RTF": Form("RTF", _is_rtf, _in_rtf),
    }
)
