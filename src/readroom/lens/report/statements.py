"""The first part of an audit, in cells and sentences: the terminal, the page and the dashboard have the same.

Knows: sums, and the words for them.
Does not know: widths and markup. Names from records are as recorded: who shows them makes them harmless.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from readroom.core.extras import install
from readroom.core.quoting import plain
from readroom.core.rows import AuditTable, Finding, FindingKind
from readroom.lens.limits import FILES_LISTED
from readroom.lens.normal_form import Session, counted
from readroom.lens.report import Totals
from readroom.lens.report.habits import HABITS, setting
from readroom.lens.report.spending import Bill, Secret, by_cost, latest

HABITS_SHOWN = 5
_MOST_MONEY = 1_000_000
_MOST_TOKENS = 1_000_000_000_000
"""Beyond these only the size of a number is shown."""

HEADS = ("requests", "input", "cached", "output", "money")
"""The columns of a bill, after its name."""

UNITS = "Input, cached input and output in tokens, money in US dollars; + where a part has no known price."


def cells(bill: Bill) -> list[str]:
    """The columns of a bill: requests, input, cached input, output and money."""
    tokens = (bill.input_tokens + bill.written_tokens, bill.cached_tokens, bill.output_tokens)
    return [f"{bill.requests:,}", *(short(count) if bill.tokens else "-" for count in tokens), money(bill)]


def money(bill: Bill) -> str:
    """A cost; `unknown` where no price is known, and `+` where a part has none."""
    if not bill.tokens or not bill.is_known:
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


def tables(totals: Totals) -> Iterator[tuple[str, list[tuple[str, Bill]]]]:
    """Bills by model, project and day: what the table is by, and its rows, the first ones first."""
    spending = totals.spending
    for name, rows in (
        ("model", by_cost(spending.models)),
        ("project", by_cost(spending.projects)),
        ("day", list(latest(spending.days))),
    ):
        if rows:
            yield name, rows


def has_sum(totals: Totals) -> bool:
    """Whether a line with the sum of all says more than the tables."""
    return len(totals.spending.models) + len(totals.spending.days) > 2


def about_prices(totals: Totals) -> str:
    """The date and the source of the prices, and how many tokens have none."""
    prices, whole = totals.spending.prices, totals.spending.whole
    unknown = f" {short(whole.unpriced)} tokens have no known price: give one with --prices." * bool(
        whole.unpriced
    )
    return f"Prices of {prices.dated}, {prices.source}, without discounts and plans.{unknown}"


def dearest(totals: Totals) -> list[tuple[Session, Bill]]:
    """Sessions with their bills, the dearest first."""
    bills = totals.spending.sessions
    rows = [(session, bills.get(session.session, Bill())) for session in totals.dearest_sessions()]
    return sorted(rows, key=lambda row: (-row[1].cost, -row[0].carried_tokens))


def title_of(title: str) -> str:
    """The name of a session: its first prompt, if that is known."""
    return title or "(first prompt not recorded)"


class HabitSaid(msgspec.Struct, frozen=True):
    """A habit in words: what it is, how often and how dear, what to do, and what ends it."""

    kind: FindingKind
    name: str
    often: str
    advice: str
    ends: str


def habits_of(totals: Totals) -> list[FindingKind]:
    """The habits that were found, the dearest first."""
    money_of = totals.spending.kinds
    found = [kind for kind in HABITS if kind in totals.kinds]
    return sorted(found, key=lambda kind: (-money_of.get(kind, 0.0), -totals.kinds[kind].carried_tokens))


def habits(totals: Totals) -> Iterator[HabitSaid]:
    """The habits that cost most."""
    for kind in habits_of(totals)[:HABITS_SHOWN]:
        sum_, cost = totals.kinds[kind], totals.spending.kinds.get(kind, 0.0)
        paid = f", about {money(Bill(input_tokens=1, cost=cost))}" if cost else ""
        by = totals.clients_of[kind]
        often = (
            f"{sum_.count:,} in {counted(sum_.sessions, 'session')}, "
            f"{short(sum_.carried_tokens)} tokens in all requests{paid}"
        )
        ends = f"{setting(kind, sorted(by, key=lambda name: -by[name]))}."
        yield HabitSaid(kind, HABITS[kind].name, often, HABITS[kind].advice, ends)


def no_search() -> str:
    """Said where secrets were not looked for."""
    return f"No search for secrets: {install('audit')}."


def secrets_heading(secrets: list[Secret]) -> str:
    """How many secrets are to be rotated."""
    return f"Secrets to rotate: {len(secrets):,}, each sent to a model"


def secret_places(secret: Secret) -> str:
    """The places where a secret was read, and their projects."""
    where = _some(secret.places, 2, 80) or "no certain place"
    return f"{where} ({_some(secret.projects, 2, 80)})" if secret.projects else where


def secret_times(secret: Secret) -> str:
    """How often a secret was sent, and when."""
    seen = secret.first if secret.first == secret.last else f"first {secret.first}, last {secret.last}"
    times = "once" if secret.times == 1 else f"{secret.times:,} times"
    return f"{times}, {seen or 'time not recorded'}"


def secret_clients(secret: Secret) -> str:
    """The clients that sent a secret."""
    return _some(secret.clients, 3, 40)


def _some(names: Sequence[str], most: int, chars: int) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(plain(name, chars) for name in names[:most]) + more


class Loss(msgspec.Struct, frozen=True):
    """Something lost on the way to the model: a sentence, and the dearest of it."""

    sentence: str
    examples: list[Finding] = []


def lost(totals: Totals) -> Iterator[Loss]:
    """Error lines that were cut away, and results whose rest was never read."""
    if "lost-errors" in totals.kinds:
        count = counted(totals.kinds["lost-errors"].count, "result")
        sentence = f"{count} of what ran lost error lines when it was cut"
        yield Loss(sentence, totals.dearest("lost-errors"))
    if "lost" in totals.kinds:
        sum_ = totals.kinds["lost"]
        size = f": {short(sum_.tokens)} tokens" if sum_.tokens else ", how much is not recorded"
        yield Loss(f"{counted(sum_.count, 'result')} cut, and the rest never read{size}")


def overview(totals: Totals, *, secrets: bool) -> Iterator[AuditTable]:
    """All of this as tables, for the dashboard; `secrets`: they were looked for."""
    heads = [head.capitalize() for head in HEADS]
    for name, rows in tables(totals):
        shown = [[entry, *cells(bill)] for entry, bill in rows[:FILES_LISTED]]
        if name == "day" and has_sum(totals):
            shown.append(["In all", *cells(totals.spending.whole)])
        note = f"{UNITS} {about_prices(totals)}" if name == "day" else UNITS
        yield AuditTable(f"by-{name}", f"By {name}", [name.capitalize(), *heads], shown, True, note)
    found = [[one.name, one.often, one.advice, one.ends] for one in habits(totals)]
    heads = ["Habit", "Found", "Advice", "Setting or tool"]
    yield AuditTable("habits", "Habits that cost most", heads, found)
    rotated = totals.spending.ordered_secrets()
    told = [
        [one.what, secret_places(one), secret_times(one), secret_clients(one)]
        for one in rotated[:FILES_LISTED]
    ]
    heads = ["Secret", "Place", "Sent", "Client"]
    title, note = (secrets_heading(rotated), "") if secrets else ("Secrets", no_search())
    yield AuditTable("secrets", title, heads, told, note=note)
    losses = [[one.sentence] for one in lost(totals)]
    yield AuditTable("lost", "Lost on the way to the model", ["Lost"], losses)
