"""Repositories for tests, made with the git program."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from readroom import Workspace
from readroom.core.values import Reply

needs_git = pytest.mark.skipif(
    (shutil.which("git") is None or find_spec("pygit2") is None) and "CI" not in os.environ,
    reason="git and pygit2 are not both installed; CI has them",
)
"""The mark of a module whose tests make repositories and read them."""

ENVIRONMENT = {
    "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "Ann",
    "GIT_AUTHOR_EMAIL": "ann@example.org",
    "GIT_COMMITTER_NAME": "Ann",
    "GIT_COMMITTER_EMAIL": "ann@example.org",
    "LC_ALL": "C.UTF-8",
}


def git(folder: Path, *words: str, when: int = 0, data: bytes | None = None, **more: str) -> str:
    """What git says; `when` is the time of a commit."""
    variables = {**ENVIRONMENT, **more}
    if when:
        variables |= {"GIT_AUTHOR_DATE": f"{when} +0000", "GIT_COMMITTER_DATE": f"{when} +0000"}
    done = subprocess.run(
        ["git", "-C", str(folder), *words], input=data, capture_output=True, check=True, env=variables
    )
    return done.stdout.decode("utf-8", "surrogateescape")


class Repo:
    """A repository whose commits are a day apart."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._day = 0
        git(folder, "init", "-q", "-b", "main", ".")

    def write(self, files: Mapping[str, str | bytes | None]) -> None:
        """Write files; None removes one."""
        for name, content in files.items():
            path = self.folder / name
            if content is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    def commit(self, files: Mapping[str, str | bytes | None], subject: str = "change") -> str:
        """Write files and commit everything; the id of the commit."""
        self.write(files)
        git(self.folder, "add", "-A", "-f", ".")
        return self.record(subject)

    def record(self, subject: str) -> str:
        """Commit what is in the index; the id of the commit."""
        self._day += 1
        when = 1_600_000_000 + self._day * 86_400
        git(self.folder, "commit", "-q", "--allow-empty", "-m", subject, when=when)
        return self.git("rev-parse", "HEAD").strip()

    def git(self, *words: str, **more: Any) -> str:
        """What git says about it."""
        return git(self.folder, *words, **more)


@contextmanager
def asking(folder: Path | str) -> Iterator[Ask]:
    """Calls of the native tools."""
    with Workspace(folder) as workspace:
        yield Ask(workspace)


class Ask:
    """Calls of one workspace, as a client sends them."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

    def __call__(self, tool: str, **arguments: Any) -> Reply:
        return self.workspace.call(tool, arguments)

    def text(self, tool: str, **arguments: Any) -> str:
        """The text of a reply that is no error."""
        reply = self(tool, **arguments)
        assert not reply.is_error, reply.text
        return reply.text

    def fails(self, code: str, tool: str, **arguments: Any) -> str:
        """The text of a reply that is this error."""
        reply = self(tool, **arguments)
        assert reply.is_error, reply.text
        error = reply.facts["error"]
        assert isinstance(error, Mapping)
        assert error["code"] == code, reply.text
        return reply.text
