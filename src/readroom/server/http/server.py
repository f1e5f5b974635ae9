"""The HTTP agent as a server: uvicorn on an address or a Unix socket.

It listens on loopback by default, and on other addresses only with tokens made for others. On a signal to end
it stops accepting requests, lets running calls finish for a while, and cancels the rest. Nothing is written
to standard output.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import ipaddress
import os
import resource
import signal
import socket
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from types import FrameType

import uvicorn
from msgspec import Struct
from starlette.types import ASGIApp

from readroom.core.errors import BadValue, StateFailed
from readroom.core.limits import MCP_EXIT_S, SERVE_EXIT_S
from readroom.core.rows import Audit
from readroom.core.workspace import Workspace
from readroom.mcp.calls import Calls
from readroom.mcp.log_lines import to_stderr
from readroom.server.admission import Admission, Keys
from readroom.server.http.access_log import LOG, Metrics
from readroom.server.http.app import LazyDashboard, PagesOnly, inside
from readroom.server.http.asking import Ask, QueryThreads, here
from readroom.server.http.card import PUBLIC, host_of
from readroom.server.http.gate import Gate
from readroom.server.http.hosts import Hosts
from readroom.server.http.protocol import Protocol
from readroom.server.http.rate_limit import OwnRates, Rates, SharedRates
from readroom.server.http.readiness import Readiness, needs
from readroom.server.http.refusal_log import Refusals
from readroom.server.http.visitors import SignIn
from readroom.server.http.workspaces import Workspaces
from readroom.server.settings import Serving
from readroom.server.shared.state import SharedState
from readroom.server.tokens import MadeTokens

# -----------------------------------------------------------------------------
# Listening sockets: bound before anything else starts, so that a bad address fails at once.
# -----------------------------------------------------------------------------

_OTHERS = "Make one with `readroom token create`, or use 127.0.0.1 and a tunnel (ssh -L)."


def is_loopback(host: str) -> bool:
    """Whether only this machine can connect. Raises BadValue for an invalid address."""
    return _address(host).is_loopback


def is_everywhere(host: str) -> bool:
    """Whether it means all addresses of this machine. Raises BadValue for an invalid address."""
    return _address(host).is_unspecified


def require_tokens(host: str, tokens: MadeTokens | None) -> None:
    """Raises BadValue if other machines could connect without a token made for them."""
    if tokens is None or not tokens.any_valid():
        raise BadValue("host", host, "is open to other machines, and there is no token that works", _OTHERS)


@contextmanager
def listening(host: str, port: int, path: str | None) -> Iterator[tuple[socket.socket, str]]:
    """A listening socket, and the URL of its server; the file of a Unix socket is removed at the end.

    For a socket on all addresses of this machine, the URL works on this machine. Raises BadValue.
    """
    if path is not None:
        with _unix(path) as bound:
            yield bound, f"http+unix://{os.path.abspath(path).replace('/', '%2F')}"
        return
    with closing(_tcp(host, port)) as bound:
        name, number = bound.getsockname()[:2]
        if is_everywhere(name):
            name = "::1" if ":" in name else "127.0.0.1"
        yield bound, f"http://{f'[{name}]' if ':' in name else name}:{number}"


def _tcp(host: str, port: int) -> socket.socket:
    address = _address(host)
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    # With an explicit protocol: only then does asyncio set TCP_NODELAY on connections, without which every
    # answer after a connection's first waits 40 ms for an acknowledgement.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        # A server that has just ended leaves its port in TIME_WAIT; this does not let two listen at once.
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((str(address), port))
        # Only this shows whether another program listens there: with the option above two may bind.
        bound.listen()
    except OSError as error:
        bound.close()
        raise _unusable(host, port, error) from None
    except OverflowError:
        bound.close()
        raise BadValue(
            "port", port, "is not a valid port", "Ports are 0 to 65535; 0 chooses a free one."
        ) from None
    return bound


@contextmanager
def _unix(path: str) -> Iterator[socket.socket]:
    """A socket that only this user can connect to."""
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with closing(bound):
        try:
            _clear(path)
            before = os.umask(0o177)  # the mode must be right from the first moment
            try:
                bound.bind(path)
            finally:
                os.umask(before)
            bound.listen()
        except OSError as error:
            problem = "is in use by another program" if error.errno == errno.EADDRINUSE else _said(error)
            raise BadValue("socket", path, problem, "Choose another path, of up to 100 bytes.") from None
        made = os.stat(path).st_ino
        try:
            yield bound
        finally:
            with suppress(OSError):
                if os.stat(path).st_ino == made:
                    os.unlink(path)


def _clear(path: str) -> None:
    """Remove the socket of a server that was killed; nothing else, and no socket in use."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(status.st_mode):
        raise BadValue("socket", path, "is a file, not a socket", "Choose a path where there is nothing.")
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as probe:
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
            return
    raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    try:
        return ipaddress.ip_address("127.0.0.1" if host == "localhost" else host.strip("[]"))
    except ValueError:
        advice = "Use 127.0.0.1, ::1, or another address of this machine in numbers."
        raise BadValue("host", host, "is not a valid address", advice) from None


