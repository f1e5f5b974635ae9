"""Our own ledger against a folder as it is: which calls would show the same, and what changed, is denied
or gone since.

The ledger holds no content but the hash of each file that was shown, so that is what is compared; each
file is opened once, through the workspace and its policy of today.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

import msgspec

from readroom.errors import ReadroomError
from readroom.ledger.rows import Row
from readroom.lens.records.values import as_list, as_object, as_text, decode
from readroom.lens.replay import state_of
from readroom.workspace import Workspace

State: TypeAlias = Literal["same", "unknown", "changed", "denied", "gone", "failed"]

STATES: tuple[State, ...] = ("same", "unknown", "changed", "denied", "gone", "failed")
"""From best to worst: a call is as bad as the worst of the files it showed. A file without a hash is
unknown.
"""


class ReplayedRow(msgspec.Struct, frozen=True):
    """A call of the ledger and how its files stand today; `files` are those that are not the same."""

    number: int
    session: str
    tool: str
    path: str
    state: State
    files: tuple[tuple[str, State], ...]


def replay(rows: Iterable[Row], workspace: Workspace) -> Iterator[ReplayedRow]:
    """Every call that showed lines of files, in order."""
    known: dict[str, tuple[State, str]] = {}
    for row in rows:
        event = row.event
        spans = [
            item
            for item in as_list(decode(event.shown.encode()))
            if isinstance(item, list) and len(item) >= 2
        ]
        files: dict[str, State] = {}
        for path, hash_ in ((as_text(item[0]), as_text(item[1])) for item in spans):
            if path not in known:
                known[path] = _today(workspace, path)
            state, now = known[path]
            if state == "same" and now != hash_:
                state = "changed" if now and hash_ else "unknown"
            if STATES.index(state) >= STATES.index(files.get(path, "same")):
                files[path] = state
        if files:
            worst = max(files.values(), key=STATES.index)
            others = tuple((path, state) for path, state in files.items() if state != "same")
            yield ReplayedRow(row.number, event.session, event.tool, event.path or "", worst, others)


def _today(workspace: Workspace, path: str) -> tuple[State, str]:
    """How a file stands: whether it may be read, and its hash."""
    try:
        reply = workspace.call("read_file", {"path": path, "limit": 1})
    except ReadroomError as error:
        return state_of(error.code), ""
    if reply.is_error:
        return state_of(as_text(as_object(reply.facts.get("error")).get("code"))), ""
    return "same", as_text(reply.facts.get("content_hash"))
