"""The prepared first answers of MCP are those of the contracts."""

from __future__ import annotations

from pathlib import Path

from readroom.cli.early import PREPARED
from scripts import prepared


def test_what_is_prepared_is_what_the_contracts_say() -> None:
    """`python -m scripts.docs` writes it."""
    assert Path(PREPARED).read_text(encoding="utf-8") == prepared.text()
