"""Sets of changes as values for JSON, for people and programs, with the difference of each file."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from readroom.core.engine.services import Services
from readroom.core.errors import ReadroomError
from readroom.core.limits import HEAD_BYTES
from readroom.core.paths import WorkPath
from readroom.core.quoting import as_value
from readroom.core.review import Reviews, Waiting
from readroom.core.review.deciding import Decided, waiting_changes
from readroom.core.review.differences import Difference
from readroom.core.secrets import unmasked
from readroom.core.stores.base import Source
from readroom.core.stores.review import ReviewStore
from readroom.core.stores.review.tree import FileNode
from readroom.core.text import encodings
from readroom.core.text.edits.diff import between
from readroom.core.values import EntryKind
from readroom.core.values.changes import NATIVE_DIFF, Diff, DiffStyle

COMPARED_BYTES = 1024 * 1024
"""Largest file of which the lines are compared."""

DIFF_BYTES = 32 * 1024
"""Most of the difference of one file that is shown, hunk by hunk."""

_SHOWN_BYTES = 1024 * 1024
"""Most of all differences together."""


def listed(reviews: Reviews, token: str | None = None) -> list[dict[str, Any]]:
    """The sets, or those of one token."""
    return [about(one) for one in reviews.all() if token is None or one.tree.holder.token == token]


def about(one: Waiting) -> dict[str, Any]:
    """Whose set it is, and how much waits in it."""
    tree, holder = one.tree, one.tree.holder
    return {
        "id": one.id,
        "agent": tree.agent or holder.agent,
        "session": holder.session,
        "token": holder.token,
        "began": _time(tree.began),
        "changed": _time(tree.changed),
        "names": len(tree.nodes),
        "bytes": tree.size,
        "problem": one.problem or (_ELSEWHERE if one.elsewhere else ""),
    }


_ELSEWHERE = "another folder had this name when these changes were made; they can only be rejected"


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def shown(services: Services, one: Waiting, names: Sequence[WorkPath] = ()) -> dict[str, Any]:
    """The changes of a set, each with its difference."""
    seen = waiting_changes(services, one.waiting)
    room, rows = _SHOWN_BYTES, []
    for change in seen.changes:
        if names and not any(_is_below(path, name) for path in _paths(change) for name in names):
            continue
        row = row_of(change)
        row["diff"], row["note"] = _as_text(services, seen.view, change, min(room, DIFF_BYTES))
        room -= len(row["diff"] or "")
        rows.append(row)
    return {**about(one), "changes": rows, "hidden": seen.hidden}


def _paths(change: Difference) -> list[WorkPath]:
    return [change.path] if change.source is None else [change.path, change.source]


def _is_below(path: WorkPath, name: WorkPath) -> bool:
    return path == name or path.startswith(f"{name}/")


def row_of(change: Difference) -> dict[str, Any]:
    """One change without its difference."""
    return {
        "path": as_value(change.path),
        "action": change.action,
        "kind": change.kind.value,
        "from": None if change.source is None else as_value(change.source),
        "names": change.names,
        "fits": not change.problem,
        "problem": change.problem,
    }


def decided(outcome: Decided) -> dict[str, Any]:
    """The changes that were accepted or rejected."""
    return {
        "changes": [row_of(change) for change in outcome.changes],
        "left": outcome.left,
        "warnings": [{"code": warn.code, "detail": warn.detail} for warn in outcome.warnings],
    }


def _as_text(services: Services, view: ReviewStore, change: Difference, room: int) -> tuple[str | None, str]:
    diff, note = compared(services, view, change, max(room, 1024))
    return None if diff is None else diff.text.rstrip("\n"), note


WHOLE_LINES = DiffStyle(line_chars=COMPARED_BYTES)
"""For who agrees to every part of a line."""


def compared(
    services: Services,
    view: ReviewStore,
    change: Difference,
    room: int,
    maximum: int = COMPARED_BYTES,
    style: DiffStyle = NATIVE_DIFF,
) -> tuple[Diff | None, str]:
    """The difference of a file, in at most `room` bytes; None and why for what has none.

    Files of more than `maximum` bytes are not compared.
    """
    if change.kind is not EntryKind.FILE:
        return None, ""
    try:
        before = _before(services, view, change, maximum)
        after = (
            "" if change.action == "deleted" else _text(services.guard.shown(view.open(change.path)), maximum)
        )
    except ReadroomError as error:
        return None, error.message
    if before is None or after is None:
        return None, "binary, or too large to compare"
    if before == after:
        return Diff(), "the same text in other bytes" if isinstance(change.node, FileNode) else _SAME
    return between(before, after, room, style), ""


_SAME = "the same content"


def _before(services: Services, view: ReviewStore, change: Difference, maximum: int) -> str | None:
    path = change.source if change.action == "moved" and change.source else change.path
    stat = view.behind(path)
    if stat is None or stat.kind is not EntryKind.FILE:
        return ""
    return _text(services.guard.open(path), maximum)


def _leaving(text: str, *, masks: bool) -> str:
    """A text with labels in the place of signs, where there are any."""
    if not masks:
        return text
    from readroom.core.secrets.texts import labelled_text  # few operators mask

    return labelled_text(text)


def _text(source: Source, maximum: int) -> str | None:
    with source:
        if source.size > maximum:
            return None
        data = source.read_at(0, source.size)
    if not data:
        return ""
    found = encodings.detect(data[:HEAD_BYTES], complete=len(data) <= HEAD_BYTES)
    if found is None:
        return None
    try:
        return _leaving(data.decode(found.name), masks=unmasked(source) is not source)
    except (UnicodeDecodeError, LookupError):
        return None
