"""Paths inside a workspace: parsed and normalized where they come in.

A `WorkPath` is relative to the root, POSIX, without "..", "." or empty parts;
the root itself is ".".  It says nothing about what is there: links are the
store's business.  Names are text as `os.fsdecode` gives it; bytes that are not
UTF-8 travel as surrogate escapes.

Replies show them as `quote` does: `parse(quote(path)) == path` for every path.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import NewType

from readroom.core.errors import BadPath, OutsideRoot
from readroom.core.limits import MAX_PATH_BYTES, MAX_PATH_DEPTH
from readroom.core.quoting import Misquoted, is_in_quotes, quote, without_quotes

WorkPath = NewType("WorkPath", str)

ROOT = WorkPath(".")

OUTPUTS = WorkPath("/.outputs")
"""The folder of kept outputs: the only name outside the root. It has a leading slash, so that a folder of
that name in the workspace is a different one."""

BORDER = "!"
"""Ends the name of an archive where a path goes on inside it: `lib.zip!/org/x.py`."""

__all__ = [
    "BORDER",
    "OUTPUTS",
    "ROOT",
    "WorkPath",
    "ancestors",
    "basename",
    "join",
    "may_lead_inside",
    "normalize",
    "parent",
    "parse",
    "parts",
    "quote",
    "require_normal",
]

_NOT_NORMAL = re.compile(r"(?:^|/)\.{0,2}(?:/|\Z)|\0")
"""An empty part, ".", ".." or a NUL."""

ELSEWHERE = "an absolute path elsewhere"
ABOVE = "'..' leads above the root"
"""The fact `how` of OutsideRoot for a path that was not looked up."""


def parse(path: str, roots: Sequence[str] = ()) -> WorkPath:
    """Parse and normalize a path from a caller. Raises BadPath, OutsideRoot.

    Args:
        path: Relative to the root, or absolute below one of `roots`, or either
            of them in the quotes that `quote` puts around unusual names.
        roots: Absolute names of the root.
    """
    if is_in_quotes(path):
        try:
            path = without_quotes(path)
        except Misquoted as error:
            raise BadPath(path, str(error)) from None
    return normalize(path, roots)


def normalize(path: str, roots: Sequence[str] = ()) -> WorkPath:
    """Like `parse`, for callers that are not models: quotes are part of the name."""
    text = _checked(path)
    if text.startswith("/"):
        return _below(text, roots)
    return _join(_resolve(text, path))


def require_normal(path: str) -> WorkPath:
    """Check once more that a path was parsed, where a mistake would be dangerous. Raises BadPath."""
    inner = path[1:] if path == OUTPUTS or path.startswith(f"{OUTPUTS}/") else path
    if path != ROOT and _NOT_NORMAL.search(inner):
        raise BadPath(path, "is not in normal form")
    return WorkPath(path)


def join(folder: WorkPath, name: str) -> WorkPath:
    """The path of a name in a folder."""
    return WorkPath(name if folder == "." else f"{folder}/{name}")


def parent(path: WorkPath) -> WorkPath:
    """The folder that holds the path; of the root, the root."""
    return WorkPath(path.rpartition("/")[0] or ".")


def basename(path: WorkPath) -> str:
    """The last part of the path."""
    return path.rpartition("/")[2]


def parts(path: WorkPath) -> list[str]:
    """Its parts from the root down; none for the root."""
    return [] if path == "." else path.split("/")


def ancestors(path: WorkPath) -> list[WorkPath]:
    """The folders above it, the topmost first, without the root."""
    cuts = [at for at, char in enumerate(path) if char == "/"]
    return [WorkPath(path[:at]) for at in cuts]


def may_lead_inside(path: str) -> bool:
    """Whether a path may, by its spelling, lead into an archive."""
    return f"{BORDER}/" in path or path.endswith(BORDER)


def _checked(path: str) -> str:
    if not path:
        raise BadPath(path, "is empty")
    if "\0" in path:
        raise BadPath(path, "contains a NUL character")
    if path.isascii():
        size, text = len(path), path
    else:
        try:
            data = os.fsencode(path)
        except UnicodeEncodeError:
            raise BadPath(path, "contains half of a surrogate pair") from None
        # Each name has one spelling: escaped bytes that form a character become that character,
        # or a rule that names the character would miss them.
        size, text = len(data), os.fsdecode(data)
    if size >= MAX_PATH_BYTES:
        raise BadPath(path, f"is longer than {MAX_PATH_BYTES - 1} bytes")
    return text


def _resolve(text: str, asked_path: str) -> list[str]:
    kept_parts: list[str] = []
    for part in text.split("/"):
        if part in ("", "."):
            continue
        if part != "..":
            kept_parts.append(part)
        elif kept_parts:
            kept_parts.pop()
        else:
            raise OutsideRoot(asked_path, ABOVE)
    if len(kept_parts) > MAX_PATH_DEPTH:
        raise BadPath(asked_path, f"has more than {MAX_PATH_DEPTH} parts")
    return kept_parts


def lies_in(path: str, folder: str) -> bool:
    """Whether an absolute path is a folder, or below it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _join(kept_parts: list[str]) -> WorkPath:
    return WorkPath("/".join(kept_parts) or ".")


def _below(text: str, roots: Sequence[str]) -> WorkPath:
    resolved: list[str] = []
    for part in text.split("/"):
        if part == "..":
            del resolved[-1:]
        elif part not in ("", "."):
            resolved.append(part)
    for root in roots:
        above = [part for part in root.split("/") if part]
        if resolved[: len(above)] == above:
            return _join(_resolve("/".join(resolved[len(above) :]), text))
    raise OutsideRoot(text, ELSEWHERE)
