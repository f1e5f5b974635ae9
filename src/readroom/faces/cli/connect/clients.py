"""The clients of `readroom connect`: where each keeps its servers, and in which format.

They are data, with a line of code if a client writes entries in its own way. Caps of their replies are
elsewhere, since they are measured by the name that a client sends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from msgspec import Struct

from readroom.faces.cli.connect.formats import Form, Json, Toml, Yaml
from readroom.limits import REPLY_BYTES

TOKEN: Final = "READROOM_TOKEN"
"""The variable that holds the token for a server that runs already."""

SERVER: Final = "readroom"
"""What clients call it."""

Entry: TypeAlias = Mapping[str, Any]


class Folders(Struct, frozen=True):
    """Where this user's settings are.

    Attributes:
        home: Their home folder.
        config: Where programs keep settings, as `XDG_CONFIG_HOME`.
        applications: The same for desktop programs, which on macOS is another.
        codex: The folder of Codex.
    """

    home: str
    config: str
    applications: str
    codex: str


class KnownClient(Struct, frozen=True):
    """One client.

    Attributes:
        title: As people know it.
        wire: The name that it sends in the handshake.
        form: Of its settings.
        key: Where in them its servers stand.
        started: The entry for a server that it starts, from the command.
        reached: The entry for a server that runs already, from its URL; None where its settings have none.
        project: The file in the folder that it works in, below it; None where it has none.
        user: The base and the file of this user, below it; None where it has none.
        check: The program and the arguments with which it shows or tries its servers, or none.
        after: What a person still has to do.
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


def _goose(command: Sequence[str]) -> Entry:
    return {
        "enabled": True,
        "type": "stdio",
        "name": SERVER,
        "description": "Files of a folder",
        "cmd": command[0],
        "args": list(command[1:]),
        "envs": {},
        "timeout": 300,
    }


def _goose_reached(url: str) -> Entry:
    return {
        "enabled": True,
        "type": "streamable_http",
        "name": SERVER,
        "description": "Files of a folder",
        "uri": url,
        "headers": _bearer(f"${TOKEN}"),
        "env_keys": [TOKEN],
        "timeout": 300,
    }


