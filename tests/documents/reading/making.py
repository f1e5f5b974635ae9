"""Documents made for tests: small, plain, and without any library that the package reads them with."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Sequence
from typing import Any

LINE = 14


def pdf(pages: Sequence[Sequence[str]], *, outline: Sequence[tuple[str, int]] = ()) -> bytes:
    """A PDF with these lines on its pages; a page without lines holds a grey square."""
    objects = {1: b"", 2: b"", 3: b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"}
    kids = []
    for lines in pages:
        content, page = len(objects) + 1, len(objects) + 2
        drawn = _text(lines) if lines else b"0.5 g 100 100 200 200 re f"
        objects[content] = b"<</Length %d>>stream\n%s\nendstream" % (len(drawn), drawn)
        objects[page] = (
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]"
            b"/Resources<</Font<</F 3 0 R>>>>/Contents %d 0 R>>" % content
        )
        kids.append(page)
    entries = _outline(objects, kids, outline)
    objects[1] = b"<</Type/Catalog/Pages 2 0 R%s>>" % entries
    kids_text = b" ".join(b"%d 0 R" % kid for kid in kids)
    objects[2] = b"<</Type/Pages/Count %d/Kids[%s]>>" % (len(kids), kids_text)
    return assembled(objects)


def _text(lines: Sequence[str]) -> bytes:
    rows = []
    for line in lines:
        shown = line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)").encode("latin-1")
        rows.append(b"(%s)Tj T*" % shown)
    return b"BT /F 10 Tf %d TL 40 800 Td %s ET" % (LINE, b" ".join(rows))


def _outline(objects: dict[int, bytes], kids: Sequence[int], outline: Sequence[tuple[str, int]]) -> bytes:
    if not outline:
        return b""
    root = len(objects) + 1
    numbers = [root + 1 + at for at in range(len(outline))]
    objects[root] = b"<</First %d 0 R/Last %d 0 R/Count %d>>" % (numbers[0], numbers[-1], len(outline))
    for at, (title, page) in enumerate(outline):
        following = b"/Next %d 0 R" % numbers[at + 1] if at + 1 < len(outline) else b""
        target = kids[page - 1]
        objects[numbers[at]] = b"<</Title(%s)/Parent %d 0 R/Dest[%d 0 R/Fit]%s>>" % (
            title.encode(), root, target, following,
        )  # fmt: skip
    return b"/Outlines %d 0 R" % root


def assembled(objects: dict[int, bytes], trailer: bytes = b"") -> bytes:
    """Numbered objects as a file with its table of references."""
    out = bytearray(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
    places = {}
    for number, body in objects.items():
        places[number] = len(out)
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    for number in range(1, len(objects) + 1):
        out += b"%010d 00000 n \n" % places[number]
    out += b"trailer\n<</Size %d/Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1, trailer, table,
    )  # fmt: skip
    return bytes(out)


def notebook(*cells: dict[str, Any], **more: object) -> bytes:
    """A notebook of these cells."""
    return json.dumps({"cells": list(cells), "nbformat": 4, "nbformat_minor": 5, **more}).encode()


def markdown(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "source": text}


def code(text: str, *outputs: dict[str, Any], run: int | None = 1) -> dict[str, Any]:
    return {"cell_type": "code", "source": text, "outputs": list(outputs), "execution_count": run}


def printed(text: str) -> dict[str, Any]:
    return {"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)}


def displayed(image: bytes) -> dict[str, Any]:
    data = {"image/png": base64.b64encode(image).decode(), "text/plain": "<Figure>"}
    return {"output_type": "display_data", "data": data}


def png(width: int, height: int) -> bytes:
    """A grey picture."""
    rows = (b"\0" + b"\x80" * width) * height
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    )
