"""Names of files as inspect_agents writes them, and the paths that they are.

In store mode every text is a key of its own: `a//b`, `/a/b` and `../a` are three
files, and none of them leads anywhere else.  What no path can hold (empty parts,
dots) is written with a percent sign, so that keys and paths go one to one.
"""

from __future__ import annotations

from readroom.quoting import quote, unquoted

_MARK = "%"


def path_of(given: str, root: str, *, in_store: bool) -> str:
    """The path of a name, in the form that the engine parses.

    Args:
        given: As a caller writes it.
        root: What stands for the root in sandbox mode.
        in_store: Whether it is a key of a store.
    """
    if in_store:
        return quote(path_of_key(key_meant(given)))
    if given == root:
        return "."
    if given.startswith(f"{root}/"):
        return given[len(root) :].lstrip("/") or "."
    return given


def key_meant(given: str) -> str:
    """The key of a name as a caller writes it: what replies put in quotes may be sent back in them."""
    key = unquoted(given)
    return given if key is None or quote(key) != given else key


def key_sendable(key: str) -> str:
    """A key as a caller can send it: in quotes if it looks like another one in quotes."""
    return key if key_meant(key) == key else quote(key)


def path_of_key(key: str) -> str:
    """The path of a key; `key_of_path` takes it back."""
    return "/".join(map(_marked, key.split("/")))


def key_of_path(path: str) -> str:
    """The key of a path."""
    return "/".join(part[1:] if part.startswith(_MARK) else part for part in path.split("/"))


def _marked(part: str) -> str:
    return _MARK + part if part in ("", ".", "..") or part.startswith(_MARK) else part
