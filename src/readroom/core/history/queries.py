"""Questions to the history: which changes, by whom, of which names. Newest first, by number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from readroom.core.history import contents
from readroom.core.history.book import Book
from readroom.core.history.pruning import removed
from readroom.core.history.records import (
    CHANGE_COLUMNS,
    NAME_COLUMNS,
    NameRow,
    decoded,
    encoded,
    read_change,
    read_name,
)
from readroom.core.paths import WorkPath, ancestors
from readroom.core.values.history import KeptChange

if TYPE_CHECKING:
    import sqlite3

NAMES_LISTED = 20
"""Names of a change in a list."""

NAMES_SHOWN = 1_000
"""Names of one change that is shown alone."""


class Selection(Struct, frozen=True):
    """The changes that are meant; None for any.

    Attributes:
        path: A real name; with everything below it.
        session: The conversation.
        agent: The agent.
        token: The token.
        since_ns: Made at or after that time.
        before: With a smaller number.
        undoable: Neither undone as a whole nor itself an undo.
    """

    path: str | None = None
    session: str | None = None
    agent: str | None = None
    token: str | None = None
    since_ns: int | None = None
    before: int | None = None
    undoable: bool = False


def listed(book: Book, which: Selection, maximum: int, names: int = NAMES_LISTED) -> list[KeptChange]:
    """The newest of these changes, with the first of their names."""
    conditions, values = _conditions(book, which)
    sql = f"SELECT {CHANGE_COLUMNS} FROM changes WHERE {' AND '.join(conditions)} ORDER BY id DESC LIMIT ?"
    with book.reading() as connection:
        rows = connection.execute(sql, [*values, maximum]).fetchall()
        return [_change(connection, book, row, names) for row in rows]


def one(book: Book, change: int, names: int = NAMES_SHOWN) -> KeptChange | None:
    """A change of the workspace; None if there is none of that number."""
    if not 0 < change < 1 << 63:
        return None
    with book.reading() as connection:
        row = connection.execute(
            f"SELECT {CHANGE_COLUMNS} FROM changes WHERE id = ? AND run IS NULL AND workspace {_here(book)}",
            (change,),
        ).fetchone()
        return None if row is None else _change(connection, book, row, names)


def latest(book: Book, path: str) -> KeptChange | None:
    """The latest change of a name, by its index; None if there is none."""
    name = encoded(path)
    with book.reading() as connection:
        rows = [
            connection.execute(
                f"SELECT {NAME_COLUMNS} FROM names WHERE workspace {_here(book)} AND {column} = ?"
                " AND change IN (SELECT id FROM changes WHERE run IS NULL) ORDER BY change DESC LIMIT 1",
                (name,),
            ).fetchone()
            for column in ("path", "other")
        ]
        row = max((row for row in rows if row is not None), default=None, key=lambda row: row[:2])
        if row is None:
            return None
        change = connection.execute(f"SELECT {CHANGE_COLUMNS} FROM changes WHERE id = ?", row[:1]).fetchone()
        kept, workspace = read_change(change)
        return replace(kept, names=[read_name(row).name], count=1, anew=workspace != book.workspace)


_FORMER = 10
"""The last changes of a name among which a former state is looked for."""


def former(book: Book, path: str, start: str) -> bytes | None:
    """The bytes of a former state of a name, by the start of its hash, if a recent change has kept them."""
    for change in listed(book, Selection(path=path), _FORMER):
        for row in rows_of(book, change.id, path):
            states = ((row.before, row.name.before), (row.after, row.name.after))
            for number, state in states if path in row.name.names else ():
                known = state.content_hash is not None and state.content_hash.startswith(start)
                data = book.content(number, state) if known else None
                if data is not None:
                    return data
    return None


def rows_of(book: Book, change: int, path: str | None = None) -> Sequence[NameRow]:
    """The names of a change, in order; those at or below a path, with the folders made for them."""
    rows = book.names_of(change)
    if path is None:
        return rows
    found = [row for row in rows if any(_is_below(name, path) for name in row.name.names)]
    above = {folder for row in found for name in row.name.names for folder in ancestors(WorkPath(name))}
    return [row for row in rows if row in found or (row.name.path in above and row.name.action == "created")]


def _is_below(name: str, path: str) -> bool:
    return path == "." or name == path or name.startswith(path + "/")


def _here(book: Book) -> str:
    """The workspaces at this path, as a list of SQL: there are several if the folder was made anew."""
    return f"IN ({', '.join(map(str, book.workspaces))})" if book.workspaces[1:] else f"= {book.workspace}"


def _conditions(book: Book, which: Selection) -> tuple[list[str], list[Any]]:
    conditions, more = [f"workspace {_here(book)}", "run IS NULL"], list[Any]()
    for column in ("session", "agent", "token"):
        if (value := getattr(which, column)) is not None:
            conditions.append(f"{column} = ?")
            more.append(value)
    if which.since_ns is not None:
        conditions.append("at_ns >= ?")
        more.append(which.since_ns)
    if which.before is not None:
        conditions.append("id < ?")
        more.append(which.before)
    if which.undoable:
        conditions.append("undoes IS NULL")
        conditions.append("EXISTS (SELECT 1 FROM names WHERE change = id AND undone IS NULL)")
    if which.path is not None and which.path != ".":
        condition, values = _with_path(book, which)
        conditions.append(condition)
        more += values
    return conditions, more


_FEW = 2_000
"""Names up to which changes are found by their names; more are met soon enough, the newest first."""


def _with_path(book: Book, which: Selection) -> tuple[str, list[Any]]:
    """The condition that a change has a name at or below a path, and its values."""
    assert which.path is not None
    name, parts, values = encoded(which.path), list[str](), list[Any]()
    undone = " AND undone IS NULL" if which.undoable else ""
    for column in ("path", "other"):
        parts += [f"{column} = ?", f"{column} > ? AND {column} < ?"]
        values += [name, name + b"/", name + b"0"]
    found = [f"SELECT change FROM names WHERE workspace {_here(book)} AND {part}{undone}" for part in parts]
    by_name = " UNION ALL ".join(found)
    with book.reading() as connection:
        counted = f"SELECT count(*) FROM (SELECT 1 FROM ({by_name}) LIMIT {_FEW})"
        (count,) = connection.execute(counted, values).fetchone()
    if count < _FEW:
        return f"id IN ({by_name})", values
    return f"EXISTS (SELECT 1 FROM names WHERE change = id AND ({' OR '.join(parts)}){undone})", values


def _change(connection: sqlite3.Connection, book: Book, row: Sequence[Any], maximum: int) -> KeptChange:
    change, workspace = read_change(row)
    (count,) = connection.execute("SELECT count(*) FROM names WHERE change = ?", (change.id,)).fetchone()
    rows = connection.execute(
        f"SELECT {NAME_COLUMNS} FROM names WHERE change = ? ORDER BY number LIMIT ?", (change.id, maximum)
    ).fetchall()
    names = [read_name(one).name for one in rows]
    undone = {name.undone_by for name in names}
    by = max((number for number in undone if number is not None), default=None)
    return replace(
        change,
        names=names,
        count=count,
        undone_by=None if None in undone else by,
        anew=workspace != book.workspace,
    )


# -----------------------------------------------------------------------------
# What is forgotten at once.
# -----------------------------------------------------------------------------


def forget(
    book: Book, path: str | None, may: Callable[[str], bool] = lambda name: True
) -> tuple[int, int, int, bool]:
    """Remove the past of a name and everything below it, or all of the workspace, of names that one `may`.

    Returns how many changes have no name left, names, and bytes of contents went, and whether nothing is left
    of them in the files of the history.
    """
    with book.writing() as connection:
        found = [row for row in _forgotten(connection, book, path) if all(map(may, _names_of(row)))]
        freed = contents.release(
            connection, [number for row in found for number in row[2:4] if number is not None]
        )
        connection.executemany(
            "DELETE FROM names WHERE change = ? AND number = ?", [row[:2] for row in found]
        )
        changes = sorted({row[0] for row in found})
        gone = [
            change
            for change in changes
            if connection.execute("SELECT 1 FROM names WHERE change = ? LIMIT 1", (change,)).fetchone()
            is None
        ]
        removed(connection, gone)
    return len(gone), len(found), freed, book.database.cleared()


_KIN = 100
"""Names of one file that are looked for."""


def kin(book: Book, path: str) -> Sequence[str]:
    """Other names whose past has contents of these files: moved from or to there, or the same."""
    found, pending = {path}, [path]
    with book.reading() as connection:
        for (name,) in connection.execute(_SAME.format(here=_here(book)), _span(path) * 2):
            found.add(decoded(name))
        while pending and len(found) < _KIN:
            name = pending.pop()
            moved = _moved_with(connection, book, name) - found
            found |= moved
            pending += moved
    return sorted(name for name in found if not _is_below(name, path))


def has_past(book: Book, path: str) -> bool:
    """Whether something is kept of a name or of what is below it."""
    with book.reading() as connection:
        sql = f"SELECT 1 FROM names WHERE workspace {_here(book)} AND {_BELOW} LIMIT 1"
        return connection.execute(sql, _span(path)).fetchone() is not None


_BELOW = "(path = ? OR (path > ? AND path < ?))"

_SAME = (
    "WITH mine AS (SELECT before, after FROM names WHERE workspace {here} AND " + _BELOW + "),"
    " own AS (SELECT id FROM contents WHERE size > 0 AND"
    " (id IN (SELECT before FROM mine) OR id IN (SELECT after FROM mine)))"
    " SELECT DISTINCT path FROM names WHERE workspace {here} AND NOT " + _BELOW + " AND"
    " (before IN (SELECT id FROM own) OR after IN (SELECT id FROM own)) LIMIT 100"
)


def _span(path: str) -> list[bytes]:
    """The values for a name and everything below it."""
    name = encoded(path)
    return [name, name + b"/", name + b"0"]


def _moved_with(connection: sqlite3.Connection, book: Book, name: str) -> set[str]:
    """The names that a name was moved from or to, alone or with a folder, or from or to below it."""
    found = set()
    for own, other in (("path", "other"), ("other", "path")):
        start = (
            f"SELECT DISTINCT {own}, {other} FROM names WHERE workspace {_here(book)} AND other IS NOT NULL"
        )
        for folder in (name, *ancestors(WorkPath(name))):
            rows = connection.execute(f"{start} AND {own} = ?", (encoded(folder),))
            found |= {decoded(to) + name[len(folder) :] for _, to in rows}
        rows = connection.execute(f"{start} AND {own} > ? AND {own} < ?", _span(name)[1:])
        found |= {decoded(to) for _, to in rows}
    return found


_FORGOTTEN = "change, number, before, after, path, other"


def _names_of(row: Sequence[Any]) -> list[str]:
    return [decoded(name) for name in row[4:] if name is not None]


def _forgotten(connection: sqlite3.Connection, book: Book, path: str | None) -> Sequence[Any]:
    if path is None or path == ".":
        return connection.execute(f"SELECT {_FORGOTTEN} FROM names WHERE workspace {_here(book)}").fetchall()
    name, found = encoded(path), list[Any]()
    for column in ("path", "other"):
        found += connection.execute(
            f"SELECT {_FORGOTTEN} FROM names WHERE workspace {_here(book)}"
            f" AND ({column} = ? OR ({column} > ? AND {column} < ?))",
            (name, name + b"/", name + b"0"),
        ).fetchall()
    return list({row[:2]: row for row in found}.values())
