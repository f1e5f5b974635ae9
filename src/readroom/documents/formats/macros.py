"""The source of macros (VBA), which Office keeps compressed in streams of a compound file.

    dir         names the modules, and where in the stream of each its source begins
    module      what the program compiled, then the source

A project whose list of modules is damaged is searched for sources. Nothing of it is ever run.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator, Mapping
from contextlib import suppress

from msgspec import Struct

from readroom.documents.formats import Unreadable
from readroom.documents.formats.compound import Compound, is_ole
from readroom.documents.formats.legible import legible
from readroom.documents.formats.rtf.tokens import code_page

KIND = "macro project"
MACRO_BYTES = 1024 * 1024
"""The source of one module; the editor takes 64 kB a procedure."""

MACRO_MODULES = 1_000
"""Modules of a project."""

_CHUNK = 4096
_PAGE, _VERSION, _STREAM, _OFFSET, _END = 0x03, 0x09, 0x1A, 0x31, 0x2B
_SIGN = b"\0Attribut"
"""The beginning of every source, after the head of the first chunk."""

_COMPILED = ("_vba_project", "__srp_", "dir")
"""Other streams than the modules, without a source."""


class Module(Struct, frozen=True):
    """A module as the list of the project has it."""

    name: str
    offset: int


def lines_in(data: bytes) -> list[str]:
    """The source of the macros in a compound file that is their project alone (`vbaProject.bin`)."""
    file = io.BytesIO(data)
    with suppress(Unreadable):
        if is_ole(file):
            return lines_anywhere(Compound(file))
    return legible(data)


def lines_anywhere(compound: Compound) -> list[str]:
    """The source of the macros of a compound file, wherever its project is."""
    place = next((name for name in sorted(compound.streams) if f"/{name}".endswith("/vba/dir")), "vba/dir")
    return lines_of(compound, place.removesuffix("vba/dir").rstrip("/"))


def lines_of(compound: Compound, folder: str) -> list[str]:
    """The source of the macros in a folder of a compound file, module by module."""
    top = f"{folder}/vba/".lstrip("/").lower()
    streams = [name[len(top) :] for name in sorted(compound.streams) if name.startswith(top)]
    listing = decompressed(compound.optional(f"{top}dir"), 0)
    page, modules = _modules(listing)
    known: Mapping[str, Module] = {module.name.lower(): module for module in modules}
    lines: list[str] = []
    for name in streams[:MACRO_MODULES]:
        if name.startswith(_COMPILED):
            continue
        module = known.get(name, Module(name, -1))
        lines += [f"[module {module.name}]", *_source(compound.optional(f"{top}{name}"), module, page)]
    return lines or ["no modules can be found"]


def _source(data: bytes, module: Module, page: str) -> list[str]:
    """The lines of a source; of a module that has none to be found, what can be read of it."""
    offset = module.offset if module.offset >= 0 else data.find(_SIGN) - 3
    source = decompressed(data, offset) if offset >= 0 else b""
    if not source:
        return legible(data)
    text = source.decode(page, "replace").replace("\r\n", "\n").replace("\r", "\n")
    return text.rstrip("\n").split("\n")


def _modules(listing: bytes) -> tuple[str, list[Module]]:
    """The encoding of a project and its modules, by their records."""
    page, name, offset = "cp1252", "", -1
    modules: list[Module] = []
    for kind, data in _records(listing):
        if kind == _PAGE and len(data) == 2:
            page = code_page(int.from_bytes(data, "little"))
        elif kind == _STREAM:
            name = data.decode(page, "replace")
        elif kind == _OFFSET and len(data) == 4:
            offset = int.from_bytes(data, "little")
        elif kind == _END and name and len(modules) < MACRO_MODULES:
            modules.append(Module(name, offset))
            name, offset = "", -1
    return page, modules


def _records(listing: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 6 <= len(listing):
        kind, size = struct.unpack_from("<HI", listing, at)
        size = 6 if kind == _VERSION else size  # it says 4, and has 6
        yield kind, listing[at + 6 : at + 6 + size]
        at += 6 + size


def decompressed(data: bytes, at: int) -> bytes:
    """The text that is compressed from a place on, in chunks of letters and of copies of earlier ones.

    A damaged chunk ends it; it is empty if there is none.
    """
    if data[at : at + 1] != b"\1":
        return b""
    at += 1
    out = bytearray()
    while at + 2 <= len(data) and len(out) < MACRO_BYTES:
        head = int.from_bytes(data[at : at + 2], "little")
        chunk = data[at + 2 : at + 2 + (head & 0xFFF) + 1]
        at += 2 + len(chunk)
        if not head & 0x8000:
            out += chunk
        elif not _expand(chunk, out):
            break
    return bytes(out)


def _expand(chunk: bytes, out: bytearray) -> bool:
    """Append the content of a chunk; False if it is damaged."""
    start, at = len(out), 0
    while at < len(chunk):
        flags = chunk[at]
        at += 1
        for bit in range(8):
            if at >= len(chunk):
                break
            if not flags >> bit & 1:
                out.append(chunk[at])
                at += 1
                continue
            token = int.from_bytes(chunk[at : at + 2], "little")
            at += 2
            there = len(out) - start
            bits = max(4, (there - 1).bit_length())
            back, length = (token >> (16 - bits)) + 1, (token & (0xFFFF >> bits)) + 3
            if back > there or there + length > _CHUNK:
                return False
            for _ in range(length):
                out.append(out[-back])
    return True
