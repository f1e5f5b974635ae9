"""A request that is refused before it is a call is in the ledger, without content and without secrets."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from readroom import Workspace
from readroom.core import config
from readroom.server.http.access_log import Exchange
from readroom.server.http.refusal_log import LEDGER_REFUSALS_ALIKE, Refusals
from readroom.server.http.workspaces import Workspaces
from readroom.server.ledger import LedgerPolicy, open_book
from tests.server.http.serving import Agent, agent, command, open_agent

SECRET = "rr_abcdefgh_thissecretisnottobekept"
JSON = {"Content-Type": "application/json"}
READ = "/v1/native/read_file"


def ledger(state: Path, *options: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(command(state, "ledger", *options, "--json"))["rows"]
    return rows


class Recorded:
    """The ledger after many kinds of refusals, and the ids of the tokens that were used."""

    def __init__(self, found: Agent) -> None:
        token = found.make_token("bot", "--tool", "read_file")
        revoked = found.make_token("old")
        self.token, self.revoked = token.split("_")[1], revoked.split("_")[1]
        command(found.state, "token", "revoke", self.revoked)
        refuse(found, token, revoked)
        refuse_raw(found, token)
        found.process.terminate()
        found.process.wait(timeout=60)
        self.rows = ledger(found.state, "refused")

    def by_code(self, code: str) -> list[dict[str, Any]]:
        return [row for row in self.rows if row["outcome"] == code]


def refuse(found: Agent, token: str, revoked: str) -> None:
    found.request("POST", READ, b'{"path": "hidden-words', token=token, headers=JSON)
    found.request("POST", READ, b"hidden-words", token=token)
    found.request("POST", READ, b"{}", token=token, headers={"Host": "hidden-words.example"})
    found.request("POST", READ, b"{}", token=token, headers={"Origin": "http://hidden-words.example"})
    found.request("POST", READ, b"{}", headers={"Readroom-Agent": "hidden-words"})
    found.request("POST", READ, b"{}", token=SECRET)
    found.request("POST", READ, b"{}", token=revoked)
    found.request("GET", "/hidden-words?token=hidden-words", token=token)
    found.request("POST", "/w/hidden-words/../v1%2Fnative/read_file", token=token)
    found.request("GET", READ, token=token)
    found.call("hidden-words", {}, token=token)
    found.call("grep_files", {"pattern": "x"}, token=token)
    found.call("read_file", {"path": "a.txt"}, token=token, at="/w/hidden-words")
    accepted = {**JSON, "Accept": "application/json, text/event-stream"}
    found.request("POST", "/mcp", b'{"hidden-words', token=token, headers=accepted)
    assert found.call("read_file", {"path": "a.txt"}, token=token).status == 200


def refuse_raw(found: Agent, token: str) -> None:
    """What a client's library would not send."""
    for begun, status in (
        (f"POST {READ} HTTP/1.1\r\nAuthorization: Bearer {token}\r\nContent-Length: 1{'0' * 12}", b"413"),
        ("GET /hidden-words\r\xff HTTP/1.1", b"400"),
        ("hidden-words", b"400"),
    ):
        with closing(socket.create_connection((found.host, found.port), timeout=60)) as line:
            line.sendall(f"{begun}\r\nHost: localhost\r\n\r\n".encode("latin-1"))
            answer = b"".join(iter(lambda: line.recv(65536), b""))
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.split()[1] == status
        assert json.loads(body)["error"]["code"]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    root, state = tmp_path_factory.mktemp("root"), tmp_path_factory.mktemp("state")
    (root / "a.txt").write_text("hello\n", encoding="utf-8")
    with agent(state, str(root)) as found:
        return Recorded(found)


def test_each_is_one_entry_with_its_code(recorded: Recorded) -> None:
    assert Counter(row["outcome"] for row in recorded.rows) == Counter(
        bad_request=4,
        wrong_media_type=1,
        not_this_host=1,
        wrong_origin=1,
        unauthorized=3,
        no_such_route=2,
        wrong_method=1,
        unknown_tool=1,
        not_granted=1,
        no_such_workspace=1,
        body_too_large=1,
    )


def test_each_says_where_it_came_from_and_the_status(recorded: Recorded) -> None:
    for row in recorded.rows:
        assert row["face"] == "http"
        if row["outcome"] != "not_granted":  # that was a call, and a workspace refused it
            assert row["arguments"]["address"] == "127.0.0.1"
            assert 400 <= row["arguments"]["status"] < 500


def test_each_says_whose_token_it_was_if_there_was_one(recorded: Recorded) -> None:
    unauthorized = {row["token"]: row["agent"] for row in recorded.by_code("unauthorized")}
    assert unauthorized == {"": "", recorded.revoked: "old"}
    for code in ("not_this_host", "wrong_origin"):  # looked at before the token
        assert [row["token"] for row in recorded.by_code(code)] == [""]
    for code in ("wrong_method", "unknown_tool", "not_granted", "no_such_workspace", "body_too_large"):
        assert [(row["token"], row["agent"]) for row in recorded.by_code(code)] == [(recorded.token, "bot")]


