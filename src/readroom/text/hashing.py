"""The hash and the number of bytes that pass by."""

from __future__ import annotations

import hashlib


class Hashing:
    """Bytes that are hashed and counted as they pass."""

    __slots__ = ("_digest", "size")

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self.size = 0

    def add(self, data: bytes | memoryview) -> None:
        """Take the next bytes."""
        self._digest.update(data)
        self.size += len(data)

    @property
    def digits(self) -> str:
        """The hash of what was added so far, in hex."""
        return self._digest.hexdigest()
