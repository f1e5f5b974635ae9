"""The Everruns contract: searches, listings, edits and writes, beyond its shared cases."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readroom.contracts.everruns.changes import DIFF_CHARS as EVERRUNS_DIFF_CHARS
from readroom.contracts.everruns.names import Names
from readroom.contracts.everruns.requests import REPLY_BYTES as EVERRUNS_REPLY_BYTES
from readroom.contracts.everruns.words import NO_EDITS
from readroom.core import config
from readroom.core.stores.local import LocalStore
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import Reply
from readroom.core.workspace import Workspace
from tests.contracts.everruns.test_replies import call, failure, said
from tests.each import each
from tests.suites import needs

Json = Any


def digest(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


# --- grep_files --------------------------------------------------------------------------------


@pytest.mark.clause("everruns.grep.bad-pattern", "everruns.grep.bad-glob")
def test_patterns_that_cannot_be_used_are_refused_in_its_words() -> None:
    assert failure({"a": "x"}, "grep_files", pattern="(").startswith("Invalid regex pattern: ")
    for glob in ("{a", "[", "[z-a]", "*.[9-0]"):
        assert (
            failure({"a": "x"}, "grep_files", pattern="x", path_pattern=glob) == "invalid grep path_pattern"
        )


def test_the_call_that_a_bad_pattern_names_searches_for_its_text() -> None:
    files = {"a": "f(x) [1]"}
    with Workspace(MemoryStore(files)) as workspace:
        reply = workspace.call("grep_files", {"pattern": "f(x) ["}, contract_name="everruns")
        following: Json = reply.facts["error"]["next"]  # type: ignore[index, call-overload] # a JSON object
        found = workspace.call(following["tool"], following["arguments"], contract_name="everruns")
    assert json.loads(found.text)["match_count"] == 1


@needs("server")
def test_a_spent_budget_leaves_counts_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("".join(f"def hit_{number}(): pass\n" for number in range(2000)))
    (tmp_path / "o.toml").write_text("[budget]\nsession = 3800\n")
    store = LocalStore(tmp_path)
    with Workspace(store, settings=config.load(store, tmp_path / "o.toml")) as workspace:
        replies: list[Reply] = []
        while not replies or not replies[-1].is_error:
            for tool, arguments in (("read_file", {"path": "a.py"}), ("grep_files", {"pattern": "hit"})):
                replies.append(workspace.call(tool, arguments, contract_name="everruns"))
    found = [json.loads(reply.text) for reply in replies if not reply.is_error]
    assert all(reply["truncation"]["truncated"] for reply in found)
    assert "exec_budget" in [reply["truncation"]["reason"] for reply in found]
    assert any("Budget" in note for reply in found for note in reply.get("notes", ()))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"limit": 0}, "limit must be greater than 0"),
        ({"offset": -1}, "offset must be a non-negative integer"),
        ({"before_context": "a"}, "before_context must be a non-negative integer"),
        ({"pattern": None}, "Missing required parameter: pattern"),
    ],
)
def test_numbers_are_refused_in_its_words(arguments: dict[str, Json], words: str) -> None:
    assert failure({"a": "x"}, "grep_files", **{"pattern": "x", **arguments}) == words


@settings(max_examples=20, deadline=None)
@given(
    files=st.dictionaries(
        st.sampled_from(["a", "b/c", "b/d.txt", "e", ".hidden"]),
        st.lists(st.sampled_from(["hit", "no", 'hit "x"', "hit " * 500]), max_size=20).map("\n".join),
        max_size=4,
    ),
    limit=st.sampled_from([1, 3, 1000]),
    size=st.sampled_from([None, 4096]),
)
def test_following_the_hints_shows_every_match_once_in_order(
    files: dict[str, str], limit: int, size: int | None
) -> None:
    wanted = [
        (f"/workspace/{path}", number)
        for path in sorted(files, key=lambda path: path.split("/"))
        for number, line in enumerate(files[path].split("\n"), 1)
        if "hit" in line
    ]
    found: list[tuple[str, int]] = []
    arguments: dict[str, Json] = {"pattern": "hit", "limit": limit}
    with Workspace(MemoryStore(files)) as workspace:
        while True:
            reply = workspace.call("grep_files", arguments, contract_name="everruns", reply_bytes=size)
            page = json.loads(reply.text)
            assert len(reply.text.encode()) <= (size or 1 << 20)
            assert page["total_matches"] == len(wanted)
            assert page["match_count"] == len(page["matches"])
            found += [(match["path"], match["line_number"]) for match in page["matches"]]
            if "next_offset" not in page["truncation"]:
                break
            following: Json = reply.facts["next"]
            assert following["arguments"] == {**arguments, "offset": page["truncation"]["next_offset"]}
            arguments = following["arguments"]
    assert found == wanted


@pytest.mark.clause("everruns.deviation.matched-bytes")
def test_the_cap_counts_entries_as_they_are_sent() -> None:
    line = "hit " + "x" * 300
    found = said({"a.txt": f"{line}\n" * 500}, "grep_files", pattern="hit", limit=1000)
    sent = len(json.dumps(found, separators=(",", ":")))
    assert EVERRUNS_REPLY_BYTES - 1100 < sent <= EVERRUNS_REPLY_BYTES
    assert found["total_matches"] == 500
    assert found["truncation"]["reason"] == "size_cap"
    assert found["truncation"]["next_offset"] == found["match_count"]
    assert "bytes_total" not in found["truncation"]


def test_a_cut_line_names_the_call_for_its_rest() -> None:
    files = {"a.txt": "hit " + "x" * 200_000}
    found = said(files, "grep_files", pattern="hit")
    assert (found["match_count"], found["truncation"]["truncated"]) == (1, True)
    shown = found["matches"][0]["line"]
    note = found["notes"][0]
    assert note.startswith(f"Line 1 is cut; characters {len(shown) + 1}-200004: read_file {{")
    rest = said(files, "read_file", **json.loads(note.partition("read_file ")[2]))
    assert rest["content"].startswith("1|x")


def test_blocks_of_distant_windows_stay_apart_and_files_too() -> None:
    text = "\n".join("hit" if number in (2, 9) else str(number) for number in range(1, 11))
    found = said({"a": text, "b": "hit"}, "grep_files", pattern="hit", before_context=1, after_context=1)
    spans = [(block["path"], block["start_line"], block["end_line"]) for block in found["blocks"]]
    assert spans == [("/workspace/a", 1, 3), ("/workspace/a", 8, 10), ("/workspace/b", 1, 1)]


@pytest.mark.clause("everruns.deviation.ignore-files")
def test_hidden_files_are_searched_and_ignored_ones_listed_and_read(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("out\n")
    (tmp_path / "out").write_text("hit")
    (tmp_path / ".ci").write_text("hit")
    with Workspace(tmp_path) as workspace:

        def answer(tool: str, **arguments: Json) -> Json:
            return json.loads(workspace.call(tool, arguments, contract_name="everruns").text)

        found = answer("grep_files", pattern="hit")
        assert [match["path"] for match in found["matches"]] == ["/workspace/.ci"]
        nothing = answer("grep_files", pattern="hi", path_pattern="out")
        assert "ignore" in nothing["notes"][0]
        assert "out" in [entry["name"] for entry in answer("list_directory")["entries"]]
        assert answer("read_file", path="out")["content"] == "1|hit"


@each(
    ("pattern", "paths"),
    [
        ("/docs", ["docs/a.md", "x/docs/b.md"]),
        ("docs/a", ["docs/a.md", "my-docs/a.md"]),
        ("/workspace/docs", ["docs/a.md"]),
        ("/workspace/**/*.md", ["docs/a.md", "my-docs/a.md", "x/docs/b.md"]),
        ("a.md", ["docs/a.md", "my-docs/a.md"]),
        ("!x", ["!x"]),
        ("docs/", ["docs/a.md", "my-docs/a.md", "x/docs/b.md"]),
        ("nothing", []),
    ],
)
def test_a_path_pattern_takes_what_it_means(pattern: str, paths: list[str]) -> None:
    files = dict.fromkeys(["docs/a.md", "my-docs/a.md", "x/docs/b.md", "!x"], "hit")
    found = said(files, "grep_files", pattern="hit", path_pattern=pattern)
    assert sorted(match["path"] for match in found["matches"]) == sorted(
        f"/workspace/{path}" for path in paths
    )


@given(st.text(st.sampled_from("ab/*!#\\{?."), min_size=1, max_size=6))
def test_a_path_pattern_survives_the_way_there_and_back(pattern: str) -> None:
    names = Names()
    assert names.globs(names.path_pattern(names.globs(pattern))) == names.globs(pattern)


# --- list_directory ----------------------------------------------------------------------------


@pytest.mark.clause("everruns.list.entries")
def test_entries_have_their_facts(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "f.txt").write_text("abc")
    (tmp_path / "d" / "sub").mkdir()
    os.chmod(tmp_path / "d" / "f.txt", 0o444)
    with Workspace(tmp_path) as workspace:
        found = json.loads(workspace.call("list_directory", {"path": "/d"}, contract_name="everruns").text)
    assert found["path"] == "/workspace/d"
    assert found["entries"][0] == {
        "name": "f.txt", "path": "/workspace/d/f.txt", "is_directory": False, "size_bytes": 3,
        "is_readonly": True,
    }  # fmt: skip
    assert found["entries"][1]["is_directory"]
    assert found["truncation"]["truncated"] is False


@pytest.mark.clause("everruns.list.paging")
@pytest.mark.parametrize("limit", [1, 7, 200])
def test_pages_show_every_entry_once(limit: int) -> None:
    files = {f"{number:03}": "" for number in range(20)}
    names: list[str] = []
    offset = 0
    while True:
        found = said(files, "list_directory", offset=offset, limit=limit)
        assert (found["count"], found["total_count"]) == (len(found["entries"]), 20)
        names += [entry["name"] for entry in found["entries"]]
        truncation = found["truncation"]
        if not truncation["truncated"]:
            break
        offset = truncation["next_offset"]
        assert truncation["reason"] == "item_cap"
        hint = f"call list_directory with offset={offset} to resume from item {offset + 1}"
        assert truncation["resume_hint"] == hint
    assert names == sorted(files)


def test_a_file_is_no_directory_and_a_missing_one_is_not_found() -> None:
    files = {"a": "x"}
    words = "Path '/workspace/a' is a file, not a directory. Use read_file instead."
    assert failure(files, "list_directory", path="a") == words
    assert failure(files, "list_directory", path="b") == "Directory not found: /workspace/b"
    assert failure(files, "list_directory", limit=0) == "limit must be greater than 0"


# --- stat_file, delete_file --------------------------------------------------------------------


@pytest.mark.clause("everruns.stat.fields")
def test_facts_of_a_file_and_of_a_directory(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "f.txt").write_text("abc")
    os.utime(tmp_path / "d" / "f.txt", (1_700_000_000, 1_700_000_000))
    with Workspace(tmp_path) as workspace:

        def stat(path: str) -> Json:
            return json.loads(workspace.call("stat_file", {"path": path}, contract_name="everruns").text)

        found = stat("d/f.txt")
        assert list(found) == [
            "path", "name", "exists", "is_directory", "is_readonly", "size_bytes", "created_at", "updated_at",
        ]  # fmt: skip
        assert (found["name"], found["size_bytes"], found["is_readonly"]) == ("f.txt", 3, False)
        assert found["updated_at"] == "2023-11-14T22:13:20Z"
        assert stat("/d")["is_directory"]
        assert stat("/") | {"created_at": "", "updated_at": "", "size_bytes": 0} == {
            "path": "/workspace", "name": "workspace", "exists": True, "is_directory": True,
            "is_readonly": False, "size_bytes": 0, "created_at": "", "updated_at": "",
        }  # fmt: skip


@pytest.mark.clause("everruns.delete")
def test_a_file_is_deleted_and_one_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "f").write_text("abc")
    (tmp_path / ".env").write_text("TOKEN=1")
    with Workspace(tmp_path) as workspace:

        def delete(path: str) -> str:
            return workspace.call("delete_file", {"path": path}, contract_name="everruns").text

        words = (
            "Path '/workspace/d' is a directory that is not empty. "
            "Use recursive=true to delete it with all that it holds."
        )
        assert delete("d") == words
        assert json.loads(delete("/d/f")) == {"path": "/workspace/d/f", "deleted": True}
        assert delete("d/f") == "File not found: /workspace/d/f"
        assert "denied" in delete(".env")
    assert (tmp_path / ".env").exists()
    assert not (tmp_path / "d" / "f").exists()


# --- edit_file ---------------------------------------------------------------------------------

TEXT = "one\ntwo\nthree\nfour\nfive\nsix\n"


@pytest.mark.clause("everruns.edit.diff", "everruns.deviation.no-rebase")
def test_the_diff_has_two_lines_around_and_names_the_file() -> None:
    found = said(
        {"f": TEXT},
        "edit_file",
        path="f",
        expected_hash=digest(TEXT),
        edits=[{"old_text": "four", "new_text": "4"}],
    )
    assert found["diff"] == (
        "--- /workspace/f (before)\n+++ /workspace/f (after)\n"
        "@@ -2,5 +2,5 @@\n two\n three\n-four\n+4\n five\n six\n"
    )
    assert list(found) == [
        "path", "size_bytes", "content_hash", "previous_content_hash", "applied_edits", "rebased",
        "first_changed_line", "diff", "diff_truncated",
    ]  # fmt: skip
    assert (found["first_changed_line"], found["rebased"], found["diff_truncated"]) == (4, False, False)


def test_a_diff_that_is_too_long_ends_with_its_mark() -> None:
    text = "".join(f"{number} {'x' * 80}\n" for number in range(400))
    new = text.replace("x", "y")
    edits = [{"old_text": text, "new_text": new}]
    found = said({"f": text}, "edit_file", path="f", expected_hash=digest(text), edits=edits)
    mark = f"\n... diff truncated after {EVERRUNS_DIFF_CHARS} characters ..."
    assert found["diff"].endswith(mark)
    assert len(found["diff"]) == EVERRUNS_DIFF_CHARS + len(mark)


def test_a_client_with_little_room_is_told_of_its_edit_all_the_same() -> None:
    text = '"\n' * 5000
    with Workspace(MemoryStore({"f": text})) as workspace:
        arguments = {"path": "f", "expected_hash": digest(text), "old_text": text, "new_text": "'\n" * 5000}
        reply = workspace.call("edit_file", arguments, contract_name="everruns", reply_bytes=2048)
    assert len(reply.text.encode()) <= 2048
    assert json.loads(reply.text)["diff_truncated"]


@pytest.mark.clause("everruns.edit.messages", "everruns.deviation.unchanged-edit")
@each(
    ("arguments", "words"),
    [
        ({}, NO_EDITS),
        ({"edits": []}, NO_EDITS),
        ({"edits": "x"}, NO_EDITS),
        ({"edits": [{"new_text": "x"}]}, "Edit 1 is missing old_text"),
        ({"edits": [{"old_text": "x"}]}, "Edit 1 is missing new_text"),
        ({"old_text": "one"}, "Legacy top-level new_text must be a string"),
        ({"old_text": "one", "new_text": None}, "Legacy top-level new_text must be a string"),
        ({"new_text": "one"}, "Legacy top-level old_text must be a string"),
        ({"old_text": "", "new_text": "x", "edits": [{"old_text": "one", "new_text": "1"}]},
         "Legacy top-level old_text cannot be empty"),
        ({"old_text": "one", "new_text": "x", "edits": [{"old_text": "one", "new_text": "1"}]},
         "old_text='one' is also that of edits[0], whose new_text is another. Send one of the two."),
        ({"edits": [{"old_text": "", "new_text": "x"}]}, "Edit 1 has an empty old_text"),
        ({"edits": [{"old_text": "e", "new_text": "x"}]},
         "old_text is ambiguous and matched multiple locations: 'e'"),
        ({"edits": [{"old_text": "z" * 90, "new_text": "x"}]},
         f"Could not find an exact match for old_text: '{'z' * 80}'"),
        ({"edits": [{"old_text": "one", "new_text": "one"}]}, "edits[0].new_text='one' is the same"),
    ],
)  # fmt: skip
def test_edits_that_cannot_be_made_are_refused_in_its_words(arguments: dict[str, Json], words: str) -> None:
    said_so = failure({"f": TEXT}, "edit_file", path="f", expected_hash=digest(TEXT), **arguments)
    assert said_so.startswith(words)


@pytest.mark.clause("everruns.edit.messages", "everruns.deviation.no-match")
def test_of_a_text_that_is_not_there_only_what_is_like_it_is_said_beside() -> None:
    def refused(old: str) -> str:
        arguments = {"path": "f", "expected_hash": digest(TEXT), "old_text": old, "new_text": "x"}
        return failure({"f": TEXT}, "edit_file", **arguments)

    assert refused("absent") == "Could not find an exact match for old_text: 'absent'"
    slip = TEXT.split("\n")[0] + "  "
    words, hint, *_ = refused(slip).split("\n")
    assert words == f"Could not find an exact match for old_text: '{slip}'"
    assert "white space" in hint


@pytest.mark.parametrize("spelled", [str.upper, str.lower, lambda text: f" {text}\n", lambda text: text[7:]])
def test_a_hash_may_be_spelled_otherwise(spelled: Callable[[str], str]) -> None:
    arguments = {"path": "f", "expected_hash": spelled(digest(TEXT)), "old_text": "one", "new_text": "1"}
    assert said({"f": TEXT}, "edit_file", **arguments)["applied_edits"] == 1


@pytest.mark.parametrize("expected", ["sha256:old", "abc", digest("other")])
def test_any_other_hash_is_stale_and_both_are_named(expected: str) -> None:
    arguments = {"path": "f", "expected_hash": expected, "old_text": "one", "new_text": "1"}
    assert failure({"f": TEXT}, "edit_file", **arguments) == (
        f"File '/workspace/f' changed since the last read. Expected {expected}, found {digest(TEXT)}. "
        "Read the file again before editing."
    )


@pytest.mark.clause("everruns.deviation.line-ends")
def test_new_lines_end_as_those_of_the_place() -> None:
    text = "a\r\nb\nc\n"
    with Workspace(MemoryStore({"f": text})) as workspace:
        arguments = {"path": "f", "expected_hash": digest(text), "old_text": "b\n", "new_text": "b\nd\n"}
        assert not workspace.call("edit_file", arguments, contract_name="everruns").is_error
        found = json.loads(workspace.call("read_file", {"path": "f"}, contract_name="everruns").text)
    assert found["content_hash"] == digest("a\r\nb\nd\nc\n")


@pytest.mark.parametrize(
    ("old", "new", "after"), [("b\n", "x\n", "a\rx\rc"), ("b", "b\nx", "a\rb\rx\rc"), ("a\rb", "y", "y\rc")]
)
def test_a_file_whose_lines_end_in_cr_alone_keeps_them(old: str, new: str, after: str) -> None:
    text = "a\rb\rc"
    found = said({"f": text}, "edit_file", path="f", expected_hash=digest(text), old_text=old, new_text=new)
    assert found["content_hash"] == digest(after)


@pytest.mark.clause("everruns.edit.read-only")
def test_a_file_that_nobody_may_write_to_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "f").write_text(TEXT)
    os.chmod(tmp_path / "f", 0o444)
    with Workspace(tmp_path) as workspace:
        arguments = {"path": "f", "expected_hash": digest(TEXT), "old_text": "one", "new_text": "1"}
        reply = workspace.call("edit_file", arguments, contract_name="everruns")
    assert reply.text == "Cannot modify readonly file: /workspace/f"
    assert (tmp_path / "f").read_text() == TEXT


# --- write_file --------------------------------------------------------------------------------


@pytest.mark.clause("everruns.write.text", "everruns.deviation.created")
def test_a_write_says_whether_it_made_the_file_and_writes_what_was_sent() -> None:
    with Workspace(MemoryStore({"f": "a\r\nb\r\n"})) as workspace:

        def write(path: str) -> Json:
            arguments = {"path": path, "content": "x\ny"}
            return json.loads(workspace.call("write_file", arguments, contract_name="everruns").text)

        assert write("d/new") == {
            "path": "/workspace/d/new", "size_bytes": 3, "created": True, "content_hash": digest("x\ny"),
        }  # fmt: skip
        assert write("f")["created"] is False
        found = json.loads(workspace.call("read_file", {"path": "f"}, contract_name="everruns").text)
    assert found["content_hash"] == digest("x\ny")


@pytest.mark.clause("everruns.write.base64")
def test_base64_is_written_as_the_bytes_it_stands_for() -> None:
    found = said({}, "write_file", path="f", content="AAEC/w==", encoding="base64")
    assert (found["size_bytes"], found["created"]) == (4, True)
    assert found["content_hash"] == "sha256:" + hashlib.sha256(b"\0\1\2\xff").hexdigest()
    assert "is not valid base64" in failure({}, "write_file", path="f", content="?", encoding="base64")


def test_a_write_against_a_hash_replaces_only_that_state() -> None:
    files = {"f": "x"}
    assert "changed since the last read" in failure(
        files, "write_file", path="f", content="y", expected_hash=digest("other")
    )
    assert said(files, "write_file", path="f", content="y", expected_hash=digest("x"))[
        "content_hash"
    ] == digest("y")


def test_unusual_arguments_are_refused_with_the_names_there_are() -> None:
    assert "pth" in call({}, "read_file", path="a", pth="b").text
