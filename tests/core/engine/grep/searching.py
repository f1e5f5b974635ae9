"""Searches for tests: trees by name, both kinds of store, pages put together."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from readroom.core.contracts.native import MEASURE
from readroom.core.deadline import Deadline
from readroom.core.engine.grep import perform
from readroom.core.limits import REPLY_BYTES, Limits
from readroom.core.policy.guard import Guard
from readroom.core.stores.base import Store
from readroom.core.stores.local import LocalStore
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import Cap, GrepRequest, GrepResult
from tests.core.engine.serving import job, serving

CAP = Cap(REPLY_BYTES, MEASURE)

MOST_PAGES = 5000


def write(root: Path, files: Mapping[str, bytes]) -> None:
    """Put files below a folder; names may be no UTF-8, as `os.fsdecode` gives them."""
    for path, data in files.items():
        target = Path(root, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


@contextmanager
def on_disk(files: Mapping[str, bytes]) -> Iterator[LocalStore]:
    """A local store of these files."""
    with TemporaryDirectory(prefix="readroom-grep-") as folder:
        write(Path(folder), files)
        yield LocalStore(folder)


def search(
    store: Store,
    request: GrepRequest,
    *,
    cap: Cap = CAP,
    limits: Limits | None = None,
    deadline: Deadline | None = None,
    confined: bool = True,
    guard: Guard | None = None,
) -> GrepResult:
    """One page."""
    return perform(serving(guard or Guard(store), limits), job(request, cap, deadline), confined=confined)


def pages(store: Store, request: GrepRequest, *, cap: Cap = CAP) -> Iterator[GrepResult]:
    """The page and all that follow by `next`."""
    following: GrepRequest | None = request
    for _ in range(MOST_PAGES):
        if following is None:
            return
        result = search(store, following, cap=cap)
        yield result
        following = result.next
    raise AssertionError("following `next` does not end")


def rows(result: GrepResult) -> list[tuple[str, int, str]]:
    """The matches of a page: path, line number, text."""
    return [
        (file.path, line.number, line.text) for file in result.files for line in file.lines if line.is_match
    ]


def matches(result: GrepResult) -> list[tuple[str, int]]:
    """What a page shows, without texts: path and line number, or number of lines where none are shown."""
    lines = [(path, number) for path, number, _ in rows(result)]
    return lines or [(file.path, file.matches) for file in result.files]


def context(result: GrepResult) -> list[tuple[str, int]]:
    """The lines around matches on a page: path and line number."""
    return [(file.path, line.number) for file in result.files for line in file.lines if not line.is_match]


def paths(result: GrepResult) -> list[str]:
    """The files of a page."""
    return [file.path for file in result.files]


def in_memory(files: Mapping[str, bytes]) -> MemoryStore:
    """A memory store of these files."""
    return MemoryStore(files)


def same_times(store: LocalStore, memory: MemoryStore, files: Mapping[str, bytes]) -> None:
    """Give files the same times in both stores, the later ones in the mapping being newer."""
    for number, (path, data) in enumerate(files.items(), 1):
        when = number * 1_000_000_000
        os.utime(Path(store.folder, path), ns=(when, when))
        memory.put(path, data, mtime_ns=when)


def without_coverage(result: GrepResult) -> GrepResult:
    """The part of a result on which two stores agree.

    How far they came is counted differently, and what they left out comes from a log of rg or from a walk;
    `laws/test_never_opened.py` holds each store to the bytes on disk.
    """
    omitted = [item for item in result.omitted if item.reason != "left_out"]
    warnings = [warn for warn in result.warnings if warn.code != "left_out"]
    return replace(result, searched_files=None, total_files=None, omitted=omitted, warnings=warnings)
