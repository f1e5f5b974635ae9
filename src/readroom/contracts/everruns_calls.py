"""The Everruns call for a request: what its hints name. Offsets count from 0."""

from __future__ import annotations

import re

from readroom.changes import EditRequest, WriteRequest
from readroom.commands import RunRequest
from readroom.contracts.everruns_globs import path_pattern
from readroom.contracts.everruns_paths import shown
from readroom.contracts.native_calls import write_text
from readroom.model import Call, Fact, GrepRequest, ListRequest, ReadRequest, Request
from readroom.moves import DeleteRequest, StatRequest

READ, GREP, LIST = "read_file", "grep_files", "list_directory"
EDIT, WRITE, STAT, DELETE = "edit_file", "write_file", "stat_file", "delete_file"
RUN = "bash"


_SPECIAL = re.compile(r"[\\.+*?()|\[\]{}^$#&~-]")
"""Characters that mean something in a pattern."""


def read_call(request: ReadRequest) -> Call:
    """The call that means a read, or what of it this contract can say."""
    return Call(READ, _read(request))


def to_call(request: Request) -> Call | None:
    """The call that means `request`, or what of it this contract can say; None when there is none."""
    if isinstance(request, ReadRequest):
        return read_call(request)
    if isinstance(request, GrepRequest):
        # Nothing here asks for the content of compressed files.
        return None if "compressed" in request.include else Call(GREP, _grep(request))
    if isinstance(request, ListRequest):
        return Call(LIST, _page({"path": shown(request.path)}, request.skip, request.limit))
    if isinstance(request, EditRequest):
        edits: list[Fact] = [{"old_text": one.old_text, "new_text": one.new_text} for one in request.edits]
        digest: Fact = request.expected_hash
        return Call(EDIT, {"path": shown(request.path), "expected_hash": digest, "edits": edits})
    if isinstance(request, WriteRequest):
        return Call(WRITE, _write(request))
    if isinstance(request, StatRequest):
        return Call(STAT, {"path": shown(request.path)})
    if isinstance(request, DeleteRequest):
        return Call(DELETE, {"path": shown(request.path)})
    return Call(RUN, _run(request)) if isinstance(request, RunRequest) else None


def _read(request: ReadRequest) -> dict[str, Fact]:
    found: dict[str, Fact] = {"path": shown(request.path)}
    if request.offset is not None:
        found["offset"] = max(0, request.offset - 1)
    if request.column > 1:
        found["column"] = request.column - 1
    elif request.limit is not None:
        found["limit"] = request.limit
    return found


def _grep(request: GrepRequest) -> dict[str, Fact]:
    plain = _SPECIAL.sub(r"\\\g<0>", request.pattern)
    found: dict[str, Fact] = {"pattern": plain if request.fixed else request.pattern}
    if request.path != ".":
        found["path"] = shown(request.path)
    if request.glob:
        found["path_pattern"] = path_pattern(request.glob)
    if request.before:
        found["before_context"] = request.before
    if request.after:
        found["after_context"] = request.after
    return _page(found, request.skip, request.limit)


def _page(found: dict[str, Fact], skip: int | None, limit: int | None) -> dict[str, Fact]:
    if skip:
        found["offset"] = skip
    if limit is not None:
        found["limit"] = limit
    return found


def _write(request: WriteRequest) -> dict[str, Fact]:
    found: dict[str, Fact] = {"path": shown(request.path)}
    text, encoding = write_text(request)
    return {**found, "content": text, "encoding": encoding}


def _run(request: RunRequest) -> dict[str, Fact]:
    found: dict[str, Fact] = {"command": request.command}
    if request.output != "concise":
        found["output"] = request.output
    return found
