"""Changes of a command in the history: who ran it, and which names it changed, without their contents.

No copy was made before it, so such a change cannot be taken back.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from readroom.core.errors.history import HistoryFailed
from readroom.core.history import History
from readroom.core.history.records import Draft
from readroom.core.values import EntryKind
from readroom.core.values.commands import RunResult, TreeChange
from readroom.core.values.files import Warn
from readroom.core.values.history import NOTHING, Author, EntryState, Kind

_KINDS: dict[EntryKind, Kind] = {
    EntryKind.FILE: "file",
    EntryKind.FOLDER: "folder",
    EntryKind.LINK: "link",
}


def kept(history: History, author: Author, result: RunResult) -> RunResult:
    """The result, whose named changes are in the history; it says so if they could not be kept."""
    drafts = [draft for change in result.changes.named for draft in _drafts(change)]
    if not drafts:
        return result
    try:
        history.record(author, drafts)
    except HistoryFailed as error:
        return replace(result, warnings=(*result.warnings, Warn("no_history", error.reason)))
    return result


def _drafts(change: TreeChange) -> Iterator[Draft]:
    kind = _KINDS.get(change.kind)
    if kind is None:
        return  # a pipe or a socket
    before, after = EntryState(kind), EntryState(kind, content_hash=change.content_hash)
    match change.action:
        case "created":
            yield Draft(change.path, NOTHING, after)
        case "deleted":
            yield Draft(change.path, before, NOTHING)
        case "moved":
            yield Draft(change.path, after, after, change.to)
        case "changed":
            yield Draft(change.path, before, after)
