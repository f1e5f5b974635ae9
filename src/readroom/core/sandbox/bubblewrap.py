"""Build the command line of bubblewrap, which gives a command a file tree of its own.

The workspace is bound at its own path.  Something that cannot be opened is mounted over each hidden entry,
and every folder above it is bound onto itself: a mount point can be neither renamed nor removed, so an entry
that is denied by its path keeps that path.  Later arguments are mounted over earlier ones.
"""

from __future__ import annotations

import contextlib
import functools
import glob
import os
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from msgspec import Struct

from readroom.core.errors import NotConfined
from readroom.core.paths import ROOT, WorkPath, join
from readroom.core.policy.commands import SYSTEM, SYSTEM_PATTERNS
from readroom.core.sandbox.reach import Access, Child, SandboxView, Split

WHERE = "/usr/local/bin:/usr/bin:/bin:/run/wrappers/bin:/run/current-system/sw/bin"
"""The folders in which bubblewrap is looked for; PATH may name one of the workspace."""

_DEVICES = {
    "null": (1, 3),
    "zero": (1, 5),
    "full": (1, 7),
    "random": (1, 8),
    "urandom": (1, 9),
    "tty": (5, 0),
}
"""Major and minor numbers, the same on every Linux."""

_PROBE_S = 10
"""Time limit of a test run that does nothing."""

_NAMESPACES = ("--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try", "--cap-drop", "ALL")


class Masks(Struct, frozen=True):
    """An empty file and an empty folder without permissions, mounted over hidden names.

    `devices` is a folder with devices to mount over those of the system; empty if those may stay.
    """

    file: str
    folder: str
    devices: str = ""


@functools.cache
def program() -> tuple[str | None, str]:
    """The path of a working bubblewrap; or None and the reason."""
    path = shutil.which("bwrap", path=WHERE)
    if path is None:
        return None, "bubblewrap is not installed"
    words = [path, *_NAMESPACES, "--unshare-net", *system(), "--proc", "/proc", "--dev", "/dev", "true"]
    try:
        done = subprocess.run(
            words,
            env={"PATH": WHERE},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=_PROBE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, f"bubblewrap does not start ({type(error).__name__})"
    if done.returncode == 0:
        return path, ""
    message = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0][:200]
    return None, f"bubblewrap does not work here ({message})"


def system() -> list[str]:
    """Options for the system's programs and their dependencies, read-only; links stay links."""
    options: list[str] = []
    for path in _system_paths():
        target = _link(path)
        if target is None:
            options += ["--ro-bind-try", path, path]
        else:
            options += ["--symlink", target, path]
    return options


def _system_paths() -> list[str]:
    patterns = [path for place in SYSTEM_PATTERNS for path in sorted(glob.glob(place.path))]
    return [*(place.path for place in SYSTEM), *patterns]


def _link(path: str) -> str | None:
    """The target of a top-level folder that is a link, such as /bin on current systems."""
    return os.readlink(path) if os.path.islink(path) and os.path.dirname(path) == "/" else None


RUN_HIDDEN_NAMES = 2500
"""Denied names that can be hidden from a confined command with bubblewrap, which takes 9,000 arguments."""


def arguments(
    root: str,
    reach: SandboxView,
    masks: Masks,
    *,
    change: bool,
    network: bool,
    binds: Sequence[tuple[str, str, bool]],
    start: str,
    others: Sequence[tuple[str, SandboxView, bool]] = (),
    over: Over | None = None,
) -> list[str]:
    """All options, without the command. Raises NotConfined.

    Args:
        root: The workspace, an absolute path.
        reach: Which of its entries are hidden or fixed.
        masks: What is mounted over hidden entries.
        change: Whether the workspace can be changed at all.
        network: Whether the network is shared.
        binds: Other places: source, target, and whether they can be changed.
        start: The folder where the command starts.
        others: More roots, what of them can be reached, and whether they can be changed.
        over: Gives the options of an overlay of a folder of the workspace, by which it is not itself changed.
    """
    options = [*_NAMESPACES, *(() if network else ("--unshare-net",)), "--hostname", "readroom"]
    # User 0 owns the settings of the kernel (/proc/sys) and needs no capability to change them.
    proc = ("--remount-ro", "/proc") if os.geteuid() == 0 else ()
    options += [*system(), "--proc", "/proc", *proc, "--dev", "/dev"]
    options += _devices(masks.devices)
    for source, target, writable in binds:
        options += ["--bind-try" if writable else "--ro-bind-try", source, target]
    hidden: list[str] = []
    for place, inside, writable in ((root, reach, change), *others):
        bind = over or _bound("--bind" if writable else "--ro-bind")
        options += bind(ROOT, place)
        hidden += _workspace(place, inside, masks, bind, change=writable)
    if len(hidden) > 3 * RUN_HIDDEN_NAMES:
        raise NotConfined(
            "bwrap",
            f"policy denies more than {RUN_HIDDEN_NAMES:,} names that would have to be hidden one by one",
            "Ask the user to deny whole folders instead, or to serve a smaller one.",
        )
    return [*options, *hidden, "--remount-ro", "/", "--chdir", start]


def make_devices(folder: str) -> bool:
    """Make device files for commands, whose modes they may change, since user 0 owns those of the system.

    Returns whether this was necessary and possible.
    """
    if os.geteuid() != 0:
        return False
    try:
        for name, (major, minor) in _DEVICES.items():
            path = os.path.join(folder, name)
            with contextlib.suppress(FileExistsError):  # made by a command that started at the same time
                os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(major, minor))
            os.chmod(path, 0o666)
        os.close(os.open(os.path.join(folder, "null"), os.O_RDONLY))
    except OSError:
        return False  # a container without the capability, or a file system without devices
    return True


def _devices(folder: str) -> Iterator[str]:
    for name in _DEVICES if folder else ():
        yield from ("--dev-bind", os.path.join(folder, name), f"/dev/{name}")


Over: TypeAlias = Callable[[WorkPath, str], Sequence[str]]
"""Gives the options by which a folder is mounted at its own place."""


def _bound(bind: str) -> Over:
    return lambda _, place: [bind, place, place]


def _workspace(root: str, reach: SandboxView, masks: Masks, over: Over, *, change: bool) -> list[str]:
    options: list[str] = []
    bind = "--bind" if change else "--ro-bind"
    for path, split in reach.walk():
        place = at(root, path)
        if split.closed:
            options += ["--tmpfs", place, *_shown(root, path, split, bind), "--remount-ro", place]
            continue
        if path != ROOT:
            options += over(path, place)
        for child in split.children:
            options += _laid(at(root, join(path, child.name)), child, masks)
        if len(options) > 3 * RUN_HIDDEN_NAMES:
            break
    return options


def _laid(place: str, child: Child, masks: Masks) -> list[str]:
    if child.access is Access.HIDDEN:
        return ["--ro-bind", masks.folder if child.folder else masks.file, place]
    return ["--ro-bind", place, place] if child.access is Access.FIXED else []


def _shown(root: str, path: WorkPath, split: Split, bind: str) -> list[str]:
    """Options to bind a folder's visible entries into an empty one, because new names would be denied."""
    options: list[str] = []
    for child in split.children:
        if child.access is Access.HIDDEN:
            continue
        place = at(root, join(path, child.name))
        options += [bind if child.access is Access.WHOLE else "--ro-bind", place, place]
    return options


def at(root: str, path: WorkPath) -> str:
    """The absolute path of something in a root."""
    return root if path == ROOT else os.path.join(root, path)