def test_each_says_what_was_asked_in_names_of_ours(recorded: Recorded) -> None:
    assert {row["tool"] for row in recorded.by_code("unauthorized")} == {READ}
    assert {row["tool"] for row in recorded.by_code("no_such_route")} == {"/*", "/w/*/*/*/read_file"}
    assert {row["tool"] for row in recorded.by_code("unknown_tool")} == {"/v1/native/*"}
    assert {row["tool"] for row in recorded.by_code("bad_request")} == {READ, "/mcp", ""}


def test_none_has_content_or_a_secret(recorded: Recorded) -> None:
    text = json.dumps(recorded.rows)
    assert "hidden-words" not in text
    assert "thissecret" not in text


def test_a_flood_is_counted_in_one_entry(tmp_path: Path) -> None:
    sent = LEDGER_REFUSALS_ALIKE + 180
    with open_agent(tmp_path / "state", str(tmp_path)) as found:
        with closing(found.connect()) as connection:
            for _ in range(sent):
                connection.request("GET", "/none")
                connection.getresponse().read()
    rows = ledger(tmp_path / "state", "refused", "--limit", str(sent))
    assert len(rows) == LEDGER_REFUSALS_ALIKE + 1
    assert rows[-1]["arguments"] == {"address": "127.0.0.1", "times": 180}
    assert {row["outcome"] for row in rows} == {"no_such_route"}
    assert "verifies" in command(tmp_path / "state", "ledger", "verify")


def test_requests_beyond_the_rate_are_recorded(tmp_path: Path) -> None:
    operator = tmp_path / "operator.toml"
    operator.write_text("[serve]\naddress_rate = 5\n", encoding="utf-8")
    with agent(tmp_path / "state", "--config", str(operator), str(tmp_path)) as found:
        answers = [found.request("GET", "/healthz").status for _ in range(8)]
    rows = ledger(tmp_path / "state", "refused")
    assert answers.count(429) == len(rows) > 0
    assert {(row["outcome"], row["tool"]) for row in rows} == {("too_many_requests", "/healthz")}


def test_answers_do_not_wait_for_a_ledger_that_somebody_else_writes(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with open_agent(state, str(tmp_path)) as found:
        found.call("read_file", {"path": "none"})  # the ledger is made
        with closing(sqlite3.connect(state / "readroom" / "ledger.sqlite3", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            assert [found.request("GET", f"/{number}").status for number in range(9)] == [404] * 9
            assert other.execute("SELECT COUNT(*) FROM calls").fetchone() == (1,)
            other.execute("ROLLBACK")
    assert len(ledger(state, "refused")) == 9


def test_calls_that_find_no_place_are_recorded_and_told_to_come_back(tmp_path: Path) -> None:
    operator, root = tmp_path / "operator.toml", tmp_path / "root"
    operator.write_text("[serve]\nthreads = 1\nqueue = 0\n", encoding="utf-8")
    root.mkdir()
    os.mkfifo(root / "gate")  # to open it waits for the other side
    with open_agent(tmp_path / "state", "--config", str(operator), "--allow-commands", str(root)) as found:
        with closing(found.connect()) as connection:
            line = json.dumps({"command": "echo begun > gate; read end < gate"})
            connection.request("POST", "/v1/native/run_command", line, JSON)
            assert (root / "gate").read_text(encoding="utf-8") == "begun\n"
            answer = found.call("read_file", {"path": "none"})
            assert (answer.status, answer.code, answer.headers["retry-after"]) == (503, "busy", "1")
            (root / "gate").write_text("end\n", encoding="utf-8")
            assert connection.getresponse().status == 200
    (row,) = ledger(tmp_path / "state", "refused")
    assert (row["outcome"], row["tool"], row["arguments"]["status"]) == ("busy", READ, 503)


def test_sums_are_written_when_their_time_is_over(tmp_path: Path) -> None:
    policy = LedgerPolicy(enabled=True, file=str(tmp_path / "ledger.sqlite3"))
    settings = replace(config.load(config.open_store(str(tmp_path))), ledger=policy)

    async def flood(refusals: Refusals) -> None:
        for _ in range(LEDGER_REFUSALS_ALIKE + 5):
            refusals.note(Exchange("GET", "10.0.0.1", status=404, code="no_such_route"))
        while not any("times" in row for row in await asyncio.to_thread(arguments)):
            pass

    def arguments() -> list[str]:
        with closing(open_book(policy)) as book:
            return [row.event.arguments for row in book.rows()]

    with Workspace(tmp_path, settings=settings) as workspace:
        refusals = Refusals(Workspaces({"only": workspace}, "only"), seconds=0.05)
        asyncio.run(flood(refusals))
        refusals.close()
    assert arguments()[-1] == '{"address":"10.0.0.1","times":5}'
    assert len(arguments()) == LEDGER_REFUSALS_ALIKE + 1
