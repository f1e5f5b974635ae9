"""Tables of data: columns with types, numbers of rows, and a window of rows as aligned text.

Each format is a module that opens a stream and gives `DataTable`s; all of them run in the confined child. A
table gives its rows by number from 1, and notes about what it cannot give.

Knows: what formats share: tables as parts of a document, the columns a caller picks, and values as text.
Does not know: pages, replies and budgets.
May be touched: freely, with the hostile tables of the tests; `sqlite` with a security review.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime, time
from functools import cached_property
from itertools import accumulate
from typing import Protocol

from msgspec import Struct

from readroom.core.quoting import quote
from readroom.documents.formats import Area, Heading, NoSuchColumn, Part, Unit, Unreadable
from readroom.documents.formats.page_ranges import SCHEMA, parted
from readroom.documents.limits import BLOB_BYTES, DOCUMENT_NOTE_CHARS, SCHEMA_COLUMNS

_TYPES_CHARS = DOCUMENT_NOTE_CHARS - 80
"""Types of columns in a note, which also counts the omitted ones."""


class Column(Struct, frozen=True):
    """A column: its name, its type as declared, and its constraints ("primary key")."""

    name: str
    type: str
    detail: str = ""


class Rows(Struct, frozen=True):
    """Rows of a window.

    Attributes:
        values: One list for each row, as long as the requested columns; the format's own value
            for each, or `Clipped`.
        notes: Remarks on them.
        more: Whether rows follow, if the number of all rows is unknown.
    """

    values: Sequence[Sequence[object]]
    notes: Sequence[str] = ()
    more: bool = False


class DataTable(Protocol):
    """One table of a file."""

    @property
    def title(self) -> str:
        """Its name; empty where a file is one table."""

    @property
    def kind(self) -> str:
        """In one word: table, view."""

    @property
    def columns(self) -> Sequence[Column]:
        """All of them. Raises Unreadable."""

    @property
    def total(self) -> int | None:
        """Rows; None when that takes a scan."""

    @property
    def details(self) -> Sequence[str]:
        """Lines about indexes, keys and the like."""

    def rows(self, first: int, count: int, columns: Sequence[int], chars: int) -> Rows:
        """Up to `count` rows from `first`.

        Args:
            first: From 1.
            count: Maximum number of rows.
            columns: Positions from 0.
            chars: Maximum characters of a value; one more is returned if there are others.

        Raises:
            Unreadable: None can be read.
        """


class Database(Struct, frozen=True, dict=True):
    """Tables as a document: each is a part; the part SCHEMA lists the columns of all."""

    tables: Sequence[DataTable]
    notes: Sequence[str] = ()
    about: Sequence[str] = ()
    unit: Unit = Unit.TABLE

    @property
    def titles(self) -> Sequence[str]:
        """Names of the tables."""
        return [table.title for table in self.tables]

    @cached_property
    def contents(self) -> Sequence[Heading]:
        """The tables with their sizes and first columns; none where there is one table."""
        if len(self.tables) == 1:
            return ()
        return [Heading(1, _summary(table), at) for at, table in enumerate(self.tables, 1)]

    def part(self, number: int, area: Area | None = None) -> Part:
        """The table with this number, or a window of it. Raises Unreadable."""
        if number == SCHEMA:
            return Part(SCHEMA, "", list(self._schema()), notes=self.notes)
        if not 1 <= number <= len(self.tables):
            raise Unreadable(f"it has no table {number}", f"Use a number from 1 to {len(self.tables)}.")
        return _window(self.tables[number - 1], number, area or Area(), self.notes, len(self.tables) > 1)

    def _schema(self) -> Sequence[str]:
        lines = list(self.about)
        for table in self.tables:
            lines.append(_headline(table))
            try:
                columns = table.columns
            except Unreadable as error:
                lines.append(f"  [its columns cannot be read: {error.problem}]")
                continue
            lines += [f"  {_described(column)}" for column in columns[:SCHEMA_COLUMNS]]
            if len(columns) > SCHEMA_COLUMNS:
                lines.append(f"  [{len(columns) - SCHEMA_COLUMNS:,} more columns]")
            lines += [f"  {detail}" for detail in table.details]
        return lines


def _headline(table: DataTable) -> str:
    total = "rows not counted" if table.total is None else _count(table.total, "row")
    title = f" {quote(table.title)}" if table.title else ""
    return f"{table.kind}{title} ({total})"


HEADING_COLUMNS = 8
"""Columns named after a table in the list of tables."""


def _summary(table: DataTable) -> str:
    try:
        columns = table.columns
    except Unreadable:
        return f"{table.title} (cannot be read)"
    named = ", ".join(f"{column.name} {column.type}".strip() for column in columns[:HEADING_COLUMNS])
    more = f", +{len(columns) - HEADING_COLUMNS}" if len(columns) > HEADING_COLUMNS else ""
    total = "" if table.total is None else f"{_count(table.total, 'row')}: "
    kind = "" if table.kind == "table" else f"{table.kind}, "
    return f"{table.title} ({kind}{total}{named}{more})"


def _described(column: Column) -> str:
    return " ".join(part for part in (quote(column.name), column.type, column.detail) if part)


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


CELL_CHARS = 120
"""Length at which a cell among others is cut: a sentence. A column that is read alone shows its cells
whole."""

WIDE_CELL_CHARS = 1_000_000
"""Length of a cell in a column that is read alone. More is counted."""

BRIEF_ROWS = 5
"""Rows of each table when several are shown together, as examples."""


def _window(table: DataTable, number: int, area: Area, notes_before: Sequence[str], several: bool) -> Part:
    columns = table.columns
    picked = picked_columns(area.columns, columns)
    chars = WIDE_CELL_CHARS if len(picked) == 1 else CELL_CHARS
    last = area.last_row
    count = BRIEF_ROWS if last is None else max(0, last - area.first_row + 1)
    window = table.rows(area.first_row, count, picked, chars)
    written = [[cell(value, chars) for value in row] for row in window.values]
    cells = [[text for text, _ in row] for row in written]
    names = [" ".join(quote(columns[at].name).split()) for at in picked]
    header, lines = aligned(names, cells, [_is_number(window.values, at) for at in range(len(picked))])
    end = area.first_row + len(lines) - 1
    total, known = table.total, True
    if total is None:
        known = not window.more
        total = end + 1 if window.more else end
    notes = [*notes_before, *window.notes, *_column_notes(number, area, picked, columns)]
    if len(lines) < count and end < total:
        # The count in the file may be wrong, and a next step to missing rows would never end.
        notes.append(f"It claims to have {_count(total, 'row')}: rows from {end + 1:,} on cannot be read.")
        total = end
    notes += _cut_notes(number, picked, columns, written, chars)
    return Part(
        number,
        table.title,
        lines,
        header=header,
        first_row=area.first_row,
        total_rows=total,
        notes=notes,
        brief=area.first_row + BRIEF_ROWS - 1 if several else None,
        total_known=known,
    )


def _column_notes(number: int, area: Area, picked: Sequence[int], columns: Sequence[Column]) -> list[str]:
    """A line above the first rows: types of the shown columns, and that there are others."""
    if area.columns or area.first_row > 1:
        return []
    types = [f"{quote(columns[at].name)} {columns[at].type}".strip() for at in picked]
    fitting = sum(end <= _TYPES_CHARS for end in accumulate(len(text) + 2 for text in types))
    left = len(types) - fitting
    types = [*types[:fitting], *([f'… and {left} more: pages="schema" shows them'] if left else [])]
    notes = [f"columns: {', '.join(types)}"] if types else []
    if len(columns) > len(picked):
        first, last = len(picked) + 1, min(len(columns), 2 * len(picked))
        notes.append(
            f'{len(columns) - len(picked):,} more columns: pages="{number}!{first}-{last}" continues.'
        )
    return notes


def _cut_notes(
    number: int,
    picked: Sequence[int],
    columns: Sequence[Column],
    rows: Sequence[Sequence[tuple[str, bool]]],
    chars: int,
) -> list[str]:
    """How many cells are cut, and how one column is read whole."""
    cut = [at for row in rows for at, (_, is_cut) in enumerate(row) if is_cut]
    if not cut:
        return []
    pick = _pick_of(picked[cut[0]], columns)
    how = f' pages="{number}!{pick}" shows one column whole.' if len(picked) > 1 else ""
    return [
        f"{_count(len(cut), 'cell')} {'is' if len(cut) == 1 else 'are'} cut at {chars:,} characters.{how}"
    ]


def _is_number(rows: Sequence[Sequence[object]], at: int) -> bool:
    values = [row[at] for row in rows if row[at] is not None]
    return bool(values) and all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in values
    )


# --- which columns -----------------------------------------------------------------------------


TABLE_COLUMNS = 30
"""Columns shown unless some are picked; at 20 characters each a row has 600."""

PICKED_COLUMNS = 500
"""Columns that can be picked at once; SQLite takes 2,000 expressions, and each column is in three."""


def picked_columns(wanted: str, columns: Sequence[Column]) -> Sequence[int]:
    """Positions of the picked columns, in that order: names, numbers from 1, ranges of numbers.

    Raises:
        NoSuchColumn: There is none of that name or number.
    """
    if not wanted.strip():
        return range(min(len(columns), TABLE_COLUMNS))
    names = _places(column.name.casefold() for column in columns)
    names |= _places(column.name for column in columns)
    positions: list[int] = []
    for item in filter(None, map(str.strip, parted(wanted, ","))):
        positions += _picked(item, names, len(columns))
        if len(positions) > PICKED_COLUMNS:
            raise NoSuchColumn(
                f"more than {PICKED_COLUMNS} columns are picked at once", "Pick fewer of them."
            )
    return list(dict.fromkeys(positions))


def _places(names: Iterable[str]) -> dict[str, list[int]]:
    """The columns of each name: a join has several of one."""
    places: dict[str, list[int]] = {}
    for at, name in enumerate(names):
        places.setdefault(name, []).append(at)
    return places


def _picked(item: str, names: dict[str, list[int]], total: int) -> Sequence[int]:
    plain = item[1:-1].replace("''", "'") if len(item) > 1 and item[0] == item[-1] == "'" else item
    places = names.get(plain, names.get(plain.casefold()))
    if places is not None:
        return places
    first, dash, last = item.partition("-")
    if first.strip().isdecimal() and (not dash or not last.strip() or last.strip().isdecimal()):
        start = int(first)
        end = int(last) if last.strip() else total if dash else start
        if 1 <= start <= end <= total:
            return range(start - 1, min(end, start + PICKED_COLUMNS))
    first_names = list(dict.fromkeys(names))[:12]
    raise NoSuchColumn(
        f"it has no column {item[:80]!r}",
        f"Use names of columns, or numbers from 1 to {total}. The first are: {', '.join(first_names)}.",
    )


def _pick_of(at: int, columns: Sequence[Column]) -> str:
    """How to pick one column: by its name, or by its number if others have that name."""
    name = columns[at].name
    alone = sum(column.name == name for column in columns) == 1
    return spelled(name) if alone else str(at + 1)


def spelled(name: str) -> str:
    """The name of a column as it is picked."""
    plain = name.replace("_", "").isalnum() and not name.isdecimal()
    return name if plain else "'" + name.replace("'", "''") + "'"


# -----------------------------------------------------------------------------
# Values as text on one line, and rows as aligned text.
# -----------------------------------------------------------------------------

SEPARATOR = " | "
NULL = "NULL"

_BREAKS = re.compile("\r\n|[\0\t\r\n\v\f\x1c-\x1e\x85\u2028\u2029]")


class Clipped(Struct, frozen=True):
    """The beginning of a longer value: characters of a text or bytes of a binary one, `size` in all."""

    value: str | bytes
    size: int


def cell(value: object, chars: int) -> tuple[str, bool]:
    """The value on one line, cut after `chars` characters, and whether it was cut.

    A missing value is NULL; an empty text, or the text NULL, is quoted.
    """
    size = value.size if isinstance(value, Clipped) else None
    if isinstance(value, Clipped):
        value = value.value
    if isinstance(value, bytes | bytearray | memoryview):
        return _binary(bytes(value), len(value) if size is None else size), False
    if isinstance(value, str):
        quoted = value in ("", NULL) and size is None
        text = f"'{value}'" if quoted else value
    else:
        text = _plain(value)
    total = len(text) if size is None else max(size, len(text))
    escaped = _BREAKS.sub(_escaped, text[:chars])
    return (f"{escaped} [+{total - chars:,} chars]", True) if total > chars else (escaped, False)


def _escaped(match: re.Match[str]) -> str:
    mark = match[0]
    return {"\t": "\\t", "\n": "\\n", "\r": "\\r", "\r\n": "\\n"}.get(mark, f"\\u{ord(mark[-1]):04x}")


def _binary(value: bytes, size: int) -> str:
    if size == len(value) <= 4 * BLOB_BYTES and value and value.isascii() and value.decode().isprintable():
        return f"b'{value.decode()}'"
    digits = value[:BLOB_BYTES].hex()
    more = "…" if size > BLOB_BYTES else ""
    return f"x'{digits}{more}' ({size:,} byte{'' if size == 1 else 's'})"


def _plain(value: object) -> str:
    if value is None:
        return NULL
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat(" ")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, dict | list | tuple):
        return json.dumps(
            value, ensure_ascii=False, default=lambda inner: cell(inner, 1_000)[0], skipkeys=True
        )
    return str(value)


PADDED_CHARS = 32
"""Width up to which columns are padded, so that one long cell does not move all others."""


def aligned(
    names: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[bool]
) -> tuple[str, list[str]]:
    """The header line and the rows as aligned columns, numbers to the right.

    A cell longer than PADDED_CHARS shifts only its own row.
    """
    widths = [
        min(PADDED_CHARS, max([len(name), *(len(row[at]) for row in rows)])) for at, name in enumerate(names)
    ]
    header = _line(names, widths, numbers)
    return header, [_line(row, widths, numbers) for row in rows]


def _line(cells: Sequence[str], widths: Sequence[int], numbers: Sequence[bool]) -> str:
    padded = [
        text.rjust(width) if number else text.ljust(width)
        for text, width, number in zip(cells, widths, numbers, strict=True)
    ]
    return SEPARATOR.join(padded).rstrip()
