"""The shell of commands: bash where the system has one, since that is what models write for, or else sh.

A reply from sh warns of forms that only bash knows.  Some of them do not fail in sh: `&>` starts the program
in the background, and its failure is lost.

Knows: where bash is, and which forms sh parses differently. Does not know: how commands are confined.
May be touched: freely; a form is a row.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from readroom.core.values.files import Warn

_BASH = ("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/run/current-system/sw/bin/bash")
"""Never from PATH, which may name a folder of the workspace."""

_SH = "/bin/sh"

_ENV = "/usr/bin/env"

_WITHOUT_FILES = ("--norc", "-p")
"""bash reads no file of its own: with -p not even the one that BASH_ENV names."""


class Shell(Struct, frozen=True):
    """A shell: its name for replies, its path and the options that it gets."""

    name: str
    path: str
    options: tuple[str, ...] = ()

    def line(self, command: str, variables: Sequence[tuple[str, str]] = ()) -> list[str]:
        """The words that run a command; `variables` are added to its environment."""
        words = ["--", command] if self.options else [command]
        # Not in the environment of the program that confines it: a caller could load code into that one.
        first = [_ENV, *(f"{name}={value}" for name, value in variables)] if variables else []
        return [*first, self.path, *self.options, "-c", *words, self.name]


def found() -> Shell:
    """The shell that commands are run by."""
    for path in _BASH:
        if os.access(path, os.X_OK):
            return Shell("bash", os.path.realpath(path), _WITHOUT_FILES)
    return Shell("sh", _SH)


# -----------------------------------------------------------------------------
# Forms that sh parses differently.
# -----------------------------------------------------------------------------

_NAMED = 3
"""Maximum forms in one warning; a person who fixes these will look for more."""

_START = r"(?:^|[;&|(!{]|\b(?:if|elif|while|until|then|do|else)\b)[ \t]*"
"""The beginning of a command."""

_FORMS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(form, re.M), sentence)
    for form, sentence in (
        (r"(?<!&)&>", "`&>` starts it in the background, and its exit code is lost: write `> FILE 2>&1`"),
        (r"\|&", "`|&`: write `2>&1 |`"),
        (_START + r"\[\[\s", "`[[ ]]`: write `[ ]`"),
        (r"(?<!\$)\{[^\s{}$]{0,99}(?:,|\.\.)[^\s{}]{0,99}\}", "`{a,b}` stays as it is: write the words"),
        (_START + r"source\s", "`source`: write `.`"),
        (r"\bpipefail\b", "`pipefail`: a pipe has the exit code of its last program"),
        (r"<<<", "`<<<`: write `printf '%s\\n' TEXT |`"),
        (r"[<>]\((?!\()", "`<( )`: write into a file first"),
        (r"(?:^|[\s;&|(])\w+\+?=\(|\$\{!?\w+\[", "arrays: use words or lines"),
        (_START + r"function\s", "`function`: write `NAME() {`"),
        (_START + r"echo[ \t]+-\w{0,9}e", "`echo -e` prints -e: write `printf`"),
        (r"\bPIPESTATUS\b", "`PIPESTATUS`: only the last program's exit code is known"),
        (_START + r"(?:declare|typeset|shopt|mapfile|readarray|let|pushd|popd)\s", "a builtin of bash"),
        (r"(?<!\$)\(\(", "`(( ))`: write `[ $(( )) -ne 0 ]`"),
        (r"\$''", "`$'...'`: use `printf`"),
        (r"\$\{\w+(?:\^|,|/|:[\d\s])", "`${x/a/b}` and its like: use `sed`"),
        (r"\[\s[^\]\n]{0,99}\s==\s", "`==` in `[ ]`: write `=`"),
    )
)
"""Forms outside of quotes, and what to write instead. No form is long: a command can be."""

_QUOTED = re.compile(r"\\.|'[^']*'|\"(?:[^\"\\]|\\.)*\"", re.S)
_COMMENT = re.compile(r"(?:^|(?<=\s))#[^\n]*", re.M)
_HERE = re.compile(r"(?<!<)<<-?\s*(['\"\\]?)(\w+)(?!\w)")


def misread(command: str) -> Iterator[Warn]:
    """Warnings about the parts of a bash command that sh parses differently."""
    bare = _COMMENT.sub("", _QUOTED.sub(lambda word: word[0][0] * 2, _without_here_documents(command)))
    sentences = [sentence for form, sentence in _FORMS if form.search(bare)]
    yield from (Warn("not_bash", f"sh has no {sentence}") for sentence in sentences[:_NAMED])


def _without_here_documents(command: str) -> str:
    kept, end = [], None
    for line in command.split("\n"):
        if end is not None:
            end = None if line.strip("\t") == end else end
            continue
        kept.append(line)
        heredoc = _HERE.search(line)
        end = None if heredoc is None else heredoc[2]
    return "\n".join(kept)
