"""A file with a gutter: which lines were shown, when, how often, and by which call.

The content is that of the file now, read through the guard, and recorded like other reads. A line counts as
shown if its hash in a call is that of the file now; of other versions the ledger has hashes and line numbers,
but no text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate, count, pairwise

from msgspec import Struct
from msgspec.structs import replace

from readroom.core.deadline import Deadline
from readroom.core.errors import AbsentError, NoSuchView, NotAFile, ReadroomError, RefusedError
from readroom.core.limits import SERVE_CALL_S
from readroom.core.paths import ROOT, WorkPath
from readroom.core.session.conversation import ShownLines, shown_by_read
from readroom.core.session.journal import Entry
from readroom.core.values import ReadRequest, ReadResult
from readroom.server.http.ui import page
from readroom.server.http.ui.conversations import NOT_KEPT
from readroom.server.http.ui.findings import related_findings
from readroom.server.http.ui.folder import crumbs, folder_map
from readroom.server.http.ui.view import View
from readroom.server.ledger.rows import Row, shown_path
from readroom.server.ledger.sums import LOOKED_AT

UI_FILE_LINES = 400
"""Lines of a file on one page."""

UI_FILE_BYTES = 512 * 1024
"""In all lines of one page; longer ones are cut."""


_STRETCHES = 4
"""Stretches of lines that are named of one call."""

_STRIPES = 160
"""The number of stripes that show the whole file."""

_HEATS = (1, 2, 4, 8, 16)
"""The numbers of calls from which a line gets the next darker colour."""


class Look(Struct, frozen=True):
    """A call that showed part of the file."""

    row: Row
    span: ShownLines


def file(view: View) -> page.Page:
    """The page of a file. Raises NoSuchView for missing and for hidden files alike."""
    path = view.sight.path(view.text("path"))
    if path is None:
        raise NoSuchView("file")
    rows = view.questions.showing(view.workspace, shown_path(path))
    session = view.text("session")
    looks = [
        Look(row, one)
        for row in rows
        if not session or row.event.session == session
        for one in row.event.spans
        if view.sight.path(one.path) == path
    ]
    try:
        result, problem = _content(view, path, by_lines=any(one.span.last for one in looks))
    except NotAFile:
        return folder_map(view)
    digest = result.content_hash if result is not None else None
    current = [one for one in looks if digest is not None and one.span.content_hash == digest]
    searched = [one for one in looks if one.span.content_hash is None and one.span.last]
    line = view.count("line")
    total = (result.total_lines or 0) if result is not None else 0
    chosen = [one for one in [*current, *searched] if line and one.span.first <= line <= one.span.last]
    about = f"Calls that showed line {line:,}" if line else "Calls that showed this file"
    return page.Page(
        path,
        _figures(total, looks, current, digest),
        [
            _calls(view, chosen if line else looks, about),
            _states(view, looks, digest),
            *related_findings(view, path=path),
        ],
        # A folder may have gone with its file.
        crumbs=crumbs(view, path if result is not None else ROOT),
        template="file.html",
        own={
            "lines": _lines(view, result, current, searched) if result is not None else [],
            "stripes": _stripes(current, total),
            "total": total,
            "problem": problem,
            "pages": _pages(view, result, total),
            "line": line,
            "not_kept": NOT_KEPT,
            "digest": (digest or "")[7:19],
        },
    )


def _content(view: View, path: WorkPath, *, by_lines: bool) -> tuple[ReadResult | None, str]:
    """A window of the current file, or a reason for none; for a document its source, if that was shown
    `by_lines`.
    """
    if not view.sight.contents:
        return None, "Your token does not include read_file, so only numbers of lines are shown."
    first = view.count("from", max(1, view.count("line") - UI_FILE_LINES // 4))
    workspace = view.access.workspace
    record = workspace.contract("native")
    request = ReadRequest(path, offset=max(1, first), limit=UI_FILE_LINES)
    cap = replace(workspace.cap(record), size=UI_FILE_BYTES)
    deadline, perform = Deadline().within(SERVE_CALL_S), workspace.engine.perform
    try:
        found = perform(request, cap, deadline, view.access.caller, terms=record.terms)
        if by_lines and isinstance(found, ReadResult) and found.document is not None:
            request = replace(request, encoding="utf-8")
            found = perform(request, cap, deadline, view.access.caller, terms=record.terms)
    except RefusedError:
        raise NoSuchView("file") from None
    except AbsentError:
        return None, "The file does not exist now."
    except NotAFile:
        raise
    except ReadroomError as error:
        return None, str(error)
    assert isinstance(found, ReadResult)
    _record(view, request, found)
    if not found.lines:
        return found, "The file has no lines to show here."
    return found, ""


def _record(view: View, request: ReadRequest, found: ReadResult) -> None:
    """Record in the ledger who views a file in a browser."""
    journal = view.access.workspace.gatekeeper.journal
    if journal is not None:
        caller = replace(view.access.caller, face=LOOKED_AT)
        entry = Entry(caller, 0, "native", "read_file", {}, request=request, shown=shown_by_read(found))
        failure = journal.write(entry)
        if failure is not None and journal.required:
            raise failure


def _lines(
    view: View, result: ReadResult, current: Sequence[Look], others: Sequence[Look]
) -> list[dict[str, object]]:
    """The lines of the file, each with its gutter."""
    first, last = result.start, result.end
    times, by_search = _counts(current, first, last), _counts(others, first, last)
    here = {"path": view.text("path"), "session": view.text("session"), "from": first}
    rows = zip(count(first), result.lines, times, by_search, strict=False)
    return [
        {
            "number": at,
            "text": text,
            "cut": at in result.cuts,
            "times": seen,
            "searched": searched,
            "heat": _heat(seen),
            "href": view.bare("file", **here, line=at) + f"#L{at}" if seen or searched else "",
            "said": _said(seen, searched),
        }
        for at, text, seen, searched in rows
    ]


def _said(seen: int, searched: int) -> str:
    parts = [f"shown {seen} {'time' if seen == 1 else 'times'}"] if seen else []
    if searched:
        parts.append(f"{searched} {'time' if searched == 1 else 'times'} in an unrecorded version")
    return ", ".join(parts) or "never shown"


def _counts(looks: Iterable[Look], first: int, last: int) -> list[int]:
    """How often each line from `first` to `last` was shown."""
    steps = [0] * (last - first + 2)
    for one in looks:
        low, high = max(first, one.span.first), min(last, one.span.last)
        if one.span.last and low <= high:
            steps[low - first] += 1
            steps[high - first + 1] -= 1
    return list(accumulate(steps[:-1]))


def _heat(times: int) -> int:
    return sum(times >= least for least in _HEATS)


def _stripes(current: Sequence[Look], total: int) -> list[dict[str, float]]:
    """The whole file in one strip, in thousandths of its lines."""
    if not total:
        return []
    edges = sorted({min(total, round(total * at / _STRIPES)) for at in range(_STRIPES + 1)})
    found = []
    for low, high in pairwise(edges):
        inside = sum(1 for one in current if one.span.last > low and one.span.first <= high)
        if inside:
            height = 1000 * (high - low) / total
            found.append({"top": 1000 * low / total, "height": height, "heat": _heat(inside)})
    return found


def _covered(looks: Sequence[Look]) -> int:
    """The number of lines that were shown at least once."""
    total = end = 0
    for one in sorted((one.span.first, one.span.last) for one in looks if one.span.last):
        first = max(one[0], end + 1)
        total += max(0, one[1] - first + 1)
        end = max(end, one[1])
    return total


def _figures(
    total: int, looks: Sequence[Look], current: Sequence[Look], digest: str | None
) -> tuple[page.Figure, ...]:
    covered = _covered(current)
    share = f"{100 * covered // total} % of {total:,}" if total else ""
    return (
        page.Figure("Current lines seen", f"{covered:,}", share),
        page.Figure("Calls that showed this file", f"{len({one.row.number for one in looks}):,}"),
        page.Figure("Conversations", f"{len({one.row.event.session for one in looks}):,}"),
        page.Figure("Current hash", (digest or "unknown")[7:19] if digest else "unknown"),
    )


def _calls(view: View, looks: Sequence[Look], title: str) -> page.Table:
    """Calls, the newest first, each with all the lines that it showed of one version."""
    by_call: dict[tuple[int, str | None], list[Look]] = {}
    for one in looks:
        by_call.setdefault((one.row.number, one.span.content_hash), []).append(one)
    every = list(by_call.values())
    rows = [_call(view, one) for one in reversed(every[-view.rows(page.UI_ROWS) :])]
    heads = ("Row", "When (UTC)", "Agent", "Tool", "Lines", "Version", "Conversation")
    note = f"The newest {page.UI_ROWS} of {len(every):,}." if len(every) > page.UI_ROWS else ""
    return page.Table("looks", title, heads, rows, note=note, empty="No call showed this file.")


def _call(view: View, looks: Sequence[Look]) -> tuple[page.Cell, ...]:
    row = looks[0].row
    event = row.event
    lines = [f"{one.span.first:,} to {one.span.last:,}" for one in looks if one.span.last]
    more = f" and {len(lines) - _STRETCHES} more" if len(lines) > _STRETCHES else ""
    return (
        page.number(row.number, view.bare("call", number=row.number)),
        page.stamp(event.time_us),
        view.named(event.agent),
        view.named(event.tool),
        page.Cell(", ".join(lines[:_STRETCHES]) + more) if lines else page.missing(),
        page.Cell((looks[0].span.content_hash or "")[7:19] or "not recorded", code=True),
        view.conversation(event.session, event.agent, event.token),
    )


def _states(view: View, looks: Sequence[Look], digest: str | None) -> page.Table:
    times = Counter(state for state, _ in {(one.span.content_hash, one.row.number) for one in looks})
    last = {one.span.content_hash: one.row.event.time_us for one in looks}
    rows = [
        (
            page.Cell((state or "")[7:19] or "not recorded (searches)", code=True),
            page.Cell("current", tone="good")
            if state is not None and state == digest
            else page.Cell("changed since", tone="soft")
            if state
            else page.missing(),
            page.number(calls),
            page.Cell(page.moment(last[state]), tone="soft"),
        )
        for state, calls in times.most_common(view.rows(page.UI_ROWS))
    ]
    heads = ("Hash", "Version", "Calls", "Last shown (UTC)")
    note = "For earlier versions only the hash is kept."
    title = "Versions shown"
    return page.Table("states", title, heads, rows, note=note)


def _pages(view: View, result: ReadResult | None, total: int) -> list[page.Link]:
    """Links to the windows before and after this one."""
    if result is None or not result.lines:
        return []
    here = {"path": view.text("path"), "session": view.text("session")}
    found = []
    if result.start > 1:
        before = max(1, result.start - UI_FILE_LINES)
        found.append(page.Link(f"Lines from {before:,}", view.bare("file", **here, **{"from": before})))
    if result.end < total:
        behind = result.end + 1
        found.append(page.Link(f"Lines from {behind:,}", view.bare("file", **here, **{"from": behind})))
    return found
