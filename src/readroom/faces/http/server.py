"""The HTTP workspace agent as a server: uvicorn on an address or a Unix socket.

Loopback unless the operator says otherwise, and nothing but loopback without tokens made for others.
Asked to end, it takes no more requests, lets running calls finish for a while, and
cancels what is left.  Nothing is written to standard output.
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

from readroom.config.serve import Serving
from readroom.errors import BadValue, StateFailed
from readroom.faces.calls import Calls
from readroom.faces.http.access_log import LOG, Metrics
from readroom.faces.http.app import LazyDashboard, PagesOnly, inside
from readroom.faces.http.asking import Ask, Asking, here
from readroom.faces.http.gate import Gate
from readroom.faces.http.hosts import Hosts
from readroom.faces.http.protocol import Protocol
from readroom.faces.http.rate_limit import OwnRates, Rates, SharedRates
from readroom.faces.http.refusal_log import Refusals
from readroom.faces.http.visitors import SignIn
from readroom.faces.http.workspaces import Workspaces
from readroom.faces.mcp import stdio
from readroom.lens.normal_form import Finding
from readroom.limits import MCP_EXIT_S, SERVE_ACCEPT, SERVE_BACKLOG, SERVE_EXIT_S
from readroom.limits.session import SERVE_DESCRIPTORS, SERVE_GARBAGE, STATE_SWEEP_S
from readroom.session.admission import Admission, Keys
from readroom.session.shared.state import SharedState
from readroom.session.tokens import MadeTokens
from readroom.workspace import Workspace

# -----------------------------------------------------------------------------
# Where a server listens: bound before anything else is started, so that a bad address fails at once.
# -----------------------------------------------------------------------------

_OTHERS = "Make one with `readroom token create`, or use 127.0.0.1 and a tunnel (ssh -L)."


def is_loopback(host: str) -> bool:
    """Whether only this machine can connect. Raises BadValue for what is not an address."""
    return _address(host).is_loopback


def is_everywhere(host: str) -> bool:
    """Whether it stands for every address of this machine. Raises BadValue for what is not an address."""
    return _address(host).is_unspecified


def require_tokens(host: str, tokens: MadeTokens | None) -> None:
    """Raises BadValue when other machines could come in without a token that was made for them."""
    if tokens is None or not tokens.any_valid():
        raise BadValue("host", host, "is open to other machines, and there is no token that works", _OTHERS)


@contextmanager
def listening(host: str, port: int, path: str | None) -> Iterator[tuple[socket.socket, str]]:
    """A socket that listens, and the URL of what is behind it; the file of a Unix socket goes with it.

    A socket on every address of this machine has the URL that works on this machine.

    Raises:
        BadValue: The address, port or path cannot be used.
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
    # With the protocol in numbers: only then does asyncio set TCP_NODELAY on connections, without which every
    # answer after a connection's first waits 40 ms for an acknowledgement.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        # A server that has just ended leaves its port in TIME_WAIT; this does not let two listen at once.
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((str(address), port))
        # Only this tells whether another program listens there: with the option above two may bind.
        bound.listen()
    except OSError as error:
        bound.close()
        raise _unusable(host, port, error) from None
    except OverflowError:
        bound.close()
        raise BadValue(
            "port", port, "is not a valid port", "Ports are 0 to 65535; 0 takes a free one."
        ) from None
    return bound


@contextmanager
def _unix(path: str) -> Iterator[socket.socket]:
    """A socket that only this user can connect to."""
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with closing(bound):
        try:
            _clear(path)
            before = os.umask(0o177)  # the mode has to be right from the first moment
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
    """Remove what a server left that was killed; nothing else, and not the socket of one that runs."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(status.st_mode):
        raise BadValue("socket", path, "is a file and no socket", "Choose a path where there is nothing.")
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
"""Between two looks whether the running calls have finished, while the server ends."""


class Address(Struct, frozen=True):
    """Where to listen: a Unix socket, or a host and a port, of which 0 is a free one."""

    host: str = "127.0.0.1"
    port: int = 0
    socket: str | None = None


def admitted(
    workspaces: Mapping[str, Workspace], where: Address, serving: Serving, keys: Keys | None
) -> Admission:
    """Who may come in at an address.

    Raises:
        BadValue: It is not an address, or other machines could come in without a token.
        BadTokenStore: The file of tokens cannot be read.
    """
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
        workspaces: By name; the first is the one of addresses without a name. Closing them stays with
            who has opened them, as with the state.
        serving: Names, rates, and how much at once.
        admission: Who may come in; made by `admitted`.
        contract_name: Whose tools MCP serves.
        reply_chars: Cap on a reply's text over MCP, None for what each client is known to pass on.
        named: Clients say which host they mean; those of a Unix socket do not.
        state: What other processes of this server know, and what outlives it; None without any.
        workers: How many processes this server has.
        findings: Of an audit, shown on the dashboard beside the ledger.
        pages_only: The dashboard and nothing else.
        counted: The folder in which all its processes count for Prometheus; None where there is one.
    """

    workspaces: Mapping[str, Workspace]
    serving: Serving
    admission: Admission
    contract_name: str
    reply_chars: int | None
    named: bool = True
    state: SharedState | None = None
    workers: int = 1
    findings: Sequence[Finding] | None = None
    pages_only: bool = False
    counted: str | None = None

    @property
    def shared(self) -> SharedState | None:
        """The state where other processes are this server, too."""
        return self.state if self.state is not None and self.state.several else None


