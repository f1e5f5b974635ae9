"""Recorded sessions made again with our tools: what the model used is shown again, and at what price."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import readroom.core.contracts
from readroom.lens.audit import Options, audit
from readroom.lens.evidence import Known, evidence
from readroom.lens.normal_form import Replayed
from readroom.lens.records.events import Called, Returned
from readroom.lens.replay import Replay, workspace_at
from readroom.lens.sessions import Audited, Result
from tests.lens.ground_truth import audited
from tests.lens.making import called, numbered, record, returned, said
from tests.lens.project import restored
from tests.suites import daily

FITS = {
    "claude-code/tools": "inspect_agents",
    "codex/tools": "rnd",
    "gemini-cli/tools": "inspect_agents",
    "opencode/tools": "opencode",
    "kilo/tools": "opencode",
    "qwen-code/tools": "inspect_agents",
    "inspect/tools": "inspect_agents",
}
"""Sessions and the contracts that fit their clients."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return restored(tmp_path_factory.mktemp("shop"), tmp_path_factory.mktemp("records"))


def _replayed(session: str, folder: Path, project: Path) -> list[Replayed]:
    options = Options(secrets=False, replay=str(project))
    return [row for part in audited(session, folder, options) for row in part.replayed]


@daily(2, "session", FITS)
def test_no_line_that_was_used_is_missing(session: str, tmp_path: Path, project: Path) -> None:
    """Every read is made again and shows every line that was shown, but for the file that policy denies."""
    rows = _replayed(session, tmp_path, project)
    assert sum(row.missing for row in rows) == 0
    assert {row.contract for row in rows} == {"native", FITS[session]}
    reads = [row for row in rows if row.made.startswith(("read_file", "read {"))]
    denied = {row.file for row in reads if row.state == "denied" and row.contract != "rnd"}
    assert denied <= {".env"}
    # The command file of `rnd` denies logs and tables of data, too.
    # A picture and a line of 67,108 characters are not in the folder that was put together again.
    assert {row.file for row in reads if row.state == "gone"} <= {"static/logo.png", "static/app.min.js"}
    assert {row.state for row in reads} <= {"same", "changed", "denied", "gone"}
    for row in reads:
        if row.state == "same":
            assert row.kept_lines == row.then_lines


def test_under_a_contract_the_same_lines_are_shown_in_its_own_words(tmp_path: Path, project: Path) -> None:
    """Calls are those of the contract, and a read shows line for line what it showed then."""
    for session, contract in FITS.items():
        rows = [row for row in _replayed(session, tmp_path, project) if row.contract == contract]
        same = [row for row in rows if row.state == "same" and row.kept_lines]
        assert len(same) >= 4, session
        record = readroom.core.contracts.contract(contract)
        for row in same:
            tool, _, arguments = row.made.partition("; ")[0].partition(" ")
            record.bind(tool, json.loads(arguments))
            assert row.kept_lines == row.then_lines <= row.now_lines
            assert row.now_tokens


def test_a_framework_is_made_again_in_the_contract_that_takes_its_calls(
    tmp_path: Path, project: Path
) -> None:
    """Tools of frameworks have any names: those that a contract takes as they stand say which fits."""
    for session, contracts in (
        ("pydantic-ai/tools", {"native", "everruns"}),
        ("messages/claude-code", {"native"}),
    ):
        rows = _replayed(session, tmp_path, project)
        assert {row.contract for row in rows} == contracts
        assert sum(row.missing for row in rows) == 0


def test_lines_that_no_reply_reaches_are_missing_when_they_were_used(tmp_path: Path) -> None:
    """Where replies are so small that the last line is not reached, the count says so in each contract."""
    lines = [f"value_{number} = {number * 7919}" for number in range(1, 8001)]
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/a.py").write_text("".join(line + "\n" for line in lines))
    (tmp_path / "shop/readroom.toml").write_text("[limits]\nreply_bytes = 2048\n")
    path = record(
        tmp_path / "r.jsonl",
        [
            called(1, "Read", {"file_path": "/home/dev/shop/a.py"}),
            returned(1, numbered(lines)),
            said(f"{lines[0]}\n{lines[-1]}\n{lines[-2]}"),
        ],
    )
    (part,) = audit(path, Options(secrets=False, replay=str(tmp_path / "shop")))
    assert isinstance(part, Audited)
    assert [(row.contract, row.missing) for row in part.replayed] == [("native", 2), ("inspect_agents", 2)]


def test_what_would_have_come_has_its_price(tmp_path: Path, project: Path) -> None:
    """The same lines, in one reply or in several, cost about what they cost in the form of opencode."""
    rows = [row for row in _replayed("opencode/tools", tmp_path, project) if row.state == "same"]
    rows = [row for row in rows if row.contract == "native"]
    same = [row for row in rows if row.kept_lines == row.then_lines and row.made.startswith("read_file")]
    assert len(same) >= 6
    then, now = sum(row.then_tokens for row in same), sum(row.now_tokens for row in same)
    assert [row.now_lines for row in same] == [row.then_lines for row in same]
    assert 0.9 * then < now < 1.02 * then


