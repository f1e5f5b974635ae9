"""Outputs of commands, kept on disk while a session lasts.

Each command has a name and two files.  Streams are written as they arrive; of a stream that exceeds its
limit the beginning and the end are kept, with a line in between that says what is missing.  When all of
them exceed their limit, the oldest are dropped, and their names are remembered.

Outputs belong to the caller who ran the command.  Each owner has a folder, so that listing or searching it
never shows outputs of others, and the same name may be used by several owners.  The limits apply to all
owners together.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias, final

from msgspec import Struct
from msgspec.structs import replace

from readroom.core.caller import Owner
from readroom.core.errors import StateFailed, StoreFailed, reason_of
from readroom.core.limits import BLOCK_BYTES, RUN_SESSION_OUTPUTS
from readroom.core.lru import LruCache
from readroom.core.paths import OUTPUTS, WorkPath, join
from readroom.core.stores.base import KeptOutput, Shelf
from readroom.core.stores.private import PrivateFolder, remove_tree
from readroom.core.stores.ring import Ring, lines_of, write_all
from readroom.core.values.commands import Lost, StreamName

STREAMS: tuple[StreamName, StreamName] = ("stdout", "stderr")

_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
"""Letters and digits that are not easily confused."""

_NAME_CHARS = 5
"""28 million names, so that a name remembered from another session does not exist in this one."""

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")

_KEPT, _EMPTY = "outputs", "none"
"""Names in the private folder."""

_FOLDER_BYTES = 8
"""Random bytes in the names of owners' folders, which reveal no token or conversation."""

_REMEMBERED = 100_000
"""Dropped outputs that are remembered."""


class KeptStream(Struct, frozen=True):
    """What was kept of a stream. `problem` is the system's error, if it stopped the keeping."""

    path: WorkPath
    size_bytes: int = 0
    kept_bytes: int = 0
    lost: Lost | None = None
    problem: str | None = None


Missing: TypeAlias = Mapping[str, Lost | None]
"""By stream, what is missing of an output."""

_Key: TypeAlias = tuple[Owner, str]
"""An owner and a name: several owners may use the same name."""


class Keeper(Protocol):
    """Keeps one stream while a command runs. Used by one thread."""

    @property
    def size(self) -> int:
        """Bytes that the command has written."""

    @property
    def lines(self) -> int:
        """Line feeds among them."""

    def write(self, data: bytes) -> None:
        """Keep what the command has written. A full disk stops the keeping, not the command."""

    def finish(self) -> KeptStream:
        """Complete the file and close it."""

    def close(self) -> None:
        """Close the file; a second call does nothing."""


MakeKeeper: TypeAlias = "Callable[[str, str, int], Keeper]"
"""Makes the keeper of a stream, given the folder, the name of its file and the most bytes to keep."""


@final
class OutputKeeper:
    """Keeps one stream. Used by one thread."""

    def __init__(self, folder: str, name: str, maximum: int) -> None:
        """Keep `maximum` bytes: half from the beginning, half from the end."""
        self.size = 0
        self.lines = 0
        self._path = join(OUTPUTS, name)
        self._file = os.path.join(folder, name)
        self._half = max(1, maximum // 2)
        self._fd = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self._held = 0
        self._end: Ring | None = None
        self._problem: str | None = None

    def write(self, data: bytes) -> None:
        """Write what the command has written. A full disk stops the keeping, not the command."""
        self.size += len(data)
        self.lines += data.count(b"\n")
        if self._problem is not None:
            return
        try:
            first = data[: self._half - self._held]
            write_all(self._fd, first, self._held)
            self._held += len(first)
            if len(data) > len(first):
                self._end = self._end or Ring(f"{self._file}.end", self._half)
                self._end.write(data[len(first) :])
        except OSError as error:
            self._problem = reason_of(error)

    def finish(self) -> KeptStream:
        """Join the two parts and close the file."""
        lost = None
        if self._end is not None and self._problem is None:
            try:
                lost = self._join(self._end)
            except OSError as error:
                self._problem = reason_of(error)
        kept = os.fstat(self._fd).st_size
        if self._problem is not None:
            lost = Lost(kept + 1, self.size - kept, lines_of(self._fd, kept)) if self.size > kept else None
        self.close()
        return KeptStream(self._path, self.size, kept, lost, self._problem)

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)
        if self._end is not None:
            self._end.close()

    def _join(self, end: Ring) -> Lost | None:
        at, skip, lost = self._held, 0, None
        if end.written > end.filled:
            at, skip = self._whole_lines(), _to_next_line(end)
            missing = self.size - at - (end.filled - skip)
            lost = Lost(at + 1, missing, lines_of(self._fd, at))
            mark = f"[... {missing:,} bytes are not kept ...]\n".encode()
            os.ftruncate(self._fd, at)
            write_all(self._fd, mark, at)
            at += len(mark)
        while block := end.read(skip, BLOCK_BYTES):
            write_all(self._fd, block, at)
            at += len(block)
            skip += len(block)
        return lost

    def _whole_lines(self) -> int:
        """How much of the beginning is whole lines; all of it if its last line is very long."""
        size = min(BLOCK_BYTES, self._held)
        cut = os.pread(self._fd, size, self._held - size).rfind(b"\n") + 1
        return self._held - size + cut if cut else self._held


