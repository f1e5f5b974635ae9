"""The report as a self-contained HTML page: no link to elsewhere, no image, and one script for a search.

A content policy forbids everything but its own style and script. Everything from a record is text on one
line, in which HTML and characters that hide or reorder text are escaped.

Knows: the parts of the page and their order.
Does not know: sums, and the words for them, which `statements` has for the terminal as well.
May be touched: freely, as long as every text of a record goes through `parts.text`.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from readroom.core.rows import FINDINGS, Finding, FindingKind
from readroom.lens.limits import FILES_LISTED
from readroom.lens.normal_form import counted
from readroom.lens.report import Spent, Totals, copied, dearest_of, passed_over, price
from readroom.lens.report import statements as said
from readroom.lens.report.html import first, parts, sessions, style


def page(totals: Totals, secrets: bool) -> Iterator[str]:
    """The page, in pieces."""
    yield (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{style.policy()}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>Audit of agent sessions</title>\n<style>{style.style()}</style>\n</head>\n<body>\n<main>\n"
        "<h1>Where the context went</h1>\n"
        '<div class="search" role="search" hidden><label for="search">Search sessions, files, commands and '
        'findings</label><br><input type="search" id="search" autocomplete="off" spellcheck="false"> '
        '<span id="found" role="status"></span></div>\n'
    )
    yield from _figures(totals)
    if totals.sessions:
        yield from _audited(totals, secrets)
    else:
        yield "<p>No session is in what was audited.</p>\n"
    yield from _skipped(totals)
    yield f"</main>\n<script>{style.SCRIPT}</script>\n</body>\n</html>\n"


def _audited(totals: Totals, secrets: bool) -> Iterator[str]:
    names = parts.names(totals)
    yield from first.money(totals)
    yield from first.dearest(totals, names)
    yield from first.habits(totals)
    yield from first.secrets(totals, secrets)
    yield from first.lost(totals, names)
    yield from sessions.contexts(totals)
    yield from _overview(totals, secrets)
    for kind in totals.ordered_kinds():
        yield from _kind(totals, kind, names)
    yield from _replayed(totals)
    yield from _spent("Tools", "tool", totals.tools)
    yield from _spent("Files", "file", totals.files)
    yield from sessions.sessions(totals)


def _figures(totals: Totals) -> Iterator[str]:
    about = "" if totals.exact else "about "
    figures = [
        ("Sessions", f"{totals.sessions:,}"),
        ("Requests", f"{totals.turns:,}"),
        ("Calls", f"{totals.calls:,}"),
        ("Failed calls", f"{totals.errors:,}"),
        ("Results truncated", f"{totals.cut:,}"),
        ("Tokens of tool results", f"{about}{totals.result_tokens:,}"),
        ("Tool results in all requests", f"{totals.carried_tokens:,}"),
    ]
    if totals.compactions:
        figures.append(("Compactions", f"{totals.compactions:,}"))
    recorded = totals.input_tokens + totals.cache_tokens
    if recorded:
        figures.append(("Input tokens recorded", f"{recorded:,}"))
        figures.append(("Output tokens recorded", f"{totals.output_tokens:,}"))
        figures.append(("Money", said.money(totals.spending.whole)))
    if totals.cost:
        figures.append(("Cost recorded", f"{totals.cost:,.2f}"))
    yield "<dl>\n"
    for name, value in figures:
        yield f"<div><dt>{name}</dt><dd>{value}</dd></div>\n"
    yield "</dl>\n"


def _overview(totals: Totals, secrets: bool) -> Iterator[str]:
    yield '<h2 id="findings">Findings</h2>\n'
    if not secrets:
        yield '<p class="soft">No search for secrets was made.</p>\n'
    if not totals.kinds:
        yield "<p>No findings.</p>\n"
        return
    sums = [(kind, totals.kinds[kind]) for kind in totals.ordered_kinds()]
    rows = (
        parts.Row(
            [f'<a href="#{kind}">{escape(FINDINGS[kind])}</a>'],
            (one.count, one.sessions, one.tokens, one.carried_tokens),
        )
        for kind, one in sums
    )
    yield from parts.table(["Kind"], ("Findings", "Sessions", "Tokens", "In all requests"), rows)


def _kind(totals: Totals, kind: FindingKind, names: parts.Names) -> Iterator[str]:
    sum_, listed = totals.kinds[kind], totals.dearest(kind)
    heading = FINDINGS[kind][:1].upper() + FINDINGS[kind][1:]
    yield f'<h2 id="{kind}">{escape(heading)}</h2>\n<details{" open" if len(listed) <= 20 else ""}>'
    cost = price(kind, sum_.tokens, sum_.carried_tokens)
    yield f"<summary>{counted(sum_.count, 'finding')}, {cost}</summary>\n"
    yield from parts.table(
        ("Session, call", "Place", "Finding"),
        ("Tokens", "In all requests"),
        (_finding(one, names) for one in listed),
    )
    yield parts.more(sum_.count - len(listed)) + "</details>\n"


def _finding(finding: Finding, names: parts.Names) -> parts.Row:
    lines = ""
    if finding.first:
        lines = f":{finding.first}" if finding.last <= finding.first else f":{finding.first}-{finding.last}"
    quoted = f'<br><span class="quoted">{parts.text(finding.excerpt)}</span>' if finding.excerpt else ""
    texts = (
        f"{names.of(finding.session)}, call {finding.call:,}, turn {finding.turn:,}",
        f"<code><bdi>{parts.text(finding.file)}</bdi>{lines}</code>",
        f"{parts.text(finding.what)}{quoted}",
    )
    return parts.Row(texts, (finding.tokens, finding.carried_tokens), words=FINDINGS[finding.kind])


_AGAIN = {
    "Tokens then": "then_tokens", "Tokens now": "now_tokens", "Lines then": "then_lines",
    "Lines now": "now_lines", "Differ today": "changed_lines", "Used, missing now": "missing",
}  # fmt: skip


def _replayed(totals: Totals) -> Iterator[str]:
    if totals.replayed:
        yield "<h2>Replayed with readroom</h2>\n"
        rows = (
            parts.Row(
                (parts.text(contract), parts.text(again.outcomes())),
                [getattr(again, name) for name in _AGAIN.values()],
            )
            for contract, again in totals.replayed.items()
        )
        yield from parts.table(("Contract", "Calls"), list(_AGAIN), rows)


def _spent(heading: str, name: str, spent: dict[str, Spent]) -> Iterator[str]:
    listed = dearest_of(spent, FILES_LISTED)
    if not listed:
        return
    most = max(cost.carried_tokens for _, cost in listed) or 1
    yield f"<h2>{heading}</h2>\n"
    rows = (
        parts.Row(
            [f"<code><bdi>{parts.text(entry)}</bdi></code>"],
            (cost.calls, cost.errors, cost.tokens, cost.carried_tokens),
            parts.bar(round(100 * cost.carried_tokens / most)),
        )
        for entry, cost in listed
    )
    yield from parts.table(
        [name.capitalize()], ("Calls", "Failed", "Tokens", "In all requests"), rows, parts.COMPARED
    )
    yield parts.more(len(spent) - len(listed))


def _skipped(totals: Totals) -> Iterator[str]:
    if totals.skipped or totals.no_records:
        yield "<h2>Not read</h2>\n"
    if totals.no_records:
        yield f"<p>{passed_over(totals.no_records)}.</p>\n"
    if totals.copies:
        yield f"<p>{copied(totals.copies)}.</p>\n"
    if not totals.skipped:
        return
    yield f"<p>{counted(totals.skipped_parts, 'part')} of records.</p>\n<ul>\n"
    for part in totals.skipped:
        more = f" ({part.count:,} times)" if part.count > 1 else ""
        where = f"{parts.text(part.where)}: {parts.text(part.why)}{more}"
        yield f"<li><code>{parts.text(part.record)}</code>, {where}</li>\n"
    yield "</ul>\n"
