"""The native call for a request: only what differs from the defaults, ready to send."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from readroom.batch import EditFilesRequest
from readroom.changes import EditRequest, WriteRequest
from readroom.commands import RunRequest
from readroom.contracts.native_others import other_arguments
from readroom.model import Call, Fact, GrepRequest, ListRequest, ReadRequest, Request
from readroom.moves import DeleteRequest, MakeFolderRequest, MoveRequest, StatRequest, TrashRequest
from readroom.quoting import as_value
from readroom.raw import BytesRequest

READ, GREP, LIST = "read_file", "grep_files", "list_directory"
EDIT, WRITE = "edit_file", "write_file"
RUN = "run_command"
"""Tool names, which the record and the calls share."""


def to_call(request: Request) -> Call:
    """The call that means `request`; parsing it gives the request back, if a native tool means it."""
    if isinstance(request, ReadRequest):
        return Call(READ, _read(request))
    if isinstance(request, GrepRequest):
        return Call(GREP, _grep(request))
    if isinstance(request, ListRequest):
        return Call(LIST, _list(request))
    if isinstance(request, EditRequest):
        return Call(EDIT, _edit(request))
    if isinstance(request, WriteRequest):
        return Call(WRITE, _write(request))
    if isinstance(request, RunRequest):
        return Call(RUN, _run(request))
    # No native tool does the others; what can be done is to look at the place.
    return Call(LIST, _list(ListRequest(request.path.rpartition("/")[0] or ".")))


def arguments(request: Request) -> dict[str, Fact]:
    """What a request says, for the ledger; that of `to_call` wherever that means the same."""
    if isinstance(request, (BytesRequest, EditFilesRequest)):
        return other_arguments(request)
    if not isinstance(request, NAMES):
        return to_call(request).arguments
    found: dict[str, Fact] = {"path": as_value(request.path)}
    if isinstance(request, MoveRequest):
        found["destination"] = as_value(request.destination)
        found["overwrite"] = request.overwrite
    if isinstance(request, DeleteRequest):
        found["recursive"] = request.recursive
        found["expected_hash"] = request.expected_hash
    return found


NAMES = (StatRequest, DeleteRequest, MakeFolderRequest, MoveRequest, TrashRequest)
"""Requests that no native tool means."""


def as_tool_call(call: Call) -> str:
    """The call as one piece of text that a model can send as it stands."""
    return f"{call.tool} {json.dumps(call.arguments, ensure_ascii=False, separators=(',', ':'))}"


_SPELLING: ContextVar[Callable[[Call], str]] = ContextVar("spelling of calls", default=as_tool_call)
"""Whoever reads a reply at a shell is given commands.  Every sentence with a call in it asks here, and
only the command line sets it, around one call: handing it through every function that words something
would put it into some forty signatures."""


@contextmanager
def spelled(spelling: Callable[[Call], str]) -> Iterator[None]:
    """Replies worded inside name their calls in this spelling."""
    before = _SPELLING.set(spelling)
    try:
        yield
    finally:
        _SPELLING.reset(before)


def shown(request: Request) -> str:
    """The call for a request, as whoever reads the reply can send it."""
    return _SPELLING.get()(to_call(request))


def _read(request: ReadRequest) -> dict[str, Fact]:
    found: dict[str, Fact] = {"path": as_value(request.path)}
    for name in ("pages", "offset", "limit", "symbol", "known_hash", "encoding"):
        value = getattr(request, name)
        if value is not None:
            found[name] = value
    if request.column != 1:
        found["column"] = request.column
    if request.view != "text":
        found["view"] = request.view
    return found


_GREP_PLAIN = GrepRequest("")
_LIST_PLAIN = ListRequest()


def _grep(request: GrepRequest) -> dict[str, Fact]:
    found: dict[str, Fact] = {"pattern": request.pattern}
    if request.path != _GREP_PLAIN.path:
        found["path"] = as_value(request.path)
    _add_globs(found, request.glob)
    if request.before == request.after:
        if request.before:
            found["context"] = request.before
    else:
        found["before"], found["after"] = request.before, request.after
    for name in (
        "type", "output", "ignore_case", "multiline", "fixed", "sort", "limit", "cursor", "timeout_s",
        "documents", "symbols",
    ):  # fmt: skip
        value = getattr(request, name)
        if value != getattr(_GREP_PLAIN, name):
            found[name] = value
    if request.include:
        found["include"] = sorted(request.include)
    return found


def _list(request: ListRequest) -> dict[str, Fact]:
    found: dict[str, Fact] = {}
    if request.path != _LIST_PLAIN.path:
        found["path"] = as_value(request.path)
    _add_globs(found, request.glob)
    for name in ("depth", "sort", "limit", "cursor"):
        value = getattr(request, name)
        if value != getattr(_LIST_PLAIN, name):
            found[name] = value
    if request.include:
        found["include"] = sorted(request.include)
    return found


def _add_globs(found: dict[str, Fact], globs: tuple[str, ...]) -> None:
    if globs:
        found["glob"] = globs[0] if len(globs) == 1 else list(globs)


def _edit(request: EditRequest) -> dict[str, Fact]:
    edits: list[Fact] = []
    for one in request.edits:
        item: dict[str, Fact] = {"old_text": one.old_text, "new_text": one.new_text}
        edits.append({**item, "replace_all": True} if one.replace_all else item)
    found: dict[str, Fact] = {
        "path": as_value(request.path),
        "expected_hash": request.expected_hash,
        "edits": edits,
    }
    if request.dry_run:
        found["dry_run"] = True
    if request.encoding is not None:
        found["encoding"] = request.encoding
    return found


def _write(request: WriteRequest) -> dict[str, Fact]:
    found: dict[str, Fact] = {
        "path": as_value(request.path),
        "content": write_text(request)[0],
        "expected_hash": request.expected_hash,
    }
    if request.encoding is not None:
        found["encoding"] = request.encoding
    return found


def write_text(request: WriteRequest) -> tuple[str, str]:
    """What is to be written as text, and whether that is "text" or "base64"."""
    if request.data is None:
        return request.content, "text"
    try:
        return request.data.decode(), "text"
    except UnicodeDecodeError:
        return b64encode(request.data).decode("ascii"), "base64"


_RUN_PLAIN = RunRequest("")


def _run(request: RunRequest) -> dict[str, Fact]:
    found: dict[str, Fact] = {"command": request.command}
    if request.path != _RUN_PLAIN.path:
        found["cwd"] = as_value(request.path)
    if request.output != _RUN_PLAIN.output:
        found["output"] = request.output
    if request.timeout_s is not None:
        found["timeout_s"] = request.timeout_s
    return found
