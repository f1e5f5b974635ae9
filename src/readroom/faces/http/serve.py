"""The HTTP workspace agent as a server: uvicorn on an address or a Unix socket.

Loopback unless somebody says otherwise, and nothing but loopback without tokens made for others.
Told to end, it takes no more requests, lets running calls finish for a while, and
cancels what is left.  Nothing is written to standard output.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from readroom.config_serve import Serving
from readroom.errors import BadValue
from readroom.faces.calls import Calls
from readroom.faces.http import sockets
from readroom.faces.http.app import inside
from readroom.faces.http.exchange import LOG, Metrics
from readroom.faces.http.gate import MCP_PATH, Gate
from readroom.faces.http.hosts import Hosts
from readroom.faces.http.protocol import Protocol
from readroom.faces.http.rates import Rates
from readroom.faces.http.refusals import Refusals
from readroom.faces.http.rooms import Rooms
from readroom.faces.mcp import logs
from readroom.limits import MCP_EXIT_S, SERVE_ACCEPT, SERVE_BACKLOG, SERVE_EXIT_S
from readroom.session.admission import Admission, Keys
from readroom.toolbox import Workspace

_NOT_OPEN = "Leave --open out, or use 127.0.0.1 and a tunnel (ssh -L)."

_POLL_S = 0.02
"""Between two looks whether the running calls have finished, while the server ends."""


@dataclass(frozen=True, slots=True)
class Where:
    """Where to listen: a Unix socket, or a host and a port, of which 0 is a free one."""

    host: str = "127.0.0.1"
    port: int = 0
    socket: str | None = None


def admitted(
    workspaces: Mapping[str, Workspace], where: Where, serving: Serving, keys: Keys | None
) -> Admission:
    """Who may come in at an address.

    Raises:
        BadValue: It is not an address, or other machines could come in without a token.
        BadTokenStore: There is no telling which tokens there are.
    """
    private = where.socket is not None
    local = private or sockets.is_loopback(where.host)
    if not local:
        if serving.auth == "open":
            problem = "is open to other machines, which need a token"
            raise BadValue("host", where.host, problem, _NOT_OPEN)
        sockets.require_tokens(where.host, None if keys is None else keys.made)
    folders = {name: one.guard.folder for name, one in workspaces.items()}
    served = {name: folder for name, folder in folders.items() if folder is not None}
    return Admission(keys, served, serving.auth, private=private, local=local)


def serve_http(
    workspaces: Mapping[str, Workspace],
    where: Where,
    serving: Serving,
    admission: Admission,
    *,
    contract_name: str,
    reply_chars: int | None,
    on_ready: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve any number of clients until SIGINT or SIGTERM comes.

    Args:
        workspaces: What is served, by name; the first is the one of addresses without a name.
            Closing them stays with the caller.
        where: Where to listen.
        serving: Names, rates, and how much at once.
        admission: Who may come in; made by `admitted`.
        contract_name: Whose tools MCP serves.
        reply_chars: Cap on a reply's text over MCP, None for what each client is known to pass on.
        on_ready: Told the URL for MCP clients as soon as they can connect.

    Raises:
        BadValue: The address cannot be used.
        BadTokenStore: The tokens cannot be read.
    """
    logs.to_stderr(access=LOG if serving.access_log else None)
    loopback = admission.private or admission.local
    rooms = Rooms(workspaces, serving.default or next(iter(workspaces)))
    refusals = Refusals(rooms)
    calls, metrics = Calls(workers=serving.workers, queue=serving.queue), Metrics()
    app = inside(calls, rooms, metrics, contract_name=contract_name, reply_chars=reply_chars)
    gate = Gate(
        app,
        rooms=rooms,
        admission=admission,
        hosts=Hosts(serving.hosts, serving.origins, loopback=loopback, named=where.socket is None),
        rates=Rates(token=serving.rate, address=serving.address_rate),
        metrics=metrics,
        refusals=refusals,
    )
    with sockets.listening(where.host, where.port, where.socket) as (bound, url):
        try:
            web = _Web(_config(gate), gate, calls, lambda: on_ready(url + MCP_PATH))
            # Not `run`: it may take another event loop, and what is below knows asyncio's.
            asyncio.run(web.serve([bound]))
        finally:
            calls.close()
            refusals.close()
            rooms.close()


class _Web(uvicorn.Server):
    """uvicorn that says when it is ready, lets calls finish when it is told to end, and ends quietly."""

    def __init__(
        self, config: uvicorn.Config, gate: Gate, calls: Calls, on_started: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._gate = gate
        self._calls = calls
        self._on_started = on_started
        self._hurried = False
        """Somebody at the keyboard wants it to end: nothing is waited for."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for one in sockets or ():
            # asyncio takes as many at once as may wait, and both are one number there.
            one.listen(SERVE_BACKLOG)
        if self.started:
            self._on_started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._gate.closing = True
        for server in self.servers:
            server.close()
        ends = time.monotonic() + SERVE_EXIT_S
        while self._calls.open and not self._hurried and not self.force_exit and time.monotonic() < ends:
            await asyncio.sleep(_POLL_S)
        self._calls.stop()
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # Without remembering the signal: uvicorn would raise it again at the end, like a crash.
        self._hurried = sig == signal.SIGINT
        self.force_exit = self.should_exit and self._hurried
        self.should_exit = True


def _config(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=MCP_EXIT_S,
        backlog=SERVE_ACCEPT,
    )
