"""What a refusal advises can be followed with the tools and arguments of the contract that gives it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from readroom.core.contracts.native import NATIVE
from readroom.core.errors import BudgetSpent
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import Cap
from readroom.core.workspace import Workspace

FILES: dict[str, bytes | str] = {
    "ansi.txt": "größe\nübel\n".encode("cp1252"),
    "blob.bin": bytes(range(256)),
    "jis.txt": "漢字\n".encode("iso2022_jp") * 40,
    "lines.txt": "one\ntwo\ntwo\n",
    "notes/in.txt": "in\n",
    ".env": "A=1\n",
}
PATHS = [*FILES, "notes", "none.txt", "../up", "a\0b", "x" * 5000]
ROOT = "/home/me/p"
OLD, NEW = "übel", "日本"

EDITOR = "str_replace_based_edit_tool"

READS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "kilo": [
        ("read_file", {}),
        ("read_file", {"start_line": 1, "column": 90}),
        ("read_file", {"start_line": 9}),
    ],
    "rnd": [("read", {}), ("read", {"offset": 90})],
    "coder": [("read_file", {}), ("read_file", {"offset": 90})],
    "everruns": [("read_file", {}), ("stat_file", {}), ("write_file", {"content": NEW}), ("delete_file", {})],
    "inspect_agents": [("read_file", {}), ("read_file", {"offset": 90})],
    "opencode": [
        ("read", {}),
        ("read", {"offset": 90}),
        ("edit", {"oldString": OLD, "newString": NEW}),
        ("edit", {"oldString": "two", "newString": ""}),
        ("edit", {"oldString": "", "newString": NEW}),
        ("write", {"content": NEW}),
    ],
    "text_editor": [
        (EDITOR, {"command": "view"}),
        (EDITOR, {"command": "create", "file_text": NEW}),
        (EDITOR, {"command": "str_replace", "old_str": OLD, "new_str": NEW}),
        (EDITOR, {"command": "str_replace", "old_str": "two", "new_str": ""}),
    ],
}
"""Calls that some file of the room refuses, without their paths."""

COMMANDS: list[dict[str, Any]] = [
    {"command": "edit", "old_string": OLD, "new_string": NEW},
    {"command": "edit", "old_string": "two", "new_string": "2"},
    {"command": "edit", "old_string": "", "new_string": "2"},
    {"command": "write", "content": NEW},
    {"command": "stat"},
    {"command": "move", "dst_path": "lines.txt"},
    {"command": "mkdir"},
]
_PATHS = {"stat": "path", "move": "src_path", "mkdir": "dir_path"}


def calls(contract: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for path in PATHS:
        for tool, arguments in READS[contract]:
            name = {"inspect_agents": "file_path", "opencode": "filePath"}.get(contract, "path")
            yield (
                tool,
                {name: f"{ROOT}/{path}" if contract in ("coder", "text_editor") else path, **arguments},
            )
        for command in COMMANDS if contract == "inspect_agents" else ():
            yield "files", {"params": {_PATHS.get(command["command"], "file_path"): path, **command}}


def edits(workspace: Workspace) -> Iterator[tuple[str, dict[str, Any]]]:
    """Edits of Everruns with the right hashes."""
    for path in FILES:
        read = workspace.call("read_file", {"path": path}, contract_name="everruns")
        if not read.is_error:
            known = {"path": path, "expected_hash": json.loads(read.text)["content_hash"]}
            for old in (OLD, "漢", "two", ""):
                yield "edit_file", {**known, "old_text": old, "new_text": NEW}


def room() -> Workspace:
    store = MemoryStore(FILES)
    store.roots = (ROOT,)
    return Workspace(store)


def foreign(workspace: Workspace, contract: str, text: str) -> set[str]:
    """Names in advice that are those of other contracts."""
    tools = workspace.contract(contract).offered(commands=True)
    known = {tool.name for tool in tools}
    for tool in tools:
        schema = json.dumps(tool.input_schema)
        known |= set(re.findall(r'"(\w+)": \{', schema))
        for values in re.findall(r'"enum": (\[[^]]*\])', schema):
            known |= set(json.loads(values))
    named = set(re.findall(r"`(\w+)`|\b(\w+)=", text.replace(f"`{OLD}`", "").replace("`two`", "")))
    named_tools = {
        tool.name for tool in NATIVE.offered(commands=True) if re.search(rf"\b{tool.name}\b", text)
    }
    return ({first or second for first, second in named} | named_tools) - known


@pytest.mark.parametrize("contract", READS)
def test_a_refusal_names_only_what_its_contract_has(contract: str) -> None:
    refusals = 0
    with room() as workspace:
        for tool, arguments in (*calls(contract), *(edits(workspace) if contract == "everruns" else ())):
            reply = workspace.call(tool, arguments, contract_name=contract)
            refusals += reply.is_error
            if reply.is_error:
                assert foreign(workspace, contract, reply.text) == set(), (tool, arguments, reply.text)
    assert refusals > len(PATHS) / 2


@pytest.mark.parametrize("contract", ["kilo", "coder", "inspect_agents"])
def test_a_spent_budget_names_only_what_its_contract_has(contract: str) -> None:
    error = BudgetSpent("session", 10, 9, changes_left=True)
    with room() as workspace:
        record = workspace.contract(contract)
        reply = record.worded("read_file", {}).render_error(error, Cap(record.reply_bytes, record.measure))
        assert "budget" in reply.text
        assert foreign(workspace, contract, reply.text) == set()


def test_a_column_past_the_end_of_a_line_is_told_from_a_line_past_the_end_of_a_file() -> None:
    with room() as workspace:
        arguments = {"path": "lines.txt", "start_line": 1, "column": 4}
        reply = workspace.call("read_file", arguments, contract_name="kilo")
        assert reply.is_error
        assert "column=4 is past the end of line 1" in reply.text
        assert "column from 1 to 3" in reply.text
        assert not workspace.call("read_file", {**arguments, "column": 3}, contract_name="kilo").is_error


def test_text_that_an_encoding_cannot_hold_can_be_written_as_each_contract_says() -> None:
    with room() as workspace:
        read = json.loads(workspace.call("read_file", {"path": "ansi.txt"}, contract_name="everruns").text)
        edit = {"path": "ansi.txt", "expected_hash": read["content_hash"], "old_text": OLD, "new_text": NEW}
        refused = workspace.call("edit_file", edit, contract_name="everruns")
        assert refused.text == (
            "File '/workspace/ansi.txt' is cp1252, which cannot hold '日' (U+65E5) in line 1 of new_text. "
            "Use characters that it has; write_file replaces the whole file, in UTF-8."
        )
        written = {"path": "ansi.txt", "content": NEW}
        assert not workspace.call("write_file", written, contract_name="everruns").is_error
        assert NEW in workspace.call("read_file", {"path": "ansi.txt"}).text
    with room() as workspace:

        def files(command: str, **more: str) -> str:
            params = {"command": command, "file_path": "ansi.txt", **more}
            return workspace.call("files", {"params": params}, contract_name="inspect_agents").text

        for refused_text in (files("edit", old_string=OLD, new_string=NEW), files("write", content=NEW)):
            assert "move the file away first (trash)" in refused_text
        assert files("trash").startswith("Trashed ansi.txt")
        assert files("write", content=NEW) == "Updated file ansi.txt"
        assert files("read") == f"     1\t{NEW}"


def test_no_call_is_named_that_shows_the_same_again() -> None:
    """Where a contract has no argument for what the engine would advise, it names no call."""
    with Workspace(MemoryStore({"long.txt": "x" * 9000 + "\nend\n"})) as workspace:
        reply = workspace.call("read_file", {"file_path": "long.txt"}, contract_name="inspect_agents")
        cut = reply.facts["omitted"][0]  # type: ignore[index] # a JSON list
        assert cut["what"] == "columns"  # type: ignore[call-overload, index] # a JSON object
        assert cut["call"] is None  # type: ignore[call-overload, index] # a JSON object
        refused = workspace.call("grep_files", {"pattern": "x\nend"}, contract_name="everruns")
        assert refused.is_error
        assert refused.facts["error"]["next"] is None  # type: ignore[call-overload, index] # a JSON object
    with room() as workspace:
        arguments = {"pattern": "zz", "path": "blob.bin"}
        left_out = workspace.call("grep_files", arguments, contract_name="everruns").facts["omitted"]
        assert left_out[0]["reason"] == "binary"  # type: ignore[call-overload, index] # a JSON object
        assert left_out[0]["call"] is None  # type: ignore[call-overload, index] # a JSON object


def test_a_move_onto_something_names_what_is_in_the_way() -> None:
    with room() as workspace:
        params = {"command": "move", "src_path": "ansi.txt", "dst_path": "lines.txt"}
        reply = workspace.call("files", {"params": params}, contract_name="inspect_agents")
        assert reply.is_error
        assert reply.text.startswith("'lines.txt' already exists (file). ")


@pytest.mark.parametrize(("tool", "more"), [("list_directory", {}), ("grep_files", {"pattern": "two"})])
@pytest.mark.parametrize("path", ["", "  "])
def test_an_empty_path_of_everruns_is_the_root_where_the_path_may_be_left_out(
    tool: str, more: dict[str, str], path: str
) -> None:
    with room() as workspace:
        plain = workspace.call(tool, more, contract_name="everruns")
        assert not plain.is_error
        assert workspace.call(tool, {**more, "path": path}, contract_name="everruns").text == plain.text


@pytest.mark.parametrize("name", ["ascii", "US-ASCII"])
def test_what_is_not_ascii_is_not_written_as_ascii(name: str) -> None:
    with room() as workspace:
        arguments = {"path": "new.txt", "content": "é", "expected_hash": "absent", "encoding": name}
        reply = workspace.call("write_file", arguments)
        assert reply.is_error
        assert "is ascii, which cannot hold 'é'" in reply.text
        assert workspace.call("read_file", {"path": "new.txt"}).is_error
        assert not workspace.call("write_file", {**arguments, "content": "e"}).is_error
        assert not workspace.call("write_file", {**arguments, "path": "b", "encoding": "utf-8"}).is_error
