"""The history over HTTP: the same for every process, only for who may, and nothing of what is denied."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import jsonschema
import pytest

from tests.each import each
from tests.server.http.changing import PATH, Client, restricted, shop, tools, whole
from tests.server.http.cluster import PROCESSES
from tests.server.http.serving import Agent, Answer, agent, command


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return shop(tmp_path)


@pytest.fixture(params=PROCESSES)
def running(tmp_path: Path, root: Path, request: pytest.FixtureRequest) -> Iterator[Agent]:
    options = ["--require-token"]
    if request.param > 1:
        options += ["--workers", str(request.param)]
    with agent(tmp_path / "state", *options, "--", str(root)) as found:
        yield found


def test_a_change_is_listed_shown_and_taken_back(running: Agent, root: Path) -> None:
    ada = whole(running, **{"Readroom-Session": "s1", "Readroom-Agent": "claude"})
    ada.edit("a.txt", "two", "2")
    (listed,) = ada.changes()
    assert (listed["agent"], listed["face"], listed["tool"]) == ("claude", "http", "edit_file")
    assert listed["session"].endswith(":s1")
    (file,) = listed["files"]
    assert (file["path"], file["action"], file["added"], file["removed"]) == ("a.txt", "changed", 1, 1)
    number = listed["change"]
    assert ada.get(f"/{number}").json["changes"] == [listed]
    shown = ada.get(f"/{number}/diff").json
    assert "-two\n+2\n" in shown["files"][0]["diff"]
    plan = ada.post("/undo", {"change": number, "dry_run": True})
    assert (plan.status, plan.json["dry_run"], plan.json["undone"][0]["action"]) == (
        200,
        True,
        "changed back",
    )
    assert (root / "a.txt").read_text(encoding="utf-8") == "one\n2\n"
    done = ada.post("/undo", {"change": number})
    assert (done.status, done.json["changes"]) == (200, [number])
    assert (root / "a.txt").read_text(encoding="utf-8") == "one\ntwo\n"
    newest, oldest = ada.changes()
    assert (newest["undoes"], oldest["undone_by"]) == (number, newest["change"])
    assert ada.post("/undo", {"change": done.json["change"]}).status == 200
    assert (root / "a.txt").read_text(encoding="utf-8") == "one\n2\n"


def test_a_conversation_a_time_and_a_path_choose(running: Agent, root: Path) -> None:
    ada = whole(running, **{"Readroom-Session": "s1"})
    ada.edit("a.txt", "one", "1")
    ada.edit("hr/pay.txt", "ada", "eva")
    other = Client(running, ada.token, **{"Readroom-Session": "s2"})
    other.edit("a.txt", "two", "2")
    assert [change["files"][0]["path"] for change in ada.changes(session="s1")] == ["hr/pay.txt", "a.txt"]
    assert len(ada.changes(path="hr")) == 1
    assert len(ada.changes(since="1h")) == 3
    assert ada.changes(since="2099-01-01") == []
    assert len(ada.post("/undo", {"path": "a.txt"}).json["undone"]) == 1
    assert (root / "a.txt").read_text(encoding="utf-8") == "1\ntwo\n"
    assert len(ada.post("/undo", {"session": "s1"}).json["changes"]) == 2
    assert (root / "a.txt").read_text(encoding="utf-8") == "one\ntwo\n"
    assert (root / "hr/pay.txt").read_text(encoding="utf-8") == "ada 1\n"
    gone = ada.post("/undo", {"session": "s1"})
    assert (gone.status, gone.code) == (404, "nothing_to_undo")


def test_a_cursor_leads_through_every_change_once(running: Agent) -> None:
    ada = whole(running)
    for at in range(12):
        ada.call("write_file", path=f"n{at}.txt", content=f"{at}\n", expected_hash="absent")
    seen: list[int] = []
    query: dict[str, object] = {"limit": 5}
    while True:
        page = ada.get(**query).json
        seen += [change["change"] for change in page["changes"]]
        if page["cursor"] is None:
            break
        query["cursor"] = page["cursor"]
    assert seen == sorted(seen, reverse=True)
    assert len(seen) == len(set(seen)) == 12


def test_an_undo_that_would_lose_something_shows_both_sides_and_parts_still_fit(
    running: Agent, root: Path
) -> None:
    ada = whole(running)
    (root / "a.txt").write_text("".join(f"line {at}\n" for at in range(1, 31)), encoding="utf-8")
    known = ada.call("read_file", path="a.txt")["content_hash"]
    edits = [{"old_text": f"line {at}\n", "new_text": f"LINE {at}\n"} for at in (3, 20)]
    ada.call("edit_file", path="a.txt", expected_hash=known, edits=edits)
    ada.edit("a.txt", "LINE 3", "LINE III")
    before = (root / "a.txt").read_bytes()
    number = ada.changes()[1]["change"]
    refused = ada.post("/undo", {"change": number})
    assert (refused.status, refused.code) == (409, "changed_since")
    (conflict,) = refused.json["error"]["facts"]["conflicts"]
    assert (conflict["path"], conflict["fits"] > 0) == ("a.txt", True)
    assert (root / "a.txt").read_bytes() == before
    following = refused.json["error"]["next"]
    plan = ada.post("/undo", {"change": number, "dry_run": True}).json
    assert "LINE III" in plan["conflicts"][0]["theirs"]
    done = ada.post("/undo", {"change": number, "parts": True})
    assert done.status == 200
    text = (root / "a.txt").read_text(encoding="utf-8")
    assert "LINE III\n" in text
    assert "line 20\n" in text
    assert following is None or following["arguments"]["change"] == number
    newest, _, first = ada.changes()
    assert (newest["undoes"], first["change"], first["undone_by"]) == (number, number, None)
    again = ada.post("/undo", {"change": number, "parts": True})
    assert (again.status, again.code) == (409, "changed_since")  # the other place still stays
    assert (root / "a.txt").read_text(encoding="utf-8") == text
    ada.edit("a.txt", "LINE III", "LINE 3")
    rest = ada.post("/undo", {"change": number, "parts": True})
    assert rest.status == 200, rest.json
    assert "line 3\n" in (root / "a.txt").read_text(encoding="utf-8")


def test_an_address_without_a_number_is_an_error_of_ours(running: Agent) -> None:
    ada = whole(running)
    for rest in ("/abc", "/-1", "/1.5", "/abc/diff", "/" + "9" * 40):
        answer = ada.get(quote(rest))
        assert (answer.status, answer.code) == (400, "bad_value"), (rest, answer.body)
        assert "is no number of a change" in answer.json["error"]["message"]
    assert ada.get("/999999999").status == 404
    assert ada.get("/undo").status == 405
    assert ada.get("/forget").status == 405


def test_a_number_that_is_not_allowed_is_said_to_be_that(running: Agent) -> None:
    ada = whole(running)
    for limit in ("9999", "0", "-3", "201"):
        answer = ada.get(limit=limit)
        assert (answer.status, answer.code) == (400, "bad_value"), answer.body
        assert "<= 200" in str(answer.json["error"])
        assert "text" not in answer.json["error"]["message"]
    assert ada.get(limit="many").code == "wrong_type"
    assert ada.get(limit="200").status == 200


def test_a_token_that_may_not_write_undoes_and_forgets_nothing(running: Agent, root: Path) -> None:
    ada = whole(running)
    ada.edit("a.txt", "two", "2")
    (root / "c.txt").write_text("c\n", encoding="utf-8")
    known = ada.call("read_file", path="c.txt")["content_hash"]
    ada.call("change_files", changes=[{"action": "delete", "path": "c.txt", "expected_hash": known}])
    deleted, edited = (change["change"] for change in ada.changes())
    reader = restricted(running, "reader", *tools("read_file", "list_directory"))
    assert [change["change"] for change in reader.changes()] == [deleted, edited]
    assert reader.get(f"/{edited}/diff").status == 200
    for rest, body in (
        ("/undo", {"change": edited}),
        ("/undo", {"change": edited, "dry_run": True}),
        ("/forget", {"path": "a.txt"}),
        ("/forget", {"all": True}),
    ):
        refused = reader.post(rest, body)
        assert (refused.status, refused.code) == (403, "not_granted"), body
    writer = restricted(running, "writer", *tools("read_file", "edit_file"))
    assert (refused := writer.post("/undo", {"change": deleted})).status == 403
    assert "write_file" in refused.json["error"]["message"]
    assert refused.json["error"]["facts"]["granted"] == ["edit_file"]  # of its own tools those that change
    assert not (root / "c.txt").exists()
    assert writer.post("/undo", {"change": edited}).status == 200
    assert (root / "a.txt").read_text(encoding="utf-8") == "one\ntwo\n"
    lister = restricted(running, "lister", *tools("list_directory"))
    assert len(lister.changes()) == 3
    assert lister.get(f"/{edited}/diff").code == "not_granted"
    blind = restricted(running, "blind", *tools("grep_files"))
    assert blind.get().code == "not_granted"


def test_what_is_denied_today_has_no_past(running: Agent, root: Path) -> None:
    ada = whole(running)
    ada.edit("hr/pay.txt", "ada 1", "ada 2")
    ada.edit("a.txt", "two", "2")
    number = ada.changes(path="hr")[0]["change"]
    (root / ".readroomignore").write_text("hr/\n", encoding="utf-8")
    assert [change["files"][0]["path"] for change in ada.changes()] == ["a.txt"]
    unknown = ada.post("/undo", {"change": 10**6})
    for answer in (
        ada.get(f"/{number}/diff"),
        ada.post("/undo", {"change": number}),
        ada.post("/undo", {"change": number, "dry_run": True, "parts": True}),
    ):
        assert answer.status in (403, 404)
        assert b"ada" not in answer.body
        assert b"pay" not in answer.body
    assert unknown.status == 404
    assert ada.post("/undo", {"path": "hr/pay.txt"}).status in (403, 404)
    assert (root / "hr/pay.txt").read_text(encoding="utf-8") == "ada 2\n"


def test_a_token_with_a_policy_sees_neither_names_nor_agents_of_others(
    running: Agent, root: Path, tmp_path: Path
) -> None:
    policy = tmp_path / "no-hr.toml"
    policy.write_text('[policy]\ndeny = ["hr/"]\n', encoding="utf-8")
    ada = whole(running, "ada", **{"Readroom-Agent": "adas-agent", "Readroom-Session": "salaries"})
    ada.edit("hr/pay.txt", "ada 1", "ada 2")
    ada.edit("a.txt", "two", "2")
    bob = restricted(running, "bob", "--policy", str(policy), **{"Readroom-Agent": "bobs-agent"})
    bob.edit("a.txt", "one", "1")
    body = bob.get().body
    for secret in (b"hr/", b"pay", b"adas-agent", b"salaries"):
        assert secret not in body
    mine, theirs = bob.changes()
    assert (mine["agent"], mine["others"]) == ("bobs-agent", False)
    assert (theirs["agent"], theirs["session"], theirs["token"], theirs["others"]) == ("", "", "", True)
    session = next(change["session"] for change in ada.changes() if change["agent"] == "adas-agent")
    for query in ({"agent": "adas-agent"}, {"session": session}, {"session": "salaries"}):
        assert bob.changes(**query) == []
    hidden = ada.changes(path="hr")[0]["change"]
    assert bob.get(f"/{hidden}").status == 404 or bob.get(f"/{hidden}").json["changes"] == []
    assert bob.get(f"/{hidden}/diff").status == 404
    assert bob.post("/undo", {"change": hidden}).status in (403, 404)
    assert bob.post("/undo", {"session": session}).status == 404
    assert bob.post("/forget", {"all": True}).code == "not_granted"
    assert bob.post("/forget", {"path": "."}).status in (200, 403)
    assert ada.changes(path="hr")[0]["change"] == hidden


def test_two_undos_at_once_undo_once(running: Agent, root: Path) -> None:
    ada = whole(running)
    for at in range(4):
        ada.call("write_file", path=f"n{at}.txt", content="new\n", expected_hash="absent")
        number = ada.changes()[0]["change"]
        with ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(ada.post, ["/undo"] * 6, [{"change": number}] * 6))
        statuses = sorted(answer.status for answer in answers)
        assert statuses.count(200) == 1, [answer.body for answer in answers]
        assert set(statuses) <= {200, 404, 409}, [answer.body for answer in answers]
        assert not (root / f"n{at}.txt").exists()


def test_the_past_that_is_forgotten_is_gone_and_the_file_stays(
    running: Agent, root: Path, tmp_path: Path
) -> None:
    ada = whole(running)
    secret = "hunter2-is-my-passphrase"
    ada.edit("a.txt", "two", secret)
    ada.edit("a.txt", secret, "2")
    ada.edit("hr/pay.txt", "ada", "eva")
    number = ada.changes(path="a.txt")[0]["change"]
    forgotten = ada.post("/forget", {"path": "a.txt"})
    assert (forgotten.status, forgotten.json["names"]) == (200, 2)
    assert ada.changes(path="a.txt") == []
    assert ada.get(f"/{number}/diff").code == "no_such_change"
    assert len(ada.changes()) == 1
    assert (root / "a.txt").read_text(encoding="utf-8") == "one\n2\n"
    assert ada.post("/forget", {"all": True}).status == 200
    assert ada.changes() == []


@each(
    ("method", "rest", "body", "status", "code"),
    [
        ("GET", "?since=soon", None, 400, "bad_value"),
        ("GET", "?limit=0", None, 400, "bad_value"),
        ("GET", "?limit=x", None, 400, "wrong_type"),
        ("GET", "?pth=a", None, 400, "unknown_argument"),
        ("GET", "?path=a&path=b", None, 400, "bad_request"),
        ("GET", "?path=%ff", None, 400, "bad_request"),
        ("GET", "?path=../x", None, 403, "outside_root"),
        ("GET", "/999", None, 404, "no_such_change"),
        ("GET", "/999/diff", None, 404, "no_such_change"),
        ("GET", "/99999999999999999999/diff", None, 400, "bad_value"),
        ("GET", "/x/diff", None, 400, "bad_value"),
        ("GET", "/undo", None, 405, "wrong_method"),
        ("POST", "/undo", b"{}", 400, "usage"),
        ("POST", "/undo", b'{"change":1,"session":"s"}', 400, "usage"),
        ("POST", "/undo", b'{"change":999}', 404, "no_such_change"),
        ("POST", "/undo", b'{"change":"x"}', 400, "wrong_type"),
        ("POST", "/undo", b"[]", 400, "wrong_type"),
        ("POST", "/undo", b"{", 400, "bad_request"),
        ("POST", "/forget", b"{}", 400, "usage"),
        ("POST", "", b"{}", 405, "wrong_method"),
        ("POST", "/list_changes", b"{}", 404, "no_such_route"),
        ("DELETE", "/1", None, 405, "wrong_method"),
    ],
)
def test_bad_input_is_a_typed_refusal(
    served: tuple[Agent, str], method: str, rest: str, body: bytes | None, status: int, code: str
) -> None:
    running, token = served
    headers = {"Content-Type": "application/json"}
    answer = running.request(method, f"{PATH}{rest}", body, token=token, headers=headers)
    assert (answer.status, answer.code) == (status, code), answer.body


def test_a_form_of_a_page_undoes_nothing(served: tuple[Agent, str]) -> None:
    running, token = served
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    refused = running.request("POST", f"{PATH}/undo", b"change=1", token=token, headers=form)
    assert (refused.status, refused.code) == (415, "wrong_media_type")
    assert running.request("POST", f"{PATH}/undo", b"{}").status == 401


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Agent, str]]:
    """For tests that leave nothing which another would notice."""
    folder = tmp_path_factory.mktemp("served")
    with agent(folder / "state", "--require-token", "--", str(shop(folder))) as found:
        yield found, found.make_token("ada")


def test_another_workspace_has_another_history(tmp_path: Path) -> None:
    config = tmp_path / "server.toml"
    for name in ("one", "two"):
        shop(tmp_path / name)
    config.write_text(
        "".join(f'[workspaces.{name}]\nroot = "{tmp_path / name / "shop"}"\n' for name in ("one", "two")),
        encoding="utf-8",
    )
    with agent(tmp_path / "state", "--require-token", "--config", str(config)) as running:
        one = whole(running, "ada", "/w/one")
        two = Client(running, one.token, "/w/two")
        one.edit("a.txt", "two", "2")
        number = one.changes()[0]["change"]
        assert two.changes() == []
        assert two.get(f"/{number}/diff").code == "no_such_change"
        assert two.post("/undo", {"change": number}).code == "no_such_change"
        assert (tmp_path / "two/shop/a.txt").read_text(encoding="utf-8") == "one\ntwo\n"
        only = Client(running, running.make_token("eva", "--workspace", "two"), "/w/one")
        assert only.get(f"/{number}/diff").code == "no_such_workspace"


def test_models_reach_the_history_only_where_the_operator_offers_it(tmp_path: Path, root: Path) -> None:
    with agent(tmp_path / "state", "--require-token", "--", str(root)) as running:
        token = running.make_token("ada")
        for path in ("/v1/native/history", "/v1/history/list_changes", "/v1/history/undo_changes"):
            headers = {"Content-Type": "application/json"}
            assert running.request("POST", path, b"{}", token=token, headers=headers).status == 404
        assert "/v1/native/history" not in running.request("GET", "/openapi.json", token=token).json["paths"]
    config = tmp_path / "server.toml"
    config.write_text("[history]\ntool = true\n", encoding="utf-8")
    with agent(tmp_path / "state", "--require-token", "--config", str(config), "--", str(root)) as running:
        ada = whole(running)
        ada.edit("a.txt", "two", "2")
        number = ada.call("history")["changes"][0]["change"]
        assert "-two\n+2\n" in ada.call("history", change=number)["files"][0]["diff"]
        reader = Client(running, running.make_token("bot", *tools("history", "read_file")))
        data = json.dumps({"change": number, "undo": True}).encode()
        headers = {"Content-Type": "application/json"}
        refused = running.request("POST", "/v1/native/history", data, token=reader.token, headers=headers)
        assert (refused.status, refused.code) == (403, "not_granted")
        assert ada.call("history", change=number, undo=True)["changes"] == [number]
        assert (root / "a.txt").read_text(encoding="utf-8") == "one\ntwo\n"


def test_answers_are_what_the_description_says(running: Agent, root: Path) -> None:
    ada = whole(running)
    ada.edit("a.txt", "two", "2")
    (root / "odd \x1b[31m<b>\u202e.txt").write_text("x\n", encoding="utf-8")
    ada.edit('"odd \\033[31m<b>\\342\\200\\256.txt"', "x", "<script>alert(1)</script>")
    document = ada.running.request("GET", "/openapi.json", token=ada.token).json

    def check(answer: Answer, method: str, path: str) -> None:
        assert answer.status == 200, answer.body
        said = document["paths"][path][method]["responses"]["200"]["content"]["application/json"]["schema"]
        jsonschema.Draft202012Validator({**said, "components": document["components"]}).validate(answer.json)

    odd, number = (change["change"] for change in ada.changes())
    check(ada.get(), "get", PATH)
    check(ada.get(f"/{odd}"), "get", f"{PATH}/{{change}}")
    check(ada.get(f"/{odd}/diff"), "get", f"{PATH}/{{change}}/diff")
    check(ada.post("/undo", {"change": number, "dry_run": True}), "post", f"{PATH}/undo")
    check(ada.post("/undo", {"change": number}), "post", f"{PATH}/undo")
    check(ada.post("/forget", {"path": "a.txt"}), "post", f"{PATH}/forget")


def test_every_call_has_a_row_in_the_ledger(running: Agent) -> None:
    ada = whole(running)
    ada.edit("a.txt", "two", "2")
    number = ada.changes()[0]["change"]
    ada.post("/undo", {"change": number})
    ada.post("/forget", {"all": True})
    rows = json.loads(command(running.state, "ledger", "--json", "--face", "http"))["rows"]
    made = [(row["tool"], row["outcome"]) for row in rows if row["contract"] == "history"]
    assert made == [("list_changes", "ok"), ("undo_changes", "ok"), ("forget_changes", "ok")]
