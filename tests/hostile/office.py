"""Hostile archives and office files; each function returns the bytes of one, `write` makes all of them.

None is larger than a few megabytes; what they would become is said beside each.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

from readroom.formats.containers import OLE_MAGIC
from tests.formats import packages

LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10 if n else "ha" * 50}">' for n in range(10))
"""Ten levels of ten: a hundred gigabytes."""


def _renamed(names: tuple[str, str], data: bytes) -> bytes:
    """An archive of two members, the second of which takes the first's place in the directory."""
    file = packages.zipped({names[0]: data, names[1]: data})
    return file.getvalue()


def lying_size(data: bytes, name: str = "a.xml") -> bytes:
    """A member that claims ten bytes, with the checksum of those ten."""
    return _claims(data, name, 10, zlib.crc32(data[:10]))


def wrong_checksum(data: bytes, name: str = "a.xml") -> bytes:
    """A member that is not what was packed."""
    return _claims(data, name, len(data), zlib.crc32(data) ^ 1)


def _claims(data: bytes, name: str, size: int, checksum: int) -> bytes:
    raw = bytearray(packages.zipped({name: data}).getvalue())
    for magic, crc, length in ((b"PK\3\4", 14, 22), (b"PK\1\2", 16, 24)):
        at = raw.find(magic)
        struct.pack_into("<L", raw, at + crc, checksum)
        struct.pack_into("<L", raw, at + length, size)
    return bytes(raw)


def overlapping() -> bytes:
    """Two names for one place: a thousand of them make a bomb of one small member."""
    raw = bytearray(_renamed(("a.xml", "b.xml"), b"text" * 1000))
    second = raw.find(b"PK\1\2", raw.find(b"PK\1\2") + 1)
    struct.pack_into("<L", raw, second + 42, 0)
    return bytes(raw)


def twice() -> bytes:
    """Two members of one name, of which programs take the first or the last."""
    return _renamed(("a.xml", "b.xml"), b"text").replace(b"b.xml", b"a.xml")


def encrypted_members() -> bytes:
    """Members with the flag of ZIP encryption."""
    raw = bytearray(packages.zipped({"a.xml": b"text"}).getvalue())
    raw[raw.find(b"PK\1\2") + 8] |= 1
    return bytes(raw)


def ole(stream: str) -> bytes:
    """The start of an OLE file whose directory names this stream."""
    entry = stream.encode("utf-16-le").ljust(64, b"\0") + struct.pack("<H", 2 * len(stream) + 2)
    return OLE_MAGIC + bytes(504) + entry.ljust(128, b"\0") + bytes(2048)


def bomb_docx() -> bytes:
    """A text part of 64 MB of spaces."""
    return _word_with(b" " * 64_000_000)


def lying_docx() -> bytes:
    """A text part of 40 MB that claims ten bytes."""
    members = word_members(b"")
    file = io.BytesIO(lying_size(b"<" + b" " * 40_000_000, "word/document.xml"))
    with zipfile.ZipFile(file, "a") as archive:
        for name in ("[Content_Types].xml", "_rels/.rels"):
            archive.writestr(name, members[name])
    return file.getvalue()


def laughs_docx() -> bytes:
    """Entities that double ten times over."""
    return _word_with(f"<!DOCTYPE w [{LAUGHS}]><w>&l9;</w>".encode())


def laughs_utf16_docx() -> bytes:
    """The same in UTF-16, where a search for ASCII finds nothing."""
    return _word_with(f"<!DOCTYPE w [{LAUGHS}]><w>&l9;</w>".encode("utf-16"))


def laughs_utf7_docx() -> bytes:
    """The same in UTF-7, in which the document type need not be letters."""
    hidden = f"<!DOCTYPE w [{LAUGHS}]><w>&l9;</w>".replace("<!", "+ADwAIQ-")
    return _word_with(f'<?xml version="1.0" encoding="UTF-7"?>{hidden}'.encode())


def local_file_docx() -> bytes:
    """An entity that is a file of the machine."""
    return _word_with(b'<!DOCTYPE w [<!ENTITY x SYSTEM "file:///etc/passwd">]><w>&x;</w>')


