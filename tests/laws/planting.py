"""Documents with a word planted in every kind of place that their format has.

A plant is a place's name, what makes it, and the name under which it is counted where it
is not shown; each format has a function that makes a document with any of its plants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from tests.documents.formats.packages import NAMESPACES, package, paragraph, relations

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def mark(place: str) -> str:
    """The word that stands in a place, and nowhere else."""
    return "mark" + "".join(letter for letter in place.title() if letter.isalnum())


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of document: its name, how it is made, and what places count as; "" is shown."""

    name: str
    places: Mapping[str, str]
    make: Callable[[Iterable[str]], bytes]


def _run(words: str, inside: str = "") -> str:
    return f"<w:r>{inside}<w:t>{words}</w:t></w:r>"


def _drawn(inside: str, about: str = "") -> str:
    about = f"<wp:docPr id='1' name='n' {about}/>"
    return f"<w:p><w:r><w:drawing><wp:inline>{about}{inside}</wp:inline></w:drawing></w:r></w:p>"


def _cells(*cells: str) -> str:
    return f"<w:tbl><w:tr>{''.join(f'<w:tc>{cell}</w:tc>' for cell in cells)}</w:tr></w:tbl>"


_CHART_NAMES = (
    'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
)


def _chart(title: str, label: str) -> str:
    return (
        f"<c:chartSpace {_CHART_NAMES}><c:chart><c:title><c:tx><c:rich><a:p>"
        f"<a:r><a:t>{title}</a:t></a:r></a:p></c:rich>"
        "</c:tx></c:title><c:plotArea><c:barChart><c:ser><c:cat><c:strRef><c:strCache>"
        f'<c:pt idx="0"><c:v>{label}</c:v></c:pt></c:strCache></c:strRef>'
        "</c:cat></c:ser></c:barChart></c:plotArea>"
        "</c:chart></c:chartSpace>"
    )


def _diagram(words: str) -> str:
    return (
        '<dgm:dataModel xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram" '
        'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main">'
        '<dgm:ptLst><dgm:pt modelId="1"><dgm:t>'
        f"<a:p><a:r><a:t>{words}</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:ptLst></dgm:dataModel>"
    )


_CORE = (
    '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:subject>{}</dc:subject></cp:coreProperties>'
)


