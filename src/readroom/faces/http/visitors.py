"""Tokens that are shown at the door, and people who signed in with one: a cookie each.

The cookie is random and says nothing.  The token that was typed in is looked up again at every
request, so that one that is revoked ends here as well; it stays in this process, or, where several are one
server, in what they share, locked with the cookie, which is not there.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Callable
from functools import partial
from typing import Final, Protocol, final

from msgspec import Struct

from readroom.errors import Unauthorized
from readroom.faces.http.access_log import Exchange
from readroom.faces.http.asking import Ask, here
from readroom.faces.http.rate_limit import Rates
from readroom.limits import SERVE_VISIT_S, SERVE_VISITORS
from readroom.limits.session import SERVE_KNOWN_TOKENS
from readroom.lru import LruCache
from readroom.session.admission import Admission
from readroom.session.tokens import Grant

UI_PATH: Final = "/ui"
"""Where the dashboard is; browsers send the cookie nowhere else."""

_COOKIE = re.compile(r"(?:^|;) *readroom_ui=([A-Za-z0-9_-]{43})(?= *(?:;|$))")


class _Visit(Struct, frozen=True):
    token: bytes
    ends: float


class Visits(Protocol):
    """Tokens by the hashes of cookies. Safe to share between threads."""

    def begin(self, key: str, token: bytes) -> None:
        """Keep one; the one unused for longest may be forgotten."""

    def find(self, key: str) -> bytes | None:
        """The token, unless its time is over."""

    def end(self, key: str) -> None:
        """Forget it."""


@final
class OwnVisits:
    """Those of one process."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: LruCache[str, _Visit] = LruCache(SERVE_VISITORS)

    def begin(self, key: str, token: bytes) -> None:
        """See `Visits`."""
        self._kept.put(key, _Visit(token, self._clock() + SERVE_VISIT_S))

    def find(self, key: str) -> bytes | None:
        """See `Visits`."""
        visit = self._kept.get(key)
        return visit.token if visit is not None and visit.ends > self._clock() else None

    def end(self, key: str) -> None:
        """See `Visits`."""
        self._kept.pop(key)


@final
class SignIn:
    """Whether tokens work, for programs and for people. Used from the event loop only.

    All methods but `asks` raise StateFailed where the visits or tokens are in a database that cannot be used.
    """

    def __init__(
        self,
        admission: Admission,
        rates: Rates,
        visits: Visits | None = None,
        ask: Ask = here,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`ask` performs what may wait: looks into a database over a network."""
        self._admission = admission
        self._rates = rates
        self._visits: Visits = visits or OwnVisits()
        self._ask = ask
        self._clock = clock
        # Hashes, and not what could be used.
        self._known: LruCache[bytes, bool] = LruCache(SERVE_KNOWN_TOKENS)

    @property
    def asks(self) -> bool:
        """Whether this server asks for a token. Raises BadTokenStore."""
        return self._admission.asks

    async def check(self, token: str, exchange: Exchange) -> Grant:
        """What a token allows. Raises Unauthorized, or TooManyRequests where many were tried."""
        key = _key(token)
        try:
            grant = await self._valid(token, exchange)
        except Unauthorized:
            self._known.pop(key)
            await self.failed(exchange)
            raise
        self._known.put(key, True)
        return grant

    def knows(self, token: str) -> bool:
        """Whether a token worked when it was last shown here: a word for rates, that lets nobody in."""
        return self._known.get(_key(token)) is not None

    async def failed(self, exchange: Exchange) -> None:
        """Count a token that does not work, or none. Raises TooManyRequests."""
        if counting := self._rates.failure(exchange.address):
            await counting

    async def visitor(self, cookies: bytes, exchange: Exchange) -> Grant | None:
        """What the token of the visitor allows now; None without a sign-in."""
        for secret in _secrets(cookies):
            locked = await self._ask(partial(self._visits.find, _hashed(secret)))
            if locked is not None:
                try:
                    return await self._valid(_locked(secret, locked).decode("utf-8", "replace"), exchange)
                except Unauthorized:
                    return None
        return None

    async def begin(self, token: str, *, secure: bool) -> str:
        """Let a visitor in who has shown a token that works; the header that sets the cookie."""
        secret = secrets.token_urlsafe(32)
        locked = _locked(secret, token.encode("utf-8"))
        await self._ask(partial(self._visits.begin, _hashed(secret), locked))
        return _header(secret, SERVE_VISIT_S, secure=secure)

    async def end(self, cookies: bytes, *, secure: bool) -> str:
        """Sign out; the header that removes the cookie."""
        for secret in _secrets(cookies):
            await self._ask(partial(self._visits.end, _hashed(secret)))
        return _header("", 0, secure=secure)

    async def _valid(self, token: str, exchange: Exchange) -> Grant:
        find = partial(self._admission.find, token)
        grant = await self._ask(find) if self._admission.waits else find()
        if grant is None:
            raise Unauthorized("it is not known")
        exchange.token, exchange.agent = grant.token, grant.name
        state = grant.state(self._clock())
        if state != "valid":
            raise Unauthorized(f"it is {state}")
        return grant


class PageAddress(Struct, frozen=True):
    """The workspace that a page is about.

    Attributes:
        name: Of the workspace, None for the default one.
        default: The name of that.
    """

    name: str | None
    default: str

    @property
    def base(self) -> str:
        """Where its pages are."""
        return UI_PATH if self.name is None else f"{UI_PATH}/w/{self.name}"

    def of(self, name: str) -> str:
        """Where the pages of another are."""
        return UI_PATH if name == self.default else f"{UI_PATH}/w/{name}"

    def here(self, path: str, query: str) -> str:
        """The address of a page, with what follows its name."""
        return f"{self.base}{path.rstrip('/')}{'?' if query else ''}{query}"


def _header(secret: str, seconds: float, *, secure: bool) -> str:
    # Lax, so that a link to a view that somebody sent opens it: nothing is changed by a GET.
    attributes = f"Path={UI_PATH}; HttpOnly; SameSite=Lax; Max-Age={int(seconds)}"
    return f"readroom_ui={secret}; {attributes}{'; Secure' if secure else ''}"


def _secrets(cookies: bytes) -> list[str]:
    return _COOKIE.findall(cookies.decode("latin-1"))


def _key(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()


def _hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode("ascii")).hexdigest()


def _locked(secret: str, token: bytes) -> bytes:
    """A token that only who has the cookie can read, or, a second time, the token again.

    A one-time pad: each cookie is new, has 256 random bits and locks one token.
    """
    pad = hashlib.shake_256(b"readroom visit\n" + secret.encode("ascii")).digest(len(token))
    return bytes(byte ^ other for byte, other in zip(token, pad, strict=True))
