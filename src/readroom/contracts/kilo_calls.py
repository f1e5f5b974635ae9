"""The call of the contract kilo for a request."""

from __future__ import annotations

from readroom.model import Call, Fact, ReadRequest, Request
from readroom.quoting import as_value

READ = "read_file"


def to_call(request: Request, last: int | None = None) -> Call | None:
    """The call that shows it; None when there is none.

    Args:
        request: A read of lines, or anything else.
        last: Where the lines that were asked for end; None when they end with the file.
    """
    if not isinstance(request, ReadRequest) or request.view != "text" or request.symbol is not None:
        return None
    first = request.offset
    if request.pages is not None or (first or 1) < 1:
        return None
    found: dict[str, Fact] = {"path": as_value(request.path)}
    if first is not None:
        found["start_line"] = first
    if request.column > 1:
        found["column"] = request.column
    elif first is not None and last is not None and last >= first:
        found["end_line"] = last
    return Call(READ, found)
