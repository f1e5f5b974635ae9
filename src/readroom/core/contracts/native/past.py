"""The native tool for the history, which the operator may offer: list, diff and undo by its arguments."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from readroom.core.contracts.base import Tool, Wording, call_of
from readroom.core.contracts.history import words
from readroom.core.contracts.native.calls import HISTORY
from readroom.core.contracts.native.render import render_error
from readroom.core.errors import MissingArgument
from readroom.core.values import Call, Cap, Reply, Request
from readroom.core.values.history import DiffRequest, HistoryRequest, UndoRequest


class PastArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of history."""

    path: str | None = None
    change: Annotated[int, Meta(ge=1, description="Show its diff")] | None = None
    undo: bool = False
    parts: Annotated[bool, Meta(description="Undo what still fits")] = False


def _to_request(arguments: PastArguments) -> Request:
    if arguments.undo or arguments.parts:
        if arguments.change is None:
            raise MissingArgument(HISTORY, "change", "the change to undo")
        return UndoRequest(arguments.change, path=arguments.path or "", parts=arguments.parts)
    if arguments.change is not None:
        return DiffRequest(arguments.change, arguments.path or "")
    return HistoryRequest(arguments.path or "")


def to_call(request: Request) -> Call | None:
    """The call of the tool that means a request; None for one that it cannot express."""
    path = request.path or None  # as its caller wrote it, quoted or not
    if isinstance(request, HistoryRequest) and request == HistoryRequest(request.path):
        return call_of(HISTORY, path=path)
    if isinstance(request, DiffRequest):
        return call_of(HISTORY, change=request.change, path=path)
    if isinstance(request, UndoRequest) and request.change is not None and not request.dry_run:
        undo = None if request.parts else True
        return call_of(HISTORY, change=request.change, path=path, undo=undo, parts=request.parts or None)
    return None


def _wording(arguments: PastArguments) -> Wording:
    request = _to_request(arguments)

    def render(result: Any, cap: Cap) -> Reply:
        if isinstance(request, DiffRequest):
            return words.render_diff(request, result, cap)
        if isinstance(request, UndoRequest):
            return words.render_undo(request, result, cap, to_call)
        assert isinstance(request, HistoryRequest)
        return words.render_list(request, result, cap, to_call)

    return Wording(render, partial(render_error, own_call=to_call))


PAST = Tool(
    HISTORY,
    "Show or undo changes",
    "List changes here, newest first, or show or undo one.",
    PastArguments,
    _to_request,
    read_only=False,
    idempotent=False,
    wording=_wording,
)
