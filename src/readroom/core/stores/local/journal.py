"""Journals of batches that are being made: what a killed process was about to change, and how far it was.

A journal is one file of this user, outside the workspace.  It is complete before the first name is changed,
and its name says whether the batch counts, since a rename needs no space.  Its process holds a lock on it as
long as it lives; a journal that nobody holds is that of a process that died.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias, final

import msgspec
from msgspec import Struct

from readroom.core.closeable import Closeable
from readroom.core.paths import WorkPath, join
from readroom.core.stores.local.unfinished import try_lock

_BEGUN, _ENDED = ".begun", ".ended"

Kind: TypeAlias = Literal["put", "remove", "rename", "folder", "tree"]
PUT: Kind = "put"
REMOVE: Kind = "remove"
RENAME: Kind = "rename"
FOLDER: Kind = "folder"
TREE: Kind = "tree"

State: TypeAlias = tuple[int, int, int, int]
"""Device, inode, size and time of change of a file; of anything else the first two count."""


def state_of(status: os.stat_result) -> State:
    """The state that a stat shows."""
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def encoded(name: str) -> bytes:
    """A name as the system has it: it need not be text."""
    return os.fsencode(name)


class Step(Struct, omit_defaults=True):
    """One change of one name, with all that is needed to take it back.

    Attributes:
        kind: What it does. A tree without a name is one that is being written.
        folder: The real path of the folder of the name.
        name: The name.
        temporary: The name of the new file before, and of the old one after.
        staged: The folder of the temporary name.
        aside: The name of what is removed, until the end.
        old: What has the name before.
        new: What has it afterwards.
        exact: Whether size and time of what is removed count, and not only which it is.
        to_folder: The folder of the new name of something that is renamed.
        to_name: That name.
        inside: The names below a folder that comes back.
    """

    kind: Kind
    folder: bytes
    name: bytes
    temporary: bytes = b""
    staged: bytes = b""
    aside: bytes = b""
    old: State | None = None
    new: State | None = None
    exact: bool = False
    to_folder: bytes = b""
    to_name: bytes = b""
    inside: list[bytes] = []

    @property
    def folder_path(self) -> WorkPath:
        """The folder of the name."""
        return WorkPath(os.fsdecode(self.folder))

    @property
    def file_name(self) -> str:
        """The name."""
        return os.fsdecode(self.name)

    @property
    def path(self) -> WorkPath:
        """The name with its folder."""
        return join(self.folder_path, self.file_name)

    @property
    def temporary_name(self) -> str:
        """The temporary name."""
        return os.fsdecode(self.temporary)

    @property
    def staged_path(self) -> WorkPath:
        """The folder of the temporary name."""
        return WorkPath(os.fsdecode(self.staged))

    @property
    def aside_name(self) -> str:
        """The name until the end."""
        return os.fsdecode(self.aside)

    @property
    def to_folder_path(self) -> WorkPath:
        """The folder of the new name."""
        return WorkPath(os.fsdecode(self.to_folder))

    @property
    def to_file_name(self) -> str:
        """The new name."""
        return os.fsdecode(self.to_name)

    @property
    def folders(self) -> Sequence[WorkPath]:
        """The folders that it changes names in."""
        paths = (self.folder, self.staged, self.to_folder)
        return [WorkPath(os.fsdecode(path)) for path in paths if path]

    @property
    def identity(self) -> tuple[int, int]:
        """Device and inode of what gets the name."""
        state = self.new or self.old
        assert state is not None  # only folders have neither
        return state[0], state[1]


class OneOf(Struct, frozen=True):
    """One of several roots in which a batch changes names: its name in the paths of the steps, and itself."""

    at: bytes
    root: bytes
    device: int
    inode: int


class Record(Struct):
    """A journal: the folder of the workspace, by name and identity, and the steps in order.

    Attributes:
        every: All roots, where the batch changes several; the paths of its steps are those of the tree.
    """

    root: bytes
    device: int
    inode: int
    steps: list[Step]
    every: list[OneOf] = []

    def on(self, devices: Mapping[int, int]) -> Sequence[Step]:
        """The steps, where devices have other numbers since the machine was started again."""
        for step in self.steps:
            step.old, step.new = _moved(step.old, devices), _moved(step.new, devices)
        return self.steps


def _moved(state: State | None, devices: Mapping[int, int]) -> State | None:
    return state if state is None else (devices.get(state[0], state[0]), *state[1:])


@final
class BatchJournal(Closeable):
    """The journal of one batch."""

    def __init__(
        self, folder: str, root: str, identity: tuple[int, int], every: Sequence[OneOf] = ()
    ) -> None:
        """A journal of the root of that name and identity, or of several roots.

        `folder` is where journals are, made when the first begins.
        """
        self._every = every
        self._folder = folder
        self._root = root
        self._identity = identity
        self._path = ""
        self._fd = -1

    def begin(self, steps: Sequence[Step]) -> bool:
        """Note what is going to be done; False where that cannot be noted."""
        record = Record(os.fsencode(self._root), *self._identity, list(steps), list(self._every))
        path = os.path.join(self._folder, os.urandom(8).hex())
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            os.makedirs(self._folder, 0o700, exist_ok=True)
            # Under a name that nobody looks at until it is complete and locked.
            self._fd = os.open(path, flags, 0o600)
            self._path = path
            try_lock(self._fd)
            data = msgspec.msgpack.encode(record)
            while data:
                data = data[os.write(self._fd, data) :]
            os.fsync(self._fd)
            self._rename(path + _BEGUN)
        except OSError:
            self.close()
            return False
        return True

    def end(self) -> None:
        """From here on the batch counts. Should that fail, it is undone if the process is killed now."""
        with contextlib.suppress(OSError):
            self._rename(self._path.removesuffix(_BEGUN) + _ENDED)

    def _rename(self, path: str) -> None:
        os.rename(self._path, path)
        self._path = path
        folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def close(self) -> None:
        """Remove it: nothing is left to be undone or cleared."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            with contextlib.suppress(OSError):
                os.unlink(self._path)
            os.close(fd)


class Abandoned(Struct, frozen=True):
    """The journal of a process that died: what it says, and whether its batch counts."""

    record: Record
    ended: bool


UNFINISHED_S = 60.0
"""A journal that is this old and was never begun belongs to a process that died while it wrote it."""


def each_abandoned(folder: str, finish: Callable[[Abandoned], bool | None]) -> bool:
    """Call `finish` with each journal of a process that died; whether none has to be looked at again.

    `finish` returns whether it is done with a journal, which is removed then, or None if it is not its own.
    """
    done = True
    for path in _listed(folder):
        with contextlib.suppress(OSError):
            done &= _finished(path, finish)
    return done


def _listed(folder: str) -> Iterator[str]:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in list(entries):
            yield entry.path


def _finished(path: str, finish: Callable[[Abandoned], bool | None]) -> bool:
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not try_lock(fd):
            return False  # its process lives
        if path.endswith((_BEGUN, _ENDED)):
            abandoned = _read(fd, ended=path.endswith(_ENDED))
            done = True if abandoned is None else finish(abandoned)
        else:
            done = time.time() - os.fstat(fd).st_mtime >= UNFINISHED_S
        if done:
            os.unlink(path)
    finally:
        os.close(fd)
    return done is not False


def _read(fd: int, *, ended: bool) -> Abandoned | None:
    data = b""
    while piece := os.read(fd, 1 << 20):
        data += piece
    try:
        return Abandoned(msgspec.msgpack.decode(data, type=Record), ended)
    except msgspec.DecodeError:
        return None
