"""Read the names that rg skipped in a walk from its debug log: hidden, ignored, and not regular files.

The log is made for people: a name can contain text that looks like an end of a line, and a name that is not
UTF-8 is changed in it.  Whenever that is possible, `sure` is false, and the names have to be found in another
way.
"""

from __future__ import annotations

import os
import re
from typing import final

LOSSY = "\ufffd".encode()

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
        if match is None or sum(map(line.count, _REASONS)) != 1 or LOSSY in match[1]:
            self.sure = False
            return
        name = os.fsdecode(match[1])
        if match[2] is None:
            (self.links if match[3] == b"true" else self.special).add(name)
        elif match[2] == b"Hidden":
            self.hidden.add(name)
        elif match[2] == b"Gitignore":
            self.ignored.add(name)