def test_lines_that_differ_today_are_told_as_changed(tmp_path: Path, project: Path) -> None:
    """What stands in the file now is compared line by line with what was shown."""
    lines = (project / "app/tax.py").read_text(encoding="utf-8").split("\n")[:20]
    told = [*lines[:9], "something else", *lines[10:]]
    path = record(
        tmp_path / "r.jsonl",
        [
            called(1, "Read", {"file_path": "/home/dev/shop/app/tax.py"}),
            returned(1, numbered(told)),
            said("so"),
        ],
    )
    (part,) = audit(path, Options(secrets=False, replay=str(project)))
    assert isinstance(part, Audited)
    assert [row.contract for row in part.replayed] == ["native", "inspect_agents"]
    for row in part.replayed:
        assert (row.state, row.changed_lines, row.kept_lines) == ("changed", 1, 19)


def test_a_line_that_only_the_record_had_and_the_model_used_is_not_missing(
    tmp_path: Path, project: Path
) -> None:
    """A line is missing when it stands in the file and was not shown; what is gone from the file is
    changed.
    """
    path = record(
        tmp_path / "r.jsonl",
        [
            called(1, "Read", {"file_path": "/home/dev/shop/app/main.py"}),
            returned(1, numbered(["a line that is no longer there"] * 40)),
            said("I saw: a line that is no longer there\na line that is no longer there"),
        ],
    )
    from readroom.lens.audit import audit
    from readroom.lens.sessions import Audited

    (part,) = audit(path, Options(secrets=False, replay=str(project)))
    assert isinstance(part, Audited)
    assert [row.missing for row in part.replayed] == [0, 0]


def _audit(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "readroom", "audit", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )


