"""A transport that sends at once what is written at once: the head of an answer and its body.

A server writes them one after the other.  Each write is a call of the system, after which the
event loop waits for the interpreter's lock while threads work; so what is written within one turn
of the loop is sent as one, and a small answer takes one packet.
"""

from __future__ import annotations

import asyncio
from typing import Any, final

from readroom.limits.session import SERVE_JOINED_BYTES


@final
class JoinedWrites(asyncio.Transport):
    """Another transport with its writes joined; reading and closing are its own."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._transport = transport
        self._loop = loop
        self._waiting: list[bytes | bytearray | memoryview[Any]] = []
        self._size = 0

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        """Send it, in this turn of the loop or after it."""
        if not self._waiting:
            self._loop.call_soon(self._send)
        self._waiting.append(data)
        self._size += len(data)
        if self._size > SERVE_JOINED_BYTES:
            self._send()

    def _send(self) -> None:
        waiting, self._waiting, self._size = self._waiting, [], 0
        if waiting and not self._transport.is_closing():
            self._transport.write(waiting[0] if len(waiting) == 1 else b"".join(waiting))

    def close(self) -> None:
        """Send what waits, and end."""
        self._send()
        self._transport.close()

    def abort(self) -> None:
        """End at once."""
        self._waiting = []
        self._transport.abort()

    def is_closing(self) -> bool:
        """Whether it has ended, or is about to."""
        return self._transport.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """What is known of the connection."""
        return self._transport.get_extra_info(name, default)

    def get_write_buffer_size(self) -> int:
        """What was written and is not sent."""
        return self._size + self._transport.get_write_buffer_size()

    def pause_reading(self) -> None:
        """Let the client wait."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Read on."""
        self._transport.resume_reading()
