"""The present content of a name. Policy is asked by those who show or change it."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b, sha256

from msgspec import Struct
from msgspec.structs import replace

from readroom.core import errors
from readroom.core.errors import ReadroomError
from readroom.core.paths import ROOT, WorkPath, basename, join, parent
from readroom.core.stores.base import Moved, Source, Store
from readroom.core.text.hashes import full
from readroom.core.values import EntryKind, Stat, Version
from readroom.core.values.history import NOTHING, EntryState

_SHAPE_NAMES = 1_000
"""Names below a folder by which it is recognized when its inode is another one."""

PIECE_BYTES = 1024 * 1024


def of_file(source: Source, most_bytes: int, *, hashed: bool = False) -> tuple[EntryState, bytes | None]:
    """The state of an open file and its bytes, which are not held if there are more than `most_bytes`.

    Those are hashed only with `hashed`.  Raises Moved if it is being written to.
    """
    stat, digest, pieces = source.stat, sha256(), list[bytes]()
    if source.size > most_bytes and not hashed:
        return unread(stat), None
    at = 0
    while at < source.size:
        piece = source.read_at(at, min(PIECE_BYTES, source.size - at))
        if not piece:
            raise Moved
        digest.update(piece)
        at += len(piece)
        if source.size <= most_bytes:
            pieces.append(piece)
    if source.current() != source.version:
        raise Moved
    state = replace(unread(stat), size=at, content_hash=full(digest.hexdigest()))
    if source.size > most_bytes:
        return state, None
    return replace(state, mark=""), b"".join(pieces)


def unread(stat: Stat) -> EntryState:
    """The state of a file whose bytes are not read."""
    mark = f"{stat.inode}:{stat.mtime_ns}"
    return EntryState("file", stat.size, stat.mode, stat.mtime_ns, mark=mark)


def of_entry(store: Store, path: WorkPath, stat: Stat) -> EntryState:
    """The state of a folder or a link."""
    if stat.kind is EntryKind.LINK:
        return EntryState("link", stat.size, stat.mode, stat.mtime_ns, target=target_of(store, path))
    return EntryState("folder", 0, stat.mode, stat.mtime_ns, mark=str(stat.inode or ""))


def target_of(store: Store, path: WorkPath) -> str | None:
    """The target of a link, as it is stored."""
    try:
        with store.open_folder(parent(path)) as folder:
            return folder.target(basename(path))
    except ReadroomError:
        return None


class SeenNow(Struct, frozen=True):
    """The content of a name: its state, the bytes of a file that is not too large, version and stat."""

    state: EntryState = NOTHING
    data: bytes | None = None
    version: Version | None = None
    stat: Stat | None = None


def now(store: Store, path: str, most_bytes: int) -> SeenNow:
    """The content of a real name; nothing if a link has come onto the way. Raises Moved, ReadroomError."""
    at = WorkPath(path)
    if at == ROOT:
        return SeenNow(EntryState("folder"))
    try:
        place = store.place(at)
    except (errors.NotFound, errors.NotAFolder, errors.OutsideRoot):
        return SeenNow()
    with place:
        stat = place.look() if place.real == path else None
        if stat is None:
            return SeenNow()
        if stat.kind is not EntryKind.FILE:
            return SeenNow(of_entry(store, at, stat), stat=stat)
        try:
            with place.open() as source:
                state, data = of_file(source, most_bytes, hashed=True)
                return SeenNow(state, data, source.version, source.stat)
        except errors.NotFound:
            return SeenNow()


def shape(store: Store, folder: WorkPath) -> str:
    """A digest of names, kinds and sizes below a folder, of the first thousand."""
    digest, pending, count = blake2b(digest_size=8), [(folder, "")], 0
    while pending and count < _SHAPE_NAMES:
        at, inside = pending.pop(0)
        for name, stat in listed(store, at):
            count += 1
            size = stat.size if stat.kind is EntryKind.FILE else 0
            digest.update(repr((inside, name, stat.kind.value, size)).encode())
            if stat.kind is EntryKind.FOLDER:
                pending.append((join(at, name), f"{inside}/{name}"))
    return digest.hexdigest()


def listed(store: Store, folder: WorkPath) -> Sequence[tuple[str, Stat]]:
    """The names in a folder, sorted, with what they are."""
    with store.open_folder(folder) as opened:
        names = sorted(entry.name for entry in opened.entries())
        found = []
        for name in names:
            try:
                found.append((name, opened.stat(name)))
            except errors.NotFound:
                continue
    return found


def is_same_folder(mark: str, store: Store, path: WorkPath, stat: Stat) -> bool:
    """Whether a folder is the one that got this mark, or looks like it."""
    inode, _, known = mark.partition(":")
    return (inode != "" and inode == str(stat.inode)) or known == shape(store, path)
