"""The report as text for a terminal: the first screen, and below it tools, files and findings."""

from __future__ import annotations

from collections.abc import Iterator

from readroom.core.quoting import plain
from readroom.core.rows import FINDINGS, Finding
from readroom.lens.normal_form import CUT_AWAY, counted
from readroom.lens.report import Spent, Totals, copied, dearest_of, passed_over, price
from readroom.lens.report.screen import screen, wrapped

_NAME_CHARS = 44
_TOP = 8
_CLIENTS = 6


def report(totals: Totals, width: int, listed: int | None, secrets: bool) -> str:
    """The report for a width: the first screen, and with `listed` details, with so many findings of a kind.

    `secrets`: they were looked for.
    """
    heading = (line for text in _heading(totals) for line in wrapped(text, width, "  ", first=""))
    parts = ["\n".join(heading), "", screen(totals, width, secrets)]
    if listed is not None:
        parts += ["", summary(totals, listed)]
    parts += _skipped(totals)
    if listed is None:
        parts += ["", "Tools, files and each finding: the same command with --details."]
    return "\n".join(parts)


def summary(totals: Totals, listed: int) -> str:
    """The tables of tools and files, and a number of findings of each kind."""
    lines = [*_table("tool", totals.tools), "", *_table("file", totals.files)]
    lines += ["", *_findings(totals, listed)]
    if totals.replayed:
        lines += ["", *_replayed(totals)]
    return "\n".join(lines)


def _heading(totals: Totals) -> Iterator[str]:
    agents = f", {totals.agents:,} of them sub-agents" if totals.agents else ""
    yield (
        f"{counted(totals.sessions, 'session')}{agents} in {counted(totals.records, 'record')}; "
        f"{counted(totals.turns, 'request')}, {counted(totals.calls, 'call')}"
    )
    clients = ", ".join(plain(name, 60) for name, _ in dearest_of(totals.clients, _CLIENTS))
    more = f" and {len(totals.clients) - _CLIENTS:,} more" if len(totals.clients) > _CLIENTS else ""
    yield f"Clients: {clients}{more}"
    about = "" if totals.exact else "about "
    yield (
        f"Tool results: {about}{totals.result_tokens:,} tokens; "
        f"{totals.carried_tokens:,} in all requests that repeat them"
    )
    recorded = totals.input_tokens + totals.cache_tokens
    if recorded:
        share = 100 * totals.carried_tokens / recorded
        cost = f", cost {totals.cost:,.2f}" if totals.cost else ""
        yield (
            f"Recorded: {recorded:,} input and {totals.output_tokens:,} output tokens{cost}; "
            f"tool results are {share:.0f} % of the input"
        )
    cut = f"{counted(totals.cut, 'result')} {'was' if totals.cut == 1 else 'were'} truncated"
    yield f"{counted(totals.errors, 'call')} failed, {cut}, {counted(totals.compactions, 'compaction')}"


def _table(name: str, spent: dict[str, Spent]) -> Iterator[str]:
    yield f"{name:<{_NAME_CHARS}} {'calls':>7} {'tokens':>11} {'all requests':>13} {'failed':>7}"
    for entry, cost in dearest_of(spent, _TOP):
        label = plain(entry, 400)
        label = label if len(label) <= _NAME_CHARS else "…" + label[1 - _NAME_CHARS :]
        figures = f"{cost.calls:>7,} {cost.tokens:>11,} {cost.carried_tokens:>13,} {cost.errors:>7,}"
        yield f"{label:<{_NAME_CHARS}} {figures}"
    if len(spent) > _TOP:
        yield f"and {len(spent) - _TOP:,} more"


def _findings(totals: Totals, listed: int) -> Iterator[str]:
    if not totals.kinds:
        yield "No findings."
    for kind in totals.ordered_kinds():
        sum_ = totals.kinds[kind]
        yield (
            f"{kind}: {FINDINGS[kind]}: {sum_.count:,} in {counted(sum_.sessions, 'session')}, "
            f"{price(kind, sum_.tokens, sum_.carried_tokens)}"
        )
        for finding in totals.dearest(kind)[:listed]:
            yield f"  {said(finding, totals.called(finding.session))}"
        if sum_.count > listed:
            yield f"  and {sum_.count - min(listed, len(totals.dearest(kind))):,} more"


def _replayed(totals: Totals) -> Iterator[str]:
    columns = f"{'tokens then':>11} {'now':>11} {'lines then':>11} {'now':>9}"
    yield f"{'replayed with readroom':<{_NAME_CHARS}} {columns}"
    for contract, again in totals.replayed.items():
        share = f" ({100 * again.now_tokens / again.then_tokens:.0f} %)" if again.then_tokens else ""
        lines = f"{again.then_lines:>11,} {again.now_lines:>9,}"
        yield f"{contract:<{_NAME_CHARS}} {again.then_tokens:>11,} {again.now_tokens:>11,} {lines}{share}"
    for contract, again in totals.replayed.items():
        differ = "differs" if again.changed_lines == 1 else "differ"
        changed = f"; {counted(again.changed_lines, 'line')} {differ} today" if again.changed_lines else ""
        missing = f"used then, missing now: {counted(again.missing, 'line')}"
        yield f"{contract}: {again.outcomes()}{changed}; {missing}"
    for row in totals.missing[:_TOP]:
        where = f"{plain(totals.called(row.session), 120)} call {row.call} {plain(row.file, 80)}"
        yield f"  {where}: {row.missing:,}, {row.contract} {plain(row.made, 200)}"


def said(finding: Finding, session: str) -> str:
    """A finding in one line, with its session as it is called."""
    place = plain(finding.file, 80)
    if finding.first:
        lines = f"{finding.first}" if finding.last <= finding.first else f"{finding.first}-{finding.last}"
        place = f"{place}:{lines}" if place else f"line {lines}"
    quoted = f": {plain(finding.excerpt, 100)}" if finding.excerpt else ""
    where = f"{plain(session, 120)} call {finding.call}"
    cost = f" ({finding.carried_tokens:,} in all requests)"
    if finding.kind in CUT_AWAY:
        cost = f" ({counted(finding.tokens, 'token')})" if finding.tokens else ""
    return f"{where} {place + ' ' if place else ''}{plain(finding.what, 200)}{cost}{quoted}"


def _skipped(totals: Totals) -> Iterator[str]:
    if totals.no_records:
        yield passed_over(totals.no_records)
    if totals.copies:
        yield copied(totals.copies)
    if not totals.skipped_parts:
        return
    yield ""
    yield f"Not read: {counted(totals.skipped_parts, 'part')} of records"
    for part in totals.skipped[:_TOP]:
        more = f" ({part.count:,} times)" if part.count > 1 else ""
        yield f"  {plain(part.record, 120)}, {plain(part.where, 60)}: {plain(part.why, 120)}{more}"
    if len(totals.skipped) > _TOP:
        yield f"  and {len(totals.skipped) - _TOP:,} more"
