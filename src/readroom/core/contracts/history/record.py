"""The record of the contract history: its calls, their arguments, and the requests that they mean."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from readroom.core import limits, values
from readroom.core.contracts.base import Contract, Tool, Wording
from readroom.core.contracts.history import CONTRACT, FORGET, LIST, SHOW, UNDO, words
from readroom.core.contracts.history.calls import to_call
from readroom.core.contracts.native import MEASURE
from readroom.core.contracts.native import render as native_render
from readroom.core.errors import BadValue, NoSuchChange, NothingToUndo, ReadroomError, UsageError
from readroom.core.moments import moment
from readroom.core.values.history import (
    LISTED,
    LISTED_MAXIMUM,
    DiffRequest,
    ForgetRequest,
    HistoryRequest,
    UndoRequest,
)

NUMBER_MAXIMUM = 2**63 - 1
"""The greatest number of a change that a file of SQLite can have."""

Number = Annotated[int, Meta(ge=1, le=NUMBER_MAXIMUM, description="Number of a change, from the list")]
Time = Annotated[str, Meta(description="30m, 2h or 7d (ago), today, yesterday, or 2026-01-31T12:00 (UTC)")]
Session = Annotated[str, Meta(description="A conversation, as the list names it")]
Below = Annotated[str, Meta(description="A file, or a folder with everything below it")]


class ListChangesArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of list_changes."""

    path: Below | None = None
    session: Session | None = None
    agent: Annotated[str, Meta(description="Only changes of this agent")] | None = None
    since: Time | None = None
    change: Number | None = None
    limit: Annotated[int, Meta(ge=1, le=LISTED_MAXIMUM, description="Maximum changes")] = LISTED
    cursor: Annotated[int, Meta(ge=1, le=NUMBER_MAXIMUM, description="From an earlier reply")] | None = None


class ShowChangeArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of show_change."""

    change: Number
    path: Below | None = None


class UndoChangesArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of undo_changes."""

    change: Number | None = None
    session: Session | None = None
    since: Time | None = None
    path: (
        Annotated[str, Meta(description="Alone: the last change of a file; else only what is there")] | None
    ) = None
    up_to: Annotated[int, Meta(ge=1, le=NUMBER_MAXIMUM, description="No change after this one")] | None = None
    parts: Annotated[bool, Meta(description="Take what still fits of files that were changed since")] = False
    dry_run: Annotated[bool, Meta(description="Only say what would be done")] = False


class ForgetChangesArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of forget_changes."""

    path: Below | None = None
    all: Annotated[bool, Meta(description="The past of the whole workspace")] = False


def _to_list(arguments: ListChangesArguments) -> HistoryRequest:
    return HistoryRequest(
        path=arguments.path or "",
        session=arguments.session,
        agent=arguments.agent,
        since_ns=_since(arguments.since),
        cursor=arguments.cursor,
        maximum=arguments.limit,
        change=arguments.change,
    )


def _to_show(arguments: ShowChangeArguments) -> DiffRequest:
    return DiffRequest(arguments.change, arguments.path or "")


def _to_undo(arguments: UndoChangesArguments) -> UndoRequest:
    chosen = [name for name in ("change", "session", "since") if getattr(arguments, name) is not None]
    if len(chosen) > 1:
        raise UsageError(f"{' and '.join(chosen)} were both given", "Give one of them.")
    if not chosen and not arguments.path:
        raise UsageError("Nothing was chosen", "Give a change, a session, a time as since, or a path.")
    return UndoRequest(
        change=arguments.change,
        session=arguments.session,
        since_ns=_since(arguments.since),
        path=arguments.path or "",
        up_to=arguments.up_to,
        parts=arguments.parts,
        dry_run=arguments.dry_run,
    )


def _to_forget(arguments: ForgetChangesArguments) -> ForgetRequest:
    if bool(arguments.path) is arguments.all:
        what = "Both a path and all were given" if arguments.all else "Nothing was chosen"
        raise UsageError(what, "Give a path, or all of the workspace.")
    return ForgetRequest(arguments.path or "", arguments.all)


def _since(text: str | None) -> int | None:
    if text is None:
        return None
    since_us = moment("since", text)
    if since_us < 0:
        raise BadValue("since", text, "is before 1970", "Give a later time.")
    return since_us * 1000


def _render_error(error: ReadroomError, cap: values.Cap) -> values.Reply:
    if error.next is None and isinstance(error, NoSuchChange | NothingToUndo):
        error.next = HistoryRequest()
    return native_render.render_error(error, cap, to_call)


def _tool(
    name: str,
    description: str,
    arguments: type[msgspec.Struct],
    to_request: Callable[[Any], values.Request],
    render: Callable[[Any, Any, values.Cap], values.Reply],
    *,
    read_only: bool = True,
) -> Tool:
    def wording(given: msgspec.Struct) -> Wording:
        return Wording(partial(render, to_request(given)), _render_error)

    return Tool(
        name=name,
        title=description.partition(".")[0],
        description=description,
        arguments=arguments,
        to_request=to_request,
        read_only=read_only,
        idempotent=read_only,
        wording=wording,
    )


LIST_CHANGES = _tool(LIST, "List changes, newest first.", ListChangesArguments, _to_list, words.render_list)
SHOW_CHANGE = _tool(
    SHOW, "Show what a change did, as diffs.", ShowChangeArguments, _to_show, words.render_diff
)
UNDO_CHANGES = _tool(
    UNDO,
    "Take changes back: one, those of a conversation, those since a time, or the last one of a file. "
    "A file that was changed since is left alone, and nothing is undone then; parts takes what still fits.",
    UndoChangesArguments,
    _to_undo,
    words.render_undo,
    read_only=False,
)
FORGET_CHANGES = _tool(
    FORGET,
    "Remove the past of a file, of a folder, or of everything, at once and for good. Files stay as they are.",
    ForgetChangesArguments,
    _to_forget,
    words.render_forget,
    read_only=False,
)


def _unknown(result: values.Result, cap: values.Cap) -> values.Reply:
    """Never called: each call has a wording of its own."""
    raise AssertionError(result)


HISTORY = Contract(
    name=CONTRACT,
    title="History of changes",
    instructions="",
    tools=(LIST_CHANGES, SHOW_CHANGE, UNDO_CHANGES, FORGET_CHANGES),
    reply_bytes=limits.REPLY_BYTES,
    raisable=True,
    measure=MEASURE,
    render=_unknown,
    render_error=_render_error,
    to_call=to_call,
)
