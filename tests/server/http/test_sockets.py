"""What a server listens on."""

from __future__ import annotations

import socket
from contextlib import closing

import pytest

from readroom.server.http.server import listening


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_answers_do_not_wait_for_acknowledgements(host: str) -> None:
    """asyncio sets TCP_NODELAY where the protocol says TCP, and an answer waits 40 ms otherwise."""
    with listening(host, 0, None) as (bound, _):
        with closing(socket.create_connection(bound.getsockname()[:2])), closing(bound.accept()[0]) as taken:
            assert taken.proto == socket.IPPROTO_TCP
