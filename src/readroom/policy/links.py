"""The names that a file has by way of symbolic links: programs find what is written under each of them.

A link gives a folder or a file a name that programs look for: with `.vscode -> config/vscode`, an editor
runs `config/vscode/tasks.json`.  Nothing in a path shows that a link leads to it, so the tree is searched,
breadth first and anew for each change: a command may have made the link a moment ago.  A search takes 30 us
a folder.  What programs look for is near the top of a workspace; so the search of a very large tree ends
early.
"""

from __future__ import annotations

import posixpath
from collections import deque
from collections.abc import Callable, Container, Iterator, Mapping, Sequence

from msgspec import Struct

from readroom.errors import ReadroomError
from readroom.limits.files import LINK_FOLDERS, LINK_NAMES
from readroom.paths import ROOT, WorkPath, ancestors, join, normalize, parent
from readroom.stores.base import Folder, Store
from readroom.values import EntryKind

Relevant = Callable[[WorkPath, Sequence[str]], Container[str]]
"""Which names of links in a folder matter."""

_NAMES = 1000
_PASSED_OVER = frozenset({"node_modules", "objects"})
"""Folders with thousands below them, in which no program looks for its settings."""


class LinkedNames(Struct, frozen=True):
    """Links by the real names of what they lead to."""

    links: Mapping[WorkPath, Sequence[WorkPath]]

    def others(self, path: WorkPath) -> Iterator[WorkPath]:
        """The other names of a real name, by one link or several."""
        seen, pending = {path}, [path] if self.links else []
        while pending and len(seen) < LINK_NAMES:
            name = pending.pop()
            for above in (*ancestors(name), name):
                for link in self.links.get(above, ()):
                    other = WorkPath(link + name[len(above) :])
                    if other not in seen:
                        seen.add(other)
                        pending.append(other)
                        yield other


def linked_names(store: Store, is_relevant: Relevant) -> LinkedNames:
    """The links of a tree that matter; what cannot be read is passed over."""
    links: dict[WorkPath, list[WorkPath]] = {}
    pending, left = deque([ROOT]), LINK_FOLDERS
    while pending and left:
        left -= 1
        path = pending.popleft()
        try:
            with store.open_folder(path) as folder:
                if folder.real != path:
                    continue
                for some in folder.names(_NAMES):
                    kinds = some.kinds.items()
                    pending += [
                        join(path, name)
                        for name, kind in kinds
                        if kind is EntryKind.FOLDER and name not in _PASSED_OVER
                    ]
                    found = [name for name, kind in kinds if kind is EntryKind.LINK]
                    relevant = is_relevant(path, found) if found else ()
                    for name in (name for name in found if name in relevant):
                        target = _target(store, folder, name)
                        if target is not None:
                            links.setdefault(target, []).append(join(path, name))
        except ReadroomError:
            continue
    return LinkedNames(links)


def _target(store: Store, folder: Folder, name: str) -> WorkPath | None:
    """The real name of what a link leads to, or would lead to once it is made; None outside."""
    link = join(folder.real, name)
    try:
        return store.stat(link)[0]
    except ReadroomError:
        pass
    try:
        text = folder.target(name)
        if not text:
            return None
        if not text.startswith("/"):
            text = posixpath.join(folder.real, text)
        target = normalize(text, store.roots)
        return join(store.stat(parent(target))[0], target.rpartition("/")[2])
    except ReadroomError:
        return None
