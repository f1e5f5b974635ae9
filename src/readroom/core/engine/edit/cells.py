"""Change a notebook by its cells: texts within them, and whole cells.

A text is looked for in the sources of the cells, as a read shows them.  What comes out are bytes of the
stored JSON to be replaced, so the file is written, compared and refused like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct, field
from msgspec.structs import replace

from readroom.core import errors
from readroom.core.deadline import Deadline
from readroom.core.limits import MATCHES_NAMED, VALUE_CHARS
from readroom.core.quoting import first_of, quote
from readroom.core.text import cells
from readroom.core.text.cells import Cell, Notebook, Replacement
from readroom.core.text.edits.cell_forms import CellAction, CellEdit, CellEdits, TextEdit, cell_edits
from readroom.core.text.edits.diff import hunks, split
from readroom.core.text.edits.splice import Splice
from readroom.core.text.edits.suggest import Closest, closest
from readroom.core.values import ReadRequest
from readroom.core.values.changes import ChangedCells, DiffStyle, Edit, Hunk
from readroom.core.values.files import Warn

NOTEBOOK_BYTES = 40 * 1024 * 1024
"""Largest notebook that is changed by cells: the largest that is read by them."""

_SUFFIX = ".ipynb"

_NEW = "inserted"


def is_notebook(path: str) -> bool:
    """Whether the name is that of a notebook."""
    return path.lower().endswith(_SUFFIX)


class CodeCell(Struct, frozen=True):
    """A code cell that a call changes or inserts: its number afterwards, its language and its source.

    `before` is the source that it had; None for a new cell.
    """

    number: int
    language: str | None
    before: str | None
    after: str


class CellPlan(Struct, frozen=True):
    """The changes of a notebook that a call makes. `moves`: cells change places."""

    splices: Sequence[Splice]
    hunks: Sequence[Hunk]
    cells: ChangedCells
    replacements: int
    warnings: Sequence[Warn]
    code: Sequence[CodeCell]
    moves: bool


class _Place(Struct, frozen=True):
    """A text of an edit in a cell, by its index among the cells: characters `start` to `end`."""

    cell: int
    start: int
    end: int
    edit: int
    new: str


class _Found(Struct):
    """The places of the texts of all edits, and the edits that have none."""

    places: list[_Place] = field(default_factory=list)
    missing: list[TextEdit] = field(default_factory=list)


def planned(
    path: str, data: bytes | None, edits: Sequence[Edit], style: DiffStyle, deadline: Deadline
) -> CellPlan | None:
    """The changes of a notebook; None if the call means the stored text.

    Args:
        path: The file, for errors.
        data: Its bytes; None for a file that is no notebook.
        edits: Those of the call.
        style: How much the diff shows.
        deadline: When the work must end.

    Raises:
        NoMatch, ManyMatches, WrongCount, Overlap: As for any text.
        BadValue: A cell that is not there, or two changes of one cell.
        TimedOut, Cancelled: From the deadline.
    """
    asked = cell_edits(edits)
    book = None if data is None else cells.parsed(data, deadline)
    if book is None:
        if asked.names_cells:
            problem = f"is for notebooks, and {quote(path)} is read as text"
            number, said = next((at, edit.cell) for at, edit in enumerate(edits) if edit.cell)
            raise _bad_cell(number, said, problem, "Leave it out; edits name their place by old_text.")
        return None
    found = _found(path, book, asked.texts)
    if found.missing and not found.places and not asked.names_cells:
        return None
    if found.missing:
        first, *others = found.missing
        raise _missing(path, book, first, [each.edit for each in others])
    _require_cells(book, edits, asked.changes, {place.cell for place in found.places})
    planning = _Planning(book, found.places, asked, style)
    if planning.is_idle:
        raise _bad_cell(0, edits[0].cell, "would leave every cell as it is", "Leave the edit out.")
    return planning.plan()


# --- texts in cells -------------------------------------------------------------------------------


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n")


def _found(path: str, book: Notebook, texts: Sequence[TextEdit]) -> _Found:
    found = _Found()
    for each in texts:
        edit, places = each.text, list(_places(book, each))
        if not places:
            found.missing.append(each)
            continue
        if len(places) > 1 and not edit.replace_all:
            numbers = [place.cell + 1 for place in places[:MATCHES_NAMED]]
            following = ReadRequest(path, pages=str(numbers[0]))
            raise errors.ManyMatches(
                path, each.edit, numbers, len(places), unit="cell", next_request=following
            )
        if edit.count is not None and edit.count != len(places):
            raise errors.WrongCount(path, each.edit, edit.count, len(places))
        found.places += places
    found.places.sort(key=lambda place: (place.cell, place.start, place.end))
    for one, other in pairwise(found.places):
        if one.cell == other.cell and other.start < one.end:
            source = _plain(book.cells[one.cell].source)
            line = source.count("\n", 0, other.start) + 1
            raise errors.Overlap(f"{path}, cell {one.cell + 1}", one.edit, other.edit, line)
    return found


def _places(book: Notebook, each: TextEdit) -> Iterator[_Place]:
    edit, number = each.text, each.edit
    old, new = _plain(edit.old_text), _plain(edit.new_text)
    for index, cell in enumerate(book.cells):
        if each.cell not in (None, index + 1):
            continue
        source = _plain(cell.source)
        at = source.find(old)
        while at >= 0:
            yield _Place(index, at, at + len(old), number, new)
            at = source.find(old, at + (len(old) if edit.replace_all else 1))
        # A read shows lines, and not whether the last one of a cell has an end.
        if old.endswith("\n") and not source.endswith("\n") and f"{source}\n".endswith(old):
            start = len(source) + 1 - len(old)
            yield _Place(index, start, len(source), number, new.removesuffix("\n"))


def missing(
    path: str, data: bytes, number: int, edits: Sequence[Edit], others: Sequence[int], deadline: Deadline
) -> errors.NoMatch | None:
    """The refusal of a text that is neither in a cell nor in the stored JSON; None for no notebook."""
    book = cells.parsed(data, deadline)
    return None if book is None else _missing(path, book, TextEdit(number, edits[number]), others)


def _missing(path: str, book: Notebook, each: TextEdit, others: Sequence[int]) -> errors.NoMatch:
    """The refusal of a text that no cell has, with the cell that has the most similar one."""
    number, edit = each.edit, each.text
    total = len(book.cells)
    if each.cell is not None and not 1 <= each.cell <= total:
        return _no_match(path, number, Closest(f"The notebook has {total} cells."), None, others)
    sources = [_plain(cell.source).removesuffix("\n") for cell in book.cells]
    old = _plain(edit.old_text)
    firsts, line = list[int](), 1
    for source in sources:
        firsts.append(line)
        line += source.count("\n") + 1
    whole = "\n".join(sources)
    at = whole.find(old.strip("\n"))
    if at >= 0 and old.strip() and each.cell is not None:
        index = _cell_at(firsts, whole.count("\n", 0, at) + 1)
        hint = f"It is not in cell {each.cell}, but in cell {index + 1}."
        return _no_match(path, number, Closest(hint), index, others)
    if at >= 0 and old.strip():
        first = _cell_at(firsts, whole.count("\n", 0, at) + 1)
        last = _cell_at(firsts, whole.count("\n", 0, at + len(old.strip("\n"))) + 1)
        hint = f"It goes from cell {first + 1} to cell {last + 1}; send an edit for each cell."
        return _no_match(path, number, Closest(hint), first, others)
    near = closest(whole, old, edit.new_text)
    if near.first is None:
        return _no_match(
            path, number, Closest("Nothing in its cells is similar; read it again."), None, others
        )
    index = _cell_at(firsts, near.first)
    within = closest(sources[index], old, edit.new_text)
    near = within if within.first is not None else near
    return _no_match(path, number, replace(near, hint=f"In cell {index + 1}: {near.hint}"), index, others)


def _cell_at(firsts: Sequence[int], line: int) -> int:
    return max(index for index, first in enumerate(firsts) if first <= line)


def _no_match(
    path: str, number: int, near: Closest, cell: int | None, others: Sequence[int]
) -> errors.NoMatch:
    return errors.NoMatch(
        path,
        number,
        near.hint,
        place=near.shown,
        first=near.first,
        last=near.last,
        others=others,
        next_request=ReadRequest(path, pages=None if cell is None else str(cell + 1)),
    )


# --- whole cells -----------------------------------------------------------------------------------


def _bad_cell(
    edit: int,
    said: str | None,
    problem: str,
    advice: str = "Cells have the numbers that reading the file shows.",
) -> errors.BadValue:
    return errors.BadValue(f"edits[{edit}].cell", (said or "")[:VALUE_CHARS], problem, advice)


def _require_cells(
    book: Notebook, edits: Sequence[Edit], changes: Sequence[CellEdit], edited: set[int]
) -> None:
    total, taken = len(book.cells), {index + 1 for index in edited}
    for change in changes:
        said = edits[change.edit].cell
        insert = change.action is CellAction.INSERT
        if not (0 if insert else 1) <= change.cell <= total or not change.after <= total:
            there = f"cells 1-{total}" if total else "no cells"
            raise _bad_cell(change.edit, said, f"is not there: the notebook has {there}")
        if insert:
            if change.kind not in cells.KINDS:
                kinds = f"{', '.join(cells.KINDS[:-1])} or {cells.KINDS[-1]}"
                raise _bad_cell(change.edit, said, "names no kind of cell", f"Send {kinds}.")
            continue
        if change.action is CellAction.REPLACE and not _has_source(book.cells[change.cell - 1]):
            raise _bad_cell(change.edit, said, "has no source that could be replaced")
        if change.cell in taken:
            raise _bad_cell(
                change.edit, said, "is changed twice in this call", "Join the two edits into one."
            )
        taken.add(change.cell)


def _has_source(cell: Cell) -> bool:
    return cell.source_name in cell.members


class _Item(Struct, frozen=True):
    """A cell of the notebook after the change: one that was there, by its index, or a new one."""

    old: int | None
    new: CellEdit | None = None


class _Planning:
    """The plan of one call."""

    def __init__(self, book: Notebook, places: Sequence[_Place], asked: CellEdits, style: DiffStyle) -> None:
        self._book = book
        self._places = places
        self._asked = asked
        self._diff = style
        self._style = cells.style_of(book)
        self._sources = self._new_sources()
        self._items = self._arranged()
        self._new_numbers = {
            item.old: number for number, item in enumerate(self._items, 1) if item.old is not None
        }

    @property
    def is_idle(self) -> bool:
        """Whether nothing changes."""
        return not self._sources and self._is_in_order()

    def _is_in_order(self) -> bool:
        return [item.old for item in self._items] == list(range(len(self._book.cells)))

    def plan(self) -> CellPlan:
        """The bytes to be written, and what the reply says."""
        changed = {index: list(self._rewritten(index)) for index in self._sources}
        splices = list(self._splices(self._replacements(changed)))
        numbers = sorted(self._numbers())
        return CellPlan(
            splices,
            list(self._hunks()),
            ChangedCells(numbers[0], numbers[-1], len(self._items)),
            len(self._places) + len(self._asked.changes),
            list(self._warnings()),
            list(self._code()),
            any(change.action is CellAction.MOVE for change in self._asked.changes),
        )

    def _new_sources(self) -> dict[int, str]:
        """The sources that differ, by the index of the cell."""
        sources: dict[int, str] = {}
        by_cell: dict[int, list[_Place]] = {}
        for place in self._places:
            by_cell.setdefault(place.cell, []).append(place)
        for index, places in by_cell.items():
            sources[index] = _with_places(_plain(self._book.cells[index].source), places)
        for change in self._asked.changes:
            if change.action is CellAction.REPLACE:
                sources[change.cell - 1] = _plain(change.text)
        fitted = {index: _fitted(text, self._book.cells[index].source) for index, text in sources.items()}
        return {index: text for index, text in fitted.items() if text != self._book.cells[index].source}

    def _arranged(self) -> list[_Item]:
        """The cells in their new order."""
        gone = {
            each.cell for each in self._asked.changes if each.action in (CellAction.DELETE, CellAction.MOVE)
        }
        after: dict[int, list[_Item]] = {}
        for change in self._asked.changes:
            if change.action is CellAction.INSERT:
                after.setdefault(change.cell, []).append(_Item(None, change))
            elif change.action is CellAction.MOVE:
                after.setdefault(change.after, []).append(_Item(change.cell - 1))
        items = list(after.get(0, ()))
        for number in range(1, len(self._book.cells) + 1):
            items += () if number in gone else (_Item(number - 1),)
            items += after.get(number, ())
        return items

    def _rewritten(self, index: int) -> Iterator[Replacement]:
        cell = self._book.cells[index]
        source = cells.with_source(self._book, cell, self._sources[index], self._style)
        changes = [] if source is None else [source]
        if not self._asked.keep_outputs:
            changes += cells.without_outputs(self._book, cell)
        yield from sorted(changes, key=lambda each: each.span.start)

    def _replacements(self, changed: Mapping[int, Sequence[Replacement]]) -> Iterator[Replacement]:
        if self._is_in_order():
            for index in sorted(changed):
                yield from changed[index]
            return
        taken = cells.ids_of(self._book)
        arrays: dict[int, list[bytes]] = {number: [] for number in range(len(self._book.arrays))}
        array = 0
        for item in self._items:
            if item.old is not None:
                cell = self._book.cells[item.old]
                array = cell.array if len(arrays) > 1 and not self._is_moved(item.old) else array
                span = cell.span
                data = cells.replaced(self._book.data, span.start, span.end, changed.get(item.old, ()))
            else:
                assert item.new is not None
                data = cells.new_cell(self._book, item.new.kind, _plain(item.new.text), self._style, taken)
            arrays[array].append(data)
        for number in sorted(arrays):
            yield cells.arranged(self._book, number, arrays[number], self._style)

    def _is_moved(self, index: int) -> bool:
        return any(
            change.action is CellAction.MOVE and change.cell == index + 1 for change in self._asked.changes
        )

    def _splices(self, changes: Iterable[Replacement]) -> Iterator[Splice]:
        """The changes, which are in order, with the lines that they are in."""
        data, line, counted = self._book.data, 1, 0
        for change in changes:
            span = change.span
            line += data.count(b"\n", counted, span.start)
            counted = span.start
            removed = data.count(b"\n", span.start, span.end)
            yield Splice(span.start, span.end, change.data, line, removed, change.data.count(b"\n"))

    # --- what is said -------------------------------------------------------------------------

    def _numbers(self) -> Iterator[int]:
        """The numbers after the change of the cells that it concerns."""
        for number, item in enumerate(self._items, 1):
            if item.old is None or item.old in self._sources or self._is_moved(item.old):
                yield number
        for change in self._asked.changes:
            if change.action is CellAction.DELETE:
                yield max(1, min(change.cell, len(self._items)))
        for place in self._places:
            yield self._number(place.cell)

    def _code(self) -> Iterator[CodeCell]:
        for number, item in enumerate(self._items, 1):
            if item.new is not None and item.new.kind == cells.CODE:
                language = cells.language_in(self._book, None)
                yield CodeCell(number, language, None, _plain(item.new.text))
            elif item.old in self._sources and self._book.cells[item.old].kind == cells.CODE:
                cell = self._book.cells[item.old]
                language = cells.language_in(self._book, cell)
                yield CodeCell(number, language, _plain(cell.source), _plain(self._sources[item.old]))

    def _number(self, index: int) -> int:
        return self._new_numbers.get(index, index + 1)

    def _hunks(self) -> Iterator[Hunk]:
        for number, item in enumerate(self._items, 1):
            if item.new is not None:
                yield from self._compared("", _plain(item.new.text), f"cell {number}, {_NEW}")
            elif item.old is not None and item.old in self._sources:
                was = self._book.cells[item.old].source
                yield from self._compared(_plain(was), _plain(self._sources[item.old]), f"cell {number}")
        for change in self._asked.changes:
            if change.action is CellAction.DELETE:
                was = _plain(self._book.cells[change.cell - 1].source)
                yield from self._compared(was, "", f"cell {change.cell}, deleted")

    def _compared(self, old: str, new: str, section: str) -> Iterator[Hunk]:
        for hunk in hunks(split(_ended(old)), split(_ended(new)), style=self._diff):
            yield replace(hunk, section=section)

    def _warnings(self) -> Iterator[Warn]:
        run = [
            self._number(index) for index in sorted(self._sources) if self._was_run(self._book.cells[index])
        ]
        if run:
            names = f"cell{'' if len(run) == 1 else 's'} {first_of(list(map(str, run)), MATCHES_NAMED)}"
            if self._asked.keep_outputs:
                yield Warn("outputs_kept", f"{names}: of the old source")
            else:
                yield Warn("outputs_cleared", names)
        for change in self._asked.changes:
            if change.action is CellAction.MOVE:
                yield Warn("cell_moved", f"{change.cell} is now {self._number(change.cell - 1)}")

    def _was_run(self, cell: Cell) -> bool:
        return bool(cell.outputs) or bool(cells.without_outputs(self._book, cell))


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


def _with_places(source: str, places: Sequence[_Place]) -> str:
    pieces, at = list[str](), 0
    for place in places:
        pieces += [source[at : place.start], place.new]
        at = place.end
    return "".join((*pieces, source[at:]))


def _fitted(text: str, old: str) -> str:
    """The text with the line ends of the old source, where those are all CR LF."""
    pairs = old.count("\r\n")
    return text.replace("\n", "\r\n") if pairs and pairs == old.count("\n") else text