def _unusable(host: str, port: int, error: OSError) -> BadValue:
    if error.errno == errno.EADDRNOTAVAIL:
        return BadValue("host", host, "is not an address of this machine", "Use 127.0.0.1.")
    if error.errno == errno.EADDRINUSE:
        problem = "is in use by another program"
    elif error.errno == errno.EACCES:
        problem = "may not be used by this user"
    else:
        problem = f"cannot be used ({_said(error)})"
    return BadValue("port", port, problem, "Choose another, or 0 for a free one.")


def _said(error: OSError) -> str:
    return error.strerror or type(error).__name__


_NOT_OPEN = "Leave --open out, or use 127.0.0.1 and a tunnel (ssh -L)."

_NEVER_S = 24 * 60 * 60

_POLL_S = 0.02
"""Interval of checks whether the running calls have finished, while the server ends."""


class Address(Struct, frozen=True):
    """Where to listen: a Unix socket, or a host and a port; port 0 picks a free one."""

    host: str = "127.0.0.1"
    port: int = 0
    socket: str | None = None


def admitted(
    workspaces: Mapping[str, Workspace], where: Address, serving: Serving, keys: Keys | None
) -> Admission:
    """The rules of admission at an address. Raises BadValue, BadTokenStore."""
    private = where.socket is not None
    local = private or is_loopback(where.host)
    if not local:
        if serving.auth == "open":
            problem = "is open to other machines, which need a token"
            raise BadValue("host", where.host, problem, _NOT_OPEN)
        require_tokens(where.host, None if keys is None else keys.made)
    folders = {name: workspace.guard.folder for name, workspace in workspaces.items()}
    served = {name: folder for name, folder in folders.items() if folder is not None}
    return Admission(keys, served, serving.auth, private=private, local=local)


class Served(Struct):
    """What a server serves, and to whom.

    Attributes:
        workspaces: Workspaces by name; addresses without a name mean the first. The caller closes them,
            and the state too.
        serving: Names, rates, and limits of concurrency.
        admission: Rules of admission, made by `admitted`.
        contract_name: The contract whose tools MCP serves.
        reply_chars: Cap on a reply's text over MCP; None for the known cap of each client.
        named: Whether clients send a Host header to check; not so on a Unix socket.
        state: State that is shared with other processes of this server and outlives it; None without one.
        workers: The number of processes.
        audit: An audit, shown on the dashboard with the ledger.
        pages_only: Whether only the dashboard is served.
        counted: The folder where all processes count for Prometheus; None for one process.
    """

    workspaces: Mapping[str, Workspace]
    serving: Serving
    admission: Admission
    contract_name: str
    reply_chars: int | None
    named: bool = True
    state: SharedState | None = None
    workers: int = 1
    audit: Audit | None = None
    pages_only: bool = False
    counted: str | None = None

    @property
    def shared(self) -> SharedState | None:
        """The state, if this server has other processes."""
        return self.state if self.state is not None and self.state.several else None


SERVE_ACCEPT = 16
"""Connections accepted before any is read: in a flood, a new one must be read before it is the oldest."""

SERVE_GARBAGE = 10_000
"""Objects more than before after which a server looks for rings among them; Python's 700 are those of a dozen
requests that are being answered, of which nothing is garbage."""


def serve_http(
    served: Served, bound: socket.socket, *, on_ready: Callable[[], None], lifeline: int | None = None
) -> None:
    """Serve clients until SIGINT, SIGTERM or SIGHUP. Raises BadTokenStore.

    Args:
        served: What to serve.
        bound: A listening socket.
        on_ready: Called once clients can connect.
        lifeline: A descriptor; the server also ends at its EOF.
    """
    serving, shared, admission = served.serving, served.shared, served.admission
    to_stderr(access=LOG if serving.access_log else None)
    _take_descriptors()
    loopback = admission.private or admission.local
    workspaces = Workspaces(served.workspaces, serving.default or next(iter(served.workspaces)))
    refusals = Refusals(workspaces, processes=served.workers)
    metrics = Metrics(served.counted)
    on_open = None if served.counted is None else metrics.open.set
    calls = Calls(threads=serving.threads, queue=serving.queue, on_open=on_open)
    if on_open is None:  # no other process counts: the gauge is computed on request
        metrics.open.set_function(lambda: calls.open)
    ask = QueryThreads()
    rates = _rates(serving, shared, ask)
    visits = None if shared is None else shared.visits
    sign_in = SignIn(admission, rates, visits, ask if shared is not None and shared.remote else here)
    pages = LazyDashboard(sign_in, served.audit, tuple(served.workspaces.values()))
    app: ASGIApp = PagesOnly(pages)
    if not served.pages_only:
        app = inside(
            calls,
            workspaces,
            metrics,
            Readiness(needs(shared, served.workspaces), ask),
            pages,
            contract_name=served.contract_name,
            reply_chars=served.reply_chars,
            state=shared,
            records=served.state,
            ask=ask,
            public_url=serving.public_url,
            open_to_all=serving.auth == "open",
        )
    gate = Gate(
        app,
        workspaces=workspaces,
        sign_in=sign_in,
        hosts=Hosts(_hosts(serving), serving.origins, loopback=loopback, named=served.named),
        rates=rates,
        metrics=metrics,
        refusals=refusals,
        public=() if served.pages_only or serving.public_url is None else PUBLIC,
    )
    threshold = gc.get_threshold()
    try:
        # Each of several processes accepts one connection at a time, so that all get some.
        config = _config(gate, SERVE_ACCEPT if served.workers == 1 else 1)
        # Imported objects stay: scanning them for garbage again and again costs requests 1/40 of their time.
        gc.freeze()
        gc.set_threshold(SERVE_GARBAGE, *threshold[1:])
        # Not uvicorn's `run`: it may choose another event loop, and the code below needs asyncio's.
        asyncio.run(_Web(config, gate, calls, on_ready, lifeline, shared).serve([bound]))
    finally:
        gc.set_threshold(*threshold)  # a program that serves for a while has its own
        calls.close()
        pages.close()
        refusals.close()
        ask.close()
        workspaces.close()


