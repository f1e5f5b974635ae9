"""The next call is written once in the closing line, also where it continues a long line."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from readroom import Workspace


def test_the_rest_of_a_line_is_named_once(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("x" * 100_000)
    with Workspace(tmp_path) as workspace:
        reply = workspace.read("one.txt", column=10)
    closing = reply.text.rpartition("\n")[2]
    assert closing.count("read_file") == 1
    assert closing.startswith("[Next: ")
    omitted = cast("list[dict[str, Any]]", reply.facts["omitted"])
    following = cast("dict[str, Any]", reply.facts["next"])
    there = {key: value for key, value in omitted[0]["call"]["arguments"].items() if key != "limit"}
    assert following["arguments"] == there, "it goes on behind that line, the other ends with it"
