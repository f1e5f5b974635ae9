"""The thread that looks at what a client over a pipe hears of; there is none while it listens to nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import final

from readroom.core.log import log
from readroom.mcp.protocol.connection import Connection, ToolCall
from readroom.mcp.protocol.messages import Answer
from readroom.mcp.subscriptions import MCP_LISTENING, MCP_POLL_S, Listening, Watch


@final
class Poller:
    """The subscriptions of one connection. Safe to share between threads."""

    def __init__(
        self, connection: Connection, tell: Callable[[bytes], object], every_s: float = MCP_POLL_S
    ) -> None:
        """`tell` sends a message to the client, from any thread."""
        self._connection = connection
        self._tell = tell
        self._every_s = every_s
        self._listening: dict[ToolCall, Listening] = {}
        self._watch: Watch | None = None
        self._turn = threading.Condition()
        self._thread: threading.Thread | None = None

    def listen(self, listening: Listening) -> bool:
        """Begin a subscription; False if there are too many, or if it was ended meanwhile."""
        with self._turn:
            if len(self._listening) >= MCP_LISTENING or listening.call.cancelled:
                return False
            self._tell(listening.first)
            self._listening[listening.call] = listening
            self._start()
        return True

    def follow(self, watch: Watch) -> None:
        """Tell of what the connection is subscribed to."""
        with self._turn:
            self._watch = self._watch or watch
            self._start()

    def end(self, call: ToolCall) -> bool:
        """End the subscription that a call has opened; False if there is none."""
        with self._turn:
            return self._listening.pop(call, None) is not None

    def close(self) -> list[Answer]:
        """End all of them; the answers to the calls that opened them."""
        with self._turn:
            calls, self._watch = list(self._listening), None
            self._listening.clear()
            self._connection.subscribed.clear()
            self._turn.notify_all()
        ended = (self._connection.over(call) for call in calls)
        return [answer for answer in ended if answer is not None]

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="readroom-subscriptions", daemon=True)
            self._thread.start()

    @property
    def _is_over(self) -> bool:
        return not self._listening and not self._connection.subscribed

    def _run(self) -> None:
        with self._turn:
            while not self._is_over:
                try:
                    self._look()
                except Exception:
                    log().exception("a look at the resources of subscriptions failed")
                self._turn.wait(self._every_s)
            self._thread = None

    def _look(self) -> None:
        for listening in self._listening.values():
            for message in listening.messages():
                self._tell(message)
        if self._watch is not None:
            self._watch.follow(dict(self._connection.subscribed))
            for uri in self._watch.changed():
                self._tell(self._connection.updated(uri))
