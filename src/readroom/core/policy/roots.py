"""The guard of several roots: each path is decided by the guard of its own root, as if that were alone.

Each root has its own rules, ignore files, hard links and permission to be changed.  Paths are those of the
tree (`stores.roots`); a root's guard gets and gives its own, and they are translated here.  Only two things
concern several roots: what the first root has under the name of another one is denied, so that a path has one
meaning, and a file with several names is looked for among the denied files of every root.

Knows: which guard decides, and which root may be changed.
Does not know: rules.
May be touched: with a security review only.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import final

from msgspec import Struct

from readroom.core import errors, paths
from readroom.core.deadline import Deadline
from readroom.core.paths import ROOT, WorkPath, require_normal
from readroom.core.policy.changes import Fixed, WriteTargets
from readroom.core.policy.guard import Guard
from readroom.core.policy.rules import Denials, Layer, Rule, Rules, Verdict
from readroom.core.quoting import quote, unquoted
from readroom.core.stores.base import Begun, Folder, Source, WriteTarget
from readroom.core.stores.roots.joined import JoinedStore, RootStore
from readroom.core.stores.roots.names import Place
from readroom.core.stores.roots.placed import PlacedFolder, PlacedSource, PlacedTarget, own_target, placed
from readroom.core.values import EntryKind, Stat

_MAGIC = re.compile(r"([\\*?\[\]!# ])")

SOURCE = "the other folders of this workspace"


def shadowed(names: Sequence[str]) -> Denials:
    """The layer of the first root that denies what it has under the names of the others."""
    reason = "another folder has this name here"
    return Denials(Rule("/" + _MAGIC.sub(r"\\\1", name), SOURCE, reason) for name in names)


class _Own(Struct, frozen=True):
    """A root with its guard."""

    root: RootStore
    guard: Guard

    @property
    def place(self) -> Place:
        return self.root.place


@final
class JoinedGuard(Guard):
    """The guards of several roots as one. Safe to share between threads."""

    def __init__(self, store: JoinedStore, guards: Sequence[Guard], layers: Sequence[Layer] = ()) -> None:
        """Join guards, in the order of the roots of the store.

        `layers` are rules about paths of the tree, in addition to those of each root.
        """
        self.store = self._joined = store
        self.guards = tuple(guards)
        self._owns: Mapping[WorkPath, _Own] = {
            root.place.at: _Own(root, guard) for root, guard in zip(store.every, guards, strict=True)
        }
        self._top = self._owns[ROOT]
        self._extra = Rules(layers)
        self.hardlinks = self._top.guard.hardlinks
        self.masks = any(guard.masks for guard in guards)
        self.tops = frozenset(self._owns)

    def narrowed(self, layers: Sequence[Layer]) -> Guard:
        """A guard of the same store with additional rules, about paths of the tree."""
        return JoinedGuard(self._joined, self.guards, (*self._extra.layers, *layers))

    # --- which root ---------------------------------------------------------------------------

    @property
    def all_tops(self) -> Sequence[WorkPath]:
        """The paths of the roots, in their order."""
        return [*self._owns]

    def _of(self, path: str) -> _Own:
        return self._owns.get(WorkPath(path.partition("/")[0]), self._top)

    def top_of(self, path: WorkPath) -> WorkPath:
        """The path of the root that a path is in."""
        return self._of(path).place.at

    def own(self, path: WorkPath) -> tuple[Guard, Place]:
        """The guard of the one root that a path is in, and where that root is."""
        own = self._of(path)
        return own.guard, own.place

    def folder_at(self, path: WorkPath) -> str | None:
        """The local root that holds everything below a path; None for the whole tree."""
        with suppress(errors.ReadroomError):  # opening it says why
            path = self.stat(path)[0]
        return None if path == ROOT else self._of(path).root.store.folder

    def ahead(self, path: WorkPath, deadline: Deadline) -> Begun | None:
        """Ask for a file that the running call will open soon; see `ask_ahead`."""
        own = self._of(path)
        return own.guard.ahead(own.place.inner(path), deadline) if self.allows(path, folder=False) else None

    def rules_at(self, path: WorkPath) -> Rules:
        """The rules for what is below a file, such as members of an archive."""
        own = self._of(path)
        rules = own.guard.refresh()
        return rules if own is self._top else rules.below(own.place.at)

    def parse(self, path: str) -> WorkPath:
        """The normal form of a path as a caller gives it, also absolute in any of the roots."""
        plain = unquoted(path)
        if not (path if plain is None else plain).startswith("/"):
            return paths.parse(path)
        found: list[tuple[int, WorkPath]] = []
        failure: errors.OutsideRoot | None = None
        for own in self._owns.values():
            for root in own.root.store.roots:
                try:
                    found.append((len(root), own.place.outer(paths.parse(path, (root,)))))
                except errors.OutsideRoot as error:
                    failure = failure or error
        if found:
            return max(found)[1]
        raise failure or errors.OutsideRoot(path, paths.ELSEWHERE)

    def spelled(self, path: WorkPath) -> WorkPath:
        """The path with the canonically equal names that there are, that of a root among them."""
        first, slash, rest = path.partition("/")
        if WorkPath(first) not in self._owns:
            normal = unicodedata.normalize("NFC", first)
            equal = next((at for at in self._owns if unicodedata.normalize("NFC", at) == normal), first)
            path = WorkPath(f"{equal}{slash}{rest}")
        return super().spelled(path)

    # --- opening ------------------------------------------------------------------------------

    def open(self, path: str) -> Source:
        """Open a file for reading. Raises as the guard of its root."""
        requested = require_normal(path)
        self._require(requested, folder=False)
        with self._at(requested) as (own, inner):
            source = own.guard.open(inner)
        return self._checked(source, own, requested)

    def open_folder(self, path: str) -> Folder:
        """Open a folder. Raises as the guard of its root."""
        requested = require_normal(path)
        self._require(requested, folder=True)
        with self._at(requested) as (own, inner):
            folder = own.guard.open_folder(inner)
        if requested == ROOT:
            return self._joined.with_others(folder)
        if own is not self._top:
            folder = placed(folder, own.place)
        try:
            self._require(folder.real, folder=True, requested=requested)
        except BaseException:
            folder.close()
            raise
        return folder

    def stat(self, path: str) -> tuple[WorkPath, Stat]:
        """The real name and the stat of a file or folder that may be seen."""
        requested = require_normal(path)
        with self._at(requested) as (own, inner):
            real, stat = own.guard.stat(inner)
        real, folder = own.place.outer(real), stat.kind is EntryKind.FOLDER
        for name in dict.fromkeys((requested, real)):
            self._require(name, folder=folder, requested=requested)
        return real, stat

    def _checked(self, source: Source, own: _Own, requested: WorkPath) -> Source:
        """An opened file, unless another root denies one of its names."""
        placed = source if own is self._top else PlacedSource(source, own.place)
        try:
            if placed.real != requested:
                self._require(placed.real, folder=False, requested=requested)
            if placed.stat.links > 1:
                self._check_others(source, own, requested)
        except BaseException:
            placed.close()
            raise
        return placed

    def check_links(self, source: Source, requested: WorkPath) -> None:
        """Raise HardLinked unless a file with several names may be read."""
        own = self._of(requested)
        inner = source.inner if isinstance(source, PlacedSource) else source
        with own.place.naming():
            own.guard.check_links(inner, own.place.inner(requested))
        self._check_others(inner, own, requested)

    def check_names(self, source: Source, requested: WorkPath) -> None:
        """Raise HardLinked if a file has a denied name in any of the roots."""
        for own in self._owns.values():
            own.guard.check_names(source, requested)

    def through_link(self, path: str) -> bool:
        """Whether a path, or a folder on the way, is a symbolic link."""
        own = self._of(path)
        return own.guard.through_link(own.place.inner(require_normal(path)))

    def _check_others(self, source: Source, own: _Own, requested: WorkPath) -> None:
        for other in self._owns.values():
            if other is not own:
                other.guard.check_names(source, requested)

    # --- rules --------------------------------------------------------------------------------

    def allows(self, path: WorkPath, *, folder: bool) -> bool:
        """Whether the rules allow a name, as they were when something was last opened."""
        own = self._of(path)
        extra = self._extra.decide(path, folder=folder).allowed
        return extra and own.guard.allows(own.place.inner(path), folder=folder)

    def denied(self, folder: WorkPath, names: Sequence[str], folders: Container[str]) -> set[str]:
        """The names in a folder that `allows` would refuse; fast for many."""
        own = self._of(folder)
        denied = own.guard.denied(own.place.inner(folder), names, folders)
        if folder == ROOT:
            denied -= self._owns.keys()
        return denied | self._extra.denied(folder, names, folders) if self._extra.layers else denied

    def decide(self, path: WorkPath, *, folder: bool) -> Verdict:
        """Whether a name is allowed, and the rule that denies it."""
        own = self._of(path)
        with own.place.naming():
            verdict = own.guard.decide(own.place.inner(path), folder=folder)
        if not verdict.allowed and verdict.rule is not None and own is not self._top:
            rule = verdict.rule
            verdict = Verdict(False, Rule(rule.pattern, own.place.source(rule.source), rule.reason))
        return self._extra.decide(path, folder=folder) if verdict.allowed else verdict

    def irrevocable(self, top: WorkPath = ROOT) -> list[str]:
        """Patterns of denied names below a folder of one root that programs may skip in a walk."""
        return self._of(top).guard.irrevocable()

    def refresh(self) -> Rules:
        """The rules of the first root with its current ignore files. Raises BadConfig."""
        return self._top.guard.refresh()

    def link_target(self, folder: Folder, name: str) -> str | None:
        """The target of a link in a folder, as stored; None without one, or if it is not to be named."""
        inner = folder.inner if isinstance(folder, PlacedFolder) else folder
        return self._of(folder.real).guard.link_target(inner, name)

    @contextmanager
    def _at(self, path: WorkPath) -> Iterator[tuple[_Own, WorkPath]]:
        own = self._of(path)
        own.root.require()
        with own.place.naming():
            yield own, own.place.inner(path)

    def _require(self, path: WorkPath, *, folder: bool, requested: WorkPath | None = None) -> None:
        rule = self._extra.decide(path, folder=folder).rule if self._extra.layers else None
        if rule is not None:
            raise errors.Denied(requested or path, rule.pattern, rule.source, rule.reason)


@final
class JoinedTargets(WriteTargets):
    """The targets of several roots: each may be changed as its own policy says."""

    def __init__(self, guard: JoinedGuard, targets: Sequence[WriteTargets]) -> None:
        """Join what finds the targets of each root, in their order."""
        self.guard = guard
        self._joined = guard._joined
        self._extra = guard._extra
        self._targets: Mapping[WorkPath, tuple[RootStore, WriteTargets]] = {
            root.place.at: (root, own) for root, own in zip(guard._joined.every, targets, strict=True)
        }
        self._recorder = None
        self.policy = targets[0].policy
        self.protected = targets[0].protected

    def of(self, path: str) -> WriteTargets:
        """The targets of the root that a path is in."""
        return self._own(path)[1]

    def find(self, path: str) -> WriteTarget:
        """The target of a write that policy allows."""
        with self._inside(path) as (root, own, inner):
            target = own.find(inner)
        return self._allowed(PlacedTarget(target, root.place), path)

    def entry(self, path: str, *, kept: bool = False) -> WriteTarget:
        """The target for a name, for any kind of entry; what is `kept` may be in a read-only root."""
        with self._inside(path) as (root, own, inner):
            if inner == ROOT:
                own.require_changeable(inner)
                raise errors.Protected(inner, "it is one of the folders of this workspace")
            target = own.kept_entry(inner) if kept else own.entry(inner)
        return self._allowed(PlacedTarget(target, root.place), path)

    def kept_entry(self, path: str) -> WriteTarget:
        """The same for what is copied from here, which may be read-only."""
        return self.entry(path, kept=True)

    def require_changeable(self, path: str) -> WorkPath:
        """The path in normal form. Raises Protected in a root where nothing may be changed."""
        with self._inside(path) as (_, own, inner):
            own.require_changeable(inner)
        return require_normal(path)

    def there(self, place: WriteTarget, requested: str) -> Stat | None:
        """The stat of what is at a target from `entry`, if the rules allow a change."""
        with self._inside(requested) as (_, own, inner):
            return own.there(own_target(place), inner)

    def require(self, place: WriteTarget, requested: str, *, folder: bool) -> None:
        """Raise Denied or Protected unless a file or folder of that name may be changed."""
        with self._inside(requested) as (_, own, inner):
            own.require(own_target(place), inner, folder=folder)

    def require_inside(self, path: WorkPath, *, folder: bool) -> None:
        """Raise Denied or Protected unless a name in a folder may be changed along with it."""
        self._require_extra(path, folder=folder)
        with self._inside(path) as (_, own, inner):
            own.require_inside(inner, folder=folder)

    def about_others(self) -> str:
        """The other roots that the top of the tree has, and which of them are read-only."""
        named = [
            f"{quote(at)}/ (read-only)" if own.policy.read_only else f"{quote(at)}/"
            for at, (_, own) in self._targets.items()
            if at != ROOT
        ]
        return ", ".join(named)

    def require_together(self, places: Sequence[WriteTarget]) -> None:
        """Raise AcrossRoots for targets in several roots whose changes cannot be made in one step."""
        if places:
            self._joined.changed_together(places)

    def can_rename(self, place: WriteTarget, to: WriteTarget, state: Stat) -> bool:
        """Whether what is at a target can get the name of another one; not in another file system."""
        return self._own(place.real) == self._own(to.real) or state.device == to.lock[0]

    def fixed(self) -> Fixed:
        """A function that finds the names in an unprotected folder that may be seen but not changed."""
        known: dict[WorkPath, Fixed] = {}

        def among(folder: WorkPath, names: Sequence[str], folders: Container[str]) -> set[str]:
            root, own = self._own(folder)
            if root.place.at not in known:
                known[root.place.at] = own.fixed()
            return known[root.place.at](root.place.inner(folder), names, folders)

        return among

    def protection(self, path: WorkPath, *, folder: bool) -> errors.Protected | None:
        """Why a visible name must not be changed; None if it may be."""
        root, own = self._own(path)
        why = own.protection(root.place.inner(path), folder=folder)
        if why is None:
            return None
        named = root.place.named(why)
        assert isinstance(named, errors.Protected)
        return named

    def require_writable(self, place: WriteTarget, requested: str, stat: Stat) -> None:
        """Raise unless a file may be deleted or renamed."""
        with self._inside(requested) as (_, own, inner):
            own.require_writable(own_target(place), inner, stat)

    def look(self, path: str) -> tuple[WorkPath, Stat | None]:
        """The real name and stat of the entry at a path, of a link itself; None if there is none."""
        with self._inside(path) as (root, own, inner):
            real, stat = own.look(inner)
            return root.place.outer(real), stat

    def source(self, place: WriteTarget, requested: str) -> Source:
        """Open the file at a target, which may be replaced."""
        with self._inside(requested) as (root, own, inner):
            source = PlacedSource(own.source(own_target(place), inner), root.place)
        try:
            if source.stat.links > 1:
                self.guard.check_links(source, WorkPath(requested))
        except BaseException:
            source.close()
            raise
        return source

    # --- which root ---------------------------------------------------------------------------

    def _own(self, path: str) -> tuple[RootStore, WriteTargets]:
        return self._targets.get(WorkPath(path.partition("/")[0]), self._targets[ROOT])

    @contextmanager
    def _inside(self, path: str) -> Iterator[tuple[RootStore, WriteTargets, WorkPath]]:
        root, own = self._own(require_normal(path))
        root.require()
        with root.place.naming():
            yield root, own, root.place.inner(path)

    def _allowed(self, target: PlacedTarget, requested: str) -> PlacedTarget:
        """A target, unless the rules about paths of the tree deny it."""
        try:
            for path in dict.fromkeys((WorkPath(requested), target.real)):
                self._require_extra(path, folder=False)
        except BaseException:
            target.close()
            raise
        return target

    def _require_extra(self, path: WorkPath, *, folder: bool) -> None:
        rule = self._extra.decide(path, folder=folder).rule
        if rule is not None:
            raise errors.Denied(path, rule.pattern, rule.source, rule.reason)
