"""Web pages, books, notebooks and PDF files with a word planted in every kind of place."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tests.documents.formats.packages import zipped
from tests.documents.formats.pdf_pages import annotation, drawing, page, stream, text
from tests.documents.reading.making import png
from tests.laws.planting import Format, mark

_HTML: Mapping[str, tuple[str, str]] = {
    "paragraph": ("<p>{}</p>", ""),
    "heading": ("<h2>{}</h2>", ""),
    "table": ("<table><tr><td>a</td><td>{}</td></tr></table>", ""),
    "nested table": ("<table><tr><td>a</td><td><table><tr><td>{}</td></tr></table></td></tr></table>", ""),
    "caption": ("<table><caption>{}</caption><tr><td>a</td></tr></table>", ""),
    "details": ("<details><summary>s</summary>{}</details>", ""),
    "definition": ("<dl><dt>a</dt><dd>{}</dd></dl>", ""),
    "preformatted": ("<pre>{}</pre>", ""),
    "text area": ("<textarea>{}</textarea>", ""),
    "option": ("<select><option>{}</option></select>", ""),
    "button": ("<button>{}</button>", ""),
    "math": ("<math><mi>{}</mi></math>", ""),
    "ruby": ("<ruby>x<rt>{}</rt></ruby>", ""),
    "picture": ("<img alt='{}'>", ""),
    "picture without words": ("<img src='{}'>", "picture without description"),
    "link target": ("<a href='https://x.test/{}'>here</a>", ""),
    "relative target": ("<a href='/{}'>here</a>", "link target"),
    "script": ("<script>{}</script>", "script or style"),
    "style": ("<style>.{} {{}}</style>", "script or style"),
    "comment": ("<!-- {} -->", "comment"),
    "hidden": ("<p hidden>{}</p>", "hidden element"),
    "style that hides": ("<p style='display:none'>{}</p>", "hidden element"),
    "template": ("<template>{}</template>", "template"),
    "noscript": ("<noscript>{}</noscript>", "text without scripts"),
    "frame": ("<iframe srcdoc='{}'></iframe>", "frame"),
    "drawing": ("<svg><text>{}</text></svg>", "drawing"),
    "canvas": ("<canvas>{}</canvas>", "drawing"),
    "object": ("<object>{}</object>", "embedded object"),
    "film": ("<video>{}</video>", "film or sound"),
    "suggestion": ("<datalist><option>{}</option></datalist>", "list of suggestions"),
    "title attribute": ("<p title='{}'>x</p>", "title or label"),
    "label attribute": ("<p aria-label='{}'>x</p>", "title or label"),
    "placeholder": ("<input placeholder='{}'>", "title or label"),
    "value": ("<input value='{}'>", ""),
    "hidden value": ("<input type='hidden' value='{}'>", "hidden element"),
    "password": ("<input type='password' value='{}'>", "password"),
    "value of a check box": ("<input type='checkbox' value='{}'>", "value of a button"),
}


def _page(places: Iterable[str]) -> str:
    wanted = set(places)
    head = f"<title>{mark('title')}</title>" if "title" in wanted else "<title>t</title>"
    if "description" in wanted:
        head += f"<meta name='description' content='{mark('description')}'>"
    body = "".join(made.format(mark(place)) for place, (made, _) in _HTML.items() if place in wanted)
    return f"<html><head>{head}</head><body><p>first</p>{body}</body></html>"


_HTML_PLACES = {
    **{place: note for place, (_, note) in _HTML.items()},
    "title": "",
    "description": "document property",
}
PAGE = Format("a.html", _HTML_PLACES, lambda places: _page(places).encode())

# --- EPUB ------------------------------------------------------------------------------------------------

_BOOK_PLACES = {
    "chapter": "", "chapter beside the order": "", "page outside of the order": "page outside of the "
"reading order",
    "entry of the contents": "", "author": "", "property": "document property", "sound": "film or sound",
}  # fmt: skip


def _book(places: Iterable[str]) -> bytes:
    wanted = set(places)

    def words(place: str) -> str:
        return mark(place) if place in wanted else "x"

    def chapter(place: str) -> str:
        return f"<html><body><p>{words(place)}</p></body></html>"

    outside = "<item id='o' href='o.xhtml' media-type='application/xhtml+xml'/>"
    sound = "<item id='s' href='s.mp3' media-type='audio/mpeg'/>"
    described = f"<dc:description>{mark('property')}</dc:description>"
    return zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container><rootfile full-path="b.opf"/></container>',
            "b.opf": "<package xmlns:dc='http://purl.org/dc/elements/1.1/'><metadata>"
            f"<dc:creator>{words('author')}</dc:creator>"
            f"{described if 'property' in wanted else ''}</metadata><manifest>"
            "<item id='c' href='c.xhtml' media-type='application/xhtml+xml'/>"
            "<item id='d' href='d.xhtml' media-type='application/xhtml+xml'/>"
            "<item id='n' href='n.xhtml' properties='nav' media-type='application/xhtml+xml'/>"
            f"{outside if 'page outside of the order' in wanted else ''}"
            f"{sound if 'sound' in wanted else ''}</manifest>"
            "<spine><itemref idref='c'/><itemref idref='d' linear='no'/></spine></package>",
            "c.xhtml": chapter("chapter"),
            "d.xhtml": chapter("chapter beside the order"),
            "o.xhtml": chapter("page outside of the order"),
            "n.xhtml": "<html><body><nav xmlns:epub='http://www.idpf.org/2007/ops' epub:type='toc'><ol><li>"
            f"<a href='d.xhtml'>{words('entry of the contents')}</a></li></ol></nav></body></html>",
        }
    ).getvalue()


BOOK = Format("a.epub", _BOOK_PLACES, _book)

# --- notebooks -------------------------------------------------------------------------------------------


def _data(**forms: Any) -> dict[str, Any]:
    data = {mime.replace("_", "/", 1).replace("_", "."): value for mime, value in forms.items()}
    return {"output_type": "display_data", "metadata": {}, "data": data}


_OUTPUTS: Mapping[str, tuple[Callable[[str], dict[str, Any]], str]] = {
    "stream": (lambda words: {"output_type": "stream", "name": "stdout", "text": words}, ""),
    "error": (lambda words: {"output_type": "error", "ename": "E", "evalue": words, "traceback": []}, ""),
    "plain output": (lambda words: _data(text_plain=words), ""),
    "markdown output": (lambda words: _data(text_markdown=words), ""),
    "latex output": (lambda words: _data(text_latex=words), ""),
    "html output": (lambda words: _data(text_html=words), ""),
    "json output": (lambda words: _data(application_json={"a": words}), ""),
    "html beside plain": (lambda words: _data(text_plain="x", text_html=words), "text/html"),
    "plain beside picture": (
        lambda words: _data(image_png=base64.b64encode(png(2, 2)).decode(), text_plain=words),
        "text/plain",
    ),
    "own type": (lambda words: _data(application_vnd_own=words), "application/vnd.own"),
    "drawing": (
        lambda words: {"output_type": "display_data", "data": {"image/svg+xml": words}},
        "image/svg+xml",
    ),
}
_CELLS: Mapping[str, tuple[Callable[[str], dict[str, Any]], str]] = {
    "code": (lambda words: {"cell_type": "code", "source": words, "outputs": []}, ""),
    "markdown": (lambda words: {"cell_type": "markdown", "source": [words]}, ""),
    "raw": (lambda words: {"cell_type": "raw", "source": words}, ""),
    "attachment": (
        lambda words: {"cell_type": "markdown", "source": "x", "attachments": {"a": {"text/plain": words}}},
        "attached file",
    ),
}


def _notebook(places: Iterable[str]) -> bytes:
    wanted = set(places)
    cells: list[dict[str, Any]] = [{"cell_type": "markdown", "source": "first"}]
    cells += [made(mark(place)) for place, (made, _) in _CELLS.items() if place in wanted]
    for place, (made, _) in _OUTPUTS.items():
        if place in wanted:
            cells.append({"cell_type": "code", "source": "x", "outputs": [made(mark(place))]})
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}).encode()


NOTEBOOK = Format(
    "a.ipynb", {place: note for kinds in (_CELLS, _OUTPUTS) for place, (_, note) in kinds.items()}, _notebook
)

# --- PDF -------------------------------------------------------------------------------------------------

_FIELD = "/DA(/F 10 Tf 0 g)"
_ANNOTATIONS: Mapping[str, tuple[Callable[[str], tuple[str, str]], str]] = {
    "text field": (lambda words: ("Widget", f"/FT/Tx/T(a)/V({words}){_FIELD}"), ""),
    "field outside of a form": (lambda words: ("Widget", f"/FT/Tx/T(o)/V({words}){_FIELD}"), ""),
    "drop-down": (
        lambda words: ("Widget", f"/FT/Ch/Ff 131072/T(b)/V({words})/Opt[(x)({words})]{_FIELD}"), ""
    ),
    "choice of a drop-down": (
        lambda words: ("Widget", f"/FT/Ch/Ff 131072/T(c)/V(x)/Opt[(x)({words})]{_FIELD}"), "unselected choice"
    ),
    "list box": (lambda words: ("Widget", f"/FT/Ch/T(l)/V({words})/Opt[(x)({words})]{_FIELD}"), ""),
    "password": (lambda words: ("Widget", f"/FT/Tx/Ff 8192/T(d)/V({words}){_FIELD}"), "password"),
    "hidden field": (lambda words: ("Widget", f"/FT/Tx/F 2/T(e)/V({words}){_FIELD}"), "hidden field or note"),
    "hidden note": (lambda words: ("Text", f"/F 2/Contents({words})"), "hidden field or note"),
    "drawn field": (lambda _: ("Widget", "/FT/Sig/T(f)/AP<</N 9 0 R>>"), ""),
    "stamp": (lambda _: ("Stamp", "/AP<</N 8 0 R>>"), ""),
    "name of a stamp": (lambda words: ("Stamp", f"/Contents({words})"), ""),
    "link target": (lambda words: ("Link", f"/A<</S/URI/URI(https://x.test/{words})>>"), "link target"),
    "file": (lambda words: ("FileAttachment", f"/FS<</F({words})>>"), "attached file"),
    "author": (lambda words: ("Text", f"/T({words})/Contents(x)"), ""),
    **{
        f"{kind} annotation": ((lambda words, kind=kind: (kind, f"/Contents({words})")), "")  # type: ignore[misc]
        for kind in (
            "Text", "FreeText", "Line", "Square", "Circle", "Polygon", "PolyLine", "Highlight", "Underline",
            "Squiggly", "StrikeOut", "Caret", "Ink", "Popup", "FileAttachment", "Sound", "Movie", "Screen",
            "Redact",
        )
    },
}  # fmt: skip
_PDF_BESIDE = {
    "text": "", "invisible text": "", "switched off layer": "text of a layer that is off",
    "form object": "", "bookmark": "",
    "property": "document property", "attachment": "attached file", "script": "script",
    "form of another make": "XFA",
}  # fmt: skip


def _pdf(places: Iterable[str]) -> bytes:
    wanted = set(places)
    objects = {8: drawing(mark("stamp")), 9: drawing(mark("drawn field"))}
    fields = []
    number, top = 20, 800
    for place, (made, _) in _ANNOTATIONS.items():
        if place in wanted:
            kind, entries = made(mark(place))
            objects[number] = annotation(kind, entries, (50, top - 12, 250, top))
            if kind == "Widget" and "outside" not in place:
                fields.append(number)
            number, top = number + 1, top - 18
    annotations = tuple(range(20, number))
    content = text("first", 400, 700)
    if "text" in wanted:
        content += text(mark("text"), 400, 600)
    if "invisible text" in wanted:
        content += b"3 Tr " + text(mark("invisible text"), 400, 500) + b"0 Tr "
    catalog = b""
    if "switched off layer" in wanted:
        content += b"/OC /L BDC " + text(mark("switched off layer"), 400, 400) + b"EMC "
        objects[10] = b"<</Type/OCG/Name(off)>>"
        catalog += b"/OCProperties<</OCGs[10 0 R]/D<</OFF[10 0 R]>>>>"
    if "form object" in wanted:
        content += b"q 1 0 0 1 400 300 cm /X Do Q "
        objects[11] = drawing(mark("form object"))
    if "bookmark" in wanted:
        catalog += b"/Outlines 12 0 R"
        objects[12] = b"<</First 13 0 R/Last 13 0 R/Count 1>>"
        objects[13] = f"<</Title({mark('bookmark')})/Parent 12 0 R/Dest[4 0 R/Fit]>>".encode()
    names = b""
    if "attachment" in wanted:
        names += b"/EmbeddedFiles<</Names[(a)14 0 R]>>"
        objects[14] = f"<</Type/Filespec/F({mark('attachment')})/EF<</F 15 0 R>>>>".encode()
        objects[15] = stream(b"x", b"/Type/EmbeddedFile")
    if "script" in wanted:
        names += b"/JavaScript<</Names[(s)16 0 R]>>"
        objects[16] = f"<</S/JavaScript/JS({mark('script')})>>".encode()
    trailer = b""
    if "property" in wanted:
        objects[17] = f"<</Subject({mark('property')})>>".encode()
        trailer = b"/Info 17 0 R"
    if "form of another make" in wanted:
        objects[18] = stream(f"<xdp>{mark('form of another make')}</xdp>".encode())
    return page(
        content,
        objects,
        annotations=annotations,
        fields=tuple(fields),
        form=b"/XFA 18 0 R" if 18 in objects else b"",
        catalog=catalog + (b"/Names<<%s>>" % names if names else b""),
        resources=b"/XObject<</X 11 0 R>>/Properties<</L 10 0 R>>",
        trailer=trailer,
    )


PDF = Format("a.pdf", {**{place: note for place, (_, note) in _ANNOTATIONS.items()}, **_PDF_BESIDE}, _pdf)
