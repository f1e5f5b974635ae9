"""Secrets in lines of text, by the judgement that masks go by (`core.secrets.judge`)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import cache, lru_cache

import msgspec

from readroom.core.secrets import judge
from readroom.core.secrets.judge import installed as installed

_MARK_ROUNDS = 5_000
"""Rounds of hashing for a mark, which make guessing a secret by its mark slow."""

_MARK_BYTES = 4
_REMEMBERED = 10_000


@lru_cache(_REMEMBERED)
def mark_of(secret: str) -> str:
    """Digits by which a secret is known again, and from which it cannot be read."""
    data = secret.strip().strip("'\"`").encode("utf-8", "surrogatepass")
    return hashlib.pbkdf2_hmac("sha256", data, b"readroom", _MARK_ROUNDS, _MARK_BYTES).hex()


class Found(msgspec.Struct, frozen=True):
    """The secrets of one line: their kinds, each once, and the mark of the longest."""

    kinds: tuple[str, ...] = ()
    mark: str = ""


_NOTHING = Found()


class SecretScanner:
    """Finds secrets in lines with the detectors of the library. One per process is enough."""

    def __init__(self) -> None:
        """Load the library. Raises MissingProgram."""
        judge.require()

    def suspicious(self, lines: Sequence[str]) -> list[int]:
        """The places in a list of the lines that may have one; `found` decides."""
        return judge.suspicious(lines)

    def found(self, file: str, line: str) -> Found:
        """The secrets in one line of `file`; the name of the file does not count."""
        secrets = judge.found(line)
        if not secrets:
            return _NOTHING
        longest = max((text for _, text in secrets), key=len)
        return Found(tuple(dict.fromkeys(kind for kind, _ in secrets)), mark_of(longest))


_RANDOM = re.compile(r"(?=\S*[0-9])(?=\S*[a-z])(?=\S*[A-Z])[^\s/.]{8,}|[0-9a-fA-F]{32,}")
"""A word with digits and letters of both sizes that names no file: a password on a command line."""

_AFTER = re.compile(
    r"(?i)(?:^|\s)-{0,2}(?:p|pass\w*|pwd|secret\w*|token|auth\w*|user|u|api-?key|key)(?:[=:\s]|\Z)|://[^/\s]*@"
)
"""Options that are followed by one."""


def is_harmless(text: str) -> bool:
    """Whether a command line may be shown: it has no secret, nor anything that may be one."""
    if _RANDOM.search(text) or _AFTER.search(text) or re.search(r"(?:^|\s)-p\S", text):
        return False
    scanner = _own_scanner()
    return not any(scanner.found("", line).kinds for line in text.split("\n"))


@cache
def _own_scanner() -> SecretScanner:
    return SecretScanner()
