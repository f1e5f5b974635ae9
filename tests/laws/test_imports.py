"""What is heavy is imported where it is used, and the official SDK of the protocol nowhere."""

from __future__ import annotations

import ast
from pathlib import Path

import readroom

SRC = Path(readroom.__file__).parent
HEAVY = {
    "limits",
    "prometheus_client",
    "mcp",
    "mcp_types",
    "pydantic",
    "starlette",
    "uvicorn",
    "anyio",
    "asyncio",
}


def _imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").split(".")[0])
    return found


SERVERS = {SRC / "server" / "http" / folder for folder in ("", "history", "review", "ui")}
ADAPTERS = SRC / "adapters"
"""What only programs of other frameworks import, which have all that is heavy loaded already."""
ALLOWED = {SRC / "core" / "tasks.py", SRC / "client" / "__init__.py"}
"""What only programs with an event loop of their own import."""


def test_the_product_does_not_import_the_sdk() -> None:
    """It costs 0.9 s and 66 MB, and Codex does not wait for that. Tests use it as the client."""
    of_sdk = {"mcp", "mcp_types", "pydantic", "pydantic_core", "anyio", "sse_starlette"}
    importing = [path for path in SRC.rglob("*.py") if ADAPTERS not in path.parents]
    assert {str(path): _imported(path) & of_sdk for path in importing if _imported(path) & of_sdk} == {}


def test_only_the_servers_import_an_event_loop_and_a_web_server() -> None:
    elsewhere = [
        path
        for path in SRC.rglob("*.py")
        if path.parent not in SERVERS and ADAPTERS not in path.parents and path not in ALLOWED
    ]
    assert {str(path): _imported(path) & HEAVY for path in elsewhere if _imported(path) & HEAVY} == {}


def test_nothing_of_ours_imports_an_adapter() -> None:
    table = SRC / "core" / "contracts" / "__init__.py"  # names the contract of one, loaded by the adapter
    others = [path for path in SRC.rglob("*.py") if ADAPTERS not in path.parents and path != table]
    assert [str(path) for path in others if "readroom.adapters" in path.read_text(encoding="utf-8")] == []
