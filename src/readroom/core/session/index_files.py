"""The file format of block indexes, which are kept on disk for later processes.

They lie in the user's cache folder, one file for each indexed file, and may be
deleted at any moment.  They hold numbers of lines and hashes, no content and no
name: a file of ours is called by a hash of device, inode and encoding.

    bytes            16   MAGIC, whose last character is the version of this format
    10 x u64              device, inode, size, mtime_ns and ctime_ns (signed) of the indexed file; bytes
                          indexed; lines; line ends that are CR LF; those before the last whole block; seed
    u64                   a check of a known text, to notice a library that computes it differently
    3 x u32               bytes per block; blocks; bytes of the byte order mark
    32 bytes              SHA-256, zero when it is not known
    32, 4 bytes           name of the encoding and byte order mark, filled up with zeros
    blocks x u64          line feeds before the end of each block
    blocks x u64          a check of the bytes of each block
    blocks x u8           1 where each byte is a character
    32 bytes              BLAKE2b of all before

All numbers are little-endian.  Any other file is ignored.  Files are
written under another name and renamed, so that no process ever sees half of one;
of several that write the same, the last one wins.  Only the user can write
here; a folder of another user, or a link in its place, is not used.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import struct
import sys
import time
from array import array
from collections.abc import Iterator
from typing import final

from msgspec import Struct

from readroom.core.text.encodings import UNITS, Encoding
from readroom.core.text.line_index import LineIndex, check
from readroom.core.values import Version

FOLDER = "indexes"

_MAGIC = b"readroom-index 1"
_HEAD = struct.Struct("<16s3Q2q6Q3I32s32s4s")
_PROBE = b"readroom"
_DIGEST_BYTES = 32
_NAME = r"[0-9a-f]{32}\.index"
_PART = r"\.[0-9a-f]{16}\.part"
_ABANDONED_S = 3600.0
"""Age at which a temporary file must belong to a process that died while it wrote."""


INDEX_KEPT_FROM_BYTES = 64 * 1024 * 1024
"""From this size on an index is stored on disk, and continued when its file grows. A pass over a smaller file
takes 40 ms, which is not worth a file of ours, nor a reply without a hash."""

INDEX_DISK_BYTES = 256 * 1024 * 1024
"""Indexes stored on disk by all processes of a user: those of 4 TB of files. The oldest are removed first."""

INDEX_SETTLED_MS = 100.0
"""How long a file must have been left alone before its index is trusted later without looking at it: clocks
of file systems tick every 1 to 10 ms, and a change within a tick leaves no trace."""


class IndexPolicy(Struct, frozen=True):
    """Whether and where indexes are kept on disk, and for which files.

    Attributes:
        keep: Whether to keep indexes.
        folder: The absolute path of their folder; None if there is no place for it.
        disk_bytes: The limit for all of them together.
        from_bytes: Smaller files are read again when they have grown, and never kept on disk.
        settled_ms: How long a file must have been left alone before its index is trusted later.
    """

    keep: bool = True
    folder: str | None = None
    disk_bytes: int = INDEX_DISK_BYTES
    from_bytes: int = INDEX_KEPT_FROM_BYTES
    settled_ms: float = INDEX_SETTLED_MS


class _Refused(Exception):
    """A folder or file that is not safely this user's own."""


INDEX_FILE_BYTES = 64 * 1024 * 1024
"""Largest index that is stored on disk: that of a file of 1 TB."""


@final
class IndexFolder:
    """The stored indexes of one user. Safe to share between threads and processes; it never raises."""

    def __init__(self, folder: str, max_bytes: int = INDEX_DISK_BYTES) -> None:
        """Nothing is made before the first index is kept."""
        self._place = folder
        self._max_bytes = max_bytes

    def load(self, version: Version, encoding: Encoding) -> tuple[Version, LineIndex] | None:
        """The stored index of that file, in whatever state the file was."""
        with contextlib.suppress(OSError, _Refused), self._opened(make=False) as folder:
            data = _read(folder, _name(version, encoding))
            parsed = _parsed(data)
            if parsed is not None:
                kept, index = parsed
                same = (kept.device, kept.inode) == (version.device, version.inode)
                if same and index.encoding == encoding:
                    return parsed
        return None

    def save(self, version: Version, index: LineIndex) -> None:
        """Store an index; the oldest ones are removed when there are too many."""
        data = _written(version, index)
        if len(data) > min(INDEX_FILE_BYTES, self._max_bytes):
            return
        with contextlib.suppress(OSError, _Refused), self._opened(make=True) as folder:
            _write(folder, _name(version, index.encoding), data)
            _trim(folder, self._max_bytes)

    @contextlib.contextmanager
    def _opened(self, *, make: bool) -> Iterator[int]:
        """A descriptor of the folder, which is this user's own."""
        place = _step(self._place, None, make=make)
        try:
            folder = _step(FOLDER, place, make=make)
        finally:
            os.close(place)
        try:
            yield folder
        finally:
            os.close(folder)


