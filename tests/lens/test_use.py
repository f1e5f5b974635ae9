"""What became of what was read: the lines that a finding names are those that were shown, and a part that was
asked for is not a whole file.
"""

from __future__ import annotations

import json
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


@pytest.mark.parametrize(
    "opened", ["src/3.py", "./src/3.py", "/home/dev/shop/src/3.py", "C:\\dev\\src\\3.py"]
)
def test_a_search_is_used_by_who_opens_a_file_that_it_showed(tmp_path: Path, opened: str) -> None:
    """By its path in any form; a file that it did not show uses nothing."""
    matches = "\n".join(f"src/{number % 9}.py:{number}:{line}" for number, line in enumerate(_LINES[:250], 1))
    for name, used in ((opened, True), (opened.replace("3.py", "33.py"), False)):
        path = record(
            tmp_path / "r.jsonl",
            [
                called(1, "Grep", {"pattern": "value"}),
                returned(1, matches),
                called(2, "Read", {"file_path": name}),
            ],
        )
        (part,) = audit(path, Options(secrets=False))
        assert isinstance(part, Audited)
        assert [one.kind for one in part.findings if one.kind == "unused"] == ([] if used else ["unused"])


@pytest.mark.parametrize(
    ("mark", "says", "tokens"),
    [
        ("... [20012 characters truncated] ...", "20,012 characters", range(1_000, 12_000)),
        ("…1,234 tokens truncated…", "1,234 tokens", range(1_234, 1_235)),
        ("[... 300 lines left out ...]", "300 lines", range(1_000, 12_000)),
        ("... [TRUNCATED] ...", "an unknown part", range(1)),
    ],
)
def test_a_cut_has_the_price_that_its_mark_says(tmp_path: Path, mark: str, says: str, tokens: range) -> None:
    """Where nobody keeps what was cut: as dense as what was shown, and nothing where no number stands."""
    text = "\n".join(["check 1 ok: all is well"] * 100 + [mark] + ["check 2 ok: all is well"] * 100)
    path = record(
        tmp_path / "r.jsonl", [called(1, "Bash", {"command": "make"}), returned(1, text), said("so")]
    )
    (part,) = audit(path, Options(secrets=False))
    assert isinstance(part, Audited)
    (lost,) = (one for one in part.findings if one.kind == "lost")
    assert lost.what.startswith(says + " truncated by the ")
    assert lost.tokens in tokens


@pytest.mark.parametrize(
    "text",
    [
        "Your proposed edit has introduced new syntax error(s). Please read this error message carefully.",
        "No replacement was performed, old_str `x` did not appear verbatim in /repo/a.py.",
        "<tool_use_error>String to replace not found in file.</tool_use_error>",
    ],
)
def test_an_edit_that_its_tool_refused_has_failed(tmp_path: Path, text: str) -> None:
    """In the words of SWE-agent's tools and of Claude Code, where a record says nothing else."""
    path = tmp_path / "r.traj"
    steps = [{"action": "edit 1:2", "observation": text}, {"action": "ls", "observation": ""}]
    path.write_text(json.dumps({"trajectory": steps}))
    (part,) = audit(path, Options(secrets=False))
    assert isinstance(part, Audited)
    assert [one.kind for one in part.findings] == ["failed-edits"]
