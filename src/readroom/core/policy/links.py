"""The names that a file has by way of symbolic links: programs find what is written under each of them.

A link gives a folder or a file a name that programs look for: with `.vscode -> config/vscode`, an editor
runs `config/vscode/tasks.json`.  Nothing in a path shows that a link leads to it, so the tree is searched,
breadth first and for each change: a command may have made the link a moment ago.  That takes 30 us a folder,
and 3 us for one that is as it was.  What programs look for is near the top of a workspace; so the search of
a very large tree ends early.
"""

from __future__ import annotations

import os
import posixpath
import time
from collections import deque
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import final

from msgspec import Struct

from readroom.core.errors import Protected, ReadroomError
from readroom.core.paths import ROOT, WorkPath, ancestors, basename, join, normalize, parent
from readroom.core.stores.base import Store
from readroom.core.values import EntryKind

Relevant = Callable[[WorkPath, Sequence[str]], Container[str]]
"""The names of links in a folder that matter."""

_NAMES = 1000
_PASSED_OVER = ("/node_modules", "/.git/objects")
"""The ends of folders with thousands below them, in which no program looks for its settings."""


LINK_NAMES = 1_000
"""Names of one file by links that are looked at; one with more is not changed."""

LINK_PARTS = 5
"""Links one after the other that give a file a name: one for each part of the longest protected name."""


class LinkedNames(Struct, frozen=True):
    """Links by the real names of what they lead to."""

    links: Mapping[WorkPath, Sequence[WorkPath]]

    def others(self, path: WorkPath) -> Iterator[WorkPath]:
        """The other names of a real name, by one link or several. Raises Protected."""
        seen, latest = {path}, [path]
        for _ in range(LINK_PARTS if self.links else 0):
            found = [other for name in latest for other in self._by_one(name) if other not in seen]
            yield from found
            seen.update(found)
            latest = found
            if len(seen) > LINK_NAMES:
                raise Protected(path, f"more than {LINK_NAMES:,} names lead to it by links")

    def _by_one(self, name: WorkPath) -> Iterator[WorkPath]:
        for above in (ROOT, *ancestors(name), name):
            for link in self.links.get(above, ()):
                if not name.startswith(f"{link}/"):
                    yield join(link, name) if above == ROOT else WorkPath(link + name[len(above) :])


class _Seen(Struct, frozen=True):
    """The content of a folder when it was read: folders, and links that matter."""

    changed_ns: int
    folders: Sequence[WorkPath]
    links: Sequence[WorkPath]


LINK_FOLDERS = 5_000
"""Folders, from the top down, that are searched for links before a change: 0.15 s at most."""


@final
class LinkSearch:
    """Finds the links of a tree that matter. Safe to share between threads.

    A folder that has not changed since it was read is not read again.  Its change time tells, which nobody
    can set back; one from just before the reading may hide a change that came after it.
    """

    def __init__(self, store: Store, is_relevant: Relevant) -> None:
        self._store = store
        self._is_relevant = is_relevant
        self._seen: dict[WorkPath, _Seen] = {}

    def links(self) -> LinkedNames:
        """The links that are there now; folders that cannot be read are skipped."""
        if not getattr(self._store, "has_links", True):
            return LinkedNames({})
        with ExitStack() as held:
            if self._store.folder is None:
                # A store that tells a whole tree at once does so while its topmost folder is looked at.
                with suppress(ReadroomError):
                    deque(held.enter_context(self._store.open_folder(ROOT)).names(_NAMES), maxlen=0)
            return self._found()

    def _found(self) -> LinkedNames:
        links: dict[WorkPath, list[WorkPath]] = {}
        pending, before, now = deque([ROOT]), self._seen, dict[WorkPath, _Seen]()
        while pending and len(now) < LINK_FOLDERS:
            path = pending.popleft()
            seen = before.get(path)
            if seen is None or seen.changed_ns != self._changed(path):
                seen = self._read(path)
            now[path] = seen
            pending += seen.folders
            for link in seen.links:
                target = _target(self._store, link)
                if target is not None:
                    links.setdefault(target, []).append(link)
        self._seen = now
        return LinkedNames(links)

    def _changed(self, path: WorkPath) -> int:
        """When a folder was last changed; negative if that is not known."""
        if self._store.folder is None:
            return -1
        try:
            return os.lstat(f"{self._store.folder}/{path}").st_ctime_ns
        except OSError:
            return -1

    def _read(self, path: WorkPath) -> _Seen:
        latest = time.time_ns() - _CLOCK_STEP_NS
        changed = self._changed(path)
        folders: list[WorkPath] = []
        links: list[WorkPath] = []
        try:
            with self._store.open_folder(path) as folder:
                for some in folder.names(_NAMES) if folder.real == path else ():
                    for kind, found in ((EntryKind.FOLDER, folders), (EntryKind.LINK, links)):
                        found += [join(path, name) for name, is_kind in some.kinds.items() if is_kind is kind]
        except ReadroomError:
            pass
        folders = [name for name in folders if not f"/{name}".endswith(_PASSED_OVER)]
        if links:
            relevant = self._is_relevant(path, list(map(basename, links)))
            links = [link for link in links if basename(link) in relevant]
        return _Seen(changed if 0 <= changed < latest else -2, folders, links)


_CLOCK_STEP_NS = 100_000_000
"""File times come from a clock with steps of up to 10 ms; ten steps are a safe margin."""


def _target(store: Store, link: WorkPath) -> WorkPath | None:
    """The real name of what a link leads to, or would lead to once it is made; None outside."""
    try:
        return store.stat(link)[0]
    except ReadroomError:
        pass
    try:
        with store.open_folder(parent(link)) as folder:
            text = folder.target(basename(link))
        if not text:
            return None
        if not text.startswith("/"):
            text = posixpath.join(parent(link), text)
        target = normalize(text, store.roots)
        return join(store.stat(parent(target))[0], target.rpartition("/")[2])
    except ReadroomError:
        return None
