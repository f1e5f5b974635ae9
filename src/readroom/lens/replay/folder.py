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

_GIT = ("git", "-c", "protocol.allow=never")
"""Else git fetches what a partial clone lacks, from wherever its configuration says."""

_LINK = b"120000"
_SUBMODULE = b"160000"


class _Entry(msgspec.Struct, frozen=True):
    """A file, a link or a submodule of a commit."""

    mode: bytes
    object: bytes
    path: str


class Folder(msgspec.Struct, frozen=True):
    """Where calls are made again, and the submodules of the commit of which nothing is there."""

    path: Path
    absent: tuple[str, ...] = ()


@contextmanager
def folder_at(root: Path, commit: str | None) -> Iterator[Folder]:
    """The folder as it is, or what its git repository held at `commit`, in a folder of its own.

    Raises:
        BadValue: git does not know the commit.
        StoreFailed: It does not have all of it.
    """
    if commit is None:
        yield Folder(root)
        return
    held = None if commit.startswith("-") else _committed(root, commit)
    if held is None:
        raise _unknown(root, commit)
    with tempfile.TemporaryDirectory(prefix="readroom-replay-") as made:
        # A commit can be made to hurt: what follows a link would be written where that leads.
        for links in (False, True):
            for repository, entries in held.entries:
                chosen = [entry for entry in entries if (entry.mode == _LINK) is links]
                _write(repository, chosen, Path(made))
        yield Folder(Path(made), tuple(held.absent))


class _Commit(msgspec.Struct):
    """What a commit holds, by the repository that has it, and its submodules that are not there."""

    entries: list[tuple[Path, list[_Entry]]]
    absent: list[str]


def _committed(root: Path, commit: str, below: str = "") -> _Commit | None:
    """What git has at a commit; None where it does not know it."""
    command = [*_GIT, "-C", str(root), "ls-tree", "-r", "-z", commit]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        return None
    own: list[_Entry] = []
    found = _Commit([(root, own)], [])
    for line in done.stdout.split(b"\0")[:-1]:
        head, _, name = line.partition(b"\t")
        mode, _, digest = head.split(b" ")
        path = os.fsdecode(name)
        if mode != _SUBMODULE:
            own.append(_Entry(mode, digest, below + path))
            continue
        place = Path(os.path.realpath(root / path))
        # A link in its place may lead to the repository itself, or out of it.
        inner = _committed(place, digest.decode(), f"{below}{path}/") if _is_below(place, root) else None
        if inner is None:
            found.absent.append(below + path)
        else:
            found.entries += inner.entries
            found.absent += inner.absent
    return found


def _is_below(folder: Path, root: Path) -> bool:
    return Path(os.path.realpath(root)) in folder.parents


def _unknown(root: Path, commit: str) -> BadValue:
    advice = "Name a commit, a branch or a tag of the repository that --replay names."
    return BadValue("--commit", commit, f"is nothing that git knows in {root}", advice)


def _write(root: Path, entries: list[_Entry], folder: Path) -> None:
    command = [*_GIT, "-C", str(root), "cat-file", "--batch"]
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nothing) as process:
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
