"""Law: where secrets are masked, no face shows a part of one: command line, MCP, HTTP, dashboard, ledger.

The faces are real processes, and the bytes are those that leave them, log lines among them.
"""

from __future__ import annotations

import html
import io
import json
import os
import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.cli.running import Cli
from tests.laws.masked import PLAIN, STORED, Layout, Secrets, dumped, plant
from tests.lens.making import called, record, returned
from tests.mcp.serving import ERAS, STATELESS, Http, Stdio, client_meta, events, http_server, request
from tests.server.http.serving import Agent, Answer, agent
from tests.server.http.test_dashboard import get, signed_in
from tests.server.ledger.postgres import programs, running
from tests.suites import whole

pytest.importorskip("detect_secrets", reason="needs the extra `audit`")

FILES = {path: made for path, made in {**PLAIN, **STORED}.items() if path != "app.log"}
PATHS = ("conf.yaml", "wide.ini", "src/app.py", "mail.eml", "conf.yaml.gz", "files.zip!/inner/app.py")
SETTINGS = """
[secrets]
mask = true
[commands]
enabled = true
confinement = "none"
[history]
undo_in_dashboard = true
[serve]
auth = "required"
"""


@dataclass(frozen=True)
class World:
    """A folder with secrets, and the file of its operator."""

    root: Path
    config: Path
    state: Path
    secrets: Secrets

    def require_silence(self, *bodies: bytes) -> None:
        for body in bodies:
            found = self.secrets.heard(body)
            assert not found, (found[:3], body[max(0, body.find(found[0].encode()) - 300) :][:600])
            assert b"\x7f" not in body


@pytest.fixture
def world(tmp_path: Path) -> World:
    secrets = Secrets(21)
    root, state = tmp_path / "root", tmp_path / "state"
    state.mkdir()
    plant(root, Layout(21), secrets, FILES)
    config = tmp_path / "operator.toml"
    config.write_text(SETTINGS, encoding="utf-8")
    return World(root, config, state, secrets)


def calls() -> Iterator[tuple[str, dict[str, Any]]]:
    """Calls of a client of each kind, errors among them."""
    for path in PATHS:
        yield "read_file", {"path": path}
    yield "read_file", {"path": "conf.yml"}
    yield "read_file", {"path": "src/app.py", "symbol": "conect"}
    yield "read_file", {"path": "conf.yaml", "offset": 900}
    yield "grep_files", {"pattern": "[a-zA-Z0-9/+]{20}", "include": ["compressed", "archives"]}
    yield "find_relevant", {"query": "password of the database", "documents": True}
    yield "list_directory", {"path": ".", "depth": 3}
    yield "write_file", {"path": "conf.yaml", "content": "x", "expected_hash": "0" * 64}
    yield "run_command", {"command": "cat conf.yaml src/app.py; tail -c 900 deploy.txt >&2"}


