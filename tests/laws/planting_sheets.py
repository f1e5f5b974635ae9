"""Workbooks with a word planted in every kind of place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import xlwt

from tests.documents.formats.old_workbooks import comment, saved
from tests.documents.formats.packages import NAMESPACES, open_document, package, relations
from tests.laws.planting import Format, mark

MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_DRAWING = (
    'xmlns:xdr="http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
)

_TAIL: Mapping[str, Callable[[str], str]] = {
    "header of a sheet": lambda words: f"<headerFooter><oddHeader>&amp;C{words}</oddHeader></headerFooter>",
    "footer of a sheet": lambda words: f"<headerFooter><evenFooter>&amp;C{words}</evenFooter></headerFooter>",
    "list of values": lambda words: (
        '<dataValidations><dataValidation sqref="A1"><formula1>'
        f'"{words}"</formula1></dataValidation></dataValidations>'
    ),
    "link target": lambda _: '<hyperlinks><hyperlink ref="A1" r:id="link"/></hyperlinks>',
}
_NAMED = "<xdr:nv{0}Pr><xdr:cNvPr id='1' name='n' {1}/><xdr:cNv{0}Pr/></xdr:nv{0}Pr>"
_ANCHORED = (
    "<xdr:absoluteAnchor><xdr:pos x='0' y='0'/><xdr:ext cx='1' cy='1'/>{}"
    "<xdr:clientData/></xdr:absoluteAnchor>"
)
_DRAWN: Mapping[str, Callable[[str], str]] = {
    "text box": lambda words: (
        f"<xdr:sp>{_NAMED.format('Sp', '')}<xdr:spPr/><xdr:txBody><a:bodyPr/>"
        f"<a:p><a:r><a:t>{words}</a:t></a:r></a:p></xdr:txBody></xdr:sp>"
    ),
    "chart": lambda _: (
        f"<xdr:graphicFrame>{_NAMED.format('GraphicFrame', '')}"
        "<xdr:xfrm/><a:graphic><a:graphicData/></a:graphic></xdr:graphicFrame>"
    ),
    "picture": lambda words: (
        f"<xdr:pic>{_NAMED.format('Pic', f'descr={words!r}')}<xdr:blipFill/><xdr:spPr/></xdr:pic>"
    ),
}
_RELATED = {
    "pivot table": "pivotTable",
    "embedded object": "oleObject",
    "form control": "ctrlProp",
}
_OF_BOOK = {"pivot cache": "pivotCacheDefinition", "linked workbook": "externalLink", "macro": "vbaProject"}

_XLSX_PLACES = {
    "cell": "", "shared text": "", "comment": "", "thread": "", "hidden sheet": "", "hidden row": "",
    "hidden column": "",
    "formula": "formula", "defined name": "defined name", "property": "document property",
    "header of a sheet": "header or footer", "footer of a sheet": "header or footer",
    "list of values": "list of allowed values", "link target": "link target", "text box": "text box",
    "chart": "chart or diagram", "picture": "alternative text", **{place: place for place in _RELATED},
    "pivot cache": "pivot cache", "linked workbook": "link to another workbook", "macro": "macro project",
}  # fmt: skip


def _xlsx(places: Iterable[str]) -> bytes:
    wanted = set(places)

    def cell(at: str, place: str) -> str:
        return f'<c r="{at}" t="str"><v>{mark(place) if place in wanted else "x"}</v></c>'

    shared = '<c r="B1" t="s"><v>0</v></c>'
    computed = f'<c r="C1"><f>LEN("{mark("formula")}")</f><v>1</v></c>' if "formula" in wanted else ""
    rows = (
        f'<row r="1">{cell("A1", "cell")}{shared}{computed}{cell("D1", "hidden column")}</row>'
        f'<row r="2" hidden="1">{cell("A2", "hidden row")}</row>'
    )
    tail = "".join(made(mark(place)) for place, made in _TAIL.items() if place in wanted)
    drawn = "".join(_ANCHORED.format(made(mark(place))) for place, made in _DRAWN.items() if place in wanted)
    beside = [
        (f"r{at}", kind, f"../{at}.xml")
        for at, (place, kind) in enumerate(_RELATED.items())
        if place in wanted
    ]
    of_book = [
        (f"b{at}", kind, f"{at}.bin") for at, (place, kind) in enumerate(_OF_BOOK.items()) if place in wanted
    ]
    comments = {
        "xl/comments1.xml": f"<comments {MAIN}><authors><author>a</author></authors><commentList>"
        f'<comment ref="A1" authorId="0"><text><t>{mark("comment")}</t>'
        "</text></comment></commentList></comments>"
        if "comment" in wanted
        else f"<comments {MAIN}><authors/><commentList/></comments>",
        "xl/threads1.xml": f'<ThreadedComments {MAIN}><threadedComment ref="B2"><text>{mark("thread")}</text>'
        "</threadedComment></ThreadedComments>"
        if "thread" in wanted
        else f"<ThreadedComments {MAIN}/>",
    }
    core = f"<core xmlns:dc='http://purl.org/dc/elements/1.1/'><dc:title>{mark('property')}</dc:title></core>"
    names = f"<definedNames><definedName name='{mark('defined name')}'>1</definedName></definedNames>"
    return package(
        {
            "_rels/.rels": relations(
                ("r1", "officeDocument", "xl/workbook.xml"),
                *([("r2", "core-properties", "core.xml")] if "property" in wanted else []),
            ),
            **({"core.xml": core} if "property" in wanted else {}),
            "xl/workbook.xml": f"<workbook {MAIN} {NAMESPACES}><sheets><sheet "
"name='s' sheetId='1' r:id='r1'/>"
            "<sheet name='h' sheetId='2' state='hidden' r:id='r2'/></sheets>"
f"{names if 'defined name' in wanted else ''}"
            "</workbook>",
            "xl/_rels/workbook.xml.rels": relations(
                ("r1", "worksheet", "worksheets/sheet1.xml"), ("r2", "worksheet", "worksheets/sheet2.xml"),
                ("r3", "sharedStrings", "sharedStrings.xml"), *of_book,
            ),
            "xl/sharedStrings.xml": f"<sst {MAIN}><si><t>"
            f"{mark('shared text') if 'shared text' in wanted else 'x'}</t></si></sst>",
            "xl/worksheets/sheet1.xml": f"<worksheet {MAIN} {NAMESPACES}><cols><col "
"min='4' max='4' hidden='1'/></cols>"
            f"<sheetData>{rows}</sheetData>{tail}</worksheet>",
            "xl/worksheets/_rels/sheet1.xml.rels": relations(
                ("c", "comments", "../comments1.xml"), ("t", "threadedComment", "../threads1.xml"),
                ("d", "drawing", "../drawing1.xml"),
                ("link", "hyperlink", f"https://x.test/{mark('link target')}"),
                *beside, external=("link",),
            ),
            "xl/drawing1.xml": f"<xdr:wsDr {_DRAWING}>{drawn}</xdr:wsDr>",
            "xl/worksheets/sheet2.xml": f"<worksheet {MAIN}><sheetData><row r='1'>"
f"{cell('A1', 'hidden sheet')}</row>"
            "</sheetData></worksheet>",
            **comments,
        }
    ).getvalue()  # fmt: skip


WORKBOOK = Format("a.xlsx", _XLSX_PLACES, _xlsx)

# --- OpenDocument ----------------------------------------------------------------------------------------

_ODS_NAMES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{uri}:1.0"'
    for name, uri in {
        "office": "office", "table": "table", "text": "text", "draw": "drawing", "svg": "svg-compatible",
        "style": "style", "meta": "meta",
    }.items()
) + ' xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:dc="http://purl.org/dc/elements/1.1/"'  # fmt: skip

_ODS_CELLS: Mapping[str, Callable[[str], str]] = {
    "cell": lambda words: f"<text:p>{words}</text:p>",
    "comment": lambda words: (
        f"<office:annotation><text:p>{words}</text:p></office:annotation><text:p>x</text:p>"
    ),
    "link words": lambda words: f"<text:p><text:a xlink:href='#x'>{words}</text:a></text:p>",
    "link target": lambda words: f"<text:p><text:a xlink:href='https://x.test/{words}'>x</text:a></text:p>",
    "text box": lambda words: (
        f"<draw:frame><draw:text-box><text:p>{words}</text:p></draw:text-box></draw:frame>"
    ),
    "shape": lambda words: f"<draw:custom-shape><text:p>{words}</text:p></draw:custom-shape>",
    "chart": lambda _: "<draw:frame><draw:object xlink:href='./Object 1'/></draw:frame>",
    "alternative text": lambda words: f"<draw:frame><draw:image/><svg:desc>{words}</svg:desc></draw:frame>",
}
_ODS_AROUND: Mapping[str, Callable[[str], str]] = {
    "list of values": lambda words: (
        "<table:content-validations><table:content-validation "
        f"table:name='{words}'/></table:content-validations>"
    ),
    "defined name": lambda words: (
        f"<table:named-expressions><table:named-range table:name='{words}'/></table:named-expressions>"
    ),
    "pivot table": lambda words: (
        f"<table:data-pilot-tables><table:data-pilot-table table:name='{words}'/></table:data-pilot-tables>"
    ),
}
_ODS_PLACES = {
    **dict.fromkeys(_ODS_CELLS, ""), "link target": "link target", "text box": "text box", "shape": "shape",
    "chart": "chart or object", "alternative text": "alternative text",
    "list of values": "list of allowed values",
    "defined name": "defined name", "pivot table": "pivot table", "formula": "formula", "hidden row": "",
    "header of a sheet": "header or footer", "property": "document property",
}  # fmt: skip


def _ods(places: Iterable[str]) -> bytes:
    wanted = set(places)
    cells = "".join(
        f"<table:table-cell office:value-type='string'>{made(mark(place))}</table:table-cell>"
        for place, made in _ODS_CELLS.items()
        if place in wanted
    )
    if "formula" in wanted:
        cells += (
            "<table:table-cell "
            f"table:formula='of:=LEN(&quot;{mark('formula')}&quot;)' office:value-type='float' "
            "office:value='1'/>"
        )
    hidden = mark("hidden row") if "hidden row" in wanted else "x"
    around = {place: made(mark(place)) if place in wanted else "" for place, made in _ODS_AROUND.items()}
    content = (
        f"<office:document-content {_ODS_NAMES}><office:body><office:spreadsheet>{around['list of values']}"
        f"<table:table table:name='s'><table:table-row>{cells}</table:table-row>"
        "<table:table-row table:visibility='collapse'><table:table-cell office:value-type='string'>"
        f"<text:p>{hidden}</text:p></table:table-cell></table:table-row></table:table>"
        f"{around['defined name']}{around['pivot table']}"
        "</office:spreadsheet></office:body></office:document-content>"
    )
    header = f"<style:header><text:p>{mark('header of a sheet')}</text:p></style:header>"
    styles = header if "header of a sheet" in wanted else ""
    meta = f"<dc:title>{mark('property')}</dc:title>" if "property" in wanted else ""
    return open_document(
        "spreadsheet",
        {
            "content.xml": content,
            "styles.xml": f"<office:document-styles {_ODS_NAMES}>{styles}</office:document-styles>",
            "meta.xml": f"<office:document-meta {_ODS_NAMES}><office:meta>"
            f"{meta}</office:meta></office:document-meta>",
        },
    ).getvalue()


OPEN_SHEETS = Format("a.ods", _ODS_PLACES, _ods)

# --- Excel before 2007 -----------------------------------------------------------------------------------

_XLS_PLACES = {"cell": "", "comment": "", "hidden row": "", "hidden column": "", "hidden sheet": ""}


def _xls(places: Iterable[str]) -> bytes:
    wanted = set(places)
    book = xlwt.Workbook()
    sheet, other = book.add_sheet("s"), book.add_sheet("h")
    for row, column, place in ((0, 0, "cell"), (2, 0, "hidden row"), (3, 3, "hidden column")):
        sheet.write(row, column, mark(place) if place in wanted else "x")
    sheet.row(2).hidden = True
    sheet.col(3).hidden = True
    other.visibility = 1
    other.write(0, 0, mark("hidden sheet") if "hidden sheet" in wanted else "x")
    if "comment" in wanted:
        comment(sheet, 5, 1, "Ann", mark("comment"))
    return saved(book)


OLD_WORKBOOK = Format("a.xls", _XLS_PLACES, _xls)
