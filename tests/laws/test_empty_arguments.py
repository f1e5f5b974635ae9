"""Law: an optional argument that is left empty is one that was left out, in every tool of every contract.

Some models fill in every argument that a schema has; a call of theirs is the call without what is empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readroom.core.contracts import NAMES, contract
from readroom.core.contracts.base import Tool, tool_result
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import Reply
from readroom.core.workspace import Workspace
from tests.contracts.cases import ROOT
from tests.laws.driving import fact
from tests.laws.test_contracts import filled

FILES: dict[str, bytes] = {
    "docs/a.md": b"# Title\nhunt\nx\n" * 900,
    "app.log": b"hunt\n" * 900,
    "t.csv": b"a,b\n" * 300,
}

MEANING_NOTHING = {
    "native": frozenset({"offset", "limit", "column", "depth", "timeout_s", "budget_tokens"}),
    "coder": frozenset({"offset", "limit"}),
}
"""Arguments that cannot be 0; the documents of other contracts refuse it."""

MEANT = {("edit_file", "new_text"), ("edit_file", "old_text")}
"""Texts that are optional only because others can come in their place: empty, they mean something."""


def tools() -> Iterator[tuple[str, Tool]]:
    for name in NAMES:
        yield from ((name, tool) for tool in contract(name).tools)


def empties(name: str, tool: Tool) -> st.SearchStrategy[dict[str, Any]]:
    """Values for some of the optional arguments, all of which mean nothing."""
    required = tool.input_schema["required"]
    optional = {}
    for argument in tool.input_schema["properties"]:
        if argument in required or (tool.name, argument) in MEANT:
            continue
        nothing: list[object] = ["", None, [], {}, [""]]
        zeros = [0, 0.0, "0"] if argument in MEANING_NOTHING.get(name, ()) else []
        optional[argument] = st.sampled_from([*nothing, *zeros])
    return st.fixed_dictionaries({}, optional=optional)


def said(name: str, tool: Tool, arguments: dict[str, Any]) -> object:
    store = MemoryStore(FILES, clock=lambda: 1_700_000_000 * 10**9)  # listings have the times of files
    store.roots = (ROOT, *store.roots)
    with Workspace(store) as workspace:
        return tool_result(workspace.call(tool.name, arguments, contract_name=name))


@pytest.mark.parametrize(
    ("name", "tool"), [pytest.param(*row, id=f"{row[0]}.{row[1].name}") for row in tools()]
)
@settings(max_examples=5)
@given(st.data(), st.sampled_from([*FILES, "docs", "none.txt"]))
def test_a_call_with_empty_arguments_is_the_call_without_them(
    name: str, tool: Tool, data: st.DataObject, path: str
) -> None:
    needed = {key: value for key, value in filled(tool, path).items() if key in tool.input_schema["required"]}
    full = {**data.draw(empties(name, tool)), **needed}
    assert said(name, tool, full) == said(name, tool, needed)


READ = {"offset": 1, "limit": 2000, "column": 1, "pages": "", "symbol": "", "view": "text"}


@pytest.mark.parametrize("path", ["docs/a.md", "t.csv", "app.log"])
def test_a_read_that_fills_in_everything_works_at_the_first_call(path: str) -> None:
    with Workspace(MemoryStore(FILES)) as workspace:
        reply: Reply = workspace.call("read_file", {"path": path, **READ, "known_hash": "", "encoding": ""})
    assert not reply.is_error, reply.text
    assert fact(reply, "lines_shown")["start"] == 1


def test_lines_around_matches_are_those_of_context_where_the_others_are_zero() -> None:
    with Workspace(MemoryStore(FILES)) as workspace:
        full = {"pattern": "hunt", "path": "docs/a.md", "context": 1, "before": 0, "after": 0, "limit": 1}
        assert "1-\t# Title" in workspace.call("grep_files", full).text