def changing(hash_of: Callable[[str], str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Changes beside secrets, of names, and one that takes a file with secrets away."""
    edit = {"old_text": "name: service", "new_text": "name: servant"}
    yield "edit_file", {"path": "conf.yaml", "expected_hash": hash_of("conf.yaml"), "edits": [edit]}
    for action, path, to in (("copy", "src/app.py", "src/copy.py"), ("move", "deploy.txt", "moved.py")):
        change = {"action": action, "path": path, "to": to, "expected_hash": hash_of(path)}
        yield "change_files", {"changes": [change]}
    gone = {"action": "delete", "path": "latin.ini", "expected_hash": hash_of("latin.ini")}
    yield "change_files", {"changes": [gone]}


# --- MCP over a pipe -----------------------------------------------------------------------------


@pytest.mark.parametrize("era", ERAS)
def test_nothing_leaves_by_a_pipe(world: World, era: str) -> None:
    """Answers, resources, what is written to subscribers, and the log."""
    options = ("--config", str(world.config))
    with Stdio(world.root, *options, version=era) as client:
        number = 0

        def ask(method: str, **params: object) -> Any:
            nonlocal number
            number += 1
            answer = client.ask(request(number, method, params))
            world.require_silence(dumped(answer))
            return answer

        def call(tool: str, arguments: object) -> Any:
            return ask("tools/call", name=tool, arguments=arguments)

        for tool, arguments in calls():
            call(tool, arguments)

        def hash_of(path: str) -> str:
            read = call("read_file", {"path": path})["result"]
            return str(read["_meta"]["readroom/facts"]["content_hash"])

        for tool, arguments in changing(hash_of):
            assert not call(tool, arguments)["result"].get("isError"), arguments
        (world.root / "crlf.ini").write_bytes((world.root / "crlf.ini").read_bytes() + b"more\r\n")
        call("list_directory", {"path": "."})
        listed = ask("resources/list")["result"]["resources"]
        assert any(one["uri"].endswith("conf.yaml") for one in listed)
        for one in listed:
            ask("resources/read", uri=one["uri"])
        ask("resources/read", uri=f"readroom:///{world.secrets.guesses[1][:4]}")
        code, log = client.end()
    assert code == 0
    world.require_silence(log.encode())


@pytest.mark.parametrize("version", ["", "--debug"])
def test_nothing_is_printed_by_the_command_line(
    world: World, version: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(world.state))
    cli = Cli(world.root, capsys)
    own = ("--config", str(world.config))
    debug = (version,) if version else ()
    asked: list[tuple[str, ...]] = [
        *(("read", path) for path in PATHS),
        ("outline", "src/app.py"),
        ("outline", "docs/page.md"),
        ("grep", "password", "--context", "2"),
        ("refs", "connect"),
        ("find", "how does it connect"),
        ("ls", "--depth", "3"),
        ("cp", "conf.yaml", "copied.txt"),
        ("mv", "copied.txt", "moved.txt"),
        ("history",),
        ("diff", "1"),
        ("undo", "--dry-run"),
        ("rm", "moved.txt"),
        ("call", "read_file", json.dumps({"path": "conf.yaml"})),
        ("read", "conf.yml"),
        ("edit", "conf.yaml", "--old", "password", "--new", "title"),
        ("explain", "conf.yaml"),
    ]
    worked = 0
    for command, *arguments in asked:
        done = cli.bare(*debug, command, "--root", str(world.root), *own, *arguments)
        world.require_silence(done.out.encode(), done.err.encode())
        worked += done.code == 0
    assert worked > 12, worked


# --- HTTP ----------------------------------------------------------------------------------------


@pytest.fixture
def served(world: World) -> Iterator[Agent]:
    options = ("--config", str(world.config))
    with agent(world.state, *options, str(world.root)) as found:
        yield found


class Listener:
    """Somebody with a token, all of whose answers are listened to."""

    def __init__(self, world: World, running: Agent) -> None:
        self._world, self._running = world, running
        self.token = running.make_token("ada")
        self.cookie = signed_in(running, self.token)

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        sent = {"Content-Type": "application/json", "Readroom-Session": "s1", **headers}
        answer = self._running.request(method, path, body, token=self.token, headers=sent)
        self.hear(answer)
        return answer

    def hear(self, answer: Answer) -> None:
        body = answer.body
        if body.startswith(b"PK"):
            with zipfile.ZipFile(io.BytesIO(body)) as archive:
                body = b"\n".join([archive.read(name) for name in archive.namelist()])
        self._world.require_silence(body, repr(answer.headers).encode())

    def call(self, tool: str, arguments: object) -> Any:
        return self.ask("POST", f"/v1/native/{tool}", json.dumps(arguments).encode()).json

    def page(self, path: str) -> str:
        answer = get(self._running, path, self.cookie)
        self.hear(answer)
        return answer.body.decode("utf-8", "replace")

    def every_page(self, first: str, most: int) -> int:
        """Every page of the dashboard that can be reached from one by links."""
        waiting, seen = [first], set[str]()
        while waiting and len(seen) < most:
            path = waiting.pop(0)
            if path in seen or "sign-out" in path:
                continue
            seen.add(path)
            links = re.findall(r'(?:href|src|action)="(/ui[^"#]*)', self.page(path))
            waiting += [html.unescape(link) for link in links]
        return len(seen)


def work(listener: Listener) -> None:
    """Calls that show, change and fail, so that history, ledger and dashboard have something to say."""
    for tool, arguments in calls():
        listener.call(tool, arguments)

    def hash_of(path: str) -> str:
        return str(listener.call("read_file", {"path": path})["_meta"]["readroom/facts"]["content_hash"])

    for tool, arguments in changing(hash_of):
        assert not listener.call(tool, arguments)["isError"], arguments


def test_nothing_leaves_by_http(world: World, served: Agent) -> None:
    """Calls, bytes of files, the past, the record of calls, and the dashboard."""
    listener = Listener(world, served)
    work(listener)
    statuses = set()
    for path in FILES:
        where = {"path": f"{world.root}/{path}"}
        for name in ("read-file", "read-file-lines", "list-directory"):
            statuses.add((name, listener.ask("GET", f"/api/v0/{name}?{urlencode(where)}").status))
        listener.ask("GET", f"/api/v0/read-file?{urlencode({**where, 'offset': 40, 'limit': 400})}")
    assert statuses >= {("read-file", 200), ("read-file-lines", 200)}
    changes = listener.ask("GET", "/v1/history").json["changes"]
    assert len(changes) == 4
    for change in changes:
        listener.ask("GET", f"/v1/history/{change['change']}")
    assert listener.every_page("/ui", 60) > 15
    for change in changes:
        listener.page(f"/ui/change?number={change['change']}")
        listener.page(f"/ui/undo?change={change['change']}")
    undo = json.dumps({"change": changes[0]["change"]}).encode()
    listener.ask("POST", "/v1/history/undo", undo)
    for database in (world.state / "readroom").rglob("*"):
        if database.is_file() and "history" not in str(database.relative_to(world.state)):
            world.require_silence(database.read_bytes().replace(b"\x7f", b""))


def test_nothing_leaves_by_mcp_over_http(world: World, served: Agent) -> None:
    token = served.make_token("bob")
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    for number, (tool, arguments) in enumerate(calls()):
        message = request(
            number, "tools/call", {"name": tool, "arguments": arguments, "_meta": client_meta("c")}
        )
        own = {"Mcp-Protocol-Version": STATELESS, "Mcp-Method": "tools/call", "Mcp-Name": tool}
        body = json.dumps(message).encode()
        answer = served.request("POST", "/mcp", body, token=token, headers={**headers, **own})
        assert answer.status == 200, answer.body
        world.require_silence(answer.body)


@pytest.mark.parametrize("era", ERAS)
def test_nothing_is_said_to_subscribers_over_http(world: World, era: str) -> None:
    """Word of a change beside a secret, of one of the secret itself, and of a file that goes."""
    uri = "readroom:///conf.yaml"
    with http_server(world.root, world.config) as (url, _), Http(url, version=era) as client:
        named = {"readroom/session": "mine"} if era == STATELESS else {}
        asked = {"name": "read_file", "arguments": {"path": "conf.yaml"}, "_meta": named}
        answer = client.ask(request(1, "tools/call", asked))
        assert b"[masked: " in dumped(answer)
        world.require_silence(dumped(answer))
        with closing(client.connect()) as connection:
            if era == STATELESS:
                wanted = {"notifications": {"resourceSubscriptions": [uri]}, "_meta": named}
                client.begin(request("l", "subscriptions/listen", wanted), connection)
            else:
                assert client.ask(request(2, "resources/subscribe", {"uri": uri}))["result"] == {}
                kind = {"Accept": "text/event-stream", **client.session_headers}
                connection.request("GET", "/mcp", None, kind)
            said = events(connection.getresponse())
            heard = [next(said)] if era == STATELESS else []
            conf = world.root / "conf.yaml"
            secret = world.secrets.of("password or key").encode()
            for new in (conf.read_bytes() + b"more: 1\n", conf.read_bytes().replace(secret, secret[::-1])):
                conf.write_bytes(new)
                heard.append(next(said))
            conf.unlink()
            heard.append(next(said))
        assert heard[-1]["params"]["uri"] == uri
        world.require_silence(dumped(heard))


def test_nothing_leaves_in_archives_of_files(world: World, served: Agent) -> None:
    """Files that are plain text come with asterisks; those that hold text in another form stay."""
    listener = Listener(world, served)
    body = json.dumps({"paths": [f"{world.root}/**/*"]}).encode()
    answer = listener.ask("POST", "/api/v0/zip-files", body)
    assert answer.status == 200, answer.body
    with zipfile.ZipFile(io.BytesIO(answer.body)) as archive:
        names = [name.rpartition("root/")[2] for name in archive.namelist()]
        (conf,) = [archive.read(name) for name in archive.namelist() if name.endswith("/conf.yaml")]
    assert "src/app.py" in names
    assert not [name for name in names if name.endswith((".gz", ".zip"))]
    assert b"password: **************\n" in conf
    assert len(conf) == (world.root / "conf.yaml").stat().st_size


def test_nothing_that_waits_for_review_is_shown(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """Waiting changes: over HTTP, in the dashboard, and as acceptance writes them."""
    waiting = world.config.with_name("review.toml")
    settings = "[history]\nreview = true\nreview_in_dashboard = true\n"
    waiting.write_text(f'[secrets]\nmask = true\n{settings}[serve]\nauth = "required"\n', encoding="utf-8")
    with agent(world.state, "--config", str(waiting), str(world.root)) as served:
        listener = Listener(world, served)
        work(listener)
        (own,) = listener.ask("GET", "/v1/review").json["sets"]
        listener.ask("GET", f"/v1/review/{own['id']}")
        person = served.make_token("person", "--tool", "review")
        headers = {"Content-Type": "application/json"}
        at = f"/v1/review/{own['id']}"
        for method, path in (("GET", "/v1/review"), ("GET", at), ("GET", f"{at}?path=conf.yaml")):
            listener.hear(served.request(method, path, token=person))
        listener.cookie = signed_in(served, person)
        assert listener.every_page("/ui/review", 20) > 1
        accepted = served.request("POST", f"{at}/accept", b"{}", token=person, headers=headers)
        listener.hear(accepted)
        assert accepted.status == 200, accepted.body
    conf = (world.root / "conf.yaml").read_bytes()
    assert conf.startswith(b"name: servant\n")
    assert all(secret.encode() in conf for _, _, secret in world.secrets.lines)
    assert (world.root / "moved.py").read_bytes() == FILES["deploy.txt"](world.secrets, Layout(21))


@pytest.mark.parametrize(
    "form", [(), ("--details",), ("--json",), ("--html", "page.html"), ("--annotations",)]
)
def test_an_audit_prints_no_secret_that_it_finds(
    world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, form: tuple[str, ...]
) -> None:
    text = FILES["conf.yaml"](world.secrets, Layout(21)).decode() + world.secrets.pem
    entries = [called(1, "Read", {"file_path": "/home/dev/shop/conf.yaml"}), returned(1, text)]
    path = record(world.state / "s1.jsonl", entries)
    monkeypatch.chdir(world.state)
    done = Cli(world.root, capsys).bare("audit", str(path), *form)
    assert done.code == 0, done.err
    page = world.state / "page.html"
    body = done.out.encode() + (page.read_bytes() if page.exists() else b"")
    world.require_silence(body, done.err.encode())
    assert b"secret" in body


@whole
@pytest.mark.xdist_group("postgres")
@pytest.mark.skipif(programs() is None and "CI" not in os.environ, reason="needs PostgreSQL; CI has it")
def test_nothing_is_kept_in_a_ledger_of_several_machines(world: World) -> None:
    psycopg = pytest.importorskip("psycopg")
    where = programs()
    assert where is not None
    with TemporaryDirectory(prefix="readroom-pg-") as folder, running(where, Path(folder)) as server:
        config = world.config.with_name("several.toml")
        config.write_text(f'{SETTINGS}[ledger]\nurl = "{server.url}"\n', encoding="utf-8")
        with agent(world.state, "--config", str(config), str(world.root)) as served:
            listener = Listener(world, served)
            work(listener)
            assert listener.every_page("/ui", 20) > 10
        with psycopg.connect(server.url) as connection:
            tables = connection.execute(
                "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
            ).fetchall()
            rows = [connection.execute(f'SELECT * FROM "{name}"').fetchall() for (name,) in tables]
    assert sum(map(len, rows)) > 10
    world.require_silence(repr(rows).encode().replace(b"\x7f", b""))
