"""The store of a bucket, or of a folder in one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, final

from readroom.core.deadline import Deadline
from readroom.core.errors import BadPath, BucketCannot, NotAFile, NotAFolder, NotFound
from readroom.core.limits import BLOCK_BYTES
from readroom.core.lru import LruCache
from readroom.core.paths import ROOT, WorkPath, basename, join, parent
from readroom.core.stores import spending
from readroom.core.stores.base import (
    Begun,
    Change,
    Leftover,
    MakeEntry,
    PutFile,
    PutTree,
    RemoveEntry,
    RenameEntry,
    passed,
)
from readroom.core.stores.bucket import names as keys
from readroom.core.stores.bucket import single
from readroom.core.stores.bucket.address import BucketAddress
from readroom.core.stores.bucket.ahead import BucketAhead
from readroom.core.stores.bucket.client import Beyond, Meta, Missing, Part
from readroom.core.stores.bucket.connecting import connected
from readroom.core.stores.bucket.folder import PAGE, BucketFolder, folder_stat
from readroom.core.stores.bucket.place import BucketPlace
from readroom.core.stores.bucket.source import BucketSource, number, stat_of, version_of
from readroom.core.stores.promises import Keeper, Promises
from readroom.core.stores.spending import CHECKED_LATER
from readroom.core.values import EntryKind, Stat, Version
from readroom.core.values.files import Warn

RULES = frozenset((".git", ".gitignore", ".kilocodeignore", ".readroomignore", "exclude", "readroom.toml"))
"""Names of files that rules come from, which every call asks for."""

BELIEVED_S = 30.0
"""Seconds for which the presence, absence and version of such a file are believed, and for which a file that
a conversation has seen is not looked at for news."""

_HEADS = 32
"""Large objects whose beginning is kept, a block of each."""

_RULES_KEPT = 10_000


@final
class BucketStore:
    """A folder of a bucket. Safe to share between threads.

    Attributes:
        has_links: Nothing in it is a link.
        keeps_conditions: Whether the server keeps to If-Match; None before that was seen.
    """

    folder = None
    roots: tuple[str, ...] = ()
    has_links = False

    def __init__(
        self,
        address: BucketAddress,
        clock: Callable[[], float] = time.monotonic,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """Look at the bucket; keys of Azure are among `variables`. Raises MissingProgram, StoreFailed, ..."""
        self.name = str(address)
        self.client = connected(address, variables or {})
        self.device = number(self.client.server, address.bucket)
        self.writing = threading.Lock()
        self.keeps_conditions: bool | None = None
        self._prefix = address.prefix
        self._clock = clock
        self._heads: LruCache[WorkPath, tuple[Meta, bytes]] = LruCache(_HEADS)
        self._believed: LruCache[WorkPath, tuple[float, Version | None]] = LruCache(_RULES_KEPT)
        self._rules: LruCache[WorkPath, tuple[float, Meta | None]] = LruCache(_RULES_KEPT)

    @property
    def promises(self) -> Promises:
        """Each change is one request on a condition, if the server keeps to conditions."""
        exchange: Keeper = "none" if self.keeps_conditions is False else "store"
        return Promises(opening="store", exchange=exchange, locks="none", together="none")

    def require_root(self) -> None:
        """Always succeeds: a bucket that is gone fails the calls about it."""

    def open(self, path: WorkPath) -> BucketSource:
        """Open an object."""
        key = self._key(path)
        if CHECKED_LATER.get() and (known := self._heads.get(path)) is not None:
            return self._source(key, path, *known, checked=False)
        if self._is_rule(path) and self._rule(path) is None:
            raise NotFound(path)
        return self._opened(key, path, None)

    def ahead(self, path: WorkPath, deadline: Deadline) -> Begun | None:
        """Ask for an object that this call will open. Returns None if too many are asked for."""
        fetched, key = spending.fetched(), keys.key_of(self._prefix, path, self.client.is_name)
        if fetched is None or key is None:
            return None
        where = (self.device, key)
        if fetched.get(where) is not None:
            return passed
        fetch = partial(self._fetched, key, path)
        return fetched.ahead(BucketAhead).begin(where, BLOCK_BYTES, deadline, fetch)

    def open_folder(self, path: WorkPath) -> BucketFolder:
        """Open a folder: its first page is fetched."""
        prefix = self._folder_key(path)
        page = self.client.list(path, prefix, PAGE)
        if path != ROOT and not page.get("Contents") and not page.get("CommonPrefixes"):
            if self._meta(path) is not None:
                raise NotAFolder(path, "file")
            raise NotFound(path)
        of_store = (self._opened, self._looked, self.ahead)
        folder = BucketFolder(self.client, self.device, prefix, path, page, *of_store)
        self._learn_absent(path, page, prefix)
        return folder

    def stat(self, path: WorkPath) -> tuple[WorkPath, Stat]:
        """The stat of an object, or else of a folder."""
        return path, self._looked(path)

    def version(self, path: WorkPath) -> Version | None:
        """The identity of what is at a path, or was there less than `BELIEVED_S` ago."""
        known = self._believed.get(path)
        if known is None or self._clock() >= known[0]:
            known = (self._clock() + BELIEVED_S, self._asked(path))
            self._believed.put(path, known)
        return known[1]

    def _asked(self, path: WorkPath) -> Version | None:
        meta = self._rule(path) if self._is_rule(path) else self._meta(path)
        if meta is not None:
            return version_of(meta, self.device, self._prefix + path)
        if self._is_rule(path) or not self.has_folder(path):
            return None
        return Version(0, 0, 0, 0, 0)

    def is_still(self, path: WorkPath, version: Version | None) -> bool:
        """Whether what is at a path has that version, or had it less than `BELIEVED_S` ago."""
        return self.version(path) == version

    def place(self, path: WorkPath) -> BucketPlace:
        """The target for a change."""
        if path == ROOT:
            raise NotAFile(path, "folder")
        key = keys.key_of(self._prefix, path, self.client.is_name)
        if key is None:
            raise BadPath(path, f"cannot be a key here: those are UTF-8 of {keys.LONGEST_KEY} bytes at most")
        return BucketPlace(self, path, key)

    def commit(self, changes: Sequence[Change], ready: Callable[[], None]) -> Sequence[Sequence[Warn]]:
        """Make one change; several are refused, since a bucket cannot make them all or none."""
        change = single.essential(self, changes)
        if change is None:
            several = "Send them one by one: each of them is made or not."
            raise BucketCannot(changes[0].place.real, "make several changes", several)
        warnings = self._made(change, ready)
        return [warnings if one is change else () for one in changes]

    def _made(self, change: Change, ready: Callable[[], None]) -> Sequence[Warn]:
        place = change.place
        assert isinstance(place, BucketPlace)
        match change:
            case PutFile(_, pieces, over):
                return place.put(pieces, over, ready)
            case RemoveEntry(_, found, expected) if found.kind is EntryKind.FILE:
                ready()
                place.remove(expected)
            case RemoveEntry(_, _, _, inside):
                single.remove(self, place, inside, ready)
            case PutTree(_, entries):
                return single.bring_back(self, place, entries, ready)
            case RenameEntry():
                return self.carry(change, ready)
            case MakeEntry():
                ready()
                if not self.has_folder(place.real):
                    place.make()
            case _:
                raise BucketCannot(place.real, "make a link", "Write a file.")
        return ()

    def recover(self) -> Sequence[Leftover]:
        """Nothing: each change is one request."""
        return ()

    def close(self) -> None:
        """Release the connections."""
        self.client.close()

    # --- for places and folders ---------------------------------------------------------------

    def has_folder(self, path: WorkPath) -> bool:
        """Whether any key is in that folder."""
        try:
            prefix = self._folder_key(path)
        except NotFound:
            return False
        known = self._rules.get(WorkPath(f"{path}/"))
        if known is not None and self._clock() < known[0]:
            return False
        page = self.client.list(path, prefix, 1)
        return path == ROOT or bool(page.get("Contents") or page.get("CommonPrefixes"))

    def missing_above(self, path: WorkPath) -> Sequence[WorkPath]:
        """The folders above a path that no key is in, the topmost first. Raises NotAFolder."""
        missing: list[WorkPath] = []
        above = parent(path)
        while above != ROOT and not self.has_folder(above):
            if self._meta(above) is not None:
                raise NotAFolder(above, "file")
            missing.insert(0, above)
            above = parent(above)
        return missing

    def carry(self, change: RenameEntry, ready: Callable[[], None]) -> Sequence[Warn]:
        """Move a file: for a moment both names are there."""
        return single.move(self, change, ready)

    def version_of(self, key: str, meta: Meta) -> Version:
        """The version of a state of an object."""
        return version_of(meta, self.device, key)

    def forget(self, path: WorkPath) -> None:
        """Ask for an object again the next time."""
        self._heads.pop(path)
        self._believed.pop(path)
        self._rules.clear()
        if (fetched := spending.fetched()) is not None:
            where = (self.device, self._prefix + path)
            fetched.forget(where)
            fetched.ahead(BucketAhead).drop(where)

    # --- looking ------------------------------------------------------------------------------

    def _looked(self, path: WorkPath) -> Stat:
        if path != ROOT:
            meta = self._rule(path) if self._is_rule(path) else self._meta(path)
            if meta is not None:
                return stat_of(meta, self.device, self._prefix + path)
        if path != ROOT and not self.has_folder(path):
            raise NotFound(path)
        return folder_stat(self.device, self._prefix if path == ROOT else self._prefix + path)

    def _meta(self, path: WorkPath) -> Meta | None:
        key = keys.key_of(self._prefix, path, self.client.is_name)
        if path == ROOT or key is None:
            return None
        try:
            return self.client.head(key, path)[0]
        except Missing:
            return None

    def _opened(self, key: str, path: WorkPath, meta: Meta | None) -> BucketSource:
        """An object with its first block, which one request fetches."""
        if meta is not None and not meta.size:
            return self._source(key, path, meta, b"", checked=True)
        try:
            part = self._beginning(key, path)
        except Missing:
            if self.has_folder(path):
                raise NotAFile(path, "folder") from None
            raise NotFound(path) from None
        if part.meta.size > BLOCK_BYTES:
            self._heads.put(path, (part.meta, part.data))
        return self._source(key, path, part.meta, part.data, checked=True)

    def _beginning(self, key: str, path: WorkPath) -> Part:
        """The first block of an object: as this call has fetched it, or asked for it, if it has."""
        fetched = spending.fetched()
        if fetched is None:
            return self._fetched(key, path)
        where = (self.device, key)
        known: Part | None = fetched.get(where)
        if known is not None:
            return known
        part = fetched.ahead(BucketAhead).take(where) or self._fetched(key, path)
        fetched.put(where, part, len(part.data))
        return part

    def _fetched(self, key: str, path: WorkPath) -> Part:
        try:
            return self.client.get(key, path, 0, BLOCK_BYTES)
        except Beyond:
            return Part(b"", self.client.head(key, path)[0], {})

    def _source(self, key: str, path: WorkPath, meta: Meta, head: bytes, *, checked: bool) -> BucketSource:
        def changed() -> None:
            self.forget(path)

        if checked:
            until = self._clock() + BELIEVED_S
            self._believed.put(path, (until, version_of(meta, self.device, key)))
        return BucketSource(self.client, self.device, key, path, meta, head, checked=checked, changed=changed)

    def _key(self, path: WorkPath) -> str:
        if path == ROOT:
            raise NotAFile(path, "folder")
        key = keys.key_of(self._prefix, path, self.client.is_name)
        if key is None:
            raise NotFound(path)
        return key

    def _folder_key(self, path: WorkPath) -> str:
        prefix = keys.folder_key(self._prefix, path, self.client.is_name)
        if prefix is None:
            raise NotFound(path)
        return prefix

    # --- files that rules come from -----------------------------------------------------------

    def _is_rule(self, path: WorkPath) -> bool:
        return basename(path) in RULES

    def _rule(self, path: WorkPath) -> Meta | None:
        known = self._rules.get(path)
        if known is not None and self._clock() < known[0]:
            return known[1]
        meta = self._meta(path)
        self._rules.put(path, (self._clock() + BELIEVED_S, meta))
        return meta

    def _learn_absent(self, path: WorkPath, page: dict[str, Any], prefix: str) -> None:
        """Note which of these names a folder lacks, as its first page says."""
        found = [one["Key"] for one in page.get("Contents", ())]
        found += [one["Prefix"] for one in page.get("CommonPrefixes", ())]
        there = {key[len(prefix) :] for key in found}
        last = max(found)[len(prefix) :] if page.get("IsTruncated") else None
        until = self._clock() + BELIEVED_S
        for name in (*RULES, *(f"{rule}/" for rule in RULES)):
            if name not in there and (last is None or name < last):
                self._rules.put(join(path, name), (until, None))
