"""Disks whose file system takes names that differ in case, or in how accents are composed, for one.

Each way is tried in turn on an image of its own.  They differ in what else they can do: exchange names, have
links and stable inodes, keep the case of a name.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

SIZE = 48 * 1024 * 1024


class Disk(NamedTuple):
    """A way to have such a disk: what makes the image, what mounts it, and what the folder in it needs."""

    make: Sequence[str]
    mount: Sequence[str]
    folder: Sequence[str] = ()


DISKS = {
    "ext4": Disk(
        ("mkfs.ext4", "-q", "-F", "-O", "casefold", "-E", "encoding=utf8", "{image}"),
        ("mount", "-t", "ext4", "{device}", "{at}"),
        ("chattr", "+F", "{folder}"),
    ),
    "vfat": Disk(("mkfs.vfat", "{image}"), ("mount", "-t", "vfat", "-o", "utf8", "{device}", "{at}")),
    "exfat": Disk(("mkfs.exfat", "{image}"), ("mount.exfat-fuse", "{device}", "{at}")),
    "ntfs": Disk(
        ("mkfs.ntfs", "-F", "-q", "{image}"), ("lowntfs-3g", "-o", "ignore_case", "{device}", "{at}")
    ),
}
"""By file system: ext4 and FAT of the kernel, exFAT and NTFS by FUSE; that NTFS lists small letters."""


def lacking(kind: str) -> str:
    """Why such a disk cannot be had here; empty if it can."""
    disk = DISKS[kind]
    if os.geteuid() != 0:
        return "only root can mount"
    for program in (disk.make[0], disk.mount[0], "losetup"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    if kind == "ext4" and not Path("/sys/fs/ext4/features/casefold").exists():
        return "the kernel does not fold names in ext4"
    if kind == "vfat" and "\tvfat\n" not in Path("/proc/filesystems").read_text(encoding="ascii"):
        return "the kernel has no vfat"
    if kind in ("exfat", "ntfs") and not Path("/dev/fuse").exists():
        return "there is no FUSE"
    return ""


@contextmanager
def folding_disk(kind: str, folder: Path) -> Iterator[Path]:
    """An empty folder on such a disk."""
    disk, image, at = DISKS[kind], folder / "image", folder / "disk"
    names = {"image": str(image), "at": str(at), "folder": str(at / "w")}
    with image.open("wb") as made:
        made.truncate(SIZE)
    at.mkdir()
    _run(disk.make, names)
    names["device"] = _run(("losetup", "--find", "--show", "{image}"), names)
    try:
        _run(disk.mount, names)
        try:
            (at / "w").mkdir()
            if disk.folder:
                _run(disk.folder, names)
            yield at / "w"
        finally:
            _run(("umount", "-l", "{at}"), names)
    finally:
        _run(("losetup", "--detach", "{device}"), names)


def _run(command: Sequence[str], names: dict[str, str]) -> str:
    sent = [part.format(**names) for part in command]
    done = subprocess.run(sent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{sent}: {done.stderr or done.stdout}"
    return done.stdout.strip()
