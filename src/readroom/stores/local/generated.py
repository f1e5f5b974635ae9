"""Files that the system makes as they are read, as those of /proc and /sys: their size says nothing.

The first have no size, the others that of a page, whatever is in them.  No other file has bytes and
no size, and only what has no blocks on a disk is looked at like this.
"""

from __future__ import annotations

import os

from readroom.errors import StoreFailed
from readroom.limits import SMALL_FILE_BYTES
from readroom.paths import WorkPath

_PAGE_BYTES = 4096


def content_of(fd: int, status: os.stat_result, path: WorkPath) -> bytes | None:
    """All that can be read of an opened file whose size is not true; None when it is.

    Raises:
        OSError: From reading.
        StoreFailed: There is too much to be held.
    """
    if status.st_blocks or status.st_size > _PAGE_BYTES:
        return None
    data = os.pread(fd, _PAGE_BYTES + 1, 0)
    if len(data) == status.st_size:
        return None
    now = os.fstat(fd)
    if (now.st_size, now.st_mtime_ns) != (status.st_size, status.st_mtime_ns):
        return None  # somebody writes to it: it has another size by now
    pieces, size = [data], len(data)
    while size <= SMALL_FILE_BYTES and (data := os.pread(fd, SMALL_FILE_BYTES, size)):
        pieces.append(data)
        size += len(data)
    if size > SMALL_FILE_BYTES:
        problem = f"the system makes it as it is read, and it has more than {SMALL_FILE_BYTES:,} bytes"
        raise StoreFailed(path, problem)
    return b"".join(pieces)