def _hosts(serving: Serving) -> Sequence[str]:
    """The names that clients may use: those that the operator has listed, and that of the public address."""
    public = () if serving.public_url is None else (host_of(serving.public_url).lower(),)
    return (*serving.hosts, *public)


SERVE_DESCRIPTORS = 4096
"""Files and connections that a process of a server may have open, where the system lets it choose: some give
it 256 to begin with."""


def _take_descriptors() -> None:
    """Raise the limit of open files for all connections, as far as a process may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = SERVE_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(SERVE_DESCRIPTORS, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):  # macOS has a limit of its own
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _rates(serving: Serving, shared: SharedState | None, ask: Ask) -> Rates:
    if shared is None:
        return OwnRates(token=serving.rate, address=serving.address_rate)
    return SharedRates(shared.windows, ask, token=serving.rate, address=serving.address_rate)


SERVE_BACKLOG = 1024
"""Connections that wait in the kernel to be accepted."""

STATE_SWEEP_S = 600.0
"""Interval between cleanups of expired or excess data; a cleanup takes milliseconds."""


class _Web(uvicorn.Server):
    """uvicorn that reports when it is ready, lets calls finish before it ends, and ends quietly."""

    def __init__(
        self,
        config: uvicorn.Config,
        gate: Gate,
        calls: Calls,
        on_started: Callable[[], None],
        lifeline: int | None,
        shared: SharedState | None,
    ) -> None:
        super().__init__(config)
        self._lifeline = lifeline
        self._shared = shared
        self._sweeping: asyncio.Task[None] | None = None
        self._gate = gate
        self._calls = calls
        self._on_started = on_started
        self._hurried = False
        """Whether the user pressed Ctrl+C: nothing is waited for."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        if signal.getsignal(signal.SIGHUP) == signal.SIG_DFL:  # the terminal was closed; not under `nohup`
            signal.signal(signal.SIGHUP, self.handle_exit)
        await super().startup(sockets)
        for socket_ in sockets or ():
            # asyncio accepts as many at once as the backlog holds, and has one number for both.
            socket_.listen(SERVE_BACKLOG)
        if self._shared is not None:
            self._sweeping = asyncio.create_task(self._sweep(self._shared))
        if self._lifeline is not None:
            asyncio.get_running_loop().add_reader(self._lifeline, self._left_alone)
        if self.started:
            self._on_started()

    async def _sweep(self, shared: SharedState) -> None:
        """Delete expired and surplus state, now and then."""
        while True:
            await asyncio.sleep(STATE_SWEEP_S)
            with suppress(StateFailed):
                await asyncio.to_thread(shared.sweep)

    def _left_alone(self) -> None:
        """The parent process is gone, so no other could end this one."""
        assert self._lifeline is not None
        asyncio.get_running_loop().remove_reader(self._lifeline)
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._gate.closing = True
        for server in self.servers:
            server.close()
        ends = time.monotonic() + SERVE_EXIT_S
        while self._calls.open and not self._hurried and not self.force_exit and time.monotonic() < ends:
            await asyncio.sleep(_POLL_S)
        self._calls.stop()
        if self._sweeping is not None:
            self._sweeping.cancel()
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # Without remembering the signal: uvicorn would raise it again at the end, like a crash.
        self._hurried = sig == signal.SIGINT
        self.force_exit = self.should_exit and self._hurried
        self.should_exit = True


def _config(app: ASGIApp, accept: int) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="error",  # it logs malformed input, with which anyone could fill a disk
        timeout_keep_alive=_NEVER_S,  # `Protocol` has the timeouts of connections
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=MCP_EXIT_S,
        backlog=accept,
    )
