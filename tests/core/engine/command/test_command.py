"""What a command finds, and what is said of how it ended."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from readroom.core.config import Settings
from readroom.core.deadline import Deadline
from readroom.core.engine.command.process import Command
from readroom.core.errors import (
    BadValue,
    CommandsOff,
    Denied,
    NoFolder,
    NotAFolder,
    NotConfined,
    NotFound,
    NotStarted,
    OutsideRoot,
)
from readroom.core.kernel import landlock
from readroom.core.policy.commands import CommandPolicy
from readroom.core.sandbox import Start, bubblewrap
from readroom.core.stores.memory import MemoryStore
from readroom.core.values.commands import Confinement
from readroom.core.workspace import Workspace
from tests.core.engine.command.running import BEST, lines, output, refused, room
from tests.core.sandbox.cells import in_each_confinement


@pytest.fixture
def root(tmp_path: Path) -> Path:
    found = tmp_path / "root"
    (found / "src").mkdir(parents=True)
    (found / "src" / "a.txt").write_text("hello\n")
    return found


@in_each_confinement
def test_a_command_says_how_it_ended_and_what_it_wrote(root: Path, confinement: Confinement) -> None:
    with room(root, confinement) as workspace:
        reply = workspace.run("cat src/a.txt; echo oops >&2; exit 3")
    assert not reply.is_error
    assert reply.text.split(" | ")[0] == "exit 3"
    assert reply.text.split("\n")[0].endswith(
        f"stdout 1 line | stderr 1 line | bash, {confinement}, no network"
    )
    assert (lines(reply), lines(reply, "stderr")) == (["hello"], ["oops"])
    assert reply.facts["exit_code"] == 3
    assert reply.facts["confinement"] == confinement


@in_each_confinement
def test_a_command_starts_in_the_folder_that_it_names(root: Path, confinement: Confinement) -> None:
    (root / "link").symlink_to("src")
    with room(root, confinement) as workspace:
        assert lines(workspace.run("pwd; cat a.txt", cwd="src")) == [str(root / "src"), "hello"]
        assert lines(workspace.run("pwd; cat a.txt", cwd=str(root / "link"))) == [str(root / "src"), "hello"]


@in_each_confinement
def test_the_environment_is_clean_and_input_is_closed(
    root: Path, confinement: Confinement, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_SERVER", "canary")
    with room(root, confinement, environment=(("CARGO_HOME", "/c"),)) as workspace:
        found = dict(line.split("=", 1) for line in lines(workspace.run("env")))
        ours = {"PATH", "HOME", "TMPDIR", "PWD", "LANG", "TERM", "CARGO_HOME"}
        ours |= {"GIT_CONFIG_NOSYSTEM", "GIT_ATTR_NOSYSTEM", "PYTHONUNBUFFERED"}
        assert ours <= found.keys() <= ours | {"_", "SHLVL", "OLDPWD"}
        assert workspace.run("cat; read x").facts["exit_code"] == 1


@in_each_confinement
def test_home_lasts_and_temporary_files_do_not(root: Path, confinement: Confinement) -> None:
    with room(root, confinement) as workspace:
        workspace.run("echo kept > ~/a; echo gone > $TMPDIR/a; chmod 000 $TMPDIR/a; mkdir -m 000 $TMPDIR/b")
        names = workspace.run("cat ~/a; ls -A $TMPDIR | grep -v -e readroom-run -e pytest-of")
        assert lines(names) == ["kept"]
        home = lines(workspace.run("echo $HOME"))[0]
        assert Path(home).exists()
    assert not Path(home).exists()
    assert sorted(os.listdir(root)) == ["src"]


@in_each_confinement
def test_what_a_command_makes_is_the_users(root: Path, confinement: Confinement) -> None:
    with room(root, confinement) as workspace:
        workspace.run("mkdir d && echo x > d/f && chmod 751 d/f && chmod +x src/a.txt")
        workspace.run("touch -d 2001-02-03T04:05:06Z d/f")
    found = (root / "d" / "f").stat()
    assert (found.st_uid, found.st_mode & 0o777, found.st_mtime) == (os.geteuid(), 0o751, 981173106)
    assert (root / "src" / "a.txt").stat().st_mode & 0o111


@in_each_confinement
@pytest.mark.parametrize(
    "command",
    [
        "cp -a src copy && diff -r src copy",
        "mkdir t && tar -c src | tar -x -C t && diff -r src t/src",
        "install -m 750 src/a.txt b && [ $(stat -c %a b) = 750 ]",
        "chown $(id -u):$(id -g) src/a.txt",
        "touch -d 2001-01-01 src/a.txt && ln -s a.txt src/l && touch -h -d 2002-01-01 src/l "
        "&& [ $(date -r src/a.txt +%Y) = 2001 ]",
        "cd src && chmod u=r ../src/a.txt && cd / && chmod u=rwx $OLDPWD/a.txt",
        "nice -n 5 true && (ulimit -n 64; true)",
    ],
)
def test_everyday_work_with_files_goes_on(root: Path, confinement: Confinement, command: str) -> None:
    with room(root, confinement) as workspace:
        reply = workspace.run(command)
    assert reply.facts["exit_code"] == 0, reply.text


def test_programs_that_are_not_there_and_cannot_be_run_are_told_apart(root: Path) -> None:
    with room(root) as workspace:
        missing = workspace.run("no-such-program")
        assert missing.facts["exit_code"] == 127
        assert "127: the command finds no program of that name" in missing.text
        assert "126: " in workspace.run("./src/a.txt").text


@pytest.mark.parametrize(("number", "name"), [(9, "SIGKILL"), (15, "SIGTERM"), (11, "SIGSEGV")])
def test_a_signal_that_ends_it_is_named(root: Path, number: int, name: str) -> None:
    with room(root) as workspace:
        reply = workspace.run(f"kill -{number} $$")
    assert (reply.facts["exit_code"], reply.facts["signal"]) == (128 + number, name)
    assert reply.text.startswith(f"exit {128 + number} ({name})")


@pytest.mark.parametrize("command", ["", " \n", "echo a\0b", "x" * 200_000, "echo \ud83d"])
def test_what_is_no_command_is_refused(root: Path, command: str) -> None:
    with room(root) as workspace:
        assert isinstance(refused(workspace, command), BadValue)


@pytest.mark.parametrize(
    ("cwd", "kind"),
    [("srcc", NotFound), ("src/a.txt", NotAFolder), ("..", OutsideRoot), ("/etc", OutsideRoot),
     (".ssh", Denied), ("/.outputs", BadValue), ("out", OutsideRoot)],
)  # fmt: skip
def test_a_folder_where_it_cannot_start_is_named(root: Path, cwd: str, kind: type[Exception]) -> None:
    (root / "out").symlink_to("/etc")
    (root / ".ssh").mkdir()
    with room(root) as workspace:
        assert isinstance(refused(workspace, "touch here", cwd=cwd), kind)
        assert sorted(os.listdir(root)) == [".ssh", "out", "src"]


@pytest.mark.parametrize("timeout_s", [-1, 1801, "soon", float("nan")])
def test_a_time_limit_that_is_none_is_refused(root: Path, timeout_s: object) -> None:
    with room(root) as workspace:
        reply = workspace.call("run_command", {"command": "true", "timeout_s": timeout_s})
    assert reply.is_error


def test_commands_are_off_unless_somebody_allows_them(root: Path) -> None:
    with Workspace(root) as workspace:
        assert isinstance(refused(workspace, "true"), CommandsOff)
        assert "run_command" not in [tool.name for tool in workspace.tools()]
    with room(root) as workspace:
        assert [tool.name for tool in workspace.tools()[-2:]] == ["run_command", "check_command"]


def test_a_workspace_that_is_no_folder_runs_nothing() -> None:
    settings = Settings(commands=CommandPolicy(enabled=True))
    with Workspace(MemoryStore({"a": "x"}), settings=settings) as workspace:
        assert isinstance(refused(workspace, "true"), NoFolder)
        assert "run_command" not in [tool.name for tool in workspace.tools()]


def test_without_the_confinement_that_policy_demands_nothing_is_started(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bubblewrap, "WHERE", str(root))
    monkeypatch.setattr(landlock, "FOR_COMMANDS", 1000)
    bubblewrap.program.cache_clear()
    try:
        for confinement in ("any", "bwrap", "landlock"):
            with room(root, confinement) as workspace:  # type: ignore[arg-type]  # a demand
                error = refused(workspace, "touch made")
                assert isinstance(error, NotConfined)
                assert "apt install bubblewrap" in error.advice
        assert os.listdir(root) == ["src"]
        with room(root, "none") as workspace:
            assert "| bash, not confined" in workspace.run("touch made").text.split("\n")[0]
    finally:
        bubblewrap.program.cache_clear()


@pytest.mark.skipif(bubblewrap.program()[0] is None, reason="NOT TESTED: no bubblewrap that works here")
def test_a_confinement_that_fails_is_no_failure_of_the_command() -> None:
    start = Start("bwrap", "/tmp", bubblewrap.program()[0], ("--bind", "/no-such-place", "/x"))
    with Command(["/bin/sh", "-c", "true"], start, {}, None, 100, Deadline()) as command:
        said = b"".join(data for _, data in command.output())
        with pytest.raises(NotStarted, match="no-such-place") as caught:
            command.end()
    assert b"no-such-place" in said
    assert "Try again" in caught.value.advice


@in_each_confinement
def test_a_place_outside_that_is_gone_by_now_is_left_out(root: Path, confinement: Confinement) -> None:
    with room(root, confinement, read=(str(root.parent / "gone"),)) as workspace:
        assert workspace.run("true").facts["exit_code"] == 0


@pytest.mark.skipif(bool(landlock.available() < landlock.FOR_COMMANDS), reason="no Landlock here")
def test_landlock_does_not_confine_to_a_folder_among_the_systems_programs(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of /usr can be read, and a workspace in /usr/src/app with it."""
    from readroom.core import sandbox
    from readroom.core.policy.commands import SystemFolder

    monkeypatch.setattr(sandbox, "SYSTEM", (SystemFolder(str(root.parent), "as if it were /usr"),))
    with room(root, "landlock") as workspace:
        assert isinstance(refused(workspace, "true"), NotConfined)


