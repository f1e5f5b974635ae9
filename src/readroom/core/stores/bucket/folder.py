"""A folder of a bucket: the names between two slashes, page by page in the order of names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, final

from readroom.core.closeable import Closeable
from readroom.core.deadline import Deadline
from readroom.core.errors import BadPath, NotFound, StoreFailed
from readroom.core.lru import LruCache
from readroom.core.paths import WorkPath, join
from readroom.core.stores import spending
from readroom.core.stores.base import Begun, passed
from readroom.core.stores.bucket import names as keys
from readroom.core.stores.bucket.client import Connection, Meta, nanoseconds
from readroom.core.stores.bucket.source import BucketSource, number, stat_of
from readroom.core.values import Entry, EntryKind, Names, Stat

PAGE = 1000
"""Keys of one request; servers send no more."""

_KEPT_NAMES = 20 * PAGE
"""Names of a folder whose size and time are kept from its listing."""

_MODE = 0o755


def folder_stat(device: int, key: str) -> Stat:
    """The stat of a folder."""
    return Stat(EntryKind.FOLDER, 0, 0, _MODE, device=device, inode=number(key, "/"))


@final
class BucketFolder(Closeable):
    """An opened folder.

    Attributes:
        unnamed: Keys seen so far that have no path, or that of a folder.
        far: To open one of its files is a request.
    """

    far = True

    def __init__(
        self,
        client: Connection,
        device: int,
        prefix: str,
        real: WorkPath,
        first: dict[str, Any],
        opened: Callable[[str, WorkPath, Meta | None], BucketSource],
        looked: Callable[[WorkPath], Stat],
        ask: Callable[[WorkPath, Deadline], Begun | None],
    ) -> None:
        """`first` is its first page; `opened` opens a key, `looked` is the stat of a path, `ask` the store's
        `ahead`."""
        self._client = client
        self._device = device
        self._prefix = prefix
        self._first = first
        self._opened = opened
        self._looked = looked
        self._ask = ask
        self._metas: LruCache[str, Meta | EntryKind] = LruCache(_KEPT_NAMES)
        self._seeded = False
        self.real = real
        self.unnamed = 0

    def entries(self) -> Iterator[Entry]:
        """The names in it, in order."""
        for some in self.in_order():
            for name in some.names:
                yield Entry(name, some.kinds.get(name, EntryKind.FILE))

    def names(self, maximum: int) -> Iterator[Names]:
        """The same in batches of up to `maximum`."""
        entries = self.entries()
        while chunk := list(islice(entries, maximum)):
            kinds = {entry.name: entry.kind for entry in chunk if entry.kind is not EntryKind.FILE}
            yield Names([entry.name for entry in chunk], kinds)

    def in_order(self, least: str = "") -> Iterator[Names]:
        """The names from `least` on, a page at a time, each in no order and all after the page before."""
        early: set[str] = set()
        known: set[str] = set()
        self.unnamed = 0
        for page in self._pages(least):
            batch = self._batch(page, early)
            if page.get("IsTruncated"):
                for name in keys.uncertain(self._last(page), known):
                    known.add(name)
                    if self._has_folder(name):
                        early.add(name)
                        self.unnamed += name in batch
                        batch[name] = None
            found = {name: meta for name, meta in batch.items() if name >= least}
            for name, meta in found.items():
                self._metas.put(name, EntryKind.FOLDER if meta is None else meta)
            if found:
                yield Names(
                    list(found), {name: EntryKind.FOLDER for name, meta in found.items() if meta is None}
                )

    def stat(self, name: str) -> Stat:
        """The stat of a name in it."""
        path = self._path(name)
        meta = self._known(name)
        if isinstance(meta, Meta):
            return stat_of(meta, self._device, self._prefix + name)
        if meta is EntryKind.FOLDER:
            return folder_stat(self._device, self._prefix + name)
        return self._looked(path)

    def _known(self, name: str) -> Meta | EntryKind | None:
        """The size and time of a name from a listing; a call with a bound asks for nothing that it has."""
        if not self._seeded and spending.current() is not None:
            self._seeded = True
            unnamed = self.unnamed
            for other, meta in self._batch(self._first, set()).items():
                self._metas.put(other, EntryKind.FOLDER if meta is None else meta)
            self.unnamed = unnamed
        return self._metas.get(name)

    def target(self, name: str) -> None:
        """None: nothing in a bucket is a link. Raises NotFound."""
        self.stat(name)

    def open(self, name: str) -> BucketSource:
        """Open an object in it."""
        path = self._path(name)
        meta = self._known(name)
        return self._opened(self._prefix + name, path, meta if isinstance(meta, Meta) else None)

    def ahead(self, name: str, deadline: Deadline) -> Begun | None:
        """Ask for an object in it that this call will open. Returns None if too many are asked for."""
        meta = self._known(name)
        is_empty = isinstance(meta, Meta) and not meta.size
        return passed if is_empty else self._ask(self._path(name), deadline)

    def fileno(self) -> None:
        """Always None."""
        return

    def close(self) -> None:
        """Does nothing."""

    # --- pages --------------------------------------------------------------------------------

    def _pages(self, least: str) -> Iterator[dict[str, Any]]:
        more: dict[str, Any] = {}
        page = self._first
        if least:
            more = {"StartAfter": self._prefix + keys.just_before(least)}
            page = self._client.list(self.real, self._prefix, PAGE, **more)
        while True:
            yield page
            token = page.get("NextContinuationToken")
            if not page.get("IsTruncated") or not token:
                return
            last = self._last(page)
            page = self._client.list(self.real, self._prefix, PAGE, ContinuationToken=token)
            if any(part and part[0][field][len(self._prefix) :] < last for field, part in _parts(page)):
                problem = "the server lists its names in an order that pages cannot follow"
                raise StoreFailed(self.real, problem, "List a folder in it, or use the provider's own tool.")

    def _batch(self, page: dict[str, Any], early: set[str]) -> dict[str, Meta | None]:
        """The names of a page, those of folders with None."""
        batch: dict[str, Meta | None] = {}
        for found in page.get("Contents", ()):
            name = found["Key"][len(self._prefix) :]
            if not name and not found["Size"]:
                continue  # what some tools put in the place of a folder
            if not self._client.is_name(name) or name in early:
                self.unnamed += 1
            else:
                batch[name] = Meta(
                    found["Size"], found.get("ETag", ""), nanoseconds(found.get("LastModified"))
                )
        for found in page.get("CommonPrefixes", ()):
            name = found["Prefix"][len(self._prefix) : -1]
            if not self._client.is_name(name):
                self.unnamed += 1
            elif name not in early:
                self.unnamed += name in batch
                batch[name] = None
        return batch

    def _last(self, page: dict[str, Any]) -> str:
        """The last key of a page, without the folder."""
        ends = [part[-1][field] for field, part in _parts(page) if part]
        last: str = max(ends)
        return last[len(self._prefix) :]

    def _has_folder(self, name: str) -> bool:
        page = self._client.list(self.real, f"{self._prefix}{name}/", 1)
        return bool(page.get("Contents") or page.get("CommonPrefixes"))

    def _path(self, name: str) -> WorkPath:
        if "/" in name or not self._client.is_name(name):
            raise BadPath(name, "is not a name that a folder's entry can have")
        path = join(self.real, name)
        if keys.key_of("", WorkPath(name), self._client.is_name) is None:
            raise NotFound(path)
        return path


def _parts(page: dict[str, Any]) -> list[tuple[str, list[dict[str, Any]]]]:
    return [("Key", page.get("Contents", [])), ("Prefix", page.get("CommonPrefixes", []))]
