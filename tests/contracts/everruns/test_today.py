"""The Everruns contract of today: what its documents and source said later than its seed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from readroom.contracts.everruns.requests import REPLY_BYTES
from readroom.core.contracts import contract
from readroom.core.stores.memory import MemoryStore
from readroom.core.workspace import Workspace
from tests.contracts.everruns.test_matches import TEXT, digest
from tests.contracts.everruns.test_replies import call, failure, said
from tests.each import each

Json = Any


def schema_of(name: str) -> Json:
    return contract("everruns").tool(name).input_schema


# --- edit_file ---------------------------------------------------------------------------------


@pytest.mark.clause("everruns.today.edits")
def test_only_the_list_of_edits_is_offered_and_it_is_required() -> None:
    found = schema_of("edit_file")
    assert set(found["properties"]) == {"path", "expected_hash", "edits"}
    assert set(found["required"]) == {"path", "expected_hash", "edits"}
    words = failure({"f": TEXT}, "edit_file", path="f", expected_hash=digest(TEXT), edit="x")
    assert "It takes: path, expected_hash, edits." in words


@pytest.mark.clause("everruns.today.edits", "everruns.edit.fold")
@each(
    ("more", "after", "count"),
    [
        ({"edits": []}, "1\ntwo\n", 1),
        ({"edits": [{"old_text": "two", "new_text": "2"}]}, "1\n2\n", 2),
        ({"edits": [{"old_text": "one", "new_text": "1"}]}, "1\ntwo\n", 1),
        ({"edits": [{"old_text": "two", "new_text": "2"}] * 2}, "1\n2\n", 2),
    ],
)
def test_the_older_form_is_one_edit_more_and_repeats_count_once(more: Json, after: str, count: int) -> None:
    text = "one\ntwo\n"
    with Workspace(MemoryStore({"f": text})) as workspace:
        edit = {"path": "f", "expected_hash": digest(text), "old_text": "one", "new_text": "1", **more}
        done = json.loads(workspace.call("edit_file", edit, contract_name="everruns").text)
        assert done["applied_edits"] == count
        assert done["content_hash"] == digest(after)


# --- delete_file -------------------------------------------------------------------------------


@pytest.mark.clause("everruns.today.recursive")
@pytest.mark.parametrize("recursive", [True, False])
def test_a_directory_with_something_in_it_is_deleted_only_recursively(recursive: bool) -> None:
    with Workspace(MemoryStore({"d/e/f": "x", "g": "y"})) as workspace:
        reply = workspace.call("delete_file", {"path": "d", "recursive": recursive}, contract_name="everruns")
        left = json.loads(workspace.call("list_directory", {}, contract_name="everruns").text)
    assert reply.is_error is not recursive
    assert [entry["name"] for entry in left["entries"]] == (["g"] if recursive else ["d", "g"])


@pytest.mark.clause("everruns.today.recursive")
def test_a_file_is_deleted_whatever_recursive_says() -> None:
    assert said({"f": "x"}, "delete_file", path="f", recursive=False)["deleted"]
    assert said({"f": "x"}, "delete_file", path="f", recursive=True)["deleted"]


@pytest.mark.clause("everruns.today.recursive")
def test_a_directory_that_holds_a_denied_file_stays_as_it_is() -> None:
    with Workspace(MemoryStore({"d/.env": "x", "d/f": "y"})) as workspace:
        refused = workspace.call("delete_file", {"path": "d", "recursive": True}, contract_name="everruns")
        assert refused.is_error
        assert not workspace.call("read_file", {"path": "d/f"}, contract_name="everruns").is_error


# --- limits ------------------------------------------------------------------------------------


@pytest.mark.clause("everruns.today.clamped")
@each(("tool", "more"), [("grep_files", {"pattern": "x"}), ("list_directory", {})])
def test_a_limit_above_the_maximum_counts_as_that(tool: str, more: Json) -> None:
    found = said({f"{number:04}": "x" for number in range(1100)}, tool, limit=5000, **more)
    assert found["limit"] == 1000
    assert found["truncation"]["truncated"]
    assert schema_of(tool)["properties"]["limit"]["maximum"] == 1000
    assert failure({}, tool, limit=0, **more) == "limit must be greater than 0"


LONG = "".join(f'{number} "{"é" * 40}"\n' for number in range(3000))


@pytest.mark.clause("everruns.today.last-limit")
@each(
    ("tool", "arguments"),
    [
        ("read_file", {"path": "long.txt"}),
        ("read_file", {"path": "quotes.txt"}),
        ("read_file", {"path": "bytes.bin"}),
        ("grep_files", {"pattern": ".", "limit": 1000}),
        ("grep_files", {"pattern": "0", "before_context": 20, "after_context": 20}),
        ("list_directory", {"path": "d", "limit": 1000}),
        ("edit_file", {"path": "long.txt", "expected_hash": digest(LONG),
                       "edits": [{"old_text": LONG, "new_text": LONG.replace("é", "\x01")}]}),
    ],
)  # fmt: skip
def test_no_result_is_longer_than_64_kib_and_each_is_whole_json(tool: str, arguments: Json) -> None:
    files: dict[str, bytes | str] = {
        "long.txt": LONG,
        "quotes.txt": '"\\\n' * 30_000,
        "bytes.bin": b"\0" * 90_000,
    }
    files |= {f"d/{'n' * 90}{number:04}": "" for number in range(1000)}
    reply = call(files, tool, **arguments)
    assert not reply.is_error
    assert len(reply.text.encode()) <= REPLY_BYTES == 65_536
    assert json.loads(reply.text)
