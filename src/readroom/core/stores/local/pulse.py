"""Whether a mount answers, for roots on file systems that another process or machine serves.

A call to such a mount ends when its server answers, perhaps never, and nothing interrupts it. So the mount is
asked first, by a thread of its own for which nobody waits long: one that hangs costs the calls about it an
error, and no other call anything.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable
from typing import TypeVar, final

from readroom.core.errors import StoreFailed
from readroom.core.paths import WorkPath
from readroom.core.stores.local.resolve import Found, Way

T = TypeVar("T")

ANSWER_S = 5.0
"""How long a mount may take to answer: a slow network takes a second or two, and callers wait a minute."""

FRESH_S = 0.1
"""How long an answer counts. Ten questions a second cost a walk of many files nothing."""

_SERVED = (
    b"9p", b"afs", b"beegfs", b"ceph", b"cifs", b"coda", b"davfs", b"fuse", b"gfs", b"glusterfs", b"gpfs",
    b"lustre", b"nfs", b"orangefs", b"smb", b"sshfs", b"virtiofs",
)  # fmt: skip
"""How the types of file systems begin that another process or machine serves."""


def file_system(folder: int) -> bytes:
    """The type of the file system that an open folder is on, as Linux names it; empty if unknown."""
    try:
        with open(f"/proc/self/fdinfo/{folder}", "rb") as file:
            mount = next((line.split()[1] for line in file if line.startswith(b"mnt_id:")), b"")
        with open("/proc/self/mountinfo", "rb") as file:
            for line in file:
                if line.split(b" ", 1)[0] == mount:
                    return line.partition(b" - ")[2].split(b" ", 1)[0]
    except (OSError, IndexError):
        pass
    return b""


def pulse_of(folder: int, device: int) -> Pulse | None:
    """The pulse of the mount that an open root is on; None for one on a disk of this machine."""
    if os.major(device) != 0 or not file_system(folder).startswith(_SERVED):
        return None
    return Pulse(folder)


@final
class Pulse:
    """Asks one mount. Safe to share between threads."""

    def __init__(self, folder: int) -> None:
        """`folder` is an open folder on it, which stays open."""
        self._folder = folder
        self._lock = threading.Lock()
        self._asked: tuple[threading.Event, float] | None = None
        self._fresh_until = 0.0

    @property
    def beats(self) -> bool:
        """Whether it answers, an error included; waits at most `ANSWER_S` for that."""
        now = time.monotonic()
        if now < self._fresh_until:
            return True
        with self._lock:
            if self._asked is None:
                self._asked = threading.Event(), now + ANSWER_S
                threading.Thread(target=self._ask, args=self._asked[:1], daemon=True).start()
            answered, until = self._asked
        return answered.wait(max(0.0, until - now))

    def require(self, path: str) -> None:
        """Raise StoreFailed unless it answers."""
        if not self.beats:
            raise silent(path)

    def _ask(self, answered: threading.Event) -> None:
        with contextlib.suppress(OSError):
            os.fstatvfs(self._folder)  # unlike a stat, no file system answers this out of what it remembers
        self._fresh_until = time.monotonic() + FRESH_S
        with self._lock:
            self._asked = None
        answered.set()


def silent(path: str) -> StoreFailed:
    """The error for a mount that does not answer."""
    problem = f"its file system has not answered for {ANSWER_S:.0f} seconds"
    return StoreFailed(path, problem, "Ask the user to look at what is mounted there.")


@final
class WatchedWay:
    """A way on a mount, which is asked first whether it answers."""

    __slots__ = ("_pulse", "_way")

    def __init__(self, way: Way, pulse: Pulse) -> None:
        self._way = way
        self._pulse = pulse

    def file(self, path: WorkPath) -> Found:
        self._pulse.require(path)
        return self._way.file(path)

    def folder(self, path: WorkPath) -> Found:
        self._pulse.require(path)
        return self._way.folder(path)

    def stat(self, path: WorkPath) -> tuple[WorkPath, os.stat_result]:
        self._pulse.require(path)
        return self._way.stat(path)


def within(look: Callable[[], T]) -> T:
    """What `look` returns or raises. Raises TimeoutError if it takes longer than `ANSWER_S`."""
    found: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            found.append(look())
        except BaseException as error:  # raised again for the caller
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(ANSWER_S)
    if failed:
        raise failed[0]
    if not found:
        raise TimeoutError
    return found[0]
