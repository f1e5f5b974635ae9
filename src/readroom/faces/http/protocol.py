"""HTTP/1.1 with uvicorn, for clients that do not speak it, or never finish: answered, counted and recorded.

uvicorn answers what is no HTTP in plain words and waits for headers for ever.
"""

from __future__ import annotations

import asyncio
import re
from typing import final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from readroom.errors import BadRequest, Busy, ReadroomError, RepeatedHeader, SlowRequest
from readroom.faces.http.exchange import Exchange
from readroom.faces.http.gate import CONNECTION, Gate
from readroom.faces.http.replies import refused
from readroom.limits import SERVE_HEADER_S

_HEAD = re.compile(rb".*?\r?\n\r?\n", re.DOTALL)
_FRAMING = re.compile(rb"^(host|content-length|transfer-encoding)[ \t]*:", re.IGNORECASE | re.MULTILINE)
"""h11 makes one of equal lengths, before anybody else sees them."""


@final
class Protocol(H11Protocol):
    """One connection. The application of its configuration is a `Gate`."""

    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a request, and not for ever: a connection that says nothing holds a place."""
        super().connection_made(transport)
        self.app_state = {**self.app_state, CONNECTION: self}
        self._watch()
        if (
            self.client is not None
        ):  # else it is that of this account, which alone can connect to a Unix socket
            other = self._gate.crowd.came(self)
            if isinstance(other, Protocol):
                other.make_way()

    @property
    def address(self) -> str:
        """Where it comes from."""
        return self.client[0] if self.client else "local"

    @property
    def idle(self) -> bool:
        """No request of it is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def make_way(self) -> None:
        """End at once: somebody else needs the place."""
        if self.idle:  # else its request is recorded by itself
            self._gate.over(Exchange("", self.address, code=Busy.code))
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Take more of it."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._forget()
        self._gate.crowd.went(self)
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        if not self.transport.is_closing():
            self._watch()

    def timeout_keep_alive_handler(self) -> None:
        """End a connection that is idle; one with half a request has more time, and is answered."""
        if not self.conn.trailing_data[0]:
            super().timeout_keep_alive_handler()

    def send_400_response(self, msg: str) -> None:
        """What uvicorn calls for what is no HTTP."""
        if self.conn.our_state is h11.IDLE:
            self._refuse(BadRequest("it is no HTTP/1.1", "Send a request line, headers and a body."))
        else:
            # It is in the body of a request: whoever waits for that hears that it ended.
            self.transport.close()

    def handle_events(self) -> None:
        """Read what came, unless the parser would take two lengths or two hosts for one."""
        repeated = self._repeated() if self.conn.their_state is h11.IDLE else None
        if repeated is not None and self.conn.our_state is h11.IDLE:
            self._refuse(RepeatedHeader(repeated))
        else:
            super().handle_events()

    def _repeated(self) -> str | None:
        """A header of the request to come that says twice how long it is, or for whom."""
        head = _HEAD.match(self.conn.trailing_data[0])
        lines = _FRAMING.findall(head[0]) if head else []
        names = [line.lower() for line in lines]
        return next((name.decode("ascii").title() for name in names if names.count(name) > 1), None)

    @property
    def _gate(self) -> Gate:
        assert isinstance(self.app, Gate)
        return self.app

    def _watch(self) -> None:
        """While a request is answered there is nothing to wait for; more bytes do not buy more time."""
        if not self.idle:
            self._forget()
        elif self._patience is None:
            self._patience = self.loop.call_later(SERVE_HEADER_S, self._give_up)

    def _forget(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _give_up(self) -> None:
        self._patience = None
        if not self.idle or self.transport.is_closing():
            return
        if self.conn.trailing_data[0]:
            self._refuse(SlowRequest(SERVE_HEADER_S))
        else:
            self.transport.close()

    def _refuse(self, error: ReadroomError) -> None:
        """Answer what never became a request, and close."""
        response = refused(error)
        headers = [*response.raw_headers, (b"connection", b"close")]
        status = response.status_code
        for event in (
            h11.Response(status_code=status, headers=headers),
            h11.Data(data=bytes(response.body)),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
        self._gate.over(Exchange("", self.address, status=status, code=error.code))
