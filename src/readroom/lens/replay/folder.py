"""The folder in which a session is made again: as it is, or as git has it at a commit.

What git has is taken object by object: an archive would leave out what `.gitattributes` keeps from
releases, hold all of it in memory, and filters would run programs.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import msgspec

from readroom.errors import BadValue, StoreFailed
from readroom.limits.lens import RECORD_CHUNK_BYTES

_LINK = b"120000"
_SUBMODULE = b"commit"


class _Entry(msgspec.Struct, frozen=True):
    """A file or a link of a commit."""

    mode: bytes
    object: bytes
    path: str


@contextmanager
def folder_at(root: Path, commit: str | None) -> Iterator[Path]:
    """The folder as it is, or what its git repository held at `commit`, in a folder of its own.

    Raises:
        BadValue: git does not know the commit.
        StoreFailed: It does not have all of it.
    """
    if commit is None:
        yield root
        return
    if commit.startswith("-"):
        raise _unknown(root, commit)
    entries = _entries(root, commit)
    with tempfile.TemporaryDirectory(prefix="readroom-replay-") as made:
        _write(root, entries, Path(made))
        yield Path(made)


def _unknown(root: Path, commit: str) -> BadValue:
    advice = "Name a commit, a branch or a tag of the repository that --replay names."
    return BadValue("--commit", commit, f"is nothing that git knows in {root}", advice)


def _entries(root: Path, commit: str) -> list[_Entry]:
    command = ["git", "-C", str(root), "ls-tree", "-r", "-z", commit]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        raise _unknown(root, commit)
    entries = []
    for line in done.stdout.split(b"\0")[:-1]:
        head, _, name = line.partition(b"\t")
        mode, kind, digest = head.split(b" ")
        if kind != _SUBMODULE:
            entries.append(_Entry(mode, digest, os.fsdecode(name)))
    # A commit can be made to hurt: what follows a link would be written where that leads.
    return sorted(entries, key=lambda entry: entry.mode == _LINK)


def _write(root: Path, entries: list[_Entry], folder: Path) -> None:
    command = ["git", "-C", str(root), "cat-file", "--batch"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for entry in entries:
            process.stdin.write(entry.object + b"\n")
            process.stdin.flush()
            _write_one(process.stdout, entry, folder)


def _write_one(objects: IO[bytes], entry: _Entry, folder: Path) -> None:
    head = objects.readline().split()
    if len(head) != 3:
        raise StoreFailed(str(folder), f"git has no content of {entry.path!r} at that commit")
    left = int(head[2])
    inside = not os.path.isabs(entry.path) and ".." not in entry.path.split("/")
    place = folder / entry.path if inside else Path(os.devnull)
    if inside:
        place.parent.mkdir(parents=True, exist_ok=True)
    if entry.mode == _LINK:
        target = objects.read(left)
        # It may lead anywhere: whoever reads the folder follows none that leads out of it.
        with suppress(OSError, ValueError):
            os.symlink(os.fsdecode(target), place)
    else:
        with open(place, "wb") as stream:
            while left and (chunk := objects.read(min(left, RECORD_CHUNK_BYTES))):
                stream.write(chunk)
                left -= len(chunk)
    objects.read(1)  # the line end behind each object
