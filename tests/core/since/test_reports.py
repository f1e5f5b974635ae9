"""The news in replies: words, facts, where lines are, who it was; and attacks on what may be said."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.core.caller import Caller
from readroom.core.config import Settings
from readroom.core.contracts import NAMES
from readroom.core.deadline import Deadline
from readroom.core.errors import NotFound, Stale
from readroom.core.limits.session import SEEN_FILES
from readroom.core.policy.commands import CommandPolicy
from readroom.core.session.seen import SeenFile, SeenLines
from readroom.core.since.look import place_of
from readroom.core.since.values import CLOSELY
from readroom.core.stores.local import LocalStore
from readroom.core.text.edits.diff import blocks
from readroom.core.values import Reply, Version
from readroom.core.values.history import UndoRequest, UndoResult
from readroom.core.workspace import Workspace

FACT = "changed_since_seen"
ONE, TWO = Caller(agent="codex", session="one"), Caller(agent="claude", session="two")


def numbered(first: int, last: int) -> str:
    return "".join(f"line {number}\n" for number in range(first, last + 1))


def call(
    workspace: Workspace, tool: str, caller: Caller = ONE, contract: str = "native", **arguments: Any
) -> Reply:
    return workspace.call(tool, arguments, caller=caller, contract_name=contract)


def told(workspace: Workspace, caller: Caller = ONE) -> str:
    """The news in the closing line of the next reply."""
    reply = call(workspace, "list_directory", caller, path=".")
    closing = reply.text.rpartition("\n")[2]
    _, _, news = closing.partition("] [")
    return news.removesuffix("]")


def news(reply: Reply) -> Sequence[Mapping[str, Any]]:
    found: Any = reply.facts.get(FACT, [])
    assert isinstance(found, list)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text(numbered(1, 100))
    return tmp_path


def edit(workspace: Workspace, caller: Caller, old: str, new: str, path: str = "a.py") -> None:
    digest = workspace.read(path).facts["content_hash"]
    edits = [{"old_text": old, "new_text": new}]
    reply = call(workspace, "edit_file", caller, path=path, expected_hash=digest, edits=edits)
    assert not reply.is_error, reply.text


def test_lines_that_moved_and_changed_are_named_with_who_and_the_call(folder: Path) -> None:
    with Workspace(folder) as workspace:
        call(workspace, "read_file", path="a.py", offset=40, limit=10)
        edit(workspace, TWO, "line 3\n", "line 3\nline 3b\n")
        edit(workspace, TWO, "line 45\n", "LINE 45\nmore\n")
        assert told(workspace) == (
            "Changed since you saw it: a.py, just now by claude in session two, lines 40-49 are now 41-51, "
            'with new text in 46-47: read_file {"path":"a.py","offset":46,"limit":2}'
        )
        reply = call(workspace, "read_file", path="a.py", offset=46, limit=2)
        assert reply.text.split("\n")[1:3] == ["46\tLINE 45", "47\tmore"]
        assert not news(reply)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: "new\n" + text, "lines 40-49 are now 41-50"),
        (lambda text: text.replace("line 90\n", "other\n"), "the lines that you saw are the same"),
        (lambda text: text.replace("line 45\n", "other\n"), "lines 40-49 have new text in 45"),
        (lambda text: text.replace("line 45\n", ""), "lines 40-49 are now 40-48, some taken out at 45"),
        (lambda text: text.replace(numbered(30, 60), ""), "lines 40-49 are gone"),
        (lambda text: text.replace(numbered(40, 49), "x\ny\n"), "lines 40-49 are now other text, in 40-41"),
        (lambda text: text + "more\n" * 3, "now to line 103, new from 101"),
    ],
)  # fmt: skip
def test_where_the_lines_are(folder: Path, change: Any, said: str) -> None:
    with Workspace(folder) as workspace:
        call(workspace, "read_file", path="a.py", offset=40, limit=10)
        (folder / "a.py").write_text(change((folder / "a.py").read_text()))
        assert said in told(workspace)
        assert told(workspace) == ""


Lists = st.lists(st.integers(0, 6), max_size=12)


@given(Lists, Lists, st.data())
def test_lines_are_found_where_they_are(old: list[int], new: list[int], data: st.DataObject) -> None:
    """What is said to be the same is the same, and nothing of what stayed is outside of the place."""
    before, after = [[f"{item}\n" for item in items] for items in (old, new)]
    if not before:
        return
    first = data.draw(st.integers(1, len(before)))
    last = data.draw(st.integers(first, len(before)))
    changed = blocks(before, after)
    place = place_of((first, last), (first, last), changed)
    differing = {line for start, end in place.differ for line in range(start, end + 1)}
    kept = set(range(first - 1, last))
    for block in changed:
        kept -= set(range(block.old_start, block.old_end))
    shift = {
        line: line
        + sum(b.new_end - b.old_end - b.new_start + b.old_start for b in changed if b.old_end <= line)
        for line in kept
    }
    for line, now in shift.items():
        assert before[line] == after[now]
        assert place.now is not None
        assert place.now[0] <= now + 1 <= place.now[1]
        assert now + 1 not in differing
    if place.now is not None:
        inside = set(range(place.now[0], place.now[1] + 1))
        assert inside - differing == {now + 1 for now in shift.values()}


def test_a_reply_that_shows_the_file_says_only_that_it_changed(folder: Path) -> None:
    with Workspace(folder) as workspace:
        call(workspace, "read_file", path="a.py", offset=40, limit=10)
        (folder / "a.py").write_text(numbered(0, 100))
        reply = call(workspace, "read_file", path="a.py", limit=1)
        assert reply.text.endswith("] [Changed since you saw it: a.py, just now]")
        assert told(workspace) == ""


def test_a_refusal_reports_as_well_and_an_error_that_is_raised_loses_nothing(folder: Path) -> None:
    with Workspace(folder) as workspace:
        call(workspace, "read_file", path="a.py")
        (folder / "a.py").write_text("x\n")
        with pytest.raises(NotFound):
            workspace.perform("read_file", {"path": "no"}, caller=ONE)
        refused = call(workspace, "read_file", path="no")
        assert refused.is_error
        assert "Changed since you saw it: a.py" in refused.text
        assert not call(workspace, "no_such_tool").text.count("since you saw")


def test_many_files_are_counted(folder: Path) -> None:
    for number in range(12):
        (folder / f"f{number:02}").write_text("x\n")
    with Workspace(folder) as workspace:
        for number in range(12):
            call(workspace, "read_file", path=f"f{number:02}")
        for number in range(12):
            (folder / f"f{number:02}").write_text("y\n")
        reply = call(workspace, "list_directory", path=".")
        assert reply.text.count("Changed since") == CLOSELY
        assert reply.text.endswith("] [7 more files that you saw have changed]")
        assert len(news(reply)) == 12
        assert told(workspace) == ""


def test_gone_renamed_and_back(folder: Path) -> None:
    (folder / "b.py").write_text("b\n")
    with Workspace(folder) as workspace:
        call(workspace, "read_file", path="a.py")
        call(workspace, "read_file", path="b.py")
        (folder / "b.py").rename(folder / "c.py")
        kept = (folder / "a.py").read_bytes()
        (folder / "a.py").unlink()
        reply = call(workspace, "list_directory", path=".")
        assert "[Gone since you saw it: a.py]" in reply.text
        assert "[Renamed since you saw it: b.py, now c.py, just now]" in reply.text
        (folder / "a.py").write_bytes(kept)
        assert told(workspace).startswith("Back as you saw it: a.py")
        (folder / "c.py").write_text("d\n")
        assert told(workspace).startswith("Changed since you saw it: c.py")


def test_a_deletion_and_a_move_name_who_made_them(folder: Path) -> None:
    with Workspace(folder) as workspace:
        digest = call(workspace, "read_file", path="a.py").facts["content_hash"]
        change = {"action": "delete", "path": "a.py", "expected_hash": digest}
        assert not call(workspace, "change_files", TWO, changes=[change]).is_error
        assert told(workspace) == "Gone since you saw it: a.py, just now by claude in session two"


# --- what may not be said --------------------------------------------------------------------------


def test_a_file_that_became_denied_is_named_and_no_more(folder: Path) -> None:
    with Workspace(folder) as workspace:
        call(workspace, "read_file", path="a.py")
        (folder / "a.py").write_text("canary7f3a\n")
        (folder / ".readroomignore").write_text("a.py\n")
        assert told(workspace) == "Changed since you saw it, and policy denies it now: a.py"
        (folder / "a.py").write_text("canary7f3b\n")
        assert told(workspace) == ""


def test_a_new_name_that_is_denied_is_not_named(folder: Path) -> None:
    with Workspace(folder) as workspace:
        call(workspace, "read_file", path="a.py")
        (folder / "a.py").rename(folder / "id_rsa")
        assert told(workspace) == "Gone since you saw it: a.py"


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "link to a denied file"])
def test_something_else_in_its_place_is_not_looked_into(
    folder: Path, tmp_path_factory: Any, kind: str
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "secret"
    outside.write_text("canary7f3a\n")
    (folder / ".env").write_text("canary7f3a\n")
    with Workspace(folder) as workspace:
        call(workspace, "read_file", path="a.py")
        (folder / "a.py").unlink()
        if kind == "link":
            (folder / "a.py").symlink_to(outside)
        elif kind == "pipe":
            os.mkfifo(folder / "a.py")
        elif kind == "folder":
            (folder / "a.py").mkdir()
        else:
            (folder / "a.py").symlink_to(".env")
        began = time.monotonic()
        said = told(workspace)
        assert time.monotonic() - began < 30
        assert said in (
            "No longer a file that can be read here: a.py",
            "Changed since you saw it, and policy denies it now: a.py",
        )
        assert told(workspace) == ""


def test_names_of_others_are_for_who_may_see_them(folder: Path) -> None:
    with Workspace(folder) as workspace:
        first, other = Caller("codex", "t1:s", "t1", "http"), Caller("claude", "t2:s", "t2", "http")
        call(workspace, "read_file", first, path="a.py")
        edit(workspace, other, "line 1\n", "x\n")
        reply = call(workspace, "list_directory", first, path=".")
        assert "by another caller" in reply.text
        assert "claude" not in str(reply.facts) + reply.text
        call(workspace, "read_file", first, path="a.py")
        edit(workspace, Caller("claude", "t1:other", "t1", "http"), "line 2\n", "x\n")
        assert "by claude in session other" in told(workspace, first)


# --- who is a conversation -------------------------------------------------------------------------


def test_callers_without_a_conversation_hear_nothing(folder: Path) -> None:
    with Workspace(folder) as workspace:
        for caller in (Caller(face="http"), Caller(session="s", face="mcp", apart=True)):
            call(workspace, "read_file", caller, path="a.py")
            (folder / "a.py").write_text("x\n" * 3)
            assert FACT not in call(workspace, "read_file", caller, path="a.py").facts


def test_a_compacted_conversation_has_seen_nothing(folder: Path) -> None:
    with Workspace(folder) as workspace:
        call(workspace, "read_file", path="a.py")
        (folder / "a.py").write_text("x\n")
        workspace.session("one").compacted()
        assert told(workspace) == ""


def _asked(workspace: Workspace, said: list[int]) -> None:
    said.append(len(news(call(workspace, "list_directory", path="."))))


def test_two_calls_at_once_report_a_change_once(folder: Path) -> None:
    with Workspace(folder) as workspace:
        for number in range(10):
            call(workspace, "read_file", path="a.py")
            (folder / "a.py").write_text(f"{number}\n")
            said: list[int] = []
            ask = partial(_asked, workspace, said)
            threads = [threading.Thread(target=ask) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert sum(said) == 1


def test_another_name_of_a_file_that_the_conversation_changes_is_no_news(folder: Path) -> None:
    (folder / "link.py").symlink_to("a.py")
    with Workspace(folder) as workspace:
        call(workspace, "read_file", path="link.py")
        edit(workspace, ONE, "line 1\n", "x\n")
        assert told(workspace) == ""
        (folder / "a.py").write_text("y\n")
        assert "link.py" in told(workspace)


def test_a_moved_folder_takes_what_was_seen_with_it(folder: Path) -> None:
    (folder / "d").mkdir()
    (folder / "d" / "x").write_text("x\n")
    with Workspace(folder) as workspace:
        call(workspace, "read_file", path="d/x")
        change = {"action": "move", "path": "d", "to": "e", "entries": 1}
        assert not call(workspace, "change_files", changes=[change]).is_error
        assert told(workspace) == ""
        (folder / "e" / "x").write_text("y\n")
        assert told(workspace).startswith("Changed since you saw it: e/x")


# --- stale refusals --------------------------------------------------------------------------------


def test_a_stale_refusal_names_who_when_and_where(folder: Path) -> None:
    with Workspace(folder) as workspace:
        digest = call(workspace, "read_file", path="a.py", offset=40, limit=10).facts["content_hash"]
        edit(workspace, TWO, "line 1\n", "line 0\nline 1\n")
        edits = [{"old_text": "line 45\n", "new_text": "x\n"}]
        refused = call(workspace, "edit_file", path="a.py", expected_hash=digest, edits=edits)
        error: Any = refused.facts["error"]
        assert ", changed just now (20" in refused.text
        assert " by claude in session two. " in refused.text
        assert "Lines 40-49 are now 41-50." in refused.text
        assert error["facts"]["changed_by"] == {"agent": "claude", "session": "two"}
        assert error["facts"]["lines"] == [{"seen": [40, 49], "now": [41, 50], "new": []}]
        assert "since you saw it" not in refused.text
        assert told(workspace) == "", "it was reported with the refusal"
        with pytest.raises(Stale) as raised:
            workspace.perform(
                "edit_file", {"path": "a.py", "expected_hash": digest, "edits": edits}, caller=ONE
            )
        assert " by claude in session two" in str(raised.value)


def test_a_stale_refusal_says_that_it_was_the_conversation_itself(folder: Path) -> None:
    with Workspace(folder) as workspace:
        digest = call(workspace, "read_file", path="a.py").facts["content_hash"]
        edit(workspace, ONE, "line 1\n", "x\n")
        refused = call(workspace, "write_file", path="a.py", content="y\n", expected_hash=digest)
        assert ") by this conversation. " in refused.text


def test_a_hash_that_was_made_up_says_nothing_of_changes(folder: Path) -> None:
    with Workspace(folder) as workspace:
        call(workspace, "read_file", path="a.py")
        refused = call(workspace, "write_file", path="a.py", content="y\n", expected_hash="0" * 12)
        assert ", changed " not in refused.text


def test_a_stale_refusal_of_an_unknown_editor_has_the_time(folder: Path) -> None:
    with Workspace(folder) as workspace:
        digest = call(workspace, "read_file", path="a.py").facts["content_hash"]
        (folder / "a.py").write_text("x\n")
        os.utime(folder / "a.py", (1_000_000_000, 1_000_000_000))
        content = call(workspace, "write_file", path="a.py", content="y\n", expected_hash=digest)
        assert "2001-09-09" not in content.text, "its time was set back: the moment of that is known"
        later = time.time() + 86_400
        os.utime(folder / "a.py", (later, later))
        refused = call(workspace, "write_file", path="a.py", content="y\n", expected_hash=digest)
        assert ", changed at 20" in refused.text, "clocks differ: only the time is said"


# --- contracts, budgets, costs ---------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted({*NAMES} - {"native", "coder", "inspect_agents"}))
def test_contracts_say_it_where_they_have_room(folder: Path, name: str) -> None:
    """Contracts with prescribed words carry the news as a fact alone."""
    asked: tuple[str, Any, str] = {
        "everruns": ("read_file", {"path": "/workspace/a.py"}, '"notes":["Changed since you saw it: '),
        "rnd": ("rd_read", {"path": "a.py"}, "Changed since you saw it: "),
        "kilo": ("read_file", {"path": "a.py"}, ""),
        "opencode": ("read", {"filePath": str(folder / "a.py")}, ""),
        "text_editor": ("str_replace_based_edit_tool", {"command": "view", "path": str(folder / "a.py")}, ""),
    }[name]
    tool, arguments, said = asked
    with Workspace(folder) as workspace:
        tool = next((one.name for one in workspace.offered(name) if "read" in one.name), tool)
        before = call(workspace, tool, contract=name, **arguments)
        assert not before.is_error, before.text
        times = (folder / "a.py").stat()
        (folder / "a.py").write_text((folder / "a.py").read_text().replace("line 7", "LINE 7"))
        os.utime(folder / "a.py", ns=(times.st_atime_ns, times.st_mtime_ns))
        after = call(workspace, tool, contract=name, **arguments)
        assert len(news(after)) == 1
        again = call(workspace, tool, contract=name, **arguments)
        assert not news(again)
        if said:
            assert said in after.text
            assert "since you saw" not in again.text
        else:
            assert after.text == again.text


def test_news_fit_the_smallest_reply(folder: Path) -> None:
    name = "n" * 200
    (folder / name).write_text(numbered(1, 3000))
    with Workspace(folder) as workspace:
        call(workspace, "read_file", path=name)
        (folder / name).write_text(numbered(0, 3000))
        reply = workspace.call("read_file", {"path": "a.py"}, caller=ONE, reply_bytes=2000)
        assert len(reply.text.encode()) <= 2000
        assert "Changed since you saw it" in reply.text


class CountingStore:
    """A store that counts what a call without changes costs."""

    def __init__(self, store: LocalStore) -> None:
        self._store = store
        self.looks: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def is_still(self, path: Any, version: Version | None) -> bool:
        self.looks.append(path)
        return self._store.is_still(path, version)

    def version(self, path: Any) -> Version | None:
        if not path.startswith("."):
            self.looks.append(f"slow {path}")
        return self._store.version(path)


def test_a_call_without_changes_costs_a_stat_of_the_files_shown_last(folder: Path) -> None:
    for number in range(10_000):
        (folder / f"f{number}").write_text("x\n")
    store: Any = CountingStore(LocalStore(folder))
    with Workspace(store) as workspace:
        for number in range(200):
            call(workspace, "read_file", path=f"f{number}")
        pattern = call(workspace, "grep_files", pattern="x", limit=300)
        assert not pattern.is_error
        store.looks.clear()
        call(workspace, "list_directory", path=".")
        assert len(store.looks) == SEEN_FILES
        assert not [look for look in store.looks if look.startswith("slow")]
        assert len(workspace.session("one").files()) == SEEN_FILES


def test_runs_that_touch_are_one() -> None:
    seen = SeenFile("a", "a", None)  # type: ignore[arg-type]
    seen = seen.shown(
        [SeenLines(1, 5, "x"), SeenLines(6, 9, "x"), SeenLines(20, 30, "x"), SeenLines(5, 7, "y")]
    )
    assert seen.lines == (SeenLines(1, 9, "x"), SeenLines(20, 30, "x"), SeenLines(5, 7, "y"))
    assert seen.shown([SeenLines(10, 19, "x")]).lines == (SeenLines(5, 7, "y"), SeenLines(1, 30, "x"))


def test_a_large_log_that_only_grew_is_not_read_again(folder: Path) -> None:
    log = folder / "big.log"
    log.write_text("an entry of a log\n" * 200_000)
    with Workspace(folder) as workspace:
        call(workspace, "read_file", path="big.log", offset=1, limit=3)
        with log.open("a") as file:
            file.write("more\n")
        assert told(workspace).startswith("Only grew since you saw it: big.log, just now, by 5 bytes")
        with log.open("a") as file:
            file.write("more\n")
        assert told(workspace) == "", "that it grows is known"
        log.write_text("another\n" * 500_000)
        assert told(workspace).startswith("Changed since you saw it: big.log")


def test_a_file_that_flips_with_each_call_is_reported_each_time(folder: Path) -> None:
    with Workspace(folder) as workspace:
        call(workspace, "read_file", path="a.py")
        for number in range(20):
            (folder / "a.py").write_text(f"{number % 2}\n")
            assert told(workspace).count("a.py") >= 1
            assert told(workspace) == ""


def test_the_history_knows_who_it_was_in_another_process(folder: Path) -> None:
    """Two servers on one folder, as two agents on a laptop start them."""
    (folder / "d").mkdir()
    (folder / "b.py").write_text("b\n")
    with Workspace(folder) as workspace, Workspace(folder) as other:
        call(workspace, "read_file", path="a.py", offset=40, limit=10)
        digest = call(workspace, "read_file", path="b.py").facts["content_hash"]
        edit(other, TWO, "line 45\n", "x\n")
        assert "a.py, just now by claude in session two, lines 40-49" in told(workspace)
        move = {"action": "move", "path": "b.py", "to": "d/c.py", "expected_hash": digest}
        assert not call(other, "change_files", TWO, changes=[move]).is_error
        assert told(workspace) == (
            "Renamed since you saw it: b.py, now d/c.py, just now by claude in session two"
        )
        (folder / "d" / "c.py").write_text("changed by nobody known\n")
        assert " by " not in told(workspace)


def test_a_move_to_a_denied_name_names_it_to_nobody(folder: Path) -> None:
    with Workspace(folder) as workspace:
        call(workspace, "read_file", path="a.py")
        with Workspace(folder) as other:
            digest = call(other, "read_file", TWO, path="a.py").facts["content_hash"]
            move = {"action": "move", "path": "a.py", "to": "secret.py", "expected_hash": digest}
            assert not call(other, "change_files", TWO, changes=[move]).is_error
        (folder / ".readroomignore").write_text("secret.py\n")
        assert "secret" not in str(call(workspace, "list_directory", path=".").facts[FACT])


def test_own_commands_are_no_news_until_their_call_ends(folder: Path) -> None:
    settings = Settings(commands=CommandPolicy(enabled=True, confinement="none"))
    with Workspace(folder, settings=settings) as workspace:
        call(workspace, "read_file", path="a.py")
        call(workspace, "read_file", TWO, path="a.py")
        done = call(workspace, "run_command", command="echo more >> a.py")
        assert not done.is_error, done.text
        assert told(workspace) == ""
        assert told(workspace, TWO).startswith("Only grew since you saw it: a.py")
        failed = call(workspace, "run_command", command="echo x > a.py; sleep 60", timeout_s=1)
        assert "since you saw" not in failed.text
        assert told(workspace) == ""
        begun = call(
            workspace,
            "run_command",
            command="while [ ! -e go ]; do sleep 0.05; done; echo y > a.py",
            background=True,
        )
        assert not begun.is_error, begun.text
        (folder / "go").touch()
        said = ""
        ends = time.monotonic() + 60
        while not said and time.monotonic() < ends:
            said = told(workspace)
        assert said.startswith("Changed since you saw it: a.py"), "nobody can say which program it was"


def test_an_undo_by_the_conversation_is_no_news_and_by_a_person_is(folder: Path) -> None:
    with Workspace(folder) as workspace:
        call(workspace, "read_file", path="a.py", offset=40, limit=10)
        call(workspace, "read_file", TWO, path="a.py", offset=40, limit=10)
        edit(workspace, ONE, "line 45\n", "x\n")
        assert told(workspace, TWO)
        undone = workspace.engine.perform(
            UndoRequest(path="a.py"),
            workspace.cap(workspace.contract("native")),
            Deadline(),
            Caller(face="cli"),
        )
        assert isinstance(undone, UndoResult)
        assert (folder / "a.py").read_text() == numbered(1, 100)
        for caller in (ONE, TWO):
            assert "a.py, just now" in told(workspace, caller)
