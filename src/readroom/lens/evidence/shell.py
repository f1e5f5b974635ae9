"""Predict the output of a command line: the lines of files, in order, as far as the line alone decides it.

In command lines, `cat`, `sed -n`, `head`, `tail`, `nl -ba`, `grep -n` and filters after them are understood.
Any other command prints an unknown number of lines. Output that depends on a variable, on the names in a
folder, on a loop or on a subshell is also unknown: a guess about a file is worse than nothing.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from itertools import pairwise

import msgspec
from msgspec.structs import replace


class Piece(msgspec.Struct, frozen=True):
    """The output of a command: at most `count` lines of `file` from `first`, or its last lines (`from_end`).

    A `count` of None is unknown. `search`: it prints matches; `numbered`: each line has its number. `says` is
    the only line that it prints, where that is known, "\\n" for any; one that is `optional` may be missing.
    """

    file: str = ""
    first: int = 1
    count: int | None = None
    from_end: bool = False
    search: bool = False
    numbered: bool = False
    says: str | None = None
    optional: bool = False


UNKNOWN = Piece()
ANY_LINE = "\n"


class Printed(msgspec.Struct, frozen=True):
    """The output of a command line, in order, and the folder in which its shell ends; None if unknown.

    `alone`: nothing runs but what prints the only piece, and ways to its folder before. `changes`: it may
    change files.
    """

    pieces: tuple[Piece, ...] = ()
    folder: str | None = ""
    alone: bool = False
    changes: bool = False

    @property
    def file(self) -> str:
        """The file that the whole output is from, if that is certain."""
        return self.pieces[0].file if self.alone and not self.pieces[0].search else ""


class _Word(msgspec.Struct, frozen=True):
    """A word without its quotes; `fixed`: nothing in it is expanded."""

    text: str
    fixed: bool = True


class _Command(msgspec.Struct, frozen=True):
    """A command of a pipeline. `silent`: its output goes elsewhere; `hushed`: its complaints do."""

    words: tuple[_Word, ...]
    silent: bool = False
    hushed: bool = False


_TOKEN = re.compile(
    r"(?P<blank>(?:[ \t\r]|\\\n)+)|(?P<comment>\#[^\n]*)|(?P<number>\d+)(?=[<>])"
    r"|(?P<mark>\n|;;|&&|\|\||\|&|&>>|&>|<<<|<<-?|>>|>&|<&|>\||<>|[;&|<>()])"
    r"|(?P<word>(?:'[^']*'|\"(?:[^\"\\]|\\.)*\"|\\.|[^\s'\"\\;&|<>()])+)",
    re.DOTALL,
)
_PART = re.compile(r"'([^']*)'|\"((?:[^\"\\]|\\.)*)\"|\\(.)|([^'\"\\]+)", re.DOTALL)
_EXPANDS = re.compile(r"[$`*?\[\]{}!]")
_JOINS = frozenset({";", "\n", "&&", "||"})
_WRITES = frozenset({">", ">>", ">|", "&>", "&>>", ">&"})
_KEYWORDS = frozenset({
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "select",
    "function", "time", "coproc", "!", "{", "}", "[[", "]]", "eval", "exec", "source", ".", "xargs", "sudo",
    "env", "command", "builtin", "trap", "return", "break", "continue",
})  # fmt: skip
"""Words after which a line is not a plain list of commands."""

_CHARS = 10_000


def printed(command: str, folder: str | None = "") -> Printed:
    """The output of a command line that runs in a folder; None is an unknown one."""
    unknown = Printed(
        (UNKNOWN,), None if re.search(r"\b(?:cd|pushd|popd)\b", command) else folder, changes=True
    )
    if len(command) > _CHARS:
        return unknown
    pipelines = list(_pipelines(command))
    if any(pipeline is None for _, pipeline in pipelines):
        return unknown
    pieces: list[Piece] = []
    others = 0
    may_stop = after_chain = False
    base = folder
    for join, pipeline in pipelines:
        if not pipeline:
            continue
        if join not in ("&&", "||") and after_chain:
            base, after_chain = None, False
        name = pipeline[0].words[0].text if pipeline[0].words else ""
        if name == "cd" and len(pipeline) == 1:
            base = _moved(base, pipeline[0]) if join != "||" else None
            after_chain |= join == "&&"
            others += bool(pieces)
            continue
        others += 1
        if name == "set" and any(re.match(r"-\w*[xv]", word.text) for word in pipeline[0].words[1:]):
            return unknown  # what runs is also printed
        sure = join not in ("&&", "||") and not may_stop
        may_stop |= name in ("set", "exit", "kill")
        pieces += (_placed(piece, base, sure) for piece in _pipeline(pipeline))
    changes = UNKNOWN in pieces or any(command.silent for _, stages in pipelines for command in stages or ())
    return Printed(tuple(pieces), None if after_chain else base, others == len(pieces) == 1, changes)


def _placed(piece: Piece, base: str | None, sure: bool) -> Piece:
    if piece.says is not None and not sure:
        return replace(piece, optional=True)
    if not piece.file or piece.file.startswith(("/", "~")) or base == "":
        return piece
    if base is None:
        return replace(piece, file="")
    return replace(piece, file=posixpath.join(base, piece.file))


def _moved(base: str | None, command: _Command) -> str | None:
    words = command.words[1:]
    if len(words) != 1 or not words[0].fixed or command.hushed or words[0].text.startswith(("-", "~")):
        return None
    place = words[0].text
    if base is None and not place.startswith("/"):
        return None
    return posixpath.normpath(posixpath.join(base or "", place)) if place else None


def _pipelines(command: str) -> Iterator[tuple[str, list[_Command] | None]]:
    """The pipelines of a command line, each with the operator before it; None: not understood."""
    join = ";"
    stages: list[_Command] = []
    rest: list[tuple[str, str]] = []
    at = 0
    while at < len(command):
        token = _TOKEN.match(command, at)
        if token is None or token["mark"] in ("&", "(", ")", ";;", "<<", "<<-", "<<<", "|&", "<>"):
            yield join, None
            return
        at = token.end()
        mark = token["mark"]
        if token["blank"] or token["comment"]:
            continue
        if mark in _JOINS or mark == "|":
            if rest or stages:
                stages.append(_command(rest))
            rest = []
            if mark != "|":
                yield join, _understood(stages)
                # A line may end after `&&`.
                join, stages = (join if mark == "\n" and not stages and join in ("&&", "||") else mark), []
        else:
            rest.append((mark or ("number" if token["number"] else ""), token[0]))
    if rest or stages:
        stages.append(_command(rest))
    yield join, _understood(stages)


def _understood(stages: list[_Command]) -> list[_Command] | None:
    names = [stage.words[0].text if stage.words else "" for stage in stages]
    return None if any(name in _KEYWORDS for name in names) or (len(stages) > 1 and "" in names) else stages


def _command(tokens: list[tuple[str, str]]) -> _Command:
    """A command without its redirections and the variables that are set before it."""
    words: list[_Word] = []
    silent = hushed = False
    read_from: _Word | None = None
    number = ""
    mark = ""
    for kind, text in tokens:
        if kind == "number":
            number = text
        elif kind:
            mark = kind
        elif mark:
            target = _word(text)
            to_another = mark == ">&" and target.text.isdigit()
            if mark in _WRITES and not to_another:
                hushed |= number == "2" or mark.startswith("&")
                silent |= number in ("", "1")
            elif mark == "<":
                read_from = target
            number = mark = ""
        else:
            words.append(_word(text))
    while words and re.match(r"[A-Za-z_]\w*\+?=", words[0].text):
        words.pop(0)
    if read_from is not None:
        words.append(read_from)
    return _Command(tuple(words), silent, hushed)


def _word(text: str) -> _Word:
    parts: list[str] = []
    fixed = True
    for part in _PART.finditer(text):
        single, double, escaped, bare = part.groups()
        if double is not None:
            fixed &= not re.search(r"[$`]", re.sub(r"\\.", "", double, flags=re.DOTALL))
            parts.append(re.sub(r"\\([\\\"$`\n])", r"\1", double))
        elif bare is not None:
            fixed &= not _EXPANDS.search(bare)
            parts.append(bare)
        else:
            parts.append(single if single is not None else escaped)
    return _Word("".join(parts), fixed)


_SILENT = frozenset({
    "true", ":", "exit", "export", "set", "unset", "mkdir", "touch", "sleep", "test", "[", "umask",
})  # fmt: skip
_ONE_LINE = frozenset({"pwd", "date", "whoami", "hostname"})
_CATS = {"cat": {"-n", "--number"}, "bat": {"-p", "-pp", "--plain"}, "less": set(), "more": set()}


def _pipeline(stages: list[_Command]) -> list[Piece]:
    *before, last = stages
    if last.silent:
        return []
    if any(stage.silent for stage in before):
        return [UNKNOWN]
    pieces = _source(stages[0].words) if stages[0].words else []
    for stage in stages[1:]:
        pieces = [_filtered(pieces[0], stage.words) if len(pieces) == 1 else UNKNOWN]
    return pieces


def _source(words: tuple[_Word, ...]) -> list[Piece]:
    name = posixpath.basename(words[0].text)
    arguments = [word.text for word in words[1:]]
    options = [word for word in arguments if word.startswith("-")]
    files = [word for word in arguments if not word.startswith("-")]
    if name in _SILENT:
        return []
    if not all(word.fixed for word in words[1:]):
        return [UNKNOWN]
    if name == "echo":
        plain = not options and not any("\\" in word or "\n" in word for word in arguments)
        return [Piece(count=1, says=" ".join(arguments))] if plain else [UNKNOWN]
    if name in _ONE_LINE and not arguments:
        return [Piece(count=1, says=ANY_LINE)]
    if "-" in arguments:
        return [UNKNOWN]
    if name in _CATS:
        numbered = "-n" in options or "--number" in options
        if not set(options) <= _CATS[name] or (len(files) > 1 and (numbered or name != "cat")):
            return [UNKNOWN]
        return [Piece(file, numbered=numbered) for file in files] or [UNKNOWN]
    if name == "nl":
        return _nl(arguments)
    if name == "sed":
        return _sed(arguments)
    if name in ("head", "tail"):
        return _ends(name, arguments)
    if name in ("grep", "rg", "ag", "egrep", "fgrep"):
        return _search(name, arguments)
    if name == "git" and arguments[:1] == ["grep"]:
        return _search("git", arguments[1:])
    return [UNKNOWN]


def _nl(arguments: list[str]) -> list[Piece]:
    """With `-ba`: otherwise blank lines have no numbers."""
    words = " ".join(arguments).replace("-b a", "-ba").split(" ")
    every = [word for word in words if not word.startswith("-")]
    options = {word for word in words if word.startswith("-")}
    if len(every) != 1 or "-ba" not in options or len(options) > 1:
        return [UNKNOWN]
    return [Piece(every[0], numbered=True)]


_SED = re.compile(r"^(\d+)(?:,(\d+|\$))?p$")
_QUIET = frozenset({"-n", "--quiet", "--silent", "-ne", "-nE", "-En", "-nr", "-rn"})


def _sed(words: list[str]) -> list[Piece]:
    options = [word for word in words if word.startswith("-")]
    rest = [word for word in words if not word.startswith("-")]
    if len(options) != 1 or options[0] not in _QUIET or len(rest) != 2:
        return [UNKNOWN]
    pieces: list[Piece] = []
    before = 0
    for part in rest[0].rstrip(";").split(";"):
        span = _SED.match(part.strip())
        if not span or int(span[1]) <= before:
            return [UNKNOWN]  # it prints in the order of the file, and a line twice
        first = int(span[1])
        last = first if span[2] is None else None if span[2] == "$" else max(first, int(span[2]))
        pieces.append(Piece(rest[1], first, None if last is None else last - first + 1))
        before = 2**60 if last is None else last
    return pieces


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
                return [UNKNOWN]
            if number.startswith("+") and name == "tail":
                first, count, from_end = max(1, int(number)), None, False
            else:
                count = int(number)
                from_end = name == "tail"
        elif word in ("-n", "--lines"):
            expects = True
        elif word.startswith("-") or expects:
            return [UNKNOWN]
        else:
            files.append(word)
    shown = [Piece(file, first, count, from_end) for file in files]
    if len(files) <= 1:
        return shown or [Piece("", first, count, from_end)]
    # Each has a head with its name, and a blank line before all but the first.
    headed: list[Piece] = []
    for piece in shown:
        if headed:
            headed.append(Piece(count=1, says="", optional=True))
        headed += [Piece(count=1, says=f"==> {piece.file} <=="), piece]
    return headed


_NO_LINES = frozenset("cloLqzZ")
"""Options of a search without which it prints whole lines with their numbers."""


def _search(name: str, words: list[str]) -> list[Piece]:
    flags = [word for word in words if word.startswith("-")]
    rest = [word for word in words if not word.startswith("-")]
    short = "".join(flag[1:] for flag in flags if not flag.startswith("--"))
    numbers = "n" in short or "--line-number" in flags
    if not numbers or _NO_LINES & {*short} or any(flag.startswith(("--co", "--only")) for flag in flags):
        return [UNKNOWN]
    recursive = "r" in short or "R" in short or name in ("rg", "ag", "git") or len(rest) > 2
    if "h" in short and recursive:
        return [UNKNOWN]
    return [Piece(rest[1] if len(rest) == 2 and not recursive else "", search=True, numbered=True)]


_PIPED = "/dev/stdin"
"""The file of a filter that names none."""


def _filtered(piece: Piece, words: tuple[_Word, ...]) -> Piece:
    """The lines of a piece that a filter in a pipeline keeps."""
    name = posixpath.basename(words[0].text)
    arguments = [word.text for word in words[1:]]
    if not all(word.fixed for word in words[1:]) or piece.says is not None:
        return UNKNOWN
    if name in ("head", "tail"):
        limits = _ends(name, arguments)
        if len(limits) != 1 or limits[0].file or (limits[0] == UNKNOWN):
            return UNKNOWN
        if piece.search:
            return piece if piece.numbered else UNKNOWN
        return _limited(piece, limits[0])
    if piece.search:
        kept = name in ("sort", "grep", "rg") and not any(word.startswith("-") for word in arguments)
        return piece if kept or (name == "cat" and not arguments) else UNKNOWN
    if name in ("cat", "less", "more") and not arguments:
        return piece
    whole = bool(piece.file) and piece.first == 1 and piece.count is None and not piece.from_end
    if name == "cat" and arguments in (["-n"], ["--number"]) and whole:
        return replace(piece, numbered=True)
    if name == "nl" and whole and _nl([*arguments, _PIPED]) != [UNKNOWN]:
        return replace(piece, numbered=True)
    if name == "sed" and whole:
        parts = _sed([*arguments, _PIPED])
        if len(parts) == 1 and parts[0].file == _PIPED:
            return replace(parts[0], file=piece.file, numbered=piece.numbered)
    if name in ("grep", "rg") and piece.numbered and not any(word.startswith("-") for word in arguments):
        return piece
    return UNKNOWN


def _limited(piece: Piece, limit: Piece) -> Piece:
    if piece.numbered:
        return replace(piece, first=1, count=None) if piece.file else UNKNOWN
    if not piece.file:
        return Piece(count=limit.count)
    if not limit.from_end and limit.first == 1 and limit.count is not None and not piece.from_end:
        count = limit.count if piece.count is None else min(limit.count, piece.count)
        return replace(piece, count=count)
    if limit.from_end and piece.count is None and piece.first == 1 and not piece.from_end:
        return replace(piece, count=limit.count, from_end=True)
    if limit.from_end and piece.from_end and limit.count is not None and piece.count is not None:
        return replace(piece, count=min(limit.count, piece.count))
    return UNKNOWN


# -----------------------------------------------------------------------------
# Whether a command line only shows content of files, in whatever way, or runs something that may fail.
# -----------------------------------------------------------------------------

_READERS = frozenset({
    "cat", "bat", "less", "more", "nl", "sed", "head", "tail", "grep", "egrep", "fgrep", "rg", "ag", "awk",
    "gawk", "find", "fd", "ls", "tree", "wc", "sort", "uniq", "cut", "tr", "column", "paste", "rev", "tac",
    "fold", "fmt", "diff", "comm", "cmp", "xxd", "hexdump", "od", "strings", "jq", "yq", "file", "stat",
    "zcat", "gunzip", "tee", "base64", "cd",
    "pushd", "popd", "echo", "printf", "pwd", "basename", "dirname", "read",
    "expr", "seq", "date", "Get-Content", "type",
})  # fmt: skip
_GIT_READERS = frozenset({
    "show", "diff", "log", "blame", "grep", "cat-file", "ls-files", "ls-tree", "status", "branch",
})  # fmt: skip
_LEADERS = _KEYWORDS - {"source", ".", "eval", "in"}
_SHELLS = frozenset({"sh", "bash", "zsh", "dash"})
_NESTED = 3
_ENDS_COMMAND = _JOINS | {"|", "|&", "&", "(", ")", ";;"}
_REDIRECTS = _WRITES | {"<", "<&", "<>", "<<<"}


def only_reads(command: str, depth: int = _NESTED) -> bool:
    """Whether every program of a command line only shows content of files."""
    words: list[str] = []
    lines: list[list[str]] = []
    is_target = False
    at = 0
    while at < len(command):
        token = _TOKEN.match(command, at)
        if token is None or len(command) > _CHARS:
            return False
        at = token.end()
        if token["mark"] in _ENDS_COMMAND:
            lines.append(words)
            words = []
        elif token["word"] and not is_target:
            words.append(_word(token[0]).text)
        is_target = token["mark"] in _REDIRECTS or (is_target and token["blank"] is not None)
    return all(_reads(line, depth) for line in [*lines, words])


def _reads(words: list[str], depth: int) -> bool:
    if words[:1] == ["for"] or words[:1] == ["case"]:
        return True
    while words and (words[0] in _LEADERS or re.match(r"[A-Za-z_]\w*\+?=", words[0])):
        words = words[1:]
        while words and words[0].startswith("-"):
            words = words[1:]
    if not words:
        return True
    name = posixpath.basename(words[0])
    if name in _SHELLS and len(words) > 2 and words[1] in ("-c", "-lc"):
        return depth > 0 and only_reads(words[2], depth - 1)
    if name == "git":
        plain = (after for before, after in pairwise(words) if before not in ("-C", "-c"))
        return next((word for word in plain if not word.startswith("-")), "") in _GIT_READERS
    runs = next(
        (words[at + 1 : at + 2] for at, word in enumerate(words) if word in ("-exec", "-execdir")), []
    )
    return (name in _READERS or name in _SILENT) and all(posixpath.basename(one) in _READERS for one in runs)
