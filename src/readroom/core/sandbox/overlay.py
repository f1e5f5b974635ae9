"""Lay an overlay over a workspace, so that what a command changes is in a folder of its own.

The kernel reads a name from the workspace until it is changed, and then keeps it in the upper folder: files
as they are now, deleted names as devices with the numbers 0 and 0, and folders that hide what they had.
Every folder that the sandbox splits gets an overlay of its own.

Knows: where an overlay can be made, and how bubblewrap is asked for one.
Does not know: what becomes of the changes.
May be touched: with a security review only.
"""

from __future__ import annotations

import functools
import os
import re
import stat
import subprocess
import time
from typing import final

from msgspec import Struct

from readroom.core.paths import WorkPath
from readroom.core.sandbox import bubblewrap
from readroom.core.stores.private import remove_tree

_LEAST = (0, 11)
"""The first version of bubblewrap with overlays."""

_LOCAL = {"bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "tmpfs", "xfs", "zfs"}
"""File systems whose times are those of this machine's clock, which shows what was changed later."""

RUN_LAYERS = 100
"""Folders with an overlay of their own; each is a mount of the kernel."""

_COARSE_CLOCK = 5
"""CLOCK_REALTIME_COARSE, by which Linux dates changes of files."""

_CAP_DAC_READ_SEARCH = 2

_PROBE_S = 10


class Layer(Struct, frozen=True):
    """An overlay: the folder of the workspace that it lies over, and the folder with what was changed."""

    path: WorkPath
    upper: str


@final
class Layers:
    """The overlays of one command, below a private folder that its maker removes."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self.all: list[Layer] = []

    def over(self, path: WorkPath, place: str) -> list[str]:
        """Options for an overlay of a folder of the workspace, which is at `place`. Raises OSError."""
        upper, work = (os.path.join(self._folder, f"{len(self.all)}-{kind}") for kind in ("upper", "work"))
        for made in (upper, work):
            os.mkdir(made, 0o700)
        os.chmod(upper, stat.S_IMODE(os.stat(place).st_mode) & 0o777)
        self.all.append(Layer(path, upper))
        return ["--overlay-src", place, "--overlay", upper, work, place]


def begun_ns() -> int:
    """A time, in nanoseconds since the epoch: what is changed from now on is dated with it or later, and
    what was changed before is dated earlier.
    """
    before = time.clock_gettime_ns(_COARSE_CLOCK)
    while (now := time.clock_gettime_ns(_COARSE_CLOCK)) == before:
        time.sleep(0.001)
    return now


def unusable(root: str, place: str) -> str:
    """Why no overlay can be laid over a root, with its changes below `place`; empty if one can."""
    program, problem = bubblewrap.program()
    if program is None:
        return problem
    return too_old(program) or _mounted(os.path.realpath(root)) or _untried(program, root, place)


@functools.cache
def too_old(program: str) -> str:
    """Why a bubblewrap is too old to make overlays; empty if it is not."""
    try:
        done = subprocess.run(
            [program, "--version"],
            env={},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PROBE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return "bubblewrap does not say its version"
    found = re.search(rb"(\d+)\.(\d+)", done.stdout)
    if found is not None and (int(found[1]), int(found[2])) >= _LEAST:
        return ""
    version = "another one" if found is None else found[0].decode()
    return f"bubblewrap {'.'.join(map(str, _LEAST))} is needed, and {version} is installed"


def _mounted(root: str) -> str:
    """Why what is mounted there does not fit: an overlay shows no other file systems below it."""
    system, depth = "", -1
    try:
        with open("/proc/self/mountinfo", "rb") as file:
            rows = file.read().split(b"\n")
    except OSError:
        return "its mounts are not known"
    for row in rows:
        words, _, rest = row.partition(b" - ")
        if not rest:
            continue
        at = os.fsdecode(
            re.sub(rb"\\([0-7]{3})", lambda code: bytes([int(code[1], 8)]), words.split(b" ")[4])
        )
        if at.startswith(root.rstrip("/") + "/"):
            return "another file system is mounted in the workspace"
        if (at == "/" or root == at or root.startswith(at + "/")) and len(at) >= depth:
            system, depth = os.fsdecode(rest.split(b" ")[0]), len(at)
    return "" if system in _LOCAL else f"the file system {system} may have a clock of its own"


@functools.cache
def _untried(program: str, root: str, place: str) -> str:
    """Why an overlay does not work here, as a test run shows."""
    folder = os.path.join(place, f"try-{os.urandom(4).hex()}")
    try:
        os.mkdir(folder, 0o700)
        done = subprocess.run(
            [program, *bubblewrap.system(), *Layers(folder).over(WorkPath("."), root), "true"],
            env={},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=_PROBE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"an overlay cannot be made ({type(error).__name__})"
    finally:
        remove_tree(folder)
    if done.returncode == 0:
        return ""
    message = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0][:200]
    return f"an overlay cannot be made ({message})"


def unfit(closed: bool, splits: int, roots: int, version_control: str) -> str:
    """Why the policy of a workspace does not let its commands run on an overlay; empty if it does."""
    if roots > 1:
        return "there are several roots"
    if version_control == "write":
        return 'version_control = "write" lets commands change what tools may not'
    if closed:
        return "policy allows only some names in a folder"
    return f"policy denies names in more than {RUN_LAYERS} folders" if splits > RUN_LAYERS else ""


@functools.cache
def notes_origins() -> bool:
    """Whether the kernel notes on files of an overlay that they were there before; only for a real root."""
    try:
        with (
            open("/proc/self/status", encoding="ascii", errors="replace") as status,
            open("/proc/self/uid_map", encoding="ascii") as users,
        ):
            held = next(line for line in status if line.startswith("CapEff:"))
            whole = users.read().split() == ["0", "0", str(2**32 - 1)]
    except (OSError, StopIteration):
        return False
    return whole and bool(int(held.split()[1], 16) >> _CAP_DAC_READ_SEARCH & 1)
