"""The processes of coder's agent: its addresses, words and rules, over the commands of a workspace."""

from __future__ import annotations

import json
import os
import threading
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.core.engine.command.running import processes, when
from tests.server.http.serving import Agent, Answer, agent, command, open_agent
from tests.server.http.test_tool_calls import cancel, headers, post, together

CHAT = "Coder-Chat-Id"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("processes") / "root"
    (found / "below").mkdir(parents=True)
    return found


@pytest.fixture(scope="module", params=[(), ("--workers", "2")], ids=["one process", "two"])
def server(request: pytest.FixtureRequest, place: Path) -> Iterator[Agent]:
    state = place.parent / f"state{len(request.param)}"
    with open_agent(state, "--allow-commands", *request.param, str(place)) as found:
        yield found


@pytest.fixture
def mark() -> str:
    """A number of seconds to sleep, which nobody else sleeps."""
    return f"31339.{os.getpid()}{uuid.uuid4().int % 10**6}"


def start(server: Agent, line: str, sent: Mapping[str, str] = {}, **more: Any) -> str:
    answer = post(server, "processes/start", {"command": line, **more}, sent)
    assert (answer.status, answer.json["started"]) == (200, True), answer
    return str(answer.json["id"])


def output(server: Agent, name: str, query: str = "", sent: Mapping[str, str] = {}) -> Answer:
    return server.request("GET", f"/api/v0/processes/{name}/output{query}", headers=sent)


def ended(server: Agent, name: str) -> Any:
    answer = output(server, name, "?wait=true")
    assert (answer.status, answer.json["running"]) == (200, False)
    return answer.json


def listed(server: Agent, sent: Mapping[str, str] = {}) -> list[dict[str, Any]]:
    answer = server.request("GET", "/api/v0/processes/list", headers=sent)
    assert answer.status == 200
    found: list[dict[str, Any]] = answer.json["processes"]
    return found


def sign(server: Agent, name: str, signal: object, sent: Mapping[str, str] = {}) -> Answer:
    return post(server, f"processes/{name}/signal", {} if signal is None else {"signal": signal}, sent)


def test_one_that_ends(server: Agent, place: Path) -> None:
    name = start(server, "echo out; echo err >&2; echo $GREETING; pwd; exit 42", env={"GREETING": "hi"})
    assert ended(server, name) == {
        "output": f"out\nerr\nhi\n{place}\n",
        "running": False,
        "exit_code": 42,
        "command": "echo out; echo err >&2; echo $GREETING; pwd; exit 42",
    }
    one = next(one for one in listed(server) if one["id"] == name)
    assert list(one) == [
        *("id", "command", "workdir", "background", "running", "exit_code"),
        *("started_at_unix", "exited_at_unix"),
    ]
    assert (one["workdir"], one["background"], one["exit_code"]) == (str(place), False, 42)
    answer = sign(server, name, "kill")
    assert (answer.status, answer.json) == (409, {"message": f'Process "{name}" is not running.'})


@pytest.mark.clause("coder.deviation.process_exit")
@pytest.mark.parametrize("signal", ["kill", "terminate"])
def test_one_that_runs_is_signalled(server: Agent, place: Path, mark: str, signal: str) -> None:
    name = start(server, f"echo up; sleep {mark}", background=True, workdir=str(place / "below"))
    when(lambda: output(server, name).json["output"] == "up\n")
    found = output(server, name).json
    assert (found["running"], "exit_code" in found) == (True, False)
    one = next(one for one in listed(server) if one["id"] == name)
    assert (one["running"], one["background"], one["workdir"]) == (True, True, str(place / "below"))
    answer = sign(server, name, signal)
    assert (answer.status, answer.json) == (
        200, {"message": f'Signal "{signal}" sent to process "{name}".'},
    )  # fmt: skip
    assert ended(server, name)["exit_code"] == {"kill": 137, "terminate": 143}[signal]
    assert processes(f"sleep\0{mark}") == []


