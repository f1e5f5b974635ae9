"""Find the repository of a path, and refuse one that would lead elsewhere.

All of this is read without any library, part by part and following no link, before libgit2 sees the
repository.  What a repository names elsewhere is refused by name: a folder of git outside the root,
objects of others, an included configuration, a partial clone.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence

from msgspec import Struct

from readroom.core.errors.git import NoRepository, RepositoryRefused
from readroom.core.paths import ROOT, WorkPath, join, parent, parts

GIT_FILE_BYTES = 64 * 1024
"""Files in which git names other places have one line or a few."""

GIT_CONFIG_BYTES = 1024 * 1024
"""A configuration; real ones have a few thousand bytes."""

GIT_SHALLOW_BYTES = 16 * 1024 * 1024
"""The list of commits at which a shallow clone ends."""

GIT_NAMES = 500_000
"""Names in the folders of a repository that are looked at for links; git packs what has thousands."""

GIT_ALTERNATES = 5
"""Folders of objects that name one another; git itself follows as many."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class GitPlace(Struct, frozen=True):
    """A repository in a workspace.

    Attributes:
        top: The folder that it is the repository of, from the root of the workspace.
        folder: Its own folder, absolute; of a linked worktree, that of the worktree.
        common: The folder with its objects and references, absolute.
        objects: Other folders of objects inside the root, absolute.
        shallow: The commits at which a shallow clone ends.
    """

    top: WorkPath
    folder: str
    common: str
    objects: Sequence[str] = ()
    shallow: frozenset[str] = frozenset()


def find(root: str, path: WorkPath) -> tuple[WorkPath, str]:
    """The folder at or above a path that has a repository, and that repository as it is named there.

    `root` is the absolute path of the root; nothing above it is looked at. Raises NoRepository.
    """
    at = path
    while True:
        folder = _real_folder(root, at)
        if folder is not None:
            git = os.path.join(folder, ".git")
            if os.path.lexists(git):
                return at, git
            if at == ROOT and _is_bare(folder):
                return at, folder
        if at == ROOT:
            raise NoRepository(path)
        at = parent(at)


def examined(root: str, top: WorkPath, git: str) -> GitPlace:
    """A repository that was found, if it may be opened. Raises RepositoryRefused."""
    home = os.path.realpath(root)
    folder = _own_folder(home, top, git)
    common = _common_folder(home, top, folder)
    _require_plain(top, common)
    for each in {folder, common}:
        _require_no_links(top, each, home)
    objects = list(_alternates(home, top, os.path.join(common, "objects")))
    shallow = _text(os.path.join(common, "shallow"), top, GIT_SHALLOW_BYTES) or ""
    return GitPlace(top, folder, common, objects, frozenset(shallow.split()))


def _real_folder(root: str, path: WorkPath) -> str | None:
    """The absolute path of a folder of the root, if no part of it is a link."""
    folder = os.path.realpath(root)
    for part in parts(path):
        folder = os.path.join(folder, part)
        try:
            if not stat.S_ISDIR(os.lstat(folder).st_mode):
                return None
        except OSError:
            return None
    return folder


def _is_bare(folder: str) -> bool:
    return all(os.path.exists(os.path.join(folder, name)) for name in ("HEAD", "objects", "refs"))


def _refused(top: WorkPath, reason: str, advice: str = "") -> RepositoryRefused:
    return RepositoryRefused(top, reason, advice) if advice else RepositoryRefused(top, reason)


def _own_folder(home: str, top: WorkPath, git: str) -> str:
    """The folder of the repository, which a file in its place may name."""
    try:
        mode = os.lstat(git).st_mode
    except OSError as error:
        raise _refused(top, f"its folder cannot be looked at: {error.strerror}") from None
    if stat.S_ISDIR(mode):
        return git
    if not stat.S_ISREG(mode):
        raise _refused(top, "its .git is neither a folder nor a file")
    text = _text(git, top) or ""
    if not text.startswith("gitdir:"):
        raise _refused(top, "its .git is a file that names no folder")
    named = text.removeprefix("gitdir:").strip()
    return _inside(home, top, os.path.join(os.path.dirname(git), named), "its .git names a folder")


def _common_folder(home: str, top: WorkPath, folder: str) -> str:
    """The folder with objects and references; a linked worktree names it."""
    text = _text(os.path.join(folder, "commondir"), top)
    if text is None:
        return folder
    return _inside(home, top, os.path.join(folder, text.strip()), "its commondir is a folder")


def _inside(home: str, top: WorkPath, named: str, what: str) -> str:
    """A folder that the repository names, if it lies in the root and is named without links."""
    if "\0" in named:
        raise _refused(top, f"{what} whose name cannot be used")
    plain, real = os.path.normpath(named), os.path.realpath(named)
    for own in (plain, real):
        if os.path.commonpath((own, home)) != home:
            raise _refused(top, f"{what} outside the workspace", "Serve a folder that holds both.")
    if not os.path.isdir(real):
        raise _refused(top, f"{what} that is not there")
    return real


