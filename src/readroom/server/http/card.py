"""The MCP server card, and the catalog of a domain that leads to it.

Both are public: a client reads them before it knows anything of the server, and pages of any origin may.
So they say nothing but the server's name, its version and its address, and only if the operator has named
a public address.  (https://github.com/modelcontextprotocol/experimental-ext-server-card)
"""

from __future__ import annotations

import hashlib
import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from readroom.core.errors import NoSuchRoute
from readroom.mcp.protocol import eras
from readroom.mcp.protocol.card import Card
from readroom.server.http.gate import ACCESS
from readroom.server.http.routes import SHOWN, route

CARD_PATH: Final = "/mcp/server-card"
CATALOG_PATH: Final = "/.well-known/ai-catalog.json"
PUBLIC: Final = frozenset((CARD_PATH, CATALOG_PATH))
"""Addresses that are answered without a token, where there is a card."""

CARD_TYPE: Final = "application/mcp-server-card+json"
CATALOG_TYPE: Final = "application/ai-catalog+json"
SCHEMA: Final = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"

ABOUT: Final = "Find, read, outline and safely change files without drowning the context window."
"""As the registry of MCP servers has it."""

_SHARED: Final[Mapping[str, str]] = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "GET",
    "Access-Control-Allow-Headers": "Content-Type, If-None-Match",
    "Access-Control-Expose-Headers": "ETag",
    "Cache-Control": "public, max-age=3600",
}


def host_of(public_url: str) -> str:
    """The host of a public address."""
    return urlsplit(public_url).hostname or ""


def name_of(host: str) -> str:
    """The name of the server at a host: reversed, as its owner has it from the domain."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return f"{'.'.join(reversed(host.strip('.').split('.')))}/readroom"
    return f"{host.replace(':', '-')}/readroom"


def server_card(card: Card, public_url: str, *, token: bool) -> dict[str, Any]:
    """The card of the server at that address; `token` says whether it asks for one."""
    secret = {"isRequired": True, "isSecret": True}
    asked = {
        "name": "Authorization",
        "description": "A token, as `readroom token create` makes it.",
        "value": "Bearer {token}",
        "variables": {"token": secret},
        **secret,
    }
    remote: dict[str, Any] = {
        "type": "streamable-http",
        "url": f"{public_url}/mcp",
        "supportedProtocolVersions": [*eras.HANDSHAKE_VERSIONS, *eras.STATELESS_VERSIONS],
    }
    return {
        "$schema": SCHEMA,
        "name": name_of(host_of(public_url)),
        "title": card.title,
        "description": ABOUT,
        "version": card.version,
        "remotes": [{**remote, "headers": [asked]} if token else remote],
    }


def catalog(public_url: str) -> dict[str, Any]:
    """The catalog of a domain that has this server."""
    entry = {
        "identifier": f"urn:air:{host_of(public_url)}:mcp:readroom",
        "type": CARD_TYPE,
        "url": f"{public_url}{CARD_PATH}",
    }
    return {"specVersion": "1.0", "entries": [entry]}


def routes(card: Card, public_url: str, *, token: bool) -> Sequence[Route]:
    """The routes of the card and of the catalog."""
    return [
        _shown(CARD_PATH, server_card(card, public_url, token=token), CARD_TYPE),
        _shown(CATALOG_PATH, catalog(public_url), CATALOG_TYPE),
    ]


def _shown(path: str, value: Mapping[str, Any], kind: str) -> Route:
    body = msgspec.json.encode(value)
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'

    async def show(request: Request) -> Response:
        if ACCESS in request.scope:  # below the address of a workspace
            raise NoSuchRoute
        if request.method == "OPTIONS":
            return Response(status_code=204, headers=_SHARED)
        headers = {**_SHARED, "ETag": tag}
        known = request.headers.get("If-None-Match", "")
        if known.strip() == "*" or tag in (one.strip().removeprefix("W/") for one in known.split(",")):
            return Response(status_code=304, headers=headers)
        return Response(body, headers=headers, media_type=kind)

    return route(path, [*SHOWN, "OPTIONS"], show)
