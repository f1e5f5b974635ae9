"""Choose how a command is confined, and prepare its start.

bubblewrap is preferred: the command sees nothing that it may not read.  Landlock is for systems without
user namespaces, as in most containers: there the names of other files can be seen, but those files cannot
be read, written or run, or given other modes and times.  Where neither is available, no command is started,
unless policy says "none".

Knows: the confinements that this machine offers, and what of a workspace a command may access.
Does not know: tools and replies.
May be touched: with a security review only.
"""

from __future__ import annotations

import contextlib
import glob
import os
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import final

from msgspec import Struct, field

from readroom.core.deadline import Deadline
from readroom.core.errors import BadConfig, NoFolder, NotConfined, NotStarted, ReadroomError
from readroom.core.kernel import landlock, seccomp
from readroom.core.kernel.landlock import CHANGE, EXECUTE, READ, Right
from readroom.core.paths import ROOT, WorkPath, lies_in
from readroom.core.policy.changes import WriteTargets
from readroom.core.policy.commands import (
    DEVICES,
    SYSTEM,
    SYSTEM_FACTS,
    SYSTEM_PATTERNS,
    CommandPolicy,
    Demand,
)
from readroom.core.policy.guard import Guard
from readroom.core.sandbox import bubblewrap, overlay
from readroom.core.sandbox.overlay import Layer, Layers
from readroom.core.sandbox.reach import Access, Child, SandboxView, Split, look
from readroom.core.stores.base import Store
from readroom.core.stores.roots.names import Place
from readroom.core.values.commands import Confinement

_CONFINING: tuple[Confinement, ...] = ("bwrap", "landlock")
"""In the order in which they are tried."""

_READ_ONLY = READ | EXECUTE

_UNLAYERED = "only bubblewrap can make an overlay"

_INSTALL = (
    "Continue without commands, or ask the user to install bubblewrap (apt install bubblewrap); for a folder "
    'whose content is trusted, confinement = "none" under [commands] of the file given with --config runs '
    "commands without."
)


class Private(Struct, frozen=True):
    """Private places of the session: HOME, temporary files of a command, and masks for hidden names.

    `layers` is a new folder for what the command changes, if it shall run on an overlay.
    """

    home: str
    temporary: str
    masks: bubblewrap.Masks
    layers: str = ""


class Start(Struct, frozen=True):
    """How to start a command; `close` releases the descriptor it holds.

    Attributes:
        confinement: How the command is confined.
        program: The program that starts the shell; None if none is needed.
        options: Its arguments.
        filter: A system call filter, for the program to install, or for the process that starts the shell.
        rules: A descriptor of a Landlock ruleset.
        temporary: TMPDIR inside the sandbox.
        limited: Folders in which nothing can be created or removed, though policy would allow it.
        changes: Calls that the filter passes to the supervisor (`seccomp.changes`).
        places: Absolute paths where these calls may change files.
        watched: Absolute paths where files may be watched, and whether all below them may be.
        layers: The overlays that it changes, instead of the workspace.
        unlayered: Why there are none, though they were asked for.
    """

    confinement: Confinement
    temporary: str
    program: str | None = None
    options: tuple[str, ...] = ()
    filter: bytes = b""
    rules: int | None = None
    limited: tuple[WorkPath, ...] = ()
    changes: Mapping[int, seccomp.Change] = field(default_factory=dict)
    places: tuple[str, ...] = ()
    watched: tuple[tuple[str, bool], ...] = ()
    layers: tuple[Layer, ...] = ()
    unlayered: str = ""

    def close(self) -> None:
        """Call it once."""
        if self.rules is not None:
            os.close(self.rules)


def available(confinement: Confinement) -> str:
    """Why a confinement is not available; empty if it is."""
    if confinement == "none":
        return ""
    if sys.platform != "linux":
        return "this system is not Linux"
    if not seccomp.known_machine():
        # Without the filter a command could leave programs behind that run as the user.
        return f"the system calls of {os.uname().machine} are not known here, and cannot be filtered"
    if confinement == "bwrap":
        return bubblewrap.program()[1]
    if landlock.available() < landlock.FOR_COMMANDS:
        return (
            f"Landlock of Linux 6.12 is needed (version {landlock.FOR_COMMANDS}, not {landlock.available()})"
        )
    return ""


def chosen(demand: Demand) -> Confinement:
    """The best confinement that policy accepts. Raises NotConfined if there is none."""
    if demand == "none":
        return "none"
    candidates = _CONFINING if demand == "any" else (demand,)
    reasons = []
    for confinement in candidates:
        reason = available(confinement)
        if not reason:
            return confinement
        reasons.append(reason)
    raise NotConfined(demand, "; ".join(reasons), _INSTALL)


