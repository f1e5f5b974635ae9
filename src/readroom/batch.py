"""The values of one call that edits several files: all of them or none. No I/O here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from readroom.changes import Diff, Edit
from readroom.notes import Warn


@dataclass(frozen=True, slots=True)
class FileEdits:
    """Replacements in one file, each made in what the ones before it left.

    An old text that is not there exactly may be there nearly, see `text.nearly`.  `problem` is why
    the file cannot be meant at all; it is told together with those of the others.
    """

    path: str
    edits: tuple[Edit, ...]
    problem: Exception | None = None


@dataclass(frozen=True, slots=True)
class EditFilesRequest:
    """Replacements in several files, which are all below `path`."""

    files: tuple[FileEdits, ...]
    dry_run: bool = False
    path: str = "."


@dataclass(frozen=True, slots=True)
class FileEdited:
    """What became of one file; `asked` is its path as the caller wrote it."""

    asked: str
    path: str
    previous_hash: str
    content_hash: str
    size_bytes: int
    replacements: int
    diff: Diff
    warnings: Sequence[Warn] = ()


@dataclass(frozen=True, slots=True)
class EditFilesResult:
    """What became of all of them, in the order they were asked for."""

    files: Sequence[FileEdited]
    dry_run: bool = False
