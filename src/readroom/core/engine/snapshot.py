"""Copy the visible files of a workspace into memory, so that changes do not touch the workspace."""

from __future__ import annotations

from contextlib import closing

from readroom.core.deadline import Deadline
from readroom.core.engine.walk import Walk, in_order
from readroom.core.errors import AbsentError, FailedError, RefusedError, TimedOut, TooLarge
from readroom.core.limits import BLOCK_BYTES, LIST_MAX_DEPTH
from readroom.core.limits.session import STORE_BYTES
from readroom.core.paths import ROOT, WorkPath
from readroom.core.policy.guard import Guard
from readroom.core.policy.ignore_files import IgnoreTree
from readroom.core.secrets import unmasked
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import EntryKind

_ADVICE = (
    "Ask the user to serve a smaller folder, or to start with INSPECT_AGENTS_FS_MODE=sandbox, "
    "which works in the folder itself."
)


STORE_FILES = 10_000
"""Files copied into such a store at its beginning; larger folders take seconds and are worked in as they
are."""


def snapshot(guard: Guard, deadline: Deadline) -> MemoryStore:
    """The files that may be seen and that no ignore file names.

    What cannot be read is left out, as if it were denied. Raises TooLarge, TimedOut, Cancelled.
    """
    store = MemoryStore(most_bytes=STORE_BYTES)
    files = size = 0
    with guard.open_folder(ROOT) as top:
        ignores = IgnoreTree(guard, top.real)
        walk = Walk(guard, deadline, depth=LIST_MAX_DEPTH, ignores=ignores, enters=lambda path: True)
        with closing(walk.below(top, ROOT)) as runs:
            for run in runs:
                for name in in_order(run.names):  # listings keep this order
                    if run.kind(name) is not EntryKind.FILE:
                        continue
                    path = WorkPath(run.prefix + name)
                    data = _content(guard, path, STORE_BYTES - size, deadline)
                    if data is None:
                        continue
                    files, size = files + 1, size + len(data)
                    if files > STORE_FILES:
                        raise TooLarge("The folder", files, STORE_FILES, "files", _ADVICE)
                    store.put(path, data)
    if not walk.finished:
        raise TimedOut(deadline.seconds or 0, _ADVICE)
    return store


def _content(guard: Guard, path: WorkPath, room: int, deadline: Deadline) -> bytes | None:
    try:
        source = unmasked(guard.open(path))
    except (AbsentError, RefusedError, FailedError):
        return None
    with source:
        if source.size > room:
            raise TooLarge("The folder", STORE_BYTES - room + source.size, STORE_BYTES, "bytes", _ADVICE)
        pieces = []
        at = 0
        while at < source.size:
            deadline.check()
            piece = source.read_at(at, min(BLOCK_BYTES, source.size - at))
            if not piece:
                break
            pieces.append(piece)
            at += len(piece)
        return b"".join(pieces)
