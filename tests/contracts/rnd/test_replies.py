"""The `read` command: its answers, refusals and lists, in memory and in a folder."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.contracts.rnd.front_matter import read_front_matter
from readroom.core import config
from readroom.core.contracts import Setup, contract
from readroom.core.limits import MIN_REPLY_BYTES
from readroom.core.policy.rules import denials
from readroom.core.stores.base import Store
from readroom.core.stores.memory import MemoryStore
from readroom.core.workspace import Workspace
from tests.each import each

FENCED = "---\n{}\n---\n"


def room(files: dict[str, bytes | str] | Store, front_matter: str | None = None, **more: Any) -> Workspace:
    store = MemoryStore(files) if isinstance(files, dict) else files
    command = (
        None if front_matter is None else read_front_matter("read.md", FENCED.format(front_matter).encode())
    )
    settings = config.Settings(
        layers=(denials(),), contracts={} if command is None else {"rnd": command}, **more
    )
    return Workspace(store, settings=settings)


def read(workspace: Workspace, path: str, **options: Any) -> dict[str, Any]:
    found = json.loads(workspace.call("read", {"path": path, **options}, contract_name="rnd").text)
    assert isinstance(found, dict)
    return found


@pytest.mark.clause("rnd.signature")
def test_it_is_one_tool_with_three_arguments() -> None:
    (tool,) = contract("rnd").tools
    assert tool.name == "read"
    assert list(tool.input_schema["properties"]) == ["path", "offset", "limit"]
    assert tool.input_schema["required"] == ["path"]


@pytest.mark.clause("rnd.path.relative_or_absolute", "rnd.permissions.root")
def test_absolute_paths_mean_what_is_below_the_root(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x\n", encoding="utf-8")
    (tmp_path / "out.py").symlink_to("/etc/hostname")
    with Workspace(tmp_path) as workspace:
        assert read(workspace, f"{tmp_path}/a.py") == read(workspace, "a.py")
        outside = read(workspace, "out.py")
    assert outside["error"].startswith("Access denied: ")
    assert outside["reason"] == "security_policy"


texts = st.lists(st.text(st.sampled_from('ab"\\\té€\U0001f600\x0c\x85\u2028\r')), max_size=30).map("\n".join)


@pytest.mark.clause(
    "rnd.limit.pagination", "rnd.session.resume", "rnd.large.sections", "rnd.limits.truncation_warns"
)
@given(texts, st.integers(1, 9), st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-be"]))
def test_following_the_warnings_to_the_end_gives_the_file(text: str, limit: int, encoding: str) -> None:
    bom = "\ufeff" if encoding == "utf-16-be" else ""
    data = (bom + text).encode(encoding)
    if encodingless(data):
        return
    with room({"f.md": data}) as workspace:
        found, offset = "", 1
        while True:
            page = read(workspace, "f.md", offset=offset, limit=limit)
            assert page["ok"], page
            found += page["content"]
            assert (
                page["lines_read"] == len(page["content"].removesuffix("\n").split("\n")) if found else True
            )
            more = [one for one in page.get("warnings", []) if "continue with offset=" in one]
            if not more:
                break
            assert int(more[0].rpartition("=")[2]) == offset + page["lines_read"]
            offset += page["lines_read"]
    assert found == text.replace("\r\n", "\n")


def encodingless(data: bytes) -> bool:
    """Whether a file of so few bytes is taken for another encoding, or for no text."""
    with room({"f.md": data}) as workspace:
        reply = workspace.call("read_file", {"path": "f.md"})
        return reply.is_error or reply.facts["encoding"] not in (
            "utf-8",
            "ascii",
            "utf-16-le",
            "utf-16-be",
            "utf-16",
        )


@pytest.mark.clause("rnd.limits.truncation_warns")
def test_a_limit_above_the_maximum_is_lowered_and_says_so() -> None:
    with room({"a.py": "x\n" * 50}, "limits: {max_lines: 20}") as workspace:
        found = read(workspace, "a.py", limit=30)
    assert found["lines_read"] == 20
    assert found["warnings"] == [
        "limit 30 is above the maximum of 20 lines and was lowered to it",
        "Truncated: lines 21-50 are not shown; continue with offset=21",
    ]


@pytest.mark.clause("rnd.limits.timeout")
def test_the_time_limit_is_that_of_the_command() -> None:
    assert contract("rnd").seconds == 30
    command = read_front_matter("x", b"---\nlimits: {timeout_seconds: 0.5}\n---\n")
    assert contract("rnd", Setup(own=command)).seconds == 0.5


@pytest.mark.clause("rnd.size.partial")
def test_a_file_too_large_to_be_read_whole_is_read_in_parts() -> None:
    with room({"a.py": "line\n" * 100}, "limits: {max_bytes: 400}") as workspace:
        assert read(workspace, "a.py")["error"] == "File exceeds size limit (500 bytes > 400 bytes)"
        assert read(workspace, "a.py", offset=100)["content"] == "line\n"
        assert read(workspace, "a.py", limit=1)["content"] == "line\n"


@pytest.mark.parametrize(
    ("size", "words"),
    [(1_200_000, "(1.2MB > 1MB)"), (1_000_001, "(1.000001MB > 1MB)"), (25_000_000, "(25MB > 1MB)")],
)
def test_sizes_in_the_refusal_differ(size: int, words: str) -> None:
    with room({"a.py": b"x" * size}) as workspace:
        assert read(workspace, "a.py")["error"].endswith(words)


@pytest.mark.clause("rnd.past_the_end")
def test_past_the_end_the_real_length_is_told() -> None:
    with room({"a.py": "1\n2\n3"}) as workspace:
        found = read(workspace, "a.py", offset=9)
        assert found == {
            "ok": False,
            "error": "Offset 9 is beyond the end of a.py, which has 3 lines",
            "suggestions": ["Use an offset from 1 to 3"],
        }


@pytest.mark.clause("rnd.paths.root", "rnd.paths.case", "rnd.safety.deny_wins")
@each(
    "path",
    [
        ".ENV",
        "deep/.env",
        "deep/.Env.local",
        "SECRETS/a.py",
        "Secrets/deep/a.py",
        "my_Secret.py",
        "deep/secret-things/a.py",
        "PASSWORDS.md",
        "./secrets//a.py",
        "x/../secrets/a.py",
        "a.PY",
    ],
)
def test_denied_in_every_spelling_whether_or_not_it_is_there(path: str) -> None:
    with room({"a.py": "", "x/a.py": ""}) as workspace, room({path: "hunter2"}) as there:
        found = read(there, path)
        assert found["reason"] == "security_policy"
        assert found["error"].startswith("Access denied: ")
        assert "hunter2" not in json.dumps(found)
        assert read(workspace, path) == found


@pytest.mark.clause("rnd.paths.root")
def test_double_stars_match_nothing_as_well() -> None:
    lists = 'safety: {allowed_paths: ["**/*.py", "docs/**/*.md", notes], denied_paths: ["tmp/**/x.py"]}'
    files: dict[str, bytes | str] = dict.fromkeys(
        ("a.py", "x/y/a.py", "docs/a.md", "docs/x/a.md", "a.md", "notes/a.txt", "tmp/x.py", "d.py/a.txt"), "x"
    )
    with room(files, lists) as workspace:
        allowed = {path for path in files if read(workspace, path)["ok"]}
    assert allowed == {"a.py", "x/y/a.py", "docs/a.md", "docs/x/a.md", "notes/a.txt"}


@pytest.mark.clause("rnd.safety.front_matter")
def test_another_command_file_gives_other_lists() -> None:
    lists = "safety:\n  allowed_paths: ['*.rs']\n  denied_paths: [main.rs]\n"
    with room({"lib.rs": "x", "main.rs": "x", "a.py": "x"}, lists) as workspace:
        assert read(workspace, "lib.rs")["ok"]
        assert read(workspace, "main.rs")["error"] == "Access denied: main.rs files are restricted"
        assert read(workspace, "a.py")["suggestions"] == ["Allowed are *.rs"]
    with room({"a.py": "x"}, "safety: {allowed_paths: []}") as workspace:
        (advice,) = read(workspace, "a.py")["suggestions"]
        assert advice == "Allowed are none; ask the user to change the command file"


@pytest.mark.clause("rnd.denied_by_default")
def test_a_command_file_takes_no_denial_of_the_workspace_back() -> None:
    with room({".env": "x", "id_rsa": "x"}, "safety: {allowed_paths: ['*'], denied_paths: []}") as workspace:
        assert [read(workspace, path)["ok"] for path in (".env", "id_rsa")] == [False, False]


@pytest.mark.clause("rnd.content.binary")
@pytest.mark.parametrize("data", [bytes(99), b"\x89PNG\r\n\x1a\n" + bytes(40), b"PK\x03\x04" + bytes(60)])
def test_a_binary_file_is_refused_whatever_its_name(data: bytes) -> None:
    with room({"a.json": data}) as workspace:
        found = read(workspace, "a.json")
    assert found["error"].startswith("Cannot read binary file: a.json (")
    assert found["reason"] == "binary"


@pytest.mark.clause("rnd.content.encoding")
def test_other_encodings_are_read_and_named() -> None:
    text = "Größe und Übermaß\n" * 9
    with room({"a.md": text.encode("latin-1"), "b.md": b"ok\xff\n" + "größe\n".encode() * 9}) as workspace:
        latin, broken = read(workspace, "a.md"), read(workspace, "b.md")
    assert latin["content"] == text
    assert latin["warnings"][0].startswith("The file is in ")
    assert broken["ok"]
    assert "warnings" in broken


@pytest.mark.clause("rnd.limits.truncation_warns")
def test_a_warning_says_what_it_is_about_and_where(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("one\nx\u202ey\x0cz\n")
    os.link(tmp_path / "a.md", tmp_path / "b.md")
    with Workspace(tmp_path) as workspace:
        assert read(workspace, "a.md")["warnings"] == [
            "Hard link: the file has 2 names",
            "Bidi control at 2:2: U+202E RIGHT-TO-LEFT OVERRIDE",
            "Line break at 2:4: U+000C FORM FEED",
        ]


@pytest.mark.clause("rnd.errors.helpful")
@each(
    ("arguments", "words"),
    [
        ({}, "path"),
        ({"path": "a.py", "offset": 0}, ">= 1"),
        ({"path": "a.py", "offset": -3}, ">= 1"),
        ({"path": "a.py", "limit": 0}, ">= 1"),
        ({"path": "a.py", "limit": 1.5}, "whole number"),
        ({"path": "a.py", "lines": 3}, "offset, limit"),
        ({"path": "docs"}, "docs"),
    ],
)
def test_a_wrong_call_is_told_what_to_send(arguments: dict[str, object], words: str) -> None:
    with room({"a.py": "x\n", "docs/a.md": "x"}) as workspace:
        reply = workspace.call("read", arguments, contract_name="rnd")
    found = json.loads(reply.text)
    assert reply.is_error
    assert words in json.dumps(found)


@given(
    st.integers(MIN_REPLY_BYTES, 5000), st.text(st.sampled_from('"\\\n\x01é'), min_size=400, max_size=4000)
)
def test_no_answer_is_above_its_cap_and_none_stops_paging(cap: int, text: str) -> None:
    with room({"f.md": text.encode() + b"\nend of it\n"}) as workspace:
        found, offset, total = 0, 1, 1
        while offset <= total:
            arguments = {"path": "f.md", "offset": offset}
            reply = workspace.call("read", arguments, contract_name="rnd", reply_bytes=cap)
            assert len(reply.text.encode()) <= cap
            page = json.loads(reply.text)
            if not page["ok"]:
                assert page["reason"] == "binary"
                return
            total = page["total_lines"]
            assert page["lines_read"] > 0
            found += page["lines_read"]
            more = [one for one in page.get("warnings", []) if "continue with offset=" in one]
            offset = int(more[0].rpartition("=")[2]) if more else total + 1
        assert found == total
