"""Start git, for looking into a repository whose contents nobody vouches for.

A repository names programs in many places: its configuration and what that includes, its attributes, its
hooks, and the remotes from which git fetches an object that is missing.  None of them may start anything.
Three locks, each of which holds where the others fail:

- Protocols are allowed by the environment alone, which allows none: no file can change that.
- git finds no programs, not even its own: the folder in which it looks for them is none, and neither is PATH.
- Every setting that names a program is set on the command line, which has precedence over all files.

Only commands that git does by itself are asked of it, which look into objects and change nothing.  Objects
come from the repository itself: links and alternates that lead out of it would show other repositories.

Knows: what a repository may never do, and where its objects lie.
Does not know: what is asked of git, and why.
May be touched: with a security review only; each new call of git goes through here.
"""

from __future__ import annotations

import functools
import io
import os
import select
import shutil
import stat
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, TypeAlias, final

from readroom.core.errors import BadValue, MissingProgram, StoreFailed

GIT_ANSWER_S = 60
"""git answers from a pack of gigabytes within seconds. It waits forever for a pipe in place of a file."""

GIT_ALTERNATES_BYTES = 64 * 1024
"""Files in which git names other places have one line or a few."""

GIT_CHUNK_BYTES = 256 * 1024
"""Bytes of an object that are read at once."""


Question: TypeAlias = Literal["cat-file", "ls-tree", "rev-parse"]
"""The questions to git: it starts no program for any of these, unless an object is missing."""

_NOWHERE = "/dev/null"

ENVIRONMENT: Mapping[str, str] = {
    "GIT_ALLOW_PROTOCOL": "",  # precedes `protocol.*.allow` of any file; empty allows none
    "GIT_NO_LAZY_FETCH": "1",  # git 2.45 and later
    "GIT_EXEC_PATH": _NOWHERE,
    "PATH": _NOWHERE,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": _NOWHERE,
    "GIT_CONFIG_GLOBAL": _NOWHERE,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C",
}
"""The whole environment: variables of this process choose repositories, programs and files for traces."""

SETTINGS: Mapping[str, str] = {
    "protocol.allow": "never",
    "core.hooksPath": _NOWHERE,
    "core.fsmonitor": "false",
    "core.pager": "",
    "core.editor": "false",
    "core.sshCommand": "false",
    "core.gitProxy": "none",
    "core.askPass": "",
    "core.alternateRefsCommand": "false",
    "core.attributesFile": _NOWHERE,
    "core.excludesFile": _NOWHERE,
    "core.untrackedCache": "false",
    "credential.helper": "",
    "diff.external": "",
    "gpg.program": "false",
    "gpg.ssh.program": "false",
    "gpg.x509.program": "false",
    "interactive.diffFilter": "",
    "log.showSignature": "false",
    "sequence.editor": "false",
    "submodule.recurse": "false",
    "uploadpack.packObjectsHook": "",
}
"""Settings that override every file. A clean filter or a textconv has a name of the repository's choice: no
question here makes git look at one."""


def run(root: Path, question: Question, *words: str) -> bytes | None:
    """The answer of git about the repository of a folder; None if it does not know.

    Raises:
        MissingProgram: There is no git.
        StoreFailed: It does not answer.
    """
    try:
        done = subprocess.run(
            _command(root, question, words),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            env=ENVIRONMENT,
            timeout=GIT_ANSWER_S,
        )
    except subprocess.TimeoutExpired:
        raise _silent(root) from None
    return None if done.returncode else done.stdout


def _command(root: Path, question: Question, words: Sequence[str]) -> list[str]:
    folder = os.path.realpath(root)
    # The caller named this folder and so trusts it enough to read it, whatever account owns it.
    settings = [f"safe.directory={folder}", f"safe.directory={folder}/.git"]
    settings += [f"{name}={value}" for name, value in SETTINGS.items()]
    options = [word for setting in settings for word in ("-c", setting)]
    return [_program(), *options, "--no-pager", "-C", folder, question, *words]


@functools.cache
def _program() -> str:
    path = shutil.which("git")
    if path is None:
        raise MissingProgram("git", "with the package manager of the system")
    return os.path.abspath(path)


def _silent(root: Path) -> StoreFailed:
    return StoreFailed(str(root), f"git did not answer within {GIT_ANSWER_S} s")


