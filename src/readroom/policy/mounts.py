"""Where file systems are mounted, as the kernel tells it."""

from __future__ import annotations

import os
import re

from readroom.paths import WorkPath

MOUNTS = "/proc/self/mountinfo"

_ESCAPED = re.compile(rb"\\([0-7]{3})")

_MANY_DEVICES = b"btrfs"
"""Its subvolumes have devices of their own, which the kernel does not tell here."""


def mounts_below(root: str, device: int) -> list[WorkPath]:
    """The places below a folder where a device is mounted, or may be; empty where nobody tells."""
    try:
        with open(MOUNTS, "rb") as file:
            lines = file.read().split(b"\n")
    except OSError:
        return []
    number = f"{os.major(device)}:{os.minor(device)}".encode()
    top = os.fsencode(os.path.realpath(root)).rstrip(b"/") + b"/"
    found = []
    for line in lines:
        fields, _, rest = line.partition(b" - ")
        words = fields.split(b" ")
        if len(words) < 5 or (words[2] != number and rest.split(b" ")[0] != _MANY_DEVICES):
            continue
        place = _ESCAPED.sub(lambda octal: bytes([int(octal[1], 8)]), words[4])
        if place.startswith(top) and place != top:
            found.append(WorkPath(os.fsdecode(place[len(top) :])))
    return found
