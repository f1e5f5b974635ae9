"""What waits for review over HTTP: who sees it, who may decide, and what two workers have in common."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.server.http.serving import Agent, Answer, agent

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("review") / "root"
    found.mkdir()
    return found


@pytest.fixture(scope="module")
def served(root: Path) -> Iterator[Agent]:
    operator = root.parent / "operator.toml"
    operator.write_text("[history]\nreview = true\n")
    with agent(root.parent / "state", "--workers", "2", str(root), "--config", str(operator)) as found:
        yield found


@pytest.fixture
def writer(served: Agent) -> str:
    return served.make_token("writer")


@pytest.fixture(scope="module")
def person(served: Agent) -> str:
    return served.make_token("person", "--tool", "review")


def write(served: Agent, token: str, path: str, content: str, session: str = "talk") -> Answer:
    body = json.dumps({"path": path, "content": content, "expected_hash": "absent"}).encode()
    headers = {**JSON, "Readroom-Session": session, "Readroom-Agent": "scribe"}
    answer = served.request("POST", "/v1/native/write_file", body, token=token, headers=headers)
    assert answer.status == 200, answer.body
    return answer


def read(served: Agent, token: str, path: str, session: str = "talk") -> int:
    headers = {**JSON, "Readroom-Session": session}
    body = json.dumps({"path": path}).encode()
    return served.request("POST", "/v1/native/read_file", body, token=token, headers=headers).status


def sets(served: Agent, token: str, session: str = "") -> Any:
    headers = {"Readroom-Session": session} if session else {}
    answer = served.request("GET", "/v1/review", token=token, headers=headers)
    assert answer.status == 200, answer.body
    return answer.json["sets"]


def decide(served: Agent, token: str, name: str, what: str, body: object = None, **headers: str) -> Answer:
    data = json.dumps({} if body is None else body).encode()
    return served.request("POST", f"/v1/review/{name}/{what}", data, token=token, headers={**JSON, **headers})


def test_a_person_with_the_right_decides_and_the_agent_does_not(
    served: Agent, root: Path, writer: str, person: str
) -> None:
    write(served, writer, "first.txt", "x\n")
    for _ in range(8):  # whichever worker answers
        assert read(served, writer, "first.txt") == 200
        assert read(served, writer, "first.txt", "another") == 404
    own = sets(served, writer, "talk")
    (one,) = [one for one in sets(served, person) if one["session"].endswith("talk")]
    assert [mine["id"] for mine in own] == [one["id"]]
    assert one["agent"] == "scribe"
    refused = decide(served, writer, one["id"], "accept", **{"Readroom-Session": "talk"})
    assert (refused.status, refused.code) == (403, "not_granted")
    assert not (root / "first.txt").exists()
    shown = served.request("GET", f"/v1/review/{one['id']}", token=person)
    assert [row["path"] for row in shown.json["changes"]] == ["first.txt"]
    assert "+x" in shown.json["changes"][0]["diff"]
    assert decide(served, person, one["id"], "accept").json["left"] == 0
    assert (root / "first.txt").read_text() == "x\n"


def test_openapi_describes_the_answers(served: Agent, writer: str, person: str) -> None:
    write(served, writer, "described.txt", "x\n", "described")
    write(served, writer, "dropped.txt", "x\n", "described")
    document = served.request("GET", "/openapi.json", token=person).json

    def check(answer: Answer, method: str, path: str) -> Any:
        assert answer.status == 200, answer.body
        said = document["paths"][path][method]["responses"]["200"]["content"]["application/json"]["schema"]
        jsonschema.Draft202012Validator({**said, "components": document["components"]}).validate(answer.json)
        return answer.json

    found = check(served.request("GET", "/v1/review", token=person), "get", "/v1/review")["sets"]
    (one,) = [one["id"] for one in found if one["session"].endswith("described")]
    check(served.request("GET", f"/v1/review/{one}", token=person), "get", "/v1/review/{id}")
    dropped = decide(served, person, one, "reject", {"paths": ["dropped.txt"]})
    assert check(dropped, "post", "/v1/review/{id}/reject")["left"] == 1
    check(decide(served, person, one, "accept"), "post", "/v1/review/{id}/accept")


def test_a_reviewer_calls_no_tool(served: Agent, person: str) -> None:
    assert served.call("read_file", {"path": "x"}, token=person).status == 403


def test_an_agent_sees_no_set_but_its_own(served: Agent, writer: str, person: str, root: Path) -> None:
    write(served, writer, "second.txt", "secret plan\n", "two")
    other = served.make_token("other")
    (one,) = [one for one in sets(served, person) if one["session"].endswith("two")]
    for token, session in (
        (other, ""),
        (other, "two"),
        (writer, ""),
        (writer, "three"),
        (writer, one["session"]),
    ):
        headers = {"Readroom-Session": session} if session and ":" not in session else {}
        assert served.request("GET", f"/v1/review/{one['id']}", token=token, headers=headers).status == 404
        assert b"second" not in served.request("GET", "/v1/review", token=token, headers=headers).body
        assert decide(served, token, one["id"], "reject", **headers).status == 403
    assert read(served, other, "second.txt", "two") == 404
    assert served.request("GET", f"/v1/review/{one['id']}").status == 401
    assert decide(served, person, one["id"], "reject").status == 200
    assert not (root / "second.txt").exists()
    assert read(served, writer, "second.txt", "two") == 404


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"paths": []}, 400),
        ({"paths": "third.txt"}, 400),
        ({"path": "third.txt"}, 400),
        ([], 400),
        ({"paths": ["nothing.txt"]}, 404),
        ({"paths": ["../../etc/passwd"]}, 403),
    ],
)
def test_what_is_asked_has_to_be_right(
    served: Agent, writer: str, person: str, root: Path, body: object, status: int
) -> None:
    write(served, writer, "third.txt", "x\n", "three")
    (one,) = [one for one in sets(served, person) if one["session"].endswith("three")]
    assert decide(served, person, one["id"], "accept", body).status == status
    assert not (root / "third.txt").exists()
    assert decide(served, person, one["id"], "reject").status == 200


def test_other_origins_and_media_types_are_refused(
    served: Agent, writer: str, person: str, root: Path
) -> None:
    write(served, writer, "fourth.txt", "x\n", "four")
    (one,) = [one for one in sets(served, person) if one["session"].endswith("four")]
    assert decide(served, person, one["id"], "accept", Origin="https://evil.example").status == 403
    path = f"/v1/review/{one['id']}/accept"
    assert (
        served.request("POST", path, b"{}", token=person, headers={"Content-Type": "text/plain"}).status
        == 415
    )
    assert served.request("GET", path, token=person).status == 405
    assert not (root / "fourth.txt").exists()
    assert decide(served, person, one["id"], "accept", {"paths": ["fourth.txt"]}).status == 200
    assert (root / "fourth.txt").exists()
