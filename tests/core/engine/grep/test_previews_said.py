"""A search that shows only a part of a line says so in its last line, with a call that shows the rest."""

from __future__ import annotations

import json
from pathlib import Path

from readroom import Workspace


def test_a_shortened_line_is_said_in_the_last_line(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("x" * 5_000 + "needle" + "y" * 5_000 + "\n")
    with Workspace(tmp_path) as workspace:
        closing = workspace.grep("needle").text.rpartition("\n")[2]
        assert closing.startswith("[Long lines are shown around their match (…)")
        tool, _, arguments = closing.removesuffix("]").rpartition("rest: ")[2].partition(" ")
        assert not workspace.call(tool, json.loads(arguments)).is_error
