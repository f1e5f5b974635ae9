"""Blocks of the documentation with configuration of MCP clients, as each of them reads it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from readroom.faces.http.gate import MCP_PATH as PATH
from readroom.faces.mcp.hello import SERVER_NAME, startup_text, toml_config
from readroom.limits import HTTP_PORT
from scripts.docs_blocks import fenced

URL = f"http://127.0.0.1:{HTTP_PORT}{PATH}"
COMMAND = ["/home/me/readroom/.venv/bin/readroom", "mcp", "/home/me/shop"]

_PROGRAM = {"command": COMMAND[0], "args": COMMAND[1:]}

FORMS: Mapping[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "claude-code": ("mcpServers", {"type": "http", "url": URL}, {"type": "stdio", **_PROGRAM}),
    "cursor": ("mcpServers", {"url": URL}, _PROGRAM),
    "vscode": ("servers", {"type": "http", "url": URL}, {"type": "stdio", **_PROGRAM}),
    "opencode": ("mcp", {"type": "remote", "url": URL}, {"type": "local", "command": COMMAND}),
    "gemini": ("mcpServers", {"httpUrl": URL}, _PROGRAM),
}
"""By client: the key that holds the servers, a server by URL, a server that the client starts."""


def by_url(client: str) -> str:
    key, form, _ = FORMS[client]
    return fenced(json.dumps({key: {SERVER_NAME: form}}, indent=2), "json")


def by_command(client: str) -> str:
    key, _, form = FORMS[client]
    return fenced(json.dumps({key: {SERVER_NAME: form}}, indent=2), "json")


def codex_by_url() -> str:
    return fenced(toml_config(URL), "toml")


def codex_by_command() -> str:
    command, args = json.dumps(COMMAND[0]), json.dumps(COMMAND[1:])
    return fenced(f"[mcp_servers.{SERVER_NAME}]\ncommand = {command}\nargs = {args}", "toml")


def claude_command() -> str:
    return fenced(
        f"claude mcp add --transport http {SERVER_NAME} {URL}\n"
        f"claude mcp add {SERVER_NAME} -- {' '.join(COMMAND)}",
        "console",
    )


def startup() -> str:
    return fenced(startup_text(url=URL, root="/home/me/shop", command=COMMAND))


BLOCKS: Mapping[str, Callable[..., str]] = {
    "by-url": by_url,
    "by-command": by_command,
    "codex-by-url": codex_by_url,
    "codex-by-command": codex_by_command,
    "claude-command": claude_command,
    "startup": startup,
}
