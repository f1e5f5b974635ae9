"""The kind of a file: a table of names with their default windows, and what magic bytes say.

Bytes decide between text, image and binary, the name never does: a picture named `.txt` is an image. Among
texts the name decides the kind, and with it how many lines are shown and from where.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct

from readroom.core.formats.magic import MAGIC, RIFFS, ZIPS, Family, MediaType
from readroom.core.formats.registry import Format, KnownFormats, table
from readroom.core.quoting import quote
from readroom.core.text.encodings import Encoding
from readroom.core.text.encodings.detect import NUL_BYTES
from readroom.core.values import Kind


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
"""Types that are sent as images: the four that every vision model accepts."""

PICTURE_TYPES = IMAGE_TYPES | {"image/bmp"}
"""Types that are shown as images, some of them in another form."""

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

    `encoding` is what was detected: if there is one, magic bytes that are
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


_ZIP = b"PK\3\4"
_ZIP_HEADER = 30
_FOLLOWS = 0x8
"""The flag of a member whose length comes after it."""


def zip_names(head: bytes) -> list[bytes]:
    """The names of the members with which a ZIP begins; `mimetype` is followed by its content.

    Their lengths lead from one to the next, so that members of an archive inside are not listed.
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
# same make are told apart by what is in them or, if that is far from the beginning, by their name.  A
# notebook is JSON, and HTML is text: only their names say what they are, and a call that gives an
# encoding means the text itself.
# -----------------------------------------------------------------------------

LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\n"
"""The beginning of the text that git has in place of a file whose content is stored elsewhere."""

PDF_MARK = b"%PDF-"

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""Office before 2007, and everything since that is encrypted."""

_OOXML = b"[Content_Types].xml"
_MAIN = (b"word/document.", b"xl/workbook.", b"ppt/presentation.")
_RTF = b"{\\rtf"
_WIDE = (b"\xff\xfe", b"\xfe\xff")
"""Byte order marks of texts with two bytes for each character."""


class Recognised(Struct, frozen=True):
    """A kind of document.

    Attributes:
        format: The name of its row in the table.
        is_text: It can be read as plain text, too.
        only_asked: It is read as a document only when parts of it are asked for.
    """

    format: str
    is_text: bool = False
    only_asked: bool = False

    @property
    def row(self) -> Format:
        """What the table says of its format."""
        return table().rows[self.format]


def is_searched(path: str) -> bool:
    """Whether a search of documents looks into a file of this name."""
    return suffix(path) in table().searched


def reads_as_document(path: str) -> bool:
    """Whether a file is a text by whose name it is read as a document, with other lines than its own."""
    row = table().texts.get(suffix(path))
    return row is not None and not row.only_asked


def stored_lines_note(path: str) -> str | None:
    """The note on lines found in the stored text of a file that is read as a document; else None."""
    if not reads_as_document(path):
        return None
    stored = "JSON" if table().texts[suffix(path)].stored == "JSON" else "source"
    how = "read them with encoding utf-8, or search with documents"
    return f"lines of {quote(path)} are from its {stored}: {how}"


def suffix(path: str) -> str:
    """What follows the last full stop of a name, in lower case; empty without one."""
    name, dot, ending = path.rpartition("/")[2].rpartition(".")
    return ending.lower() if dot and name else ""


def recognise(path: str, head: bytes) -> Recognised | None:
    """The kind of document that a file is, by its name and first bytes; None for none."""
    known, ending = table(), suffix(path)
    if head.startswith(LFS_POINTER):
        return None
    if head.startswith(known.magic):
        return next(Recognised(row.name) for row in known.documents if head.startswith(row.magic))
    if head.startswith(_ZIP):
        return _archive(known, ending, head)
    row = known.beginning.get(ending)
    if row is not None and re.match(row.begins, head):
        return Recognised(row.name, is_text=b"\0" not in head)
    named = known.texts.get(ending)
    if named is not None and not head.startswith((_RTF, _OLE)):
        is_wide = named.only_asked and head.startswith(_WIDE)
        is_text = head.strip() and (is_wide or b"\0" not in head)
        return Recognised(named.name, is_text=True, only_asked=named.only_asked) if is_text else None
    if ending in known.office:
        for row in known.documents:
            if row.disguised and re.match(row.disguised, head):
                return Recognised(row.name, is_text=True)
    # Encrypted, of an older format, or neither: its reader, which sees its streams, decides.
    old = known.compound.get(ending)
    if head.startswith(_OLE):
        office = known.zipped.get(ending, old)
        return None if office is None else Recognised(office.name)
    if old is not None and head.startswith(old.named):
        return Recognised(old.name)
    near = known.by_bytes.get(ending)
    if near is not None and any(magic in head[: near.within] for magic in near.magic):
        return Recognised(near.name)
    return None


def searched_as(path: str, head: bytes) -> str | None:
    """The format in which a search of documents reads a file; None if it does not."""
    recognised = recognise(path, head)
    return None if recognised is None or recognised.only_asked else recognised.format


def _archive(known: KnownFormats, ending: str, head: bytes) -> Recognised | None:
    named = known.zipped.get(ending)
    names = zip_names(head)
    # An Office file needs more than a folder of that name.
    is_office = _OOXML in names or any(name.startswith(_MAIN) for name in names)
    for row in known.documents:
        marks = [mark for mark in row.members if is_office or mark.startswith(b"mimetype")]
        if any(name.startswith(tuple(marks)) for name in names):
            return Recognised(row.name)
    if named is None or b"mimetypeapplication/" in head[:64]:
        return None  # an OpenDocument of another sort
    return Recognised(named.name)


def recognise_data(path: str, head: bytes) -> Recognised | None:
    """The kind of tables that a file holds, by its first bytes or, of a text, its name; None for none."""
    known, ending = table(), suffix(path)
    for row in known.data:
        if head.startswith(row.magic) or (ending in row.suffixes and head.startswith(row.named)):
            return Recognised(row.name)
    text = known.tables.get(ending)
    return None if text is None else Recognised(text.name, is_text=True, only_asked=True)


def is_archive_name(path: str) -> bool:
    """Whether a file's name is that of an archive."""
    return path.lower().endswith(table().archives)
