"""Paths and globs as deepagents writes them.

Its own matcher decides what a glob means: the engine only finds what may match.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import takewhile
from typing import Final, final

from readroom.core.contracts.absolute import absolute
from readroom.core.extras import needs
from readroom.core.paths import quote

with needs("deepagents"):
    from deepagents.backends.utils import compile_grep_include_glob

TRAVERSAL: Final = "Path traversal not allowed"
"""The words of `FilesystemBackend`, which raises them as ValueError."""

_LITERAL = re.compile(r"[\w.-]+")
_SIMPLE = re.compile(r"[\w.*?-]+")
_SET = re.compile(r"\[[!^]?[\w.-]+\]")
_BRACES = re.compile(r"\{([\w.*?,-]*,[\w.*?,-]*)\}")


@final
class Paths:
    """How paths of a workspace are spelled: from "/", or as on this machine below `root`."""

    def __init__(self, root: str) -> None:
        """`root` is the name of the root of the workspace."""
        self._root = root.rstrip("/")
        self._full = root

    def within(self, path: str) -> str:
        """The path for a tool of the workspace. Raises ValueError if ".." is a part of it."""
        if ".." in path.split("/"):
            raise ValueError(f"{TRAVERSAL}: {path}")
        if path.strip("/") == "":
            return "."
        return quote(path) if self._root else quote(path.strip("/"))

    def spelled(self, path: str, *, folder: bool = False) -> str:
        """A path of the workspace as deepagents has it; folders end with a slash."""
        full = absolute(path, self._full).rstrip("/")
        return f"{full}/" if folder else full or "/"


def matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a glob of deepagents takes a path relative to the searched folder. Raises ValueError."""
    return compile_grep_include_glob(pattern)


def surroundings(pattern: str) -> tuple[str, list[str]]:
    """A folder below which everything is that a glob takes, and globs of a workspace that take all of it.

    The folder is relative to the searched one; without globs, any name in there may be one.
    """
    *above, last = pattern.lstrip("/").split("/")
    literal = takewhile(lambda part: _LITERAL.fullmatch(part) and part != ".", above)
    names = [_SET.sub("?", name) for name in _expanded(last)]
    are_simple = all(_SIMPLE.fullmatch(name) and name.strip("*") and name != "." for name in names)
    return "/".join(literal), names if are_simple else []


def _expanded(text: str) -> list[str]:
    """The alternatives of a name with braces that hold no others."""
    found = _BRACES.search(text)
    if found is None:
        return [text]
    begin, end = text[: found.start()], text[found.end() :]
    return [name for choice in found[1].split(",") for name in _expanded(f"{begin}{choice}{end}")]


def include(pattern: str) -> str:
    """A glob of deepagents as one of a search of the workspace."""
    text = f"/{pattern.lstrip('/')}" if "/" in pattern else pattern
    return f"\\{text}" if text.startswith("!") else text
