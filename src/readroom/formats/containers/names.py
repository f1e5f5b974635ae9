"""Names of members as paths inside their archive."""

from __future__ import annotations

import os

from readroom.limits.documents import CONTAINER_NAME_BYTES, CONTAINER_NAME_DEPTH

READ_BYTES = CONTAINER_NAME_BYTES + 1
"""Of a name as stored so much tells whether it can be used."""

_SHOWN_CHARS = 80


def kept(name: str) -> str:
    """A name as it is; of one that is too long the beginning, and a NUL, which no name can have.

    A hundred thousand members with a name of a megabyte would fill the memory, and all are left out.
    """
    return name if len(name) <= CONTAINER_NAME_BYTES else f"{name[:_SHOWN_CHARS]}…\0"


def normal(name: str) -> str | None:
    """The name as a path inside the archive, "" for its top; None for one that leads out or cannot be used.

    Absolute names and ".." are not names inside, whatever they would lead to: programs that unpack
    differ in what they make of them.
    """
    if name.startswith("/") or "\0" in name:
        return None
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts or len(parts) > CONTAINER_NAME_DEPTH:
        return None
    path = "/".join(parts)
    try:
        data = os.fsencode(path)
    except UnicodeEncodeError:
        return None
    # One name, one spelling, as `paths` has it: escaped bytes that form a character become that character.
    return os.fsdecode(data) if len(data) <= CONTAINER_NAME_BYTES else None


def led_to(name: str, target: str) -> str | None:
    """Where a target leads inside the archive, for the link `name`, "" for one that counts from the top.

    None when that is outside.
    """
    if target.startswith("/"):
        return None
    above = name.split("/")[:-1]
    for part in target.split("/"):
        if part == "..":
            if not above:
                return None
            above.pop()
        elif part not in ("", "."):
            above.append(part)
    return "/".join(above)
