"""Tokens presented by clients, and people who signed in with one: a cookie each.

Cookies are random and carry no data. The token is checked at every request, so revoking
it also ends the sign-in. It is kept in this process or, with several, in their shared state, encrypted
with the cookie, which is not stored there.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias, final

from msgspec import Struct

from readroom.core.errors import Unauthorized
from readroom.core.limits import SERVE_VISIT_S, SERVE_VISITORS
from readroom.core.lru import LruCache
from readroom.server.admission import Admission
from readroom.server.http.access_log import Exchange
from readroom.server.http.asking import Ask, here
from readroom.server.http.rate_limit import Rates
from readroom.server.shared.sessions import SharedVisits
from readroom.server.tokens import Grant

UI_PATH: Final = "/ui"
"""The path of the dashboard; browsers send the cookie nowhere else."""

_COOKIE = re.compile(r"(?:^|;) *readroom_ui=([A-Za-z0-9_-]{43})(?= *(?:;|$))")


class _Visit(Struct, frozen=True):
    token: bytes
    ends: float


@final
class OwnVisits:
    """Tokens by the hashes of cookies, in the memory of one process."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: LruCache[str, _Visit] = LruCache(SERVE_VISITORS)

    def begin(self, key: str, token: bytes) -> None:
        """Keep a token; the least recently used one may be dropped."""
        self._kept.put(key, _Visit(token, self._clock() + SERVE_VISIT_S))

    def find(self, key: str) -> bytes | None:
        """The token, unless it has expired."""
        visit = self._kept.get(key)
        return visit.token if visit is not None and visit.ends > self._clock() else None

    def end(self, key: str) -> None:
        """Forget a token."""
        self._kept.pop(key)


Visits: TypeAlias = OwnVisits | SharedVisits
"""Wherever they are stored."""


SERVE_KNOWN_TOKENS = 10_000
"""Remembered valid tokens, so that requests of others at the same address are not counted as theirs;
each takes 200 bytes."""


@final
class SignIn:
    """Checks tokens, for programs and for people. Used from the event loop only.

    All methods raise StateFailed if visits or tokens are in a database that is unavailable.
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
        """`ask` runs work that may block: queries over a network."""
        self._admission = admission
        self._rates = rates
        self._visits: Visits = visits or OwnVisits()
        self._ask = ask
        self._clock = clock
        # Hashes, so that nothing usable is kept.
        self._known: LruCache[bytes, bool] = LruCache(SERVE_KNOWN_TOKENS)

    async def asks(self) -> bool:
        """Whether this server requires a token. Raises BadTokenStore."""
        if self._admission.waits:
            return await self._ask(lambda: self._admission.asks)
        return self._admission.asks

    async def check(self, token: str, exchange: Exchange) -> Grant:
        """The grant of a token. Raises Unauthorized, or TooManyRequests after many attempts."""
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
        """Whether a token was valid when last presented here: a hint for rate limits, which admits nobody."""
        return self._known.get(_key(token)) is not None

    async def failed(self, exchange: Exchange) -> None:
        """Count an invalid or missing token. Raises TooManyRequests."""
        if counting := self._rates.failure(exchange.address):
            await counting

    async def visitor(self, cookies: bytes, exchange: Exchange) -> Grant | None:
        """The current grant of the visitor's token; None without a sign-in."""
        for secret in _secrets(cookies):
            locked = await self._ask(partial(self._visits.find, _hashed(secret)))
            if locked is not None:
                try:
                    return await self._valid(_locked(secret, locked).decode("utf-8", "replace"), exchange)
                except Unauthorized:
                    return None
        return None

    async def begin(self, token: str, *, secure: bool) -> str:
        """Sign in a visitor with a valid token; returns the header that sets the cookie."""
        secret = secrets.token_urlsafe(32)
        locked = _locked(secret, token.encode("utf-8"))
        await self._ask(partial(self._visits.begin, _hashed(secret), locked))
        return _header(secret, SERVE_VISIT_S, secure=secure)

    async def end(self, cookies: bytes, *, secure: bool) -> str:
        """Sign out; returns the header that removes the cookie."""
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
    """The workspace of a page.

    Attributes:
        name: Of the workspace, None for the default one.
        default: Name of the default one.
    """

    name: str | None
    default: str

    @property
    def base(self) -> str:
        """The address of its pages."""
        return UI_PATH if self.name is None else f"{UI_PATH}/w/{self.name}"

    def of(self, name: str) -> str:
        """The address of the pages of another workspace."""
        return UI_PATH if name == self.default else f"{UI_PATH}/w/{name}"

    def here(self, path: str, query: str) -> str:
        """The address of a page, with the path and query after its workspace."""
        return f"{self.base}{path.rstrip('/')}{'?' if query else ''}{query}"


def _header(secret: str, seconds: float, *, secure: bool) -> str:
    # Lax, so that a shared link to a view opens it: a GET changes nothing.
    attributes = f"Path={UI_PATH}; HttpOnly; SameSite=Lax; Max-Age={int(seconds)}"
    return f"readroom_ui={secret}; {attributes}{'; Secure' if secure else ''}"


def _secrets(cookies: bytes) -> list[str]:
    return _COOKIE.findall(cookies.decode("latin-1"))


def _key(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()


def _hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode("ascii")).hexdigest()


def _locked(secret: str, token: bytes) -> bytes:
    """Encrypt a token so that only the holder of the cookie can read it; a second time decrypts it.

    A one-time pad: each cookie is new, has 256 random bits and locks one token.
    """
    pad = hashlib.shake_256(b"readroom visit\n" + secret.encode("ascii")).digest(len(token))
    return bytes(byte ^ other for byte, other in zip(token, pad, strict=True))
