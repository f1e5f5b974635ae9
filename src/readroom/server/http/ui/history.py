"""The page of the history: who changed what, by conversation, the newest first.

Names come through the visitor's workspace, so policy was asked for each of them a moment ago.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from readroom.core.contracts.history import CONTRACT, UNDO, words
from readroom.core.contracts.history.rights import granted_calls
from readroom.core.deadline import Deadline
from readroom.core.errors import AbsentError, HistoryFailed, HistoryOff, RefusedError, UsageError
from readroom.core.limits import SERVE_CALL_S
from readroom.core.values.history import (
    LISTED_MAXIMUM,
    ChangedName,
    HistoryRequest,
    HistoryResult,
    KeptChange,
)
from readroom.server.http.ui.page import Cell, Filter, Page, Table, missing, number
from readroom.server.http.ui.view import View

if TYPE_CHECKING:
    from readroom.core.values import Request, Result

R = TypeVar("R", bound="Result")

UI_CHANGES = 50
"""Changes on one page: with twenty files each a page of a thousand lines."""

UI_HISTORY_BYTES = 1024 * 1024
"""In all diffs of one page."""


def performed(view: View, request: Request, result: type[R]) -> R:
    """The result of a request about the history, under the visitor's policy. Raises ReadroomError."""
    workspace = view.access.workspace
    record = workspace.contract(CONTRACT)
    cap = replace(workspace.cap(record), size=UI_HISTORY_BYTES)
    deadline = Deadline().within(SERVE_CALL_S)
    found = workspace.engine.perform(request, cap, deadline, view.access.caller, terms=record.terms)
    assert isinstance(found, result)
    return found


def history(view: View) -> Page:
    """The changes that match the filters."""
    found, note = _found(view)
    here = {name: view.text(name) for name in _CHOSEN}
    older = (
        view.bare("history", **here, since=view.text("since"), before=found.cursor) if found.cursor else ""
    )
    return Page(
        "History",
        tables=[_table(view, found.changes)],
        filters=[
            *view.filters(),
            Filter("path", "File or folder", value=view.text("path")),
            Filter("session", "Session", value=view.text("session")),
            Filter("agent", "Agent", value=view.text("agent", 200)),
        ],
        template="history.html",
        own={
            "groups": _groups(view, found.changes),
            "empty": note or "Nothing was changed in this range.",
            "older": older,
        },
    )


_CHOSEN = ("path", "session", "agent")


def _found(view: View) -> tuple[HistoryResult, str]:
    """A page of changes; where there is none, perhaps a reason. Raises BadValue."""
    since_us = view.slice.since_us
    request = HistoryRequest(
        path=view.text("path"),
        session=view.text("session") or None,
        agent=view.text("agent", 200) or None,
        since_ns=since_us * 1000 or None,
        cursor=view.count("before") or None,
        maximum=LISTED_MAXIMUM if view.text("format") == "csv" else UI_CHANGES,
    )
    try:
        return performed(view, request, HistoryResult), ""
    except HistoryOff as error:
        return HistoryResult(()), f"{error.message}."
    except HistoryFailed as error:
        return HistoryResult(()), f"The history cannot be used now: {error.reason}."
    except (AbsentError, RefusedError, UsageError):
        return HistoryResult(()), ""  # a name that is not there, or that this visitor may not see


# -----------------------------------------------------------------------------
# Changes one after the other by the same conversation stand together.
# -----------------------------------------------------------------------------


def _groups(view: View, changes: Sequence[KeptChange]) -> list[dict[str, object]]:
    def key(change: KeptChange) -> tuple[object, ...]:
        return change.others, change.by.session, change.by.agent, change.by.token, change.by.face

    return [_group(view, list(members)) for _, members in groupby(changes, key)]


def _group(view: View, changes: list[KeptChange]) -> dict[str, object]:
    first = changes[0]
    session = (
        Cell("") if first.others else view.conversation(first.by.session, first.by.agent, first.by.token)
    )
    if session.note and session.note == view.short(first.by.session):  # the agent is there already
        session = replace(session, text=session.note)
    return {
        "who": maker(view, first),
        "session": session if first.by.session else Cell(""),
        "undo": may_undo(view) and session.href and view.bare("undo", session=first.by.session),
        "changes": [_row(view, change) for change in changes],
    }


def may_undo(view: View) -> bool:
    """Whether the operator lets the dashboard undo, and the visitor's token may change anything."""
    settings, calls = view.access.workspace.settings, granted_calls(view.access.granted)
    allowed = settings.history.undo_in_dashboard and not settings.changes.read_only
    return allowed and (calls is None or UNDO in calls)


def _row(view: View, change: KeptChange) -> dict[str, object]:
    return {
        "number": change.id,
        "href": view.bare("change", number=change.id),
        "time": words.when(change),
        "tool": view.named(words.how(change)).text,
        "undone_by": change.undone_by,
        "undone_href": view.bare("change", number=change.undone_by),
        "files": [
            {**named(view, name), "href": view.bare("change", number=change.id, path=name.path)}
            for name in change.names
        ],
        "more": max(0, change.count - change.hidden - len(change.names)),
        "hidden": change.hidden,
    }


def maker(view: View, change: KeptChange) -> Cell:
    """Who made a change, as far as the visitor may know."""
    return Cell(words.OTHERS) if change.others else view.named(words.who(change))


def named(view: View, name: ChangedName) -> dict[str, object]:
    """A changed name for a template."""
    return {
        "action": words.what_became(name),
        "path": view.file_cell(name.path).text,
        "to": None if name.to is None else view.file_cell(name.to).text,
        "added": name.added,
        "removed": name.removed,
    }


def _table(view: View, changes: Sequence[KeptChange]) -> Table:
    """The same for a spreadsheet, a row for each name."""
    rows = [
        (
            number(change.id),
            Cell(words.when(change), tone="soft"),
            maker(view, change),
            Cell("") if change.others else view.named(change.by.session),
            view.named(words.how(change)),
            Cell(words.what_became(name)),
            view.file_cell(name.path),
            missing() if name.to is None else view.file_cell(name.to),
            missing() if name.added is None else number(name.added),
            missing() if name.removed is None else number(name.removed),
        )
        for change in changes
        for name in change.names
    ]
    heads = (
        "Change",
        "When (UTC)",
        "Who",
        "Session",
        "Tool",
        "Action",
        "File",
        "New name",
        "Added",
        "Removed",
    )
    return Table("changes", "Changes", heads, rows)
