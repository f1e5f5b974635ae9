"""Text that a page hides by its own style sheet is counted; text that only looks hidden is shown."""

from __future__ import annotations

import io

from readroom.documents.formats import html
from readroom.documents.formats.epub import open_document
from tests.each import each
from tests.hostile import office

_HIDDEN = {
    ".a{display:none}": '<p class="b a">SECRET</p>',
    "p.a { color: red; DISPLAY : none !important }": '<p class="a">SECRET</p>',
    "#x, .y{visibility:hidden}": '<div id="x">SECRET</div>',
    "aside{display:none}": "<aside><p>SECRET</p></aside>",
    "/* { */ .a{display:none}": '<span class="a">SECRET</span>',
    "@media screen { .a{display:none} }": '<p class="a">SECRET</p>',
    ".a{display:block} .a{display:none}": '<p class="a">SECRET</p>',
    "p{display:block} .a{display:none}": '<p class="a">SECRET</p>',
    "#x{display:none} .a{display:block}": '<p class="a" id="x">SECRET</p>',
}
_SHOWN = {
    ".a{display:none}": '<p class="ab">SECRET</p>',
    ".a.b{display:none}": '<p class="a">SECRET</p>',
    "@media print { .a{display:none} }": '<p class="a">SECRET</p>',
    "@page { margin: 1cm } .a{color:red}": '<p class="a">SECRET</p>',
    ".a{display:none} .a{display:block}": '<p class="a">SECRET</p>',
    "div{display:none} .a{display:block}": '<div class="a">SECRET</div>',
    ".x{display:none}": '<p class="x" style="display:block">SECRET</p>',
    "body, html{display:none}": "<p>SECRET</p>",
    ".menu .a{display:none}": '<p class="a">SECRET</p>',
    ".a:hover{display:none}": '<p class="a">SECRET</p>',
}  # fmt: skip


def _page(rules: str, body: str) -> str:
    return f"<html><head><style>{rules}</style></head><body>{body}<p>after</p></body></html>"


@each("rules", _HIDDEN)
def test_what_a_sheet_hides_is_counted(rules: str) -> None:
    page = _page(rules, _HIDDEN[rules])
    for part in (
        html.open_document(io.BytesIO(page.encode())).part(1),
        open_document(io.BytesIO(office.book({"a.xhtml": page}))).part(1),
    ):
        assert "SECRET" not in "\n".join(part.lines)
        assert part.lines[-1] == "after"
        assert "1 hidden element" in " ".join(part.notes)


@each("rules", _SHOWN)
def test_what_it_shows_is_shown(rules: str) -> None:
    part = html.open_document(io.BytesIO(_page(rules, _SHOWN[rules]).encode())).part(1)
    assert list(part.lines) == ["SECRET", "after"]
    assert "hidden" not in " ".join(part.notes)
