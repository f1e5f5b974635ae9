"""Room for connections: those that have shown nothing yet have a share, by address, and give way to new ones.

Before its headers are read a client with a token looks like a flood.  So a
connection begins as a stranger.  When one comes and the share of its address is full,
the oldest stranger of that address that waits for nothing of ours is ended; when the
places of all strangers are taken, the oldest of the address that has most of them.  A
client sends its headers with its first packet and is a stranger for a millisecond;
a flood of half-open connections ends its own.  A connection on which a request was
let in is a guest, and counts among guests alone; of these one token cannot have all places.

Pure: who is ended is returned, not ended.  Used from the event loop only.
"""

from __future__ import annotations

from collections import Counter
from typing import Protocol, final

from readroom.faces.calls import ClientScope
from readroom.faces.turns import shared
from readroom.limits import HTTP_CONNECTIONS, SERVE_ADDRESS_STRANGERS, SERVE_STRANGERS


class Visitor(Protocol):
    """A connection."""

    @property
    def address(self) -> str:
        """Where it comes from."""

    @property
    def idle(self) -> bool:
        """No request of it is being answered."""


class Carrier(Visitor, Protocol):
    """A connection as the gate sees it."""

    @property
    def whole(self) -> bool:
        """Of no request on it is anything still to come."""

    def answering(self, client_scope: ClientScope) -> None:
        """A request of it is being answered; when it is lost, its sender has left."""

    def answered(self, client_scope: ClientScope) -> None:
        """That is over."""


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
        """`share` of one address, two or more; `strangers` of all; and so many `guests`."""
        self._share = share
        self._most_strangers = strangers
        self._most_guests = guests
        self._count = 0
        # Dictionaries keep the order of arrival.
        self._strangers: dict[str, dict[Visitor, None]] = {}
        # With the token whose request came last: connections of a proxy carry those of many.
        self._guests: dict[Visitor, str] = {}
        self._of: Counter[str] = Counter()

    def came(self, visitor: Visitor) -> Visitor | None:
        """Count a stranger; returns the one to be ended for it."""
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
        """A request of it may be answered; False when there is no room for another guest, or one of a token.

        One token may have three quarters of the room; an empty one is nobody in particular.
        """
        before = self._guests.get(visitor)
        if before == token:
            return True
        if before is None and len(self._guests) >= self._most_guests:
            return False
        if token and self._of[token] >= shared(self._most_guests):
            return False
        self.went(visitor)
        self._guests[visitor] = token
        self._of[token] += 1
        return True

    def went(self, visitor: Visitor) -> None:
        """Forget it."""
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
    """The oldest that is idle, else the oldest: an answer to a stranger is a refusal."""
    return next((visitor for visitor in visitors if visitor.idle), next(iter(visitors)))
