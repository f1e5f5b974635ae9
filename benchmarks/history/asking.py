"""Calls of the tool git to their end, and the git program beside them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from readroom import Workspace

_ENVIRONMENT = {
    "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "LC_ALL": "C.UTF-8",
}


def git(folder: Path, *words: str, data: bytes | None = None, index: Path | None = None) -> bytes:
    """What git says; `index` is one of its own. Raises CalledProcessError."""
    own = {} if index is None else {"GIT_INDEX_FILE": str(index)}
    command = ["git", "-C", str(folder), "-c", "core.quotePath=false", *words]
    done = subprocess.run(command, input=data, capture_output=True, check=True, env={**_ENVIRONMENT, **own})
    return done.stdout


def git_text(folder: Path, *words: str) -> str:
    """The same as text."""
    return git(folder, *words).decode("utf-8", "surrogateescape")


class Refused(Exception):
    """A call ended with an error."""


def pages(workspace: Workspace, **arguments: Any) -> Iterator[Mapping[str, Any]]:
    """The facts of a call and of all that it names to go on. Raises Refused."""
    call: Mapping[str, Any] | None = {"tool": "git", "arguments": arguments}
    while call is not None:
        reply = workspace.call(call["tool"], call["arguments"])
        if reply.is_error:
            raise Refused(reply.text.partition("\n")[0])
        facts: Any = {**reply.facts, "text": reply.text}
        yield facts
        call = facts["next"]
