"""A mount that a process serves: killed, it is dead; stopped, it hangs.

Run as a program, this is the process: a file system with one file, spoken to through /dev/fuse.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

NAME, CONTENT = "b.txt", b"hello from the mount\n"

FUSE = "/dev/fuse"

_HEADER = struct.Struct("<IIQQIIII")
_ANSWER = struct.Struct("<IiQ")
_MOST_BYTES = 1 << 17


class Op(IntEnum):
    """Requests of the kernel."""

    LOOKUP = 1
    FORGET = 2
    GETATTR = 3
    OPEN = 14
    READ = 15
    STATFS = 17
    RELEASE = 18
    FLUSH = 25
    INIT = 26
    OPENDIR = 27
    READDIR = 28
    RELEASEDIR = 29
    ACCESS = 34
    BATCH_FORGET = 42


def _attributes(inode: int) -> bytes:
    mode, size, links = (0o040755, 0, 2) if inode == 1 else (0o100644, len(CONTENT), 1)
    numbers = (inode, size, 1, 0, 0, 0, 0, 0, 0, mode, links, os.getuid(), os.getgid(), 0, 4096, 0)
    return struct.pack("<QQQQQQIIIIIIIIII", *numbers)


def _answered(operation: int, inode: int, body: bytes) -> bytes | int:
    """The answer to a request of the kernel, or an error number."""
    match operation:
        case Op.INIT:
            return struct.pack("<IIIIHHIIHHI28x", 7, 31, 65536, 0, 12, 9, 65536, 1, 0, 0, 0)
        case Op.GETATTR:
            return struct.pack("<QII", 0, 0, 0) + _attributes(inode)
        case Op.LOOKUP if body.rstrip(b"\0") == NAME.encode():
            return struct.pack("<QQQQII", 2, 0, 0, 0, 0, 0) + _attributes(2)
        case Op.LOOKUP:
            return errno.ENOENT
        case Op.OPEN | Op.OPENDIR:
            return struct.pack("<QII", 0, 0, 0)
        case Op.READ:
            offset, size = struct.unpack_from("<QI", body, 8)
            return CONTENT[offset : offset + size]
        case Op.READDIR:
            (offset,) = struct.unpack_from("<Q", body, 8)
            return b"" if offset else struct.pack("<QQII", 2, 1, len(NAME), 8) + NAME.encode().ljust(8, b"\0")
        case Op.STATFS:
            return struct.pack("<QQQQQIIII24x", 0, 0, 0, 0, 0, 4096, 255, 4096, 0)
        case Op.RELEASE | Op.FLUSH | Op.RELEASEDIR | Op.ACCESS:
            return b""
    return errno.ENOSYS


def _serve(place: str) -> None:
    device = os.open(FUSE, os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()},allow_other"
    system = ctypes.CDLL(None, use_errno=True)
    if system.mount(b"none", os.fsencode(place), b"fuse.tested", 6, options.encode()) != 0:
        sys.exit(os.strerror(ctypes.get_errno()))
    while True:
        try:
            data = os.read(device, _MOST_BYTES)
        except OSError as error:
            if error.errno == errno.ENODEV:
                return  # it was unmounted
            continue
        _, operation, number, inode, *_ = _HEADER.unpack_from(data)
        if operation not in (Op.FORGET, Op.BATCH_FORGET):
            found = _answered(operation, inode, data[_HEADER.size :])
            code, content = (-found, b"") if isinstance(found, int) else (0, found)
            os.write(device, _ANSWER.pack(_ANSWER.size + len(content), code, number) + content)
        if operation == Op.INIT:
            print("ready", flush=True)


class Mount:
    """A mount and its process."""

    def __init__(self, place: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(place)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert self._process.stdout is not None
        self.works = self._process.stdout.readline() == b"ready\n"
        self._place = place

    def die(self) -> None:
        self._process.kill()
        self._process.wait()

    def hang(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()
        subprocess.run(["umount", "-l", str(self._place)], stderr=subprocess.DEVNULL, check=False)


@contextmanager
def served(place: Path) -> Iterator[Mount]:
    """A mount at a folder that is made for it."""
    place.mkdir()
    mount = Mount(place)
    try:
        yield mount
    finally:
        mount.end()


@cache
def lacking() -> str:
    """Why there is no such mount here; empty if there can be one."""
    if os.geteuid() != 0 or not os.path.exists(FUSE):
        return "only root mounts, through /dev/fuse"
    with TemporaryDirectory() as folder, served(Path(folder, "m")) as mount:
        return "" if mount.works else "mounts are forbidden here"


if __name__ == "__main__":
    _serve(sys.argv[1])
