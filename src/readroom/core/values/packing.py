"""The values of one call that packs files into an archive.

Paths are relative to the root.  What was not packed is reported with why, one by one; names that policy
denies are only counted.  No I/O here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from readroom.core.values.files import BytesRequest, BytesResult, ResolveRequest, ResolveResult, Stream

Why: TypeAlias = Literal["files", "bytes", "time", "none", "denied", "link", "refused"]
"""Why something is not in an archive: the limit of files, of bytes or of time is reached, no file matches,
policy denies names, the file is a link that a glob has found, or it cannot be opened as `problem` says."""


class PackLimits(Struct, frozen=True):
    """Limits of one archive: the number of files, and bytes of one and of all of them before compression."""

    files: int
    file_bytes: int
    total_bytes: int


class Wanted(Struct, frozen=True):
    """A path, or a glob of whole paths; `asked_as` is how the caller wrote it."""

    asked_as: str
    pattern: str
    is_glob: bool


class PackedFile(Struct, frozen=True):
    """A file in an archive; of one that is larger than `written` bytes, its end."""

    asked_as: str
    path: str
    size: int
    mtime_ns: int
    written: int


class NotPacked(Struct, frozen=True):
    """Something that is not in an archive; `count` of names if it is several."""

    asked_as: str
    why: Why
    path: str | None = None
    problem: Exception | None = None
    count: int = 1


class Packing(Struct, frozen=True):
    """The files in an archive, and what it lacks. `complete` is false if a limit has left something out."""

    files: Sequence[PackedFile]
    missing: Sequence[NotPacked]
    complete: bool


class PackRequest(Struct, frozen=True):
    """Files in one zip archive.

    Attributes:
        wanted: Paths and globs; a file that several of them name is packed once.
        limits: Where packing ends.
        name: The name in the archive of a file's path.
        last: The name and content of the last entry, which describes the others.
        path: The folder below which all of them are.
    """

    wanted: tuple[Wanted, ...]
    limits: PackLimits
    name: Callable[[str], str]
    last: Callable[[Packing], tuple[str, bytes]]
    path: str = "."


class PackResult(Struct, frozen=True):
    """A complete archive of `size` bytes, and what it holds."""

    packing: Packing
    size: int
    stream: Stream


ProgramRequest: TypeAlias = BytesRequest | ResolveRequest | PackRequest
"""Requests of programs: no model is offered them."""

ProgramResult: TypeAlias = BytesResult | ResolveResult | PackResult
