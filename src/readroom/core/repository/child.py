"""The child process that reads one repository, confined before it opens it.

A program of its own, run by its path with `python -I -S`; its parent tells it where modules are.  It imports
libgit2 and only then gives up its rights: all files but those of the repository, writing, sockets, new
programs, unlimited memory and processor time.  Its parent trusts none of its output.

    standard input   one JSON object in a line, see `Order`; then one question in a line, see `answers`,
                     followed by as many bytes as its `size` says
    standard output  for the order and for each question two lengths, a JSON object, and bytes
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import struct
import sys
from collections.abc import Mapping
from typing import Any, BinaryIO, TypedDict

LENGTHS = struct.Struct("!II")
"""The lengths of the JSON object and of the bytes of an answer."""

GIT_CACHE_BYTES = 32 * 1024 * 1024
"""Objects that libgit2 keeps."""

GIT_WINDOW_BYTES = 256 * 1024 * 1024
"""Bytes of packs that libgit2 maps at once."""


class Order(TypedDict):
    """The repository to open. `folders` are descriptors of all that may be read of it.

    `paths` is where modules are found, and `libraries` are those of the paths in which files may be read
    later.  `home` is the folder of the repository, `shallow` where a shallow clone ends.
    """

    paths: list[str]
    libraries: list[str]
    folders: list[int]
    home: str
    shallow: list[str]
    memory_bytes: int
    cpu_s: int
    files: int


def main() -> int:
    """Open one repository and answer questions about it."""
    orders = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for place in (0, 1, 2):
        os.dup2(nothing, place)
    order: Order = json.loads(orders.readline())
    sys.path[:] = order["paths"]
    try:
        import pygit2
    except ImportError as error:
        _send(replies, {"type": "Missing", "problem": str(error)[:200]})
        os._exit(0)
    answers = importlib.import_module("readroom.core.repository.answers")
    _alone(pygit2)
    _confine(order)
    try:
        repository = answers.opened(order["home"], order["shallow"])
    except Exception as error:
        _send(replies, _failure(error))
        os._exit(0)
    _send(replies, {"type": "Answer"})
    while line := orders.readline():
        question = json.loads(line)
        data = orders.read(question.pop("size", 0))
        try:
            answer, blob = answers.of(repository, question, data)
        except answers.Refusal as refusal:
            _send(replies, {"type": refusal.kind, "problem": str(refusal)[:500]})
        except Exception as error:
            _send(replies, _failure(error))
        else:
            _send(replies, {"type": "Answer", **answer}, blob)
    os._exit(0)


def _failure(error: Exception) -> dict[str, str]:
    if isinstance(error, MemoryError):
        return {"type": "Failed", "problem": "it takes more memory than a repository gets"}
    text = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, KeyError):
        text = f"the object {text.strip(chr(39))} is missing"
    return {"type": "Failed", "problem": text[:300]}


def _send(replies: BinaryIO, answer: Mapping[str, Any], blob: bytes = b"") -> None:
    data = json.dumps(answer).encode()
    replies.write(LENGTHS.pack(len(data), len(blob)))
    replies.write(data)
    replies.write(blob)
    replies.flush()


def _alone(pygit2: Any) -> None:
    """Leave the repository alone with libgit2: no configuration of the machine, small caches."""
    from pygit2.enums import ConfigLevel

    for level in (ConfigLevel.PROGRAMDATA, ConfigLevel.SYSTEM, ConfigLevel.XDG, ConfigLevel.GLOBAL):
        pygit2.settings.search_path[level] = ""
    pygit2.settings.owner_validation = False  # whoever named this folder trusts it enough to read it
    pygit2.settings.cache_max_size(GIT_CACHE_BYTES)
    pygit2.settings.mwindow_mapped_limit = GIT_WINDOW_BYTES


def _confine(order: Order) -> None:
    """Give up, for good, all rights that reading the repository does not need."""
    for what, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, order["files"]),
        (resource.RLIMIT_DATA, order["memory_bytes"]),
    ):
        resource.setrlimit(what, (most, most))
    resource.setrlimit(resource.RLIMIT_CPU, (order["cpu_s"], order["cpu_s"] + 1))
    if sys.platform != "linux":
        return
    from readroom.core.kernel import landlock, seccomp

    libraries = [place for place in order["libraries"] if os.path.isdir(place)]
    if landlock.available():
        landlock.restrict(landlock.LandlockRules(read=[*libraries, *order["folders"]], execute=[]))
        if seccomp.known_machine():
            seccomp.install(seccomp.reading_filter())


if __name__ == "__main__":
    sys.exit(main())
