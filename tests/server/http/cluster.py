"""Servers of several processes: behind one port, or on two ports with one PostgreSQL."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

import psycopg
import pytest

from tests.server.http.serving import Agent, agent
from tests.server.ledger.postgres import Server, programs, running
from tests.suites import whole

PROCESSES = (1, pytest.param(2, marks=whole))
"""Of a server, in tests of what does not depend on how many there are."""

TURNS = 8
"""Requests that some of which come to another process than the first: all but one time in 128."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """One server, wherever it is asked."""

    agents: Sequence[Agent]
    options: Sequence[str]

    def turns(self, count: int = TURNS) -> Iterator[Agent]:
        """Where to ask, one after the other."""
        return islice(cycle(self.agents), count)

    def make_token(self, name: str, *options: str) -> str:
        return self.agents[0].make_token(name, *self.options, *options)


@contextmanager
def database() -> Iterator[Server]:
    """A PostgreSQL that is empty."""
    programs_ = programs()
    assert programs_ is not None, "PostgreSQL is required here: see .ci/run"
    # Not pytest's folder: the server's user cannot reach what lies below root's.
    with tempfile.TemporaryDirectory(prefix="readroom-pg-") as folder:
        with running(programs_, Path(folder)) as found:
            yield found


def emptied(server: Server) -> str:
    """The address of a database without tables."""
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
    return server.url


@contextmanager
def cluster(
    state: Path, root: Path, url: str | None, settings: str = "", *options: str, required: bool = False
) -> Iterator[Cluster]:
    """One server: two processes behind a port or, with a database, two servers with states of their own."""
    state.mkdir(exist_ok=True)
    config = state / "operator.toml"
    kept = "" if url is None else f'state = "{url}"\n'
    ledger = "" if url is None else f'[ledger]\nurl = "{url}"\nrequired = {str(required).lower()}\n'
    config.write_text(f"[serve]\n{kept}{settings}\n{ledger}", encoding="utf-8")
    given = ("--config", str(config))
    with ExitStack() as stack:
        if url is None:
            agents = [stack.enter_context(agent(state, "--workers", "2", *given, *options, str(root)))]
        else:
            each = [state / name for name in ("one", "two")]
            agents = [stack.enter_context(agent(one, *given, *options, str(root))) for one in each]
        yield Cluster(agents, given)


def workers(found: Agent) -> list[int]:
    """The processes of a server."""
    children = Path(f"/proc/{found.process.pid}/task/{found.process.pid}/children")
    return [int(one) for one in children.read_text(encoding="ascii").split()]


def wait_for(count: int, found: Agent, but: Sequence[int] = ()) -> list[int]:
    """So many processes, and none of those that have died."""
    ends = time.monotonic() + 60
    while time.monotonic() < ends:
        now = workers(found)
        if len(now) == count and not set(now) & set(but):
            return now
        found.request("GET", "/healthz")
    raise AssertionError(f"there are {workers(found)}")
