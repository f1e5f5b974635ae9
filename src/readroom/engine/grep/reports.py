r"""Which files rg takes for binary, by what it says of them in its log.

A pass over a tree ends with a file at its first NUL, finds nothing in it, and tells
nobody but its log.  UTF-16 and UTF-32 without a mark are among these files, so that whoever
reads the log need not look at how all others begin.

The log is made for people: a name can hold what looks like an end of a line, and one that
is not UTF-8 is not in it as it is.  Wherever that could be, `sure` is false and nothing is
concluded.  No other rg than the one that comes with this package is read like this.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import final

from readroom.limits import GREP_REPORTED_FILES
from readroom.search.ripgrep import comes_with_us

_LOG = b"rg: DEBUG|"
_CLAIM = b"found binary data"
_BINARY = re.compile(
    rb"rg: DEBUG\|grep_printer::summary\|crates/printer/src/summary\.rs:\d+: "
    rb"ignoring \./(.*): found binary data at offset \d+"
)
_PRINTER = b"rg: DEBUG|grep_printer::"
_LOSSY = "\ufffd".encode()


@final
class Reports:
    """Of one pass, or of several of which each sees all that the ones before it saw.

    Attributes:
        binary: Names of binary files, relative to the searched folder, in no order.
        sure: Whether these are all of them.
    """

    def __init__(self) -> None:
        self.binary: set[str] = set()
        self.sure = comes_with_us()
        self._left = b""

    def flags(self) -> Sequence[str]:
        """What makes rg tell, for a pass that begins."""
        self._left = b""
        return ["--debug"] if self.sure else []

    def add(self, data: bytes) -> bytes:
        """Take some of the messages; those that are no log."""
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
                self.binary.add(os.fsdecode(match[1]))
        return logged
