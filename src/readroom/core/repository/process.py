"""The parent's side of the child that reads a repository: start it, ask it, end it in time.

A hostile repository may control its answers.  So sizes are checked before anything is read, and an answer of
another shape ends the process.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, final

from readroom.core.deadline import Deadline
from readroom.core.errors import MissingProgram, StoreFailed, TimedOut
from readroom.core.errors.git import NoSuchRevision, RepositoryFailed
from readroom.core.extras import OF_GIT, install
from readroom.core.limits import BLOCK_BYTES
from readroom.core.limits.files import CLOCK_S
from readroom.core.repository import child, place
from readroom.core.repository.place import GitPlace

GIT_CHILD_BYTES = 512 * 1024 * 1024
"""Memory that the child may allocate; packs are mapped and not among it."""

GIT_CHILD_CPU_S = 120
"""Processor time after which the kernel ends it; it is replaced long before."""

GIT_CHILD_FILES = 256
"""Descriptors of the child: one for each pack that it reads."""

GIT_ANSWER_BYTES = 64 * 1024 * 1024
"""One answer, without the bytes of objects."""

GIT_BLOB_BYTES = 64 * 1024 * 1024
"""The largest file of a revision that is read, and all names of one tree."""


class TooLargeBlob(Exception):
    """A file that is larger than `GIT_BLOB_BYTES`, with its size."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size


@final
class GitChild:
    """The child of one repository. For one caller at a time.

    `alive` is whether it can be asked: after anything but an answer it cannot.
    """

    def __init__(self, home: GitPlace) -> None:
        """Start it. Raises StoreFailed; the first question tells what it cannot open."""
        self.alive = True
        self._home = home
        self._process = _start(home)
        self._charged = 0.0
        self._is_new = True

    @property
    def is_fresh(self) -> bool:
        """Whether it has processor time left for another call."""
        return self._charged < GIT_CHILD_CPU_S / 2

    def ask(self, question: Mapping[str, Any], deadline: Deadline, data: bytes = b"") -> tuple[Any, bytes]:
        """The answer to a question, a dictionary that nobody has checked, and its bytes.

        Raises:
            MissingProgram: libgit2 is not installed.
            NoSuchRevision, RepositoryFailed: As the child says.
            TooLargeBlob: The file is too large.
            TimedOut, Cancelled: From the deadline.
        """
        forget = deadline.on_cancel(self._process.kill)
        try:
            if self._is_new:
                self._is_new = False
                self._answer(deadline, "")
            if data:
                question = {**question, "size": len(data), "data": True}
            self._tell(json.dumps(question).encode() + b"\n" + data, deadline)
            return self._answer(deadline, str(question.get("revision", "")))
        except (NoSuchRevision, TooLargeBlob):
            raise
        except BaseException:
            self.close()
            raise
        finally:
            forget()

    def close(self) -> None:
        """End the process; a second call does nothing."""
        self.alive = False
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def _tell(self, data: bytes, deadline: Deadline) -> None:
        assert self._process.stdin is not None
        left = memoryview(data)
        fd = self._process.stdin.fileno()
        waiting = select.poll()
        waiting.register(fd, select.POLLOUT)
        try:
            while left:
                deadline.check()
                if waiting.poll(CLOCK_S * 1000):
                    left = left[os.write(fd, left[: select.PIPE_BUF]) :]
        except OSError:
            raise self._failed("the program that reads it has ended") from None

    def _answer(self, deadline: Deadline, revision: str) -> tuple[Any, bytes]:
        size, more = child.LENGTHS.unpack(self._exactly(child.LENGTHS.size, deadline))
        if size > GIT_ANSWER_BYTES or more > GIT_BLOB_BYTES:
            raise self._failed("it has more than one answer may hold")
        text, blob = self._exactly(size, deadline), self._exactly(more, deadline)
        try:
            answer = json.loads(text)
            kind = answer["type"]
        except (ValueError, TypeError, KeyError, RecursionError):
            raise self._failed("the program that reads it gave no usable answer") from None
        problem = _shown(str(answer.get("problem", "")))
        match kind:
            case "Answer":
                return answer, blob
            case "Missing":
                raise MissingProgram("pygit2", install(OF_GIT))
            case "NoSuchRevision":
                raise NoSuchRevision(self._home.top, revision, problem)
            case "TooLarge" if problem.isdecimal():
                raise TooLargeBlob(int(problem))
        raise self._failed(problem)

    def _failed(self, problem: str) -> RepositoryFailed:
        return RepositoryFailed(self._home.top, problem)

    def _exactly(self, size: int, deadline: Deadline) -> bytes:
        out = self._process.stdout
        assert out is not None
        waiting = select.poll()
        waiting.register(out, select.POLLIN)
        received = bytearray()
        while len(received) < size:
            deadline.check()
            self._charge(deadline)
            left = deadline.remaining
            patience = CLOCK_S if left is None else min(CLOCK_S, left)
            if not waiting.poll(patience * 1000):
                continue
            data = os.read(out.fileno(), min(BLOCK_BYTES, size - len(received)))
            if not data:
                deadline.check()
                if self._process.wait() == -signal.SIGXCPU:
                    raise TimedOut(GIT_CHILD_CPU_S, processor=True)
                raise self._failed("the program that reads it crashed, or takes too much memory")
            received += data
        return bytes(received)

    def _charge(self, deadline: Deadline) -> None:
        """Charge the deadline with the processor time used since the last call."""
        worked = _processor_s(self._process.pid)
        if worked is not None:
            spent, self._charged = worked - self._charged, worked
            deadline.charge(spent)


