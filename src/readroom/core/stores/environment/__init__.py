"""A store over the sandbox of a framework: its files by commands there, or as whole files where it has none.

No kernel of this machine helps: what a name means may change between its check and its use, and the
isolation is that of the sandbox.  Each step checks again what it relies on: a file is read only while its
name is that of the file that was checked, and a change is refused if something else has the name by then.

Knows: how names, bytes and changes are asked for, and what an answer must look like.
Does not know: frameworks, whose clients `Environment` wraps, and policies.
May be touched: with the cases that all stores share, and a security review.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, final

from readroom.core.errors import BadPath, NoPermission, NotAFile, NotAFolder, NotFound, OutsideRoot
from readroom.core.limits import LINK_HOPS
from readroom.core.lru import LruCache
from readroom.core.paths import ROOT, WorkPath, parts
from readroom.core.stores.base import Change, Folder, Leftover
from readroom.core.stores.environment.base import Environment as Environment
from readroom.core.stores.environment.base import Files, Hands, Seen, failed
from readroom.core.stores.environment.base import Known as Known
from readroom.core.stores.environment.base import Ran as Ran
from readroom.core.stores.environment.opened import EnvironmentFolder, EnvironmentSource
from readroom.core.stores.promises import NOTHING
from readroom.core.values import EntryKind, Stat, Version
from readroom.core.values.files import Warn

if TYPE_CHECKING:
    from readroom.core.stores.environment.place import EnvironmentPlace

_FOLDERS = 64
"""Open folders whose trees are looked at for a folder below, and names that are known to be absent."""

_MOMENT_S = 0.5
"""How long an absent name of the root is taken as absent."""


@final
class EnvironmentStore:
    """A store over an environment. Safe to share between threads; closing it leaves the environment."""

    folder = None
    promises = NOTHING

    def __init__(self, environment: Environment) -> None:
        """Nothing is asked of the environment before it is used. Raises StoreFailed if it has no files."""
        self._environment = environment
        self._hands: Hands | None = None
        self._root = ""
        self._lock = threading.Lock()
        self.writing = threading.Lock()
        self._open: list[EnvironmentFolder] = []
        self._absent: LruCache[WorkPath, float] = LruCache(_FOLDERS)

    @property
    def name(self) -> str:
        return self._environment.name

    @property
    def roots(self) -> Sequence[str]:
        """The folder of the environment, by its absolute path there."""
        return (self.root,)

    @property
    def root(self) -> str:
        """The same; raises StoreFailed if the environment does not answer."""
        return self._root if self.hands else ""

    @property
    def hands(self) -> Hands:
        """How files are reached: by commands if there are the programs for it, or else as whole files."""
        if self._hands is None:
            with self._lock:
                if self._hands is None:
                    self._root, self._hands = _started(self._environment)
        return self._hands

    def require_root(self) -> None:
        """Raise StoreFailed if the folder is gone."""
        self.hands.trace(ROOT)

    def open(self, path: WorkPath) -> EnvironmentSource:
        """Open a regular file for reading."""
        real, seen, head = self._find(path, head=True)
        if seen.kind is not EntryKind.FILE:
            raise NotAFile(path, _what(seen))
        return EnvironmentSource(self, real, seen, head)

    def open_folder(self, path: WorkPath) -> EnvironmentFolder:
        """Open a folder."""
        known = self._known(path)
        if known is not None:
            return self._opened(EnvironmentFolder(self, path, known))
        real, seen, _ = self._find(path)
        if seen.kind is not EntryKind.FOLDER:
            raise NotAFolder(path, _what(seen))
        return self._opened(EnvironmentFolder(self, real, None))

    def _known(self, path: WorkPath) -> Mapping[str, Seen] | None:
        """The names in a folder of a walk at work."""
        with self._lock:
            above = [one for one in self._open if one.real == ROOT or path.startswith(f"{one.real}/")]
        if path == ROOT:
            return None
        for folder in above:
            known = folder.below(path)
            if known is not None:
                return known
        return None

    def _is_absent(self, path: WorkPath) -> bool:
        """Whether the walk of this thread has seen that a name is not there."""
        with self._lock:
            folders = list(self._open)
        return any(folder.lacks(path) for folder in folders)

    def _opened(self, folder: EnvironmentFolder) -> EnvironmentFolder:
        with self._lock:
            if len(self._open) < _FOLDERS:
                self._open.append(folder)
        return folder

    def closed(self, folder: Folder) -> None:
        """Forget a folder that was open."""
        with self._lock:
            self._open = [one for one in self._open if one is not folder]

    def stat(self, path: WorkPath) -> tuple[WorkPath, Stat]:
        """The real name and the stat of what is at a path, links followed inside the root."""
        real, seen, _ = self._find(path)
        return real, seen.stat

    def version(self, path: WorkPath) -> Version | None:
        """The identity of what is at a path, links followed; None if nothing is, or was a moment ago.

        That moment is for ignore files in the root, which every opening asks for.
        """
        since = self._absent.get(path) if "/" not in path else None
        if since is not None and time.monotonic() - since <= _MOMENT_S:
            return None
        began = time.monotonic()
        try:
            return self._find(path)[1].version
        except NotFound:
            self._absent.put(path, began)
            return None

    def is_still(self, path: WorkPath, version: Version | None) -> bool:
        """Whether what is at a path surely has that version, None for nothing."""
        seen, _ = self.at(path)
        return (None if seen is None else seen.version) == version

    def at(self, path: WorkPath, *, head: bool = False) -> tuple[Seen | None, bytes | None]:
        """The entry of a name, not followed, if no link is on the way; with `head` the first bytes, too."""
        trace = self.hands.trace(path, head=head)
        if len(trace.names) == len(parts(path)) + 1:
            return trace.names[-1], trace.head
        if trace.closed:
            raise NoPermission(path)
        return None, None

    def place(self, path: WorkPath) -> EnvironmentPlace:
        """The target for a write at a path; changes nothing yet."""
        from readroom.core.stores.environment.place import EnvironmentPlace  # readers do not need it

        if path == ROOT:
            raise NotAFile(path, "folder")
        return EnvironmentPlace(self, path)

    def commit(self, changes: Sequence[Change], ready: Callable[[], None]) -> Sequence[Sequence[Warn]]:
        """Make all changes or none, unless the environment ends meanwhile; there are no warnings."""
        try:
            self.hands.commit(changes, ready)
        finally:
            self._absent = LruCache(_FOLDERS)
        return [()] * len(changes)

    def recover(self) -> Sequence[Leftover]:
        """The remains of changes that were killed, as far as a later change has found them."""
        if self._hands is None:
            return ()
        left, self._hands.left = self._hands.left, []
        return left

    def holding(self, top: WorkPath, text: bytes, *, ignore_case: bool) -> set[bytes] | None:
        """Files below a folder that may hold a text, or whose bytes do not tell; None if all may."""
        return self.hands.holding(top, text, ignore_case=ignore_case)

    def close(self) -> None:
        """Release the client; the environment stays."""
        self._environment.close()

    # --- where a path leads -------------------------------------------------------------------

    def _find(self, path: WorkPath, *, head: bool = False) -> tuple[WorkPath, Seen, bytes | None]:
        """Follow a path as `stores.local.walk` does: by one question for each link on the way."""
        real: list[str] = []
        pending = parts(path)
        hops = 0
        if self._is_absent(path):
            raise NotFound(path)
        while True:
            plain = _plain(pending)
            trace = self.hands.trace(WorkPath("/".join((*real, *plain)) or "."), head=head)
            last, done = trace.names[-1], len(trace.names) - 1 - len(real)
            if done < 0 or (done == 0 and last.kind is not EntryKind.FOLDER):
                raise NotFound(path)  # a folder on the way is another one by now
            if last.kind is EntryKind.LINK:
                hops += 1
                if hops > LINK_HOPS:
                    raise BadPath(path, f"leads through more than {LINK_HOPS} links, or a loop of links")
                real, pending = self._led(real + plain[: done - 1], last.target, path, pending[done:])
                continue
            if done < len(plain):
                raise NoPermission(path) if trace.closed else NotFound(path)
            real, pending = real + plain, pending[len(plain) :]
            if not pending:
                return WorkPath("/".join(real) or "."), last, trace.head
            if last.kind is not EntryKind.FOLDER:
                raise NotFound(path)
            if pending.pop(0) == "..":
                if not real:
                    raise OutsideRoot(path, "a link on the way leads above the root")
                real.pop()

    def _led(
        self, above: list[str], target: str, path: WorkPath, rest: Sequence[str]
    ) -> tuple[list[str], list[str]]:
        """The destination of a link: the real folder to continue from, and the names from there."""
        todo = [part for part in target.split("/") if part]
        if target.endswith("/"):
            todo.append(".")
        if not target.startswith("/"):
            return above, [*todo, *rest]
        root = [part for part in self.root.split("/") if part]
        if todo[: len(root)] != root:
            raise OutsideRoot(path, "a link on the way leads to an absolute path elsewhere")
        return [], [*todo[len(root) :], *rest]


def _plain(names: Sequence[str]) -> list[str]:
    """The names before the first "." or ".."."""
    found: list[str] = []
    for name in names:
        if name in (".", ".."):
            break
        found.append(name)
    return found


def _what(seen: Seen) -> str:
    """The word for what is no file."""
    return "device" if seen.kind is EntryKind.OTHER else seen.kind.value


def _started(environment: Environment) -> tuple[str, Hands]:
    """The root of an environment, and the way to its files that it has."""
    from readroom.core.stores.environment.reading import Shell
    from readroom.core.stores.environment.whole import WholeFiles

    if environment.runs:
        shell = Shell(environment)
        return shell.start(), shell
    if isinstance(environment, Files) and environment.has_files:
        whole = WholeFiles(environment)
        return whole.start(), whole
    raise failed(
        environment.name, "it has neither files nor commands", "Ask the user for a sandbox that has."
    )
