"""Findings of an audit, beside the calls and files that they are about."""

from __future__ import annotations

from readroom.faces.http.ui.page import Cell, Filter, Option, Page, Table, number
from readroom.faces.http.ui.sight import HIDDEN
from readroom.faces.http.ui.view import View
from readroom.lens.normal_form import FINDINGS, Finding
from readroom.limits.lens import UI_EXPORT_ROWS, UI_ROWS


def findings(view: View) -> Page:
    """All of them, with a choice of the kind."""
    chosen = view.text("kind")
    every = view.findings or ()
    kinds = [kind for kind in FINDINGS if any(one.kind == kind for one in every)]
    options = [
        Option("", "All", not chosen),
        *(Option(kind, FINDINGS[kind], kind == chosen) for kind in kinds),
    ]
    return Page(
        "Findings", tables=[findings_table(view, kind=chosen)], filters=[Filter("kind", "Kind", options)]
    )


def findings_table(view: View, *, session: str = "", path: str = "", kind: str = "") -> Table:
    """Those of a conversation, of a file or of a kind, the dearest first."""
    found = [
        one
        for one in view.findings or ()
        if (not session or one.session == session)
        and (not kind or one.kind == kind)
        and (not path or view.sight.path(one.file) == path)
    ]
    found.sort(key=lambda one: (-one.carried_tokens, one.session, one.call))
    most = UI_EXPORT_ROWS if view.text("format") == "csv" else UI_ROWS
    return Table(
        "findings",
        "Findings of the audit",
        ("What", "Session", "Call", "File", "Lines", "Evidence", "Tokens", "Carried"),
        [_row(view, one) for one in found[:most]],
        note=f"The first {most} of {len(found):,}." if len(found) > most else "",
        empty="The audit found nothing here.",
        export=view.bare("findings", kind=kind, format="csv", table="findings"),
    )


def _row(view: View, one: Finding) -> tuple[Cell, ...]:
    hidden = bool(one.file) and view.sight.path(one.file) is None
    said = f"{one.what} {one.excerpt}".strip()
    lines = f"{one.first:,} to {one.last:,}" if one.first else ""
    return (
        Cell(FINDINGS[one.kind]),
        Cell(one.session, view.bare("sessions", q=one.session)),
        number(one.call),
        view.file_cell(one.file),
        Cell("" if hidden else lines),
        Cell(HIDDEN if hidden else view.sight.text(said), tone="soft"),
        number(one.tokens),
        number(one.carried_tokens),
    )
