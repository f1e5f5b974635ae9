"""Kept outputs of commands as resources: what a host lists and attaches without its model.

A listing is a call of `list_directory`, a reading one of `read_file`: the same guard, grants, caps,
budget and ledger, and the same words, which say what was left out.  Nothing else of a workspace is a
resource, and an address has one spelling.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from readroom.contracts.base import FACTS_KEY
from readroom.errors import BadCursor, NotFound, NotGranted, OutputGone
from readroom.limits_keeping import MCP_RESOURCES
from readroom.model import Fact
from readroom.paths import OUTPUTS

Context: TypeAlias = "ServerRequestContext[dict[str, Any], Any]"

Run: TypeAlias = Callable[[Context, str, Mapping[str, Fact]], Awaitable[dict[str, Any]]]
"""Performs a tool call in the name of who sent the request."""

_SCHEME = "readroom://"
_ADDRESS = re.compile(rf"{_SCHEME}({re.escape(OUTPUTS)}/[a-z0-9]+\.(?:stdout|stderr))")

_ABSENT = -32002
"""What the protocol called a resource that is not there, before 2026-07-28."""


def add(server: Server[dict[str, Any]], run: Run) -> None:
    """Let the server offer them."""
    handlers = _Handlers(run)
    paginated = types.PaginatedRequestParams
    server.add_request_handler("resources/list", paginated, handlers.list)
    server.add_request_handler("resources/read", types.ReadResourceRequestParams, handlers.read)
    server.add_request_handler("resources/templates/list", paginated, _no_templates)


@dataclass(frozen=True, slots=True)
class _Handlers:
    run: Run

    async def list(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """The newest outputs first, a page at a time; none for whoever may not list them."""
        asked: dict[str, Fact] = {"path": OUTPUTS, "sort": "mtime", "limit": MCP_RESOURCES}
        if params is not None and params.cursor is not None:
            asked["cursor"] = params.cursor
        result = await self.run(context, "list_directory", asked)
        facts = result["_meta"][FACTS_KEY]
        if result["isError"]:
            if facts["error"]["code"] == NotGranted.code:
                return types.ListResourcesResult(resources=[])
            raise _failure(context, result, {})
        following = facts["next"]
        return types.ListResourcesResult(
            resources=[_listed(entry) for entry in facts["entries"]],
            next_cursor=None if following is None else following["arguments"]["cursor"],
        )

    async def read(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """The text that `read_file` gives, numbered, cut and saying so; an image beside it."""
        found = _ADDRESS.fullmatch(params.uri)
        if found is None:
            raise MCPError(
                code=_absent(context),
                message="There is no such resource. resources/list names those there are",
                data={"uri": params.uri},
            )
        result = await self.run(context, "read_file", {"path": found[1]})
        if result["isError"]:
            raise _failure(context, result, {"uri": params.uri})
        return types.ReadResourceResult(
            contents=[_content(params.uri, part) for part in result["content"]], _meta=result["_meta"]
        )


async def _no_templates(
    context: Context, params: types.PaginatedRequestParams | None
) -> types.ListResourceTemplatesResult:
    """Nobody can guess the name of an output, so there is nothing to fill in."""
    return types.ListResourceTemplatesResult(resource_templates=[])


def _listed(entry: Mapping[str, Any]) -> types.Resource:
    name = entry["path"]
    return types.Resource(
        uri=f"{_SCHEME}{OUTPUTS}/{name}",
        name=name,
        mime_type="text/plain",
        size=entry["size_bytes"],
        annotations=types.Annotations(audience=["user", "assistant"], last_modified=entry["modified"]),
    )


def _content(uri: str, part: Mapping[str, Any]) -> types.TextResourceContents | types.BlobResourceContents:
    if part["type"] == "text":
        return types.TextResourceContents(uri=uri, mime_type="text/plain", text=part["text"])
    return types.BlobResourceContents(uri=uri, mime_type=part["mimeType"], blob=part["data"])


def _failure(context: Context, result: Mapping[str, Any], data: Mapping[str, Any]) -> MCPError:
    error = result["_meta"][FACTS_KEY]["error"]
    absent = _absent(context)
    codes = {NotFound.code: absent, OutputGone.code: absent, BadCursor.code: INVALID_PARAMS}
    return MCPError(
        code=codes.get(error["code"], INTERNAL_ERROR),
        message=result["content"][0]["text"],
        data={**data, **error},
    )


def _absent(context: Context) -> int:
    return _ABSENT if context.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS else INVALID_PARAMS
