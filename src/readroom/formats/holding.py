"""Which files are archives, by name, and which hold tables, by first bytes or the name of a text."""

from __future__ import annotations

from readroom.formats.kinds import Recognised, suffix

ARCHIVE_SUFFIXES = (
    ".zip", ".jar", ".war", ".ear", ".aar", ".whl", ".egg", ".apk", ".ipa", ".vsix", ".nupkg", ".xpi", ".tar",
    ".tgz", ".tar.gz", ".tbz", ".tbz2", ".tar.bz2", ".txz", ".tar.xz", ".tzst", ".tar.zst", ".tar.zstd",
    ".crate", ".7z", ".deb", ".gem", ".pyz", ".pex", ".crx",
)  # fmt: skip
"""What archives are called, for those who look for them by name; bytes decide what one is."""


def is_archive_name(path: str) -> bool:
    """Whether a file's name is that of an archive."""
    return path.lower().endswith(ARCHIVE_SUFFIXES)


_TABLES = {"csv": "csv", "tsv": "csv", "tab": "csv", "psv": "csv", "jsonl": "jsonl", "ndjson": "jsonl"}
"""Texts that are tables, too."""

_ARROW = frozenset({"arrow", "arrows", "ipc", "feather", "stream"})
_ARROW_STREAM = b"\xff\xff\xff\xff"

DATA = frozenset({"sqlite", "parquet", "arrow", "avro", *_TABLES.values()})
"""Formats of tables, whose outline is their schema."""


def recognise_data(path: str, head: bytes) -> Recognised | None:
    """The kind of tables that a file holds, by its first bytes or, of a text, its name; None for none."""
    if head.startswith(b"SQLite format 3\0"):
        return Recognised("sqlite")
    if head.startswith((b"PAR1", b"PARE")):
        return Recognised("parquet")
    ending = suffix(path)
    if head.startswith((b"ARROW1\0\0", b"FEA1")) or (ending in _ARROW and head.startswith(_ARROW_STREAM)):
        return Recognised("arrow")
    if head.startswith(b"Obj\x01"):
        return Recognised("avro")
    kind = _TABLES.get(ending)
    return None if kind is None else Recognised(kind, is_text=True, only_asked=True)
