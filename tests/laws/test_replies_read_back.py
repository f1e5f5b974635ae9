"""A law of audits: a reply of ours is read back as what it shows, in every contract and in older wordings.

Real calls in a generated workspace are made through the library. The lines that an audit finds in the text
of a reply are those that the facts name, each with the text of the file, and an audit sees a cut
where the facts say that something is left out.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from readroom.core.contracts import NAMES
from readroom.core.errors import ReadroomError
from readroom.core.values import Reply
from readroom.core.workspace import Workspace
from readroom.lens import replay
from readroom.lens.evidence import Evidence, Known, evidence
from readroom.lens.records.events import Called, Returned
from tests.core.git.making import git, needs_git
from tests.each import each

NATIVE = "native"


def _planted(folder: Path, chance: random.Random) -> dict[str, list[str]]:
    """Files whose lines look like parts of replies, and their lines."""
    odd = [
        "[end of file]", "5\tneedle in a tab", "src/a.py | lines 1-2 of 3 | sha256:aa", "…needle…",
        "in Shop:", "needle [+5 chars]x", "9 matches in 2 files", "--- Outline of lines 1-2 (not shown) ---",
        "7|needle", "", "  3 | needle", "[Next: read_file {}]", "exit 0 | 0.1 s | no output",
        '{"content": 1}', "a.py:3:needle",
    ]  # fmt: skip
    code = [line for at in range(40) for line in (f"def f{at}(x):", f"    return x + {at}  # needle", "", "")]
    texts = {
        "src/a.py": ["class Shop:", '    """A shop."""', "", "    def price(self): return 7", "", *code],
        "b.md": ["# Title", "", "needle of price", "## Sub", "x" * 5000 + " needle", *odd],
        "big.log": [f"row {at} needle" for at in range(1, chance.randint(900, 2500))],
        "odd name [1].txt": ["needle one", "two"],
        "a | b.txt": ["needle", "", "", "needle again"],
        "empty.txt": [],
        "naïve ğ.txt": ["needle ✓", "…needle…"],
        "deep/x/y.txt": chance.sample(odd, 6),
        'quo"te.py': ["needle = 1"],
    }
    for name, lines in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        end = chance.choice(["\n", "\r\n"])
        path.write_bytes((end.join(lines) + (end if lines and chance.random() < 0.7 else "")).encode())
    return texts


def _calls(names: list[str], chance: random.Random) -> Iterator[tuple[str, dict[str, Any]]]:
    for name in names:
        first, count = chance.randint(1, 9), chance.randint(1, 30)
        for more in (
            {}, {"limit": count}, {"offset": first, "limit": count}, {"limit": -count}, {"view": "outline"},
            {"view": "full_outline"}, {"offset": 5, "column": 2001}, {"offset": 1, "limit": 1},
        ):  # fmt: skip
            yield "read_file", {"path": name, **more}
    yield "read_file", {"path": "src/a.py", "symbol": "f7"}
    searches: list[dict[str, Any]] = [
        {}, {"context": 2}, {"output": "files"}, {"output": "count"}, {"path": "src"}, {"path": "b.md"},
        {"limit": 3}, {"glob": "*.md"}, {"context": 3, "limit": 2}, {"path": "src/a.py", "context": 1},
        {"output": "references"}, {"output": "references", "path": "src/a.py"},
    ]  # fmt: skip
    for more in searches:
        yield "grep_files", {"pattern": "needle", **more}
    for name in ("price", "f7", "Shop"):
        yield "grep_files", {"pattern": name, "output": "references"}
    finds: list[dict[str, Any]] = [{"output": "files"}, {"output": "outline"}, {"budget_tokens": 300}]
    for more in ({}, {"explain": True}, *finds):
        yield "find_relevant", {"query": "needle price total of the shop", **more}
    yield "list_directory", {"path": "."}
    yield "list_directory", {"path": "src"}


def _seen(tool: str, arguments: dict[str, Any], reply: Reply) -> Evidence:
    call = Called("s", "c", tool, arguments, server="readroom")
    return evidence(call, Returned("s", "c", reply.text, reply.is_error), Known(root="/workspace"))


def _numbers(seen: Evidence) -> set[tuple[str, int]]:
    whole = {(run.file, at) for run in seen.runs for at in range(run.first, run.last + 1)}
    return whole | {(file, line) for file, line, _ in seen.wide}


def _wrong(seen: Evidence, texts: dict[str, list[str]]) -> list[str]:
    return [
        f"{run.file}:{at} {row!r}"
        for run in seen.runs
        for at, row in enumerate(run.lines, run.first)
        if texts.get(run.file, [])[at - 1 : at] != [row]
    ]


def _told(tool: str, reply: Reply) -> set[tuple[str, int]] | None:
    """The lines that the facts name; None where they name passages."""
    facts: Any = reply.facts
    if tool == "find_relevant":
        return None
    if tool == "grep_files":
        return {(file["path"], line["line"]) for file in facts["files"] for line in file["lines"]}
    shown = facts.get("lines_shown") or {"start": 0, "end": 0}
    return {(facts["path"], at) for at in range(shown["start"], shown["end"] + 1) if shown["start"]}


@pytest.mark.parametrize("seed", range(3))
def test_native_replies_are_read_back_as_their_facts_say(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    texts = _planted(tmp_path, chance)
    with Workspace(tmp_path) as workspace:
        for tool, arguments in _calls([*texts], chance):
            reply = workspace.call(tool, arguments)
            if reply.is_error:
                continue
            seen, facts = _seen(tool, arguments, reply), reply.facts
            assert _wrong(seen, texts) == [], (tool, arguments)
            told = _told(tool, reply) if tool != "list_directory" else set()
            if told is not None:
                assert _numbers(seen) == told, (tool, arguments)
            elif arguments.get("output") is None:
                files: Any = facts["files"]
                passages = {(one["path"], part["start"]) for one in files for part in one["passages"]}
                assert passages <= _numbers(seen), arguments
                assert {file for file, _ in _numbers(seen)} == {one["path"] for one in files}
            left = (
                bool(facts.get("omitted")) or facts.get("next") is not None or facts.get("complete") is False
            )
            assert (seen.cut_by == "server") == left, (tool, arguments, reply.text[-200:])


@pytest.mark.parametrize("name", [name for name in NAMES if name != NATIVE])
def test_replies_of_other_contracts_are_read_back_as_their_facts_say(tmp_path: Path, name: str) -> None:
    chance = random.Random(name)
    texts = _planted(tmp_path, chance)
    if name == "text_editor":  # which shows tabs as blanks, and an empty file as an empty line
        texts = {file: [line.expandtabs() for line in lines] or [""] for file, lines in texts.items()}
    compared = 0
    with replay.workspace_at(str(tmp_path)) as workspace:
        for tool, arguments in _calls([*texts], chance):
            call = _call_in(workspace, name, tool, arguments, tmp_path)
            reply = None if call is None else workspace.call(call[0], call[1], contract_name=name)
            if call is None or reply is None or reply.is_error:
                continue
            seen = _seen(call[0], call[1], reply)
            assert (
                _wrong(seen, {**texts, **{f"{tmp_path}/{file}": lines for file, lines in texts.items()}})
                == []
            ), call
            shown: Any = reply.facts.get("lines_shown")
            if shown and shown["start"] and tool == "read_file" and reply.facts.get("path"):
                told = {*range(shown["start"], shown["end"] + 1)}
                compared += len(told)
                assert {number for _, number in _numbers(seen)} <= told, (call, reply.text[:200])
                assert len(told - {number for _, number in _numbers(seen)}) <= 1, (call, reply.text[:200])
    assert compared > 100


def _call_in(
    workspace: Workspace, name: str, tool: str, arguments: dict[str, Any], folder: Path
) -> tuple[str, dict[str, Any]] | None:
    if name == "coder":
        known = arguments.keys() <= {"path", "offset", "limit"} and arguments.get("limit", 1) > 0
        path = str(folder / str(arguments.get("path")))
        return ("read_file", {**arguments, "path": path}) if tool == "read_file" and known else None
    try:
        call = replay.call_in(workspace, name, tool, arguments)
    except ReadroomError:
        return None
    return None if call is None else (call.tool, dict(call.arguments))


@each(
    ("text", "lines", "cut"),
    [
        ("a.py | lines 1-2 of 9 (more below) | sha256:0\n1\tx\n2\ty\n[7 lines not shown.]", [1, 2], True),
        ("a.py | lines 1-2 of 2 | sha256:0\n1\tx\n2\ty", [1, 2], False),
        ("a.py | line 7 of 9, characters 5-9 of 12 (more) | sha256:0\n7:5\txyzzy [+3 chars]\n[x]", [7], True),
        ("2 matches in 1 file (more: limit)\na.py\n3\tx\n4-\ty\n[Next: z]", [3, 4], True),
        ("2 matches in 1 file\na.py\nin Shop:\n3\tx\noutside:\n8\tx\n[end of matches]", [3, 8], False),
        ("3 passages in 1 file | 9 files\na.py | lines 3-4, 8 of 9 | sha256:0\n3\tx\n4\ty\n…\n8\tz\n"
         "[2 more passages.]", [3, 4, 8], True),
        ("a.py | outline | python, 9 lines | 2 of 2 | sha256:0\n1-2 def x\n3-9 def y\n[end]", [], False),
        ("a.pdf | pages 1-2 of 9 (more below) | sha256:0\npage 1:\n1\tx\n[Next: y]", [], True),
    ],
)  # fmt: skip
def test_wordings_of_any_version_are_read(text: str, lines: list[int], cut: bool) -> None:
    tool = "grep_files" if "matches" in text else "find_relevant" if "passages" in text else "read_file"
    call = Called("s", "c", tool, {"path": "a.py"}, server="readroom")
    seen = evidence(call, Returned("s", "c", text, False), Known())
    assert sorted(number for _, number in _numbers(seen)) == lines
    assert {file for file, _ in _numbers(seen)} <= {"a.py"}
    assert (seen.cut_by == "server") == cut


def test_lines_of_a_command_of_ours_are_those_of_its_output() -> None:
    text = "exit 0 | 0.1 s | stdout 2 lines | bubblewrap, no network\n1\tone\n2\ttwo\n[end of output]"
    call = Called("s", "c", "run_command", {"command": "sed -n 5,6p a.py"}, server="readroom")
    seen = evidence(call, Returned("s", "c", text, False), Known())
    assert [(run.file, run.first, run.lines) for run in seen.runs] == [("a.py", 5, ("one", "two"))]
    cut = text.replace("2 lines", "9 lines (cut)")
    assert evidence(call, Returned("s", "c", cut, False), Known()).runs == ()


@needs_git
def test_lines_with_their_commits_are_read_back(tmp_path: Path) -> None:
    """The commits between the lines are none of them."""
    git(tmp_path, "init", "-q")
    (tmp_path / "a.py").write_text("one = 1\n2\ttwo\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "9\tabc | lines 1-2 of 3")
    lines = ["one = 1", "new", "2\ttwo"]
    (tmp_path / "a.py").write_text("\n".join(lines) + "\n")
    with Workspace(tmp_path) as workspace:
        arguments = {"show": "blame", "path": "a.py"}
        reply = workspace.call("git", arguments)
        assert not reply.is_error, reply.text
        seen = _seen("git", arguments, reply)
    assert (seen.kind, _wrong(seen, {"a.py": lines})) == ("read", [])
    assert _numbers(seen) == {("a.py", 1), ("a.py", 2), ("a.py", 3)}
