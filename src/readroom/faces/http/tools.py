"""POST /v1/CONTRACT/TOOL: the arguments in, the tool result out.

The address that is asked most by far, so it goes without Starlette's routing, and its
answer leaves the thread of the call as the bytes that are sent.
"""

from __future__ import annotations

import re
from typing import Any, final

from msgspec import Struct
from starlette.types import Receive, Scope, Send

from readroom.contracts import NAMES
from readroom.contracts.base import FACTS_KEY, tool_result
from readroom.errors import NoSuchRoute, ReadroomError, WrongMediaType
from readroom.faces.calls import Calls, Failed
from readroom.faces.http.access_log import Exchange
from readroom.faces.http.errors import JSON, as_body, headers_of, status_of_code
from readroom.faces.http.gate import CLIENT_SCOPE, EXCHANGE, within
from readroom.faces.http.routes import as_json, failed, whole_body
from readroom.values import Reply

PATH = "/v1/{contract}/{tool}"

_ADDRESS = re.compile(r"/v1/([^/]+)/([^/]+)")


class _Answer(Struct, frozen=True):
    """What is sent for a reply; `code` is that of an error."""

    status: int
    body: bytes
    code: str = ""


@final
class Tools:
    """An ASGI application, behind the gate."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def serves(self, scope: Scope) -> bool:
        """Whether a request is one of these."""
        return scope["method"] == "POST" and _ADDRESS.fullmatch(scope["path"]) is not None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Call the tool of the address."""
        exchange: Exchange = scope[EXCHANGE]
        exchange.route = PATH
        try:
            answer = await self._answer(scope, receive, exchange)
        except (ReadroomError, Failed) as error:
            await failed(exchange, error)(scope, receive, send)
            return
        exchange.code = answer.code
        headers = headers_of(answer.status, answer.body)
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": answer.body})

    async def _answer(self, scope: Scope, receive: Receive, exchange: Exchange) -> _Answer:
        match = _ADDRESS.fullmatch(scope["path"])
        if match is None or match[1] not in NAMES:
            raise NoSuchRoute
        name, tool = match.groups()
        access = within(scope, name)
        access.workspace.contract(name).tool(tool)
        exchange.contract, exchange.tool = name, tool
        kind = next((value for header, value in scope["headers"] if header == b"content-type"), b"")
        media_type = kind.decode("latin-1").partition(";")[0].strip().lower()
        if media_type != JSON:
            raise WrongMediaType(media_type)
        arguments = as_json(await whole_body(receive))
        exchange.reached = True
        return await self._calls.run_with(access, tool, arguments, _sealed, client_scope=scope[CLIENT_SCOPE])


def _sealed(reply: Reply) -> _Answer:
    result = tool_result(reply)
    if not result.get("isError"):
        return _Answer(200, as_body(result))
    meta: Any = result["_meta"]
    error: Any = meta[FACTS_KEY]["error"]
    # One shape for every error, whoever made it; the model's words stay beside it.
    return _Answer(status_of_code(error["code"]), as_body({**result, "error": error}), error["code"])
