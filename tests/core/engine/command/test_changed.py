"""What a reply says of the files that changed while a command ran."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from readroom.core.caller import Caller
from readroom.core.config import Settings
from readroom.core.contracts.native import changed
from readroom.core.deadline import Deadline
from readroom.core.engine.command.changed import Following
from readroom.core.errors import ReadroomError
from readroom.core.history.settings import HistoryPolicy
from readroom.core.policy.commands import CommandPolicy
from readroom.core.policy.guard import Guard
from readroom.core.stores.local import LocalStore
from readroom.core.text.hashes import PREFIX
from readroom.core.values import Reply
from readroom.core.values.commands import CHANGES_NAMED, TreeChanges
from readroom.core.values.history import HistoryRequest, UndoRequest
from readroom.core.workspace import Workspace
from tests.core.engine.command import running
from tests.core.engine.command.running import FREE, PATIENCE_S

Named = list[tuple[str, str, str | None]]

room = partial(running.room, confinement=FREE)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    found = tmp_path / "root"
    for name in ("a.txt", "b/1", "b/2", "c/deep/er", ".gitignore", ".env"):
        (found / name).parent.mkdir(parents=True, exist_ok=True)
        (found / name).write_text(f"{name}\n")
    (found / ".gitignore").write_text("out/\n")
    return found


def named(reply: Reply) -> Named:
    changes: Any = reply.facts["changes"]
    return [(one["action"], one["path"], one["to"]) for one in changes["named"]]


def counts(reply: Reply) -> tuple[int, int, int]:
    changes: Any = reply.facts["changes"]
    return changes["total"], changes["ignored"], changes["denied"]


def test_an_idle_command_adds_nothing(root: Path) -> None:
    with room(root) as workspace:
        reply = workspace.run("cat a.txt; ls -R; touch /tmp/x; true > /dev/null")
        assert reply.facts["changes"] is None
        assert "hanged while" not in reply.text


def test_each_kind_of_change_is_named(root: Path) -> None:
    with room(root) as workspace:
        reply = workspace.run("echo 1 >> a.txt; echo n > new; rm -r b; mv c moved; ln -s a.txt link")
    assert named(reply) == [
        ("changed", "a.txt", None),
        ("deleted", "b", None),
        ("moved", "c", "moved"),
        ("created", "link", None),
        ("created", "new", None),
    ]
    assert (
        "[Changed while it ran: created link, new; changed a.txt; deleted b/ and 2 more in it; "
        "moved c/ -> moved/ and 2 more in it. It cannot be undone.]" in reply.text
    )


def test_the_hash_is_the_one_that_the_next_edit_needs(root: Path) -> None:
    with room(root) as workspace:
        changes: Any = workspace.run("printf 'x\\ny\\n' > a.txt").facts["changes"]
        digest = changes["named"][0]["content_hash"]
        assert digest.startswith(PREFIX)
        workspace.edit("a.txt", digest, [{"old_text": "y", "new_text": "z"}])
    assert (root / "a.txt").read_text() == "x\nz\n"


@pytest.mark.parametrize(
    "sly",
    [
        "printf 'b.txt\\n' > a.txt; touch -d @1000000000 a.txt",  # same size, time set back
        "chmod 700 a.txt",
        "cp -p a.txt x; mv x a.txt",
        "rm a.txt; mkdir a.txt",
        "rm a.txt; ln -s .gitignore a.txt",
    ],
)
def test_a_change_is_seen_whatever_its_size_and_time(root: Path, sly: str) -> None:
    with room(root) as workspace:
        assert named(workspace.run(sly)) == [("changed", "a.txt", None)]


def test_ignored_and_denied_names_are_counted_and_never_named(root: Path) -> None:
    with room(root) as workspace:
        reply = workspace.run(
            "mkdir -p out/deep; echo 1 > out/deep/secretive; echo 2 > .env.local; echo 3 > n"
        )
        assert named(reply) == [("created", "n", None)]
        assert counts(reply) == (1, 3, 1)
        assert "created n; 3 ignored and 1 denied names." in reply.text
        for name in ("secretive", ".env.local", "deep"):
            assert name not in reply.text
            assert name not in str(reply.facts["changes"])
        hidden = workspace.run("rm -r out")
        assert named(hidden) == []
        assert counts(hidden) == (0, 3, 0)
        assert "cannot be undone" not in hidden.text


def test_a_name_that_loses_its_denied_name_is_new(root: Path) -> None:
    with room(root) as workspace:
        reply = workspace.run("echo k > .env.x && mv .env.x shown && mv a.txt .env.y")
    assert named(reply) == [("deleted", "a.txt", None), ("created", "shown", None)]
    assert counts(reply) == (2, 0, 1)


def test_odd_names_stay_on_one_line_and_are_quoted(root: Path) -> None:
    with room(root) as workspace:
        reply = workspace.run("echo 1 > 'x, deleted y'; echo 2 > $'n\\nl'; echo 3 > 'p -> q'")
    line = reply.text.splitlines()[-1]
    assert '"x, deleted y"' in line
    assert '"n\\nl"' in line
    assert '"p -> q"' in line


def test_many_changes_are_bounded_in_the_reply_and_in_the_facts(root: Path) -> None:
    count = CHANGES_NAMED + 30
    with room(root) as workspace:
        reply = workspace.run(f"for i in $(seq {count}); do echo 1 > f$i; done; rm a.txt")
    assert len(named(reply)) == CHANGES_NAMED
    assert counts(reply) == (count + 1, 0, 0)
    assert reply.text.count("f1") < 10
    assert "deleted a.txt" in reply.text
    assert f"{count + 1 - 4:,} more" in reply.text
    assert len(reply.text) < 400


def test_what_others_change_meanwhile_is_not_said_to_be_its_work(root: Path) -> None:
    os.mkfifo(root / "gate")
    with room(root) as workspace:
        started = workspace.run("read x < gate", background=True)
        (root / "a.txt").write_text("by another\n")
        (root / "gate").write_text("go\n")
        reply = ended(workspace, started)
    assert ("changed", "a.txt", None) in named(reply)
    assert "Changed while it ran: " in reply.text


def ended(workspace: Workspace, started: Reply) -> Reply:
    arguments = {"id": started.facts["id"], "wait_s": 10}
    until = time.monotonic() + PATIENCE_S
    while (reply := workspace.call("check_command", arguments)).facts["running"]:
        assert time.monotonic() < until
        assert reply.facts["changes"] is None
    return reply


def test_a_background_command_tells_it_at_its_end(root: Path) -> None:
    with room(root) as workspace:
        reply = ended(workspace, workspace.run("echo 1 > made; rm a.txt", background=True))
        assert named(reply) == [("deleted", "a.txt", None), ("created", "made", None)]
        assert "Changed while it ran: created made; deleted a.txt." in reply.text


def test_a_command_that_is_ended_by_the_clock_tells_it_too(root: Path) -> None:
    with room(root) as workspace:
        seconds = 0.5
        while True:
            reply = workspace.run("echo 1 >> made; sleep 1000", timeout_s=seconds)
            assert reply.facts["timed_out"]
            if (root / "made").exists():
                break
            seconds *= 2
    assert named(reply) == [("created", "made", None)]


@pytest.mark.parametrize(
    ("contract", "arguments", "made"),
    [
        ("everruns", {"commands": "echo 1 > made"}, "/workspace/made"),
        ("opencode", {"command": "echo 1 > made"}, "made"),
    ],
)
def test_other_contracts_say_it(root: Path, contract: str, arguments: dict[str, Any], made: str) -> None:
    with room(root) as workspace:
        reply = workspace.call("bash", arguments, contract_name=contract)
        assert not reply.is_error, reply.text
        assert f"Changed while it ran: created {made}." in reply.text
        assert named(reply) == [("created", "made", None)]
        again = {name: value.replace("echo 1 > made", "true") for name, value in arguments.items()}
        assert "hanged while" not in workspace.call("bash", again, contract_name=contract).text


def test_what_the_operator_denies_while_it_runs_is_not_named(root: Path) -> None:
    with room(root) as workspace:
        reply = workspace.run("echo 1 > plain; echo 'hid*' > .readroomignore; echo 2 > hidden")
        assert "hidden" not in str(reply.facts["changes"])
        assert "hidden" not in reply.text


# --- trees that are compared without a command ----------------------------------------------------


def following(root: Path, names: int = 50_000) -> Callable[[], TreeChanges]:
    return Following(Guard(LocalStore(root)), names).changes


def test_a_tree_that_is_too_large_is_not_followed_and_the_reply_says_so(root: Path) -> None:
    look = following(root, 5)
    (root / "new").write_text("x")
    found = look()
    assert (found.followed, found.total) == ("no", 0)
    assert changed.sentences(found) == ["Changes of files were not followed: it has more than 5 names."]


def test_a_tree_that_grows_too_large_is_not_followed(root: Path) -> None:
    look = following(root, 10)
    for at in range(20):
        (root / f"n{at}").write_text("x")
    assert look().followed == "no"


def test_too_many_ignored_names_do_not_keep_the_others_from_being_followed(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("readroom.core.engine.command.changed._HIDDEN_NAMES", 3)
    (root / "out").mkdir()
    for at in range(9):
        (root / "out" / f"{at}").write_text("x")
    look = following(root)
    (root / "out" / "more").write_text("x")
    (root / "new").write_text("x")
    found = look()
    assert (found.followed, found.total, found.ignored) == ("visible", 1, 0)


def test_a_link_is_never_followed(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (root / "link").symlink_to(outside)
    look = following(root)
    (outside / "x").write_text("x")
    assert not look()
    (root / "b" / "1").unlink()
    (root / "b" / "2").unlink()
    (root / "b").rmdir()
    (root / "b").symlink_to(outside)
    found = look()
    assert {(one.action, one.path) for one in found.named} == {
        ("changed", "b"),
        ("deleted", "b/1"),
        ("deleted", "b/2"),
    }


def test_a_name_with_a_hard_link_of_a_denied_file_gets_no_hash(root: Path) -> None:
    look = following(root)
    os.link(root / ".env", root / "b" / "other")
    found = look()
    assert [(one.path, one.content_hash) for one in found.named] == [("b/other", None)]


def test_a_large_file_is_named_without_a_hash(root: Path) -> None:
    look = following(root)
    with (root / "huge").open("wb") as file:
        file.truncate(10**12)
    (root / "z").write_text("small\n")
    by_name = {one.path: one.content_hash for one in look().named}
    assert by_name["huge"] is None
    assert by_name["z"] is not None


def test_a_folder_that_cannot_be_read_and_a_pipe_stop_nothing(root: Path) -> None:
    os.mkfifo(root / "pipe")
    (root / "shut").mkdir(mode=0)
    look = following(root)
    (root / "new").write_text("x")
    (root / "pipe").unlink()
    assert [(one.action, one.path) for one in look().named] == [("created", "new"), ("deleted", "pipe")]
    (root / "shut").chmod(0o700)


def test_the_history_names_who_ran_it_and_what_changed(root: Path, tmp_path: Path) -> None:
    commands = CommandPolicy(enabled=True, confinement=FREE)
    history = HistoryPolicy(folder=str(tmp_path / "history"))
    with Workspace(root, settings=Settings(commands=commands, history=history)) as workspace:
        arguments = {"command": "echo 1 > made; echo 2 >> a.txt; rm -r b; mv c d; echo s > .env.x"}
        caller = Caller(agent="runner", session="talk")
        reply = workspace.call("run_command", arguments, caller=caller)
        assert not reply.is_error, reply.text
        cap = workspace.cap(workspace.contract("native"))
        found: Any = workspace.engine.perform(HistoryRequest(), cap, Deadline())
        (change,) = found.changes
        assert (change.by.agent, change.by.session, change.by.tool) == ("runner", "talk", "run_command")
        assert {(name.action, name.path) for name in change.names} == {
            ("created", "made"),
            ("changed", "a.txt"),
            ("deleted", "b"),
            ("moved", "c"),
        }
        before = sorted(str(path) for path in root.rglob("*"))
        with pytest.raises(ReadroomError):
            workspace.engine.perform(UndoRequest(change=change.id), cap, Deadline())
        assert sorted(str(path) for path in root.rglob("*")) == before
        workspace.run("true")
        again: Any = workspace.engine.perform(HistoryRequest(), cap, Deadline())
        assert len(again.changes) == 1
