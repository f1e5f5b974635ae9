"""The page of what waits for review: whose it is, since when, and how much."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from readroom.core.errors import NoSuchView, ReadroomError
from readroom.core.review import REVIEW, Waiting
from readroom.core.review.deciding import SeenSet, require_here, waiting_changes
from readroom.core.review.differences import Difference
from readroom.core.review.showing import about, compared
from readroom.core.values.changes import Diff
from readroom.server.http.ui.page import Cell, Page, Table, missing, number
from readroom.server.http.ui.view import View

UI_SETS = 100
"""Sets on the page: as many conversations of a folder can have changes that wait."""

UI_COUNTED_NAMES = 1_000
"""Names in all sets on the page that are compared with the folder."""

UI_COUNTED_FILES = 200
"""Files on the page of which lines are counted."""

UI_COUNTED_BYTES = 64 * 1024
"""Largest file of which they are."""

_COUNTED_DIFF_BYTES = 256 * 1024
_NAMED = 3
"""Names of files in a row."""


_HEADS = (
    "Set",
    "Who",
    "Session",
    "Waits since (UTC)",
    "Changed (UTC)",
    "Files",
    "Added",
    "Removed",
    "State",
)


def review(view: View) -> Page:
    """The sets that this visitor may see. Raises NoSuchView where changes do not wait."""
    room = _Room(UI_COUNTED_NAMES, UI_COUNTED_FILES)
    rows = [_row(view, one, room) for one in visible(view)[:UI_SETS]]
    return Page(
        "Review",
        tables=[Table("review", "Changes that wait", _HEADS, rows, empty="Nothing waits.")],
        notes=[note] if (note := why_not(view)) else [],
    )


# -----------------------------------------------------------------------------
# Who may see and decide.
# -----------------------------------------------------------------------------


def has_right(view: View) -> bool:
    """Whether the visitor's token was made to decide; one for all tools was not."""
    granted = view.access.granted
    return granted is not None and REVIEW in granted


def may_decide(view: View) -> bool:
    """Whether the operator lets people decide in the dashboard, and the visitor is one of them."""
    settings = view.access.workspace.settings
    return has_right(view) and settings.history.review_in_dashboard and not settings.changes.read_only


def why_not(view: View) -> str:
    """Why this visitor decides nothing here; empty for one who does."""
    if may_decide(view):
        return ""
    if not has_right(view):
        return "This token decides nothing, and sees only what its own agents changed. " + _TOKEN
    return "The operator lets nobody decide here. Use readroom review."


_TOKEN = "One that decides: readroom token create NAME --tool review."


def visible(view: View) -> Sequence[Waiting]:
    """All sets for those with the right to decide, those of its own token for anybody else.

    Raises NoSuchView where changes do not wait.
    """
    reviews = view.access.workspace.reviews
    if reviews is None:
        raise NoSuchView("page")
    if has_right(view):
        return reviews.all()
    token = view.access.caller.token
    if not token or not view.sight.contents:
        return ()
    return [one for one in reviews.all() if one.tree.holder.token == token]


def who(view: View, one: Waiting) -> Cell:
    """The agent of a set."""
    return view.named(one.tree.agent or one.tree.holder.agent, none="an agent without a name")


def conversation(view: View, one: Waiting) -> Cell:
    """The conversation of a set."""
    holder = one.tree.holder
    if not holder.session:
        return missing()
    return view.conversation(holder.session, one.tree.agent or holder.agent, holder.token)


# -----------------------------------------------------------------------------
# The table.
# -----------------------------------------------------------------------------


class _Room(Struct):
    """The names and files of the page that are still looked at."""

    names: int
    files: int


def _row(view: View, one: Waiting, room: _Room) -> Sequence[Cell]:
    facts = about(one)
    files, added, removed, state = _contents(view, one, room)
    return (
        Cell(one.id, view.bare("waiting", set=one.id)),
        who(view, one),
        conversation(view, one),
        _when(facts["began"]),
        _when(facts["changed"]),
        files,
        added,
        removed,
        state,
    )


def _when(text: str) -> Cell:
    return Cell(text.replace("T", " ").removesuffix("Z"), raw=text, tone="soft")


def _contents(view: View, one: Waiting, room: _Room) -> tuple[Cell, Cell, Cell, Cell]:
    names = len(one.tree.nodes)
    count = Cell(f"{names:,} name{'' if names == 1 else 's'}", room="much")
    try:
        require_here(one)
        if names > room.names:
            return count, missing(), missing(), Cell("not compared here", tone="soft")
        room.names -= names
        seen = waiting_changes(view.access.workspace.engine.services, one.waiting)
    except ReadroomError:
        return count, missing(), missing(), Cell("unusable", tone="bad")
    added, removed = _counts(_diffs(view, seen, room))
    failed = sum(bool(change.problem) for change in seen.changes)
    state = Cell(f"{failed:,} no longer fit", tone="warn") if failed else Cell("fits", tone="good")
    return _files(view, seen), added, removed, state


def _files(view: View, seen: SeenSet) -> Cell:
    """The first names, and how many more."""
    named = [view.file_cell(change.path).text for change in seen.changes[:_NAMED]]
    more = len(seen.changes) - len(named)
    said = [*named, *([f"{more:,} more"] if more else [])]
    said += [f"{seen.hidden:,} hidden by policy"] if seen.hidden else []
    return Cell(", ".join(said) or "no difference any more", room="much")


def _diffs(view: View, seen: SeenSet, room: _Room) -> Iterator[Diff | None]:
    """The differences of the files of a set; None for one whose lines are not counted."""
    services = view.access.workspace.engine.services
    for change in seen.changes:
        if not _has_lines(change):
            continue
        room.files -= 1
        if room.files < 0:
            yield None
            return
        yield compared(services, seen.view, change, _COUNTED_DIFF_BYTES, UI_COUNTED_BYTES)[0]


def _has_lines(change: Difference) -> bool:
    return change.kind == "file"


def _counts(diffs: Iterator[Diff | None]) -> tuple[Cell, Cell]:
    """Lines that come and go; at least so many where not all were counted."""
    added = removed = 0
    whole = True
    for diff in diffs:
        if diff is None:
            whole = False
            continue
        more, less = counted(diff)
        added, removed = added + more, removed + less
        whole &= not diff.left_out
    if whole:
        return number(added), number(removed)
    return tuple(Cell(f"at least {value:,}", number=True, raw=value) for value in (added, removed))  # type: ignore[return-value]


def counted(diff: Diff) -> tuple[int, int]:
    """The lines that are added and removed in the hunks of a diff."""
    marks = [line[:1] for hunk in diff.hunks for line in hunk.lines]
    return marks.count("+"), marks.count("-")
