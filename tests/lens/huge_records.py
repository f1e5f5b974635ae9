"""Records of any size that are made to hurt, in the form of every client: lines of 100 MB, lines that are cut
or written by two processes, binary, and texts that drive a terminal, a browser, a spreadsheet or a path.

`python -m tests.lens.huge_records FORM PATH SIZE` writes one.
"""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from pathlib import Path

from tests.lens.hostile_records import FORMS, Call, hostile_call, long_text

LONG_TEXT_BYTES = 100_000_000
_MEDIUM_BYTES = 300_000
_SMALL_CALLS = 4_000
"""Calls as in smaller records come first: some 13 MB."""

_ESCAPES = rb"\u001b]0;owned\u0007\u001b[2J<script>alert(1)</script><img src=x onerror=alert(2)>\u202e\ufeff"
_FORMULA = rb"=cmd|' /C calc'!A0,+1+1,@SUM(A1),-2\t../../../../etc/passwd\n"

_LONG = (
    b"some words of a line \\u00e9\\n",
    b"\\ud83d\\ude00",
    "\U0001f600".encode(),
    b'\\\\\\"\\u005c',
    b"7\\tx\\n",
    b'","again":"' + b"x" * 900_000,
    b'","values":[' + b"[],{}," * 1000 + b'0],"more":"',
)
"""What texts of 100 MB are made of: lines, halves of characters, characters of four bytes, escapes, short
lines; very many texts of 900 kB in one object, and very many values.
"""

_BINARY = bytes(byte for byte in range(256) if byte not in b'"\\')
_BROKEN = (b"cut here\n", b'x"}]}}{"type":"user","uuid":"u","x":"', bytes(range(256)), b"\0" * 4096)
"""What breaks a line: an end in its middle, another that begins in it, every byte there is, and none."""


class _Calls:
    """The calls of a huge record; where a form is one document, nothing breaks it but its end."""

    def __init__(self, breaks: bool) -> None:
        self._breaks = breaks

    def __call__(self, number: int) -> Call:
        id, arguments, text = hostile_call(number)
        if number < _SMALL_CALLS:
            return id, arguments, text
        if number % 9 == 1:
            return id, arguments, long_text(_LONG[number // 9 % len(_LONG)], LONG_TEXT_BYTES)
        if self._breaks and not number % 5:
            return id, arguments, long_text(_BROKEN[number // 5 % len(_BROKEN)], 1)
        if not number % 4:
            return id, arguments, long_text(_BINARY, _MEDIUM_BYTES)
        return id, arguments, long_text((_ESCAPES + rb"\n", _FORMULA)[number % 2], _MEDIUM_BYTES)


_OF_LINES = frozenset({
    "Claude Code", "Codex", "Gemini CLI", "Qwen Code", "GitHub Copilot CLI", "pi", "OpenTelemetry",
    "openai-agents", "readroom",
})  # fmt: skip
_CUT_BYTES = 5_000


def write(form: str, path: Path, size: int) -> Path:
    """A record of this form and at least so many bytes; what can be cut short is."""
    FORMS[form](path, size, _Calls(form in _OF_LINES))
    if form == "opencode":
        with closing(sqlite3.connect(path)) as connection, connection:
            long = "i" * LONG_TEXT_BYTES
            connection.execute("INSERT INTO session VALUES (?, ?, ?, '1')", (long, long, long))
            connection.execute("INSERT INTO message VALUES (?, 's1', '{}')", (long,))
    elif form != "Inspect AI":
        with path.open("r+b") as stream:
            stream.truncate(path.stat().st_size - _CUT_BYTES)
    return path


if __name__ == "__main__":
    write(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
