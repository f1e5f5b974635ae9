"""Tokens that are shown at the door, and people who signed in with one: a cookie each.

The cookie is random and says nothing; the token that was typed in stays in this process, and is
looked up again at every request, so that one that is revoked ends here as well.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Callable
from typing import Final, final

from msgspec import Struct

from readroom.errors import Unauthorized
from readroom.faces.http.access_log import Exchange
from readroom.faces.http.rate_limit import Rates
from readroom.limits import SERVE_VISIT_S, SERVE_VISITORS
from readroom.lru import LruCache
from readroom.session.admission import Admission
from readroom.session.tokens import Grant

UI_PATH: Final = "/ui"
"""Where the dashboard is; browsers send the cookie nowhere else."""

_COOKIE = re.compile(r"(?:^|;) *readroom_ui=([A-Za-z0-9_-]{43})(?= *(?:;|$))")


class _Visit(Struct, frozen=True):
    token: str
    ends: float


@final
class Visitors:
    """The sign-ins of one server; the one unused for longest ends first. Safe to share between threads."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: LruCache[bytes, _Visit] = LruCache(SERVE_VISITORS)

    def begin(self, token: str, *, secure: bool) -> str:
        """Let somebody in who has shown a token that works; the header that sets the cookie."""
        secret = secrets.token_urlsafe(32)
        self._kept.put(_hashed(secret), _Visit(token, self._clock() + SERVE_VISIT_S))
        return _header(secret, SERVE_VISIT_S, secure=secure)

    def end(self, cookies: bytes, *, secure: bool) -> str:
        """Sign out; the header that removes the cookie."""
        for secret in _secrets(cookies):
            self._kept.pop(_hashed(secret))
        return _header("", 0, secure=secure)

    def token(self, cookies: bytes) -> str | None:
        """The token that a request's cookies stand for; None when nobody is signed in with them."""
        for secret in _secrets(cookies):
            found = self._kept.get(_hashed(secret))
            if found is not None and found.ends > self._clock():
                return found.token
        return None


@final
class SignIn:
    """Whether tokens work, for programs and for people. Used from the event loop only."""

    def __init__(self, admission: Admission, rates: Rates, *, clock: Callable[[], float] = time.time) -> None:
        self._admission = admission
        self._rates = rates
        self._clock = clock
        self.visitors = Visitors()

    @property
    def asks(self) -> bool:
        """Whether this server asks for a token. Raises BadTokenStore."""
        return self._admission.asks

    def check(self, token: str, exchange: Exchange) -> Grant:
        """What a token allows. Raises Unauthorized, or TooManyRequests of somebody who tries many."""
        try:
            return self._valid(token, exchange)
        except Unauthorized:
            self._rates.failure(exchange.address)
            raise

    def visitor(self, cookies: bytes, exchange: Exchange) -> Grant | None:
        """What the token of whoever is signed in allows now; None when nobody is."""
        token = self.visitors.token(cookies)
        if token is None:
            return None
        try:
            return self._valid(token, exchange)
        except Unauthorized:
            return None

    def _valid(self, token: str, exchange: Exchange) -> Grant:
        grant = self._admission.find(token)
        if grant is None:
            raise Unauthorized("it is not known")
        exchange.token, exchange.agent = grant.token, grant.name
        state = grant.state(self._clock())
        if state != "valid":
            raise Unauthorized(f"it is {state}")
        return grant


class Room(Struct, frozen=True):
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
    attributes = f"Path={UI_PATH}; HttpOnly; SameSite=Strict; Max-Age={int(seconds)}"
    return f"readroom_ui={secret}; {attributes}{'; Secure' if secure else ''}"


def _secrets(cookies: bytes) -> list[str]:
    return _COOKIE.findall(cookies.decode("latin-1"))


def _hashed(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("ascii")).digest()