def deep_docx() -> bytes:
    """200,000 elements in each other."""
    return packages.word("<w:sdt>" * 200_000 + "</w:sdt>" * 200_000).getvalue()


def nested_tables_docx() -> bytes:
    """Tables in tables, as deep as XML parsers take them."""
    return packages.word("<w:tbl><w:tr><w:tc>" * 600 + "<w:p/>" + "</w:tc></w:tr></w:tbl>" * 600).getvalue()


def circular_styles_docx() -> bytes:
    """Styles that are based on each other, and a list that is defined by nothing."""
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="{own}"><w:basedOn w:val="{other}"/></w:style>'
        for own, other in (("a", "b"), ("b", "a"))
    )
    body = packages.paragraph("text", '<w:pStyle w:val="a"/><w:numPr><w:numId w:val="99"/></w:numPr>')
    parts = {"styles": f"<w:styles {packages.NAMESPACES}>{styles}</w:styles>"}
    return packages.word(body, parts).getvalue()


def lost_parts_docx() -> bytes:
    """Relations to parts that do not exist, lie outside, or are the part itself."""
    links = "".join(
        f'<Relationship Id="x{at}" Type="{packages.RELATION_TYPES}{kind}" Target="{target}"/>'
        for at, (kind, target) in enumerate(
            (
                ("styles", "gone.xml"),
                ("header", "../../../etc/passwd"),
                ("footer", "document.xml"),
                ("numbering", "/word/document.xml"),
                ("footnotes", ""),
            )
        )
    )
    return packages.word(packages.paragraph("text"), links=links).getvalue()


def no_main_part_docx() -> bytes:
    """A package whose document is missing."""
    members = word_members(b"")
    del members["word/document.xml"]
    return packages.zipped(members).getvalue()


def many_members_docx() -> bytes:
    """60,000 empty members."""
    return packages.zipped({f"word/{n}.xml": b"" for n in range(60_000)}, zipfile.ZIP_STORED).getvalue()


def cut_docx() -> bytes:
    """Half of a document."""
    whole = packages.word(packages.paragraph("text" * 1000)).getvalue()
    return whole[: len(whole) // 2]


def encrypted_docx() -> bytes:
    """What an office program writes when a password is set."""
    return ole("EncryptedPackage")


def old_doc() -> bytes:
    """A document of Word 97."""
    return ole("WordDocument")


def word_members(document: bytes) -> dict[str, str | bytes]:
    """The members of a package whose document is this part."""
    return {
        "[Content_Types].xml": f'<Types xmlns="{packages.PACKAGE}content-types"/>',
        "_rels/.rels": packages.relations(("r1", "officeDocument", "word/document.xml")),
        "word/document.xml": document,
    }


def _word_with(document: bytes) -> bytes:
    return packages.zipped(word_members(document)).getvalue()


FILES: Mapping[str, Callable[[], bytes]] = {
    "bomb.docx": bomb_docx,
    "lying.docx": lying_docx,
    "overlapping.docx": overlapping,
    "twice.docx": twice,
    "encrypted-members.docx": encrypted_members,
    "laughs.docx": laughs_docx,
    "laughs-utf16.docx": laughs_utf16_docx,
    "laughs-utf7.docx": laughs_utf7_docx,
    "local-file.docx": local_file_docx,
    "deep.docx": deep_docx,
    "nested-tables.docx": nested_tables_docx,
    "circular-styles.docx": circular_styles_docx,
    "lost-parts.docx": lost_parts_docx,
    "no-main-part.docx": no_main_part_docx,
    "many-members.docx": many_members_docx,
    "cut.docx": cut_docx,
    "encrypted.docx": encrypted_docx,
    "old.doc": old_doc,
}
"""Every file by its name, whose suffix is the extractor that it is made for."""

READABLE = frozenset({"circular-styles.docx", "lost-parts.docx"})
"""Those that can be read all the same."""


def write(folder: Path) -> list[Path]:
    """All of them, written into `folder`."""
    written = [folder / name for name in FILES]
    for path in written:
        path.write_bytes(FILES[path.name]())
    return written
