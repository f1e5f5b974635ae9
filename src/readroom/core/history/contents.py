"""The bytes of files, each state once, by their hash, compressed."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from readroom.core.history.records import Damaged
from readroom.core.text.hashes import PREFIX

if TYPE_CHECKING:
    import sqlite3

_LEVEL = 1
"""The level of Zstandard: a file of 20 KB takes 0.15 ms and 2 KB; zlib takes twice as long for more."""

_AT_ONCE = 500


def packed(data: bytes) -> bytes:
    """The bytes, compressed."""
    return bytes(_zstd().compress(data, _LEVEL))


def unpacked(data: bytes, size: int, digest: bytes) -> bytes:
    """The bytes of a state, if they are still those. Raises Damaged."""
    zstd = _zstd()
    try:
        # A frame that claims more than it may ends here, whatever it has.
        content = bytes(zstd.ZstdDecompressor().decompress(data, size + 1))
    except (zstd.ZstdError, TypeError, MemoryError):
        raise Damaged("a content") from None
    if len(content) != size or sha256(content).digest() != digest:
        raise Damaged("a content")
    return content


def digest_of(content_hash: str) -> bytes:
    """The bytes of a hash of the form that replies show. Raises Damaged."""
    try:
        return bytes.fromhex(content_hash.removeprefix(PREFIX))
    except ValueError:
        raise Damaged("a hash") from None


def known(connection: sqlite3.Connection, digest: bytes) -> bool:
    """Whether a state is kept."""
    return connection.execute("SELECT 1 FROM contents WHERE hash = ?", (digest,)).fetchone() is not None


def keep(connection: sqlite3.Connection, digest: bytes, data: bytes, pressed: bytes) -> int:
    """Keep a state once more; its number. It is compressed now if it is new and was not before."""
    row = connection.execute("SELECT id FROM contents WHERE hash = ?", (digest,)).fetchone()
    if row is not None:
        connection.execute("UPDATE contents SET uses = uses + 1 WHERE id = ?", row)
        return int(row[0])
    made = connection.execute("INSERT INTO contents (hash, size, uses) VALUES (?, ?, 1)", (digest, len(data)))
    number = made.lastrowid
    assert number is not None  # a row was inserted
    connection.execute("INSERT INTO bytes (id, packed) VALUES (?, ?)", (number, pressed or packed(data)))
    return number


def read(connection: sqlite3.Connection, number: int, content_hash: str | None) -> bytes | None:
    """The bytes of a state; None if they are gone. Raises Damaged."""
    row = connection.execute(
        "SELECT hash, size, packed FROM contents JOIN bytes USING (id) WHERE id = ?", (number,)
    ).fetchone()
    if row is None:
        return None
    digest, size, data = row
    if content_hash is None or digest_of(content_hash) != digest or not isinstance(size, int):
        raise Damaged("a content")
    return unpacked(data, size, digest)


def release(connection: sqlite3.Connection, numbers: Iterable[int]) -> int:
    """Keep states once less each, and remove those that nothing names; the bytes of those, as files."""
    freed = 0
    uses = Counter(numbers)
    connection.executemany(
        "UPDATE contents SET uses = uses - ? WHERE id = ?",
        [(times, number) for number, times in uses.items()],
    )
    every = list(uses)
    for at in range(0, len(every), _AT_ONCE):
        some = every[at : at + _AT_ONCE]
        places = ", ".join("?" * len(some))
        rows = connection.execute(
            f"SELECT id, size FROM contents WHERE uses <= 0 AND id IN ({places})", some
        ).fetchall()
        gone = [(number,) for number, _ in rows]
        freed += sum(size for _, size in rows)
        connection.executemany("DELETE FROM bytes WHERE id = ?", gone)
        connection.executemany("DELETE FROM contents WHERE id = ?", gone)
    return freed


def _zstd() -> Any:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd
