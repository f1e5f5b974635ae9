"""OpenDocument: packages, styles and list labels, for texts and presentations.

Knows: packages, styles and labels of OpenDocument.
Does not know: files and processes; spreadsheets, which are streamed (`sheets/ods`).
May be touched: freely.
"""

from __future__ import annotations

import io
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import BinaryIO

from lxml import etree
from msgspec import Struct, field

from readroom.documents.formats import Encrypted, Unreadable, archives, sections, symbols, xml
from readroom.documents.formats.archives import Archive
from readroom.documents.formats.compound import check_not_ole
from readroom.documents.formats.elements import Element, local
from readroom.documents.limits import ARCHIVE_MEMBER_BYTES

_HEAD_BYTES = 256
CONTENT = "content.xml"
OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
FO = "{urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0}"
STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
PRESENTATION = "{urn:oasis:names:tc:opendocument:xmlns:presentation:1.0}"
XLINK = "{http://www.w3.org/1999/xlink}"

BULLET = "-"
MAX_LEVELS = 10
"""Levels of a list; the format has ten."""

MAX_AFFIX = 20
"""Characters before and after the number of an item, which every item repeats."""

MAX_PARENTS = 20
"""Styles that inherit from each other; a circle ends here."""

_PROPERTIES = frozenset(
    ("title", "subject", "description", "keyword", "creator", "initial-creator", "user-defined",
     "contributor")
)  # fmt: skip


class OdfPackage(Struct, frozen=True, dict=True):
    """An opened OpenDocument file."""

    archive: Archive

    @cached_property
    def content(self) -> Element:
        """The root of the content. Raises Unreadable."""
        return self.root(CONTENT)

    @cached_property
    def styles(self) -> Element | None:
        """The root of the common styles; None where they are missing or broken."""
        return self.part("styles.xml")

    def root(self, member: str) -> Element:
        """The root of a member. Raises Unreadable."""
        return xml.parse(self.archive.read(member), member)

    def part(self, member: str) -> Element | None:
        """The root of a member that a document can do without."""
        try:
            return self.root(member) if member in self.archive.members else None
        except Unreadable:
            return None

    def body(self, *kinds: str) -> Element:
        """The element of the content with a document of one of these kinds. Raises Unreadable."""
        body = self.content.find(f"{OFFICE}body")
        for element in () if body is None else body:
            if local(element) in kinds:
                return element
        raise Unreadable(f"it has no {kinds[0]} in it", archives.ANOTHER_COPY)

    def styled(self) -> Iterator[Element]:
        """The roots that hold styles."""
        yield self.content
        if self.styles is not None:
            yield self.styles

    def beside(self) -> Counter[str]:
        """Counts of hidden content outside of parts: properties, and programs."""
        meta = self.part("meta.xml")
        elements = () if meta is None else meta.iter()
        names = self.archive.members
        return Counter(
            {
                "document property": sum(
                    local(at) in _PROPERTIES and bool("".join(at.itertext()).strip()) for at in elements
                ),
                "macro project": sum(
                    name.startswith(("Basic/", "Scripts/"))
                    and not name.endswith(("/", "script-lc.xml", "script-lb.xml"))
                    for name in names
                ),
                "film or sound": sum(name.startswith("media/") and not name.endswith("/") for name in names),
            }
        )


def open_package(file: BinaryIO) -> OdfPackage:
    """The package in `file`. Raises Unreadable."""
    check_not_ole(file)
    archive = archives.open_archive(packed(file))
    check_not_encrypted(archive)
    return OdfPackage(archive)