class Area(Struct, frozen=True):
    """One root as commands have it.

    Attributes:
        place: Where it is in the tree.
        tools: The guard of the tools.
        commands: The guard with the rules for commands, over the same store.
        places: Which files must not be changed.
    """

    place: Place
    tools: Guard
    commands: Guard
    places: WriteTargets

    @property
    def change(self) -> bool:
        """Whether anything in it may be changed."""
        return not self.places.policy.read_only

    def look(self, deadline: Deadline) -> Laid:
        """The parts that a command may access now. Raises as `reach.look`, and StoreFailed if it is gone."""
        root = self.tools.folder
        assert root is not None
        self.tools.store.require_root()
        view = look(self.tools, self.commands, self.places.fixed(), deadline)
        return Laid(self, root, os.path.realpath(root), view)


class Laid(Struct, frozen=True):
    """A root with what of it a command may access; `real` is its folder without links."""

    area: Area
    root: str
    real: str
    view: SandboxView

    def at(self, path: WorkPath) -> str:
        """The absolute path of something in it."""
        return self.real if path == ROOT else os.path.join(self.real, path)


@final
class Sandbox:
    """Prepares the start of commands in one workspace. Safe to share between threads."""

    def __init__(self, areas: Sequence[Area], policy: CommandPolicy) -> None:
        """Make a sandbox.

        Args:
            areas: The roots that commands see, local ones; the first is that of the workspace.
            policy: What the operator allows.
        """
        self._areas = areas
        self._policy = policy

    def start(self, folder: WorkPath, private: Private, deadline: Deadline, top: WorkPath = ROOT) -> Start:
        """How to start a command in a folder of the root that is at `top`.

        Raises NotConfined, NotStarted, BadConfig, NoFolder.
        """
        first = self._areas[0].tools
        if first.folder is None:
            raise NoFolder(first.store.name)
        kind = chosen(self._policy.confinement)
        if kind == "none":
            return Start("none", private.temporary, unlayered=_UNLAYERED)
        laid = [area.look(deadline) for area in self._areas if self._is_there(area, top)]
        for one in laid:
            self._require_apart(one.root, private)
        if kind == "bwrap":
            begin = next(bubblewrap.at(one.root, folder) for one in laid if one.area.place.at == top)
            return self._bubblewrap(laid, begin, private)
        try:
            return self._landlock(laid, private)
        except OSError as error:
            if isinstance(error, ReadroomError):
                raise
            raise NotStarted("its confinement", error.strerror or str(error)) from None

    def _is_there(self, area: Area, top: WorkPath) -> bool:
        """Whether a root is there; others than the first and the one that is meant may be gone."""
        try:
            area.tools.store.require_root()
        except ReadroomError:
            if area.place.at in (ROOT, top):
                raise
            return False
        return True

    def _bubblewrap(self, laid: Sequence[Laid], begin: str, private: Private) -> Start:
        program, _ = bubblewrap.program()
        assert program is not None
        policy, first = self._policy, laid[0]
        binds = [(private.temporary, "/tmp", True), (private.temporary, "/var/tmp", True)]
        binds.append((private.home, private.home, True))
        binds += [(path, path, False) for path in policy.read]
        binds += [(path, path, True) for path in policy.write]
        layers, problem = self._layers(laid, private)
        options = bubblewrap.arguments(
            first.root,
            first.view,
            private.masks,
            change=first.area.change,
            network=policy.network,
            binds=binds,
            start=begin,
            others=[(one.root, one.view, one.area.change) for one in laid[1:]],
            over=None if layers is None else layers.over,
        )
        # In its own network namespace there are no abstract sockets of others; a shared one has the user's.
        inner = seccomp.bubblewrap_filter(network=policy.network)
        made = () if layers is None else tuple(layers.all)
        return Start("bwrap", "/tmp", program, tuple(options), inner, layers=made, unlayered=problem)

    def _layers(self, laid: Sequence[Laid], private: Private) -> tuple[Layers | None, str]:
        """The overlays of a command; None and why, if it changes the workspace itself."""
        first = laid[0]
        if not private.layers or not first.area.change:
            return None, ""
        splits = first.view.splits.values()
        closed = any(split.closed for split in splits)
        problem = overlay.unfit(closed, len(splits), len(self._areas), self._policy.version_control)
        problem = problem or overlay.unusable(first.root, os.path.dirname(private.layers))
        return (None, problem) if problem else (overlay.Layers(private.layers), "")

    def _landlock(self, laid: Sequence[Laid], private: Private) -> Start:
        policy = self._policy
        for one in laid:
            self._require_beside_system(one.root)
        rules = landlock.ruleset(network=policy.network)
        try:
            for path in (*_system(), *policy.read):
                _allow(rules, path, READ | EXECUTE)
            for path in SYSTEM_FACTS:
                _allow(rules, path, READ)
            for path in DEVICES:
                _allow(rules, path, Right.READ_FILE | Right.WRITE_FILE | Right.TRUNCATE)
            for path in (private.home, private.temporary, *policy.write):
                _allow(rules, path, CHANGE)
            for one in laid:
                _open_workspace(rules, one.area.commands.store, one.view, change=one.area.change)
        except BaseException:
            os.close(rules)
            raise
        return Start(
            "landlock",
            private.temporary,
            filter=seccomp.landlock_filter(network=policy.network),
            rules=rules,
            limited=tuple(
                one.area.place.outer(path) for one in laid if one.area.change for path in one.view.limited
            ),
            changes=seccomp.changes(),
            places=tuple(self._places_to_change(laid, private)),
            watched=tuple(self._places_to_watch(laid, private)),
            unlayered=_UNLAYERED,
        )

    def _places_to_change(self, laid: Sequence[Laid], private: Private) -> Iterator[str]:
        """Where modes, owners and times can be changed: wherever files can be written."""
        outside = (private.home, private.temporary, *self._policy.write)
        yield from map(os.path.realpath, outside)
        for one in laid:
            if one.area.change:
                yield from map(one.at, one.view.wholes())

    def _places_to_watch(self, laid: Sequence[Laid], private: Private) -> Iterator[tuple[str, bool]]:
        """The places that can be watched: files that can be read, and folders that can be listed."""
        policy = self._policy
        for path in (*_system(), *policy.read, *policy.write, private.home, private.temporary):
            yield os.path.realpath(path), True
        for one in laid:
            for inside, below in one.view.listed():
                yield one.at(inside), below

    def _require_apart(self, root: str, private: Private) -> None:
        """Require that places the operator opens do not also open the workspace or other sessions."""
        for path in (*self._policy.read, *self._policy.write):
            real = os.path.realpath(path)
            for other in (root, private.home, private.temporary):
                if lies_in(other, real) or lies_in(real, other):
                    raise BadConfig(
                        "the configuration",
                        "commands.read" if path in self._policy.read else "commands.write",
                        f"{path} holds the workspace or this session's files, or lies in them",
                        "Name only folders outside the workspace.",
                    )

    def _require_beside_system(self, root: str) -> None:
        """Require a workspace outside system folders: commands can read all of those, even denied names."""
        real = os.path.realpath(root)
        for place in SYSTEM:
            if lies_in(real, os.path.realpath(place.path)):
                raise NotConfined(
                    "landlock",
                    f"the workspace lies in {place.path}, all of which commands can read with Landlock",
                    "Ask the user to install bubblewrap, or to serve a copy in another folder.",
                )


