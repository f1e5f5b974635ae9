"""Several roots under one guard: each has its own rules, and nothing leads from one into another."""

from __future__ import annotations

import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from readroom import Workspace
from readroom.core.caller import Caller
from readroom.core.deadline import Deadline
from readroom.core.errors import OutsideRoot
from readroom.core.errors.history import ChangedSince
from readroom.core.values import Reply
from readroom.core.values.files import ResolveRequest
from readroom.core.values.history import DiffRequest, HistoryRequest, UndoRequest

SECRET = "the needle that nobody may see"


class Roots:
    """Two folders that are served together, as A and as B, and what is done in them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.a, self.b = folder / "a", folder / "docs"
        for root, word in ((self.a, "A"), (self.b, "B")):
            (root / "sub").mkdir(parents=True)
            (root / "a.txt").write_text(f"hello {word}\n")
            (root / "sub" / "x.txt").write_text(f"deep {word}\n")
        (folder / "outside.txt").write_text(SECRET)

    def open(self, *others: str, first: str | None = None) -> Workspace:
        return Workspace(first or str(self.a), *(others or (f"B={self.b}",)))

    def text(self, path: str, *others: str) -> str:
        with self.open(*others) as workspace:
            return call(workspace, "read_file", path=path).text


def call(workspace: Workspace, tool: str, **arguments: Any) -> Reply:
    return workspace.call(tool, arguments, caller=Caller(face="cli"))


def digest(workspace: Workspace, path: str) -> Any:
    return call(workspace, "read_file", path=path).facts["content_hash"]


@pytest.fixture
def roots(tmp_path: Path) -> Roots:
    return Roots(tmp_path)


@pytest.fixture
def both(roots: Roots) -> Iterator[Workspace]:
    with roots.open() as workspace:
        yield workspace


# --- paths ----------------------------------------------------------------------------------------


def test_one_name_in_two_roots_is_two_files(both: Workspace) -> None:
    for _ in range(2):  # the second time from what was kept of the first
        assert "hello A" in call(both, "read_file", path="a.txt").text
        assert "hello B" in call(both, "read_file", path="B/a.txt").text


@pytest.mark.parametrize("spelled", ["B/a.txt", "./B//sub/../a.txt", '"B/a.txt"', "{b}/a.txt", '"{b}/a.txt"'])
def test_every_spelling_of_a_path_means_its_root(both: Workspace, roots: Roots, spelled: str) -> None:
    reply = call(both, "read_file", path=spelled.format(b=roots.b))
    assert reply.text.startswith("B/a.txt | "), reply.text
    assert "hello B" in reply.text


@pytest.mark.parametrize(
    "spelled", ["B/../outside.txt", "B/../../outside.txt", "{b}/../outside.txt", "b/a.txt"]
)
def test_no_spelling_leads_out(both: Workspace, roots: Roots, spelled: str) -> None:
    reply = call(both, "read_file", path=spelled.format(b=roots.b))
    assert reply.is_error
    assert SECRET not in reply.text


def test_the_way_up_from_a_root_ends_in_the_first_one(both: Workspace) -> None:
    assert "hello A" in call(both, "read_file", path="B/../a.txt").text


def test_a_name_is_found_in_either_composition(tmp_path: Path) -> None:
    roots = Roots(tmp_path)
    assert "hello B" in roots.text("u\u0308ber/a.txt", f"\u00fcber={roots.b}")


def test_a_longer_root_wins_over_one_whose_name_begins_alike(tmp_path: Path) -> None:
    roots = Roots(tmp_path)
    longer = tmp_path / "docs2"
    shutil.copytree(roots.b, longer)
    (longer / "a.txt").write_text("hello longer\n")
    with roots.open(f"B={roots.b}", f"C={longer}") as workspace:
        assert "hello longer" in call(workspace, "read_file", path=f"{longer}/a.txt").text
        assert "hello B" in call(workspace, "read_file", path=f"{roots.b}/a.txt").text


# --- links ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["../docs/a.txt", "{b}/a.txt", "B/a.txt"])
def test_a_link_of_the_first_root_does_not_lead_into_another(roots: Roots, target: str) -> None:
    (roots.a / "link").symlink_to(target.format(b=roots.b))
    text = roots.text("link")
    assert "hello B" not in text
    assert "deep" not in text


@pytest.mark.parametrize("target", ["../a/a.txt", "{a}/a.txt", "../a.txt"])
def test_a_link_of_another_root_does_not_lead_into_the_first(roots: Roots, target: str) -> None:
    (roots.b / "link").symlink_to(target.format(a=roots.a))
    assert "hello A" not in roots.text("B/link")


def test_a_link_inside_a_root_is_followed_in_it(roots: Roots) -> None:
    (roots.b / "link").symlink_to("sub/x.txt")
    (roots.b / "far").symlink_to(f"{roots.b}/sub/x.txt")
    assert "deep B" in roots.text("B/link")
    assert "deep B" in roots.text("B/far")


def test_where_a_link_would_lead_is_resolved_in_its_root(roots: Roots) -> None:
    (roots.b / "new").symlink_to("sub/none")
    (roots.b / "up").symlink_to("../none")
    with roots.open() as workspace:
        cap = workspace.cap(workspace.contract("native"))
        found = workspace.engine.perform(ResolveRequest("B/new"), cap, Deadline())
        assert found.real == "B/sub/none"  # type: ignore[union-attr]
        with pytest.raises(OutsideRoot):
            workspace.engine.perform(ResolveRequest("B/up"), cap, Deadline())


def test_a_hard_link_to_what_another_root_denies_is_refused(roots: Roots) -> None:
    (roots.b / ".env").write_text(SECRET)
    os.link(roots.b / ".env", roots.a / "innocent.txt")
    (roots.a / "key.pem").write_text(SECRET)
    os.link(roots.a / "key.pem", roots.b / "innocent.txt")
    with roots.open() as workspace:
        for path in ("innocent.txt", "B/innocent.txt"):
            reply = call(workspace, "read_file", path=path)
            assert reply.facts["error"]["code"] == "hard_linked", reply.text  # type: ignore[index,call-overload]
        assert SECRET not in call(workspace, "grep_files", pattern="needle").text
        assert SECRET not in call(workspace, "find_relevant", query="needle").text


def test_a_hard_link_that_both_allow_is_read_in_both(roots: Roots) -> None:
    os.link(roots.b / "sub" / "x.txt", roots.a / "same.txt")
    with roots.open() as workspace:
        assert "deep B" in call(workspace, "read_file", path="same.txt").text
        assert "deep B" in call(workspace, "read_file", path="B/sub/x.txt").text


# --- rules ----------------------------------------------------------------------------------------


def test_each_root_has_its_own_rules(roots: Roots) -> None:
    (roots.a / ".readroomignore").write_text("/a.txt\nB/sub/\n/B\n")
    (roots.b / ".readroomignore").write_text("/sub/x.txt\n")
    (roots.b / "readroom.toml").write_text('[policy]\ndeny = ["only-b/"]\n')
    for root in (roots.a, roots.b):
        (root / "only-b").mkdir()
        (root / "only-b" / "y.txt").write_text("y\n")
    with roots.open() as workspace:
        assert call(workspace, "read_file", path="a.txt").is_error
        assert not call(workspace, "read_file", path="B/a.txt").is_error
        assert not call(workspace, "read_file", path="sub/x.txt").is_error
        refused = call(workspace, "read_file", path="B/sub/x.txt")
        assert "of B/.readroomignore:1 " in refused.text
        assert not call(workspace, "read_file", path="only-b/y.txt").is_error
        assert "of B/readroom.toml " in call(workspace, "read_file", path="B/only-b/y.txt").text
        listed = call(workspace, "list_directory", depth=3).text
        assert "B/a.txt" in listed
        assert "B/sub/x.txt" not in listed


def test_ignore_files_of_one_root_do_not_hide_what_is_in_another(roots: Roots) -> None:
    (roots.a / ".gitignore").write_text("*.txt\nB/\n")
    (roots.b / ".gitignore").write_text("/sub/\n")
    with roots.open() as workspace:
        text = call(workspace, "grep_files", pattern="hello|deep").text
    assert "hello B" in text
    for hidden in ("hello A", "deep A", "deep B"):
        assert hidden not in text


def test_the_built_in_rules_hold_in_each_root(roots: Roots) -> None:
    (roots.b / ".env").write_text(SECRET)
    (roots.b / "sub" / "id_rsa").write_text(SECRET)
    with roots.open() as workspace:
        for path in ("B/.env", "B/sub/id_rsa", f"{roots.b}/.env"):
            assert "denied by the rule" in call(workspace, "read_file", path=path).text
        assert "B/.env" not in call(workspace, "list_directory", depth=3).text


def test_members_of_archives_are_denied_as_in_their_root(roots: Roots) -> None:
    with zipfile.ZipFile(roots.b / "z.zip", "w") as archive:
        archive.writestr("ok.txt", "fine\n")
        archive.writestr("private/p.txt", SECRET)
    (roots.b / "readroom.toml").write_text('[policy]\ndeny = ["/private/", "z.zip!/private/"]\n')
    with roots.open() as workspace:
        assert "fine" in call(workspace, "read_file", path="B/z.zip!/ok.txt").text
        assert "denied by the rule" in call(workspace, "read_file", path="B/z.zip!/private/p.txt").text


def test_what_the_first_root_gets_under_the_name_of_another_is_never_seen(roots: Roots) -> None:
    with roots.open() as workspace:
        (roots.a / "B").mkdir()
        (roots.a / "B" / "a.txt").write_text(SECRET)
        (roots.a / "B" / "own.txt").write_text(SECRET)
        (roots.a / "way").symlink_to("B/own.txt")
        assert "hello B" in call(workspace, "read_file", path="B/a.txt").text
        for reply in (
            call(workspace, "read_file", path="B/own.txt"),
            call(workspace, "read_file", path="way"),
            call(workspace, "read_file", path=f"{roots.a}/B/own.txt"),
            call(workspace, "grep_files", pattern="needle"),
            call(workspace, "grep_files", pattern="needle", path="B"),
            call(workspace, "find_relevant", query="needle"),
            call(workspace, "list_directory", depth=4),
        ):
            assert SECRET not in reply.text
            assert "own.txt" not in reply.text.replace("B/own.txt", "") or reply.is_error
        assert call(workspace, "list_directory").text.count("B/\n") == 1


# --- changes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("write_file", {"path": "B/new.txt", "content": "x", "expected_hash": "absent"}),
        ("change_files", {"changes": [{"action": "mkdir", "path": "B/x"}]}),
        (
            "change_files",
            {"changes": [{"action": "move", "path": "a.txt", "to": "B/m.txt", "expected_hash": "?"}]},
        ),
        (
            "change_files",
            {"changes": [{"action": "copy", "path": "a.txt", "to": "B/m.txt", "expected_hash": "?"}]},
        ),
        (
            "apply_patch",
            {"patch": "*** Begin Patch\n*** Add File: B/p\n+x\n*** Add File: p\n+x\n*** End Patch"},
        ),
    ],
)
def test_nothing_changes_in_a_read_only_root(roots: Roots, tool: str, arguments: dict[str, Any]) -> None:
    before = sorted(roots.folder.rglob("*"))
    with roots.open(f"B={roots.b}:ro") as workspace:
        for change in arguments.get("changes", ()):
            if "expected_hash" in change:
                change["expected_hash"] = digest(workspace, "a.txt")
        reply = call(workspace, tool, **arguments)
    assert reply.is_error
    assert "the folder B is read-only" in reply.text
    assert sorted(roots.folder.rglob("*")) == before


def test_a_file_is_copied_out_of_a_read_only_root_and_not_moved(roots: Roots) -> None:
    with roots.open(f"B={roots.b}:ro") as workspace:
        change = {"path": "B/a.txt", "to": "copied.txt", "expected_hash": digest(workspace, "B/a.txt")}
        assert call(workspace, "change_files", changes=[{"action": "move", **change}]).is_error
        assert not call(workspace, "change_files", changes=[{"action": "copy", **change}]).is_error
    assert (roots.a / "copied.txt").read_text() == "hello B\n"
    assert (roots.b / "a.txt").exists()


def test_the_first_root_can_be_the_read_only_one(roots: Roots) -> None:
    with roots.open(first=f"{roots.a}:ro") as workspace:
        new = {"content": "x", "expected_hash": "absent"}
        assert "the first folder is read-only" in call(workspace, "write_file", path="n.txt", **new).text
        assert not call(workspace, "write_file", path="B/n.txt", **new).is_error


def test_edits_in_two_roots_are_made_together_or_not_at_all(roots: Roots, both: Workspace) -> None:
    def edits(second: str) -> list[dict[str, Any]]:
        return [
            {"path": path, "expected_hash": digest(both, path), "old_text": old, "new_text": "bye"}
            for path, old in (("a.txt", "hello"), ("B/a.txt", second))
        ]

    assert call(both, "edit_file", edits=edits("no such text")).is_error
    assert (roots.a / "a.txt").read_text() == "hello A\n"
    assert not call(both, "edit_file", edits=edits("hello")).is_error
    assert [(root / "a.txt").read_text() for root in (roots.a, roots.b)] == ["bye A\n", "bye B\n"]


def test_files_and_folders_move_from_root_to_root(roots: Roots, both: Workspace) -> None:
    changes = [
        {"action": "move", "path": "a.txt", "to": "B/new/a.txt", "expected_hash": digest(both, "a.txt")},
        {"action": "move", "path": "B/sub", "to": "from-b", "entries": 1},
    ]
    planned = call(both, "change_files", changes=changes, dry_run=True)
    assert not planned.is_error, planned.text
    assert (roots.a / "a.txt").exists()
    made = call(both, "change_files", changes=changes)
    assert not made.is_error, made.text
    assert (roots.b / "new" / "a.txt").read_text() == "hello A\n"
    assert (roots.a / "from-b" / "x.txt").read_text() == "deep B\n"
    assert not (roots.a / "a.txt").exists()
    assert not (roots.b / "sub").exists()


def test_a_patch_changes_files_of_two_roots(roots: Roots, both: Workspace) -> None:
    patch = (
        "*** Begin Patch\n*** Update File: B/a.txt\n*** Move to: moved.txt\n@@\n-hello B\n+bye B\n"
        "*** Add File: B/new.txt\n+new\n*** End Patch"
    )
    assert not call(both, "apply_patch", patch=patch).is_error
    assert (roots.a / "moved.txt").read_text() == "bye B\n"
    assert (roots.b / "new.txt").read_text() == "new\n"
    assert not (roots.b / "a.txt").exists()


@pytest.mark.parametrize(
    "change", [{"action": "delete", "path": "B", "entries": 3}, {"action": "mkdir", "path": "B"}]
)
def test_a_root_itself_is_not_changed(roots: Roots, both: Workspace, change: dict[str, Any]) -> None:
    call(both, "change_files", changes=[change])
    moved = [{"action": "move", "path": "B", "to": "C", "entries": 3}]
    assert call(both, "change_files", changes=moved).is_error
    assert (roots.b / "a.txt").exists()
    assert not (roots.a / "B").exists()


def test_policy_files_of_each_root_are_protected(roots: Roots, both: Workspace) -> None:
    for path in ("B/.readroomignore", "B/readroom.toml", "readroom.toml", "B/.vscode/tasks.json"):
        reply = call(both, "write_file", path=path, content="x", expected_hash="absent")
        assert "cannot be changed" in reply.text, (path, reply.text)
    assert not (roots.b / "readroom.toml").exists()


@pytest.mark.skipif(
    not os.path.isdir("/dev/shm") or os.stat("/dev/shm").st_dev == os.stat(tempfile.gettempdir()).st_dev,
    reason="needs a second file system",
)
def test_a_file_moves_to_another_file_system_and_a_folder_is_refused(roots: Roots) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as other:
        with roots.open(f"B={other}") as workspace:
            moved = {"path": "a.txt", "to": "B/a.txt", "expected_hash": digest(workspace, "a.txt")}
            assert not call(workspace, "change_files", changes=[{"action": "move", **moved}]).is_error
            assert Path(other, "a.txt").read_text() == "hello A\n"
            assert not (roots.a / "a.txt").exists()
            refused = call(
                workspace,
                "change_files",
                changes=[{"action": "move", "path": "sub", "to": "B/sub", "entries": 1}],
            )
            assert "copy it first, then delete the old one" in refused.text
            assert (roots.a / "sub" / "x.txt").exists()
            assert not Path(other, "sub").exists()


# --- a root that is gone --------------------------------------------------------------------------


@pytest.mark.parametrize("replaced", [False, True])
def test_a_root_that_is_gone_is_an_error_for_its_own_paths_only(roots: Roots, replaced: bool) -> None:
    with roots.open() as workspace:
        shutil.rmtree(roots.b)
        if replaced:
            roots.b.mkdir()
            (roots.b / "a.txt").write_text(SECRET)
        for reply in (
            call(workspace, "read_file", path="B/a.txt"),
            call(workspace, "list_directory", path="B"),
            call(workspace, "grep_files", pattern="needle", path="B"),
            call(workspace, "write_file", path="B/n.txt", content="x", expected_hash="absent"),
        ):
            assert reply.is_error
            assert "B cannot be used" in reply.text
            assert "the other folders of this workspace can be used" in reply.text
            assert SECRET not in reply.text
        assert "hello A" in call(workspace, "read_file", path="a.txt").text
        assert "B/" in call(workspace, "list_directory").text
        for tool, arguments in (("grep_files", {"pattern": "hello"}), ("find_relevant", {"query": "hello"})):
            reply = call(workspace, tool, **arguments)
            assert "hello A" in reply.text
            assert "unreadable" in reply.text
            assert "B" in str(reply.facts["warnings"])


def test_the_others_go_on_when_the_first_root_is_gone(roots: Roots) -> None:
    with roots.open() as workspace:
        shutil.rmtree(roots.a)
        assert "the other folders of this workspace can be used" in call(workspace, "list_directory").text
        assert "hello B" in call(workspace, "read_file", path="B/a.txt").text
        assert "hello B" in call(workspace, "grep_files", pattern="hello", path="B").text


# --- what is told ---------------------------------------------------------------------------------


def test_the_first_reply_of_a_conversation_names_the_folders(roots: Roots) -> None:
    told = "Folders: B/ (read-only); all other paths are in the first (can be changed)."
    with roots.open(f"B={roots.b}:ro") as workspace:
        mine, other = Caller(session="one", face="mcp"), Caller(session="two", face="mcp")
        read = {"path": "a.txt"}
        assert told in workspace.call("read_file", read, caller=mine).text
        assert told not in workspace.call("read_file", read, caller=mine).text
        assert told in workspace.call("read_file", read, caller=other).text
        workspace.session("one").compacted()
        assert told in workspace.call("read_file", read, caller=mine).text
        assert told in workspace.contract("native").instructions


def test_one_root_is_told_nothing_about_folders(roots: Roots) -> None:
    with Workspace(roots.a) as workspace:
        assert "older" not in workspace.call("read_file", {"path": "a.txt"}).text
        assert workspace.folders == ()
        assert "Folders:" not in workspace.contract("native").instructions


def test_the_listing_of_the_top_marks_other_roots(roots: Roots) -> None:
    empty = roots.folder / "empty"
    empty.mkdir()
    with roots.open(f"B={roots.b}:ro", str(empty)) as workspace:
        reply = call(workspace, "list_directory")
        assert "Other folders of this workspace: B/ (read-only), empty/." in reply.text
        assert "Other folders" not in call(workspace, "list_directory", path="sub").text


# --- the past -------------------------------------------------------------------------------------


def asked(workspace: Workspace, request: Any) -> Any:
    return workspace.engine.perform(request, workspace.cap(workspace.contract("native")), Deadline())


def past(workspace: Workspace) -> list[list[tuple[str, str]]]:
    changes = asked(workspace, HistoryRequest()).changes
    return [[(name.action, name.path) for name in change.names] for change in changes]


def test_a_change_is_kept_in_the_history_of_its_root(roots: Roots) -> None:
    with roots.open() as workspace:
        edits = [
            {"path": path, "expected_hash": digest(workspace, path), "old_text": "hello", "new_text": "bye"}
            for path in ("a.txt", "B/a.txt")
        ]
        assert not call(workspace, "edit_file", edits=edits).is_error
        moved = {
            "action": "move",
            "path": "a.txt",
            "to": "B/m.txt",
            "expected_hash": digest(workspace, "a.txt"),
        }
        assert not call(workspace, "change_files", changes=[moved]).is_error
        assert sorted(past(workspace)) == sorted(
            [
                [("created", "B/m.txt")],
                [("deleted", "a.txt")],
                [("changed", "B/a.txt")],
                [("changed", "a.txt")],
            ]
        )
        (latest,) = asked(workspace, HistoryRequest(path="B/a.txt")).changes
        (compared,) = asked(workspace, DiffRequest(latest.id)).files
        assert compared.name.path == "B/a.txt"
    with Workspace(roots.b) as alone:
        assert past(alone) == [[("created", "m.txt")], [("changed", "a.txt")]]
        assert asked(alone, UndoRequest(path="a.txt")).undone[0].path == "a.txt"
    assert (roots.b / "a.txt").read_text() == "hello B\n"
    with Workspace(roots.a) as alone:
        assert past(alone) == [[("deleted", "a.txt")], [("changed", "a.txt")]]


def test_changes_of_all_roots_are_taken_back_together(roots: Roots) -> None:
    mine = Caller(face="cli", session="mine")
    with roots.open() as workspace:
        for path in ("a.txt", "B/a.txt"):
            change = {"path": path, "content": "new\n", "expected_hash": digest(workspace, path)}
            assert not workspace.call("write_file", change, caller=mine).is_error
        done = asked(workspace, UndoRequest(session="mine"))
        assert sorted(one.path for one in done.undone) == ["B/a.txt", "a.txt"]
        assert [(root / "a.txt").read_text() for root in (roots.a, roots.b)] == ["hello A\n", "hello B\n"]


def test_a_conflict_in_one_root_stops_the_undo_in_all(roots: Roots) -> None:
    mine = Caller(face="cli", session="mine")
    with roots.open() as workspace:
        for path in ("a.txt", "B/a.txt"):
            change = {"path": path, "content": "new\n", "expected_hash": digest(workspace, path)}
            assert not workspace.call("write_file", change, caller=mine).is_error
        (roots.b / "a.txt").write_text("somebody else\n")
        with pytest.raises(ChangedSince) as failed:
            asked(workspace, UndoRequest(session="mine"))
        assert [conflict.path for conflict in failed.value.conflicts] == ["B/a.txt"]
    assert (roots.a / "a.txt").read_text() == "new\n"
