"""A few NULs hide nothing of an output, and what is binary is offered no call that does not show it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from readroom.core.policy.commands import PATH
from readroom.core.workspace import Workspace
from tests.core.engine.command.running import codes, follow, lines, output, room

PYTHON = shutil.which("python3", path=PATH)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root" / "out").mkdir(parents=True)
    return tmp_path / "root"


@pytest.fixture(params=[False, True], ids=["kept", "one shot"])
def workspace(root: Path, request: pytest.FixtureRequest) -> Iterator[Workspace]:
    with room(root, one_shot=request.param) as found:
        yield found


FAILED = "FAILED tests/test_a.py"

FEW = {
    "one": (r"seq 3; printf '\0'; echo " + FAILED, "\u2400" + FAILED),
    "first of all": (r"printf '\0'; seq 3; echo " + FAILED, FAILED),
    "between names": (r"printf 'a.py\0src/b.py\0'; echo; echo " + FAILED, FAILED),
    "a hole": (r"echo begun of a longer log line; head -c 20 /dev/zero; echo; echo " + FAILED, FAILED),
    "late": (r"seq 3000; printf 'x\0\n'; echo " + FAILED, FAILED),
    "in the failing line": (r"seq 3; printf 'FAILED\0 tests/test_a.py\n'", "FAILED\u2400 tests/test_a.py"),
    "beside letters": (r"echo Grüße aus Köln; printf '\0\0'; echo " + FAILED, "\u2400" + FAILED),
}


@pytest.mark.parametrize("name", FEW)
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
@pytest.mark.parametrize("level", ["concise", "full"])
def test_a_few_nuls_are_shown_as_a_sign_and_warned_of(
    workspace: Workspace, name: str, stream: str, level: Any
) -> None:
    command, line = FEW[name]
    more = " >&2" if stream == "stderr" else ""
    reply = workspace.run(f"{{ {command}; }}{more}; exit 1", output=level)
    assert line in lines(reply, stream), reply.text
    assert "\0" not in reply.text
    assert "None" not in reply.text
    shown = "".join(lines(reply, stream))
    assert ("control_character" in codes(reply)) == ("\u2400" in shown)
    assert not output(reply, stream)["binary"]


def test_what_is_cut_of_it_is_read_with_the_call_that_is_named(root: Path) -> None:
    with room(root) as workspace:
        reply = workspace.run(r"printf 'a\0b\n'; seq 5000")
        shown = {line.partition("\t")[0] for line in reply.text.split("\n")[1:-1]}
        call: Any = reply.facts["next"]
        while call is not None:
            page = follow(workspace, call)
            shown |= {line.partition("\t")[0] for line in page.text.split("\n")}
            call = page.facts["next"]
        assert {str(number) for number in range(1, 5002)} <= shown
        begun = follow(workspace, {"tool": "read_file", "arguments": {"path": output(reply)["path"]}})
        assert "binary" not in begun.text


@pytest.mark.parametrize(
    "command",
    [
        "head -c 5000 /bin/sh",
        "gzip -c /bin/sh | head -c 9000",
        "head -c 3000 /dev/zero",
        "head -c 4096 /dev/urandom",
        pytest.param(
            "python3 -c 'import marshal, sys, posixpath as p;"
            ' code = compile(open(p.__file__).read(), str(), str("exec"));'
            " sys.stdout.buffer.write(marshal.dumps(code))'",
            marks=pytest.mark.skipif(PYTHON is None, reason="NOT TESTED: no Python that commands see"),
        ),
    ],
)
@pytest.mark.parametrize("level", ["concise", "full"])
def test_what_is_binary_is_offered_no_call_that_does_not_show_it(
    workspace: Workspace, command: str, level: Any
) -> None:
    reply = workspace.run(f"{command}; exit 1", output=level)
    assert output(reply)["binary"], reply.text
    assert 'output="full"' not in reply.text
    assert "to a file" in reply.text
    assert workspace.run(f"{command} > out/f; wc -c < out/f").facts["exit_code"] == 0
