"""The rights of a token over the past, from its tools: an undo is a change like any other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from msgspec.structs import replace

from readroom.core.contracts.history import FORGET, LIST, SHOW, UNDO
from readroom.core.contracts.native.calls import CHANGE, EDIT, READ, WRITE
from readroom.core.contracts.native.calls import LIST as LIST_FILES
from readroom.core.values.history import Right, UndoRequest

_MAKES: Mapping[Right, frozenset[str]] = {
    "edit": frozenset((EDIT, WRITE)),
    "create": frozenset((WRITE,)),
    "delete": frozenset((CHANGE,)),
    "move": frozenset((CHANGE,)),
    "folder": frozenset((CHANGE,)),
}
"""The tools that make a kind of change; one of them is enough."""

_CHANGES = frozenset.union(*_MAKES.values())

_LETS: Mapping[str, tuple[frozenset[str], ...]] = {
    LIST: (frozenset((LIST_FILES, READ)),),
    SHOW: (frozenset((READ,)),),
    UNDO: (frozenset((READ,)), _CHANGES),
    FORGET: (frozenset((WRITE, CHANGE)),),
}
"""The tools that a token needs for each call: one of each set. An undo shows what was in a file."""


def rights(granted: frozenset[str] | None) -> frozenset[Right] | None:
    """The kinds of change that a token with these tools may make; None is all."""
    if granted is None:
        return None
    return frozenset(right for right in get_args(Right) if granted & _MAKES[right])


def within(request: UndoRequest, granted: frozenset[str]) -> UndoRequest:
    """The request, which may make no other kinds of change than a token with these tools."""
    own, theirs = request.rights, rights(granted)
    both = theirs if own is None or theirs is None else own & theirs
    return replace(request, rights=both, granted=granted & _CHANGES)


def granted_calls(granted: frozenset[str] | None) -> frozenset[str] | None:
    """The calls about the history that a token with these tools may make, and its tools; None is all."""
    if granted is None:
        return None
    return granted | {call for call, needed in _LETS.items() if all(granted & tools for tools in needed)}


def tools_for(right: Right) -> list[str]:
    """The tools of which one is needed for a kind of change."""
    return sorted(_MAKES[right])