def test_bad_requests(server: Agent, place: Path) -> None:
    def refused(answer: Answer, status: int, message: str) -> None:
        assert (answer.status, answer.json["message"]) == (status, message)

    refused(post(server, "processes/start", {"command": ""}, {}), 400, "Command is required.")
    refused(post(server, "processes/start", {}, {}), 400, "Command is required.")
    for data in (b"{", b"[]", b""):
        answer = server.request("POST", "/api/v0/processes/start", data)
        refused(answer, 400, "Request body must be valid JSON.")
        assert answer.json["detail"]
    gone = {"command": "true", "workdir": str(place / "absent")}
    answer = post(server, "processes/start", gone, {})
    refused(answer, 500, "Failed to start process.")
    assert answer.json["detail"] == "There is no file or folder absent. Send a workdir that is there."
    outside = {"command": "true", "workdir": "/usr"}
    refused(post(server, "processes/start", outside, {}), 403, "Failed to start process.")
    for env in ({"a b": "c"}, {"-i": ""}, {"A": "\0"}, {"": "c"}):
        answer = post(server, "processes/start", {"command": "true", "env": env}, {})
        refused(answer, 400, "Failed to start process.")
        assert "env=" in answer.json["detail"]
    unknown = (
        "processes-start takes no argument 'shell'. It takes: command, workdir, env, background, timeout_ms."
    )
    refused(post(server, "processes/start", {"command": "true", "shell": "sh"}, {}), 400, unknown)
    refused(output(server, "absent"), 404, 'Process "absent" not found.')
    refused(sign(server, "absent", "kill"), 404, 'Process "absent" not found.')
    name = start(server, "true")
    refused(sign(server, name, None), 400, "Signal is required.")
    refused(sign(server, name, ""), 400, "Signal is required.")
    refused(sign(server, name, "HUP"), 400, 'Unsupported signal "HUP". Use "kill" or "terminate".')
    answer = server.request("POST", f"/api/v0/processes/{name}/signal", b"{")
    refused(answer, 400, "Request body must be valid JSON.")


def test_a_long_output_keeps_both_ends(server: Agent) -> None:
    end = 16 * 1024
    found = ended(server, start(server, f"head -c {2 * end} /dev/zero | tr '\\0' 'a'"))
    cut = "a" * (2048 - 16) + " ... [truncated]"
    assert found["output"] == f"{cut}\n{cut}"
    assert found["truncated"] == {
        "original_bytes": 2 * end,
        "retained_bytes": len(found["output"]),
        "omitted_bytes": 0,
        "strategy": "head_tail",
    }
    found = ended(server, start(server, "seq 100000"))
    whole = "".join(f"{number}\n" for number in range(1, 100_001))
    omitted = len(whole) - 2 * end
    between = f"\n\n... [omitted {omitted} bytes] ...\n\n"
    assert found["output"] == whole[:end] + between + whole[-end:]
    assert found["truncated"]["omitted_bytes"] == omitted
    assert "truncated" not in ended(server, start(server, f"head -c {end} /dev/zero"))
    assert ended(server, start(server, "printf '\\377\\000a'"))["output"] == "\ufffd\0a"


def test_ten_are_listed_and_running_ones_first(server: Agent, mark: str) -> None:
    chat = {CHAT: str(uuid.uuid4())}
    running = start(server, f"sleep {mark}", chat)
    names = [start(server, "true", chat)]
    for _ in range(10):
        ended(server, names[-1])
        names.append(start(server, "true", chat))
    ended(server, names[-1])
    found = [one["id"] for one in listed(server, chat)]
    assert (len(found), found[0]) == (10, running)
    assert set(found[1:]) <= set(names)
    sign(server, running, "kill", chat)