def _to_next_line(end: Ring) -> int:
    """How many bytes belong to a line whose beginning is lost; 0 if it is very long."""
    return end.read(0, BLOCK_BYTES).find(b"\n") + 1


OUTPUT_NAME_CHARS = 64
"""Length of a name that a caller chooses for kept outputs. Ids of tool calls have 30 to 40."""


def output_name(wanted: str) -> str:
    """The characters of a name that are allowed in file names: ASCII letters and digits, "-" and "_"."""
    return _NOT_IN_NAMES.sub("", wanted)[:OUTPUT_NAME_CHARS]


@final
class Outputs:
    """The kept outputs of one process. Safe to share between threads."""

    def __init__(
        self, away_from: str, kept_bytes: int, session_bytes: int, shelf: Shelf | None = None
    ) -> None:
        """Makes nothing before the first command.

        Args:
            away_from: The workspace, outside which everything is kept.
            kept_bytes: The limit of one stream.
            session_bytes: The limit of all streams.
            shelf: Storage shared with other processes; files here are copies.
        """
        self._shelf = shelf
        self._fetching = threading.Lock()
        self._away_from = away_from
        self._session_bytes = session_bytes
        self._private: PrivateFolder | None = None
        self._closed = False
        self._folders: dict[Owner, str] = {}
        self._begun: set[_Key] = set()
        self._alone: set[_Key] = set()
        """Outputs that could not be stored for the other processes."""
        self._kept: dict[_Key, int] = {}  # the oldest first
        self._growing: dict[_Key, int] = {}
        """The sizes of outputs that other processes still write, as far as they were fetched."""
        self._lost: dict[tuple[Owner, WorkPath], Lost] = {}
        self._gone: LruCache[_Key, None] = LruCache(_REMEMBERED)
        self.kept_bytes = kept_bytes
        self.lock = threading.RLock()

    def of(self, owner: Owner) -> OwnOutputs:
        """The outputs of one owner."""
        return OwnOutputs(self, owner)

    @property
    def started(self) -> bool:
        """Whether the private folder exists yet."""
        return self._private is not None

    def private(self) -> PrivateFolder:
        """The private folder of this process, made when it is first needed. Raises StoreFailed."""
        with self.lock:
            if self._closed:
                raise StoreFailed(OUTPUTS, "the workspace was closed")
            if self._private is None:
                self._private = PrivateFolder(self._away_from)
            return self._private

    def close(self) -> None:
        """Remove everything; a second call does nothing."""
        with self.lock:
            self._closed = True
            private, self._private = self._private, None
        if private is not None:
            private.remove()

    # What follows is for `OwnOutputs`.

    def folder(self, owner: Owner) -> str:
        """The folder of an owner, or an empty one for owners without outputs."""
        with self.lock:
            return self._folders.get(owner) or self.private().inside(_EMPTY)

    def add(self, owner: Owner, wanted: str | None) -> tuple[str, str]:
        """Reserve an unused name for an output; the name and its folder."""
        with self.lock:
            name = self._free_name(owner, wanted) if wanted else self._new_name(owner)
            self._make_folder(owner)
            self._gone.pop((owner, name))
            self._begun.add((owner, name))
            return name, self._folders[owner]

    def refresh(self, owner: Owner) -> None:
        """Fetch what other processes keep for an owner, and drop what they dropped. Raises StateFailed."""
        if self._shelf is None:
            return
        with self._fetching:
            try:
                there = self._shelf.all(owner)
            except StateFailed:
                if any(other == owner for other, _ in self._alone):
                    return
                raise
            with self.lock:
                here = [name for other, name in self._kept if other == owner]
                for name in here:
                    if name not in there and (owner, name) not in self._alone:
                        self.remove(owner, name)
                begun = {name for other, name in self._begun if other == owner}
                missing = [
                    name
                    for name, kept in there.items()
                    if name not in begun and (name not in here or self._has_grown(owner, name, kept))
                ]
                if missing:
                    self._make_folder(owner)
            for name in missing:
                self._fetch(self._shelf, owner, name, there[name])

    def _fetch(self, shelf: Shelf, owner: Owner, name: str, kept: KeptOutput) -> None:
        folder, size = self._folders[owner], 0
        for stream in STREAMS:
            path = os.path.join(folder, f"{name}.{stream}")
            try:
                shelf.fetch(owner, name, stream, path)
                os.utime(path, (kept.at, kept.at))
                size += os.stat(path).st_size
            except OSError as error:
                raise StoreFailed(OUTPUTS, reason_of(error)) from None
        with self.lock:
            self._kept[owner, name] = size
            self.note_lost(owner, name, kept.lost)
            self._growing.pop((owner, name), None)
            if kept.grows:
                self._growing[owner, name] = kept.size

    def _has_grown(self, owner: Owner, name: str, kept: KeptOutput) -> bool:
        """Whether the copy of an output that is written by another process is an older state of it."""
        known = self._growing.get((owner, name))
        return known is not None and (known != kept.size or not kept.grows)

    def grow(self, owner: Owner, name: str, lost: Missing, since: Mapping[str, int]) -> None:
        """Store an output that is still written for the other processes. Raises StateFailed."""
        if self._shelf is not None:
            with self.lock:
                folder = self._folders[owner]
            files = {stream: (os.path.join(folder, f"{name}.{stream}"), lost[stream]) for stream in since}
            self._shelf.grow(owner, name, files, since)

    def share(self, owner: Owner, name: str, kept: Sequence[KeptStream]) -> str | None:
        """Store an output for the other processes; the reason if that fails."""
        if self._shelf is None:
            return None
        files: dict[str, tuple[str, Lost | None]] = {
            stream: (os.path.join(self._folders[owner], f"{name}.{stream}"), one.lost)
            for stream, one in zip(STREAMS, kept, strict=True)
        }
        try:
            self._shelf.put(owner, name, files, self._session_bytes)
        except OSError as error:  # a StateFailed is an OSError too
            self._alone.add((owner, name))
            return error.message if isinstance(error, StateFailed) else reason_of(error)
        return None

    def _make_folder(self, owner: Owner) -> None:
        if owner not in self._folders:
            private = self.private()
            private.inside(_KEPT)
            self._folders[owner] = private.inside(f"{_KEPT}/{secrets.token_hex(_FOLDER_BYTES)}")

    def note_lost(self, owner: Owner, name: str, lost: Missing) -> None:
        """Note what is missing in an output."""
        for stream, one in lost.items():
            if one is not None:
                self._lost[owner, join(OUTPUTS, f"{name}.{stream}")] = one

    def settle(self, owner: Owner, name: str, kept: Sequence[KeptStream]) -> None:
        """Record a complete output; when there are too many, drop the oldest of all owners.

        What is still being written does not leave: its reply is yet to name it.
        """
        with self.lock:
            self._begun.discard((owner, name))
            self._kept[owner, name] = sum(one.kept_bytes for one in kept)
            self.note_lost(owner, name, {stream: one.lost for stream, one in zip(STREAMS, kept, strict=True)})
            while len(self._kept) > 1 and (
                len(self._kept) > RUN_SESSION_OUTPUTS or sum(self._kept.values()) > self._session_bytes
            ):
                oldest = next(iter(self._kept))
                if self._shelf is None:  # otherwise it is fetched again when needed
                    self._gone.put(oldest, None)
                self.remove(*oldest)

    def remove(self, owner: Owner, name: str) -> None:
        """Remove an output, and the folder of an owner with the last one."""
        with self.lock:
            if self._is_free(owner, name):
                return
            self._begun.discard((owner, name))
            self._alone.discard((owner, name))
            self._growing.pop((owner, name), None)
            self._kept.pop((owner, name), None)
            folder = self._folders[owner]
            for stream in STREAMS:
                self._lost.pop((owner, join(OUTPUTS, f"{name}.{stream}")), None)
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(folder, f"{name}.{stream}"))
            if not any(other == owner for other, _ in (*self._kept, *self._begun)):
                del self._folders[owner]
                remove_tree(folder)

    def lost(self, owner: Owner, path: WorkPath) -> Lost | None:
        """What is missing in a kept output, if anything."""
        with self.lock:
            return self._lost.get((owner, path))

    def gone(self, owner: Owner, name: str) -> bool:
        """Whether an owner had an output of that name that was dropped. Raises StateFailed."""
        if self._shelf is not None:
            return self._shelf.gone(owner, name)
        with self.lock:
            return (owner, name) in self._gone

    def drop(self, owner: Owner, name: str) -> None:
        """Remove an output whose name was never shown, here and in the other processes."""
        self.remove(owner, name)
        if self._shelf is not None:
            with contextlib.suppress(StateFailed):  # it is removed when it is a day old
                self._shelf.drop(owner, name)

    def _new_name(self, owner: Owner) -> str:
        while True:
            name = "".join(secrets.choice(_LETTERS) for _ in range(_NAME_CHARS))
            if (owner, name) not in self._gone and self._takes(owner, name):
                return name

    def _free_name(self, owner: Owner, wanted: str) -> str:
        """The wanted name, with a number appended if it is in use."""
        name, number = output_name(wanted), 1
        if not name:
            return self._new_name(owner)
        free = name
        while not self._takes(owner, free):
            number += 1
            free = f"{name}-{number}"
        return free

    def _is_free(self, owner: Owner, name: str) -> bool:
        return (owner, name) not in self._kept and (owner, name) not in self._begun

    def _takes(self, owner: Owner, name: str) -> bool:
        """Reserve a name, in other processes too; False if it is in use. Raises StateFailed."""
        return self._is_free(owner, name) and (self._shelf is None or self._shelf.begin(owner, name))


