"""Tool calls of coder's clients: applied once, whoever asks again, and whatever ended in between."""

from __future__ import annotations

import json
import signal
import sys
import threading
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.server.http.tool_calls import RUN_AGE, uuid_of
from readroom.server.shared import StatePolicy
from readroom.server.shared.state import SharedState
from tests.server.http.serving import Agent, Answer, agent, command, open_agent
from tests.suites import daily

JSON = {"Content-Type": "application/json"}
NAMES = ("Coder-Chat-Id", "Coder-Tool-Call-Message-Id", "Coder-Tool-Call-Id", "Coder-Tool-Call-Age-Ms")


def headers(chat: uuid.UUID, message: int = 1, call: str = "call", age_ms: int = 0) -> dict[str, str]:
    return dict(zip(NAMES, (str(chat), str(message), quote(call, safe=""), str(age_ms)), strict=True))


def post(server: Agent, path: str, body: object, sent: Mapping[str, str], token: str | None = None) -> Answer:
    data = json.dumps(body).encode()
    return server.request("POST", f"/api/v0/{path}", data, token=token, headers={**JSON, **sent})


def edit(path: Path, old: str = "x", new: str = "xx", **more: object) -> dict[str, Any]:
    edits = [{"search": old, "replace": new}]
    return {"files": [{"path": str(path), "edits": edits}], "include_diff": True, **more}


def cancel(server: Agent, chat: uuid.UUID, below_ms: int = 0, **more: Any) -> Answer:
    sent = headers(chat, **more)
    name = uuid_of(chat, int(sent[NAMES[1]]), more.get("call", "call").encode())
    return post(server, f"tool-calls/{name}/cancel", {"stop_if_run_age_below_ms": below_ms}, sent)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("calls") / "root"
    found.mkdir()
    return found


@pytest.fixture(scope="module", params=[(), ("--workers", "2")], ids=["one process", "two"])
def server(request: pytest.FixtureRequest, place: Path) -> Iterator[Agent]:
    state = place.parent / f"state{len(request.param)}"
    with open_agent(state, "--allow-commands", *request.param, str(place)) as found:
        yield found


@pytest.fixture
def file(place: Path) -> Path:
    found = place / f"{uuid.uuid4()}.txt"
    found.write_text("x\n")
    return found


TOOLS = ("edit-files", "write-file")


def apply(server: Agent, tool: str, file: Path, sent: Mapping[str, str], *, other: bool = False) -> Answer:
    """The request of a tool, which makes `x` into `xx`; `other` has another input."""
    if tool == "edit-files":
        return post(server, tool, edit(file, new="xy" if other else "xx"), sent)
    data = b"xy\n" if other else b"xx\n"
    return server.request("POST", f"/api/v0/write-file?path={quote(str(file))}", data, headers=sent)


@pytest.mark.parametrize("tool", TOOLS)
def test_a_call_is_applied_once_and_answered_again(server: Agent, file: Path, tool: str) -> None:
    chat = uuid.uuid4()
    first = apply(server, tool, file, headers(chat))
    assert (first.status, first.headers[RUN_AGE.lower()]) == (200, "0")
    assert file.read_text() == "xx\n"
    file.write_text("x\n")  # a second application would show
    for _ in range(4):
        again = apply(server, tool, file, headers(chat, age_ms=10**9))
        assert (again.status, again.body) == (200, first.body)
        assert again.headers["content-type"] == first.headers["content-type"]
        assert int(again.headers[RUN_AGE.lower()]) >= 0
    assert file.read_text() == "x\n"


@pytest.mark.parametrize("tool", TOOLS)
def test_without_the_headers_each_request_is_another(server: Agent, file: Path, tool: str) -> None:
    for sent in ({}, {NAMES[0]: str(uuid.uuid4())}):
        file.write_text("x\n")
        answer = apply(server, tool, file, sent)
        assert (answer.status, RUN_AGE.lower() in answer.headers) == (200, False)
        assert file.read_text() == "xx\n"


def test_a_failure_is_recorded_too(server: Agent, file: Path) -> None:
    chat = uuid.uuid4()
    file.write_text("zero\n")
    first = post(server, "edit-files", edit(file), headers(chat))
    assert first.status == 400
    file.write_text("x\n")
    again = post(server, "edit-files", edit(file), headers(chat))
    assert (again.status, again.body) == (400, first.body)
    assert file.read_text() == "x\n"


