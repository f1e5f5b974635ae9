"""The native contract: what a model reads, the calls it is given, and the facts beside the text."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from readroom.core import config, errors
from readroom.core.contracts.native import MEASURE, NATIVE
from readroom.core.contracts.native.calls import to_call
from readroom.core.contracts.native.render import render_error, render_read
from readroom.core.errors import Denied, NotFound, ReadroomError, UnknownTool
from readroom.core.limits import MIN_REPLY_BYTES
from readroom.core.paths import parse as parse_path
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import (
    Cap,
    Cut,
    GrepRequest,
    Kind,
    ListRequest,
    Omission,
    ReadRequest,
    ReadResult,
    Reply,
    Request,
    Warn,
)
from readroom.core.values.files import LineEnds
from readroom.core.workspace import Workspace
from scripts.docs.facts import FACTS
from tests.suites import needs
from tests.vocabulary import tokens_of

HASH = "sha256:" + "ab" * 32
RESULT = ReadResult(
    "a.txt", Kind.TEXT, 10, HASH, total_lines=3, ends=LineEnds(3, final=True), start=1, lines=["a", "b", "c"]
)
CAP = Cap(32 * 1024, MEASURE)
SMALL = Cap(MIN_REPLY_BYTES, MEASURE)


def text(result: ReadResult, cap: Cap = CAP) -> str:
    return render_read(result, cap).text


# --- calls -----------------------------------------------------------------------------------

_paths = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20)
_positive = st.none() | st.integers(1, 10**6)


def _normal(path: str) -> str | None:
    try:
        return str(parse_path(path))
    except ReadroomError:
        return None


_names = _paths.map(_normal).filter(lambda path: path is not None)
_requests = st.one_of(
    st.builds(
        ReadRequest,
        path=_names,
        offset=st.none() | st.integers(-(10**6), 10**6).filter(bool),
        limit=_positive,
        column=st.integers(1, 10**6),
        known_hash=st.none() | st.just(HASH),
        encoding=st.none() | st.just("utf-16"),
    ),
    st.builds(
        ListRequest,
        path=_names,
        glob=st.lists(st.sampled_from(["*.py", "!x", "src/**"]), max_size=2).map(tuple),
        depth=st.integers(1, 5),
        include=st.frozensets(st.just("ignored")),
        sort=st.sampled_from(["name", "mtime", "size"]),
        limit=_positive,
        cursor=st.none() | st.text(min_size=1, max_size=5),
    ),
    st.builds(
        GrepRequest,
        pattern=st.text(st.characters(exclude_categories=["Cs"]), max_size=9),
        path=_names,
        glob=st.lists(st.sampled_from(["*.py", "!x"]), max_size=2).map(tuple),
        type=st.none() | st.just("py"),
        output=st.sampled_from(["content", "files", "count"]),
        before=st.integers(0, 5),
        after=st.integers(0, 5),
        ignore_case=st.booleans(),
        multiline=st.booleans(),
        fixed=st.booleans(),
        include=st.frozensets(st.sampled_from(["hidden", "ignored", "binary"])),
        sort=st.none() | st.sampled_from(["path", "relevance", "mtime"]),
        limit=_positive,
        cursor=st.none() | st.text(min_size=1, max_size=5),
        timeout_s=st.none() | st.floats(0.5, 60),
    ),
)


@given(_requests)
def test_a_call_means_the_request_it_was_made_from(request: Request) -> None:
    call = json.loads(json.dumps(to_call(request).to_fact()))
    found = NATIVE.bind(call["tool"], call["arguments"]).request
    assert replace(found, path=str(parse_path(found.path))) == request


def test_a_call_holds_only_what_differs_from_the_defaults() -> None:
    assert to_call(ReadRequest("a b")).to_fact() == {"tool": "read_file", "arguments": {"path": "a b"}}
    assert to_call(ListRequest()).arguments == {}


# --- text ------------------------------------------------------------------------------------


def test_a_reply_is_a_header_numbered_lines_and_one_closing_line() -> None:
    assert text(RESULT) == "a.txt | lines 1-3 of 3 | sha256:abababababab\n1\ta\n2\tb\n3\tc\n[end of file]"


def test_what_is_usual_is_not_said() -> None:
    assert "utf-8" not in text(RESULT)
    assert "LF" not in text(RESULT)
    header = text(replace(RESULT, encoding="cp1252", ends=LineEnds(3, 3, True))).split("\n")[0]
    assert header.endswith("| cp1252 | CRLF")


def test_a_name_that_could_be_misread_is_quoted() -> None:
    assert text(replace(RESULT, path="a\nb\u202e.txt")).startswith('"a\\nb\\342\\200\\256.txt" | lines')


def test_first_and_last_line_say_what_is_missing() -> None:
    result = replace(
        RESULT,
        total_lines=9,
        cuts={2: Cut(1, 1, 50)},
        omitted=[
            Omission("lines", 4, 9, "limit", request=ReadRequest("a.txt", offset=4)),
            Omission("columns", 2, 50, "line_cap", 2, ReadRequest("a.txt", offset=2, limit=1, column=2)),
        ],
        next=ReadRequest("a.txt", offset=2, limit=2, column=2),
    )
    lines = text(result).split("\n")
    assert lines[0].startswith("a.txt | lines 1-3 of 9 (more below, long lines cut) |")
    assert lines[2] == "2\tb [+49 chars]"
    assert lines[-1] == (
        "[6 lines below not shown (limit). "
        "Line 2 is cut: the next call shows the rest; offset=4 skips it. "
        'Next: read_file {"path":"a.txt","offset":2,"limit":2,"column":2}]'
    )


def test_without_room_the_next_call_is_what_stays() -> None:
    following = ReadRequest("a.txt", offset=4)
    result = replace(
        RESULT,
        lines=["x" * 1750],
        next=following,
        warnings=[Warn("zero_width", "z" * 90, 1, column) for column in range(3)],
    )
    closing = text(result, SMALL).split("\n")[-1]
    assert closing.endswith('More in the facts of this reply. Next: read_file {"path":"a.txt","offset":4}]')
    assert len(text(result, SMALL).encode()) <= SMALL.size


@pytest.mark.parametrize("path", ["x" * 4000, "日" * 1300, "\u202e" * 1300, '"' * 4000, "a/" * 2000 + "b"])
def test_a_very_long_name_leaves_room_for_the_reply(path: str) -> None:
    result = replace(RESULT, path=path, lines=["a"], next=ReadRequest(path, offset=2))
    for cap in (SMALL, Cap(11_500, MEASURE)):
        shown = text(result, cap)
        assert len(shown.encode()) <= cap.size
        assert shown.split("\n")[1] == "1\ta"
        assert shown.split("\n")[-1].endswith("]")


def test_many_warnings_are_counted_not_all_spelled_out() -> None:
    result = replace(RESULT, warnings=[Warn("zero_width", "U+200B", 1, column) for column in range(1, 9)])
    closing = text(result).split("\n")[-1]
    assert closing.count("Warning: zero width at 1:") == 3
    assert "5 more warnings." in closing
    assert "1 more warning." in text(replace(result, warnings=result.warnings[:4]))


def test_a_warning_names_its_line_also_without_a_column() -> None:
    result = replace(RESULT, warnings=[Warn("control_character", "U+0000", 4), Warn("limited", "no files")])
    assert "control character at line 4 (U+0000). Warning: limited (no files)." in text(result)


# --- errors ----------------------------------------------------------------------------------


def test_an_error_says_what_happened_what_to_do_and_the_call_that_works() -> None:
    reply = render_error(NotFound("a.tx", ["a.txt"]), CAP)
    assert reply.is_error
    assert (
        reply.text == 'There is no file or folder a.tx. Did you mean a.txt? Next: read_file {"path":"a.txt"}'
    )
    assert reply.facts == {
        "error": {
            "code": "not_found",
            "message": "There is no file or folder a.tx. Did you mean a.txt?",
            "facts": {"path": "a.tx", "near": ["a.txt"]},
            "next": {"tool": "read_file", "arguments": {"path": "a.txt"}},
        },
        "tokens": 25,
        "counter": "estimate",
        "budget": [],
    }


def test_an_error_about_a_monstrous_name_stays_within_the_cap() -> None:
    for name in ("x" * 100_000, "日" * 50_000, "\udcff" * 5000):
        reply = render_error(Denied(name, "r", "s", "t"), SMALL)
        assert len(reply.text.encode()) <= SMALL.size


def _all_errors() -> list[type[ReadroomError]]:
    classes = [value for _, value in inspect.getmembers(errors, inspect.isclass)]
    return sorted(
        (kind for kind in classes if issubclass(kind, ReadroomError)), key=lambda kind: kind.__name__
    )


def test_every_error_has_a_code_of_its_own() -> None:
    codes = [kind.code for kind in _all_errors()]
    assert len(codes) == len(set(codes))


# --- facts -----------------------------------------------------------------------------------


@pytest.fixture
def space() -> Workspace:
    return Workspace(MemoryStore({"a.txt": "one\ntwo\n", "b/c.csv": "h\n" + "r\n" * 300}))


@needs("documents")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read_file", {"path": "b/c.csv", "pages": 1}),
        ("grep_files", {"pattern": 404}),
        ("find_relevant", {"query": 404}),
        ("grep_files", {"pattern": "one", "include": "hidden"}),
    ],
)
def test_a_number_or_one_value_is_taken_for_the_text_or_list_that_is_meant(
    tool: str, arguments: dict[str, Any]
) -> None:
    meant: dict[str, Any] = {name: str(value) for name, value in arguments.items()}
    if "include" in meant:
        meant["include"] = [meant["include"]]
    with Workspace(MemoryStore({"a.txt": "one 404\n", "b/c.csv": "h\n1\n"})) as workspace:
        reply = workspace.call(tool, arguments)
        assert not reply.is_error
        assert reply.text == workspace.call(tool, meant).text


Ask = Callable[[Workspace], Reply]


@pytest.mark.parametrize(
    ("tool", "ask"),
    [
        ("read_file", lambda space: space.read("a.txt")),
        ("read_file", lambda space: space.read("b/c.csv", offset=200)),
        ("list_directory", lambda space: space.list()),
        ("grep_files", lambda space: space.grep("o")),
        ("error", lambda space: space.call("read_file", {})),
    ],
)
def test_every_fact_that_is_sent_is_documented_and_the_reverse(space: Workspace, tool: str, ask: Ask) -> None:
    assert list(ask(space).facts) == list(FACTS[tool])


def test_facts_are_plain_json(space: Workspace) -> None:
    reply = space.read("b/c.csv", offset=200)
    assert json.loads(json.dumps(reply.facts)) == reply.facts


# --- what every conversation pays for --------------------------------------------------------


def test_the_list_of_tools_is_short() -> None:
    """Under 1,800 o200k tokens, as a client passes it to the model."""
    listed: list[dict[str, Any]] = [
        {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
        for tool in NATIVE.tools
    ]
    sent = json.dumps({"tools": listed, "instructions": NATIVE.instructions}, separators=(",", ":"))
    assert tokens_of(sent) < 1800


def test_the_tool_for_the_history_is_short_and_only_there_where_it_is_offered(tmp_path: Path) -> None:
    plain = config.load(config.open_store(tmp_path))
    assert [tool.name for tool in Workspace(tmp_path, settings=plain).offered()] == [
        tool.name for tool in NATIVE.tools
    ]
    offered = replace(plain, history=replace(plain.history, tool=True))
    *others, past = Workspace(tmp_path, settings=offered).offered()
    assert tuple(others) == NATIVE.tools
    listed = {"name": past.name, "description": past.description, "inputSchema": past.input_schema}
    assert tokens_of(json.dumps(listed, separators=(",", ":"))) < 90
    with Workspace(tmp_path, settings=plain) as closed, pytest.raises(UnknownTool):
        closed.perform("history", {})


CHANGING = {"edit_file", "write_file", "change_files", "apply_patch"}


def test_every_tool_says_what_it_does_and_its_arguments_what_they_mean() -> None:
    for tool in NATIVE.tools:
        assert tool.title
        assert tool.description
        assert "additionalProperties" not in tool.input_schema, "clients that check it say less than we do"
        assert tool.read_only is (tool.name not in CHANGING)


RIDDLES = {
    "read_file": {"limit", "offset", "column", "symbol", "pages", "known_hash"},
    "grep_files": {"symbols", "sort", "cursor", "include", "context", "before", "after", "limit"},
    "list_directory": {"sort", "cursor", "include", "limit"},
    "run_command": {"timeout_s", "output"},
}
"""Arguments whose names do not say what they mean."""


def test_arguments_that_are_riddles_are_explained() -> None:
    for tool in NATIVE.offered(commands=True):
        for name in RIDDLES.get(tool.name, ()):
            words = tool.input_schema["properties"][name].get("description", "")
            assert len(words.split()) > 1, f"{tool.name} {name}: {words!r}"


def test_the_tools_say_what_a_model_cannot_guess() -> None:
    said = {tool.name: tool.description for tool in NATIVE.offered(commands=True)}
    assert 'view="outline"' in said["read_file"]
    assert "symbol" in said["read_file"]
    assert "/.outputs" in said["run_command"]
    assert "header" not in said["list_directory"], "no reader knows what that is"