@final
class OwnOutputs:
    """The outputs of one owner. Safe to share between threads."""

    def __init__(self, outputs: Outputs, owner: Owner) -> None:
        """Use `Outputs.of`."""
        self._all = outputs
        self._owner = owner

    @property
    def folder(self) -> str:
        """The local folder with the files, and nothing else. Raises StoreFailed."""
        return self._all.folder(self._owner)

    def private(self) -> PrivateFolder:
        """The private folder of this process. Raises StoreFailed."""
        return self._all.private()

    def begin(
        self, wanted: str | None = None, keeper: MakeKeeper | None = None, most: int | None = None
    ) -> tuple[str, tuple[Keeper, Keeper]]:
        """Reserve a name, and make the keepers of the two streams. Raises StoreFailed.

        Args:
            wanted: The caller's name for it.
            keeper: Makes them; None for those of a command that a call waits for.
            most: Bytes of one stream, when that is less than the limit.
        """
        name, folder = self._all.add(self._owner, wanted)
        make, kept = keeper or OutputKeeper, min(self._all.kept_bytes, most or self._all.kept_bytes)
        try:
            out, err = (make(folder, f"{name}.{stream}", kept) for stream in STREAMS)
        except OSError as error:
            self.drop(name)
            raise StoreFailed(OUTPUTS, reason_of(error)) from None
        return name, (out, err)

    def note_lost(self, name: str, lost: Missing) -> None:
        """Note what is missing in an output that is still written."""
        self._all.note_lost(self._owner, name, lost)

    def grow(self, name: str, lost: Missing, since: Mapping[str, int]) -> None:
        """Store an output that is still written for the other processes. Raises StateFailed."""
        self._all.grow(self._owner, name, lost, since)

    def finish(self, name: str, keepers: Sequence[Keeper]) -> tuple[KeptStream, KeptStream]:
        """Finish the keeping of a command; the oldest outputs are dropped if there are too many."""
        out, err = (keeper.finish() for keeper in keepers)
        self._all.settle(self._owner, name, (out, err))
        problem = self._all.share(self._owner, name, (out, err))
        if problem is not None:
            out, err = (replace(one, problem=one.problem or problem) for one in (out, err))
        return out, err

    def refresh(self) -> None:
        """Fetch what other processes of this server keep. Raises StateFailed or StoreFailed."""
        self._all.refresh(self._owner)

    def drop(self, name: str) -> None:
        """Forget an output whose name was never shown."""
        self._all.drop(self._owner, name)

    def lost(self, path: WorkPath) -> Lost | None:
        """What is missing in a kept output, if anything."""
        return self._all.lost(self._owner, path)

    def gone(self, name: str) -> bool:
        """Whether there was an output of that name that was dropped."""
        return self._all.gone(self._owner, name)