def _properties(core: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """The relations to the parts with properties of the document."""
    return [("core", "core-properties", part) for part in core]


# --- Word ----------------------------------------------------------------------------------------------

_WORD_BODY: Mapping[str, Callable[[str], str]] = {
    "body": paragraph,
    "heading": lambda words: paragraph(words, '<w:outlineLvl w:val="0"/>'),
    "table": lambda words: _cells(paragraph("a"), paragraph(words)),
    "nested table": lambda words: _cells(paragraph("a"), _cells(paragraph("b"), paragraph(words))),
    "deleted row": lambda words: (
        "<w:tbl><w:tr><w:trPr><w:del w:id='1'/></w:trPr><w:tc>" + paragraph(words) + "</w:tc></w:tr>"
        "<w:tr><w:tc>" + paragraph("x") + "</w:tc></w:tr></w:tbl>"
    ),
    "footnote": lambda _: "<w:p><w:r><w:footnoteReference w:id='2'/></w:r></w:p>",
    "endnote": lambda _: "<w:p><w:r><w:endnoteReference w:id='2'/></w:r></w:p>",
    "comment": lambda _: "<w:p><w:r><w:commentReference w:id='2'/></w:r></w:p>",
    "text box": lambda words: _drawn(
        f"<wps:txbx><w:txbxContent>{paragraph(words)}</w:txbxContent></wps:txbx>"
    ),
    "old text box": lambda words: (
        f"<w:p><w:r><w:pict><v:shape><v:textbox><w:txbxContent>{paragraph(words)}</w:txbxContent></v:textbox>"
        "</v:shape></w:pict></w:r></w:p>"
    ),
    "word art": lambda words: (
        f"<w:p><w:r><w:pict><v:shape><v:textpath string='{words}'/></v:shape></w:pict></w:r></w:p>"
    ),
    "canvas text": lambda words: _drawn(
        f"<a:sp><a:txBody><a:p><a:r><a:t>{words}</a:t></a:r></a:p></a:txBody></a:sp>"
    ),
    "smart art": lambda _: _drawn("<a:relIds r:dm='diagram'/>"),
    "chart title": lambda _: _drawn("<a:chart r:id='chart'/>"),
    "chart label": lambda _: _drawn("<a:chart r:id='chart'/>"),
    "formula": lambda words: f"<w:p><m:oMath><m:r><m:t>{words}</m:t></m:r></m:oMath></w:p>",
    "formula between paragraphs": lambda words: (
        f"<m:oMathPara><m:oMath><m:r><m:t>{words}</m:t></m:r></m:oMath></m:oMathPara>"
    ),
    "field result": lambda words: f"<w:p><w:fldSimple w:instr='DATE'>{_run(words)}</w:fldSimple></w:p>",
    "field code": lambda words: f"<w:p><w:r><w:instrText>{words}</w:instrText></w:r></w:p>",
    "chosen entry": lambda words: (
        "<w:p><w:r><w:fldChar w:fldCharType='begin'><w:ffData><w:ddList><w:result w:val='1'/>"
        f"<w:listEntry w:val='a'/><w:listEntry w:val='{words}'/>"
        "</w:ddList></w:ffData></w:fldChar></w:r></w:p>"
    ),
    "unchosen entry": lambda words: (
        f"<w:sdt><w:sdtPr><w:dropDownList><w:listItem w:value='a'/><w:listItem w:value='{words}'/>"
        f"</w:dropDownList></w:sdtPr><w:sdtContent>{paragraph('a')}</w:sdtContent></w:sdt>"
    ),
    "link words": lambda words: f"<w:p><w:hyperlink r:id='link'>{_run(words)}</w:hyperlink></w:p>",
    "link target": lambda _: f"<w:p><w:hyperlink r:id='link'>{_run('here')}</w:hyperlink></w:p>",
    "file target": lambda _: f"<w:p><w:hyperlink r:id='file'>{_run('here')}</w:hyperlink></w:p>",
    "insertion": lambda words: f"<w:p><w:ins>{_run(words)}</w:ins></w:p>",
    "deletion": lambda words: f"<w:p><w:del><w:r><w:delText>{words}</w:delText></w:r></w:del></w:p>",
    "content control": lambda words: f"<w:sdt><w:sdtContent>{paragraph(words)}</w:sdtContent></w:sdt>",
    "hidden text": lambda words: f"<w:p>{_run(words, '<w:rPr><w:vanish/></w:rPr>')}</w:p>",
    "alternative text": lambda words: _drawn("<a:blip/>", f"descr='{words}'"),
    "title of a picture": lambda words: _drawn("<a:blip/>", f"descr='x' title='{words}'"),
    "alternative text of a shape": lambda words: _drawn("<wps:wsp/>", f"descr='{words}'"),
    "alternative text of a table": lambda words: (
        f"<w:tbl><w:tblPr><w:tblCaption w:val='{words}'/></w:tblPr><w:tr>"
        f"<w:tc>{paragraph('x')}</w:tc></w:tr></w:tbl>"
    ),
    "embedded object": lambda words: (
        "<w:p><w:r><w:object><v:shape/><o:OLEObject "
        f"xmlns:o='urn:schemas-microsoft-com:office:office' ProgID='{words}'/>"
        "</w:object></w:r></w:p>"
    ),
    "embedded document": lambda _: "<w:altChunk r:id='x'/>",
    "bookmark": lambda words: f"<w:p><w:bookmarkStart w:id='1' w:name='{words}'/></w:p>",
    "ruby": lambda words: (
        f"<w:p><w:r><w:ruby><w:rt>{_run(words)}</w:rt><w:rubyBase>"
        f"{_run('x')}</w:rubyBase></w:ruby></w:r></w:p>"
    ),
    "unknown element": lambda words: f"<w:p><w:unheardOf>{_run(words)}</w:unheardOf></w:p>",
    "second body": lambda words: f"{paragraph('x')}</w:body><w:body>{paragraph(words)}",
}
_WORD_PARTS: Mapping[str, tuple[str, str, Callable[[str], str]]] = {
    "header": ("header1", "header", lambda words: f"<w:hdr {NAMESPACES}>{paragraph(words)}</w:hdr>"),
    "footer": ("footer1", "footer", lambda words: f"<w:ftr {NAMESPACES}>{paragraph(words)}</w:ftr>"),
    "footnote": (
        "footnotes", "footnotes",
        lambda words: (f"<w:footnotes {NAMESPACES}><w:footnote w:id='2'>"
f"{paragraph(words)}</w:footnote></w:footnotes>"),
    ),
    "endnote": (
        "endnotes", "endnotes",
        lambda words: (f"<w:endnotes {NAMESPACES}><w:endnote w:id='2'>"
f"{paragraph(words)}</w:endnote></w:endnotes>"),
    ),
    "comment": (
        "comments", "comments",
        lambda words: (f"<w:comments {NAMESPACES}><w:comment w:id='2'>"
f"{paragraph(words)}</w:comment></w:comments>"),
    ),
    "building block": (
        "glossary", "glossaryDocument", lambda words: (f"<w:glossaryDocument {NAMESPACES}>"
f"{paragraph(words)}</w:glossaryDocument>")
    ),
}  # fmt: skip
_WORD_COUNTED = {
    "deleted row": "tracked deletion", "field code": "field code", "unchosen entry": "unselected choice",
    "file target": "link target", "deletion": "tracked deletion", "hidden text": "hidden text",
    "alternative text of a table": "alternative text", "embedded object": "embedded object",
    "embedded document": "embedded document", "bookmark": "bookmark",
    "building block": "part of building blocks",
    "unknown element": "text in an unknown place", "property": "document property",
}  # fmt: skip


def _word(places: Iterable[str]) -> bytes:
    wanted = set(places)
    body = "".join(made(mark(place)) for place, made in _WORD_BODY.items() if place in wanted)
    parts = {
        name: (kind, made(mark(place)))
        for place, (name, kind, made) in _WORD_PARTS.items()
        if place in wanted
    }
    entries = [(f"p{at}", kind, f"{name}.xml") for at, (name, (kind, _)) in enumerate(parts.items())]
    entries += [("link", "hyperlink", f"https://x.test/{mark('link target')}")]
    entries += [("file", "hyperlink", f"file:///{mark('file target')}")]
    charted = [place for place in ("chart title", "chart label") if place in wanted]
    graphics = {
        "chart": _chart(
            *(mark(place) if place in wanted else "x" for place in ("chart title", "chart label"))
        ),
        "diagram": _diagram(mark("smart art")),
    }
    entries += [("chart", "chart", "chart.xml"), ("diagram", "diagramData", "diagram.xml")]
    core = {"docProps/core.xml": _CORE.format(mark("property"))} if "property" in wanted else {}
    assert charted or "chart title" not in wanted
    return package(
        {
            "_rels/.rels": relations(("r1", "officeDocument", "word/document.xml"), *_properties(core)),
            "word/document.xml": f"<w:document {NAMESPACES}><w:body>"
            f"{paragraph('first')}{body}</w:body></w:document>",
            "word/_rels/document.xml.rels": relations(*entries, external=("link", "file")),
            **{f"word/{name}.xml": xml for name, (_, xml) in parts.items()},
            **{f"word/{name}.xml": xml for name, xml in graphics.items()},
            **core,
        }
    ).getvalue()


WORD = Format(
    "a.docx",
    {place: _WORD_COUNTED.get(place, "") for place in [*_WORD_BODY, *_WORD_PARTS, "property"]},
    _word,
)

# --- PowerPoint ----------------------------------------------------------------------------------------


def _shape(words: str, about: str = "", inside: str = "", place: str = "") -> str:
    return (
        f"<p:sp><p:nvSpPr><p:cNvPr id='1' name='n' {about}>"
        f"{inside}</p:cNvPr><p:nvPr>{place}</p:nvPr></p:nvSpPr>"
        f"<p:txBody><a:p><a:r><a:t>{words}</a:t></a:r></a:p></p:txBody></p:sp>"
    )


def _frame(inside: str, about: str = "") -> str:
    return (
        f"<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id='1' name='n' {about}/></p:nvGraphicFramePr>"
        f"<a:graphic><a:graphicData>{inside}</a:graphicData></a:graphic></p:graphicFrame>"
    )


def _linked(words: str, target: str) -> str:
    return (
        f"<p:sp><p:txBody><a:p><a:r><a:rPr><a:hlinkClick r:id='{target}'/>"
        f"</a:rPr><a:t>{words}</a:t></a:r></a:p>"
        "</p:txBody></p:sp>"
    )


_SLIDE: Mapping[str, Callable[[str], str]] = {
    "title": lambda words: _shape(words, place="<p:ph type='title'/>"),
    "body": lambda words: _shape(words, place="<p:ph idx='1'/>"),
    "shape": _shape,
    "footer": lambda words: _shape(words, place="<p:ph type='ftr'/>"),
    "group": lambda words: f"<p:grpSp>{_shape(words)}</p:grpSp>",
    "connector": lambda words: _shape(words).replace("p:sp>", "p:cxnSp>"),
    "table": lambda words: _frame(
        f"<a:tbl><a:tr><a:tc><a:txBody><a:p><a:r><a:t>{words}</a:t></a:r>"
        "</a:p></a:txBody></a:tc></a:tr></a:tbl>"
    ),
    "smart art": lambda _: _frame("<a:relIds r:dm='diagram'/>"),
    "chart title": lambda _: _frame("<a:chart r:id='chart'/>"),
    "formula": lambda words: (
        "<p:sp><p:txBody><a:p><mc:AlternateContent><mc:Choice><m:oMath>"
        f"<m:r><m:t>{words}</m:t></m:r></m:oMath>"
        "</mc:Choice></mc:AlternateContent></a:p></p:txBody></p:sp>"
    ),
    "link target": lambda _: _linked("here", "link"),
    "file target": lambda _: _linked("here", "file"),
    "link of a shape": lambda _: _shape("x", inside="<a:hlinkClick r:id='shape'/>"),
    "alternative text": lambda words: (
        f"<p:pic><p:nvPicPr><p:cNvPr id='1' name='n' descr='{words}'/></p:nvPicPr></p:pic>"
    ),
    "alternative text of a shape": lambda words: _shape("x", f"descr='{words}'"),
    "embedded object": lambda words: _frame(f"<p:oleObj progId='{words}'/>"),
    "film": lambda _: (
        "<p:pic><p:nvPicPr><p:cNvPr id='1' name='n'/><p:nvPr><a:videoFile "
        "r:link='x'/></p:nvPr></p:nvPicPr></p:pic>"
    ),
}
_SLIDE_COUNTED = {
    "file target": "link target", "link of a shape": "link target",
    "alternative text of a shape": "alternative text", "embedded object": "embedded object",
    "film": "film or sound", "text of a master": "text of layouts and masters",
    "property": "document property",
}  # fmt: skip
_SLIDE_BESIDE = (
    "notes", "box in notes", "comment", "new comment", "hidden slide", "text of a master", "property"
)  # fmt: skip


def _tree(inside: str, name: str = "sld", more: str = "") -> str:
    return f"<p:{name} {NAMESPACES} {more}><p:cSld><p:spTree>{inside}</p:spTree></p:cSld></p:{name}>"


def _slides(places: Iterable[str]) -> bytes:
    wanted = set(places)
    shapes = "".join(made(mark(place)) for place, made in _SLIDE.items() if place in wanted)
    notes = _shape(mark("notes"), place="<p:ph type='body'/>") if "notes" in wanted else ""
    notes += _shape(mark("box in notes")) if "box in notes" in wanted else ""
    parts = {
        "ppt/slides/slide2.xml": _tree(
            _shape(mark("hidden slide") if "hidden slide" in wanted else "x"), more="show='0'"
        ),
        "ppt/notesSlides/n.xml": _tree(notes, "notes"),
        "ppt/slideMasters/slideMaster1.xml": _tree(
            _shape(mark("text of a master")) if "text of a master" in wanted else "", "sldMaster"
        ),
        "ppt/comments/c.xml": f"<p:cmLst {NAMESPACES}><p:cm authorId='0'><p:text>"
        f"{mark('comment') if 'comment' in wanted else ''}</p:text></p:cm></p:cmLst>",
        "ppt/comments/modern.xml": f"<x:cmLst xmlns:x='urn:x' {NAMESPACES}><x:cm><x:txBody><a:p><a:r><a:t>"
        f"{mark('new comment') if 'new comment' in wanted else ''}</a:t>"
        "</a:r></a:p></x:txBody></x:cm></x:cmLst>",
        "ppt/slides/chart.xml": _chart(mark("chart title"), "x"),
        "ppt/slides/diagram.xml": _diagram(mark("smart art")),
    }
    core = {"docProps/core.xml": _CORE.format(mark("property"))} if "property" in wanted else {}
    return package(
        {
            "_rels/.rels": relations(("r1", "officeDocument", "ppt/presentation.xml"), *_properties(core)),
            "ppt/presentation.xml": f"<p:presentation {NAMESPACES}><p:sldIdLst><p:sldId "
"r:id='s1'/><p:sldId r:id='s2'/>"
            "</p:sldIdLst></p:presentation>",
            "ppt/_rels/presentation.xml.rels": relations(
                ("s1", "slide", "slides/slide1.xml"), ("s2", "slide", "slides/slide2.xml")
            ),
            "ppt/slides/slide1.xml": _tree(shapes),
            "ppt/slides/_rels/slide1.xml.rels": relations(
                ("n", "notesSlide", "../notesSlides/n.xml"), ("c", "comments", "../comments/c.xml"),
                ("m", "comments", "../comments/modern.xml"), ("chart", "chart", "chart.xml"),
                ("diagram", "diagramData", "diagram.xml"),
                ("link", "hyperlink", f"https://x.test/{mark('link target')}"),
                ("file", "hyperlink", f"file:///{mark('file target')}"),
                ("shape", "hyperlink", f"file:///{mark('link of a shape')}"),
                external=("link", "file", "shape"),
            ),
            **parts,
            **core,
        }
    ).getvalue()  # fmt: skip


SLIDES = Format(
    "a.pptx", {place: _SLIDE_COUNTED.get(place, "") for place in [*_SLIDE, *_SLIDE_BESIDE]}, _slides
)
