"""Hostile documents: made to eat memory or time, to end who reads them, or to reach out.

python -m tests.hostile.documents FOLDER [NAME...]   writes these, or all of them, some 20 MB

Each is small, whatever it claims.  What a reader has to do with each is in `tests/hostile`.
"""

from __future__ import annotations

import io
import json
import random
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

from tests.documents.reading.making import assembled, pdf
from tests.hostile import letters, office

MB = 1024 * 1024

# --- archives --------------------------------------------------------------------------------

_TYPES = (
    b'<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    b'<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    b'<Default Extension="xml" ContentType="application/xml"/>%s</Types>'
)
_RELS = (
    b'<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    b"%s</Relationships>"
)
_OFFICE = b"http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_W = b"http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_S = b"http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_KIND = b"application/vnd.openxmlformats-officedocument."


def archive(members: dict[str, bytes], *, stored: bool = False) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return out.getvalue()


def _relation(target: bytes, kind: bytes, number: int = 1, mode: bytes = b"") -> bytes:
    return b'<Relationship Id="rId%d" Type="%s/%s" Target="%s"%s/>' % (number, _OFFICE, kind, target, mode)


def docx(document: bytes, **more: bytes) -> bytes:
    override = (
        b'<Override PartName="/word/document.xml" ContentType="%swordprocessingml.document.main+xml"/>'
        % _KIND
    )
    return archive(
        {
            "[Content_Types].xml": _TYPES % override,
            "_rels/.rels": _RELS % _relation(b"word/document.xml", b"officeDocument"),
            "word/document.xml": document,
            **{name.replace("__", "/"): data for name, data in more.items()},
        }
    )


def word(body: bytes, prolog: bytes = b"") -> bytes:
    return b'<?xml version="1.0"?>%s<w:document xmlns:w="%s"><w:body>%s</w:body></w:document>' % (
        prolog, _W, body,
    )  # fmt: skip


def paragraph(text: bytes) -> bytes:
    return b"<w:p><w:r><w:t>%s</w:t></w:r></w:p>" % text


def _kind_first(data: bytes) -> bytes:
    """The same with its kind stored first, as the format demands."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as given, zipfile.ZipFile(out, "w") as file:
        for info in given.infolist():
            method = zipfile.ZIP_STORED if info.filename == "mimetype" else zipfile.ZIP_DEFLATED
            file.writestr(info.filename, given.read(info), method)
    return out.getvalue()


def epub(spine: bytes, chapters: dict[str, bytes], *, container: bool = True) -> bytes:
    items = b"".join(
        b'<item id="%s" href="%s" media-type="application/xhtml+xml"/>' % (name.encode(), name.encode())
        for name in chapters
    )
    opf = (
        b'<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0">'
        b"<manifest>%s</manifest>%s</package>" % (items, spine)
    )
    inner = (
        b'<?xml version="1.0"?>'
        b'<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0"><rootfiles>'
        b'<rootfile full-path="c.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
    )
    members = {"mimetype": b"application/epub+zip", "c.opf": opf, **chapters}
    if container:
        members["META-INF/container.xml"] = inner
    return _kind_first(archive(members))


def nested_bomb() -> bytes:
    inner = archive({"x.xml": b" " * (40 * MB)})
    for _ in range(4):
        inner = archive({f"{n}.zip": inner for n in range(12)})
    return docx(word(paragraph(b"words")), word__embeddings__a_zip=inner)


def overlapping_bomb(copies: int) -> bytes:
    """Many names for one compressed stretch, in the manner of quoted overlaps: gigabytes from 60 kB."""
    name_of = [f"word/{n}.xml".encode() for n in range(copies)]
    packed = zlib.compressobj(9, zlib.DEFLATED, -15)
    body = packed.compress(b" " * (16 * MB)) + packed.flush()
    crc = zlib.crc32(b" " * (16 * MB))
    local = struct.pack("<4s5H3I2H", b"PK\3\4", 20, 0, 8, 0, 0, crc, len(body), 16 * MB, len(name_of[0]), 0)
    out = bytearray(local + name_of[0] + body)
    start = len(out)
    for name in name_of:
        out += struct.pack(
            "<4s6H3I5H2I", b"PK\1\2", 20, 20, 0, 8, 0, 0, crc, len(body), 16 * MB, len(name), 0, 0, 0, 0, 0, 0
        )
        out += name
    size = len(out) - start
    out += struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, copies, copies, size, start, 0)
    return bytes(out)


def link_member() -> bytes:
    """A member that a careless unpacker makes a link to /etc/passwd of."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        link = zipfile.ZipInfo("word/document.xml")
        link.create_system, link.external_attr = 3, 0o120777 << 16
        file.writestr("[Content_Types].xml", _TYPES % b"")
        file.writestr("_rels/.rels", _RELS % _relation(b"word/document.xml", b"officeDocument"))
        file.writestr(link, b"/etc/passwd")
        file.writestr("../../../etc/evil", b"x")
    return out.getvalue()


