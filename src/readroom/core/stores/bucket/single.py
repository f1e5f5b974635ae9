"""Changes of more than one name that are one object before and after: small folders, and moves.

A new file in a new folder is one key, and one request takes both back.  A file that moves is put under its
new key and then removed under the old one, each on a condition: for a moment both are there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from readroom.core.errors import BucketCannot, ReadroomError, StoreFailed
from readroom.core.paths import WorkPath, ancestors, join
from readroom.core.quoting import quote
from readroom.core.stores.base import (
    Change,
    Inside,
    Moved,
    PutTree,
    RemoveEntry,
    RenameEntry,
    TreeEntry,
    WriteTarget,
    as_inside,
)
from readroom.core.stores.bucket import names as keys
from readroom.core.stores.bucket.client import Beyond, Meta, Missing, Part, nanoseconds
from readroom.core.stores.bucket.place import PUT_BYTES, Bucket, BucketPlace, discard, is_gone, kept_headers
from readroom.core.stores.bucket.source import stat_of
from readroom.core.values import EntryKind, Stat
from readroom.core.values.files import Warn

_OWN_TOOL = "Use the provider's own tool."

_FOLDER = (EntryKind.FOLDER, 0, 0)


def essential(store: Bucket, changes: Sequence[Change]) -> Change | None:
    """The change that the folders of the others come and go with; None if there is none. Raises Moved."""
    if len(changes) == 1:
        return changes[0]
    others = [one for one in changes if not _is_of_folders(one)]
    if len(changes) == 2 and len(others) == 2:
        return _carried(store, others)
    if len(others) != 1:
        return None
    (change,) = others
    for one in changes:
        if isinstance(one, PutTree):
            target = change.to if isinstance(change, RenameEntry) else change.place
            above = ancestors(target.real)
            if any(_path(one, entry) not in above for entry in one.entries):
                return None
        elif one is not change and not _goes_with(store, one.place, change):
            return None
    return change


def _carried(store: Bucket, pair: Sequence[Change]) -> RenameEntry | None:
    """A removal and a folder with the same bytes that comes back, as a move. Raises Moved."""
    removed = [one for one in pair if isinstance(one, RemoveEntry)]
    trees = [one for one in pair if isinstance(one, PutTree)]
    ends = [end for tree in trees for end in _ends(tree.entries) if end.kind is EntryKind.FILE]
    if not (len(removed) == len(trees) == len(ends) == 1):
        return None
    (gone,), (tree,), (end,) = removed, trees, ends
    file = _file_of(store, gone)
    if file is None or file.found.size != len(end.data):
        return None
    change = RenameEntry(file.place, _below(store, tree.place, end.inside), file.found, file.expected)
    return change if _whole(store, change).data == end.data else None


def _file_of(store: Bucket, change: RemoveEntry) -> RemoveEntry | None:
    """The removal of a file, or of the one that is in a folder. Raises Moved."""
    if change.found.kind is EntryKind.FILE:
        return change
    files = {name: of for name, of in (change.inside or {}).items() if of[0] is EntryKind.FILE}
    if len(files) != 1:
        return None
    ((name, (kind, size, mtime_ns)),) = files.items()
    file = RemoveEntry(_below(store, change.place, name), Stat(kind, size, mtime_ns))
    return file if _goes_with(store, change.place, file) else None


def _below(store: Bucket, folder: WriteTarget, name: str) -> BucketPlace:
    """The target of a name in the folder of another."""
    assert isinstance(folder, BucketPlace)
    return BucketPlace(store, join(folder.real, name), f"{folder.key}/{name}")


def _is_of_folders(change: Change) -> bool:
    """Whether it makes or removes folders that nothing but folders are in."""
    if isinstance(change, PutTree):
        return all(entry.kind is EntryKind.FOLDER for entry in change.entries)
    if not isinstance(change, RemoveEntry) or change.inside is None:
        return False
    return all(kind is EntryKind.FOLDER for kind, _, _ in change.inside.values())


def _path(change: PutTree, entry: TreeEntry) -> WorkPath:
    return join(change.place.real, entry.inside) if entry.inside else change.place.real


def _goes_with(store: Bucket, folder: WriteTarget, change: Change) -> bool:
    """Whether a folder is gone once a file is moved out of it, or removed. Raises Moved."""
    place = change.place
    assert isinstance(folder, BucketPlace)
    assert isinstance(place, BucketPlace)
    if not isinstance(change, RenameEntry | RemoveEntry) or folder.real not in ancestors(place.real):
        return False
    found = store.client.list(folder.real, f"{folder.key}/", 2, flat=True).get("Contents", ())
    if [one["Key"] for one in found] != [place.key]:
        raise Moved
    return True


def remove(store: Bucket, place: BucketPlace, inside: Inside | None, ready: Callable[[], None]) -> None:
    """Remove a folder of one object that has just those names. Raises Moved, BucketCannot."""
    top = f"{place.key}/"
    found = store.client.list(place.real, top, 2, flat=True).get("Contents", ())
    if not found:
        raise Moved
    if len(found) > 1:
        advice = "Delete the files in it, one call for each."
        raise BucketCannot(place.real, "remove a folder of several files", advice)
    (one,) = found
    key, meta = one["Key"], Meta(one["Size"], one.get("ETag", ""), nanoseconds(one.get("LastModified")))
    rest = key[len(top) :]
    if not keys.is_path(rest, meta.size, store.client.is_name):
        raise BucketCannot(place.real, "remove a folder with keys that are no paths", _OWN_TOOL)
    if inside is not None and inside != _names(rest, meta):
        raise Moved
    ready()
    path = rest.rstrip("/")
    discard(store, key, join(place.real, path) if path else place.real, meta.etag)


def _names(rest: str, meta: Meta) -> Inside:
    """The names below a folder whose one key ends like that."""
    path = WorkPath(rest.rstrip("/"))
    names: dict[str, tuple[EntryKind, int, int]] = dict.fromkeys(_above(path), _FOLDER)
    if path:
        names[path] = _FOLDER if rest.endswith("/") else as_inside(stat_of(meta, 0, rest))
    return names


def _above(path: str) -> Sequence[str]:
    return ancestors(WorkPath(path))


def bring_back(
    store: Bucket, place: BucketPlace, entries: Sequence[TreeEntry], ready: Callable[[], None]
) -> Sequence[Warn]:
    """Put a folder of one object back; warnings. Raises Moved, BucketCannot."""
    ends = _ends(entries)
    if len(ends) != 1 or ends[0].kind is EntryKind.LINK:
        raise BucketCannot(place.real, "bring a folder of several files back", "Undo the changes one by one.")
    (end,) = ends
    path = join(place.real, end.inside) if end.inside else place.real
    key = place.key + (f"/{end.inside}" if end.inside else "")
    if place.look() is not None:
        raise Moved
    if end.kind is EntryKind.FILE:
        return BucketPlace(store, path, key).put([end.data], None, ready)
    ready()
    BucketPlace(store, path, key).make()
    return ()


def _ends(entries: Sequence[TreeEntry]) -> Sequence[TreeEntry]:
    """The entries that no other is in."""
    with_names = {above for entry in entries if entry.inside for above in ("", *_above(entry.inside))}
    return [entry for entry in entries if entry.inside not in with_names]


def move(store: Bucket, change: RenameEntry, ready: Callable[[], None]) -> Sequence[Warn]:
    """Move a file: put it under its new name, then remove the old one; warnings.

    Raises:
        Moved: It is another file now, or the new name is taken; nothing was changed.
        StoreFailed: It may be under both names.
        BucketCannot: It is a folder, or the bytes or tags cannot be carried.
    """
    place, to = change.place, change.to
    assert isinstance(place, BucketPlace)
    assert isinstance(to, BucketPlace)
    if change.found.kind is not EntryKind.FILE:
        raise BucketCannot(place.real, "move a folder", "Move its files one by one.")
    if change.found.size > PUT_BYTES:
        raise BucketCannot(place.real, f"move more than {PUT_BYTES:,} bytes", _OWN_TOOL)
    part = _whole(store, change)
    how = {**kept_headers(place.real, part.headers), "IfNoneMatch": "*"}
    etag, warnings = to.put_as(part.data, None, how, ready)
    try:
        discard(store, place.key, place.real, part.meta.etag)
    except (Moved, ReadroomError) as error:
        try:
            gone = is_gone(store, place.key, place.real)
        except ReadroomError as unseen:
            raise _both(place.real, to.real, unseen) from None
        if gone:
            return warnings
        if isinstance(error, StoreFailed):
            raise _both(place.real, to.real, error) from None
        _take_back(store, to, etag, place.real)
        raise
    return warnings


def _whole(store: Bucket, change: RenameEntry) -> Part:
    """The bytes of the file that is to be moved. Raises Moved."""
    client, found, place = store.client, change.found, change.place
    assert isinstance(place, BucketPlace)
    try:
        try:
            part = client.get(place.key, place.real, 0, max(1, found.size))
        except Beyond:
            meta, headers = client.head(place.key, place.real)
            part = Part(b"", meta, headers)
    except Missing:
        raise Moved from None
    if change.expected is None:
        same = as_inside(stat_of(part.meta, store.device, place.key)) == as_inside(found)
    else:
        same = store.version_of(place.key, part.meta) == change.expected
    if not same or len(part.data) != part.meta.size:
        raise Moved
    return part


def _take_back(store: Bucket, copy: BucketPlace, etag: str, of: WorkPath) -> None:
    """Remove the copy, which nobody has changed. Raises StoreFailed if it has to stay."""
    try:
        discard(store, copy.key, copy.real, etag)
    except Moved:
        return  # what is there now is somebody else's
    except ReadroomError as error:
        raise _both(of, copy.real, error) from None


def _both(path: WorkPath, copy: WorkPath, why: ReadroomError) -> StoreFailed:
    """The error after which no name may be removed: a removal without an answer may still be made."""
    problem = f"it is at {quote(copy)} now, and whether the old name is gone is not known ({why.code})"
    return StoreFailed(path, problem, "Look for both names, and delete the old one if it is there.")
