"""No call is named for the rest of a line that no read shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from readroom import Workspace
from readroom.core.stores.memory import MemoryStore

WIDE = b"x" * 5000 + b"needle" + b"y" * 5000 + b"\n"


@pytest.mark.parametrize("name", ["blob.bin", "book.xlsx"])
@pytest.mark.parametrize("store", ["local", "memory"])
def test_the_rest_of_a_line_of_a_binary_file_is_not_promised(name: str, store: str, tmp_path: Path) -> None:
    data = b"\0\xff" * 4000 + WIDE
    (tmp_path / name).write_bytes(data)
    with Workspace(str(tmp_path) if store == "local" else MemoryStore({name: data})) as workspace:
        reply = workspace.grep("needle", path=name, include=["binary"])
    assert reply.text.endswith("[Long lines are shown around their match (…); the rest: not reachable.]")
    assert all(item["call"] is None for item in reply.facts["omitted"])  # type: ignore[union-attr,call-overload,index]
