"""Limits on connections: new ones share places by address, and the oldest make way for newer ones.

Until its headers are read, a client with a token looks like part of a flood. So every connection starts as
a stranger. If one arrives when the share of its address is full, the oldest stranger of that address that
is not waiting for an answer is closed; if all places for strangers are taken, the oldest of the address that
has the most. A client sends its headers in its first packet and is a stranger for a millisecond; a flood of
half-open connections closes its own. A connection becomes a guest once a request on it was admitted, and
counts among guests only; one token cannot have all of their places.

Pure: the connection to close is returned, not closed. Used from the event loop only.
"""

from __future__ import annotations

from collections import Counter
from typing import Protocol, final

from readroom.mcp.calls import share
from readroom.server.http.awaiting import ClientScope


class Visitor(Protocol):
    """A connection."""

    @property
    def address(self) -> str:
        """The remote address."""

    @property
    def idle(self) -> bool:
        """Whether no request on it is being answered."""


class Carrier(Visitor, Protocol):
    """A connection as the gate sees it."""

    @property
    def whole(self) -> bool:
        """Whether all requests on it have arrived completely."""

    def answering(self, client_scope: ClientScope) -> None:
        """A request on it is being answered; if the connection is lost, the client has left."""

    def answered(self, client_scope: ClientScope) -> None:
        """The request was answered."""


HTTP_CONNECTIONS = 512
"""Concurrent connections with an admitted request; above it, clients are asked to try again. An editor has
one or two per window, a proxy some hundred for all its users."""

SERVE_STRANGERS = 320
"""Concurrent connections without an admitted request; a new one ends the oldest. With those above and what
calls open, below the 1,024 descriptors that most systems give a process."""

SERVE_ADDRESS_STRANGERS = 288
"""The same for one address. All clients of this machine share one address, and so do all of a proxy,
which may open as many as a load test does (256) before it sends anything."""


@final
class Crowd:
    """The connections of one server."""

    def __init__(
        self,
        *,
        share: int = SERVE_ADDRESS_STRANGERS,
        strangers: int = SERVE_STRANGERS,
        guests: int = HTTP_CONNECTIONS,
    ) -> None:
        """Set the places of one address (`share`, two or more), of all `strangers` and of all `guests`."""
        self._share = share
        self._most_strangers = strangers
        self._most_guests = guests
        self._count = 0
        # Dictionaries keep the order of arrival.
        self._strangers: dict[str, dict[Visitor, None]] = {}
        # Each with the token of its last request: connections of a proxy carry requests of many.
        self._guests: dict[Visitor, str] = {}
        self._of: Counter[str] = Counter()

    def came(self, visitor: Visitor) -> Visitor | None:
        """Count a stranger; return the connection to close for it."""
        mine = self._strangers.setdefault(visitor.address, {})
        given_up = None
        if len(mine) >= self._share:
            given_up = _oldest(mine)
        elif self._count >= self._most_strangers:
            given_up = _oldest(max(self._strangers.values(), key=len))
        mine[visitor] = None
        self._count += 1
        if given_up is not None:
            self.went(given_up)
        return given_up

    def let_in(self, visitor: Visitor, token: str) -> bool:
        """Make it a guest; False if there is no place for another guest, or for another of this token.

        One token may have three quarters of the places; an empty token has no such limit.
        """
        before = self._guests.get(visitor)
        if before == token:
            return True
        if before is None and len(self._guests) >= self._most_guests:
            return False
        if token and self._of[token] >= share(self._most_guests):
            return False
        self.went(visitor)
        self._guests[visitor] = token
        self._of[token] += 1
        return True

    def went(self, visitor: Visitor) -> None:
        """Forget a connection."""
        token = self._guests.pop(visitor, None)
        if token is not None:
            self._of[token] -= 1
            if not self._of[token]:
                del self._of[token]
        mine = self._strangers.get(visitor.address, {})
        if visitor in mine:
            del mine[visitor]
            self._count -= 1
            if not mine:
                del self._strangers[visitor.address]


def _oldest(visitors: dict[Visitor, None]) -> Visitor:
    """The oldest idle connection, else the oldest: the only answer to a stranger is a refusal."""
    return next((visitor for visitor in visitors if visitor.idle), next(iter(visitors)))
