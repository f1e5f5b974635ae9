"""The guard, the only store that the engine gets: it checks policy, confines and opens in one act.

The rules are applied to the requested name before anything is looked up, so that a denied name gives the
same answer whether or not the file exists.  They are applied again to the real name of what was opened,
and for a file with several names to the others, on the very descriptor that is then read.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Container, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from functools import partial
from operator import is_not
from typing import TYPE_CHECKING, Literal, TypeAlias, final

from readroom.core import errors, paths
from readroom.core.deadline import Deadline
from readroom.core.paths import BORDER, ROOT, WorkPath, join, require_normal
from readroom.core.policy.hardlinks import HardLinks
from readroom.core.policy.ignore_files import MARKS, NAMES, IgnoreFile, IgnoreTree
from readroom.core.policy.names import root_names
from readroom.core.policy.rules import Denials, Layer, Rules, Verdict, denials
from readroom.core.quoting import quote
from readroom.core.secrets import shown as secrets
from readroom.core.stores.base import Begun, Change, Folder, Source, Store, ask_ahead
from readroom.core.values import EntryKind, Stat

if TYPE_CHECKING:
    from readroom.core.policy.near import Effort
    from readroom.core.stores.roots.names import Place

COMPOSED = frozenset("K;`")
"""The ASCII characters to which Unicode normalizes another one, such as the sign of the kelvin: a path that
has none of them, and is ASCII, has one spelling."""

_NAMES_AT_ONCE = 1000
"""Names of a folder read at once."""

HardLinkMode: TypeAlias = Literal["warn", "refuse"]


class Guard:
    """A store under policy. Safe to share between threads.

    Methods that take a path take it in normal form, as `parse` gives it.

    Attributes:
        tops: The paths of roots: the root alone, unless there are several (`policy.roots`).
        masks: Whether what it opens has signs in the place of secrets.
    """

    tops: Set[WorkPath] = frozenset((ROOT,))

    def __init__(
        self,
        store: Store,
        rules: Rules | None = None,
        hardlinks: HardLinkMode = "warn",
        *,
        ignore_files: Sequence[WorkPath] = NAMES,
        masks: bool = False,
    ) -> None:
        """Apply rules to a store. Raises BadConfig, Denied.

        Args:
            store: The guarded store; closing the guard closes it.
            rules: Denials and allow lists; None for the built-in denials.
            hardlinks: "refuse" refuses every file with several names, "warn" those with a denied name.
            ignore_files: Files of the root that deny more, looked up with every call.
            masks: Whether what it opens has signs in the place of secrets (`secrets.view`).
        """
        self.store = store
        self.hardlinks = hardlinks
        self.masks = masks
        self._base = (rules or Rules([denials()])).placed(root_names(store))
        self._require_root()
        self._ignore_files = [IgnoreFile(store, name) for name in ignore_files]
        self._links = HardLinks(store)
        self._rules: tuple[tuple[Denials, ...], Rules] = ((), self._base)
        self.refresh()

    def _require_root(self) -> None:
        rule = self._base.of_root()
        if rule is not None:
            name = self.store.name
            setting = f"[policy] roots = [{json.dumps(name)}]"
            advice = f"To serve it anyway, put {setting} into a file and name that with --config."
            raise errors.Denied(name, rule.pattern, rule.source, rule.reason, advice)

    def narrowed(self, layers: Sequence[Layer]) -> Guard:
        """A guard of the same store with additional rules. Close only one of the two."""
        return Guard(self.store, self._base.with_layers(layers), self.hardlinks, masks=self.masks)

    @property
    def roots(self) -> Sequence[str]:
        """Absolute names of the root, for `paths.parse`."""
        return self.store.roots

    @property
    def folder(self) -> str | None:
        """The local root, for programs that walk it; check what they find with `allows` and `open`."""
        return self.store.folder

    def top_of(self, path: WorkPath) -> WorkPath:
        """The path of the root that a path is in."""
        return ROOT

    def folder_at(self, path: WorkPath) -> str | None:
        """The local root that holds everything below a path, for programs that walk it."""
        return self.store.folder

    def rules_at(self, path: WorkPath) -> Rules:
        """The rules for what is below a file, such as members of an archive. Raises as `refresh`."""
        return self.refresh()

    def own(self, path: WorkPath) -> tuple[Guard, Place]:
        """The guard of the one root that a path is in, and where that root is."""
        from readroom.core.stores.roots.names import FIRST  # a read does not ask

        return self, FIRST

    def parse(self, path: str) -> WorkPath:
        """The normal form of a path as a caller gives it. Raises BadPath or OutsideRoot."""
        return paths.parse(path, self.store.roots)

    def spelled(self, path: WorkPath) -> WorkPath:
        """The path with the one canonically equal name in the place of each part that nothing has.

        Clients and systems may compose characters otherwise than the program that made a name.  Names that
        may not be seen are not compared, and neither of two equal ones is chosen.
        """
        if path.startswith("/") or self._is_there(path):
            return path
        if not self.decide(path, folder=False).allowed:
            return path
        found = ROOT
        names = paths.parts(path)
        for at, part in enumerate(names):
            name = join(found, part)
            if not self._is_there(name):
                equal = self._equal(found, part.removesuffix(BORDER))
                # Names inside an archive are those of another guard.
                if equal is None or (part.endswith(BORDER) and equal == join(found, part[:-1])):
                    return WorkPath("/".join((*paths.parts(found), *names[at:])))
                name = WorkPath(equal + BORDER) if part.endswith(BORDER) else equal
            found = name
        return found

    def _is_there(self, path: WorkPath) -> bool:
        """Whether something has a name, or its absence must not be reported."""
        try:
            self.stat(path)
        except (errors.AbsentError, errors.NotAFolder):
            return False
        except errors.ReadroomError:
            return True
        return True

    def _equal(self, folder: WorkPath, part: str) -> WorkPath | None:
        """The one visible name in a folder that is canonically equal; one with the same spelling first."""
        normal, equal = unicodedata.normalize("NFC", part), set[str]()
        try:
            with self.open_folder(folder) as opened:
                for some in opened.names(_NAMES_AT_ONCE):
                    folders = {name for name, kind in some.kinds.items() if kind is EntryKind.FOLDER}
                    alike = [name for name in some.names if unicodedata.normalize("NFC", name) == normal]
                    equal |= {*alike} - self.denied(opened.real, alike, folders)
        except errors.ReadroomError:
            return None
        if part in equal:
            return join(folder, part)
        return join(folder, equal.pop()) if len(equal) == 1 else None

    def open(self, path: str) -> Source:
        """Open a file for reading.

        Raises:
            Denied: A rule denies its name or the name it really has.
            HardLinked: It has several names, and policy refuses that.
            OutsideRoot, NotFound, NotAFile, NoPermission, BadPath, StoreFailed: As the store says.
            BadConfig: The root's `.readroomignore` or `.kilocodeignore` cannot be used any more.
        """
        requested = require_normal(path)
        rules = self.refresh()
        _require(rules, requested, folder=False)
        try:
            source = self.store.open(requested)
        except (errors.NotFound, errors.NotAFile):
            # If it exists, it is a folder: a rule for folders must not tell.
            _require(rules, requested, folder=True)
            raise
        try:
            if source.real != requested:
                _require(rules, source.real, folder=False, requested=requested)
            if source.stat.links > 1:
                self.check_links(source, requested)
        except BaseException:
            source.close()
            raise
        return self.shown(source)

    def ahead(self, path: WorkPath, deadline: Deadline) -> Begun | None:
        """Ask for a file that the running call will open soon; see `ask_ahead`."""
        return ask_ahead(self.store, path, deadline) if self.allows(path, folder=False) else None

    def shown(self, source: Source) -> Source:
        """An opened file as it may be shown."""
        return secrets.view(source) if self.masks else source

    def as_shown(self, data: bytes) -> bytes:
        """The bytes of a whole text as they may be shown."""
        return secrets.view_of(data) if self.masks else data

    def as_made(self, changes: Sequence[Change]) -> Sequence[Change]:
        """Changes that were planned on what is shown, as they are made. Raises MaskedPlace, TooLarge."""
        return secrets.as_made(changes) if self.masks else changes

    def open_folder(self, path: str) -> Folder:
        """Open a folder; check its entries with `allows`. Raises as `open` does."""
        requested = require_normal(path)
        rules = self.refresh()
        _require(rules, requested, folder=True)
        try:
            folder = self.store.open_folder(requested)
        except errors.NotAFolder:
            # Refuse here what a read would refuse: a link must not reveal what it leads to.
            with suppress(errors.AbsentError, errors.FailedError):
                self.open(requested).close()
            raise
        try:
            if folder.real != requested:
                _require(rules, folder.real, folder=True, requested=requested)
        except BaseException:
            folder.close()
            raise
        return folder

    def stat(self, path: str) -> tuple[WorkPath, Stat]:
        """The real name and the stat of a file or folder that may be seen. Raises as `open` does."""
        requested = require_normal(path)
        rules = self.refresh()
        _require(rules, requested, folder=False)
        try:
            real, stat = self.store.stat(requested)
        except errors.NotFound:
            _require(rules, requested, folder=True)
            raise
        folder = stat.kind is EntryKind.FOLDER
        if folder:
            _require(rules, requested, folder=True)
        if real != requested:
            _require(rules, real, folder=folder, requested=requested)
        return real, stat

    def link_target(self, folder: Folder, name: str) -> str | None:
        """The target of a link in a folder, as stored; None without one, or if it is not to be named."""
        target = folder.target(name)
        if target is None:
            return None
        try:
            path = self.parse(quote(target if target.startswith("/") else f"{folder.real}/{target}"))
        except (errors.BadPath, errors.OutsideRoot):
            return None
        return target if self.allows(path, folder=False) and self.allows(path, folder=True) else None

    def through_link(self, path: str) -> bool:
        """Whether a path, or a folder on the way, is a symbolic link.

        For callers to whom the rules have let the name through, and who follow no links.
        """
        requested = require_normal(path)
        for name in (*paths.ancestors(requested), requested):
            try:
                with self.store.place(name) as place:
                    stat = place.look()
            except errors.ReadroomError:
                return False
            if stat is None or stat.kind is EntryKind.LINK:
                return stat is not None
        return False

    def allows(self, path: WorkPath, *, folder: bool) -> bool:
        """Whether the rules allow a name, as they were when something was last opened.

        For names that were found in an opened folder: links and ignore files are not looked at.
        """
        return self._rules[1].decide(path, folder=folder).allowed

    def denied(self, folder: WorkPath, names: Sequence[str], folders: Container[str]) -> set[str]:
        """The names in a folder that `allows` would refuse; fast for many."""
        return self._rules[1].denied(folder, names, folders)

    def visible(self, folder: Folder) -> VisibleNames:
        """The names in an opened folder that the rules allow. Raises as reading the folder does."""
        kinds: dict[str, EntryKind] = {}
        for some in folder.names(_NAMES_AT_ONCE):
            kinds.update(dict.fromkeys(some.names, EntryKind.FILE))
            kinds.update(some.kinds)
        marks = MARKS & kinds.keys()
        folders = {name for name, kind in kinds.items() if kind is EntryKind.FOLDER}
        for name in self.denied(folder.real, list(kinds), folders):
            del kinds[name]
        return VisibleNames(self, folder, kinds, marks)

    def decide(self, path: WorkPath, *, folder: bool) -> Verdict:
        """Whether a name is allowed, and the rule that denies it."""
        return self.refresh().decide(path, folder=folder)

    def near(
        self,
        path: str,
        kinds: frozenset[EntryKind],
        deadline: Deadline,
        is_wanted: Callable[[WorkPath], bool] = lambda name: True,
    ) -> list[WorkPath]:
        """Names similar to a missing one, of some kinds and wanted, best first; all can be opened."""
        from readroom.core.policy.near import near_names  # few names are missing

        visible = partial(self._visible, IgnoreTree(self))

        def is_usable(name: WorkPath) -> bool:
            return self._opens(name) and is_wanted(name)

        return near_names(require_normal(path), visible, kinds, deadline, is_usable)

    def irrevocable(self, top: WorkPath = ROOT) -> list[str]:
        """Patterns of denied names below a folder that programs may skip; not all denied names."""
        return self._rules[1].irrevocable()

    def refresh(self) -> Rules:
        """The rules with the current ignore files of the root. Raises BadConfig if one is unusable."""
        layers = []
        for file in self._ignore_files:
            layer = file.layer()
            if layer is not None:
                layers.append(layer)
        known, rules = self._rules
        if len(layers) != len(known) or any(map(is_not, layers, known)):
            # Name the rules of this folder before built-in rules that say the same.
            rules = self._base.with_layers(layers, first=True)
            self._rules = (tuple(layers), rules)
        return rules

    def check_names(self, source: Source, requested: WorkPath) -> None:
        """Raise HardLinked if a file, perhaps of another root, has a denied name in this one."""
        self._links.check(source, requested, self.refresh())

    def check_links(self, source: Source, requested: WorkPath) -> None:
        """Raise HardLinked unless a file with several names may be read."""
        if self.hardlinks == "refuse":
            raise errors.HardLinked(requested, source.stat.links, "policy refuses such files")
        self._links.check(source, requested, self._rules[1])

    def close(self) -> None:
        """Release the store."""
        self.store.close()

    def _visible(
        self, hidden: IgnoreTree, folder: WorkPath, effort: Effort
    ) -> Iterator[tuple[WorkPath, EntryKind]]:
        if not effort.takes_folder(folder):
            return
        try:
            with self.open_folder(folder) as opened:
                for entry in opened.entries():
                    if not effort.takes_name():
                        return
                    name, is_folder = join(folder, entry.name), entry.kind is EntryKind.FOLDER
                    if self.allows(name, folder=is_folder) and not hidden.ignored(name, folder=is_folder):
                        yield name, entry.kind
        except errors.ReadroomError:
            return

    def _opens(self, path: WorkPath) -> bool:
        """Whether a name exists and can be opened; a suggestion that is refused does not help."""
        try:
            _, stat = self.stat(path)
            (self.open_folder if stat.kind is EntryKind.FOLDER else self.open)(path).close()
        except errors.ReadroomError:
            return False
        return True


@final
class VisibleNames:
    """The visible names in one opened folder, and a way to open files among them.

    For a walk that looks into every file of a tree: the rules decided about all names at once, and a file
    is opened from its folder, without a walk from the root.  Links among them are not followed.

    Attributes:
        kinds: The names and their kinds.
        marks: The names of `ignore_files.MARKS` in the folder, even those that may not be seen.
    """

    __slots__ = ("_folder", "_guard", "kinds", "marks")

    def __init__(self, guard: Guard, folder: Folder, kinds: Mapping[str, EntryKind], marks: Set[str]) -> None:
        self._guard = guard
        self._folder = folder
        self.kinds = kinds
        self.marks = marks

    def open(self, name: str) -> Source:
        """Open one of the files. Raises NotFound, NotAFile, HardLinked, NoPermission, StoreFailed."""
        path = join(self._folder.real, name)
        if name not in self.kinds:
            raise errors.NotFound(path)
        source = self._folder.open(name)
        try:
            if source.stat.links > 1:
                self._guard.check_links(source, path)
        except BaseException:
            source.close()
            raise
        return self._guard.shown(source)

    def ahead(self, name: str, deadline: Deadline) -> Begun | None:
        """Ask for one of the files, which the running call will open soon; see `ask_ahead`."""
        return ask_ahead(self._folder, name, deadline) if name in self.kinds else None


def _require(rules: Rules, path: WorkPath, *, folder: bool, requested: WorkPath | None = None) -> None:
    rule = rules.decide(path, folder=folder, opened=not folder).rule
    if rule is not None:
        # The requested name, not the real one: a link must not reveal names that are denied.
        raise errors.Denied(requested or path, rule.pattern, rule.source, rule.reason)
