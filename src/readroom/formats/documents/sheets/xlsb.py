"""Binary Excel workbooks (.xlsb), sheet by sheet, by python-calamine.

The records of a sheet are streamed once for each area: the rows of the area are copied into a workbook with
only that sheet, which the library reads, so that rows cost what they are and not what their sheet is. Other
rows are counted.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field

from readroom.formats.documents import Area, Part, Unreadable, archives, beside_note, ooxml
from readroom.formats.documents.archives import ANOTHER_COPY
from readroom.formats.documents.ooxml import Package
from readroom.formats.documents.page_ranges import MAX_COLUMNS, MAX_ROWS, column_letters
from readroom.formats.documents.sheets import cells as sheet_cells
from readroom.formats.documents.sheets import cut_out
from readroom.formats.documents.sheets.cells import CellBudget, Table
from readroom.formats.documents.sheets.cut_out import ListedSheet
from readroom.limits.documents import BINARY_MERGED, BINARY_RECORD_BYTES, SHEET_BYTES

ROW, LAST_CELL, FIRST_FORMULA, LAST_FORMULA = 0, 11, 8, 11
RICH_CELL = 62
_FAILED, _TEXT_CELL = (3, 11), 6
_ERRORS = {0: "#NULL!", 7: "#DIV/0!", 15: "#VALUE!", 23: "#REF!", 29: "#NAME?", 36: "#NUM!", 42: "#N/A",
           43: "#GETTING_DATA"}  # fmt: skip
BEGIN_DATA, END_DATA, SIZE, END_SHEET = 145, 146, 148, 130
COLUMN, MERGED, SHEET, COMMENT, LINK, NAME, SETTINGS = 60, 176, 156, 635, 494, 39, 153
_HIDDEN_ROW = 0x10


class CutShort(Unreadable):
    """Records that end in the middle of one."""


class _BinaryCut(Struct):
    """What one pass over a sheet found: the records of the rows asked for, and counts."""

    header: dict[int, list[bytes]] = field(default_factory=dict)
    rows: dict[int, list[bytes]] = field(default_factory=dict)
    total: int = 0
    end: int = 0
    is_full: bool = False
    beyond: int = 0
    is_cut: bool = False
    formulas: int = 0
    hidden: int = 0
    columns: int = 0
    merged: list[str] = field(default_factory=list)
    links: int = 0


class BinarySheets(Struct, frozen=True):
    """The sheets of an opened workbook."""

    package: Package
    sheets: tuple[ListedSheet, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the sheets."""
        return tuple(sheet.name for sheet in self.sheets)

    def part(self, number: int, area: Area) -> Part:
        """The sheet with this number, or an area of it. Raises Unreadable."""
        sheet = self.sheets[number - 1]
        notes = sheet.notes
        if not sheet.member:
            return Part(number, sheet.name, (), total_rows=0, notes=notes)
        archives.check_size(self.package.archive, sheet.member, SHEET_BYTES)
        part = _cut(self.package.archive.pieces(sheet.member), area)
        end = min(part.end, part.total) if part.end else part.total
        rows = self._values(part.rows)
        header = self._values(part.header).get(1, ()) if area.first_row > 1 else None
        notes += sheet_cells.count_note(part.beyond, *sheet_cells.BEYOND)
        if part.is_cut:
            notes.append(f"It is cut short: what follows row {part.total} is missing.")
        notes += sheet_cells.count_note(part.formulas, *sheet_cells.VALUES)
        notes += sheet_cells.hidden_notes(part.hidden, part.columns)
        notes += sheet_cells.merged_note(part.merged)
        notes += [*beside_note(self._beside(number, sheet, part)), *self.package.unread()]
        table = Table(rows, header, part.total, end, notes, is_full=part.is_full)
        return sheet_cells.part(number, sheet.name, table, area)

    def _beside(self, number: int, sheet: ListedSheet, part: _BinaryCut) -> Mapping[str, int]:
        package = self.package
        counts = Counter({"link target": part.links})
        for member in package.related(sheet.member, "comments"):
            with package.passing():
                kinds = [kind for kind, _ in records(package.archive.pieces(member))]
                counts["comment"] += kinds.count(COMMENT)
        for relation in package.relations(sheet.member).values():
            counts["drawing"] += relation.kind in ("drawing", "vmlDrawing") and not counts["comment"]
            counts["pivot table"] += relation.kind == "pivotTable"
            counts["embedded object"] += relation.kind in ("oleObject", "package", "control")
        if number == 1:
            counts += ooxml.properties(package)
            main = list(records(package.archive.pieces(package.main)))
            counts["defined name"] += sum(kind == NAME for kind, _ in main)
            parts = [relation.kind for relation in package.relations(package.main).values()]
            counts["macro project"] += parts.count("vbaProject")
            counts["link to another workbook"] += parts.count("externalLink")
        return counts

    def _values(self, rows: Mapping[int, Sequence[bytes]]) -> sheet_cells.Rows:
        """The values of some rows from the library, which gets them without gaps."""
        if not rows:
            return {}
        numbers = sorted(rows)
        placed = (
            _record(ROW, struct.pack("<I", at) + rows[number][0][4:]) + b"".join(rows[number][1:])
            for at, number in enumerate(numbers)
        )
        package, data = self.package, b"".join(placed)
        kept = records(package.archive.pieces(package.main))
        about = [_record(kind, setting) for kind, setting in kept if kind == SETTINGS]
        members = {
            "workbook": b"".join((_record(131, b""), *about[:1], _ONE_SHEET, _record(132, b""))),
            "worksheets/sheet1": b"".join(
                (_record(129, b""), _record(SIZE, _size(data)), _record(BEGIN_DATA, b""), data,
                 _record(END_DATA, b""), _record(END_SHEET, b""))
            ),
        }  # fmt: skip
        for kind in ("styles", "sharedStrings"):
            if (member := cut_out.part_of(package, kind)) is not None:
                members[kind] = package.archive.read(member)
        return sheet_cells.numbered(numbers, *cut_out.values(members, "bin"))


