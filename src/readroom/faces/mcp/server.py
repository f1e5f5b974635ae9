"""The one MCP server, whatever carries its messages: tools of a contract, answered by a workspace.

What `readroom.protocol` hands out is performed here.  A result is exactly what
`contracts.base.tool_result` says, as every other face sends it; the protocol adds
what its version wants with every result.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

from readroom.caller import conversation
from readroom.contracts.base import FACTS_KEY, Contract, Tool
from readroom.faces.calls import Access, Calls, Failed, Waiter
from readroom.faces.mcp import who
from readroom.faces.mcp.clients import CLAUDE_CODE, known, reply_bytes
from readroom.faces.mcp.listing import LONGEST_META, capped, card, methods, page
from readroom.faces.mcp.resources import Resources
from readroom.model import Fact
from readroom.protocol import eras
from readroom.protocol.card import Card
from readroom.protocol.connection import Call, Connection, Notice
from readroom.protocol.messages import Answer, Refusal

_LOG = logging.getLogger("readroom")

Tell: TypeAlias = Callable[[bytes], Awaitable[None]]
"""Sends the client a message about its request, before the answer."""


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sent a message.

    Attributes:
        access: What they may use.
        waiter: Whose leaving ends the work for them; None when that is the end of the server.
        session: The protocol's session, which HTTP before 2026-07-28 has.
    """

    access: Access
    waiter: Waiter | None = None
    session: str | None = None


@dataclass(slots=True)
class Asked:
    """A call, who wants it, and how they hear of it before the answer; `failed` is the code of an error."""

    connection: Connection
    call: Call
    sender: Sender
    tell: Tell
    failed: str = ""

    async def report(self, done: float, total: float | None, words: str) -> None:
        """Say how far the work is."""
        told = self.connection.progress(self.call, done, total, words)
        if told is not None:
            await self.tell(told)

    async def log(self, level: str, words: str) -> None:
        """Say something to a client that wants to know."""
        told = self.connection.log(self.call, level, words)
        if told is not None:
            await self.tell(told)


class Server:
    """Performs what the protocol hands out, for one contract."""

    def __init__(
        self,
        calls: Calls,
        record: Contract,
        *,
        reply_chars: int | None,
        outputs: bool,
        shared: bool = True,
    ) -> None:
        """A server for the tools of one contract.

        Args:
            calls: Where the calls run.
            record: The contract whose tools are served.
            reply_chars: `--max-chars`, None for what each client is known to pass on.
            outputs: Commands may run; what is kept of them is offered as resources.
            shared: Every client sees the same tools.
        """
        self._calls = calls
        self._reply_chars = reply_chars
        self._methods: dict[str, Callable[[Asked], Awaitable[dict[str, Any]]]] = {
            "tools/list": self._list_tools,
            "tools/call": self._call_tool,
            "resources/list": self._list_resources,
            "resources/templates/list": self._list_templates,
            "resources/read": self._read_resource,
        }
        self.card: Card = card(
            record.title, record.instructions, methods(record.name, outputs=outputs), shared=shared
        )

    async def perform(self, asked: Asked) -> Answer | None:
        """The answer to a call; None when its client has cancelled it."""
        connection, call = asked.connection, asked.call
        try:
            return connection.answer(call, await self._methods[call.method](asked))
        except Refusal as refused:
            return connection.refuse(call, refused.code, refused.message, refused.data)
        except Failed:
            pass
        except Exception:
            _LOG.exception("a request of the method %s failed", call.method)
        words = "readroom failed inside; see the server's log"
        await asked.log("error", words)
        return connection.refuse(call, eras.INTERNAL_ERROR, words)

    def hear(self, notice: Notice, sender: Sender) -> None:
        """What a host says without asking: that it has shortened a conversation."""
        access = _conversing(sender, notice.client, notice.meta)
        access.workspace.session(access.caller.session).compacted()

    async def _list_tools(self, asked: Asked) -> dict[str, Any]:
        tools = [capped(listed(tool), self._reply_chars) for tool in asked.sender.access.tools]
        return page("tools", tools, asked.call.params.get("cursor"))

    async def _call_tool(self, asked: Asked) -> dict[str, Any]:
        given, client = asked.call.params, known(asked.call.client)
        result = await self._run(asked, given["name"], given.get("arguments") or {})
        if not result["isError"]:
            return result
        asked.failed = result["_meta"][FACTS_KEY]["error"]["code"]
        if client is not None and client.shows_meta:
            del result["_meta"]  # its model would see the whole JSON of an error
        return result

    async def _list_resources(self, asked: Asked) -> dict[str, Any]:
        return await self._resources(asked).list(asked.call.params.get("cursor"))

    async def _list_templates(self, asked: Asked) -> dict[str, Any]:
        # Nobody can guess the name of an output, so there is nothing to fill in.
        return {"resourceTemplates": []}

    async def _read_resource(self, asked: Asked) -> dict[str, Any]:
        return await self._resources(asked).read(asked.call.params["uri"])

    def _resources(self, asked: Asked) -> Resources:
        return Resources(partial(self._run, asked), asked.call.version)

    async def _run(self, asked: Asked, tool: str, arguments: Mapping[str, Fact]) -> dict[str, Any]:
        call, sender = asked.call, asked.sender
        access = _conversing(sender, call.client, call.meta)
        client = known(call.client)
        epoch = who.epoch(call.meta)
        if epoch is not None:
            access.workspace.session(access.caller.session).reached(epoch)
        return await self._calls.run(
            access,
            tool,
            arguments,
            reply_bytes=reply_bytes(call.client, self._reply_chars),
            reply_lines=None if client is None else client.lines,
            waiter=sender.waiter,
            send_progress=None if call.token is None else asked.report,
        )


def listed(tool: Tool) -> dict[str, Any]:
    """A tool as `tools/list` shows it."""
    changing = {"destructiveHint": tool.destructive, "idempotentHint": tool.idempotent}
    if tool.read_only:  # they mean nothing where nothing is changed
        changing = {}
    return {
        "_meta": {
            # Takes the text out of a second limit, counted in tokens, that users can lower.
            LONGEST_META: CLAUDE_CODE.chars,
            # A file tool that has to be searched for first is not used. It costs each conversation the
            # tokens of its schema; a test keeps those of a contract under 1,500.
            "anthropic/alwaysLoad": True,
        },
        "annotations": {"readOnlyHint": tool.read_only, **changing, "openWorldHint": False},
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "name": tool.name,
        "title": tool.title,
    }


def _conversing(sender: Sender, client: str | None, meta: Mapping[str, Any] | None) -> Access:
    """What a sender may use, in the name of the client and for its conversation."""
    named = who.caller(meta, client, sender.session)
    token = sender.access.caller.token
    named = replace(
        named,
        agent=named.agent or sender.access.caller.agent,
        session=conversation(token, named.session),
        token=token,
    )
    return replace(sender.access, caller=named)
