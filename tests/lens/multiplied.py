"""One record of any size, multiplied from a real session: as one long session, or as many in one file."""

from __future__ import annotations

import re
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

_ID = re.compile(rb"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_NAMES = re.compile(rb'("(?:id|tool_use_id|uuid|requestId)" ?: ?")')
LONG_LINE_BYTES = 100_000_000


def multiplied(source: Path, out: Path, size: int, *, sessions: bool, long_lines: int = 0) -> int:
    """Write copies of a record of lines until they have so many bytes; their number.

    Args:
        source: The record of a real session.
        out: Is written.
        size: Bytes, at least.
        sessions: Whether each copy is a session of its own; else all are one, whose calls and lines are
            others in each copy.
        long_lines: So many lines of 100 MB stand between the copies.
    """
    text = source.read_bytes()
    own = Counter(_ID.findall(text)).most_common(1)[0][0]
    written = count = 0
    with out.open("wb") as stream:
        while written < size:
            number = str(count).encode()
            if sessions:
                copy = text.replace(own, str(uuid.uuid5(uuid.NAMESPACE_OID, str(count))).encode())
            else:
                copy = _NAMES.sub(rb"\g<1>" + number + b"-", text).replace(b"\\n", b" " + number + b"\\n")
            written += stream.write(copy)
            if count < long_lines:
                written += sum(map(stream.write, _long_line(own)))
            count += 1
    return count


def _long_line(session: bytes) -> Iterator[bytes]:
    yield b'{"type":"user","sessionId":"' + session + b'","uuid":"long","message":{"role":"user","content":"'
    piece = b"some words \\u00e9\\n" * 10_000
    for _ in range(LONG_LINE_BYTES // len(piece) + 1):
        yield piece
    yield b'"}}\n'