def test_commands_run_at_the_same_time_do_not_meet(root: Path) -> None:
    found: dict[int, list[str]] = {}
    with room(root) as workspace:

        def run(number: int) -> None:
            found[number] = lines(workspace.run(f"echo {number} > $TMPDIR/a; cat $TMPDIR/a"))

        threads = [threading.Thread(target=run, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == {number: [str(number)] for number in range(6)}


@pytest.mark.parametrize(
    ("output_", "most"), [("silent", 200), ("concise", 2048), ("normal", 8192), ("verbose", 16384)]
)
def test_the_inline_part_is_as_long_as_was_asked_for(root: Path, output_: Any, most: int) -> None:
    with room(root) as workspace:
        reply = workspace.run("seq 100000", output=output_)
    shown = "\n".join(reply.text.split("\n")[1:-1])
    assert most / 2 < len(shown) <= most
    assert output(reply)["total_lines"] == 100000


def test_a_binary_output_is_not_shown_and_can_be_had_in_a_file(root: Path) -> None:
    with room(root) as workspace:
        reply = workspace.run("head -c 5000 /bin/sh")
        assert output(reply)["binary"]
        assert "stdout 5,000 bytes, binary (not shown)" in reply.text
        read = workspace.call("read_file", {"path": output(reply)["path"]})
        assert read.is_error
        print(reply.text, read.text)


def test_the_tests_here_use_a_confinement() -> None:
    assert BEST != "none"