# -----------------------------------------------------------------------------
# What its files name.
# -----------------------------------------------------------------------------

_HEADING = re.compile(r"\s*\[\s*([\w.-]+)\s*(?:\"((?:[^\"\\]|\\.)*)\")?\s*\](.*)", re.DOTALL)
_SETTING = re.compile(r"\s*([A-Za-z][\w-]*)\s*(?:=\s*(.*))?\Z", re.DOTALL)


def settings(text: str) -> Iterator[tuple[str, str, str]]:
    """The settings of a configuration: section, name and value; names in lower case."""
    section = ""
    for line in text.replace("\\\r\n", "").replace("\\\n", "").split("\n"):
        heading = _HEADING.match(line)
        if heading is not None:
            section, line = heading.group(1).lower(), heading.group(3)
        found = _SETTING.match(line)
        if found is not None:
            value = found.group(2)
            yield section, found.group(1).lower(), "true" if value is None else value.strip().strip('"')


_NO = frozenset(("false", "no", "off", "0", ""))

_PARTIAL = (
    "it is a partial clone, whose missing objects would have to be fetched",
    "Ask the user to complete it: git fetch --refetch --no-filter.",
)


def _require_plain(top: WorkPath, common: str) -> None:
    """Refuse a repository whose configuration means that it cannot be read by itself."""
    for file in ("config", "config.worktree"):
        text = _text(os.path.join(common, file), top, GIT_CONFIG_BYTES) or ""
        for section, name, value in settings(text.removeprefix("\ufeff")):
            if section.partition(".")[0] in ("include", "includeif") and name == "path":
                raise _refused(
                    top,
                    "its configuration includes another file",
                    "Ask the user to copy what that says into .git/config.",
                )
            if section.partition(".")[0] == "extensions":
                if name == "partialclone":
                    raise _refused(top, *_PARTIAL)
                if name == "objectformat" and value.lower() != "sha1":
                    raise _refused(top, f"its objects are named by {value[:20]}, which is not supported")
                if name == "refstorage" and value.lower() != "files":
                    raise _refused(top, f"its references are stored as {value[:20]}, which is not supported")
            if section.partition(".")[0] == "remote" and (
                name == "partialclonefilter" or (name == "promisor" and value.lower() not in _NO)
            ):
                raise _refused(top, *_PARTIAL)
    pack = os.path.join(common, "objects", "pack")
    try:
        names = os.listdir(pack)
    except OSError:
        return
    if any(name.endswith(".promisor") for name in names):
        raise _refused(top, *_PARTIAL)


def _alternates(home: str, top: WorkPath, objects: str) -> Iterator[str]:
    """The other folders of objects, at any depth."""
    pending, seen = [objects], {os.path.realpath(objects)}
    while pending:
        place = pending.pop()
        text = _text(os.path.join(place, "info", "alternates"), top) or ""
        for line in text.split("\n"):
            if not line or line.startswith("#"):
                continue
            named = os.path.join(place, line.strip('"'))
            found = _inside(home, top, named, "it takes objects from a folder")
            if found in seen:
                continue
            seen.add(found)
            if len(seen) > GIT_ALTERNATES:
                raise _refused(top, "it takes objects from too many folders")
            _require_no_links(top, found, home)
            yield found
            pending.append(found)


def _require_no_links(top: WorkPath, folder: str, home: str) -> None:
    """Refuse a repository in which a link leads out of the workspace, or that has too many names."""
    count = 0
    for above, folders, files in os.walk(folder):
        count += len(folders) + len(files)
        if count > GIT_NAMES:
            raise _refused(
                top, f"it has more than {GIT_NAMES:,} files of its own", "Ask the user to run git gc."
            )
        for name in (*folders, *files):
            whole = os.path.join(above, name)
            if os.path.islink(whole) and os.path.commonpath((os.path.realpath(whole), home)) != home:
                raise _refused(top, "a link in its folder leads out of the workspace")


def _text(path: str, top: WorkPath, most: int = GIT_FILE_BYTES) -> str | None:
    """The content of a small file; None if there is none."""
    try:
        fd = os.open(path, _FILE)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _refused(top, f"its file {os.path.basename(path)} cannot be read: {error.strerror}") from None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise _refused(top, f"its {os.path.basename(path)} is not a file")
        data = b""
        while len(data) <= most and (piece := os.read(fd, most + 1 - len(data))):
            data += piece
    finally:
        os.close(fd)
    if len(data) > most:
        raise _refused(top, f"its file {os.path.basename(path)} is too large")
    return os.fsdecode(data)


def opened(folder: str) -> int:
    """A descriptor of a folder, which is not reached through a link at its last part. Raises OSError."""
    return os.open(folder, _FOLDER)


def within(place: GitPlace, path: WorkPath) -> str:
    """The path in the trees of a repository of a path of the workspace; "" for its top."""
    if path == place.top:
        return ""
    return path if place.top == ROOT else path[len(place.top) + 1 :]


def named(place: GitPlace, inner: str) -> WorkPath:
    """The path of the workspace for a path in the trees of a repository."""
    return join(place.top, inner) if inner else place.top