CLIENTS: Mapping[str, KnownClient] = {
    "claude-code": KnownClient(
        title="Claude Code",
        wire="claude-code",
        form=Json(),
        key=("mcpServers",),
        started=_typed,
        reached=lambda url: {"type": "http", "url": url, "headers": _bearer(f"${{{TOKEN}}}")},
        project=".mcp.json",
        check=("claude", "mcp", "get", SERVER),
        after="Claude Code asks once whether this project's servers may be used.",
    ),
    "claude-desktop": KnownClient(
        title="Claude Desktop",
        wire="claude-ai",
        form=Json(),
        key=("mcpServers",),
        started=_plain,
        user=lambda at: (at.applications, "Claude/claude_desktop_config.json"),
        after="Quit Claude Desktop and start it again.",
    ),
    "codex": KnownClient(
        title="Codex",
        wire="codex-mcp-client",
        form=Toml(),
        key=("mcp_servers",),
        started=_codex,
        reached=lambda url: {"url": url, "bearer_token_env_var": TOKEN},
        user=lambda at: (at.codex, "config.toml"),
        check=("codex", "mcp", "get", SERVER),
    ),
    "cursor": KnownClient(
        title="Cursor",
        wire="cursor-vscode",
        form=Json(),
        key=("mcpServers",),
        started=_plain,
        reached=lambda url: {"url": url, "headers": _bearer(f"${{env:{TOKEN}}}")},
        project=".cursor/mcp.json",
        user=lambda at: (at.home, ".cursor/mcp.json"),
        after="Turn the server on in Cursor's settings, under MCP.",
    ),
    "vscode": KnownClient(
        title="VS Code",
        wire="Visual Studio Code",
        form=Json(),
        key=("servers",),
        started=_typed,
        reached=lambda url: {"type": "http", "url": url, "headers": _bearer(f"${{env:{TOKEN}}}")},
        project=".vscode/mcp.json",
        user=lambda at: (at.applications, "Code/User/mcp.json"),
        after="VS Code asks once whether the server is trusted.",
    ),
    "gemini": KnownClient(
        title="Gemini CLI",
        wire="gemini-cli-mcp-client",
        form=Json(),
        key=("mcpServers",),
        started=_plain,
        reached=lambda url: {"httpUrl": url, "headers": _bearer(f"${TOKEN}")},
        project=".gemini/settings.json",
        user=lambda at: (at.home, ".gemini/settings.json"),
        check=("gemini", "mcp", "list"),
    ),
    "qwen": KnownClient(
        title="Qwen Code",
        wire=f"qwen-cli-mcp-client-{SERVER}",
        form=Json(),
        key=("mcpServers",),
        started=lambda command: _qwen(_plain(command)),
        reached=lambda url: _qwen({"httpUrl": url, "headers": _bearer(f"${TOKEN}")}),
        project=".qwen/settings.json",
        user=lambda at: (at.home, ".qwen/settings.json"),
        check=("qwen", "mcp", "list"),
    ),
    "opencode": KnownClient(
        title="opencode",
        wire="opencode",
        form=Json(),
        key=("mcp",),
        started=lambda command: {"type": "local", "command": list(command), "enabled": True},
        reached=lambda url: {
            "type": "remote",
            "url": url,
            # It would look for a login page otherwise.
            "oauth": False,
            "headers": _bearer(f"{{env:{TOKEN}}}"),
            "enabled": True,
        },
        project="opencode.json",
        user=lambda at: (at.config, "opencode/opencode.json"),
        check=("opencode", "mcp", "list"),
    ),
    "zed": KnownClient(
        title="Zed",
        wire="Zed",
        form=Json(),
        key=("context_servers",),
        started=lambda command: {"source": "custom", **_plain(command), "env": {}},
        user=lambda at: (at.config, "zed/settings.json"),
        after="Zed shows its servers in the settings of the agent panel.",
    ),
    "windsurf": KnownClient(
        title="Windsurf",
        wire="windsurf-client",
        form=Json(),
        key=("mcpServers",),
        started=_plain,
        reached=lambda url: {"serverUrl": url, "headers": _bearer(f"${{env:{TOKEN}}}")},
        user=lambda at: (at.home, ".codeium/windsurf/mcp_config.json"),
        after="Refresh the list of servers in Cascade.",
    ),
    "kilo": KnownClient(
        title="Kilo Code",
        wire="Kilo Code",
        form=Json(),
        key=("mcpServers",),
        started=_plain,
        reached=lambda url: {"type": "streamable-http", "url": url, "headers": _bearer(f"${{env:{TOKEN}}}")},
        project=".kilocode/mcp.json",
    ),
    "goose": KnownClient(
        title="goose",
        wire="goose",
        form=Yaml(),
        key=("extensions",),
        started=_goose,
        reached=_goose_reached,
        user=lambda at: (at.config, "goose/config.yaml"),
    ),
}
"""By the word that names them on the command line."""

GENERIC = KnownClient(
    title="any client",
    wire="readroom-connect",
    form=Json(),
    key=("mcpServers",),
    started=_plain,
    reached=lambda url: {"type": "http", "url": url, "headers": _bearer(f"${{{TOKEN}}}")},
)
"""The form that most clients read."""


def longest_reply(passed_on: int | None) -> str:
    """The most that a reply to a client has: what it passes on, if that is less than the contract's limit."""
    if passed_on is None or passed_on >= REPLY_BYTES:
        return f"a reply has at most {REPLY_BYTES:,} bytes, which it passes on whole"
    return f"a reply has at most {passed_on:,} characters, since it cuts longer ones"
