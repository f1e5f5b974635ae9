"""The first screen: tokens and money, the habits that cost most, secrets to rotate, and what was lost.

Knows: the width of a terminal. Every text of a record goes through `plain`.
Does not know: records. `terminal` adds tools, files and findings below it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from unicodedata import combining, east_asian_width

from readroom.core.extras import install
from readroom.core.quoting import plain
from readroom.core.rows import FindingKind
from readroom.lens.normal_form import Session, counted
from readroom.lens.report import Totals
from readroom.lens.report.habits import HABITS, setting
from readroom.lens.report.spending import Bill, Secret, by_cost, latest

HABITS_SHOWN = 5
_MODELS = 5
_PROJECTS = 5
_DAYS = 7
_SESSIONS = 5
_SECRETS = 5
_LOST = 2
_LEAST_WIDTH = 72
_CALLED = 24
_MOST_WIDTH = 120
_MOST_MONEY = 1_000_000
_MOST_TOKENS = 1_000_000_000_000
"""Beyond these only the size of a number is shown."""

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


def money(bill: Bill) -> str:
    """A cost; `unknown` where no price is known, and `+` where a part has none."""
    if not bill.tokens:
        return "unknown"
    if not bill.is_known:
        return "unknown"
    more = "+" if bill.unpriced else ""
    if bill.cost >= _MOST_MONEY:  # no session cost that: a record says what it likes
        return f"${bill.cost:.0e}{more}"
    return f"{'<$0.01' if 0 < bill.cost < 0.005 else f'${bill.cost:,.2f}'}{more}"


def short(count: int) -> str:
    """A number of tokens in at most seven characters."""
    if count >= _MOST_TOKENS:
        return f"{count:.0e}"
    for unit, size in (("G", 1_000_000_000), ("M", 1_000_000), ("k", 1_000)):
        if count >= size:
            value = count / size
            return f"{value:,.0f} {unit}" if value >= 100 else f"{value:.1f} {unit}"
    return str(count)


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
    spending = totals.spending
    heads = ("requests", "input", "cached", "output", "money")
    figures = "".join(f"{head:>{size}}" for head, size in zip(heads, _FIGURES, strict=True))
    name = width - sum(_FIGURES)
    tables = (
        ("model", by_cost(spending.models), _MODELS),
        ("project", by_cost(spending.projects), _PROJECTS),
        ("day", list(latest(spending.days)), _DAYS),
    )
    for head, rows, most in tables:
        if not rows:
            continue
        yield f"{head:<{name}}{figures}"
        for entry, bill in rows[:most]:
            yield _row(_fit(entry, name - 1, end=head == "project"), bill, name)
        if len(rows) > most:
            yield f"and {len(rows) - most:,} more"
        yield ""
    if len(spending.models) + len(spending.days) > 2:
        yield _row("in all", spending.whole, name)
    yield from wrapped(_about_prices(totals), width)


def _row(entry: str, bill: Bill, name: int) -> str:
    read = bill.input_tokens + bill.written_tokens
    tokens = (read, bill.cached_tokens, bill.output_tokens)
    texts = [f"{bill.requests:,}", *(short(count) if bill.tokens else "-" for count in tokens), money(bill)]
    return _padded(entry, name) + "".join(
        f"{text:>{size}}" for text, size in zip(texts, _FIGURES, strict=True)
    )


def _about_prices(totals: Totals) -> str:
    prices, whole = totals.spending.prices, totals.spending.whole
    unknown = f" {short(whole.unpriced)} tokens have no known price: give one with --prices." * bool(
        whole.unpriced
    )
    return f"Prices of {prices.dated}, {prices.source}, without discounts and plans.{unknown}"


def _dearest(totals: Totals, width: int) -> Iterator[str]:
    sessions = totals.spending.sessions
    rows = [(session, sessions.get(session.session, Bill())) for session in totals.dearest_sessions()]
    rows.sort(key=lambda row: (-row[1].cost, -row[0].carried_tokens))
    if not rows:
        return
    yield ""
    yield "Dearest sessions"
    for session, bill in rows[:_SESSIONS]:
        tail = f"{short(bill.tokens) if bill.tokens else '-':>9}{money(bill):>11}"
        called = _fit(totals.called(session.session), _CALLED)
        name = width - len(tail) - _CALLED - 3
        title = _fit(title_of(session), name - 1)
        yield f"  {_padded(title, name)} {_padded(called, _CALLED)}{tail}"


def title_of(session: Session) -> str:
    """The name of a session: its first prompt."""
    return session.title or "(first prompt not recorded)"


def habits_of(totals: Totals) -> list[FindingKind]:
    """The habits that were found, the dearest first."""
    money_of = totals.spending.kinds
    found = [kind for kind in HABITS if kind in totals.kinds]
    return sorted(found, key=lambda kind: (-money_of.get(kind, 0.0), -totals.kinds[kind].carried_tokens))


def _habits(totals: Totals, width: int) -> Iterator[str]:
    found = habits_of(totals)[:HABITS_SHOWN]
    if not found:
        return
    yield ""
    yield "Habits that cost most"
    for number, kind in enumerate(found, 1):
        habit, sum_ = HABITS[kind], totals.kinds[kind]
        cost = totals.spending.kinds.get(kind, 0.0)
        paid = f", about {money(Bill(input_tokens=1, cost=cost))}" if cost else ""
        clients = [name for name, _ in sorted(totals.clients_of[kind].items(), key=lambda item: -item[1])]
        heading = (
            f"{number}. {habit.name}: {sum_.count:,} in {counted(sum_.sessions, 'session')}, "
            f"{short(sum_.carried_tokens)} tokens in all requests{paid}"
        )
        yield from wrapped(heading, width, "   ", first="")
        yield from wrapped(habit.advice, width, "   ")
        yield from wrapped(f"{setting(kind, clients)}.", width, "   ")


def _secrets(totals: Totals, width: int, looked: bool) -> Iterator[str]:
    if not looked:
        yield ""
        yield f"No search for secrets: {install('audit')}."
        return
    secrets = totals.spending.ordered_secrets()
    if not secrets:
        return
    yield ""
    yield f"Secrets to rotate: {len(secrets):,}, each sent to a model"
    for secret in secrets[:_SECRETS]:
        yield from wrapped(_secret(secret), width, "    ", first="  ")
    if len(secrets) > _SECRETS:
        yield f"  and {len(secrets) - _SECRETS:,} more"


def _secret(secret: Secret) -> str:
    where = ", ".join(plain(place, 80) for place in secret.places[:2]) or "no certain place"
    more = f" and {len(secret.places) - 2} more" if len(secret.places) > 2 else ""
    seen = secret.first if secret.first == secret.last else f"first {secret.first}, last {secret.last}"
    times = "once" if secret.times == 1 else f"{secret.times:,} times"
    by = ", ".join(plain(client, 40) for client in secret.clients[:3])
    by += f" and {len(secret.clients) - 3} more" if len(secret.clients) > 3 else ""
    return f"{plain(secret.what, 80)} in {where}{more}: {times}, {seen or 'time not recorded'} ({by})"


def _lost(totals: Totals, width: int) -> Iterator[str]:
    kinds: tuple[FindingKind, ...] = ("lost-errors", "lost")
    found = [kind for kind in kinds if kind in totals.kinds]
    if not found:
        return
    yield ""
    yield "Lost on the way to the model"
    if "lost-errors" in found:
        sum_ = totals.kinds["lost-errors"]
        yield from wrapped(
            f"{counted(sum_.count, 'result')} of what ran lost error lines when it was cut:", width, "  "
        )
        for finding in islice(totals.dearest("lost-errors"), _LOST):
            where = totals.called(finding.session)
            yield "    " + _fit(f"{where} call {finding.call}: {finding.excerpt}", width - 4)
    if "lost" in found:
        sum_ = totals.kinds["lost"]
        cut = f"{counted(sum_.count, 'result')} cut, and the rest never read"
        size = f": {short(sum_.tokens)} tokens" if sum_.tokens else ", how much is not recorded"
        yield from wrapped(cut + size, width, "  ")


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
