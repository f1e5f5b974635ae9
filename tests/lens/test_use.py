"""What became of what was read: the lines that a finding names are those that were shown, and a part that was
asked for is not a whole file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from readroom.lens.audit import Options, audit
from readroom.lens.sessions import Audited
from tests.lens.making import called, numbered, record, returned, said

_LINES = [f"value_{number} = compute({number * 7919})" for number in range(1, 601)]


def _found(
    path: Path, tool: str, arguments: dict[str, Any], text: str, then: str
) -> set[tuple[str, int, int]]:
    record(path, [called(1, tool, arguments), returned(1, text), said(then)])
    (part,) = audit(path, Options(secrets=False))
    assert isinstance(part, Audited)
    return {(one.kind, one.first, one.last) for one in part.findings}


def test_what_nobody_came_back_to_is_named_by_the_lines_that_were_shown(tmp_path: Path) -> None:
    """A window of a file has its own lines, and a search in several files has none."""
    arguments = {"file_path": "a.py", "offset": 200, "limit": 300}
    shown = numbered(_LINES[199:499], 200)
    assert _found(tmp_path / "r.jsonl", "Read", arguments, shown, "so") == {("unused", 200, 499)}
    matches = "\n".join(f"src/{number % 9}.py:{number}:{line}" for number, line in enumerate(_LINES[:250], 1))
    assert ("unused", 0, 0) in _found(tmp_path / "r.jsonl", "Grep", {"pattern": "value"}, matches, "so")


@pytest.mark.parametrize(
    ("tool", "arguments", "is_whole"),
    [
        ("Read", {"file_path": "a.py"}, True),
        ("Read", {"file_path": "a.py", "limit": 400}, False),
        ("Bash", {"command": "cat a.py"}, True),
        ("Bash", {"command": "head -n 400 a.py"}, False),
        ("Bash", {"command": "sed -n 1,400p a.py"}, False),
    ],
)
def test_only_a_file_that_was_asked_for_whole_was_read_whole(
    tmp_path: Path, tool: str, arguments: dict[str, Any], is_whole: bool
) -> None:
    """Of 400 lines one is used later: that is a whole file for a few lines, or the part that was wanted."""
    text = numbered(_LINES[:400]) if tool == "Read" else "\n".join(_LINES[:400])
    found = _found(tmp_path / "r.jsonl", tool, arguments, text, _LINES[7])
    assert found == ({("oversized", 1, 400)} if is_whole else set())
