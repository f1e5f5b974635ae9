"""From the picture of an undo to changes of the store: what goes, what moves, what comes back."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from contextlib import ExitStack

from readroom.core import errors
from readroom.core.engine.past.world import Wanted, World
from readroom.core.engine.services import Job, Services
from readroom.core.errors.history import ChangedSince, NotKept
from readroom.core.history.book import Book
from readroom.core.history.merging import diff
from readroom.core.history.states import listed
from readroom.core.paths import WorkPath, ancestors, join
from readroom.core.secrets import unmasked
from readroom.core.stores.base import (
    Change,
    Kept,
    MakeLink,
    Moved,
    PutFile,
    PutTree,
    RemoveEntry,
    RenameEntry,
    TreeEntry,
    WriteTarget,
    as_inside,
)
from readroom.core.values import EntryKind
from readroom.core.values.files import Warn
from readroom.core.values.history import Conflict, Undone, UndoRequest

UNDO_NAMES = 250
"""Names that one commit changes besides those inside folders: each holds two of usually 1,024 descriptors."""

_KINDS = {"file": EntryKind.FILE, "folder": EntryKind.FOLDER, "link": EntryKind.LINK}


class Steps:
    """The changes of one attempt."""

    def __init__(self, services: Services, job: Job[UndoRequest], book: Book, held: ExitStack) -> None:
        """`held` closes the targets at the end."""
        self._services = services
        self._job = job
        self._book = book
        self._held = held
        self._places: dict[str, WriteTarget] = {}
        self._changes: list[Change] = []

    def lock(self, names: Sequence[str]) -> None:
        """Lock the folders of names, in one order for all callers, so that what is looked at stays."""
        places: dict[tuple[int, ...], WriteTarget] = {}
        for name in dict.fromkeys(names):
            try:
                place = self._place(name)
            except errors.NotAFolder:
                continue  # a file took the place of its folder, whose own name is among these
            places.setdefault(place.lock, place)
        for key in sorted(places):
            places[key].hold(self._job.deadline)

    def _place(self, name: str) -> WriteTarget:
        """The target of a name, under today's policy. Raises ChangedSince where a link came onto the way."""
        place = self._places.get(name)
        if place is None:
            if len(self._places) >= UNDO_NAMES:
                advice = "Undo fewer at once: send one change, or a path as well."
                raise errors.TooLarge("The undo", len(self._places) + 1, UNDO_NAMES, "names", advice)
            place = self._places[name] = self._held.enter_context(self._services.targets.entry(name))
            if place.real != name:
                raise ChangedSince([Conflict(name, "a link is on the way to it now")])
        return place

    def planned(self, world: World) -> list[Undone]:
        """Plan the changes, and say what they do. Raises NotKept, Denied, Protected, ReadOnlyFile, Moved."""
        wanted = {
            path: want
            for path, want in world.wanted.items()
            if want.moved_from is not None or not want.is_like(world.there(path).state)
        }
        gone = {
            path
            for path, want in wanted.items()
            if want.state.kind == "absent" or self._is_replaced(world, path, want)
        }
        back = {path: want for path, want in wanted.items() if want.state.kind != "absent"}
        trees = {
            path: want
            for path, want in back.items()
            if want.state.kind == "folder" and want.moved_from is None
        }
        done: list[Undone] = []
        moved: set[str] = set()
        late: list[tuple[str, str, Wanted]] = []
        for path, want in back.items():
            source = want.moved_from
            inside = _is_inside(path, trees)
            if (
                source is None
                or path in gone
                or source not in gone
                or (inside and want.state.kind != "folder")
            ):
                continue
            moved.add(path)
            gone.discard(source)
            if inside:  # into a folder that has to come back first
                late.append((source, path, want))
            else:
                done.append(self._rename(world, source, path, want))
        for path in sorted(gone):
            if not _is_inside(path, gone):
                done += self._remove(world, path, gone, {*moved, *wanted})
        for path in sorted(back):
            if path not in moved and not _is_inside(path, trees):
                left = {name: want for name, want in back.items() if name not in moved}
                done.append(self._put(world, path, back[path], left))
        done += [self._rename(world, *one) for one in late]
        for path in sorted((world.wanted.keys() | world.already) - wanted.keys()):
            done.append(Undone(path, "nothing", "edit"))
        return done

    def _is_replaced(self, world: World, path: str, want: Wanted) -> bool:
        """Whether what has the name must go before it gets something of another kind."""
        there = world.there(path).state.kind
        return there != "absent" and (there != want.state.kind or there == "link" or want.whole)

    # --- the three kinds of steps --------------------------------------------------------------

    def _rename(self, world: World, source: str, path: str, want: Wanted) -> Undone:
        place, to = self._place(source), self._place(path)
        targets, folder = self._services.targets, want.state.kind == "folder"
        found = targets.there(place, source)
        if found is None:
            raise Moved
        if folder:
            targets.require(to, path, folder=True)
            self._require_inside(source, path)
        elif found.kind is EntryKind.FILE:
            targets.require_writable(place, source, found)
        self._changes.append(RenameEntry(place, to, found, world.there(source).version))
        fits, left = world.fitted.get(path, (0, 0))
        return Undone(source, "moved back", "move", path, fits=fits, left=left)

    def _require_inside(self, folder: str, to: str | None) -> None:
        """Apply the rules to everything in a folder, under its name and under its new one."""
        from readroom.core.engine.files import FolderSurvey

        survey = FolderSurvey(self._services.targets, folder, self._job.deadline)
        survey.count(WorkPath(folder), None if to is None else WorkPath(to))

    def _remove(self, world: World, path: str, gone: set[str], moved: set[str]) -> Iterator[Undone]:
        """Remove what is at a name; a folder if it has nothing but what goes as well."""
        place = self._place(path)
        targets = self._services.targets
        found = targets.there(place, path)
        if found is None:
            return
        if found.kind is EntryKind.FOLDER:
            inside = self._inside(path, gone, moved)
            if inside is None:
                for name in sorted(world.inside(path)):
                    if name in gone:
                        yield from self._remove(world, name, gone, moved)
                return
            self._changes.append(RemoveEntry(place, found, None, inside))
            yield Undone(path, "deleted", "folder")
            return
        version = world.there(path).version
        if found.kind is EntryKind.FILE:
            targets.require_writable(place, path, found)
        self._changes.append(RemoveEntry(place, found, version))
        seen = world.there(path)
        yield Undone(path, "deleted", "delete", diff=None if seen.data is None else diff(seen.data, b""))

    def _inside(
        self, folder: str, gone: set[str], moved: set[str]
    ) -> dict[str, tuple[EntryKind, int, int]] | None:
        """The names in a folder, all of which go; None if one stays."""
        found = {}
        pending = [WorkPath(folder)]
        while pending:
            at = pending.pop()
            for name, stat in listed(self._services.guard.store, at):
                path = join(at, name)
                if path not in gone:
                    if path in moved and any(
                        isinstance(one, RenameEntry) and one.place.real == path for one in self._changes
                    ):
                        continue
                    return None
                self._services.targets.require_inside(path, folder=stat.kind is EntryKind.FOLDER)
                found[path[len(folder) + 1 :]] = as_inside(stat)
                if stat.kind is EntryKind.FOLDER:
                    pending.append(path)
        return found

    def _put(self, world: World, path: str, want: Wanted, back: dict[str, Wanted]) -> Undone:
        """Bring back what is to be at a name."""
        place, state = self._place(path), want.state
        targets = self._services.targets
        if state.kind == "folder":
            targets.require(place, path, folder=True)
            self._changes.append(PutTree(place, list(self._tree(world, path, back))))
            return Undone(path, "restored", "folder")
        if state.kind == "link":
            self._changes.append(MakeLink(place, state.target or "", state.mtime_ns))
            return Undone(path, "restored", "create")
        data, seen = self._data(world, path, want), world.there(path)
        if seen.state.kind == "file" and not want.whole:
            source = unmasked(self._held.enter_context(targets.source(place, path)))
            if source.version != seen.version:
                raise Moved
            self._changes.append(PutFile(place, [data], source))
            fits, left = world.fitted.get(path, (0, 0))
            shown = None if seen.data is None else diff(seen.data, data)
            return Undone(path, "changed back", "edit", diff=shown, fits=fits, left=left)
        exactly = Kept(state.mode, state.mtime_ns)
        self._changes.append(PutFile(place, [data], None, state.mode, exactly))
        shown = diff(b"", data)
        return Undone(path, "restored", "create", diff=shown)

    def _tree(self, world: World, top: str, back: dict[str, Wanted]) -> Iterator[TreeEntry]:
        """A folder with everything that comes back in it, each folder before what is in it."""
        names = [path for path in back if path == top or path.startswith(f"{top}/")]
        for path in sorted(names, key=lambda name: name.split("/")):
            want = back[path]
            state, folder = want.state, want.state.kind == "folder"
            if path != top:
                self._services.targets.require_inside(WorkPath(path), folder=folder)
            data = self._data(world, path, want) if state.kind == "file" else b""
            yield TreeEntry(
                path[len(top) + 1 :],
                _KINDS[state.kind],
                state.mode,
                state.mtime_ns,
                data,
                state.target or "",
            )

    def _data(self, world: World, path: str, want: Wanted) -> bytes:
        """The bytes that a name is to have. Raises NotKept."""
        data = want.data
        if data is None and want.moved_from is not None:
            data = world.there(want.moved_from).data
        if data is None:
            data = self._book.content(want.content, want.state)
        if data is None:
            raise NotKept(path)
        return data

    def commit(self) -> Sequence[Warn]:
        """Make the changes, all or none; their warnings. Raises Moved, ReadroomError."""
        if not self._changes:
            return ()
        warnings = self._services.targets.commit(self._changes, self._job.deadline.check)
        return [warn for each in warnings for warn in each]


def _is_inside(path: str, folders: Container[str]) -> bool:
    """Whether a path lies in one of some folders."""
    return any(above in folders for above in ancestors(WorkPath(path)))
