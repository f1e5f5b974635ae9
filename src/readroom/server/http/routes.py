"""Routes: an endpoint with answers for its errors, and the bodies of requests."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Awaitable, Callable, Sequence

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive

from readroom.core.errors import BadRequest, Internal, ReadroomError
from readroom.mcp.calls import Failed
from readroom.server.http.access_log import Exchange
from readroom.server.http.errors import refused
from readroom.server.http.gate import AGENT_PATH, EXCHANGE

SHOWN: Sequence[str] = ("GET", "HEAD")
"""The methods of what is only shown."""

Endpoint = Callable[[Request], Awaitable[Response]]


def route(path: str, methods: Sequence[str], endpoint: Endpoint) -> Route:
    """A route; errors that the endpoint raises become answers.

    The server sends only the head of an answer to HEAD.
    """

    async def answer(request: Request) -> Response:
        exchange: Exchange = request.scope[EXCHANGE]
        exchange.route = path
        try:
            return await endpoint(request)
        except (ReadroomError, Failed) as error:
            return failed(exchange, error)

    made_route = Route(path, answer, methods=methods)
    made_route.methods = set(methods)  # without Starlette's implicit HEAD
    return made_route


def failed(exchange: Exchange, error: ReadroomError | Failed) -> Response:
    """The answer to a request that failed outside a call."""
    failure = Internal("Failed") if isinstance(error, Failed) else error
    # A code of the gate stands: it ended the body that could not be read.
    exchange.code = exchange.code or failure.code
    return refused(failure, agent=exchange.route.startswith(AGENT_PATH))


async def whole_body(receive: Receive) -> bytes:
    """The body of a request. Raises BadRequest if the client disconnects before its end."""
    parts = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise BadRequest("its body ended early", "Send it again.")
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


def as_json(data: bytes) -> object:
    """The JSON value of a body. Raises BadRequest."""
    try:
        return msgspec.json.decode(data.removeprefix(BOM_UTF8))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRequest(f"its body is not JSON ({error})", "Send one JSON object.") from None
    except RecursionError:
        raise BadRequest("its body is nested too deeply", "Send one JSON object.") from None
