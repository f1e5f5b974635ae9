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

from readroom.documents.formats.compound import OLE_MAGIC
from tests.documents.formats import packages

SPREADSHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OPEN_DOCUMENT = ("office", "table", "text")
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
    file = io.BytesIO(lying_size(b"<" + b" " * 40_000_000, "word/document.xml"))
    with zipfile.ZipFile(packages.package(word_members(b""))) as sound, zipfile.ZipFile(file, "a") as archive:
        for name in ("[Content_Types].xml", "_rels/.rels"):
            archive.writestr(name, sound.read(name))
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


def repeating_docx() -> bytes:
    """What every paragraph repeats, each time a megabyte: a label, an indent, a note."""
    level = f'<w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/><w:lvlText w:val="{"x" * 1_000_000}"/></w:lvl>'
    parts = {
        "numbering": f'<w:numbering {packages.NAMESPACES}><w:abstractNum w:abstractNumId="1">{level}'
        '</w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="1"/></w:num></w:numbering>',
        "footnotes": f'<w:footnotes {packages.NAMESPACES}><w:footnote w:id="1">'
        f"{packages.paragraph('y' * 1_000_000)}</w:footnote></w:footnotes>",
    }
    item = '<w:outlineLvl w:val="0"/><w:numPr><w:ilvl w:val="{}"/><w:numId w:val="1"/></w:numPr>'
    note = '<w:p><w:r><w:footnoteReference w:id="1"/><w:t>n</w:t></w:r></w:p>'
    body = packages.paragraph("a", item.format(0)) + packages.paragraph("b", item.format(999_999)) + note
    return packages.word(body * 2_000, parts).getvalue()


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
    return packages.package(members).getvalue()


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


def workbook(rows: str, strings: str = "", sheet: bytes | None = None, styles: str = "") -> bytes:
    """A workbook of one sheet with this XML of rows, or with this whole part."""
    main = f"<worksheet xmlns='{SPREADSHEET}'><sheetData>{rows}</sheetData></worksheet>".encode()
    return packages.package(
        {
            "_rels/.rels": packages.relations(("r1", "officeDocument", "xl/workbook.xml")),
            "xl/workbook.xml": f"<workbook xmlns='{SPREADSHEET}' {packages.NAMESPACES}>"
            "<sheets><sheet name='s' sheetId='1' r:id='r1'/></sheets></workbook>",
            "xl/_rels/workbook.xml.rels": packages.relations(
                ("r1", "worksheet", "worksheets/sheet1.xml"),
                ("r2", "sharedStrings", "sharedStrings.xml"),
                *([("r3", "styles", "styles.xml")] if styles else []),
            ),
            "xl/worksheets/sheet1.xml": main if sheet is None else sheet,
            "xl/sharedStrings.xml": f"<sst xmlns='{SPREADSHEET}'>{strings}</sst>",
            **({"xl/styles.xml": styles} if styles else {}),
        }
    ).getvalue()


def spreadsheet(rows: str, start: str = "") -> bytes:
    """An OpenDocument spreadsheet of one sheet."""
    names = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in OPEN_DOCUMENT
    )
    content = (
        f"{start}<office:document-content {names}><office:body><office:spreadsheet>"
        f'<table:table table:name="s">{rows}</table:table></office:spreadsheet></office:body>'
        "</office:document-content>"
    )
    return packages.open_document("spreadsheet", {"content.xml": content}).getvalue()


def corners_xlsx() -> bytes:
    """Two cells, 17 billion apart."""
    rows = (
        '<row r="1"><c r="A1" t="inlineStr"><is><t>first</t></is></c></row>'
        '<row r="1048576"><c r="XFD1048576" t="inlineStr"><is><t>last</t></is></c></row>'
    )
    return workbook(rows)


def rows_xlsx(count: int) -> bytes:
    """So many rows of a number and a letter."""
    text = '<c t="str"><v>x</v></c>'
    return workbook("".join(f'<row r="{n}"><c><v>{n}</v></c>{text}</row>' for n in range(1, count + 1)))


def million_rows_xlsx() -> bytes:
    """All the rows that a sheet has, 70 MB of XML."""
    return rows_xlsx(1_048_576)


def cells_elsewhere_xlsx() -> bytes:
    """A row whose cells say to be in other rows, which only the library looks at."""
    return workbook('<row r="1"><c r="A1"><v>1</v></c><c r="XFD1048576"><v>2</v></c></row>')


