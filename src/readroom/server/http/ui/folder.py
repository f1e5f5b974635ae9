"""The folder as a treemap: a box per file by its size or lines, coloured by how often it was shown."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from readroom.core.deadline import Deadline
from readroom.core.errors import NoSuchView, ReadroomError
from readroom.core.paths import ROOT, WorkPath, ancestors, basename, join, parent
from readroom.core.policy.ignore_files import IgnoreTree
from readroom.core.quoting import as_value
from readroom.core.stores.base import is_far
from readroom.core.values import EntryKind
from readroom.server.http.ui.overview import of_files
from readroom.server.http.ui.page import (
    UI_ROWS,
    Cell,
    Figure,
    Filter,
    Link,
    Option,
    Page,
    Table,
    missing,
    number,
)
from readroom.server.http.ui.queries import FileSum
from readroom.server.http.ui.view import UI_EXPORT_ROWS, View
from readroom.server.ledger.rows import shown_path

UI_MAP_NAMES = 20_000
"""Names that are looked at to draw the map of a folder: half a second on a laptop."""

UI_MAP_S = 2.0
"""The time for it; an incomplete map says so."""

UI_MAP_COUNTED_BYTES = 32 * 1024 * 1024
"""Bytes of files that are read to count lines for a map, within its time."""

UI_MAP_FILE_BYTES = 1024 * 1024
"""The largest file whose lines are counted."""

UI_MAP_BOXES = 1500
"""Boxes of one map, the largest; smaller ones are less than a pixel."""


class Box(Struct):
    """A file or a folder of the map."""

    path: WorkPath
    name: str
    folder: bool = False
    size: int = 0
    lines: int = 0
    uncounted: int = 0
    files: int = 0
    seen: int = 0
    calls: int = 0
    tokens: int = 0


def folder_map(view: View) -> Page:
    """The page of a folder. Raises NoSuchView if it is missing, or hidden from this visitor."""
    path = view.sight.path(view.text("path") or ".")
    if path is None or not view.sight.listings:
        raise NoSuchView("folder")
    walk = _Walk(view)
    try:
        files = walk.files(path)
    except ReadroomError:
        raise NoSuchView("folder") from None
    by = view.text("area") if view.text("area") in _AREAS else ""
    by_lines = by == "lines"
    if by_lines:
        walk.count_lines(files)
    tree, inside = _summed(path, files, by_lines=by_lines)
    rows = [
        _row(view, box, by_lines=by_lines)
        for box in sorted(inside, key=lambda box: (-box.calls, -box.size, box.name))
    ]
    seen = [one for one in files if one.calls]
    notes = [walk.note] if walk.note else []
    most = view.rows(2 * UI_ROWS)
    said = [
        _AREAS[by][1],
        "Colour shows how many calls displayed the file; hatched ones were never looked at.",
    ]
    uncounted = sum(one.uncounted for one in files)
    if uncounted:
        without = f"{uncounted:,} of {len(files):,} files"
        said.append(f"Drawn without {without}, whose lines are not counted: {_NOT_COUNTED}")
    if len(files) > UI_MAP_BOXES:
        drawn = f"Drawn: {UI_MAP_BOXES:,} of {len(files):,} files"
        said.append(f"{drawn}, the shown and the largest ones.")
    if len(rows) > most:
        said.append(f"The table has the first {most:,} of {len(rows):,}.")
    table = Table(
        "folder",
        "Contents",
        ("Name", "Bytes", *["Lines"] * by_lines, "Files", "Files shown", "Calls", "Tokens"),
        rows[:most],
        empty="Nothing that you may see here.",
        chart={
            "kind": "map",
            "root": "this folder" if path == ROOT else path,
            "children": tree,
            "area": by,
            "file": f"{view.base}/file?path=",
            "map": f"{view.base}/map?path=",
        },
        note=" ".join([*said, *of_files(view.slice)]),
    )
    return Page(
        "Map" if path == ROOT else f"Map of {path}",
        (
            Figure("Files", f"{len(files):,}"),
            Figure("Files shown", f"{len(seen):,}", f"{100 * len(seen) // len(files)} %" if files else ""),
            Figure(
                "Never looked at",
                f"{len(files) - len(seen):,}",
                tone="warn" if len(seen) < len(files) else "",
            ),
            Figure("Bytes", f"{sum(one.size for one in files):,}"),
            *[Figure("Lines counted", f"{sum(one.lines for one in files):,}")] * by_lines,
            Figure("Times a file was shown", f"{sum(one.calls for one in files):,}"),
        ),
        [table],
        [*view.filters("agent", "token", "tool"), _area(by)],
        notes,
        crumbs=[] if path == ROOT else crumbs(view, path),
        kept={"path": as_value(path)} if path != ROOT else {},
    )


_AREAS: Mapping[str, tuple[str, str]] = {
    "": (
        "Root of size",
        "A box is as large as the root of the size of its file, so that one log leaves room.",
    ),
    "size": ("Size", "A box has the size of its file."),
    "lines": ("Root of lines", "A box is as large as the root of the number of lines of its file."),
    "same": ("One file, one box", "All boxes are of one size."),
}

_NOT_COUNTED = (
    f"not text in bytes, larger than {UI_MAP_FILE_BYTES >> 20} MiB, beyond {UI_MAP_COUNTED_BYTES >> 20} MiB "
    f"or {UI_MAP_S:g} s in all, far away, or not for you to read."
)


def _area(by: str) -> Filter:
    options = [Option(name, label, name == by) for name, (label, _) in _AREAS.items()]
    return Filter("area", "Boxes by", options)


class _Walk:
    """Walks a folder through the guard, within limits."""

    def __init__(self, view: View) -> None:
        self._guard = view.access.workspace.guard
        self._contents = view.sight.contents
        self._ignored = IgnoreTree(self._guard)
        self._deadline = Deadline().within(UI_MAP_S)
        sums = view.questions.files(view.slice, UI_EXPORT_ROWS)
        self._sums: Mapping[str, FileSum] = {one.path: one for one in sums}
        self._left = UI_MAP_NAMES
        self.note = ""

    def files(self, top: WorkPath) -> list[Box]:
        """The files below a folder, without ignored ones that were never shown."""
        found: list[Box] = []
        pending = [top]
        while pending:
            folder = pending.pop()
            if self._left <= 0 or self._deadline.expired:
                self.note = "The folder is too large to draw whole; open a subfolder to see all of it."
                break
            try:
                self._enter(folder, found, pending)
            except ReadroomError:
                if folder == top:
                    raise
        return found

    def count_lines(self, files: list[Box]) -> None:
        """Count the lines of files, the shown ones first and then the small ones."""
        left = UI_MAP_COUNTED_BYTES
        for box in sorted(files, key=lambda one: (-bool(one.calls), one.size)):
            lines = None
            if self._contents and box.size <= min(left, UI_MAP_FILE_BYTES) and not self._deadline.expired:
                left -= box.size
                lines = self._lines(box)
            box.lines, box.uncounted = lines or 0, int(lines is None)

    def _lines(self, box: Box) -> int | None:
        """The lines of a file; None if it is not text, or is not to be read."""
        try:
            with self._guard.open(box.path) as source:
                data = b"\0" if is_far(source) else source.read_at(0, box.size)
        except ReadroomError:
            return None
        return None if b"\0" in data else data.count(b"\n") + (data[-1:] not in (b"", b"\n"))

    def _enter(self, folder: WorkPath, found: list[Box], pending: list[WorkPath]) -> None:
        with self._guard.open_folder(folder) as opened:
            for entry in opened.entries():
                self._left -= 1
                if self._left <= 0:
                    return
                path, is_folder = join(folder, entry.name), entry.kind is EntryKind.FOLDER
                if entry.kind not in (EntryKind.FILE, EntryKind.FOLDER):
                    continue
                if not self._guard.allows(path, folder=is_folder):
                    continue
                sums = None if is_folder else self._sums.get(shown_path(path))
                if sums is None and self._ignored.ignored(path, folder=is_folder):
                    continue
                if is_folder:
                    pending.append(path)
                    continue
                box = Box(path, entry.name, size=opened.stat(entry.name).size, files=1)
                if sums is not None:
                    box.seen, box.calls, box.tokens = 1, sums.calls, sums.tokens
                found.append(box)


def _summed(top: WorkPath, files: list[Box], *, by_lines: bool) -> tuple[list[object], list[Box]]:
    """The boxes of the map, nested, and the entries of the folder."""
    folders: dict[WorkPath, Box] = {}
    for one in files:
        for above in ancestors(one.path):
            box = folders.setdefault(above, Box(above, basename(above), folder=True))
            for name in ("size", "lines", "uncounted", "files", "seen", "calls", "tokens"):
                setattr(box, name, getattr(box, name) + getattr(one, name))
    sized = [one for one in files if not one.uncounted]
    sized.sort(key=lambda one: (-bool(one.calls), -(one.lines if by_lines else one.size)))
    drawn = sized[:UI_MAP_BOXES]
    every = [*(box for box in folders.values() if box.path != top), *files]
    inside = [box for box in every if parent(box.path) == top]
    return _nested(top, drawn), inside


def _nested(top: WorkPath, files: list[Box]) -> list[object]:
    """Nested folders in the format of the chart: name, path, size, calls."""
    inside: dict[WorkPath, list[object]] = {top: []}

    def children(path: WorkPath) -> list[object]:
        if path not in inside:
            inside[path] = []
            node = {"name": as_value(basename(path)), "path": as_value(path), "children": inside[path]}
            children(parent(path)).append(node)
        return inside[path]

    for one in files:
        value = [max(one.size, 1), one.calls, max(one.lines, 1)]
        leaf = {"name": as_value(one.name), "path": as_value(one.path), "value": value}
        children(parent(one.path)).append(leaf)
    return inside[top]


def _row(view: View, box: Box, *, by_lines: bool) -> tuple[Cell, ...]:
    page = "map" if box.folder else "file"
    name = as_value(box.name) + ("/" if box.folder else "")
    looked = number(box.seen) if box.seen else Cell("never", number=True, tone="warn", raw=0)
    return (
        Cell(name, view.bare(page, path=as_value(box.path)), code=True),
        number(box.size),
        *[replace(missing(), number=True) if box.uncounted == box.files else number(box.lines)] * by_lines,
        number(box.files),
        looked,
        *map(number, (box.calls, box.tokens)),
    )


def crumbs(view: View, path: WorkPath) -> list[Link]:
    """Breadcrumbs to a file or a folder on the map."""
    above = (Link(basename(one), view.bare("map", path=as_value(one))) for one in ancestors(path))
    return [Link("Map", view.bare("map")), *above]
