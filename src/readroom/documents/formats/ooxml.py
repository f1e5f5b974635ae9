"""Office Open XML packages: their parts, relations between parts, and the words of charts and diagrams.

Only requested parts are read; pictures, videos and fonts never are.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import BinaryIO
from urllib.parse import unquote

from msgspec import Struct, field

from readroom.core.paths import BORDER
from readroom.documents.formats import OR_MEMBERS, Unreadable, archives, embedded, macros, told, xml
from readroom.documents.formats.archives import Archive
from readroom.documents.formats.compound import check_not_ole
from readroom.documents.formats.elements import Element, local
from readroom.documents.formats.sections import drawing

RELATIONS = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"

MACROS = "vbaProject"
"""The kind of the relation to macros."""


class Relation(Struct, frozen=True):
    """A reference of a part: the last word of its type, and a member's name or a link."""

    kind: str
    target: str
    external: bool


class Package(Struct, frozen=True):
    """An opened package, and the name of its main part."""

    archive: Archive
    main: str
    _unread: dict[str, None] = field(default_factory=dict)

    def root(self, name: str) -> Element:
        """The root element of a part. Raises Unreadable."""
        return xml.parse(self.archive.read(name), name)

    def beside(self, name: str) -> Element | None:
        """The root element of a part that others do not need; None if it cannot be read, see `unread`."""
        with self.passing():
            return self.root(name)
        return None

    def relations(self, part: str) -> Mapping[str, Relation]:
        """The references of `part` by id; none where they cannot be read, see `unread`."""
        with self.passing():
            return _relations(self.archive, part)
        return {}

    @contextmanager
    def passing(self) -> Iterator[None]:
        """Skip what cannot be read, and report it through `unread`."""
        try:
            yield
        except Unreadable as error:
            self._unread[error.problem] = None

    def unread(self) -> list[str]:
        """Notes about parts that could not be read since this was asked last."""
        notes = [f"Not read: {problem}." for problem in self._unread]
        self._unread.clear()
        return notes

    def related(self, part: str, kind: str) -> tuple[str, ...]:
        """Parts that `part` refers to as `kind` and that exist, in the order of the file."""
        relations = (relation for relation in self.relations(part).values() if relation.kind == kind)
        return tuple(at.target for at in relations if not at.external and at.target in self.archive.members)


def open_package(file: BinaryIO) -> Package:
    """The package in `file`. Raises Unreadable."""
    check_not_ole(file)
    archive = archives.open_archive(file, recovers=True)
    main = next(
        (relation for relation in _relations(archive, "").values() if relation.kind == "officeDocument"), None
    )
    if main is None or main.external:
        raise Unreadable("it does not say which of its parts is the document", OR_MEMBERS)
    unread = {archives.RECOVERED: None} if archive.is_recovered else {}
    return Package(archive, main.target, unread)


def text_of(element: Element, name: str) -> str:
    """The text of all elements with this local name inside `element`; ends of paragraphs are spaces."""
    pieces = []
    for at in element.iter():
        if local(at) == name:
            pieces.append(at.text or "")
        elif local(at) == "p" and pieces:
            pieces.append(" ")
    return "".join(pieces)


_PROPERTIES = ("core-properties", "custom-properties", "extended-properties")
_BY_PROGRAMS = frozenset(("created", "modified", "lastPrinted", "revision", "version"))
_BY_PEOPLE = frozenset(("Company", "Manager", "HyperlinkBase"))
"""Extended properties that are shown; the others are counts by programs."""


def properties(package: Package) -> Counter[str]:
    """How many properties the document has: title, subject, keywords and others."""
    found: Counter[str] = Counter()
    for relation in _relations(package.archive, "").values():
        if relation.kind not in _PROPERTIES or relation.target not in package.archive.members:
            continue
        try:
            root = package.root(relation.target)
        except Unreadable:
            continue
        extended = relation.kind == "extended-properties"
        for at in root:
            words, name = "".join(at.itertext()).strip(), local(at)
            if words and (name in _BY_PEOPLE if extended else name not in _BY_PROGRAMS):
                found[told("document property", f"{at.get('name') or name}: {words}")] += 1
    return found


