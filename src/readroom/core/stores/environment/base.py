"""The needs of the store: an environment, and names as they are there.

An adapter wraps the client of one framework as an `Environment`, about a hundred lines; everything else is
shared by all of them.
"""

from __future__ import annotations

import stat as modes
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol, runtime_checkable

from msgspec import Struct

from readroom.core.errors import StoreFailed
from readroom.core.paths import WorkPath
from readroom.core.stores.base import Change, Folder, Leftover
from readroom.core.values import EntryKind, Stat, Version


class Ran(Struct, frozen=True):
    """The answer of a command: its exit code, and its output with whatever the client added to that."""

    code: int
    text: str


class Known(Struct, frozen=True):
    """A name as an environment without commands describes it; `size` is None if it does not say."""

    name: str
    is_folder: bool
    size: int | None


class Environment(Protocol):
    """The client of an environment, as an adapter wraps it. Safe to share between threads.

    Paths are absolute.  Methods that touch files raise the builtin errors of files; every method raises
    StoreFailed, with a next step, if the environment is gone or does not answer in time.
    """

    @property
    def name(self) -> str:
        """Its name for people."""

    @property
    def runs(self) -> bool:
        """Whether it runs commands, by `run`."""

    @property
    def has_files(self) -> bool:
        """Whether it has whole files, under the names that they have for commands."""

    def working_dir(self) -> str:
        """Its folder, links resolved."""

    def run(self, command: Sequence[str], seconds: float) -> Ran:
        """Run a program with its arguments, all ASCII, in any folder."""

    def write(self, path: str, data: bytes) -> None:
        """Write a whole file; folders above it are made. Only asked for with `has_files`."""

    def close(self) -> None:
        """Release the client; the environment stays. A second call does nothing."""


@runtime_checkable
class Files(Environment, Protocol):
    """An environment whose files are also reached whole, without commands, as far as `has_files` says."""

    def read(self, path: str) -> bytes:
        """All bytes of a file."""

    def look(self, path: str) -> Known:
        """The entry at a path, links followed."""

    def list(self, path: str) -> Sequence[Known]:
        """The names in a folder."""

    def make(self, path: str) -> None:
        """Make a folder and those above it."""

    def remove(self, path: str) -> None:
        """Remove a file, or a folder with everything in it."""

    def real(self, path: str) -> str | None:
        """The path with links resolved; None if it does not say."""


class Seen(Struct, frozen=True):
    """A name as it was seen, links not followed. `target` is that of a link."""

    stat: Stat
    version: Version
    target: str = ""

    @property
    def kind(self) -> EntryKind:
        """Its kind."""
        return self.stat.kind


class Trace(Struct, frozen=True):
    """The names along a path, the root first, up to the first that is a link or is not there.

    Attributes:
        names: The names as they were seen.
        closed: Whether permissions hide the next.
        head: The first bytes of a small file at the end, if they were asked for.
    """

    names: Sequence[Seen]
    closed: bool = False
    head: bytes | None = None


class Hands(Protocol):
    """How the store reaches files: by commands, or by whole files alone.  Paths are below the root.

    Every method may raise what a store's methods raise.
    """

    left: list[Leftover]
    """Remains of interrupted changes that no reply has named yet."""

    @property
    def sees_links(self) -> bool:
        """Whether a link differs from its target here."""

    def start(self) -> str:
        """The absolute path of the root; called before anything else."""

    def trace(self, path: WorkPath, *, head: bool = False) -> Trace:
        """The names along a path, up to the first link; with `head` the first bytes, too."""

    def names(self, folder: WorkPath) -> Mapping[str, Seen]:
        """The names in a folder."""

    def tree(self, top: WorkPath) -> Mapping[str, Mapping[str, Seen]] | None:
        """The names in all folders below one, by its path inside, "" for itself; None if it has too many."""

    def read(self, path: WorkPath, seen: Seen, cell: int, count: int) -> bytes:
        """Cells of a file that was seen, as many bytes as it still has there. Raises NotFound if replaced."""

    def commit(self, changes: Sequence[Change], ready: Callable[[], None]) -> None:
        """Make changes, as `Store.commit`."""

    def holding(self, top: WorkPath, text: bytes, *, ignore_case: bool) -> set[bytes] | None:
        """Files below a folder that may hold a text, or whose bytes do not tell; None if all may."""


class Reached(Protocol):
    """The store, as what it opens sees it."""

    @property
    def hands(self) -> Hands:
        """How files are reached."""

    @property
    def writing(self) -> threading.Lock:
        """Held by the one writer of this process."""

    def version(self, path: WorkPath) -> Version | None:
        """As of a store."""

    def at(self, path: WorkPath, *, head: bool = False) -> tuple[Seen | None, bytes | None]:
        """The entry of a name, not followed; with `head` the first bytes, too."""

    def open_folder(self, path: WorkPath) -> Folder:
        """As of a store."""

    def closed(self, folder: Folder) -> None:
        """Forget a folder that was open."""

    def commit(self, changes: Sequence[Change], ready: Callable[[], None]) -> object:
        """As of a store."""


CELL_BYTES = 48 * 1024
"""The unit in which files are fetched: 64 KiB in base64, which every client passes on."""

HASHED_BYTES = 64 * 1024 * 1024
"""The largest file whose states differ by its hash, where times have no fractions."""

ANSWER_S = 60.0
"""How long a command may take: a hanging environment must not hold up a conversation."""


def failed(name: str, problem: str, advice: str = "") -> StoreFailed:
    """The failure of an environment, with its next step."""
    return StoreFailed(
        name, problem, advice or "Try again; if it persists, ask the user whether the sandbox still runs."
    )


def kind_of(mode: int) -> EntryKind:
    """The kind that a mode means."""
    for test, kind in (
        (modes.S_ISREG, EntryKind.FILE),
        (modes.S_ISDIR, EntryKind.FOLDER),
        (modes.S_ISLNK, EntryKind.LINK),
    ):
        if test(mode):
            return kind
    return EntryKind.OTHER


def below(tree: Mapping[str, Mapping[str, Seen]]) -> Iterator[tuple[str, Seen]]:
    """Every name of a tree by its path inside, with what was seen."""
    for folder, names in tree.items():
        for name, seen in names.items():
            yield (f"{folder}/{name}" if folder else name), seen