def long_row_xlsx() -> bytes:
    """A row of 20 MB."""
    return workbook('<row r="1">' + "<c><v>1</v></c>" * 1_300_000 + "</row>")


def wide_row_xlsx() -> bytes:
    """A cell in a column that no program has."""
    return workbook('<row r="1"><c r="ZZZZ1"><v>1</v></c></row>')


def backward_rows_xlsx() -> bytes:
    """Rows that count down."""
    return workbook("".join(f'<row r="{n}"><c r="A{n}"><v>{n}</v></c></row>' for n in range(50, 0, -1)))


def far_string_xlsx() -> bytes:
    """A cell that refers to the text number 999,999,999."""
    return workbook('<row r="1"><c r="A1" t="s"><v>999999999</v></c></row>', strings="<si><t>x</t></si>")


def laughs_xlsx() -> bytes:
    """Entities in a sheet."""
    return workbook("", sheet=f"<!DOCTYPE w [{LAUGHS}]><worksheet><sheetData/></worksheet>".encode())


def unclosed_xlsx() -> bytes:
    """A sheet that ends within a row."""
    return workbook("", sheet=b'<worksheet><sheetData><row r="1"><c r="A1"><v>1</v></c>')


def repeated_ods() -> bytes:
    """A row of 16,384 cells, a million times: 17 billion cells in 500 bytes."""
    cell = (
        '<table:table-cell table:number-columns-repeated="16384" office:value-type="float" office:value="1"/>'
    )
    return spreadsheet(f'<table:table-row table:number-rows-repeated="1048576">{cell}</table:table-row>')


def wide_ods() -> bytes:
    """A cell that is repeated nine million times."""
    value = 'office:value-type="float" office:value="1"'
    cell = f'<table:table-cell table:number-columns-repeated="9999999" {value}/>'
    return spreadsheet(f"<table:table-row>{cell}</table:table-row>")


def endless_ods() -> bytes:
    """A cell below a billion empty rows."""
    empty = '<table:table-row table:number-rows-repeated="9999999"><table:table-cell/></table:table-row>'
    cell = '<table:table-cell office:value-type="float" office:value="1"/>'
    return spreadsheet(empty * 100 + f"<table:table-row>{cell}</table:table-row>")


def laughs_ods() -> bytes:
    """Entities in the one part of a spreadsheet."""
    return spreadsheet("<table:table-row/>", start=f"<!DOCTYPE w [{LAUGHS}]>")


def deep_ods() -> bytes:
    """100,000 cells in each other."""
    return spreadsheet("<table:table-row>" + "<table:table-cell>" * 100_000)


def slides(tree: str, parts: Mapping[str, str] | None = None, count: int = 1) -> bytes:
    """A presentation whose slides, all of them one part, have this tree of shapes."""
    names = packages.NAMESPACES
    return packages.package(
        {
            "_rels/.rels": packages.relations(("r1", "officeDocument", "ppt/presentation.xml")),
            "ppt/presentation.xml": f"<p:presentation {names}><p:sldIdLst>"
            + '<p:sldId r:id="s1"/>' * count
            + "</p:sldIdLst></p:presentation>",
            "ppt/_rels/presentation.xml.rels": packages.relations(("s1", "slide", "slides/slide1.xml")),
            "ppt/slides/slide1.xml": f"<p:sld {names}><p:cSld><p:spTree>{tree}</p:spTree></p:cSld></p:sld>",
        }
        | dict(parts or {})
    ).getvalue()


def book(chapters: Mapping[str, str], nav: str = "", extra: Mapping[str, str | bytes] | None = None) -> bytes:
    """A book of these chapters, in their order; `nav` is the list of its table of contents."""
    items = "".join(
        f'<item id="{name}" href="{name}" media-type="application/xhtml+xml"/>' for name in chapters
    )
    spine = "".join(f'<itemref idref="{name}"/>' for name in chapters)
    return packages.zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container><rootfile full-path="b/c.opf"/></container>',
            "b/c.opf": "<package xmlns:dc='http://purl.org/dc/elements/1.1/'><metadata>"
            "<dc:title>A  Book</dc:title>"
            "<dc:creator>Ann</dc:creator><dc:creator>Ben</dc:creator></metadata><manifest>"
            f'<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>{items}'
            f"</manifest><spine>{spine}</spine></package>",
            "b/nav.xhtml": f"<html><body><nav epub:type='toc'>{nav}</nav></body></html>",
            **{f"b/{name}": text for name, text in chapters.items()},
        }
        | dict(extra or {})
    ).getvalue()


