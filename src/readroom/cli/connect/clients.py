"""The clients of `readroom connect`: where each keeps its servers, and in which format.

They are data, with a line of code if a client writes entries in its own way. Caps of their replies are
elsewhere, since they are measured by the name that a client sends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from msgspec import Struct

from readroom.cli.connect.formats import Form, Json, Toml, Yaml
from readroom.core.limits import REPLY_BYTES

TOKEN: Final = "READROOM_TOKEN"
"""The variable with the token for a running server."""

SERVER: Final = "readroom"
"""The server's name in clients."""

Entry: TypeAlias = Mapping[str, Any]


class Folders(Struct, frozen=True):
    """Folders of this user's settings.

    Attributes:
        home: Their home folder.
        config: Settings of programs, as `XDG_CONFIG_HOME`.
        applications: Settings of desktop programs, which differ on macOS.
        codex: The folder of Codex.
    """

    home: str
    config: str
    applications: str
    codex: str


class KnownClient(Struct, frozen=True):
    """One client.

    Attributes:
        title: Its name for people.
        wire: Its name in the handshake.
        form: The format of its settings.
        key: The path of its servers in them.
        started: The entry for a server that it starts, from the command.
        reached: The entry for a running server, from its URL; None if its settings support none.
        project: The file below its working folder; None if it has none.
        user: The base and the file of this user, below it; None if it has none.
        check: The program and the arguments with which it shows or tries its servers, or none.
        after: Remaining steps for a person.
    """

    title: str
    wire: str
    form: Form
    key: Sequence[str]
    started: Callable[[Sequence[str]], Entry]
    reached: Callable[[str], Entry] | None = None
    project: str | None = None
    user: Callable[[Folders], tuple[str, str]] | None = None
    check: Sequence[str] = ()
    after: str = ""


