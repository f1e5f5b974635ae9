"""Kept outputs are read, searched and listed like files; what is missing of them is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from readroom.core.errors import Binary, Denied, NotFound, OutputGone, OutsideRoot, Protected, ReadroomError
from readroom.core.limits import Limits
from readroom.core.stores.memory import MemoryStore
from readroom.core.workspace import Workspace
from tests.core.engine.command.running import codes, ended_by_the_clock, follow, output, room
from tests.laws.driving import Driver


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


def refusal(workspace: Workspace, tool: str, arguments: dict[str, Any]) -> ReadroomError:
    """The failure of a call; its next step works."""
    with pytest.raises(ReadroomError) as caught:
        workspace.perform(tool, arguments)
    following: Any = workspace.call(tool, arguments).facts["error"]
    if following["next"] is not None:
        follow(workspace, following["next"])
    return caught.value


def test_an_output_is_read_on_from_where_the_reply_ends(root: Path) -> None:
    with room(root) as workspace:
        reply = workspace.run("seq 5000")
        path = output(reply)["path"]
        assert path == f"/.outputs/{reply.facts['call_id']}.stdout"
        shown = {line for span in output(reply)["shown"] for line in range(span["start"], span["end"] + 1)}
        omitted: Any = reply.facts["omitted"]
        for item in omitted:
            page = item["call"]
            while page is not None:
                more = follow(workspace, page)
                span: Any = more.facts["lines_shown"]
                shown |= set(range(span["start"], span["end"] + 1))
                page = more.facts["next"]
        assert shown == set(range(1, 5001))
        follow(workspace, reply.facts["next"])


def test_outputs_are_searched_and_listed(root: Path) -> None:
    with room(root) as workspace:
        first, second = workspace.run("seq 300; echo needle"), workspace.run("echo needle >&2")
        path = output(first)["path"]
        found = workspace.grep("needle", path=path)
        assert "301\tneedle" in found.text
        everywhere = workspace.grep("needle", path="/.outputs")
        files: Any = everywhere.facts["files"]
        assert {file["path"] for file in files} == {path, output(second, "stderr")["path"]}
        listed = workspace.list("/.outputs")
        assert listed.facts["total"] == 4
        assert Path(path).name in listed.text
        assert workspace.grep("needle", output="files").facts["files"] == []
        assert workspace.list().facts["total"] == 0


@pytest.mark.parametrize("name", ["outputs", ".outputs"])
def test_a_folder_of_that_name_in_the_workspace_is_another(root: Path, name: str) -> None:
    (root / name).mkdir()
    (root / name / "a.stdout").write_text("mine\n")
    with room(root) as workspace:
        workspace.run("true")
        assert "1\tmine" in workspace.read(f"{name}/a.stdout").text
        assert "\ta.stdout" not in workspace.list("/.outputs").text


def test_the_slash_that_was_left_out_is_named(root: Path) -> None:
    with room(root) as workspace:
        path = output(workspace.run("echo hello"))["path"]
        error = refusal(workspace, "read_file", {"path": path[1:]})
        assert path in str(error)


def test_outputs_of_commands_cannot_be_changed(root: Path) -> None:
    with room(root) as workspace:
        reply = workspace.run("echo hello")
        path = output(reply)["path"]
        arguments = {"path": path, "content": "x", "expected_hash": "absent"}
        assert isinstance(refusal(workspace, "write_file", arguments), Protected)
        edits = [{"old_text": "hello", "new_text": "x"}]
        arguments = {"path": path, "expected_hash": "0" * 12, "edits": edits}
        assert isinstance(refusal(workspace, "edit_file", arguments), Protected)
        assert "1\thello" in workspace.read(path).text


@pytest.mark.parametrize("path", ["/.outputs/../../lock", "/.outputs/x/../../lock", "/.outputs/none.stdout"])
def test_no_other_name_leads_anywhere(root: Path, path: str) -> None:
    with room(root) as workspace:
        workspace.run("true")
        assert isinstance(
            refusal(workspace, "read_file", {"path": path}), (OutsideRoot, OutputGone, NotFound)
        )


def test_outputs_of_another_workspace_are_not_there(root: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with room(root) as workspace, room(tmp_path / "other") as other:
        path = output(workspace.run("echo hello"))["path"]
        assert isinstance(refusal(other, "read_file", {"path": path}), OutputGone)


def test_the_oldest_outputs_leave_and_a_read_says_so(root: Path) -> None:
    with room(root, limits=Limits(run_session_bytes=3000)) as workspace:
        paths = [output(workspace.run("head -c 1000 /dev/zero | tr '\\0' x"))["path"] for _ in range(5)]
        for path in paths[:2]:
            for tool, more in (("read_file", {}), ("grep_files", {"pattern": "x"}), ("list_directory", {})):
                error = refusal(workspace, tool, {"path": path, **more})
                assert isinstance(error, OutputGone), (tool, error)
                assert "newer outputs needed its place" in str(error)
        for path in paths[2:]:
            assert not workspace.read(path).is_error


def test_the_newest_output_is_kept_however_large(root: Path) -> None:
    with room(root, limits=Limits(run_session_bytes=100)) as workspace:
        path = output(workspace.run("seq 1000"))["path"]
        assert not workspace.read(path).is_error


def test_of_an_output_beyond_its_bound_the_beginning_and_the_end_are_kept(root: Path) -> None:
    with room(root, limits=Limits(run_kept_bytes=10_000)) as workspace:
        reply = workspace.run("seq 100000")
        found = output(reply)
        assert found["size_bytes"] == 588_895
        assert 8000 < found["kept_bytes"] < 10_100
        lost = found["lost"]
        assert f"{lost['bytes']:,} bytes after line {lost['after_line']} were not kept" in reply.text
        read = workspace.read(found["path"], offset=lost["after_line"], limit=3)
        number = lost["after_line"]
        assert read.text.split("\n")[1:4] == [
            f"{number}\t{number}",
            f"{number + 1}\t[... {lost['bytes']:,} bytes are not kept ...]",
            f"{number + 2}\t{read.text.split(chr(10))[3].partition(chr(9))[2]}",
        ]
        assert "not_kept" in codes(read)
        tail = workspace.read(found["path"], offset=-1)
        assert tail.text.split("\n")[1].endswith("\t100000")
        kept = found["kept_bytes"] - len(f"[... {lost['bytes']:,} bytes are not kept ...]\n")
        assert kept + lost["bytes"] == found["size_bytes"]


def test_a_line_without_end_is_kept_in_part(root: Path) -> None:
    with room(root, limits=Limits(run_kept_bytes=10_000)) as workspace:
        reply = workspace.run("head -c 1000000 /dev/zero | tr '\\0' x")
        assert output(reply)["lost"]["bytes"] > 980_000
        follow(workspace, reply.facts["next"])


def test_an_endless_output_is_ended_by_the_time_limit_in_bounded_space(root: Path) -> None:
    with room(root, limits=Limits(run_kept_bytes=100_000)) as workspace:
        reply = ended_by_the_clock(workspace, "yes", lambda reply: output(reply)["size_bytes"] > 1_000_000)
        assert output(reply)["kept_bytes"] < 101_000
        assert reply.facts["timed_out"]


def test_a_binary_output_says_how_it_can_be_used(root: Path) -> None:
    with room(root) as workspace:
        reply = workspace.run("head -c 5000 /bin/sh")
        assert "stdout 5,000 bytes, binary (not shown)" in reply.text
        error = refusal(workspace, "read_file", {"path": output(reply)["path"]})
        assert isinstance(error, Binary)
        assert "to a file" in str(error)
        assert "to a file" in reply.text
        found = workspace.grep("ELF", path=output(reply)["path"], include=["binary"])
        assert not found.is_error


def test_nothing_secret_of_the_session_is_in_outputs(root: Path) -> None:
    (root / ".env").write_text("canary\n")
    with room(root) as workspace:
        path = output(workspace.run("cat .env; cat < .env"), "stderr")["path"]
        assert "canary" not in workspace.read(path).text
        assert isinstance(refusal(workspace, "read_file", {"path": ".env"}), Denied)


def test_following_next_shows_all_of_the_long_lines_of_an_output(root: Path) -> None:
    driver = Driver(MemoryStore({}), reply_bytes=4096)
    driver.workspace.close()
    with room(root) as workspace:
        driver.workspace = workspace
        command = "for n in 1 2 3; do head -c 9000 /dev/zero | tr '\\0' $n; echo; echo short; done"
        path = output(workspace.run(command))["path"]
        wanted = [line for n in "123" for line in (n * 9000, "short")]
        assert list(driver.lines(path).values()) == wanted