@final
class Objects:
    """The contents of objects, one at a time, from one process."""

    def __init__(self, root: Path) -> None:
        """Start git. Raises MissingProgram."""
        self._root = root
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            _command(root, "cat-file", ["--batch"]),
            stdin=pipe,
            stdout=pipe,
            stderr=subprocess.DEVNULL,
            env=ENVIRONMENT,
            bufsize=0,
        )
        assert self._process.stdout is not None
        self._answers = io.BufferedReader(_InTime(self._process.stdout.fileno()), GIT_CHUNK_BYTES)

    def ask(self, name: bytes) -> int | None:
        """Ask for an object: its size, or None if git does not have it. `read` it to the end then.

        Raises:
            StoreFailed: git does not answer.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(name + b"\n")
            head = self._answers.readline().split()
        except TimeoutError:
            raise _silent(self._root) from None
        except BrokenPipeError:
            return None
        return int(head[2]) if len(head) == 3 else None

    def read(self, size: int) -> Iterator[bytes]:
        """The content of the object that was asked for, in pieces. Raises StoreFailed."""
        left = size + 1  # and the line end after it
        try:
            while left and (piece := self._answers.read(min(left, GIT_CHUNK_BYTES))):
                left -= len(piece)
                yield piece if left else piece[:-1]
        except TimeoutError:
            raise _silent(self._root) from None
        if left:
            raise StoreFailed(str(self._root), "git ended in the middle of an object")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()
        self._process.wait()


@final
class _InTime(io.RawIOBase):
    """Reads the output of git, which never answers where a repository has a pipe in place of a file."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._poll = select.poll()
        self._poll.register(fd, select.POLLIN)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # no Buffer before 3.12
        if not self._poll.poll(GIT_ANSWER_S * 1000):
            raise TimeoutError
        return os.readv(self._fd, [buffer])


# -----------------------------------------------------------------------------
# The folders of a repository's objects.
#
# They belong to the folder, or to the repository whose linked worktree or submodule it is.  A file
# `.git`, a link or an alternate may name any other place of the machine.
# -----------------------------------------------------------------------------


def require_own_objects(root: Path) -> None:
    """Raise BadValue if the repository of a folder has objects of other repositories."""
    named = run(root, "rev-parse", "--git-path", "objects")
    if named is None:
        return
    homes = list(_homes(os.path.realpath(root)))
    pending, seen = [os.path.join(root, os.fsdecode(named.removesuffix(b"\n")))], set[str]()
    while pending:
        place = os.path.realpath(pending.pop())
        if place in seen:
            continue
        seen.add(place)
        for path in (place, *_links(place)):
            if not any(_is_within(os.path.realpath(path), home) for home in homes):
                raise _foreign(root, os.path.realpath(path))
        for line in _alternates(root, place):
            if line.startswith('"'):
                raise _foreign(root, line)  # git reads a name in quotes, with the escapes of C
            named_there = os.path.join(place, line)
            pending += [named_there, os.path.normpath(named_there)]  # git before 2.36 reads `..` as text


def _foreign(root: Path, place: str) -> BadValue:
    return BadValue(
        "--replay",
        str(root),
        f"takes objects of git from elsewhere: {place}",
        "Copy them with `git clone --no-local`, and name the copy.",
    )


def _is_within(path: str, home: str) -> bool:
    return os.path.commonpath((path, home)) == home


def _links(folder: str) -> Iterator[str]:
    for path, folders, files in os.walk(folder):
        yield from (whole for name in (*folders, *files) if os.path.islink(whole := os.path.join(path, name)))


def _alternates(root: Path, objects: str) -> list[str]:
    """The other folders of objects that a folder of objects names."""
    text = _small_file(root, os.path.join(objects, "info/alternates"))
    return [line for line in text.split("\n") if line and not line.startswith("#")]


def _homes(folder: str) -> Iterator[str]:
    """The folders in which its repository may have objects."""
    above = [folder, *map(str, Path(folder).parents)]
    top = next(filter(_is_repository, above), folder)
    yield top
    text = _small_file(Path(folder), os.path.join(top, ".git")).removeprefix("gitdir: ").rstrip("\n")
    if not text:
        return
    place = os.path.realpath(os.path.join(top, text))
    back = _small_file(Path(folder), os.path.join(place, "gitdir")).rstrip("\n")
    if back and os.path.realpath(os.path.join(place, back)) == os.path.join(top, ".git"):
        common = _small_file(Path(folder), os.path.join(place, "commondir")).rstrip("\n")
        home = os.path.realpath(os.path.join(place, common))
        if os.path.dirname(place) == os.path.join(home, "worktrees"):
            yield home  # a worktree that its repository knows, and not one that says so itself
    yield from (git for up in above if _is_within(place, git := os.path.join(up, ".git")))  # a submodule


def _is_repository(folder: str) -> bool:
    if os.path.lexists(os.path.join(folder, ".git")):
        return True
    return all(os.path.exists(os.path.join(folder, name)) for name in ("HEAD", "objects", "refs"))


def _small_file(root: Path, path: str) -> str:
    """The content of a regular file; empty if there is none. Raises StoreFailed for a large one."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return ""
    try:
        regular = stat.S_ISREG(os.fstat(fd).st_mode)
        data = os.read(fd, GIT_ALTERNATES_BYTES + 1) if regular else b""
    finally:
        os.close(fd)
    if len(data) > GIT_ALTERNATES_BYTES:
        raise StoreFailed(str(root), f"{path} is not a git file: it is too large")
    return os.fsdecode(data)
