"""Find what of a workspace a confined command may read and write, before it starts.

Most folders are passed as a whole.  A folder with something denied or protected anywhere below it is split
into its entries.  The confinement does not learn what becomes denied while the command runs; files that
commands make under a denied name belong to them, and no tool shows them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import final

from msgspec import Struct

from readroom.core.deadline import Deadline
from readroom.core.errors import BadConfig, Cancelled, NoPermission, NotConfined, ReadroomError, TimedOut
from readroom.core.limits import MAX_PATH_DEPTH
from readroom.core.paths import ROOT, WorkPath, join
from readroom.core.policy.changes import Fixed
from readroom.core.policy.guard import Guard
from readroom.core.stores.base import Folder
from readroom.core.values import EntryKind

_NAMES = 1000
"""Names of a folder that are checked together."""

_NEW_NAME = "a name that nothing has"


class Access(Enum):
    """What a command may do with an entry of a split folder."""

    WHOLE = "read, change and remove it, and whatever is below"
    FIXED = "read it"
    HIDDEN = "nothing"
    SPLIT = "what is said of its own entries"


class Child(Struct, frozen=True):
    """One entry of a split folder."""

    name: str
    folder: bool
    access: Access


class Split(Struct, frozen=True):
    """A folder whose entries differ.

    `closed`: new names in it would be denied.  `hides_folders`: a folder below it is hidden.
    """

    children: tuple[Child, ...]
    closed: bool
    hides_folders: bool


class SandboxView(Struct, frozen=True):
    """The split folders by path; the root is among them unless it is passed as a whole."""

    splits: Mapping[WorkPath, Split]

    def walk(self, folder: WorkPath = ROOT) -> Iterator[tuple[WorkPath, Split]]:
        """The split folders, each before those below it."""
        split = self.splits.get(folder)
        if split is None:
            return
        yield folder, split
        for child in split.children:
            if child.access is Access.SPLIT:
                yield from self.walk(join(folder, child.name))

    def wholes(self) -> Iterator[WorkPath]:
        """The topmost folders and files that are passed as a whole."""
        if not self.splits:
            yield ROOT
        for folder, split in self.walk():
            yield from (join(folder, child.name) for child in split.children if child.access is Access.WHOLE)

    def listed(self) -> Iterator[tuple[WorkPath, bool]]:
        """The files and folders whose names a command may learn, and whether that holds for all below."""
        if not self.splits:
            yield ROOT, True
        for folder, split in self.walk():
            if not split.hides_folders:
                yield folder, False
            for child in split.children:
                if child.access in (Access.WHOLE, Access.FIXED):
                    yield join(folder, child.name), True

    @property
    def limited(self) -> list[WorkPath]:
        """Split folders, in which Landlock cannot allow making or removing names."""
        return [folder for folder, _ in self.walk()]


RUN_LOOK_S = 20.0
"""Longest search for denied names before a command: some ten million files. After that it is not started."""


def look(tools: Guard, commands: Guard, fixed: Fixed, deadline: Deadline) -> SandboxView:
    """Walk a workspace to find what a command may access.

    Args:
        tools: The guard of the tools; what only this one denies can be read, but not changed.
        commands: The guard of commands.
        fixed: Returns those names of a folder that must not be changed; it also gets the subfolders.
        deadline: Ends the walk.

    Raises:
        NotConfined: It takes too long.
        NoPermission: The root cannot be listed.
        BadConfig: An ignore file of the root cannot be used.
        Cancelled: The caller went away.
    """
    tools.refresh()
    commands.refresh()
    try:
        walked = _Walk(tools, commands, fixed, deadline.within(RUN_LOOK_S))
        access = walked.folder(ROOT)
        if walked.linked:
            # A denied or protected file may have another name somewhere, which does not look like it.
            walked = _Walk(tools, commands, fixed, deadline.within(RUN_LOOK_S), walked.linked)
            access = walked.folder(ROOT)
    except TimedOut:
        raise NotConfined(
            "the policy of this workspace",
            f"its denied names were not found within {RUN_LOOK_S:g} s",
            "Ask the user to serve a smaller folder.",
        ) from None
    if access is Access.HIDDEN:
        raise NoPermission(ROOT)
    return SandboxView(walked.splits)


@final
class _Walk:
    """One walk. `linked` collects denied and protected files with several names, by device and inode, each
    with the access to all its names."""

    def __init__(
        self,
        tools: Guard,
        commands: Guard,
        fixed: Fixed,
        deadline: Deadline,
        aliases: Mapping[tuple[int, int], Access] | None = None,
    ) -> None:
        self._tools = tools
        self._commands = commands
        self._fixed = fixed
        self._deadline = deadline
        self._aliases = aliases or {}
        self._every_link = commands.hardlinks == "refuse"
        self.splits: dict[WorkPath, Split] = {}
        self.linked: dict[tuple[int, int], Access] = {}

    def folder(self, path: WorkPath) -> Access:
        """Determine the access to a folder and everything below it."""
        if path.count("/") >= MAX_PATH_DEPTH:
            return Access.HIDDEN  # no path of a tool leads into it
        children: list[Child] = []
        split = hides_folders = False
        try:
            with self._commands.store.open_folder(path) as opened:
                if opened.real != path:
                    return Access.HIDDEN  # now a link; it was a folder when it was listed
                for child in self._children(opened, path):
                    split = split or child.access is not Access.WHOLE
                    hides_folders = hides_folders or self._hides(path, child)
                    children.append(child)
        except (BadConfig, Cancelled, TimedOut):
            raise
        except ReadroomError:
            return Access.HIDDEN  # it cannot be read here, so a command must not read it either
        closed = not self._commands.allows(join(path, _NEW_NAME), folder=False)
        if split or closed:
            self.splits[path] = Split(tuple(children), closed, hides_folders)
            return Access.SPLIT
        return Access.WHOLE

    def _children(self, opened: Folder, path: WorkPath) -> Iterator[Child]:
        for some in opened.names(_NAMES):
            self._deadline.check()
            folders = {name for name, kind in some.kinds.items() if kind is EntryKind.FOLDER}
            shut = self._commands.denied(path, some.names, folders)
            fixed = self._tools.denied(path, some.names, folders) | self._fixed(path, some.names, folders)
            for name in some.names:
                kind = some.kinds.get(name, EntryKind.FILE)
                if kind is EntryKind.LINK:
                    continue  # it has no content, and its target is judged at its own path
                access = self._access(opened, join(path, name), name, kind, name in shut, name in fixed)
                yield Child(name, kind is EntryKind.FOLDER, access)

    def _access(
        self, opened: Folder, path: WorkPath, name: str, kind: EntryKind, shut: bool, fixed: bool
    ) -> Access:
        if shut or fixed:
            access = Access.HIDDEN if shut else Access.FIXED
            if kind is EntryKind.FOLDER:
                return self._note_below(path, access)
            return self._note(opened, name, access) if kind is EntryKind.FILE else access
        if kind is EntryKind.FOLDER:
            return self.folder(path)
        return self._of_alias(opened, name, kind)

    def _of_alias(self, opened: Folder, name: str, kind: EntryKind) -> Access:
        """The access to a file that its own name leaves whole."""
        if kind is not EntryKind.FILE or not (self._aliases or self._every_link):
            return Access.WHOLE
        try:
            stat = opened.stat(name)
        except ReadroomError:
            return Access.HIDDEN
        if stat.links > 1 and self._every_link:
            return Access.HIDDEN
        return self._aliases.get((stat.device, stat.inode), Access.WHOLE)

    def _note(self, opened: Folder, name: str, access: Access) -> Access:
        """Record a file with several names; the strictest access to one of them holds for all."""
        try:
            stat = opened.stat(name)
        except ReadroomError:
            return access
        file = (stat.device, stat.inode)
        if stat.links > 1 and self.linked.get(file) is not Access.HIDDEN:
            self.linked[file] = access
        return Access.HIDDEN if self._aliases.get(file) is Access.HIDDEN else access

    def _note_below(self, path: WorkPath, access: Access) -> Access:
        """Record the files with several names in a denied or protected folder, which is passed as a whole."""
        self._deadline.check()
        if path.count("/") >= MAX_PATH_DEPTH:
            return Access.HIDDEN  # as below: its files are not looked at for other names
        found = {access}
        try:
            with self._commands.store.open_folder(path) as opened:
                for some in opened.names(_NAMES):
                    for name in some.names:
                        kind = some.kinds.get(name, EntryKind.FILE)
                        if kind is EntryKind.FILE:
                            found.add(self._note(opened, name, access))
                        elif kind is EntryKind.FOLDER:
                            found.add(self._note_below(join(path, name), access))
        except (Cancelled, TimedOut):
            raise
        except ReadroomError:
            return Access.HIDDEN  # it cannot be read here, so a command must not read it either
        return Access.HIDDEN if Access.HIDDEN in found else access

    def _hides(self, path: WorkPath, child: Child) -> bool:
        if child.access is Access.HIDDEN:
            return child.folder
        below = self.splits.get(join(path, child.name)) if child.access is Access.SPLIT else None
        return below is not None and below.hides_folders
