"""Money, habits, secrets and losses of the audit that is shown, as the terminal says them."""

from __future__ import annotations

from readroom.core.rows import AuditTable
from readroom.server.http.ui.page import Cell, Page, Table
from readroom.server.http.ui.view import View


def money(view: View) -> Page:
    """Tables of the audit, in its words."""
    every = view.audit.tables if view.audit is not None else []
    return Page("Money and habits", tables=[_table(view, one) for one in every])


def _table(view: View, one: AuditTable) -> Table:
    rows = [
        tuple(_cell(view, text, is_number=one.numbers and at > 0) for at, text in enumerate(row))
        for row in one.rows
    ]
    return Table(one.name, one.title, one.heads, rows, note=one.note, empty="Nothing.", wide=True)


def _cell(view: View, text: str, *, is_number: bool) -> Cell:
    if is_number:
        return Cell(text, number=True, raw=text)
    return Cell(view.sight.text(text), room="much" if len(text) > _LONG else "some")


_LONG = 60
