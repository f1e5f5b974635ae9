"""Recognize the request of a call: the kind of its tool, and its file.

Names of tools are data: an unknown client also works if it names its tools as others do.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from itertools import islice

from readroom.core.tool_kinds import KINDS, Kind, bare_name
from readroom.lens.limits import FILES_OF_CALL
from readroom.lens.records.events import Arguments, short_name
from readroom.lens.records.values import as_object

PATH_CHARS = 1_000
"""Maximum length of a file's path, likewise: the policy depends on its ends."""


_RUNNERS = frozenset({"sh", "bash", "zsh", "python", "python3", "node", "ruby", "perl"})


def script(command: str) -> str:
    """The script a command line runs, as in `sh scripts/check.sh`; empty where it runs none."""
    words = command.split(maxsplit=3)
    runs = len(words) >= 2 and words[0] in _RUNNERS and not words[1].startswith("-")
    return words[1] if runs else ""


_PATHS = (
    "file_path", "filePath", "absolute_path", "path", "target_file", "filename", "file", "relative_path",
    "notebook_path", "notebookPath", "filepath",
)  # fmt: skip
_FOLDERS = ("dir_path", "path", "directory", "include_path", "paths", "dirpath")
_COMMANDS = ("command", "cmd", "script", "code")


def kind_of(tool: str, arguments: Arguments) -> Kind:
    """The kind of a call of `tool`."""
    name = bare_name(tool)[0].lower()
    kind = KINDS.get(name)
    if kind == "edit" and arguments.get("command") in ("view", "create"):
        return "read" if arguments["command"] == "view" else "write"
    if kind is not None:
        return kind
    if name == "git" and arguments.get("show") == "blame":
        return "read"
    return "command" if command_of(arguments) else "other"


def path_of(arguments: Arguments) -> str:
    """The path in a call, as the model wrote it; empty if it has none."""
    return _first_text(arguments, _PATHS)


def paths_of(arguments: Arguments) -> list[str]:
    """The paths that a call names: one, or those of a list."""
    path = path_of(arguments)
    if path:
        return [path]
    several = arguments.get("files", arguments.get("paths"))
    files = several[:FILES_OF_CALL] if isinstance(several, list) else []
    return [file.strip() if isinstance(file, str) else path_of(as_object(file)) for file in files]


_PATCHED = re.compile(r"^\*\*\* (?:(?:Update|Add|Delete) File|Move to): (.{1,1000})$", re.MULTILINE)


def patched(text: str) -> list[str]:
    """The files that a patch names, in its order."""
    return [match[1] for match in islice(_PATCHED.finditer(text), FILES_OF_CALL)]


def patch_of(arguments: Arguments) -> str:
    """The text of a patch in a call; empty if it has none."""
    texts = (arguments.get(name) for name in ("input", "text", "patch", "patchText", "patch_text"))
    return next((text for text in texts if isinstance(text, str)), "")


def folder_of(arguments: Arguments) -> str:
    """The folder a search or listing names, empty where it names none."""
    return _first_text(arguments, _FOLDERS)


def _first_text(arguments: Arguments, names: tuple[str, ...]) -> str:
    values = (arguments.get(name) for name in names)
    return next((value.strip() for value in values if isinstance(value, str) and value.strip()), "")


def command_of(arguments: Arguments) -> str:
    """The command line a call runs; a list of words is joined, and `bash -lc TEXT` is TEXT."""
    for name in _COMMANDS:
        value = arguments.get(name)
        if isinstance(value, str) and value.strip():
            return value
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            if len(value) >= 3 and value[0].rpartition("/")[2] in ("bash", "sh", "zsh"):
                return str(value[-1])
            return " ".join(value)
    return ""


_WINDOWS = re.compile(r"[A-Za-z]:[\\/]|\\\\")
"""The start of a Windows path: a drive, or the name of a server."""


_AFRESH = frozenset({
    "exec_command", "run_shell_command", "run_command", "shell",
    "local_shell", "shell_command", "execute_command", "run_commands",
})  # fmt: skip
"""Tools whose commands each begin in the folder of the session; a shell of others may be elsewhere."""

_WORKED_IN = (
    "workdir", "cwd", "working_directory", "workingDirectory", "working_dir", "dir_path", "directory",
)  # fmt: skip


def begins_afresh(tool: str) -> bool:
    """Whether a command begins where the session began, wherever the one before ended."""
    return bare_name(tool)[0] in _AFRESH


def worked_in(arguments: Arguments) -> str:
    """The folder in which a command line is to run, empty where the call names none."""
    return _first_text(arguments, _WORKED_IN)


def name_of_file(path: str, root: str) -> str:
    """The name of a file in reports: relative to the session's folder if it is below it, and normalized."""
    if not path:
        return ""
    fold: Callable[[str], str] = str
    if _WINDOWS.match(path) or _WINDOWS.match(root):
        path, root, fold = path.replace("\\", "/"), root.replace("\\", "/"), str.lower
    normal = posixpath.normpath(path)
    root = root.rstrip("/")
    if root and fold(normal) == fold(root):
        return "."
    if root and fold(normal).startswith(fold(root) + "/"):
        normal = normal[len(root) + 1 :]
    return short_name(normal.removeprefix("./"), PATH_CHARS)


def requested_range(arguments: Arguments) -> tuple[int | None, int | None]:
    """The first line and the number of lines of a read; None if the arguments do not have them.

    Some clients count `offset` from 0: callers first check the numbers in the text itself.
    """
    pair = arguments.get("view_range")
    if isinstance(pair, list) and len(pair) == 2 and all(isinstance(bound, int) for bound in pair):
        first, last = pair
        return first, (last - first + 1 if last >= first else None)
    first = _number(arguments, "start_line", "offset", "line_start", "startLine", "start")
    last = _number(arguments, "end_line", "line_end", "endLine", "end")
    limit = _number(arguments, "limit", "line_count", "lines")
    if limit is None and last is not None:
        limit = max(0, last - (first or 1) + 1)
    return first, limit


def _number(arguments: Arguments, *names: str) -> int | None:
    for name in names:
        value = arguments.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**40:
            return value
    return None
