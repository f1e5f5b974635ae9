"""The histories of several roots: a change is kept in that of its root, under the name that it has there.

A call that changes several roots is a change in the history of each.  A move from one to another is a removal
in the one and a new file in the other.

Knows: which root a name belongs to.
Does not know: what is kept.
May be touched: with the laws of the history.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, final

from msgspec import Struct
from msgspec.structs import fields, replace

from readroom.core.deadline import Deadline
from readroom.core.history import History
from readroom.core.history.keeping import CallRecorder, OpenRecord
from readroom.core.history.records import Draft
from readroom.core.paths import ROOT, WorkPath
from readroom.core.policy.guard import Guard
from readroom.core.stores.base import Change, MakeEntry, PutFile, RemoveEntry, RenameEntry, WriteTarget
from readroom.core.stores.roots.joined import as_own
from readroom.core.stores.roots.names import Place
from readroom.core.stores.roots.placed import own_target
from readroom.core.text.hashes import blocks
from readroom.core.values import EntryKind
from readroom.core.values.files import Warn
from readroom.core.values.history import Author, KeptChange

_PATHS = ("path", "to")


def in_tree(value: Any, place: Place) -> Any:
    """A value of a root's history with the names of the tree."""
    if isinstance(value, Struct):
        made = {}
        for field in fields(value):
            inner = getattr(value, field.name)
            is_path = field.name in _PATHS and isinstance(inner, str)
            made[field.name] = place.outer(inner) if is_path else in_tree(inner, place)
        return replace(value, **made)
    return [in_tree(one, place) for one in value] if isinstance(value, (list, tuple)) else value


@final
class JoinedHistory(History):
    """The histories of all roots. Safe to share."""

    joins = True

    def __init__(self, histories: Mapping[WorkPath, History]) -> None:
        """Take over the histories, by the places of their roots."""
        self.roots = {at: (Place(at), history) for at, history in histories.items()}
        super().__init__(histories[ROOT].store, histories[ROOT].policy)

    def of(self, path: str) -> tuple[Place, History]:
        """The place and the history of the root that a name belongs to."""
        return self.roots.get(WorkPath(path.partition("/")[0]), self.roots[ROOT])

    def recorder(self, guard: Guard, author: Author, deadline: Deadline) -> CallRecorder:
        """A recorder of the changes of one call, each in its root's history."""
        recorders = {
            at: history.recorder(guard.own(at)[0], author, deadline)
            for at, (_, history) in self.roots.items()
        }
        return JoinedRecorder(self, recorders)

    def last_change(self, path: str) -> KeptChange | None:
        """The latest change of a real name."""
        place, history = self.of(path)
        found = history.last_change(place.inner(path))
        return None if found is None else in_tree(found, place)

    def record(self, author: Author, drafts: Iterable[Draft]) -> int:
        """Keep a change that was made otherwise; the number of the last one that was written."""
        by_root: dict[WorkPath, list[Draft]] = {}
        for draft in drafts:
            place, _ = self.of(draft.path)
            to = None if draft.to is None else place.inner(draft.to)
            by_root.setdefault(place.at, []).append(replace(draft, path=place.inner(draft.path), to=to))
        return max(self.roots[at][1].record(author, own) for at, own in by_root.items())

    def close(self) -> None:
        """Release the databases."""
        for _, history in self.roots.values():
            history.close()


class JoinedRecorder(CallRecorder):
    """Keeps the changes of one call in several roots. Used by one thread."""

    def __init__(self, history: JoinedHistory, recorders: Mapping[WorkPath, CallRecorder]) -> None:
        self._history = history
        self._recorders = recorders

    def of(self, at: WorkPath) -> CallRecorder:
        """That of one root."""
        return self._recorders[at]

    def root_of(self, place: WriteTarget) -> WorkPath:
        """The root of a target."""
        return self._history.of(place.real)[0].at

    @property
    def last(self) -> int | None:  # type: ignore[override]  # that of all roots
        """The number of the latest change that was kept."""
        kept = [one.last for one in self._recorders.values() if one.last is not None]
        return max(kept, default=None)

    def entering(self, place: WriteTarget) -> None:
        """Write down that folders above a name are going to be made."""
        self.of(self.root_of(place)).entering(own_target(place))

    def keeping(self, changes: Sequence[Change]) -> JoinedRecord:
        """The record of changes that are made together."""
        return JoinedRecord(self, changes)

    def close(self) -> None:
        """Settle what was begun and not made."""
        for one in self._recorders.values():
            one.close()


class JoinedRecord(OpenRecord):
    """The records of one change in several roots."""

    def __init__(self, recorder: JoinedRecorder, changes: Sequence[Change]) -> None:
        by_root: dict[WorkPath, list[Change]] = {}
        places: list[tuple[WorkPath, int]] = []
        self._copied: list[tuple[WorkPath, int]] = []
        for change in changes:
            at = recorder.root_of(change.place)
            own = by_root.setdefault(at, [])
            places.append((at, len(own)))
            if isinstance(change, RenameEntry) and recorder.root_of(change.to) != at:
                own.append(RemoveEntry(own_target(change.place), change.found))
                there = recorder.root_of(change.to)
                others = by_root.setdefault(there, [])
                if change.found.kind is EntryKind.FILE:
                    self._copied.append((there, len(others)))
                others.append(_arrives(change))
            else:
                own.append(as_own(change))
        self._records = {at: recorder.of(at).keeping(own) for at, own in by_root.items()}
        self.changes = [
            _as_kept(change, self._records[at].changes[number])
            for change, (at, number) in zip(changes, places, strict=True)
        ]

    @property
    def warnings(self) -> Sequence[Warn]:  # type: ignore[override]  # those of all roots
        """Warnings about contents that could not be kept."""
        return [warning for one in self._records.values() for warning in one.warnings]

    def begin(self) -> None:
        """Write down what is there, before it is changed."""
        for at, number in self._copied:
            change = self._records[at].changes[number]
            assert isinstance(change, PutFile)
            for _ in change.pieces:
                pass  # what is moved is not written, and is read for its past
        for one in self._records.values():
            one.begin()

    def settled(self) -> None:
        """The changes were made."""
        for one in self._records.values():
            one.settled()

    def failed(self) -> None:
        """They were not made, or not as a whole."""
        for one in self._records.values():
            one.failed()


def _arrives(change: RenameEntry) -> Change:
    """A move from another root as the root that it leads to has it."""
    if change.found.kind is not EntryKind.FILE:
        return MakeEntry(own_target(change.to))

    def pieces() -> Iterable[bytes]:
        with change.place.open() as source:
            yield from blocks(source, Deadline())

    return PutFile(own_target(change.to), _Again(pieces), None, change.found.mode & 0o777)


class _Again:
    """Pieces that are read anew each time."""

    def __init__(self, pieces: Any) -> None:
        self._pieces = pieces

    def __iter__(self) -> Any:
        return iter(self._pieces())


def _as_kept(change: Change, kept: Change) -> Change:
    """The change as it is to be made, watched while it is written."""
    if isinstance(change, PutFile) and isinstance(kept, PutFile):
        return replace(change, pieces=kept.pieces)
    return change
