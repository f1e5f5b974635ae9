"""The report as a self-contained HTML page: no script, no link to elsewhere, no image.

A content policy also forbids them. Everything from a record is text on one line, in which HTML and characters
that hide or reorder text are escaped.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from readroom.core.quoting import plain
from readroom.core.rows import FINDINGS, Finding, FindingKind
from readroom.lens.limits import FILES_LISTED
from readroom.lens.normal_form import Session, counted
from readroom.lens.report import Spent, Totals, copied, dearest_of, passed_over, price

_STYLE = """
:root {
  color-scheme: light dark; --ink: #1a1a1a; --paper: #fff; --soft: #595959; --line: #d0d0d0; --bar: #2a6fb5;
}
@media screen and (prefers-color-scheme: dark) {
  :root { --ink: #e8e8e8; --paper: #161616; --soft: #a8a8a8; --line: #3c3c3c; --bar: #6aa9e9; }
}
body {
  font: 1rem/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  margin: 0 auto; max-width: 72rem; padding: 1rem;
}
a { color: var(--bar); }
h1 { font-size: 1.5rem; }
h2 { font-size: 1.2rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
.wide { overflow-x: auto; }
th, td {
  text-align: left; padding: .3rem .6rem .3rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; overflow-wrap: anywhere;
}
th, td { min-width: 8rem; }
.number { min-width: 0; text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
code, .quoted { font: .85rem/1.4 ui-monospace, monospace; overflow-wrap: anywhere; }
.soft { color: var(--soft); }
li { overflow-wrap: anywhere; }
rect { fill: var(--bar); }
summary { cursor: pointer; padding: .4rem 0; }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(10rem, 1fr)); gap: .8rem; margin: 1rem 0; }
dt { color: var(--soft); font-size: .85rem; }
dd { margin: 0; font-size: 1.3rem; font-variant-numeric: tabular-nums; }
@media print {
  :root { color-scheme: light; }
  details::details-content { content-visibility: visible; block-size: auto; }
  tr { break-inside: avoid; }
  .wide { overflow-x: visible; }
}
"""


def page(totals: Totals, secrets: bool) -> Iterator[str]:
    """The page, in pieces."""
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    yield (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>Audit of agent sessions</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        "<h1>Where the context went</h1>\n"
    )
    yield from _figures(totals)
    yield from _overview(totals, secrets)
    for kind in totals.ordered_kinds():
        yield from _kind(totals, kind)
    yield from _replayed(totals)
    yield from _spent("Tools", "tool", totals.tools)
    yield from _spent("Files", "file", totals.files)
    yield from _sessions(totals)
    yield from _skipped(totals)
    yield "</main>\n</body>\n</html>\n"


def _text(value: str, most: int = 400) -> str:
    return escape(plain(value, most), quote=True)


def _figures(totals: Totals) -> Iterator[str]:
    about = "" if totals.exact else "about "
    figures = [
        ("Sessions", f"{totals.sessions:,}"),
        ("Requests", f"{totals.turns:,}"),
        ("Calls", f"{totals.calls:,}"),
        ("Failed calls", f"{totals.errors:,}"),
        ("Results truncated", f"{totals.cut:,}"),
        ("Tokens of tool results", f"{about}{totals.result_tokens:,}"),
        ("Tokens in all requests", f"{totals.carried_tokens:,}"),
    ]
    if totals.compactions:
        figures.append(("Compactions", f"{totals.compactions:,}"))
    recorded = totals.input_tokens + totals.cache_tokens
    if recorded:
        figures.append(("Input tokens recorded", f"{recorded:,}"))
        figures.append(("Output tokens recorded", f"{totals.output_tokens:,}"))
    if totals.cost:
        figures.append(("Cost recorded", f"{totals.cost:,.2f}"))
    yield "<dl>\n"
    for name, value in figures:
        yield f"<div><dt>{name}</dt><dd>{value}</dd></div>\n"
    yield "</dl>\n"


def _table(
    heads: Sequence[str], numbers: Sequence[str], rows: Iterable[str], last: str = ""
) -> Iterator[str]:
    """A table: columns of text, columns of numbers, and perhaps a `last` one; rows are made with `_row`."""
    yield '<div class="wide" tabindex="0"><table>\n<thead><tr>'
    yield "".join(f'<th scope="col">{head}</th>' for head in heads)
    yield "".join(f'<th scope="col" class="number">{head}</th>' for head in numbers)
    yield f'<th scope="col">{last}</th>' if last else ""
    yield "</tr></thead>\n<tbody>\n"
    yield from rows
    yield "</tbody></table></div>\n"


def _row(texts: Sequence[str], numbers: Sequence[int], last: str = "") -> str:
    cells = "".join(f"<td>{text}</td>" for text in texts)
    cells += "".join(f'<td class="number">{value:,}</td>' for value in numbers)
    return f"<tr>{cells}{last and f'<td>{last}</td>'}</tr>\n"


def _more(count: int) -> str:
    return f'<p class="soft">{count:,} more are in the export.</p>\n' if count > 0 else ""


def _overview(totals: Totals, secrets: bool) -> Iterator[str]:
    yield '<h2 id="findings">Findings</h2>\n'
    if not secrets:
        yield '<p class="soft">No search for secrets was made.</p>\n'
    if not totals.kinds:
        yield "<p>No findings.</p>\n"
        return
    sums = [(kind, totals.kinds[kind]) for kind in totals.ordered_kinds()]
    rows = (
        _row(
            [f'<a href="#{kind}">{escape(FINDINGS[kind])}</a>'],
            (one.count, one.sessions, one.tokens, one.carried_tokens),
        )
        for kind, one in sums
    )
    yield from _table(["Kind"], ("Findings", "Sessions", "Tokens", "In all requests"), rows)


def _kind(totals: Totals, kind: FindingKind) -> Iterator[str]:
    sum_, listed = totals.kinds[kind], totals.dearest(kind)
    heading = FINDINGS[kind][:1].upper() + FINDINGS[kind][1:]
    yield f'<h2 id="{kind}">{escape(heading)}</h2>\n<details{" open" if len(listed) <= 20 else ""}>'
    cost = price(kind, sum_.tokens, sum_.carried_tokens)
    yield f"<summary>{counted(sum_.count, 'finding')}, {cost}</summary>\n"
    yield from _table(
        ("Session, call", "Place", "Finding"), ("Tokens", "In all requests"), map(_finding, listed)
    )
    yield _more(sum_.count - len(listed)) + "</details>\n"


def _finding(finding: Finding) -> str:
    lines = ""
    if finding.first:
        lines = f":{finding.first}" if finding.last <= finding.first else f":{finding.first}-{finding.last}"
    quoted = f'<br><span class="quoted">{_text(finding.excerpt)}</span>' if finding.excerpt else ""
    texts = (
        f"<code>{_text(finding.session, 60)}</code>, call {finding.call}, turn {finding.turn}",
        f"<code>{_text(finding.file)}{lines}</code>",
        f"{_text(finding.what)}{quoted}",
    )
    return _row(texts, (finding.tokens, finding.carried_tokens))


_AGAIN = {
    "Tokens then": "then_tokens", "Tokens now": "now_tokens", "Lines then": "then_lines",
    "Lines now": "now_lines", "Differ today": "changed_lines", "Used, missing now": "missing",
}  # fmt: skip


def _replayed(totals: Totals) -> Iterator[str]:
    if totals.replayed:
        yield "<h2>Replayed with readroom</h2>\n"
        rows = (
            _row(
                (_text(contract), _text(again.outcomes())),
                [getattr(again, name) for name in _AGAIN.values()],
            )
            for contract, again in totals.replayed.items()
        )
        yield from _table(("Contract", "Calls"), list(_AGAIN), rows)


def _spent(heading: str, name: str, spent: dict[str, Spent]) -> Iterator[str]:
    listed = dearest_of(spent, FILES_LISTED)
    if not listed:
        return
    most = max(cost.carried_tokens for _, cost in listed) or 1
    yield f"<h2>{heading}</h2>\n"
    rows = (
        _row(
            [f"<code>{_text(entry)}</code>"],
            (cost.calls, cost.errors, cost.tokens, cost.carried_tokens),
            _bar(round(100 * cost.carried_tokens / most)),
        )
        for entry, cost in listed
    )
    yield from _table([name.capitalize()], ("Calls", "Failed", "Tokens", "In all requests"), rows, "Share")
    yield _more(len(spent) - len(listed))


def _bar(share: int) -> str:
    bar = f'<rect width="{share + 1}" height="12"/>'
    return f'<svg width="102" height="12" role="img" aria-label="{share} %">{bar}</svg>'


def _sessions(totals: Totals) -> Iterator[str]:
    listed = totals.dearest_sessions()
    yield "<h2>Sessions</h2>\n"
    numbers = ("Requests", "Calls", "Failed", "Tokens", "In all requests")
    yield from _table(("Session", "Client", "Started"), numbers, map(_session, listed))
    yield _more(totals.sessions - len(listed))


def _session(session: Session) -> str:
    parent = f'<br><span class="soft">sub-agent of {_text(session.parent, 60)}</span>'
    name = f"<code>{_text(session.session, 80)}</code>{parent if session.parent else ''}"
    texts = (
        f'{name}<br><span class="soft">{_text(session.record)}</span>',
        f"{_text(f'{session.client} {session.version}')}<br>{_text(session.model, 80)}",
        _text(session.started, 40),
    )
    used = (session.turns, session.calls, session.errors, session.result_tokens, session.carried_tokens)
    return _row(texts, used)


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
        yield f"<li><code>{_text(part.record)}</code>, {_text(part.where)}: {_text(part.why)}{more}</li>\n"
    yield "</ul>\n"
