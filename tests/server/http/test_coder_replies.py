"""The contract `coder`: what its document says, and what we do instead of the original."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from readroom.contracts.coder.routes import LIST_BYTES
from readroom.contracts.coder.words import RESPONSE_LINES, go_quoted
from readroom.core.config import load
from readroom.core.contracts import contract
from readroom.core.contracts.json_replies import encoded
from readroom.core.stores.local import LocalStore
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import Reply
from readroom.core.workspace import Workspace
from tests.contracts.adapters.coder import asked
from tests.contracts.cases import Answer
from tests.each import each

ROOT = "/home/me/p"
READS = ("read_file", "coder_workspace_read_file")


def in_memory(files: Mapping[str, bytes | str]) -> Workspace:
    store = MemoryStore(files)
    store.roots = (ROOT,)
    return Workspace(store)


def read(workspace: Workspace, tool: str = "read_file", **arguments: Any) -> Reply:
    more = {"workspace": "w"} if tool == "coder_workspace_read_file" else {}
    return workspace.call(tool, {**more, **arguments}, contract_name="coder")


def fetched(
    workspace: Workspace, name: str, method: str = "GET", body: object = None, **query: Any
) -> Answer:
    data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    return asyncio.run(asked(workspace, method, f"/api/v0/{name}", query, data))


# --- reading by lines -------------------------------------------------------------------------


@pytest.mark.clause("coder.chat.lines", "coder.chat.metadata", "coder.lines.offset_and_limit")
def test_the_chat_tool_shows_a_window_with_the_size_of_the_file() -> None:
    with in_memory({"a": "line1\nline2\nline3"}) as workspace:
        found = read(workspace, path=f"{ROOT}/a", offset=2, limit=1)
    assert found.text == '{"content":"2\\tline2","file_size":17,"lines_read":1,"total_lines":3}'


@pytest.mark.clause("coder.chat.path")
@pytest.mark.parametrize("given", [{}, {"path": ""}, {"path": None}])
def test_the_chat_tool_says_that_it_needs_a_path(given: dict[str, Any]) -> None:
    with in_memory({"a": "x"}) as workspace:
        found = read(workspace, **given)
    assert (found.text, found.is_error) == ("path is required", True)


@pytest.mark.clause("coder.mcp.lines")
def test_the_mcp_tool_shows_the_same_object_as_the_address() -> None:
    with in_memory({"a": "line1\nline2\nline3"}) as workspace:
        found = read(workspace, "coder_workspace_read_file", path=f"{ROOT}/a", offset=2, limit=1)
        answer = fetched(workspace, "read-file-lines", path=f"{ROOT}/a", offset=2, limit=1)
    assert json.loads(found.text) == answer.json
    assert answer.json == {
        "success": True, "file_size": 17, "total_lines": 3, "lines_read": 1, "content": "2\tline2",
    }  # fmt: skip


@pytest.mark.clause("coder.chat.description", "coder.mcp.schema")
def test_descriptions_and_schemas_speak_of_lines() -> None:
    for tool in map(contract("coder").tool, READS):
        assert "1-based line number" in tool.description
        assert str(RESPONSE_LINES) in tool.description
        schema = tool.input_schema["properties"]
        assert "line" in schema["offset"]["description"].lower()
        assert "lines" in schema["limit"]["description"].lower()


@pytest.mark.clause("coder.lines.default_limit")
def test_without_a_limit_the_first_lines_are_shown_and_the_total_is_told() -> None:
    with in_memory({"a": "x\n" * 2_500}) as workspace:
        found = read(workspace, path=f"{ROOT}/a")
        value = json.loads(found.text)
        assert (value["lines_read"], value["total_lines"]) == (2_000, 2_500)
        assert found.facts["next"] == {
            "tool": "read_file", "arguments": {"path": f"{ROOT}/a", "offset": 2_001},
        }  # fmt: skip


def test_more_lines_than_a_response_has_are_refused() -> None:
    with in_memory({"a": "x\n" * 2_500}) as workspace:
        found = read(workspace, path=f"{ROOT}/a", limit=2_001)
        assert found.text == (
            "output would exceed 2000 lines. Read less at a time using offset and limit parameters."
        )
        following: Any = found.facts["error"]
        again = workspace.call("read_file", following["next"]["arguments"], contract_name="coder")
        assert json.loads(again.text)["lines_read"] == 2_000


def test_bytes_are_refused_before_lines() -> None:
    with in_memory({"a": ("y" * 30 + "\n") * 2_500}) as workspace:
        assert "32768 bytes" in read(workspace, path=f"{ROOT}/a", limit=2_001).text


def test_a_response_may_be_exactly_as_large_as_the_limit() -> None:
    with in_memory({"s": "ab\ncd"}) as workspace:
        found = fetched(workspace, "read-file-lines", path=f"{ROOT}/s", max_response_bytes=9)
        assert found.json["content"] == "1\tab\n2\tcd"


def test_a_line_shows_no_more_than_its_bytes_also_where_no_character_fits() -> None:
    with in_memory({"a": "hello\n\né\n"}) as workspace:
        for most, content in ((0, ["1\t+", "2\t", "3\t+"]), (1, ["1\th+", "2\t", "3\t+"])):
            found = fetched(workspace, "read-file-lines", path=f"{ROOT}/a", max_line_bytes=most)
            expected = "\n".join(content).replace("+", "... [truncated]")
            assert found.json["content"] == expected
            assert (found.json["total_lines"], found.json["lines_read"]) == (3, 3)


@each("name", ["offset", "limit", "max_file_size", "max_line_bytes"])
@each(
    ("value", "what"),
    [("-1", "value is negative"), ("1.5", "invalid syntax"), ("9" * 20, "out of range"), ("x", "invalid")],
)
def test_a_number_that_is_none_is_an_error_of_the_query(name: str, value: str, what: str) -> None:
    with in_memory({"a": "x"}) as workspace:
        found = fetched(workspace, "read-file-lines", path=f"{ROOT}/a", **{name: value})
    assert found.status == 400
    assert found.json["message"] == "Query parameters have invalid values."
    assert [one["field"] for one in found.json["validations"]] == [name]
    assert what in found.json["validations"][0]["detail"]


@pytest.mark.parametrize("offset", [2**53, 2**63 - 1])
def test_an_offset_beyond_the_file_is_told_as_it_was_sent(offset: int) -> None:
    with in_memory({"a": "x"}) as workspace:
        found = fetched(workspace, "read-file-lines", path=f"{ROOT}/a", offset=offset)
        assert found.json["error"] == f"offset {offset} is beyond the file length of 1 lines"
        found = fetched(workspace, "read-file", path=f"{ROOT}/a", offset=offset, limit=offset)
        assert (found.status, found.body) == (200, b"")
        found = fetched(workspace, "read-file-lines", path=f"{ROOT}/a", limit=offset, max_file_size=offset)
        assert found.json["content"] == "1\tx"


def test_every_problem_of_a_query_is_told_at_once() -> None:
    with in_memory({}) as workspace:
        found = fetched(workspace, "read-file-lines", offset="-1", nonsense="1")
    told = {one["field"]: one["detail"] for one in found.json["validations"]}
    assert set(told) == {"path", "offset", "nonsense"}
    assert told["nonsense"] == 'Query param "nonsense" is not a valid query param'
    assert '"path" is required' in told["path"]


def test_zero_means_the_default() -> None:
    with in_memory({"a": "x\ny"}) as workspace:
        value = json.loads(read(workspace, path=f"{ROOT}/a", offset=0, limit=0).text)
        assert value["content"] == "1\tx\n2\ty"


def test_an_offset_behind_an_empty_file_is_no_error() -> None:
    with in_memory({"a": ""}) as workspace:
        assert fetched(workspace, "read-file-lines", path=f"{ROOT}/a", offset=7).json == {"success": True}


def test_the_path_is_shown_as_the_caller_wrote_it() -> None:
    with in_memory({"a": "x"}) as workspace:
        path = f"//home/me/./p/{'x/../'}nope"
        assert read(workspace, path=path).text == f"file does not exist: {path}"


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ('a"b\\', '"a\\"b\\\\"'), ("\n\t\x00\x7f", '"\\n\\t\\x00\\x7f"'), ("é☃", '"é☃"'),
        ("\u200b\U000e0001", '"\\u200b\\U000e0001"'), ("\udcff", '"\\xff"'),
    ],
)  # fmt: skip
def test_names_are_quoted_as_go_quotes_them(text: str, quoted: str) -> None:
    assert go_quoted(text) == quoted


def test_half_characters_become_marks_in_json() -> None:
    assert encoded({"a": ["\udcff"]}) == '{"a":["\ufffd"]}'


def test_a_client_that_passes_on_less_gets_a_refusal_within_its_cap() -> None:
    with in_memory({"a": ('"quoted"\n') * 900}) as workspace:
        found = workspace.call("read_file", {"path": f"{ROOT}/a"}, contract_name="coder", reply_bytes=10_000)
        assert found.is_error
        assert found.text.startswith("output would exceed ")
        assert len(found.text.encode()) <= 10_000


# --- laws -------------------------------------------------------------------------------------

_ODD = ["", "a", "é☃", "\r", "x" * 900, "tab\t", '"q"', "a form\x0cfeed, a \u2028 and so on", "end\r"]
_TEXTS = st.lists(st.sampled_from(_ODD))


@settings(max_examples=30, deadline=None)
@given(
    lines=_TEXTS,
    final=st.booleans(),
    encoding=st.sampled_from(["utf-8", "utf-16"]),
    limit=st.integers(1, 7),
)
def test_following_its_own_calls_shows_every_line_once(
    lines: list[str], final: bool, encoding: str, limit: int
) -> None:
    text = "\n".join(lines) + ("\n" if final and lines else "")
    expected = text.removesuffix("\n").split("\n") if text else []
    with in_memory({"a": text.encode(encoding)}) as workspace:
        shown: list[str] = []
        call: Any = {"tool": "read_file", "arguments": {"path": f"{ROOT}/a", "limit": limit}}
        while call is not None:
            found = workspace.call(call["tool"], call["arguments"], contract_name="coder")
            value = json.loads(found.text)
            assert not found.is_error
            assert value["total_lines"] == len(expected)
            for line in value["content"].split("\n") if value["content"] else []:
                number, _, rest = line.partition("\t")
                assert int(number) == len(shown) + 1
                shown.append(rest)
            call = found.facts["next"]
    assert shown == expected


_SECRET = "the-secret-of-this-test"


@pytest.mark.clause("coder.deviation.confinement")
@each(
    "path",
    ["p/.env", "p/x/../.env", "secret", "p/../secret", "p/link", "p/folder/secret", "p/denied-link"],
)
def test_what_may_not_be_seen_is_permission_denied_everywhere(tmp_path: Path, path: str) -> None:
    root = tmp_path / "p"
    root.mkdir()
    (root / ".env").write_text(_SECRET, encoding="utf-8")
    (root / "denied-link").symlink_to(".env")
    (tmp_path / "secret").write_text(_SECRET, encoding="utf-8")
    (root / "link").symlink_to("../secret")
    (root / "folder").symlink_to("..")
    asked_for = f"{tmp_path}/{path}"
    with Workspace(root) as workspace:
        said = [read(workspace, tool, path=asked_for).text for tool in READS]
        lines = fetched(workspace, "read-file-lines", path=asked_for)
        raw = fetched(workspace, "read-file", path=asked_for)
        write = fetched(workspace, "write-file", "POST", b"changed", path=asked_for)
        edits = [{"search": _SECRET, "replace": "x"}]
        edit = fetched(workspace, "edit-files", "POST", {"files": [{"path": asked_for, "edits": edits}]})
    assert lines.status == 200
    assert (raw.status, write.status, edit.status) == (403, 403, 403)
    for text in (*said, lines.json["error"], raw.json["message"]):
        assert f"permission denied: {asked_for}" in text
    answers = [*said, lines.words, raw.words, write.words, edit.words]
    assert not [text for text in answers if _SECRET in text]
    for file in (root / ".env", tmp_path / "secret"):
        assert file.read_text(encoding="utf-8") == _SECRET


# --- what we do instead -----------------------------------------------------------------------


@pytest.mark.clause("coder.deviation.final_newline")
def test_a_final_newline_adds_no_line() -> None:
    with in_memory({"a": "a\nb\n"}) as workspace:
        value = json.loads(read(workspace, path=f"{ROOT}/a").text)
    assert (value["total_lines"], value["content"]) == (2, "1\ta\n2\tb")


@pytest.mark.clause("coder.deviation.large_files")
@pytest.mark.parametrize("window", [{"offset": 1}, {"limit": 3}, {"offset": 200_000, "limit": 2}])
def test_a_large_file_is_served_when_a_part_is_asked_for(window: dict[str, Any]) -> None:
    with in_memory({"a": "123456\n" * 200_000}) as workspace:
        assert read(workspace, path=f"{ROOT}/a").text.startswith("file is 1400000 bytes which exceeds")
        value = json.loads(read(workspace, path=f"{ROOT}/a", **window).text)
        assert value["content"].startswith(f"{window.get('offset', 1)}\t123456")
        assert value["total_lines"] == 200_000


@pytest.mark.clause("coder.deviation.cut_characters")
def test_a_long_line_is_cut_between_characters() -> None:
    with in_memory({"a": "x" * 1023 + "é" * 9}) as workspace:
        value = json.loads(read(workspace, path=f"{ROOT}/a").text)
    assert value["content"] == "1\t" + "x" * 1023 + "... [truncated]"


@pytest.mark.clause("coder.deviation.binary")
@pytest.mark.parametrize("data", [b"a\0b", b"x\n" * 60_000 + b"a\0b\n", b"\x89PNG\r\n\x1a\n" + bytes(30)])
def test_files_with_nul_bytes_are_refused(data: bytes) -> None:
    with in_memory({"a": data}) as workspace:
        assert read(workspace, path=f"{ROOT}/a").text.startswith(f"file is binary, not text: {ROOT}/a (")
        assert fetched(workspace, "read-file", path=f"{ROOT}/a").body == data


def test_nul_bytes_in_the_window_of_a_large_file_are_refused() -> None:
    with in_memory({"a": b"plain line\n" * 200_000 + b"a\0b\n"}) as workspace:
        assert not read(workspace, path=f"{ROOT}/a", limit=2).is_error
        assert "is binary" in read(workspace, path=f"{ROOT}/a", offset=200_000).text


@pytest.mark.clause("coder.deviation.encodings")
def test_other_encodings_are_decoded() -> None:
    files = {"a": "\ufeffé\n".encode(), "b": "é☃\n".encode("utf-16"), "c": "café, déjà vu\n".encode("cp1252")}
    with in_memory(files) as workspace:
        shown = [json.loads(read(workspace, path=f"{ROOT}/{name}").text)["content"] for name in "abc"]
    assert shown == ["1\té", "1\té☃", "1\tcafé, déjà vu"]


@pytest.mark.clause("coder.deviation.workspace")
def test_any_name_means_the_workspace() -> None:
    with in_memory({"a": "x"}) as workspace:
        for name in ("me/dev.main", "other"):
            found = workspace.call(
                "coder_workspace_read_file", {"workspace": name, "path": f"{ROOT}/a"}, contract_name="coder"
            )
            assert json.loads(found.text)["content"] == "1\tx"


@pytest.mark.clause("coder.deviation.links")
def test_changes_follow_links_only_where_the_operator_says_so(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old", encoding="utf-8")
    (tmp_path / "link").symlink_to("real")
    files = [{"path": f"{tmp_path}/link", "edits": [{"search": "old", "replace": "new"}]}]
    with Workspace(tmp_path) as workspace:
        assert fetched(workspace, "write-file", "POST", b"new", path=f"{tmp_path}/link").status == 403
        assert fetched(workspace, "edit-files", "POST", {"files": files}).status == 403
    assert (tmp_path / "real").read_text(encoding="utf-8") == "old"
    store = LocalStore(tmp_path)
    found = load(store)
    follow = replace(found, changes=replace(found.changes, follow_links=True))
    with Workspace(store, settings=follow) as workspace:
        assert fetched(workspace, "edit-files", "POST", {"files": files}).status == 200
    assert (tmp_path / "real").read_text(encoding="utf-8") == "new"
    assert (tmp_path / "link").is_symlink()


@pytest.mark.clause("coder.deviation.statuses")
def test_mistakes_in_a_listing_are_those_of_the_client() -> None:
    with in_memory({"a": "x"}) as workspace:
        file = fetched(workspace, "list-directory", "POST", {}, path=f"{ROOT}/a")
        relative = fetched(workspace, "list-directory", "POST", {}, path="a")
        unknown = fetched(workspace, "list-directory", "POST", {"path": [], "relativity": "moon"})
        missing = fetched(workspace, "list-directory", "POST", {}, path=f"{ROOT}/b")
    assert (file.status, relative.status, unknown.status, missing.status) == (400, 400, 400, 404)
    assert file.json["message"] == f'path "{ROOT}/a" is not a directory'
    assert relative.json["message"] == 'path must be absolute: "a"'
    assert unknown.json["message"] == 'unsupported relativity type "moon"'
    assert missing.json["message"].startswith(f'failed to open directory "{ROOT}/b": ')


@pytest.mark.clause("coder.deviation.listing")
def test_a_listing_counts_what_it_does_not_show() -> None:
    with in_memory({".env": "x", "d/e": "x", "b": "x"}) as workspace:
        home = fetched(workspace, "list-directory", "POST", {"path": [], "relativity": "home"})
        root = fetched(
            workspace, "list-directory", "POST", {"path": ["home", "me", "p", "d"], "relativity": "root"}
        )
        above = fetched(workspace, "list-directory", "POST", {"path": [], "relativity": "root"})
    assert home.json == {
        "absolute_path": ["home", "me", "p"],
        "absolute_path_string": ROOT,
        "contents": [
            {"name": "d", "absolute_path_string": f"{ROOT}/d", "is_dir": True},
            {"name": "b", "absolute_path_string": f"{ROOT}/b", "is_dir": False},
        ],
        "notes": ["1 more is not shown: denied by policy."],
    }
    assert [one["name"] for one in root.json["contents"]] == ["e"]
    assert above.status == 403


def test_a_wrong_field_of_a_body_is_named_with_all_that_it_stands_in() -> None:
    second: list[object] = [{"search": "x", "replace": "y"}, {"search": "x", "replace_all": "maybe"}]
    with in_memory({"a": "x"}) as workspace:
        for edits, words in (
            (second, "'files[0].edits[1].replace_all' must be true or false"),
            (5, "'files[0].edits' must be a list"),
        ):
            body = {"files": [{"path": f"{ROOT}/a", "edits": edits}]}
            assert words in fetched(workspace, "edit-files", "POST", body).json["message"]


def test_a_listing_that_is_too_large_says_so() -> None:
    with in_memory({f"{number:05}" + "n" * 80: "" for number in range(6_000)}) as workspace:
        found = fetched(workspace, "list-directory", "POST", {}, path=ROOT)
    assert found.status == 200
    assert len(found.body) <= LIST_BYTES
    assert found.json["notes"] == [
        f"The listing is cut: {len(found.json['contents'])} of 6000 entries are shown."
    ]


@pytest.mark.clause("coder.deviation.strict_bodies")
def test_unknown_fields_of_a_body_are_refused() -> None:
    with in_memory({"a": "x"}) as workspace:
        body = {"files": [{"path": f"{ROOT}/a", "ed_script": "1d"}]}
        found = fetched(workspace, "edit-files", "POST", body)
    assert found.status == 400
    assert "ed_script" in found.json["message"]


def test_bodies_that_are_no_json_are_refused() -> None:
    with in_memory({}) as workspace:
        for body in (b"", b"{", b"[]", b"\xff"):
            found = fetched(workspace, "edit-files", "POST", body)
            assert (found.status, found.json["message"]) == (400, "Request body must be valid JSON.")


def test_a_path_below_a_file_fails_as_the_system_says_it() -> None:
    """ENOTDIR is not that something does not exist; and a mistake of the client is not one of the server."""
    path = f"{ROOT}/a/b"
    with in_memory({"a": "x"}) as workspace:
        assert read(workspace, path=path).text == f"open file: open {path}: not a directory"
        raw = fetched(workspace, "read-file", path=path)
        listed = fetched(workspace, "list-directory", "POST", {}, path=path)
        edit = {"files": [{"path": path, "edits": [{"search": "x", "replace": "y"}]}]}
        edited = fetched(workspace, "edit-files", "POST", edit)
    assert (raw.status, listed.status, edited.status) == (400, 400, 400)
    assert raw.json["message"] == f"open {path}: not a directory"
    assert listed.json["message"] == f'failed to open directory "{path}": open {path}: not a directory'
    assert edited.json["message"].startswith(f"open {path}: not a directory")
