"""The Everruns contract of today: what its documents and source said later than its seed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from readroom.contracts.everruns import EverrunsSettings
from readroom.contracts.everruns.requests import REPLY_BYTES
from readroom.core import config
from readroom.core.contracts import Setup, contract
from readroom.core.errors import BadConfig
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


@pytest.mark.clause("everruns.today.last-limit", "everruns.deviation.last-limit")
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


# --- the root as it is shown -------------------------------------------------------------------


def rooted(files: Mapping[str, bytes | str], root: str) -> Workspace:
    store = MemoryStore(files)
    return Workspace(store, settings=config.load(store, contracts={"everruns": {"display_root": root}}))


@pytest.mark.clause("everruns.today.display-root")
@pytest.mark.parametrize(
    "path", ["d/f", "/d/f", "/srv/app/d/f", "//srv//app/./d/f", "/workspace/d/f", '"/srv/app/d/f"']
)
def test_another_root_is_shown_and_workspace_still_means_it(path: str) -> None:
    with rooted({"d/f": "hit\n"}, "/srv/app") as workspace:

        def answer(tool: str, **arguments: Json) -> Json:
            reply = workspace.call(tool, arguments, contract_name="everruns")
            assert not reply.is_error, reply.text
            return json.loads(reply.text)

        assert answer("read_file", path=path)["path"] == "/srv/app/d/f"
        assert answer("stat_file", path=path)["path"] == "/srv/app/d/f"
        assert answer("list_directory", path=path[:-3] if path[-1] == "f" else path[:-4] + '"')
        assert answer("grep_files", pattern="hit", path=path)["matches"][0]["path"] == "/srv/app/d/f"
        asked = {"path": path + "x" if path[-1] != '"' else path[:-1] + 'x"'}
        refused = workspace.call("read_file", asked, contract_name="everruns")
        assert refused.text == "File not found: /srv/app/d/fx"


@pytest.mark.clause("everruns.today.display-root")
@pytest.mark.parametrize("pattern", ["/srv/app/d/", "/workspace/d/", "/srv/app/d/*", "/workspace/**/f"])
def test_a_path_pattern_begins_with_either_root(pattern: str) -> None:
    with rooted({"d/f": "hit", "e/d/g": "hit"}, "/srv/app") as workspace:
        arguments = {"pattern": "hit", "path_pattern": pattern}
        reply = workspace.call("grep_files", arguments, contract_name="everruns")
    assert [match["path"] for match in json.loads(reply.text)["matches"]] == ["/srv/app/d/f"]


@pytest.mark.clause("everruns.today.display-root")
def test_schemas_and_instructions_say_the_root_that_is_shown() -> None:
    plain, other = contract("everruns"), contract("everruns", Setup(own=EverrunsSettings("/srv/app")))
    said_of = [
        json.dumps([record.instructions, *(tool.input_schema for tool in record.callable)])
        for record in (plain, other)
    ]
    assert "/workspace" in said_of[0]
    assert "/workspace" not in said_of[1]
    assert said_of[1] == said_of[0].replace("/workspace", "/srv/app")


@pytest.mark.clause("everruns.today.display-root")
@pytest.mark.parametrize(
    "root", ["", "/", "srv/app", "/srv/../app", "/srv/", "/srv//app", "/a\nb", "/a`b", "/."]
)
def test_a_root_that_could_mean_something_else_is_refused(root: str) -> None:
    with pytest.raises(BadConfig, match="display_root"):
        rooted({}, root)


@pytest.mark.clause("everruns.today.display-root")
def test_a_folder_cannot_choose_how_it_is_shown(tmp_path: Path) -> None:
    (tmp_path / "readroom.toml").write_text(
        '[contracts.everruns]\ndisplay_root = "/srv/app"\n', encoding="utf-8"
    )
    with pytest.raises(BadConfig, match="display_root"):
        Workspace(tmp_path)
