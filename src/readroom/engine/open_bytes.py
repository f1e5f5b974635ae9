"""Open a file for its bytes, through the guard: what is then handed out is what was checked."""

from __future__ import annotations

from readroom.policy.guard import Guard
from readroom.raw import BytesRequest, BytesResult, Stream


def open_bytes(guard: Guard, request: BytesRequest) -> BytesResult:
    """The file, open, with the bytes that are asked for and there; behind its end there are none.

    Raises:
        NotFound, NotAFile, Denied, OutsideRoot, HardLinked, NoPermission: From opening it.
    """
    source = guard.open(request.path)
    size = source.size
    first = min(request.first, size)
    count = size - first if request.count is None else min(request.count, size - first)
    return BytesResult(request.path, size, first, count, Stream(source, first, count))