@pytest.mark.parametrize("tool", TOOLS)
def test_the_four_conflicts(server: Agent, file: Path, tool: str) -> None:
    chat = uuid.uuid4()
    assert apply(server, tool, file, headers(chat, 2)).status == 200
    file.write_text("x\n")

    def refused(answer: Answer, code: str) -> None:
        assert (answer.status, answer.json["code"]) == (409, code)
        assert set(answer.json) == {"message", "code"}
        assert file.read_text() == "x\n"

    refused(apply(server, tool, file, headers(chat, 2), other=True), "input_mismatch")
    refused(apply(server, tool, file, headers(chat, 1)), "stale_tool_call")
    refused(cancel(server, chat, message=1), "stale_tool_call")
    old = headers(chat, 2, "old", 10**9)
    refused(apply(server, tool, file, old), "agent_started_after_tool_call")
    refused(cancel(server, chat, message=2, call="old", age_ms=10**9), "agent_started_after_tool_call")
    for _ in range(2):
        answer = cancel(server, chat, message=3, call="a/b %\u2603")
        assert (answer.status, answer.json) == (200, {"started": False})
    refused(apply(server, tool, file, headers(chat, 3, "a/b %\u2603")), "tool_call_canceled")
    refused(apply(server, tool, file, headers(chat, 2)), "stale_tool_call")
    other = uuid.uuid4()
    assert apply(server, tool, file, headers(other, 1)).status == 200


@pytest.mark.parametrize("tool", TOOLS)
def test_cancelling_what_was_applied_shows_its_answer(server: Agent, file: Path, tool: str) -> None:
    from base64 import b64decode

    chat = uuid.uuid4()
    first = apply(server, tool, file, headers(chat))
    answer = cancel(server, chat)
    assert answer.status == 200
    assert {**answer.json, "body": b64decode(answer.json["body"])} == {
        "started": True, "status_code": 200, "content_type": "application/json", "body": first.body,
    }  # fmt: skip
    assert RUN_AGE.lower() in answer.headers


def test_bad_headers_are_refused_and_record_nothing(server: Agent, file: Path) -> None:
    chat = uuid.uuid4()
    good = headers(chat)
    name = uuid_of(chat, 1, b"call")
    bad: list[dict[str, str]] = [{k: v for k, v in good.items() if k != left} for left in NAMES]
    bad += [{**good, NAMES[1]: value} for value in ("0", "-1", "x", "", str(2**63))]
    bad += [{**good, NAMES[2]: value} for value in ("", "%", "%zz")]
    bad += [{**good, NAMES[3]: value} for value in ("-1", "x", "1.5", str(2**63))]
    bad += [{**good, NAMES[0]: value} for value in ("", "x")]
    for sent in bad:
        for path, body in (("edit-files", edit(file)), (f"tool-calls/{name}/cancel", {})):
            answer = post(server, path, body, sent)
            assert answer.status == 400, sent
            assert answer.json["message"]
    assert post(server, f"tool-calls/{name}/cancel", {}, {}).status == 400
    assert post(server, f"tool-calls/{uuid.uuid4()}/cancel", {}, good).status == 400
    for data in (b"{", b"[]", b'{"stop_if_run_age_below_ms":"1"}'):
        assert server.request("POST", f"/api/v0/tool-calls/{name}/cancel", data, headers=good).status == 400
    assert post(server, "edit-files", edit(file), good).status == 200
    assert file.read_text() == "xx\n"


def test_a_header_that_comes_twice_is_refused(server: Agent, file: Path) -> None:
    import http.client

    connection = http.client.HTTPConnection(server.host, server.port, timeout=60)
    data = json.dumps(edit(file)).encode()
    connection.putrequest("POST", "/api/v0/edit-files")
    for name, value in (*headers(uuid.uuid4()).items(), (NAMES[1], "1"), *JSON.items()):
        connection.putheader(name, value)
    connection.putheader("Content-Length", str(len(data)))
    connection.endheaders(data)
    response = connection.getresponse()
    assert response.status == 400
    assert "multiple values" in json.loads(response.read())["detail"]
    connection.close()