def test_chats_see_their_own(server: Agent, mark: str) -> None:
    one, other = {CHAT: str(uuid.uuid4())}, {CHAT: str(uuid.uuid4())}
    name, unnamed = start(server, f"sleep {mark}", one), start(server, f"sleep {mark}")
    assert [found["id"] for found in listed(server, one)] == [name]
    assert listed(server, other) == []
    assert {name, unnamed} <= {found["id"] for found in listed(server)}
    for answer in (output(server, name, sent=other), sign(server, name, "kill", other)):
        assert answer.status == 404
    assert output(server, unnamed, sent=other).status == 200
    assert sign(server, name, "kill", one).status == 200
    assert sign(server, unnamed, "kill", other).status == 200


@pytest.mark.clause("coder.deviation.process_confinement")
def test_they_are_off_unless_commands_are_allowed(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    with open_agent(tmp_path / "state", str(tmp_path / "root")) as found:
        for answer in (
            post(found, "processes/start", {"command": "touch made"}, {}),
            found.request("GET", "/api/v0/processes/list"),
            output(found, "x"),
            sign(found, "x", "kill"),
        ):
            assert answer.status == 403
            assert b"Commands cannot be run here" in answer.body
    assert list((tmp_path / "root").iterdir()) == []


def test_tokens_decide_and_do_not_share(tmp_path: Path, mark: str) -> None:
    root, state = tmp_path / "root", tmp_path / "state"
    root.mkdir()
    reader = command(state, "token", "create", "reader", "--tool", "read_file").strip()
    one = command(state, "token", "create", "one", "--tool", "run_command").strip()
    other = command(state, "token", "create", "other").strip()
    with agent(state, "--require-token", "--allow-commands", str(root)) as found:
        body = {"command": f"sleep {mark}"}
        assert post(found, "processes/start", body, {}, reader).status == 403
        name = post(found, "processes/start", body, {}, one).json["id"]
        path = f"/api/v0/processes/{name}/output"
        assert found.request("GET", path, token=one).status == 200
        assert found.request("GET", path, token=other).status == 404
        assert found.request("GET", path, token=reader).status == 403
        listed = found.request("GET", "/api/v0/processes/list", token=other)
        assert listed.json == {"processes": []}


@pytest.mark.clause("coder.deviation.process_ends")
def test_they_end_with_the_server(tmp_path: Path, mark: str) -> None:
    (tmp_path / "root").mkdir()
    with open_agent(tmp_path / "state", "--allow-commands", str(tmp_path / "root")) as found:
        start(found, f"trap '' TERM; setsid sleep {mark} & sleep {mark}")
        when(lambda: len(processes(f"sleep\0{mark}")) >= 2)
    assert processes(f"sleep\0{mark}") == []
    with open_agent(tmp_path / "state", "--allow-commands", str(tmp_path / "root")) as found:
        start(found, f"trap '' TERM; setsid sleep {mark} & sleep {mark}")
        when(lambda: len(processes(f"sleep\0{mark}")) >= 2)
        found.process.kill()
        when(lambda: not processes(f"sleep\0{mark}"))


# --- with the headers of a tool call --------------------------------------------------------------


def test_a_call_starts_one_process(server: Agent, place: Path) -> None:
    chat, log = uuid.uuid4(), place / f"{uuid.uuid4()}.log"
    body = {"command": f"echo run >> {log}"}
    answers = together(8, lambda _: post(server, "processes/start", body, headers(chat)))
    assert {(answer.status, answer.body) for answer in answers} == {(200, answers[0].body)}
    name = answers[0].json["id"]
    assert uuid.UUID(name).version == 5
    ended(server, name)
    assert log.read_text() == "run\n"
    other = post(server, "processes/start", {**body, "background": True}, headers(chat))
    assert (other.status, other.json["code"]) == (409, "input_mismatch")


def test_a_failed_start_is_recorded(server: Agent, place: Path) -> None:
    chat = uuid.uuid4()
    body = {"command": "true", "workdir": str(place / "later")}
    first = post(server, "processes/start", body, headers(chat))
    assert first.status == 500
    (place / "later").mkdir(exist_ok=True)
    again = post(server, "processes/start", body, headers(chat))
    assert (again.status, again.body) == (500, first.body)
    answer = cancel(server, chat, 1000).json
    assert (answer["started"], answer["status_code"], "process" in answer) == (True, 500, False)
    (place / "later").rmdir()


def test_cancelling_stops_a_young_process(server: Agent, mark: str) -> None:
    chat = uuid.uuid4()
    name = start(server, f"echo before; sleep {mark}", headers(chat))
    when(lambda: output(server, name).json["output"])
    state = cancel(server, chat, 0).json["process"]
    assert (state["running"], state["canceled"]) == (True, False)
    first = cancel(server, chat, 600_000).json["process"]
    assert (first["running"], first["canceled"], first["output"]) == (False, True, "before\n")
    assert first["exit_code"] != 0
    assert cancel(server, chat, 600_000).json["process"] == first
    other = uuid.uuid4()
    name = start(server, "exit 3", headers(other))
    ended(server, name)
    state = cancel(server, other, 600_000).json["process"]
    assert (state["canceled"], state["exit_code"]) == (False, 3)


def test_a_signal_is_no_cancellation(server: Agent, mark: str) -> None:
    chat = uuid.uuid4()
    name = start(server, f"sleep {mark}", headers(chat))
    assert sign(server, name, "kill").status == 200
    ended(server, name)
    state = cancel(server, chat, 600_000).json["process"]
    assert (state["running"], state["canceled"]) == (False, False)


def test_a_start_that_a_crash_interrupted_is_not_made_again(tmp_path: Path) -> None:
    root, state, chat = tmp_path / "root", tmp_path / "state", uuid.uuid4()
    root.mkdir()
    body = {"command": "echo run >> log"}
    with open_agent(state, "--allow-commands", str(root)) as found:
        first = post(found, "processes/start", body, headers(chat))
        ended(found, first.json["id"])
    with open_agent(state, "--allow-commands", str(root)) as found:
        again = post(found, "processes/start", body, headers(chat))
        assert (again.status, again.body) == (200, first.body)
    with open_agent(state, str(root)) as found:
        assert post(found, "processes/start", body, headers(chat)).status == 403
    assert (root / "log").read_text() == "run\n"


def test_the_addresses_are_described(server: Agent) -> None:
    paths = server.request("GET", "/openapi.json").json["paths"]
    assert {"/api/v0/processes/start", "/api/v0/processes/{id}/output"} <= set(paths)
    assert json.dumps(paths["/api/v0/processes/{id}/signal"]).count('"in": "path"') == 1


@pytest.mark.clause("coder.deviation.process_bounds")
def test_a_chat_has_no_more_than_ten_at_once(server: Agent, mark: str) -> None:
    chat = {CHAT: str(uuid.uuid4())}
    names = [start(server, f"sleep {mark}", chat) for _ in range(10)]
    answer = post(server, "processes/start", {"command": "true"}, chat)
    assert (answer.status, answer.json["message"]) == (500, "Failed to start process.")
    assert "10 background commands run already" in answer.json["detail"]
    assert "check_command" not in answer.json["detail"]
    for name in names:
        sign(server, name, "kill", chat)
        ended(server, name)
    start(server, "true", chat)


def test_clients_that_wait_leave_room_for_others(server: Agent, place: Path, mark: str) -> None:
    (place / "a").write_text("x\n")
    name = start(server, f"sleep {mark}")
    answers: list[Answer] = []
    waiting = [
        threading.Thread(target=lambda: answers.append(output(server, name, "?wait=true"))) for _ in range(12)
    ]
    for thread in waiting:
        thread.start()
    for _ in range(4):
        path = f"/api/v0/read-file-lines?path={place / 'a'}"
        assert server.request("GET", path).json["content"] == "1\tx"
    assert answers == []
    sign(server, name, "kill")
    for thread in waiting:
        thread.join()
    assert {(answer.status, answer.json["running"]) for answer in answers} == {(200, False)}
