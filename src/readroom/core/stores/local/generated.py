"""Files that the system generates as they are read, as in /proc and /sys: their size is meaningless.

Files in /proc have size 0, those in /sys the size of a page, whatever their content.  No other file has bytes
but no size, and only files without blocks on a disk are treated like this.
"""

from __future__ import annotations

import os

from readroom.core.errors import StoreFailed
from readroom.core.limits import SMALL_FILE_BYTES
from readroom.core.paths import WorkPath

_PAGE_BYTES = 4096


def content_of(fd: int, status: os.stat_result, path: WorkPath) -> bytes | None:
    """The whole content of a file whose size is not meaningful; None for other files.

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
        return None  # it was written to meanwhile, and has a different size
    pieces, size = [data], len(data)
    while size <= SMALL_FILE_BYTES and (data := os.pread(fd, SMALL_FILE_BYTES, size)):
        pieces.append(data)
        size += len(data)
    if size > SMALL_FILE_BYTES:
        problem = f"the system makes it as it is read, and it has more than {SMALL_FILE_BYTES:,} bytes"
        raise StoreFailed(path, problem)
    return b"".join(pieces)
