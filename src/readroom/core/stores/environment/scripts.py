"""The shell that runs in an environment: how names get into it, and how answers get out whole.

A name is passed as an argument in octal escapes, so that no name is ever read by a shell, a terminal or a
client's text format.  An answer is base64 between two marks with its length and checksum: whatever a client
adds, cuts or replaces is noticed.

POSIX sh, with base64, dd, find, head, ln, mv, rm, mkdir, stat -c, sha256sum and tr: GNU or BusyBox.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import secrets
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from readroom.core.stores.environment.base import ANSWER_S, CELL_BYTES, Environment, failed

PROGRAMS: Final = "base64 chmod cut dd find head ln mkdir mv rm sha256sum stat tail tr wc"
"""The programs that scripts call."""

NO_ROOT: Final = 95
"""How a script ends without its root."""

ENTER = f"""
root=$(un "$1"); root=${{root%.}}; cd -P -- "$root" || return {NO_ROOT}
top=$(pwd -P; printf .); top=${{top%??}}; case $top in /) top=;; esac
real() {{ here=$(cd -P -- "$1" && pwd -P; printf .); here=${{here%??}}; [ "${{here%/}}" = "$top${{1#.}}" ]; }}
"""
"""Every script begins in the root; `real` is whether no link is on the way to a folder in it."""

_SAFE = re.compile(rb"[A-Za-z0-9_/.,:@=-]")

_PAGE: Final = CELL_BYTES // 3 * 4
"""Characters of an answer at a time, at first: what every client passes on."""

_LARGEST_PAGE: Final = 16 * _PAGE
"""The most, where a client passes on more."""

_BRIEF: Final = 4096
"""Characters of the answer of a script that is run once."""

ANSWER_BYTES: Final = 8 * 1024 * 1024
"""The largest answer: the names of some 100,000 files. It is held in memory here and there."""

_ATTEMPTS: Final = 3
"""How often an answer of several pages is begun again because what it tells has changed meanwhile."""

_WRAP = r"""
LC_ALL=C; export LC_ALL; exec 2>/dev/null
token=$1 limit=$2 at=$3 page=$4; shift 4
un() { printf '%%b.' "$1"; }
answer() {
%s
}
said=$({ answer "$@"; printf '\0%%s' "$?"; } | head -c "$limit" | base64 | tr -d '\n')
sum=$(printf %%s "$said" | sha256sum | cut -c 1-64)
printf '\n<%%s %%s %%s>\n' "$token" "${#said}" "$sum"
printf %%s "$said" | tail -c "+$at" | head -c "$page"
printf '\n</%%s>\n' "$token"
"""


class Answer(Struct, frozen=True):
    """The output of a script, and its exit code; `whole` is False if it is longer than an answer may be."""

    data: bytes
    code: int
    whole: bool = True


class _Cut(Exception):
    """The client passed on less than was written."""


def escaped(name: str | bytes) -> str:
    """A name in octal escapes, as `printf %b` reads them."""
    data = os.fsencode(name) if isinstance(name, str) else name
    return "".join(chr(byte) if _SAFE.match(bytes((byte,))) else f"\\0{byte:03o}" for byte in data)


class Talk:
    """Asks an environment by scripts. Safe to share between threads."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._page = _LARGEST_PAGE
        self._known_page = False

    @property
    def largest(self) -> int:
        """Bytes of an answer that one command can have."""
        return self._page // 4 * 3 - 256

    def ask(self, body: str, *arguments: str, once: bool = False, seconds: float = ANSWER_S) -> Answer:
        """The answer of a script, which gets the arguments as $1 and so on.

        With `once` it is never run again: it changes something, and answers briefly.

        Raises:
            StoreFailed: There is none, or it cannot be understood.
        """
        script = _WRAP % body
        if once:
            return self._only(script, arguments, seconds)
        for _ in range(_ATTEMPTS):
            answer = self._whole(script, arguments, seconds)
            if answer is not None:
                return answer
        raise failed(self._environment.name, "its files change faster than they can be listed")

    def _whole(self, script: str, arguments: Sequence[str], seconds: float) -> Answer | None:
        """All pages of an answer; None if it changed between two of them."""
        text, size, checksum = self._first(script, arguments, seconds)
        while len(text) < size:
            more, new_size, new_sum = self._piece(script, arguments, len(text) + 1, self._page, seconds)
            if (new_size, new_sum) != (size, checksum) or not more:
                return None
            text += more
        return self._read(text, checksum)

    def _only(self, script: str, arguments: Sequence[str], seconds: float) -> Answer:
        try:
            text, _, checksum = self._piece(script, arguments, 1, _BRIEF, seconds)
        except _Cut:
            raise _nonsense(self._environment.name, b"a part of its answer") from None
        return self._read(text, checksum)

    def _read(self, text: bytes, checksum: str) -> Answer:
        if hashlib.sha256(text).hexdigest() != checksum:
            raise _nonsense(self._environment.name, text)
        try:
            data = base64.b64decode(text, validate=True)
        except ValueError:
            raise _nonsense(self._environment.name, text) from None
        if len(data) >= ANSWER_BYTES:
            return Answer(data, 0, whole=False)
        data, _, code = data.rpartition(b"\0")
        if not code.isdigit():
            raise _nonsense(self._environment.name, text)
        return Answer(data, int(code))

    def _first(self, script: str, arguments: Sequence[str], seconds: float) -> tuple[bytes, int, str]:
        """The first page; a client that cuts it is asked for shorter ones from then on."""
        while True:
            page = self._page
            try:
                found = self._piece(script, arguments, 1, page, seconds)
            except _Cut:
                if page <= _PAGE // 16:
                    raise failed(
                        self._environment.name,
                        "it does not pass on what a command writes",
                        "Ask the user to allow its commands an output of 64 KiB or more.",
                    ) from None
                self._page = page // 4
                continue
            return found

    def _piece(
        self, script: str, arguments: Sequence[str], at: int, page: int, seconds: float
    ) -> tuple[bytes, int, str]:
        token = secrets.token_hex(8)
        said = (token, str(ANSWER_BYTES), str(at), str(page), *arguments)
        ran = self._environment.run(("sh", "-c", script, "sh", *said), seconds)
        begin = re.search(rf"<{token} ([0-9]+) ([0-9a-f]{{64}})>\r?\n", ran.text)
        if begin is None:
            if token in ran.text:
                raise _Cut
            raise _nonsense(self._environment.name, ran.text.encode("utf-8", "replace"), ran.code)
        end = ran.text.find(f"</{token}>", begin.end())
        size, checksum = int(begin[1]), begin[2]
        text = ran.text[begin.end() : end].strip().encode("ascii", "replace")
        if end < 0 or len(text) != min(page, size - at + 1):
            raise _Cut
        return text, size, checksum


def _nonsense(name: str, text: bytes, code: int | None = None) -> Exception:
    """The failure for an answer that is none; its beginning helps people."""
    shown = text[:120].decode("ascii", "replace").strip()
    said = f"exit code {code}, {shown!r}" if code is not None else repr(shown)
    return failed(
        name,
        f"its shell does not answer as a POSIX shell does: {said}",
        "Ask the user whether `sh -c 'echo ok'` works in the sandbox; it needs a POSIX shell with coreutils.",
    )
