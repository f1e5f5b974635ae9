"""A set that waits for review, in the dashboard: its changes side by side, a question, and the decision.

Only who was given the right decides, and only where the operator allows it.  Each change in the form is named
by a mark of everything that was shown of it, and nothing else is decided: what the agent changes meanwhile
has another mark, and is shown first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from readroom.core.errors import NoSuchView, ReadroomError
from readroom.core.review import Waiting, deciding
from readroom.core.review.deciding import Decided, Decider, SeenSet, waiting_changes
from readroom.core.review.differences import Difference
from readroom.core.review.marks import Shown, ShownOtherwise, mark_of
from readroom.core.review.showing import WHOLE_LINES, about, compared
from readroom.core.session.journal import Entry
from readroom.core.stores.review.tree import FileNode, LinkNode
from readroom.core.values import EntryKind
from readroom.core.values.changes import Diff
from readroom.server.http.ui.change import UI_CHANGE_FILES, UI_SIDE_ROWS, sides
from readroom.server.http.ui.page import Link, Page
from readroom.server.http.ui.review import conversation, counted, may_decide, visible, who, why_not
from readroom.server.http.ui.sides import SideRow
from readroom.server.http.ui.view import View
from readroom.server.ledger.sums import LOOKED_AT

UI_WAITING_BYTES = 1024 * 1024
"""In all diffs of one page."""

Decision: TypeAlias = Literal["accept", "reject", "drop"]
_DECISIONS: Final[Mapping[str, Decision]] = {"accept": "accept", "reject": "reject", "drop": "drop"}
_DONE: Final[Mapping[Decision, str]] = {"accept": "accepted", "reject": "rejected", "drop": "dropped"}


def waiting(view: View) -> Page:
    """A set with its changes side by side. Raises NoSuchView for one that is not there, or is not shown."""
    return _set_page(view, _found(view, view.text("set")), "", None)


def decided(view: View, form: Mapping[str, str]) -> Page:
    """The question, or after it the decision and what came of it. Raises NoSuchView."""
    if not may_decide(view):
        raise NoSuchView("page")
    one = _found(view, form.get("set", ""))
    decision = _DECISIONS.get(form.get("decision", ""))
    marks = frozenset(value for name, value in form.items() if name.startswith("pick"))
    if decision is None or (decision == "drop") is not bool(_unusable(one)):
        return _set_page(view, one, _AGAIN, marks)
    if not marks and decision != "drop":
        return _set_page(view, one, "Choose at least one change.", marks)
    try:
        if form.get("sure") != "1":
            return _question(view, one, decision, marks)
        return _outcome(view, one, decision, _done(view, one, decision, marks))
    except ShownOtherwise:
        return _set_page(view, one, _AGAIN, marks)
    except ReadroomError as error:
        return _set_page(view, one, f"{view.named(error.message).text}. Nothing was decided.", marks)


_AGAIN = "Something changed since you looked, so look again. Nothing was decided."


def _found(view: View, asked: str) -> Waiting:
    """The set with this id among those that the visitor may see."""
    for one in visible(view):
        if one.id == asked:
            return one
    raise NoSuchView("set")


def _unusable(one: Waiting) -> str:
    """Why a set can only be dropped as a whole."""
    problem = about(one)["problem"]
    return f"These changes cannot be used: {problem}." if problem else ""


# -----------------------------------------------------------------------------
# Deciding.
# -----------------------------------------------------------------------------


def _done(view: View, one: Waiting, decision: Decision, marks: frozenset[str]) -> Decided:
    services = view.access.workspace.engine.services
    if decision == "drop":
        outcome = deciding.reject(services, one.waiting, ())
    elif decision == "reject":
        outcome = deciding.reject(services, one.waiting, Shown(marks))
    else:
        caller = view.access.caller
        person = Decider(caller.agent or f"token {caller.token}", LOOKED_AT, caller.token)
        outcome = deciding.accept(services, one.waiting, Shown(marks), person)
    _recorded(view, decision, one)
    return outcome


def _recorded(view: View, what: str, one: Waiting) -> None:
    """Record in the ledger who looked at a set or decided about it. Raises LedgerFailed."""
    journal = view.access.workspace.gatekeeper.journal
    if journal is not None:
        caller = replace(view.access.caller, face=LOOKED_AT)
        failure = journal.write(Entry(caller, 0, "review", what, {"set": one.id}))
        if failure is not None and journal.required:
            raise failure


def _outcome(view: View, one: Waiting, decision: Decision, outcome: Decided) -> Page:
    count = len(outcome.changes)
    said = f"{count:,} change{'' if count == 1 else 's'} {_DONE[decision]}, {outcome.left:,} left waiting."
    page = _page(view, one, "Accepted" if decision == "accept" else "Rejected", "decided.html")
    page.own = {
        "said": said,
        "names": [_named(view, change) for change in outcome.changes[:UI_CHANGE_FILES]],
        "warnings": [f"{warn.detail[:1].upper()}{warn.detail[1:]}." for warn in outcome.warnings],
        "rest": view.bare("waiting", set=one.id) if outcome.left else "",
        "history": view.bare("history") if decision == "accept" else "",
        "back": view.bare("review"),
    }
    return page


def _question(view: View, one: Waiting, decision: Decision, marks: frozenset[str]) -> Page:
    """Asks whether the chosen changes are meant. Raises ShownOtherwise."""
    chosen: Sequence[Difference] = ()
    if decision != "drop":
        seen = waiting_changes(view.access.workspace.engine.services, one.waiting)
        chosen = Shown(marks).found(seen.tree, seen.changes)
    page = _page(view, one, "Accept" if decision == "accept" else "Reject", "decide.html")
    page.own = {
        "question": _asked(view, one, decision, len(chosen)),
        "set": one.id,
        "decision": decision,
        "button": "Accept" if decision == "accept" else "Reject",
        "marks": sorted(marks) if decision != "drop" else (),
        "names": [_named(view, change) for change in chosen],
        "action": _same_page(view),
        "back": view.bare("waiting", set=one.id),
    }
    return page


def _asked(view: View, one: Waiting, decision: Decision, count: int) -> str:
    if decision == "drop":
        return "Reject all of this set? It cannot be had back."
    changes = f"{count:,} change{'' if count == 1 else 's'} of {who(view, one).text}"
    if decision == "accept":
        return f"Accept {changes}? The files are changed at once, all or none."
    return f"Reject {changes}? They cannot be had back."


# -----------------------------------------------------------------------------
# The page of a set.
# -----------------------------------------------------------------------------


def _page(view: View, one: Waiting, title: str, template: str) -> Page:
    crumbs = [Link("Review", view.bare("review"))]
    return Page(f"{title}: set {one.id}" if title else f"Set {one.id}", crumbs=crumbs, template=template)


def _same_page(view: View) -> str:
    """The address for the form of a page: the same part of the set is shown if it is asked again."""
    return view.bare("waiting", **{"from": view.count("from"), "only": view.text("only", 64)})


def _set_page(view: View, one: Waiting, note: str, marks: frozenset[str] | None) -> Page:
    """The changes; `marks` names those that were chosen before, None chooses all that fit and are shown."""
    page = _page(view, one, "", "waiting.html")
    page.notes = [text for text in (note, why_not(view)) if text]
    page.own = {
        "facts": [(name, value) for name, value in _facts(view, one) if value],
        "set": one.id, "action": _same_page(view), "decides": may_decide(view), "unusable": _unusable(one),
        "files": (), "hidden": 0, "before": "", "after": "", "span": "",
    }  # fmt: skip
    if page.own["unusable"]:
        return page
    try:
        seen = waiting_changes(view.access.workspace.engine.services, one.waiting)
    except ReadroomError as error:
        page.own = {**page.own, "unusable": f"{error.message}.", "decides": False}
        return page
    _recorded(view, "show", one)
    page.own = {**page.own, **_changes(view, one, seen, marks)}
    return page


def _facts(view: View, one: Waiting) -> Iterator[tuple[str, str]]:
    facts = about(one)
    yield "Who", who(view, one).text
    yield "Conversation", conversation(view, one).text if one.tree.holder.session else ""
    yield "Token", one.tree.holder.token
    yield "Waits since (UTC)", facts["began"].replace("T", " ").removesuffix("Z")
    yield "Changed (UTC)", facts["changed"].replace("T", " ").removesuffix("Z")


def _changes(view: View, one: Waiting, seen: SeenSet, marks: frozenset[str] | None) -> dict[str, object]:
    """The changes of a page of a set, or the one that the address names by its mark."""
    first, every = min(view.count("from"), len(seen.changes)), seen.changes
    if alone := view.text("only", 64):
        found = [change for change in every if mark_of(seen.tree, change) == alone]
        first, every = 0, found or every
    some = every[first : first + UI_CHANGE_FILES]
    last = first + len(some)
    return {
        "files": list(_files(view, one, replace(seen, changes=some), marks)),
        "hidden": seen.hidden,
        "before": _at(view, one, max(0, first - UI_CHANGE_FILES)) if first else "",
        "after": _at(view, one, last) if last < len(every) else "",
        "span": f"Changes {first + 1:,} to {last:,} of {len(every):,}." if len(some) < len(every) else "",
    }


def _at(view: View, one: Waiting, first: int) -> str:
    return view.bare("waiting", **{"set": one.id, "from": first})


class _Left(Struct):
    """The rows and bytes for which one page still has room."""

    rows: int = UI_SIDE_ROWS
    size: int = UI_WAITING_BYTES


def _files(
    view: View, one: Waiting, seen: SeenSet, marks: frozenset[str] | None
) -> Iterator[dict[str, object]]:
    left = _Left()
    for change in seen.changes:
        diff, note = None, ""
        if left.rows and left.size > 0:
            services = view.access.workspace.engine.services
            diff, note = compared(services, seen.view, change, left.size, style=WHOLE_LINES)
        rows = list(islice(sides(diff), left.rows))
        left.rows -= len(rows)
        left.size -= 0 if diff is None else len(diff.text)
        yield _file(view, one, seen, _Compared(change, diff, note, rows), marks)


class _Compared(Struct):
    """A change with the rows of its difference that are shown."""

    change: Difference
    diff: Diff | None
    note: str
    rows: Sequence[SideRow]

    @property
    def is_whole(self) -> bool:
        """Whether everything that it would do is on the page."""
        change, diff = self.change, self.diff
        if change.kind is not EntryKind.FILE:
            return True
        return diff is not None and not diff.left_out and len(self.rows) == sum(1 for _ in sides(diff))


def _file(
    view: View, one: Waiting, seen: SeenSet, shown: _Compared, marks: frozenset[str] | None
) -> dict[str, object]:
    change = shown.change
    mark = mark_of(seen.tree, change)
    chosen = mark in marks if marks is not None else shown.is_whole and not change.problem
    alone = len(seen.changes) > 1
    added, removed = counted(shown.diff) if shown.diff is not None else (0, 0)
    return {
        **_named(view, change),
        "mark": mark,
        "chosen": chosen,
        "problem": change.problem,
        "remarks": list(_remarks(view, shown)),
        "rows": shown.rows,
        "sides": "There now, and what waits" if change.problem else "Now, and as it would be",
        "added": added,
        "removed": removed,
        "alone": view.bare("waiting", set=one.id, only=mark) if alone else "",
    }


def _named(view: View, change: Difference) -> dict[str, object]:
    slash = "/" if change.kind is EntryKind.FOLDER else ""
    source = change.source
    return {
        "action": change.action if change.kind is not EntryKind.LINK else f"{change.action} link",
        "path": view.file_cell(change.path).text + slash,
        "source": None if source is None else view.file_cell(source).text + slash,
        "copied": change.action != "moved",
    }


def _remarks(view: View, shown: _Compared) -> Iterator[str]:
    change, diff = shown.change, shown.diff
    if change.names:
        yield f"{change.names:,} names in it go with it."
    if shown.note:
        yield f"{shown.note[:1].upper()}{shown.note[1:]}."
    if isinstance(change.node, LinkNode):
        yield f"A link to {view.named(change.node.target.decode('utf-8', 'backslashreplace')).text}."
    if isinstance(change.node, FileNode):
        if diff is None:
            yield f"{change.node.size:,} bytes, SHA-256 {change.node.digest[:12]}."
        if change.node.mode & 0o111:
            yield f"Programs can be run from it: mode {change.node.mode & 0o7777:04o}."
    if not shown.is_whole:
        yield "Not all of it is shown."
