"""The first screen: tokens and money, the habits that cost most, secrets to rotate, and what was lost.

Knows: the width of a terminal. Every text of a record goes through `plain`.
Does not know: records. `terminal` adds tools, files and findings below it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from unicodedata import combining, east_asian_width

from readroom.core.quoting import plain
from readroom.lens.report import Totals
from readroom.lens.report import statements as said
from readroom.lens.report.spending import Bill, Secret

_SHOWN = {"model": 5, "project": 5, "day": 7}
_SESSIONS = 5
_SECRETS = 5
_LOST = 2
_LEAST_WIDTH = 72
_CALLED = 24
_MOST_WIDTH = 120

_FIGURES = (9, 9, 9, 9, 11)
"""Widths of requests, input, cached input, output and money."""


def screen(totals: Totals, width: int, secrets: bool) -> str:
    """The whole screen, in lines of `width` characters, 72 to 120; `secrets`: they were looked for."""
    width = max(_LEAST_WIDTH, min(_MOST_WIDTH, width))
    parts = [
        _tables(totals, width), _dearest(totals, width), _habits(totals, width),
        _secrets(totals, width, secrets), _lost(totals, width),
    ]  # fmt: skip
    return "\n".join("\n".join(part) for part in map(list, parts) if part)


def _fit(text: str, width: int, *, end: bool = False) -> str:
    """A text in one line of so many characters; with `end` its end stays, as of a path."""
    return _cut(plain(text, 400), width, end=end)


def _cut(text: str, width: int, *, end: bool) -> str:
    if columns(text) <= width:
        return text
    while columns(text) > width - 1:
        text = text[1:] if end else text[:-1]
    return "…" + text if end else text + "…"


def columns(text: str) -> int:
    """The columns of a text on a terminal: two for a character of a script of East Asia."""
    return len(text) if text.isascii() else sum(map(_column, text))


def _column(character: str) -> int:
    return 0 if combining(character) else 2 if east_asian_width(character) in "WF" else 1


def _padded(text: str, width: int) -> str:
    return text + " " * (width - columns(text))


def _tables(totals: Totals, width: int) -> Iterator[str]:
    figures = "".join(f"{head:>{size}}" for head, size in zip(said.HEADS, _FIGURES, strict=True))
    name = width - sum(_FIGURES)
    for head, rows in said.tables(totals):
        most = _SHOWN[head]
        yield f"{head:<{name}}{figures}"
        for entry, bill in rows[:most]:
            yield _row(_fit(entry, name - 1, end=head == "project"), bill, name)
        if len(rows) > most:
            yield f"and {len(rows) - most:,} more"
        yield ""
    if said.has_sum(totals):
        yield _row("in all", totals.spending.whole, name)
    yield from wrapped(said.about_prices(totals), width)


def _row(entry: str, bill: Bill, name: int) -> str:
    return _padded(entry, name) + "".join(
        f"{text:>{size}}" for text, size in zip(said.cells(bill), _FIGURES, strict=True)
    )


def _dearest(totals: Totals, width: int) -> Iterator[str]:
    rows = said.dearest(totals)
    if not rows:
        return
    yield ""
    yield "Dearest sessions"
    for session, bill in rows[:_SESSIONS]:
        tail = f"{said.short(bill.tokens) if bill.tokens else '-':>9}{said.money(bill):>11}"
        called = _fit(totals.called(session.session), _CALLED)
        name = width - len(tail) - _CALLED - 3
        title = _fit(said.title_of(session.title), name - 1)
        yield f"  {_padded(title, name)} {_padded(called, _CALLED)}{tail}"


def _habits(totals: Totals, width: int) -> Iterator[str]:
    for number, habit in enumerate(said.habits(totals), 1):
        if number == 1:
            yield ""
            yield "Habits that cost most"
        yield from wrapped(f"{number}. {habit.name}: {habit.often}", width, "   ", first="")
        yield from wrapped(habit.advice, width, "   ")
        yield from wrapped(habit.ends, width, "   ")


def _secrets(totals: Totals, width: int, looked: bool) -> Iterator[str]:
    if not looked:
        yield ""
        yield said.no_search()
        return
    secrets = totals.spending.ordered_secrets()
    if not secrets:
        return
    yield ""
    yield said.secrets_heading(secrets)
    for secret in secrets[:_SECRETS]:
        yield from wrapped(_secret(secret), width, "    ", first="  ")
    if len(secrets) > _SECRETS:
        yield f"  and {len(secrets) - _SECRETS:,} more"


def _secret(secret: Secret) -> str:
    where, times = said.secret_places(secret), said.secret_times(secret)
    return f"{plain(secret.what, 80)} in {where}: {times} ({said.secret_clients(secret)})"


def _lost(totals: Totals, width: int) -> Iterator[str]:
    for number, loss in enumerate(said.lost(totals)):
        if not number:
            yield ""
            yield "Lost on the way to the model"
        yield from wrapped(loss.sentence + ":" * bool(loss.examples), width, "  ")
        for finding in islice(loss.examples, _LOST):
            where = totals.called(finding.session)
            yield "    " + _fit(f"{where} call {finding.call}: {finding.excerpt}", width - 4)


def wrapped(text: str, width: int, indent: str = "", *, first: str | None = None) -> Iterable[str]:
    """A text in lines of a width, all but the first indented; of a longer word the end stays."""
    first = indent if first is None else first
    longest = width - max(len(first), len(indent))
    line, is_empty = first, True
    for word in text.split():
        word = _cut(word, longest, end=True)
        if not is_empty and columns(line) + 1 + columns(word) > width:
            yield line
            line, is_empty = indent, True
        line, is_empty = line + word if is_empty else f"{line} {word}", False
    if not is_empty:
        yield line
