"""The agent as a process, as its operator starts it, and requests to it byte for byte."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from readroom.server.tokens import Tokens

END_S = 60


@dataclass(frozen=True, slots=True)
class Answer:
    """A status, headers by their names in small letters, and a body."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """Of the error that it is."""
        found = self.json["error"]["code"]
        assert isinstance(found, str)
        return found


@dataclass(frozen=True, slots=True)
class Agent:
    """A running agent."""

    process: subprocess.Popen[bytes]
    host: str
    port: int
    state: Path

    def connect(self) -> HTTPConnection:
        return HTTPConnection(self.host, self.port, timeout=END_S)

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """One request on a connection of its own."""
        sent = dict(headers or {})
        if token is not None:
            sent["Authorization"] = f"Bearer {token}"
        with closing(self.connect()) as connection:
            connection.request(method, path, body, sent)
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, found, response.read())

    def call(self, tool: str, arguments: object, *, token: str | None = None, at: str = "") -> Answer:
        """One tool call of the native contract."""
        data = json.dumps(arguments).encode()
        headers = {"Content-Type": "application/json"}
        return self.request("POST", f"{at}/v1/native/{tool}", data, token=token, headers=headers)

    def make_token(self, name: str, *options: str) -> str:
        """As its operator makes it; one that is good for everything without starting a program."""
        if options:
            return command(self.state, "token", "create", name, *options).strip()
        with closing(Tokens(str(self.state / "readroom" / "tokens.db"))) as tokens:
            return tokens.create(name)[1]


def command(state: Path, *arguments: str) -> str:
    """What a command of readroom prints."""
    done = subprocess.run(
        [sys.executable, "-m", "readroom", *arguments],
        env={**os.environ, "XDG_STATE_HOME": str(state)},
        capture_output=True,
        timeout=END_S,
    )
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    return done.stdout.decode()


def open_agent(state: Path, *options: str) -> AbstractContextManager[Agent]:
    """An agent that asks for no token."""
    return agent(state, "--open", *options)


@contextmanager
def agent(state: Path, *options: str, program: Sequence[str] = ("-m", "readroom")) -> Iterator[Agent]:
    """`readroom serve` with these options, on a free port."""
    environment = {**os.environ, "XDG_STATE_HOME": str(state)}
    line = [sys.executable, *program, "serve", "--port", "0", *options]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        try:
            parts = urlsplit(_url(process))
            yield Agent(process, parts.hostname or "", parts.port or 0, state)
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=END_S)


def _url(process: subprocess.Popen[bytes]) -> str:
    """The address that it prints; the rest of its text is left in the pipe, which holds it."""
    assert process.stdout is not None
    for line in process.stdout:
        words = line.decode().split()
        if words[:1] == ["URL"]:
            return words[1]
    assert process.stderr is not None
    raise AssertionError(process.stderr.read().decode())
