"""The kind of a file: a table of names with their default windows, and what magic bytes say.

Bytes decide between text, image and binary, the name never does: a picture named `.txt` is an image. Among
texts the name decides the kind, and with it how many lines are shown and from where.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct

from readroom.formats.magic import MAGIC, RIFFS, ZIPS, Family, MediaType
from readroom.quoting import quote
from readroom.text.encodings import Encoding
from readroom.text.encodings.detect import NUL_BYTES
from readroom.values import Kind


class DefaultWindow(Struct, frozen=True):
    """The window of a kind if the caller does not name one."""

    lines: int
    tail: bool = False
    header: bool = False


WINDOWS: Mapping[Kind, DefaultWindow] = MappingProxyType(
    {
        Kind.SOURCE: DefaultWindow(2000),  # the norm of claude-code, gemini-cli, opencode, cline
        Kind.LOG: DefaultWindow(500, tail=True),  # what happened last is at the end
        Kind.CSV: DefaultWindow(100, header=True),  # the columns and enough rows to see what they hold
        Kind.CONFIG: DefaultWindow(2000),  # its structure is of use only when whole
        Kind.MINIFIED: DefaultWindow(20),  # few lines, each as long as a file
        Kind.TEXT: DefaultWindow(2000),
        Kind.DOCUMENT: DefaultWindow(2000),  # over all parts of a reply; their size ends it before
        Kind.IMAGE: DefaultWindow(0),
        Kind.BINARY: DefaultWindow(0),
    }
)

SOURCE_SUFFIXES = frozenset(
    """
    ada adb ads agda as asm asp aspx astro awk bash bat bicep bzl c c++ cbl cc cjs cl clj cljc cljs
    cls cmake cmd cob coffee cpp cppm cpy cr cs csh cshtml csproj css csx cts cu cuh cxx d dart
    dhall di dockerfile dpr dtd e el elm elv ex exs erl ets f f03 f08 f77 f90 f95 fish fnl for fs
    fsi fsproj fsx ftl gd gdshader gemspec gleam glsl go gql gradle graphql groovy gv gvy h h++ haml
    handlebars haxe hbs hcl heex hh hlsl hpp hrl hs hta htm html hx hxx idl idr inl ino ipp ipynb j2
    janet java jinja jinja2 jl js jsp jspx jsx jsm kt kts l lagda ld lean leex less lhs liquid lisp
    ll lsp lua m m4 mak make mako metal mjs mk ml mli mll mly mm move mts mustache nas nasm nim nims
    nix njk nu nut odin org_mode os p4 pas pcss php php3 php4 php5 php7 phps phtml pl pm pod postcss
    pp prisma pro prolog proto ps1 psd1 psm1 pug purs pxd pxi py pyi pyw pyx qml r rake razor rb rbi
    rbw re rego rei res resi rkt rmd robot ron rs rst_py ru s sass sbt sc scala scm scss sed sh
    shader sls smali sml sol sql ss ssjs st star styl sv svelte svg svh swift tcl templ tex tf
    tfvars thrift tla tmpl tpl trigger ts tsx twig v vala vapi vb vba vbproj vbs vcxproj vert frag
    geom comp vhd vhdl vim vm vue vy wast wat wgsl wit xaml xhtml xqm xquery xsd xsl xslt y yacc yul
    zig zsh
    """.split()  # noqa: SIM905  a list literal of this length reads worse
)
"""Suffixes of source code, in lower case."""

SOURCE_NAMES = frozenset(
    """
    brewfile bsdmakefile build build.bazel cakefile capfile cmakelists.txt containerfile dangerfile
    dockerfile earthfile fastfile gemfile gnumakefile guardfile jenkinsfile justfile makefile
    makefile.am makefile.in meson.build meson_options.txt pipfile podfile procfile puppetfile
    rakefile sconscript sconstruct snakefile tiltfile vagrantfile workspace
    """.split()  # noqa: SIM905  a list literal of this length reads worse
)
"""Whole names of program text without a telling ending, lower case."""

CONFIG_SUFFIXES = frozenset(
    """
    avsc cfg cnf conf config desktop editorconfig env geojson har hjson hocon ini json json5 jsonc
    jsonld jsonl keymap lock map ndjson plist properties props reg rc service socket targets timer
    toml topojson webmanifest xml yaml yml
    """.split()  # noqa: SIM905  a list literal of this length reads worse
)
"""Endings of settings and structured data."""

CONFIG_NAMES = frozenset(
    """
    .babelrc .bashrc .bash_profile .clang-format .clang-tidy .coveragerc .dockerignore .editorconfig
    .env .eslintignore .eslintrc .flake8 .gitattributes .gitconfig .gitignore .gitmodules .htaccess
    .ignore .inputrc .mailmap .npmrc .nvmrc .prettierrc .profile .pylintrc .readroomignore .rgignore
    .stylelintrc .tmux.conf .tool-versions .vimrc .yarnrc .zprofile .zshrc codeowners go.mod go.sum
    go.work
    """.split()  # noqa: SIM905  a list literal of this length reads worse
)
"""Whole names of settings."""

_MINIFIED = re.compile(r"[.-]min\.(?:js|mjs|cjs|css)\Z")
# app.log, app.log.1, app.log-20260131, app.log.2026-01-31, build.out
_LOG = re.compile(r"\.(?:log|out|err)(?:[._-]\d[\d_.t-]*)?(?:\.old|\.bak)?\Z")
_LOG_NAME = re.compile(r"(?:syslog|dmesg|(?:access|error)_log)(?:\.\d+)?\Z")
_TABLE = re.compile(r"\.(?:csv|tsv)\Z")


def classify(path: str, head: bytes, encoding: Encoding | None) -> Kind:
    """The kind of a file with this name, first bytes and detected encoding (None: not text)."""
    media = sniff(head, encoding)
    if media is not None:
        return Kind.IMAGE if media.name in IMAGE_TYPES else Kind.BINARY
    return Kind.BINARY if encoding is None else kind_by_name(path)


def kind_by_name(path: str) -> Kind:
    """The kind of a text file, by the last part of its path in any case."""
    name = path.rpartition("/")[2].lower()
    suffix = name.rpartition(".")[2]
    if _MINIFIED.search(name):
        return Kind.MINIFIED
    if _LOG.search(name) or _LOG_NAME.match(name):
        return Kind.LOG
    if _TABLE.search(name):
        return Kind.CSV
    if name in SOURCE_NAMES:
        return Kind.SOURCE
    if name in CONFIG_NAMES or name.startswith(".env."):
        return Kind.CONFIG
    if suffix == name:
        return Kind.TEXT
    if suffix in SOURCE_SUFFIXES or name.startswith(("dockerfile.", "containerfile.", "makefile.")):
        return Kind.SOURCE
    return Kind.CONFIG if suffix in CONFIG_SUFFIXES else Kind.TEXT


def kind_among(endings: Sequence[tuple[str, str]], path: str, kind: Kind) -> Kind:
    """The kind of a file by a contract's own suffixes; `kind` is the native one."""
    if not endings or kind in (Kind.IMAGE, Kind.BINARY):
        return kind
    name = path.rpartition("/")[2].lower()
    for ending, own in endings:
        if name.endswith(ending):
            return Kind(own)
    return kind if kind in (Kind.SOURCE, Kind.CONFIG) else Kind.TEXT


