"""A search over sessions: by their names, by files, by what calls asked for, and by findings.

Every word must be in what is found, and only what the visitor may see is searched: a row that matches by a
hidden name is dropped.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from readroom.core.rows import FINDINGS, Finding
from readroom.server.http.ui.conversations import arguments
from readroom.server.http.ui.findings import findings_row, findings_table
from readroom.server.http.ui.overview import sessions_table
from readroom.server.http.ui.page import Cell, Filter, Page, Table, number, stamp
from readroom.server.http.ui.queries import UI_SEARCHED, FileSum, SessionSum
from readroom.server.http.ui.view import HIDDEN, View
from readroom.server.ledger.rows import Row

_FOUND = 50
"""Rows of each sort on the page."""

_WORDS = 8


def search(view: View) -> Page:
    """Everything with all words of `q`."""
    text = view.text("q", 200)
    words = text.lower().split()[:_WORDS]
    found = [Filter("q", "Words in names, files, commands and findings", value=text)]
    if not words:
        return Page("Search", filters=found, notes=["Write one or more words; all of them must be there."])
    limit = view.rows(_FOUND)
    calls = list(_calls(view, words, limit))
    tables = [
        replace(
            sessions_table(view, list(_sessions(view, words, calls, limit)), "Sessions"),
            empty="No session has these words.",
        ),
        _files(view, words, limit),
        _calls_table(view, calls),
    ]
    if view.audit is not None:
        tables.append(_findings(view, words, limit))
    return Page("Search", tables=tables, filters=found)


def _has(text: str, words: list[str]) -> bool:
    low = text.lower()
    return all(word in low for word in words)


def _calls(view: View, words: list[str], limit: int) -> Iterator[Row]:
    """Calls whose tool, file or arguments have the words, the newest first."""
    count = 0
    for row in view.questions.asking(view.workspace, words, limit=4 * limit):
        event = row.event
        shown = f"{view.named(event.tool).text} {view.file_cell(event.path).text} "
        if count < limit and _has(shown + arguments(view, event.arguments), words):
            count += 1
            yield row


def _sessions(view: View, words: list[str], calls: list[Row], limit: int) -> Iterator[SessionSum]:
    """Conversations with such a name, and those of the calls."""
    named = view.questions.named_sessions(view.workspace, words, _titled(view, words), limit=4 * limit)
    seen: set[tuple[str, str, str]] = set()
    keys = [(row.event.session, row.event.agent, row.event.token) for row in calls]
    made = [one for key in dict.fromkeys(keys) if (one := view.questions.session(view.workspace, *key))]
    fits = [one for one in named if _has(_name_of(view, one), words)]
    for one in [*fits, *made]:
        key = (one.session, one.agent, one.token)
        if key not in seen and len(seen) < limit:
            seen.add(key)
            yield one


def _name_of(view: View, one: SessionSum) -> str:
    cell = view.conversation(one.session, one.agent, one.token)
    hidden = cell.text == HIDDEN
    return "" if hidden else f"{cell.text} {view.named(one.agent).text} {one.session}"


def _titled(view: View, words: list[str]) -> list[str]:
    """Sessions of the audit whose first prompt, with their client, has the words."""
    every = view.audit.sessions.values() if view.audit is not None else ()
    return [one.session for one in every if _has(f"{one.title} {one.agent} {one.session}", words)]


def _files(view: View, words: list[str], limit: int) -> Table:
    found = view.questions.named_files(view.workspace, words, limit=4 * limit)
    rows = [_file(view, one) for one in found if view.sight.path(one.path) is not None]
    heads = ("File", "Calls", "Lines", "Tokens")
    return Table("files", "Files", heads, rows[:limit], empty="No file that was shown has such a name.")


def _file(view: View, one: FileSum) -> tuple[Cell, ...]:
    return (view.file_cell(one.path), number(one.calls), number(one.lines), number(one.tokens))


def _conversation(view: View, row: Row) -> Cell:
    event = row.event
    return view.conversation(event.session, event.agent, event.token, event.time_us)


def _calls_table(view: View, calls: list[Row]) -> Table:
    rows = [
        (
            number(row.number, view.bare("call", number=row.number)),
            stamp(row.event.time_us),
            replace(_conversation(view, row), room="some"),
            view.named(row.event.tool),
            Cell(" ".join(arguments(view, row.event.arguments).split()), code=True, room="much"),
        )
        for row in calls
    ]
    return Table(
        "asked", "Calls", ("Row", "Ended (UTC)", "Session", "Tool", "Arguments"), rows,
        note=f"The newest {UI_SEARCHED:,} calls are searched.", empty="No call has asked for it.",
    )  # fmt: skip


def _findings(view: View, words: list[str], limit: int) -> Table:
    whole = findings_table(view)
    rows = [findings_row(view, one) for one in view.findings if _fits(one, words)]
    kept = [row for row in rows if _has(" ".join(cell.text for cell in row), words)]
    return Table("findings", whole.title, whole.heads, kept[:limit], empty="No finding has these words.")


def _fits(one: Finding, words: list[str]) -> bool:
    return _has(f"{FINDINGS[one.kind]} {one.session} {one.file} {one.what} {one.excerpt}", words)
