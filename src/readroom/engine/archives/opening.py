"""Which paths lead into an archive, and the guard of what is inside.

entered   path -> guard of the inside; an archive in an archive is entered through the first
folder    the same for a file that is to be taken as a folder
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TypeAlias, final

from msgspec.structs import replace

from readroom.deadline import Deadline
from readroom.engine.archives.content import Contents
from readroom.engine.archives.store import MemberStore, Origin
from readroom.errors import (
    BadDocument,
    BrokenData,
    EncryptedDocument,
    NotAFile,
    NotAFolder,
    NotFound,
    ReadroomError,
    StoreFailed,
)
from readroom.formats.compressed import MAGIC_BYTES, by_magic
from readroom.formats.containers import HEAD_BYTES, open_container, recognise
from readroom.formats.containers.members import BadContainer, Container
from readroom.limits import Limits
from readroom.limits.documents import CONTAINER_NESTING, CONTAINERS_OPEN
from readroom.paths import BORDER, WorkPath
from readroom.policy.guard import Guard
from readroom.policy.rules import inside
from readroom.session.expansions import Expansions, NotText
from readroom.stores.base import Source
from readroom.text.line_index import Shrunk
from readroom.values import Bytes, Version

_Key: TypeAlias = tuple[Version, str]


@final
class Archives:
    """The archives of a workspace. Safe to share between threads."""

    def __init__(self, limits: Limits, expansions: Expansions) -> None:
        """Prepare.

        Args:
            limits: Of the workspace.
            expansions: Expands compressed tar files.
        """
        self._limits = limits
        self._expansions = expansions
        self._contents = Contents(limits.expanded_bytes)
        self._lock = threading.Lock()
        self._kept: OrderedDict[_Key, Container] = OrderedDict()

    def close(self) -> None:
        """Let go of everything."""
        self._contents.close()
        with self._lock:
            self._kept.clear()

    def entered(self, guard: Guard, path: WorkPath, deadline: Deadline) -> Guard | None:
        """The guard of the archive that a path leads into; None when it leads into none.

        Its owner closes it.

        Raises:
            Denied, OutsideRoot, HardLinked, NoPermission: From opening the archive.
            NotAFolder: What would be the archive is a file of another kind.
            BrokenData: It is damaged, or deeper in others than is read.
            TimedOut, Cancelled: From the deadline.
        """
        current, at, depth = guard, -1, 0
        try:
            while (at := _border(path, at + 1)) >= 0:
                if _is_there(current, WorkPath(path[: at + 1])):
                    continue
                deeper = self._deeper(current, WorkPath(path[:at]), depth, deadline)
                if deeper is None:
                    continue
                depth += 1
                current = _chained(deeper, None if current is guard else current)
        except BaseException:
            if current is not guard:
                current.close()
            raise
        return None if current is guard else current

    def folder(self, guard: Guard, path: WorkPath, deadline: Deadline) -> tuple[Guard, WorkPath] | None:
        """The guard of a file that is an archive, and its path as a folder; None when it is none.

        Raises as `entered` does.
        """
        inner = self._deeper(guard, path, path.count(f"{BORDER}/"), deadline, required=False)
        return None if inner is None else (inner, WorkPath(path + BORDER))

    def _deeper(
        self, guard: Guard, path: WorkPath, depth: int, deadline: Deadline, *, required: bool = True
    ) -> Guard | None:
        """The guard of the archive in a file; None when there is no such file."""
        try:
            source = guard.open(path)
        except (NotFound, NotAFile):
            return None
        try:
            origin = self._opened(source, path, deadline)
            if origin is None:
                source.close()
                if required:
                    raise NotAFolder(path, "file")
                return None
            if depth >= CONTAINER_NESTING:
                problem = f"it lies in {depth} other archives, and that is as deep as is looked"
                raise BadDocument(path, origin.container.form, problem, "Ask the user to unpack it.")
            store = MemberStore(origin, self._contents, deadline)
            rules = guard.refresh()
            # Those of an archive are already about members, of archives in it, too.
            return Guard(store, rules if isinstance(guard.store, MemberStore) else inside(rules))
        except BaseException:
            source.close()
            raise

    def _opened(self, source: Source, path: WorkPath, deadline: Deadline) -> Origin | None:
        """The archive in an opened file; None when it is not one."""
        head = source.read_at(0, HEAD_BYTES)
        compression = by_magic(head[:MAGIC_BYTES])
        if compression is None:
            container = self._container(source, source, path, deadline, is_one=recognise(head) is not None)
            return None if container is None else Origin(path, source, source, container)
        try:
            expanded = self._expansions.opened(
                source, compression, self._limits.expanded_bytes, _is_tar, deadline
            )
        except NotText:
            return None
        except Shrunk:
            raise BrokenData(path, compression, source.size, "it became shorter meanwhile") from None
        except OSError as error:
            if isinstance(error, StoreFailed):
                raise
            raise StoreFailed(path, error.strerror or type(error).__name__) from None
        if expanded.out_of_time is not None:
            raise expanded.out_of_time
        container = self._container(source, expanded, path, deadline, is_one=True)
        if container is None:
            return None
        notes = () if expanded.stopped is None else (expanded.stopped.detail,)
        container = replace(container, notes=(*container.notes, *notes))
        return Origin(path, source, expanded, container, compression)

    def _container(
        self, source: Source, content: Bytes, path: WorkPath, deadline: Deadline, *, is_one: bool
    ) -> Container | None:
        """The members, as they were found before or anew."""
        if not is_one:
            return None
        key = (source.version, source.real)
        with self._lock:
            container = self._kept.get(key)
            if container is not None:
                self._kept.move_to_end(key)
        if container is not None:
            return replace(container, reader=container.reader.over(content))
        try:
            made = open_container(content, deadline.check)
        except BadContainer as error:
            if error.is_encrypted:
                advice = "Ask the user to unpack it."
                raise EncryptedDocument(path, "archive", error.problem, advice) from None
            raise BrokenData(path, "archive", source.size, error.problem) from None
        if made is None:
            return None
        with self._lock:
            # Without what it was read from, which is closed with the call.
            self._kept[key] = made
            while len(self._kept) > CONTAINERS_OPEN:
                self._kept.popitem(last=False)
        return made


def _is_tar(head: bytes, whole: bool) -> bool:
    return recognise(head[:HEAD_BYTES]) == "tar"


def _border(path: str, start: int) -> int:
    """Where the next part that ends with the border does so; -1 for none."""
    at = path.find(BORDER, start)
    while at >= 0 and (path[at + 1 : at + 2] not in ("", "/") or path[at - 1 : at] in ("", "/")):
        at = path.find(BORDER, at + 1)
    return at


def _is_there(guard: Guard, path: WorkPath) -> bool:
    """Whether something has that very name: then it is meant, and what policy says of it.

    The store is asked, not the guard: a list of what is allowed need not have this name, and whether
    it is there changes the answer only for names that cannot be read in either case.
    """
    try:
        guard.store.stat(path)
    except NotFound:
        return False
    except ReadroomError:
        return True  # whatever keeps it from being seen is said when it is opened
    return True


def _chained(inner: Guard, outer: Guard | None) -> Guard:
    """The inner guard; closing it closes the one of the archive that holds it, too."""
    if outer is not None:
        assert isinstance(inner.store, MemberStore)
        inner.store.holds(outer)
    return inner
