"""Names of files in inspect_agents and their paths, and calls for requests.

In store mode every string is a key of its own: `a//b`, `/a/b` and `../a` are three files, and none leads
anywhere else. What a path cannot hold (empty parts, dots) is written with a percent sign, so that each key
has one path.
"""

from __future__ import annotations

from readroom.core.contracts.base import call_of
from readroom.core.quoting import as_value, quote, unquoted
from readroom.core.values import Call, Fact, ReadRequest, Request
from readroom.core.values.changes import EditRequest, WriteRequest

_MARK = "%"
_NAMELESS = "%-"
"""Replaces the last part of a key if that is empty."""


def path_of(name: str, root: str, *, in_store: bool) -> str:
    """The path of a name, in the form that the engine parses.

    Args:
        name: As a caller writes it.
        root: The name of the root in sandbox mode.
        in_store: Whether it is a key of a store.
    """
    if in_store:
        return quote(path_of_key(key_meant(name)))
    if name == root:
        return "."
    if name.startswith(f"{root}/"):
        return name[len(root) :].lstrip("/") or "."
    return name


def key_meant(name: str) -> str:
    """The key of a name as a caller writes it: quoted names in replies may be sent back."""
    key = unquoted(name)
    return name if key is None or quote(key) != name else key


def key_sendable(key: str) -> str:
    """A key as a caller can send it: in quotes if it looks like another one in quotes."""
    return key if key_meant(key) == key else quote(key)


def path_of_key(key: str) -> str:
    """The path of a key; `key_of_path` takes it back."""
    *folders, name = key.split("/")
    # The key "" is not a folder above the key "/a".
    return "/".join([*map(_marked, folders), _marked(name) if name else _NAMELESS])


def key_of_path(path: str) -> str:
    """The key of a path."""
    return "/".join(map(_unmarked, path.split("/")))


def _marked(part: str) -> str:
    return _MARK + part if part in ("", ".", "..") or part.startswith(_MARK) else part


def _unmarked(part: str) -> str:
    return "" if part == _NAMELESS else part.removeprefix(_MARK)


# -----------------------------------------------------------------------------
# The calls of inspect_agents for requests, for its hints.
# -----------------------------------------------------------------------------

READ = "read_file"
FILES = "files"


def to_call(request: Request, *, in_store: bool) -> Call | None:
    """The call for a request; for one that no tool of this contract can perform, the list of files.

    None for the rest of a line: no tool here shows it.
    """

    def name(path: str) -> str:
        return key_sendable(key_of_path(path)) if in_store else as_value(path)

    match request:
        case ReadRequest() if request.column > 1:
            return None
        case ReadRequest():
            offset = request.offset - 1 if request.offset is not None and request.offset > 1 else None
            return call_of(READ, file_path=name(request.path), offset=offset, limit=request.limit)
        case WriteRequest():
            return _files("write", file_path=name(request.path), content=request.content)
        case EditRequest() if len(request.edits) == 1:
            edit = request.edits[0]
            texts: dict[str, Fact] = {"old_string": edit.old_text, "new_string": edit.new_text}
            if edit.replace_all:
                texts["replace_all"] = True
            if request.dry_run:
                texts["dry_run"] = True
            return _files("edit", file_path=name(request.path), **texts)
    return _files("ls")


def _files(command: str, **parameters: Fact) -> Call:
    return Call(FILES, {"params": {"command": command, **parameters}})
