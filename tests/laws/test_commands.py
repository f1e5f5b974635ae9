"""The laws under commands: no denied byte, replies within their caps, hints that work, faces alike."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from readroom.core import config
from readroom.core.contracts.base import tool_result
from readroom.core.limits import MIN_REPLY_BYTES, REPLY_BYTES
from readroom.core.stores.local import LocalStore
from readroom.core.values import Reply
from readroom.core.values.commands import Confinement
from readroom.core.workspace import Workspace
from tests.core.sandbox.cells import in_each_confinement
from tests.laws.driving import hints
from tests.laws.test_secrecy import CANARY, GHOST, Tree, planted, told, trees
from tests.mcp.serving import HANDSHAKE, STATELESS, Stdio, plain

LOOKS = (
    "find . ../outside ../outside.txt",
    "grep -r . . ../outside.txt ../outside",
    "cat * */* */*/* .e* .E* .git/* .ssh/* private/* 2>&1",
    "mkdir -p new; cp -r a src .env private .git new; mv .env private a .git new; ln -f .env hard.txt new; "
    "cat new/* new/*/*",
    "for l in link a/link src/l.txt l.py; do cat $l $l/*; ls -R $l/; done",
    "tar c . | tr -d '\\0'",
    "rm -f .readroomignore; chmod -R 777 .; cat private/* .env",
)


def run(workspace: Workspace, command: str, **more: Any) -> Reply:
    return workspace.call("run_command", {"command": command, "output": "full", **more})


@in_each_confinement
@settings(max_examples=12)
@given(tree=trees())
def test_no_command_sees_a_byte_of_a_denied_or_outside_file(confinement: Confinement, tree: Tree) -> None:
    """Version control is what policy shows to commands; here it is hidden, as from the tools.

    A link says where it leads to whoever may see the link.
    """
    names = [] if any(GHOST in to for to in tree.links.values()) else [GHOST]
    with planted("kernel", tree) as store:
        assert isinstance(store, LocalStore)
        found = config.load(store, allow_commands=True)
        commands = replace(found.commands, confinement=confinement, version_control="hidden")
        with Workspace(store, settings=replace(found, commands=commands)) as workspace:
            for command in LOOKS:
                reply = run(workspace, command)
                assert not reply.is_error, reply.text
                following = [workspace.call(call["tool"], call["arguments"]) for call in hints(reply)]
                for said in (reply, *following):
                    for secret in (CANARY, *names):
                        assert secret not in told(said), command


LINES = st.sampled_from(
    [
        "seq 3000",
        "head -c 9000 /dev/zero | tr '\\0' x; echo",
        "printf 'error: x\\n'",
        "printf 'a\\rb\\rc\\n%.0s' $(seq 99)",
        "printf '日本語\\n%.0s' $(seq 2000)",
        "head -c 3000 /dev/urandom",
        "printf '\\033[1mbold\\033[0m\\n'",
        "echo oops >&2",
        "seq 2000 >&2",
        "false",
        "kill -9 $$",
        "no-such-program",
        "sleep 9 &",
        "printf '\\377\\376a\\0'",
    ]
)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    store = config.open_store(tmp_path_factory.mktemp("laws"))
    with Workspace(store, settings=config.load(store, allow_commands=True)) as found:
        yield found


@settings(max_examples=20)
@given(
    parts=st.lists(LINES, min_size=1, max_size=4),
    output=st.sampled_from(["silent", "concise", "normal", "verbose", "full"]),
    cap=st.sampled_from([1, MIN_REPLY_BYTES, 3000, 11_500, 10**6]),
)
def test_every_reply_is_within_its_cap_and_every_hint_is_accepted(
    workspace: Workspace, parts: list[str], output: str, cap: int
) -> None:
    arguments = {"command": "; ".join(parts), "output": output}
    reply = workspace.call("run_command", arguments, reply_bytes=cap)
    assert not reply.is_error, reply.text
    assert len(reply.text.encode()) <= max(MIN_REPLY_BYTES, min(cap, REPLY_BYTES))
    json.dumps(reply.facts, allow_nan=False).encode()
    for call in list(hints(reply))[:6]:
        following = workspace.call(call["tool"], call["arguments"], reply_bytes=cap)
        assert not following.is_error, (call, following.text)


CALLS: tuple[dict[str, Any], ...] = (
    {"command": "cat a.txt; exit 3"},
    {"command": "cat .env; seq 3000 >&2", "output": "normal"},
    {"command": "pwd", "cwd": "sub"},
    {"command": "true", "cwd": "nothing"},
    {"command": "true", "cwd": ".."},
    {"command": ""},
    {"command": "true", "timeout_s": 0},
    {"command": "true", "cwd": 3},
    {},
)


def _same(result: Any) -> str:
    """A result without what is different each time: its name, and how long it took."""
    text = json.dumps(result, sort_keys=True)
    names = re.findall(r'"call_id": "(\w+)"', text)
    for name in names:
        text = text.replace(name, "NAME")
    text = re.sub(r'"duration_s": [\d.]+', "", re.sub(r"\| \d+\.\d s \|", "| s |", text))
    return re.sub(r'"tokens": \d+', "", text)


def test_faces_agree_on_commands(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.txt").write_text("hello\n")
    (tmp_path / ".env").write_text("canary\n")
    store = config.open_store(tmp_path)
    with (
        Workspace(store, settings=config.load(store, allow_commands=True)) as library,
        Stdio(tmp_path, "--allow-commands", version=HANDSHAKE) as stdio,
        Stdio(tmp_path, "--allow-commands", version=STATELESS) as stateless,
    ):
        for arguments in CALLS:
            expected = _same(tool_result(library.call("run_command", arguments)))
            assert _same(stdio.call("run_command", arguments)) == expected
            assert _same(plain(stateless.call("run_command", arguments))) == expected


def test_the_command_line_gives_the_same_reply_but_keeps_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from readroom.cli.main import main

    (tmp_path / "a.txt").write_text("hello\n")
    store = config.open_store(tmp_path)
    with Workspace(store, settings=config.load(store, allow_commands=True, one_shot=True)) as library:
        for arguments in CALLS[:2]:
            expected = _same(tool_result(library.call("run_command", arguments)))
            options = ["--root", str(tmp_path), "--allow-commands"]
            main(["call", *options, "run_command", json.dumps(arguments)])
            assert _same(json.loads(capsys.readouterr().out)) == expected