def default_lines(kind: Kind) -> int:
    """Lines shown of a kind without a limit."""
    return WINDOWS[kind].lines


def starts_at_end(kind: Kind) -> bool:
    """Whether a read without an offset shows the end."""
    return WINDOWS[kind].tail


def carries_header(kind: Kind) -> bool:
    """Whether line 1 is shown above every later window."""
    return WINDOWS[kind].header


IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""What leaves as an image: the four types that every vision model takes."""

UNKNOWN = MediaType("application/octet-stream", Family.UNKNOWN)
"""Binary that no magic bytes tell."""


_BY_FIRST_BYTE: dict[bytes, list[tuple[int, bytes, MediaType]]] = {}
for _entry in MAGIC:
    if not _entry[0]:
        _BY_FIRST_BYTE.setdefault(_entry[1][:1], []).append(_entry)
_INSIDE = tuple(entry for entry in MAGIC if entry[0])
# Every read of a small text pays for this look-up: trying all of MAGIC took a tenth of its time.

_LOWEST_JAVA = 45
"""The major version of Java 1.0 class files; a Mach-O has its number of architectures in that place."""


def sniff(head: bytes, encoding: Encoding | None = None) -> MediaType | None:
    """What the magic bytes of `head` say; None for text and for the unknown.

    `encoding` is what was detected: where there is one, magic bytes that are
    letters prove nothing (a text may start with the word GIF89a), save PDF's,
    whose first pages are often letters too, and those of a file that has NULs.
    """
    if encoding is not None and encoding.bom:
        return None
    media = _sniff_parts(head)
    if media is None:
        candidates = (*_BY_FIRST_BYTE.get(head[:1], ()), *_INSIDE)
        media = next((kind for at, magic, kind in candidates if head.startswith(magic, at)), None)
    if media is not None and media.weak and encoding is not None and media.name != "application/pdf":
        return media if encoding.unit == 1 and b"\0" in head[:NUL_BYTES] else None
    return media


_PIECE = re.compile(r"\.(?:z\d\d|r\d\d|\d{3}|part\d+\.rar)\Z", re.IGNORECASE)


def media_type(path: str, head: bytes) -> MediaType:
    """The kind of a binary file by its first bytes, or by its name if it may be a piece of a divided file."""
    media = sniff(head)
    if _PIECE.search(path) or (media is None and suffix(path) == "zip"):
        return MediaType("application/octet-stream" if media is None else media.name, Family.PIECE)
    return media or UNKNOWN


def _sniff_parts(head: bytes) -> MediaType | None:
    if head.startswith((b"PK\3\4", b"PK\5\6", b"PK\7\x08")):
        names = zip_names(head)
        inside = (media for mark, media in ZIPS if any(name.startswith(mark) for name in names))
        return next(inside, MediaType("application/zip", Family.ARCHIVE))
    if head.startswith(b"RIFF"):
        return RIFFS.get(head[8:12])
    if head.startswith(b"\xca\xfe\xba\xbe"):
        is_java = int.from_bytes(head[6:8], "big") >= _LOWEST_JAVA
        return MediaType("application/java-vm" if is_java else "application/x-mach-binary", Family.PROGRAM)
    return None


BIFF = (b"\x09\0\4\0", b"\x09\2\6\0", b"\x09\4\6\0", b"\x09\x08\x08\0", b"\x09\x08\x10\0")
"""Workbooks of Excel 2 to 4, and of later ones by programs that leave out the compound file around them."""

_ZIP = b"PK\3\4"
_ZIP_HEADER = 30
_FOLLOWS = 0x8
"""The flag of a member whose length comes after it."""


def zip_names(head: bytes) -> list[bytes]:
    """The names of the members with which a ZIP begins; behind `mimetype` stands what it holds.

    Members can hold members: from one to the next their lengths lead, so that those of an archive
    inside are no names of this one.
    """
    names: list[bytes] = []
    at = head.find(_ZIP, 0, 8)
    while at >= 0 and head.startswith(_ZIP, at) and len(head) >= at + _ZIP_HEADER:
        flags = int.from_bytes(head[at + 6 : at + 8], "little")
        packed = int.from_bytes(head[at + 18 : at + 22], "little")
        length, extra = (int.from_bytes(head[at + place : at + place + 2], "little") for place in (26, 28))
        start = at + _ZIP_HEADER
        name, at = head[start : start + length], start + length + extra + packed
        names.append(name + head[start + length + extra : at] if name == b"mimetype" else name)
        if flags & _FOLLOWS and not packed:
            at = head.find(_ZIP, at)
        elif flags & _FOLLOWS:
            at = head.find(_ZIP, at, at + 28)
    return names


# -----------------------------------------------------------------------------
# Which documents are read as text, by their bytes and their name.
#
# Bytes decide what they can decide: a PDF with any name is a PDF.  Archives of the
# same make are told apart by what is in them or, where that stands far behind the
# beginning, by their name.  A notebook is JSON, and HTML is text: only their names
# say what they are, and whoever asks for their encoding means the text itself.
# -----------------------------------------------------------------------------

LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\n"
"""How the text begins that git has in place of a file whose content is stored elsewhere."""

PDF_MARK = b"%PDF-"
_PDF_WITHIN = 1024
"""Readers of PDF look for its mark in the first 1,024 bytes: mail gateways put lines before it."""

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""Office before 2007, and everything since that is encrypted."""

