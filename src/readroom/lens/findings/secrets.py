"""Secrets in lines of text, by the judgement that masks go by (`core.secrets.judge`)."""

from __future__ import annotations

import hashlib
from functools import lru_cache

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

    def found(self, file: str, line: str) -> Found:
        """The secrets in one line of `file`; the name of the file does not count."""
        secrets = judge.found(line)
        if not secrets:
            return _NOTHING
        longest = max((text for _, text in secrets), key=len)
        return Found(tuple(dict.fromkeys(kind for kind, _ in secrets)), mark_of(longest))