def open_workbook(package: Package) -> BinarySheets:
    """The workbook in `package`. Raises Unreadable."""
    related = package.relations(package.main)
    sheets: list[ListedSheet] = []
    for kind, data in records(package.archive.pieces(package.main)):
        if kind == SHEET and len(data) >= 12:
            state = struct.unpack_from("<I", data)[0]
            key, at = _string(data, 8)
            name, _ = _string(data, at)
            at = len(sheets) + 1
            sheets.append(cut_out.listed(package, at, name, related.get(key), hidden=state != 0))
    if not sheets:
        raise Unreadable("its list of sheets is damaged", ANOTHER_COPY)
    return BinarySheets(package, tuple(sheets))


def records(pieces: Iterator[bytes]) -> Iterator[tuple[int, bytes]]:
    """The records of a member, as kind and content. Raises Unreadable."""
    rest = b""
    for piece in pieces:
        data = rest + piece
        at = 0
        while (head := _head(data, at)) is not None:
            kind, size, start = head
            if size > BINARY_RECORD_BYTES:
                raise Unreadable(f"it has a record of more than {BINARY_RECORD_BYTES:,} bytes", ANOTHER_COPY)
            if start + size > len(data):
                break
            yield kind, data[start : start + size]
            at = start + size
        rest = data[at:]
    if rest:
        raise CutShort("its tables are cut short", ANOTHER_COPY)


def _head(data: bytes, at: int) -> tuple[int, int, int] | None:
    """The kind and size of the record at a place, and where its content begins; None to wait for more."""
    if at >= len(data):
        return None
    kind = data[at]
    at += 1
    if kind & 0x80:
        if at >= len(data):
            return None
        kind = (kind & 0x7F) | (data[at] & 0x7F) << 7
        at += 1
    size = 0
    for shift in range(0, 28, 7):
        if at >= len(data):
            return None
        size |= (data[at] & 0x7F) << shift
        at += 1
        if not data[at - 1] & 0x80:
            break
    return kind, size, at


