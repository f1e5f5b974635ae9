"""Two processes of a server report each change once, name who made it, and know a conversation's own ones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.server.http.cluster import TURNS, Cluster, cluster

FACT = "changed_since_seen"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "a.py").write_text("".join(f"line {number}\n" for number in range(1, 51)))
    return folder


def call(server: Cluster, session: str, tool: str, **arguments: Any) -> Mapping[str, Any]:
    """The result of a call on a connection of its own, at any process."""
    headers = {"Content-Type": "application/json", "Readroom-Agent": f"agent-{session}"}
    if session:
        headers["Readroom-Session"] = session
    (found,) = server.turns(1)
    answer = found.request("POST", f"/v1/native/{tool}", json.dumps(arguments).encode(), headers=headers)
    result = answer.json
    assert isinstance(result, dict)
    return result


def news(result: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = result["_meta"]["readroom/facts"].get(FACT, [])
    assert isinstance(found, list)
    return found


def test_a_change_is_reported_once_by_whichever_process(root: Path, tmp_path: Path) -> None:
    file = root / "a.py"
    with cluster(tmp_path / "state", root, None, 'auth = "open"') as server:
        for turn in range(TURNS):
            call(server, "one", "read_file", path="a.py", offset=10, limit=5)
            call(server, "", "read_file", path="a.py")
            digest = sha256(file.read_bytes()).hexdigest()
            edit = {"old_text": f"line {turn + 30}\n", "new_text": "new\n"}
            own = call(server, "two", "edit_file", path="a.py", expected_hash=digest, edits=[edit])
            assert not own["isError"], own
            said = [news(call(server, "one", "list_directory", path=".")) for _ in range(3)]
            assert [len(one) for one in said] == [1, 0, 0]
            assert said[0][0]["by"] == {"agent": "agent-two", "session": "two"}
            same = [{"seen": [10, 14], "now": [10, 14], "new": []}]
            assert said[0][0]["lines"] == same, "whichever process has shown them"
            assert not news(call(server, "two", "list_directory", path="."))
            assert not news(call(server, "", "list_directory", path="."))
        call(server, "one", "read_file", path="a.py")
        digest = sha256(file.read_bytes()).hexdigest()
        edit = {"old_text": "line 1\n", "new_text": "one\n"}
        assert not call(server, "one", "edit_file", path="a.py", expected_hash=digest, edits=[edit])[
            "isError"
        ]
        assert not [one for _ in range(4) for one in news(call(server, "one", "list_directory", path="."))]
        file.write_text("x\n")
        refused = call(server, "one", "write_file", path="a.py", content="y\n", expected_hash=digest)
        assert refused["isError"]
        assert ", changed " in refused["content"][0]["text"]


def test_a_compacted_conversation_hears_nothing(root: Path, tmp_path: Path) -> None:
    with cluster(tmp_path / "state", root, None, 'auth = "open"') as server:
        call(server, "one", "read_file", path="a.py")
        (root / "a.py").write_text("x\n")
        (found,) = server.turns(1)
        assert found.request("POST", "/v1/sessions/one/compacted").status < 300
        assert not news(call(server, "one", "list_directory", path="."))
