"""The interface between the engine and wherever files are stored.

A store knows nothing of policy.  It resolves a path inside its root, opens what is there in one act, and
reports the real name of what it opened.  Reading from a `Source` reads exactly the object that was
checked; its name is never looked up again.  Paths are normalized (`paths.WorkPath`) and relative to the
root, which is ".".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol, TypeAlias

from msgspec import Struct

from readroom.caller import Owner
from readroom.closeable import Closeable
from readroom.deadline import Deadline
from readroom.paths import WorkPath
from readroom.values import Bytes, Entry, Names, Stat, Version
from readroom.values.commands import Lost
from readroom.values.files import Warn


class Source(Bytes, Closeable, Protocol):
    """One opened regular file. To hold one is to have been allowed (when a guard gave it)."""

    @property
    def real(self) -> WorkPath:
        """The name it was found under after following links, relative to the root."""

    @property
    def stat(self) -> Stat:
        """Size, times, mode and number of names at the moment of opening."""

    @property
    def version(self) -> Version:
        """Identity of the state that was opened."""

    def current(self) -> Version:
        """Identity of the state right now; differs from `version` after a change."""

    def fileno(self) -> int | None:
        """A descriptor a child process may read, positioned anywhere; None without one."""


class Folder(Closeable, Protocol):
    """One opened folder, held by descriptor like a `Source`."""

    @property
    def real(self) -> WorkPath:
        """The name it was found under after following links, relative to the root."""

    def entries(self) -> Iterator[Entry]:
        """The names in it, in no order, without "." and ".."."""

    def names(self, most: int) -> Iterator[Names]:
        """The same, up to `most` at a time: for folders in which a value for each name costs too much."""

    def stat(self, name: str) -> Stat:
        """Of one name in it, links not followed. Raises NotFound when it is gone by now."""

    def target(self, name: str) -> str | None:
        """Where a link in it points, as stored; None when it is not a link."""

    def open(self, name: str) -> Source:
        """Open a regular file in it, never following a link, for much less than by its path.

        Raises:
            NotFound: It is gone by now.
            NotAFile: It is something else, a link included.
        """

    def fileno(self) -> int | None:
        """A descriptor from which a child process may walk it; None without one."""


Step: TypeAlias = Callable[[WorkPath, bool], None]
"""Takes the name of what is about to be removed, and whether it is a folder."""


class Moved(Exception):
    """What is at a name is not what it was taken for; it was left as it is."""


class WriteTarget(Closeable, Protocol):
    """A name that may get a new file, in a folder that was found and is held as for reading.

    What its methods raise for the system's refusals is what a store's methods
    raise, and NoSpace and ReadOnlyPlace.
    """

    @property
    def real(self) -> WorkPath:
        """The name with the links of its folder followed; one at the name itself is not."""

    @property
    def folders(self) -> Sequence[WorkPath]:
        """Folders that `enter` made; they are removed again when nothing is put."""

    @property
    def warnings(self) -> Sequence[Warn]:
        """What `make`, `remove` and their like could not do as they should."""

    @property
    def removed(self) -> int:
        """How many names `remove_folder` has removed, also when it failed."""

    @property
    def writable(self) -> bool:
        """Whether the file at the name may be written to, by its mode and by this process."""

    @property
    def lock(self) -> tuple[int, ...]:
        """What `enter` locks. Of places with the same, one alone is entered, and all may put then."""

    def look(self) -> Stat | None:
        """What is at the name now, links not followed; None when nothing is."""

    def open(self) -> Source:
        """The file at the name. Raises Moved when it is a link."""

    def enter(self, deadline: Deadline, *, make_folders: bool) -> None:
        """Keep other writers of this package out until it is closed; make folders that are missing.

        Raises:
            NotFound: A folder is missing and is not to be made.
            TimedOut, Cancelled: Another writer does not end, or the caller went away.
        """

    def put(self, pieces: Iterable[bytes], over: Source | None, ready: Callable[[], None]) -> Sequence[Warn]:
        """Give the name a new file in one step, after `enter`; says what it could not take over.

        Args:
            pieces: Its bytes.
            over: The file that it replaces, as `open` gave it; None when there must be none.
            ready: Called when all is written and nothing is changed yet; what it raises ends the call.

        Raises:
            Moved: Something else is at the name, or the folder is elsewhere by now.
        """

    def enter_with(self, other: WriteTarget, deadline: Deadline) -> None:
        """Enter two places of one store; only the other one may lack folders. Raises as `enter`."""

    def make(self) -> None:
        """Make a folder at the name, after `enter`. Raises Moved when something is there."""

    def remove(self, expected: Version | None) -> None:
        """Remove a file or a link, after `enter`; what a link leads to stays.

        Args:
            expected: The state of the file, as `open` gave it; None for whatever is there.

        Raises:
            Moved: It is not that, or it is a folder.
        """

    def remove_folder(self, step: Step) -> None:
        """Remove a folder with all that is in it, after `enter`; links in it are removed, never followed.

        Args:
            step: Called before each removal, for a folder before what is in it; what it raises
                ends the call, and what was removed so far stays so.

        Raises:
            Moved: It is not a folder, or another program is changing it.
        """

    def move(self, found: Stat, to: WriteTarget, over: Version | None) -> None:
        """Give what is here the other place's name in one step, after `enter_with`.

        Args:
            found: As `look` gave it.
            to: Where to.
            over: The file there that is replaced, as `open` gave it; None when there must be none.

        Raises:
            Moved: Something else is at one of the names; nothing was changed.
        """

    def close(self) -> None:
        """Let other writers in; a second call does nothing."""


class Store(Protocol):
    """A tree of files.

    Every method may raise NotFound, OutsideRoot, NotAFile, NotAFolder, BadPath,
    NoPermission or StoreFailed, and nothing else.
    """

    @property
    def name(self) -> str:
        """What a person calls it: a folder's absolute path, or "memory"."""

    @property
    def folder(self) -> str | None:
        """The absolute path of a local root, for programs that walk it; None elsewhere."""

    @property
    def roots(self) -> Sequence[str]:
        """The absolute names by which callers and links may mean the root."""

    @property
    def confinement(self) -> str:
        """What keeps links inside the root: "kernel", "walk", or "none" where there is no outside."""

    def require_root(self) -> None:
        """Raise StoreFailed when this is not what its name means any more."""

    def open(self, path: WorkPath) -> Source:
        """Open a regular file for reading, without ever blocking on a pipe or device."""

    def open_folder(self, path: WorkPath) -> Folder:
        """Open a folder."""

    def stat(self, path: WorkPath) -> tuple[WorkPath, Stat]:
        """The real name and the stat of whatever is there, links followed inside the root."""

    def place(self, path: WorkPath) -> WriteTarget:
        """A name for a new file, whether or not something is there; nothing is changed yet."""

    def version(self, path: WorkPath) -> Version | None:
        """Identity of what is there now, links followed; None when nothing is: no error, for it is usual."""

    def close(self) -> None:
        """Release the root; a second call does nothing."""


# -----------------------------------------------------------------------------
# Where kept outputs are put so that other processes of the same server find them, as a form.
# -----------------------------------------------------------------------------

Files: TypeAlias = Mapping[str, tuple[str, Lost | None]]
"""By the name of a stream: the file that holds it, and what of it was not kept."""


class KeptOutput(Struct, frozen=True):
    """One output: what of its streams was not kept, and when it was whole, in seconds since the epoch."""

    lost: Mapping[str, Lost | None]
    at: float


class Shelf(Protocol):
    """Safe to share between threads and processes. Every method may raise StateFailed."""

    def begin(self, owner: Owner, name: str) -> bool:
        """Take a name; False when there is such an output."""

    def drop(self, owner: Owner, name: str) -> None:
        """Forget an output whose name was never shown."""

    def put(self, owner: Owner, name: str, files: Files, most_bytes: int) -> None:
        """Keep an output; the oldest leave when there are too many."""

    def all(self, owner: Owner) -> Mapping[str, KeptOutput]:
        """Those of an owner by name."""

    def gone(self, owner: Owner, name: str) -> bool:
        """Whether there was an output of that name that had to leave."""

    def fetch(self, owner: Owner, name: str, stream: str, path: str) -> None:
        """Write a stream of an output into a new file."""