def _system() -> Iterator[str]:
    """The system's places that commands can read."""
    yield from (place.path for place in SYSTEM)
    for place in SYSTEM_PATTERNS:
        yield from glob.glob(place.path)


def _allow(rules: int, path: str, rights: Right) -> None:
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        landlock.allow(rules, path, rights)


# -----------------------------------------------------------------------------
# A command's access as Landlock rules, each on a file or folder that is held open.
#
# Landlock rules only allow: a rule on a folder applies to everything below it, without exceptions.
# So of a split folder only the entries are allowed, one by one, and in the folder itself nothing can
# be created, removed or renamed.  It can be listed, unless a folder below it is hidden, whose names
# would be disclosed.
# -----------------------------------------------------------------------------


RUN_RULES = 20_000
"""Files and folders that Landlock can open individually, where others next to them are denied."""


def _open_workspace(rules: int, store: Store, reach: SandboxView, *, change: bool) -> None:
    """Add the rules for a workspace; with `change` False all of it is read-only.

    Raises:
        NotConfined: There are too many entries to allow them one by one.
        ReadroomError, OSError: A folder was replaced meanwhile.
    """
    whole = CHANGE if change else _READ_ONLY
    if not reach.splits:
        with store.open_folder(WorkPath(".")) as root:
            _allow_held(rules, root.fileno(), whole)
        return
    count = 0
    for path, split in reach.walk():
        count += len(split.children)
        if count > RUN_RULES:
            raise NotConfined(
                "landlock",
                f"there are more than {RUN_RULES:,} names besides denied ones; Landlock opens each of them",
                "Ask the user to install bubblewrap, or to move what is denied into a folder of its own.",
            )
        _open_split(rules, store, path, split, whole)


def _open_split(rules: int, store: Store, path: WorkPath, split: Split, whole: Right) -> None:
    with store.open_folder(path) as folder:
        if folder.real != path:
            raise FileNotFoundError(path)
        fd = folder.fileno()
        assert fd is not None
        if not split.hides_folders:
            landlock.allow(rules, fd, Right.READ_DIR)
        for child in split.children:
            if child.access in (Access.WHOLE, Access.FIXED):
                _open_child(rules, fd, child, whole if child.access is Access.WHOLE else _READ_ONLY)


def _open_child(rules: int, folder: int, child: Child, rights: Right) -> None:
    try:
        fd = os.open(child.name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        return  # gone since it was listed
    try:
        if stat.S_ISDIR(os.fstat(fd).st_mode) is child.folder:  # otherwise it was replaced meanwhile
            _allow_held(rules, fd, rights)
    finally:
        os.close(fd)


def _allow_held(rules: int, fd: int | None, rights: Right) -> None:
    assert fd is not None
    landlock.allow(rules, fd, rights)
