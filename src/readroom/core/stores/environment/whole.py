"""Files of an environment without commands: whole ones, with their hashes as versions.

Such a client tells no times, no links but by `real`, and changes nothing in one step: a change compares the
hash, and then writes.  A file that was changed is written back if a later change of the call fails.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from readroom.core.errors import (
    NoPermission,
    NotAFile,
    NotAFolder,
    NotFound,
    ReadroomError,
    StoreFailed,
)
from readroom.core.paths import ROOT, WorkPath, ancestors
from readroom.core.stores.base import Change, Leftover, MakeEntry, Moved, PutFile, RemoveEntry, RenameEntry
from readroom.core.stores.environment.base import CELL_BYTES, Files, Known, Seen, Trace, failed
from readroom.core.stores.environment.opened import SPOOL_BYTES
from readroom.core.values import EntryKind, Stat, Version

_ADVICE = "Ask the user for a sandbox that also runs commands: there, parts of files are read."


class WholeFiles:
    """Files as a whole. Safe to share between threads."""

    sees_links = False

    def __init__(self, environment: Files) -> None:
        self._environment = environment
        self._root = ""
        self.left: list[Leftover] = []

    def start(self) -> str:
        """The absolute path of the root."""
        self._root = self._environment.working_dir()
        return self._root

    def trace(self, path: WorkPath, *, head: bool = False) -> Trace:
        """The names along a path; one that `real` tells from its target is a link to that."""
        names: list[Seen] = []
        every = [ROOT, *([] if path == ROOT else [*ancestors(path), path])]
        for at in every:
            seen, data = self._look(at, head=head and at == path)
            if seen is None:
                break
            names.append(seen)
            if at == path:
                return Trace(names, head=data)
            if seen.kind is not EntryKind.FOLDER:
                break
        if not names:
            raise failed(self._environment.name, f"its folder {self._root} is gone")
        return Trace(names)

    def _look(self, path: WorkPath, *, head: bool) -> tuple[Seen | None, bytes | None]:
        full = self._full(path)
        try:
            with self._about(path):
                real = self._environment.real(full) if path != ROOT else None
                if real is not None and real != full:
                    stat = Stat(EntryKind.LINK, len(real), 0, 0o777)
                    return Seen(stat, Version(0, 0, len(real), 0, 0), real), None
                known = self._environment.look(full)
        except NotFound:
            return None, None
        if known.is_folder:
            return Seen(Stat(EntryKind.FOLDER, 0, 0, 0o755), Version(0, 0, 0, 0, 0)), None
        data = self._read(path, known.size)
        return _seen(path, data), data if head else None

    def _read(self, path: WorkPath, size: int | None) -> bytes:
        if size is not None and size > SPOOL_BYTES:
            raise StoreFailed(
                path,
                f"it has {size:,} bytes; files as a whole, all that this sandbox has, end at {SPOOL_BYTES:,}",
                _ADVICE,
            )
        with self._about(path):
            return self._environment.read(self._full(path))

    def names(self, folder: WorkPath) -> Mapping[str, Seen]:
        """The names in a folder; hashes of files are not known."""
        with self._about(folder):
            every = self._environment.list(self._full(folder))
        return {known.name: _listed(known) for known in every if _is_part(known.name)}

    def tree(self, top: WorkPath) -> None:
        """Always None: there is no way to ask for it."""
        return

    def read(self, path: WorkPath, seen: Seen, cell: int, count: int) -> bytes:
        """Cells of a file, which is read as a whole, if it is the one that was seen."""
        data = self._read(path, seen.stat.size)
        if _seen(path, data).version != seen.version:
            raise NotFound(path)
        return data[cell * CELL_BYTES :]

    def holding(self, top: WorkPath, text: bytes, *, ignore_case: bool) -> None:
        """Always None: every file has to be read."""
        return

    # --- changes ------------------------------------------------------------------------------

    def commit(self, changes: Sequence[Change], ready: Callable[[], None]) -> None:
        """Make changes one after the other; those before one that fails are taken back."""
        contents = [b"".join(one.pieces) if isinstance(one, PutFile) else b"" for one in changes]
        ready()
        undo: list[Callable[[], None]] = []
        try:
            for change, data in zip(changes, contents, strict=True):
                undo += self._make(change, data)
        except BaseException:
            for step in reversed(undo):
                with suppress(ReadroomError, OSError):
                    step()
            raise

    def _make(self, change: Change, data: bytes) -> list[Callable[[], None]]:
        path = change.place.real
        full = self._full(path)
        now = self._now(path)
        match change:
            case PutFile(_, _, over):
                if (None if now is None else now.version) != (None if over is None else over.version):
                    raise Moved
                old = None if over is None else over.read_at(0, over.size)
                with self._about(path, "change"):
                    self._environment.write(full, data)
                return [lambda: self._back(full, old)]
            case RemoveEntry(_, found, expected):
                if now is None or now.kind is not found.kind or expected not in (None, now.version):
                    raise Moved
                held = self._held(path) if found.kind is EntryKind.FILE else None
                with self._about(path, "change"):
                    self._environment.remove(full)
                return [] if held is None else [lambda: self._environment.write(full, held)]
            case MakeEntry():
                if now is not None:
                    raise Moved
                with self._about(path, "change"):
                    self._environment.make(full)
                return [lambda: self._environment.remove(full)]
            case RenameEntry(_, to, found) if found.kind is EntryKind.FILE:
                return self._rename(path, to.real, now)
        raise StoreFailed(path, "this sandbox has no commands, without which that is not done", _ADVICE)

    def _rename(self, path: WorkPath, to: WorkPath, now: Seen | None) -> list[Callable[[], None]]:
        if now is None or self._now(to) is not None:
            raise Moved
        data, full, other = self._held(path), self._full(path), self._full(to)
        with self._about(to, "change"):
            self._environment.write(other, data)
            self._environment.remove(full)
        return [lambda: self._environment.remove(other), lambda: self._environment.write(full, data)]

    def _now(self, path: WorkPath) -> Seen | None:
        trace = self.trace(path)
        return trace.names[-1] if len(trace.names) == path.count("/") + 2 else None

    def _held(self, path: WorkPath) -> bytes:
        with self._about(path):
            return self._read(path, self._environment.look(self._full(path)).size)

    def _back(self, full: str, old: bytes | None) -> None:
        if old is None:
            self._environment.remove(full)
        else:
            self._environment.write(full, old)

    # --- names --------------------------------------------------------------------------------

    def _full(self, path: WorkPath) -> str:
        if not _is_name(path):
            raise StoreFailed(path, "this sandbox takes only names that are UTF-8", _ADVICE)
        return self._root if path == ROOT else f"{self._root.rstrip('/')}/{path}"

    @contextmanager
    def _about(self, path: WorkPath, action: str = "read") -> Iterator[None]:
        """The builtin errors of files as ours."""
        try:
            yield
        except ReadroomError:
            raise
        except FileNotFoundError:
            raise NotFound(path) from None
        except NotADirectoryError:
            raise NotAFolder(path, "file") if action == "read" else NotFound(path) from None
        except IsADirectoryError:
            raise NotAFile(path, "folder") from None
        except PermissionError:
            raise NoPermission(path, action) from None
        except OSError as error:
            raise StoreFailed(path, f"the sandbox says: {error}") from None


def _seen(path: WorkPath, data: bytes) -> Seen:
    name, content = hashlib.sha256(path.encode()).digest(), hashlib.sha256(data).digest()
    inode, state = (int.from_bytes(digest[:7]) for digest in (name, content))
    return Seen(Stat(EntryKind.FILE, len(data), 0, inode=inode), Version(0, inode, len(data), 0, state))


def _listed(known: Known) -> Seen:
    size = known.size or 0
    stat = Stat(EntryKind.FOLDER, 0, 0, 0o755) if known.is_folder else Stat(EntryKind.FILE, size, 0)
    return Seen(stat, Version(0, 0, size, 0, 0))


def _is_part(name: str) -> bool:
    """Whether what a client lists can be a name in a folder."""
    return _is_name(name) and "/" not in name and name not in ("", ".", "..")


def _is_name(text: str) -> bool:
    """Whether a client can be given a path: it is text, in which nothing stands for other bytes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text