def deep_pptx() -> bytes:
    """Groups in groups."""
    return slides("<p:grpSp>" * 100_000 + "</p:grpSp>" * 100_000)


def many_slides_pptx() -> bytes:
    """One slide, a hundred thousand times."""
    return slides("", count=100_000)


def laughs_pptx() -> bytes:
    """Entities in the list of slides."""
    return slides("", {"ppt/presentation.xml": f"<!DOCTYPE w [{LAUGHS}]><w>&l9;</w>"})


def deep_html() -> bytes:
    """200,000 elements, lists and tables in each other."""
    return b"<div>" * 100_000 + b"<ul><li>x" * 50_000 + b"<table><tr><td>y" * 50_000


def unclosed_html() -> bytes:
    """A megabyte of starts of comments, tags and characters."""
    return b"<!--" * 50_000 + b"-->" + b"<a " * 100_000 + b"&#" * 100_000 + b"<![CDATA[" * 50_000


def outside_epub() -> bytes:
    """Chapters that are files of the machine, or are not there."""
    return book({"../../../etc/passwd": "", "file:///etc/passwd": "", "gone.xhtml": ""}).replace(
        b"gone.xhtml", b"here.xhtml", 1
    )


def laughs_epub() -> bytes:
    """Entities in the list of what a book holds."""
    return book({"a.xhtml": ""}, extra={"b/c.opf": f"<!DOCTYPE w [{LAUGHS}]><w>&l9;</w>"})


def long_spine_epub() -> bytes:
    """One chapter, a hundred thousand times."""
    spine = '<itemref idref="a"/>' * 100_000
    package = f'<package><manifest><item id="a" href="a.xhtml"/></manifest><spine>{spine}</spine></package>'
    return book({"a.xhtml": "x"}, extra={"b/c.opf": package})


def word_members(document: bytes) -> dict[str, str | bytes]:
    """The members of a package whose document is this part."""
    return {
        "_rels/.rels": packages.relations(("r1", "officeDocument", "word/document.xml")),
        "word/document.xml": document,
    }


def _word_with(document: bytes) -> bytes:
    return packages.package(word_members(document)).getvalue()


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
    "repeating.docx": repeating_docx,
    "lost-parts.docx": lost_parts_docx,
    "no-main-part.docx": no_main_part_docx,
    "many-members.docx": many_members_docx,
    "cut.docx": cut_docx,
    "encrypted.docx": encrypted_docx,
    "old.doc": old_doc,
    "corners.xlsx": corners_xlsx,
    "million-rows.xlsx": million_rows_xlsx,
    "cells-elsewhere.xlsx": cells_elsewhere_xlsx,
    "long-row.xlsx": long_row_xlsx,
    "wide-row.xlsx": wide_row_xlsx,
    "backward-rows.xlsx": backward_rows_xlsx,
    "far-string.xlsx": far_string_xlsx,
    "laughs.xlsx": laughs_xlsx,
    "unclosed.xlsx": unclosed_xlsx,
    "repeated.ods": repeated_ods,
    "wide.ods": wide_ods,
    "endless.ods": endless_ods,
    "laughs.ods": laughs_ods,
    "deep.ods": deep_ods,
    "deep.pptx": deep_pptx,
    "many-slides.pptx": many_slides_pptx,
    "laughs.pptx": laughs_pptx,
    "deep.html": deep_html,
    "unclosed.html": unclosed_html,
    "outside.epub": outside_epub,
    "laughs.epub": laughs_epub,
    "long-spine.epub": long_spine_epub,
}
"""Every file by its name, whose suffix is the extractor that it is made for."""

READABLE = frozenset(
    ("circular-styles.docx", "repeating.docx", "lost-parts.docx", "corners.xlsx", "million-rows.xlsx",
     "repeated.ods", "deep.html", "unclosed.html", "cells-elsewhere.xlsx", "wide-row.xlsx",
     "backward-rows.xlsx", "far-string.xlsx", "unclosed.xlsx", "wide.ods", "endless.ods")
)  # fmt: skip
"""Those that can be read all the same."""


def write(folder: Path) -> list[Path]:
    """All of them, written into `folder`."""
    written = [folder / name for name in FILES]
    for path in written:
        path.write_bytes(FILES[path.name]())
    return written
