"""The interface between the engine and wherever files are stored.

A store knows nothing of policy.  It resolves a path inside its root, opens what is there in one act, and
reports the real name of what it opened.  Reading from a `Source` reads exactly the object that was
checked; its name is never looked up again.  Paths are normalized (`paths.WorkPath`) and relative to the
root, which is ".".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol, TypeAlias, runtime_checkable

from msgspec import Struct

from readroom.core.caller import Owner
from readroom.core.closeable import Closeable
from readroom.core.deadline import Deadline
from readroom.core.paths import WorkPath
from readroom.core.stores.promises import Promises
from readroom.core.values import Bytes, Entry, EntryKind, Names, Stat, Version
from readroom.core.values.commands import Lost
from readroom.core.values.files import Warn


class Source(Bytes, Closeable, Protocol):
    """An opened regular file. A caller that got it from a guard may read it."""

    @property
    def real(self) -> WorkPath:
        """Its real name relative to the root, links followed."""

    @property
    def stat(self) -> Stat:
        """Size, times, mode and link count when it was opened."""

    @property
    def version(self) -> Version:
        """The identity of the state that was opened."""

    def current(self) -> Version:
        """The identity of the current state; differs from `version` after a change."""

    def fileno(self) -> int | None:
        """A descriptor that a child process may read, at any position; None if there is none."""


def is_far(source: object) -> bool:
    """Whether each read of a source or folder may be a request that costs money (`stores.spending`)."""
    return getattr(source, "far", False)


def keeps_identity(source: Source) -> bool:
    """Whether the version of a source means the same file in every process."""
    return source.fileno() is not None or getattr(source, "keeps_identity", False)


Begun: TypeAlias = Callable[[], None]
"""Goes past a file that was asked for ahead: it was opened, or will not be."""


def passed() -> None:
    """Goes past a file that was not asked for."""


def ask_ahead(place: object, name: str, deadline: Deadline) -> Begun | None:
    """Ask a store for a file by its path, or a folder by its name, that the running call will open soon.

    Returns None if too many are asked for, and where files are not far away.
    """
    ahead: Callable[[str, Deadline], Begun | None] | None = getattr(place, "ahead", None)
    return None if ahead is None else ahead(name, deadline)


class Folder(Closeable, Protocol):
    """An opened folder, held open like a `Source`."""

    @property
    def real(self) -> WorkPath:
        """Its real name relative to the root, links followed."""

    def entries(self) -> Iterator[Entry]:
        """The names in it, in no order, without "." and ".."."""

    def names(self, maximum: int) -> Iterator[Names]:
        """The same in batches of up to `maximum`, for folders where a value per name costs too much."""

    def stat(self, name: str) -> Stat:
        """The stat of a name in it, without following a link. Raises NotFound if it is gone."""

    def target(self, name: str) -> str | None:
        """The target of a link in it, as stored; None if it is not a link."""

    def open(self, name: str) -> Source:
        """Open a regular file in it, without following a link; much cheaper than by path.

        Raises:
            NotFound: It is gone by now.
            NotAFile: It is something else, a link included.
        """

    def fileno(self) -> int | None:
        """A descriptor from which a child process may walk it; None if there is none."""


@runtime_checkable
class OrderedFolder(Folder, Protocol):
    """A folder with any number of names, which come in their order: few are read for a page of them."""

    @property
    def unnamed(self) -> int:
        """The number of entries seen so far that no path leads to."""

    def in_order(self, least: str = "") -> Iterator[Names]:
        """The names from `least` on in batches, each in no order and all after the batch before."""


Step: TypeAlias = Callable[[WorkPath, bool], None]
"""Called with a name that is about to be removed, and whether it is a folder."""


class Moved(Exception):
    """The entry at a name is not the expected one; it was left unchanged."""


class WriteTarget(Closeable, Protocol):
    """A name that may get a new file, in a folder that is held open.

    For the system's refusals its methods raise what a store's methods raise, and NoSpace and ReadOnlyPlace.
    """

    @property
    def real(self) -> WorkPath:
        """The name with links in its folder followed; a link at the name itself is not."""

    @property
    def spelling(self) -> str:
        """The last part of the name as it was asked for, which differs from that of `real` only where the
        file system takes both for one and has the other."""

    @property
    def folders(self) -> Sequence[WorkPath]:
        """The folders that `enter` made; they are removed again if nothing is put."""

    @property
    def warnings(self) -> Sequence[Warn]:
        """Warnings of `make`, `remove` and the like."""

    @property
    def removed(self) -> int:
        """How many names `remove_folder` has removed, even if it failed."""

    @property
    def writable(self) -> bool:
        """Whether the mode of the file, and the permissions of this process, let it be written."""

    @property
    def lock(self) -> tuple[int, ...]:
        """What `enter` locks. Only one target of each lock is entered, and all may then put."""

    def look(self) -> Stat | None:
        """The stat of the entry of that name, without following a link; None if there is none."""

    def open(self) -> Source:
        """Open the file at the name. Raises Moved if it is a link."""

    def enter(self, deadline: Deadline, *, make_folders: bool) -> None:
        """Lock out other writers of this package until it is closed; make missing folders.

        Raises:
            NotFound: A folder is missing and is not to be made.
            TimedOut, Cancelled: Another writer does not end, or the caller went away.
        """

    def put(self, pieces: Iterable[bytes], over: Source | None, ready: Callable[[], None]) -> Sequence[Warn]:
        """Put a new file at the name in one step, after `enter`; returns warnings.

        Args:
            pieces: Its bytes.
            over: The file to replace, as `open` returned it; None if there must be none.
            ready: Called when everything is written but nothing is changed yet; its exception ends the call.

        Raises:
            Moved: The name belongs to something else, or the folder has moved.
        """

    def enter_with(self, other: WriteTarget, deadline: Deadline) -> None:
        """Enter two targets of one store; only the other may lack folders. Raises as `enter`."""

    def hold(self, deadline: Deadline) -> None:
        """Lock the deepest folder on the way that exists, for `Store.commit`. Raises as `enter`."""

    def make(self) -> None:
        """Make a folder at the name, after `enter`. Raises Moved if something is there."""

    def remove(self, expected: Version | None) -> None:
        """Remove a file or a link, after `enter`; the target of a link stays.

        Args:
            expected: The state of the file, as `open` gave it; None for any state.

        Raises:
            Moved: It is in another state, or it is a folder.
        """

    def remove_folder(self, step: Step) -> None:
        """Remove a folder with everything in it, after `enter`; links are removed, never followed.

        Args:
            step: Called before each removal, for a folder before what is in it; what it raises
                ends the call, and what was removed so far stays so.

        Raises:
            Moved: It is not a folder, or another program is changing it.
        """

    def move(self, found: Stat, to: WriteTarget, over: Version | None) -> None:
        """Rename what is here to the other target in one step, after `enter_with`.

        Args:
            found: The entry, as `look` returned it.
            to: The destination.
            over: The file to replace there, as `open` returned it; None if there must be none.

        Raises:
            Moved: Something else is at one of the names; nothing was changed.
        """

    def close(self) -> None:
        """Release the lock; a second call does nothing."""


def hold_all(places: Iterable[WriteTarget], deadline: Deadline) -> None:
    """Lock targets for `Store.commit`, each lock once and all in one order. Raises as `WriteTarget.enter`."""
    first = {place.lock: place for place in places}
    for key in sorted(first):
        first[key].hold(deadline)


# -----------------------------------------------------------------------------
# Several changes that are made together. Each name is part of one of them only.
# -----------------------------------------------------------------------------


class Kept(Struct, frozen=True):
    """Mode and time of something that comes back, in nanoseconds since the epoch."""

    mode: int
    mtime_ns: int


class PutFile(Struct, frozen=True):
    """A file with those bytes at a name, in place of `over`, as `open` returned it.

    None means that there must be none: a new file gets `mode`, less what the system takes from that, or
    has `exactly` the mode and time that it had once; missing folders above it are made.  With `respelled`
    the name is afterwards spelled as it was asked for.
    """

    place: WriteTarget
    pieces: Iterable[bytes]
    over: Source | None = None
    mode: int = 0o666
    exactly: Kept | None = None
    respelled: bool = False


Inside: TypeAlias = Mapping[str, tuple[EntryKind, int, int]]
"""The names below a folder, by their path in it, with kind, size and time of change; folders have zeros."""


def as_inside(stat: Stat) -> tuple[EntryKind, int, int]:
    """How a name below a folder is compared."""
    return (stat.kind, 0, 0) if stat.kind is EntryKind.FOLDER else (stat.kind, stat.size, stat.mtime_ns)


class RemoveEntry(Struct, frozen=True):
    """What `look` found at a name is removed, a folder with everything in it.

    `expected` is the state of a file, as `open` gave it; None for any state.  A folder must have exactly the
    names `inside`, unless that is None.
    """

    place: WriteTarget
    found: Stat
    expected: Version | None = None
    inside: Inside | None = None


class RenameEntry(Struct, frozen=True):
    """What `look` found at a name gets another, which must be free; folders above that are made.

    If both are one for the file system, the name gets the spelling of the other.  `expected` is the state of
    a file, as `open` gave it, where `found` does not tell its states apart.
    """

    place: WriteTarget
    to: WriteTarget
    found: Stat
    expected: Version | None = None


class MakeEntry(Struct, frozen=True):
    """A folder at a name that must be free, with those above it."""

    place: WriteTarget


class MakeLink(Struct, frozen=True):
    """A symbolic link at a name that must be free; folders above it are made."""

    place: WriteTarget
    target: str
    mtime_ns: int | None = None


class TreeEntry(Struct, frozen=True):
    """A name of a folder that comes back: its path inside, "" for the folder itself, and what it was."""

    inside: str
    kind: EntryKind
    mode: int = 0o666
    mtime_ns: int | None = None
    data: bytes = b""
    target: str = ""


class PutTree(Struct, frozen=True):
    """A folder with everything in it, in one step, at a name that must be free; folders above it are made.

    `entries` begin with the folder itself; each folder comes before what is in it, and that before anything
    else.
    """

    place: WriteTarget
    entries: Sequence[TreeEntry]


Change: TypeAlias = PutFile | RemoveEntry | RenameEntry | MakeEntry | MakeLink | PutTree


class Leftover(Struct, frozen=True):
    """A part of an interrupted call that could not be undone, and why."""

    path: WorkPath
    problem: str


class Store(Protocol):
    """A tree of files.

    Every method may raise NotFound, OutsideRoot, NotAFile, NotAFolder, BadPath,
    NoPermission or StoreFailed, and nothing else.
    """

    @property
    def name(self) -> str:
        """Its name for people: the absolute path of a folder, or "memory"."""

    @property
    def folder(self) -> str | None:
        """The absolute path of a local root, for programs that walk it; None for other stores."""

    @property
    def roots(self) -> Sequence[str]:
        """The absolute paths by which callers and links may refer to the root."""

    @property
    def promises(self) -> Promises:
        """The promises that hold here, and who keeps them; found out once."""

    def require_root(self) -> None:
        """Raise StoreFailed if the name of the root means something else now."""

    def open(self, path: WorkPath) -> Source:
        """Open a regular file for reading, without ever blocking on a pipe or device."""

    def open_folder(self, path: WorkPath) -> Folder:
        """Open a folder."""

    def stat(self, path: WorkPath) -> tuple[WorkPath, Stat]:
        """The real name and the stat of what is at a path, links followed inside the root."""

    def place(self, path: WorkPath) -> WriteTarget:
        """The target for a write at a path, whether or not something is there; changes nothing yet."""

    def commit(self, changes: Sequence[Change], ready: Callable[[], None]) -> Sequence[Sequence[Warn]]:
        """Make all changes or none, also if the process is killed meanwhile; the warnings of each.

        One target of each lock is held (`WriteTarget.hold`).

        Args:
            changes: In this order; no name is in, above or below two of them, but for folders that are made.
            ready: Called when all contents are written but nothing is changed yet; its exception ends the
                call.

        Raises:
            Moved: One of the names belongs to something else, or a folder has moved. Nothing was changed.
            NoSpace, ReadOnlyPlace, NoPermission, StoreFailed: Nothing was changed, or it says what was.
        """

    def recover(self) -> Sequence[Leftover]:
        """Undo what calls that were killed left half done; what could not be undone, once."""

    def version(self, path: WorkPath) -> Version | None:
        """The identity of what is at a path, links followed; None if nothing is, which is common."""

    def is_still(self, path: WorkPath, version: Version | None) -> bool:
        """Whether what is at a path surely has that version, None for nothing; looks at one name, quickly.

        Links are not followed: for a name that leads through one, `version` has the answer.
        """

    def close(self) -> None:
        """Release the root; a second call does nothing."""


# -----------------------------------------------------------------------------
# The interface to the place where other processes of the same server find kept outputs.
# -----------------------------------------------------------------------------

Files: TypeAlias = Mapping[str, tuple[str, Lost | None]]
"""By stream: the file with its output, and what of it is missing."""


class KeptOutput(Struct, frozen=True):
    """A kept output: what of its streams is missing, and when it was complete, in seconds since the epoch.

    `grows` says that its command still runs; `size` tells its states apart.
    """

    lost: Mapping[str, Lost | None]
    at: float
    grows: bool = False
    size: int = 0


class Posted(Struct, frozen=True):
    """The state of a background command of any process of a server, encoded, and its age."""

    state: bytes
    age_s: float


class Shelf(Protocol):
    """Kept outputs in a shared database. Safe to share. Every method may raise StateFailed."""

    def begin(self, owner: Owner, name: str) -> bool:
        """Reserve a name; False if there is such an output."""

    def drop(self, owner: Owner, name: str) -> None:
        """Forget an output whose name was never shown."""

    def put(self, owner: Owner, name: str, files: Files, most_bytes: int) -> None:
        """Store an output; the oldest are dropped if there are too many."""

    def all(self, owner: Owner) -> Mapping[str, KeptOutput]:
        """The outputs of an owner by name."""

    def gone(self, owner: Owner, name: str) -> bool:
        """Whether there was an output of that name that was dropped."""

    def fetch(self, owner: Owner, name: str, stream: str, path: str) -> None:
        """Write a stream of an output into a new file."""

    def grow(self, owner: Owner, name: str, files: Files, since: Mapping[str, int]) -> None:
        """Store an output that is still written, of each stream the bytes from `since` on."""

    def post(self, owner: Owner, name: str, state: bytes, *, running: bool) -> str:
        """Store the state of a background command; returns what was asked of it since."""

    def posted(self) -> Sequence[Posted]:
        """The background commands of all processes."""

    def ask(self, owner: Owner, name: str, asked: str) -> None:
        """Ask something of a background command, wherever it runs."""
