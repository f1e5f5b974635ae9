"""Calls that are about several files: every one of them counts, wherever files are counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from readroom.lens.audit import Options, audit
from readroom.lens.report import Totals
from readroom.lens.sessions import Audited
from tests.each import each
from tests.lens.making import called, numbered, record, returned, said

PATCH = """*** Begin Patch
*** Update File: src/a.py
@@
-one
+two
*** Add File: /home/dev/shop/src/b c.py
+new
*** Delete File: old.py
*** Update File: src/d.py
*** Move to: src/e.py
@@
-x
+y
*** End Patch"""
PATCHED = ["src/a.py", "src/b c.py", "old.py", "src/d.py", "src/e.py"]
DONE = "Success. Updated the following files:\nM src/a.py"


def audited(path: Path, *entries: dict[str, Any]) -> Audited:
    (part,) = audit(record(path, [*entries, said("so")]), Options(secrets=False))
    assert isinstance(part, Audited)
    return part


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("apply_patch", {"input": PATCH}),
        ("apply_patch", {"patchText": PATCH}),
        ("Bash", {"command": f"apply_patch <<'EOF'\n{PATCH}\nEOF"}),
    ],
)
def test_every_file_of_a_patch_counts(tmp_path: Path, tool: str, arguments: dict[str, Any]) -> None:
    """Each has the call and its share of the tokens, which are those of the call together."""
    part = audited(tmp_path / "r.jsonl", called(1, tool, arguments), returned(1, DONE))
    (call,) = part.calls
    assert (call.file, call.files) == (PATCHED[0], PATCHED)
    totals = Totals()
    totals.add(part)
    assert set(totals.files) == {*PATCHED}
    assert {spent.calls for spent in totals.files.values()} == {1}
    assert sum(spent.tokens for spent in totals.files.values()) == call.tokens
    assert sum(spent.carried_tokens for spent in totals.files.values()) == part.session.carried_tokens


@each(
    ("command", "output", "named"),
    [
        ("cat .env; sed -n '10,14p' app.py", "A=1\nline\n", [".env"]),
        ("head -2 .env; ls", "A=1\nB=2\nx\n", [".env"]),
        ("cat app.py .env deploy/.env", "line\nA=1\n", [".env", "deploy/.env"]),
        ("cat .env | head -2", "A=1\nB=2\n", [".env"]),
        ("cat .env", "", []),
        ("cat .env; cat app.py", "cat: .env: Permission denied\n", []),
        ("ls .env; rm -f .env; cat app.py", ".env\nline\n", []),
        ("echo A=1 > .env; cat app.py", "line\n", []),
        (f"apply_patch <<'EOF'\n{PATCH.replace('old.py', '.env')}\nEOF", DONE, []),
    ],
)
def test_a_denied_file_among_others_that_a_command_prints_is_found(
    tmp_path: Path, command: str, output: str, named: list[str]
) -> None:
    """Also if it is unknown which lines of the output are its."""
    part = audited(tmp_path / "r.jsonl", called(1, "Bash", {"command": command}), returned(1, output))
    assert sorted(found.file for found in part.findings if found.kind == "denied") == named


def test_files_that_one_command_shows_have_the_tokens_of_their_lines(tmp_path: Path) -> None:
    lines = [f"value_{number} = {number}" for number in range(40)]
    command = {"command": "sed -n 1,10p a.py; sed -n 1,30p b.py"}
    part = audited(tmp_path / "r.jsonl", called(1, "Bash", command), returned(1, "\n".join(lines)))
    (call,) = part.calls
    totals = Totals()
    totals.add(part)
    assert totals.files["a.py"].tokens == call.tokens - totals.files["b.py"].tokens
    assert totals.files["b.py"].tokens == pytest.approx(call.tokens * 3 / 4, abs=1)


def test_a_patch_of_several_files_that_fails_is_retried_for_any_of_them(tmp_path: Path) -> None:
    """A patch that names one of the files again is the next try, and one that works ends the row."""
    one = "*** Begin Patch\n*** Update File: old.py\n@@\n-a\n+b\n*** End Patch"
    entries = []
    for number, (patch, failed) in enumerate([(PATCH, True), (one, True), (one, False), (one, True)], 1):
        entries += [
            called(number, "apply_patch", {"input": patch}),
            returned(number, "apply_patch verification failed" if failed else DONE, error=failed),
        ]
    part = audited(tmp_path / "r.jsonl", *entries)
    found = [(one.call, one.what) for one in part.findings if one.kind == "failed-edits"]
    assert found == [(1, "2 failed edits in a row"), (4, "1 failed edit")]


def test_lists_of_files_in_arguments_are_files(tmp_path: Path) -> None:
    several = {"files": [{"path": "a.py", "edits": []}, {"path": "b.py", "edits": []}]}
    part = audited(
        tmp_path / "r.jsonl",
        called(1, "mcp__readroom__edit_file", several),
        returned(1, "changed"),
        called(2, "read_file", {"files": [{"path": "c.py"}, {"path": "d.py"}]}),
        returned(2, numbered(["x"])),
    )
    assert [call.files for call in part.calls] == [["a.py", "b.py"], [""]]