# --- XML -------------------------------------------------------------------------------------


def outside_target() -> bytes:
    return docx(
        word(paragraph(b"words")),
        word___rels__document_xml_rels=_RELS
        % _relation(b"http://127.0.0.1:1/x", b"attachedTemplate", 1, b' TargetMode="External"'),
    )


# --- PDF -------------------------------------------------------------------------------------

_CATALOG = b"<</Type/Catalog/Pages 2 0 R>>"


def circular_pages() -> bytes:
    return assembled(
        {
            1: _CATALOG,
            2: b"<</Type/Pages/Count 9/Kids[3 0 R]>>",
            3: b"<</Type/Pages/Count 9/Parent 2 0 R/Kids[2 0 R]>>",
        }
    )


def deep_pages(depth: int) -> bytes:
    objects = {1: _CATALOG}
    for number in range(2, depth + 2):
        objects[number] = b"<</Type/Pages/Count 1/Kids[%d 0 R]>>" % (number + 1)
    objects[depth + 2] = b"<</Type/Page/MediaBox[0 0 9 9]/Parent %d 0 R>>" % (depth + 1)
    return assembled(objects)


def claimed_pages() -> bytes:
    return assembled({1: _CATALOG, 2: b"<</Type/Pages/Count 2147483647/Kids[]>>"})


def broken_table() -> bytes:
    data = pdf([["words survive"]])
    at = data.rfind(b"startxref")
    return data[:at] + b"startxref\n99999999\n%%EOF\n"


def looping_table() -> bytes:
    data = pdf([["words"]])
    table = data.rfind(b"xref\n0")
    return data.replace(b"trailer\n<<", b"trailer\n<</Prev %d" % table)


def encrypted_pdf() -> bytes:
    objects = {
        1: _CATALOG,
        2: b"<</Type/Pages/Count 1/Kids[3 0 R]>>",
        3: b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>",
    }
    objects[4] = b"<</Filter/Standard/V 2/R 3/Length 128/P -4/O<%s>/U<%s>>>" % (b"11" * 32, b"22" * 32)
    return assembled(objects, b"/Encrypt 4 0 R/ID[<00><00>]")


def inflating_pdf() -> bytes:
    data = zlib.compress(zlib.compress(b" " * (280 * MB)), 9)
    stream = b"<</Length %d/Filter[/FlateDecode/FlateDecode]>>stream\n%s\nendstream" % (len(data), data)
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>"
    return assembled({1: _CATALOG, 2: b"<</Type/Pages/Count 1/Kids[3 0 R]>>", 3: page, 4: stream})


def huge_page() -> bytes:
    drawn = b"0.5 g 0 0 9000000 9000000 re f"
    return assembled(
        {
            1: _CATALOG,
            2: b"<</Type/Pages/Count 1/Kids[3 0 R]>>",
            3: b"<</Type/Page/Parent 2 0 R/UserUnit 75000/MediaBox[0 0 9000000 9000000]/Contents 4 0 R>>",
            4: b"<</Length %d>>stream\n%s\nendstream" % (len(drawn), drawn),
        }
    )


def huge_image() -> bytes:
    data = zlib.compress(b"\0" * MB, 9)
    image = (
        b"<</Type/XObject/Subtype/Image/Width 60000/Height 60000/BitsPerComponent 8/ColorSpace/DeviceRGB"
        b"/Filter/FlateDecode/Length %d>>stream\n%s\nendstream" % (len(data), data)
    )
    drawn = b"9 0 0 9 0 0 cm /I Do"
    return assembled(
        {
            1: _CATALOG,
            2: b"<</Type/Pages/Count 1/Kids[3 0 R]>>",
            3: b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R"
            b"/Resources<</XObject<</I 5 0 R>>>>>>",
            4: b"<</Length %d>>stream\n%s\nendstream" % (len(drawn), drawn),
            5: image,
        }
    )


def looping_form() -> bytes:
    """A form that draws itself many times over."""
    drawn = b"/X Do " * 200
    form = (
        b"<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X %d 0 R>>>>/Length %d>>"
        b"stream\n%s\nendstream"
    )
    objects = {1: _CATALOG, 2: b"<</Type/Pages/Count 1/Kids[3 0 R]>>"}
    objects[3] = (
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Resources<</XObject<</X 5 0 R>>>>>>"
    )
    objects[4] = b"<</Length %d>>stream\n%s\nendstream" % (len(drawn), drawn)
    for number in range(5, 15):
        objects[number] = form % (number + 1 if number < 14 else 5, len(drawn), drawn)
    return assembled(objects)


def outline_loop() -> bytes:
    objects = {
        1: b"<</Type/Catalog/Pages 2 0 R/Outlines 4 0 R>>",
        2: b"<</Type/Pages/Count 1/Kids[3 0 R]>>",
        3: b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>",
        4: b"<</First 5 0 R/Last 5 0 R>>",
        5: b"<</Title(a)/Parent 4 0 R/Next 5 0 R/First 5 0 R/Dest[3 0 R/Fit]>>",
    }
    return assembled(objects)


