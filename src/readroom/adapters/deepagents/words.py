"""The sentences and tokens of deepagents for failures; what only a workspace knows follows them.

A sentence is that of `FilesystemBackend`.  `LsResult` and the transfers have tokens, which programs compare.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from readroom.adapters.deepagents.contract import ADVICE
from readroom.core.errors.base import brief
from readroom.core.extras import needs
from readroom.core.values import Reply

with needs("deepagents"):
    from deepagents.backends.protocol import FILE_NOT_FOUND, INVALID_PATH, IS_DIRECTORY, PERMISSION_DENIED

NOT_A_FILE: Final = "not_a_file"

TOKENS: Mapping[str, str] = MappingProxyType(
    {
        "not_found": FILE_NOT_FOUND,
        "not_a_file": IS_DIRECTORY,
        "not_a_folder": INVALID_PATH,
        "bad_path": INVALID_PATH,
        "denied": PERMISSION_DENIED,
        "outside_root": PERMISSION_DENIED,
        "no_permission": PERMISSION_DENIED,
        "protected": PERMISSION_DENIED,
        "symbolic_link": PERMISSION_DENIED,
        "hard_linked": PERMISSION_DENIED,
        "read_only_file": PERMISSION_DENIED,
        "read_only_place": PERMISSION_DENIED,
    }
)
"""By code of an error of a workspace: the token of deepagents, for those that have one."""

_VERBS = MappingProxyType({"read": "reading file", "write": "writing file", "edit": "editing file"})


def code(reply: Reply) -> str:
    """The code of a failure."""
    return str(_error(reply)["code"])


def token(reply: Reply) -> str:
    """The token for a failed transfer of a file, or a sentence where there is none."""
    is_other = code(reply) == "not_a_file" and facts(reply).get("what") != "folder"
    is_below_file = code(reply) == "not_found" and "file" in facts(reply)
    if is_other or is_below_file:
        return INVALID_PATH
    return TOKENS.get(code(reply), reply.text)


def of_list(path: str, reply: Reply) -> str:
    """For a listing that failed: deepagents looks for its tokens."""
    tokens = {"not_found": "path_not_found", "not_a_folder": "not_a_directory"}
    known = tokens.get(code(reply))
    return f"Path '{path}': {known}" if known else f"Cannot list '{path}': {_said(reply)}"


def of_loop(path: str) -> str:
    """For a link in a folder that leads back to itself."""
    return f"child error: cannot resolve '{path}': a loop of links"


def of_file(verb: str, path: str, reply: Reply, near: Sequence[str] = ()) -> str:
    """For a file that cannot be read, written or edited; `near` are similar paths."""
    if code(reply) == "not_found" and verb != "write":
        begin = "Error: " if verb == "edit" else ""
        return f"{begin}File '{path}' not found{_guess(near)}"
    return f"Error {_VERBS[verb]} '{path}': {_said(reply)}"


def of_edit(path: str, old_string: str, reply: Reply, near: Sequence[str] = ()) -> str:
    """For an edit that failed, as when its text is not there, or more than once."""
    if code(reply) == "no_match":
        advice = reply.facts[ADVICE]
        return f"Error: String not found in file: '{brief(old_string)}'" + (f". {advice}" if advice else "")
    if code(reply) == "many_matches":
        found = facts(reply)
        lines = list(dict.fromkeys(found["lines"]))
        more = ", ..." if found["count"] > len(found["lines"]) else ""
        return (
            f"Error: String '{brief(old_string)}' appears {found['count']} times in file. "
            "Use replace_all=True to replace all instances, or provide a more specific string with "
            "surrounding context. "
            f"It appears multiple times: in line{'s' if more or lines[1:] else ''} "
            f"{', '.join(map(str, lines))}{more}."
        )
    return of_file("edit", path, reply, near)


def without_newline(times: int) -> str:
    """For an edit whose text ends with the line feed that the end of the file lacks."""
    begin = "Error: old_string ends with a newline, but the file does not end with a newline."
    if times == 1:
        return (
            f"{begin} Retry with the trailing newline removed from old_string "
            "(and from new_string if it also ends with a newline)."
        )
    return (
        f"{begin} With the trailing newline removed, old_string would appear {times} times in the file. "
        "Retry with the trailing newline removed and add surrounding context so the match is unique."
    )


def of_delete(path: str, reply: Reply, near: Sequence[str] = ()) -> str:
    """For a path that cannot be deleted."""
    if code(reply) == "not_found":
        return f"Error: '{path}' not found{_guess(near)}"
    return f"Error deleting '{path}': {_said(reply)}"


def of_search(verb: str, path: str, reply: Reply) -> str:
    """For a search that failed."""
    if code(reply) == "not_found":
        return f"Path '{path}': path_not_found"
    return f"Error {verb} path '{path}': {_said(reply)}"


def of_unread(names: str) -> str:
    """For a search that could not look into some files."""
    return f"Error: One or more files could not be fully searched: {names}"


def past_end(offset: int, total: int | None) -> str:
    """For lines that a file does not have."""
    return f"Line offset {offset} exceeds file length" + ("" if total is None else f" ({total} lines)")


def too_large(path: str, maximum: int) -> str:
    """For a file that is not handed out as it is."""
    return f"File '{path}': Binary file exceeds maximum preview size of {maximum} bytes"


def facts(reply: Reply) -> dict[str, Any]:
    """The facts of a failure."""
    found: dict[str, Any] = _error(reply)["facts"]
    return found


def _said(reply: Reply) -> str:
    """Our sentence, with the token that programs may look for."""
    known = TOKENS.get(code(reply))
    known = NOT_A_FILE if known == IS_DIRECTORY else known
    return reply.text if known is None else f"{reply.text} ({known})"


def _guess(near: Sequence[str]) -> str:
    return f". Did you mean {' or '.join(near)}?" if near else ""


def _error(reply: Reply) -> dict[str, Any]:
    error: Any = reply.facts["error"]
    found: dict[str, Any] = error
    return found