def serve_http(
    served: Served, bound: socket.socket, *, on_ready: Callable[[], None], lifeline: int | None = None
) -> None:
    """Serve any number of clients until SIGINT, SIGTERM or SIGHUP comes.

    Args:
        served: What is served.
        bound: A socket that listens.
        on_ready: Called as soon as clients can connect.
        lifeline: A descriptor at the end of which this ends, too.

    Raises:
        BadTokenStore: The tokens cannot be read.
    """
    serving, shared, admission = served.serving, served.shared, served.admission
    stdio.to_stderr(access=LOG if serving.access_log else None)
    _take_descriptors()
    loopback = admission.private or admission.local
    workspaces = Workspaces(served.workspaces, serving.default or next(iter(served.workspaces)))
    refusals = Refusals(workspaces, processes=served.workers)
    metrics = Metrics(served.counted)
    on_open = None if served.counted is None else metrics.open.set
    calls = Calls(threads=serving.threads, queue=serving.queue, grouped=True, on_open=on_open)
    if on_open is None:  # nobody else counts: it is looked up when it is asked for
        metrics.open.set_function(lambda: calls.open)
    ask = Asking()
    rates = _rates(serving, shared, ask)
    visits = None if shared is None else shared.visits
    sign_in = SignIn(admission, rates, visits, ask if shared is not None and shared.remote else here)
    pages = LazyDashboard(sign_in, served.findings, tuple(served.workspaces.values()))
    app: ASGIApp = PagesOnly(pages)
    if not served.pages_only:
        app = inside(
            calls,
            workspaces,
            metrics,
            pages,
            contract_name=served.contract_name,
            reply_chars=served.reply_chars,
            state=shared,
            ask=ask,
        )
    gate = Gate(
        app,
        workspaces=workspaces,
        sign_in=sign_in,
        hosts=Hosts(serving.hosts, serving.origins, loopback=loopback, named=served.named),
        rates=rates,
        metrics=metrics,
        refusals=refusals,
    )
    try:
        # Of several processes each takes what comes one by one, so that all get some.
        config = _config(gate, SERVE_ACCEPT if served.workers == 1 else 1)
        # What was imported stays: to look for garbage in it again and again costs each request a fortieth.
        gc.freeze()
        gc.set_threshold(SERVE_GARBAGE)
        # Not `run`: it may take another event loop, and what is below knows asyncio's.
        asyncio.run(_Web(config, gate, calls, on_ready, lifeline, shared).serve([bound]))
    finally:
        calls.close()
        pages.close()
        refusals.close()
        ask.close()
        workspaces.close()


def _take_descriptors() -> None:
    """Have room for all connections, as far as the system lets a process say so itself."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = SERVE_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(SERVE_DESCRIPTORS, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):  # macOS has a bound of its own
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _rates(serving: Serving, shared: SharedState | None, ask: Ask) -> Rates:
    if shared is None:
        return OwnRates(token=serving.rate, address=serving.address_rate)
    return SharedRates(shared.windows, ask, token=serving.rate, address=serving.address_rate)


class _Web(uvicorn.Server):
    """uvicorn that says when it is ready, lets calls finish when it has to end, and ends quietly."""

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
        """The user at the keyboard wants it to end: nothing is waited for."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        if signal.getsignal(signal.SIGHUP) == signal.SIG_DFL:  # a terminal that is closed; not under `nohup`
            signal.signal(signal.SIGHUP, self.handle_exit)
        await super().startup(sockets)
        for socket_ in sockets or ():
            # asyncio takes as many at once as may wait, and both are one number there.
            socket_.listen(SERVE_BACKLOG)
        if self._shared is not None:
            self._sweeping = asyncio.create_task(self._sweep(self._shared))
        if self._lifeline is not None:
            asyncio.get_running_loop().add_reader(self._lifeline, self._left_alone)
        if self.started:
            self._on_started()

    async def _sweep(self, shared: SharedState) -> None:
        """Forget what is too old or too much, now and then."""
        while True:
            await asyncio.sleep(STATE_SWEEP_S)
            with suppress(StateFailed):
                await asyncio.to_thread(shared.sweep)

    def _left_alone(self) -> None:
        """The process that started this one is gone, and no other could end it."""
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
        log_level="error",  # it warns of what clients send, which anybody could fill a disk with
        timeout_keep_alive=_NEVER_S,  # the time of a connection is that of `Protocol`
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=MCP_EXIT_S,
        backlog=accept,
    )
