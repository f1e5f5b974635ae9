"""Hostile texts, messages and files of older offices; each function returns the bytes of one.

Each is one trick; what it would become is said beside it.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Mapping

from tests.documents.formats import compounds
from tests.documents.formats import packed_mail as packs
from tests.documents.formats.packages import open_document, zipped
from tests.hostile.office import LAUGHS
from tests.laws.planting_flows import OPEN_NAMES
from tests.laws.planting_mail import multipart, part

MB = 1024 * 1024


# --- OpenDocument ------------------------------------------------------------------------------------------


def open_text(body: str, prolog: str = "", kind: str = "text", **members: str | bytes) -> bytes:
    content = (
        f"{prolog}<office:document-content {OPEN_NAMES}><office:body><office:{kind}>{body}</office:{kind}>"
        "</office:body></office:document-content>"
    )
    return open_document(kind, {"content.xml": content, **members}).getvalue()


def flat(body: str, prolog: str = "", kind: str = "text", beside: str = "") -> bytes:
    """A flat file: all of a package in one XML."""
    return (
        f"{prolog}<office:document {OPEN_NAMES}>{beside}<office:body><office:{kind}>{body}</office:{kind}>"
        "</office:body></office:document>"
    ).encode()


def laughs_fodt() -> bytes:
    """Ten levels of entities in a flat file."""
    return flat("<text:p>&l9;</text:p>", f"<!DOCTYPE x [{LAUGHS}]>")


def repeated_fods() -> bytes:
    """A row ten million times in a flat sheet."""
    cell = '<table:table-cell table:number-columns-repeated="9999"><text:p>words</text:p></table:table-cell>'
    rows = f'<table:table-row table:number-rows-repeated="9999999">{cell}</table:table-row>'
    return flat(f'<table:table table:name="s">{rows}</table:table>', kind="spreadsheet")


def laughs_odt() -> bytes:
    """Ten levels of entities: a hundred gigabytes."""
    return open_text("<text:p>&l9;</text:p>", f"<!DOCTYPE x [{LAUGHS}]>")


def repeated_odt() -> bytes:
    """A row ten million times, of a cell ten million times."""
    cell = (
        '<table:table-cell table:number-columns-repeated="9999999"><text:p>words</text:p></table:table-cell>'
    )
    row = f'<table:table-row table:number-rows-repeated="9999999">{cell}</table:table-row>'
    return open_text(f"<table:table>{row * 50}</table:table>")


def spaces_odt() -> bytes:
    """Elements that stand for ten million spaces each."""
    return open_text(
        '<text:p>words<text:s text:c="9999999"/>' * 1 + '<text:s text:c="9999999"/>' * 5000 + "</text:p>"
    )


def deep_odt() -> bytes:
    """Spans in spans, as deep as a parser allows and deeper."""
    return open_text(f"<text:p>{'<text:span>' * 100_000}words{'</text:span>' * 100_000}</text:p>")


def deep_lists_odt() -> bytes:
    """Lists in lists, as deep as a parser allows."""
    return open_text(
        "<text:list><text:list-item>" * 120 + "<text:p>words</text:p>" + "</text:list-item></text:list>" * 120
    )


def nested_tables_odt() -> bytes:
    """Tables in cells of tables; a copy of all text for each level would be a terabyte."""
    start = "<table:table><table:table-row><table:table-cell><text:p>words</text:p>"
    return open_text(start * 60 + "</table:table-cell></table:table-row></table:table>" * 60)


def circular_styles_odt() -> bytes:
    """Styles that are each other's parent."""
    styles = "".join(
        f'<style:style style:name="{own}" style:family="text" style:parent-style-name="{other}"/>'
        for own, other in (("a", "b"), ("b", "a"))
    )
    return open_text(
        '<text:p text:style-name="a">words</text:p>',
        **{"styles.xml": f"<office:document-styles {OPEN_NAMES}>{styles}</office:document-styles>"},
    )


def own_object_odt() -> bytes:
    """An object that is the document itself, and one outside of the archive."""
    frame = '<text:p>words<draw:frame><draw:object xlink:href="{}"/></draw:frame></text:p>'
    return open_text(frame.format(".") + frame.format("../../../etc/passwd") + frame.format("/etc/passwd"))


