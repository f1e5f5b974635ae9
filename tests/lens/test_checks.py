"""Audits as checks: limits of `--fail-on`, a comparison with before, and annotations of a pull request."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from readroom.cli.exits import ExitCode
from readroom.core.rows import FINDINGS, Finding
from readroom.lens.gates import gates, share_of
from readroom.lens.normal_form import Session
from readroom.lens.report import Sum, Totals
from readroom.lens.report.annotations import commands
from readroom.lens.sessions import Audited
from tests.cli.running import Cli
from tests.each import each
from tests.lens.making import called, numbered, record, returned, said

ACTION = Path(__file__).parents[2] / ".github" / "actions" / "audit" / "action.yml"


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(tmp_path, capsys)


def _twice(path: Path) -> Path:
    """A session in which ten lines were shown again."""
    text = numbered([f"value_{at} = compute({at * 7919})" for at in range(10)])
    entries = [called(1, "Read", {"file_path": "a.py"}), returned(1, text)]
    entries += [called(2, "Read", {"file_path": "a.py"}), returned(2, text)]
    return record(path, [*entries, said("so")])


@each(
    ("asked", "code"),
    [
        ("repeated", ExitCode.FOUND), ("repeated>0", ExitCode.FOUND), ("repeated>1", ExitCode.OK),
        ("repeated > 1, secrets", ExitCode.OK), ("repeated>20%", ExitCode.FOUND),
        ("repeated>99%", ExitCode.OK), ("repeated>99.5 %,repeated", ExitCode.FOUND), ("any>5", ExitCode.OK),
        ("any>0.5", ExitCode.FOUND), ("floods>0%", ExitCode.OK),
    ],
)  # fmt: skip
def test_a_check_fails_beyond_its_limit(asked: str, code: int, tmp_path: Path, cli: Cli) -> None:
    done = cli.bare("audit", str(_twice(tmp_path / "r.jsonl")), "--fail-on", asked)
    assert done.code == code, done.err
    assert ("--fail-on found: repeated" in done.err) is (code == ExitCode.FOUND)


@each(
    "asked",
    ["repeated>", "repeated>x", "repeated<5", "repeated>-1", "sercets>5%", ">5%", "repeated>5%%", " , "],
)
def test_what_is_no_condition_is_refused(asked: str, tmp_path: Path, cli: Cli) -> None:
    """A check that is written wrongly must not pass."""
    done = cli.bare("audit", str(_twice(tmp_path / "r.jsonl")), "--fail-on", asked)
    assert done.code == ExitCode.USAGE
    assert "repeated>5%" in done.err


def test_shares_are_of_what_was_carried_and_of_what_was_cut() -> None:
    totals = Totals()
    totals.result_tokens, totals.carried_tokens = 300, 1000
    totals.kinds = {"repeated": Sum(2, 1, 10, 50), "lost": Sum(1, 1, 100, 0)}
    assert share_of(totals, "repeated") == pytest.approx(5.0)
    assert share_of(totals, "lost") == pytest.approx(25.0)
    assert [gate.failed(totals) for gate in gates("repeated>5%,lost>25%")] == ["", ""]
    assert all(gate.failed(totals) for gate in gates("repeated>4.9%,lost>24.9%"))


def test_two_audits_are_compared_for_the_work_that_was_done(tmp_path: Path, cli: Cli) -> None:
    """Twice the work with the same habits is no change for 100 calls."""
    path = _twice(tmp_path / "r.jsonl")
    old = tmp_path / "old.json"
    old.write_text(cli.bare("audit", str(path), "--json").out)
    (tmp_path / "s.jsonl").write_text(
        path.read_text()
        .replace('"s1"', '"s2"')
        .replace('"m1"', '"n1"')
        .replace('"m2"', '"n2"')
        .replace('"end"', '"e2"')
    )
    out = cli.bare("audit", str(path), str(tmp_path / "s.jsonl"), "--compare", str(old)).out
    rows = {
        line[:40].strip(): line[40:].split() for line in out.split("\n") if line[66:].rstrip().endswith("%")
    }
    assert rows["calls"] == ["2", "4", "+100", "%"]
    assert rows["repeated, for 100 calls"] == ["50.0", "50.0", "+0", "%"]
    for text in ("", "{}", '{"form": 1}', "[1]"):
        old.write_text(text)
        done = cli.bare("audit", str(path), "--compare", str(old))
        assert done.code == ExitCode.USAGE
        assert "audit --json" in done.err


def test_annotations_name_files_and_lines_and_what_fails_is_an_error(tmp_path: Path, cli: Cli) -> None:
    done = cli.bare(
        "audit", str(_twice(tmp_path / "r.jsonl")), "--annotations", "--fail-on", "repeated", "--no-secrets"
    )
    (line,) = (line for line in done.out.split("\n") if line.startswith("::"))
    assert line.startswith("::error file=a.py,title=repeated%3A unchanged lines shown again while in view,")
    assert "line=1,endLine=10::" in line
    out = cli.bare("audit", str(tmp_path), "--annotations", "--json")
    assert json.loads(out.out)
    assert "::warning file=a.py" in out.err


def test_no_text_of_a_record_becomes_a_command() -> None:
    """Names and excerpts are foreign: they may hold line feeds, commands and properties."""
    hostile = "x\n::set-output name=a::b\r\n::add-mask::c,line=9::%0A::error::d\x1b]0;e\x07\u202e"
    totals = Totals()
    findings = [
        Finding("s", kind, 1, 1, hostile, 1, 2, 3, 4, hostile, hostile)
        for kind in FINDINGS
        for _ in range(20)
    ]
    totals.add(Audited(Session("s" + hostile, "r", hostile, title=hostile), [], [], [], findings))
    made = list(commands(totals, {"secrets"}))
    assert len(made) == 20
    for line in made:
        assert "\n" not in line
        assert "\r" not in line
        assert "\x1b" not in line
        head = re.match(r"::(?:error|warning) ([^:]*)::", line)
        assert head is not None
        assert [pair.partition("=")[0] for pair in head[1].split(",")] == ["file", "title", "line", "endLine"]


def test_files_outside_the_repository_are_not_annotated() -> None:
    for name in ("/etc/passwd", "../x", "~/x", ".", ""):
        totals = Totals()
        found = [Finding("s", "secrets", 1, 1, name, 1, 1, 1, 1, "Key")]
        totals.add(Audited(Session("s", "r", "c"), [], [], [], found))
        (line,) = commands(totals, ())
        assert "file=" not in line


def _step() -> tuple[dict[str, Any], str]:
    action = yaml.safe_load(ACTION.read_text(encoding="utf-8"))
    (run,) = (step["run"] for step in action["runs"]["steps"] if "readroom audit" in step["run"])
    return action, run


def test_the_action_takes_inputs_from_variables_and_never_into_a_script() -> None:
    action, _ = _step()
    text = ACTION.read_text(encoding="utf-8")
    assert all("${{" not in step["run"] for step in action["runs"]["steps"])
    assert set(re.findall(r"inputs\.([a-z-]+)", text)) == set(action["inputs"])


@pytest.mark.skipif(shutil.which("bash") is None, reason="the action is a script for bash")
@each(
    ("fail_on", "code"),
    [("repeated", ExitCode.FOUND), ("repeated>5,secrets", ExitCode.OK), ("nonsense", ExitCode.USAGE)],
)
def test_the_action_ends_as_the_audit_and_writes_a_summary(fail_on: str, code: int, tmp_path: Path) -> None:
    """The script of its step, run as GitHub runs it, with a folder below the home folder."""
    _, script = _step()
    (tmp_path / "home" / "of records").mkdir(parents=True, exist_ok=True)
    _twice(tmp_path / "home" / "of records" / "r.jsonl")
    program = tmp_path / "readroom" / "bin" / "readroom"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m readroom "$@"\n')
    program.chmod(0o755)
    summary = tmp_path / "summary"
    variables = {
        **os.environ, "HOME": str(tmp_path / "home"), "RUNNER_TEMP": str(tmp_path),
        "GITHUB_STEP_SUMMARY": str(summary), "FAIL_ON": fail_on, "COMPARE": "",
        "PATHS": "~/of records\n\n",
    }  # fmt: skip
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        capture_output=True, text=True, check=False, env=variables, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    if code != ExitCode.USAGE:
        assert "file=a.py" in done.stdout
        assert "Habits" in summary.read_text()
        assert "::" not in summary.read_text()
