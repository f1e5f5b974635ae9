"""Whose conversation a call is over MCP, and how a host says that it was shortened."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from readroom.server.database.sqlite import SqliteBackend
from readroom.server.ledger.ledger import Ledger
from readroom.server.ledger.verify import verify
from tests.mcp.serving import ERAS, Http, Stdio, call, http_server

COMPACTED = {"jsonrpc": "2.0", "method": "notifications/readroom/compacted"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    found = tmp_path / "root"
    found.mkdir()
    (found / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
    return found


def facts(answer: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = answer["result"]["_meta"]["readroom/facts"]
    return found


def test_a_host_says_that_a_conversation_was_compacted(folder: Path) -> None:
    with Stdio(folder) as client:
        known = facts(client.ask(call(1, "read_file", {"path": "a.txt"})))["content_hash"]
        again = {"path": "a.txt", "known_hash": known}
        assert facts(client.ask(call(2, "read_file", again)))["not_modified"]
        client.send(COMPACTED)
        assert not facts(client.ask(call(3, "read_file", again)))["not_modified"]
        assert facts(client.ask(call(4, "read_file", again)))["not_modified"]


def test_a_host_counts_conversations_and_compactions_in_meta(folder: Path) -> None:
    with http_server(folder) as (url, _), Http(url) as client:

        def asked(session: str, epoch: int, **arguments: str) -> dict[str, Any]:
            meta = {"readroom/session": session, "readroom/epoch": epoch}
            return facts(client.ask(call(1, "read_file", {"path": "a.txt", **arguments}, **meta)))

        known = asked("x", 0)["content_hash"]
        assert asked("x", 0, known_hash=known)["not_modified"]
        assert not asked("x", 1, known_hash=known)["not_modified"]
        assert asked("x", 1, known_hash=known)["not_modified"]
        assert asked("y", 0, known_hash=known)["not_modified"]


@pytest.mark.parametrize("era", ERAS)
def test_a_host_without_a_connection_says_it_over_http(folder: Path, era: str) -> None:
    with http_server(folder) as (url, _), Http(url, version=era) as client:

        def asked(**arguments: str) -> dict[str, Any]:
            meta = {"readroom/session": "talk"}
            return facts(client.ask(call(1, "read_file", {"path": "a.txt", **arguments}, **meta)))

        known = asked()["content_hash"]
        assert asked(known_hash=known)["not_modified"]
        with closing(client.connect()) as connection:
            connection.request("POST", "/v1/sessions/talk/compacted")
            assert connection.getresponse().status == 200
        assert not asked(known_hash=known)["not_modified"]


def test_what_a_server_answers_stands_in_the_ledger_of_its_user(folder: Path, tmp_path: Path) -> None:
    with Stdio(folder) as client:
        client.ask(call(1, "read_file", {"path": "a.txt"}, **{"readroom/session": "chat 7"}))
        client.ask(call(2, "read_file", {"path": "../out"}))
    backend = SqliteBackend(os.path.join(tmp_path, "state", "readroom", "ledger.sqlite3"), make=False)
    with closing(Ledger(backend)) as book:
        assert verify(book).problems == ()
        first, second = (row.event for row in book.rows())
    assert (first.session, first.face, first.outcome) == ("chat 7", "mcp", "ok")
    assert first.agent == second.agent != ""
    assert (second.decision, second.outcome) == ("refused", "outside_root")
    assert second.session not in ("", "chat 7")