def _record(kind: int, data: bytes) -> bytes:
    head = bytes((kind,)) if kind < 0x80 else bytes((kind & 0x7F | 0x80, kind >> 7))
    size, left = b"", len(data)
    while True:
        left, seven = left >> 7, left & 0x7F
        size += bytes((seven | (0x80 if left else 0),))
        if not left:
            return head + size + data


def _cut(pieces: Iterator[bytes], area: Area) -> _BinaryCut:
    """The rows of an area, and counts of the rest of the sheet."""
    part = _BinaryCut()
    room = CellBudget(area)
    last = MAX_ROWS if area.last_row is None else area.last_row
    row, head, cells, wanted = 0, b"", 0, False
    for kind, data in _whole(records(pieces), part):
        if kind == ROW and len(data) >= 13:
            row, head, cells = struct.unpack_from("<I", data)[0] + 1, data, 0
            wanted = area.first_row <= row <= last
            part.hidden += wanted and bool(data[11] & _HIDDEN_ROW)
        elif (0 < kind <= LAST_CELL or kind == RICH_CELL) and len(data) >= 8 and row:
            column = struct.unpack_from("<I", data)[0] + 1
            if column > MAX_COLUMNS or row > MAX_ROWS or cells >= MAX_COLUMNS:
                part.beyond += kind > 1
                continue
            if kind > 1:
                part.total = max(part.total, row)
            if wanted and kind > 1 and not room.take(row, column):
                last, wanted, part.end, part.is_full = room.last, False, room.last, room.is_full
            kept = part.rows if wanted else part.header if row == 1 < area.first_row else None
            if kept is not None and kind > 1:
                cell = _said(data) if kind in _FAILED else _record(kind, data)
                kept.setdefault(row, [head]).append(cell)
                cells += 1
                part.formulas += wanted and FIRST_FORMULA <= kind <= LAST_FORMULA
        elif kind == COLUMN and len(data) >= 18:
            first, past = struct.unpack_from("<2I", data)
            part.columns += (past - first + 1) * (data[16] & 1) if past < MAX_COLUMNS else 0
        elif kind == MERGED and len(data) >= 16:
            top, bottom, left, right = struct.unpack_from("<4I", data)
            if right < MAX_COLUMNS and len(part.merged) < BINARY_MERGED:
                part.merged.append(
                    f"{column_letters(left + 1)}{top + 1}:{column_letters(right + 1)}{bottom + 1}"
                )
        part.links += kind == LINK
    part.end = part.end or last
    return part


def _whole(found: Iterator[tuple[int, bytes]], part: _BinaryCut) -> Iterator[tuple[int, bytes]]:
    """The records of a sheet up to where it is cut short. Raises Unreadable if that is before its cells."""
    try:
        yield from found
    except CutShort:
        if not part.total:
            raise
        part.is_cut = True


def _said(data: bytes) -> bytes:
    """A cell that failed as one with the words for it: of errors the library makes empty cells."""
    return _record(_TEXT_CELL, data[:8] + _text(_ERRORS.get(data[8] if len(data) > 8 else -1, "#ERR!")))


def _size(rows: bytes) -> bytes:
    """The rectangle that rows take, as the library wants to know it."""
    top, bottom, right, row = MAX_ROWS, 0, 0, 0
    for kind, data in records(iter((rows,))):
        at = struct.unpack_from("<I", data)[0]
        if kind == ROW:
            row = at
            top, bottom = min(top, row), max(bottom, row)
        else:
            right = max(right, at)
    return struct.pack("<4I", top, bottom, 0, right)


def _string(data: bytes, at: int) -> tuple[str, int]:
    count = struct.unpack_from("<I", data, at)[0] if at + 4 <= len(data) else 0
    count = 0 if count == 0xFFFF_FFFF else min(count, (len(data) - at - 4) // 2)
    return data[at + 4 : at + 4 + 2 * count].decode("utf-16-le", "replace"), at + 4 + 2 * count


def _text(words: str) -> bytes:
    return struct.pack("<I", len(words)) + words.encode("utf-16-le")


_ONE_SHEET = b"".join(
    (
        _record(143, b""),
        _record(SHEET, struct.pack("<2I", 0, 1) + _text("r1") + _text("s")),
        _record(144, b""),
    )
)
