"""Changes that wait: who sees them, what becomes of them, and what survives."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from readroom.core.caller import Caller
from readroom.core.config import Settings
from readroom.core.errors import BadConfig, Denied, NotFound, ReadroomError
from readroom.core.errors.review import (
    BelongsTogether,
    NotWaiting,
    ReviewConflict,
    ReviewFull,
    ReviewUnusable,
)
from readroom.core.history.settings import HistoryPolicy
from readroom.core.paths import WorkPath
from readroom.core.review import deciding, holder_of, showing
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import Reply
from readroom.core.values.history import HistoryRequest
from readroom.core.workspace import Workspace
from tests.core.review.waiting import (
    FILES,
    ONE,
    PERSON,
    TWO,
    accepted,
    call,
    change,
    digest,
    fill,
    rejected,
    seen,
    the_set,
    tree,
    waiting,
    write,
)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    fill(tmp_path / "root")
    return tmp_path / "root"


def code(reply: Reply) -> object:
    error: Any = reply.facts["error"]
    return error["code"]


# --- who sees what --------------------------------------------------------------------------------


def test_an_edit_waits_and_only_its_agent_sees_it(root: Path) -> None:
    before = tree(root)
    with waiting(root) as workspace:
        reply = write(workspace, "a.txt", "one\nTWO\n")
        assert "waits for review" in reply.text
        warnings: Any = reply.facts["warnings"]
        assert [warning["code"] for warning in warnings] == ["waits_for_review"]
        assert "TWO" in call(workspace, "read_file", {"path": "a.txt"}).text
        assert "TWO" not in call(workspace, "read_file", {"path": "a.txt"}, TWO).text
        assert "TWO" not in call(workspace, "read_file", {"path": "a.txt"}, Caller()).text
        assert call(workspace, "grep_files", {"pattern": "TWO"}).facts["shown"] == 1
        assert call(workspace, "grep_files", {"pattern": "two"}).facts["shown"] == 0
        assert call(workspace, "grep_files", {"pattern": "TWO"}, TWO).facts["shown"] == 0
    assert tree(root) == before


def test_every_reader_shows_the_changed_state(root: Path) -> None:
    with waiting(root) as workspace:
        write(workspace, "src/new.py", "class Zebra:\n    def stripes(self):\n        return 1\n")
        change(workspace, {"action": "move", "path": "docs", "to": "manual", "entries": 1})
        change(workspace, {"action": "delete", "path": "b.txt", "expected_hash": digest(workspace, "b.txt")})
        listed = call(workspace, "list_directory", {"path": ".", "depth": 3}).text
        assert "src/new.py" in listed
        assert "manual/guide.md" in listed
        assert "docs" not in listed
        assert "b.txt" not in listed
        assert "Zebra" in call(workspace, "find_relevant", {"query": "zebra stripes"}).text
        assert "stripes" in call(workspace, "read_file", {"path": "src/new.py", "view": "outline"}).text
        refused = workspace.call("read_file", {"path": "b.txt"}, caller=ONE)
        assert code(refused) == "not_found"
        others = call(workspace, "list_directory", {"path": ".", "depth": 3}, TWO).text
        assert "docs/guide.md" in others
        assert "new.py" not in others


def test_sets_of_two_agents_are_apart(root: Path) -> None:
    with waiting(root) as workspace:
        write(workspace, "a.txt", "first\n", ONE)
        write(workspace, "a.txt", "second\n", TWO)
        assert seen(workspace, ONE)["a.txt"] == b"first\n"
        assert seen(workspace, TWO)["a.txt"] == b"second\n"
        assert workspace.reviews is not None
        assert len(workspace.reviews.all()) == 2


@pytest.mark.parametrize(
    "other",
    [
        Caller(agent="first", session="two"),
        Caller(agent="first"),
        Caller(session="one", token="abc"),
        Caller(agent="first", session="x", passing=True),
        Caller(session="one\0first"),
        Caller(face="mcp", agent="one"),
    ],
)
def test_no_other_name_gives_another_agents_set(root: Path, other: Caller) -> None:
    with waiting(root) as workspace:
        write(workspace, "a.txt", "mine\n", ONE)
        assert seen(workspace, other)["a.txt"] == FILES["a.txt"].encode()
        write(workspace, "a.txt", "theirs\n", other)
        assert seen(workspace, ONE)["a.txt"] == b"mine\n"


def test_a_client_without_a_conversation_finds_its_set_again(root: Path) -> None:
    before, after = (
        Caller(agent="claude-code", session=process, face="mcp", passing=True) for process in ("1", "2")
    )
    with waiting(root) as workspace:
        write(workspace, "a.txt", "mine\n", before)
    with waiting(root) as workspace:
        assert seen(workspace, after)["a.txt"] == b"mine\n"
        assert seen(workspace, replace(after, agent="cursor"))["a.txt"] == FILES["a.txt"].encode()


def test_denied_names_stay_denied_and_protected_ones_protected(root: Path) -> None:
    with waiting(root) as workspace:
        write(workspace, "a.txt", "x\n")
        for path in (".env", ".env.local", ".vscode/tasks.json", "readroom.toml"):
            arguments = {"path": path, "content": "x", "expected_hash": "absent"}
            assert workspace.call("write_file", arguments, caller=ONE).is_error
        move = {
            "action": "move",
            "path": "a.txt",
            "to": ".env.x",
            "expected_hash": digest(workspace, "a.txt"),
        }
        assert workspace.call("change_files", {"changes": [move]}, caller=ONE).is_error
        assert "canary" not in call(workspace, "grep_files", {"pattern": "SECRET"}).text


def test_what_becomes_denied_is_seen_under_no_other_name(root: Path) -> None:
    with waiting(root) as workspace:
        entry = {
            "action": "move",
            "path": "b.txt",
            "to": "c.txt",
            "expected_hash": digest(workspace, "b.txt"),
        }
        change(workspace, entry)
        (root / ".readroomignore").write_text("b.txt\n")
        reply = workspace.call("read_file", {"path": "c.txt"}, caller=ONE)
        assert reply.is_error
        assert "bee" not in reply.text
        with pytest.raises(Denied):
            accepted(workspace)
        shown = showing.shown(workspace.engine.services, the_set(workspace))
        assert (shown["changes"], shown["hidden"]) == ([], 1)


def test_the_policy_of_today_decides_when_it_is_accepted(root: Path) -> None:
    before = tree(root)
    with waiting(root) as workspace:
        write(workspace, "a.txt", "x\n")
        write(workspace, "fresh.txt", "y\n")
        (root / ".readroomignore").write_text("fresh*\n")
        with pytest.raises(Denied):
            accepted(workspace)
        (root / ".readroomignore").unlink()
        assert tree(root) == before


def test_commands_are_refused_with_a_sentence(root: Path) -> None:
    with waiting(root, "[commands]\nenabled = true\n") as workspace:
        assert not workspace.runs_commands
        reply = workspace.call("run_command", {"command": "rm a.txt"}, caller=ONE)
        assert reply.is_error
        assert "wait for review" in reply.text
    assert (root / "a.txt").exists()


def test_a_store_in_memory_cannot_let_changes_wait() -> None:
    with pytest.raises(BadConfig):
        Workspace(MemoryStore(), settings=Settings(history=HistoryPolicy(folder="/nowhere", review=True)))


# --- accepting and rejecting -----------------------------------------------------------------------


def many_changes(workspace: Workspace) -> None:
    """One of each kind."""
    write(workspace, "a.txt", "one\nTWO\n")
    write(workspace, "new/deep/n.txt", "new\n")
    change(workspace, {"action": "delete", "path": "b.txt", "expected_hash": digest(workspace, "b.txt")})
    change(workspace, {"action": "move", "path": "src", "to": "lib", "entries": 3})
    change(workspace, {"action": "mkdir", "path": "empty"})
    copy = {"action": "copy", "path": "docs", "to": "docs2", "entries": 1}
    change(workspace, copy)


def test_accepting_makes_of_the_folder_what_the_agent_saw(root: Path) -> None:
    with waiting(root) as workspace:
        many_changes(workspace)
        wanted = seen(workspace, ONE)
        assert wanted != tree(root)
        outcome = accepted(workspace)
        assert tree(root) == wanted == seen(workspace, TWO) == seen(workspace, ONE)
        assert outcome.left == 0
        assert workspace.reviews is not None
        assert workspace.reviews.all() == []


def test_rejecting_leaves_the_folder_and_drops_the_set(root: Path) -> None:
    before = tree(root)
    with waiting(root) as workspace:
        many_changes(workspace)
        rejected(workspace)
        assert seen(workspace, ONE) == tree(root) == before
        assert workspace.reviews is not None
        folder = workspace.reviews.of(holder_of(ONE)).folder
        assert os.listdir(os.path.join(folder, "data")) == []


def test_both_names_are_in_the_history_and_it_can_be_undone(root: Path) -> None:
    before = tree(root)
    with waiting(root) as workspace:
        write(workspace, "a.txt", "one\nTWO\n")
        write(workspace, "new.txt", "n\n")
        services = workspace.engine.services
        accepted(workspace)
        reply: Any = workspace.engine.perform(
            HistoryRequest(), workspace.cap(workspace.contract("native")), deadline()
        )
        (kept,) = reply.changes
        assert "first" in kept.by.agent
        assert "a person" in kept.by.agent
        assert kept.by.session == "one"
        assert {name.path for name in kept.names} == {"a.txt", "new.txt"}
        from readroom.core.values.history import UndoRequest

        workspace.engine.perform(
            UndoRequest(change=kept.id), workspace.cap(workspace.contract("native")), deadline()
        )
        assert tree(root) == before
        assert services is workspace.engine.services


def deadline() -> Any:
    from readroom.core.deadline import Deadline

    return Deadline()


def test_parts_are_accepted_and_rejected_by_name(root: Path) -> None:
    with waiting(root) as workspace:
        many_changes(workspace)
        accepted(workspace, "a.txt")
        assert (root / "a.txt").read_text() == "one\nTWO\n"
        assert (root / "b.txt").exists()
        rejected(workspace, "b.txt")
        assert seen(workspace, ONE)["b.txt"] == b"bee\n"
        accepted(workspace, "lib")
        assert (root / "lib/deep/y.py").exists()
        assert not (root / "src").exists()
        accepted(workspace, "new/deep/n.txt")  # with its folders
        assert (root / "new/deep/n.txt").read_text() == "new\n"
        wanted = seen(workspace, ONE)
        accepted(workspace)
        assert tree(root) == wanted


def test_a_name_without_a_change_is_told(root: Path) -> None:
    with waiting(root) as workspace:
        write(workspace, "a.txt", "x\n")
        with pytest.raises(NotWaiting):
            accepted(workspace, "b.txt")
        with pytest.raises(NotWaiting):
            rejected(workspace, "a.tx")


def test_what_no_longer_fits_is_shown_and_nothing_is_forced(root: Path) -> None:
    with waiting(root) as workspace:
        write(workspace, "a.txt", "agent\n")
        write(workspace, "b.txt", "agent\n")
        (root / "a.txt").write_text("a person was here\n")
        shown = showing.shown(workspace.engine.services, the_set(workspace))
        assert {row["path"]: row["fits"] for row in shown["changes"]} == {"a.txt": False, "b.txt": True}
        assert "a person was here" in shown["changes"][0]["diff"]
        with pytest.raises(ReviewConflict) as caught:
            accepted(workspace)
        assert "a.txt" in caught.value.detail
        assert (root / "a.txt").read_text() == "a person was here\n"
        assert (root / "b.txt").read_text() == "bee\n"
        accepted(workspace, "b.txt")
        assert (root / "b.txt").read_text() == "agent\n"


@pytest.mark.parametrize(
    "meanwhile",
    [
        lambda root: (root / "b.txt").write_text("changed\n"),
        lambda root: ((root / "b.txt").unlink(), (root / "b.txt").mkdir()),
        lambda root: ((root / "b.txt").unlink(), (root / "b.txt").symlink_to("a.txt")),
        lambda root: (root / "src/new.py").write_text("x"),
        lambda root: (root / "src/x.py").write_text("def g(): pass\n"),
        lambda root: (root / "fresh.txt").write_text("theirs\n"),
        lambda root: (root / "lib").write_text("a file\n"),
        lambda root: (root / "a.txt").unlink(),
        lambda root: (root / "made").symlink_to("/etc"),
        lambda root: (root / "made").write_text("a file\n"),
    ],
)
def test_a_change_meanwhile_is_never_lost(root: Path, meanwhile: Any) -> None:
    with waiting(root) as workspace:
        write(workspace, "a.txt", "x\n")
        write(workspace, "fresh.txt", "mine\n")
        write(workspace, "made/in.txt", "mine\n")
        change(workspace, {"action": "delete", "path": "b.txt", "expected_hash": digest(workspace, "b.txt")})
        change(workspace, {"action": "move", "path": "src", "to": "lib", "entries": 3})
        meanwhile(root)
        before = tree(root)
        with pytest.raises(ReadroomError):
            accepted(workspace)
        assert tree(root) == before


def test_what_the_folder_has_already_is_no_change(root: Path) -> None:
    with waiting(root) as workspace:
        write(workspace, "a.txt", "x\n")
        write(workspace, "n.txt", "n\n")
        (root / "a.txt").write_text("x\n")
        (root / "n.txt").write_text("n\n")
        outcome = accepted(workspace)
        assert outcome.changes == []


def test_a_file_that_is_moved_out_of_a_deleted_folder_goes_with_it(root: Path) -> None:
    with waiting(root) as workspace:
        moved = {
            "action": "move",
            "path": "src/x.py",
            "to": "x.py",
            "expected_hash": digest(workspace, "src/x.py"),
        }
        change(workspace, moved)
        change(workspace, {"action": "delete", "path": "src", "entries": 2})
        wanted = seen(workspace, ONE)
        accepted(workspace, "src")
        assert tree(root) == wanted
        assert (root / "x.py").read_text() == FILES["src/x.py"]


def test_a_folder_can_be_deleted_after_what_was_moved_out_of_it_was_accepted(root: Path) -> None:
    with waiting(root) as workspace:
        moved = {"action": "move", "path": "src/x.py", "to": "x.py"}
        change(workspace, {**moved, "expected_hash": digest(workspace, "src/x.py")})
        change(workspace, {"action": "delete", "path": "src", "entries": 2})
        wanted = seen(workspace, ONE)
        accepted(workspace, "x.py")
        assert (root / "src/deep/y.py").exists()
        accepted(workspace)
        assert tree(root) == wanted


def test_a_folder_that_somebody_makes_meanwhile_keeps_what_is_in_it(root: Path) -> None:
    with waiting(root) as workspace:
        write(workspace, "made/in.txt", "mine\n")
        change(workspace, {"action": "move", "path": "src", "to": "lib", "entries": 3})
        for name in ("made", "lib"):
            (root / name).mkdir()
            (root / name / "theirs.txt").write_text("theirs\n")
        accepted(workspace)
    assert (root / "made/theirs.txt").read_text() == (root / "lib/theirs.txt").read_text() == "theirs\n"
    assert (root / "made/in.txt").read_text() == "mine\n"
    assert (root / "lib/deep/y.py").exists()


def test_a_folder_that_is_made_anew_leaves_nothing_of_the_old_one(root: Path) -> None:
    with waiting(root) as workspace:
        change(workspace, {"action": "delete", "path": "src", "entries": 3})
        write(workspace, "src/x.py", "new\n")
        wanted = seen(workspace, ONE)
        accepted(workspace)
        assert tree(root) == wanted


def test_a_part_of_a_folder_that_is_made_anew_is_accepted(root: Path) -> None:
    with waiting(root) as workspace:
        change(workspace, {"action": "delete", "path": "src", "entries": 3})
        write(workspace, "src/x.py", "new\n")
        write(workspace, "src/z.py", "z\n")
        wanted = seen(workspace, ONE)
        accepted(workspace, "src/x.py")
        assert (root / "src/x.py").read_text() == "new\n"
        assert (root / "src/deep/y.py").exists()
        assert seen(workspace, ONE) == wanted
        accepted(workspace)
        assert tree(root) == wanted


def test_a_change_above_a_name_is_decided_with_it(root: Path) -> None:
    with waiting(root) as workspace:
        change(workspace, {"action": "delete", "path": "b.txt", "expected_hash": digest(workspace, "b.txt")})
        write(workspace, "b.txt/in.txt", "x\n")
        with pytest.raises(BelongsTogether):
            accepted(workspace, "b.txt/in.txt")
        shown = showing.shown(workspace.engine.services, the_set(workspace))
        assert shown["changes"][0]["fits"] is False


def test_modes_links_and_binary_bytes_come_through(root: Path) -> None:
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / "src/link").symlink_to("x.py")
    (root / "src/bin").write_bytes(bytes(range(256)))
    with waiting(root) as workspace:
        write(workspace, "run.sh", "#!/bin/sh\necho\n")
        change(workspace, {"action": "move", "path": "src", "to": "lib", "entries": 5})
        write(workspace, "lib/x.py", "changed\n")  # so that the folder does not move as a whole
        wanted = seen(workspace, ONE)
        assert wanted["lib/link"] == "-> x.py"
        accepted(workspace)
        assert tree(root) == wanted
    assert stat.S_IMODE((root / "run.sh").stat().st_mode) == 0o755
    assert (root / "lib/bin").read_bytes() == bytes(range(256))


def test_an_edit_of_what_was_accepted_meanwhile_goes_on(root: Path) -> None:
    with waiting(root) as workspace:
        write(workspace, "a.txt", "1\n")
        held = digest(workspace, "a.txt")
        accepted(workspace)
        arguments = {"path": "a.txt", "content": "2\n", "expected_hash": held}
        call(workspace, "write_file", arguments)
        assert (root / "a.txt").read_text() == "1\n"
        accepted(workspace)
        assert (root / "a.txt").read_text() == "2\n"


def test_accepting_while_the_folder_is_edited_loses_nothing(root: Path) -> None:
    """Whoever comes second is refused: a person's edit of a file is never replaced by the agent's."""
    for number in range(10):
        (root / "a.txt").write_text("start\n")
        with waiting(root) as workspace:
            write(workspace, "a.txt", f"agent {number}\n")
            start = threading.Barrier(2)

            def edit(start: threading.Barrier = start) -> None:
                start.wait()
                (root / "a.txt").write_text("person\n")

            thread = threading.Thread(target=edit)
            thread.start()
            start.wait()
            try:
                accepted(workspace)
                thread.join()
                assert (root / "a.txt").read_text() in ("person\n", f"agent {number}\n")
            except ReadroomError:
                thread.join()
                assert (root / "a.txt").read_text() == "person\n"
            rejected(workspace) if workspace.reviews and workspace.reviews.all() else None


# --- what survives, and what is damaged -----------------------------------------------------------


def test_a_set_is_found_again_after_a_restart_and_by_another_process(root: Path, state: Path) -> None:
    with waiting(root) as workspace:
        many_changes(workspace)
        wanted = seen(workspace, ONE)
    with waiting(root) as first, waiting(root) as second:
        assert seen(first, ONE) == wanted == seen(second, ONE)
        write(first, "more.txt", "m\n")
        assert seen(second, ONE)["more.txt"] == b"m\n"
        accepted(second, "more.txt")
        assert (root / "more.txt").exists()
        assert "more.txt" in seen(first, ONE)


def test_only_this_user_can_read_a_set(root: Path, state: Path) -> None:
    with waiting(root) as workspace:
        write(workspace, "a.txt", "x\n")
        folder = Path(the_set(workspace).waiting.folder)
    for path in (folder, folder / "data"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    for path in (folder / "tree", folder / "lock", *(folder / "data").iterdir()):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_sets_are_denied_where_they_lie_below_the_root(tmp_path: Path, monkeypatch: Any) -> None:
    root = tmp_path / "home"
    fill(root)
    monkeypatch.setenv("XDG_STATE_HOME", str(root / "state"))
    with waiting(root) as workspace:
        write(workspace, "a.txt", "confidential\n")
        assert "confidential" not in call(workspace, "grep_files", {"pattern": "confidential"}, TWO).text
        folder = os.path.relpath(the_set(workspace).waiting.folder, root)
        assert workspace.call("list_directory", {"path": folder}, caller=TWO).is_error


DAMAGES: dict[str, Any] = {
    "cut": lambda folder: (folder / "tree").write_bytes((folder / "tree").read_bytes()[:-9]),
    "empty": lambda folder: (folder / "tree").write_bytes(b""),
    "noise": lambda folder: (folder / "tree").write_bytes(os.urandom(300)),
    "link": lambda folder: ((folder / "tree").unlink(), (folder / "tree").symlink_to("/etc/passwd")),
    "upwards": lambda folder: _named_upwards(folder),
    "version": lambda folder: (folder / "tree").write_bytes(_of_version_9(folder)),
}


def _named_upwards(folder: Path) -> None:
    data = (folder / "tree").read_bytes()
    (folder / "tree").write_bytes(data.replace(b"a.txt", b"../xy"))


def _of_version_9(folder: Path) -> bytes:
    import msgspec

    raw = msgspec.msgpack.decode((folder / "tree").read_bytes())
    return msgspec.msgpack.encode({**raw, "version": 9, "more": 1})


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_set_is_said_and_can_be_dropped(root: Path, damage: str) -> None:
    before = tree(root)
    with waiting(root) as workspace:
        write(workspace, "a.txt", "x\n")
        DAMAGES[damage](Path(the_set(workspace).waiting.folder))
    with waiting(root) as workspace:
        reply = workspace.call("read_file", {"path": "a.txt"}, caller=ONE)
        assert reply.is_error
        assert "wait for review" in reply.text
        call(workspace, "read_file", {"path": "a.txt"}, TWO)  # nobody else is disturbed
        (one,) = workspace.reviews.all() if workspace.reviews else ()
        assert one.problem
        with pytest.raises(ReviewUnusable):
            deciding.require_here(one)
        rejected(workspace)
        assert seen(workspace, ONE) == before


@pytest.mark.parametrize("how", ["gone", "other bytes", "longer", "link"])
def test_a_damaged_content_is_never_accepted(root: Path, how: str) -> None:
    before = tree(root)
    with waiting(root) as workspace:
        write(workspace, "a.txt", "agent\n")
        write(workspace, "n.txt", "other\n")
        folder = Path(the_set(workspace).waiting.folder) / "data"
        for data in folder.iterdir():
            if data.read_bytes() == b"agent\n":
                data.unlink()
                if how == "other bytes":
                    data.write_bytes(b"AGENT\n")
                elif how == "longer":
                    data.write_bytes(b"agent\nmore\n")
                elif how == "link":
                    data.symlink_to("/etc/hostname")
        with pytest.raises(ReviewUnusable):
            accepted(workspace)
    assert tree(root) == before


def test_a_set_has_bounds(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("readroom.core.stores.review.waiting.REVIEW_BYTES", 1000)
    monkeypatch.setattr("readroom.core.stores.review.place.REVIEW_BYTES", 1000)
    monkeypatch.setattr("readroom.core.stores.review.waiting.REVIEW_NAMES", 5)
    with waiting(root) as workspace:
        write(workspace, "a.txt", "x" * 900)
        arguments = {"path": "n.txt", "content": "x" * 200, "expected_hash": "absent"}
        refused = workspace.call("write_file", arguments, caller=ONE)
        assert code(refused) == "review_full"
        write(workspace, "a.txt", "y" * 950)  # in its own place
        with pytest.raises(ReviewFull):
            workspace.perform(
                "change_files",
                {"changes": [{"action": "move", "path": "src", "to": "lib", "entries": 3},
                             {"action": "mkdir", "path": "q"}]},
                caller=ONE,
            )  # fmt: skip
        assert seen(workspace, ONE)["a.txt"] == b"y" * 950
        assert "n.txt" not in seen(workspace, ONE)


def test_only_so_many_conversations_wait(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("readroom.core.stores.review.waiting.REVIEW_SETS", 2)
    with waiting(root) as workspace:
        for number in range(2):
            write(workspace, "a.txt", "x\n", Caller(session=str(number)))
        arguments = {"path": "n.txt", "content": "x", "expected_hash": "absent"}
        refused = workspace.call("write_file", arguments, caller=Caller(session="more"))
        assert code(refused) == "review_full"
        assert workspace.reviews is not None
        deciding.reject(workspace.engine.services, workspace.reviews.all()[0].waiting, [])
        write(workspace, "n.txt", "x", Caller(session="more"))


def test_another_folder_of_the_same_name_gets_nothing_of_the_set(root: Path) -> None:
    with waiting(root) as workspace:
        write(workspace, "a.txt", "agent\n")
    root.rename(root.with_name("old"))
    fill(root)
    with waiting(root) as workspace:
        assert seen(workspace, ONE)["a.txt"] == FILES["a.txt"].encode()
        one = the_set(workspace)
        assert one.elsewhere
        with pytest.raises(ReviewUnusable):
            deciding.require_here(one)
        rejected(workspace)


KILLED = """
import os, sys
from readroom.core.stores.review import waiting
at = int(sys.argv[2])
count = 0
def counted(real):
    def act(*args, **named):
        global count
        count += 1
        if count == at:
            os._exit(7)
        return real(*args, **named)
    return act
