"""A cap that an operator sets is the cap, above the usual one as well as below."""

from __future__ import annotations

from pathlib import Path

import pytest

from readroom import config
from readroom.errors import BadConfig
from readroom.limits import MAX_REPLY_BYTES, REPLY_BYTES
from readroom.stores.local import LocalStore
from readroom.toolbox import Workspace


def settings(folder: Path, cap: int) -> config.Settings:
    own = folder.parent / "operator.toml"
    own.write_text(f"[limits]\nreply_bytes = {cap}\n")
    return config.load(LocalStore(folder), own)


def test_a_larger_cap_gives_larger_replies(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.txt").write_text("line of text\n" * 20_000)
    with Workspace(folder, settings=settings(folder, 3 * REPLY_BYTES)) as workspace:
        whole = len(workspace.read("a.txt", limit=20_000).text)
        assert 2 * REPLY_BYTES < whole <= 3 * REPLY_BYTES
        asked = {"path": "a.txt", "limit": 20_000}
        assert len(workspace.call("read_file", asked, reply_bytes=10**9).text) == whole
    with pytest.raises(BadConfig):
        settings(folder, MAX_REPLY_BYTES + 1)
