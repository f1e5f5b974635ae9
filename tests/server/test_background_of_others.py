"""A background command of one process, seen, waited for and ended through another of the same server."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from readroom.core.caller import Caller
from readroom.core.config import Settings
from readroom.core.engine.command import posted
from readroom.core.errors import NoSuchCommand, TooManyCommands
from readroom.core.limits import RUN_BACKGROUND_OWN, Limits
from readroom.core.policy.commands import CommandPolicy
from readroom.core.workspace import Workspace
from readroom.server.shared import StatePolicy
from readroom.server.shared.state import SharedState
from tests.core.engine.command.running import BEST, PATIENCE_S, lines, processes, when

ONE, OTHER = Caller(session="t:one", token="t"), Caller(session="t:other", token="t")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


@pytest.fixture
def two(tmp_path: Path, root: Path) -> Iterator[tuple[Workspace, Workspace]]:
    """Two processes of a server, as far as they share nothing but its state."""
    policy = StatePolicy(file=str(tmp_path / "state.sqlite3"))
    commands = CommandPolicy(enabled=True, confinement=BEST)
    settings = replace(Settings(commands=commands), limits=Limits(run_session_bytes=2**20 * 64))
    with ExitStack() as opened:
        found = []
        for _ in range(2):
            state = SharedState(policy, "server", several=True)
            opened.callback(state.close)
            found.append(opened.enter_context(Workspace(root, settings=settings, state=state)))
        yield found[0], found[1]


def test_another_process_sees_waits_and_ends(root: Path, two: tuple[Workspace, Workspace]) -> None:
    here, there = two
    mark = f"31340.{os.getpid()}"
    os.mkfifo(root / "gate")
    command = f"echo first; cat gate; echo oops >&2; seq 1000; sleep {mark}"
    name: Any = here.perform("run_command", {"command": command, "background": True}, caller=ONE).facts["id"]

    def check(**more: Any) -> Any:
        return there.perform("check_command", {"id": name, **more}, caller=ONE)

    commands: Any = there.perform("check_command", {}, caller=ONE).facts["commands"]
    assert [(one["id"], one["running"]) for one in commands] == [(name, True)]
    assert check(until="^first$", wait_s=PATIENCE_S).facts["matched"]["line"] == 1
    threading.Thread(target=(root / "gate").write_text, args=("go\n",)).start()
    reply = check(until="^1000$", wait_s=PATIENCE_S)
    assert (reply.facts["matched"]["line"], lines(reply, "stderr")) == (1002, ["oops"])
    tail = there.perform("read_file", {"path": f"/.outputs/{name}.stdout", "offset": -1}, caller=ONE)
    assert "1002\t1000" in tail.text
    with pytest.raises(NoSuchCommand):
        there.perform("check_command", {"id": name}, caller=OTHER)
    check(signal="terminate", wait_s=PATIENCE_S)
    when(lambda: not check().facts["running"])
    assert check().facts["exit_code"] == 143
    assert processes(f"sleep\0{mark}") == []
    assert here.perform("check_command", {"id": name}, caller=ONE).facts["asked"] == "terminate"


def test_one_that_is_written_anew_is_shown_with_its_end(two: tuple[Workspace, Workspace]) -> None:
    here, there = two
    arguments: dict[str, Any] = {"command": "seq 500000; echo the end; exit 3", "background": True}
    name: Any = here.perform("run_command", arguments, caller=ONE).facts["id"]
    reply = there.perform("check_command", {"id": name, "wait_s": PATIENCE_S}, caller=ONE)
    assert reply.facts["exit_code"] == 3
    outputs: Any = reply.facts["outputs"]
    assert outputs[0]["lost"]["bytes"] > 0
    assert lines(reply)[-1] == "the end"
    mine = here.perform("check_command", {"id": name}, caller=ONE)
    assert mine.facts["outputs"] == outputs


def test_all_processes_count(two: tuple[Workspace, Workspace]) -> None:
    arguments: dict[str, Any] = {"command": f"sleep 31341.{os.getpid()}", "background": True}
    for number in range(RUN_BACKGROUND_OWN):
        two[number % 2].perform("run_command", arguments, caller=ONE)
    for workspace in two:
        with pytest.raises(TooManyCommands):
            workspace.perform("run_command", arguments, caller=ONE)


def test_one_whose_process_is_gone_has_ended(
    two: tuple[Workspace, Workspace], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = two
    arguments: dict[str, Any] = {"command": f"sleep 31342.{os.getpid()}", "background": True}
    name: Any = here.perform("run_command", arguments, caller=ONE).facts["id"]
    monkeypatch.setattr(posted, "_GONE_S", -time.time())  # as if it had been posted long ago
    reply = there.perform("check_command", {"id": name}, caller=ONE)
    assert (reply.facts["running"], reply.facts["exit_code"]) == (False, None)
    assert "has ended" in reply.text
