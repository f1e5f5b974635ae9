"""Findings of an audit, with the calls and files that they are about."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from readroom.core.rows import FINDINGS, Finding
from readroom.server.http.ui.page import UI_ROWS, Cell, Filter, Option, Page, Table, number
from readroom.server.http.ui.view import HIDDEN, View


def findings(view: View) -> Page:
    """All findings, with a filter by kind."""
    chosen = view.text("kind")
    every = view.findings
    found = {one.kind for one in every}
    kinds = [Option(kind, what, kind == chosen) for kind, what in FINDINGS.items() if kind in found]
    tables = [] if chosen else [_kinds(view, every)]
    return Page(
        "Findings",
        tables=[*tables, findings_table(view, kind=chosen)],
        filters=[Filter("kind", "Kind", [Option("", "All", not chosen), *kinds])],
    )


def _kinds(view: View, every: Sequence[Finding]) -> Table:
    """The sums of each kind, the worst first."""
    rows = []
    for kind, what in FINDINGS.items():
        found = [one for one in every if one.kind == kind]
        if found:
            sums = [sum(one.tokens for one in found), sum(one.carried_tokens for one in found)]
            counts = map(number, [len(found), len({one.session for one in found}), *sums])
            rows.append((Cell(what, view.bare("findings", kind=kind), room="some"), *counts))
    return Table(
        "kinds",
        "By kind",
        ("Kind", "Findings", "Sessions", "Tokens", "In all requests"),
        rows,
        empty="The audit found nothing.",
    )


def findings_table(view: View, *, session: str = "", path: str = "", kind: str = "") -> Table:
    """Findings about a conversation, a file or a kind, the most expensive first."""
    found = [
        one
        for one in view.findings
        if (not session or one.session == session)
        and (not kind or one.kind == kind)
        and (not path or view.sight.path(one.file) == path)
    ]
    found.sort(key=lambda one: (-(one.carried_tokens or one.tokens), one.session, one.call))
    most = view.rows(UI_ROWS)
    return Table(
        "findings", "Findings of the audit",
        ("Kind", "Session", "Call", "File", "Lines", "Evidence", "Tokens", "In all requests"),
        [findings_row(view, one) for one in found[:most]],
        note=f"The first {most} of {len(found):,}." if len(found) > most else "",
        empty="The audit found nothing here.",
    )  # fmt: skip


def related_findings(view: View, *, session: str = "", path: str = "") -> list[Table]:
    """The table of findings, if an audit is shown."""
    return [] if view.audit is None else [findings_table(view, session=session, path=path)]


def _session(view: View, session: str) -> Cell:
    past = view.past(session)
    if past is None:
        return view.named(session, view.bare("sessions", q=session))
    return view.conversation(session, past.agent, "")


def _span(one: Finding) -> str:
    if not one.first:
        return ""
    return f"{one.first:,} to {one.last:,}" if one.last > one.first else f"{one.first:,}"


def findings_row(view: View, one: Finding) -> tuple[Cell, ...]:
    """A finding as the visitor may see it."""
    hidden = bool(one.file) and view.sight.path(one.file) is None
    # A finding without a known place may be about a file hidden from the visitor.
    quoted = one.excerpt if view.sight.contents and (one.first or view.whole) else ""
    said = f"{one.what}: {quoted}" if quoted else one.what
    lines = _span(one)
    return (
        Cell(FINDINGS[one.kind], room="some"),
        replace(_session(view, one.session), room="some"), number(one.call),
        view.file_cell(one.file), Cell("" if hidden else lines),
        Cell(HIDDEN, tone="soft") if hidden else Cell(view.sight.text(said), room="much"), number(one.tokens),
        number(one.carried_tokens),
    )  # fmt: skip