_OOXML = b"[Content_Types].xml"
_BY_MEMBER = ((b"word/", "docx"), (b"xl/", "xlsx"), (b"ppt/", "pptx"))
_MAIN = (b"word/document.", b"xl/workbook.", b"ppt/presentation.")
_BY_MIMETYPE = (
    (b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet", "ods"),
    (b"mimetypeapplication/vnd.oasis.opendocument.text", "odt"),
    (b"mimetypeapplication/vnd.oasis.opendocument.presentation", "odp"),
    (b"mimetypeapplication/vnd.oasis.opendocument.graphics", "odp"),
    (b"mimetypeapplication/epub+zip", "epub"),
)

_BY_NAME = {
    **dict.fromkeys(("docx", "docm", "dotx", "dotm"), "docx"),
    **dict.fromkeys(("xlsx", "xlsm", "xltx", "xltm", "xlsb"), "xlsx"),  # the reader names what is binary
    **dict.fromkeys(("pptx", "pptm", "ppsx", "ppsm", "potx", "potm"), "pptx"),
    **dict.fromkeys(("ods", "ots"), "ods"),
    **dict.fromkeys(("odt", "ott"), "odt"),
    **dict.fromkeys(("odp", "otp", "odg", "otg"), "odp"),
    "epub": "epub",
}

_OLD = {
    **dict.fromkeys(("xls", "xlt", "xlw"), "xls"),
    **dict.fromkeys(("doc", "dot"), "doc"),
    **dict.fromkeys(("ppt", "pps", "pot"), "ppt"),
    **dict.fromkeys(("msg", "oft"), "msg"),
}
"""Office before 2007, and messages of Outlook."""

_TEXTS = {
    "ipynb": "ipynb",
    **dict.fromkeys(("html", "htm", "xhtml"), "html"),
    "rtf": "rtf",
    **dict.fromkeys(("eml", "emlx", "mbox", "mht", "mhtml"), "eml"),
    "fodt": "odt",
    "fods": "ods",
    **dict.fromkeys(("fodp", "fodg"), "odp"),
}
"""Texts that mean more than they say."""

_RTF = b"{\\rtf"
_MESSAGE = re.compile(rb"(?:From [^\0\n]*\n|>?[!-9;-~]{1,80}:[^\0\n]*\n)(?:[!-9;-~]{1,80}:|[ \t]|\r?\n)")
"""How a message begins; behind its headers it may hold any bytes."""

_WIDE = (b"\xff\xfe", b"\xfe\xff")
"""How a text begins whose characters have two bytes each."""

TNEF_MARK = b"\x78\x9f\x3e\x22"
"""A message as Outlook packs it for others of its kind, most often named winmail.dat."""

_OFFICE = frozenset({"rtf", *_BY_NAME, *_OLD} - {"epub", "msg"})
_AS_OFFICE = (
    (re.compile(rb"\{\\rtf"), "rtf"),
    (re.compile(rb"(?i)(?:\xef\xbb\xbf)?\s*(?:<!doctype html|<html|<table|<meta\s)"), "html"),
    (re.compile(rb"(?i)MIME-Version:"), "eml"),
)
"""Texts that programs give the names of Office, which opens them: many a web page "exports to Excel" so."""

WITH_FORMULAS = frozenset({"xlsx", "ods"})
"""Kinds of documents whose cells can show their formulas."""

SEARCHED = frozenset(
    {"pdf", "tnef", *_OLD, *_BY_NAME, *(name for name, kind in _TEXTS.items() if kind != "html")}
)
"""Endings of the documents that a search of documents looks into; HTML is searched as the text it is."""


class Recognised(Struct, frozen=True):
    """A kind of document.

    Attributes:
        format: As in `documents.OPENERS`.
        is_text: It can be read as plain text, too.
        only_asked: It is read as a document only when parts of it are asked for.
    """

    format: str
    is_text: bool = False
    only_asked: bool = False


def reads_as_document(path: str) -> bool:
    """Whether a file is a text by whose name it is read as a document, with other lines than its own."""
    return _TEXTS.get(suffix(path), "html") != "html"


def told_of_stored_lines(path: str) -> str | None:
    """What is said of lines that were found in the text of a file that is read as a document; else None."""
    if not reads_as_document(path):
        return None
    stored = "JSON" if suffix(path) == "ipynb" else "source"
    how = "read them with encoding utf-8, or search with documents"
    return f"lines of {quote(path)} are those of its {stored}: {how}"


def suffix(path: str) -> str:
    """What follows the last full stop of a name, in lower case; empty without one."""
    name, dot, ending = path.rpartition("/")[2].rpartition(".")
    return ending.lower() if dot and name else ""


def recognise(path: str, head: bytes) -> Recognised | None:
    """The kind of document that a file is, by its name and first bytes; None for none."""
    if head.startswith(LFS_POINTER):
        return None
    if head.startswith(PDF_MARK):
        return Recognised("pdf")
    if head.startswith(_ZIP):
        return _archive(path, head)
    if head.startswith(TNEF_MARK):
        return Recognised("tnef")
    ending = suffix(path)
    if (ending == "msg" or _TEXTS.get(ending) == "eml") and _MESSAGE.match(head):
        return Recognised("eml", is_text=b"\0" not in head)
    if ending in _TEXTS and not head.startswith((_RTF, _OLE)):
        kind = _TEXTS[ending]
        is_wide = kind == "html" and head.startswith(_WIDE)
        is_text = head.strip() and (is_wide or b"\0" not in head)
        return Recognised(kind, is_text=True, only_asked=kind == "html") if is_text else None
    if ending in _OFFICE and (kind := next((kind for mark, kind in _AS_OFFICE if mark.match(head)), "")):
        return Recognised(kind, is_text=True)
    if ending in _BY_NAME and head.startswith(_OLE):
        return Recognised(_BY_NAME[ending])  # encrypted, or of an older format: its reader tells
    if _OLD.get(ending) == "xls" and head.startswith(BIFF):
        return Recognised("xls")
    if head.startswith(_OLE) and ending in (*_OLD, "rtf"):
        return Recognised(_OLD.get(ending, "doc"))  # their streams tell, once the file is opened
    if ending == "pdf" and PDF_MARK in head[:_PDF_WITHIN]:
        return Recognised("pdf")
    return None


def searched_as(path: str, head: bytes) -> str | None:
    """The format in which a search of documents reads a file; None if it does not."""
    recognised = recognise(path, head)
    return None if recognised is None or recognised.only_asked else recognised.format


def _archive(path: str, head: bytes) -> Recognised | None:
    named = _BY_NAME.get(suffix(path))
    names = zip_names(head)
    # Of Office more is asked than a folder named so.
    is_office = _OOXML in names or any(name.startswith(_MAIN) for name in names)
    marks = (*_BY_MEMBER, *_BY_MIMETYPE) if is_office else _BY_MIMETYPE
    by_member = next((kind for mark, kind in marks if any(name.startswith(mark) for name in names)), None)
    if by_member is None and b"mimetypeapplication/" in head[:64]:
        return None  # an OpenDocument of another sort
    kind = by_member or named
    return None if kind is None else Recognised(kind)
