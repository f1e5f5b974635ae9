"""opencode's bash: both streams as one, the end of a long output, and all of it in a file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from readroom.contracts.opencode.requests import CONTENT_BYTES, LINES
from readroom.core.limits import Limits
from readroom.core.workspace import Workspace
from tests.contracts.opencode.calling import call, refused, said
from tests.core.engine.command.running import room


@pytest.fixture
def space(tmp_path: Path) -> Iterator[Workspace]:
    (tmp_path / "root/sub").mkdir(parents=True)
    with room(tmp_path / "root") as found:
        yield found


@pytest.mark.clause("opencode.bash", "opencode.bash.none", "opencode.shell-output")
@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("echo hi", "hi\n"),
        ("printf 'no end'", "no end"),
        ("true", "(no output)"),
        ("exit 3", "(no output)"),
        ("printf 'a\\n\\nb\\n'", "a\n\nb\n"),
        ("printf '\\033[31mred\\033[0m\\n'", "red\n"),
    ],
)
def test_a_reply_is_what_the_command_printed(space: Workspace, command: str, text: str) -> None:
    assert said(space, "bash", command=command) == text


@pytest.mark.clause("opencode.bash")
def test_both_streams_are_one(space: Workspace) -> None:
    found = said(space, "bash", command="echo out; echo err >&2; echo more >&2")
    assert sorted(found.split("\n")) == ["", "err", "more", "out"]


@pytest.mark.clause("opencode.bash")
def test_a_command_starts_in_its_directory_and_its_exit_is_a_fact(space: Workspace) -> None:
    root = space.guard.folder
    for directory in ("sub", f"{root}/sub", "./sub/"):
        assert said(space, "bash", command="pwd", workdir=directory) == f"{root}/sub\n"
    assert said(space, "bash", command="pwd") == f"{root}\n"
    reply = call(space, "bash", command="exit 3")
    assert reply.facts["exit_code"] == 3
    for directory in ("nowhere", "..", "/"):
        refused(space, "bash", command="true", workdir=directory)


@pytest.mark.clause("opencode.bash.truncated")
@pytest.mark.parametrize(
    ("lines", "ended", "cut"),
    [
        (LINES - 1, True, False),
        (LINES, True, True),
        (LINES, False, False),
        (LINES + 1, False, True),
        (3 * LINES, True, True),
    ],
)
def test_of_more_than_2000_lines_the_end_is_shown(
    space: Workspace, lines: int, ended: bool, cut: bool
) -> None:
    command = f"seq 1 {lines}" if ended else f'printf %s "$(seq 1 {lines})"'
    reply = call(space, "bash", command=command)
    rows = [str(number) for number in range(1, lines + 1)] + ([""] if ended else [])
    if not cut:
        assert reply.text == "\n".join(rows)
        return
    outputs: Any = reply.facts["outputs"]
    path = outputs[0]["path"]
    end = "\n".join(rows[-LINES:])
    assert reply.text == f"...output truncated...\n\nFull output saved to: {path}\n\n{end}"
    first = said(space, "read", filePath=path, limit=1)
    assert first.startswith(f"<path>{path}</path>\n<type>file</type>\n<content>\n1: 1\n")
    assert f"{path}:\n  Line 7: 7\n" in said(space, "grep", pattern="^7$", path=path)


@pytest.mark.clause("opencode.bash.truncated")
def test_of_more_than_51200_bytes_whole_lines_of_the_end_are_shown(space: Workspace) -> None:
    reply = call(space, "bash", command="for i in $(seq 1 1000); do printf '%0100d\\n' $i; done")
    body = reply.text.partition(".stdout\n\n")[2]
    rows = body.split("\n")
    assert rows[-1] == ""
    assert len(body.encode()) == CONTENT_BYTES // 101 * 101
    assert [int(row) for row in rows[:-1]] == list(range(1001 - CONTENT_BYTES // 101, 1001))


@pytest.mark.clause("opencode.shell-output")
def test_of_one_long_line_the_beginning_is_shown(space: Workspace) -> None:
    reply = call(space, "bash", command="printf 'x%.0s' $(seq 1 60000)")
    assert reply.text.startswith("...output truncated...\n\nFull output saved to: /.outputs/")
    assert reply.text.endswith("\n\n" + "x" * CONTENT_BYTES)


@pytest.mark.clause("opencode.bash.timeout")
def test_a_command_that_takes_too_long_is_ended(space: Workspace) -> None:
    found = said(space, "bash", command="echo began; exec sleep 600", timeout=1000)
    assert found.endswith(
        "\n\n<shell_metadata>\nshell tool terminated command after exceeding timeout 1000 ms. If this "
        "command is expected to take longer and is not waiting for interactive input, retry with a larger "
        "timeout value in milliseconds.\n</shell_metadata>"
    )


@pytest.mark.clause("opencode.tools")
def test_bash_is_offered_only_where_policy_allows_commands(space: Workspace, tmp_path: Path) -> None:
    assert "bash" in [tool.name for tool in space.tools("opencode")]
    with Workspace(tmp_path / "root") as plain:
        names = [tool.name for tool in plain.tools("opencode")]
        assert names == ["read", "glob", "grep", "edit", "write", "apply_patch"]
        assert "Commands cannot be run here" in refused(plain, "bash", command="echo hi")


@pytest.mark.clause("opencode.shell-notes")
def test_what_was_not_kept_is_noted(tmp_path: Path) -> None:
    with room(tmp_path, limits=Limits(run_kept_bytes=4096)) as space:
        found = said(space, "bash", command="seq 1 3000")
    notes = found.partition("<shell_metadata>\n")[2]
    assert re.match(r"\d+ bytes of the output after line \d+ were not kept\.\n", notes)
    assert "\n2999\n3000\n" in found


def test_a_kept_output_cannot_be_changed(space: Workspace) -> None:
    reply = call(space, "bash", command="seq 1 3000")
    outputs: Any = reply.facts["outputs"]
    path = outputs[0]["path"]
    assert "kept output" in refused(space, "write", filePath=path, content="x")
    assert "kept output" in refused(space, "edit", filePath=path, oldString="1\n2\n3", newString="x")