def encrypted_odt() -> bytes:
    """Its content is encrypted, which its manifest says."""
    manifest = "<m:manifest xmlns:m='urn:x'><m:file-entry><m:encryption-data/></m:file-entry></m:manifest>"
    return zipped({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": b"\x12\x9f" * 500,
                   "META-INF/manifest.xml": manifest}).getvalue()  # fmt: skip


def many_slides_odp() -> bytes:
    """Fifty thousand slides."""
    return open_text("<draw:page/>" * 50_000, kind="presentation")


# --- RTF ---------------------------------------------------------------------------------------------------


def groups_rtf() -> bytes:
    """Twenty million groups in groups."""
    return rb"{\rtf1 words" + b"{" * (20 * MB)


def binary_rtf() -> bytes:
    """Bytes that say to be ten gigabytes, and fewer than none."""
    return rb"{\rtf1 words{\pict\bin9999999999 x}{\pict\bin-5 x}}"


def tables_rtf() -> bytes:
    """Tables two thousand million deep, and cells that no row ever ends."""
    return (
        rb"{\rtf1 words\par\pard\intbl\itap2000000000 x\nestcell\nestrow"
        + rb"\pard\intbl y\cell" * 200_000
        + b"}"
    )


def skipping_rtf() -> bytes:
    """A character in place of which two thousand million others are passed over."""
    return rb"{\rtf1 words\par\uc2000000000\u8217 " + b"x" * MB + b"}"


def styles_rtf() -> bytes:
    """A sheet of styles that never end, to keep a pattern busy."""
    return rb"{\rtf1 words{\stylesheet" + rb"{\s1 {a}{b}{c" * 200_000


def fields_rtf() -> bytes:
    """Fields in the codes of fields."""
    return rb"{\rtf1 words\par" + rb"{\field{\*\fldinst HYPERLINK " * 4000 + b"}" * 8000 + b"}"


def surrogates_rtf() -> bytes:
    """Halves of characters, in the wrong order."""
    return rb"{\rtf1 words \u-9216?\u-10240?\u-10240?\u-9216?\u55357?\par}"


# --- Office before 2007 ----------------------------------------------------------------------------------


def _patched(data: bytes, old: bytes, new: bytes) -> bytes:
    assert old in data
    return data.replace(old, new)


def _word() -> bytes:
    word = compounds.Word()
    word.paragraph("words")
    return word.build()


def huge_pieces_doc() -> bytes:
    """A table of pieces that says to have two thousand million characters."""
    return _patched(
        _word(), b"\2\x10\0\0\0" + struct.pack("<II", 0, 7), b"\2\x10\0\0\0" + struct.pack("<II", 0, 2**31)
    )


def pages_doc() -> bytes:
    """A hundred thousand times the same page of properties."""
    word = compounds.Word()
    for _ in range(200):
        word.paragraph("words", (0x2640, 0), hidden="words")
    return word.build(Data=b"\xff" * MB)