def _shown(text: str) -> str:
    """A message of the child as one printable line."""
    return "".join(char if char.isprintable() else "\ufffd" for char in " ".join(text.split())[:300])


def _processor_s(pid: int) -> float | None:
    """Processor time used by another process; None where that cannot be measured."""
    if sys.platform != "linux":
        return None
    try:
        return time.clock_gettime((~pid << 3) | 2)  # the value of clock_getcpuclockid(3)
    except OSError:
        return None  # it has ended


_OWN = str(Path(child.__file__).parents[3])
"""The folder that the package is in."""


@cache
def libraries_of_python() -> tuple[list[str], list[str]]:
    """The places of modules, and those of the places that hold Python's own or installed ones."""
    import sysconfig

    python = sysconfig.get_path("stdlib")
    own = (python, os.path.join(python, "lib-dynload"), _OWN)
    paths = [path for path in sys.path if os.path.isabs(path)]
    return paths, [path for path in paths if path in own or _is_installed(path)]


def _is_installed(path: str) -> bool:
    try:
        return any(name.endswith(".dist-info") for name in os.listdir(path))
    except OSError:
        return False


def _start(home: GitPlace) -> subprocess.Popen[bytes]:
    paths, libraries = libraries_of_python()
    folders: list[int] = []
    try:
        for folder in dict.fromkeys((home.folder, home.common, *home.objects)):
            folders.append(place.opened(folder))
        order = child.Order(
            paths=paths,
            libraries=libraries,
            folders=folders,
            home=home.folder,
            shallow=sorted(home.shallow),
            memory_bytes=GIT_CHILD_BYTES,
            cpu_s=GIT_CHILD_CPU_S,
            files=GIT_CHILD_FILES,
        )
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", child.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=folders,
            cwd="/",
            env={},
            bufsize=0,
        )
    except OSError as error:
        problem = f"the program that reads repositories cannot be started: {error.strerror}"
        raise StoreFailed(home.top, problem) from None
    finally:
        for fd in folders:
            os.close(fd)
    assert process.stdin is not None
    with contextlib.suppress(OSError):  # its end is noticed at the next question
        process.stdin.write(json.dumps(order).encode() + b"\n")
    return process
