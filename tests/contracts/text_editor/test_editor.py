"""The text editor and apply_patch, called as their clients call them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from readroom.contracts.text_editor.requests import EditorSettings
from readroom.core import config
from readroom.core.caller import Caller
from readroom.core.history.settings import HistoryPolicy
from readroom.core.policy.rules import denials
from readroom.core.stores.local import LocalStore
from readroom.core.stores.memory import MemoryStore
from readroom.core.text.tokens import estimate
from readroom.core.values import Reply
from readroom.core.workspace import Workspace
from tests.each import each

EDITOR, OLDER, PATCH = "str_replace_based_edit_tool", "str_replace_editor", "apply_patch"
NUMBERS = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n"
REVIEW = "Review the changes and make sure they are as expected{}. Edit the file again if necessary."
LINES = " (correct indentation, no duplicate lines, etc)"


class Room:
    def __init__(self, files: Mapping[str, bytes | str], history: bool = False, **own: Any) -> None:
        self.store = MemoryStore(dict(files))
        contracts = {"text_editor": EditorSettings(**own)}
        settings = config.Settings(
            layers=(denials(),), contracts=contracts, history=HistoryPolicy(enabled=history)
        )
        self.space = Workspace(self.store, settings=settings)

    def call(self, command: str, path: str, tool: str = EDITOR, session: str = "", **more: Any) -> Reply:
        arguments = {"command": command, "path": path, **more}
        caller = Caller(session=session)
        return self.space.call(tool, arguments, contract_name="text_editor", caller=caller)

    def said(self, command: str, path: str, **more: Any) -> str:
        reply = self.call(command, path, **more)
        assert not reply.is_error, reply.text
        assert reply.facts is not None
        return reply.text

    def refused(self, command: str, path: str, **more: Any) -> str:
        before = dict(self.store.contents())
        reply = self.call(command, path, **more)
        assert reply.is_error, reply.text
        assert dict(self.store.contents()) == before
        return reply.text

    def patch(self, **arguments: Any) -> Reply:
        return self.space.call(PATCH, arguments, contract_name="text_editor")

    def data(self, path: str) -> bytes:
        with self.space.guard.open(self.space.guard.parse(path)) as source:
            return source.read_at(0, source.size)


def numbered(what: str, first: int, *lines: str) -> str:
    rows = "".join(f"{number:6}\t{line}\n" for number, line in enumerate(lines, first))
    return f"Here's the result of running `cat -n` on {what}:\n{rows}"


# --- view -----------------------------------------------------------------------------------------


@pytest.mark.clause("text_editor.view.file")
@pytest.mark.clause("text_editor.last-line")
@pytest.mark.clause("text_editor.linter")
def test_a_file_is_shown_as_cat_does() -> None:
    room = Room({"a.py": "def f():\n\treturn 1\n\nlast"})
    expected = numbered("/workspace/a.py", 1, "def f():", "        return 1", "", "last")
    assert room.said("view", "/workspace/a.py") == expected
    assert room.said("view", "/workspace/a.py", view_range=[4, -1]) == numbered("/workspace/a.py", 4, "last")


@pytest.mark.clause("text_editor.view.range")
@pytest.mark.clause("text_editor.view.ranges")
@pytest.mark.clause("text_editor.past-end")
def test_ranges_of_a_view() -> None:
    room, path = Room({"a.txt": NUMBERS, "d/b": "x"}), "/workspace/a.txt"
    assert room.said("view", path, view_range=[2, 3]) == numbered(path, 2, "two", "three")
    note = "NOTE: We only show up to 10 since there're only 10 lines in this file.\n"
    assert room.said("view", path, view_range=[9, 40]) == note + numbered(path, 9, "nine", "ten")
    for given, words in (
        ([0, 3], "[0, 3]. Its first element `0` should be within the range of lines of the file: [1, 10]"),
        (
            [11, -1],
            "[11, -1]. Its first element `11` should be within the range of lines of the file: [1, 10]",
        ),
        ([5, 3], "[5, 3]. Its second element `3` should be larger or equal than its first `5`"),
    ):
        assert room.refused("view", path, view_range=given) == f"Invalid `view_range`: {words}"
    for wrong in ([1], [1, 2, 3], "x", [1, "x"]):
        expected = "Invalid `view_range`. It should be a list of two integers."
        assert room.refused("view", path, view_range=wrong) == expected
    on_folder = "The `view_range` parameter is not allowed when `path` points to a directory."
    assert room.refused("view", "/workspace/d", view_range=[1, 2]) == on_folder


@pytest.mark.clause("text_editor.view.folder")
def test_a_directory_is_shown_two_levels_deep() -> None:
    room = Room({"a": "", "d/b": "", "d/e/c": "", ".hidden": "", "d/.h": ""})
    head = "Here's the files and directories up to 2 levels deep in {}, excluding hidden items:\n"
    below = ("/workspace", "/workspace/a", "/workspace/d/", "/workspace/d/b", "/workspace/d/e/")
    assert room.said("view", "/workspace") == head.format("/workspace") + "\n".join(below) + "\n"
    inner = ("/workspace/d", "/workspace/d/b", "/workspace/d/e/", "/workspace/d/e/c")
    assert room.said("view", "/workspace/d") == head.format("/workspace/d") + "\n".join(inner) + "\n"


@pytest.mark.clause("text_editor.view.clipped")
@pytest.mark.clause("text_editor.clipped")
def test_a_view_is_clipped_at_its_characters() -> None:
    room = Room({"a": "0123456789\n" * 2000, "b": "0123456789\n" * 1454})
    text = room.said("view", "/workspace/a")
    assert text.count("0123456789\n") == 1454
    following = room.call("view", "/workspace/a").facts["next"]
    assert isinstance(following, dict)
    assert following["arguments"] == {"command": "view", "path": "/workspace/a", "view_range": [1455, -1]}
    assert room.said("view", "/workspace/a", view_range=[1455, -1]).count("0123456789\n") == 546
    long = Room({"a": "x" * 40 + "\n"}, max_characters=25).said("view", "/workspace/a")
    assert f"{'x' * 25}\n<response clipped>" in long
    assert "<response clipped><NOTE>" in text
    assert "<response clipped>" not in room.said("view", "/workspace/b")
    few = Room({"a": "0123456789\n" * 20}, max_characters=25)
    assert few.said("view", "/workspace/a").startswith(
        numbered("/workspace/a", 1, "0123456789", "0123456789") + "<response clipped>"
    )


# --- changes --------------------------------------------------------------------------------------


@pytest.mark.clause("text_editor.create")
@pytest.mark.clause("text_editor.folders")
def test_create_makes_only_what_is_not_there() -> None:
    room = Room({"a": "x", "d/b": ""})
    assert room.said("create", "/workspace/n/m", file_text="hi\n") == (
        "File created successfully at: /workspace/n/m"
    )
    assert room.data("n/m") == b"hi\n"
    for path in ("/workspace/a", "/workspace/d"):
        words = f"File already exists at: {path}. Cannot overwrite files using command `create`."
        assert room.refused("create", path, file_text="hi\n") == words
    room.said("create", "/workspace/empty", file_text="")
    assert room.data("empty") == b""


@pytest.mark.clause("text_editor.str_replace")
def test_str_replace_shows_what_it_changed() -> None:
    room, path = Room({"a": NUMBERS}), "/workspace/a"
    snippet = numbered(
        "a snippet of /workspace/a", 1, "one", "two", "three", "four", "FIVE", *NUMBERS.split()[5:9]
    )
    assert room.said("str_replace", path, old_str="five", new_str="FIVE") == (
        f"The file {path} has been edited. {snippet}{REVIEW.format('')}"
    )
    assert room.data("a") == NUMBERS.replace("five", "FIVE").encode()


@pytest.mark.clause("text_editor.str_replace.deletes")
@pytest.mark.clause("text_editor.line-ends")
def test_bytes_around_a_change_stay() -> None:
    latin = "Grüße aus der Straße, äöü und ß für alle\r\n" * 3
    room = Room({"a": (latin + "old\r\nend").encode("latin-1"), "b": "\ufeffa\r\nold\r\n".encode()})
    room.said("str_replace", "/workspace/a", old_str="old\nend", new_str="new\nlast")
    assert room.data("a") == (latin + "new\r\nlast").encode("latin-1")
    room.said("str_replace", "/workspace/b", old_str="old\n")
    assert room.data("b") == "\ufeffa\r\n".encode()
    room.said("insert", "/workspace/a", insert_line=4, insert_text="ä")
    assert room.data("a") == (latin + "new\r\nä\r\nlast").encode("latin-1")


@pytest.mark.clause("text_editor.str_replace.errors")
def test_what_cannot_be_replaced_says_why() -> None:
    room, path = Room({"a": "x\ny\nx x\n", "d/b": ""}), "/workspace/a"
    missing = room.refused("str_replace", path, old_str="zebra", new_str="y")
    start = f"No replacement was performed, old_str `zebra` did not appear verbatim in {path}."
    assert missing.startswith(start)
    assert room.refused("str_replace", path, old_str="x", new_str="z") == (
        "No replacement was performed. Multiple occurrences of old_str `x` in lines [1, 3]. "
        "Please ensure it is unique."
    )
    assert room.refused("str_replace", path, old_str="y", new_str="y") == (
        "No replacement was performed, old_str `y` is the same as new_str `y`."
    )
    assert room.refused("str_replace", "/workspace/d", old_str="y", new_str="z") == (
        "The path /workspace/d is a directory and only the `view` command can be used on directories"
    )
    none = "The path /workspace/n does not exist. Please provide a valid path."
    for command, more in (
        ("view", {}),
        ("str_replace", {"old_str": "a"}),
        ("insert", {"insert_line": 0, "insert_text": "x"}),
    ):
        assert room.refused(command, "/workspace/n", **more) == none


@pytest.mark.clause("text_editor.tabs")
@pytest.mark.clause("text_editor.inexact")
@pytest.mark.clause("text_editor.str_replace.ends")
def test_a_text_that_was_copied_from_a_view_is_found() -> None:
    room, path = Room({"a": "if x:\n\ty = 1\n\tz\t= 2\nend\n\ty = 1\n"}), "/workspace/a"
    text = room.said("str_replace", path, old_str="        z       = 2\nend", new_str="\tq\nend")
    assert "matched with tabs as blanks" in text
    assert room.data("a") == b"if x:\n\ty = 1\n\tq\nend\n\ty = 1\n"
    assert "lines [2, 5]" in room.refused("str_replace", path, old_str="        y = 1", new_str="\tq")
    assert "blanks around it ignored" in room.said("str_replace", path, old_str="\n\nend  \n", new_str="END")
    assert room.data("a") == b"if x:\n\ty = 1\n\tq\nEND\n\ty = 1\n"


@pytest.mark.clause("text_editor.insert")
@pytest.mark.clause("text_editor.inserted")
@pytest.mark.clause("text_editor.insert.range")
def test_lines_are_inserted_after_a_line() -> None:
    room, path = Room({"a": NUMBERS, "e": ""}), "/workspace/a"
    snippet = numbered("a snippet of the edited file", 1, "zero", "one", "two", "three", "four")
    for text in ("zero", "zero\n"):
        room.store.put("a", NUMBERS)
        assert room.said("insert", path, insert_line=0, insert_text=text) == (
            f"The file {path} has been edited. {snippet}{REVIEW.format(LINES)}"
        )
        assert room.data("a") == f"zero\n{NUMBERS}".encode()
    room.said("insert", path, insert_line=11, insert_text="a\n\nb")
    assert room.data("a") == f"zero\n{NUMBERS}a\n\nb\n".encode()
    room.said("insert", "/workspace/e", insert_line=0, insert_text="first")
    assert room.data("e") == b"first\n"
    for line in (-1, 15):
        assert room.refused("insert", path, insert_line=line, insert_text="x") == (
            f"Invalid `insert_line` parameter: {line}. "
            "It should be within the range of lines of the file: [0, 14]"
        )


@pytest.mark.clause("text_editor.paths")
@pytest.mark.clause("text_editor.denied")
def test_paths_are_absolute_and_in_the_workspace() -> None:
    room = Room({"a": "x", ".env": "SECRET=1\n"})
    assert room.refused("view", "a") == (
        "The path a is not an absolute path, it should start with `/`. Maybe you meant /workspace/a?"
    )
    for path in ("/workspace/.env", "/etc/passwd", "/workspace/../etc/passwd"):
        for command, more in (
            ("view", {}),
            ("create", {"file_text": "x"}),
            ("str_replace", {"old_str": "S", "new_str": "x"}),
            ("insert", {"insert_line": 0, "insert_text": "x"}),
        ):
            words = room.refused(command, path, **more)
            assert "SECRET" not in words
            if path.endswith(".env"):
                assert words.startswith("Access to /workspace/.env is denied by the rule ")
            else:
                assert words.endswith("). Give an absolute path below /workspace.")
                assert "relative" not in words


def test_the_real_name_of_a_root_is_one_as_well(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a").write_text("x\n", encoding="utf-8")
    (tmp_path / "link").symlink_to("real")
    with Workspace(LocalStore(tmp_path / "link")) as space:
        for root in ("real", "link"):
            path = f"{tmp_path}/{root}/a"
            reply = space.call(EDITOR, {"command": "view", "path": path}, contract_name="text_editor")
            assert reply.text == numbered(path, 1, "x")


@pytest.mark.clause("text_editor.required")
def test_missing_arguments_are_named() -> None:
    room, path = Room({"a": "x\n"}), "/workspace/a"
    for command, name, more in (
        ("create", "file_text", {}),
        ("str_replace", "old_str", {}),
        ("insert", "insert_line", {}),
        ("insert", "insert_text", {"insert_line": 0}),
    ):
        words = f"Parameter `{name}` is required for command: {command}"
        assert room.refused(command, path, **more) == words
    known = '"view", "create", "str_replace", "insert"'
    assert room.refused("undo_edit", path) == (
        f"Unrecognized command undo_edit. The allowed commands for the {EDITOR} tool are: {known}"
    )
    both = room.refused("insert", path, insert_line=0, insert_text="a", new_str="b")
    assert "insert_text" in both
    assert "new_str" in both


@pytest.mark.clause("text_editor.older")
def test_the_older_name_takes_the_older_arguments() -> None:
    room, path = Room({"a": "x\n"}), "/workspace/a"
    room.said("insert", path, tool=OLDER, insert_line=1, new_str="y")
    assert room.data("a") == b"x\ny\n"
    assert room.refused("undo_edit", path, tool=OLDER) == f"No edit history found for {path}."
    assert '"undo_edit"' in room.refused("nope", path, tool=OLDER)
    assert "`new_str` is required" in room.refused("insert", path, tool=OLDER, insert_line=1)
    assert OLDER not in [tool.name for tool in room.space.contract("text_editor").offered(commands=True)]


@pytest.mark.clause("text_editor.undo")
def test_undo_edit_takes_back_the_edits_of_its_own_conversation() -> None:
    room, path = Room({"a": NUMBERS, "b": NUMBERS}, history=True), "/workspace/a"

    def undo(session: str) -> str:
        return room.said("undo_edit", path, tool=OLDER, session=session)

    room.said("str_replace", path, session="other", old_str="five", new_str="5")
    after = NUMBERS.replace("five", "5")
    room.said("str_replace", path, session="mine", old_str="two", new_str="2")
    room.said("insert", path, tool=OLDER, session="mine", insert_line=10, new_str="eleven")
    room.said("str_replace", "/workspace/b", session="mine", old_str="one", new_str="1")
    shown = undo("mine")
    assert shown.startswith(f"Last edit to {path} undone successfully. Here's the result of running")
    assert room.data("a").decode() == after.replace("two", "2")
    assert "     2\ttwo\n" in undo("mine")
    assert room.data("a").decode() == after
    words = room.refused("undo_edit", path, tool=OLDER, session="mine")
    assert words == f"No edit history found for {path}."
    undo("other")
    assert room.data("a").decode() == NUMBERS


@pytest.mark.clause("text_editor.undo")
def test_undo_edit_neither_loses_a_later_change_nor_removes_a_new_file() -> None:
    room, path = Room({"a": "one\ntwo\n"}, history=True), "/workspace/a"
    room.said("str_replace", path, session="mine", old_str="two", new_str="2")
    room.said("str_replace", path, session="other", old_str="2", new_str="zwei")
    words = room.refused("undo_edit", path, tool=OLDER, session="mine")
    assert words.startswith(f"The file {path} was changed since your last edit")
    assert "`str_replace`" in words
    assert "+zwei" in words
    room.said("create", "/workspace/new", session="mine", file_text="x\n")
    words = room.refused("undo_edit", "/workspace/new", tool=OLDER, session="mine")
    assert words == "No edit history found for /workspace/new."
    words = room.refused("undo_edit", "/workspace/gone", tool=OLDER, session="mine")
    assert words == "No edit history found for /workspace/gone."
    assert "denied" in room.refused("undo_edit", "/workspace/.env", tool=OLDER, session="mine")


# --- apply_patch ----------------------------------------------------------------------------------


def v4a(*lines: str) -> str:
    return "\n".join(("*** Begin Patch", *lines, "*** End Patch"))


@pytest.mark.clause("text_editor.patch")
@each("wrapped", ["{}", "<<'EOF'\n{}\nEOF\n", "apply_patch <<EOF\n{}\nEOF"])
def test_a_patch_changes_several_files(wrapped: str) -> None:
    room = Room({"a": "one\ntwo\n", "b": "x\n", "c": "y\n"})
    patch = v4a(
        *("*** Update File: a", "@@ one", "-two", "+TWO", "*** Delete File: b"),
        *("*** Add File: n/m", "+new", "*** Update File: /workspace/c", "*** Move to: d", "@@", "-y", "+Y"),
    )
    reply = room.patch(input=wrapped.format(patch))
    assert reply.text == "Success. Updated the following files:\nM a\nD b\nA n/m\nM d"
    assert {str(path): data for path, data in room.store.contents()} == {
        "a": b"one\nTWO\n",
        "n/m": b"new\n",
        "d": b"Y\n",
    }


@pytest.mark.clause("text_editor.patch.steps")
@pytest.mark.clause("text_editor.context")
@pytest.mark.clause("text_editor.final-newline")
def test_lines_of_a_patch_may_differ_in_blanks_and_typography() -> None:
    room = Room({"a": "  keep \u201cit\u201d  \nold\nlast"})
    reply = room.patch(input=v4a("*** Update File: a", ' keep "it"', "-old  ", "+new"))
    assert not reply.is_error, reply.text
    assert room.data("a") == "  keep \u201cit\u201d  \nnew\nlast".encode()
    room.patch(input=v4a("*** Update File: a", "-last", "+end"))
    assert room.data("a").endswith(b"\nend\n")


@pytest.mark.clause("text_editor.patch.errors")
@pytest.mark.clause("text_editor.two-places")
@pytest.mark.clause("text_editor.all-or-none")
@pytest.mark.clause("text_editor.overwrites")
@each(
    ("lines", "says"),
    [
        (("*** Update File: b", "-z", "+y"), "Failed to find expected lines in b:\nz"),
        (("*** Update File: b", "@@ q", "-x", "+y"), "Failed to find context 'q' in b"),
        (("*** Update File: c", "-x", "+y"), "Failed to read file to update: c"),
        (("*** Update File: b", "-x", "+y"), "Found 2 places for hunk 1, at lines 1, 3 of b."),
        (("*** Add File: b", "+y"), "b already exists"),
        (("*** Update File: a", "*** Move to: b", "-two", "+y"), "b already exists"),
        (("*** Add File: .env", "+y"), "Access to .env is denied"),
        (("*** Add File: ../up", "+y"), "../up"),
    ],
)  # fmt: skip
def test_a_patch_that_fails_changes_nothing(lines: tuple[str, ...], says: str) -> None:
    room = Room({"a": "one\ntwo\n", "b": "x\nw\nx\n"})
    before = dict(room.store.contents())
    reply = room.patch(input=v4a("*** Update File: a", "-one", "+ONE", *lines))
    assert reply.is_error
    assert says in reply.text
    assert reply.text.endswith("No file was changed.")
    assert dict(room.store.contents()) == before


@pytest.mark.clause("text_editor.patch.errors")
def test_what_is_no_patch_says_so() -> None:
    room = Room({"a": "one\n"})
    assert "missing Begin/End markers" in room.patch(input="hello").text
    assert "'input'" in room.patch().text
    both = room.patch(input=v4a("*** Delete File: a"), operation={"type": "delete_file", "path": "a"})
    assert both.is_error
    assert room.data("a") == b"one\n"


@pytest.mark.clause("text_editor.patch.hosted")
def test_operations_of_the_hosted_tool() -> None:
    room = Room({"a": "one\ntwo\n"})
    for operation, expected in (
        ({"type": "create_file", "path": "n", "diff": "+x\n+y\n"}, "A n"),
        ({"type": "update_file", "path": "a", "diff": "@@ one\n-two\n+TWO\n"}, "M a"),
        ({"type": "delete_file", "path": "n"}, "D n"),
    ):
        reply = room.patch(operation=operation)
        assert reply.text == f"Success. Updated the following files:\n{expected}"
    assert {str(path): data for path, data in room.store.contents()} == {"a": b"one\nTWO\n"}
    for wrong in (
        {"type": "rename", "path": "a"},
        {"type": "update_file", "path": "a"},
        {"type": "delete_file"},
    ):
        assert room.patch(operation=wrong).is_error


def test_a_failure_after_the_change_does_not_say_that_nothing_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> Reply:
        raise KeyError

    room = Room({"a.txt": "one\n"})
    monkeypatch.setattr("readroom.core.contracts.patch_words.done", fail)
    reply = room.patch(operation={"type": "update_file", "path": "a.txt", "diff": "@@\n-one\n+two\n"})
    assert (reply.is_error, room.data("a.txt")) == (True, b"two\n")
    assert "failed inside" in reply.text
    assert "No file was changed" not in reply.text


def test_the_page_says_what_the_listed_tools_cost() -> None:
    tools = Room({}).space.contract("text_editor").offered(commands=False)
    listed = [
        {"name": one.name, "description": one.description, "inputSchema": one.input_schema} for one in tools
    ]
    assert 250 <= estimate(json.dumps(listed, separators=(",", ":"))) <= 350
