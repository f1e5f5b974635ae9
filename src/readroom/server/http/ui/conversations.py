"""Pages of calls: a filtered list, one conversation with its context over time, and one call in detail."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from readroom.core.errors import NoSuchView
from readroom.server.http.ui.courses import over_time
from readroom.server.http.ui.findings import related_findings
from readroom.server.http.ui.page import (
    UI_ROWS,
    Cell,
    Figure,
    Link,
    Page,
    Table,
    lasted,
    moment,
    number,
    stamp,
)
from readroom.server.http.ui.queries import UI_SESSION_ROWS, SessionSum
from readroom.server.http.ui.view import View, is_id
from readroom.server.ledger.queries import shown_twice
from readroom.server.ledger.rows import Row

NOT_KEPT = (
    "The ledger keeps no content, neither replies nor written text. "
    "Lines below come from the current file, and only while its hash is the one that was shown."
)


Opened: TypeAlias = dict[str, object]
"""One call in detail, for the templates."""


def calls(view: View) -> Page:
    """The newest calls that match the filters."""
    wanted = view.slice
    limit = view.rows(UI_ROWS)
    rows = view.questions.calls(wanted, limit=limit + 1, before=view.count("before"))
    more = view.link("calls", before=rows[limit - 1].number) if len(rows) > limit else ""
    table = Table(
        "calls",
        "Calls",
        (
            *("Row", "Ended (UTC)", "Agent", "Tool", "Path", "Outcome"),
            *("Shown instead", "Requests", "Time", "Tokens"),
        ),
        [_row(view, row) for row in rows[:limit]],
        more=more,
    )
    return Page("Calls", tables=[table], filters=view.filters("agent", "token", "tool", "outcome"))


def _row(view: View, row: Row) -> tuple[Cell, ...]:
    event = row.event
    times = _object(event.arguments).get("times", 1) if not event.contract else 1
    return (
        number(row.number, view.bare("call", number=row.number)),
        stamp(event.time_us),
        view.named(event.agent, none=event.face),
        replace(view.named(event.tool), room="some"),
        view.file_cell(event.path),
        Cell(event.outcome, tone=_tone(event.outcome, event.decision)),  # type: ignore[arg-type]  # one of the tones
        Cell(event.level or "", tone="warn" if event.level else ""),
        number(times if isinstance(times, int) else 1),
        Cell(lasted(event.duration_us), number=True, raw=event.duration_us),
        number(event.tokens),
    )


def session(view: View) -> Page:
    """One conversation: its context over time, and its calls, each with its tokens as a bar."""
    one = view.questions.session(view.workspace, view.text("id"), view.text("agent"), view.text("token"))
    if one is None or not view.conversation(one.session, one.agent, one.token).href:
        raise NoSuchView("conversation")
    rows = view.questions.calls_of(view.workspace, one, before=view.count("before"))
    here = {"id": one.session, "agent": one.agent, "token": one.token}
    earlier = view.bare("session", **here, before=rows[0].number) if len(rows) == UI_SESSION_ROWS else ""
    name = view.conversation(one.session, one.agent, one.token, one.first_us)
    drawn = over_time(view, one)
    figures = (
        Figure("Tokens", f"{one.tokens:,}"),
        Figure("Calls", f"{one.calls:,}"),
        Figure("Failed", f"{one.failed:,}", tone="warn" if one.failed else ""),
        Figure("Refused", f"{one.refused:,}", tone="bad" if one.refused else ""),
        Figure("Compactions", f"{one.epoch:,}"),
        *([Figure("Id", view.short(one.session), one.session)] if is_id(one.session) else []),
        _lasted(one),
    )
    return Page(
        name.text, figures,
        [*([drawn.table] if drawn else []), _twice(view, rows), *related_findings(view, session=one.session)],
        crumbs=[Link("Sessions", view.bare("sessions"))], template="session.html",
        own={
            "calls": waterfall(view, rows), "earlier": earlier, "not_kept": NOT_KEPT, "drawn": drawn,
        },
    )  # fmt: skip


def _lasted(one: SessionSum) -> Figure:
    """The time from the first call to the last."""
    apart_us = one.last_us - one.first_us
    if apart_us < one.calls:  # calls of a record without times are a microsecond apart
        return Figure("Lasted", "unknown")
    return Figure("Lasted", lasted(apart_us), f"{moment(one.first_us)} to {moment(one.last_us)[11:]}")


def waterfall(view: View, rows: Sequence[Row]) -> list[Opened]:
    """Calls with their bars: the tokens of each, in thousandths of the largest."""
    most = max((row.event.tokens for row in rows), default=0) or 1
    return [opened(view, row, row.event.tokens * 1000 // most) for row in rows]


def opened(view: View, row: Row, width: int = 1000) -> Opened:
    """One call with all that the ledger has about it and the visitor may see."""
    event = row.event
    spans = [one for one in event.spans if view.sight.path(one.path) is not None]
    who = view.named(event.agent, none="").text
    shown = [
        {
            "path": one.path,
            "lines": f"lines {one.first:,} to {one.last:,}" if one.last else "no lines of its own",
            "digest": (one.content_hash or "")[7:19],
            "href": view.bare("file", path=one.path, line=one.first or "", number=row.number),
        }
        for one in spans
    ]
    facts = [
        ("Row", f"{row.number:,}"), ("Ended (UTC)", moment(event.time_us)),
        ("Who", ", ".join(filter(None, (who, event.face, event.token and f"token {event.token}")))),
        ("Conversation", view.conversation(event.session, event.agent, event.token).text),
        ("Earlier compactions", str(event.epoch)),
        ("Contract", event.contract or "(refused before the call)"),
        ("Arguments", arguments(view, event.arguments)), ("Decision", event.decision),
        ("Rule", view.sight.text(event.rule) if event.rule else ""), ("Kind of file", event.kind or ""),
        ("Shortened", _LEVELS.get(event.level or "", event.level or "")),
        ("Trace", event.traceparent or ""),
        ("Tokens", f"{event.tokens:,} ({event.counter})"), ("Hash of the row", row.hash[:16]),
    ]  # fmt: skip
    return {
        "number": row.number, "time": moment(event.time_us)[11:], "tool": view.named(event.tool).text,
        "path": view.file_cell(event.path).text, "href": view.bare("call", number=row.number),
        "outcome": event.outcome, "tone": _tone(event.outcome, event.decision), "level": event.level or "",
        "tokens": f"{event.tokens:,}", "duration": lasted(event.duration_us), "width": width,
        "facts": [(name, value) for name, value in facts if value], "shown": shown,
        "hidden": len(event.spans) - len(spans),
    }  # fmt: skip


_LEVELS = {
    "outline": "the budget ran low: an outline instead of content",
    "counts": "the budget ran low: counts instead of content",
    "changes": "the budget was spent: changes only",
}


def arguments(view: View, text: str) -> str:
    """The arguments in the ledger, without those that name paths denied by policy."""
    return json.dumps(_visible(view, _object(text)), ensure_ascii=False, indent=1)


def _visible(view: View, value: object) -> object:
    if isinstance(value, Mapping):
        return {view.sight.text(str(name)): _visible(view, inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_visible(view, inner) for inner in value]
    return view.sight.text(value) if isinstance(value, str) else value


def call(view: View) -> Page:
    """One call on a page of its own."""
    row = view.questions.row(view.workspace, view.count("number"))
    if row is None:
        raise NoSuchView("call")
    event = row.event
    conversation = view.conversation(event.session, event.agent, event.token)
    return Page(
        f"Call {row.number:,}: {view.named(event.tool).text}",
        crumbs=[
            Link("Sessions", view.bare("sessions")),
            Link(conversation.text, conversation.href or view.bare("sessions")),
        ],
        template="call.html",
        own={"call": opened(view, row), "not_kept": NOT_KEPT},
    )


_NO_STATES = (
    "No call here recorded the version of the file it showed, so repeats cannot be detected; "
    "the findings of an audit list them."
)


def _twice(view: View, rows: Sequence[Row]) -> Table:
    spans = [span for row in rows for span in row.event.spans]
    known = not spans or any(span.content_hash for span in spans)
    every = [one for one in shown_twice(rows) if view.sight.path(one.path) is not None]
    cells = [
        (
            view.file_cell(one.path),
            Cell(f"{one.first:,} to {one.last:,}"),
            number(len(one.rows)),
            *(number(row, view.bare("call", number=row)) for row in (one.rows[0], one.rows[-1])),
        )
        for one in every[: view.rows(UI_ROWS)]
    ]
    return Table(
        "twice", "Shown again while in view", ("File", "Lines", "Times", "First row", "Last row"), cells,
        empty="Nothing was shown twice." if known else _NO_STATES,
    )  # fmt: skip


def _tone(outcome: str, decision: str) -> str:
    if decision == "refused":
        return "bad"
    return {"ok": "good", "begun": "soft"}.get(outcome, "warn")


def _object(text: str) -> Mapping[str, object]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
