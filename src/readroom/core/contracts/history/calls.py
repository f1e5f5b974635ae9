"""The calls of the contract history, by the requests that they mean."""

from __future__ import annotations

from readroom.core.contracts.base import call_of
from readroom.core.contracts.history import FORGET, LIST, SHOW, UNDO
from readroom.core.contracts.native.facts import timestamp
from readroom.core.values import Call, Request
from readroom.core.values.history import LISTED, DiffRequest, ForgetRequest, HistoryRequest, UndoRequest


def to_call(request: Request) -> Call | None:
    """The call for a request about the history; None for any other."""
    path = request.path or None  # as its caller wrote it, quoted or not
    match request:
        case HistoryRequest():
            return call_of(
                LIST,
                path=path,
                session=request.session,
                agent=request.agent,
                since=timestamp(request.since_ns),
                change=request.change,
                limit=None if request.maximum == LISTED else request.maximum,
                cursor=request.cursor,
            )
        case DiffRequest():
            return call_of(SHOW, change=request.change, path=path)
        case UndoRequest():
            return call_of(
                UNDO,
                change=request.change,
                session=request.session,
                since=timestamp(request.since_ns),
                path=path,
                up_to=request.up_to,
                parts=request.parts or None,
                dry_run=request.dry_run or None,
            )
        case ForgetRequest():
            return call_of(FORGET, path=path, all=request.all or None)
    return None
