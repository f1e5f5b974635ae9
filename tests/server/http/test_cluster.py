"""Several processes are one server: whatever one of them learns, all know."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlencode

import pytest

from readroom.core.contracts.base import FACTS_KEY
from tests.mcp.serving import endless_log, initialize, request
from tests.server.http.cluster import TURNS, Cluster, cluster, database, emptied
from tests.server.http.serving import Agent, Answer, command
from tests.server.ledger.postgres import Server

pytestmark = pytest.mark.long

RATE = 60
"""Requests a minute of one token."""

MCP = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def postgres() -> Iterator[Server]:
    with database() as found:
        yield found


@pytest.fixture(scope="module", params=["workers", "servers"])
def url(request: pytest.FixtureRequest) -> str | None:
    """The database of two servers; none for two processes behind one port."""
    return emptied(request.getfixturevalue("postgres")) if request.param == "servers" else None


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("root")
    (folder / "a.txt").write_text("hello there\n" * 400, encoding="utf-8")
    endless_log(folder)
    return folder


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory, root: Path, url: str | None) -> Iterator[Cluster]:
    """One that asks for no token."""
    state = tmp_path_factory.mktemp("state")
    with cluster(state, root, url, "", "--open", "--allow-commands") as opened_:
        yield opened_


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, root: Path, url: str | None) -> Iterator[Cluster]:
    """One that asks for tokens made by name."""
    with cluster(
        tmp_path_factory.mktemp("guarded"), root, url, f'auth = "required"\nrate = {RATE}\n'
    ) as asking:
        yield asking


def posted(found: Agent, message: object, session: str = "") -> Answer:
    headers = {**MCP, "Mcp-Session-Id": session} if session else MCP
    return found.request("POST", "/mcp", json.dumps(message).encode(), headers=headers)


def opened(found: Agent) -> str:
    """A session of the older protocol."""
    answer = posted(found, initialize("somebody"))
    assert answer.status == 200
    return answer.headers["mcp-session-id"]


def test_a_session_goes_on_at_any_process_and_ends_for_all(found: Cluster) -> None:
    session = opened(found.agents[0])
    for at, one in enumerate(found.turns()):
        assert posted(one, request(at, "tools/list", {}), session).json["result"]["tools"]
    level = request(90, "logging/setLevel", {"level": "error"})
    assert posted(found.agents[-1], level, session).status == 200
    headers = {"Mcp-Session-Id": session}
    assert found.agents[-1].request("DELETE", "/mcp", headers=headers).status == 200
    for one in found.turns():
        assert posted(one, request(91, "tools/list", {}), session).status == 404


def test_a_call_is_cancelled_from_any_process(found: Cluster) -> None:
    session = opened(found.agents[0])
    posted(found.agents[0], {"jsonrpc": "2.0", "method": "notifications/initialized"}, session)
    call = request(7, "tools/call", {"name": "read_file", "arguments": {"path": "endless.txt", "offset": -1}})
    with ThreadPoolExecutor(1) as pool:
        began = time.monotonic()
        answer = pool.submit(posted, found.agents[0], call, session)
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
        while not answer.done():
            assert posted(found.agents[-1], cancel, session).status == 202
            assert time.monotonic() - began < 60
        assert answer.result().json["error"]["message"] == "Request cancelled"


def test_a_revoked_token_ends_everywhere_at_once(guarded: Cluster) -> None:
    token = guarded.make_token("bot")
    for one in guarded.turns():
        assert one.call("read_file", {"path": "a.txt"}, token=token).status == 200
    command(guarded.agents[0].state, "token", "revoke", token.split("_")[1], *guarded.options)
    for one in guarded.turns():
        assert one.call("read_file", {"path": "a.txt"}, token=token).status == 401


def test_a_visitor_is_signed_in_at_every_process_and_out_of_all(guarded: Cluster) -> None:
    token = guarded.make_token("visitor")
    first = guarded.agents[0]
    answer = _posted(first, "/ui/sign-in", {"token": token})
    cookie = {"Cookie": answer.headers["set-cookie"].partition(";")[0]}
    assert {agent.request("GET", "/ui", headers=cookie).status for agent in guarded.turns()} == {200}
    assert _posted(first, "/ui/sign-out", {}, **cookie).status == 303
    assert {agent.request("GET", "/ui", headers=cookie).status for agent in guarded.turns()} == {303}


def _posted(agent: Agent, path: str, form: dict[str, str], **headers: str) -> Answer:
    sent = {
        "Content-Type": "application/x-www-form-urlencoded",
        "Origin": f"http://{agent.host}:{agent.port}",
        **headers,
    }
    return agent.request("POST", path, urlencode(form).encode(), headers=sent)


def test_a_rate_is_counted_by_all_together(guarded: Cluster) -> None:
    minute = -1.0
    while minute != time.time() // 60:  # with a new one there is room for some more
        minute = time.time() // 60
        token = guarded.make_token("bot")
        with ThreadPoolExecutor(16) as pool:
            turns = guarded.turns(2 * RATE)
            asked = [pool.submit(one.call, "read_file", {"path": "a.txt"}, token=token) for one in turns]
        answers = [one.result() for one in asked]
    assert Counter(one.status for one in answers) == {200: RATE, 429: RATE}
    refused = next(one for one in answers if one.status == 429)
    assert refused.code == "too_many_requests"
    assert int(refused.headers["retry-after"]) > 0


def budget(answer: Answer) -> dict[str, int]:
    found: dict[str, int] = answer.json["_meta"][FACTS_KEY]["budget"][0]
    return found


def test_a_budget_is_spent_once_and_stays_spent_after_a_restart(
    tmp_path: Path, root: Path, url: str | None
) -> None:
    limit = 20_000
    settings = f"[budget]\nworkspace = {limit}\n"
    with cluster(tmp_path / "state", root, url, settings, "--open") as found:
        with ThreadPoolExecutor(8) as pool:
            asked = [pool.submit(one.call, "read_file", {"path": "a.txt"}) for one in found.turns(24)]
        answers = [one.result().json for one in asked]
        paid = sum(one["_meta"][FACTS_KEY]["tokens"] for one in answers if not one["isError"])
        paid += sum(
            one["_meta"][FACTS_KEY]["tokens"]
            for one in answers
            if one["isError"] and one["error"]["code"] != "budget_spent"
        )
        used = json.loads(command(found.agents[0].state, "budget", "list", "--json", *found.options))
        (spent,) = used["spent"]
        assert (spent["scope"], spent["used"]) == ("workspace", paid)
        assert paid <= limit
        assert any(one["isError"] for one in answers)
    with cluster(tmp_path / "state", root, url, settings, "--open") as found:
        for one in found.turns(2):
            answer = one.call("read_file", {"path": "a.txt"})
            assert answer.json["isError"] or budget(answer)["used"] > paid
        command(found.agents[0].state, "budget", "reset", "--all", *found.options)
        answer = found.agents[-1].call("read_file", {"path": "a.txt"})
        assert budget(answer)["used"] == answer.json["_meta"][FACTS_KEY]["tokens"]


def test_a_compaction_is_known_to_all(found: Cluster, root: Path) -> None:
    named = {"Content-Type": "application/json", "Readroom-Session": "talk"}
    known = f"sha256:{sha256((root / 'a.txt').read_bytes()).hexdigest()}"
    body = json.dumps({"path": "a.txt", "known_hash": known}).encode()

    def receipts() -> list[bool]:
        answers = [one.request("POST", "/v1/native/read_file", body, headers=named) for one in found.turns()]
        return [one.json["_meta"][FACTS_KEY]["not_modified"] for one in answers]

    assert receipts() == [True] * TURNS
    done = found.agents[0].request("POST", "/v1/sessions/talk/compacted", b"", headers=named)
    assert done.status == 200
    assert receipts() == [False] + [True] * (TURNS - 1), "it was shown again, to the conversation"


def test_kept_outputs_are_read_at_any_process(found: Cluster) -> None:
    ran = found.agents[0].call("run_command", {"command": "seq 1 50000"}).json
    name = ran["_meta"][FACTS_KEY]["call_id"]
    for one in found.turns():
        read = one.call("read_file", {"path": f"/.outputs/{name}.stdout", "offset": 49_999})
        assert "50000" in read.json["content"][0]["text"]
        listed = one.call("list_directory", {"path": "/.outputs"}).json["content"][0]["text"]
        assert f"{name}.stdout" in listed
        stranger = {"Content-Type": "application/json", "Readroom-Session": "other"}
        body = json.dumps({"path": f"/.outputs/{name}.stdout"}).encode()
        assert one.request("POST", "/v1/native/read_file", body, headers=stranger).code == "output_gone"


def test_what_is_in_the_memory_of_one_process_is_not_offered(found: Cluster) -> None:
    body = json.dumps(
        {"params": {"command": "write", "file_path": "own", "content": "z", "instance": "m"}}
    ).encode()
    headers = {"Content-Type": "application/json"}
    answer = found.agents[0].request("POST", "/v1/inspect_agents/files", body, headers=headers)
    assert (answer.status, answer.code) == (403, "one_process")


@pytest.mark.whole
def test_without_its_database_a_server_refuses_what_that_bounds(tmp_path: Path, root: Path) -> None:
    with database() as server, cluster(tmp_path / "state", root, emptied(server), "", "--open") as found:
        one = found.agents[0]
        assert one.call("read_file", {"path": "a.txt"}).status == 200
        server.stop()
        began = time.monotonic()
        refused = [one.call("read_file", {"path": "a.txt"}) for _ in range(40)]
        assert {answer.status for answer in refused[-3:]} == {503}
        assert refused[-1].code == "state_failed"
        assert b"again in some seconds" in refused[-1].body
        assert one.request("GET", "/healthz").status == 200
        assert time.monotonic() - began < 60
        server.start()
        ends = time.monotonic() + 60
        while one.call("read_file", {"path": "a.txt"}).status != 200:
            assert time.monotonic() < ends