def _bearer(variable: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {variable}"}


def _plain(command: Sequence[str]) -> Entry:
    return {"command": command[0], "args": list(command[1:])}


def _typed(command: Sequence[str]) -> Entry:
    return {"type": "stdio", **_plain(command)}


def _codex(command: Sequence[str]) -> Entry:
    # Without the last, Codex waits about a second for a server and then begins without its tools.
    return {**_plain(command), "required": True}


def _qwen(entry: Entry) -> Entry:
    # Without it, Qwen Code hides the tools behind its search, and its model uses its own.
    return {**entry, "alwaysLoadTools": True}


_GOOSE = {"enabled": True, "name": SERVER, "description": "Files of a folder", "timeout": 300}


def _goose(command: Sequence[str]) -> Entry:
    return {**_GOOSE, "type": "stdio", "cmd": command[0], "args": list(command[1:]), "envs": {}}


def _goose_reached(url: str) -> Entry:
    headers = _bearer(f"${TOKEN}")
    return {**_GOOSE, "type": "streamable_http", "uri": url, "headers": headers, "env_keys": [TOKEN]}


def _opencode(url: str) -> Entry:
    headers = _bearer(f"{{env:{TOKEN}}}")
    # It would look for a login page without `oauth`.
    return {"type": "remote", "url": url, "oauth": False, "headers": headers, "enabled": True}


def _at(name: str, variable: str, **more: str) -> Callable[[str], Entry]:
    """The entry with the URL under a name, and the token in a variable as the client writes one."""
    return lambda url: {**more, name: url, "headers": _bearer(variable)}


_IN_SHELL, _IN_ENV = f"${{{TOKEN}}}", f"${{env:{TOKEN}}}"
_JSON, _MOST = Json(), ("mcpServers",)

CLIENTS: Mapping[str, KnownClient] = {
    "claude-code": KnownClient(
        "Claude Code", "claude-code", _JSON, _MOST, _typed, _at("url", _IN_SHELL, type="http"),
        project=".mcp.json", check=("claude", "mcp", "get", SERVER),
        after="Claude Code asks once whether this project's servers may be used.",
    ),
    "claude-desktop": KnownClient(
        "Claude Desktop", "claude-ai", _JSON, _MOST, _plain,
        user=lambda at: (at.applications, "Claude/claude_desktop_config.json"),
        after="Quit Claude Desktop and start it again.",
    ),
    "codex": KnownClient(
        "Codex", "codex-mcp-client", Toml(), ("mcp_servers",), _codex,
        lambda url: {"url": url, "bearer_token_env_var": TOKEN},
        user=lambda at: (at.codex, "config.toml"), check=("codex", "mcp", "get", SERVER),
    ),
    "cursor": KnownClient(
        "Cursor", "cursor-vscode", _JSON, _MOST, _plain, _at("url", _IN_ENV),
        project=".cursor/mcp.json", user=lambda at: (at.home, ".cursor/mcp.json"),
        after="Turn the server on in Cursor's settings, under MCP.",
    ),
    "vscode": KnownClient(
        "VS Code", "Visual Studio Code", _JSON, ("servers",), _typed, _at("url", _IN_ENV, type="http"),
        project=".vscode/mcp.json", user=lambda at: (at.applications, "Code/User/mcp.json"),
        after="VS Code asks once whether the server is trusted.",
    ),
    "gemini": KnownClient(
        "Gemini CLI", "gemini-cli-mcp-client", _JSON, _MOST, _plain, _at("httpUrl", f"${TOKEN}"),
        project=".gemini/settings.json", user=lambda at: (at.home, ".gemini/settings.json"),
        check=("gemini", "mcp", "list"),
    ),
    "qwen": KnownClient(
        "Qwen Code", f"qwen-cli-mcp-client-{SERVER}", _JSON, _MOST, lambda command: _qwen(_plain(command)),
        lambda url: _qwen(_at("httpUrl", f"${TOKEN}")(url)),
        project=".qwen/settings.json", user=lambda at: (at.home, ".qwen/settings.json"),
        check=("qwen", "mcp", "list"),
    ),
    "opencode": KnownClient(
        "opencode", "opencode", _JSON, ("mcp",),
        lambda command: {"type": "local", "command": list(command), "enabled": True}, _opencode,
        project="opencode.json", user=lambda at: (at.config, "opencode/opencode.json"),
        check=("opencode", "mcp", "list"),
    ),
    "zed": KnownClient(
        "Zed", "Zed", _JSON, ("context_servers",),
        lambda command: {"source": "custom", **_plain(command), "env": {}},
        user=lambda at: (at.config, "zed/settings.json"),
        after="Zed shows its servers in the settings of the agent panel.",
    ),
    "windsurf": KnownClient(
        "Windsurf", "windsurf-client", _JSON, _MOST, _plain, _at("serverUrl", _IN_ENV),
        user=lambda at: (at.home, ".codeium/windsurf/mcp_config.json"),
        after="Refresh the list of servers in Cascade.",
    ),
    "kilo": KnownClient(
        "Kilo Code", "Kilo Code", _JSON, _MOST, _plain, _at("url", _IN_ENV, type="streamable-http"),
        project=".kilocode/mcp.json",
    ),
    "goose": KnownClient(
        "goose", "goose", Yaml(), ("extensions",), _goose, _goose_reached,
        user=lambda at: (at.config, "goose/config.yaml"),
    ),
}  # fmt: skip
"""By the word that names them on the command line."""

GENERIC = KnownClient(
    "any client", "readroom-connect", _JSON, _MOST, _plain, _at("url", _IN_SHELL, type="http")
)
"""The form that most clients read."""


def longest_reply(passed_on: int | None) -> str:
    """The maximum reply for a client: its own limit, if that is below the contract's."""
    if passed_on is None or passed_on >= REPLY_BYTES:
        return f"replies are at most {REPLY_BYTES:,} bytes, and none is cut"
    return f"replies are at most {passed_on:,} characters, because it cuts longer ones"
