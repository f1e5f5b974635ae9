"""Edits as today's clients send them and as those of the document do: the request chooses the rules.

Clauses `coder.today` are those of today's agent; `coder.agent` and `coder.lines` those of the document.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from readroom.core.config import load
from readroom.core.policy.changes import ChangePolicy
from readroom.core.stores.local import LocalStore
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import Reply
from readroom.core.workspace import Workspace
from tests.each import each
from tests.suites import needs

ROOT = "/home/me/p"
MISSING = "Verify that old_text matches the file content exactly, including whitespace and indentation"


class Room:
    """A workspace, and edits in it."""

    def __init__(self, workspace: Workspace, root: str) -> None:
        self.workspace = workspace
        self.root = root

    def edit(self, *files: Mapping[str, Any], **more: Any) -> Reply:
        return self.workspace.call("edit-files", {"files": [*files], **more}, contract_name="coder")

    def one(self, *edits: Mapping[str, Any], path: str = "a") -> Reply:
        return self.edit({"path": f"{self.root}/{path}", "edits": [*edits]})

    def chat(self, *edits: Mapping[str, Any]) -> Reply:
        return self.workspace.call("edit_files", {"edits": [*edits]}, contract_name="coder")

    def text(self, path: str = "a") -> str:
        with self.workspace.guard.open(path) as source:
            return source.read_at(0, source.size).decode()


def in_memory(files: Mapping[str, str]) -> Room:
    store = MemoryStore(files)
    store.roots = (ROOT,)
    return Room(Workspace(store), ROOT)


@pytest.fixture
def room() -> Iterator[Room]:
    made = in_memory({"a": "one\ntwo\nthree\n", "d/b": "two\r\nthree\r\n"})
    with made.workspace:
        yield made


def message(reply: Reply) -> str:
    return str(json.loads(reply.text)["message"])


def status(reply: Reply) -> object:
    return reply.facts["status"]


NEW = {"old_text": "two", "new_text": "2"}
OLD = {"search": "two", "replace": "2"}
NONE = {"old_text": "", "new_text": ""}
EMPTY = {"search": "", "replace": ""}


# --- which pair counts ------------------------------------------------------------------------


@pytest.mark.clause("coder.today.edit.pairs")
@each("edit", [NEW, OLD, {**NEW, **OLD}, {**NEW, **EMPTY}, {**OLD, **NONE}, {**NEW, "search": "two"}])
def test_either_pair_edits_and_a_copy_does_no_harm(edit: dict[str, str]) -> None:
    made = in_memory({"a": "one\ntwo\n"})
    with made.workspace:
        assert status(made.one(edit)) == 200
        assert made.text() == "one\n2\n"


@pytest.mark.clause("coder.today.edit.pairs")
def test_a_text_is_deleted_by_an_empty_new_text_with_its_copy(room: Room) -> None:
    assert status(room.one({"old_text": "two\n", "new_text": "", "search": "two\n", "replace": ""})) == 200
    assert room.text() == "one\nthree\n"


@pytest.mark.clause("coder.deviation.contradictions")
@each(
    ("edit", "named"),
    [
        ({**NEW, "search": "one", "replace": "2"}, ('"old_text" and "search" differ',)),
        ({**NEW, "search": "two", "replace": "zwei"}, ('"new_text" and "replace" differ',)),
        ({**NEW, "replace": "zwei"}, ('"new_text" and "replace" differ',)),
        ({**NEW, "search": "", "replace": "2"}, ('"old_text" and "search" differ',)),
        ({"old_text": "two", "new_text": "", "search": "two", "replace": "x"}, ('"new_text" and "replace"',)),
        ({"new_text": "2", "search": "two"}, ('"old_text" and "search" differ',)),
        (
            {**NEW, "search": "a", "replace": "b"},
            ('"old_text" and "search", and "new_text" and "replace" differ',),
        ),
    ],
)
def test_pairs_that_contradict_each_other_are_refused_with_both_named(
    edit: dict[str, str], named: tuple[str, ...]
) -> None:
    made = in_memory({"a": "one\ntwo\n"})
    with made.workspace:
        refused = made.one({"old_text": "one", "new_text": "1"}, edit)
        assert status(refused) == 400
        assert message(refused).startswith(f"edit {ROOT}/a: edits[1]: ")
        for words in named:
            assert words in message(refused)
        assert 'Send "old_text" and "new_text" only.' in message(refused)
        assert made.text() == "one\ntwo\n"


_ANY_TEXT = st.sampled_from(["", "one", "two", "x"])


@given(st.fixed_dictionaries({}, optional=dict.fromkeys([*NEW, *OLD], _ANY_TEXT)))
def test_no_edit_is_made_that_one_of_its_pairs_does_not_mean(edit: dict[str, str]) -> None:
    made = in_memory({"a": "one\ntwo\n"})
    with made.workspace:
        done = made.one(edit)
        meant = {
            "one\ntwo\n".replace(edit.get(old, ""), edit.get(new, ""), 1)
            for old, new in (("old_text", "new_text"), ("search", "replace"))
            if edit.get(old)
        }
        # If both pairs are there, they agree, or the file stays.
        if status(done) == 200:
            assert len(meant) == 1
            assert made.text() in meant
        else:
            assert made.text() == "one\ntwo\n"


# --- whose words ------------------------------------------------------------------------------


@pytest.mark.clause("coder.today.edit.words", "coder.agent.words")
def test_each_edit_is_refused_in_the_words_of_its_own_fields() -> None:
    cases = [
        ("x x", "x", "old_text matches 2 occurrences (expected exactly 1)", "search string matches 2"),
        (
            "y",
            "x",
            f"old_text not found in file. {MISSING}",
            "search string not found in file. Verify",
        ),
        (
            "y",
            "",
            "old_text must not be empty; include the text you want to match",
            "search string must",
        ),
    ]
    for content, text, todays, older in cases:
        made = in_memory({"a": content})
        with made.workspace:
            new = made.one({"old_text": text, "new_text": "z"})
            old = made.one({"search": text, "replace": "z"})
            copied = made.one({"old_text": text, "new_text": "z", "search": text, "replace": "z"})
        assert message(new).startswith(f"edit {ROOT}/a: {todays}")
        assert message(copied) == message(new)
        assert message(old).startswith(f"edit {ROOT}/a: {older}")
        assert "old_text" not in message(old)


@pytest.mark.clause("coder.today.edit.words")
def test_a_refusal_names_line_ends_where_they_were_meant(room: Room) -> None:
    refused = room.one({"old_text": "two\nthree\n", "new_text": "2\r\n3\r\n"}, path="d/b")
    assert message(refused) == (
        f"edit {ROOT}/d/b: old_text not found in file. Verify that old_text matches the file content "
        "exactly, including whitespace, indentation, and line endings"
    )
    older = room.one({"search": "two\nthree\n", "replace": "2\r\n3\r\n"}, path="d/b")
    assert message(older).endswith("exactly, including whitespace and indentation")


@pytest.mark.clause("coder.today.edit.words", "coder.agent.words")
def test_one_request_may_mix_both(room: Room) -> None:
    refused = room.edit(
        {"path": f"{ROOT}/a", "edits": [{"search": "no", "replace": "x"}]},
        {"path": f"{ROOT}/d/b", "edits": [{"old_text": "no", "new_text": "x"}]},
    )
    first, second = message(refused).split("\n")
    assert "search string not found" in first
    assert "old_text not found" in second


# --- hints ------------------------------------------------------------------------------------

DASHES = "\u2500"
SWAP = '. Did you swap "old_text" and "new_text"? Your new_text string appears at line '


@pytest.mark.clause("coder.today.edit.hints", "coder.deviation.hints")
@each(
    ("text", "old", "new", "hint"),
    [
        ("t\n# ----\n", "# -----\n", "x", '. Your old_text has 5 "-" (U+002D); the file has 4 at line 2'),
        (
            f"a\n<{DASHES * 37}>\n", f"<{DASHES * 32}>", "x",
            f'. Your old_text has 32 "{DASHES}" (U+2500); the file has 37 at line 2',
        ),
        ("s ==bb\n", "s ==\n", "x", '. Your old_text has 0 "b" (U+0062); the file has 2 at line 1'),
        (
            "s =\ns ==\ns ===\ns ====\ns =====\ns ======\n\n", "s =======\n", "x",
            '. Your old_text has 7 "=" (U+003D); the file has 1 at line 1, 2 at line 2, 3 at line 3, '
            "4 at line 4, 5 at line 5 and 1 more",
        ),
        (
            "a ==\nb ++\nc ##\nd @@\n", "a ===\nb +++\nc ###\nd @@@\n", "x",
            '. Your old_text has 3 "=" (U+003D); the file has 2 at line 1'
            '. Your old_text has 3 "+" (U+002B); the file has 2 at line 2'
            '. Your old_text has 3 "#" (U+0023); the file has 2 at line 3. and 1 more',
        ),
        # A miscount is nearer than a swap.
        ("a --\nnew\n", "a ---\n", "new\n", '. Your old_text has 3 "-" (U+002D); the file has 2 at line 1'),
        # The new text is there instead, as it is or but for white space.
        ("a\nb = 2\n", "b = 1\n", "b = 2\n", f"{SWAP}2"),
        ("a\n\tb = 2  \n", "b = 1\n", "b = 2\n", f"{SWAP}2"),
        ("z\n" * 7, "no\n", "z\n", f"{SWAP}1, 2, 3, 4, 5 and 2 more"),
        ("A A A\n", "no", "A", f"{SWAP}1"),
        ("A\nB\nA\nB\nA\n", "no", "A\nB\nA\n", f"{SWAP}1, 3"),
        # Nothing is said where nothing is certain.
        ("a===b\n", "a=====b!\n", "unused", ""),
        ("xa\n", "xab\n", "unused", ""),
        ("ab--\n", "ba---\n", "unused", ""),  # the other characters stand in another order
        ("----\nx\n", "-----\ny\n", "unused", ""),  # the rule is there, the line below it is not
        ("a\n", "no\n", "", ""),
        ("a\n\n", "no\n", "\n", ""),
    ],
)  # fmt: skip
def test_a_miss_says_what_is_certain_about_it(text: str, old: str, new: str, hint: str) -> None:
    made = in_memory({"a": text})
    with made.workspace:
        refused = made.one({"old_text": old, "new_text": new})
        older = made.one({"search": old, "replace": new})
    assert message(refused) == f"edit {ROOT}/a: old_text not found in file. {MISSING}{hint}"
    assert "Your old_text" not in message(older)
    assert "swap" not in message(older)


# --- several entries --------------------------------------------------------------------------


@pytest.mark.clause("coder.today.edit.joined")
@each("again", ["a", "./a", "d/../a", "/a", "a/"])
def test_entries_of_one_path_are_joined_in_their_order(again: str) -> None:
    made = in_memory({"a": "one\ntwo\n", "d/b": "x"})
    with made.workspace:
        done = made.edit(
            {"path": f"{ROOT}/a", "edits": [{"old_text": "one", "new_text": "X"}]},
            {"path": f"{ROOT}/d/b", "edits": [{"old_text": "x", "new_text": "y"}]},
            {"path": f"{ROOT}/{again}", "edits": [{"old_text": "X", "new_text": "Y"}]},
            include_diff=True,
        )
        assert status(done) == 200, done.text
        assert (made.text(), made.text("d/b")) == ("Y\ntwo\n", "y")
        files = json.loads(done.text)["files"]
    assert [file["path"] for file in files] == [f"{ROOT}/a", f"{ROOT}/d/b"]
    assert "-one\n+Y\n" in files[0]["diff"]


@pytest.mark.clause("coder.agent.duplicates")
def test_entries_of_one_path_are_refused_where_all_edits_are_of_the_document(room: Room) -> None:
    entry = {"path": f"{ROOT}/a", "edits": [OLD]}
    refused = room.edit(entry, {**entry, "edits": [{"search": "one", "replace": "1"}]})
    assert status(refused) == 400
    assert message(refused) == (
        f'duplicate file path "{ROOT}/a": combine edits into a single entry\'s "edits" list'
    )
    assert room.text() == "one\ntwo\nthree\n"


def test_an_entry_without_edits_is_reported_beside_another_of_its_path(room: Room) -> None:
    entry = {"path": f"{ROOT}/a", "edits": [{"search": "none", "replace": "x"}]}
    refused = room.edit(entry, {"path": f"{ROOT}/a", "edits": []})
    assert status(refused) == 400
    assert message(refused).split("\n")[1:] == ["must specify at least one edit"]


@needs("cli")
def test_no_clause_of_today_is_one_of_the_document() -> None:
    from tests.contracts.clauses import clauses  # with the programs that write pages

    todays = {key: clause.cases for key, clause in clauses("coder").items() if key.startswith("coder.today.")}
    assert todays
    assert [key for key, cases in todays.items() if cases] == []
    assert {"coder.agent.words", "coder.agent.duplicates"} <= clauses("coder").keys() - todays.keys()


def test_an_entry_without_edits_does_not_spoil_another_of_its_path(room: Room) -> None:
    assert status(room.edit({"path": f"{ROOT}/a", "edits": []}, {"path": f"{ROOT}/a", "edits": [NEW]})) == 200
    assert room.text() == "one\n2\nthree\n"


@pytest.mark.clause("coder.today.edit.aliases")
@each("follows", [True, False])
@each("names", [("real", "link"), ("link", "real"), ("d/real", "d2/real"), ("real", "hard")])
def test_two_names_of_one_file_are_refused(tmp_path: Path, names: tuple[str, str], follows: bool) -> None:
    (tmp_path / "d").mkdir()
    for name in ("real", "d/real"):
        (tmp_path / name).write_text("one\ntwo\n", encoding="utf-8")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "d2").symlink_to("d")
    if "hard" in names:
        (tmp_path / "hard").hardlink_to(tmp_path / "real")
    policy = ChangePolicy(follow_links=follows, split_hardlinks=True)
    root, store = str(tmp_path), LocalStore(tmp_path)
    with Workspace(store, settings=replace(load(store), changes=policy)) as workspace:
        made = Room(workspace, root)
        refused = made.edit(
            {"path": f"{root}/{names[0]}", "edits": [{"old_text": "one", "new_text": "1"}]},
            {"path": f"{root}/{names[1]}", "edits": [{"old_text": "two", "new_text": "2"}]},
        )
    assert status(refused) == 400, refused.text
    assert message(refused) == (
        f'duplicate file path "{root}/{names[1]}" aliases "{root}/{names[0]}" (same real file): '
        'combine edits into a single entry\'s "edits" list'
    )
    for name in names:
        assert (tmp_path / name).read_text(encoding="utf-8") == "one\ntwo\n"


# --- the tools for models ---------------------------------------------------------------------


@pytest.mark.clause("coder.today.chat.edit")
def test_the_chat_tool_groups_a_flat_list_by_path(room: Room) -> None:
    done = room.chat(
        {"path": f"{ROOT}/a", "old_text": "one", "new_text": "1"},
        {"path": f"{ROOT}/d/b", "old_text": "two\n", "new_text": "2\n"},
        {"path": f" {ROOT}/a\n", "old_text": "1\ntwo", "new_text": "1\n2"},
    )
    assert not done.is_error
    value = json.loads(done.text)
    assert list(value) == ["files", "ok"]
    assert value["ok"] is True
    assert [list(file) for file in value["files"]] == [["path", "diff"]] * 2
    assert [file["path"] for file in value["files"]] == [f"{ROOT}/a", f"{ROOT}/d/b"]
    assert (room.text(), room.text("d/b")) == ("1\n2\nthree\n", "2\r\nthree\r\n")


EXAMPLE = (
    '{"edits":[{"path":"/repo/a.go","old_text":"x := 1","new_text":"x := 2"},'
    '{"path":"/repo/b.go","old_text":"foo()","new_text":"bar()"}]}'
)
FLAT = "Send a flat list of edits where every edit has its own path, for example "
ARRAY = (
    "Send edits as a JSON array of objects with string path, old_text and new_text, and optional boolean "
    f"replace_all, for example {EXAMPLE}; decoding failed ("
)
END = "\nNo edits were applied."


@pytest.mark.clause("coder.today.chat.refusals", "coder.deviation.missing_texts")
@each(
    ("arguments", "begins"),
    [
        ({}, f"Add at least one edit to edits{END}"),
        ({"edits": []}, f"Add at least one edit to edits{END}"),
        (
            {"files": [{"path": "/a", "edits": [NEW]}]},
            f"{FLAT}{EXAMPLE}; the files key is not supported{END}",
        ),
        ({"edits": "not json"}, ARRAY),
        ([], ARRAY),
        ({"edits": [{"path": "/a", "old_text": 1, "new_text": []}]}, ARRAY),
        ({"edits": [{"path": "/a", "old_text": "x"}]}, ARRAY),
        (
            {"edits": [{"path": f"{ROOT}/a", **NEW}, NEW, {"path": "  ", **NEW}, {"path": None, **NEW}]},
            f"Set path to the absolute path of the file to edit in edits[1], edits[2], edits[3]{END}",
        ),
        ({"edits": [{"path": "a", **NEW}]}, f'file path must be absolute: "a"{END}'),
        (
            {"edits": [{"path": f"{ROOT}/a", "old_text": "no", "new_text": ""}]},
            f"edit {ROOT}/a: old_text not",
        ),
        ({"edits": [{"path": f"{ROOT}/no", **NEW}]}, f"open {ROOT}/no: no such file or directory{END}"),
    ],
)
def test_the_chat_tool_ends_every_refusal_in_the_same_line(arguments: Any, begins: str) -> None:
    made = in_memory({"a": "one\ntwo\n"})
    with made.workspace:
        refused = made.workspace.call("edit_files", arguments, contract_name="coder")
        assert made.text() == "one\ntwo\n"
    assert refused.is_error
    assert refused.text.startswith(begins)
    assert refused.text.endswith(END)
    assert refused.text.count(END) == 1


@pytest.mark.clause("coder.today.chat.edit")
def test_the_chat_tool_takes_its_list_as_text(room: Room) -> None:
    edits = json.dumps([{"path": f"{ROOT}/a", **NEW}])
    assert not room.workspace.call("edit_files", {"edits": edits}, contract_name="coder").is_error
    assert room.text() == "one\n2\nthree\n"


@pytest.mark.clause("coder.today.mcp.edit")
def test_the_mcp_tool_takes_files_with_their_edits(room: Room) -> None:
    files = [{"path": f" {ROOT}/a", "edits": [NEW, {"old_text": "2", "new_text": "II"}]}]
    done = room.workspace.call(
        "coder_workspace_edit_files", {"workspace": "w", "files": files}, contract_name="coder"
    )
    assert json.loads(done.text)["ok"] is True
    assert json.loads(done.text)["files"][0]["path"] == f"{ROOT}/a"
    assert room.text() == "one\nII\nthree\n"


@pytest.mark.clause("coder.today.mcp.edit")
@each(
    ("files", "says"),
    [
        ([], "files is required"),
        ([{"edits": [NEW]}], "files[0].path is required; provide the absolute path of the file to edit"),
        ([{"path": f"{ROOT}/a", "edits": []}], "files[0].edits must contain at least one edit"),
        ([{"path": "a", "edits": [NEW]}], 'file path must be absolute: "a"'),
    ],
)
def test_the_mcp_tool_ends_every_refusal_in_the_same_words(files: list[Any], says: str) -> None:
    made = in_memory({"a": "one\ntwo\n"})
    with made.workspace:
        arguments = {"workspace": "w", "files": files}
        refused = made.workspace.call("coder_workspace_edit_files", arguments, contract_name="coder")
    assert refused.is_error
    assert refused.text == f"{says}; no files in this batch were applied"


@pytest.mark.clause("coder.today.chat.schema")
def test_schemas_require_what_the_original_requires(room: Room) -> None:
    tools = {tool.name: tool.input_schema for tool in room.workspace.tools("coder")}
    chat = tools["edit_files"]
    item = chat["properties"]["edits"]["items"]
    assert (chat["required"], item["required"]) == (["edits"], ["path", "old_text", "new_text"])
    files = tools["coder_workspace_edit_files"]["properties"]["files"]["items"]
    assert (files["required"], files["properties"]["edits"]["items"]["required"]) == (
        ["path", "edits"], ["old_text", "new_text"],
    )  # fmt: skip
