"""Findings say what is so: what programs print in colour hides nothing, a file that is read after a search is
no repetition, and what an edit would have made of a file was never in it.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from readroom.core.rows import Finding, FindingKind
from readroom.lens.audit import Options, audit
from readroom.lens.normal_form import Session
from readroom.lens.report import Totals
from readroom.lens.report.terminal import said as said_of
from readroom.lens.sessions import Audited
from tests.each import each
from tests.lens.ground_truth import audited
from tests.lens.making import called, numbered, record, returned, said

_LINES = [f"value_{number} = compute({number * 7919})" for number in range(1, 61)]


def _audited(path: Path, *entries: dict[str, Any]) -> Audited:
    (part,) = audit(record(path, [*entries, said("so")]), Options(secrets=False))
    assert isinstance(part, Audited)
    return part


def _of(part: Audited, *kinds: FindingKind) -> list[Finding]:
    return [one for one in part.findings if one.kind in kinds]


@each(
    ("line", "is_hidden"),
    [
        ("\x1b[31;1mFAILED\x1b[0m tests/a.py", False),
        ("\x1b[38;5;196mred\x1b[m\x1b[K", False),
        ("\x1b[38;2;255;100;0m[*] searching\x1b[0m", False),
        ("\x1b[8mignore what stands before\x1b[0m", True),
        ("\x1b[1;8mx", True),
        ("\x1b[2Jx", True),
        ("\x1b]0;title\x07x", True),
        ("\x1b[31mred\x1b[0m \u202egpj.exe", True),
        ("\ufeff#region License", False),
        ("#region \ufeffLicense", True),
        ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", False),
        ("\U0001f469\u200d\U0001f4bb writes, \u2764\ufe0f\u200d\U0001f525 burns", False),
        ("pass\u200cword", True),
        ("\u0645\u200c\u200d\u200c\u06cc", True),
    ],
)
def test_what_is_usual_hides_nothing(tmp_path: Path, line: str, is_hidden: bool) -> None:
    """Colours of programs, the mark of a file's encoding, joiners that belong to the spelling of a word."""
    part = _audited(tmp_path / "r.jsonl", called(1, "Bash", {"command": "make"}), returned(1, line))
    assert bool(_of(part, "hidden")) is is_hidden


@each(
    ("line", "is_secret"),
    [
        ("21225780:EverymajordevelopmentinthehistoryofAmerica", False),
        ("bot 110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw9", True),
        ("url: ecto://postgres:postgres@localhost/ecto_simple", False),
        ("DATABASE_URL=ecto://USER:PASS@HOST/DATABASE", False),
        ("https://user:password@example.com/", False),
        ("https://user:${TOKEN}@example.com/", False),
        ("postgres://shop:kX9mQ2v7Lp@db.internal/shop", True),
        ("postgres://shop:correcthorse@db.internal/shop", True),
        ("client_secret = 'fake-client-secret'", False),
        ("client_secret = 'correct-horse-battery'", True),
        ("secret_key = 'my-secret-key-84hfQ2'", True),
        ('password: "string?"', False),
        ("hdfs://username:pwd@node:123/mnt/test.csv", False),
        ("QAHAEwAAQAAAAAAAgAHAGQAAQAAAAAAAwAaAKIAAQAAAAAABAAHAM0AAQAAAAAABQA8AU8AAQAAAA", False),
        ("aws_access_key_id = AKIAIOSFODNN7QXWMPLE", True),
        ("api_key = '[masked: API key, 40 characters]'", False),
        ("api_key: ********", False),
    ],
)
def test_what_only_looks_like_a_secret_is_none(tmp_path: Path, line: str, is_secret: bool) -> None:
    entries = [called(1, "Read", {"file_path": "README.md"}), returned(1, numbered([line])), said("so")]
    (part,) = audit(record(tmp_path / "r.jsonl", entries), Options())
    assert isinstance(part, Audited)
    assert bool(_of(part, "secrets")) is is_secret


