"""`readroom serve` after parsing: one process, or several under a supervisor.

Each process opens everything that it serves with. A supervisor opens it first, to report problems and to
print how clients connect, and closes it before it starts the processes.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, final

import msgspec

from readroom.cli import output
from readroom.cli.roots import roots_of
from readroom.core import config
from readroom.core.errors import StateFailed
from readroom.core.stores.bucket.address import absolute
from readroom.server.admission import Auth, Keys
from readroom.server.http.gate import MCP_PATH
from readroom.server.http.server import Address, Served, admitted, listening, serve_http
from readroom.server.settings import folder_tokens, shared_state
from readroom.server.shared.state import SharedState
from readroom.server.tokens import Tokens

if TYPE_CHECKING:
    from readroom.cli.answers import Where
    from readroom.core.contracts.base import Contract
    from readroom.server.settings import Serving

Text: TypeAlias = Callable[[Served, str], str]
"""Printed when clients can connect, with the address for MCP."""


@final
class Service:
    """The workspaces to serve, how, and by how many processes."""

    def __init__(
        self,
        places: Mapping[str, Where],
        where: Address,
        serving: Serving,
        contract_name: str,
        reply_chars: int | None,
    ) -> None:
        """`places` are by the names of their workspaces, the default one first."""
        self._places = places
        self._where = where
        self._serving = serving
        self._contract = contract_name
        self._reply_chars = reply_chars
        auto = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self._workers = auto if serving.workers == "auto" else serving.workers
        self._several = self._workers > 1 or serving.state is not None

    def run(self, text: Text) -> None:
        """Serve until SIGINT or SIGTERM arrives. Raises any failure to open it."""
        with listening(self._where.host, self._where.port, self._where.socket) as (bound, url):
            address = url + MCP_PATH
            with self._opened() as served:
                shown = text(served, address)
                first = next(iter(served.workspaces.values()))
                say = partial(_say, shown, first.contract(self._contract))
                if self._workers == 1:
                    serve_http(served, bound, on_ready=say)
                    return
                folders = [workspace.guard.folder for workspace in served.workspaces.values()]
            self._supervise(bound, say)
            self._forget_outputs([folder for folder in folders if folder is not None])

    def _supervise(self, bound: socket.socket, on_ready: Callable[[], None]) -> None:
        from readroom.mcp.log_lines import to_stderr
        from readroom.server.http.access_log import counted_together, counts_no_more
        from readroom.server.http.supervisor import Supervisor

        supervisor = os.getpid()

        def work(ready: Callable[[], None], lifeline: int) -> int:
            try:
                with self._opened(folder) as served:
                    serve_http(served, bound, on_ready=ready, lifeline=lifeline)
            finally:
                if os.getppid() != supervisor:  # it was killed, and cannot clear up
                    shutil.rmtree(folder, ignore_errors=True)
            return 0

        to_stderr()
        with counted_together() as folder:
            Supervisor(self._workers, work, on_ready, partial(counts_no_more, folder)).run()

    @contextmanager
    def _opened(self, counted: str | None = None) -> Iterator[Served]:
        """All of it, for this process; `counted` is where all processes count."""
        serving = self._serving
        with ExitStack() as opened:
            state = opened.enter_context(self._state()) if self._has_state() else None
            workspaces = {
                name: opened.enter_context(where.open(state)) for name, where in self._places.items()
            }
            keys = keys_of(opened, serving.auth, state, private=self._where.socket is not None)
            yield Served(
                workspaces, serving, admitted(workspaces, self._where, serving, keys), self._contract,
                self._reply_chars, named=self._where.socket is None, state=state, workers=self._workers,
                counted=counted,
            )  # fmt: skip

    def _has_state(self) -> bool:
        # Without several processes it is for budgets alone, and opened when one is counted.
        return self._several or config.has_state()

    @contextmanager
    def _state(self) -> Iterator[SharedState]:
        policy = shared_state(self._serving.state)
        with closing(SharedState(policy, self._server(), several=self._several)) as state:
            if self._several:
                # Problems are reported at the start, and not to every client.
                state.release()
                state.sweep()
            yield state

    def _server(self) -> str:
        """The identity of a server, the same for all its processes: the served workspaces."""
        roots = {
            name: "\n".join((absolute(where.root or "."), *roots_of(where.root)[1:]))
            for name, where in self._places.items()
        }
        served = msgspec.json.encode(
            [self._contract, sorted(os.fsencode(f"{name}\n{root}") for name, root in roots.items())]
        )
        return hashlib.sha256(served).hexdigest()[:16]

    def _forget_outputs(self, folders: Sequence[str]) -> None:
        """Delete the kept outputs of a server that ends; a database may keep those of others."""
        if self._serving.state is None:
            with suppress(StateFailed), self._state() as state:
                for folder in folders:
                    state.outputs(folder).clear()


def keys_of(opened: ExitStack, auth: Auth, state: SharedState | None, *, private: bool) -> Keys | None:
    """The token stores; a server that needs no tokens works without one."""
    if not config.has_state() and (auth == "open" or (auth == "auto" and private)):
        return None
    if state is not None and state.remote:
        return Keys(state.tokens, folder_tokens(), remote=True)
    return Keys(opened.enter_context(closing(Tokens(config.token_file()))), folder_tokens())


def _say(text: str, record: Contract) -> None:
    output.write(text.encode())
    output.notify(record)
