"""MCP knows the core and nothing of the servers."""

from __future__ import annotations

from tests.test_layers import imports

MCP = ("readroom.faces.mcp", "readroom.protocol")
SERVER = (
    *("readroom.config.serve", "readroom.database", "readroom.faces", "readroom.ledger"),
    *("readroom.session.admission", "readroom.session.shared", "readroom.session.tokens"),
)


def _is_of(name: str, wing: tuple[str, ...]) -> bool:
    return any(name == prefix or name.startswith(f"{prefix}.") for prefix in wing)


def test_mcp_imports_nothing_of_the_servers() -> None:
    pairs = [(name, target) for name, targets in imports().items() if _is_of(name, MCP) for target in targets]
    assert [pair for pair in pairs if _is_of(pair[1], SERVER) and not _is_of(pair[1], MCP)] == []