def noise(seed: int) -> bytes:
    """A sound PDF with bytes changed all over."""
    chance = random.Random(seed)
    data = bytearray(pdf([[f"line {n}" for n in range(40)]] * 5, outline=[("A", 1), ("B", 3)]))
    for _ in range(60):
        data[chance.randrange(8, len(data))] = chance.randrange(256)
    return bytes(data)


# --- notebooks, HTML -------------------------------------------------------------------------


def notebook_of(cells: object) -> bytes:
    return json.dumps({"cells": cells, "nbformat": 4}).encode()


def long_output() -> bytes:
    output = [{"output_type": "stream", "text": "line of output\n" * (39 * MB // 16)}]
    return notebook_of([{"cell_type": "code", "source": "x", "outputs": output}])


FILES: dict[str, Callable[[], bytes]] = {
    **{f"office-{name}": make for name, make in office.FILES.items()},
    **{f"letters-{name}": make for name, make in letters.FILES.items()},
    "nested.docx": nested_bomb,
    "overlapping.docx": lambda: overlapping_bomb(1000),
    "link.docx": link_member,
    "outside_target.docx": outside_target,
    "no_document.pptx": lambda: archive({"ppt/presentation.xml": b"<a/>"}),
    "no_spine.epub": lambda: epub(b"", {"a.xhtml": b"<html><body>words</body></html>"}),
    "no_container.epub": lambda: epub(b"", {}, container=False),
    "missing_chapter.epub": lambda: epub(
        b'<spine><itemref idref="nope"/><itemref idref="a.xhtml"/></spine>',
        {"a.xhtml": b"<html><body>words</body></html>"},
    ),
    "outside.epub": lambda: epub(
        b'<spine><itemref idref="../../etc/passwd"/></spine>', {"../../etc/passwd": b"x"}
    ),
    "deep.html": lambda: b"<div>" * 100_000 + b"words",
    "wide.html": lambda: b"<p>x" * 1_000_000,
    "attributes.html": lambda: b"<a " + b" ".join(b"a%d=1" % n for n in range(500_000)) + b">x",
    "circular_pages.pdf": circular_pages,
    "deep_pages.pdf": lambda: deep_pages(20_000),
    "claimed_pages.pdf": claimed_pages,
    "ten_thousand_pages.pdf": lambda: pdf([[f"page {n}"] for n in range(1, 10_001)]),
    "broken_table.pdf": broken_table,
    "looping_table.pdf": looping_table,
    "encrypted.pdf": encrypted_pdf,
    "inflating.pdf": inflating_pdf,
    "huge_page.pdf": huge_page,
    "huge_image.pdf": huge_image,
    "looping_form.pdf": looping_form,
    "outline_loop.pdf": outline_loop,
    "truncated.pdf": lambda: pdf([["words"]] * 50)[:4000],
    "only_mark.pdf": lambda: b"%PDF-",
    "noise_1.pdf": lambda: noise(1),
    "noise_2.pdf": lambda: noise(2),
    "noise_3.pdf": lambda: noise(3),
    "long_output.ipynb": long_output,
    "too_large.ipynb": lambda: notebook_of([{"cell_type": "code", "source": "x" * (45 * MB)}]),
    "many_cells.ipynb": lambda: notebook_of([{}] * 300_000),
    "deep.ipynb": lambda: b'{"cells":' + b"[" * 500_000,
    "wrong_types.ipynb": lambda: notebook_of(
        [
            1,
            None,
            {"cell_type": [], "source": {"a": 1}, "outputs": 7, "execution_count": "x"},
            {
                "cell_type": "code",
                "outputs": [
                    {"output_type": "stream", "text": [1, None]},
                    {"data": {"image/png": 5}},
                    {"data": {"image/png": "!!"}},
                ],
            },
        ]
    ),
    "big_number.ipynb": lambda: b'{"cells": [{"execution_count": ' + b"9" * 5000 + b"}]}",
    "surrogates.ipynb": lambda: b'{"cells": [{"cell_type": "markdown", "source": "\\ud800 \\u202e words"}]}',
    "image_bomb.ipynb": lambda: _image_bomb(),
}
"""Each file by its name; some are sound and only large."""


def _image_bomb() -> bytes:
    import base64

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    image = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * (8 * MB), 9))
    output = {"output_type": "display_data", "data": {"image/png": base64.b64encode(image).decode()}}
    return notebook_of([{"cell_type": "code", "source": "x", "outputs": [output]}])


def main(folder: str, *names: str) -> None:
    """Write these, or all of them."""
    for name in names or FILES:
        Path(folder, name).write_bytes(FILES[name]())


if __name__ == "__main__":
    main(*sys.argv[1:])
