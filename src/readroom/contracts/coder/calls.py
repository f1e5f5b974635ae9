"""The call of the contract `coder` for a request, where it has one."""

from __future__ import annotations

from readroom.limits.contracts import RESPONSE_LINES
from readroom.quoting import quote
from readroom.values import Call, Fact, ReadRequest, Request

READ, WORKSPACE_READ = "read_file", "coder_workspace_read_file"


def spelled(path: str, root: str) -> str:
    """A path of the workspace as callers write it; odd bytes as listings show them."""
    absolute = root if path == "." else f"{root.rstrip('/')}/{path}"
    # As it is, unless it cannot be sent: only what begins with a quote is read as quoted.
    try:
        absolute.encode()
    except UnicodeEncodeError:
        return quote(absolute)
    return absolute


def to_call(request: Request, root: str) -> Call | None:
    """The call that means `request`; None when this contract has none."""
    if not isinstance(request, ReadRequest) or request.column != 1 or (request.offset or 1) < 1:
        return None
    path = request.path if request.path.startswith(("/", '"/')) else spelled(request.path, root)
    arguments: dict[str, Fact] = {"path": path}
    if request.offset is not None:
        arguments["offset"] = request.offset
    if request.limit is not None and request.limit < RESPONSE_LINES:
        arguments["limit"] = request.limit
    return Call(READ, arguments)
