"""Law: the same call gives the same reply over library, command line, MCP stdio and MCP HTTP.

Whatever the call is: calls are drawn from every tool, every argument and values
that make sense and that do not, over one real folder.
"""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from readroom.cli.main import main
from readroom.core.contracts.base import FACTS_KEY, tool_result
from readroom.core.contracts.native import NATIVE
from readroom.core.workspace import Workspace
from tests.each import each
from tests.mcp.serving import END_S, STATELESS, Http, Stdio, http_server, plain

Face: TypeAlias = "Callable[[str, Any], Any]"
"""A call to the JSON object that is sent for it."""

FILES = {
    "readme.md": b"# Title\n\nSome words about needles.\n",
    "src/a.py": b"def needle(x):\n    return x\n" * 300,
    "src/b.py": "größe = 'Nadel'\r\nneedle = 1\r\n".encode("latin-1"),
    "data.csv": b"id,name\n" + b"".join(b"%d,n%d\n" % (n, n) for n in range(400)),
    "run.log": b"".join(b"line %d\n" % n for n in range(3000)),
    "wide.txt": "日本語の文 ".encode() * 2000 + b"\nneedle\n",
    "bin.dat": bytes(range(256)),
    "empty": b"",
    ".env": b"PASSWORD=needle\n",
    "odd\tname": b"needle\n",
    "signs.txt": "one\u2028 \x1b[31m\U0001f600\ntwo\n".encode(),
    "tags.txt": b"<system-reminder>needle\n",
    "hidden.txt": "a\u202eneedle\u202c b\u200bc\n".encode(),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("faces")
    for name, data in FILES.items():
        (found / name).parent.mkdir(exist_ok=True)
        (found / name).write_bytes(data)
    Image.new("RGB", (64, 48), "teal").save(found / "picture.png")
    (found / "link").symlink_to("readme.md")
    (found / "out").symlink_to("/etc")
    return found


def _library(folder: Path) -> Face:
    def call(tool: str, arguments: Any) -> Any:
        with Workspace(folder) as workspace:
            return tool_result(workspace.call(tool, arguments))

    return call


def _command(folder: Path) -> Face:
    """`readroom call`, in this process: it is started as a process below."""
    options = ["--root", str(folder)]

    def call(tool: str, arguments: Any) -> Any:
        with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO(), encoding="utf-8")) as out:
            main(["call", *options, "--", tool, json.dumps(arguments)])
            return json.loads(out.buffer.getvalue())

    return call


@pytest.fixture(scope="module")
def faces(folder: Path) -> Iterator[dict[str, Face]]:
    with (
        Stdio(folder) as stdio,
        Stdio(folder, version=STATELESS) as stateless_stdio,
        http_server(folder) as (url, _),
        Http(url) as http,
        Http(url, version=STATELESS) as stateless_http,
    ):
        yield {
            "library": _library(folder),
            "command line": _command(folder),
            "MCP stdio": stdio.call,
            "MCP stdio, stateless": lambda *call: plain(stateless_stdio.call(*call)),
            "MCP HTTP": http.call,
            "MCP HTTP, stateless": lambda *call: plain(stateless_http.call(*call)),
        }


def _agree(faces: dict[str, Face], tool: str, arguments: Any) -> None:
    replies = {
        name: json.dumps(face(tool, arguments), sort_keys=True, ensure_ascii=False)
        for name, face in faces.items()
    }
    expected = replies["library"]
    assert replies == dict.fromkeys(faces, expected)


PATHS = [
    *FILES,
    "picture.png",
    "link",
    "out",
    "out/passwd",
    "src",
    ".",
    "../x",
    "nothing",
    "readme",
    '"odd\\tname"',
]
CALLS: list[tuple[str, dict[str, Any]]] = [
    *(("read_file", {"path": path}) for path in PATHS),
    ("read_file", {"path": "run.log", "offset": -3}),
    ("read_file", {"path": "run.log", "offset": 9000}),
    ("read_file", {"path": "wide.txt", "column": 5000}),
    ("read_file", {"path": "data.csv", "offset": 200, "limit": 3}),
    ("read_file", {"path": "src/b.py", "encoding": "ascii"}),
    ("grep_files", {"pattern": "needle"}),
    ("grep_files", {"pattern": "needle", "output": "count", "include": ["hidden", "binary"]}),
    ("grep_files", {"pattern": "needle", "path": "src", "context": 1, "limit": 3}),
    ("grep_files", {"pattern": "("}),
    ("grep_files", {"pattern": "needle", "output": "references", "limit": 3}),
    ("grep_files", {"pattern": "needle", "kinds": ["definition", "text"], "path": "src/b.py"}),
    ("grep_files", {"pattern": "needle", "output": "references", "sort": "path", "cursor": "x"}),
    ("find_relevant", {"query": "where is the needle returned"}),
    ("find_relevant", {"query": "needle", "explain": True, "budget_tokens": 150}),
    ("find_relevant", {"query": "needle", "output": "files", "path": "src"}),
    ("find_relevant", {"query": "日本語"}),
    ("find_relevant", {"query": "?"}),
    ("find_relevant", {"query": "needle", "path": ".env"}),
    ("find_relevant", {"query": "needle", "cursor": "x"}),
    ("list_directory", {}),
    ("list_directory", {"depth": 3, "sort": "size", "limit": 4}),
    ("list_directory", {"path": "readme.md"}),
    ("no_such_tool", {}),
    ("read_file", {}),
    ("read_file", {"path": "readme.md", "lines": 1}),
]


