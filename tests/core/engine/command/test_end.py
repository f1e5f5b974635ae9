"""Commands that do not end by themselves, leave processes behind, or want too much."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from readroom.core.deadline import Deadline
from readroom.core.errors import Cancelled, Closed
from readroom.core.limits import Limits
from readroom.core.values import Fact
from readroom.core.values.commands import Confinement
from tests.core.engine.command.running import (
    PATIENCE_S,
    Telling,
    codes,
    ended_by_the_clock,
    follow,
    go_on,
    lines,
    output,
    processes,
    room,
    when,
)
from tests.core.sandbox.cells import in_each_confinement
from tests.suites import daily

MARK = "31337"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


@pytest.fixture
def mark() -> str:
    """A number of seconds to sleep, which nobody else sleeps."""
    return f"{MARK}.{os.getpid()}"


@in_each_confinement
def test_the_time_limit_ends_all_of_it_and_keeps_what_came_before(
    root: Path, confinement: Confinement, mark: str
) -> None:
    with room(root, confinement) as workspace:
        command = f"echo before; echo oops >&2; setsid sleep {mark} & sleep {mark}"
        reply = ended_by_the_clock(workspace, command, lambda reply: "oops" in lines(reply, "stderr"))
        assert not reply.is_error
        assert reply.text.startswith("time limit, ended (exit 143)")
        assert (lines(reply), lines(reply, "stderr")) == (["before"], ["oops"])
        assert "timeout_s gives it more time." in reply.text
        assert reply.facts["timed_out"] is True
        kept = follow(workspace, {"tool": "read_file", "arguments": {"path": output(reply)["path"]}})
        assert "1\tbefore" in kept.text
        assert processes(f"sleep\0{mark}") == []


@in_each_confinement
def test_what_will_not_end_when_asked_is_ended(root: Path, confinement: Confinement, mark: str) -> None:
    command = f"trap 'echo not me' TERM HUP INT; echo up; while :; do sleep {mark}; done"
    with room(root, confinement) as workspace:
        reply = ended_by_the_clock(workspace, command, lambda reply: "up" in lines(reply))
    assert reply.text.startswith("time limit, ended (exit 137)")
    assert lines(reply) == ["up", "not me"] or lines(reply)[0] == "up"
    assert processes(f"sleep\0{mark}") == []


@in_each_confinement
@daily(
    3,
    "way",
    [
        "sleep {mark} &",
        "nohup sleep {mark} >/dev/null 2>&1 &",
        "setsid sleep {mark} >/dev/null 2>&1 < /dev/null &",
        "(setsid sh -c '(sleep {mark} &) ; sleep {mark}' >/dev/null 2>&1 &) &",
        "(trap '' TERM HUP; setsid sh -c 'trap \"\" TERM HUP; sleep {mark}; sleep {mark}') &",
        "(trap '' TERM; i=0; while [ $i -lt 900 ]; do setsid sleep {mark} & i=$((i+1)); done) & sleep 0.1",
        "setsid sh -c 'kill -STOP $$; sleep {mark}' & sleep 0.2; sh -c 'sleep {mark} & kill -STOP $!'",
    ],
)
def test_nothing_is_left_behind(root: Path, confinement: Confinement, way: str, mark: str) -> None:
    with room(root, confinement) as workspace:
        reply = workspace.run(way.format(mark=mark) + "\necho done")
        assert lines(reply) == ["done"]
        assert not reply.facts["timed_out"]
        assert processes(f"sleep\0{mark}") == []


@in_each_confinement
def test_processes_that_are_left_behind_are_counted(root: Path, confinement: Confinement, mark: str) -> None:
    with room(root, confinement) as workspace:
        reply = workspace.run(f"sleep {mark} & setsid sleep {mark} & sleep 0.1")
        assert reply.facts["ended"] == 2
        assert "2 processes left behind and ended." in reply.text
        assert workspace.run("true").facts["ended"] == 0


@in_each_confinement
def test_a_grandchild_that_holds_the_pipe_does_not_keep_anybody_waiting(
    root: Path, confinement: Confinement, mark: str
) -> None:
    with room(root, confinement) as workspace:
        reply = workspace.run(f"echo early; (sleep 0.1; echo late; sleep {mark}) &", timeout_s=PATIENCE_S)
    assert lines(reply)[0] == "early"
    assert not reply.facts["timed_out"]


@in_each_confinement
@daily(
    1,
    "bomb",
    [
        "f() { if [ $1 -gt 0 ]; then f $(($1-1)) & f $(($1-1)) & fi; sleep 99; }; f 11",
        "i=0; while [ $i -lt 3000 ]; do setsid sleep 99 & i=$((i+1)); done; wait",
    ],
    ids=["doubling", "one after the other"],
)
def test_a_command_with_too_many_processes_is_ended(root: Path, confinement: Confinement, bomb: str) -> None:
    with room(root, confinement, limits=Limits(run_processes=60)) as workspace:
        reply = workspace.run(bomb, timeout_s=PATIENCE_S)
        assert "many" in codes(reply)
        assert "more than 60 processes" in reply.text
        assert not reply.facts["timed_out"]
        assert workspace.run("echo alive").facts["exit_code"] == 0


@in_each_confinement
def test_processes_of_others_that_end_make_no_room_for_more(
    root: Path, confinement: Confinement, mark: str
) -> None:
    begin = f"i=0; while [ $i -lt 100 ]; do sleep {mark} & i=$((i+1)); done; wait"
    others = subprocess.Popen(["sh", "-c", begin])
    os.mkfifo(root / "gate")
    when(lambda: len(processes(f"sleep\0{mark}")) == 100)

    def make_room(unit: str) -> None:
        if processes("cat\0gate"):
            if others.returncode is None:
                for pid in processes(f"sleep\0{mark}"):
                    os.kill(pid, signal.SIGKILL)
                others.wait()  # which has buried all of them
            go_on(root)

    with room(root, confinement, limits=Limits(run_processes=60)) as workspace:
        options: dict[str, Fact] = {"command": f"cat gate; {begin}", "timeout_s": PATIENCE_S}
        reply = workspace.perform("run_command", options, deadline=Telling(make_room))
    assert "more than 60 processes" in reply.text


@in_each_confinement
def test_memory_is_taken_from_the_command_first(root: Path, confinement: Confinement, mark: str) -> None:
    """When memory runs out the system ends what has the highest score."""
    with room(root, confinement) as workspace:
        assert lines(workspace.run("cat /proc/self/oom_score_adj")) in (["1000"], [])
        # With Landlock a command cannot look; it can be looked at, while it waits for that.
        os.mkfifo(root / "gate")
        seen: list[str] = []

        def look(unit: str) -> None:
            found = processes(f"cat\0gate\0{mark}")
            for pid in found:
                with suppress(FileNotFoundError, ProcessLookupError):  # one that only began it
                    seen.append(Path(f"/proc/{pid}/oom_score_adj").read_text())
            if seen:
                go_on(root)

        workspace.perform("run_command", {"command": f"cat gate {mark}"}, deadline=Telling(look))
    assert set(seen) == {"1000\n"}


@in_each_confinement
def test_a_command_is_cancelled_from_another_thread(root: Path, confinement: Confinement, mark: str) -> None:
    deadline = Deadline()
    with room(root, confinement) as workspace:

        def cancel() -> None:
            when(lambda: processes(f"sleep\0{mark}"))
            deadline.cancel()

        thread = threading.Thread(target=cancel)
        thread.start()
        arguments = {"command": f"setsid sleep {mark} & sleep {mark}"}
        with pytest.raises(Cancelled):
            workspace.perform("run_command", arguments, deadline=deadline)
        thread.join()
        assert processes(f"sleep\0{mark}") == []
        listed = workspace.list("/.outputs")
        assert listed.facts["total"] == 0


def test_a_call_that_was_cancelled_before_it_began_runs_nothing(root: Path) -> None:
    deadline = Deadline()
    deadline.cancel()
    with room(root) as workspace, pytest.raises(Cancelled):
        workspace.perform("run_command", {"command": "touch made; sleep 99"}, deadline=deadline)
    assert os.listdir(root) == []


def test_progress_says_how_much_came_so_far(root: Path) -> None:
    """The command waits until all of it was told."""
    os.mkfifo(root / "gate")
    deadline = Telling(lambda unit: go_on(root) if "1,000 lines, 3,893 bytes" in unit else None)
    with room(root) as workspace:
        reply = workspace.perform("run_command", {"command": "seq 1000; cat gate"}, deadline=deadline)
    assert not reply.facts["timed_out"]
    assert {total for _, total, _ in deadline.told} == {120}


HOST = """
import sys
from readroom.core.config import Settings
from readroom.core.policy.commands import CommandPolicy
from readroom.core.workspace import Workspace
settings = Settings(commands=CommandPolicy(enabled=True, confinement=sys.argv[2]))
Workspace(sys.argv[1], settings=settings).run(sys.argv[3])
"""


@in_each_confinement
@daily(2, "number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_outlives_the_process_that_asked_for_it(
    root: Path, confinement: Confinement, mark: str, number: int
) -> None:
    command = f"setsid sleep {mark} & trap '' TERM INT; sleep {mark}"
    words = [sys.executable, "-c", HOST, str(root), confinement, command]
    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as host:
        when(lambda: len(processes(f"sleep\0{mark}")) == 2)
        host.send_signal(number)
        host.wait(PATIENCE_S)
    when(lambda: not processes(f"sleep\0{mark}"))


def test_nothing_is_run_in_a_workspace_that_was_closed(root: Path) -> None:
    with room(root) as workspace:
        workspace.run("true")
    with pytest.raises(Closed, match="closed"):
        workspace.run("touch made")
    assert os.listdir(root) == []
