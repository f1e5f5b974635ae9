"""The cost of sessions, by model, project and day, and the secrets in them.

Knows: prices, and the rows of sessions. Sums are in bounded memory.
Does not know: terminals and pages.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from readroom.core.rows import Finding, FindingKind
from readroom.lens.money import PriceList
from readroom.lens.normal_form import Session, Turn
from readroom.lens.sessions import Audited
from readroom.lens.wanted import parsed

_NAMES_KEPT = 5_000
"""Models, projects, days and secrets that have sums of their own; later ones share one."""

OTHERS = "(all others)"
NO_MODEL = "(model not recorded)"
NO_PROJECT = "(folder not recorded)"
NO_DAY = "(time not recorded)"


class Bill(msgspec.Struct):
    """The sums of some answers. Tokens are those that records name; `unpriced` are those without a price.

    `cost` is in US dollars, of the tokens that have a price, or as the client recorded it.
    """

    requests: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    written_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    unpriced: int = 0

    @property
    def tokens(self) -> int:
        """All of them."""
        return self.input_tokens + self.cached_tokens + self.written_tokens + self.output_tokens

    @property
    def is_known(self) -> bool:
        """Whether any of its tokens has a price."""
        return self.cost > 0 or (self.tokens > 0 and not self.unpriced)

    def add(self, turn: Turn, cost: float | None) -> None:
        """Add an answer and what it cost, if that is known."""
        self.requests += 1
        self.input_tokens += turn.input_tokens
        self.cached_tokens += turn.cache_read_tokens
        self.written_tokens += turn.cache_write_tokens
        self.output_tokens += turn.output_tokens
        used = turn.input_tokens + turn.cache_read_tokens + turn.cache_write_tokens + turn.output_tokens
        self.cost += cost or 0.0
        self.unpriced += used if cost is None else 0


class Secret(msgspec.Struct):
    """One secret, wherever it was sent: to be rotated once.

    `places` are files with lines, as the sessions name them; empty where a place is not certain.
    """

    what: str
    places: list[str] = msgspec.field(default_factory=list)
    first: str = ""
    last: str = ""
    times: int = 0
    sessions: list[str] = msgspec.field(default_factory=list)
    clients: list[str] = msgspec.field(default_factory=list)
    projects: list[str] = msgspec.field(default_factory=list)


_PLACES = 5
"""Places, sessions, clients and projects that are named of a secret."""


class Spending:
    """Sums of money, of findings in money, and of secrets."""

    def __init__(self, prices: PriceList) -> None:
        self.prices = prices
        self.whole = Bill()
        self.models: dict[str, Bill] = {}
        self.projects: dict[str, Bill] = {}
        self.days: dict[str, Bill] = {}
        self.sessions: dict[str, Bill] = {}
        self.kinds: dict[FindingKind, float] = {}
        """The cost of findings of a kind in all requests, as a share of the input of their sessions."""
        self.secrets: dict[str, Secret] = {}

    def add(self, part: Audited) -> None:
        """Add a session."""
        session = part.session
        own = Bill()
        paid = 0.0
        recorded = session.cost > 0  # then the client says what it cost
        for turn in part.turns:
            cost = turn.cost if recorded else self.prices.cost(turn, session.model)
            model = self.prices.name(turn.model or session.model) or NO_MODEL
            day = parsed(turn.time or session.started)
            for table, name in (
                (self.models, model),
                (self.projects, session.folder or NO_PROJECT),
                (self.days, day.date().isoformat() if day else NO_DAY),
            ):
                _of(table, name).add(turn, cost)
            own.add(turn, cost)
            self.whole.add(turn, cost)
            paid += _input_cost(turn, cost)
        self.sessions.setdefault(session.session, own)
        if len(self.sessions) > _NAMES_KEPT:
            del self.sessions[session.session]
        sent = own.tokens - own.output_tokens
        for finding in part.findings:
            if sent and paid:
                more = finding.carried_tokens * paid / sent
                self.kinds[finding.kind] = self.kinds.get(finding.kind, 0.0) + more
        self._secrets(part)

    def _secrets(self, part: Audited) -> None:
        times = {turn.turn: turn.time for turn in part.turns}
        for finding in part.findings:
            if finding.kind != "secrets":
                continue
            key = finding.mark or f"{finding.file}:{finding.first} in {part.session.session}"
            if key not in self.secrets and len(self.secrets) >= _NAMES_KEPT:
                key = OTHERS
            what = finding.what.removesuffix(" sent to the model")
            self._seen(self.secrets.setdefault(key, Secret(what)), finding, part.session, times)

    def _seen(self, secret: Secret, finding: Finding, session: Session, times: dict[int, str]) -> None:
        moment = parsed(times.get(finding.turn, "") or session.started)
        day = moment.date().isoformat() if moment else ""
        secret.times += 1
        if day:
            secret.first = min(secret.first or day, day)
            secret.last = max(secret.last, day)
        place = f"{finding.file}:{finding.first}" if finding.first else finding.file
        for names, name in (
            (secret.places, place), (secret.sessions, session.session), (secret.clients, session.client),
            (secret.projects, session.folder),
        ):  # fmt: skip
            if name and name not in names and len(names) < _PLACES:
                names.append(name)

    def ordered_secrets(self) -> list[Secret]:
        """The secrets, the one that was sent last first."""
        return sorted(self.secrets.values(), key=lambda one: (one.last, one.times), reverse=True)


def _input_cost(turn: Turn, cost: float | None) -> float:
    """The cost of the input of an answer; of a whole that the client recorded, its share of the tokens."""
    sent = turn.input_tokens + turn.cache_read_tokens + turn.cache_write_tokens
    if not cost or not sent:
        return 0.0
    # Output costs about five times as much for a token in every list of prices.
    return cost * sent / (sent + 5 * turn.output_tokens)


def _of(table: dict[str, Bill], name: str) -> Bill:
    if name not in table and len(table) >= _NAMES_KEPT:
        name = OTHERS
    return table.setdefault(name, Bill())


def by_cost(table: dict[str, Bill]) -> list[tuple[str, Bill]]:
    """The entries of a table, the dearest first; those without a price by their tokens."""
    return sorted(table.items(), key=lambda item: (-item[1].cost, -item[1].tokens, item[0]))


def latest(table: dict[str, Bill]) -> Iterator[tuple[str, Bill]]:
    """Days, the latest first."""
    return iter(sorted(table.items(), key=lambda item: (not item[0].startswith("("), item[0]), reverse=True))