for name in ("rename", "open", "unlink", "write", "fsync", "mkdir"):
    setattr(os, name, counted(getattr(os, name)))
from pathlib import Path
from tests.core.review.waiting import waiting as workspace, write, change
with workspace(Path(sys.argv[1])) as here:
    count = 0
    change(here, {"action": "move", "path": "src", "to": "lib", "entries": 3})
    write(here, "a.txt", "agent\\n")
print("done")
"""


@pytest.mark.long
def test_a_process_that_is_killed_anywhere_leaves_the_old_set_or_the_new_one(root: Path) -> None:
    before = tree(root)
    allowed = []
    with waiting(root) as workspace:
        allowed.append(seen(workspace, ONE))
        change(workspace, {"action": "move", "path": "src", "to": "lib", "entries": 3})
        allowed.append(seen(workspace, ONE))
        write(workspace, "a.txt", "agent\n")
        allowed.append(seen(workspace, ONE))
        rejected(workspace)
    for at in range(1, 400, 7):
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(root), str(at)], capture_output=True, timeout=300
        )
        with waiting(root) as workspace:
            assert seen(workspace, ONE) in allowed
            assert tree(root) == before
            if workspace.reviews and workspace.reviews.all():
                rejected(workspace)
        if done.returncode == 0:
            return
        assert done.returncode == 7, done.stderr.decode()
    raise AssertionError("it never came to its end")


# --- the law --------------------------------------------------------------------------------------

_NAMES = st.sampled_from(
    ["a.txt", "b.txt", "src", "src/x.py", "src/deep", "lib", "lib/x.py", "n/m", "n", "src/deep/y.py"]
)
_STEPS = st.one_of(
    st.tuples(st.just("write"), _NAMES, st.sampled_from(["1\n", "2\n", ""])),
    st.tuples(st.just("delete"), _NAMES, st.just("")),
    st.tuples(st.just("move"), _NAMES, _NAMES),
    st.tuples(st.just("mkdir"), _NAMES, st.just("")),
    st.tuples(st.just("copy"), _NAMES, _NAMES),
)


def do(workspace: Workspace, step: tuple[str, str, str], caller: Caller) -> bool:
    """Make a change if it can be made; whether it was."""
    kind, path, other = step
    store = workspace.view(caller).services.guard.store
    try:
        real, found = store.stat(WorkPath(path))
        is_folder = found.kind == "folder"
    except (NotFound, ReadroomError):
        real, is_folder = WorkPath(path), False
    if kind == "write":
        reply = workspace.call("read_file", {"path": path}, caller=caller)
        expected = "absent" if reply.is_error else reply.facts["content_hash"]
        arguments: Any = {"path": path, "content": other, "expected_hash": expected}
        return not workspace.call("write_file", arguments, caller=caller).is_error
    one: dict[str, Any] = {"action": kind, "path": path}
    if kind in ("move", "copy"):
        one["to"] = other
    if kind != "mkdir":
        if is_folder:
            one["entries"] = sum(1 for name in seen(workspace, caller) if name.startswith(f"{real}/"))
        else:
            reply = workspace.call("read_file", {"path": path}, caller=caller)
            one["expected_hash"] = "sha256:" + "0" * 64 if reply.is_error else reply.facts["content_hash"]
    return not workspace.call("change_files", {"changes": [one]}, caller=caller).is_error


@settings(max_examples=40, deadline=None)
@given(st.lists(_STEPS, max_size=8))
def test_any_changes_give_the_same_when_they_wait_and_when_they_do_not(steps: Any) -> None:
    """What an agent sees is what it would see if nothing waited, and accepting gives just that."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        direct, root = Path(folder, "direct"), Path(folder, "root")
        fill(direct)
        fill(root)
        before = tree(root)
        with Workspace(direct) as plain, waiting(root) as workspace:
            for step in steps:
                made = do(plain, step, ONE)
                assert do(workspace, step, ONE) == made, step
                assert seen(workspace, ONE) == tree(direct), step
            assert tree(root) == before
            assert workspace.reviews is not None
            sets = workspace.reviews.all()
            if not sets:
                return
            try:
                deciding.accept(workspace.engine.services, sets[0].waiting, [], PERSON)
            except ReviewConflict as conflict:
                kinds = "another kind" in conflict.detail
                assert (kinds, tree(root)) == (True, before)
            else:
                assert tree(root) == tree(direct)
                assert workspace.reviews.all() == []
