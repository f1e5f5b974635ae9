"""Blocks of the documentation with configuration of MCP clients, as each of them reads it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from readroom.core.limits import HTTP_PORT
from readroom.mcp.client_configs import (
    AUTHORIZATION,
    SERVER_NAME,
    TOKEN_VARIABLE,
    Entry,
    startup_text,
    toml_config,
)
from readroom.server.http.gate import MCP_PATH as PATH
from scripts.docs.tables import fenced

URL = f"http://127.0.0.1:{HTTP_PORT}{PATH}"
COMMAND = ["/home/me/readroom/.venv/bin/readroom", "mcp", "/home/me/shop"]

_PROGRAM = {"command": COMMAND[0], "args": COMMAND[1:]}

ENTRY = Entry(
    token="rr_0123456789ab_TheSecretOfThisFolderStandsHereInstead12345", command=f"{COMMAND[0]} token"
)
"""What a server that was just started says; a folder's real token is in no document."""


def _headers(variable: str) -> dict[str, str]:
    return {AUTHORIZATION: f"Bearer {variable}"}


FORMS: Mapping[str, tuple[dict[str, Any], str, dict[str, Any], dict[str, Any]]] = {
    "claude-code": (
        {},
        "mcpServers",
        {"type": "http", "url": URL, "headers": _headers(f"${{{TOKEN_VARIABLE}}}")},
        {"type": "stdio", **_PROGRAM},
    ),
    "cursor": ({}, "mcpServers", {"url": URL, "headers": _headers(f"${{env:{TOKEN_VARIABLE}}}")}, _PROGRAM),
    "vscode": (
        {
            "inputs": [
                {
                    "type": "promptString",
                    "id": "readroom-token",
                    "description": "Token of readroom",
                    "password": True,
                }
            ]
        },
        "servers",
        {"type": "http", "url": URL, "headers": _headers("${input:readroom-token}")},
        {"type": "stdio", **_PROGRAM},
    ),
    "opencode": (
        {},
        "mcp",
        {"type": "remote", "url": URL, "oauth": False, "headers": _headers(f"{{env:{TOKEN_VARIABLE}}}")},
        {"type": "local", "command": COMMAND},
    ),
    "gemini": ({}, "mcpServers", {"httpUrl": URL, "headers": _headers(f"${TOKEN_VARIABLE}")}, _PROGRAM),
}
"""By client: what stands beside the servers, their key, a server by URL, one that the client starts."""


def by_url(client: str) -> str:
    beside, key, form, _ = FORMS[client]
    return fenced(json.dumps({**beside, key: {SERVER_NAME: form}}, indent=2), "json")


def by_command(client: str) -> str:
    _, key, _, form = FORMS[client]
    return fenced(json.dumps({key: {SERVER_NAME: form}}, indent=2), "json")


def codex_by_url() -> str:
    return fenced(toml_config(URL, Entry()), "toml")


def codex_by_command() -> str:
    command, args = json.dumps(COMMAND[0]), json.dumps(COMMAND[1:])
    return fenced(f"[mcp_servers.{SERVER_NAME}]\ncommand = {command}\nargs = {args}\nrequired = true", "toml")


def claude_command() -> str:
    return fenced(
        f"claude mcp add --transport http {SERVER_NAME} {URL} "
        f'--header "{AUTHORIZATION}: Bearer $({_show()})"\n'
        f"claude mcp add {SERVER_NAME} -- {' '.join(COMMAND)}",
        "console",
    )


def token_variable() -> str:
    return fenced(f'export {TOKEN_VARIABLE}="$({_show()})"', "console")


def _show() -> str:
    return f"{ENTRY.command} show {COMMAND[-1]}"


def startup() -> str:
    return fenced(startup_text(url=URL, root=COMMAND[-1], command=COMMAND, entry=ENTRY))


BLOCKS: Mapping[str, Callable[..., str]] = {
    "by-url": by_url,
    "by-command": by_command,
    "codex-by-url": codex_by_url,
    "codex-by-command": codex_by_command,
    "claude-command": claude_command,
    "startup": startup,
    "token-variable": token_variable,
}