def together(count: int, work: Any) -> list[Any]:
    """The results of threads that begin at once."""
    barrier, found = threading.Barrier(count), [None] * count

    def run(number: int) -> None:
        barrier.wait()
        found[number] = work(number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


@pytest.mark.parametrize("tool", TOOLS)
def test_requests_at_once_are_one_application(server: Agent, place: Path, tool: str) -> None:
    for _ in range(5):
        chat, file = uuid.uuid4(), place / f"{uuid.uuid4()}"
        file.write_text("x" * 100 + "\n")
        body = {
            "files": [{"path": str(file), "edits": [{"search": "x", "replace": "xx", "replace_all": True}]}]
        }

        def work(_: int, file: Path = file, body: Any = body, chat: uuid.UUID = chat) -> Answer:
            if tool == "edit-files":
                return post(server, tool, body, headers(chat))
            return apply(server, tool, file, headers(chat))

        answers = together(6, work)
        assert {(answer.status, answer.body) for answer in answers} == {(200, answers[0].body)}
        assert file.read_text() == ("x" * 200 + "\n" if tool == "edit-files" else "xx\n")


@pytest.mark.clause("coder.deviation.call_records")
def test_an_answer_is_given_again_after_a_restart(tmp_path: Path) -> None:
    root, state, chat = tmp_path / "root", tmp_path / "state", uuid.uuid4()
    root.mkdir()
    file = root / "a"
    file.write_text("x\n")
    with open_agent(state, str(root)) as server:
        first = post(server, "edit-files", edit(file), headers(chat))
        server.process.send_signal(signal.SIGKILL)
    file.write_text("x\n")
    with open_agent(state, "--workers", "2", str(root)) as server:
        again = post(server, "edit-files", edit(file), headers(chat, age_ms=10**7))
        assert (again.status, again.body) == (200, first.body)
        assert file.read_text() == "x\n"
    kept = [path for path in state.rglob("*") if path.is_file()]
    assert kept
    assert all(path.stat().st_mode & 0o077 == 0 for path in kept)


@pytest.mark.clause("coder.deviation.call_policy")
def test_policy_is_asked_again_before_an_answer_is_given_again(tmp_path: Path) -> None:
    root, state, chat = tmp_path / "root", tmp_path / "state", uuid.uuid4()
    root.mkdir()
    file = root / "a"
    file.write_text("x\n")
    with open_agent(state, str(root)) as server:
        assert post(server, "edit-files", edit(file), headers(chat)).status == 200
    (root / ".readroomignore").write_text("a\n")
    with open_agent(state, str(root)) as server:
        for answer in (post(server, "edit-files", edit(file), headers(chat)), cancel(server, chat)):
            assert (answer.status, b"@@" in answer.body) == (403, False)
            assert answer.json["message"].startswith(f"permission denied: {file}: ")


def test_tokens_do_not_share_calls(tmp_path: Path) -> None:
    root, state, chat = tmp_path / "root", tmp_path / "state", uuid.uuid4()
    root.mkdir()
    file = root / "a"
    file.write_text("x\n")
    reader = command(state, "token", "create", "reader", "--tool", "read_file").strip()
    one, other = (command(state, "token", "create", name).strip() for name in ("one", "other"))
    with agent(state, "--require-token", str(root)) as server:
        assert post(server, "edit-files", edit(file), headers(chat), one).status == 200
        file.write_text("x\n")
        assert post(server, "edit-files", edit(file), headers(chat), other).status == 200
        assert file.read_text() == "xx\n"
        file.write_text("x\n")
        assert post(server, "edit-files", edit(file), headers(chat), one).status == 200
        assert file.read_text() == "x\n"
        assert post(server, "edit-files", edit(file), headers(chat), reader).status == 403


@pytest.mark.clause("coder.deviation.call_passing")
def test_a_call_that_met_no_room_may_be_sent_again(server: Agent, place: Path) -> None:
    chat, own = uuid.uuid4(), {NAMES[0]: ""}
    own[NAMES[0]] = str(chat)
    for _ in range(10):
        assert post(server, "processes/start", {"command": "sleep 31343"}, own).status == 200
    body = {"command": f"echo run >> {place / 'run'}"}
    assert post(server, "processes/start", body, headers(chat)).status == 500
    listed = server.request("GET", "/api/v0/processes/list", headers=own).json["processes"]
    for one in listed:
        post(server, f"processes/{one['id']}/signal", {"signal": "kill"}, own)
        server.request("GET", f"/api/v0/processes/{one['id']}/output?wait=true", headers=own)
    answer = post(server, "processes/start", body, headers(chat))
    assert answer.status == 200, answer
    server.request("GET", f"/api/v0/processes/{answer.json['id']}/output?wait=true", headers=own)
    assert (place / "run").read_text() == "run\n"
    (place / "run").unlink()


# --- killed at any step ---------------------------------------------------------------------------

_KILLED = """
import os, signal, sys
step, path = int(sys.argv.pop(1)), sys.argv.pop(1)

def die(at):
    global step
    step -= 1
    if step == 0:
        os.kill(os.getpid(), signal.SIGKILL)

from readroom.server.shared.tool_calls import ToolCalls
from readroom.core.stores.local import rename

def around(owner, name):
    plain = getattr(owner, name)
    def call(*values, **named):
        die(f"before {name}")
        found = plain(*values, **named)
        die(f"after {name}")
        return found
    setattr(owner, name, call)

for name in ("begin", "intend", "answered", "over"):
    around(ToolCalls, name)
around(os, "fsync")
for name in ("create", "replace", "exchange"):
    around(rename, name)
from readroom.__main__ import main
sys.exit(main())
"""


@daily(1, "tool", TOOLS)
def test_killed_at_any_step_it_is_applied_once_or_refused(tmp_path: Path, tool: str) -> None:
    root, script = tmp_path / "root", tmp_path / "killed.py"
    root.mkdir()
    script.write_text(_KILLED)
    outcomes = set()
    for step in range(1, 40):
        chat, file, state = uuid.uuid4(), root / f"file{step}", tmp_path / f"state{step}"
        file.write_text("x\n")
        program = (str(script), str(step), str(file))
        with agent(state, "--open", str(root), program=program) as server:
            try:
                first = apply(server, tool, file, headers(chat))
            except OSError:
                first = None
            server.process.kill()
        with open_agent(state, str(root)) as server:
            again = apply(server, tool, file, headers(chat))
            text = file.read_text()
            assert (again.status, text) in ((200, "xx\n"), (409, "x\n"), (409, "xx\n")), (step, again)
            outcomes.add((first is None, again.status))
            if again.status == 200:
                file.write_text("x\n")
                third = apply(server, tool, file, headers(chat))
                assert (third.status, third.body, file.read_text()) == (200, again.body, "x\n")
            if first is not None:
                assert (again.status, again.body) == (first.status, first.body)
                break
    assert {(True, 200), (False, 200)} <= outcomes


def _interrupt(state: Path) -> None:
    """Make of the calls that were applied some whose process died before it recorded the answer."""
    shared = SharedState(StatePolicy(file=str(state / "readroom" / "state.sqlite3")), "", several=True)
    sql = "UPDATE state_calls SET state = 'begun', process = ? WHERE state = 'done'"
    shared.database.change(lambda execute: execute(sql, (f"{shared.machine}/999999999@1",)))
    shared.close()


@pytest.mark.clause("coder.deviation.call_crash")
def test_files_decide_what_a_crash_left_open(tmp_path: Path) -> None:
    """After the intent was written: a file in neither state is left alone."""
    root, state = tmp_path / "root", tmp_path / "state"
    root.mkdir()
    for content, status, found in (("xx\n", 200, "xx\n"), ("third\n", 409, "third\n")):
        chat, file = uuid.uuid4(), root / f"{uuid.uuid4()}"
        file.write_text("x\n")
        with open_agent(state, str(root)) as server:
            first = apply(server, "edit-files", file, headers(chat))
        _interrupt(state)
        file.write_text(content)
        with open_agent(state, str(root)) as server:
            again = apply(server, "edit-files", file, headers(chat))
            assert (again.status, file.read_text()) == (status, found)
            if status == 200:
                assert again.body == first.body
            else:
                assert again.json["code"] == "agent_started_after_tool_call"


@given(st.uuids(), st.integers(1, 2**63 - 1), st.binary(max_size=50))
def test_ids_are_those_of_the_original(chat: uuid.UUID, message: int, call: bytes) -> None:
    """UUIDv5 as the standard library makes it, where that takes bytes."""
    found = uuid_of(chat, message, call)
    assert found.version == 5
    if sys.version_info >= (3, 12):
        space = uuid.UUID("c5773f4c-0b3f-57bc-9147-36daf7921a1b")
        assert found == uuid.uuid5(space, chat.bytes + message.to_bytes(8, "big") + call)
