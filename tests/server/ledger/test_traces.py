"""The trace of a call: what a client may send, where it is kept, and ledgers from before it was."""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.core.caller import Caller, trace_of
from readroom.core.workspace import Workspace
from readroom.mcp.server import caller
from readroom.server.database.sqlite import SqliteBackend
from readroom.server.ledger.ledger import MIGRATIONS, Ledger
from readroom.server.ledger.queries import write_jsonl
from readroom.server.ledger.rows import COLUMNS, digest
from readroom.server.ledger.verify import verify
from tests.mcp.serving import ERAS, Http, Message, request
from tests.server.http.serving import Agent, open_agent
from tests.server.ledger.events import book, event

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
OTHER = "00-11111111111111111111111111111111-2222222222222222-00"
LATER = "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

WRONG = [
    "",
    TRACE.upper(),
    TRACE[:-1],
    TRACE + "0",
    TRACE + "-more",
    TRACE + "\n",
    " " + TRACE,
    LATER + "x",
    "ff" + TRACE[2:],
    "00-" + 32 * "0" + TRACE[35:],
    TRACE[:36] + 16 * "0" + "-01",
    "canary7f3a" * 100_000,
    7,
    None,
    [TRACE],
    {"traceparent": TRACE},
]


@pytest.mark.parametrize("value", WRONG)
def test_a_trace_of_another_form_is_ignored(value: object) -> None:
    assert trace_of(value) == ""
    assert caller({"traceparent": value}, None, None).traceparent == ""


def test_a_trace_is_kept_as_it_is_and_of_a_later_version_its_known_part() -> None:
    assert trace_of(TRACE) == TRACE
    assert trace_of(LATER) == LATER
    assert trace_of(LATER + "-what-the-future-brings") == LATER
    assert Caller(traceparent=TRACE).owner == Caller().owner


@given(st.text())
def test_a_trace_has_55_plain_characters(text: str) -> None:
    assert trace_of(text) == "" or len(trace_of(text)) == 55


def test_a_row_with_a_trace_has_a_hash_of_its_own_format() -> None:
    one = event(traceparent=TRACE)
    assert digest(1, "p", one) != digest(1, "p", event(id=one.id))
    assert digest(1, "p", event(id=one.id, level="outline")) != digest(
        1, "p", event(id=one.id, traceparent="outline")
    )


def test_a_trace_is_verified_and_exported(tmp_path: Path) -> None:
    ledger = book(tmp_path)
    ledger.append_all(
        [event(), event(traceparent=TRACE), event(level="counts", traceparent=OTHER), event(level="counts")]
    )
    assert verify(ledger).problems == ()
    out = io.StringIO()
    write_jsonl(ledger.rows(), out)
    kept = [json.loads(line)["traceparent"] for line in out.getvalue().splitlines()]
    assert kept == [None, TRACE, OTHER, None]
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite3")) as other:
        other.execute("UPDATE calls SET traceparent = ? WHERE number = 2", (OTHER,))
        other.commit()
    assert verify(ledger).problems


def test_a_ledger_from_before_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite3"
    old = [name for name in COLUMNS if name != "traceparent"]
    ledger = book(tmp_path)
    rows = [row.values() for row in ledger.append_all([event(), event(level="outline")])]
    ledger.close()
    at = COLUMNS.index("traceparent")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("ALTER TABLE calls DROP COLUMN traceparent")
        connection.execute("DROP TABLE sums_by_duration")
        connection.execute("UPDATE ledger_schema SET version = ?", (len(MIGRATIONS) - 2,))
        connection.commit()
        found = connection.execute(f"SELECT {', '.join(old)} FROM calls ORDER BY number").fetchall()
    assert found == [(*row[:at], *row[at + 1 :]) for row in rows]
    with closing(Ledger(SqliteBackend(str(path)))) as again:
        again.append(event(traceparent=TRACE))
        assert verify(again).problems == ()
        assert [row.event.traceparent for row in again.rows()] == [None, None, TRACE]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    root = tmp_path_factory.mktemp("root")
    (root / "a.txt").write_text("hello\n")
    with open_agent(tmp_path_factory.mktemp("state"), str(root)) as found:
        yield found


def traces(server: Agent) -> list[str | None]:
    """Those of all rows so far, the last ones last."""
    path = server.state / "readroom" / "ledger.sqlite3"
    if not path.exists():
        return []
    with closing(sqlite3.connect(path)) as connection:
        return [row[0] for row in connection.execute("SELECT traceparent FROM calls ORDER BY number")]


@pytest.mark.parametrize("era", ERAS)
def test_a_request_names_its_trace_in_meta_or_in_a_header(server: Agent, era: str) -> None:
    def call(number: int, **meta: object) -> Message:
        params: Message = {"name": "read_file", "arguments": {"path": "a.txt"}, "_meta": meta}
        return request(number, "tools/call", params)

    url = f"http://{server.host}:{server.port}/mcp"
    before = len(traces(server))
    with Http(url, version=era) as client:
        for number, (meta, header) in enumerate(
            [
                ({}, None),
                ({"traceparent": TRACE}, None),
                ({}, OTHER),
                ({"traceparent": TRACE}, OTHER),
                ({"traceparent": "canary7f3a"}, "canary7f3a"),
            ]
        ):
            headers: dict[str, Any] = {} if header is None else {"Traceparent": header}
            with client.post(call(number, **meta), **headers) as response:
                assert b"canary7f3a" not in response.read()
    assert traces(server)[before:] == [None, TRACE, OTHER, TRACE, None]


def test_the_dashboard_shows_the_trace_of_a_call(server: Agent) -> None:
    headers = {"Content-Type": "application/json", "Traceparent": OTHER}
    server.request("POST", "/v1/native/read_file", b'{"path": "a.txt"}', headers=headers)
    page = server.request("GET", f"/ui/call?number={len(traces(server))}")
    assert page.status == 200
    assert OTHER in page.body.decode()


def test_the_history_has_the_trace_of_a_change(tmp_path: Path) -> None:
    with Workspace(tmp_path) as workspace:
        arguments = {"path": "a", "content": "x\n", "expected_hash": "absent"}
        assert not workspace.call("write_file", arguments, caller=Caller(traceparent=TRACE)).is_error
        history = workspace.engine.services.history
        assert history is not None
        change = history.last_change("a")
        assert change is not None
        assert change.by.traceparent == TRACE


def test_a_request_that_is_not_mcp_names_its_trace_in_a_header(server: Agent) -> None:
    headers = {"Content-Type": "application/json", "Traceparent": TRACE}
    answer = server.request("POST", "/v1/native/read_file", b'{"path": "a.txt"}', headers=headers)
    assert answer.status == 200
    assert traces(server)[-1] == TRACE
