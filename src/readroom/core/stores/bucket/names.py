"""Keys of a bucket as paths, and back: a key is a path where each of its parts is a name.

`a//b`, `a/../b`, `/a`, a key with a NUL, and one that ends with a slash and has bytes have no path: they are
counted, and no path leads to them.
"""

from __future__ import annotations

from collections.abc import Callable

from readroom.core.paths import ROOT, WorkPath


def is_name(part: str) -> bool:
    """Whether a part of a key can be the name of a file or folder."""
    return part not in ("", ".", "..") and "\0" not in part


def is_path(rest: str, size: int, is_name: Callable[[str], bool]) -> bool:
    """Whether the rest of a key after a folder is a path, or that of an empty object in place of a folder."""
    parts = rest.split("/")
    if not parts[-1] and not size:
        parts.pop()
    return all(map(is_name, parts))


def key_of(prefix: str, path: WorkPath, is_name: Callable[[str], bool]) -> str | None:
    """The key of a path; None if there can be none. `is_name` is the connection's."""
    if path != ROOT and not all(map(is_name, path.split("/"))):
        return None
    key = prefix if path == ROOT else prefix + path
    try:
        size = len(key.encode())
    except UnicodeEncodeError:
        return None  # a name that is not UTF-8
    return key if size <= LONGEST_KEY and "\0" not in key else None


def folder_key(prefix: str, path: WorkPath, is_name: Callable[[str], bool]) -> str | None:
    """The beginning of all keys in a folder; None if there can be none."""
    if path == ROOT:
        return prefix
    key = key_of(prefix, path, is_name)
    return None if key is None or len(key.encode()) >= LONGEST_KEY else f"{key}/"


LONGEST_KEY = 1024
"""Bytes of a key."""


def just_before(name: str) -> str:
    """A text that sorts before a name, and after all that come before it but for names nobody gives."""
    last = ord(name[-1]) - 1
    if last < 1:
        return name[:-1]
    if 0xD800 <= last <= 0xDFFF:
        last = 0xD7FF
    return f"{name[:-1]}{chr(last)}\U0010ffff"


def uncertain(last: str, known: set[str]) -> list[str]:
    """The folders that may come after a key in a bucket's order, and before it in the order of names.

    A bucket sorts `a-b` before `a/`, which is the folder a.
    """
    ends = (at for at, char in enumerate(last) if at and char < "/")
    return [name for name in (last[:at] for at in ends) if is_name(name) and name not in known]
