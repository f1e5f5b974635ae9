"""What a call asks for: the kind of its tool, its file, and the lines that a command line prints.

Names of tools are data: an unknown client works, too, if it names its tools as others do.

Of command lines, `cat`, `sed -n`, `head`, `tail`, `nl`, `grep` and filters behind them are understood. Any
other command gives no lines, and neither does what follows output of unknown length.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

from readroom.lens.records.events import Arguments, short_name
from readroom.lens.records.values import as_object
from readroom.limits.lens import FILES_OF_CALL, PATH_CHARS


class Piece(msgspec.Struct, frozen=True):
    """What one command prints: `count` lines of `file` from `first`, or its last lines (`from_end`).

    A `count` of None is unknown. `search`: it prints matches; `numbered`: each line has its number.
    """

    file: str = ""
    first: int = 1
    count: int | None = None
    from_end: bool = False
    search: bool = False
    numbered: bool = False


_SED = re.compile(r"^(\d+)(?:,(\d+|\$))?p$")
_SEPARATORS = frozenset({";", "&&", "||", "&", "\n"})


def pieces(command: str, folder: str = "") -> list[Piece]:
    """What a command line prints, in order."""
    if len(command) > 10_000 or "<<" in command:
        return []
    try:
        lexer = shlex.shlex(command.replace("\n", " ; "), posix=True, punctuation_chars=";&|<>()")
        lexer.whitespace_split = True
        lexer.commenters = ""
        words = list(lexer)
    except ValueError:
        return []
    printed: list[Piece] = []
    base = folder
    for pipeline in _split(words, _SEPARATORS):
        stages = _split(pipeline, frozenset({"|"}))
        if not stages:
            continue
        if stages[0][0] == "cd" and len(stages[0]) == 2:
            base = posixpath.join(base, stages[0][1]) if base else stages[0][1]
            continue
        printed += _pipeline(stages, base)
    return printed


_RUNNERS = frozenset({"sh", "bash", "zsh", "python", "python3", "node", "ruby", "perl"})


def script(command: str) -> str:
    """The script a command line runs, as in `sh scripts/check.sh`; empty where it runs none."""
    words = command.split(maxsplit=3)
    runs = len(words) >= 2 and words[0] in _RUNNERS and not words[1].startswith("-")
    return words[1] if runs else ""


def _split(words: list[str], marks: frozenset[str]) -> list[list[str]]:
    groups: list[list[str]] = [[]]
    for word in words:
        if word in marks:
            groups.append([])
        else:
            groups[-1].append(word)
    return [group for group in groups if group]


def _pipeline(stages: list[list[str]], base: str) -> list[Piece]:
    first = _without_redirects(stages[0])
    printed = _source(first) if first else [Piece()]
    for stage in stages[1:]:
        printed = [_filtered(printed[0], _without_redirects(stage))] if len(printed) == 1 else [Piece()]
    return [
        msgspec.structs.replace(piece, file=posixpath.join(base, piece.file))
        if piece.file and base
        else piece
        for piece in printed
    ]


def _without_redirects(words: list[str]) -> list[str]:
    kept: list[str] = []
    skip = False
    for index, word in enumerate(words):
        if skip:
            skip = False
        elif word in (">", ">>", "<", ">&", "&>"):
            skip = True
            if kept and kept[-1].isdigit() and word.startswith(">") and index:
                kept.pop()
        else:
            kept.append(word)
    return kept


def _source(words: list[str]) -> list[Piece]:
    name = posixpath.basename(words[0])
    files = [word for word in words[1:] if not word.startswith("-")]
    if name in ("echo", "printf"):
        return [Piece(count=1)] if name == "echo" else [Piece()]
    if name in ("true", ":", "cd", "exit", "export", "set", "mkdir", "touch", "sleep"):
        return []
    if name in ("cat", "bat", "less", "more"):
        mark = any(word in ("-n", "--number") for word in words)
        return [Piece(file, numbered=mark) for file in files] or [Piece()]
    if name == "nl":
        return [Piece(files[-1], numbered=True)] if files else [Piece()]
    if name == "sed":
        return _sed(words[1:])
    if name in ("head", "tail"):
        return _ends(name, words[1:])
    if name in ("grep", "rg", "ag", "egrep", "fgrep", "git"):
        return _search(name, words[1:])
    return [Piece()]


def _sed(words: list[str]) -> list[Piece]:
    quiet = any(word in ("-n", "--quiet", "-ne", "-nE", "-En") for word in words)
    rest = [word for word in words if not word.startswith("-")]
    if not quiet or len(rest) != 2:
        return [Piece()]
    printed: list[Piece] = []
    for part in rest[0].split(";"):
        span = _SED.match(part.strip())
        if not span:
            return [Piece()]
        first = int(span[1])
        last = first if span[2] is None else None if span[2] == "$" else int(span[2])
        printed.append(Piece(rest[1], first, None if last is None else max(0, last - first + 1)))
    return printed


_LINES_OPTION = re.compile(r"-(?:n\+?)?\d+|--lines=.*")


def _ends(name: str, words: list[str]) -> list[Piece]:
    count: int | None = 10
    first = 1
    from_end = name == "tail"
    files: list[str] = []
    expects = False
    for word in words:
        if expects or _LINES_OPTION.fullmatch(word):
            number = word if expects else word.lstrip("-").removeprefix("lines=").removeprefix("n")
            expects = False
            if not re.match(r"^\+?\d+$", number):
                return [Piece()]
            if number.startswith("+") and name == "tail":
                first, count, from_end = int(number), None, False
            else:
                count = int(number)
        elif word in ("-n", "--lines"):
            expects = True
        elif word.startswith("-"):
            return [Piece()] if word not in ("-q", "-v") else []
        else:
            files.append(word)
    if len(files) != 1:
        return [Piece()] if files else [Piece("", first, count, from_end)]
    return [Piece(files[0], first, count, from_end)]


def _search(name: str, words: list[str]) -> list[Piece]:
    if name == "git":
        return [Piece(search=True)] if words[:1] == ["grep"] else [Piece()]
    flags = [word for word in words if word.startswith("-")]
    rest = [word for word in words if not word.startswith("-")]
    short = "".join(flag[1:] for flag in flags if not flag.startswith("--"))
    if "c" in short or "l" in short:
        return [Piece()]
    numbers = "n" in short or "--line-number" in flags
    recursive = "r" in short or "R" in short or name in ("rg", "ag") or len(rest) > 2
    single = rest[1] if len(rest) == 2 and not recursive else ""
    return [Piece(single, search=True, numbered=numbers)]


_PIPED = "/dev/stdin"
"""The file of a filter that names none."""


def _filtered(piece: Piece, words: list[str]) -> Piece:
    """What a filter in a pipeline leaves of the lines of a piece."""
    name = posixpath.basename(words[0]) if words else ""
    if piece.search:
        return piece if name in ("head", "tail", "sort", "grep", "rg") else Piece()
    if name in ("cat", "less", "more"):
        return piece
    if name == "nl":
        return msgspec.structs.replace(piece, numbered=True)
    if name in ("head", "tail"):
        (limit,) = _ends(name, words[1:]) or [Piece()]
        return _limited(piece, limit) if not limit.file else Piece()
    if name == "sed":
        parts = _sed([*words[1:], _PIPED]) if len(words) > 1 else [Piece()]
        whole = piece.file and piece.first == 1 and piece.count is None
        if whole and len(parts) == 1 and parts[0].file == _PIPED:
            return msgspec.structs.replace(parts[0], file=piece.file, numbered=piece.numbered)
    if name in ("grep", "rg") and piece.numbered:
        return piece
    return Piece()


def _limited(piece: Piece, limit: Piece) -> Piece:
    if not limit.from_end and limit.first == 1 and limit.count is not None and not piece.from_end:
        count = limit.count if piece.count is None else min(limit.count, piece.count)
        return msgspec.structs.replace(piece, count=count)
    if limit.from_end and limit.count is not None and not piece.from_end:
        if piece.count is None:
            return msgspec.structs.replace(piece, first=1, count=limit.count, from_end=True)
        count = min(limit.count, piece.count)
        return msgspec.structs.replace(piece, first=piece.first + piece.count - count, count=count)
    if limit.from_end and piece.from_end and limit.count is not None and piece.count is not None:
        return msgspec.structs.replace(piece, count=min(limit.count, piece.count))
    return Piece()


Kind: TypeAlias = Literal["read", "search", "list", "edit", "write", "command", "agent", "other"]

_KINDS: dict[str, Kind] = {}
for _kind, _names in {
    "read": "read read_file readfile notebookread notebook_read view view_file view_range view_image "
    "open_file cat fetch_file get_file_contents read_text_file read_media_file read_file_content open goto "
    "scroll_up scroll_down",
    "search": "grep grep_search grep_files search search_file_content search_files search_for_pattern "
    "ripgrep "
    "rg codebase_search find_relevant search_dir search_file",
    "list": "ls glob list list_directory list_dir find_file find_files list_files directory_tree",
    "edit": "edit edit_file replace str_replace multiedit multi_edit apply_patch patch insert "
    "str_replace_editor str_replace_based_edit_tool replace_in_file search_replace",
    "write": "write write_file create create_file save_file notebookedit notebook_edit",
    "command": "bash shell run_shell_command run_command exec_command execute_command terminal local_shell "
    "exec shell_command bashoutput bash_output taskoutput task_output powershell "
    "python run_terminal_cmd write_stdin",
    # Not the tools `search`, `fetch`, `write` and `read` of servers with these names.
    "other": "web_search web_fetch google_web_search google_search code_search tool_search memory_search "
    "todo_write todo_read",
    "agent": "agent task spawn_agent invoke_agent wait_agent dispatch_agent new_task subagent",
}.items():
    _KINDS |= dict.fromkeys(_names.split(), _kind)  # type: ignore[arg-type]

_PATHS = (
    "file_path", "filePath", "absolute_path", "path", "target_file", "filename", "file", "relative_path",
    "notebook_path", "notebookPath",
)  # fmt: skip
_FOLDERS = ("dir_path", "path", "directory", "include_path")
_COMMANDS = ("command", "cmd", "script", "code")


def bare_name(tool: str) -> tuple[str, str]:
    """A tool's own name and its server: `mcp__SERVER__TOOL`, `mcp_SERVER_TOOL` or `SERVER_TOOL`."""
    name = tool.strip()
    for prefix, between in (("mcp__", "__"), ("mcp_", "_")):
        if name.startswith(prefix):
            server, _, rest = name.removeprefix(prefix).partition(between)
            return (rest, server) if rest else (server, "")
    folded = name.lower()
    if folded not in _KINDS:
        server, _, rest = name.partition("_")
        if server and rest.lower() in _KINDS:
            return rest, server
    return name, ""


def kind_of(tool: str, arguments: Arguments) -> Kind:
    """What a call of `tool` does."""
    name = bare_name(tool)[0].lower()
    kind = _KINDS.get(name)
    if kind == "edit" and arguments.get("command") in ("view", "create"):
        return "read" if arguments["command"] == "view" else "write"
    if kind is not None:
        return kind
    return "command" if command_of(arguments) else "other"


def path_of(arguments: Arguments) -> str:
    """The path a call names, as the model wrote it; empty where it names none."""
    return _first_text(arguments, _PATHS)


def paths_of(arguments: Arguments) -> list[str]:
    """The paths that a call names: one, or those of a list."""
    path = path_of(arguments)
    if path:
        return [path]
    several = arguments.get("files", arguments.get("paths"))
    files = several[:FILES_OF_CALL] if isinstance(several, list) else []
    return [file.strip() if isinstance(file, str) else path_of(as_object(file)) for file in files]


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
"""How a Windows path begins: with a drive, or with the name of a server."""


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


def asked_range(arguments: Arguments) -> tuple[int | None, int | None]:
    """The first line and the number of lines a read asks for; None where the arguments do not say.

    Some clients count `offset` from 0: callers look first at what the text says of itself.
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
