"""Show the past of a workspace, and forget it. Taking changes back is in `undo`.

Every name is asked about under today's policy: what may not be seen now is not shown, whatever it was when it
was kept.

Knows: what of a kept change may be seen now.
Does not know: how it was kept.
May be touched: with a security review.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from msgspec.structs import replace

from readroom.core import errors
from readroom.core.caller import Caller
from readroom.core.engine.services import Job, Services
from readroom.core.errors.history import HistoryOff, NoSuchChange
from readroom.core.history.book import Book
from readroom.core.history.merging import DIFF_BYTES, encoding_of
from readroom.core.history.merging import diff as compared
from readroom.core.history.queries import (
    NAMES_LISTED,
    NAMES_SHOWN,
    Selection,
    has_past,
    kin,
    listed,
    one,
    rows_of,
)
from readroom.core.history.queries import forget as forgotten
from readroom.core.history.records import NameRow
from readroom.core.paths import WorkPath
from readroom.core.policy.guard import Guard
from readroom.core.quoting import quote
from readroom.core.values.changes import Diff
from readroom.core.values.files import Warn
from readroom.core.values.history import (
    LISTED_MAXIMUM,
    Author,
    ChangedName,
    DiffRequest,
    DiffResult,
    EntryState,
    ForgetRequest,
    ForgetResult,
    HistoryRequest,
    HistoryResult,
    KeptChange,
    NameDiff,
)

_DIFFED = 100
"""Names of one change whose contents are compared."""


_NOT_ON_DISK = "the past is kept here only by the process that made the changes"


def of_this_process(book: Book, error: errors.ReadroomError) -> errors.ReadroomError:
    """An error that something is not in the history, which says so where that ends with the process."""
    if not book.on_disk:
        known = f"{_NOT_ON_DISK[0].upper()}{_NOT_ON_DISK[1:]}"
        error.advice = f"{known}; write the former content back, if it is known."
    return error


def book_of(services: Services) -> Book:
    """The history, with what killed processes left compared. Raises HistoryOff, HistoryFailed."""
    if services.history is None:
        raise HistoryOff("the operator has turned it off, or there is no folder for it")
    book = services.history.book()
    book.settle()
    return book


def listing(services: Services, job: Job[HistoryRequest]) -> HistoryResult:
    """The newest changes, with the names that may be seen.

    Raises:
        BadValue: The maximum or the path cannot be meant.
        NoSuchChange: There is none of that number, or nothing of it may be seen.
        HistoryOff, HistoryFailed: There is no history, or it cannot be read.
    """
    if services.history is not None and services.history.joins:
        from readroom.core.engine.past import across

        return across.listing(services, job, listing)
    request, book = job.request, book_of(services)
    if not 1 <= request.maximum <= LISTED_MAXIMUM:
        raise errors.BadValue("maximum", request.maximum, "is out of range", f"Send 1 to {LISTED_MAXIMUM}.")
    if request.change is not None:
        return HistoryResult([_for_caller(seen_change(services, book, request.change), job.caller)])
    path = None if not request.path else asked_name(services, request.path)
    token = request.token
    if not job.caller.sees_others and (request.session, request.agent, request.since_ns) != (
        None,
        None,
        None,
    ):
        token = job.caller.token  # what a filter finds would say who made it
    which = Selection(path, request.session, request.agent, token, request.since_ns, request.cursor)
    changes, cursor = _seen(services.guard, book, which, request.maximum)
    warnings = [] if changes or book.on_disk else [Warn("not_on_disk", _NOT_ON_DISK)]
    return HistoryResult([_for_caller(change, job.caller) for change in changes], cursor, warnings)


_LOOKED_AT = 2_000
"""Changes that one list looks at to find some of which something may be seen."""


def _seen(
    guard: Guard, book: Book, which: Selection, maximum: int
) -> tuple[Sequence[KeptChange], int | None]:
    """The newest of these changes of which something may be seen, and the cursor of the others."""
    seen: list[KeptChange] = []
    for _ in range(max(1, _LOOKED_AT // maximum)):
        wanted = maximum - len(seen)
        found = listed(book, which, wanted + 1, NAMES_LISTED)
        shown = (visible(guard, change) for change in found[:wanted])
        seen += [change for change in shown if change.names or change.count > change.hidden]
        if len(found) <= wanted:
            return seen, None
        which = replace(which, before=found[wanted - 1].id)
        if len(seen) == maximum:
            break
    return seen, which.before


def seen_change(services: Services, book: Book, number: int, names: int = NAMES_SHOWN) -> KeptChange:
    """A change of which something may be seen. Raises NoSuchChange."""
    change = one(book, number, names)
    if change is None:
        raise of_this_process(book, NoSuchChange(number))
    shown = visible(services.guard, change)
    if change.names and not shown.names:
        raise NoSuchChange(number)
    return shown


def _for_caller(change: KeptChange, caller: Caller) -> KeptChange:
    """The change, without its author if the caller may not know who that is."""
    if caller.sees_others or change.by.token == caller.token:
        return change
    return replace(change, by=Author(), others=True)


def visible(guard: Guard, change: KeptChange) -> KeptChange:
    """The change without names that policy denies now, and how many those are."""
    names = [name for name in change.names if may_see(guard, name)]
    return replace(change, names=names, hidden=len(change.names) - len(names))


def may_see(guard: Guard, name: ChangedName) -> bool:
    """Whether policy lets all names of a record be seen now, as what they were before and afterwards."""
    kinds = {name.before.kind == "folder", name.after.kind == "folder"}
    return all(guard.decide(WorkPath(path), folder=folder).allowed for path in name.names for folder in kinds)


def real_name(services: Services, path: str) -> WorkPath:
    """The real name that a path means, or would mean: what it meant may be gone."""
    guard = services.guard
    asked = guard.spelled(guard.parse(path))
    try:
        with guard.store.place(asked) as place:
            return place.real
    except errors.ReadroomError:
        return asked


def asked_name(services: Services, path: str) -> WorkPath:
    """The real name that a path means. Raises Denied for one that policy denies today, whatever it was."""
    real, guard = real_name(services, path), services.guard
    rules = [guard.decide(real, folder=folder).rule for folder in (False, True)]
    if None not in rules and (rule := rules[0]) is not None:
        # The name as it was asked for: a link must not say what it leads to.
        raise errors.Denied(guard.spelled(guard.parse(path)), rule.pattern, rule.source, rule.reason)
    return real


def diff(services: Services, job: Job[DiffRequest]) -> DiffResult:
    """The effect of a change, name by name.

    Raises:
        NoSuchChange: There is none of that number, or nothing of it may be seen.
        HistoryOff, HistoryFailed: There is no history, or it cannot be read.
    """
    if services.history is not None and services.history.joins:
        from readroom.core.engine.past import across

        return across.diff(services, job, diff)
    book, request = book_of(services), job.request
    change = seen_change(services, book, request.change)
    path = None if not request.path else asked_name(services, request.path)
    rows = [row for row in rows_of(book, change.id, path) if may_see(services.guard, row.name)]
    if request.path and not rows:
        raise NoSuchChange(request.change, request.path)
    files = []
    left = job.cap.size
    for row in rows[:_DIFFED]:
        job.deadline.check()
        found = _compared(book, row, min(left, DIFF_BYTES), services.guard.as_shown)
        left -= 0 if found.diff is None else len(found.diff.text)
        files.append(found)
    warnings: list[Warn] = []
    if len(rows) > _DIFFED:
        warnings.append(Warn("left_out", f"{len(rows) - _DIFFED:,} more names; ask for them by path"))
    return DiffResult(_for_caller(change, job.caller), files, warnings)


def _compared(book: Book, row: NameRow, room: int, shown: Callable[[bytes], bytes]) -> NameDiff:
    name = row.name
    if name.to is not None or "file" not in (name.before.kind, name.after.kind):
        return NameDiff(name)
    before, after = (
        _content(book, number, state)
        for number, state in ((row.before, name.before), (row.after, name.after))
    )
    if before is None or after is None:
        return NameDiff(name, note="not kept")
    before, after = shown(before), shown(after)
    if encoding_of(before, after) is None:
        return NameDiff(name, note="not text, or too large to compare")
    found: Diff | None = compared(before, after, max(0, room))
    return NameDiff(name, found, "" if found is not None else "not text", before, after)


def _content(book: Book, number: int | None, state: EntryState) -> bytes | None:
    return b"" if state.kind != "file" else book.content(number, state)


def _shows(guard: Guard | None, name: str) -> bool:
    """Whether policy shows a name now, whatever it was; None shows all."""
    path = WorkPath(name)
    return guard is None or all(guard.decide(path, folder=folder).allowed for folder in (False, True))


def forget(services: Services, job: Job[ForgetRequest]) -> ForgetResult:
    """Remove the past of a name and everything below it at once, or that of the whole workspace.

    Raises:
        BadValue: Neither a path nor `all` was sent.
        HistoryOff, HistoryFailed: There is no history, or it cannot be written.
    """
    if services.history is not None and services.history.joins:
        from readroom.core.engine.past import across

        return across.forget(services, job, forget)
    request, book = job.request, book_of(services)
    if bool(request.path) == request.all:
        advice = "Send a path, or all=true for the whole workspace."
        raise errors.BadValue("path", request.path, "does not say whose past", advice)
    path = None if not request.path else real_name(services, request.path)
    # The user of the machine may have denied the file because of what its past holds.
    own = job.caller.face in ("cli", "library")
    may: Callable[[str], bool] = partial(_shows, None if own else services.guard)
    others = [] if path is None else [name for name in kin(book, path) if may(name)]
    changes, names, size, clean = forgotten(book, path, may)
    warnings: list[Warn] = []
    if not clean:
        detail = "another process is reading the history; the bytes leave its log when that ends"
        warnings.append(Warn("not_cleared", detail))
    others = [name for name in others if has_past(book, name)]
    if others:
        shown = ", ".join(map(quote, others[:_NAMED])) + (", ..." if others[_NAMED:] else "")
        warnings.append(Warn("still_kept", f"moved from or to there, or the same: forget also {shown}"))
    return ForgetResult(changes, names, size, warnings)


_NAMED = 5
"""Other names that a reply of `forget` shows."""