def _step(path: str, above: int | None, *, make: bool) -> int:
    if above is None:
        _require_own_place(os.path.dirname(path), make=make)
    if make:
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700, dir_fd=above)
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
    try:
        status = os.fstat(fd)
        if status.st_uid != os.geteuid():
            raise _Refused
        if stat.S_IMODE(status.st_mode) & 0o077:
            os.fchmod(fd, 0o700)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _require_own_place(path: str, *, make: bool) -> None:
    """Refuse a folder of another user, such as root's files in a user's home."""
    if make:
        os.makedirs(path, 0o700, exist_ok=True)
    if os.stat(path).st_uid not in (os.geteuid(), 0):
        raise _Refused


def _name(version: Version, encoding: Encoding) -> str:
    identity = f"{version.device}:{version.inode}:{encoding.name}:{encoding.bom.hex()}"
    return hashlib.blake2b(identity.encode(), digest_size=16).hexdigest() + ".index"


def _read(folder: int, name: str) -> bytes:
    fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_nlink != 1:
            raise _Refused
        if status.st_size > INDEX_FILE_BYTES:
            raise _Refused
        with contextlib.suppress(OSError):
            os.utime(fd)  # the oldest are removed first, and this one is in use
        with open(fd, "rb", closefd=False) as file:
            return file.read(INDEX_FILE_BYTES + 1)
    finally:
        os.close(fd)


def _write(folder: int, name: str, data: bytes) -> None:
    part = f".{os.urandom(8).hex()}.part"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(part, flags, 0o600, dir_fd=folder)
    try:
        with open(fd, "wb") as file:
            file.write(data)
        os.rename(part, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part, dir_fd=folder)
        raise


INDEX_DISK_FILES = 4096
"""Their number; a folder of so many names is listed in a few milliseconds."""


def _trim(folder: int, max_bytes: int) -> None:
    """Remove the oldest files beyond the limits, and abandoned temporary files."""
    files: list[tuple[int, int, str]] = []
    now = time.time()
    with os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):  # another process may remove them as well
                status = entry.stat(follow_symlinks=False)
                if re.fullmatch(_NAME, entry.name):
                    files.append((status.st_mtime_ns, status.st_size, entry.name))
                elif re.fullmatch(_PART, entry.name) and status.st_mtime < now - _ABANDONED_S:
                    os.unlink(entry.name, dir_fd=folder)
    size, count = sum(file[1] for file in files), len(files)
    for _, length, name in sorted(files):
        if size <= max_bytes and count <= INDEX_DISK_FILES:
            return
        with contextlib.suppress(OSError):
            os.unlink(name, dir_fd=folder)
        size -= length
        count -= 1


def _written(version: Version, index: LineIndex) -> bytes:
    head = _HEAD.pack(
        _MAGIC,
        version.device,
        version.inode,
        version.size,
        version.mtime_ns,
        version.ctime_ns,
        index.size,
        index.total_lines,
        index.crlf,
        index.crlf_whole,
        index.seed,
        check(_PROBE, index.seed),
        index.block_bytes,
        len(index.newlines),
        len(index.encoding.bom),
        bytes.fromhex(index.sha256),
        index.encoding.name.encode("ascii"),
        index.encoding.bom,
    )
    body = head + _little(index.newlines) + _little(index.checks) + index.ascii_blocks
    return body + hashlib.blake2b(body, digest_size=_DIGEST_BYTES).digest()


def _parsed(data: bytes) -> tuple[Version, LineIndex] | None:
    """The inverse of `_written`; None for anything else."""
    body, digest = data[:-_DIGEST_BYTES], data[-_DIGEST_BYTES:]
    if len(body) < _HEAD.size or hashlib.blake2b(body, digest_size=_DIGEST_BYTES).digest() != digest:
        return None
    magic, *numbers, sha256, name, bom = _HEAD.unpack_from(body)
    done, lines, crlf, crlf_whole, seed, probe, block, count, mark = numbers[5:]
    if magic != _MAGIC or probe != check(_PROBE, seed) or not block or done > numbers[2]:
        return None
    if count != -(-done // block) or len(body) != _HEAD.size + 17 * count:
        return None
    encoding = name.rstrip(b"\0").decode("ascii")
    newlines = _numbers(body[_HEAD.size : _HEAD.size + 8 * count])
    index = LineIndex(
        encoding=Encoding(encoding, bom[:mark], UNITS.get(encoding, 1)),
        size=done,
        sha256=sha256.hex() if any(sha256) else "",
        total_lines=lines,
        newlines=newlines,
        block_bytes=block,
        ascii_blocks=body[_HEAD.size + 16 * count :],
        checks=_numbers(body[_HEAD.size + 8 * count : _HEAD.size + 16 * count]),
        seed=seed,
        crlf=crlf,
        crlf_whole=crlf_whole,
    )
    return Version(*numbers[:5]), index


def _little(numbers: array[int]) -> bytes:
    if sys.byteorder == "little":
        return numbers.tobytes()
    swapped = array("Q", numbers)
    swapped.byteswap()
    return swapped.tobytes()


def _numbers(data: bytes) -> array[int]:
    numbers = array("Q")
    numbers.frombytes(data)
    if sys.byteorder != "little":
        numbers.byteswap()
    return numbers
