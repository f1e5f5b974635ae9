"""Requests and calls that were refused: the code, who asked, for what, when, and what to do."""

from __future__ import annotations

import json

from readroom.core.errors import of_code
from readroom.server.http.ui.page import UI_ROWS, Cell, Page, Table, number, stamp
from readroom.server.http.ui.view import View
from readroom.server.ledger.rows import Event, Row


def refused(view: View) -> Page:
    """The newest refused ones; a flood of requests is one row with a count."""
    limit = view.rows(UI_ROWS)
    rows = view.questions.refused(view.slice, limit=limit + 1, before=view.count("before"))
    more = view.link("refused", before=rows[limit - 1].number) if len(rows) > limit else ""
    table = Table(
        "refused", "Refused requests and calls",
        ("Code", "When (UTC)", "Who", "What", "Requests", "Next step"),
        [_row(view, row) for row in rows[:limit]], more=more, empty="Nothing was refused in this range.",
    )  # fmt: skip
    return Page("Refused", tables=[table], filters=view.filters("agent", "token"))


def _row(view: View, row: Row) -> tuple[Cell, ...]:
    event = row.event
    facts = _facts(event)
    rule = view.sight.text(event.rule) if event.rule else ""
    times = facts.get("times", 1)
    return (
        Cell(event.outcome, view.bare("call", number=row.number), note=f"rule {rule}" if rule else ""),
        stamp(event.time_us),
        _who(view, event, facts),
        _what(view, event, facts),
        number(times if isinstance(times, int) else 1),
        Cell(next_step(event.outcome), room="much"),
    )


def _who(view: View, event: Event, facts: dict[str, object]) -> Cell:
    """The agent, its token and its address, as far as they are known."""
    known = [event.token and f"token {event.token}", str(facts.get("address", ""))]
    return Cell(view.named(event.agent, none="Unnamed").text, note=", ".join(filter(None, known)))


def _what(view: View, event: Event, facts: dict[str, object]) -> Cell:
    """The tool and its file, or the address of a request that became no call."""
    made = " ".join(filter(None, (str(facts.get("method", "")), event.tool)))
    about = view.named(made if not event.contract else event.tool, none="many addresses").text
    return Cell(about, note=view.file_cell(event.path).text, room="some")


def _facts(event: Event) -> dict[str, object]:
    """The facts of a request that became no call; the arguments of a call are on its page."""
    if event.contract:
        return {}
    try:
        found = json.loads(event.arguments)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def next_step(code: str) -> str:
    """The advice about a refusal, from the error itself; without what only that call knew."""
    advice = getattr(of_code(code), "advice", "")
    said = [part for part in str(advice).split(". ") if part and "{" not in part]
    text = ". ".join(said).rstrip(".")
    return f"{text}." if text else "Look up this code in the reference of errors."