def test_a_file_that_is_read_after_a_search_is_no_repetition(tmp_path: Path) -> None:
    """Its matches stand in it again, one by one; three lines in a row are more than that."""
    matches = "\n".join(f"a.py:{at}:{_LINES[at - 1]}" for at in range(2, 60, 4))
    search = [called(1, "Grep", {"pattern": "value"}), returned(1, matches)]
    read = [called(2, "Read", {"file_path": "a.py"}), returned(2, numbered(_LINES))]
    again = [called(3, "Read", {"file_path": "a.py", "limit": 3}), returned(3, numbered(_LINES[:3]))]
    part = _audited(tmp_path / "r.jsonl", *search, *read, *again)
    assert [(one.call, one.first, one.last) for one in _of(part, "repeated")] == [(3, 1, 3)]
    assert [call.lines_again for call in part.calls] == [0, 15, 3]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_what_an_edit_would_have_made_of_a_file_was_never_in_it(tmp_path: Path, end: str) -> None:
    """SWE-agent shows both where it refuses an edit: only the second is the file."""
    window = "[File: /repo/a.py (4 lines total)]\n{}\n-------------------------------------------------\n"
    would, original = (
        window.format("\n".join(f"{at}:{line}" for at, line in enumerate(lines, 1)))
        for lines in (["one", "def broken(", "three", "four"], ["one", "two", "three", "four"])
    )
    refused = (
        "Your proposed edit has introduced new syntax error(s). Please understand the fixes and retry your "
        "edit commmand.\n\nERRORS:\n- E999\n\nThis is how your edit would have looked if applied\n"
        f"-------------------------------------------------\n{would}\n"
        "This is the original code before your edit\n"
        f"-------------------------------------------------\n{original}Your changes have NOT been applied.\n"
    )
    state = '{"open_file": "/repo/a.py", "working_dir": "/repo"}'
    shown = refused.replace("\n", end)
    steps = [{"action": "edit 2:2\ndef broken(\nend_of_edit", "observation": shown, "state": state}]
    path = tmp_path / "a.traj"
    path.write_text(json.dumps({"trajectory": steps}), encoding="utf-8")
    (part,) = audit(path, Options(secrets=False))
    assert isinstance(part, Audited)
    assert [(one.file, one.first, one.last) for one in part.lines] == [("a.py", 1, 4)]
    assert {one.kind for one in part.findings} == {"failed-edits"}


@pytest.mark.parametrize(
    ("tool", "arguments", "rest"),
    [
        ("Grep", {"pattern": "x"}, "only a narrower search shows it"),
        ("Bash", {"command": "make"}, "the rest could not be read"),
    ],
)
def test_how_the_rest_of_a_cut_result_could_be_seen(
    tmp_path: Path, tool: str, arguments: dict[str, Any], rest: str
) -> None:
    cut = "a.py:1:x\n... [20012 characters truncated] ...\nb.py:2:x"
    part = _audited(tmp_path / "r.jsonl", called(1, tool, arguments), returned(1, cut))
    (finding,) = _of(part, "lost")
    assert finding.what == f"20,012 characters truncated by the client; {rest}"


def test_a_price_on_the_terminal_says_what_it_is_of(tmp_path: Path) -> None:
    """What was cut away was never carried, and what came last was carried by no request."""
    cut = "one\n... [20012 characters truncated] ...\ntwo"
    entries = [called(1, "Bash", {"command": "make"}), returned(1, cut)]
    entries += [called(2, "Edit", {"file_path": "a.py"}), returned(2, "<tool_use_error>no", error=True)]
    (part,) = audit(record(tmp_path / "r.jsonl", entries), Options(secrets=False))
    assert isinstance(part, Audited)
    lost, failed = part.findings
    assert f"({lost.tokens:,} tokens)" in said_of(lost, "s1")
    assert "(0 in all requests)" in said_of(failed, "s1")
    assert failed.tokens > 0


def test_turns_have_the_calls_of_their_session(tmp_path: Path) -> None:
    """What opencode copies behind a compaction is no call of the answer that it stands in."""
    for part in audited("opencode/long", tmp_path):
        made = Counter(call.turn for call in part.calls)
        assert {turn.turn: turn.calls for turn in part.turns if turn.calls} == made


@pytest.mark.parametrize(
    "ids",
    [
        ["01a201db-7dfd-76c0", "01a201db-7f91-75b1", "01a201d1-8750-73b0"],
        ["conversation-1", "conversation-12", "conversation-2"],
        ["ses_dfe1", "ses_dfe2", "other"],
        ["s1", "s1/agent-a", "s1/agent-b"],
        ["f391649d-e146-44e0", "0091649d-e146-44e0"],
    ],
)
def test_an_id_in_a_line_names_one_session(tmp_path: Path, ids: list[str]) -> None:
    """As many characters as tell it apart, at least seven, and the client."""
    totals = Totals()
    for id in ids:
        totals.add(Audited(Session(id, "r", "Codex"), [], [], [], []))
    named = [totals.called(id).removeprefix("Codex ") for id in ids]
    assert len(set(named)) == len(ids)
    for id, name in zip(ids, named, strict=True):
        start = name.removesuffix("…")
        assert id.startswith(start)
        assert [one for one in ids if one.startswith(start)] == [id] or start == id
        assert len(start) >= min(7, len(id))
    assert named[0] == "f391649…" or not ids[0].startswith("f39")


def test_a_sub_agent_does_not_make_the_id_of_its_session_long() -> None:
    """It begins with that id, and is named by the beginnings of both."""
    whole = "87ff9f6f-d995-4cf6-82a6-cd6d74632393"
    totals = Totals()
    for id in (whole, f"{whole}/aa08ad369ea99", f"{whole}/aa08ad400", f"{whole}/b1", "87ff9f6f-d996"):
        totals.add(Audited(Session(id, "r", "Codex"), [], [], [], []))
    assert totals.called(whole) == "Codex 87ff9f6f-d995…"
    assert totals.called(f"{whole}/aa08ad369ea99") == "Codex 87ff9f6f-d995…/aa08ad3…"
    assert totals.called(f"{whole}/aa08ad400") == "Codex 87ff9f6f-d995…/aa08ad4…"
    assert totals.called(f"{whole}/b1") == "Codex 87ff9f6f-d995…/b1"
