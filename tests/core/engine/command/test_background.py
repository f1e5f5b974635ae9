"""Commands that outlive their call: what is seen of them, whose they are, and that they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from readroom.core.caller import Caller
from readroom.core.deadline import Deadline
from readroom.core.errors import (
    BadPattern,
    BadValue,
    Cancelled,
    CommandsOff,
    NoSuchCommand,
    NotFound,
    NotStarted,
    OutsideRoot,
    ReadroomError,
    TooManyCommands,
)
from readroom.core.limits import RUN_BACKGROUND, RUN_BACKGROUND_OWN, Limits
from readroom.core.values import Cap, Fact, Reply
from readroom.core.values.commands import Confinement, EndRequest, StartRequest, WatchRequest, WatchResult
from readroom.core.workspace import Workspace
from scripts.docs.facts import FACTS
from tests.core.engine.command.running import PATIENCE_S, follow, lines, output, processes, room, when
from tests.core.sandbox.cells import in_each_confinement

ONE, OTHER = Caller(session="one"), Caller(session="other")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


@pytest.fixture
def mark() -> str:
    """A number of seconds to sleep, which nobody else sleeps."""
    return f"31338.{os.getpid()}"


def started(workspace: Workspace, command: str, caller: Caller = ONE, **options: Fact) -> str:
    """The id of a command that was started."""
    reply = workspace.perform(
        "run_command", {"command": command, "background": True, **options}, caller=caller
    )
    assert list(reply.facts) == list(FACTS["check_command"])
    found = reply.facts["id"]
    assert isinstance(found, str)
    return found


def checked(workspace: Workspace, caller: Caller = ONE, **arguments: Fact) -> Reply:
    return workspace.perform("check_command", arguments, caller=caller)


def ended(workspace: Workspace, name: str, caller: Caller = ONE) -> Reply:
    """The look at a command that has ended."""
    while (reply := checked(workspace, caller, id=name, wait_s=PATIENCE_S)).facts["running"]:
        pass
    return reply


def refused(workspace: Workspace, tool: str, arguments: dict[str, Fact]) -> ReadroomError:
    """The failure of a call; its next step works."""
    with pytest.raises(ReadroomError) as caught:
        workspace.perform(tool, arguments, caller=ONE)
    following: Any = workspace.call(tool, arguments, caller=ONE).facts["error"]
    if following["next"] is not None:
        follow(workspace, following["next"])
    return caught.value


@in_each_confinement
def test_its_output_is_read_and_searched_while_it_grows(root: Path, confinement: Confinement) -> None:
    os.mkfifo(root / "gate")
    with room(root, confinement) as workspace:
        name = started(workspace, "echo first; cat gate; echo needle; echo oops >&2; exit 3")
        reply = checked(workspace, id=name, until="^fir.t$")
        assert (reply.facts["running"], reply.facts["waited"]) == (True, "matched")
        assert reply.facts["matched"] == {"line": 1, "text": "first", "stream": "stdout"}
        path = f"/.outputs/{name}.stdout"
        arguments: dict[str, Fact] = {"path": path, "offset": -1}
        assert "1\tfirst" in workspace.perform("read_file", arguments, caller=ONE).text
        (root / "gate").write_text("through\n")
        reply = ended(workspace, name)
        assert (lines(reply), lines(reply, "stderr")) == (["first", "through", "needle"], ["oops"])
        assert reply.facts["exit_code"] == 3
        assert "exit 3" in reply.text
        tail = workspace.perform("read_file", arguments, caller=ONE)
        assert "3\tneedle" in tail.text
        found = workspace.perform("grep_files", {"pattern": "needle", "path": "/.outputs"}, caller=ONE)
        assert path in found.text


def test_a_wait_ends_with_the_line_the_end_or_its_time(root: Path) -> None:
    os.mkfifo(root / "gate")
    with room(root) as workspace:
        name = started(
            workspace, "printf 'a\\033[31mred\\033[0m b\\r\\n'; printf 'prompt> '; cat gate; echo on"
        )
        assert checked(workspace, id=name, until="red b$").facts["waited"] == "matched"
        assert checked(workspace, id=name, until="prompt> ").facts["matched"] == {
            "line": 2, "text": "prompt> ", "stream": "stdout",
        }  # fmt: skip
        reply = checked(workspace, id=name, until="never", wait_s=0.01)
        assert (reply.facts["waited"], reply.facts["running"]) == ("time", True)
        assert "it still runs" in reply.text
        threading.Thread(target=(root / "gate").write_text, args=("go\n",)).start()
        assert checked(workspace, id=name, until="^on$", wait_s=PATIENCE_S).facts["waited"] == "matched"
        assert checked(workspace, id=name, until="never", wait_s=PATIENCE_S).facts["waited"] == "ended"


def test_it_is_listed_for_its_conversation_alone(root: Path, mark: str) -> None:
    with room(root) as workspace:
        first = started(workspace, "true")
        ended(workspace, first)
        second = started(workspace, f"sleep {mark}")
        listed = checked(workspace)
        assert list(listed.facts) == list(FACTS["check_command without id"])
        commands: Any = listed.facts["commands"]
        assert [(one["id"], one["running"]) for one in commands] == [(second, True), (first, False)]
        assert list(commands[0]) == list(FACTS["check_command"])[: len(commands[0])]
        assert checked(workspace, OTHER).facts["commands"] == []
        for arguments in ({"id": second}, {"id": second, "signal": "kill"}):
            with pytest.raises(NoSuchCommand) as caught:
                checked(workspace, OTHER, **arguments)
            assert caught.value.known == []
        assert checked(workspace, id=second).facts["running"]
        with pytest.raises(ReadroomError):
            workspace.perform("read_file", {"path": f"/.outputs/{second}.stdout"}, caller=OTHER)


@in_each_confinement
@pytest.mark.parametrize(
    ("way", "code"),
    [
        ("sleep {mark}", 143),
        ("trap '' TERM HUP; echo up; while :; do sleep {mark}; done", 137),
        ("setsid sleep {mark} & setsid nohup sleep {mark} >/dev/null 2>&1 & sleep {mark}", 143),
        ("(trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep {mark}; sleep {mark}') & sleep {mark}", 143),
    ],
)
def test_ending_it_ends_all_of_its_processes(
    root: Path, confinement: Confinement, way: str, code: int, mark: str
) -> None:
    with room(root, confinement) as workspace:
        name = started(workspace, way.format(mark=mark))
        when(lambda: processes(f"sleep\0{mark}"))
        checked(workspace, id=name, signal="terminate")
        reply = ended(workspace, name)
        assert (reply.facts["exit_code"], reply.facts["asked"]) == (code, "terminate")
        assert processes(f"sleep\0{mark}") == []
        again = checked(workspace, id=name, signal="kill")
        assert (again.facts["exit_code"], again.facts["asked"]) == (code, "terminate")


def test_a_daemon_ends_with_the_command_that_started_it(root: Path, mark: str) -> None:
    with room(root) as workspace:
        name = started(workspace, f"setsid nohup sleep {mark} >/dev/null 2>&1 & sleep 0.1; echo done")
        assert lines(ended(workspace, name)) == ["done"]
        assert processes(f"sleep\0{mark}") == []


def test_the_time_limit_ends_it(root: Path, mark: str) -> None:
    with room(root) as workspace:
        name = started(workspace, f"sleep {mark}", timeout_s=0.2)
        reply = ended(workspace, name)
    assert reply.facts["timed_out"] is True
    assert "time limit" in reply.text


def test_one_that_writes_without_end_is_kept_within_its_bound_and_shows_its_end(root: Path) -> None:
    limits = Limits(run_session_bytes=2 * RUN_BACKGROUND * 64 * 1024)
    with room(root, limits=limits) as workspace:
        name = started(workspace, "i=0; while :; do i=$((i+1)); echo line $i of many; done")

        def size() -> int:
            reply = checked(workspace, id=name)
            written = output(reply)
            assert written["kept_bytes"] <= 64 * 1024
            return int(written["size_bytes"])

        when(lambda: size() > 400_000)
        checked(workspace, id=name, signal="kill")
        reply = ended(workspace, name)
        kept = output(reply)
        assert kept["lost"]["bytes"] > 0
        path = f"/.outputs/{name}.stdout"
        head = workspace.perform("read_file", {"path": path, "limit": 1}, caller=ONE)
        assert "1\tline 1 of many" in head.text
        assert any(warning["code"] == "not_kept" for warning in _warnings(head))
        last = lines(reply)[-1]
        number = int(last.split()[1])
        assert (
            number * len("line 1 of many") < kept["size_bytes"] < (number + 2) * len("line 100000 of many\n")
        )


def _warnings(reply: Reply) -> Any:
    return reply.facts["warnings"]


def test_there_are_only_so_many(root: Path, mark: str) -> None:
    with room(root) as workspace:
        names = [started(workspace, f"sleep {mark}") for _ in range(RUN_BACKGROUND_OWN)]
        error = refused(workspace, "run_command", {"command": "true", "background": True})
        assert isinstance(error, TooManyCommands)
        assert f"{RUN_BACKGROUND_OWN} background commands" in error.message
        ended(workspace, started(workspace, "true", OTHER), OTHER)
        checked(workspace, id=names[0], signal="kill")
        ended(workspace, names[0])
        when(lambda: not processes(f"sleep\0{mark}")[RUN_BACKGROUND_OWN:])
        assert started(workspace, "true")


def test_a_token_has_no_more_than_its_share(root: Path, mark: str) -> None:
    most = RUN_BACKGROUND - RUN_BACKGROUND // 4
    with room(root) as workspace:
        for number in range(most):
            started(workspace, f"sleep {mark}", Caller(token="t", session=f"t:{number // 5}"))
        with pytest.raises(TooManyCommands):
            started(workspace, "true", Caller(token="t", session="t:another"))
        assert started(workspace, "true", Caller(token="u", session="u:1"))
    assert processes(f"sleep\0{mark}") == []


def test_all_end_with_the_workspace(root: Path, mark: str) -> None:
    with room(root) as workspace:
        for way in ("sleep {0}", "trap '' TERM; setsid sleep {0} & sleep {0}"):
            started(workspace, way.format(mark))
        when(lambda: len(processes(f"sleep\0{mark}")) >= 3)
    assert processes(f"sleep\0{mark}") == []
    with pytest.raises(ReadroomError):
        started(workspace, "true")


_LIVES = """
import sys, time
from readroom.core.config import Settings
from readroom.core.policy.commands import CommandPolicy
from readroom.core.workspace import Workspace
policy = CommandPolicy(enabled=True, confinement=sys.argv[2])
workspace = Workspace(sys.argv[1], settings=Settings(commands=policy))
print(workspace.run(sys.argv[3], background=True).facts["id"], flush=True)
time.sleep(600)
"""


@contextmanager
def _living(root: Path, confinement: str, command: str) -> Iterator[subprocess.Popen[bytes]]:
    words = [sys.executable, "-c", _LIVES, str(root), confinement, command]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline()
            yield process
        finally:
            process.kill()


@in_each_confinement
def test_all_end_when_the_process_that_started_them_is_killed(
    root: Path, confinement: Confinement, mark: str
) -> None:
    command = f"trap '' TERM HUP; setsid sleep {mark} & sleep {mark}"
    with _living(root, confinement, command) as process:
        when(lambda: len(processes(f"sleep\0{mark}")) >= 2)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        when(lambda: not processes(f"sleep\0{mark}"))


def test_what_is_wrong_is_said_before_anything_runs(root: Path) -> None:
    (root / "file").touch()
    with room(root) as workspace:
        for arguments, kind in (
            ({"command": " "}, BadValue),
            ({"command": "true", "cwd": "absent"}, NotFound),
            ({"command": "true", "cwd": ".."}, OutsideRoot),
        ):
            assert isinstance(refused(workspace, "run_command", {**arguments, "background": True}), kind)
        assert isinstance(refused(workspace, "check_command", {"id": "none"}), NoSuchCommand)
        name = started(workspace, "true")
        assert isinstance(refused(workspace, "check_command", {"id": name, "until": "(?=a)"}), BadPattern)
        listed = checked(workspace)
        assert listed.facts["total"] == 1
    with Workspace(root) as workspace:
        refused_calls: list[tuple[str, dict[str, Any]]] = [
            ("run_command", {"command": "x", "background": True}),
            ("check_command", {}),
        ]
        for tool, off in refused_calls:
            with pytest.raises(CommandsOff):
                workspace.perform(tool, off)
    with room(root, one_shot=True) as workspace, pytest.raises(BadValue):
        started(workspace, "true")


def test_a_caller_that_leaves_ends_its_wait_and_not_the_command(root: Path, mark: str) -> None:
    with room(root) as workspace:
        name = started(workspace, f"sleep {mark}")
        deadline = Deadline()
        timer = threading.Timer(0.05, deadline.cancel)
        timer.start()
        with pytest.raises(Cancelled):
            workspace.perform(
                "check_command", {"id": name, "wait_s": PATIENCE_S}, deadline=deadline, caller=ONE
            )
        assert checked(workspace, id=name).facts["running"]


def test_one_whose_caller_left_before_it_started_does_not_run(root: Path, mark: str) -> None:
    with room(root) as workspace:
        deadline = Deadline()
        deadline.cancel()
        with pytest.raises(Cancelled):
            workspace.perform(
                "run_command",
                {"command": f"sleep {mark}", "background": True},
                deadline=deadline,
                caller=ONE,
            )
        when(lambda: not processes(f"sleep\0{mark}"))


def test_a_shell_that_is_missing_is_told(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from readroom.core.engine.command import shell

    monkeypatch.setattr(shell, "found", lambda: shell.Shell("none", "/nonexistent/shell"))
    with room(root, "none") as workspace:
        try:
            name = started(workspace, "true")
        except NotStarted:
            return
        assert "not started" in ended(workspace, name).text


# --- what other contracts ask for ------------------------------------------------------------------


def performed(workspace: Workspace, request: StartRequest | WatchRequest | EndRequest) -> WatchResult:
    native = workspace.contract("native")
    result = workspace.engine.perform(request, Cap(8000, native.measure), Deadline(), ONE)
    assert isinstance(result, WatchResult)
    return result


def test_both_streams_come_as_one_in_their_order(root: Path) -> None:
    command = "for i in 1 2 3 4; do echo out $i; echo err $i >&2; done"
    with room(root) as workspace:
        state = performed(workspace, StartRequest(command, merged=True, name="both")).state
        assert state.id == "both"
        result = performed(workspace, WatchRequest("both", PATIENCE_S, ends_bytes=20))
        whole = "".join(f"out {i}\nerr {i}\n" for i in range(1, 5)).encode()
        assert result.state.sizes == (len(whole), 0)
        assert result.ends == (whole[:20], whole[-20:])


@in_each_confinement
def test_variables_reach_the_command_and_not_what_confines_it(root: Path, confinement: Confinement) -> None:
    variables = (
        ("GREETING", "a b'$\n\"c"),
        ("LD_PRELOAD", "/nonexistent/evil.so"),
        ("PATH", "/usr/bin:/bin"),
    )
    with room(root, confinement) as workspace:
        request = StartRequest('printf %s "$GREETING"', variables=variables, name="v")
        performed(workspace, request)
        result = performed(workspace, WatchRequest("v", PATIENCE_S, ends_bytes=100))
        assert result.ends[0] == b"a b'$\n\"c"
        # What complains of it is the shell, inside.
        assert result.state.exit_code == 0
        for name in ("", "a=b", "-i", "é", "1a"):
            with pytest.raises(BadValue):
                performed(workspace, StartRequest("true", variables=((name, "x"),)))


def test_one_that_ran_for_longer_is_left_alone(root: Path, mark: str) -> None:
    with room(root) as workspace:
        performed(workspace, StartRequest(f"sleep {mark}", name="long"))
        left = performed(workspace, EndRequest("long", "kill", below_s=0.0))
        assert (left.signalled, left.state.running) == (False, True)
        over = performed(workspace, EndRequest("long", "kill", PATIENCE_S, below_s=9e9, cancels=True))
        assert (over.signalled, over.state.running, over.state.cancelled) == (True, False, True)
