"""Accept or reject what waits: a set, or names of it.

    compare   what would change, and whether it still fits; nothing is forced
    ask       today's policy about every name
    commit    all of it or nothing, through the same targets as every change, kept in the history
    forget    what was decided, in the set

A process that is killed between the last two leaves a set that says less than before: what the folder has
already is no difference.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from typing import TypeAlias, final

from msgspec import Struct
from msgspec.structs import replace

from readroom.core import errors
from readroom.core.deadline import Deadline
from readroom.core.engine.files import FolderSurvey
from readroom.core.engine.services import Services
from readroom.core.errors.review import BelongsTogether, NotWaiting, ReviewConflict, ReviewUnusable
from readroom.core.limits import BLOCK_BYTES, CHANGE_TIMEOUT_S
from readroom.core.limits.files import CHANGED_TRIES
from readroom.core.paths import WorkPath, ancestors, join
from readroom.core.policy.changes import WriteTargets
from readroom.core.policy.guard import Guard
from readroom.core.review import Waiting
from readroom.core.review.differences import Difference, differences, origin_or_none
from readroom.core.review.marks import Shown
from readroom.core.secrets import unmasked
from readroom.core.stores.base import (
    Change,
    Inside,
    MakeEntry,
    MakeLink,
    Moved,
    PutFile,
    RemoveEntry,
    RenameEntry,
    Source,
    WriteTarget,
    as_inside,
    hold_all,
)
from readroom.core.stores.review import ReviewStore
from readroom.core.stores.review.origins import still_there
from readroom.core.stores.review.tree import FileNode, KeptNode, LinkNode, MadeNode, Node, Origin, Tree
from readroom.core.stores.review.waiting import WaitingSet
from readroom.core.text.hashes import digits_of
from readroom.core.values import EntryKind
from readroom.core.values.files import Warn
from readroom.core.values.history import Author


class Decider(Struct, frozen=True):
    """The person who decides: what is recorded of it."""

    name: str
    face: str
    token: str = ""


class Decided(Struct, frozen=True):
    """A decision: the changes, and the number of those that still wait."""

    changes: Sequence[Difference]
    left: int
    warnings: Sequence[Warn] = ()


def require_here(one: Waiting) -> None:
    """Raise ReviewUnusable for a set that was made in another folder of this name, or cannot be read."""
    if one.problem:
        raise ReviewUnusable(".", one.problem)
    if one.elsewhere:
        raise ReviewUnusable(".", "they were made in another folder, whose name this one has now")


def view_of(services: Services, waiting: WaitingSet) -> ReviewStore:
    """How a set looks, for people: the rules of the workspace apply, whoever changed something."""
    guard = services.guard
    return ReviewStore(guard.store, waiting, lambda path: guard.decide(path, folder=False).allowed)


class SeenSet(Struct, frozen=True):
    """A set as people see it: its changes that policy lets be seen, and the number of the others."""

    view: ReviewStore
    tree: Tree
    changes: Sequence[Difference]
    hidden: int


def waiting_changes(services: Services, waiting: WaitingSet) -> SeenSet:
    """The changes of a set now."""
    view, tree, guard = view_of(services, waiting), waiting.tree(), services.guard
    every = differences(view, tree)
    shown = [one for one in every if may_see(guard, one)]
    return SeenSet(view, tree, shown, len(every) - len(shown))


def may_see(guard: Guard, one: Difference) -> bool:
    """Whether policy lets the names of a change be seen today."""
    names = [one.path] if one.source is None else [one.path, one.source]
    return all(guard.decide(name, folder=one.kind is EntryKind.FOLDER).allowed for name in names)


Choice: TypeAlias = Sequence[WorkPath] | Shown
"""Changes by name, none for the whole set; or those that somebody was shown."""


def accept(services: Services, waiting: WaitingSet, names: Choice, who: Decider) -> Decided:
    """Make changes that wait, all of those that are chosen or none.

    Raises:
        ShownOtherwise: A change is not what was shown.
        NotWaiting, BelongsTogether: The names cannot be decided like that.
        ReviewConflict: Some no longer fit.
        Denied, Protected, ...: As every change; nothing was changed.
    """
    with waiting.hold(Deadline(CHANGE_TIMEOUT_S)) as held:
        for _ in range(CHANGED_TRIES):
            tree = waiting.tree()
            view = view_of(services, waiting)
            every = differences(view, tree)
            chosen = _chosen(tree, every, names)
            valid = _valid(view, tree, chosen)
            try:
                warnings = _Accepting(services, view, tree, chosen, who).made() if chosen else []
            except Moved:
                continue
            rest = _refreshed(view, _without(tree, chosen, view), valid)
            if not differences(view, rest):
                rest = replace(rest, nodes={}, origins={})
            held.save(rest)
            return Decided(chosen, len(every) - len(chosen), warnings)
    raise errors.Changed(chosen[0].path)


def reject(services: Services, waiting: WaitingSet, names: Choice) -> Decided:
    """Drop changes that wait; the whole set even if it cannot be read. Raises as `accept`."""
    with waiting.hold(Deadline(CHANGE_TIMEOUT_S)) as held:
        if not names:
            chosen: Sequence[Difference] = ()
            with suppress(errors.ReadroomError):  # one that is damaged can be dropped
                chosen = differences(view_of(services, waiting), waiting.tree())
            held.clear()
            return Decided(chosen, 0)
        tree = waiting.tree()
        every = differences(view_of(services, waiting), tree)
        chosen = _chosen(tree, every, names)
        held.save(_without(tree, chosen, None))
        return Decided(chosen, len(every) - len(chosen))


# --- which changes -------------------------------------------------------------------------------


def _chosen(tree: Tree, every: Sequence[Difference], names: Choice) -> list[Difference]:
    """The changes that are meant, with those that have to come with them."""
    if isinstance(names, Shown):
        return _completed(every, names.found(tree, every))
    if not names:
        return list(every)
    chosen: list[Difference] = []
    for name in names:
        found = [one for one in every if _is_of(one, name)]
        if not found:
            raise NotWaiting(name)
        chosen += [one for one in found if one not in chosen]
    return _completed(every, chosen)


def _completed(every: Sequence[Difference], chosen: list[Difference]) -> list[Difference]:
    for other in every:
        if other in chosen:
            continue
        for one in chosen:
            if _needs(one, other):
                if other.action != "created" or other.kind is not EntryKind.FOLDER:
                    raise BelongsTogether(one.path, other.path)
                chosen.append(other)
                break
    return [one for one in every if one in chosen]


def _is_of(one: Difference, name: WorkPath) -> bool:
    return any(path == name or path.startswith(f"{name}/") for path in (one.path, one.source) if path)


def _needs(one: Difference, other: Difference) -> bool:
    """Whether a change can only be decided together with another."""
    if other.path in ancestors(one.path):
        return True  # what is above its name
    # What is moved out of a folder that is deleted.
    return one.action == "deleted" and other.source is not None and other.source.startswith(f"{one.path}/")


def _without(tree: Tree, chosen: Iterable[Difference], made: ReviewStore | None) -> Tree:
    """The tree without changes that were decided; `made` if they were made."""
    nodes, origins = dict(tree.nodes), dict(tree.origins)
    for one in chosen:
        inside = list(tree.inside(one.path)) if _is_whole(one) else []
        for path in (one.path, *inside):
            nodes.pop(path, None)
            origins.pop(path, None)
        if one.action == "moved" and one.source is not None:
            nodes.pop(one.source, None)
            origins.pop(one.source, None)
    if made is not None:
        _drop_made_folders(made, nodes, origins)
        for one in chosen:
            hidden = any(isinstance(nodes.get(above), MadeNode) for above in ancestors(one.path))
            if hidden and one.kind is EntryKind.FILE and one.action != "deleted":
                nodes[one.path] = KeptNode(os.fsencode(one.path))  # of a folder that was made anew
    return replace(tree, nodes=nodes, origins=origins, serial=tree.serial + 1)


def _valid(view: ReviewStore, tree: Tree, chosen: Iterable[Difference]) -> list[WorkPath]:
    """The folders that are as they were when a change began to wait, and that will not be so any more."""
    changed = {path for one in chosen for path in (one.path, one.source) if path is not None}
    above = {name for path in changed for name in ancestors(path)}
    return [
        path
        for path, origin in tree.origins.items()
        if path in above
        and origin.kind == "folder"
        and still_there(view.base, path, origin, view.behind(path))
    ]


def _refreshed(view: ReviewStore, tree: Tree, folders: Iterable[WorkPath]) -> Tree:
    """The tree with what these folders have now: what was accepted is in them."""
    origins = dict(tree.origins)
    for path in folders:
        found = origin_or_none(view.base, path, view.behind(path))
        if path in origins and found is not None:
            origins[path] = found
    return replace(tree, origins=origins)


def _is_whole(one: Difference) -> bool:
    """Whether everything below a name is decided with it."""
    return one.kind is EntryKind.FOLDER and one.action in ("moved", "deleted")


def _drop_made_folders(
    view: ReviewStore, nodes: dict[WorkPath, Node], origins: dict[WorkPath, Origin]
) -> None:
    """Forget folders that wait and that the folder has by now: what else waits in them is seen with it."""
    made = (path for path, node in nodes.items() if isinstance(node, MadeNode))
    for path in sorted(made, key=len):
        now = view.behind(path)
        is_new = path not in origins or origins[path].kind == "absent"
        # In a folder that was made anew, only what has a node is seen.
        is_new = is_new and not any(isinstance(nodes.get(above), MadeNode) for above in ancestors(path))
        if is_new and now is not None and now.kind is EntryKind.FOLDER:
            del nodes[path]
            origins.pop(path, None)


# --- making them ---------------------------------------------------------------------------------


@final
class _Accepting:
    """One attempt."""

    def __init__(
        self, services: Services, view: ReviewStore, tree: Tree, chosen: Sequence[Difference], who: Decider
    ) -> None:
        self._services = services
        self._view = view
        self._tree = tree
        self._chosen = chosen
        self._who = who
        self._deadline = Deadline(CHANGE_TIMEOUT_S)
        self._sources: list[Source] = []
        self._places: list[WriteTarget] = []
        self._changes: list[Change] = []

    def made(self) -> list[Warn]:
        """Make the changes. Raises Moved if something changes meanwhile."""
        failed = [one for one in self._chosen if one.problem]
        if failed:
            detail = "\n".join(f"{one.path}: {one.problem}" for one in failed)
            raise ReviewConflict(len(failed), tuple(one.path for one in failed), detail=detail)
        services = self._services
        history = services.history
        recorder = None
        targets = services.targets
        if history is not None:
            recorder = history.recorder(services.guard, self._author(), self._deadline)
            targets = targets.recorded(recorder)
        try:
            with ExitStack() as held:
                for one in self._chosen:
                    self._plan(one, targets, held)
                if not self._changes:
                    return []
                hold_all(reversed(self._places), self._deadline)
                warnings = targets.commit(self._changes, self._ready)
        finally:
            if recorder is not None:
                recorder.close()
        return [warn for each in warnings for warn in each]

    def _author(self) -> Author:
        holder = self._tree.holder
        agent = self._tree.agent or holder.agent
        named = f"{agent}, accepted by {self._who.name}" if agent else f"accepted by {self._who.name}"
        return Author(
            agent=named,
            token=holder.token,
            session=holder.session,
            face=self._who.face,
            contract="review",
            tool="accept",
        )

    def _ready(self) -> None:
        self._deadline.check()
        for source in self._sources:
            if source.current() != source.version:
                raise Moved

    def _place(self, targets: WriteTargets, path: WorkPath, held: ExitStack, *, file: bool) -> WriteTarget:
        place = held.enter_context(targets.find(path) if file else targets.entry(path))
        if place.real != path:  # a folder on the way has become a link
            raise ReviewConflict(1, (path,), detail=f"{path}: a folder above it is a link now")
        self._places.append(place)
        return place

    def _plan(self, one: Difference, targets: WriteTargets, held: ExitStack) -> None:
        match one.action, one.node:
            case "deleted", _:
                self._remove(targets, one.path, held)
            case "moved", _:
                self._move(targets, one, held)
            case _, FileNode() as node:
                place = self._place(targets, one.path, held, file=True)
                over = self._over(targets, place, one, held)
                pieces = self._waiting(node, held)
                self._changes.append(PutFile(place, pieces, over, _made_with(node.mode)))
            case _, KeptNode() as node:
                self._copy(targets, one, node, held)
            case _, LinkNode(target, mtime_ns):
                place = self._place(targets, one.path, held, file=False)
                targets.there(place, one.path)
                self._changes.append(MakeLink(place, os.fsdecode(target), mtime_ns))
            case _, MadeNode():
                place = self._place(targets, one.path, held, file=False)
                targets.there(place, one.path)
                self._changes.append(MakeEntry(place))

    def _over(
        self, targets: WriteTargets, place: WriteTarget, one: Difference, held: ExitStack
    ) -> Source | None:
        """The file that is replaced."""
        if place.look() is None:
            return None
        source = unmasked(held.enter_context(targets.source(place, one.path)))
        self._require_same(one.path, source)
        self._sources.append(source)
        return source

    def _require_same(self, path: WorkPath, source: Source) -> None:
        """Raise Moved unless a file is the one that the agent has changed."""
        origin = self._tree.origins.get(path)
        if origin is None:
            return
        version = source.version
        numbers = (version.device, version.inode, version.size, version.mtime_ns, version.ctime_ns)
        if numbers != origin.version and digits_of(source, self._deadline) != origin.digest:
            raise Moved

    def _remove(self, targets: WriteTargets, path: WorkPath, held: ExitStack) -> None:
        place = self._place(targets, path, held, file=False)
        found = targets.there(place, path)
        if found is None:
            raise Moved
        expected, inside = None, None
        if found.kind is EntryKind.FILE:
            targets.require_writable(place, path, found)
            source = held.enter_context(place.open())
            self._require_same(path, source)
            self._sources.append(source)
            expected = source.version
        elif found.kind is EntryKind.FOLDER:
            inside = self._inside(path)
            FolderSurvey(targets, path, self._deadline).count(path)
            if not self._still_fits(path):
                raise Moved
        self._changes.append(RemoveEntry(place, found, expected, inside))

    def _inside(self, folder: WorkPath) -> Inside:
        """The names below a folder, which the store compares once more before it goes."""
        found: dict[str, tuple[EntryKind, int, int]] = {}
        pending = [folder]
        while pending:
            at = pending.pop()
            with self._services.guard.store.open_folder(at) as opened:
                for entry in opened.entries():
                    path, state = join(at, entry.name), opened.stat(entry.name)
                    found[path[len(folder) + 1 :]] = as_inside(state)
                    if state.kind is EntryKind.FOLDER:
                        pending.append(path)
        return found

    def _still_fits(self, path: WorkPath) -> bool:
        now = differences(self._view, self._tree)
        return not any(one.problem for one in now if one.path == path)

    def _move(self, targets: WriteTargets, one: Difference, held: ExitStack) -> None:
        assert one.source is not None
        if self._is_removed_above(one.source) or self._view.behind(one.path) is not None:
            assert isinstance(one.node, KeptNode)
            self._copy(targets, one, one.node, held)
            if not self._is_removed_above(one.source):
                self._remove(targets, one.source, held)
            return
        place = self._place(targets, one.source, held, file=False)
        found = targets.there(place, one.source)
        if found is None:
            raise Moved
        if found.kind is EntryKind.FILE:
            targets.require_writable(place, one.source, found)
            source = held.enter_context(place.open())
            self._require_same(one.source, source)
            self._sources.append(source)
        elif found.kind is EntryKind.FOLDER:
            FolderSurvey(targets, one.source, self._deadline).count(one.source, one.path)
        to = self._place(targets, one.path, held, file=False)
        targets.require(to, one.path, folder=found.kind is EntryKind.FOLDER)
        self._changes.append(RenameEntry(place, to, found))

    def _is_removed_above(self, path: WorkPath) -> bool:
        """Whether a folder above a name goes as well."""
        above = set(ancestors(path))
        return any(one.action == "deleted" and one.path in above for one in self._chosen)

    def _copy(self, targets: WriteTargets, one: Difference, node: KeptNode, held: ExitStack) -> None:
        place = self._place(targets, one.path, held, file=True)
        over = self._over(targets, place, one, held)
        source = unmasked(held.enter_context(self._services.guard.open(node.path)))
        if source.real != node.path:
            raise Moved
        self._require_same(node.path, source)
        self._sources.append(source)
        self._changes.append(PutFile(place, _blocks(source), over, source.stat.mode & 0o777))

    def _waiting(self, node: FileNode, held: ExitStack) -> Iterator[bytes]:
        """The bytes that wait. Raises ReviewUnusable if they are damaged."""
        fd = self._view.waiting.data(node)
        held.callback(os.close, fd)
        return self._view.waiting.checked(node, fd)


def _made_with(mode: int) -> int:
    """The mode of a new file: what its author left, and the umask of whoever accepts it."""
    return 0o777 if mode & 0o100 else 0o666


def _blocks(source: Source) -> Iterator[bytes]:
    at = 0
    while block := source.read_at(at, BLOCK_BYTES):
        yield block
        at += len(block)