def cut_doc() -> bytes:
    """The first half of one."""
    data = _word()
    return data[: len(data) // 2]


def circular_fat_doc() -> bytes:
    """A chain of sectors that goes round."""
    data = bytearray(_word())
    start = 512 * (1 + struct.unpack_from("<I", data, 76)[0])
    struct.pack_into("<I", data, start, 0)
    return bytes(data)


def circular_directory_doc() -> bytes:
    """A folder that is its own neighbour."""
    data = bytearray(_word())
    start = 512 * (1 + struct.unpack_from("<I", data, 48)[0])
    struct.pack_into("<III", data, start + 128 + 68, 1, 1, 1)
    return bytes(data)


def encrypted_doc() -> bytes:
    """The flag that says so."""
    return _patched(_word(), struct.pack("<HHHHHH", 0xA5EC, 0xC1, 0, 0x409, 0, 0x0200),
                    struct.pack("<HHHHHH", 0xA5EC, 0xC1, 0, 0x409, 0, 0x0300))  # fmt: skip


def quick_saved_doc() -> bytes:
    """Of Word 6, with pieces that are the whole file, over and over."""
    count = 200_000
    starts = struct.pack(f"<{count + 1}I", *range(0, 500 * (count + 1), 500))
    listed = starts + struct.pack("<HIH", 0, 0x300, 0) * count
    table = b"\2" + struct.pack("<I", len(listed)) + listed
    return compounds.word_6(b"words " * 50, b"more ", table=table)


def deep_ppt() -> bytes:
    """Groups in groups of shapes."""
    inner = compounds.shape("words")
    for _ in range(20_000):
        inner = compounds.record(0xF003, [inner])
    return compounds.slides([[compounds.drawing(compounds.shape("words"))], [compounds.drawing(inner)]])


def circular_saves_ppt() -> bytes:
    """A last save that follows itself."""
    data = compounds.slides([[compounds.drawing(compounds.shape("words"))]])
    edit = struct.pack("<HHI", 0, 4085, 28) + struct.pack("<II", 0, 0)
    at = data.index(edit)
    start = data.index(struct.pack("<HHI", 0xF, 1000, 0)[:4])
    return data[: at + 16] + struct.pack("<I", at - start) + data[at + 20 :]


def lying_sizes_ppt() -> bytes:
    """Records that say to be four gigabytes."""
    data = compounds.slides([[compounds.drawing(compounds.shape("words"))]])
    return _patched(data, struct.pack("<HHI", 0, 4000, 10), struct.pack("<HHI", 0, 4000, 2**32 - 1))


def many_records_ppt() -> bytes:
    """Seven hundred thousand empty records."""
    return compounds.slides(
        [[compounds.drawing(compounds.shape("words"))]], [compounds.record(9, b"") * 700_000]
    )


def encrypted_ppt() -> bytes:
    """The mark of the one who saved it says so."""
    data = compounds.slides([[compounds.drawing(compounds.shape("words"))]])
    return _patched(data, struct.pack("<I", 0xE391C05F), struct.pack("<I", 0xF3D1C4DF))


# --- mail --------------------------------------------------------------------------------------------------


def deep_eml() -> bytes:
    """Five thousand messages in messages."""
    return b"Subject: words\nContent-Type: message/rfc822\n\n" * 5000


def deep_parts_eml() -> bytes:
    """Two thousand groups of parts in one another."""
    head = "".join(f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n" for n in range(2000))
    return f"Subject: words\n{head}Content-Type: text/plain\n\nx\n".encode()


def many_parts_eml() -> bytes:
    """Forty thousand attachments."""
    inner = part("text/plain", "x", 'Content-Disposition: attachment; filename="../../../etc/passwd"')
    return f"Subject: words\r\n{multipart('mixed', *[inner] * 40_000)}".encode()


def encoded_header_eml() -> bytes:
    """A header of a million encoded words, and one with a charset that there is not."""
    return b"Subject: words =?nope?q?=ff?=\nTo: " + b"=?utf-8?b?" * 1_000_000 + b"\n\nwords\n"


def attached_bomb_eml() -> bytes:
    """An attached document that would be a hundred gigabytes."""
    data = base64.encodebytes(laughs_odt()).decode()
    inner = part(
        "application/x-odt",
        data,
        "Content-Transfer-Encoding: base64",
        'Content-Disposition: attachment; filename="a.odt"',
    )
    return f"Subject: words\r\n{multipart('mixed', inner)}".encode()


def large_eml() -> bytes:
    """As large as mail may be, and its last line without an end."""
    return b"Subject: words\n\n" + b"x" * 70 * 300_000


def many_messages_mbox() -> bytes:
    """Two hundred thousand messages."""
    return b"From a\n\nx\n\n" * 200_000


def starts_mbox() -> bytes:
    """A line that begins as a message does, and never ends."""
    return b"From a\nSubject: words\n\nwords\n\nFrom " + b"x" * 5 * MB


def deep_msg() -> bytes:
    """Messages in messages, fifty deep."""
    streams: dict[str, bytes] = {}
    folder = ""
    for _ in range(50):
        streams |= compounds.texts(folder, p0037="words")
        folder += "__attach_version1.0_#00000000/__substg1.0_3701000D/"
    return compounds.message(streams, p0037="words")


def packed_msg() -> bytes:
    """A text in RTF that says to be two gigabytes, and repeats itself."""
    body = b"\x00" * 3 + b"\xff" + b"\x00\x0f" * 8
    packed = struct.pack("<IIII", len(body) + 12, 2**31, 0x75465A4C, 0) + body * 1000
    return compounds.message({"__substg1.0_10090102": packed}, p0037="words")


# --- what Outlook packs -------------------------------------------------------------------------------------


def deep_tnef() -> bytes:
    """Messages in messages, three hundred deep."""
    message = packs.packed(packs.attribute(packs.SUBJECT, b"words\0"))
    for _ in range(300):
        inner = packs.attribute(packs.ATTACHED, packs.properties({}, packs.object_of(message)), 2)
        begin = packs.attribute(packs.BEGIN, b"", 2)
        message = packs.packed(packs.attribute(packs.SUBJECT, b"words\0"), begin, inner)
    return message


def many_tnef() -> bytes:
    """A million attachments without anything in them."""
    return packs.packed(
        packs.attribute(packs.SUBJECT, b"words\0"), packs.attribute(packs.BEGIN, b"", 2) * 10**6
    )


def lying_tnef() -> bytes:
    """Four thousand million properties, recipients and values of one property, none of which is there."""
    subject = packs.attribute(packs.SUBJECT, b"words\0")
    counts = (b"\xff" * 4, b"\1\0\0\0\x1f\x10\x37\0" + b"\xff" * 4, b"\1\0\0\0\x03\x10\x37\0" + b"\xff" * 4)
    lies = [packs.attribute(name, value) for value in counts for name in (packs.PROPERTIES, packs.RECIPIENTS)]
    return packs.packed(subject, *lies, packs.attribute(packs.RECIPIENTS, b"\xff" * 4 + bytes(8 * MB)))


def empty_tnef() -> bytes:
    """A property that is there two million times."""
    rows = struct.pack("<HH", 1, 0x3001) * (2 * MB)
    return packs.packed(
        packs.attribute(packs.SUBJECT, b"words\0"),
        packs.attribute(packs.PROPERTIES, struct.pack("<I", 2 * MB) + rows),
    )


FILES: Mapping[str, Callable[[], bytes]] = {
    "laughs.fodt": laughs_fodt,
    "repeated.fods": repeated_fods,
    "laughs.odt": laughs_odt,
    "repeated.odt": repeated_odt,
    "spaces.odt": spaces_odt,
    "deep.odt": deep_odt,
    "deep-lists.odt": deep_lists_odt,
    "nested-tables.odt": nested_tables_odt,
    "circular-styles.odt": circular_styles_odt,
    "own-object.odt": own_object_odt,
    "encrypted.odt": encrypted_odt,
    "many-slides.odp": many_slides_odp,
    "groups.rtf": groups_rtf,
    "binary.rtf": binary_rtf,
    "tables.rtf": tables_rtf,
    "skipping.rtf": skipping_rtf,
    "styles.rtf": styles_rtf,
    "fields.rtf": fields_rtf,
    "surrogates.rtf": surrogates_rtf,
    "huge-pieces.doc": huge_pieces_doc,
    "pages.doc": pages_doc,
    "cut.doc": cut_doc,
    "circular-fat.doc": circular_fat_doc,
    "circular-directory.doc": circular_directory_doc,
    "encrypted.doc": encrypted_doc,
    "quick-saved.doc": quick_saved_doc,
    "length.emlx": lambda: b"9999999999\nFrom: a@x.test\nSubject: words\n\nwords\n",
    "deep.ppt": deep_ppt,
    "circular-saves.ppt": circular_saves_ppt,
    "lying-sizes.ppt": lying_sizes_ppt,
    "many-records.ppt": many_records_ppt,
    "encrypted.ppt": encrypted_ppt,
    "deep.eml": deep_eml,
    "deep-parts.eml": deep_parts_eml,
    "many-parts.eml": many_parts_eml,
    "encoded-header.eml": encoded_header_eml,
    "attached-bomb.eml": attached_bomb_eml,
    "large.eml": large_eml,
    "many-messages.mbox": many_messages_mbox,
    "starts.mbox": starts_mbox,
    "deep.msg": deep_msg,
    "packed.msg": packed_msg,
    "deep.tnef": deep_tnef,
    "many.tnef": many_tnef,
    "lying.tnef": lying_tnef,
    "empty.tnef": empty_tnef,
}
