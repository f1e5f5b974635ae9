"""Changes of names in several local roots, made together: one batch and one journal for all of them.

The paths of steps are those of the tree, in which a root is a folder of its name; the journal says which
folder that was.  Whoever looks next at one of the roots undoes or clears what a killed process left in all
of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, final

from readroom.core.deadline import Deadline
from readroom.core.errors import NotFound, ReadroomError
from readroom.core.paths import ROOT, WorkPath
from readroom.core.stores.base import Change, Leftover
from readroom.core.stores.local.batch import Batch
from readroom.core.stores.local.journal import Abandoned, BatchJournal, OneOf, encoded
from readroom.core.stores.local.resolve import Found, Way
from readroom.core.stores.local.undo import recovered
from readroom.core.stores.local.unfinished import Notes
from readroom.core.stores.roots.names import Place
from readroom.core.values.files import Warn


class Local(Protocol):
    """A local root, as far as it matters here."""

    name: str
    identity: tuple[int, int]

    @property
    def confinement(self) -> str:
        """The barrier that keeps links inside."""

    @property
    def way(self) -> Way:
        """How names below the root are opened."""

    def close(self) -> None:
        """Release the root."""


def commit(
    every: Mapping[WorkPath, Local],
    own: Local,
    places: tuple[str | None, str | None],
    changes: Sequence[Change],
    ready: Callable[[], None],
) -> Sequence[Sequence[Warn]]:
    """Make changes of names in a root, or in several, all of them or none. Raises as `Store.commit`.

    Args:
        every: The roots by their names in the tree, where there are several.
        own: The root, or the first of them.
        places: The folders for notes of files that are written, and for journals.
        changes: As of `Store.commit`.
        ready: As of `Store.commit`.
    """
    notes, journals = places
    roots = [OneOf(encoded(at), encoded(store.name), *store.identity) for at, store in every.items()]
    journal = before = None
    if journals is not None:
        journal, before = (BatchJournal(journals, own.name, own.identity, roots) for _ in range(2))
    nameless = all(store.confinement == "kernel" for store in (own, *every.values()))
    return Batch(Notes(notes), journal, before, nameless=nameless).run(changes, ready)


def recovered_across(
    abandoned: Abandoned, own: Local, opened: Callable[[str], Local], left: list[Leftover]
) -> bool | None:
    """Undo or clear what a process that died has left in several roots.

    Args:
        abandoned: Its journal.
        own: The root that is looked after.
        opened: Opens another one by its path.
        left: Gets what could not be undone.

    Returns:
        True when it is done, False when a root cannot be used now, None if `own` is none of them.
    """
    every = abandoned.record.every
    if not any(os.fsdecode(root.root) == own.name and root.inode == own.identity[1] for root in every):
        return None
    roots: dict[WorkPath, Local] = {}
    devices: dict[int, int] = {}
    try:
        for root in every:
            try:
                store = opened(os.fsdecode(root.root))
            except NotFound:
                continue  # it is gone, and what was left in it
            except ReadroomError:
                return False
            roots[WorkPath(os.fsdecode(root.at))] = store
            if store.identity[1] != root.inode:
                return False  # another folder is mounted there, perhaps for a while
            devices[root.device] = store.identity[0]
        found = recovered(_Ways(roots), abandoned, devices, Deadline())
    finally:
        for store in roots.values():
            store.close()
    left.extend(found or ())
    return found is not None


@final
class _Ways:
    """Opens folders of several roots by their paths in the tree."""

    def __init__(self, roots: Mapping[WorkPath, Local]) -> None:
        self._roots = roots

    def folder(self, path: WorkPath) -> Found:
        """A folder, opened for reading its names."""
        at = WorkPath(path.partition("/")[0])
        place = Place(at if at in self._roots and at != ROOT else ROOT)
        root = self._roots.get(place.at)
        if root is None:
            raise NotFound(path)
        found = root.way.folder(place.inner(path))
        return Found(found.fd, place.outer(found.real), found.stat)
