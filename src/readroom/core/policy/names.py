"""The names of a root on its machine: as it was asked for, by links on the way, and by what is mounted there.

Rules about folders of the machine, such as `**/.aws/credentials`, hold for a root wherever it lies.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from readroom.core.paths import WorkPath, lies_in
from readroom.core.stores.base import Store

_LINKS = 40
"""As many links as the system follows in one path."""


def root_names(store: Store) -> tuple[str, ...]:
    """The absolute names of a local root; none for other stores."""
    if store.folder is None:
        return ()
    names = dict.fromkeys(name for root in store.roots for name in _by_links(root))
    names.update(dict.fromkeys(_mounted_from(os.path.realpath(store.folder))))
    return tuple(names)


def _by_links(path: str) -> Iterator[str]:
    """A path, and what it is called after each link on its way, down to its real name."""
    for _ in range(_LINKS):
        yield path
        parts = [part for part in path.split("/") if part]
        for end in range(1, len(parts) + 1):
            place = "/" + "/".join(parts[:end])
            try:
                target = os.readlink(place)
            except OSError:
                continue
            path = os.path.normpath(os.path.join(os.path.dirname(place), target, *parts[end:]))
            break
        else:
            return


def _mounted_from(real: str) -> Iterator[str]:
    """The name that a folder has in the file system that is mounted above it."""
    mounts = (row for row in _mounts() if lies_in(real, row.place))
    above = max(mounts, key=lambda row: len(row.place.rstrip("/")), default=None)
    if above is not None and above.root != "/":
        yield above.root + real.removeprefix(above.place.rstrip("/"))


def file_system_names(real: str) -> list[tuple[bytes, str]]:
    """The names of a folder in its file system, and of what is mounted below it in theirs; with devices."""
    rows = _mounts()
    above = max(
        (row for row in rows if lies_in(real, row.place)), key=lambda row: len(row.place), default=None
    )
    below = [row for row in rows if row.place != real and lies_in(row.place, real)]
    names = [(row.device, row.root) for row in below]
    if above is not None:
        inside = real.removeprefix(above.place.rstrip("/"))
        names.append((above.device, (above.root.rstrip("/") + inside) or "/"))
    return names


# -----------------------------------------------------------------------------
# The mount points of file systems, from the kernel.
# -----------------------------------------------------------------------------

MOUNTS = "/proc/self/mountinfo"

_ESCAPED = rb"\\([0-7]{3})"

_MANY_DEVICES = b"btrfs"
"""Its subvolumes have devices of their own, which the kernel does not list here."""


class _Mount(NamedTuple):
    """A folder of a file system at a place of the machine."""

    device: bytes
    root: str
    place: str
    form: bytes


def _mounts() -> list[_Mount]:
    """All mounts; empty if unknown. The last of several at one place counts, and comes first."""
    try:
        with open(MOUNTS, "rb") as file:
            lines = file.read().split(b"\n")
    except OSError:
        return []
    rows = []
    for line in lines:
        fields, _, rest = line.partition(b" - ")
        words = fields.split(b" ")
        if len(words) >= 5:
            rows.append(_Mount(words[2], _plain(words[3]), _plain(words[4]), rest.split(b" ")[0]))
    return rows[::-1]


def _plain(word: bytes) -> str:
    return os.fsdecode(re.sub(_ESCAPED, lambda octal: bytes([int(octal[1], 8)]), word))


def mounts_below(root: str, device: int) -> list[WorkPath]:
    """The places below a folder where a device is, or may be, mounted; empty if unknown."""
    number = f"{os.major(device)}:{os.minor(device)}".encode()
    top = os.path.realpath(root).rstrip("/") + "/"
    return [
        WorkPath(mount.place[len(top) :])
        for mount in _mounts()
        if mount.device == number or mount.form == _MANY_DEVICES
        if mount.place.startswith(top) and mount.place != top
    ]
