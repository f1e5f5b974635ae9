"""The folder for a replay: as it is, or its content in git at a commit.

Files are taken from git object by object: `git archive` would leave out what `.gitattributes` excludes, hold
all of it in memory, and run the programs of filters.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from readroom.core import git
from readroom.core.errors import BadValue, StoreFailed

_LINK = b"120000"
_SUBMODULE = b"160000"


class _Entry(msgspec.Struct, frozen=True):
    """A file, a link or a submodule of a commit."""

    mode: bytes
    object: bytes
    path: str


class Folder(msgspec.Struct, frozen=True):
    """The folder for a replay, and the submodules that are missing in it."""

    path: Path
    absent: tuple[str, ...] = ()


@contextmanager
def folder_at(root: Path, commit: str | None) -> Iterator[Folder]:
    """The folder as it is, or a temporary one with the content of its git repository at `commit`.

    Raises:
        BadValue: git does not know the commit, or the repository takes objects from elsewhere.
        MissingProgram: There is no git.
        StoreFailed: git lacks some of its objects.
    """
    if commit is None:
        yield Folder(root)
        return
    content = None if commit.startswith("-") else _committed(root, commit)
    if content is None:
        advice = "Use a commit, branch or tag of the repository of --replay."
        raise BadValue("--commit", commit, f"is unknown to git in {root}", advice)
    with tempfile.TemporaryDirectory(prefix="readroom-replay-") as made:
        # Links come last: a hostile commit could have files written through them.
        for links in (False, True):
            for repository, entries in content.entries:
                chosen = [entry for entry in entries if (entry.mode == _LINK) is links]
                _write(repository, chosen, Path(made))
        yield Folder(Path(made), tuple(content.absent))


class _Commit(msgspec.Struct):
    """The entries of a commit, by repository, and its submodules that are missing."""

    entries: list[tuple[Path, list[_Entry]]]
    absent: list[str]


def _committed(root: Path, commit: str, below: str = "") -> _Commit | None:
    """The content of git at a commit; None if it does not know the commit."""
    git.require_own_objects(root)
    listed = git.run(root, "ls-tree", "-r", "-z", commit)
    if listed is None:
        return None
    own: list[_Entry] = []
    content = _Commit([(root, own)], [])
    for line in listed.split(b"\0")[:-1]:
        head, _, name = line.partition(b"\t")
        mode, _, digest = head.split(b" ")
        path = os.fsdecode(name)
        if mode != _SUBMODULE:
            own.append(_Entry(mode, digest, below + path))
            continue
        place = Path(os.path.realpath(root / path))
        # A link in its place may lead to the repository itself, or out of it.
        inner = (
            _committed(place, digest.decode(), f"{below}{path}/")
            if Path(os.path.realpath(root)) in place.parents
            else None
        )
        if inner is None:
            content.absent.append(below + path)
        else:
            content.entries += inner.entries
            content.absent += inner.absent
    return content


def _write(root: Path, entries: list[_Entry], folder: Path) -> None:
    if not entries:
        return
    with git.Objects(root) as objects:
        for entry in entries:
            size = objects.ask(entry.object)
            if size is None:
                raise StoreFailed(str(folder), f"git has no content of {entry.path!r} at that commit")
            try:
                _write_one(objects.read(size), entry, folder)
            except OSError as error:
                problem = f"{entry.path!r} of that commit cannot be written: {error.strerror}"
                raise StoreFailed(str(folder), problem) from None


def _write_one(content: Iterator[bytes], entry: _Entry, folder: Path) -> None:
    inside = not os.path.isabs(entry.path) and ".." not in entry.path.split("/")
    place = folder / entry.path if inside else Path(os.devnull)
    if inside:
        place.parent.mkdir(parents=True, exist_ok=True)
        # A tree can have a link and a folder of one name, which would redirect writes to any place.
        if Path(os.path.realpath(place.parent)) != Path(os.path.realpath(folder), entry.path).parent:
            raise NotADirectoryError(errno.ENOTDIR, "a link has the name of its folder")
    if entry.mode == _LINK:
        target = b"".join(content)
        # It may lead anywhere: the guard follows no link out of the folder.
        with suppress(OSError, ValueError):
            os.symlink(os.fsdecode(target), place)
    else:
        with open(place, "wb") as stream:
            stream.writelines(content)
