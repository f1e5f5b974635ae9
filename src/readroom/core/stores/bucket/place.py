"""The target of a change in a bucket: one object, put or removed on a condition in one request.

The condition is the ETag that was read, or that there is no such key: what another writer has put in the
meantime stays.  Most else that is one step in a folder of this machine is several in a bucket, and refused.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, final

from readroom.core.closeable import Closeable
from readroom.core.deadline import Deadline
from readroom.core.errors import BucketCannot, NotFound, TimedOut
from readroom.core.limits import LOCK_WAIT_S
from readroom.core.paths import WorkPath, basename
from readroom.core.stores.base import Moved, RenameEntry, Source, Step, WriteTarget
from readroom.core.stores.bucket.client import Connection, Differs, Meta, Missing
from readroom.core.stores.bucket.source import BucketSource
from readroom.core.values import Stat, Version
from readroom.core.values.files import Warn

_WAIT_S = 0.05
"""Seconds after which a waiting writer checks whether its caller went away."""

PUT_BYTES = 64 * 1024 * 1024
"""Largest object that is put: it is held in memory."""

_KEPT_HEADERS = (
    "CacheControl",
    "ContentDisposition",
    "ContentEncoding",
    "ContentLanguage",
    "ContentType",
    "Metadata",
    "StorageClass",
    "ServerSideEncryption",
    "SSEKMSKeyId",
    "BucketKeyEnabled",
    "WebsiteRedirectLocation",
    "EncryptionScope",
)
"""Properties of an object that it keeps when its bytes are replaced."""

_BLOCKS = "BlockBlob"
"""The only kind of object of Azure that is replaced as a whole."""


def kept_headers(path: WorkPath, reply: dict[str, Any]) -> dict[str, Any]:
    """The properties of an object that a put repeats. Raises BucketCannot."""
    if reply.get("TagCount"):
        raise BucketCannot(path, "keep the tags of an object", "Use the provider's own tool.")
    if reply.get("BlobType", _BLOCKS) != _BLOCKS:
        raise BucketCannot(path, "replace or move an append or page blob", "Use the provider's own tool.")
    return {name: reply[name] for name in _KEPT_HEADERS if reply.get(name)}


def discard(store: Bucket, key: str, path: WorkPath, etag: str) -> None:
    """Delete an object in that state. Raises Moved, unless it is gone and an answer was lost."""
    try:
        store.client.delete(key, path, etag)
    except (Differs, Missing) as error:
        if not error.repeated or not is_gone(store, key, path):
            raise Moved from None
    finally:
        store.forget(path)


def is_gone(store: Bucket, key: str, path: WorkPath) -> bool:
    """Whether there is no such object."""
    try:
        store.client.head(key, path)
    except Missing:
        return True
    return False


NO_CONDITIONS = Warn(
    "no_conditions",
    "the server of this bucket does not keep to If-Match: a change of another writer in that moment is lost",
)


class Bucket(Protocol):
    """The part of a store that is needed here."""

    client: Connection
    device: int
    writing: threading.Lock
    keeps_conditions: bool | None

    def open(self, path: WorkPath) -> BucketSource:
        """Open an object."""

    def stat(self, path: WorkPath) -> tuple[WorkPath, Stat]:
        """The stat of what is at a path. Raises NotFound."""

    def has_folder(self, path: WorkPath) -> bool:
        """Whether any key is in that folder."""

    def missing_above(self, path: WorkPath) -> Sequence[WorkPath]:
        """The folders above a path that no key is in. Raises NotAFolder."""

    def version_of(self, key: str, meta: Meta) -> Version:
        """The version of a state of an object."""

    def carry(self, change: RenameEntry, ready: Callable[[], None]) -> Sequence[Warn]:
        """Move a file. Raises Moved."""

    def forget(self, path: WorkPath) -> None:
        """Ask for an object again the next time."""


@final
class BucketPlace(Closeable):
    """The target of a change of one object. Folders above it come into being with it.

    Attributes:
        key: The key of the object.
    """

    writable = True
    removed = 0

    def __init__(self, store: Bucket, path: WorkPath, key: str) -> None:
        """Find the missing folders on the way. Raises NotAFolder."""
        self._store = store
        self.key = key
        self._locked = False
        self.real = path
        self.spelling = basename(path)
        self.warnings: Sequence[Warn] = ()
        self._missing = store.missing_above(path)
        self.folders: Sequence[WorkPath] = ()

    @property
    def lock(self) -> tuple[int, ...]:
        """The identity of the bucket."""
        return (self._store.device,)

    def look(self) -> Stat | None:
        """The stat of what is there."""
        try:
            return self._store.stat(self.real)[1]
        except NotFound:
            return None

    def open(self) -> Source:
        """Open the object as it is now."""
        return self._store.open(self.real)

    def enter(self, deadline: Deadline, *, make_folders: bool) -> None:
        """Lock out other writers of this process."""
        if self._missing and not make_folders:
            raise NotFound(self.real)
        self.hold(deadline)
        self.folders = self._missing

    def hold(self, deadline: Deadline) -> None:
        """Lock out other writers of this process."""
        within = deadline.within(LOCK_WAIT_S)
        while not self._store.writing.acquire(timeout=_WAIT_S):
            if within.expired and not deadline.expired:
                raise TimedOut(LOCK_WAIT_S, "Another writer is at work; send the call again in a moment.")
            deadline.check()
        self._locked = True

    def enter_with(self, other: WriteTarget, deadline: Deadline) -> None:
        """Lock out other writers of this process, once for both."""
        other.enter(deadline, make_folders=True)

    def put(self, pieces: Iterable[bytes], over: Source | None, ready: Callable[[], None]) -> Sequence[Warn]:
        """Put the object on the condition that it is `over`, or that there is none."""
        data = bytearray()
        for piece in pieces:
            data += piece
            if len(data) > PUT_BYTES:
                raise BucketCannot(
                    self.real, f"take more than {PUT_BYTES:,} bytes", "Use the provider's own tool."
                )
        return self.put_as(bytes(data), over, self._kept(over), ready)[1]

    def put_as(
        self, content: bytes, over: Source | None, how: dict[str, Any], ready: Callable[[], None]
    ) -> tuple[str, Sequence[Warn]]:
        """Put the object with those properties and conditions; its ETag, and warnings. Raises Moved."""
        if over is None and self._store.has_folder(self.real):
            raise Moved
        ready()
        try:
            etag, _ = self._store.client.put(self.key, self.real, content, **how)
        except Differs:
            found = self._ours(content, over)
            if found is None:
                raise Moved from None
            etag = found
        except Missing:
            raise Moved from None
        self._store.forget(self.real)
        return etag, self._checked()

    def make(self) -> None:
        """Put an empty object whose key ends with a slash, as other tools make a folder."""
        if self.look() is not None:
            raise Moved
        try:
            self._store.client.put(f"{self.key}/", self.real, b"", IfNoneMatch="*")
        except Differs:
            raise Moved from None
        self.folders = (*self.folders, self.real)

    def remove(self, expected: Version | None) -> None:
        """Remove the object on the condition that it is what was opened, or what is there now."""
        try:
            meta, _ = self._store.client.head(self.key, self.real)
        except Missing:
            raise Moved from None
        if expected is not None and self._store.version_of(self.key, meta) != expected:
            raise Moved
        discard(self._store, self.key, self.real, meta.etag)

    def remove_folder(self, step: Step) -> None:
        """Refuse: there is no such request."""
        raise BucketCannot(self.real, "remove a folder", "Delete the files in it, one call for each.")

    def move(self, found: Stat, to: WriteTarget, over: Version | None) -> None:
        """Move a file to a name that is free; for a moment both are there."""
        if over is not None:
            raise BucketCannot(self.real, "move a file over another", "Delete that one first.")
        self._store.carry(RenameEntry(self, to, found), lambda: None)

    def close(self) -> None:
        """Release the lock; a second call does nothing."""
        locked, self._locked = self._locked, False
        if locked:
            self._store.writing.release()

    # --- conditions ---------------------------------------------------------------------------

    def _kept(self, over: Source | None) -> dict[str, Any]:
        """The condition of a put, and what else the object keeps."""
        if over is None:
            return {"IfNoneMatch": "*"}
        source = over if isinstance(over, BucketSource) else getattr(over, "inner", over)
        assert isinstance(source, BucketSource)
        etag = source.meta.etag
        try:
            _, reply = self._store.client.head(self.key, self.real, etag)
        except (Differs, Missing):
            raise Moved from None
        if reply.get("ETag") != etag:
            raise Moved
        return {"IfMatch": etag, **kept_headers(self.real, reply)}

    def _ours(self, content: bytes, over: Source | None) -> str | None:
        """The ETag of a put that was refused and had been made: its first answer may have been lost."""
        try:
            meta, reply = self._store.client.head(self.key, self.real)
        except Missing:
            return None
        unchanged = isinstance(over, BucketSource) and over.meta.etag == meta.etag
        same = meta.size == len(content) and self._store.client.holds(reply, content)
        return meta.etag if same and not unchanged else None

    def _checked(self) -> Sequence[Warn]:
        """A warning if the server does not keep to conditions, found out once for each bucket."""
        store = self._store
        if store.keeps_conditions is None:
            try:
                store.client.head(self.key, self.real, _NO_ETAG)
                store.keeps_conditions = False
            except Differs:
                store.keeps_conditions = True
            except Missing:
                return ()
        return () if store.keeps_conditions else (NO_CONDITIONS,)


_NO_ETAG = '"readroom"'
"""An ETag that no object has."""