def test_a_replay_at_a_commit_sees_what_git_has_there(tmp_path: Path) -> None:
    """The folder has moved on; the session is compared with what it worked on, and nothing in the folder
    changes.
    """
    root = tmp_path / "shop"
    root.mkdir()
    (root / "a.py").write_text("first = 1\nsecond = 2\n")
    git = ["git", "-C", str(root), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    (root / "a.py").write_text("other = 1\nsecond = 2\n")
    path = record(
        tmp_path / "r.jsonl",
        [
            called(1, "Read", {"file_path": "/home/dev/shop/a.py"}),
            returned(1, numbered(["first = 1", "second = 2"])),
            said("x"),
        ],
    )
    states = []
    for commit in ([], ["--commit", "HEAD"]):
        rows = tmp_path / f"rows{len(commit)}.jsonl"
        done = _audit(str(path), "--replay", str(root), *commit, "--jsonl", str(rows), "--no-secrets")
        assert done.returncode == 0, done.stderr
        found = [json.loads(line) for line in rows.read_text().split("\n") if line]
        states.append(Counter(row["state"] for row in found if row["row"] == "replayed"))
    assert states == [Counter(changed=2), Counter(same=2)]
    assert (root / "a.py").read_text() == "other = 1\nsecond = 2\n"


def test_a_commit_is_taken_whole_and_its_links_lead_nowhere(tmp_path: Path) -> None:
    """Files that are kept from releases are there, and links that lead out are not followed."""
    root = tmp_path / "shop"
    (root / "docs").mkdir(parents=True)
    (tmp_path / "outside.py").write_text("first = 1\n")
    (root / ".gitattributes").write_text("docs export-ignore\n")
    (root / "docs/a.py").write_text("first = 1\n")
    (root / "out.py").symlink_to("../outside.py")
    (root / "absolute.py").symlink_to(tmp_path / "outside.py")
    (root / "in.py").symlink_to("docs/a.py")
    git = ["git", "-C", str(root), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    entries: list[dict[str, Any]] = []
    for number, name in enumerate(("docs/a.py", "in.py", "out.py", "absolute.py")):
        entries += [
            called(number, "Read", {"file_path": f"/home/dev/shop/{name}"}),
            returned(number, numbered(["first = 1"])),
        ]
    path, rows = record(tmp_path / "r.jsonl", [*entries, said("x")]), tmp_path / "rows.jsonl"
    line = (str(path), "--replay", str(root), "--commit", "HEAD", "--jsonl", str(rows), "--no-secrets")
    done = _audit(*line)
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in rows.read_text().split("\n") if line]
    replayed = [row for row in found if row["row"] == "replayed" and row["contract"] == "native"]
    states = {row["file"]: row["state"] for row in replayed}
    assert states == {"docs/a.py": "same", "in.py": "same", "out.py": "denied", "absolute.py": "denied"}


def test_what_a_partial_clone_lacks_is_not_fetched(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        names = ("-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "uploadpack.allowFilter=true")
        subprocess.run(["git", *names, *words], check=True, capture_output=True)

    origin, root = tmp_path / "origin", tmp_path / "root"
    git("init", "-q", str(origin))
    (origin / "a.py").write_text("first = 1\n")
    for words in (["add", "."], ["commit", "-qm", "one"]):
        git("-C", str(origin), *words)
    git("-C", str(origin), "config", "uploadpack.allowFilter", "true")
    git("clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{origin}", str(root))
    path = record(tmp_path / "r.jsonl", [called(1, "Read", {"file_path": "/home/dev/shop/a.py"}), said("x")])
    done = _audit(str(path), "--replay", str(root), "--commit", "HEAD")
    assert done.returncode
    assert "git has no content of 'a.py' at that commit" in done.stderr


def test_a_commit_that_git_does_not_know_is_said(tmp_path: Path) -> None:
    path = record(
        tmp_path / "r.jsonl", [called(1, "Read", {"file_path": "a"}), returned(1, "1\ta"), said("x")]
    )
    for name in ("nowhere", "--output=x"):
        done = _audit(str(path), "--replay", str(tmp_path), f"--commit={name}")
        assert done.returncode == 2
        assert f"--commit '{name}' is unknown to git" in done.stderr
        assert "Use a commit, branch or tag" in done.stderr
    assert sorted(found.name for found in tmp_path.iterdir()) == ["r.jsonl"]


def test_how_busy_the_machine_is_changes_nothing_of_a_replay(tmp_path: Path) -> None:
    """A window of source code brings the outline of the rest, unless that takes too long: a clock that goes
    on by three tenths of a second at each look gives the same rows as one that stands.
    """
    root = tmp_path / "shop"
    root.mkdir()
    lines = [f"def function_{number}(): return {number}" for number in range(400)]
    (root / "a.py").write_text("".join(line + "\n" for line in lines))
    called_ = Called("s", "c", "read_file", {"path": "a.py", "offset": 100, "limit": 50})
    shown = Returned("s", "c", "\n".join(f"{number}\t{lines[number - 1]}" for number in range(100, 150)))
    result = Result(
        1, 1, 0, called_, shown, evidence(called_, shown, Known()), 1, "", [], "SWE-agent",
    )  # fmt: skip
    rows = []
    for step in (0.0, 0.3):
        with workspace_at(str(root)) as workspace:
            looks = count()
            replay = Replay(workspace, Characters(), lambda step=step, looks=looks: step * next(looks))  # type: ignore[misc]
            replay.result(result)
            rows.append(replay.rows())
    assert rows[0] == rows[1]
    assert {row.state for row in rows[0]} == {"same"}


class Characters:
    """Counts characters."""

    exact = True

    def count(self, text: str) -> int:
        return len(text)


def test_a_replay_at_a_commit_has_its_submodules_and_says_which_are_not_there(tmp_path: Path) -> None:
    """Each at the commit that the repository names; names with blanks, and links last of all."""
    names = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "protocol.file.allow=always"]

    def git(folder: Path, *words: str) -> None:
        subprocess.run(["git", "-C", str(folder), *names, *words], check=True, capture_output=True)

    root = tmp_path / "my shop"
    for folder, content in ((tmp_path / "lib", "lib_then = 1\n"), (tmp_path / "gone", "x\n"), (root, "y\n")):
        folder.mkdir()
        (folder / "the file.py").write_text(content)
        git(folder, "init", "-q")
        git(folder, "add", ".")
        git(folder, "commit", "-qm", "one")
    for name in ("lib", "gone"):
        git(root, "submodule", "add", "-q", str(tmp_path / name), f"the parts/{name}")
    git(root, "commit", "-qam", "with parts")
    (root / "the parts/lib/the file.py").write_text("lib_now = 2\n")
    git(root / "the parts/lib", "commit", "-qam", "moved on")
    git(root, "submodule", "deinit", "-f", "the parts/gone")
    entries = []
    for number, name in enumerate(("lib", "gone"), 1):
        file = f"/home/dev/shop/the parts/{name}/the file.py"
        entries += [called(number, "Read", {"file_path": file}), returned(number, numbered(["lib_then = 1"]))]
    path = record(tmp_path / "r.jsonl", [*entries, said("x")])
    rows = tmp_path / "rows.jsonl"
    done = _audit(str(path), "--replay", str(root), "--commit", "HEAD", "--jsonl", str(rows), "--no-secrets")
    assert done.returncode == 0, done.stderr
    assert "the parts/gone" in done.stderr
    assert "the parts/lib" not in done.stderr
    found = [json.loads(line) for line in rows.read_text().split("\n") if line]
    assert {row["file"]: row["state"] for row in found if row["row"] == "replayed"} == {
        "the parts/lib/the file.py": "same",
        "the parts/gone/the file.py": "gone",
    }
