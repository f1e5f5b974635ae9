"""coder: its addresses are asked as over HTTP, in this process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import httpx2
from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send

from readroom.core.config import Settings
from readroom.core.workspace import Workspace
from readroom.mcp.access import Access
from readroom.mcp.calls import Calls
from readroom.server.http import coder
from readroom.server.http.access_log import Exchange
from readroom.server.http.awaiting import ClientScope
from readroom.server.http.gate import ACCESS, CLIENT_SCOPE, EXCHANGE
from tests.contracts.cases import ROOT, Adapter, Answer, Case, Room


class _Coder(Adapter):
    def settings(self, case: Case, settings: Settings) -> Settings:
        """As an operator sets it who wants links followed as the original does."""
        return replace(settings, changes=replace(settings.changes, follow_links=True))

    def check_failure(self, tool: str, text: str) -> None:
        """An object of one tool, plain text of the others."""
        if tool == "coder_workspace_read_file":
            found = json.loads(text)
            assert set(found) == {"success", "error"}
            assert found["success"] is False
        else:
            assert not text.startswith("{")

    def reading(self, path: str) -> tuple[str, dict[str, Any]]:
        return "read_file", {"path": path if path.startswith("/") else f"{ROOT}/{path}"}

    def lines(self, answer: Answer) -> list[str]:
        """Without the CR of a line's end, which this contract shows."""
        content: str = answer.json["content"]
        return [line.partition("\t")[2].removesuffix("\r") for line in content.split("\n")]

    def answer(self, room: Room, op: str, call: Mapping[str, Any], body: object) -> Answer:
        kind, _, name = op.partition(" ")
        if kind == "tool":
            return room.call(name, call)
        query, data = dict(call), None
        if kind == "POST":
            if "files" in call:
                query, body = {}, dict(call)
            data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        return asyncio.run(asked(room.workspace, kind, f"/api/v0{name}", query, data))


async def asked(
    workspace: Workspace, method: str, path: str, query: Mapping[str, Any], body: bytes | None
) -> Answer:
    """The answer of the addresses alone, without what is around them."""
    calls = Calls()
    app = Starlette(routes=coder.routes(calls, None))

    async def inside(scope: Scope, receive: Receive, send: Send) -> None:
        exchange = Exchange(method, "")
        around = {ACCESS: Access(workspace, ""), CLIENT_SCOPE: ClientScope(), EXCHANGE: exchange}
        await app({**scope, **around}, receive, send)

    url = f"http://localhost{path}?{urlencode(query)}"
    try:
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(inside)) as client:
            found = await client.request(method, url, content=body)
    finally:
        calls.close()
    return Answer(status=found.status_code, headers=dict(found.headers), body=found.content)


ADAPTER = _Coder("coder")
