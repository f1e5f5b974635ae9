"""The page of one change: who made it and when, and each file before and after, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from msgspec.structs import replace

from readroom.core.contracts.history import CONTRACT, SHOW, words
from readroom.core.errors import AbsentError, NoSuchView, RefusedError, UsageError
from readroom.core.session.journal import Entry
from readroom.core.values import Request
from readroom.core.values.changes import Diff
from readroom.core.values.history import ChangedName, DiffRequest, DiffResult, KeptChange, NameDiff
from readroom.server.http.ui.history import maker, may_undo, named, performed
from readroom.server.http.ui.page import Link, Page
from readroom.server.http.ui.sides import SideRow, side_rows
from readroom.server.http.ui.view import View
from readroom.server.ledger.sums import LOOKED_AT

UI_SIDE_ROWS = 2_000
"""Rows of all diffs of one page; a file alone may have as many."""

UI_CHANGE_FILES = 100
"""Files of one change on a page."""


def change(view: View) -> Page:
    """One change. Raises NoSuchView for one that is not there and for a hidden one alike."""
    if not view.sight.contents:
        raise NoSuchView("change")
    request = DiffRequest(view.count("number"), view.text("path"))
    try:
        found = performed(view, request, DiffResult)
    except (AbsentError, RefusedError, UsageError):
        raise NoSuchView("change") from None
    recorded(view, SHOW, request)
    made = found.change
    rows_left = UI_SIDE_ROWS
    files = []
    for file in found.files[:UI_CHANGE_FILES]:
        rows = list(islice(sides(file.diff), rows_left))
        rows_left -= len(rows)
        files.append(_file(view, made, file, rows))
    more = len(found.files) - len(files)
    return Page(
        f"Change {made.id}",
        crumbs=[Link("History", view.bare("history"))],
        template="change.html",
        own={
            "facts": [(name, value) for name, value in _facts(view, made) if value],
            "files": files,
            "more": f"{more:,} more files: {_NARROW}" if more > 0 else "",
            "undo": view.bare("undo", change=made.id, path=request.path) if _undoable(view, made) else "",
        },
    )


_NARROW = "add a folder of them to the address, as path."


def _undoable(view: View, made: KeptChange) -> bool:
    return may_undo(view) and made.undone_by is None


def recorded(view: View, call: str, request: Request) -> None:
    """Record in the ledger who looks at earlier contents in a browser. Raises LedgerFailed."""
    journal = view.access.workspace.gatekeeper.journal
    if journal is not None:
        caller = replace(view.access.caller, face=LOOKED_AT)
        failure = journal.write(Entry(caller, 0, CONTRACT, call, {}, request=request))
        if failure is not None and journal.required:
            raise failure


def sides(diff: Diff | None) -> Iterator[SideRow]:
    """The rows of a diff; none without one."""
    return iter(()) if diff is None else side_rows(diff.hunks)


def _facts(view: View, made: KeptChange) -> Iterator[tuple[str, str]]:
    yield "When (UTC)", words.when(made)
    yield "Who", maker(view, made).text
    if not made.others:
        yield "Conversation", view.named(made.by.session, none="").text
        yield "Token", made.by.token
        yield "Way in", made.by.face
    yield "Tool", view.named(words.how(made)).text
    yield "Undone by", f"change {made.undone_by}" if made.undone_by is not None else ""
    yield "Hidden by policy", str(made.hidden or "")
    yield "Folder", "another one was at this place then" if made.anew else ""


def _file(view: View, made: KeptChange, file: NameDiff, rows: Sequence[SideRow]) -> dict[str, object]:
    cut = file.diff is not None and (file.diff.left_out > 0 or (not rows and bool(file.diff.hunks)))
    return {
        **named(view, file.name),
        "href": view.bare("file", path=file.name.path) if file.name.after.kind == "file" else "",
        "remarks": list(_remarks(file)),
        "rows": rows,
        "alone": view.bare("change", number=made.id, path=file.name.path) if cut else "",
    }


def _remarks(file: NameDiff) -> Iterator[str]:
    name = file.name
    if name.undone_by is not None:
        yield f"Undone by change {name.undone_by}."
    if file.note:
        yield f"{file.note[0].upper()}{file.note[1:]}."
    yield from _states(name)
    if file.diff is not None and file.diff.left_out:
        first, last = file.diff.left_first, file.diff.left_last
        yield f"{file.diff.left_out:,} more places in lines {first:,} to {last:,} are not shown."


def _states(name: ChangedName) -> Iterator[str]:
    before, after = name.before, name.after
    if before.kind == after.kind and before.kind != "absent" and before.mode != after.mode:
        yield f"Mode {before.mode:04o} before, {after.mode:04o} after."
    for state, when in ((before, "before"), (after, "after")):
        if state.kind == "link":
            yield f"A link {when}."
    if name.added is None and before.kind == after.kind == "file" and not before.is_same(after):
        yield f"{before.size:,} bytes before, {after.size:,} after."
