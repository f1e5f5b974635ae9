"""One address: its endpoint, what it says of failures, and the body of its requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive

from readroom.errors import BadRequest, Internal, ReadroomError, WrongMediaType
from readroom.faces.calls import Failed, Waiter
from readroom.faces.http.exchange import Exchange
from readroom.faces.http.gate import EXCHANGE
from readroom.faces.http.replies import refused

Endpoint = Callable[[Request], Awaitable[Response]]


def route(path: str, method: str, endpoint: Endpoint) -> Route:
    """The address; what the endpoint raises becomes its answer."""

    async def answer(request: Request) -> Response:
        exchange: Exchange = request.scope[EXCHANGE]
        exchange.route = path
        try:
            return await endpoint(request)
        except ReadroomError as error:
            # What the gate has said already stands: it ended the body that could not be read.
            exchange.code = exchange.code or error.code
            return refused(error)
        except Failed:
            exchange.code = Internal.code
            return refused(Internal("Failed"))

    found = Route(path, answer, methods=[method])
    found.methods = {method}  # without the HEAD that Starlette adds
    return found


async def leaving(receive: Receive, waiter: Waiter) -> None:
    """End the work for a client that goes away before its answer: nobody else looks for that."""
    while (await receive())["type"] != "http.disconnect":
        pass
    waiter.leave()


async def json_body(request: Request) -> object:
    """The JSON value of a request. What has no body, or another type, is told what to send."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise WrongMediaType(kind)
    return as_json(await whole_body(request))


async def whole_body(request: Request) -> bytes:
    """The body of a request. Raises BadRequest when the client goes away before its end."""
    try:
        return await request.body()
    except ClientDisconnect:
        raise BadRequest("its body ended early", "Send it again.") from None


def as_json(data: bytes) -> object:
    """The JSON value of a body. Raises BadRequest."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRequest(f"its body is not JSON ({error})", "Send one JSON object.") from None
    except RecursionError:
        raise BadRequest("its body is nested too deeply", "Send one JSON object.") from None