def packed(file: BinaryIO) -> BinaryIO:
    """The file, or a package made of a flat one (.fodt, .fods, .fodp). Raises Unreadable."""
    file.seek(0)
    head = file.read(_HEAD_BYTES)
    file.seek(0)
    if not head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<"):
        return file
    data = file.read(ARCHIVE_MEMBER_BYTES + 1)
    if len(data) > ARCHIVE_MEMBER_BYTES:
        raise Unreadable(
            f"it is one XML of more than {ARCHIVE_MEMBER_BYTES:,} bytes",
            "Ask for it as a package (ODT, ODS, ODP), or read it as plain text, with `encoding`.",
        )
    try:
        root = xml.parse(data, "document")
    except Unreadable as error:
        raise Unreadable(error.problem, "Read it as plain text, with `encoding`.") from None
    if root.tag != f"{OFFICE}document":
        raise Unreadable("it is XML other than OpenDocument", "Read it as plain text, with `encoding`.")
    meta = root.find(f"{OFFICE}meta")
    members = {CONTENT: data, "styles.xml": data, "meta.xml": b"" if meta is None else etree.tostring(meta)}
    package = io.BytesIO()
    with zipfile.ZipFile(package, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            if content:
                archive.writestr(name, content)
    return package


def check_not_encrypted(archive: Archive) -> None:
    """Return when the content can be read without a password. Raises Encrypted."""
    name = "META-INF/manifest.xml"
    locked = "encrypted-package" in archive.members
    if not locked and name in archive.members:
        locked = b"encryption-data" in archive.read(name)
    if locked:
        raise Encrypted("it is encrypted", "Ask for a copy without a password.")


def number(element: Element, name: str, usual: int = 1) -> int:
    """An attribute that is a number of up to seven digits; `usual` for all else."""
    value = element.get(name, "")
    return int(value) if value.isascii() and value.isdecimal() and len(value) < 8 else usual


class _Level(Struct, frozen=True):
    """The label of items at one level; `form` is empty for no label, a bullet or a number format."""

    form: str
    before: str = ""
    behind: str = ""
    levels: int = 1
    start: int = 1


class OdfLists(Struct):
    """The list styles of a document, and how far its lists have been counted."""

    styles: Mapping[str, Mapping[int, _Level]]
    outline: Mapping[int, _Level]
    _counts: dict[str, dict[int, int]] = field(default_factory=dict)

    def label(self, key: str, style: str, level: int, start: int | None = None) -> str:
        """The label of the next item of a list; empty where its level has none."""
        levels = self.styles.get(style)
        if levels is None:
            return BULLET
        return self._label(key, levels, min(level, MAX_LEVELS), start)

    def heading(self, level: int, start: int | None = None) -> str:
        """The number of the next heading; empty where headings have none."""
        return self._label("", self.outline, level, start) if self.outline else ""

    def _label(self, key: str, levels: Mapping[int, _Level], level: int, start: int | None) -> str:
        here = levels.get(level)
        counts = self._counts.setdefault(key, {})
        first = 1 if here is None else here.start
        counts[level] = start if start is not None else counts[level] + 1 if level in counts else first
        for deeper in [at for at in counts if at > level]:
            del counts[deeper]
        if here is None or not here.form:
            return ""
        if here.form == BULLET:
            return BULLET
        depths = range(max(1, level - here.levels + 1), level + 1)
        forms = ((levels.get(at), at) for at in depths)
        numbers = [
            sections.numeral(counts.get(at, form.start), form.form)
            for form, at in forms
            if form is not None and form.form not in ("", BULLET)
        ]
        return f"{here.before}{'.'.join(numbers)}{here.behind}".strip()


def lists(package: OdfPackage) -> OdfLists:
    """The list styles of a document; its own win over common ones."""
    styles: dict[str, Mapping[int, _Level]] = {}
    outline: Mapping[int, _Level] = {}
    for root in package.styled():
        for style in root.iter(f"{TEXT}list-style"):
            styles.setdefault(style.get(f"{STYLE}name", ""), dict(map(_level, style)))
        for style in root.iter(f"{TEXT}outline-style"):
            levels = dict(map(_level, style))
            outline = levels if any(level.form for level in levels.values()) else {}
    return OdfLists(styles, outline)


def _level(element: Element) -> tuple[int, _Level]:
    level = number(element, f"{TEXT}level")
    if local(element) in ("list-level-style-bullet", "list-level-style-image"):
        return level, _Level(BULLET)
    return level, _Level(
        element.get(f"{STYLE}num-format", "")[:1],
        element.get(f"{STYLE}num-prefix", "")[:MAX_AFFIX],
        element.get(f"{STYLE}num-suffix", "")[:MAX_AFFIX],
        min(number(element, f"{TEXT}display-levels"), MAX_LEVELS),
        number(element, f"{TEXT}start-value"),
    )


def hidden_styles(package: OdfPackage) -> frozenset[str]:
    """The names of the styles whose text is not shown."""
    parents: dict[str, str] = {}
    hidden: dict[str, bool] = {}
    for root in package.styled():
        for style in root.iter(f"{STYLE}style"):
            name = style.get(f"{STYLE}name", "")
            parents.setdefault(name, style.get(f"{STYLE}parent-style-name", ""))
            properties = style.find(f"{STYLE}text-properties")
            display = None if properties is None else properties.get(f"{TEXT}display")
            if display is not None:
                hidden.setdefault(name, display == "none")
    return frozenset(name for name in parents if _inherited(name, parents, hidden))


def symbol_fonts(package: OdfPackage) -> Mapping[str, str]:
    """The symbol fonts that styles set their text in, by the names of the styles."""
    fonts: dict[str, str] = {}
    for root in package.styled():
        for style in root.iter(f"{STYLE}style"):
            properties = style.find(f"{STYLE}text-properties")
            for key in (f"{STYLE}font-name", f"{FO}font-family"):
                font = "" if properties is None else properties.get(key, "").strip("'")
                if symbols.known(font):
                    fonts.setdefault(style.get(f"{STYLE}name", ""), font)
    return fonts


def _inherited(name: str, parents: Mapping[str, str], hidden: Mapping[str, bool]) -> bool:
    for _ in range(MAX_PARENTS):
        if name in hidden:
            return hidden[name]
        name = parents.get(name, "")
    return False
