"""OpenDocument texts and presentations and RTF with a word planted in every kind of place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tests.documents.formats.packages import open_document
from tests.laws.planting import Format, mark

OPEN_NAMES = " ".join(
    f'xmlns:{prefix}="{uri}"'
    for prefix, uri in {
        **{
            name: f"urn:oasis:names:tc:opendocument:xmlns:{long}:1.0"
            for name, long in {
                "office": "office", "text": "text", "table": "table", "draw": "drawing", "style": "style",
                "presentation": "presentation", "svg": "svg-compatible", "script": "script", "form": "form",
                "meta": "meta", "chart": "chart",
            }.items()
        },
        "dc": "http://purl.org/dc/elements/1.1/",
        "xlink": "http://www.w3.org/1999/xlink",
        "math": "http://www.w3.org/1998/Math/MathML",
    }.items()
)  # fmt: skip

HIDDEN_STYLE = (
    '<style:style style:name="gone" style:family="text">'
    '<style:text-properties text:display="none"/></style:style>'
    '<style:style style:name="off" style:family="drawing-page">'
    '<style:drawing-page-properties presentation:visibility="hidden"/></style:style>'
)


def p(words: str) -> str:
    return f"<text:p>{words}</text:p>"


def _frame(inside: str) -> str:
    return p(f"<draw:frame>{inside}</draw:frame>")


_OPEN_TEXT: Mapping[str, tuple[str, str]] = {
    "paragraph": (p("{}"), ""),
    "heading": ('<text:h text:outline-level="1">{}</text:h>', ""),
    "list": (f"<text:list><text:list-item>{p('{}')}</text:list-item></text:list>", ""),
    "header of a list": (f"<text:list><text:list-header>{p('{}')}</text:list-header></text:list>", ""),
    "list in a list": (
        "<text:list><text:list-item><text:list><text:list-item>"
        f"{p('{}')}</text:list-item></text:list></text:list-item></text:list>",
        "",
    ),
    "table": (
        f"<table:table><table:table-row><table:table-cell>{p('{}')}</table:table-cell></table:table-row>"
        "</table:table>",
        "",
    ),
    "header of a table": (
        "<table:table><table:table-header-rows><table:table-row><table:table-cell>"
        f"{p('{}')}</table:table-cell></table:table-row></table:table-header-rows></table:table>",
        "",
    ),
    "covered cell": (
        f"<table:table><table:table-row><table:covered-table-cell>{p('{}')}</table:covered-table-cell>"
        "</table:table-row></table:table>",
        "covered cell",
    ),
    "section": (f"<text:section>{p('{}')}</text:section>", ""),
    "hidden section": (f'<text:section text:display="none">{p("{}")}</text:section>', "hidden section"),
    "table of contents": (
        f"<text:table-of-content><text:index-body>{p('{}')}</text:index-body></text:table-of-content>",
        "",
    ),
    "footnote": (
        p(
            '<text:note text:note-class="footnote"><text:note-body>'
            + p("{}")
            + "</text:note-body></text:note>"
        ),
        "",
    ),
    "endnote": (
        p(
            '<text:note text:note-class="endnote"><text:note-body>'
            + p("{}")
            + "</text:note-body></text:note>"
        ),
        "",
    ),
    "comment": (p("<office:annotation>" + p("{}") + "</office:annotation>"), ""),
    "author of a comment": (
        p("<office:annotation><dc:creator>{}</dc:creator>" + p("x") + "</office:annotation>"),
        "",
    ),
    "text box": (_frame(f"<draw:text-box>{p('{}')}</draw:text-box>"), ""),
    "shape": (p(f"<draw:custom-shape>{p('{}')}</draw:custom-shape>"), ""),
    "shape of a page": (f"<draw:frame><draw:text-box>{p('{}')}</draw:text-box></draw:frame>", ""),
    "group": (p(f"<draw:g><draw:rect>{p('{}')}</draw:rect></draw:g>"), ""),
    "picture": (_frame("<svg:desc>{}</svg:desc><draw:image/>"), ""),
    "formula": (
        _frame("<draw:object><math:math><math:mi>{}</math:mi></math:math></draw:object>"),
        "",
    ),
    "chart": (_frame('<draw:object xlink:href="./Chart"/>'), ""),
    "embedded object": (_frame('<draw:object xlink:href="./{}"/>'), "embedded object"),
    "old embedded object": (_frame('<draw:object-ole xlink:href="./{}"/>'), "embedded object"),
    "film": (_frame('<draw:plugin xlink:href="{}"/>'), "film or sound"),
    "link": (p('<text:a xlink:href="https://x.test/">{}</text:a>'), ""),
    "link target": (p('<text:a xlink:href="https://x.test/{}">here</text:a>'), ""),
    "relative target": (p('<text:a xlink:href="/{}">here</text:a>'), "link target"),
    "field": (p("<text:user-field-get>{}</text:user-field-get>"), ""),
    "hidden field": (p('<text:variable-set text:display="none">{}</text:variable-set>'), "hidden text"),
    "hidden text": (p('<text:span text:style-name="gone">{}</text:span>'), "hidden text"),
    "text on a condition": (p('<text:hidden-text text:string-value="{}"/>'), "hidden text"),
    "tracked deletion": (
        "<text:tracked-changes><text:changed-region><text:deletion>"
        f"{p('{}')}</text:deletion></text:changed-region></text:tracked-changes>",
        "tracked deletion",
    ),
    "ruby": (
        p("<text:ruby><text:ruby-base>x</text:ruby-base><text:ruby-text>{}</text:ruby-text></text:ruby>"),
        "",
    ),
    "bookmark": (p('<text:bookmark text:name="{}"/>x'), "bookmark"),
    "index mark": (p('<text:alphabetical-index-mark text:string-value="{}"/>x'), "index mark"),
    "choice": (
        p('<text:drop-down><text:label text:value="{}"/><text:label text:value="b"/>b</text:drop-down>'),
        "unselected choice",
    ),
    "form": ('<office:forms><form:form><form:text form:value="{}"/></form:form></office:forms>', "form"),
    "macro": (p('<text:script script:language="x">{}</text:script>'), ""),
    "unknown element": (p("<text:of-another-version>{}</text:of-another-version>"), ""),
    "name of a table": (
        "<table:table><svg:desc>{}</svg:desc><table:table-row><table:table-cell/></table:table-row></table:table>",
        "alternative text",
    ),
}

_OPEN_REST = {"header": "", "footer": "", "subject": "document property", "basic": "macro project"}


def _open(mime: str, body: str, places: Iterable[str]) -> bytes:
    wanted = set(places)
    names = [name for name in ("header", "footer") if name in wanted]
    margins = "".join(f"<style:{name}>{p(mark(name))}</style:{name}>" for name in names)
    meta = f"<dc:subject>{mark('subject')}</dc:subject>" if "subject" in wanted else ""
    members = {
        "content.xml": f"<office:document-content {OPEN_NAMES}><office:automatic-styles>{HIDDEN_STYLE}"
        f"</office:automatic-styles><office:body>{body}</office:body></office:document-content>",
        "styles.xml": f"<office:document-styles {OPEN_NAMES}><office:master-styles><style:master-page>"
        f"{margins}"
        f"{_LAYOUT.format(mark('layout')) if 'layout' in wanted else ''}"
        "</style:master-page></office:master-styles></office:document-styles>",
        "meta.xml": f"<office:document-meta {OPEN_NAMES}><office:meta>{meta}</office:meta>"
        "</office:document-meta>",
        "Chart/content.xml": f"<office:document-content {OPEN_NAMES}><office:body><office:chart><chart:chart>"
        f"<chart:title>{p(mark('chart'))}</chart:title></chart:chart></office:chart></office:body>"
        "</office:document-content>",
    }
    if "basic" in wanted:
        members["Basic/Standard/Module1.xml"] = f"<x>{mark('basic')}</x>"
    return open_document(mime, members, compression=0).getvalue()


def _open_text(places: Iterable[str]) -> bytes:
    wanted = list(places)
    body = "".join(_OPEN_TEXT[name][0].replace("{}", mark(name)) for name in wanted if name in _OPEN_TEXT)
    return _open("text", f"<office:text>{body}</office:text>", wanted)


OPEN_TEXT = Format(
    "text.odt", {**{name: kind for name, (_, kind) in _OPEN_TEXT.items()}, **_OPEN_REST}, _open_text
)

_LAYOUT = "<draw:frame><draw:text-box><text:p>{}</text:p></draw:text-box></draw:frame>"
_BOX = "<draw:frame><draw:text-box>{}</draw:text-box></draw:frame>"

_OPEN_SLIDES: Mapping[str, tuple[str, str]] = {
    "title": (
        f'<draw:frame presentation:class="title"><draw:text-box>{p("{}")}</draw:text-box></draw:frame>',
        "",
    ),
    "text": (_BOX.format(p("{}")), ""),
    "list": (_BOX.format(f"<text:list><text:list-item>{p('{}')}</text:list-item></text:list>"), ""),
    "table": (
        "<draw:frame><table:table><table:table-row><table:table-cell>"
        f"{p('{}')}</table:table-cell></table:table-row></table:table></draw:frame>",
        "",
    ),
    "group": (f"<draw:g><draw:custom-shape>{p('{}')}</draw:custom-shape></draw:g>", ""),
    "connector": (f"<draw:connector>{p('{}')}</draw:connector>", ""),
    "notes": (f"<presentation:notes>{_BOX.format(p('{}'))}</presentation:notes>", ""),
    "comment": (f"<office:annotation>{p('{}')}</office:annotation>", ""),
    "picture": ("<draw:frame><svg:title>{}</svg:title><draw:image/></draw:frame>", ""),
    "description of a shape": (f"<draw:rect><svg:desc>{{}}</svg:desc>{p('x')}</draw:rect>", ""),
    "macro": (
        '<draw:rect><office:event-listeners><script:event-listener xlink:href="{}"/>'
        f"</office:event-listeners>{p('x')}</draw:rect>",
        "macro",
    ),
    "control": ('<draw:control draw:control="{}"/>', "form control"),
    "film": ('<draw:frame><draw:plugin xlink:href="{}"/></draw:frame>', "film or sound"),
}


def _open_slides(places: Iterable[str]) -> bytes:
    wanted = list(places)
    own = [name for name in wanted if name in _OPEN_SLIDES]
    body = "".join(_OPEN_SLIDES[name][0].replace("{}", mark(name)) for name in own)
    decl = ""
    use = ""
    if "footer of slides" in wanted:
        words = mark("footer of slides")
        decl = f'<presentation:footer-decl presentation:name="f">{words}</presentation:footer-decl>'
        use = ' presentation:use-footer-name="f"'
    hidden = ""
    if "hidden slide" in wanted:
        hidden = f'<draw:page draw:style-name="off">{_BOX.format(p(mark("hidden slide")))}</draw:page>'
    inner = f"{decl}<draw:page{use}>{body}</draw:page>{hidden}"
    return _open("presentation", f"<office:presentation>{inner}</office:presentation>", wanted)


OPEN_SLIDES = Format(
    "slides.odp",
    {
        **{name: kind for name, (_, kind) in _OPEN_SLIDES.items()},
        "footer of slides": "",
        "hidden slide": "",
        "layout": "text of layouts and masters",
        "subject": "document property",
        "basic": "macro project",
    },
    _open_slides,
)

_RTF: Mapping[str, tuple[str, str]] = {
    "paragraph": (r"{}\par ", ""),
    "heading": (r"{\pard\s1 {}\par}", ""),
    "outline": (r"{\pard\outlinelevel1 {}\par}", ""),
    "item of a list": (r"{\pard{\listtext\'b7\tab}{}\par}", ""),
    "label of a list": (r"{\pard{\listtext {}\tab}x\par}", ""),
    "table": (r"{\trowd\pard\intbl a\cell {}\cell\row}", ""),
    "nested table": (
        r"{\trowd\pard\intbl\itap2 {}\nestcell{\*\nesttableprops\trowd\nestrow}{\nonesttables\par}"
        r"\pard\intbl\itap1 x\cell\row}",
        "",
    ),
    "cell without a row": (r"{\pard\intbl {}\cell}\pard ", ""),
    "footnote": (r"x{\footnote {}}\par ", ""),
    "endnote": (r"x{\footnote\ftnalt {}}\par ", ""),
    "comment": (r"x{\*\atnid A}{\*\atnauthor Ann}\chatn{\*\annotation {}}\par ", ""),
    "author of a comment": (r"x{\*\atnauthor {}}\chatn{\*\annotation y}\par ", ""),
    "header": (r"{\header {}\par}", ""),
    "footer of first pages": (r"{\footerf {}\par}", ""),
    "hidden text": (r"x{\v {}}\par ", "hidden text"),
    "deleted text": (r"x{\deleted {}}\par ", "tracked deletion"),
    "inserted text": (r"x{\revised {}}\par ", ""),
    "field": (r"{\field{\*\fldinst DATE}{\fldrslt {}}}\par ", ""),
    "code of a field": (r"{\field{\*\fldinst DATE {}}{\fldrslt x}}\par ", "field code"),
    "link": (r'{\field{\*\fldinst HYPERLINK "https://x.test/"}{\fldrslt {}}}\par ', ""),
    "link target": (r'{\field{\*\fldinst HYPERLINK "https://x.test/{}"}{\fldrslt x}}\par ', ""),
    "relative target": (r'{\field{\*\fldinst HYPERLINK "/{}"}{\fldrslt x}}\par ', "link target"),
    "picture": (r"{\pict{\*\picprop{\sp{\sn wzDescription}{\sv {}}}}\pngblip 00}\par ", ""),
    "text box": (r"{\shp{\*\shpinst{\shptxt {}\par}}{\shprslt y}}\par ", ""),
    "old text box": (r"{\*\do{\dptxbxtext {}\par}}\par ", ""),
    "word art": (r"{\shp{\*\shpinst{\sp{\sn gtextUNICODE}{\sv {}}}}}\par ", ""),
    "description of a shape": (r"{\shp{\*\shpinst{\sp{\sn wzDescription}{\sv {}}}}}\par ", ""),
    "object": (r"{\object{\*\objdata {}}{\result x}}\par ", "embedded object"),
    "result of an object": (r"{\object{\*\objdata 00}{\result {}}}\par ", ""),
    "bookmark": (r"{\*\bkmkstart {}}x\par ", "bookmark"),
    "index mark": (r"{\xe {}}x\par ", "index mark"),
    "title of the document": (r"{\info{\title {}}}", "document property"),
    "own property": (r"{\*\userprops{\propname a}{\staticval {}}}", "document property"),
    "variable": (r"{\*\docvar {a}{{}}}", "document variable"),
    "formula": (r"{\mmath{\*\moMath{\mr {}}}{\mmathPict y}}\par ", ""),
    "text in two alphabets": (r"{\upr{y}{\*\ud {}}}\par ", ""),
    "form": (
        r"{\field{\*\fldinst FORMDROPDOWN{\*\formfield{\fftype2{\*\ffl a}{\*\ffl {}}}}}{\fldrslt a}}\par ",
        "unselected choice",
    ),
}


def _rtf(places: Iterable[str]) -> bytes:
    body = "".join(_RTF[name][0].replace("{}", mark(name)) for name in places)
    return rb"{\rtf1\ansi{\stylesheet{\s1 heading 1;}}" + body.encode() + b"}"


RTF = Format("text.rtf", {name: kind for name, (_, kind) in _RTF.items()}, _rtf)
