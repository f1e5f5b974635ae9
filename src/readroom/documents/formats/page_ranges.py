"""The grammar of `pages`: which parts of a document are requested, and how to request the rest.

    3-5,9            parts by number, from 1
    7-               from part 7 to the last
    page 3           the unit may be named: page, slide, sheet, cell, section, part
    Sheet2           a part by its title, which comes before a number if it is one
    Sheet2!A1:F200   an area of a sheet; 2!A:C by its number; 'a, b'!A1 quoted; A1:C9 of the first sheet
    #3               part 3, whatever the titles are
    3!0,50,100,100   the lower half of page 3, as a picture
    contents         the table of contents
    users!id,name    columns of a table of data, by name, number or range of numbers; with semicolons between
                     tables; id,name of the only table
    schema           the columns, types and keys of all tables

The functions are pure: facts about the document are arguments.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from readroom.core.formats import regions
from readroom.core.quoting import unquoted
from readroom.core.values.files import CONTENTS_WORD, SCHEMA_WORD
from readroom.documents.formats import Area, Unit

CONTENTS = 0
"""The number of the table of contents."""

SCHEMA = -1
"""The number of the schema of tables."""

MAX_CHARS = 500
"""Longest `pages`. A reply repeats it in the call that continues, and must have space for that."""

_SURE = "#"

MAX_COLUMNS, MAX_ROWS = 16_384, 1_048_576
"""Last row of a sheet in current programs."""

_NUMBERS = re.compile(r"(\d{1,9})(?:\s*(-)\s*(\d{1,9})?)?\Z")
_UNIT = re.compile(
    r"(?:pp?\.?|pages?|slides?|sheets?|cells?|sections?|parts?|tables?)\s*(?=\d)", re.IGNORECASE
)
_CELLS = re.compile(r"\$?([A-Z]{1,3})?\$?(\d{1,7})?(?::\$?([A-Z]{1,3})?\$?(\d{1,7})?)?\Z", re.IGNORECASE)
_QUOTED = re.compile(r"'((?:[^']|'')*)'\s*(?:!\s*(.*))?\Z")


class Pick(Struct, frozen=True):
    """Parts `first` to `last`, or an area of one sheet."""

    first: int
    last: int
    area: Area | None = None

    def __len__(self) -> int:
        return self.last - self.first + 1


class BadPages(Exception):
    """`pages` means nothing in a document; `problem` is a clause about it, `near` parts that there are."""

    def __init__(self, problem: str, near: str | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.near = near


def parse(pages: str, unit: Unit, total: int, titles: Sequence[str]) -> list[Pick]:
    """The parts that `pages` means, in its order; parts need not have `titles`. Raises BadPages."""
    if len(pages) > MAX_CHARS:
        raise BadPages(f"is longer than {MAX_CHARS} characters")
    names = {title.casefold(): number for number, title in reversed(list(enumerate(titles, 1))) if title}
    stripped = pages.strip()
    whole = names.get(stripped.casefold()) or names.get((unquoted(stripped) or "").casefold())
    if whole is not None:
        return [Pick(whole, whole)]
    if unit is Unit.TABLE:
        return _tables(pages, total, names)
    if not unit.has_rows and (pick := _pictured(stripped, unit, total)) is not None:
        return [pick]
    items = [item.strip() for item in parted(pages, ",")]
    picks = [_pick(item, unit, total, names) for item in items if item]
    if not picks:
        raise BadPages("names nothing")
    return picks


def _pictured(pages: str, unit: Unit, total: int) -> Pick | None:
    """A region of a page; None if it is something else. Raises BadPages."""
    name, mark, place = pages.partition("!")
    try:
        region = regions.parse(place) if mark else None
    except regions.BadRegion as error:
        raise BadPages(str(error), name or "1") from None
    if region is None:
        return None
    number = _named(name.removeprefix(_SURE).strip() or "1", unit, total, {})
    return Pick(number, number, Area(region=region))


def _tables(pages: str, total: int, names: dict[str, int]) -> list[Pick]:
    """The tables and columns that `pages` means. Raises BadPages."""
    several = [item.strip() for item in parted(pages, ";")]
    if total == 1 and not names and len(several) == 1 and "!" not in pages:
        plain = parted(pages, ",")[0].strip().casefold()
        if not _NUMBERS.match(_UNIT.sub("", plain)) and plain not in (CONTENTS_WORD, SCHEMA_WORD):
            return [Pick(1, 1, Area(columns=pages))]
    picks = []
    for item in several:
        name, mark, columns = _column_parts(item)
        if mark:
            if name.startswith(_SURE):
                name, names = name[1:].lstrip(), {}
            number = _named(name, Unit.TABLE, total, names)
            picks.append(Pick(number, number, Area(columns=columns) if columns else None))
        else:
            numbers = [piece.strip() for piece in parted(item, ",")]
            picks += [_pick(piece, Unit.TABLE, total, names) for piece in numbers if piece]
    if not picks:
        raise BadPages("names nothing")
    return picks


def _column_parts(item: str) -> tuple[str, str, str]:
    """A table, the mark after it, and its columns."""
    quoted = _QUOTED.match(item)
    if quoted and quoted[2] is not None:
        return quoted[1].replace("''", "'"), "!", quoted[2].strip()
    name, mark, columns = item.partition("!")
    return name.strip(), mark, columns.strip()


def parted(pages: str, mark: str) -> list[str]:
    """The pieces between separators that are not in quotes."""
    items, quoted = [""], False
    for char in pages:
        if char == mark and not quoted:
            items.append("")
            continue
        quoted ^= char == "'"
        items[-1] += char
    return items


def _pick(item: str, unit: Unit, total: int, names: dict[str, int]) -> Pick:
    if item.startswith(_SURE):
        item, names = item[1:].lstrip(), {}
    if item.casefold() in names:
        number = names[item.casefold()]
        return Pick(number, number)
    if item.casefold() == CONTENTS_WORD:
        return Pick(CONTENTS, CONTENTS)
    if unit is Unit.TABLE and item.casefold() == SCHEMA_WORD:
        return Pick(SCHEMA, SCHEMA)
    plain = _NUMBERS.match(_UNIT.sub("", item, count=1))
    if plain:
        return _numbered(plain, unit, total)
    name, cells = _parted(item)
    if cells is None and unit is Unit.SHEET and _area(name) is not None:
        name, cells = "1", name
    number = _named(name, unit, total, names)
    if cells is None:
        return Pick(number, number)
    if unit is not Unit.SHEET:
        raise BadPages(f"names the cells {cells[:40]!r}, and this document has no sheets")
    area = _area(cells)
    if area is None:
        raise BadPages(f"names cells {cells[:40]!r}; they are written like A1:F200, A:C or 5:20")
    return Pick(number, number, area)


def _numbered(match: re.Match[str], unit: Unit, total: int) -> Pick:
    first = int(match[1])
    last = int(match[3]) if match[3] else total if match[2] else first
    if first < 1 or last < first:
        raise BadPages(f"names {unit}s {match[0]}; they count from 1, the smaller number first", "1")
    if last > total:
        raise BadPages(f"names {unit} {last}", str(total) if first >= total else f"{first}-{total}")
    return Pick(first, last)


def _parted(item: str) -> tuple[str, str | None]:
    """A sheet and the cells of it."""
    quoted = _QUOTED.match(item)
    if quoted:
        return quoted[1].replace("''", "'"), quoted[2]
    name, mark, cells = item.rpartition("!")
    return (name.strip(), cells.strip()) if mark else (item, None)


def _named(name: str, unit: Unit, total: int, names: dict[str, int]) -> int:
    number = names.get(name.casefold())
    if number is not None:
        return number
    plain = _NUMBERS.match(_UNIT.sub("", name, count=1))
    if plain and not plain[2]:
        return _numbered(plain, unit, total).first
    raise BadPages(f"names {name[:80]!r}, and no {unit} has that title" if names else f"holds {name[:80]!r}")


def _area(cells: str) -> Area | None:
    """The rectangle that cells like B2:F9, B:F, 2:9 or B2 mean; None when they mean none."""
    match = _CELLS.match(cells)
    if not match or not cells or not (match[1] or match[2]):
        return None
    if ":" not in cells:
        if not (match[1] and match[2]):
            return None
        row, column = int(match[2]), column_number(match[1])
        return Area(row, row, column, column) if row else None
    if not (match[3] or match[4]):
        return None
    rows = [int(row) if row else None for row in (match[2], match[4])]
    columns = [column_number(letters) if letters else None for letters in (match[1], match[3])]
    first_row, last_row = rows[0] or 1, rows[1]
    first_column, last_column = columns[0] or 1, columns[1]
    if 0 in rows or (last_row or first_row) < first_row or (last_column or first_column) < first_column:
        return None
    return Area(first_row, last_row, first_column, last_column)


def column_number(letters: str) -> int:
    """The number of a column: A is 1, Z 26, AA 27."""
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - ord("A") + 1
    return number


def written(picks: Sequence[Pick], titles: Sequence[str]) -> str:
    """The `pages` that mean these parts."""
    several = ";" if any(pick.area is not None and pick.area.columns for pick in picks) else ","
    return several.join(_written(pick, titles) for pick in picks)


def _written(pick: Pick, titles: Sequence[str]) -> str:
    if pick.first == CONTENTS:
        return CONTENTS_WORD
    if pick.first == SCHEMA:
        return SCHEMA_WORD if SCHEMA_WORD not in map(str.casefold, titles) else _SURE + SCHEMA_WORD
    numbers = str(pick.first) if pick.first == pick.last else f"{pick.first}-{pick.last}"
    # A part may have a number as its title.
    mark = _SURE if numbers in titles or str(pick.first) in titles else ""
    area = pick.area
    return mark + numbers + ("" if area is None else f"!{area.region or area.columns or _cells(area)}")


def _cells(area: Area) -> str:
    first = column_letters(area.first_column)
    last = column_letters(area.last_column or MAX_COLUMNS)
    if area.last_row is None and area.first_row == 1:
        return f"{first}:{last}"
    return f"{first}{area.first_row}:{last}{area.last_row or MAX_ROWS}"


def column_letters(column: int) -> str:
    """The letters of a column: 1 is A, 27 AA."""
    letters = ""
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters
