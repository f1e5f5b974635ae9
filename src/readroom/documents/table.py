"""The table of formats: one row each for documents and tables, and the names of archives.

A new format is a row here and the module that it names.
"""

from __future__ import annotations

from readroom.core.formats.registry import Format

_DOCUMENTS = "readroom.documents.formats"
_DATA = "readroom.documents.data"

BIFF = (b"\x09\0\4\0", b"\x09\2\6\0", b"\x09\4\6\0", b"\x09\x08\x08\0", b"\x09\x08\x10\0")
"""Workbooks of Excel 2 to 4, and of later ones by programs that leave out the compound file around them."""

TNEF_MARK = b"\x78\x9f\x3e\x22"
"""A message as Outlook packs it for others of its kind, most often named winmail.dat."""

_OPEN = b"mimetypeapplication/vnd.oasis.opendocument."
_MESSAGE = rb"(?:From [^\0\n]*\n|>?[!-9;-~]{1,80}:[^\0\n]*\n)(?:[!-9;-~]{1,80}:|[ \t]|\r?\n)"
_PAGE = rb"(?i)(?:\xef\xbb\xbf)?\s*(?:<!doctype html|<html|<table|<meta\s)"

# fmt: off
ROWS = (
    Format(name="pdf", opener=f"{_DOCUMENTS}.pdf", flat=f"{_DOCUMENTS}.pdf", suffixes=("pdf",),
           magic=(b"%PDF-",), within=1024,  # readers look for it there: mail gateways put lines before it
           has_pictures=True),
    Format(name="tiff", opener=f"{_DOCUMENTS}.tiff", suffixes=("tif", "tiff"),
           magic=(b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"),  # the last two of files beyond 4 GB
           has_pictures=True),
    Format(name="docx", opener=f"{_DOCUMENTS}.docx", flat=f"{_DOCUMENTS}.docx",
           zipped=("docx", "docm", "dotx", "dotm"), members=(b"word/",), is_office=True),
    Format(name="xlsx", opener=f"{_DOCUMENTS}.sheets",
           zipped=("xlsx", "xlsm", "xltx", "xltm", "xlsb"),  # the reader reports binary ones
           members=(b"xl/",), is_office=True, has_formulas=True),
    Format(name="pptx", opener=f"{_DOCUMENTS}.pptx",
           zipped=("pptx", "pptm", "ppsx", "ppsm", "potx", "potm"), members=(b"ppt/",), is_office=True),
    Format(name="ods", opener=f"{_DOCUMENTS}.sheets", zipped=("ods", "ots"), texts=("fods",),
           members=(_OPEN + b"spreadsheet",), is_office=True, stored="XML", has_formulas=True),
    Format(name="odt", opener=f"{_DOCUMENTS}.odf.text", zipped=("odt", "ott"), texts=("fodt",),
           members=(_OPEN + b"text",), is_office=True, stored="XML"),
    Format(name="odp", opener=f"{_DOCUMENTS}.odf.odp", zipped=("odp", "otp", "odg", "otg"),
           texts=("fodp", "fodg"), members=(_OPEN + b"presentation", _OPEN + b"graphics"), is_office=True,
           stored="XML"),
    Format(name="epub", opener=f"{_DOCUMENTS}.epub", zipped=("epub",),
           members=(b"mimetypeapplication/epub+zip",)),
    Format(name="xls", opener=f"{_DOCUMENTS}.sheets", compound=("xls", "xlt", "xlw"), named=BIFF,
           is_office=True),
    Format(name="doc", opener=f"{_DOCUMENTS}.doc", compound=("doc", "dot", "rtf"),  # many a .rtf is one
           is_office=True),
    Format(name="ppt", opener=f"{_DOCUMENTS}.ppt", compound=("ppt", "pps", "pot"), is_office=True),
    Format(name="msg", opener=f"{_DOCUMENTS}.mail.outlook", compound=("msg", "oft")),
    Format(name="tnef", opener=f"{_DOCUMENTS}.mail.tnef", suffixes=("tnef",), magic=(TNEF_MARK,)),
    Format(name="ipynb", opener=f"{_DOCUMENTS}.notebook", flat=f"{_DOCUMENTS}.notebook:open_source",
           texts=("ipynb",), stored="JSON"),
    Format(name="rtf", opener=f"{_DOCUMENTS}.rtf", texts=("rtf",), disguised=rb"\{\\rtf", stored="RTF"),
    Format(name="html", opener=f"{_DOCUMENTS}.html", texts=("html", "htm", "xhtml"),
           disguised=_PAGE, only_asked=True),  # many a page "exports to Excel" so
    Format(name="eml", opener=f"{_DOCUMENTS}.mail.eml", texts=("eml", "emlx", "mbox", "mht", "mhtml"),
           begins=_MESSAGE, begins_in=("msg",), disguised=rb"(?i)MIME-Version:"),
    Format(name="sqlite", opener=f"{_DATA}.sqlite", magic=(b"SQLite format 3\0",), is_data=True),
    Format(name="parquet", opener=f"{_DATA}.columnar", magic=(b"PAR1", b"PARE"), is_data=True),
    Format(name="arrow", opener=f"{_DATA}.columnar", is_data=True, magic=(b"ARROW1\0\0", b"FEA1"),
           suffixes=("arrow", "arrows", "ipc", "feather", "stream"), named=(b"\xff\xff\xff\xff",)),
    Format(name="avro", opener=f"{_DATA}.avro", magic=(b"Obj\x01",), is_data=True),
    Format(name="csv", opener=f"{_DATA}.texts:open_delimited", texts=("csv", "tsv", "tab", "psv"),
           only_asked=True, is_data=True),
    Format(name="jsonl", opener=f"{_DATA}.texts:open_json_lines", texts=("jsonl", "ndjson"),
           only_asked=True, is_data=True),
)
# fmt: on

ARCHIVES = (
    ".zip", ".jar", ".war", ".ear", ".aar", ".whl", ".egg", ".apk", ".ipa", ".vsix", ".nupkg", ".xpi", ".tar",
    ".tgz", ".tar.gz", ".tbz", ".tbz2", ".tar.bz2", ".txz", ".tar.xz", ".tzst", ".tar.zst", ".tar.zstd",
    ".crate", ".7z", ".deb", ".gem", ".pyz", ".pex", ".crx",
)  # fmt: skip
"""File names of archives, for searches by name; the bytes decide."""

PARTS = {
    "documents": "readroom.documents.reading.cache:DocumentCache",
    "read": "readroom.documents.reading:read_document",
    "read_flat": "readroom.documents.reading.flat:read_flat",
    "outline": "readroom.documents.reading.outline:outline_large",
    "search": "readroom.documents.inside:DocumentSearch",
    "rank": "readroom.documents.find:DocumentTexts",
    "archives": "readroom.documents.archives:Archives",
    "perform_inside": "readroom.documents.archives:perform",
    "perform_instead": "readroom.documents.archives:instead",
    "search_archives": "readroom.documents.inside:ArchiveSearch",
}
"""Functions that the engine calls when a request is about documents or archives."""
