"""The dashboard over HTTP: who gets in, what they may see, and that nothing else is in any answer."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlencode

import pytest

from readroom.server.ledger import LedgerPolicy, open_book
from readroom.server.ledger.ledger import Ledger
from tests.each import each
from tests.server.http.serving import Agent, Answer, agent, command, open_agent
from tests.server.ledger.events import event
from tests.suites import daily

PAGES = ("/ui", "/ui/sessions", "/ui/calls", "/ui/files", "/ui/map", "/ui/ledger")
COOKIE = re.compile(r"readroom_ui=([A-Za-z0-9_-]{43}); Path=/ui; HttpOnly; SameSite=Lax; Max-Age=\d+")


def shop(folder: Path) -> Path:
    found = folder / "shop"
    (found / "src").mkdir(parents=True)
    (found / "hr").mkdir()
    (found / "src" / "a.py").write_text("".join(f"line {at}\n" for at in range(1, 21)), encoding="utf-8")
    (found / "hr" / "salaries.csv").write_text("name,salary\nAda,1\n", encoding="utf-8")
    (found / ".env").write_text("PASSWORD=hunter2\n", encoding="utf-8")
    return found


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return shop(tmp_path)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    """For tests that leave nothing which another would notice."""
    folder = tmp_path_factory.mktemp("served")
    with agent(folder / "state", "--require-token", "--", str(shop(folder))) as found:
        yield found


@pytest.fixture
def running(tmp_path: Path, root: Path) -> Iterator[Agent]:
    with agent(tmp_path / "state", "--require-token", "--", str(root)) as found:
        yield found


def origin(running: Agent) -> str:
    return f"http://{running.host}:{running.port}"


def posted(running: Agent, path: str, form: dict[str, str], **headers: str) -> Answer:
    sent = {"Content-Type": "application/x-www-form-urlencoded", "Origin": origin(running), **headers}
    return running.request("POST", path, urlencode(form).encode(), headers=sent)


def signed_in(running: Agent, token: str) -> dict[str, str]:
    answer = posted(running, "/ui/sign-in", {"token": token})
    assert answer.status == 303
    found = COOKIE.match(answer.headers["set-cookie"])
    assert found is not None
    return {"Cookie": f"readroom_ui={found[1]}"}


def get(running: Agent, path: str, cookie: dict[str, str]) -> Answer:
    return running.request("GET", path, headers=cookie)


def work(running: Agent, token: str) -> None:
    for path in ("src/a.py", "src/a.py", "hr/salaries.csv", ".env", "missing.py"):
        running.call("read_file", {"path": path, "limit": 5}, token=token)


def ledger_of(state: Path) -> Ledger:
    return open_book(LedgerPolicy(file=str(state / "readroom" / "ledger.sqlite3")))


def test_nobody_sees_a_page_without_signing_in(served: Agent) -> None:
    for path in (*PAGES, "/ui/file?path=src/a.py", "/ui/w/default/map", "/ui/verify"):
        answer = served.request("GET", path)
        assert answer.status == 303
        assert answer.headers["location"].startswith("/ui/sign-in?next=")
    assert served.request("GET", "/ui/sign-in").status == 200


def test_a_token_signs_in_and_out_again(served: Agent) -> None:
    cookie = signed_in(served, served.make_token("ada"))
    for path in PAGES:
        answer = get(served, path, cookie)
        assert answer.status == 200, path
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["cache-control"] == "no-store"
    assert posted(served, "/ui/sign-out", {}, **cookie).status == 303
    assert get(served, "/ui", cookie).status == 303


def test_a_token_that_does_not_work_signs_nobody_in_and_is_recorded(running: Agent) -> None:
    running.make_token("ada")
    answer = posted(running, "/ui/sign-in", {"token": "rr_000000000000_" + "x" * 43})
    assert answer.status == 401
    assert "set-cookie" not in answer.headers
    assert b"does not work" in answer.body
    for _ in range(100):
        if posted(running, "/ui/sign-in", {"token": "wrong"}).status == 429:
            break
    else:
        raise AssertionError("tokens can be tried without an end")


def test_the_cookie_opens_neither_tools_nor_mcp(served: Agent) -> None:
    cookie = signed_in(served, served.make_token("ada"))
    headers = {"Content-Type": "application/json", **cookie}
    assert (
        served.request("POST", "/v1/native/read_file", b'{"path":"src/a.py"}', headers=headers).status == 401
    )
    assert served.request("POST", "/mcp", b"{}", headers=headers).status == 401
    assert served.request("GET", "/metrics", headers=headers).status == 401


def test_pages_of_other_origins_can_post_nothing(served: Agent) -> None:
    token = served.make_token("ada")
    cookie = signed_in(served, token)
    for sent in ({"Origin": "http://evil.example"}, {"Origin": "null"}):
        assert posted(served, "/ui/sign-in", {"token": token}, **sent).status == 403
        assert posted(served, "/ui/verify", {}, **sent, **cookie).status == 403
    assert served.request("POST", "/ui/verify", b"", headers=cookie).status == 400


def test_a_revoked_token_ends_at_once(served: Agent) -> None:
    token = served.make_token("ada")
    cookie = signed_in(served, token)
    assert get(served, "/ui", cookie).status == 200
    command(served.state, "token", "revoke", token.split("_")[1])
    assert get(served, "/ui", cookie).status == 303


@pytest.mark.parametrize("next_page", ["//evil.example", "https://evil.example", "/v1/x", "/ui\r\nX: y"])
def test_a_sign_in_leads_nowhere_else(served: Agent, next_page: str) -> None:
    token = served.make_token("ada")
    answer = posted(served, f"/ui/sign-in?{urlencode({'next': next_page})}", {"token": token})
    assert answer.status == 303
    assert answer.headers["location"] == "/ui"


def test_what_policy_denies_is_in_no_answer(running: Agent) -> None:
    token = running.make_token("ada")
    work(running, token)
    running.call("grep_files", {"pattern": "x", "glob": ["**/.env*"]}, token=token)
    cookie = signed_in(running, token)
    seen = [get(running, path, cookie) for path in crawled(running, cookie)]
    assert len(seen) > 25
    assert all(answer.status == 200 for answer in seen)
    for answer in seen:
        assert b".env" not in answer.body
        assert b"hunter2" not in answer.body
        assert b".env" not in str(answer.headers).encode()
    assert any(b"hidden by policy" in answer.body for answer in seen)


def test_a_token_that_may_not_see_a_folder_sees_no_trace_of_it(running: Agent, tmp_path: Path) -> None:
    policy = tmp_path / "no-hr.toml"
    policy.write_text('[policy]\ndeny = ["hr/"]\n', encoding="utf-8")
    ada = running.make_token("ada")
    work(running, ada)
    for spelled in (
        "hr\\salaries.csv",
        ".\\hr\\\\salaries.csv",
        "hr%2Fsalaries.csv",
        "hr%255csalaries.csv",
        "./hr//salaries.csv",
    ):
        running.call("read_file", {"path": spelled}, token=ada)
        running.call("grep_files", {"pattern": spelled}, token=ada)
    cookie = signed_in(running, running.make_token("bob", "--policy", str(policy)))
    for path in crawled(running, cookie):
        answer = get(running, path, cookie)
        assert b"salaries" not in answer.body, path
        assert b"hr/" not in answer.body, path
    for path in (
        "/ui/file?path=hr/salaries.csv",
        "/ui/map?path=hr",
        "/ui/file?path=.env",
    ):
        answer = get(running, path, cookie)
        assert answer.status == 404
        assert b"none that you may see" in answer.body
        assert b"salaries" not in answer.body


def test_a_token_without_read_file_sees_no_content(served: Agent) -> None:
    token = served.make_token("ada")
    work(served, token)
    cookie = signed_in(served, served.make_token("lister", "--tool", "list_directory"))
    answer = get(served, "/ui/file?path=src/a.py", cookie)
    assert answer.status == 200
    assert b"line 3" not in answer.body
    assert b"does not include read_file" in answer.body


def test_a_document_that_was_shown_as_text_has_a_gutter(running: Agent, root: Path) -> None:
    """Lines of a notebook as it stands in the file, read so or found in a search; as cells it has none."""
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": ["a = 1\n"]}]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (root / "n.ipynb").write_text(json.dumps(notebook, indent=1), encoding="utf-8")
    token = running.make_token("ada")
    cookie = signed_in(running, token)
    gutters = []
    for arguments in ({"path": "n.ipynb"}, {"path": "n.ipynb", "encoding": "utf-8", "offset": 3, "limit": 2}):
        running.call("read_file", arguments, token=token)
        body = get(running, "/ui/file?path=n.ipynb", cookie).body.decode()
        marked = re.findall(r'aria-label="Line (\d+): (shown [^"]*)"', body)
        gutters.append((marked, "&#34;cells&#34;" in body))
    assert gutters == [([], False), ([("3", "shown 1 time"), ("4", "shown 1 time")], True)]


def test_a_changed_file_has_hashes_and_no_lines_of_then(running: Agent, root: Path) -> None:
    token = running.make_token("ada")
    work(running, token)
    cookie = signed_in(running, token)
    before = get(running, "/ui/file?path=src/a.py", cookie).body.decode()
    assert 'aria-label="Line 3: shown 2 times"' in before
    assert 'aria-label="Line 6' not in before
    (root / "src" / "a.py").write_text("other\n" * 20, encoding="utf-8")
    after = get(running, "/ui/file?path=src/a.py", cookie).body.decode()
    assert "shown 2 times" not in after
    assert "changed since" in after
    assert "line 3" not in after


def test_who_looks_at_a_file_is_recorded_and_counts_as_no_call(running: Agent) -> None:
    token = running.make_token("ada")
    work(running, token)
    cookie = signed_in(running, token)
    for _ in range(3):
        get(running, "/ui/file?path=src/a.py", cookie)
    with closing(ledger_of(running.state)) as book:
        looked = [row for row in book.rows() if row.event.face == "ui"]
    assert [(row.event.path, row.event.token) for row in looked] == [("src/a.py", token.split("_")[1])] * 3
    page = get(running, "/ui/file?path=src/a.py", cookie).body.decode()
    assert 'aria-label="Line 3: shown 2 times"' in page


def test_hostile_names_are_text_everywhere(tmp_path: Path, root: Path) -> None:
    state = tmp_path / "state"
    nasty = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>\x1b[31m\u202e{{7*7}}"
    state.joinpath("readroom").mkdir(parents=True, mode=0o700)
    with closing(ledger_of(state)) as book:
        fields = {"workspace": str(root), "agent": nasty, "session": nasty, "tool": nasty, "token": "=1+1"}
        book.append(event(**fields, path="src/" + nasty, shown=json.dumps([["src/" + nasty, None, 1, 2]])))
        book.append(event(**{**fields, "tool": "=HYPERLINK(1)", "agent": "@SUM(1)"}, path="-1+1"))
    with open_agent(state, "--", str(root)) as running:
        cells: set[str] = set()
        for path in crawled(running, {}):
            answer = get(running, path, {})
            if "csv" in answer.headers["content-type"]:
                cells |= {cell for row in csv.reader(io.StringIO(answer.body.decode())) for cell in row}
                continue
            # What was chosen in a filter stands as it is in the value that is sent back.
            body = re.sub(rb'value="[^"]*"', b"", answer.body)
            assert b"<script>alert" not in body, path
            assert b"<img src=x" not in body, path
            assert b"\x1b" not in body, path
            assert "\u202e".encode() not in body, path
        assert not [cell for cell in cells if cell[:1] in ("=", "+", "-", "@", "\t", "\r")]
        assert "'=HYPERLINK(1)" in cells


def test_an_export_has_all_rows_of_what_is_chosen(tmp_path: Path, root: Path) -> None:
    """More of them than a page shows, and none that the filters of its address leave out."""
    state = tmp_path / "state"
    state.joinpath("readroom").mkdir(parents=True, mode=0o700)
    with closing(ledger_of(state)) as book:
        for number in range(130):
            name = f"{'night' if number % 2 else 'day'}-{number}"
            spans = json.dumps([[f"src/{name}.py", "sha256:aa", 1, 2], ["src/a.py", None, 1, 2]])
            fields = {"workspace": str(root), "session": name, "agent": f"agent-{number}", "path": "src/a.py"}
            book.append(event(**fields, shown=spans))
            book.append(event(**fields, shown=spans))
    with open_agent(state, "--", str(root)) as running:

        def exported(address: str, table: str) -> list[list[str]]:
            reader = _Links()
            reader.feed(get(running, address, {}).body.decode())
            (link,) = [one for one in reader.links if "format=csv" in one and one.endswith(f"table={table}")]
            answer = get(running, link, {})
            assert "csv" in answer.headers["content-type"]
            return list(csv.reader(io.StringIO(answer.body.decode())))[1:]

        assert len(exported("/ui/sessions", "sessions")) == 130
        night = exported("/ui/sessions?q=night", "sessions")
        assert len(night) == 65
        assert {row[0].partition("-")[0] for row in night} == {"night"}
        assert len(exported("/ui/files", "file")) == 131
        assert len(exported("/ui", "agent")) == 130
        assert len(exported("/ui", "sessions")) == 130
        assert len(exported("/ui?agent=agent-7", "sessions")) == 1
        assert len(exported("/ui/file?path=src/a.py", "looks")) == 260
        assert len(exported("/ui/file?path=src/a.py&session=day-2", "looks")) == 2
        assert len(exported("/ui/session?id=day-2&agent=agent-2", "twice")) == 1


@daily(
    2,
    ("address", "said"),
    [
        ("/ui?tool=read_file", ["The tool filter does not apply to sessions."]),
        ("/ui/sessions?tool=read_file", ["The tool filter does not apply to sessions."]),
        ("/ui?outcome=failed", ["Only sessions with such calls.", "Sums cover whole sessions."]),
        ("/ui/sessions?outcome=denied", ["The outcome filter does not apply to sessions."]),
        ("/ui/sessions?since=7d", ["Sums cover whole sessions."]),
        ("/ui/files?outcome=ok", ["The outcome filter does not apply to this table."]),
        ("/ui/map?outcome=ok", ["The outcome filter does not apply to this table."]),
        ("/ui?agent=tester", []),
    ],
)
def test_a_table_says_which_filters_leave_it_as_it_is(running: Agent, address: str, said: list[str]) -> None:
    """A filter that stands in the address and does nothing to a table is no filter of that table."""
    token = running.make_token("ada")
    work(running, token)
    body = get(running, address, signed_in(running, token)).body.decode()
    sentences = (
        *(
            "The tool filter does not apply to sessions.",
            "Only sessions with such calls.",
            "Sums cover whole sessions.",
        ),
        *(
            "The outcome filter does not apply to sessions.",
            "The outcome filter does not apply to this table.",
        ),
    )
    shown = [one for one in sentences if one in body]
    assert set(said) <= set(shown)
    assert said or not shown


@each(
    "address",
    [
        *(
            "/ui?since=x",
            "/ui/calls?before=x",
            "/ui/session?id=nobody",
            "/ui/call?number=99999",
            "/ui/nothing",
        ),
        *("/ui/static/../dashboard.py", "/ui?format=csv&table=nothing", "/ui/static/VENDORED.json"),
        *("/ui/file?path=%00", "/ui/file?path=../../etc/passwd", "/ui/file?path=" + "x" * 5000),
    ],
)
def test_bad_addresses_are_pages_that_say_what_is_wrong(served: Agent, address: str) -> None:
    cookie = signed_in(served, served.make_token("ada"))
    answer = get(served, address, cookie)
    assert 400 <= answer.status < 500
    assert b"Traceback" not in answer.body
    assert b"Code:" in answer.body or b'"code"' in answer.body


def test_the_ledger_is_verified_when_somebody_wants_it(running: Agent) -> None:
    token = running.make_token("ada")
    work(running, token)
    cookie = signed_in(running, token)
    assert posted(running, "/ui/verify", {}, **cookie).status == 303
    for _ in range(1000):
        page = get(running, "/ui/ledger", cookie).body.decode()
        if "is running" not in page:
            break
    assert "every row is as it was written" in page


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs).get("href") or ""
        if tag == "a" and found.startswith("/ui"):
            self.links.add(found.partition("#")[0])


def crawled(running: Agent, cookie: dict[str, str]) -> list[str]:
    """Every address that pages lead to, exports among them."""
    found, pending = set(PAGES), list(PAGES)
    while pending and len(found) < 150:
        answer = get(running, pending.pop(), cookie)
        if "html" not in answer.headers.get("content-type", ""):
            continue
        reader = _Links()
        reader.feed(answer.body.decode())
        pending += reader.links - found
        found |= reader.links
    return sorted(found)


def test_names_that_others_gave_name_nothing_that_policy_denies(tmp_path: Path, root: Path) -> None:
    """Agents, tools and conversations have the names that clients and records give them: a script that was
    run, a file that was talked about. Neither charts, titles, choices, exports nor addresses have them.
    """
    state = tmp_path / "state"
    state.joinpath("readroom").mkdir(parents=True, mode=0o700)
    named = {
        "agent": "reader of hr/salaries.csv",
        "tool": "hr/run.sh",
        "session": "salaries in hr/salaries.csv",
    }
    with closing(ledger_of(state)) as book:
        for field in named:
            book.append(event(**{"workspace": str(root), "path": "src/a.py", field: named[field]}))
        book.append(event(workspace=str(root), path="src/a.py", shown='[["src/a.py",null,1,2]]', **named))
    policy = tmp_path / "no-hr.toml"
    policy.write_text('[policy]\ndeny = ["hr/"]\n', encoding="utf-8")
    with agent(state, "--require-token", "--", str(root)) as running:
        narrow = signed_in(running, running.make_token("bob", "--policy", str(policy)))
        whole = signed_in(running, running.make_token("ada"))
        for path in crawled(running, narrow):
            answer = get(running, path, narrow)
            assert answer.status == 200, path
            assert b"salaries" not in answer.body, path
            assert b"run.sh" not in answer.body, path
            assert "hr%2F" not in path
        assert b"hidden by policy" in get(running, "/ui", narrow).body
        sent = "/ui/session?" + urlencode({"id": named["session"], "agent": named["agent"]})
        assert get(running, sent, whole).status == 200
        assert get(running, sent, narrow).status == 404
        assert b"salaries" not in get(running, sent, narrow).body


_NAMES = (
    ("Top Secret/", "Top Secret/ghost plan.txt"),
    ("/priv/a,b*", "priv/a,bghost.txt"),
    ("*x;y*", "src/x;yghost.txt"),
    ("it's*", "it's ghost (final).txt"),
    ('quo"ted/', 'quo"ted/ghost|1.txt'),
    ("[[]ghost[]] & co/", "[ghost] & co/plan=1.txt"),
    ("*ghost name of many words in it*", "a/ghost name of many words in it and more.txt"),
    ("gizli ğ/", "gizli ğ/ghost.txt"),
)
"""Patterns of policy, and a name that each denies."""


def _said_in(name: str) -> Iterator[tuple[str, object]]:
    """A tool and arguments that hold a name, in the ways of shells, globs, lists and JSON."""
    escaped = re.sub(r"([^\w/.])", r"\\\1", name)
    coded = "".join(f"\\x{byte:02x}" for byte in name.encode("latin-1", "ignore"))
    single, double = name.replace("'", "'\\''"), re.sub(r'([\\"$`])', r"\\\1", name)
    yield from (
        ("read_file", {"path": name}),
        ("read_file", {"path": f"./{name}"}),
        ("list_directory", {"path": ".", "glob": [f"**/{name}", "*.py"]}),
        ("write_file", {"path": "a", "edits": [{"file": name}, {"old_text": "x", "destination": name}]}),
        ("run_command", {"command": f"cat '{single}'"}),
        ("run_command", {"command": f'cd src && head -5 "{double}" | tail -1; echo done'}),
        ("run_command", {"command": f"cat {escaped} > out.txt"}),
        ("run_command", {"command": f"cat ./{escaped}"}),
        ("run_command", {"command": f"cp '{single}' b", "cwd": "src"}),
        ("send", {"body": json.dumps({"files": [name]})}),
        ("send", {"body": json.dumps(json.dumps([name]))}),
        ("send", {name: 1}),
    )
    if name.isascii():
        yield "run_command", {"command": f"cat $'{coded}'"}


def test_names_with_any_letters_are_hidden_however_they_are_written(tmp_path: Path, root: Path) -> None:
    state = tmp_path / "state"
    state.joinpath("readroom").mkdir(parents=True, mode=0o700)
    policy = tmp_path / "narrow.toml"
    policy.write_text(
        f"[policy]\ndeny = {json.dumps([pattern for pattern, _ in _NAMES])}\n", encoding="utf-8"
    )
    shown = ['cat "src/a.py"', "echo 'top of the morning, all; done'", "grep -n 'a b' src/a.py | head -3"]
    with closing(ledger_of(state)) as book:
        for _, name in _NAMES:
            for at, (tool, value) in enumerate(_said_in(name)):
                session = name if at == 1 else f"s{at}"
                named = {"agent": f"reader of {name}"} if at == 2 else {}
                book.append(
                    event(
                        workspace=str(root), tool=tool, path=None, session=session, shown="[]",
                        arguments=json.dumps(value, ensure_ascii=False), **named,
                    )
                )  # fmt: skip
        for one in shown:
            arguments = json.dumps({"command": one})
            book.append(
                event(workspace=str(root), tool="run_command", path=None, shown="[]", arguments=arguments)
            )
    coded = b"".join(b"\\\\x%02x" % byte for byte in b"ghost")
    with agent(state, "--require-token", "--", str(root)) as running:
        narrow = signed_in(running, running.make_token("bob", "--policy", str(policy)))
        seen = b""
        for path in crawled(running, narrow):
            answer = get(running, path, narrow)
            assert answer.status == 200, path
            at = answer.body.find(b"ghost")
            assert at < 0, (path, answer.body[max(0, at - 100) : at + 60])
            assert coded not in answer.body, path
            assert "ghost" not in path
            seen += answer.body
        assert b"top of the morning" in seen
        assert b"hidden by policy" in seen
