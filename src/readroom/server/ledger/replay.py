"""A ledger replayed in a folder as it is today: which calls would show the same, and which files changed, are
denied or gone.

The ledger has only the hash of each file that was shown, so hashes are compared. Each file is opened once,
through the workspace and its policy of today.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

from msgspec import Struct

from readroom.core.errors import ReadroomError
from readroom.core.rows import state_of
from readroom.core.workspace import Workspace
from readroom.server.ledger.rows import Row

State: TypeAlias = Literal["same", "unknown", "changed", "denied", "gone", "failed"]

STATES: tuple[State, ...] = ("same", "unknown", "changed", "denied", "gone", "failed")
"""From best to worst: a call has the worst state of its files. A file without a hash is unknown."""


class ReplayedRow(Struct, frozen=True):
    """A call of the ledger and the state of its files today; `files` are those that are not the same."""

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
        files: dict[str, State] = {}
        for span in event.spans:
            if span.path not in known:
                known[span.path] = _today(workspace, span.path)
            state, now = known[span.path]
            if state == "same" and now != (span.content_hash or ""):
                state = "changed" if now and span.content_hash else "unknown"
            if STATES.index(state) >= STATES.index(files.get(span.path, "same")):
                files[span.path] = state
        if files:
            worst = max(files.values(), key=STATES.index)
            others = tuple((path, state) for path, state in files.items() if state != "same")
            yield ReplayedRow(row.number, event.session, event.tool, event.path or "", worst, others)


def _today(workspace: Workspace, path: str) -> tuple[State, str]:
    """The state of a file and its hash."""
    try:
        facts = workspace.perform("read_file", {"path": path, "limit": 1}).facts
    except ReadroomError as error:
        return state_of(error.code), ""
    return "same", str(facts.get("content_hash") or "")