@each(("tool", "arguments"), CALLS, ids=range(len(CALLS)))
def test_faces_agree_on_what_agents_send(faces: dict[str, Face], tool: str, arguments: Any) -> None:
    _agree(faces, tool, arguments)


_VALUES: dict[str, st.SearchStrategy[object]] = {
    "path": st.sampled_from(PATHS),
    "query": st.sampled_from(["needle", "words about Nadel", "n3", "日本", "", "(?", "line 12", "x" * 500]),
    "pattern": st.sampled_from(["needle", "e+", "^line 1\\d$", "(", "(?i)TITLE", "日本", "", "\\d,n\\d"]),
    "glob": st.sampled_from(["*.py", "src/**", "!*.log", "["]) | st.just(["*.py", "*.md"]),
    "type": st.sampled_from(["py", "nothing"]),
    "output": st.sampled_from(["content", "files", "count", "references", "none", "outline"]),
    "kinds": st.lists(st.sampled_from(["definition", "call", "use", "text", "nothing"]), max_size=3),
    "sort": st.sampled_from(["path", "name", "size", "relevance"]),
    "include": st.lists(st.sampled_from(["hidden", "ignored", "binary"]), max_size=3),
    "encoding": st.sampled_from(["utf-8", "latin-1", "utf-16", "klingon"]),
    "known_hash": st.sampled_from(["sha256:", "0" * 12, "no hash"]),
    "cursor": st.text(max_size=12),
}
_NUMBERS = st.integers(-5, 3005) | st.sampled_from([0.5, 1e300, 2**60])
_ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
_READING = [tool for tool in NATIVE.tools if tool.read_only]


@st.composite
def _calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    tool = draw(st.sampled_from(_READING))
    schema = tool.input_schema
    optional = sorted(set(schema["properties"]) - set(schema["required"]) - {"timeout_s"})
    names = schema["required"] + draw(st.lists(st.sampled_from(optional), max_size=4, unique=True))
    arguments = {
        name: draw(_ANYTHING if draw(st.integers(0, 9)) == 0 else _VALUES.get(name, _NUMBERS))
        for name in names
    }
    if draw(st.integers(0, 14)) == 0:
        arguments[draw(st.text(max_size=9))] = draw(_ANYTHING)
    return tool.name, arguments


@given(call=_calls())
def test_faces_agree_on_whatever_is_sent(faces: dict[str, Face], call: tuple[str, dict[str, Any]]) -> None:
    _agree(faces, *call)


def test_each_page_of_references_may_come_from_another_face(faces: dict[str, Face]) -> None:
    """A cursor that one face gave continues at the next one; together they show every match once."""
    found: list[tuple[str, str, int]] = []
    call: Any = {
        "tool": "grep_files",
        "arguments": {"pattern": "needle", "output": "references", "limit": 50},
    }
    for face in cycle(faces.values()):
        facts = face(call["tool"], call["arguments"])["_meta"][FACTS_KEY]
        found += [
            (line["kind"], file["path"], line["line"]) for file in facts["files"] for line in file["lines"]
        ]
        call = facts["next"]
        if call is None:
            break
    assert len(set(found)) == len(found)
    assert found[:300] == [("definition", "src/a.py", line) for line in range(1, 600, 2)]
    assert ("definition", "src/b.py", 2) in found
    assert ("text", "wide.txt", 2) in found


def test_the_command_as_a_process_prints_what_a_model_receives(faces: dict[str, Face], folder: Path) -> None:
    call = ("read_file", {"path": "wide.txt"})
    command = [sys.executable, "-m", "readroom", "call", *call[:1], json.dumps(call[1])]
    done = subprocess.run(
        [*command, "--root", str(folder)],
        stdout=subprocess.PIPE,
        timeout=END_S,
        check=True,
    )
    assert json.loads(done.stdout) == faces["MCP stdio"](*call)


CHANGES: list[tuple[str, dict[str, Any]]] = [
    ("write_file", {"path": "new.txt", "content": "eins\nzwei\n", "expected_hash": "absent"}),
    ("write_file", {"path": "new.txt", "content": "x", "expected_hash": "absent"}),
    ("edit_file", {"path": "new.txt", "expected_hash": "0" * 12, "edits": []}),
    (
        "edit_file",
        {"path": "new.txt", "expected_hash": "0" * 12, "edits": [{"old_text": "eins", "new_text": "1"}]},
    ),
    ("write_file", {"path": ".env", "content": "x", "expected_hash": "absent"}),
    ("write_file", {"path": "../new.txt", "content": "x", "expected_hash": "absent"}),
    ("read_file", {"path": "new.txt"}),
]


def test_faces_agree_on_changes(tmp_path: Path) -> None:
    """Each face changes a folder of its own; one call after the other."""
    replies: dict[str, list[Any]] = {}
    folders = {name: tmp_path / name for name in ("library", "command", "stdio", "http")}
    for folder in folders.values():
        folder.mkdir()
    with Stdio(folders["stdio"]) as stdio, http_server(folders["http"]) as (url, _), Http(url) as http:
        faces = {
            "library": _library(folders["library"]),
            "command": _command(folders["command"]),
            "stdio": stdio.call,
            "http": http.call,
        }
        for name, face in faces.items():
            replies[name] = [json.loads(json.dumps(face(*call))) for call in CHANGES]
    for index, call in enumerate(CHANGES):
        assert {name: found[index] for name, found in replies.items()} == dict.fromkeys(
            replies, replies["library"][index]
        ), call
    assert {(folder / "new.txt").read_bytes() for folder in folders.values()} == {b"eins\nzwei\n"}
