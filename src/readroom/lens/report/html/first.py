"""The first part of the page: money, habits, secrets and losses, in the words of the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from readroom.lens.limits import FILES_LISTED
from readroom.lens.report import Totals
from readroom.lens.report import statements as said
from readroom.lens.report.html import parts
from readroom.lens.report.spending import Bill

_DEAREST = 10
_LOST = 10


def money(totals: Totals) -> Iterator[str]:
    """Bills by model, project and day, and the dearest sessions."""
    yield f'<h2 id="money">Money</h2>\n<p class="soft">{escape(said.UNITS)}</p>\n'
    for name, rows in said.tables(totals):
        most = max((_weight(bill) for _, bill in rows), default=0) or 1
        shown = [
            parts.Row([f"<bdi>{parts.text(entry)}</bdi>"], said.cells(bill), _share(bill, most))
            for entry, bill in rows[:FILES_LISTED]
        ]
        if said.has_sum(totals) and name == "day":
            shown.append(parts.Row(["In all"], said.cells(totals.spending.whole), ""))
        yield f"<h3>By {name}</h3>\n"
        yield from parts.table(
            [name.capitalize()], [head.capitalize() for head in said.HEADS], shown, parts.COMPARED
        )
        yield parts.more(len(rows) - FILES_LISTED)
    yield f'<p class="soft">{parts.text(said.about_prices(totals))}</p>\n'


def _share(bill: Bill, most: float) -> str:
    weight = _weight(bill)
    return parts.bar(round(100 * weight / most)) if weight else ""


def _weight(bill: Bill) -> float:
    return bill.cost if bill.is_known else 0.0


def dearest(totals: Totals, names: parts.Names) -> Iterator[str]:
    """The dearest sessions by name."""
    rows = said.dearest(totals)
    if rows:
        yield "<h3>Dearest sessions</h3>\n"
    lines = (
        parts.Row(
            [names.of(session.session)], [said.short(bill.tokens) if bill.tokens else "-", said.money(bill)]
        )
        for session, bill in rows[:_DEAREST]
    )
    if rows:
        yield from parts.table(["Session"], ["Tokens", "Money"], lines)


def habits(totals: Totals) -> Iterator[str]:
    """The habits that cost most, each with what ends it."""
    found = list(said.habits(totals))
    if not found:
        return
    yield '<h2 id="habits">Habits that cost most</h2>\n<ol>\n'
    for habit in found:
        yield (
            f'<li><a href="#{habit.kind}">{escape(habit.name)}</a>: {escape(habit.often)}<br>'
            f'{escape(habit.advice)}<br><span class="soft">{parts.text(habit.ends)}</span></li>\n'
        )
    yield "</ol>\n"


def secrets(totals: Totals, looked: bool) -> Iterator[str]:
    """The secrets to rotate, once each."""
    if not looked:
        yield f'<p class="soft">{escape(said.no_search())}</p>\n'
        return
    found = totals.spending.ordered_secrets()
    if not found:
        return
    yield f'<h2 id="rotate">{escape(said.secrets_heading(found))}</h2>\n'
    rows = (
        parts.Row(
            [
                parts.text(one.what),
                parts.text(said.secret_places(one)),
                parts.text(said.secret_times(one)),
                parts.text(said.secret_clients(one)),
            ],
            [],
        )
        for one in found[:FILES_LISTED]
    )
    yield from parts.table(["Secret", "Place", "Sent", "Client"], [], rows)
    yield parts.more(len(found) - FILES_LISTED)


def lost(totals: Totals, names: parts.Names) -> Iterator[str]:
    """Losses on the way to the model."""
    found = list(said.lost(totals))
    if not found:
        return
    yield '<h2 id="lost-on-the-way">Lost on the way to the model</h2>\n<ul>\n'
    for loss in found:
        yield f"<li>{escape(loss.sentence)}"
        examples = [
            f"<li>{names.of(one.session)}, call {one.call}<br>"
            f'<span class="quoted">{parts.text(one.excerpt)}</span></li>'
            for one in loss.examples[:_LOST]
        ]
        yield f"<ul>{''.join(examples)}</ul></li>\n" if examples else "</li>\n"
    yield "</ul>\n"
