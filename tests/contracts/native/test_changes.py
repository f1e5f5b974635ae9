"""edit_file and write_file as the native contract publishes and words them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.core.contracts.native import NATIVE
from readroom.core.contracts.native import changes as native_changes
from readroom.core.contracts.native.calls import arguments, to_call
from readroom.core.errors import NoMatch, Stale
from readroom.core.limits import MIN_REPLY_BYTES
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import Cap
from readroom.core.values.changes import ABSENT, CELL, Diff, Edit, EditRequest, EditResult, Hunk, WriteRequest
from readroom.core.workspace import Workspace
from scripts.docs.facts import FACTS

CHANGING = {"edit_file", "write_file", "change_files", "apply_patch"}

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
edits = st.builds(
    Edit,
    texts,
    texts,
    st.booleans(),
    cell=st.sampled_from([None, "3", "delete 3"]),
    lines=st.none() | st.tuples(st.integers(0, 99), st.integers(0, 99)),
    symbol=st.none() | st.just("A.f"),
    insert=st.sampled_from([None, "before", "after", "end"]),
)
encodings = st.none() | st.just("utf-8")


@given(
    st.builds(
        EditRequest,
        st.just("a b/\nc"),
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20),
        st.lists(edits, max_size=4).map(tuple),
        st.booleans(),
        encodings,
    )
)
def test_an_edit_as_a_call_is_the_same_edit(request: EditRequest) -> None:
    call = to_call(request)
    sent: Any = json.loads(json.dumps(call.arguments))
    again = NATIVE.bind(call.tool, sent).request
    assert again == EditRequest(
        sent["path"], request.expected_hash, request.edits, request.dry_run, request.encoding, by_cells=True
    )


@given(st.builds(WriteRequest, st.just("a"), texts, st.sampled_from([ABSENT, "0" * 64]), encodings))
def test_a_write_as_a_call_is_the_same_write(request: WriteRequest) -> None:
    call = to_call(request)
    assert NATIVE.bind(call.tool, json.loads(json.dumps(call.arguments))).request == request


def test_hosts_are_told_which_tools_change_files() -> None:
    for tool in NATIVE.tools:
        if tool.name in CHANGING:
            assert (tool.read_only, tool.destructive, tool.idempotent) == (False, True, True)


def test_the_edits_are_described_where_they_stand() -> None:
    schema = NATIVE.tool("edit_file").input_schema
    assert schema["required"] == ["edits"], "each edit may name a file of its own"
    edit = schema["properties"]["edits"]["items"]
    assert edit["required"] == ["new_text"], "lines, a symbol or the end may be named instead of a text"
    assert list(edit["properties"]) == [
        *("new_text", "old_text", "replace_all", "lines", "symbol", "insert", "path", "expected_hash"),
        "cell",
    ]
    assert edit["properties"]["cell"] == {"type": "string", "description": CELL}


def test_edits_that_are_no_list_are_a_mistake_of_the_caller_however_deep_they_are() -> None:
    with Workspace(MemoryStore({"f": "one"})) as workspace:
        for edits in ("[" * 100_000, "[{"):
            reply = workspace.call("edit_file", {"path": "f", "expected_hash": "0" * 12, "edits": edits})
            assert reply.text.startswith("edit_file: 'edits' must be a list of objects")


@pytest.mark.parametrize("tool", sorted(CHANGING))
def test_every_fact_that_is_sent_is_documented_and_the_reverse(tool: str) -> None:
    with Workspace(MemoryStore()) as workspace:
        reply = workspace.write("f", "one", ABSENT)
        if tool == "edit_file":
            known = str(reply.facts["content_hash"])
            reply = workspace.edit("f", known, [{"old_text": "one", "new_text": "two"}])
        elif tool == "change_files":
            reply = workspace.change([{"action": "mkdir", "path": "d"}])
        elif tool == "apply_patch":
            reply = workspace.patch("*** Begin Patch\n*** Add File: g\n+new\n*** End Patch\n")
    assert list(reply.facts) == list(FACTS[tool])
    assert json.loads(json.dumps(reply.facts)) == reply.facts


def cap(size: int) -> Cap:
    return Cap(size, NATIVE.measure)


def test_a_reply_keeps_to_its_cap_however_long_its_path_is() -> None:
    diff = Diff([Hunk(1, 1, 1, 1, ["-old", "+new"])], 3, 10, 20)
    for path in ("p" * 4000, "\u202e" * 1000):
        result = EditResult(path, "sha256:" + "0" * 64, None, 1, 1, 1, 1, 1, 1, "utf-8", False, diff)
        assert len(native_changes.render_edit(result, cap(MIN_REPLY_BYTES)).text.encode()) <= MIN_REPLY_BYTES


def test_what_an_error_shows_below_its_sentences_is_cut_to_the_cap() -> None:
    for error in (
        Stale("f", "sha256:" + "0" * 64, "sha256:" + "1" * 64, changed="+é\n" * 5000),
        NoMatch("f", 0, "hint", place="1\té\n" * 5000),
    ):
        reply = NATIVE.render_error(error, cap(MIN_REPLY_BYTES))
        assert len(reply.text.encode()) <= MIN_REPLY_BYTES
        assert reply.text.endswith("…")
        assert "Next: read_file" in reply.text.split("\n")[0]


def test_the_record_of_several_changes_names_each_of_them() -> None:
    sent = {
        "changes": [
            {"action": "move", "path": "a", "to": "b", "expected_hash": "0" * 12},
            {"action": "delete", "path": "d", "entries": 3},
        ]
    }
    recorded: Any = arguments(NATIVE.bind("change_files", sent).request)["changes"]
    assert [(one["action"], one["path"]) for one in recorded] == [("move", "a"), ("delete", "d")]
    assert (recorded[0]["destination"], recorded[1]["entries"]) == ("b", 3)
