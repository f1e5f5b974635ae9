"""Text that a style hides is not shown and not found, however the style hides it."""

from __future__ import annotations

import io

from readroom.core.stores.memory import MemoryStore
from readroom.documents.formats.docx import open_document
from readroom.documents.formats.pptx import open_document as open_slides
from tests.documents.formats.packages import NAMESPACES, word
from tests.each import each
from tests.hostile import office
from tests.laws.driving import Driver

_HIDES, _SHOWS = "<w:rPr><w:vanish/></w:rPr>", '<w:rPr><w:vanish w:val="0"/></w:rPr>'


def _style(kind: str, name: str, inside: str = "", based_on: str = "", about: str = "") -> str:
    base = f'<w:basedOn w:val="{based_on}"/>' if based_on else ""
    start = f'<w:style w:type="{kind}" w:styleId="{name}" {about}><w:name w:val="{name}"/>'
    return f"{start}{base}{inside}</w:style>"


_P, _C, _T = (_style(kind, kind[0].upper(), _HIDES) for kind in ("paragraph", "character", "table"))


def _paragraph(style: str = "", run: str = "") -> str:
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    about = f"<w:rPr>{run}</w:rPr>" if run else ""
    return f"<w:p>{properties}<w:r>{about}<w:t>SECRET</w:t></w:r></w:p>"


def _table(inside: str) -> str:
    return f'<w:tbl><w:tblPr><w:tblStyle w:val="T"/></w:tblPr><w:tr><w:tc>{inside}</w:tc></w:tr></w:tbl>'


_RUN = '<w:rStyle w:val="C"/>'
_CASES = {
    "run": (_paragraph(run="<w:vanish/>"), "", True),
    "paragraph style": (_paragraph("P"), _P, True),
    "character style": (_paragraph(run=_RUN), _C, True),
    "table style": (_table(_paragraph()), _T, True),
    "based on one": (_paragraph("B"), _P + _style("paragraph", "B", based_on="P"), True),
    "based on one based on one": (
        _paragraph("A"),
        _P + _style("paragraph", "B", based_on="P") + _style("paragraph", "A", based_on="B"),
        True,
    ),
    "default style": (_paragraph(), _style("paragraph", "N", _HIDES, about='w:default="1"'), True),
    "default of the document": (
        _paragraph(), f"<w:docDefaults><w:rPrDefault>{_HIDES}</w:rPrDefault></w:docDefaults>", True
    ),
    "in a circle": (_paragraph("P"), _style("paragraph", "P", _HIDES, based_on="P"), True),
    "shown by the run": (_paragraph("P", '<w:vanish w:val="false"/>'), _P, False),
    "shown by the style that is based on it": (
        _paragraph("B"), _P + _style("paragraph", "B", _SHOWS, based_on="P"), False
    ),
    "turned over by both": (_paragraph("P", _RUN), _P + _C, False),
    "turned over by three": (_table(_paragraph("P", _RUN)), _P + _C + _T, True),
    "another style hides": (_paragraph("B"), _P + _style("paragraph", "B"), False),
    "after such a table": (_table("<w:p/>") + _paragraph(), _T, False),
}  # fmt: skip


@each("case", _CASES)
def test_what_a_style_hides_is_counted_and_not_found(case: str) -> None:
    body, styles, hidden = _CASES[case]
    data = word(
        body + "<w:p><w:r><w:t>shown</w:t></w:r></w:p>",
        {"styles": f"<w:styles {NAMESPACES}>{styles}</w:styles>"},
    )
    if case != "default style" and not case.startswith("default"):
        part = open_document(data).part(1)
        assert "shown" in "\n".join(part.lines)
        assert ("hidden text" in " ".join(part.notes)) == hidden
    driver = Driver(MemoryStore({"a.docx": data.getvalue()}))
    found = next(driver.pages("grep_files", path=".", pattern="SECRET", documents=True)).text
    assert found.startswith("0 matches" if hidden else "1 match")
    driver.workspace.close()


@each("name", ["sp", "pic", "grpSp", "graphicFrame"])
@each(("hidden", "shown"), [('hidden="1"', False), ('hidden="true"', False), ('hidden="0"', True)])
def test_a_hidden_shape_of_a_slide_is_counted(name: str, hidden: str, shown: bool) -> None:
    paragraph = "<a:p><a:r><a:t>SECRET</a:t></a:r></a:p>"
    insides = {
        "sp": f"<p:txBody>{paragraph}</p:txBody>",
        "pic": "",
        "grpSp": f"<p:sp><p:txBody>{paragraph}</p:txBody></p:sp>",
        "graphicFrame": f"<a:tbl><a:tr><a:tc><a:txBody>{paragraph}</a:txBody></a:tc></a:tr></a:tbl>",
    }
    about = f'<p:nvPr><p:cNvPr {hidden} descr="SECRET"/></p:nvPr>'
    if name == "pic":
        about = f'<p:nvPicPr><p:cNvPr {hidden} descr="SECRET"/></p:nvPicPr>'
    data = office.slides(f"<p:{name}>{about}{insides[name]}</p:{name}>")
    part = open_slides(io.BytesIO(data)).part(1)
    assert ("SECRET" in "\n".join(part.lines)) == shown
    assert ("hidden shape" in " ".join(part.notes)) == (not shown)


def test_a_hidden_title_names_its_slide() -> None:
    about = '<p:nvSpPr><p:cNvPr hidden="1"/><p:nvPr><p:ph type="title"/></p:nvPr></p:nvSpPr>'
    tree = f"<p:sp>{about}<p:txBody><a:p><a:r><a:t>Title</a:t></a:r></a:p></p:txBody></p:sp>"
    assert list(open_slides(io.BytesIO(office.slides(tree))).titles) == ["Title"]