def inside(relation: Relation | None) -> str:
    """The path of a part that a document carries, as it follows the path of the document."""
    return "" if relation is None or relation.external else f"{BORDER}/{relation.target}"


def told_embedded(package: Package, relation: Relation | None) -> str:
    """The name under which an embedded object is counted: its path, and what can be read of it."""
    place = inside(relation)
    if relation is None or not place or relation.target not in package.archive.members:
        return told(embedded.KIND, place)
    with package.passing():
        return embedded.told_in(package.archive.read(relation.target), place)
    return told(embedded.KIND, place)


def beside_of(package: Package, names: Mapping[str, str]) -> Counter[str]:
    """Parts that the main part refers to and that are not read, by the kind of their relation: their paths.

    Of macros their source follows.
    """
    found: Counter[str] = Counter()
    for relation in package.relations(package.main).values():
        if relation.kind in names:
            lines = [inside(relation)]
            if relation.kind == MACROS and relation.target in package.archive.members:
                with package.passing():
                    lines += macros.lines_in(package.archive.read(relation.target))
            found[told(names[relation.kind], "\n".join(lines))] += 1
    return found


def _relations(archive: Archive, part: str) -> Mapping[str, Relation]:
    folder, _, name = part.rpartition("/")
    source = f"{folder}/_rels/{name}.rels".lstrip("/")
    if source not in archive.members:
        return {}
    root = xml.parse(archive.read(source), source)
    return {entry.get("Id", ""): _relation(entry, folder) for entry in root.iter(RELATIONS)}


def _relation(entry: Element, folder: str) -> Relation:
    target = entry.get("Target", "")
    external = entry.get("TargetMode") == "External"
    if not external:
        # Some writers quote names, some start at the root, and all but a few are relative.
        target = posixpath.normpath(posixpath.join("/" + folder, unquote(target.partition("#")[0]))).lstrip(
            "/"
        )
    return Relation(entry.get("Type", "").rpartition("/")[2], target, external)


# -----------------------------------------------------------------------------
# The words of charts and diagrams, which are parts of their own.
# -----------------------------------------------------------------------------


def drawing_lines(package: Package, part: str, relation: str, kind: str) -> list[str]:
    """The words of a chart or a diagram (`kind`), to which `part` refers by the id `relation`."""
    target = package.relations(part).get(relation)
    if target is None or target.external or target.target not in package.archive.members:
        return [f"[{kind}]"]
    try:
        root = package.root(target.target)
    except Unreadable as error:
        return [f"[{kind} that cannot be read: {error.problem}]"]
    return drawing(kind, list(_diagram(root) if kind == "diagram" else _chart(root)))


def _diagram(root: Element) -> Iterator[str]:
    for point in root.iter():
        if local(point) == "pt":
            words = " ".join(text_of(point, "t").split())
            if words:
                yield words


def _chart(root: Element) -> Iterator[str]:
    """Titles, then each series with its labels and values, as stored when it was drawn."""
    for element in root.iter():
        name = local(element)
        if name == "title":
            words = " ".join(text_of(element, "t").split())
            if words:
                yield words
        elif name in ("ser", "series"):
            yield from _series(element)
        elif name == "strDim" or name == "numDim":  # of the newer kinds of charts
            yield from (" ".join((at.text or "").split()) for at in element.iter() if local(at) == "pt")


def _series(series: Element) -> Iterator[str]:
    name, labels, values = "", [], []
    for element in series:
        at = local(element)
        if at == "tx":
            name = " ".join(text_of(element, "v").split()) or " ".join(text_of(element, "t").split())
        elif at in ("cat", "xVal"):
            labels = list(_cached(element))
        elif at in ("val", "yVal", "bubbleSize"):
            values += list(_cached(element))
        elif at == "dLbls":
            labels_of = " ".join(text_of(element, "t").split())
            if labels_of:
                yield labels_of
    pairs = [f"{label}: {value}" for label, value in zip(labels, values, strict=False)]
    rest = labels[len(pairs) :] + values[len(pairs) :]
    words = ", ".join([*pairs, *rest])
    if name or words:
        yield f"{name} ({words})" if name and words else name or words


def _cached(element: Element) -> Iterator[str]:
    for point in element.iter():
        if local(point) == "pt":
            yield " ".join(text_of(point, "v").split())
