"""A broken pattern with a line end was advised to be sent as literal text, which was refused in turn."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from readroom import Workspace


@pytest.mark.parametrize("pattern", ["?\r", "(\n"])
def test_the_advice_for_a_broken_pattern_with_a_line_end_is_accepted(tmp_path: Path, pattern: str) -> None:
    (tmp_path / "a.txt").write_bytes(b"x" + pattern.encode() + b"\ny\n")
    with Workspace(tmp_path) as ws:
        error = cast("dict[str, Any]", ws.call("grep_files", {"pattern": pattern}).facts["error"])
        following = ws.call(error["next"]["tool"], error["next"]["arguments"])
    assert error["next"]["arguments"]["fixed"] is True
    assert not following.is_error
