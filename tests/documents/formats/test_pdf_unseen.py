"""Text that no reader of a PDF sees is counted and not found: of layers that are off, and off the page."""

from __future__ import annotations

import io
import zlib

from readroom.core.stores.memory import MemoryStore
from readroom.documents.formats.pdf import open_document
from readroom.documents.formats.pdf.unseen import says_layers
from tests.documents.formats.pdf_pages import FIRST, page, stream, text
from tests.each import each
from tests.laws.driving import Driver

_OFF = b"/OCProperties<</OCGs[10 0 R 11 0 R]/D<</OFF[10 0 R]>>>>"
_ON = b"/OCProperties<</OCGs[10 0 R 11 0 R]/D<</ON[10 0 R]>>>>"
_BASE = b"/OCProperties<</OCGs[10 0 R 11 0 R]/D<</BaseState/OFF/ON[11 0 R]>>>>"
_GROUPS = {FIRST: b"<</Type/OCG/Name(One)>>", FIRST + 1: b"<</Type/OCG/Name(One)>>"}
_NAMES = b"/Properties<</L 10 0 R/M 11 0 R/D 12 0 R>>/XObject<</X 13 0 R/Y 14 0 R>>"
_FORM = b"/Type/XObject/Subtype/Form/BBox[0 0 595 842]/Resources<</Font<</F 3 0 R>>>>"


def _marked(layer: str, words: str, before: bytes = b"") -> bytes:
    return b"/OC /%s BDC %s" % (layer.encode(), before) + text(words, 72, 700) + b" EMC "


def _page(content: bytes, catalog: bytes = _OFF) -> bytes:
    objects = {
        **_GROUPS,
        FIRST + 2: b"<</Type/OCMD/OCGs[10 0 R]>>",
        FIRST + 3: stream(text("SECRET", 72, 500), _FORM + b"/OC 10 0 R"),
        FIRST + 4: stream(text("PLAIN", 72, 450), _FORM),
    }
    return page(text("VISIBLE", 72, 650) + content, objects, catalog=catalog, resources=_NAMES)


_HIDDEN = {
    "layer": _page(_marked("L", "SECRET")),
    "base state": _page(_marked("L", "SECRET"), _BASE),
    "membership": _page(_marked("D", "SECRET")),
    "form": _page(b"/X Do /Y Do"),
    "inside another mark": _page(b"/P BMC " + _marked("L", "SECRET") + b" EMC"),
    "above the page": _page(text("SECRET", 72, 2000)),
    "left of the page": _page(text("SECRET", -400, 650)),
    "beside a line": _page(text("SECRET", 2000, 650)),
}
_SEEN = {
    "layer that is on": _page(_marked("M", "SECRET")),
    "layer that is switched on": _page(_marked("L", "SECRET"), _ON),
    "white text of one that is on": _page(_marked("M", "SECRET", b"1 1 1 rg ")),
    "invisible text, as under a scan": _page(_marked("M", "SECRET", b"3 Tr ")),
    "no layers": _page(_marked("L", "SECRET"), b""),
    "partly on the page": _page(text("SECRET", -3, 700)),
}


@each("name", _HIDDEN)
def test_what_is_not_seen_is_counted_and_not_found(name: str) -> None:
    part = open_document(io.BytesIO(_HIDDEN[name])).part(1)
    assert [line for line in part.lines if line != "PLAIN"] == ["VISIBLE"]
    where = "outside of the page" if "page" in name or "line" in name else "of a layer that is off"
    assert list(part.notes) == [f"Not shown: 1 text {where}."]
    driver = Driver(MemoryStore({"a.pdf": _HIDDEN[name]}))
    assert next(driver.pages("grep_files", path=".", pattern="SECRET", documents=True)).text.startswith(
        "0 matches"
    )
    driver.workspace.close()


@each("name", _SEEN)
def test_what_is_seen_is_shown(name: str) -> None:
    part = open_document(io.BytesIO(_SEEN[name])).part(1)
    assert sorted(part.lines) == ["SECRET", "VISIBLE"]
    assert list(part.notes) == []


def test_layers_are_known_where_the_catalog_is_compressed() -> None:
    packed = zlib.compress(b"1 0 <</Type/Catalog" + _OFF + b">>")
    data = b"%PDF-1.7\n" + b"x" * 3_000_000 + b"9 0 obj<</Type/ObjStm/Filter/FlateDecode>>stream\r\n" + packed
    assert says_layers(io.BytesIO(data))
    assert not says_layers(io.BytesIO(data.replace(packed, b"")))
